/* SPDX-License-Identifier: MIT
 *
 * cascade_verify(): what the library writes is sound, whatever happened to it;
 * and each rule finds the row that was broken by hand. Rows of other programs
 * are left in peace.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"
#include "engine/support/mix.h"
#include "held/run/sealing.h"
#include "query/audit/audit.h"
#include "store/store.h"
#include "support/rows.h"
#include "support/sealed.h"
#include "support/sound.h"

#define MIXED 60
#define LARGE 25000 /* executions of a cascade that is read in pages */

/* ---- A sound database ---------------------------------------------------- */

static cascade_err
root(cascade_node *node, void *user)
{
    static const uint32_t both[2] = {1, 2};
    const cascade_spawn_options after = {
        .size = sizeof(after), .after = both, .after_count = 2};
    cascade_err err = cascade_node_put_text(node, "k", "[1]", NULL);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "leaf", NULL, NULL);
    return err == CASCADE_OK ? cascade_node_spawn(node, "leaf", NULL, &after)
                             : err;
}

static cascade_err
waits(cascade_node *node, void *user)
{
    cJSON *news = NULL;
    cascade_err err = cascade_node_await(node, "news", -1, &news);

    (void)user;
    cJSON_Delete(news);
    return err;
}

static cascade_err
goes_on(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_continue_as_new(node, "leaf", NULL);
}

static cascade_uuid
start_as(cascade_store *store, const char *user, const char *node)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = user, .key = "k"};
    cascade_started started;

    assert_ok(cascade_start(store, node, NULL, &options, &started));
    return started.id;
}

static bool
is_parked(void *context)
{
    cascade_info *info = NULL;
    bool parked = false;
    const db_ends *e = context;

    assert_ok(cascade_get(e->store, &e->ids[0], &info));
    parked = info->fn_id == 1 && !info->owned;
    cascade_info_free(info);
    return parked;
}

/* To the end of run 2. */
static void
continue_as(cascade_store *store, const char *user)
{
    cascade_uuid id = start_as(store, user, "goes.on");
    cascade_snapshot *snapshot = NULL;
    cascade_uuid next;

    db_await(store, &id, CASCADE_COMPLETED);
    assert_ok(cascade_snapshot_load(store, &id, NULL, &snapshot));
    next = *cascade_snapshot_continued_as(snapshot);
    cascade_snapshot_free(snapshot);
    db_await(store, &next, CASCADE_COMPLETED);
}

/* A graph of user "a" that has ended, a wait of "b" that goes on, and one of
 * "c" that is over; two runs of "d", and of "e". */
static void
fill_database(test_db *db, cascade_store *store)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .park_after_ms = 1};
    cascade_engine *engine = db_engine(db, store, &options);
    cascade_uuid ids[3];
    db_ends parked = {.store = store, .ids = &ids[1]};

    assert_ok(cascade_engine_register(engine, "root", root, NULL, NULL));
    assert_ok(
        cascade_engine_register(engine, "leaf", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "goes.on", goes_on, NULL, NULL));
    assert_ok(cascade_engine_register(engine, "waits", waits, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    ids[0] = start_as(store, "a", "root");
    ids[1] = start_as(store, "b", "waits");
    ids[2] = start_as(store, "c", "waits");
    assert_ok(cascade_signal(store, &ids[2], "news", NULL, NULL));
    continue_as(store, "d");
    continue_as(store, "e");
    db_await(store, &ids[0], CASCADE_COMPLETED);
    db_await(store, &ids[2], CASCADE_COMPLETED);
    assert_true(stores_until(is_parked, &parked));
    db_close_engine(db, engine);
}

/* ---- What is found ------------------------------------------------------- */

typedef struct found {
    size_t count;
    size_t by_rule[CSC_AUDIT_RULE_COUNT];
    size_t left; /* to be told until it wants no more; 0: no limit */
    char last[512];
} found;

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    found *f = context;

    (void)id;
    (void)function_id;
    f->count++;
    (void)snprintf(f->last, sizeof(f->last), "%s: %s", rule, text);
    for (int r = 0; r < CSC_AUDIT_RULE_COUNT; r++)
        if (strcmp(rule, csc_audit_name((csc_audit_rule)r)) == 0)
            f->by_rule[r]++;
    return f->left == 0 || --f->left > 0;
}

static found
verify(cascade_store *store)
{
    found f = {0};
    const cascade_check_options options = {
        .size = sizeof(options), .finding = note_finding, .context = &f};
    cascade_check_report report = {.size = sizeof(report)};

    assert_ok(cascade_verify(store, &options, &report));
    assert_int_equal(f.count, report.findings);
    return f;
}

#define OF(user) "(SELECT id FROM cascades WHERE user_id = '" user "')"
#define ROW(user, id) " WHERE cascade_id = " OF(user) " AND function_id = " id

/* The first of its runs. */
#define ROOT_OF(user)                                     \
    "(SELECT r.root FROM cascade_links r JOIN cascades c" \
    " ON c.id = r.next_id WHERE c.user_id = '" user "')"

typedef struct breakage {
    csc_audit_rule rule;
    const char *sql;
    const char *mend; /* besides the general one; NULL: nothing */
} breakage;

static const breakage breakages[] = {
    {CSC_AUDIT_STATUS,
     "UPDATE cascades SET status = 'ERROR'"
     " WHERE user_id = 'a'",
     NULL},
    {CSC_AUDIT_STATUS,
     "UPDATE node_executions SET status = 'FAILED'" ROW("a", "1"), NULL},
    {CSC_AUDIT_FN_ID, "UPDATE cascades SET fn_id = 2 WHERE user_id = 'a'",
     NULL},
    {CSC_AUDIT_RUN, "DELETE FROM cascade_runs",
     "INSERT INTO cascade_runs SELECT * FROM saved_runs"},
    {CSC_AUDIT_RUN, "UPDATE cascade_runs SET cascade_id = " OF("a"),
     "UPDATE cascade_runs SET cascade_id = " OF("b")},
    {CSC_AUDIT_RUN_VALUES, "UPDATE cascade_runs SET queue = 'other'",
     "UPDATE cascade_runs SET queue = 'default'"},
    {CSC_AUDIT_RUN_VALUES, "UPDATE cascade_runs SET priority = 9",
     "UPDATE cascade_runs SET priority = 0"},
    {CSC_AUDIT_RUN_VALUES,
     "UPDATE cascade_runs SET claim_no = 0,"
     " engine_id = '0190aaaa-0000-4000-8000-0000000000ee'",
     "UPDATE cascade_runs SET claim_no = 1, engine_id = NULL"},
    {CSC_AUDIT_COMPLETED_AT,
     "UPDATE node_executions SET completed_at = NULL" ROW("a", "1"), NULL},
    {CSC_AUDIT_COMPLETED_AT,
     "UPDATE node_executions SET completed_at = started_at" ROW("b", "1"),
     NULL},
    {CSC_AUDIT_PATH,
     "UPDATE node_executions SET node_name = 'other'" ROW("a", "1"), NULL},
    {CSC_AUDIT_PATH,
     "UPDATE node_executions SET node_instance_id = 'x_1'" ROW("a", "1"), NULL},
    {CSC_AUDIT_PARENT,
     "UPDATE node_executions SET node_instance_id ="
     " replace(node_instance_id, '/0/', '/9/')" ROW("a", "1"),
     NULL},
    {CSC_AUDIT_PARENT,
     "UPDATE node_executions SET status = 'RUNNING',"
     " completed_at = NULL" ROW("a", "0"),
     NULL},
    {CSC_AUDIT_RECORD,
     "UPDATE node_executions SET full_output = NULL" ROW("a", "1"), NULL},
    {CSC_AUDIT_RECORD,
     "UPDATE node_executions SET full_output = '{\"at\":4}'" ROW("a", "1"),
     NULL},
    {CSC_AUDIT_REFERENCE,
     "UPDATE node_executions SET full_output = "
     "'{\"at\":0,\"spawned\":[9]}'" ROW("a", "1"),
     NULL},
    {CSC_AUDIT_REFERENCE,
     "UPDATE node_executions SET full_output = "
     "'{\"at\":0,\"spawned\":[2]}'" ROW("a", "1"),
     NULL},
    {CSC_AUDIT_REFERENCE,
     "UPDATE node_executions SET full_output = '{\"at\":0,\"after\":[2]}'" ROW(
         "a", "1"),
     NULL},
    {CSC_AUDIT_REFERENCE,
     "UPDATE node_executions SET full_output = '{\"at\":0,\"late\":[7]}'" ROW(
         "a", "1"),
     NULL},
    {CSC_AUDIT_REFERENCE,
     "UPDATE node_executions SET full_output = "
     "'{\"at\":0,\"instead_of\":0}'" ROW("a", "1"),
     NULL},
    {CSC_AUDIT_REFERENCE,
     "UPDATE node_executions SET full_output = '{\"at\":0,\"signal\":0}'" ROW(
         "c", "1"),
     NULL},
    {CSC_AUDIT_WRITER, "UPDATE context_events SET function_id = 9",
     "UPDATE context_events SET function_id = 0"},
    {CSC_AUDIT_KEY, "UPDATE cascades SET user_id = 'z' WHERE user_id = 'a'",
     "UPDATE cascades SET user_id = 'a' WHERE user_id = 'z'"},
    {CSC_AUDIT_MESSAGE,
     "INSERT INTO cascade_messages (cascade_id, kind, name, path, payload,"
     " sent_at) SELECT id, 'signal', 'news', 'odd', '{}', 1 FROM cascades"
     " WHERE user_id = 'b'",
     "DELETE FROM cascade_messages"},
    {CSC_AUDIT_LINKS, "UPDATE cascade_links SET run_number = 1",
     "UPDATE cascade_links SET run_number = 2"},
    {CSC_AUDIT_LINKS, "UPDATE cascade_links SET next_id = " OF("a"),
     "UPDATE cascade_links SET next_id = (SELECT s.next_id FROM saved_links s"
     " WHERE s.path = cascade_links.path)"},
    {CSC_AUDIT_LINKS,
     "INSERT INTO cascade_links (path, root, number)"
     " SELECT CAST(l.next_id AS TEXT), " ROOT_OF(
         "e") ", 5"
              " FROM cascade_links l WHERE l.root = " ROOT_OF("d"),
     "DELETE FROM cascade_links WHERE number > 0"},
};

/* All rows as they were. */
static void
mend(test_db *db, const breakage *b)
{
    if (b->mend != NULL)
        raw_sql(db, b->mend);
    raw_sql(db, "UPDATE cascades SET"
                " status = (SELECT s.status FROM saved_cascades s"
                "           WHERE s.id = cascades.id),"
                " fn_id = (SELECT s.fn_id FROM saved_cascades s"
                "          WHERE s.id = cascades.id)");
    raw_sql(db, "DELETE FROM node_executions");
    raw_sql(db, "INSERT INTO node_executions SELECT * FROM saved_executions");
}

static void
each_rule_finds_what_is_broken(test_db *db)
{
    cascade_store *store = db_store(db);
    found f;

    fill_database(db, store);
    raw_sql(db, "CREATE TABLE saved_cascades AS SELECT * FROM cascades");
    raw_sql(db, "CREATE TABLE saved_executions AS"
                " SELECT * FROM node_executions");
    raw_sql(db, "CREATE TABLE saved_runs AS SELECT * FROM cascade_runs");
    raw_sql(db, "CREATE TABLE saved_links AS SELECT * FROM cascade_links");
    assert_true(sound_all(store));
    for (size_t i = 0; i < sizeof(breakages) / sizeof(breakages[0]); i++) {
        raw_sql(db, breakages[i].sql);
        f = verify(store);
        if (f.by_rule[breakages[i].rule] == 0)
            fail_msg("%s: not found by %s (%s)", breakages[i].sql,
                     csc_audit_name(breakages[i].rule), f.last);
        mend(db, &breakages[i]);
        if (!sound_all(store))
            fail_msg("%s: not mended", breakages[i].sql);
    }
}

/* Where payloads are texts, one that is no JSON makes the rows unreadable; the
 * others of the load are judged all the same. */
static void
rows_that_cannot_be_read_are_found(test_db *db)
{
    cascade_store *store = db_store(db);
    found f;

    db->unsound = true;
    fill_database(db, store);
    raw_sql(db, "UPDATE node_executions SET input_context = '{'" ROW("a", "1"));
    raw_sql(db, "UPDATE cascades SET fn_id = 0 WHERE user_id = 'c'");
    f = verify(store);
    assert_true(f.by_rule[CSC_AUDIT_READABLE] > 0);
    assert_true(f.by_rule[CSC_AUDIT_FN_ID] > 0);
}

/* The memory store keeps texts as they are given. */
static void
other_forms_of_payloads_are_found(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_change *change = NULL;
    test_rows rows;
    bool existed = false;
    found f;

    db->unsound = true;
    rows_init(&rows, rows_seed(), 1700000000000);
    change = rows_start(&rows, rows_id(&rows));
    rows_insert(&rows, change, 1, "n")->input = "{ }";
    change->cascade.fn_id = 1;
    assert_ok(rows_submit(store->driver, store->self, change, 1, &existed));
    f = verify(store);
    assert_int_equal(1, f.by_rule[CSC_AUDIT_CANONICAL]);
    rows_fini(&rows);
}

/* S76: SQLite keeps texts as others put them there; what is read is canonical,
 * and PostgreSQL has a form of its own for all. */
static void
forms_that_are_mended_while_they_are_read_are_found(test_db *db)
{
    static const char *const spoils[] = {
        "UPDATE node_executions SET input_context = '{ }'" ROW("a", "1"),
        "UPDATE node_executions SET full_output ="
        " replace(full_output, '\"at\":', '\"at\" :')" ROW("a", "0"),
        "UPDATE context_events SET value = '[ 1]'",
        "UPDATE context_events SET ui_value = '1e2'",
    };
    cascade_store *store = db_store(db);
    bool keeps = strcmp(db->backend->name, "sqlite") == 0;

    db->unsound = true;
    fill_database(db, store);
    for (size_t i = 0; i < sizeof(spoils) / sizeof(spoils[0]); i++) {
        found f;

        if (keeps || strstr(spoils[i], "replace") == NULL)
            raw_sql(db, spoils[i]);
        f = verify(store);
        assert_int_equal(keeps ? i + 1 : 0, f.by_rule[CSC_AUDIT_CANONICAL]);
        assert_int_equal(f.count, f.by_rule[CSC_AUDIT_CANONICAL]);
    }
}

/* ---- What is sound ------------------------------------------------------- */

static void
what_engines_write_is_sound(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_check_report report = {.size = sizeof(report)};
    cascade_uuid ids[MIXED];
    db_ends ends = {.store = store, .ids = ids, .count = MIXED};

    mix_reset();
    mix_register(engine);
    assert_ok(cascade_engine_start(engine));
    mix_start(store, ids, MIXED);
    assert_true(sound_all(store)); /* while it is written */
    assert_true(stores_until(db_all_ended, &ends));
    assert_true(sound_all(store));
    assert_ok(cascade_verify(store, NULL, &report));
    assert_int_equal(MIXED, report.cascades);
    assert_true(report.executions > 3 * MIXED);
    assert_true(report.events > 0);
    assert_int_equal(0, report.findings + report.repaired + report.unknown);
}

/* The run of a cascade that has ended is made by the claim of whoever receives
 * what came for it, and is the cascade's again when that goes on. */
typedef struct receipt {
    cascade_store *store;
    cascade_uuid id;
    atomic_int runs; /* seen where a receipt is about to be committed */
    atomic_size_t findings;
} receipt;

static cascade_err
verify_receipt(void *context, const wrap_call *call)
{
    receipt *r = context;
    cascade_info *info = NULL;

    if (call->move != WRAP_COMMIT || call->batch->change_count == 0 ||
        call->batch->changes[0].received_count == 0)
        return CASCADE_OK;
    assert_ok(cascade_get(r->store, &r->id, &info));
    if (info->status == CASCADE_COMPLETED && info->owned)
        atomic_fetch_add(&r->runs, 1);
    cascade_info_free(info);
    atomic_fetch_add(&r->findings, verify(r->store).count);
    return CASCADE_OK;
}

static bool
is_received(void *context)
{
    receipt *r = context;
    cascade_info *info = NULL;
    bool received = false;

    assert_ok(cascade_get(r->store, &r->id, &info));
    received = atomic_load(&r->runs) > 0 && !info->owned;
    cascade_info_free(info);
    return received;
}

static void
end_in_queue(test_db *db, receipt *r, const char *queue)
{
    const cascade_engine_options options = {
        .size = sizeof(options), .queues = &queue, .queue_count = 1};
    const cascade_start_options urgent = {
        .size = sizeof(urgent), .queue = queue, .priority = 3};
    cascade_engine *engine = db_engine(db, r->store, &options);
    cascade_started started;

    assert_ok(
        cascade_engine_register(engine, "leaf", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    assert_ok(cascade_start(r->store, "leaf", NULL, &urgent, &started));
    r->id = started.id;
    db_await(r->store, &r->id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
}

static void
what_is_received_after_the_end_is_sound(test_db *db)
{
    const char *elsewhere = "elsewhere";
    const cascade_engine_options options = {
        .size = sizeof(options), .queues = &elsewhere, .queue_count = 1};
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_engine *engine = NULL;
    receipt r = {0};

    assert_non_null(wrap);
    r.store = db_wrapped(db, wrap);
    end_in_queue(db, &r, "here");
    wrap->context = &r;
    wrap->before = verify_receipt;
    assert_int_equal(CASCADE_ERR_ENDED,
                     cascade_signal(r.store, &r.id, "news", NULL, NULL));
    engine = db_engine(db, r.store, &options);
    assert_ok(cascade_engine_start(engine));
    assert_true(stores_until(is_received, &r));
    assert_int_equal(0, atomic_load(&r.findings));
    db_close_engine(db, engine);
    assert_true(sound_all(r.store));
    db_close_store(db, r.store);
    wrap_store_free(wrap);
}

static const char *const foreign =
    "INSERT INTO node_executions (id, node_instance_id, cascade_id, node_name,"
    " function_id, input_context, full_output, location, status, error,"
    " started_at, completed_at) SELECT '0190aaaa-0000-4000-8000-0000000000a1',"
    " 'plan_0190aaaa_0', id, 'plan', 4, '{}', '[1]', 'client', 'COMPLETED',"
    " NULL, '2026-01-31 10:00:00', '2025-01-31 10:00:00.5' FROM cascades"
    " WHERE user_id = 'a'";

static void
rows_of_others_are_left_in_peace(test_db *db)
{
    cascade_store *store = db_store(db);

    fill_database(db, store);
    raw_sql(db, foreign);
    raw_sql(db, "INSERT INTO context_events (cascade_id, function_id, key,"
                " value, created_at) SELECT id, 4, 'k', '1',"
                " '2026-01-31 10:00:00' FROM cascades WHERE user_id = 'a'");
    raw_sql(db, "INSERT INTO cascades (id, status, fn_id, user_id, created_at,"
                " updated_at) VALUES ('0190aaaa-0000-4000-8000-000000000001',"
                " 'COMPLETED', 0, 'ann', '2026-01-31 10:00:00',"
                " '2026-01-31 10:00:00')");
    assert_true(sound_all(store));
}

/* ---- Pages, ends and arguments ------------------------------------------- */

/* All but the first are RUNNING; the last comes after itself. */
static cascade_change *
make_large(test_rows *rows)
{
    cascade_change *change = rows_start(rows, rows_id(rows));
    cascade_execution_row *last = NULL;
    cascade_execution_row *first = NULL;

    for (int32_t i = 1; i < LARGE; i++)
        last = rows_insert(rows, change, i, "n");
    last->full_output = rows_text(rows, "{\"after\":[%d]}", LARGE - 1);
    first = last - (LARGE - 1);
    first->status = CASCADE_EXECUTION_COMPLETED;
    first->completed_at_ms = first->started_at_ms;
    first->full_output =
        "{\"at\":0,\"cascade\":{\"queue\":\"default\",\"priority\":0}}";
    for (int i = 0; i < LARGE; i++)
        rows_event(rows, change, 0, "k", "1");
    change->cascade.fn_id = LARGE - 1;
    return change;
}

/* More than a group, more than a page of a scan. */
static void
large_cascades_are_read_in_pages(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_check_report report = {.size = sizeof(report)};
    test_rows rows;
    bool existed = false;
    found f;

    db->unsound = true;
    rows_init(&rows, rows_seed(), 1700000000000);
    assert_ok(rows_submit(store->driver, store->self, make_large(&rows), 1,
                          &existed));
    f = verify(store);
    assert_int_equal(1, f.count);
    assert_int_equal(1, f.by_rule[CSC_AUDIT_REFERENCE]);
    assert_ok(cascade_verify(store, NULL, &report));
    assert_int_equal(LARGE, report.executions);
    assert_int_equal(LARGE, report.events);
    rows_fini(&rows);
}

/* The seal is that of the rows of all pages. */
static void
large_cascades_have_their_seal(test_db *db)
{
    cascade_store *store = NULL;
    test_rows rows;
    bool existed = false;
    cascade_submission submission = {.start_count = 1, .existed = &existed};

    db->unsound = true;
    db->integrity = sealed_by_secret();
    store = db_store(db);
    rows_init(&rows, rows_seed(), 1700000000000);
    submission.starts = make_large(&rows);
    assert_ok(csc_sealing_submit(store, &submission));
    assert_int_equal(0, verify(store).by_rule[CSC_AUDIT_SEAL]);
    raw_sql(db, "UPDATE context_events SET value = '2' WHERE id ="
                " (SELECT max(id) FROM context_events)");
    assert_int_equal(1, verify(store).by_rule[CSC_AUDIT_SEAL]);
    raw_sql(db, "UPDATE context_events SET value = '1'");
    assert_int_equal(0, verify(store).by_rule[CSC_AUDIT_SEAL]);
    rows_fini(&rows);
}

/* An execution of theirs comes in between its pages, with what it has written.
 */
static cascade_err
write_meanwhile(void *context, const wrap_call *call)
{
    test_db *db = context;

    if (call->move == WRAP_SCAN && call->number == LARGE / 5000 + 2) {
        raw_sql(db, "INSERT INTO node_executions (id, node_instance_id,"
                    " cascade_id, node_name, function_id, input_context,"
                    " full_output, location, status, started_at, completed_at)"
                    " SELECT '0190aaaa-0000-4000-8000-0000000000b1',"
                    " id || '/0/n#9', id, 'n', fn_id + 1, '{}',"
                    " '{\"at\":0}', 'server', 'COMPLETED', created_at,"
                    " created_at FROM cascades");
        raw_sql(db, "UPDATE cascades SET fn_id = fn_id + 1");
        raw_sql(db, "INSERT INTO context_events (cascade_id, function_id, key,"
                    " value, created_at) SELECT id, fn_id, 'k', '1', created_at"
                    " FROM cascades");
    }
    return CASCADE_OK;
}

static void
what_is_written_between_pages_is_no_finding(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;
    cascade_check_report report = {.size = sizeof(report)};
    cascade_change *change = NULL;
    test_rows rows;
    bool existed = false;

    assert_non_null(wrap);
    wrap->context = db;
    wrap->before = write_meanwhile;
    store = db_wrapped(db, wrap);
    rows_init(&rows, rows_seed(), 1700000000000);
    change = make_large(&rows);
    ((cascade_execution_row *)change->inserts)[LARGE - 1].full_output = NULL;
    assert_ok(rows_submit(store->driver, store->self, change, 1, &existed));
    assert_ok(cascade_verify(store, NULL, &report));
    assert_int_equal(0, report.findings);
    assert_int_equal(LARGE + 1, report.executions);
    rows_fini(&rows);
    db_close_store(db, store);
    wrap_store_free(wrap);
}

static bool
go_on(void *context, const cascade_progress *progress)
{
    int *left = context;

    assert_true(progress->seen > 0);
    return --*left > 0;
}

/* Two cascades with two findings each. */
static void
put_broken(cascade_store *store, cascade_uuid *id)
{
    test_rows rows;
    cascade_change *changes[2];
    bool existed[2];

    rows_init(&rows, rows_seed(), 1700000000000);
    for (int i = 0; i < 2; i++) {
        cascade_execution_row *row = NULL;

        changes[i] = rows_start(&rows, rows_id(&rows));
        row = rows_insert(&rows, changes[i], 1, "n");
        row->completed_at_ms = row->started_at_ms;
        row->full_output = "{\"after\":[1]}";
        row[-1].full_output = "{\"cascade\":{}}";
        changes[i]->cascade.fn_id = 1;
    }
    *id = changes[0]->cascade.id;
    assert_ok(rows_submit(store->driver, store->self,
                          rows_changes(&rows, changes, 2), 2, existed));
    rows_fini(&rows);
}

static void
it_ends_when_it_is_told_to(test_db *db)
{
    int left = 1;
    found f = {.left = 3};
    cascade_check_options options = {
        .size = sizeof(options), .finding = note_finding, .context = &f};
    const cascade_check_options progress = {
        .size = sizeof(progress), .progress = go_on, .context = &left};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_store *store = db_store(db);
    cascade_uuid id;

    db->unsound = true;
    put_broken(store, &id);
    assert_fails(CASCADE_ERR_STOPPED, cascade_verify(store, &options, &report));
    assert_int_equal(3, f.count);
    assert_int_equal(2, report.cascades);
    f = (found){0};
    options.id = &id;
    assert_ok(cascade_verify(store, &options, &report));
    assert_int_equal(2, f.count);
    assert_int_equal(1, report.cascades);
    assert_fails(CASCADE_ERR_STOPPED,
                 cascade_verify(store, &progress, &report));
    assert_int_equal(0, left);
}

static void
wrong_arguments_are_refused(test_db *db)
{
    const cascade_uuid nobody = {{7}};
    const cascade_check_options one = {.size = sizeof(one), .id = &nobody};
    const cascade_check_options none = {.size = 0};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_check_report unsized = {.size = 0};
    cascade_store *store = db_store(db);

    assert_fails(CASCADE_ERR_INVALID, cascade_verify(NULL, NULL, &report));
    assert_fails(CASCADE_ERR_INVALID, cascade_verify(store, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_verify(store, NULL, &unsized));
    assert_fails(CASCADE_ERR_INVALID, cascade_verify(store, &none, &report));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_verify(store, &one, &report));
    assert_ok(cascade_verify(store, NULL, &report));
    assert_int_equal(0, report.cascades);
}

/* Each rule has a name of its own, and says what it demands. */
static void
rules_are_told_apart(test_db *db)
{
    (void)db;
    for (int r = 0; r < CSC_AUDIT_RULE_COUNT; r++) {
        char number[8];

        (void)snprintf(number, sizeof(number), "V%d ", r + 1);
        assert_int_equal(0, strncmp(csc_audit_name((csc_audit_rule)r), number,
                                    strlen(number)));
        assert_true(strlen(csc_audit_text((csc_audit_rule)r)) > 15);
    }
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"each_rule_finds_what_is_broken", each_rule_finds_what_is_broken,
         STORES_FILES},
        {"rows_that_cannot_be_read_are_found",
         rows_that_cannot_be_read_are_found, STORES_SQLITE},
        {"other_forms_of_payloads_are_found", other_forms_of_payloads_are_found,
         STORES_MEMORY},
        {"forms_that_are_mended_while_they_are_read_are_found",
         forms_that_are_mended_while_they_are_read_are_found, STORES_FILES},
        {"what_engines_write_is_sound", what_engines_write_is_sound,
         STORES_ALL},
        {"rows_of_others_are_left_in_peace", rows_of_others_are_left_in_peace,
         STORES_FILES},
        {"what_is_received_after_the_end_is_sound",
         what_is_received_after_the_end_is_sound, STORES_ALL},
        {"large_cascades_are_read_in_pages", large_cascades_are_read_in_pages,
         STORES_ALL},
        {"large_cascades_have_their_seal", large_cascades_have_their_seal,
         STORES_FILES},
        {"what_is_written_between_pages_is_no_finding",
         what_is_written_between_pages_is_no_finding, STORES_FILES},
        {"it_ends_when_it_is_told_to", it_ends_when_it_is_told_to, STORES_ALL},
        {"wrong_arguments_are_refused", wrong_arguments_are_refused,
         STORES_ALL},
        {"rules_are_told_apart", rules_are_told_apart, STORES_MEMORY},
    };

    return stores_run("verify", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
