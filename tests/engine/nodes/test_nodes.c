/* SPDX-License-Identifier: MIT
 *
 * The node side, call by call, in each mode: who a node is, what it sees, what
 * it produces, how it fails, and what an engine does with nodes it does not
 * know. Steps have a program of their own (test_steps.c).
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "engine/support/play.h"

/* ---- Who it is ---------------------------------------------------------- */

static cascade_err
tell_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = cJSON_CreateString(cascade_node_request_id(node));
    return CASCADE_OK;
}

static cascade_err
tell(cascade_node *node, void *user)
{
    cJSON *result = NULL;
    cascade_err err = CASCADE_OK;

    (void)user;
    expect(cascade_node_function_id(node) == 0);
    expect(cascade_node_attempt(node) == 1);
    expect(strcmp(cascade_node_name(node), "tell") == 0);
    expect(strcmp(cascade_node_user_id(node), "anonymous") == 0);
    expect(strcmp(cascade_node_input_text(node), "{\"a\":[1,2]}") == 0);
    expect(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(
               cascade_node_input(node), "a")) == 2);
    err = cascade_node_step(node, "s", tell_step, NULL, NULL, &result);
    if (err != CASCADE_OK)
        return err;
    err = cascade_node_put(node, "step", result);
    if (err == CASCADE_OK)
        err = cascade_node_put(
            node, "node", cJSON_CreateString(cascade_node_request_id(node)));
    return err;
}

/* G4: the id for the outside is the path in the table. */
static void
request_ids_are_the_recorded_paths(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"tell", tell}}};
    cascade_snapshot *snapshot = NULL;
    char wanted[400];

    play_run(&p, db, mode, "tell", "{\"a\":[1,2]}", CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 2);
    snprintf(wanted, sizeof(wanted), "{\"node\":[\"%s\"],\"step\":[\"%s\"]}",
             play_execution(snapshot, 0)->node_instance_id,
             play_execution(snapshot, 1)->node_instance_id);
    assert_string_equal(cascade_snapshot_context(snapshot), wanted);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- What it sees ------------------------------------------------------- */

/* Each part of it is what stands there in all of it. */
static void
expect_parts(cascade_node *node, const char *key, const cJSON *all)
{
    int size = cJSON_GetArraySize(all);

    for (int begin = -size - 1; begin <= size; begin++) {
        int first = begin < 0 ? size + begin : begin;

        first = first < 0 ? 0 : first;
        for (int limit = 0; limit <= size + 1; limit++) {
            const cJSON *part = NULL;
            size_t count = 0;
            int got = 0;

            if (!expect(cascade_node_history_part(node, key, begin,
                                                  (size_t)limit, &part,
                                                  &count) == CASCADE_OK))
                return;
            got = cJSON_GetArraySize(part);
            expect(count == (size_t)size);
            expect(got == (size - first < limit ? size - first : limit));
            for (int i = 0; i < got; i++)
                expect(cJSON_Compare(cJSON_GetArrayItem(part, i),
                                     cJSON_GetArrayItem(all, first + i), true));
        }
    }
}

static void
expect_history(cascade_node *node, const char *key, const char *wanted)
{
    const cJSON *values = NULL;
    char *text = NULL;

    if (!expect(cascade_node_history(node, key, &values) == CASCADE_OK))
        return;
    text = cJSON_PrintUnformatted(values);
    if (!expect(strcmp(text, wanted) == 0))
        fprintf(stderr, "%s: %s instead of %s\n", key, text, wanted);
    cJSON_free(text);
    expect_parts(node, key, values);
}

static cascade_err
write_own(cascade_node *node, void *user)
{
    const cJSON *value = NULL;

    (void)user;
    expect(cascade_node_get(node, "k", &value) == CASCADE_ERR_NOT_FOUND);
    expect(cascade_errmsg() != NULL);
    expect_history(node, "k", "[]");
    expect(cascade_node_put(node, "k", cJSON_CreateNumber(1)) == CASCADE_OK);
    expect(cascade_node_get(node, "k", &value) == CASCADE_OK);
    expect(value->valueint == 1);
    expect(cascade_node_put_ui(node, "k", cJSON_CreateTrue(),
                               cJSON_CreateString("yes")) == CASCADE_OK);
    expect(cascade_node_put_text(node, "k", " {\"b\" : 1e1} ", "[ ]") ==
           CASCADE_OK);
    expect_history(node, "k", "[1,true,{\"b\":10}]");
    expect(cascade_node_output(node, cJSON_CreateNumber(5)) == CASCADE_OK);
    return cascade_node_output(node, cJSON_CreateString("last"));
}

static void
a_node_sees_what_it_put_itself(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"write", write_own}}};
    cascade_snapshot_options ui = {.size = sizeof(ui), .ui = true};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "write", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"k\":[1,true,{\"b\":10}]}");
    assert_string_equal(cascade_snapshot_result(snapshot), "\"last\"");
    cascade_snapshot_free(snapshot);
    assert_ok(cascade_snapshot_load(p.store, &p.id, &ui, &snapshot));
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"k\":[1,\"yes\",[]]}");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* 1: early; 2: late, begins when early has ended; 3: joins early alone;
 * 4: joins both. */
static cascade_err
spawn_places(cascade_node *node, void *user)
{
    uint32_t one = 1;
    uint32_t both[2] = {2, 1};
    cascade_spawn_options late = {.size = sizeof(late), .delay_ms = 40};
    cascade_spawn_options after_one = {
        .size = sizeof(after_one), .after = &one, .after_count = 1};
    cascade_spawn_options after_both = {
        .size = sizeof(after_both), .after = both, .after_count = 2};

    (void)user;
    expect(cascade_node_put(node, "k", cJSON_CreateNumber(0)) == CASCADE_OK);
    expect(cascade_node_spawned(node) == 0);
    expect(cascade_node_spawn(node, "early", NULL, NULL) == CASCADE_OK);
    expect(cascade_node_spawn(node, "late", NULL, &late) == CASCADE_OK);
    expect(cascade_node_spawn(node, "one", NULL, &after_one) == CASCADE_OK);
    expect(cascade_node_spawn(node, "both", NULL, &after_both) == CASCADE_OK);
    expect(cascade_node_spawned(node) == 4);
    return CASCADE_OK;
}

static cascade_err
early(cascade_node *node, void *user)
{
    (void)user;
    expect_history(node, "k", "[0]");
    return cascade_node_put(node, "k", cJSON_CreateNumber(1));
}

static cascade_err
late(cascade_node *node, void *user)
{
    (void)user;
    expect_history(node, "k", "[0]");
    return cascade_node_put(node, "k", cJSON_CreateNumber(2));
}

static cascade_err
joins_one(cascade_node *node, void *user)
{
    (void)user;
    expect_history(node, "k", "[0,1]");
    return cascade_node_put(node, "k", cJSON_CreateNumber(3));
}

static cascade_err
joins_both(cascade_node *node, void *user)
{
    (void)user;
    expect_history(node, "k", "[0,1,2]");
    return cascade_node_put(node, "k", cJSON_CreateNumber(4));
}

static void
a_node_sees_as_of_its_own_place(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"places", spawn_places},
                        {"early", early},
                        {"late", late},
                        {"one", joins_one},
                        {"both", joins_both}}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "places", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_context(snapshot),
                        "{\"k\":[0,1,2,3,4]}");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Failing ------------------------------------------------------------ */

static const char invalid_utf8[] = "odd \xff\xfe text \xc3";

/* A text that no store takes as it is, in each attempt another. */
static cascade_err
fail_oddly(cascade_node *node, void *user)
{
    const cJSON *value = NULL;
    char longer[5000];

    (void)user;
    expect(cascade_node_put(node, "k", cJSON_CreateTrue()) == CASCADE_OK);
    switch (cascade_node_attempt(node)) {
    case 1:
        return cascade_node_error(node, "%s", invalid_utf8);
    case 2:
        memset(longer, 'x', sizeof(longer));
        longer[sizeof(longer) - 1] = '\0';
        return cascade_node_error(node, "%s", longer);
    case 3:
        return CASCADE_ERR_SYSTEM;
    case 4:
        return cascade_node_get(node, "none", &value);
    default:
        return cascade_node_fail(node, "enough: %d", 5);
    }
}

static void
error_texts_are_cleaned_and_recorded(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"odd", fail_oddly}}, .attempts_max = 9};
    cascade_snapshot *snapshot = NULL;
    const cascade_execution_info *info = NULL;

    play_run(&p, db, mode, "odd", NULL, CASCADE_ERROR);
    snapshot = play_snapshot(&p);
    info = play_execution(snapshot, 0);
    assert_int_equal(info->status, CASCADE_EXECUTION_FAILED);
    assert_int_equal(info->attempts, 5);
    assert_string_equal(info->error, "enough: 5");
    assert_string_equal(cascade_snapshot_error(snapshot), "enough: 5");
    assert_string_equal(cascade_snapshot_context(snapshot), "{}");
    cascade_snapshot_free(snapshot);
    assert_int_equal(db_stats(p.engine).refusals, 0);
    assert_int_equal(db_stats(p.engine).attempts, 5);
    play_end(&p);
}

/* While attempts remain the last error is recorded, and readable. */
static cascade_err
fail_once_oddly(cascade_node *node, void *user)
{
    cascade_snapshot *snapshot = NULL;
    const char *error = NULL;
    play *p = user;

    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "%s", invalid_utf8);
    if (!expect(cascade_snapshot_load(p->store, cascade_node_cascade_id(node),
                                      NULL, &snapshot) == CASCADE_OK))
        return CASCADE_ERR_FINAL;
    error = play_execution(snapshot, 0)->error;
    expect(error != NULL && strncmp(error, "odd ", 4) == 0);
    expect(error != NULL && csc_json_utf8_is(error, strlen(error)));
    cascade_snapshot_free(snapshot);
    return CASCADE_OK;
}

static void
the_last_error_is_recorded_while_attempts_remain(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"odd", fail_once_oddly}}};

    play_run(&p, db, mode, "odd", NULL, CASCADE_COMPLETED);
    play_end(&p);
}

static cascade_err
spawn_careless(cascade_node *node, void *user)
{
    uint32_t one = 1;
    cascade_spawn_options after = {
        .size = sizeof(after), .after = &one, .after_count = 1};

    (void)user;
    expect(cascade_node_spawn(node, "careless", NULL, NULL) == CASCADE_OK);
    return cascade_node_spawn(node, "next", NULL, &after);
}

static cascade_err
careless(cascade_node *node, void *user)
{
    (void)user;
    (void)cascade_node_put(node, "k", cJSON_CreateNumber(1));
    return cascade_node_fail(node, "never mind");
}

static cascade_err
next(cascade_node *node, void *user)
{
    (void)user;
    expect_history(node, "k", "[]");
    return cascade_node_put(node, "k", cJSON_CreateNumber(2));
}

static void
a_final_failure_may_leave_the_others_going(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"spawn", spawn_careless},
                        {"careless", careless},
                        {"next", next}},
              .final_failure = CASCADE_FINAL_CONTINUE};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "spawn", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_string_equal(cascade_snapshot_context(snapshot), "{\"k\":[2]}");
    assert_null(cascade_snapshot_error(snapshot));
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_ERRORS), 1);
    assert_string_equal(play_execution(snapshot, 1)->error, "never mind");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Limits and wrong arguments ----------------------------------------- */

static cascade_err
ask_for_too_much(cascade_node *node, void *user)
{
    char text[3002];

    (void)user;
    memset(text, '7', sizeof(text));
    text[0] = '"';
    text[sizeof(text) - 2] = '"';
    text[sizeof(text) - 1] = '\0';
    expect(cascade_node_put_text(node, "k", text, NULL) == CASCADE_OK);
    expect(cascade_node_put_text(node, "k", text, NULL) ==
           CASCADE_ERR_TOO_LARGE);
    expect(cascade_node_output(node, cJSON_CreateString(text)) ==
           CASCADE_ERR_TOO_LARGE);
    expect(cascade_node_spawn(node, "x", cJSON_CreateString(text), NULL) ==
           CASCADE_ERR_TOO_LARGE);
    expect(cascade_node_spawned(node) == 0);
    return cascade_node_put_text(node, "k", "1", NULL);
}

static void
an_execution_is_limited_in_bytes(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"much", ask_for_too_much}},
              .execution_bytes_max = 4096};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "much", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(strlen(cascade_snapshot_context(snapshot)),
                     strlen("{\"k\":[,1]}") + 3001);
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

#define EFFECTS_MAX 10000

static cascade_err
ask_for_too_many(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < EFFECTS_MAX && err == CASCADE_OK; i++)
        err = cascade_node_put_text(node, "k", "1", NULL);
    for (int i = 0; i < EFFECTS_MAX && err == CASCADE_OK; i++)
        err = cascade_node_spawn(node, "nothing", NULL, NULL);
    expect(cascade_node_put_text(node, "k", "1", NULL) ==
           CASCADE_ERR_TOO_LARGE);
    expect(cascade_node_spawn(node, "nothing", NULL, NULL) ==
           CASCADE_ERR_TOO_LARGE);
    return err;
}

static void
an_execution_is_limited_in_effects(test_db *db, cascade_mode mode)
{
    play p = {
        .nodes = {{"many", ask_for_too_many}, {"nothing", stores_nothing}}};
    cascade_info *info = NULL;

    play_run(&p, db, mode, "many", NULL, CASCADE_COMPLETED);
    assert_ok(cascade_get(p.store, &p.id, &info));
    assert_int_equal(info->fn_id, EFFECTS_MAX);
    cascade_info_free(info);
    play_end(&p);
}

static cascade_err
argue(cascade_node *node, void *user)
{
    uint32_t second = 2;
    cascade_spawn_options bad[] = {
        {.size = sizeof(bad[0]), .priority = 10},
        {.size = sizeof(bad[0]), .priority = -1},
        {.size = sizeof(bad[0]), .delay_ms = -1},
        {.size = sizeof(bad[0]), .after = &second, .after_count = 1},
        {.size = sizeof(bad[0]), .after = NULL, .after_count = 1},
        {.size = 0, .priority = 1}};
    static const char *const names[] = {"", "cascade.x", "a b", NULL};
    char key[300];

    (void)user;
    memset(key, 'k', sizeof(key));
    key[256] = '\0';
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect(cascade_node_spawn(node, "x", NULL, &bad[i]) ==
               CASCADE_ERR_INVALID);
    for (size_t i = 0; i < 4; i++)
        expect(cascade_node_spawn(node, names[i], cJSON_CreateTrue(), NULL) ==
               CASCADE_ERR_INVALID);
    expect(cascade_node_put(node, key, cJSON_CreateTrue()) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_put(node, "", cJSON_CreateTrue()) ==
           CASCADE_ERR_INVALID);
    expect(cascade_node_put(node, "k", NULL) == CASCADE_ERR_INVALID);
    expect(cascade_node_put_text(node, "k", NULL, NULL) == CASCADE_ERR_INVALID);
    expect(cascade_node_put_text(node, "k", "{", NULL) == CASCADE_ERR_JSON);
    expect(cascade_node_put_text(node, "k", "1", "\"\\u0000\"") ==
           CASCADE_ERR_JSON);
    expect(cascade_node_output(node, NULL) == CASCADE_ERR_INVALID);
    return CASCADE_OK;
}

/* G13: a wrong call changes nothing. */
static void
wrong_arguments_are_refused_at_the_call(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"argue", argue}}};
    cascade_snapshot *snapshot = NULL;

    play_run(&p, db, mode, "argue", NULL, CASCADE_COMPLETED);
    snapshot = play_snapshot(&p);
    assert_int_equal(cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY), 1);
    assert_string_equal(cascade_snapshot_context(snapshot), "{}");
    cascade_snapshot_free(snapshot);
    play_end(&p);
}

/* ---- Unknown nodes ------------------------------------------------------ */

static cascade_err
go_abroad(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_spawn(node, "exotic", NULL, NULL);
}

typedef struct left_place {
    cascade_store *store;
    cascade_engine *engine; /* that leaves it */
    cascade_uuid id;
} left_place;

static bool
is_left(void *context)
{
    left_place *left = context;
    cascade_info *info = NULL;
    bool is = false;

    assert_ok(cascade_get(left->store, &left->id, &info));
    is = !info->owned && strcmp(info->needs, "exotic") == 0;
    cascade_info_free(info);
    return is && db_stats(left->engine).unknown_nodes == 1;
}

/* What is counted follows the commit that others see. */
static bool
has_executed(void *engine)
{
    return db_stats(engine).executions == 1;
}

/* G14: it is left for an engine that knows it, and says so. */
static void
an_unknown_node_is_left_for_an_engine_that_knows_it(test_db *db)
{
    play home = {.nodes = {{"go", go_abroad}}};
    play abroad = {.nodes = {{"exotic", stores_nothing}}};
    left_place left;

    play_open(&home, db, CASCADE_MODE_THREADS);
    left = (left_place){home.store, home.engine, db_start(home.store, "go")};
    assert_true(stores_until(is_left, &left));
    assert_int_equal(db_stats(home.engine).held, 0);
    play_open(&abroad, db, CASCADE_MODE_THREADS);
    db_await(home.store, &left.id, CASCADE_COMPLETED);
    assert_true(stores_until(has_executed, abroad.engine));
    play_end(&home);
    play_end(&abroad);
}

/* ---- In each mode ------------------------------------------------------- */

PLAY_MODES(request_ids_are_the_recorded_paths)
PLAY_MODES(a_node_sees_what_it_put_itself)
PLAY_MODES(a_node_sees_as_of_its_own_place)
PLAY_MODES(error_texts_are_cleaned_and_recorded)
PLAY_MODES(the_last_error_is_recorded_while_attempts_remain)
PLAY_MODES(a_final_failure_may_leave_the_others_going)
PLAY_MODES(an_execution_is_limited_in_bytes)
PLAY_MODES(wrong_arguments_are_refused_at_the_call)

static void
an_execution_is_limited_in_effects_with_threads(test_db *db)
{
    an_execution_is_limited_in_effects(db, CASCADE_MODE_THREADS);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(request_ids_are_the_recorded_paths),
        PLAY_TESTS(a_node_sees_what_it_put_itself),
        PLAY_TESTS(a_node_sees_as_of_its_own_place),
        PLAY_TESTS(error_texts_are_cleaned_and_recorded),
        PLAY_TESTS(the_last_error_is_recorded_while_attempts_remain),
        PLAY_TESTS(a_final_failure_may_leave_the_others_going),
        PLAY_TESTS(an_execution_is_limited_in_bytes),
        PLAY_TESTS(wrong_arguments_are_refused_at_the_call),
        {"an_execution_is_limited_in_effects",
         an_execution_is_limited_in_effects_with_threads, STORES_ALL},
        {"an_unknown_node_is_left_for_an_engine_that_knows_it",
         an_unknown_node_is_left_for_an_engine_that_knows_it, STORES_ALL},
    };

    return stores_run("nodes", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
