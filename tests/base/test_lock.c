/* SPDX-License-Identifier: MIT
 *
 * What a mutex knows of its owner, which assertions ask: of threads, of waits
 * for a condition, and of what must not be done with it. Where assertions are
 * off there is nothing to ask.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "cascade/cascade.h"

#ifdef CASCADE_ASSERTS
#define LONG_MS 60000

typedef struct pair {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool turn; /* of the other one */
    bool was_held;
    bool was_held_before;
} pair;

static void
begin(pair *p)
{
    *p = (pair){.turn = false};
    assert_int_equal(csc_lock_init_mutex(&p->mutex), CASCADE_OK);
    assert_int_equal(csc_lock_init_cond(&p->cond), CASCADE_OK);
}

static void
end(pair *p)
{
    csc_lock_fini_cond(&p->cond);
    csc_lock_fini_mutex(&p->mutex);
}

static void *
ask_without(void *context)
{
    pair *p = context;

    p->was_held = csc_lock_is_held(&p->mutex);
    return NULL;
}

static void
only_the_thread_that_took_it_has_it(void **state)
{
    pair p;
    pthread_t thread;

    (void)state;
    begin(&p);
    assert_false(csc_lock_is_held(&p.mutex));
    assert_true(csc_lock_is_none_held());
    csc_lock_take(&p.mutex);
    assert_true(csc_lock_is_held(&p.mutex));
    assert_false(csc_lock_is_none_held());
    p.was_held = true;
    assert_int_equal(pthread_create(&thread, NULL, ask_without, &p), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(p.was_held);
    csc_lock_give(&p.mutex);
    assert_false(csc_lock_is_held(&p.mutex));
    assert_true(csc_lock_is_none_held());
    end(&p);
}

/* The question takes one that is free for a moment: it is free behind it. */
static void
a_question_leaves_it_as_it_was(void **state)
{
    pair p;
    pthread_t thread;

    (void)state;
    begin(&p);
    assert_false(csc_lock_is_held(&p.mutex));
    p.was_held = true;
    assert_int_equal(pthread_create(&thread, NULL, ask_without, &p), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_false(p.was_held);
    assert_int_equal(pthread_mutex_trylock(&p.mutex), 0);
    assert_true(csc_lock_is_held(&p.mutex));
    assert_int_equal(pthread_mutex_unlock(&p.mutex), 0);
    end(&p);
}

static void *
answer(void *context)
{
    pair *p = context;

    csc_lock_take(&p->mutex);
    p->was_held = csc_lock_is_held(&p->mutex);
    p->turn = true;
    (void)pthread_cond_signal(&p->cond);
    csc_lock_give(&p->mutex);
    return NULL;
}

static void
a_wait_gives_it_to_another_and_has_it_again(void **state)
{
    pair p;
    pthread_t thread;

    (void)state;
    begin(&p);
    csc_lock_take(&p.mutex);
    assert_int_equal(pthread_create(&thread, NULL, answer, &p), 0);
    while (!p.turn)
        csc_lock_wait(&p.cond, &p.mutex, LONG_MS);
    assert_true(p.was_held);
    assert_true(csc_lock_is_held(&p.mutex));
    assert_false(csc_lock_is_none_held());
    csc_lock_give(&p.mutex);
    assert_int_equal(pthread_join(thread, NULL), 0);
    end(&p);
}

static void
one_of_two_is_not_none(void **state)
{
    pair a;
    pair b;

    (void)state;
    begin(&a);
    begin(&b);
    csc_lock_take(&a.mutex);
    csc_lock_take(&b.mutex);
    csc_lock_give(&a.mutex);
    assert_false(csc_lock_is_held(&a.mutex));
    assert_true(csc_lock_is_held(&b.mutex));
    assert_false(csc_lock_is_none_held());
    csc_lock_give(&b.mutex);
    assert_true(csc_lock_is_none_held());
    end(&b);
    end(&a);
}

/* ---- What ends the program ----------------------------------------------- */

/* What it says is expected: nobody is to read it. */
static bool
is_stopped(void (*deed)(pair *p))
{
    const struct rlimit none = {0, 0};
    int status = 0;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        pair p;

        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)close(STDERR_FILENO);
        begin(&p);
        deed(&p);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void
take_and_give(pair *p)
{
    csc_lock_take(&p->mutex);
    csc_lock_give(&p->mutex);
}

static void
take_twice(pair *p)
{
    csc_lock_take(&p->mutex);
    csc_lock_take(&p->mutex);
}

static void
give_untaken(pair *p)
{
    csc_lock_give(&p->mutex);
}

static void *
take_it(void *context)
{
    csc_lock_take(&((pair *)context)->mutex);
    return NULL;
}

static void
give_that_of_another(pair *p)
{
    pthread_t thread;

    if (pthread_create(&thread, NULL, take_it, p) != 0 ||
        pthread_join(thread, NULL) != 0)
        return;
    csc_lock_give(&p->mutex);
}

static void
what_would_hang_or_corrupt_stops_the_program(void **state)
{
    (void)state;
    assert_false(is_stopped(take_and_give));
    assert_true(is_stopped(take_twice));
    assert_true(is_stopped(give_untaken));
    assert_true(is_stopped(give_that_of_another));
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_the_thread_that_took_it_has_it),
        cmocka_unit_test(a_question_leaves_it_as_it_was),
        cmocka_unit_test(a_wait_gives_it_to_another_and_has_it_again),
        cmocka_unit_test(one_of_two_is_not_none),
        cmocka_unit_test(what_would_hang_or_corrupt_stops_the_program),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int
main(void)
{
    return 0;
}
#endif
