/* SPDX-License-Identifier: MIT
 *
 * Turns of keys: walks go on where the last one has stopped, and those that
 * give nothing come to an end; how room is shared out.
 */
#include <stdio.h>
#include <string.h>

#include "base/support.h"
#include "store/turn.h"

#define QUEUE "mail"
#define KEYS_MAX 9

/* Keys "a", "b" and so on, and of how many of them one walk is at most. */
typedef struct field {
    csc_turn_places places;
    size_t keys;
    size_t most;
    bool given[KEYS_MAX];
} field;

static int
setup(void **state)
{
    static field f;

    f = (field){.keys = 1, .most = 1};
    *state = &f;
    return 0;
}

static int
teardown(void **state)
{
    field *f = *state;

    csc_turn_fini(&f->places);
    return 0;
}

static const char *
key_of(size_t nth)
{
    static char key[2];

    (void)snprintf(key, sizeof(key), "%c", (int)('a' + nth));
    return key;
}

/* Is at the keys from where it begins, and around the end; of each of them it
 * `gives` a run or not. Whether another may find more. */
static bool
walk(field *f, bool gives)
{
    csc_turn_walk w = {.room = f->most};
    size_t found = 0;
    size_t first = 0;

    csc_turn_begin(&f->places, QUEUE, w.from);
    while (first < f->keys && strcmp(key_of(first), w.from) < 0)
        first++;
    for (; found < f->keys && found < f->most; found++) {
        size_t at = (first + found) % f->keys;

        csc_turn_behind(key_of(at), w.from);
        f->given[at] = gives;
        w.count += gives;
    }
    w.filled = found == f->most;
    w.ended = !w.filled;
    return csc_turn_end(&f->places, QUEUE, &w);
}

static size_t
walks_in_vain(field *f)
{
    size_t count = 1;

    while (walk(f, false) && count < 100)
        count++;
    return count;
}

/* All runs are somebody's for a moment: each key is looked at, and then no walk
 * is asked for; also where some have given a run before. */
static void
walks_in_vain_end(void **state)
{
    field *f = *state;

    for (f->keys = 1; f->keys <= KEYS_MAX; f->keys++) {
        for (f->most = 1; f->most <= KEYS_MAX; f->most++) {
            size_t round = (f->keys + f->most - 1) / f->most;

            assert_in_range(walks_in_vain(f), 1, round + 2);
            (void)walk(f, true);
            assert_in_range(walks_in_vain(f), 1, round + 2);
        }
    }
}

static void
a_walk_goes_on_where_the_last_has_stopped(void **state)
{
    field *f = *state;

    f->keys = 6;
    f->most = 2;
    for (size_t i = 0; i < 3; i++) {
        memset(f->given, 0, sizeof(f->given));
        (void)walk(f, true);
        for (size_t at = 0; at < f->keys; at++)
            assert_int_equal(f->given[at], at / 2 == i);
    }
}

/* Those of one queue do not move those of another. */
static void
queues_have_places_of_their_own(void **state)
{
    field *f = *state;
    char from[CSC_TURN_FROM_SIZE];

    f->keys = 3;
    (void)walk(f, true);
    csc_turn_begin(&f->places, "post", from);
    assert_string_equal(from, "");
    csc_turn_begin(&f->places, QUEUE, from);
    assert_string_equal(from, "a\001");
}

/* Half is left to what is due elsewhere; of a claim for one, every other. */
static void
room_is_shared_with_others(void **state)
{
    field *f = *state;
    size_t first = 0;

    assert_int_equal(csc_turn_room(&f->places, 9, 4, false), 4);
    assert_int_equal(csc_turn_room(&f->places, 3, 4, false), 3);
    assert_int_equal(csc_turn_room(&f->places, 9, 4, true), 2);
    first = csc_turn_room(&f->places, 9, 1, true);
    assert_int_equal(csc_turn_room(&f->places, 9, 1, true), 1 - first);
    assert_int_equal(csc_turn_room(&f->places, 9, 1, true), first);
    assert_true(csc_turn_was_cut(9, 2, 2));
    assert_false(csc_turn_was_cut(9, 2, 1));
    assert_false(csc_turn_was_cut(2, 2, 2));
    assert_int_equal(csc_turn_share(7, 3), 3);
    assert_int_equal(csc_turn_share(6, 3), 2);
}

int
main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(walks_in_vain_end),
        CASE(a_walk_goes_on_where_the_last_has_stopped),
        CASE(queues_have_places_of_their_own),
        CASE(room_is_shared_with_others),
    };

    return cmocka_run_group_tests_name("turn", tests, NULL, NULL);
}
