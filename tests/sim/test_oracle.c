/* SPDX-License-Identifier: MIT
 *
 * The oracle itself: a cascade that went well passes; the same rows with one
 * thing wrong do not, and the text names the guarantee. A driver stands between
 * the store and the oracle and alters what is read, one way in each test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "store/store.h"
#include "support/oracle.h"
#include "support/stores.h"

/* ---- What is judged: a small cascade ------------------------------------ */

typedef struct scene {
    test_db *db;
    oracle *o;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    bool silent; /* tell the oracle of no entry */
} scene;

static void
enter(scene *s, const cascade_node *node)
{
    if (!s->silent)
        oracle_ran(s->o, cascade_node_request_id(node),
                   cascade_node_attempt(node),
                   atomic_load(&s->db->clock.wall_ms));
}

static cascade_err
some_step(cascade_node *node, void *arg, cJSON **result)
{
    enter(arg, node);
    *result = cJSON_CreateNumber(7);
    return cascade_node_put_text(node, "step", "{\"b\":1,\"a\":2}", NULL);
}

/* 0: a step, two children, one after the other, in the second attempt. */
static cascade_err
root(cascade_node *node, void *user)
{
    const uint32_t after[] = {1};
    cascade_spawn_options options = {
        .size = sizeof(options), .after = after, .after_count = 1};
    cascade_err err = CASCADE_OK;

    enter(user, node);
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, "the first time");
    err = cascade_node_step(node, "work", some_step, user, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_put_text(node, "key", "[1]", "\"one\"");
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, &options);
    return err;
}

static cascade_err
leaf(cascade_node *node, void *user)
{
    enter(user, node);
    return CASCADE_OK;
}

static scene *
open_scene(test_db *db)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE};
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    db->fake_time = true;
    s->db = db;
    s->o = oracle_create();
    s->store = db_store(db);
    s->engine = db_engine(db, s->store, &options);
    assert_ok(cascade_engine_register(s->engine, "root", root, s, NULL));
    assert_ok(cascade_engine_register(s->engine, "leaf", leaf, s, NULL));
    assert_ok(cascade_engine_start(s->engine));
    return s;
}

static void
play(scene *s)
{
    cascade_start_options options = {
        .size = sizeof(options), .key = "one", .priority = 3};
    cascade_started started;
    db_ends ends = {s->store, &s->id, 1, 0};

    assert_ok(cascade_start(s->store, "root", NULL, &options, &started));
    s->id = started.id;
    oracle_existed(s->o, &s->id, started.existed);
    oracle_started(s->o, &s->id, true);
    oracle_expect(s->o, &s->id, CASCADE_COMPLETED);
    assert_true(db_poll_until(s->db, &s->engine, 1, db_all_ended, &ends));
}

static void
close_scene(scene *s)
{
    db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    oracle_free(s->o);
    free(s);
}

static bool
check(scene *s, oracle_phase phase)
{
    return oracle_check(s->o, s->store->driver, s->store->self, phase);
}

/* ---- A driver that lies ------------------------------------------------- */

/* Alters a row that is read; false: it is not there. */
typedef struct lie {
    const char *name;
    const char *guarantee;
    bool (*cascade)(cascade_row *row);
    bool (*execution)(cascade_execution_row *row);
    bool (*event)(cascade_event_row *row);
    bool second; /* the truth is read first */
} lie;

typedef struct liar {
    cascade_store_driver driver;
    const cascade_store_driver *inner;
    void *self;
    const lie *lie;
    const cascade_load_sink *sink;
    bool (*run)(cascade_run_row *run); /* as those of a lie; NULL: the truth */
    cascade_list_sink list_sink;
    void *list_context;
} liar;

static cascade_err
lie_cascade(void *context, const cascade_row *row)
{
    liar *l = context;
    cascade_row copy = *row;

    if (l->lie->cascade != NULL && !l->lie->cascade(&copy))
        return CASCADE_OK;
    return l->sink->on_cascade(l->sink->context, &copy);
}

static cascade_err
lie_execution(void *context, const cascade_execution_row *row)
{
    liar *l = context;
    cascade_execution_row copy = *row;

    if (l->lie->execution != NULL && !l->lie->execution(&copy))
        return CASCADE_OK;
    return l->sink->on_execution(l->sink->context, &copy);
}

static cascade_err
lie_event(void *context, const cascade_event_row *row)
{
    liar *l = context;
    cascade_event_row copy = *row;

    if (l->lie->event != NULL && !l->lie->event(&copy))
        return CASCADE_OK;
    return l->sink->on_event(l->sink->context, &copy);
}

static cascade_err
lie_load(void *self, const cascade_uuid *ids, size_t count, unsigned parts,
         const cascade_load_sink *sink)
{
    liar *l = self;
    cascade_load_sink own = {.context = l,
                             .on_cascade = lie_cascade,
                             .on_execution = lie_execution,
                             .on_event = lie_event};

    l->sink = sink;
    return l->inner->load(l->self, ids, count, parts, &own);
}

static cascade_err
lie_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    liar *l = context;
    cascade_run_row copy;

    if (run == NULL || l->run == NULL)
        return l->list_sink(l->list_context, row, run);
    copy = *run;
    return l->list_sink(l->list_context, row, l->run(&copy) ? &copy : NULL);
}

static cascade_err
lie_list(void *self, const cascade_query *query, cascade_list_sink sink,
         void *context)
{
    liar *l = self;

    l->list_sink = sink;
    l->list_context = context;
    return l->inner->list(l->self, query, lie_run, l);
}

static cascade_err
lie_now(void *self, int64_t *now_ms)
{
    liar *l = self;

    return l->inner->now(l->self, now_ms);
}

static bool
check_lie(scene *s, const lie *what, bool (*run)(cascade_run_row *run),
          oracle_phase phase)
{
    liar l = {.driver = *s->store->driver,
              .inner = s->store->driver,
              .self = s->store->self,
              .lie = what,
              .run = run};

    l.driver.load = lie_load;
    l.driver.list = lie_list;
    l.driver.now = lie_now;
    return oracle_check(s->o, &l.driver, &l, phase);
}

/* ---- The lies ----------------------------------------------------------- */
/* Executions: 0 root, 1 its step, 2 and 3 the leaves (3 after 2). */

static bool
status_running(cascade_row *row)
{
    row->status = CASCADE_RUNNING;
    return true;
}

static bool
status_error(cascade_row *row)
{
    row->status = CASCADE_ERROR;
    return true;
}

static bool
fn_id_back(cascade_row *row)
{
    row->fn_id = 1;
    return true;
}

static bool
other_user(cascade_row *row)
{
    row->user_id = "another";
    return true;
}

static bool
other_end(cascade_row *row)
{
    row->updated_at_ms++;
    return true;
}

static bool
written_before(cascade_row *row)
{
    row->updated_at_ms = row->created_at_ms - 1;
    return true;
}

static bool
gone(cascade_row *row)
{
    (void)row;
    return false;
}

static bool
last_gone(cascade_execution_row *row)
{
    return row->function_id != 3;
}

static bool
id_twice(cascade_execution_row *row)
{
    if (row->function_id == 3)
        row->function_id = 2;
    return true;
}

static bool
path_twice(cascade_execution_row *row)
{
    static char path[200];

    if (row->function_id == 2)
        (void)snprintf(path, sizeof(path), "%s", row->node_instance_id);
    if (row->function_id == 3)
        row->node_instance_id = path;
    return true;
}

static bool
runs_again(cascade_execution_row *row)
{
    if (row->function_id == 3) {
        row->status = CASCADE_EXECUTION_RUNNING;
        row->full_output = NULL;
        row->completed_at_ms = CASCADE_TIME_NONE;
    }
    return true;
}

static bool
other_output(cascade_execution_row *row)
{
    if (row->function_id == 2)
        row->full_output = "{\"at\":3,\"output\":1,\"attempts\":1}";
    return true;
}

static bool
other_input(cascade_execution_row *row)
{
    if (row->function_id == 2)
        row->input = "{\"a\":1}";
    return true;
}

static bool
no_children(cascade_execution_row *row)
{
    if (row->function_id == 0)
        row->full_output = "{\"at\":1,\"keys\":[\"key\"],\"cascade\":{"
                           "\"priority\":3},\"attempts\":2}";
    return true;
}

static bool
later_end(cascade_execution_row *row)
{
    if (row->function_id == 2)
        row->full_output = "{\"at\":9,\"attempts\":1}";
    return true;
}

static bool
more_attempts(cascade_execution_row *row)
{
    if (row->function_id == 2)
        row->full_output = "{\"at\":3,\"attempts\":2}";
    return true;
}

static bool
blanks(cascade_execution_row *row)
{
    if (row->function_id == 2)
        row->input = "{ }";
    return true;
}

static bool
no_error(cascade_execution_row *row)
{
    if (row->function_id == 2)
        row->status = CASCADE_EXECUTION_FAILED;
    return true;
}

static bool
event_gone(cascade_event_row *row)
{
    return row->function_id != 0;
}

static bool
event_moved(cascade_event_row *row)
{
    if (row->function_id == 0)
        row->function_id = 2;
    return true;
}

static bool
event_other(cascade_event_row *row)
{
    row->value = "[2]";
    return true;
}

static const lie lies[] = {
    {"RUNNING at the end", "G2", status_running, NULL, NULL, false},
    {"another end", "G2", status_error, NULL, NULL, false},
    {"fn_id too low", "G5", fn_id_back, NULL, NULL, false},
    {"fn_id goes back", "G5", fn_id_back, NULL, NULL, true},
    {"a key of another user", "G10", other_user, NULL, NULL, false},
    {"a user that changes", "G3", other_user, NULL, NULL, true},
    {"an end that moves", "G3", other_end, NULL, NULL, true},
    {"written before it was born", "G3", written_before, NULL, NULL, true},
    {"a lost start", "G2", gone, NULL, NULL, false},
    {"a lost cascade", "G2", gone, NULL, NULL, true},
    {"a lost execution", "G3", NULL, last_gone, NULL, true},
    {"a child that is named alone", "G1", NULL, last_gone, NULL, false},
    {"an id given twice", "G5", NULL, id_twice, NULL, false},
    {"a path given twice", "G5", NULL, path_twice, NULL, false},
    {"a recorded one runs", "G3", NULL, runs_again, NULL, true},
    {"a record changes", "G3", NULL, other_output, NULL, true},
    {"an input changes", "G3", NULL, other_input, NULL, true},
    {"children nobody names", "G1", NULL, no_children, NULL, false},
    {"an end in the future", "G1", NULL, later_end, NULL, false},
    {"an attempt nobody made", "G4", NULL, more_attempts, NULL, false},
    {"blanks in a payload", "G13", NULL, blanks, NULL, false},
    {"a failure without an error", "G14", NULL, no_error, NULL, false},
    {"a lost event", "G1", NULL, NULL, event_gone, false},
    {"an event that vanishes", "G3", NULL, NULL, event_gone, true},
    {"an event of another", "G1", NULL, NULL, event_moved, false},
    {"an event that changes", "G3", NULL, NULL, event_other, true}};

/* ---- Lies about a run that waits ---------------------------------------- */

static bool
no_run(cascade_run_row *run)
{
    (void)run;
    return false;
}

static bool
wakes_late(cascade_run_row *run)
{
    run->wake_at_ms += 1;
    return true;
}

static bool
other_priority(cascade_run_row *run)
{
    run->priority++;
    return true;
}

static bool
claim_no_back(cascade_run_row *run)
{
    run->claim_no--;
    return true;
}

/* Each time that it is read. */
static bool
claimed_anew(cascade_run_row *run)
{
    static int64_t claims;

    run->claim_no += ++claims;
    return true;
}

/* What is said of each. */
static const struct {
    const char *words;
    bool (*run)(cascade_run_row *run);
} run_lies[] = {{"has no run row", no_run},
                {"wakes 1 ms too late", wakes_late},
                {"another priority", other_priority},
                {"claim_no went back", claim_no_back}};

/* ---- The tests ---------------------------------------------------------- */

static void
what_went_well_passes(test_db *db)
{
    scene *s = open_scene(db);

    play(s);
    if (!check(s, ORACLE_RUNNING) || !check(s, ORACLE_ENDED))
        fail_msg("%s", oracle_text(s->o));
    assert_int_equal(oracle_looks(s->o), 2);
    close_scene(s);
}

static void
each_lie_is_found(test_db *db)
{
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        scene *s = open_scene(db);
        char line[16];

        play(s);
        if (lies[i].second)
            assert_true(check(s, ORACLE_ENDED));
        if (check_lie(s, &lies[i], NULL, ORACLE_ENDED))
            fail_msg("not found: %s", lies[i].name);
        (void)snprintf(line, sizeof(line), "%s ", lies[i].guarantee);
        if (strstr(oracle_text(s->o), line) == NULL)
            fail_msg("%s is not said of: %s\n%s", lies[i].guarantee,
                     lies[i].name, oracle_text(s->o));
        close_scene(s);
        db->backend->destroy(db);
        assert_int_equal(db->backend->create(db), 0);
    }
}

static void
each_lie_about_a_run_is_found(test_db *db)
{
    cascade_start_options options = {.size = sizeof(options), .delay_ms = 50};
    static const lie none = {.name = "none"};

    for (size_t i = 0; i < sizeof(run_lies) / sizeof(run_lies[0]); i++) {
        scene *s = open_scene(db);
        cascade_started started;

        assert_ok(cascade_start(s->store, "root", NULL, &options, &started));
        assert_true(check(s, ORACLE_RUNNING));
        if (check_lie(s, &none, run_lies[i].run, ORACLE_RUNNING) ||
            strstr(oracle_text(s->o), run_lies[i].words) == NULL)
            fail_msg("not said: %s\n%s", run_lies[i].words, oracle_text(s->o));
        close_scene(s);
        db->backend->destroy(db);
        assert_int_equal(db->backend->create(db), 0);
    }
}

/* While work goes on nobody can say that it does not. */
static void
what_does_not_stand_still_in_the_end_is_found(test_db *db)
{
    cascade_start_options options = {.size = sizeof(options), .delay_ms = 50};
    static const lie none = {.name = "none"};
    scene *s = open_scene(db);
    cascade_started started;

    assert_ok(cascade_start(s->store, "root", NULL, &options, &started));
    assert_true(check_lie(s, &none, claimed_anew, ORACLE_RUNNING));
    assert_false(check_lie(s, &none, claimed_anew, ORACLE_ENDED));
    assert_non_null(strstr(oracle_text(s->o), "does not stand still"));
    close_scene(s);
}

/* The first leaf sees what the root wrote, and nothing else. */
static void
what_is_seen_of_the_context_is_judged(test_db *db)
{
    scene *s = open_scene(db);
    char path[CASCADE_UUID_TEXT_SIZE + 10];

    play(s);
    assert_true(check(s, ORACLE_ENDED));
    oracle_follow(s->o);
    cascade_uuid_format(&s->id, path);
    strcat(path, "/0/leaf#0");
    oracle_saw(s->o, path, "key", "[[1]]");
    assert_string_equal(oracle_text(s->o), "");
    oracle_saw(s->o, path, "key", "[]");
    assert_non_null(strstr(oracle_text(s->o), "G7 "));
    close_scene(s);
}

static void
what_nobody_entered_is_found(test_db *db)
{
    scene *s = open_scene(db);
    char path[CASCADE_UUID_TEXT_SIZE + 10];

    s->silent = true;
    play(s);
    assert_true(check(s, ORACLE_ENDED));
    cascade_uuid_format(&s->id, path);
    strcat(path, "/-/root#0");
    oracle_ran(s->o, path, 2, 0);
    assert_false(check(s, ORACLE_ENDED));
    assert_non_null(strstr(oracle_text(s->o), "G3 "));
    assert_non_null(strstr(oracle_text(s->o), "never entered"));
    close_scene(s);
}

static void
a_second_start_must_be_told(test_db *db)
{
    scene *s = open_scene(db);

    play(s);
    oracle_existed(s->o, &s->id, true);
    assert_true(check(s, ORACLE_ENDED));
    oracle_existed(s->o, &s->id, false);
    assert_false(check(s, ORACLE_ENDED));
    assert_non_null(strstr(oracle_text(s->o), "G10 "));
    close_scene(s);
}

static void
strangers_are_found(test_db *db)
{
    scene *s = open_scene(db);

    play(s);
    assert_true(check(s, ORACLE_RUNNING));
    oracle_refuse_strangers(s->o);
    (void)db_start(s->store, "root");
    assert_false(check(s, ORACLE_RUNNING));
    assert_non_null(strstr(oracle_text(s->o), "nobody started it"));
    close_scene(s);
}

/* With an early entry of a delayed start, and one not recorded at all. */
static void
what_enters_too_early_is_found(test_db *db)
{
    cascade_start_options options = {.size = sizeof(options), .delay_ms = 50};
    scene *s = open_scene(db);
    cascade_started started;
    char path[CASCADE_UUID_TEXT_SIZE + 10];

    assert_ok(cascade_start(s->store, "root", NULL, &options, &started));
    oracle_started(s->o, &started.id, true);
    assert_true(check(s, ORACLE_RUNNING));
    oracle_follow(s->o);
    cascade_uuid_format(&started.id, path);
    strcat(path, "/-/root#0");
    oracle_ran(s->o, path, 1, atomic_load(&db->clock.wall_ms));
    assert_non_null(strstr(oracle_text(s->o), "G8 "));
    path[strlen(path) - 1] = '1';
    oracle_ran(s->o, path, 1, atomic_load(&db->clock.wall_ms));
    assert_non_null(strstr(oracle_text(s->o), "before it was recorded"));
    assert_false(check(s, ORACLE_RUNNING));
    close_scene(s);
}

#define ORACLE_TEST(name)          \
    {                              \
#name, name, STORES_MEMORY \
    }

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        ORACLE_TEST(what_went_well_passes),
        ORACLE_TEST(each_lie_is_found),
        ORACLE_TEST(each_lie_about_a_run_is_found),
        ORACLE_TEST(what_does_not_stand_still_in_the_end_is_found),
        ORACLE_TEST(what_is_seen_of_the_context_is_judged),
        ORACLE_TEST(what_nobody_entered_is_found),
        ORACLE_TEST(a_second_start_must_be_told),
        ORACLE_TEST(strangers_are_found),
        ORACLE_TEST(what_enters_too_early_is_found)};

    return stores_run("oracle", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
