/* SPDX-License-Identifier: MIT
 *
 * The size of pieces: by how much it changes, and that it comes to rest where a
 * piece takes the time that is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/data/pace.h"

#define LIMIT_NS 1000

static const csc_pace_bounds bounds = {8, 500};

static void
what_takes_too_long_is_halved_or_less(void **state)
{
    (void)state;
    assert_int_equal(csc_pace_next(400, 2001, LIMIT_NS, true, &bounds), 200);
    assert_int_equal(csc_pace_next(400, 2000, LIMIT_NS, true, &bounds), 350);
    assert_int_equal(csc_pace_next(400, 1000, LIMIT_NS, true, &bounds), 400);
}

static void
what_is_fast_grows_where_it_was_full(void **state)
{
    (void)state;
    assert_int_equal(csc_pace_next(80, 749, LIMIT_NS, true, &bounds), 91);
    assert_int_equal(csc_pace_next(80, 750, LIMIT_NS, true, &bounds), 80);
    assert_int_equal(csc_pace_next(80, 1, LIMIT_NS, false, &bounds), 80);
}

static void
it_stays_within_its_bounds(void **state)
{
    (void)state;
    assert_int_equal(csc_pace_next(9, 5000, LIMIT_NS, true, &bounds), 8);
    assert_int_equal(csc_pace_next(8, 1001, LIMIT_NS, true, &bounds), 8);
    assert_int_equal(csc_pace_next(499, 0, LIMIT_NS, true, &bounds), 500);
}

/* Each row takes as long: 3 to 12 of the limit's parts. */
static void
it_comes_to_rest_near_the_limit(void **state)
{
    (void)state;
    for (int64_t each_ns = 3; each_ns <= 12; each_ns++) {
        size_t size = 500;

        for (int i = 0; i < 40; i++)
            size = csc_pace_next(size, (int64_t)size * each_ns, LIMIT_NS, true,
                                 &bounds);
        assert_in_range(size * (size_t)each_ns, LIMIT_NS / 2, LIMIT_NS);
    }
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_takes_too_long_is_halved_or_less),
        cmocka_unit_test(what_is_fast_grows_where_it_was_full),
        cmocka_unit_test(it_stays_within_its_bounds),
        cmocka_unit_test(it_comes_to_rest_near_the_limit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
