/* SPDX-License-Identifier: MIT
 *
 * Worker processes on one database under load, killed and stopped at random;
 * see torture.h. Run by ctest, it strikes as often as the tables below say.
 *
 *     test_process_torture --seconds N [--seed S] [--store sqlite|postgres]
 *
 * goes on for a given time instead, round after round, each on a new database
 * (of each store in turn). Its last line counts what happened. A run in which
 * no kill, or no stop, hit a commit in flight fails.
 */
#include <string.h>

#include "process/check.h"
#include "process/long_run.h"
#include "process/torture.h"
#include "process/worker.h"

/* At least 200 kills and 50 stops together. A stop on SQLite can hold up all
 * others, so there are fewer. */
#define KILLS 105
static const size_t stops[] = {[PLACE_SQLITE] = 20, [PLACE_POSTGRES] = 34};

#define LIMIT_MS 900000 /* then it is told what has not happened */

#define ROUND_KILLS 150 /* of a long run */
#define ROUND_STOPS 40

static int
clear(void **state)
{
    (void)state;
    torture_clear();
    return 0;
}

static void
assert_happened(const char *what, size_t count, size_t wanted)
{
    if (count < wanted)
        fail_msg("%s: %zu, not %zu", what, count, wanted);
}

static void
nothing_is_lost_or_done_twice(void **state)
{
    torture_plan plan = {.kind = place_of(state),
                         .kills = KILLS,
                         .until_ms = place_now_ms() + LIMIT_MS};
    torture_counts counts = {0};

    plan.stops = stops[plan.kind];
    torture_round(&plan, &counts);
    torture_print(place_names[plan.kind], &counts);
    assert_happened("kills in flight", counts.kills_in_flight, KILLS);
    assert_happened("stops in flight", counts.stops_in_flight, plan.stops);
    assert_happened("fences", counts.fences, 1);
    assert_happened("takeovers", counts.takeovers, 1);
}

/* ---- For a given time ---------------------------------------------------- */

static void
nothing_is_lost_in_the_long_run(void **state)
{
    const long_run *it = *state;
    int64_t until_ms = place_now_ms() + it->seconds * 1000;
    torture_counts sum = {0};

    while (place_now_ms() < until_ms) {
        for (int kind = 0; kind < 2; kind++) {
            const torture_plan plan = {.kind = (place_kind)kind,
                                       .kills = ROUND_KILLS,
                                       .stops = ROUND_STOPS,
                                       .until_ms = until_ms};
            torture_counts counts = {0};

            if (!it->stores[kind] || place_now_ms() >= until_ms)
                continue;
            torture_round(&plan, &counts);
            torture_print(place_names[kind], &counts);
            torture_add(&sum, &counts);
        }
    }
    torture_print("in all", &sum);
    assert_true(sum.kills_in_flight > 0);
    assert_true(sum.stops_in_flight > 0);
}

#define TORTURE_TEST(kind, suffix)                                          \
    {"nothing_is_lost_or_done_twice" suffix, nothing_is_lost_or_done_twice, \
     NULL, clear, &place_kinds[kind]},

static const struct CMUnitTest tests[] = {
#ifdef CASCADE_HAVE_SQLITE
    TORTURE_TEST(PLACE_SQLITE, "_on_sqlite")
#endif
#ifdef CASCADE_HAVE_POSTGRES
        TORTURE_TEST(PLACE_POSTGRES, "_on_postgres")
#endif
};

int
main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "worker") == 0)
        return worker_main(argv[2]);
    if (long_run_asked(argc, argv))
        return long_run_main("test_process_torture", argc, argv,
                             nothing_is_lost_in_the_long_run, clear);
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
