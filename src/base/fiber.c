/* SPDX-License-Identifier: MIT
 *
 * Fibers by the ucontext of glibc. A switch saves what a call has to keep, and
 * the signal mask, which is a system call: small beside a commit.
 *
 *   low                                                       high
 *   | page that may not be touched | stack, which grows down  |
 *
 * Tools that look at stacks are told of each switch: the address sanitizer and
 * the thread sanitizer at compile time, valgrind where its header was there.
 * The thread sanitizer has a fiber of its own for each beginning: what has
 * ended did not return from the frames that it knows of.
 */
#include "base/fiber.h"

#include "base/error.h"

/* Defined where libstdc++ or libc++abi is in reach. */
extern void *get_exceptions(void) __asm__("__cxa_get_globals")
    __attribute__((weak));

bool
csc_fiber_has_exceptions(void)
{
    return get_exceptions != NULL;
}

#ifdef __GLIBC__

#include <errno.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/mem.h"

#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define HAS_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define HAS_TSAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define HAS_ASAN 1
#endif
#ifdef __SANITIZE_THREAD__
#define HAS_TSAN 1
#endif

#ifdef HAS_ASAN
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HAS_TSAN
#include <sanitizer/tsan_interface.h>
#endif
#ifdef __has_include
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#endif
#endif

/* What the C++ runtime keeps for a thread (Itanium C++ ABI, 2.2.2). */
typedef struct exceptions {
    void *caught;
    unsigned uncaught;
#ifdef __ARM_EABI_UNWINDER__
    void *propagating;
#endif
} exceptions;

typedef enum fiber_state {
    FIBER_IDLE,
    FIBER_INSIDE,
    FIBER_LEFT
} fiber_state;

struct csc_fiber {
    fiber_state state;
    ucontext_t here;   /* where it goes on */
    ucontext_t caller; /* who has entered it */
    ucontext_t blank;  /* what each beginning is made of */
    void (*main)(void *context);
    void *context;
    char *mapping;
    size_t mapping_size;
    char *stack; /* its low end */
    size_t stack_size;
    /* Of the fiber while it is not inside, of the thread while it is. */
    csc_error_kept error;
    exceptions exceptions;
    int number; /* errno */
#ifdef HAS_ASAN
    void *fake;
    void *caller_fake;
    const void *caller_stack;
    size_t caller_stack_size;
#endif
#ifdef HAS_TSAN
    void *tsan;
    void *tsan_caller;
#endif
#ifdef VALGRIND_STACK_REGISTER
    unsigned valgrind;
#endif
};

/* ---- What goes with a fiber ---------------------------------------------- */

/* Exchanges what the thread has for what is kept. */
static void
exchange(csc_fiber *fiber)
{
    int number = errno;

    csc_error_exchange(&fiber->error);
    if (csc_fiber_has_exceptions()) {
        exceptions *now = get_exceptions();
        exceptions before = *now;

        *now = fiber->exceptions;
        fiber->exceptions = before;
    }
    errno = fiber->number;
    fiber->number = number;
}

/* ---- Telling the tools --------------------------------------------------- */

/* The thread is about to be on the fiber's stack, and is on it. */
static void
tell_entering(csc_fiber *fiber)
{
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(&fiber->caller_fake, fiber->stack,
                                   fiber->stack_size);
#endif
#ifdef HAS_TSAN
    fiber->tsan_caller = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber->tsan, 0);
#endif
    (void)fiber;
}

static void
tell_entered(csc_fiber *fiber, bool first)
{
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(first ? NULL : fiber->fake,
                                    &fiber->caller_stack,
                                    &fiber->caller_stack_size);
#endif
    (void)fiber;
    (void)first;
}

/* The same back to the thread's own. */
static void
tell_leaving(csc_fiber *fiber, bool last)
{
#ifdef HAS_ASAN
    __sanitizer_start_switch_fiber(last ? NULL : &fiber->fake,
                                   fiber->caller_stack,
                                   fiber->caller_stack_size);
#endif
#ifdef HAS_TSAN
    __tsan_switch_to_fiber(fiber->tsan_caller, 0);
#endif
    (void)fiber;
    (void)last;
}

static void
tell_left(csc_fiber *fiber)
{
#ifdef HAS_ASAN
    __sanitizer_finish_switch_fiber(fiber->caller_fake, NULL, NULL);
#endif
    (void)fiber;
}

static void
tell_begin(csc_fiber *fiber)
{
#ifdef HAS_TSAN
    fiber->tsan = __tsan_create_fiber(0);
#endif
    (void)fiber;
}

static void
tell_end(csc_fiber *fiber)
{
#ifdef HAS_TSAN
    __tsan_destroy_fiber(fiber->tsan);
#endif
    (void)fiber;
}

/* ---- Stacks -------------------------------------------------------------- */

static cascade_err
map_stack(csc_fiber *fiber, size_t stack_size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t size = (stack_size + page - 1) / page * page;
    void *mapping =
        mmap(NULL, size + page, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);

    if (mapping == MAP_FAILED)
        return csc_fail(CASCADE_ERR_SYSTEM,
                        "cannot map the stack of a fiber (errno %d)", errno);
    if (mprotect(mapping, page, PROT_NONE) != 0) {
        (void)munmap(mapping, size + page);
        return csc_fail(CASCADE_ERR_SYSTEM,
                        "cannot protect the stack of a fiber (errno %d)",
                        errno);
    }
    fiber->mapping = mapping;
    fiber->mapping_size = size + page;
    fiber->stack = fiber->mapping + page;
    fiber->stack_size = size;
    return CASCADE_OK;
}

cascade_err
csc_fiber_create(size_t stack_size, csc_fiber **fiber)
{
    csc_fiber *made = csc_mem_zalloc(1, sizeof(*made));
    cascade_err err = CASCADE_OK;

    if (made == NULL)
        return csc_fail_memory();
    err = map_stack(made, stack_size);
    if (err == CASCADE_OK && getcontext(&made->blank) != 0) {
        (void)munmap(made->mapping, made->mapping_size);
        err = csc_fail(CASCADE_ERR_SYSTEM, "cannot make a fiber (errno %d)",
                       errno);
    }
    if (err != CASCADE_OK) {
        csc_mem_free(made);
        return err;
    }
#ifdef VALGRIND_STACK_REGISTER
    made->valgrind =
        VALGRIND_STACK_REGISTER(made->stack, made->stack + made->stack_size);
#endif
    *fiber = made;
    return CASCADE_OK;
}

void
csc_fiber_free(csc_fiber *fiber)
{
    if (fiber == NULL)
        return;
    csc_assert(fiber->state == FIBER_IDLE);
#ifdef VALGRIND_STACK_REGISTER
    VALGRIND_STACK_DEREGISTER(fiber->valgrind);
#endif
    (void)munmap(fiber->mapping, fiber->mapping_size);
    csc_mem_free(fiber);
}

/* ---- Switching ----------------------------------------------------------- */

/* Which one begins: makecontext() hands over integers only. */
static _Thread_local csc_fiber *beginning;

/* The first frame on the fiber's stack; it does not return. */
static void
run(void)
{
    csc_fiber *fiber = beginning;

    csc_assert(fiber != NULL);
    tell_entered(fiber, true);
    fiber->main(fiber->context);
    fiber->state = FIBER_IDLE;
    tell_leaving(fiber, true);
    (void)setcontext(&fiber->caller);
}

static bool
go_in(csc_fiber *fiber)
{
    fiber->state = FIBER_INSIDE;
    exchange(fiber);
    tell_entering(fiber);
    (void)swapcontext(&fiber->caller, &fiber->here);
    tell_left(fiber);
    exchange(fiber);
    if (fiber->state == FIBER_IDLE)
        tell_end(fiber);
    return fiber->state == FIBER_IDLE;
}

bool
csc_fiber_begin(csc_fiber *fiber, void (*main)(void *context), void *context)
{
    csc_assert(fiber->state == FIBER_IDLE);
    fiber->main = main;
    fiber->context = context;
    fiber->error = (csc_error_kept){.err = CASCADE_OK};
    fiber->exceptions = (exceptions){.caught = NULL};
    fiber->number = 0;
    fiber->here = fiber->blank;
    fiber->here.uc_stack.ss_sp = fiber->stack;
    fiber->here.uc_stack.ss_size = fiber->stack_size;
    fiber->here.uc_link = NULL;
    makecontext(&fiber->here, run, 0);
    beginning = fiber;
    tell_begin(fiber);
    return go_in(fiber);
}

bool
csc_fiber_enter(csc_fiber *fiber)
{
    csc_assert(fiber->state == FIBER_LEFT);
    return go_in(fiber);
}

void
csc_fiber_leave(csc_fiber *fiber)
{
    csc_assert(fiber->state == FIBER_INSIDE);
    fiber->state = FIBER_LEFT;
    tell_leaving(fiber, false);
    (void)swapcontext(&fiber->here, &fiber->caller);
    tell_entered(fiber, false);
}

#else /* no glibc */

cascade_err
csc_fiber_create(size_t stack_size, csc_fiber **fiber)
{
    (void)stack_size;
    (void)fiber;
    return csc_fail(CASCADE_ERR_UNSUPPORTED,
                    "this C library cannot switch stacks");
}

void
csc_fiber_free(csc_fiber *fiber)
{
    (void)fiber;
}

bool
csc_fiber_begin(csc_fiber *fiber, void (*main)(void *context), void *context)
{
    (void)fiber;
    main(context);
    return true;
}

bool
csc_fiber_enter(csc_fiber *fiber)
{
    (void)fiber;
    return true;
}

void
csc_fiber_leave(csc_fiber *fiber)
{
    (void)fiber;
}

#endif
