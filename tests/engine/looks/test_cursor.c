/* SPDX-License-Identifier: MIT
 *
 * Cursors: what changes in one cascade, or in all, is told once and in order.
 *
 * Most cascades are written here row by row, by an engine that is a row itself,
 * through another handle than the cursor's: so each look of the cursor meets
 * what a test says. What was told is a text:
 *
 *     "RUNNING"    of the cascade
 *     "3R"         execution 3 is RUNNING (C: COMPLETED, F: FAILED)
 *     "3R2"        the same, two attempts of it have failed
 *
 * each with the number of its cascade in front where several are followed
 * ("1:3R").
 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/manage.h"
#include "engine/support/play.h"
#include "query/cursor/cursor.h"
#include "store/store.h"
#include "support/rows.h"

#define HOUR_MS (INT64_C(3600) * 1000)
#define CASCADES 8
#define TOLD_SIZE 8000

/* ---- Who writes --------------------------------------------------------- */

typedef struct scene {
    cascade_store *store;  /* the writer's */
    cascade_store *reader; /* the cursor's */
    cascade_uuid engine_id;
    int64_t number; /* of the last batch */
    test_rows rows;
    cascade_uuid ids[CASCADES]; /* of the cascades, from 1 on */
    cascade_cursor *cursor;
    char told[TOLD_SIZE];
} scene;

static void
scene_open(scene *s, test_db *db)
{
    cascade_incarnation row = {
        .host = "h", .pid = 7, .lease_ms = 100 * HOUR_MS, .lane_count = 1};

    *s = (scene){.store = db_store(db), .reader = db_store(db)};
    assert_ok(cascade_store_now(s->store, &row.started_at_ms));
    rows_init(&s->rows, rows_seed(), row.started_at_ms);
    s->engine_id = row.engine_id = csc_uuid_v7(1, &s->store->random);
    assert_ok(s->store->driver->attach(s->store->self, &row));
}

static void
scene_close(scene *s)
{
    cascade_cursor_close(s->cursor);
    rows_fini(&s->rows);
}

/* What is inserted was made `ago_ms` ago. */
static void
commit_made(scene *s, cascade_change *change, int64_t ago_ms)
{
    cascade_execution_row *inserts =
        (cascade_execution_row *)(uintptr_t)change->inserts;
    bool existed = false;
    int64_t now_ms = 0;
    cascade_batch batch = {.engine_id = s->engine_id,
                           .number = ++s->number,
                           .changes = change,
                           .change_count = 1};

    assert_ok(cascade_store_now(s->store, &now_ms));
    for (size_t i = 0; i < change->insert_count; i++)
        inserts[i].id = csc_uuid_v7(now_ms - ago_ms, &s->store->random);
    assert_ok(s->store->driver->commit(s->store->self, &batch, &existed));
    assert_false(existed);
    rows_clear(&s->rows);
}

static void
commit(scene *s, cascade_change *change)
{
    commit_made(s, change, 0);
}

/* A new cascade with execution 0. */
static cascade_change *
begin(scene *s, int cascade)
{
    s->ids[cascade] = rows_id(&s->rows);
    return rows_start_owned(&s->rows, s->ids[cascade], s->engine_id);
}

/* A write of it, a little later than the one before. */
static cascade_change *
write_to(scene *s, int cascade, int32_t fn_id)
{
    s->rows.now_ms++;
    return rows_write(&s->rows, s->ids[cascade], fn_id);
}

static void
end(cascade_change *change, cascade_status status)
{
    change->cascade.status = status;
    change->run_action = CASCADE_RUN_END;
}

/* A row that stays RUNNING. */
static cascade_execution_row *
touch(scene *s, cascade_change *change, int32_t function_id,
      const char *full_output)
{
    cascade_execution_row *row =
        rows_update(&s->rows, change, function_id, full_output);

    row->status = CASCADE_EXECUTION_RUNNING;
    row->completed_at_ms = CASCADE_TIME_NONE;
    return row;
}

/* ---- Who reads ---------------------------------------------------------- */

static cascade_cursor *
open_cursor(cascade_store *store, const cascade_uuid *id, bool from_start)
{
    const cascade_cursor_options options = {
        .size = sizeof(options), .id = id, .from_start = from_start};
    cascade_cursor *cursor = NULL;

    assert_ok(cascade_cursor_open(store, &options, &cursor));
    return cursor;
}

static int
number_of(const scene *s, const cascade_uuid *id)
{
    for (int i = 1; i < CASCADES; i++)
        if (csc_uuid_equal(&s->ids[i], id))
            return i;
    return 0;
}

static void
add_news(scene *s, const cascade_news *news, bool numbered)
{
    static const char *const statuses[] = {"", "RUNNING", "COMPLETED", "ERROR"};
    const cascade_execution_info *e = &news->execution;
    char *at = s->told + strlen(s->told);
    size_t room = sizeof(s->told) - strlen(s->told);

    assert_true(room > 40);
    assert_non_null(news->user_id);
    at += snprintf(at, room, "%s", s->told[0] != '\0' ? " " : "");
    if (numbered)
        at += snprintf(at, room, "%d:", number_of(s, &news->cascade_id));
    if (news->kind == CASCADE_CHANGE_CASCADE)
        snprintf(at, room - 10, "%s", statuses[news->status]);
    else if (e->attempts > 0 && e->status == CASCADE_EXECUTION_RUNNING)
        snprintf(at, room - 10, "%d%c%d", (int)e->function_id,
                 " RCF"[e->status], e -> attempts);
    else
        snprintf(at, room - 10, "%d%c", (int)e->function_id, " RCF"[e->status]);
}

/* Reads all there is, to the end, which is `last`. */
static void
drain(scene *s, bool numbered, cascade_err last)
{
    const cascade_news *news = NULL;
    cascade_err err = CASCADE_OK;

    s->told[0] = '\0';
    for (;;) {
        err = cascade_cursor_next(s->cursor, 0, &news);
        if (err != CASCADE_OK)
            break;
        assert_string_equal(cascade_errmsg(), "");
        add_news(s, news, numbered);
    }
    stores_check(err, last, "the end", __FILE__, __LINE__);
}

static void
check_told(scene *s, const char *wanted)
{
    drain(s, false, CASCADE_ERR_TIMEOUT);
    assert_string_equal(s->told, wanted);
}

static void
check_ended(scene *s, const char *wanted)
{
    drain(s, false, CASCADE_ERR_ENDED);
    assert_string_equal(s->told, wanted);
}

/* Of all. */
static void
check_all(scene *s, const char *wanted)
{
    drain(s, true, CASCADE_ERR_TIMEOUT);
    assert_string_equal(s->told, wanted);
}

/* ---- One ---------------------------------------------------------------- */

static void
one_is_told_from_its_start_to_its_end(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    db->unsound = true;
    scene_open(&s, db);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, &s.ids[1], true);
    check_told(&s, "RUNNING 0R");
    check_told(&s, "");
    change = write_to(&s, 1, 0);
    touch(&s, change, 0, "{\"attempts\":1}")->error = "why";
    commit(&s, change);
    check_told(&s, "0R1");
    change = write_to(&s, 1, 1);
    rows_insert(&s.rows, change, 1, "cascade.sleep:nap");
    commit(&s, change);
    check_told(&s, "1R");
    change = write_to(&s, 1, 3);
    rows_update(&s.rows, change, 1, "{\"at\":1}");
    rows_insert(&s.rows, change, 2, "n");
    rows_insert(&s.rows, change, 3, "m")->status = CASCADE_EXECUTION_COMPLETED;
    commit(&s, change);
    check_told(&s, "1C 2R 3C");
    change = write_to(&s, 1, 3);
    rows_update(&s.rows, change, 0, "{\"at\":3}");
    commit(&s, change);
    check_told(&s, "0C");
    change = write_to(&s, 1, 3);
    rows_update(&s.rows, change, 2, "{\"at\":3}")->status =
        CASCADE_EXECUTION_FAILED;
    end(change, CASCADE_ERROR);
    commit(&s, change);
    check_ended(&s, "2F ERROR");
    check_ended(&s, "");
    scene_close(&s);
}

/* With all that a snapshot shows of it. */
static void
an_execution_is_told_as_it_is(test_db *db)
{
    static const char token[] = "01890000-0000-7000-8000-00000000abcd";
    scene s;
    cascade_change *change = NULL;
    const cascade_news *news = NULL;
    const cascade_execution_info *e = NULL;

    scene_open(&s, db);
    commit(&s, begin(&s, 1));
    change = write_to(&s, 1, 1);
    rows_update(&s.rows, change, 0,
                "{\"at\":0,\"output\":{\"a\":1},\"attempts\":2}");
    rows_insert(&s.rows, change, 1, "task")->full_output =
        rows_text(&s.rows, "{\"token\":\"%s\",\"deadline\":77}", token);
    commit(&s, change);
    s.cursor = open_cursor(s.reader, &s.ids[1], true);
    assert_ok(cascade_cursor_next(s.cursor, -1, &news));
    assert_int_equal(news->kind, CASCADE_CHANGE_CASCADE);
    assert_int_equal(news->status, CASCADE_RUNNING);
    assert_string_equal(news->user_id, "user");
    assert_true(csc_uuid_equal(&news->cascade_id, &s.ids[1]));
    assert_ok(cascade_cursor_next(s.cursor, -1, &news));
    assert_int_equal(news->kind, CASCADE_CHANGE_EXECUTION);
    assert_true(csc_uuid_equal(&news->cascade_id, &s.ids[1]));
    e = &news->execution;
    assert_string_equal(e->node_name, "first");
    assert_string_equal(e->output, "{\"a\":1}");
    assert_string_equal(e->input, "{}");
    assert_string_equal(e->location, "server");
    assert_int_equal(e->attempts, 2);
    assert_true(e->completed_at_ms == s.rows.now_ms);
    assert_true(e->deadline_ms == CASCADE_TIME_NONE);
    assert_int_equal(e->superseded_by, -1);
    assert_ok(cascade_cursor_next(s.cursor, -1, &news));
    e = &news->execution;
    assert_string_equal(e->token, token);
    assert_int_equal(e->deadline_ms, 77);
    assert_null(e->output);
    scene_close(&s);
}

static void
what_is_there_already_is_not_told(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    scene_open(&s, db);
    change = begin(&s, 1);
    rows_insert(&s.rows, change, 1, "n");
    change->cascade.fn_id = 1;
    commit(&s, change);
    s.cursor = open_cursor(s.reader, &s.ids[1], false);
    check_told(&s, "");
    change = write_to(&s, 1, 2);
    rows_update(&s.rows, change, 0, "{\"at\":1}");
    rows_insert(&s.rows, change, 2, "n");
    commit(&s, change);
    check_told(&s, "0C 2R");
    change = write_to(&s, 1, 2);
    rows_update(&s.rows, change, 1, "{\"at\":2}");
    rows_update(&s.rows, change, 2, "{\"at\":2}");
    end(change, CASCADE_COMPLETED);
    commit(&s, change);
    check_ended(&s, "1C 2C COMPLETED");
    cascade_cursor_close(s.cursor);
    s.cursor = open_cursor(s.reader, &s.ids[1], false);
    check_ended(&s, "");
    cascade_cursor_close(s.cursor);
    s.cursor = open_cursor(s.reader, &s.ids[1], true);
    check_ended(&s, "COMPLETED 0C 1C 2C");
    scene_close(&s);
}

/* Neither has a heartbeat told anybody of news, nor a write of the row alone;
 * and a deadline that is set has. */
static void
a_heartbeat_is_no_change(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    db->unsound = true;
    scene_open(&s, db);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, &s.ids[1], true);
    check_told(&s, "RUNNING 0R");
    change = write_to(&s, 1, 0);
    touch(&s, change, 0, "{\"progress\":{\"done\":1}}");
    commit(&s, change);
    check_told(&s, "");
    commit(&s, write_to(&s, 1, 0));
    check_told(&s, "");
    change = write_to(&s, 1, 0);
    touch(&s, change, 0, "{\"not_before\":99,\"progress\":{\"done\":1}}");
    commit(&s, change);
    check_told(&s, "0R");
    scene_close(&s);
}

/* What came and went between two looks is told once, as it is; and many at a
 * time in their order, page by page. */
static void
many_are_told_in_their_order(test_db *db)
{
    char wanted[TOLD_SIZE] = "";
    scene s;
    cascade_change *change = NULL;

    scene_open(&s, db);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, &s.ids[1], false);
    change = write_to(&s, 1, 100);
    for (int32_t i = 1; i <= 100; i++) {
        rows_insert(&s.rows, change, i, "n");
        snprintf(wanted + strlen(wanted), 10, "%s%dR", i > 1 ? " " : "",
                 (int)i);
    }
    commit(&s, change);
    check_told(&s, wanted);
    change = write_to(&s, 1, 140);
    wanted[0] = '\0';
    for (int32_t i = 1; i <= 100; i += 2) {
        rows_update(&s.rows, change, i, "{\"at\":100}");
        snprintf(wanted + strlen(wanted), 10, "%s%dC", i > 1 ? " " : "",
                 (int)i);
    }
    for (int32_t i = 101; i <= 140; i++) {
        rows_insert(&s.rows, change, i, "n");
        snprintf(wanted + strlen(wanted), 10, " %dC", (int)i);
    }
    commit(&s, change);
    change = write_to(&s, 1, 140);
    for (int32_t i = 101; i <= 140; i++)
        rows_update(&s.rows, change, i, "{\"at\":140}");
    commit(&s, change);
    check_told(&s, wanted);
    check_told(&s, "");
    scene_close(&s);
}

/* More than are read at a time. */
static void
one_of_many_that_run_is_told(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    scene_open(&s, db);
    change = begin(&s, 1);
    change->cascade.fn_id = 2100;
    for (int32_t i = 1; i <= 2100; i++)
        rows_insert(&s.rows, change, i, "n");
    commit(&s, change);
    s.cursor = open_cursor(s.reader, &s.ids[1], false);
    change = write_to(&s, 1, 2101);
    rows_update(&s.rows, change, 7, "{\"at\":2100}");
    touch(&s, change, 2050, "{\"attempts\":1}");
    rows_insert(&s.rows, change, 2101, "n");
    commit(&s, change);
    check_told(&s, "7C 2050R1 2101R");
    check_told(&s, "");
    scene_close(&s);
}

/* Two commits that leave the same row, one before a look and one behind it. */
static void
a_commit_within_the_same_millisecond_is_seen(test_db *db)
{
    scene s;
    cascade_change *change = NULL;
    const cascade_news *news = NULL;

    scene_open(&s, db);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, &s.ids[1], true);
    change = write_to(&s, 1, 0);
    touch(&s, change, 0, "{\"attempts\":1}");
    commit(&s, change);
    check_told(&s, "RUNNING 0R1");
    change = rows_write(&s.rows, s.ids[1], 0);
    touch(&s, change, 0, "{\"attempts\":2}");
    commit(&s, change);
    assert_ok(cascade_cursor_next(s.cursor, DB_WAIT_MS, &news));
    assert_int_equal(news->execution.attempts, 2);
    scene_close(&s);
}

static void
one_that_is_deleted_is_not_there_any_more(test_db *db)
{
    scene s;
    cascade_change *change = NULL;
    const cascade_news *news = NULL;
    const cascade_cursor_options options = {.size = sizeof(options),
                                            .id = &s.ids[1]};

    scene_open(&s, db);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, &s.ids[1], true);
    check_told(&s, "RUNNING 0R");
    change = write_to(&s, 1, 0);
    change->run_action = CASCADE_RUN_DELETE;
    commit(&s, change);
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_cursor_next(s.cursor, -1, &news));
    cascade_cursor_close(s.cursor);
    s.cursor = NULL;
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_cursor_open(s.reader, &options, &s.cursor));
    scene_close(&s);
}

/* ---- All ---------------------------------------------------------------- */

static void
all_are_told_with_what_is_there(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    scene_open(&s, db);
    for (int i = 1; i <= 4; i++)
        commit(&s, begin(&s, i));
    change = write_to(&s, 4, 0);
    rows_update(&s.rows, change, 0, "{\"at\":0}");
    end(change, CASCADE_COMPLETED);
    commit(&s, change);
    s.cursor = open_cursor(s.reader, NULL, true);
    drain(&s, true, CASCADE_ERR_TIMEOUT);
    assert_int_equal(strlen(s.told), 3 * strlen("1:RUNNING 1:0R ") - 1);
    assert_non_null(strstr(s.told, "1:RUNNING 1:0R"));
    assert_non_null(strstr(s.told, "2:RUNNING 2:0R"));
    assert_non_null(strstr(s.told, "3:RUNNING 3:0R"));
    check_all(&s, "");
    change = write_to(&s, 2, 1);
    rows_update(&s.rows, change, 0, "{\"at\":0}");
    rows_insert(&s.rows, change, 1, "n");
    commit(&s, change);
    check_all(&s, "2:0C 2:1R");
    change = write_to(&s, 3, 0);
    rows_update(&s.rows, change, 0, "{\"at\":0}");
    end(change, CASCADE_COMPLETED);
    commit(&s, change);
    check_all(&s, "3:0C 3:COMPLETED");
    commit(&s, begin(&s, 5));
    check_all(&s, "5:RUNNING 5:0R");
    change = write_to(&s, 1, 0);
    touch(&s, change, 0, "{\"attempts\":1}");
    commit(&s, change);
    check_all(&s, "1:0R1");
    check_all(&s, "");
    scene_close(&s);
}

static void
all_are_told_without_what_is_there(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    db->unsound = true; /* V2: the fourth ends while it runs */
    scene_open(&s, db);
    for (int i = 1; i <= 3; i++)
        commit(&s, begin(&s, i));
    change = write_to(&s, 3, 0);
    rows_update(&s.rows, change, 0, "{\"at\":0}");
    end(change, CASCADE_COMPLETED);
    commit(&s, change);
    s.cursor = open_cursor(s.reader, NULL, false);
    check_all(&s, "");
    change = write_to(&s, 2, 0);
    rows_update(&s.rows, change, 0, "{\"at\":0}");
    end(change, CASCADE_ERROR);
    commit(&s, change);
    check_all(&s, "2:0C 2:ERROR");
    change = begin(&s, 4);
    end(change, CASCADE_COMPLETED);
    change->run_action = CASCADE_RUN_START;
    commit(&s, change);
    check_all(&s, "4:COMPLETED 4:0R");
    check_all(&s, "");
    scene_close(&s);
}

static void
one_that_is_deleted_is_told_of_no_more(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    scene_open(&s, db);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, NULL, true);
    check_all(&s, "1:RUNNING 1:0R");
    assert_int_equal(s.cursor->crowd.count, 1);
    change = write_to(&s, 1, 0);
    change->run_action = CASCADE_RUN_DELETE;
    commit(&s, change);
    check_all(&s, "");
    assert_int_equal(s.cursor->crowd.count, 0);
    commit(&s, begin(&s, 2));
    check_all(&s, "2:RUNNING 2:0R");
    scene_close(&s);
}

/* Its id was made half a minute before it was committed. */
static void
what_is_committed_late_is_seen_within_a_minute(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    db->fake_time = true;
    scene_open(&s, db);
    s.cursor = open_cursor(s.reader, NULL, true);
    check_all(&s, "");
    commit_made(&s, begin(&s, 1), 30000);
    check_all(&s, "");
    fake_clock_advance(&db->clock, 15000);
    check_all(&s, "1:RUNNING 1:0R");
    change = write_to(&s, 1, 0);
    rows_update(&s.rows, change, 0, "{\"at\":0}");
    end(change, CASCADE_COMPLETED);
    commit(&s, change);
    check_all(&s, "1:0C 1:COMPLETED");
    for (int i = 0; i < 20; i++) {
        fake_clock_advance(&db->clock, 15000);
        check_all(&s, "");
    }
    scene_close(&s);
}

/* What other programs name is not discovered, but is seen with the rest. */
static void
ids_of_other_forms_are_seen_in_what_is_followed(test_db *db)
{
    scene s;
    cascade_change *change = NULL;

    scene_open(&s, db);
    s.cursor = open_cursor(s.reader, NULL, true);
    commit(&s, begin(&s, 1));
    check_all(&s, "1:RUNNING 1:0R");
    change = write_to(&s, 1, 1);
    rows_insert(&s.rows, change, 1, "n");
    commit_made(&s, change, -24 * HOUR_MS);
    check_all(&s, "1:1R");
    commit_made(&s, begin(&s, 2), -24 * HOUR_MS);
    check_all(&s, "");
    change = write_to(&s, 2, 1);
    rows_insert(&s.rows, change, 1, "n");
    commit(&s, change);
    check_all(&s, "2:RUNNING 2:0R 2:1R");
    scene_close(&s);
}

/* ---- With an engine ----------------------------------------------------- */

static cascade_err
double_it(cascade_node *step, void *user, cJSON **result)
{
    (void)user;
    if (cascade_node_attempt(step) < 2)
        return CASCADE_ERR_FAILED;
    *result = cJSON_CreateNumber(2);
    return CASCADE_OK;
}

static cascade_err
straight(cascade_node *node, void *user)
{
    cascade_err err =
        cascade_node_step(node, "double", double_it, user, NULL, NULL);

    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "nap", 5);
    if (err == CASCADE_OK)
        err = cascade_node_spawn(node, "fails", NULL, NULL);
    return err;
}

static cascade_err
fails(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "it does");
}

/* How an execution was told last. */
typedef struct last_told {
    cascade_execution_status status;
    int attempts;
} last_told;

/* Each is told again only as another one, and in the end as it is. */
static void
note_told(last_told *told, const cascade_execution_info *e)
{
    last_told *at = &told[e->function_id];

    assert_true(e->function_id < 8);
    assert_true(at->status == 0 || at->status == CASCADE_EXECUTION_RUNNING);
    if (at->status == e->status)
        assert_true(e->attempts > at->attempts || e->not_before_ms >= 0);
    for (int32_t i = 0; i < e->function_id; i++)
        assert_int_not_equal(told[i].status, 0);
    *at = (last_told){e->status, e->attempts};
}

static void
check_last(const play *p, const last_told *told)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    assert_true(count > 3);
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *e = play_execution(snapshot, i);

        assert_int_equal(told[e->function_id].status, e->status);
        assert_int_equal(told[e->function_id].attempts, e->attempts);
    }
    cascade_snapshot_free(snapshot);
}

/* Follows one or all while an engine runs it, in another handle. */
static void
follow_live(test_db *db, bool all)
{
    play p = {.nodes = {{"straight", straight}, {"fails", fails}},
              .attempts_max = 2};
    const cascade_news *news = NULL;
    last_told told[8] = {{0}};
    cascade_cursor *cursor = NULL;
    cascade_status status = CASCADE_RUNNING;
    cascade_err err = CASCADE_OK;

    play_open(&p, db, CASCADE_MODE_THREADS);
    if (all)
        cursor = open_cursor(db_store(db), NULL, true);
    p.id = db_start(p.store, "straight");
    if (!all)
        cursor = open_cursor(db_store(db), &p.id, true);
    for (;;) {
        bool over = all && status != CASCADE_RUNNING;

        err = cascade_cursor_next(cursor, over ? 0 : DB_WAIT_MS, &news);
        if (err != CASCADE_OK)
            break;
        assert_true(csc_uuid_equal(&news->cascade_id, &p.id));
        if (news->kind == CASCADE_CHANGE_CASCADE)
            status = news->status;
        else
            note_told(told, &news->execution);
    }
    assert_int_equal(err, all ? CASCADE_ERR_TIMEOUT : CASCADE_ERR_ENDED);
    assert_int_equal(status, CASCADE_ERROR);
    check_last(&p, told);
    cascade_cursor_close(cursor);
    play_end(&p);
}

static void
one_is_followed_while_it_runs(test_db *db)
{
    follow_live(db, false);
}

static void
all_are_followed_while_they_run(test_db *db)
{
    follow_live(db, true);
}

/* ---- Faults ------------------------------------------------------------- */

/* What failed is told with the next call, and nothing twice. */
static void
nothing_is_lost_when_the_store_fails(test_db *db)
{
    static const wrap_move moves[] = {WRAP_SCAN, WRAP_LIST, WRAP_LOAD,
                                      WRAP_NOW};
    wrap_store *wrap = wrap_store_create(db->url);
    const cascade_news *news = NULL;
    scene s;
    cascade_change *change = NULL;

    assert_non_null(wrap);
    scene_open(&s, db);
    s.reader = db_wrapped(db, wrap);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, NULL, true);
    check_all(&s, "1:RUNNING 1:0R");
    for (int32_t i = 0; i < 12; i++) {
        change = write_to(&s, 1, i + 1);
        rows_update(&s.rows, change, i, "{\"at\":9}");
        rows_insert(&s.rows, change, i + 1, "n");
        commit(&s, change);
        wrap_store_fail(wrap, moves[i % 4], (size_t)i / 4, 1, WRAP_BEFORE,
                        CASCADE_ERR_UNAVAILABLE);
        s.told[0] = '\0';
        for (cascade_err err = CASCADE_OK; err != CASCADE_ERR_TIMEOUT;) {
            err = cascade_cursor_next(s.cursor, 0, &news);
            if (err == CASCADE_OK)
                add_news(&s, news, false);
            else if (err != CASCADE_ERR_TIMEOUT)
                assert_int_equal(err, CASCADE_ERR_UNAVAILABLE);
        }
        assert_string_equal(s.told,
                            rows_text(&s.rows, "%dC %dR", (int)i, (int)i + 1));
    }
    assert_true(atomic_load(&wrap->faults) >= 4); /* of each move */
    cascade_cursor_close(s.cursor);
    s.cursor = NULL;
    db_close_store(db, s.reader);
    wrap_store_free(wrap);
    scene_close(&s);
}

/* Whose rows could not be compared is not taken for deleted. */
static void
nobody_is_forgotten_when_the_store_fails(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    const cascade_news *news = NULL;
    scene s;
    cascade_change *change = NULL;

    assert_non_null(wrap);
    scene_open(&s, db);
    s.reader = db_wrapped(db, wrap);
    commit(&s, begin(&s, 1));
    s.cursor = open_cursor(s.reader, NULL, true);
    check_all(&s, "1:RUNNING 1:0R");
    wrap_store_fail(wrap, WRAP_LOAD, 0, 1, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    assert_fails(CASCADE_ERR_UNAVAILABLE,
                 cascade_cursor_next(s.cursor, 0, &news));
    change = write_to(&s, 1, 1);
    rows_insert(&s.rows, change, 1, "n");
    commit(&s, change);
    check_all(&s, "1:1R");
    cascade_cursor_close(s.cursor);
    s.cursor = NULL;
    db_close_store(db, s.reader);
    wrap_store_free(wrap);
    scene_close(&s);
}

/* Opens, and reads to the end, with the `nth` allocation failing; false when
 * there are not so many. */
static bool
read_short_of_memory(scene *s, const cascade_uuid *id, size_t nth)
{
    const cascade_cursor_options options = {
        .size = sizeof(options), .id = id, .from_start = true};
    const cascade_news *news = NULL;
    cascade_err err = CASCADE_OK;
    bool failed = false;

    s->told[0] = '\0';
    s->cursor = NULL;
    (void)csc_mem_fail_at(nth, 0);
    err = cascade_cursor_open(s->reader, &options, &s->cursor);
    failed = err != CASCADE_OK;
    while (s->cursor != NULL && err != CASCADE_ERR_TIMEOUT) {
        err = cascade_cursor_next(s->cursor, 0, &news);
        if (err == CASCADE_OK)
            add_news(s, news, false);
        else if (err != CASCADE_ERR_TIMEOUT)
            failed = true;
        assert_true(err == CASCADE_OK || err == CASCADE_ERR_TIMEOUT ||
                    err == CASCADE_ERR_NO_MEMORY);
    }
    (void)csc_mem_fail_at(0, 0);
    if (s->cursor != NULL)
        assert_string_equal(s->told, "RUNNING 0R 1R 2C");
    cascade_cursor_close(s->cursor);
    s->cursor = NULL;
    return failed;
}

static void
nothing_is_lost_when_memory_is_short(test_db *db)
{
    scene s;
    cascade_change *change = NULL;
    size_t live = 0;

    db->unsound = true;
    scene_open(&s, db);
    change = begin(&s, 1);
    rows_insert(&s.rows, change, 1, "n");
    rows_insert(&s.rows, change, 2, "n")->status = CASCADE_EXECUTION_COMPLETED;
    change->cascade.fn_id = 2;
    commit(&s, change);
    live = csc_mem_live();
    for (int all = 0; all < 2; all++) {
        size_t nth = 1;

        while (read_short_of_memory(&s, all ? NULL : &s.ids[1], nth)) {
            assert_int_equal(csc_mem_live(), live);
            nth++;
        }
        assert_true(nth > 5);
    }
    scene_close(&s);
}

/* ---- Mistakes ----------------------------------------------------------- */

static void
mistakes_are_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_cursor *cursor = NULL;
    const cascade_news *news = NULL;
    const cascade_cursor_options sizeless = {.from_start = true};

    assert_fails(CASCADE_ERR_INVALID, cascade_cursor_open(NULL, NULL, &cursor));
    assert_fails(CASCADE_ERR_INVALID, cascade_cursor_open(store, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_cursor_open(store, &sizeless, &cursor));
    assert_ok(cascade_cursor_open(store, NULL, &cursor));
    assert_fails(CASCADE_ERR_INVALID, cascade_cursor_next(NULL, 0, &news));
    assert_fails(CASCADE_ERR_INVALID, cascade_cursor_next(cursor, 0, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_cursor_next(cursor, -2, &news));
    assert_fails(CASCADE_ERR_TIMEOUT, cascade_cursor_next(cursor, 5, &news));
    cascade_cursor_close(cursor);
    cascade_cursor_close(NULL);
}

#define ON_ALL(name)            \
    {                           \
#name, name, STORES_ALL \
    }

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        ON_ALL(one_is_told_from_its_start_to_its_end),
        ON_ALL(an_execution_is_told_as_it_is),
        ON_ALL(what_is_there_already_is_not_told),
        ON_ALL(a_heartbeat_is_no_change),
        ON_ALL(many_are_told_in_their_order),
        ON_ALL(one_of_many_that_run_is_told),
        ON_ALL(a_commit_within_the_same_millisecond_is_seen),
        ON_ALL(one_that_is_deleted_is_not_there_any_more),
        ON_ALL(all_are_told_with_what_is_there),
        ON_ALL(all_are_told_without_what_is_there),
        ON_ALL(one_that_is_deleted_is_told_of_no_more),
        {"what_is_committed_late_is_seen_within_a_minute",
         what_is_committed_late_is_seen_within_a_minute, STORES_VIRTUAL},
        ON_ALL(ids_of_other_forms_are_seen_in_what_is_followed),
        ON_ALL(one_is_followed_while_it_runs),
        ON_ALL(all_are_followed_while_they_run),
        ON_ALL(nothing_is_lost_when_the_store_fails),
        ON_ALL(nobody_is_forgotten_when_the_store_fails),
        {"nothing_is_lost_when_memory_is_short",
         nothing_is_lost_when_memory_is_short, STORES_MEMORY},
        {"mistakes_are_refused", mistakes_are_refused, STORES_MEMORY},
    };

    return stores_run("cursor", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
