/* SPDX-License-Identifier: MIT
 *
 * Pages of rows, what a list may ask for, counts, and the migrations.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance_mail.h"

#define ENDLESS 1000000 /* pages, at which a scan is taken for one */

/* ---- What pages gave ---------------------------------------------------- */

typedef struct page_row {
    cascade_uuid id; /* of an execution */
    cascade_uuid cascade_id;
    int32_t function_id;
    int64_t event_id;
    cascade_execution_status status;
} page_row;

typedef struct page_rows {
    page_row *rows;
    size_t count;
    size_t room;
    size_t fail_at; /* the sink fails at this row; 0: never */
} page_rows;

static cascade_err
keep(page_rows *kept, page_row row)
{
    if (kept->count + 1 == kept->fail_at)
        return cascade_store_fail(CASCADE_ERR_CORRUPT, "this sink is full");
    assert_int_equal(0, csc_mem_grow((void **)&kept->rows, &kept->room,
                                     kept->count + 1, sizeof(row)));
    kept->rows[kept->count++] = row;
    return CASCADE_OK;
}

static cascade_err
keep_execution(void *context, const cascade_execution_row *row)
{
    return keep(context, (page_row){.id = row->id,
                                    .cascade_id = row->cascade_id,
                                    .function_id = row->function_id,
                                    .status = row->status});
}

static cascade_err
keep_event(void *context, const cascade_event_row *row)
{
    return keep(context, (page_row){.cascade_id = row->cascade_id,
                                    .function_id = row->function_id,
                                    .event_id = row->id});
}

static cascade_err
scan_page(cascade_store *store, const cascade_scan *scan, page_rows *kept)
{
    cascade_load_sink sink = {.context = kept,
                              .on_execution = keep_execution,
                              .on_event = keep_event};

    return store->driver->scan(store->self, scan, &sink);
}

/* Where the page after `last` begins. */
static void
turn_page(cascade_scan *scan, const page_row *last, cascade_uuid *after)
{
    if (scan->cascade_id == NULL) {
        *after = last->id;
        scan->after = after;
    } else if (scan->events) {
        scan->from = last->function_id;
        scan->after_event = last->event_id;
    } else {
        scan->from = last->function_id + 1;
    }
}

/* No more follow: where bytes may end a page, one without rows tells. */
static bool
is_last(const cascade_scan *scan, size_t count)
{
    return scan->bytes_max > 0 ? count == 0 : count < scan->limit;
}

/* All pages, each of at most scan.limit rows, until one is the last. */
static page_rows
scan_pages(cascade_store *store, cascade_scan scan)
{
    page_rows kept = {.rows = NULL};
    cascade_uuid after;

    for (int page = 0; page < ENDLESS; page++) {
        size_t before = kept.count;

        assert_ok(scan_page(store, &scan, &kept));
        assert_true(kept.count - before <= scan.limit);
        if (is_last(&scan, kept.count - before))
            return kept;
        turn_page(&scan, &kept.rows[kept.count - 1], &after);
    }
    fail_msg("a scan has no end");
    return kept;
}

static void
assert_same_rows(const page_rows *a, const page_rows *b)
{
    assert_int_equal(a->count, b->count);
    for (size_t i = 0; i < a->count; i++) {
        assert_memory_equal(&a->rows[i].id, &b->rows[i].id, 16);
        assert_memory_equal(&a->rows[i].cascade_id, &b->rows[i].cascade_id, 16);
        assert_int_equal(a->rows[i].function_id, b->rows[i].function_id);
        assert_int_equal(a->rows[i].event_id, b->rows[i].event_id);
        assert_int_equal(a->rows[i].status, b->rows[i].status);
    }
}

/* The same rows by pages of every size up to `size_max`. */
static void
check_pages(conformance_db *db, cascade_scan scan, size_t size_max,
            size_t wanted)
{
    page_rows all;

    scan.limit = CASCADE_SCAN_MAX;
    all = scan_pages(db->handles[0], scan);
    assert_int_equal(all.count, wanted);
    for (scan.limit = 1; scan.limit <= size_max; scan.limit++) {
        page_rows pages = scan_pages(db->handles[0], scan);

        assert_same_rows(&all, &pages);
        csc_mem_free(pages.rows);
    }
    csc_mem_free(all.rows);
}

/* A cascade of `count` executions, of which those at even places have ended,
 * with `events` events for each; and another one beside it. */
static cascade_uuid
write_wide(mail_scene *it, int32_t count, int events)
{
    cascade_uuid id = mail_own(it);
    cascade_change *write = rows_write(it->rows, id, count - 1);

    for (int32_t i = 1; i < count; i++)
        rows_insert(it->rows, write, i, "node");
    assert_ok(mail_write(it, write));
    write = rows_write(it->rows, id, count - 1);
    for (int32_t i = 0; i < count; i += 2)
        rows_update(it->rows, write, i, "{\"output\":1}");
    for (int k = 0; k < events; k++) {
        for (int32_t i = count - 1; i >= 0; i--)
            rows_event(it->rows, write, i, "key", "[1]");
    }
    assert_ok(mail_write(it, write));
    mail_own(it);
    return id;
}

/* ---- S28: of one cascade ------------------------------------------------ */

/* S28: by function_id, from where it is asked, in pages of any size. */
static void
the_executions_of_a_cascade_come_in_order(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = write_wide(&it, 23, 0);
    cascade_scan scan = {.cascade_id = &id, .limit = 100};
    page_rows kept = scan_pages(it.db->handles[0], scan);

    assert_int_equal(kept.count, 23);
    for (int i = 0; i < 23; i++) {
        assert_int_equal(kept.rows[i].function_id, i);
        assert_memory_equal(&kept.rows[i].cascade_id, &id, sizeof(id));
    }
    csc_mem_free(kept.rows);
    check_pages(it.db, scan, 25, 23);
    scan.from = 20;
    check_pages(it.db, scan, 5, 3);
    scan.from = 23;
    check_pages(it.db, scan, 2, 0);
    scan.from = 0;
    scan.running_only = true;
    check_pages(it.db, scan, 13, 11);
    scan.from = 2;
    kept = scan_pages(it.db->handles[0], scan);
    assert_int_equal(kept.count, 10);
    assert_int_equal(kept.rows[0].function_id, 3);
    assert_int_equal(kept.rows[0].status, CASCADE_EXECUTION_RUNNING);
    csc_mem_free(kept.rows);
}

/* S28: by (function_id, id); pages may end amid the events of one execution. */
static void
the_events_of_a_cascade_come_in_order(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = write_wide(&it, 7, 5);
    cascade_scan scan = {.cascade_id = &id, .events = true, .limit = 100};
    page_rows kept = scan_pages(it.db->handles[0], scan);

    assert_int_equal(kept.count, 35);
    for (size_t i = 0; i < kept.count; i++) {
        assert_int_equal(kept.rows[i].function_id, i / 5);
        assert_memory_equal(&kept.rows[i].cascade_id, &id, sizeof(id));
        assert_true(i % 5 == 0 ||
                    kept.rows[i - 1].event_id < kept.rows[i].event_id);
    }
    scan.from = 3;
    scan.after_event = kept.rows[16].event_id;
    csc_mem_free(kept.rows);
    check_pages(it.db, scan, 20, 18);
    scan.after_event = 0;
    check_pages(it.db, scan, 20, 20);
    scan.from = 0;
    check_pages(it.db, scan, 37, 35);
    scan.from = 7;
    check_pages(it.db, scan, 2, 0);
}

/* A page has whole rows: the same as a load gives. */
static void
a_page_has_the_rows_that_a_load_gives(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = rows_id(it.rows);
    cascade_change *start = rows_start_owned(it.rows, id, it.engine);
    cascade_change *write = rows_write(it.rows, id, 1);
    cascade_scan scan = {.cascade_id = &id, .limit = 10};
    char *executions;
    char *all;
    char *events;
    char *picture;

    assert_ok(mail_write(&it, start));
    rows_update(it.rows, write, 0, "{\"output\":\"o'neill\"}")->error = "was";
    rows_insert(it.rows, write, 1, "second")->input = "{\"x\":[1,2]}";
    rows_event(it.rows, write, 0, "a", "1")->ui_value = "\"one\"";
    rows_event(it.rows, write, 1, "b", "{\"y\":null}");
    assert_ok(mail_write(&it, write));
    picture = db_picture(it.db);
    executions = db_dump_scan(it.db->handles[0], &scan, DUMP_ALL);
    assert_non_null(strstr(executions, "o'neill"));
    assert_non_null(strstr(picture, executions));
    scan.events = true;
    events = db_dump_scan(it.db->handles[0], &scan, DUMP_ALL);
    assert_non_null(strstr(events, "<5:\"one\">"));
    assert_non_null(strstr(picture, events));
    scan = (cascade_scan){.limit = 1};
    all = db_dump_scan(it.db->handles[0], &scan, DUMP_ALL);
    assert_non_null(strstr(picture, all));
    csc_mem_free(executions);
    csc_mem_free(events);
    csc_mem_free(all);
    csc_mem_free(picture);
}

/* ---- S45 ----------------------------------------------------------------- */

#define HEAVY_BYTES 12000
#define HEAVY_ROWS 9

/* A JSON text that no database makes much smaller. */
static char *
heavy_text(test_rows *rows)
{
    char *text = csc_arena_alloc(&rows->arena, HEAVY_BYTES + 3, 1);

    assert_non_null(text);
    text[0] = '"';
    for (int i = 1; i <= HEAVY_BYTES; i++)
        text[i] = (char)('a' + rows_random(rows) % 26);
    text[HEAVY_BYTES + 1] = '"';
    text[HEAVY_BYTES + 2] = '\0';
    return text;
}

/* Executions and events that are large in turn by each of their payloads. */
static cascade_uuid
write_heavy(mail_scene *it)
{
    cascade_uuid id = mail_own(it);
    cascade_change *write = rows_write(it->rows, id, HEAVY_ROWS - 1);

    for (int32_t i = 1; i < HEAVY_ROWS; i++) {
        cascade_execution_row *row = rows_insert(it->rows, write, i, "node");

        if (i % 3 == 0)
            row->input = heavy_text(it->rows);
        else if (i % 3 == 1)
            row->full_output = heavy_text(it->rows);
        else
            row->error = heavy_text(it->rows);
    }
    for (int i = 0; i < HEAVY_ROWS; i++) {
        cascade_event_row *event = rows_event(it->rows, write, i / 3, "k", "1");

        if (i % 2 == 0)
            event->value = heavy_text(it->rows);
        else
            event->ui_value = heavy_text(it->rows);
    }
    assert_ok(mail_write(it, write));
    return id;
}

/* S45: at least one row, and no more behind the one that fills it. */
static void
check_heavy_pages(conformance_db *db, cascade_scan scan)
{
    page_rows all = scan_pages(db->handles[0], scan);
    page_rows pages;
    page_rows first = {.rows = NULL};

    assert_int_equal(all.count, HEAVY_ROWS);
    scan.bytes_max = 1;
    pages = scan_pages(db->handles[0], scan);
    assert_same_rows(&all, &pages);
    csc_mem_free(pages.rows);
    assert_ok(scan_page(db->handles[0], &scan, &first));
    assert_int_equal(first.count, 1);
    scan.bytes_max = (size_t)3 * HEAVY_BYTES;
    pages = scan_pages(db->handles[0], scan);
    assert_same_rows(&all, &pages);
    csc_mem_free(pages.rows);
    assert_ok(scan_page(db->handles[0], &scan, &first));
    assert_in_range(first.count, 1 + 2, 1 + 5);
    csc_mem_free(first.rows);
    csc_mem_free(all.rows);
}

static void
a_page_ends_by_its_bytes(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = write_heavy(&it);

    check_heavy_pages(it.db, (cascade_scan){.limit = 1000});
    check_heavy_pages(it.db, (cascade_scan){.cascade_id = &id, .limit = 1000});
    check_heavy_pages(
        it.db,
        (cascade_scan){.cascade_id = &id, .events = true, .limit = 1000});
}

/* ---- S28: of all cascades ----------------------------------------------- */

/* S28: by their own ids, in pages of any size, whosever they are. */
static void
the_executions_of_all_come_by_id(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_scan scan = {.limit = 1000};
    cascade_uuid middle;
    page_rows kept;

    write_wide(&it, 9, 1);
    write_wide(&it, 8, 0);
    assert_ok(mail_end(&it, mail_own(&it), CASCADE_ERROR));
    kept = scan_pages(it.db->handles[0], scan);
    assert_int_equal(kept.count, 20);
    for (size_t i = 1; i < kept.count; i++)
        assert_true(csc_uuid_compare(&kept.rows[i - 1].id, &kept.rows[i].id) <
                    0);
    middle = kept.rows[4].id;
    csc_mem_free(kept.rows);
    check_pages(it.db, scan, 22, 20);
    scan.after = &middle;
    check_pages(it.db, scan, 5, 15);
    scan.after = NULL;
    scan.running_only = true;
    check_pages(it.db, scan, 13, 11);
}

/* S52: those that are RUNNING, from where it is asked, past all others. */
static void
the_children_of_a_cascade_come_alone(void **state)
{
    static const int32_t given[] = {3, 6, 9, 15, 18};
    mail_scene it = mail_begin(*state);
    cascade_uuid id = mail_own(&it);
    cascade_change *write = rows_write(it.rows, id, 20);
    cascade_scan scan = {
        .cascade_id = &id, .running_only = true, .children_only = true};
    page_rows kept;

    for (int32_t i = 1; i <= 20; i++)
        rows_insert(it.rows, write, i,
                    i % 3 == 0 ? CASCADE_CHILD_PREFIX "a" : "cascade.chile:a");
    assert_ok(mail_write(&it, write));
    write = rows_write(it.rows, id, 20);
    rows_update(it.rows, write, 0, "{}");
    rows_update(it.rows, write, 12, "{}");
    assert_ok(mail_write(&it, write));
    mail_own(&it);
    check_pages(it.db, scan, 7, 5);
    scan.limit = 2;
    kept = scan_pages(it.db->handles[0], scan);
    for (size_t i = 0; i < kept.count; i++)
        assert_int_equal(kept.rows[i].function_id, given[i]);
    csc_mem_free(kept.rows);
    scan.from = 7;
    check_pages(it.db, scan, 4, 3);
    scan.from = 19;
    check_pages(it.db, scan, 1, 0);
}

static void
a_scan_of_nothing_gives_nothing(void **state)
{
    conformance_db *db = *state;
    cascade_uuid nobody = rows_id(&db->rows);
    cascade_scan scan = {.limit = CASCADE_SCAN_MAX};

    for (int round = 0; round < 2; round++) {
        scan.cascade_id = NULL;
        scan.events = false;
        check_pages(db, scan, 1, (size_t)round);
        scan.cascade_id = &nobody;
        check_pages(db, scan, 1, 0);
        scan.events = true;
        check_pages(db, scan, 1, 0);
        assert_ok(db_submit_one(db, rows_start(&db->rows, rows_id(&db->rows))));
    }
}

static void
a_deletion_takes_executions_out_of_scans(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = write_wide(&it, 5, 2);
    cascade_change *deletion = rows_write(it.rows, id, 0);

    check_pages(it.db, (cascade_scan){.limit = 1}, 3, 6);
    deletion->run_action = CASCADE_RUN_DELETE;
    assert_ok(mail_write(&it, deletion));
    check_pages(it.db, (cascade_scan){.limit = 1}, 3, 1);
}

/* S16 */
static void
an_error_of_a_scan_sink_is_the_result(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id = write_wide(&it, 5, 1);
    cascade_scan scans[] = {{.limit = 10},
                            {.cascade_id = &id, .limit = 10},
                            {.cascade_id = &id, .events = true, .limit = 10}};

    for (int i = 0; i < 3; i++) {
        page_rows kept = {.fail_at = 3};

        assert_fails(CASCADE_ERR_CORRUPT,
                     scan_page(it.db->handles[0], &scans[i], &kept));
        assert_string_equal(cascade_errmsg(), "this sink is full");
        assert_int_equal(kept.count, 2);
        csc_mem_free(kept.rows);
        assert_ok(mail_write(&it, rows_write(it.rows, id, 4)));
    }
}

/* ---- S28 while others write --------------------------------------------- */

#define THERE 60

typedef struct appender {
    pthread_t thread;
    cascade_store *store;
    test_rows rows;
    cascade_uuid engine;
    cascade_uuid id;
    int32_t next;
    int64_t number;
    atomic_bool allowed; /* a batch, beside a page that is read */
    atomic_bool over;
    atomic_bool ended;
    cascade_err err;
} appender;

/* Two executions and two events a batch, of one moment. */
static void *
append(void *context)
{
    appender *it = context;
    bool existed;

    while (!atomic_load(&it->over) && it->err == CASCADE_OK) {
        cascade_change *write = rows_write(&it->rows, it->id, it->next + 1);
        cascade_batch batch = {.engine_id = it->engine,
                               .number = ++it->number,
                               .changes = write,
                               .change_count = 1};

        while (!atomic_exchange(&it->allowed, false) && !atomic_load(&it->over))
            sched_yield();
        for (int32_t i = 0; i < 2; i++) {
            rows_insert(&it->rows, write, it->next + i, "node");
            rows_event(&it->rows, write, it->next + i, "key", "1");
        }
        it->err = it->store->driver->commit(it->store->self, &batch, &existed);
        it->next += 2;
        rows_clear(&it->rows);
    }
    atomic_store(&it->ended, true);
    return NULL;
}

static appender *
begin_appending(mail_scene *it)
{
    appender *made = calloc(1, sizeof(*made));

    assert_non_null(made);
    made->store = db_open(it->db);
    rows_init(&made->rows, rows_random(it->rows), it->rows->now_ms);
    made->engine = it->engine;
    made->id = write_wide(it, THERE, 1);
    made->next = THERE;
    made->number = it->number;
    assert_int_equal(0, pthread_create(&made->thread, NULL, append, made));
    return made;
}

static void
end_appending(appender *it)
{
    atomic_store(&it->over, true);
    pthread_join(it->thread, NULL);
    assert_int_equal(it->err, CASCADE_OK);
    assert_true(it->next > THERE);
    rows_fini(&it->rows);
    free(it);
}

/* A page while the other thread writes. */
static size_t
scan_beside(appender *it, conformance_db *db, const cascade_scan *scan,
            page_rows *kept)
{
    size_t before = kept->count;

    while (atomic_load(&it->allowed) && !atomic_load(&it->ended))
        sched_yield();
    atomic_store(&it->allowed, true);
    assert_ok(scan_page(db->handles[0], scan, kept));
    return kept->count - before;
}

static bool
has_execution(const page_rows *kept, const cascade_uuid *id, int32_t at)
{
    for (size_t i = 0; i < kept->count; i++) {
        if (csc_uuid_equal(&kept->rows[i].cascade_id, id) &&
            kept->rows[i].function_id == at)
            return true;
    }
    return false;
}

/* S28: rows that come meanwhile are there or not; those that were there are. */
static void
pages_leave_out_nothing_while_others_write(void **state)
{
    mail_scene it = mail_begin(*state);
    appender *other = begin_appending(&it);
    const cascade_scan scans[] = {
        {.limit = 17},
        {.cascade_id = &other->id, .limit = 17},
        {.cascade_id = &other->id, .events = true, .limit = 17}};

    for (int round = 0; round < 12; round++) {
        cascade_scan scan = scans[round % 3];
        page_rows kept = {.rows = NULL};
        cascade_uuid after;

        while (scan_beside(other, it.db, &scan, &kept) == scan.limit)
            turn_page(&scan, &kept.rows[kept.count - 1], &after);
        for (int32_t i = 0; i < THERE; i++)
            assert_true(round % 3 == 0 ? has_execution(&kept, &other->id, i)
                                       : kept.rows[i].function_id == i);
        csc_mem_free(kept.rows);
    }
    end_appending(other);
}

/* S28: what one commit wrote is all in a page or not at all. */
static void
a_page_shows_one_moment(void **state)
{
    mail_scene it = mail_begin(*state);
    appender *other = begin_appending(&it);
    const cascade_scan scans[] = {
        {.cascade_id = &other->id, .limit = CASCADE_SCAN_MAX},
        {.cascade_id = &other->id, .events = true, .limit = CASCADE_SCAN_MAX}};

    for (int round = 0; round < 40; round++) {
        page_rows kept = {.rows = NULL};

        assert_true(scan_beside(other, it.db, &scans[round % 2], &kept) >=
                    THERE);
        assert_int_equal(kept.count % 2, 0);
        csc_mem_free(kept.rows);
    }
    end_appending(other);
}

/* ---- What a list may ask for -------------------------------------------- */

static cascade_err
count_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    (void)run;
    ++*(size_t *)context;
    return CASCADE_OK;
}

static size_t
count_list(conformance_db *db, cascade_query query)
{
    size_t count = 0;

    query.limit = 1000;
    assert_ok(db->driver->list(db->self, &query, count_listed, &count));
    return count;
}

/* S14: by the queue that the run is in, while there is one. */
static void
a_list_may_ask_for_a_queue(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid id;

    for (int i = 0; i < 6; i++) {
        cascade_change *start = rows_start(it.rows, rows_id(it.rows));

        start->run.queue = i < 2 ? "o'neill" : "default";
        assert_ok(db_submit_one(it.db, start));
    }
    id = mail_own(&it);
    assert_int_equal(count_list(it.db, (cascade_query){.queue = "default"}), 5);
    assert_int_equal(count_list(it.db, (cascade_query){.queue = "o'neill"}), 2);
    assert_int_equal(count_list(it.db, (cascade_query){.queue = "Default"}), 0);
    assert_ok(mail_end(&it, id, CASCADE_COMPLETED));
    assert_int_equal(count_list(it.db, (cascade_query){.queue = "default"}), 4);
    assert_int_equal(
        count_list(it.db, (cascade_query){.queue = "default", .id = &id}), 0);
    assert_int_equal(count_list(it.db, (cascade_query){.id = &id}), 1);
}

/* S14: by the time of the last write, which does not count itself. */
static void
a_list_may_ask_for_what_was_not_written_since(void **state)
{
    conformance_db *db = *state;
    int64_t first_ms = db->rows.now_ms;
    cascade_query query = {.status = CASCADE_RUNNING};

    for (int i = 0; i < 5; i++) {
        cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));

        start->cascade.updated_at_ms = first_ms + i;
        assert_ok(db_submit_one(db, start));
    }
    for (int i = 0; i < 7; i++) {
        query.updated_before_ms = first_ms + i;
        assert_int_equal(count_list(db, query), i < 5 ? i : 5);
    }
    query.updated_before_ms = 0;
    assert_int_equal(count_list(db, query), 5);
    query.updated_before_ms = first_ms + 9;
    query.status = CASCADE_COMPLETED;
    assert_int_equal(count_list(db, query), 0);
}

static cascade_err
count_each(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    (void)run;
    ++*(size_t *)context;
    return CASCADE_OK;
}

/* S14: what was written since counts neither against the limit nor twice,
 * however much of it there is between the others. */
static void
a_page_of_what_was_not_written_since_has_each_once(void **state)
{
    conformance_db *db = *state;
    int64_t now_ms = db->rows.now_ms;
    size_t given = 0;

    for (int i = 0; i < 30; i++) {
        cascade_change *start = rows_start(&db->rows, rows_id(&db->rows));

        start->cascade.updated_at_ms = now_ms + (i % 5 == 4 ? 0 : 1000);
        assert_ok(db_submit_one(db, start));
    }
    assert_ok(db->driver->list(
        db->self,
        &(cascade_query){.updated_before_ms = now_ms + 1, .limit = 10},
        count_each, &given));
    assert_int_equal(given, 6);
}

/* ---- Counts ------------------------------------------------------------- */

static void
assert_totals(conformance_db *db, int64_t running, int64_t completed,
              int64_t failed, int64_t messages)
{
    cascade_totals totals;

    memset(&totals, 0x5a, sizeof(totals));
    assert_ok(conformance_manage(db->driver)->totals(db->self, &totals));
    assert_int_equal(totals.running, running);
    assert_int_equal(totals.completed, completed);
    assert_int_equal(totals.failed, failed);
    assert_int_equal(totals.messages, messages);
}

static void
totals_count_what_is_there(void **state)
{
    mail_scene it = mail_begin(*state);
    cascade_uuid ids[5];
    cascade_change *write;

    assert_totals(it.db, 0, 0, 0, 0);
    for (int i = 0; i < 5; i++)
        ids[i] = mail_own(&it);
    assert_totals(it.db, 5, 0, 0, 0);
    assert_ok(mail_end(&it, ids[0], CASCADE_COMPLETED));
    assert_ok(mail_end(&it, ids[1], CASCADE_ERROR));
    assert_ok(mail_end(&it, ids[2], CASCADE_ERROR));
    assert_int_equal(mail_send_path(&it, ids[3], "a"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, ids[3], "b"), CASCADE_SENT);
    assert_int_equal(mail_send_path(&it, ids[0], "c"), CASCADE_SENT_ENDED);
    assert_totals(it.db, 2, 1, 2, 3);
    write = mail_receipt(&it, ids[3], 1, &mail_receive(&it, 1).items[0]);
    assert_ok(mail_write(&it, write));
    write = rows_write(it.rows, ids[1], 0);
    write->run_action = CASCADE_RUN_DELETE;
    assert_ok(mail_write(&it, write));
    assert_totals(it.db, 2, 1, 1, 2);
}

/* ---- Migrations --------------------------------------------------------- */

typedef struct migrations {
    int32_t last;
    size_t count;
    size_t applied;
    int64_t now_ms;
} migrations;

static cascade_err
note_migration(void *context, const cascade_migration_row *row)
{
    migrations *noted = context;

    assert_true(row->number > noted->last);
    assert_non_null(row->name);
    assert_true(row->name[0] != '\0');
    noted->last = row->number;
    noted->count++;
    if (row->applied_at_ms == CASCADE_TIME_NONE)
        return CASCADE_OK;
    assert_true(row->applied_at_ms > 0);
    assert_true(row->applied_at_ms <= noted->now_ms);
    noted->applied++;
    return CASCADE_OK;
}

static migrations
note_migrations(cascade_store *store)
{
    migrations noted = {.last = 0};

    assert_ok(store->driver->now(store->self, &noted.now_ms));
    assert_ok(conformance_manage(store->driver)
                  ->schema(store->self, note_migration, &noted));
    assert_true(noted.count > 0);
    return noted;
}

/* S1: they are known before the first table is there, and applied after. */
static void
migrations_are_listed_before_and_after(void **state)
{
    conformance_db *db = NULL;
    cascade_store_options options;
    cascade_store *store = NULL;
    migrations before;
    migrations after;

    (void)conformance_manage(((conformance_db *)*state)->driver);
    db = db_create();
    assert_non_null(db);
    options = db_options(db);
    options.migrate = CASCADE_MIGRATE_NEVER;
    assert_ok(conformance_open(db, &options, &store));
    db->handles[db->handle_count++] = store;
    before = note_migrations(store);
    assert_int_equal(before.applied, db->backend->on_disk ? 0 : before.count);
    assert_ok(store->driver->migrate(store->self, CASCADE_MIGRATE_AUTO));
    after = note_migrations(store);
    assert_int_equal(after.count, before.count);
    assert_int_equal(after.applied, after.count);
    db_destroy(db);
}

static cascade_err
refuse_migration(void *context, const cascade_migration_row *row)
{
    (void)row;
    ++*(size_t *)context;
    return cascade_store_fail(CASCADE_ERR_CORRUPT, "this sink is full");
}

static void
an_error_of_a_migration_sink_is_the_result(void **state)
{
    conformance_db *db = *state;
    size_t count = 0;

    assert_fails(CASCADE_ERR_CORRUPT,
                 conformance_manage(db->driver)
                     ->schema(db->self, refuse_migration, &count));
    assert_string_equal(cascade_errmsg(), "this sink is full");
    assert_int_equal(count, 1);
}

conformance_group
conformance_scan(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_executions_of_a_cascade_come_in_order),
        cmocka_unit_test(the_events_of_a_cascade_come_in_order),
        cmocka_unit_test(a_page_has_the_rows_that_a_load_gives),
        cmocka_unit_test(the_executions_of_all_come_by_id),
        cmocka_unit_test(the_children_of_a_cascade_come_alone),
        cmocka_unit_test(a_scan_of_nothing_gives_nothing),
        cmocka_unit_test(a_deletion_takes_executions_out_of_scans),
        cmocka_unit_test(a_page_ends_by_its_bytes),
        cmocka_unit_test(an_error_of_a_scan_sink_is_the_result),
        cmocka_unit_test(pages_leave_out_nothing_while_others_write),
        cmocka_unit_test(a_page_shows_one_moment),
        cmocka_unit_test(a_list_may_ask_for_a_queue),
        cmocka_unit_test(a_list_may_ask_for_what_was_not_written_since),
        cmocka_unit_test(a_page_of_what_was_not_written_since_has_each_once),
        cmocka_unit_test(totals_count_what_is_there),
        cmocka_unit_test(migrations_are_listed_before_and_after),
        cmocka_unit_test(an_error_of_a_migration_sink_is_the_result),
    };

    return (conformance_group){"scan", tests, sizeof(tests) / sizeof(tests[0])};
}
