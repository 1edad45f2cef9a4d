/* SPDX-License-Identifier: MIT
 *
 * Joins as nodes meet them: the outcomes they are told, the first n of many,
 * what becomes of them when predecessors fail, and a wide graph.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/support/play.h"

/* ---- The nodes ---------------------------------------------------------- */

static cascade_err
good(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_output(
        node, cJSON_CreateNumber(cascade_node_function_id(node)));
}

static cascade_err
silent(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
bad(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "no \"%s\" today", cascade_node_name(node));
}

/* Its output is what it was told. */
static cascade_err
tell(cascade_node *node, void *user)
{
    const cJSON *outcomes = NULL;

    (void)user;
    expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK);
    return cascade_node_output(node, cJSON_Duplicate(outcomes, true));
}

static void
spawn_join(cascade_node *node, const char *name, const uint32_t *after,
           size_t count, uint32_t first, cascade_join on_failure)
{
    cascade_spawn_options options = {.size = sizeof(options),
                                     .after = after,
                                     .after_count = count,
                                     .first = first,
                                     .on_failure = on_failure};

    expect(cascade_node_spawn(node, name, NULL, &options) == CASCADE_OK);
}

static void
spawn(cascade_node *node, const char *name)
{
    expect(cascade_node_spawn(node, name, NULL, NULL) == CASCADE_OK);
}

static void
assert_output(const play *p, size_t index, const char *output)
{
    cascade_snapshot *snapshot = play_snapshot(p);

    assert_string_equal(play_execution(snapshot, index)->output, output);
    cascade_snapshot_free(snapshot);
}

/* ---- Outcomes ----------------------------------------------------------- */

static cascade_err
root_of_all(cascade_node *node, void *user)
{
    static const uint32_t after[] = {3, 1, 2, 4};

    (void)user;
    spawn(node, "good");
    spawn(node, "bad");
    spawn(node, "silent");
    spawn(node, "worse");
    spawn_join(node, "tell", after, 4, 0, CASCADE_JOIN_WAIT);
    return CASCADE_OK;
}

static void
a_join_is_told_how_each_has_ended(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root_of_all},
                        {"good", good},
                        {"bad", bad},
                        {"silent", silent},
                        {"worse", bad},
                        {"second", good},
                        {"tell", tell}},
              .instead = {[4] = "second"},
              .final_failure = CASCADE_FINAL_CONTINUE};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    assert_output(
        &p, 5,
        "[{\"node\":\"good\",\"output\":1,\"status\":\"COMPLETED\","
        "\"function_id\":1},"
        "{\"node\":\"bad\",\"error\":\"no \\\"bad\\\" today\","
        "\"status\":\"FAILED\",\"function_id\":2},"
        "{\"node\":\"silent\",\"status\":\"COMPLETED\",\"function_id\":3},"
        "{\"node\":\"second\",\"output\":6,\"status\":\"COMPLETED\","
        "\"function_id\":6}]");
    play_end(&p);
}

#define LARGE_COUNT 60
#define LARGE_BYTES 3000 /* of the first; the last ones are a piece each */

static cascade_err
large(cascade_node *node, void *user)
{
    size_t len = (size_t)LARGE_BYTES * (size_t)cascade_node_function_id(node);
    char *text = calloc(1, len + 1);
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    (void)user;
    if (!expect(text != NULL))
        return err;
    memset(text, 'x', len);
    err = cascade_node_output(node, cJSON_CreateString(text));
    free(text);
    return err;
}

static cascade_err
measure(cascade_node *node, void *user)
{
    const cJSON *outcomes = NULL;
    const cJSON *outcome = NULL;
    size_t id = 0;

    (void)user;
    expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK);
    cJSON_ArrayForEach(outcome, outcomes)
    {
        const char *output = cJSON_GetStringValue(
            cJSON_GetObjectItemCaseSensitive(outcome, "output"));

        id++;
        expect(output != NULL && strlen(output) == LARGE_BYTES * id);
    }
    return cascade_node_output(node, cJSON_CreateNumber((double)id));
}

static cascade_err
root_of_large(cascade_node *node, void *user)
{
    uint32_t after[LARGE_COUNT];

    (void)user;
    for (uint32_t i = 0; i < LARGE_COUNT; i++) {
        spawn(node, "large");
        after[i] = i + 1;
    }
    spawn_join(node, "measure", after, LARGE_COUNT, 0, CASCADE_JOIN_WAIT);
    return CASCADE_OK;
}

/* Five megabytes, which are put together piece by piece. */
static void
large_outcomes_are_told_whole(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root_of_large},
                        {"large", large},
                        {"measure", measure}}};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    assert_output(&p, LARGE_COUNT + 1, "60");
    play_end(&p);
}

static cascade_err
told_nothing(cascade_node *node, void *user)
{
    const cJSON *outcomes = NULL;

    (void)user;
    expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK);
    expect(cJSON_IsArray(outcomes) && cJSON_GetArraySize(outcomes) == 0);
    return CASCADE_OK;
}

static void
who_comes_after_nothing_is_told_nothing(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", told_nothing}}};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- The first n -------------------------------------------------------- */

typedef struct race {
    uint64_t hydrations; /* that there must have been */
    atomic_bool joined;  /* the join was tried: now the slow one may end */
    atomic_int slow_ended;
    char told[400];
} race;

static cascade_err
root_of_race(cascade_node *node, void *user)
{
    static const uint32_t after[] = {1, 2, 3};

    (void)user;
    spawn(node, "slow");
    spawn(node, "good");
    spawn(node, "good");
    spawn_join(node, "first", after, 3, 2, CASCADE_JOIN_WAIT);
    return CASCADE_OK;
}

static cascade_err
slow(cascade_node *node, void *user)
{
    race *r = ((play *)user)->user;

    if (!atomic_load(&r->joined))
        return cascade_node_error(node, "not yet");
    atomic_fetch_add(&r->slow_ended, 1);
    return cascade_node_put(node, "k", cJSON_CreateTrue());
}

/* Tried until the slow one has ended, and a few times more: it is told the
 * same, and sees nothing of it. */
static cascade_err
first(cascade_node *node, void *user)
{
    race *r = ((play *)user)->user;
    const cJSON *outcomes = NULL;
    const cJSON *value = NULL;
    cascade_engine_stats stats = {.size = sizeof(stats)};
    char *text = NULL;

    expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK);
    text = cJSON_PrintUnformatted(outcomes);
    if (r->told[0] == '\0')
        snprintf(r->told, sizeof(r->told), "%s", text);
    expect(strcmp(r->told, text) == 0);
    cJSON_free(text);
    expect(cascade_node_get(node, "k", &value) == CASCADE_ERR_NOT_FOUND);
    atomic_store(&r->joined, true);
    expect(cascade_engine_get_stats(((play *)user)->engine, &stats) ==
           CASCADE_OK);
    if (atomic_load(&r->slow_ended) == 0 || cascade_node_attempt(node) < 5 ||
        stats.hydrations < r->hydrations)
        return cascade_node_error(node, "once more");
    return CASCADE_OK;
}

static void
play_race(test_db *db, cascade_mode mode, int64_t park_after_ms)
{
    race r = {.hydrations = park_after_ms > 0 ? 2 : 0};
    play p = {.nodes = {{"root", root_of_race},
                        {"slow", slow},
                        {"good", good},
                        {"first", first}},
              .attempts_max = -1,
              .park_after_ms = park_after_ms,
              .user = &r};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    assert_string_equal(
        r.told, "[{\"function_id\":1,\"node\":\"slow\",\"status\":\"RUNNING\"},"
                "{\"function_id\":2,\"node\":\"good\",\"status\":\"COMPLETED\","
                "\"output\":2},"
                "{\"function_id\":3,\"node\":\"good\",\"status\":\"COMPLETED\","
                "\"output\":3}]");
    play_end(&p);
}

static void
a_join_runs_once_the_first_have_ended(test_db *db, cascade_mode mode)
{
    play_race(db, mode, 0);
}

/* Each time it waits it leaves memory, and is read from the rows again. */
static void
what_was_first_stays_so_when_it_is_hydrated(test_db *db, cascade_mode mode)
{
    play_race(db, mode, 1);
}

/* ---- Predecessors that fail --------------------------------------------- */

static cascade_err
never(cascade_node *node, void *user)
{
    (void)user;
    expect(false);
    return cascade_node_fail(node, "it was run");
}

static cascade_err
root_of_failure(cascade_node *node, void *user)
{
    static const uint32_t after[] = {1, 2};
    static const uint32_t behind[] = {3};

    (void)user;
    spawn(node, "good");
    spawn(node, "bad");
    spawn_join(node, "never", after, 2, 0, CASCADE_JOIN_FAIL);
    spawn_join(node, "never", behind, 1, 0, CASCADE_JOIN_FAIL);
    spawn_join(node, "tell", behind, 1, 0, CASCADE_JOIN_WAIT);
    return CASCADE_OK;
}

static void
assert_not_run(const cascade_snapshot *snapshot, size_t index,
               const char *error)
{
    const cascade_execution_info *info = play_execution(snapshot, index);

    assert_int_equal(info->status, CASCADE_EXECUTION_FAILED);
    assert_int_equal(info->attempts, 0);
    assert_string_equal(info->error, error);
}

static void
a_join_fails_with_its_predecessor(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root_of_failure},
                        {"good", good},
                        {"bad", bad},
                        {"never", never},
                        {"tell", tell}},
              .final_failure = CASCADE_FINAL_CONTINUE};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_not_run(snapshot, 3,
                   "not run: execution 2 (node bad), which it comes after, has "
                   "failed");
    assert_not_run(snapshot, 4,
                   "not run: execution 3 (node never), which it comes after, "
                   "has failed");
    assert_string_equal(
        play_execution(snapshot, 5)->output,
        "[{\"node\":\"never\",\"error\":\"not run: execution 2 (node bad), "
        "which it comes after, has failed\",\"status\":\"FAILED\","
        "\"function_id\":3}]");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static cascade_err
root_of_a_failed_join(cascade_node *node, void *user)
{
    static const uint32_t after[] = {1};
    static const uint32_t behind[] = {2};

    (void)user;
    spawn(node, "bad");
    spawn_join(node, "never", after, 1, 0, CASCADE_JOIN_FAIL);
    spawn_join(node, "tell", behind, 1, 0, CASCADE_JOIN_FAIL);
    return CASCADE_OK;
}

/* A join that fails so is made up for as its own node's options say. */
static void
what_was_not_run_may_be_replaced_too(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root_of_a_failed_join},
                        {"bad", bad},
                        {"never", never},
                        {"second", good},
                        {"tell", tell}},
              .instead = {[2] = "second"},
              .final_failure = CASCADE_FINAL_CONTINUE};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    assert_output(&p, 3,
                  "[{\"node\":\"second\",\"output\":4,\"status\":"
                  "\"COMPLETED\",\"function_id\":4}]");
    play_end(&p);
}

static cascade_err
root_of_skips(cascade_node *node, void *user)
{
    static const uint32_t after[] = {1, 2};
    static const uint32_t behind[] = {3};

    (void)user;
    spawn(node, "good");
    spawn(node, "bad");
    spawn_join(node, "never", after, 2, 0, CASCADE_JOIN_SKIP);
    spawn_join(node, "never", behind, 1, 0, CASCADE_JOIN_SKIP);
    spawn_join(node, "tell", behind, 1, 0, CASCADE_JOIN_WAIT);
    spawn_join(node, "tell", behind, 1, 0, CASCADE_JOIN_FAIL);
    return CASCADE_OK;
}

static void
a_join_is_skipped_with_its_predecessor(test_db *db, cascade_mode mode)
{
    static const char told[] =
        "[{\"node\":\"never\",\"status\":\"SKIPPED\",\"function_id\":3}]";
    play p = {.nodes = {{"root", root_of_skips},
                        {"good", good},
                        {"bad", bad},
                        {"never", never},
                        {"tell", tell}},
              .final_failure = CASCADE_FINAL_CONTINUE};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    for (size_t i = 3; i <= 4; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);

        assert_int_equal(info->status, CASCADE_EXECUTION_COMPLETED);
        assert_int_equal(info->attempts, 0);
        assert_null(info->output);
        assert_null(info->error);
    }
    assert_string_equal(play_execution(snapshot, 5)->output, told);
    assert_string_equal(play_execution(snapshot, 6)->output, told);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

static cascade_err
root_of_a_stand_in(cascade_node *node, void *user)
{
    static const uint32_t after[] = {1};

    (void)user;
    spawn(node, "bad");
    spawn_join(node, "tell", after, 1, 0, CASCADE_JOIN_FAIL);
    spawn_join(node, "tell", after, 1, 1, CASCADE_JOIN_SKIP);
    return CASCADE_OK;
}

static void
a_failure_that_was_made_up_for_is_none(test_db *db, cascade_mode mode)
{
    static const char told[] = "[{\"node\":\"second\",\"output\":4,\"status\":"
                               "\"COMPLETED\",\"function_id\":4}]";
    play p = {.nodes = {{"root", root_of_a_stand_in},
                        {"bad", bad},
                        {"second", good},
                        {"tell", tell}},
              .instead = {[1] = "second"}};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    assert_output(&p, 2, told);
    assert_output(&p, 3, told);
    play_end(&p);
}

static cascade_err
root_of_quorums(cascade_node *node, void *user)
{
    static const uint32_t one_bad[] = {1, 2, 3};
    static const uint32_t two_bad[] = {1, 3, 4};

    (void)user;
    spawn(node, "good");
    spawn(node, "good");
    spawn(node, "bad");
    spawn(node, "bad");
    spawn_join(node, "silent", one_bad, 3, 2, CASCADE_JOIN_FAIL);
    spawn_join(node, "never", two_bad, 3, 2, CASCADE_JOIN_FAIL);
    spawn_join(node, "never", two_bad, 3, 2, CASCADE_JOIN_SKIP);
    return CASCADE_OK;
}

static void
a_join_does_without_as_many_as_it_may(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root_of_quorums},
                        {"good", good},
                        {"bad", bad},
                        {"silent", silent},
                        {"never", never}},
              .final_failure = CASCADE_FINAL_CONTINUE};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(play_execution(snapshot, 5)->attempts, 1);
    assert_int_equal(play_execution(snapshot, 6)->status,
                     CASCADE_EXECUTION_FAILED);
    assert_int_equal(play_execution(snapshot, 7)->status,
                     CASCADE_EXECUTION_COMPLETED);
    assert_int_equal(play_execution(snapshot, 7)->attempts, 0);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Bad input ---------------------------------------------------------- */

static void
refuse(cascade_node *node, const cascade_spawn_options *options)
{
    expect(cascade_node_spawn(node, "silent", NULL, options) ==
           CASCADE_ERR_INVALID);
}

static cascade_err
root_of_nonsense(cascade_node *node, void *user)
{
    static const uint32_t twice[] = {1, 1};
    cascade_spawn_options options = {.size = sizeof(options), .first = 1};
    const cJSON *outcomes = NULL;

    (void)user;
    spawn(node, "silent");
    refuse(node, &options); /* the first of none */
    options.after = twice;
    options.after_count = 2;
    options.first = 2; /* there is one */
    refuse(node, &options);
    options.first = 1;
    options.on_failure = (cascade_join)3;
    refuse(node, &options);
    expect(cascade_node_outcomes(node, NULL) == CASCADE_ERR_INVALID);
    expect(cascade_node_outcomes(NULL, &outcomes) == CASCADE_ERR_INVALID);
    expect(cascade_node_spawned(node) == 1);
    return CASCADE_OK;
}

static void
joins_that_make_no_sense_are_refused(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root_of_nonsense}, {"silent", silent}}};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    play_end(&p);
}

/* ---- A wide graph ------------------------------------------------------- */

#define WIDE 1000
#define LAYERS 3
#define BEFORE 10 /* predecessors of each in the layers behind the first */

/* Each comes after ten neighbours of the layer before; one after all. */
static cascade_err
root_of_wide(cascade_node *node, void *user)
{
    static uint32_t all[WIDE];
    uint32_t after[BEFORE];

    (void)user;
    for (uint32_t i = 0; i < WIDE; i++)
        spawn(node, "cell");
    for (uint32_t layer = 1; layer < LAYERS; layer++)
        for (uint32_t i = 0; i < WIDE; i++) {
            for (uint32_t b = 0; b < BEFORE; b++)
                after[b] = (layer - 1) * WIDE + (i + b * 7) % WIDE + 1;
            spawn_join(node, "cell", after, BEFORE, 0, CASCADE_JOIN_FAIL);
        }
    for (uint32_t i = 0; i < WIDE; i++)
        all[i] = (LAYERS - 1) * WIDE + i + 1;
    spawn_join(node, "sum", all, WIDE, 0, CASCADE_JOIN_FAIL);
    return CASCADE_OK;
}

static int64_t
sum_of(cascade_node *node)
{
    const cJSON *outcomes = NULL;
    const cJSON *outcome = NULL;
    int64_t total = 0;

    expect(cascade_node_outcomes(node, &outcomes) == CASCADE_OK);
    cJSON_ArrayForEach(outcome, outcomes) total +=
        (int64_t)cJSON_GetNumberValue(
            cJSON_GetObjectItemCaseSensitive(outcome, "output"));
    return total;
}

/* One in the first layer, later ones add up. */
static cascade_err
cell(cascade_node *node, void *user)
{
    int64_t total = sum_of(node);

    (void)user;
    return cascade_node_output(
        node, cJSON_CreateNumber(total > 0 ? (double)total : 1));
}

static cascade_err
sum(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_output(node, cJSON_CreateNumber((double)sum_of(node)));
}

static void
a_graph_a_thousand_wide_works(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"root", root_of_wide}, {"cell", cell}, {"sum", sum}}};

    play_run(&p, db, mode, "root", NULL, CASCADE_COMPLETED);
    assert_output(&p, LAYERS * WIDE + 1, "100000");
    play_end(&p);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(a_join_is_told_how_each_has_ended)
PLAY_MODES(large_outcomes_are_told_whole)
PLAY_MODES(who_comes_after_nothing_is_told_nothing)
PLAY_MODES(a_join_runs_once_the_first_have_ended)
PLAY_MODES(what_was_first_stays_so_when_it_is_hydrated)
PLAY_MODES(a_join_fails_with_its_predecessor)
PLAY_MODES(what_was_not_run_may_be_replaced_too)
PLAY_MODES(a_join_is_skipped_with_its_predecessor)
PLAY_MODES(a_failure_that_was_made_up_for_is_none)
PLAY_MODES(a_join_does_without_as_many_as_it_may)
PLAY_MODES(joins_that_make_no_sense_are_refused)
PLAY_MODES(a_graph_a_thousand_wide_works)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_join_is_told_how_each_has_ended),
        PLAY_TESTS(large_outcomes_are_told_whole),
        PLAY_TESTS(who_comes_after_nothing_is_told_nothing),
        PLAY_TESTS(a_join_runs_once_the_first_have_ended),
        PLAY_TESTS(what_was_first_stays_so_when_it_is_hydrated),
        PLAY_TESTS(a_join_fails_with_its_predecessor),
        PLAY_TESTS(what_was_not_run_may_be_replaced_too),
        PLAY_TESTS(a_join_is_skipped_with_its_predecessor),
        PLAY_TESTS(a_failure_that_was_made_up_for_is_none),
        PLAY_TESTS(a_join_does_without_as_many_as_it_may),
        PLAY_TESTS(joins_that_make_no_sense_are_refused),
        PLAY_TESTS(a_graph_a_thousand_wide_works),
    };

    return stores_run("joins", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
