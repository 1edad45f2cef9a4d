/* SPDX-License-Identifier: MIT
 *
 * This process has a number, which a child must not inherit: it lies in a page
 * that the kernel gives a child filled with zeros (MADV_WIPEONFORK), whatever
 * way of forking it came by. A process without a number draws one from a count,
 * which a child does inherit: so no process has the number of one that it
 * descends from. To ask is to read two words; getpid() is a system call, and
 * its numbers come back.
 *
 *   parent   number 1   count 1                 handle: 1
 *     |fork
 *   child    number 0   count 1      not 1: the handle is not its own
 *            number 2   count 2      once it has made one
 *
 * Where the kernel cannot do that (before Linux 4.14) the number lies in
 * ordinary memory, and a handler of pthread_atfork() wipes it: not called by
 * _Fork(), nor by clone() as a bare system call.
 */
#include "base/origin.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "cascade/cascade.h"

static _Atomic uint64_t inherited; /* without a page */
static _Atomic uint64_t *number = &inherited;
static _Atomic uint64_t count;

static void
wipe(void)
{
    atomic_store(number, 0);
}

/* Before main(), while there is one thread, and no handle. */
__attribute__((constructor(101))) static void
find_page(void)
{
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = MAP_FAILED;

    if (atomic_load(&inherited) == 0)
        page = mmap(NULL, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) == 0) {
        number = page;
        return;
    }
    if (page != MAP_FAILED)
        (void)munmap(page, size);
    (void)pthread_atfork(NULL, NULL, wipe);
}

void
csc_origin_mark(csc_origin *origin)
{
    uint64_t mine = atomic_load(number);

    if (mine == 0) {
        uint64_t drawn = atomic_fetch_add(&count, 1) + 1;

        /* Of two threads that draw, the first sets it. */
        if (atomic_compare_exchange_strong(number, &mine, drawn))
            mine = drawn;
    }
    origin->process = mine;
}

bool
csc_origin_is_here(const void *handle)
{
    const csc_origin *origin = handle;

    return origin == NULL ||
           origin->process ==
               atomic_load_explicit(number, memory_order_relaxed);
}

cascade_err
csc_origin_check(const void *handle)
{
    if (csc_origin_is_here(handle))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_MISUSE,
                    "the handle belongs to the process that made it, of which "
                    "this one is a child: open a store of its own here");
}
