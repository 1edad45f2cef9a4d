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
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/check.h"
#include "process/torture.h"
#include "process/worker.h"

/* At least 200 kills and 50 stops together. A stop on SQLite can hold up all
 * others, so there are fewer. */
#define KILLS 105
static const size_t stops[] = {[PLACE_SQLITE] = 20, [PLACE_POSTGRES] = 34};

#define ROUND_KILLS 150 /* of a long run */
#define ROUND_STOPS 40

static const char *const names[] = {
    [PLACE_SQLITE] = "sqlite", [PLACE_POSTGRES] = "postgres"};

static int
clear(void **state)
{
    (void)state;
    torture_clear();
    return 0;
}

static void
nothing_is_lost_or_done_twice(void **state)
{
    torture_plan plan = {
        .kind = place_of(state), .kills = KILLS, .until_ms = INT64_MAX};
    torture_counts counts = {0};

    plan.stops = stops[plan.kind];
    torture_round(&plan, &counts);
    torture_print(names[plan.kind], &counts);
    assert_true(counts.kills_in_flight >= KILLS);
    assert_true(counts.stops_in_flight >= plan.stops);
    assert_true(counts.fences > 0);
    assert_true(counts.takeovers > 0);
}

/* ---- For a given time ---------------------------------------------------- */

typedef struct long_run {
    int64_t seconds;
    bool stores[2];
} long_run;

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
            torture_print(names[kind], &counts);
            torture_add(&sum, &counts);
        }
    }
    torture_print("in all", &sum);
    assert_true(sum.kills_in_flight > 0);
    assert_true(sum.stops_in_flight > 0);
}

static int
usage(void)
{
    fputs("usage: test_process_torture --seconds N [--seed S] "
          "[--store sqlite|postgres]\n",
          stderr);
    return 2;
}

static bool
take_option(long_run *it, const char *name, const char *value)
{
    if (strcmp(name, "--seconds") == 0)
        it->seconds = strtoll(value, NULL, 10);
    else if (strcmp(name, "--seed") == 0)
        setenv("CASCADE_TEST_SEED", value, 1);
    else if (strcmp(name, "--store") == 0)
        for (int kind = 0; kind < 2; kind++)
            it->stores[kind] &= strcmp(value, names[kind]) == 0;
    else
        return false;
    return true;
}

static int
run_long(int argc, char **argv)
{
    long_run it = {.stores = {
#ifdef CASCADE_HAVE_SQLITE
                       [PLACE_SQLITE] = true,
#endif
#ifdef CASCADE_HAVE_POSTGRES
                       [PLACE_POSTGRES] = true,
#endif
                   }};
    const struct CMUnitTest test[] = {cmocka_unit_test_prestate_setup_teardown(
        nothing_is_lost_in_the_long_run, NULL, clear, &it)};

    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !take_option(&it, argv[i], argv[i + 1]))
            return usage();
    if (it.seconds <= 0 || (!it.stores[0] && !it.stores[1]))
        return usage();
    return cmocka_run_group_tests(test, NULL, NULL);
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
    if (argc > 1 && strncmp(argv[1], "--", 2) == 0)
        return run_long(argc, argv);
    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
