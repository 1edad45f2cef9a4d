/* SPDX-License-Identifier: MIT
 *
 * Fibers: that they go on where they left, with what is theirs.
 */
#include <errno.h>
#include <fenv.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fiber.h"
#include "base/mem.h"
#include "base/support.h"

#define STACK_SIZE ((size_t)64 * 1024)
#define FIBERS 100
#define ROUNDS 50

typedef struct counter {
    csc_fiber *fiber;
    int from;
    int at;
} counter;

/* Counts on its own stack, and leaves behind each number. */
static void
count(void *context)
{
    counter *c = context;
    volatile int local = c->from;

    for (int i = 0; i < ROUNDS; i++) {
        local++;
        c->at = local;
        csc_fiber_leave(c->fiber);
    }
}

static void
fibers_in_turn_go_on_where_they_left(void **state)
{
    counter counters[FIBERS];

    (void)state;
    for (int i = 0; i < FIBERS; i++) {
        counters[i] = (counter){.from = i * 1000};
        assert_int_equal(csc_fiber_create(STACK_SIZE, &counters[i].fiber),
                         CASCADE_OK);
        assert_false(csc_fiber_begin(counters[i].fiber, count, &counters[i]));
    }
    for (int round = 1; round <= ROUNDS; round++)
        for (int i = FIBERS - 1; i >= 0; i--) {
            assert_int_equal(counters[i].at, i * 1000 + round);
            assert_int_equal(csc_fiber_enter(counters[i].fiber),
                             round == ROUNDS);
        }
    for (int i = 0; i < FIBERS; i++)
        csc_fiber_free(counters[i].fiber);
}

static void
one_that_has_ended_begins_again(void **state)
{
    counter c = {.from = 0};

    (void)state;
    assert_int_equal(csc_fiber_create(STACK_SIZE, &c.fiber), CASCADE_OK);
    for (int i = 0; i < 1000; i++) {
        bool ended = csc_fiber_begin(c.fiber, count, &c);

        for (int round = 0; round < ROUNDS; round++) {
            assert_false(ended);
            ended = csc_fiber_enter(c.fiber);
        }
        assert_true(ended);
        assert_int_equal(c.at, ROUNDS);
    }
    csc_fiber_free(c.fiber);
}

/* ---- What goes with it --------------------------------------------------- */

static void
fail_on_it(void *context)
{
    counter *c = context;

    assert_string_equal(cascade_errmsg(), "");
    assert_int_equal(errno, 0);
    (void)csc_fail(CASCADE_ERR_FINAL, "on fiber %d", c->from);
    errno = c->from;
    csc_fiber_leave(c->fiber);
    assert_int_equal(errno, c->from);
    assert_int_equal(csc_error_last(), CASCADE_ERR_FINAL);
    c->at =
        strcmp(cascade_errmsg(), c->from == 1 ? "on fiber 1" : "on fiber 2");
    (void)csc_fail(CASCADE_ERR_FENCED, "at its end");
}

static void
the_last_error_goes_with_a_fiber(void **state)
{
    counter counters[] = {{.from = 1, .at = -1}, {.from = 2, .at = -1}};

    (void)state;
    (void)csc_fail(CASCADE_ERR_NOT_FOUND, "on the thread");
    errno = ENOENT;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(csc_fiber_create(STACK_SIZE, &counters[i].fiber),
                         CASCADE_OK);
        errno = ENOENT;
        assert_false(
            csc_fiber_begin(counters[i].fiber, fail_on_it, &counters[i]));
        assert_int_equal(errno, ENOENT);
        assert_string_equal(cascade_errmsg(), "on the thread");
    }
    for (int i = 0; i < 2; i++) {
        assert_true(csc_fiber_enter(counters[i].fiber));
        assert_int_equal(errno, ENOENT);
        assert_int_equal(csc_error_last(), CASCADE_ERR_NOT_FOUND);
        assert_string_equal(cascade_errmsg(), "on the thread");
        assert_int_equal(counters[i].at, 0);
        csc_fiber_free(counters[i].fiber);
    }
    (void)csc_ok();
}

static void
round_upward(void *context)
{
    counter *c = context;

    (void)fesetround(FE_UPWARD);
    csc_fiber_leave(c->fiber);
    c->at = fegetround();
}

static void
the_rounding_of_numbers_goes_with_a_fiber(void **state)
{
    counter c = {.at = 0};

    (void)state;
    assert_int_equal(csc_fiber_create(STACK_SIZE, &c.fiber), CASCADE_OK);
    assert_false(csc_fiber_begin(c.fiber, round_upward, &c));
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_true(csc_fiber_enter(c.fiber));
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_int_equal(c.at, FE_UPWARD);
    csc_fiber_free(c.fiber);
}

/* ---- Its stack ----------------------------------------------------------- */

/* Returns its depth; each call has a kilobyte. */
static int
dive(int depth)
{
    volatile char room[1024];

    room[0] = (char)depth;
    room[sizeof(room) - 1] = room[0];
    return depth > 0 ? dive(depth - 1) + (room[0] == room[1023]) : 0;
}

static void
dive_and_jump(void *context)
{
    counter *c = context;
    jmp_buf out;

    c->at = dive(c->from);
    if (setjmp(out) == 0) {
        csc_fiber_leave(c->fiber);
        longjmp(out, 1);
    }
    csc_fiber_leave(c->fiber);
    c->at++;
}

static void
a_jump_within_a_fiber_stays_on_it(void **state)
{
    counter c = {.from = 100};

    (void)state;
    assert_int_equal(csc_fiber_create((size_t)256 * 1024, &c.fiber),
                     CASCADE_OK);
    assert_false(csc_fiber_begin(c.fiber, dive_and_jump, &c));
    assert_false(csc_fiber_enter(c.fiber));
    assert_true(csc_fiber_enter(c.fiber));
    assert_int_equal(c.at, 101);
    csc_fiber_free(c.fiber);
}

static void
dive_for_ever(void *context)
{
    counter *c = context;

    c->at = dive(1000000);
}

/* The fibers before it lie in the addresses below: they would be overwritten
 * first. */
static void
too_deep_a_call_ends_the_process(void **state)
{
    const struct rlimit no_core = {0, 0};
    int status = 0;
    pid_t child = fork();

    (void)state;
    assert_true(child >= 0);
    if (child == 0) {
        counter c[2] = {{.at = 0}};

        (void)setrlimit(RLIMIT_CORE, &no_core);
        (void)signal(SIGSEGV, SIG_DFL);
        (void)close(STDERR_FILENO);
        for (int i = 0; i < 2; i++)
            if (csc_fiber_create(STACK_SIZE, &c[i].fiber) != CASCADE_OK)
                _exit(0);
        (void)csc_fiber_begin(c[1].fiber, dive_for_ever, &c[1]);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGSEGV);
}

/* ---- Threads ------------------------------------------------------------- */

static void *
run_some(void *context)
{
    counter counters[FIBERS / 10];
    size_t *good = context;

    for (int i = 0; i < FIBERS / 10; i++) {
        counters[i] = (counter){.from = i};
        if (csc_fiber_create(STACK_SIZE, &counters[i].fiber) != CASCADE_OK)
            return NULL;
        (void)csc_fiber_begin(counters[i].fiber, count, &counters[i]);
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < FIBERS / 10; i++)
            *good += csc_fiber_enter(counters[i].fiber);
    for (int i = 0; i < FIBERS / 10; i++)
        csc_fiber_free(counters[i].fiber);
    return NULL;
}

static void
each_thread_has_its_own(void **state)
{
    pthread_t threads[4];
    size_t good[4] = {0};

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, run_some, &good[i]),
                         0);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_int_equal(good[i], FIBERS / 10);
    }
}

static void
without_memory_there_is_none(void **state)
{
    csc_fiber *fiber = NULL;

    (void)state;
    (void)csc_mem_fail_at(1, 0);
    assert_int_equal(csc_fiber_create(STACK_SIZE, &fiber),
                     CASCADE_ERR_NO_MEMORY);
    (void)csc_mem_fail_at(0, 0);
    assert_int_equal(csc_fiber_create(SIZE_MAX / 2, &fiber),
                     CASCADE_ERR_SYSTEM);
    assert_null(fiber);
    csc_fiber_free(NULL);
    assert_int_equal(csc_mem_live(), 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fibers_in_turn_go_on_where_they_left),
        cmocka_unit_test(one_that_has_ended_begins_again),
        cmocka_unit_test(the_last_error_goes_with_a_fiber),
        cmocka_unit_test(the_rounding_of_numbers_goes_with_a_fiber),
        cmocka_unit_test(a_jump_within_a_fiber_stays_on_it),
        cmocka_unit_test(too_deep_a_call_ends_the_process),
        cmocka_unit_test(each_thread_has_its_own),
        cmocka_unit_test(without_memory_there_is_none),
    };

    return cmocka_run_group_tests_name("fiber", tests, NULL, NULL);
}
