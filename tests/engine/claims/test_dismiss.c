/* SPDX-License-Identifier: MIT
 *
 * Cascades that nobody holds are ended from outside without being read: what
 * that costs, that what is recorded is what is recorded of one that is held,
 * and what becomes of other messages and of failures.
 */
#include <inttypes.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "engine/support/play.h"
#include "store/store.h"
#include "support/dump.h"
#include "support/rows.h"

#define FAR_MS (INT64_C(365) * 86400 * 1000)
#define HOUR_MS (INT64_C(3600) * 1000)
#define FEW 10
#define MANY 2000
#define MESSAGES 4
#define LETTERS 1000

static const char undelivered[] = "undelivered: the cascade had ended";

/* A cascade that is parked, behind a store that counts. */
typedef struct scene {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store;
    cascade_engine *engine;
    test_rows rows;
    cascade_uuid id;
    cascade_uuid next; /* as which it continued */
} scene;

static cascade_err
must_not_begin(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    expect(false);
    return CASCADE_OK;
}

static void
begin(scene *s, test_db *db)
{
    static uint64_t scenes; /* each has other ids */
    int64_t now_ms = 0;

    *s = (scene){.db = db, .wrap = wrap_store_create(db->url)};
    assert_non_null(s->wrap);
    s->store = db_wrapped(db, s->wrap);
    assert_ok(s->store->driver->now(s->store->self, &now_ms));
    rows_init(&s->rows, rows_seed() + ++scenes, now_ms);
}

/* Executions and events: of so many in a row all but one are RUNNING, and due
 * in a year; the first waits for a signal. The one that begins it has ended. */
static void
add_rows(scene *s, cascade_change *start, int32_t count, int32_t each)
{
    const char *later = rows_text(&s->rows, "{\"not_before\":%" PRId64 "}",
                                  s->rows.now_ms + FAR_MS);
    const char *ended = rows_text(&s->rows, "{\"at\":%" PRId32 "}", count - 1);

    for (int32_t i = 1; i < count; i++) {
        cascade_execution_row *row = rows_insert(
            &s->rows, start, i, i == 1 ? "cascade.await:go" : "first");

        row->full_output = later;
        if (i % 2 == 0)
            rows_event(&s->rows, start, i, "key", "1");
    }
    for (int32_t i = 0; i < count; i += each) {
        cascade_execution_row *first =
            (cascade_execution_row *)&start->inserts[i];

        first->status = CASCADE_EXECUTION_COMPLETED;
        first->full_output = ended;
        first->completed_at_ms = s->rows.now_ms;
    }
    start->cascade.fn_id = count - 1;
}

/* It says which run it continues. */
static void
come_after(scene *s, cascade_change *start)
{
    cascade_execution_row *row = (cascade_execution_row *)start->inserts;
    char id[CASCADE_UUID_TEXT_SIZE];

    (void)cascade_uuid_format(&s->id, id);
    row->full_output =
        rows_text(&s->rows,
                  "{\"at\":0,\"cascade\":{\"root\":\"%s\",\"queue\":"
                  "\"default\",\"previous\":\"%s\",\"run_number\":2}}",
                  id, id);
    start->root = &s->id;
    start->run_number = 2;
}

static void
park_as(scene *s, cascade_uuid id, int32_t count, int32_t takeovers)
{
    cascade_change *start = rows_start(&s->rows, id);
    bool existed = true;

    start->run.wake_at_ms += FAR_MS;
    start->run.takeovers = takeovers;
    add_rows(s, start, count, 2);
    if (csc_uuid_equal(&id, &s->next))
        come_after(s, start);
    assert_ok(
        rows_submit(s->store->driver, s->store->self, start, 1, &existed));
    assert_false(existed);
}

static void
park(scene *s, int32_t count, int32_t takeovers)
{
    s->id = rows_id(&s->rows);
    park_as(s, s->id, count, takeovers);
}

/* Messages that are there before anybody looks; kind NULL: no more. */
static void
put_messages(scene *s, const char *const *kinds)
{
    cascade_message_row rows[MESSAGES];
    cascade_sent sent[MESSAGES];
    cascade_submission submission = {.messages = rows, .sent = sent};
    char id[CASCADE_UUID_TEXT_SIZE];

    cascade_uuid_format(&s->id, id);
    for (size_t i = 0; i < MESSAGES && kinds[i] != NULL; i++) {
        rows[i] = *rows_message(
            &s->rows, s->id,
            rows_text(&s->rows, "%s/message/%d%s", id, (int)i, kinds[i]));
        rows[i].kind = kinds[i];
        submission.message_count++;
    }
    assert_ok(s->store->driver->submit(s->store->self, &submission));
}

/* As many signals, before anybody looks. */
static void
put_letters(scene *s, const char *name, size_t count)
{
    cascade_message_row *rows = csc_mem_zalloc(count, sizeof(*rows));
    cascade_sent *sent = csc_mem_zalloc(count, sizeof(*sent));
    const cascade_submission submission = {
        .messages = rows, .message_count = count, .sent = sent};
    char id[CASCADE_UUID_TEXT_SIZE];

    assert_true(rows != NULL && sent != NULL);
    cascade_uuid_format(&s->id, id);
    for (size_t i = 0; i < count; i++)
        rows[i] = *rows_message(
            &s->rows, s->id,
            rows_text(&s->rows, "%s/message/signal/%s%zu", id, name, i));
    assert_ok(s->store->driver->submit(s->store->self, &submission));
    csc_mem_free(sent);
    csc_mem_free(rows);
}

static void
start_engine(scene *s)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lease_ms = HOUR_MS,
                                            .poll_interval_ms = 20};

    s->engine = db_engine(s->db, s->store, &options);
    assert_ok(cascade_engine_register(s->engine, "first", must_not_begin, NULL,
                                      NULL));
    assert_ok(cascade_engine_start(s->engine));
}

static void
end(scene *s)
{
    if (s->engine != NULL)
        db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    rows_fini(&s->rows);
    wrap_store_free(s->wrap);
}

static bool
has_gone(void *context)
{
    scene *s = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(s->store, &s->id, &info);

    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND;
}

static bool
has_no_messages(void *context)
{
    scene *s = context;
    dump_rows rows = {.found = false};
    bool none = false;

    assert_ok(dump_rows_load(&rows, s->store->driver, s->store->self, &s->id));
    none = rows.message_count == 0;
    dump_rows_fini(&rows);
    return none;
}

/* The nth of the executions. */
static void
check_new(scene *s, size_t at, const char *node,
          cascade_execution_status status, const char *error)
{
    dump_rows rows = {.found = false};
    const cascade_execution_row *row = NULL;

    assert_ok(dump_rows_load(&rows, s->store->driver, s->store->self, &s->id));
    assert_true(rows.execution_count > at);
    row = &rows.executions[at];
    assert_string_equal(row->node_name, node);
    assert_int_equal(row->status, status);
    if (error != NULL)
        assert_string_equal(row->error, error);
    assert_int_equal(rows.cascade.fn_id, rows.execution_count - 1);
    dump_rows_fini(&rows);
}

/* ---- What it costs ------------------------------------------------------ */

typedef struct cost {
    size_t rows;
    size_t inserts;
    size_t updates;
} cost;

static cascade_err
count_writes(void *context, const wrap_call *call)
{
    cost *c = context;

    for (size_t i = 0; call->batch != NULL && i < call->batch->change_count;
         i++) {
        c->inserts += call->batch->changes[i].insert_count;
        c->updates += call->batch->changes[i].update_count;
    }
    return CASCADE_OK;
}

static cost
end_parked(test_db *db, const char *kind, int32_t count, bool alone)
{
    const char *const kinds[] = {kind, NULL};
    bool deletes = strcmp(kind, "delete") == 0;
    static cost written; /* the engine that a failed test leaves has it */
    cost total = {0};
    scene s;

    begin(&s, db);
    park(&s, count, 0);
    written = total;
    s.wrap->context = &written;
    s.wrap->before = count_writes;
    if (alone) {
        assert_ok(deletes ? cascade_delete(s.store, &s.id, NULL)
                          : cascade_terminate(s.store, &s.id, NULL));
    } else {
        put_messages(&s, kinds);
        start_engine(&s);
    }
    if (deletes)
        assert_true(stores_until(has_gone, &s));
    else
        db_await(s.store, &s.id, CASCADE_ERROR);
    if (s.engine != NULL) {
        assert_int_equal(db_stats(s.engine).hydrations, 0);
        db_close_engine(db, s.engine);
        s.engine = NULL;
    }
    total = written;
    total.rows = atomic_load(&s.wrap->rows);
    if (!deletes)
        check_new(&s, (size_t)count, "cascade.terminate",
                  CASCADE_EXECUTION_FAILED, "terminated");
    end(&s);
    return total;
}

static void
check_costs(test_db *db, const char *kind, bool alone)
{
    cost few = end_parked(db, kind, FEW, alone);
    cost many = end_parked(db, kind, MANY, alone);

    assert_int_equal(few.rows, 1); /* of the family */
    assert_int_equal(few.inserts, 1);
    assert_int_equal(few.updates, 0);
    assert_memory_equal(&few, &many, sizeof(few));
}

static void
what_is_parked_is_terminated_unread(test_db *db)
{
    check_costs(db, "terminate", false);
}

static void
what_is_parked_is_deleted_unread(test_db *db)
{
    check_costs(db, "delete", false);
}

/* By an engine of its own. */
static void
who_is_alone_terminates_unread(test_db *db)
{
    check_costs(db, "terminate", true);
}

static void
who_is_alone_deletes_unread(test_db *db)
{
    check_costs(db, "delete", true);
}

static void
commit(scene *s, const cascade_uuid *engine_id, int64_t number,
       const cascade_change *change)
{
    const cascade_batch batch = {.engine_id = *engine_id,
                                 .number = number,
                                 .changes = change,
                                 .change_count = 1};
    bool existed = false;

    assert_ok(s->store->driver->commit(s->store->self, &batch, &existed));
}

/* The first execution says so. */
static void
continue_as(scene *s, cascade_change *start, cascade_uuid next)
{
    cascade_execution_row *first = (cascade_execution_row *)start->inserts;
    char id[CASCADE_UUID_TEXT_SIZE];

    s->next = next;
    first->full_output =
        rows_text(&s->rows, "{\"at\":%" PRId32 ",\"continued_as\":\"%s\"}",
                  start->cascade.fn_id, cascade_uuid_format(&next, id));
}

/* One that has ended; `continued`: as another, that is not there yet. */
static void
begin_over(scene *s, test_db *db, cascade_status status, int32_t count,
           bool continued)
{
    cascade_incarnation owner;
    cascade_change *start = NULL;
    cascade_change *last = NULL;

    begin(s, db);
    owner = rows_incarnation(&s->rows, 1, 60000);
    start = rows_start_owned(&s->rows, rows_id(&s->rows), owner.engine_id);
    s->id = start->cascade.id;
    add_rows(s, start, count, status == CASCADE_ERROR ? 2 : 1);
    if (continued)
        continue_as(s, start, rows_id(&s->rows));
    last = rows_write(&s->rows, s->id, count - 1);
    last->cascade.status = status;
    last->run_action = CASCADE_RUN_END;
    assert_ok(s->store->driver->attach(s->store->self, &owner));
    commit(s, &owner.engine_id, 1, start);
    commit(s, &owner.engine_id, 2, last);
    assert_ok(s->store->driver->detach(s->store->self, &owner.engine_id));
}

static void
begin_ended(scene *s, test_db *db, cascade_status status, int32_t count)
{
    begin_over(s, db, status, count, false);
}

static void
begin_ended_with(scene *s, test_db *db, cascade_status status,
                 const char *const *kinds)
{
    begin_ended(s, db, status, status == CASCADE_ERROR ? FEW : 1);
    put_messages(s, kinds);
    start_engine(s);
}

static void
what_has_ended_is_deleted(test_db *db, cascade_status status, bool unread)
{
    static const char *const deletion[] = {"delete", "delete", NULL};
    scene s;

    begin_ended_with(&s, db, status, deletion);
    assert_true(stores_until(has_gone, &s));
    assert_int_equal(atomic_load(&s.wrap->rows) == 0, unread);
    end(&s);
}

static void
what_failed_is_deleted_unread(test_db *db)
{
    what_has_ended_is_deleted(db, CASCADE_ERROR, true);
}

/* It might have continued after the deletion was asked for, which says nothing
 * of how it was then. */
static void
what_completed_is_deleted(test_db *db)
{
    what_has_ended_is_deleted(db, CASCADE_COMPLETED, false);
}

static size_t
delete_completed(test_db *db, int32_t count)
{
    size_t rows = 0;
    scene s;

    begin_ended(&s, db, CASCADE_COMPLETED, count);
    start_engine(&s);
    assert_ok(cascade_delete(s.store, &s.id, NULL));
    assert_true(stores_until(has_gone, &s));
    assert_int_equal(db_stats(s.engine).hydrations, 0);
    rows = atomic_load(&s.wrap->rows);
    end(&s);
    return rows;
}

/* Whoever asks looks what the first execution says of its family. */
static void
what_is_as_it_was_when_asked_is_deleted_unread(test_db *db)
{
    assert_int_equal(delete_completed(db, FEW), 1);
    assert_int_equal(delete_completed(db, MANY), 1);
}

/* It stays as it has ended. */
static void
what_failed_receives_unread(test_db *db)
{
    static const char *const kinds[] = {"signal", "cancel", "child",
                                        "terminate", NULL};
    scene s;

    begin_ended_with(&s, db, CASCADE_ERROR, kinds);
    assert_true(stores_until(has_no_messages, &s));
    assert_int_equal(db_stats(s.engine).hydrations, 0);
    check_new(&s, FEW, "cascade.signal:go", CASCADE_EXECUTION_FAILED,
              undelivered);
    check_new(&s, FEW + 1, "cascade.cancel", CASCADE_EXECUTION_FAILED,
              undelivered);
    check_new(&s, FEW + 2, "cascade.terminate", CASCADE_EXECUTION_FAILED,
              undelivered);
    db_await(s.store, &s.id, CASCADE_ERROR);
    end(&s);
}

/* Of its children it is told for nothing; what else comes may be for its next
 * run. */
static void
what_completed_is_told_of_children_unread(test_db *db)
{
    static const char *const told[] = {"child", NULL};
    static const char *const asked[] = {"terminate", NULL};
    scene s;

    begin_ended_with(&s, db, CASCADE_COMPLETED, told);
    assert_true(stores_until(has_no_messages, &s));
    assert_int_equal(db_stats(s.engine).hydrations, 0);
    put_messages(&s, asked);
    assert_true(stores_until(has_no_messages, &s));
    assert_int_equal(db_stats(s.engine).hydrations, 1);
    check_new(&s, 1, "cascade.terminate", CASCADE_EXECUTION_FAILED,
              undelivered);
    end(&s);
}

/* What was undelivered before tells of it. */
static void
what_completed_is_read_once_for_many_letters(test_db *db)
{
    scene s;

    begin_ended(&s, db, CASCADE_COMPLETED, MANY);
    put_letters(&s, "a", LETTERS);
    start_engine(&s);
    assert_true(stores_until(has_no_messages, &s));
    assert_int_equal(db_stats(s.engine).hydrations, 1);
    check_new(&s, MANY, "cascade.signal:go", CASCADE_EXECUTION_FAILED,
              undelivered);
    check_new(&s, MANY + LETTERS - 1, "cascade.signal:go",
              CASCADE_EXECUTION_FAILED, undelivered);
    db_await(s.store, &s.id, CASCADE_COMPLETED);
    end(&s);
}

/* Nothing is on its way to anybody. Reads no cascade. */
static bool
is_all_received(void *context)
{
    scene *s = context;
    cascade_totals totals;

    assert_ok(s->store->driver->manage->totals(s->store->self, &totals));
    return totals.messages == 0;
}

typedef struct reader {
    cascade_store *store;
    wrap_store *wrap;
    cascade_uuid id;
    atomic_size_t count; /* of loads of it that are whole */
    atomic_bool waits;   /* with the answer of a commit of it */
} reader;

static cascade_err
count_whole(void *context, const wrap_call *call)
{
    reader *r = context;

    for (size_t i = 0; call->move == WRAP_LOAD && i < call->id_count; i++)
        if (csc_uuid_equal(&call->ids[i], &r->id) &&
            (call->parts & CASCADE_LOAD_EXECUTIONS) != 0)
            atomic_fetch_add(&r->count, 1);
    return CASCADE_OK;
}

/* The letters behind are claimed before the lane is told that it has ended. */
static cascade_err
answer_late(void *context, const wrap_call *call, cascade_err answer)
{
    reader *r = context;

    for (size_t i = 0; call->batch != NULL && i < call->batch->change_count;
         i++)
        if (csc_uuid_equal(&call->batch->changes[i].cascade.id, &r->id) &&
            atomic_exchange(&r->waits, false))
            db_pass_rounds(r->store, r->wrap);
    return answer;
}

/* Letters in front, and behind; what they say is gone with the cascade. */
static size_t
delete_among_letters(test_db *db, cascade_status status)
{
    static const char *const deletion[] = {"delete", NULL};
    static cost written; /* the engine that a failed test leaves has it */
    scene s;

    written = (cost){0};
    begin_ended(&s, db, status, MANY);
    put_letters(&s, "a", LETTERS);
    put_messages(&s, deletion);
    put_letters(&s, "b", FEW);
    s.wrap->context = &written;
    s.wrap->before = count_writes;
    start_engine(&s);
    assert_true(stores_until(has_gone, &s));
    db_close_engine(db, s.engine);
    s.engine = NULL;
    end(&s);
    return written.inserts;
}

static void
a_deletion_goes_in_front_of_letters(test_db *db)
{
    assert_int_equal(delete_among_letters(db, CASCADE_ERROR), 0);
    /* read whole, to be known */
    assert_int_equal(delete_among_letters(db, CASCADE_COMPLETED),
                     CASCADE_LOAD_MESSAGES_MAX);
}

static void
read_continued(test_db *db, bool late)
{
    static reader whole; /* the engine that a failed test leaves has it */
    scene s;

    begin_over(&s, db, CASCADE_COMPLETED, MANY, true);
    park_as(&s, s.next, FEW, 0);
    put_letters(&s, "a", LETTERS);
    whole.store = s.store;
    whole.wrap = s.wrap;
    whole.id = s.id;
    atomic_store(&whole.count, 0);
    atomic_store(&whole.waits, late);
    s.wrap->context = &whole;
    s.wrap->before = count_whole;
    s.wrap->after = answer_late;
    start_engine(&s);
    assert_true(stores_until(is_all_received, &s));
    assert_int_equal(atomic_load(&whole.count), 1);
    assert_false(atomic_load(&whole.waits));
    s.id = s.next;
    check_new(&s, FEW + LETTERS - 1, "cascade.signal:go",
              CASCADE_EXECUTION_COMPLETED, NULL);
    end(&s);
}

static void
what_continued_is_read_once_for_many_letters(test_db *db)
{
    read_continued(db, false);
}

static void
what_continued_is_read_once_though_claimed_before_the_answer(test_db *db)
{
    read_continued(db, true);
}

/* Nobody claims anything else until such a one has shown what it does. */
static void
a_suspect_is_ended_unread(test_db *db)
{
    static const char *const termination[] = {"terminate", NULL};
    scene s;

    begin(&s, db);
    park(&s, FEW, 4);
    put_messages(&s, termination);
    start_engine(&s);
    db_await(s.store, &s.id, CASCADE_ERROR);
    assert_int_equal(db_stats(s.engine).hydrations, 0);
    park(&s, FEW, 4);
    put_messages(&s, termination);
    db_await(s.store, &s.id, CASCADE_ERROR);
    end(&s);
}

/* ---- What is recorded --------------------------------------------------- */

typedef struct course {
    play p;
    size_t others; /* that wait from before */
    cascade_uuid middle;
} course;

static cascade_err
wait_for_ever(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "never", -1, NULL);
}

/* A child of each kind, one step, and a wait. */
static cascade_err
have_children(cascade_node *node, void *user)
{
    static const cascade_child_end ends[] = {
        CASCADE_CHILD_CANCEL, CASCADE_CHILD_ABANDON, CASCADE_CHILD_TERMINATE};
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < 3 && err == CASCADE_OK; i++) {
        cascade_child_options options = {.size = sizeof(options),
                                         .when_parent_ends = ends[i]};
        cascade_uuid id;

        err =
            cascade_node_start_child(node, "low", "waits", NULL, &options, &id);
    }
    return err == CASCADE_OK ? wait_for_ever(node, user) : err;
}

static cascade_err
have_a_family(cascade_node *node, void *user)
{
    cascade_uuid middle;
    cascade_err err =
        cascade_node_start_child(node, "middle", "middle", NULL, NULL, &middle);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &middle, NULL);
    return err == CASCADE_ERR_FAILED ? CASCADE_OK : err;
}

/* The text without its ids. */
static void
add_masked(csc_buf *out, const char *text)
{
    while (text != NULL && *text != '\0') {
        size_t len = strspn(text, "0123456789abcdef-");

        if (len == CASCADE_UUID_TEXT_SIZE - 1) {
            csc_buf_add_text(out, "ID");
            text += len;
        } else {
            csc_buf_add_char(out, *text++);
        }
    }
    csc_buf_add_char(out, '\n');
}

static void
add_picture(csc_buf *out, const play *p, const cascade_uuid *id)
{
    dump_rows rows = {.found = false};

    assert_ok(dump_rows_load(&rows, p->store->driver, p->store->self, id));
    assert_true(rows.found);
    csc_buf_add_format(out, "%d %d %zu\n", (int)rows.cascade.status,
                       rows.cascade.fn_id, rows.message_count);
    for (size_t i = 0; i < rows.execution_count; i++) {
        const cascade_execution_row *row = &rows.executions[i];

        csc_buf_add_format(out, "%d %d %d %s %s ", row->function_id,
                           (int)row->status,
                           row->completed_at_ms != CASCADE_TIME_NONE,
                           row->node_name, row->location);
        add_masked(out, row->node_instance_id);
        add_masked(out, row->input);
        add_masked(out, row->full_output);
        add_masked(out, row->error);
    }
    dump_rows_fini(&rows);
}

static size_t
count_cascades(cascade_store *store, const char *node, cascade_status status)
{
    const cascade_list_options options = {
        .size = sizeof(options), .node = node, .status = status};
    cascade_page *page = NULL;
    size_t count = 0;

    assert_ok(cascade_list(store, &options, &page));
    count = cascade_page_count(page);
    cascade_page_free(page);
    return count;
}

/* The middle one, and its children. */
static bool
are_waiting(void *context)
{
    const course *c = context;

    return count_cascades(c->p.store, "cascade.await:never", CASCADE_RUNNING) ==
           c->others + 4;
}

/* Two of the children have ended. */
static bool
are_told(void *context)
{
    const course *c = context;

    return count_cascades(c->p.store, "cascade.await:never", CASCADE_RUNNING) ==
           c->others + 1;
}

/* The middle one has received that. */
static bool
is_quiet(void *context)
{
    const course *c = context;
    dump_rows rows = {.found = false};
    bool none = false;

    assert_ok(dump_rows_load(&rows, c->p.store->driver, c->p.store->self,
                             &c->middle));
    none = rows.message_count == 0;
    dump_rows_fini(&rows);
    return none;
}

/* Terminates the middle one of three generations: what is there then. */
static char *
end_in_the_midst(test_db *db, int64_t park_after_ms)
{
    static const cascade_request_options why = {
        .size = sizeof(why), .request_id = "why", .reason = "no longer"};
    course c = {.p = {.nodes = {{"top", have_a_family},
                                {"middle", have_children},
                                {"waits", wait_for_ever}},
                      .park_after_ms = park_after_ms}};
    csc_buf text = {0};
    uint64_t before = 0;

    c.p.user = &c;
    play_open(&c.p, db, CASCADE_MODE_THREADS);
    c.others =
        count_cascades(c.p.store, "cascade.await:never", CASCADE_RUNNING);
    c.p.id = db_start(c.p.store, "top");
    play_on(&c.p, are_waiting, &c);
    if (park_after_ms == 1)
        play_until_parked(&c.p);
    else
        assert_true(db_stats(c.p.engine).held > 0);
    c.middle = play_find(&c.p, "middle", CASCADE_RUNNING);
    before = db_stats(c.p.engine).hydrations;
    assert_ok(cascade_terminate(c.p.store, &c.middle, &why));
    play_await(&c.p, &c.middle, CASCADE_ERROR);
    play_await(&c.p, &c.p.id, CASCADE_COMPLETED);
    play_on(&c.p, are_told, &c);
    play_on(&c.p, is_quiet, &c);
    if (park_after_ms == 1) /* the one above, and what is cancelled */
        assert_int_equal(db_stats(c.p.engine).hydrations, before + 2);
    add_picture(&text, &c.p, &c.middle);
    add_picture(&text, &c.p, &c.p.id);
    play_end(&c.p);
    assert_false(text.failed);
    return text.data;
}

static void
what_is_recorded_is_that_of_one_that_is_held(test_db *db)
{
    char *held = end_in_the_midst(db, HOUR_MS);
    char *parked = NULL;

    parked = end_in_the_midst(db, 1);
    if (strcmp(held, parked) != 0) {
        dump_differ("held and parked", held, parked);
        fail();
    }
    csc_mem_free(held);
    csc_mem_free(parked);
}

/* ---- Among other messages ----------------------------------------------- */

/* It ends the wait. */
static void
what_comes_before_is_received_first(test_db *db)
{
    static const char *const kinds[] = {"signal", "terminate", NULL};
    scene s;

    begin(&s, db);
    park(&s, FEW, 0);
    put_messages(&s, kinds);
    start_engine(&s);
    db_await(s.store, &s.id, CASCADE_ERROR);
    check_new(&s, 1, "cascade.await:go", CASCADE_EXECUTION_COMPLETED, NULL);
    check_new(&s, FEW, "cascade.signal:go", CASCADE_EXECUTION_COMPLETED, NULL);
    check_new(&s, FEW + 1, "cascade.terminate", CASCADE_EXECUTION_FAILED,
              "terminated");
    end(&s);
}

static void
what_comes_behind_is_undelivered(test_db *db)
{
    static const char *const kinds[] = {"terminate", "signal", "terminate",
                                        NULL};
    scene s;

    begin(&s, db);
    park(&s, FEW, 0);
    put_messages(&s, kinds);
    start_engine(&s);
    assert_true(stores_until(has_no_messages, &s));
    check_new(&s, FEW, "cascade.terminate", CASCADE_EXECUTION_FAILED,
              "terminated");
    check_new(&s, FEW + 1, "cascade.signal:go", CASCADE_EXECUTION_FAILED,
              undelivered);
    check_new(&s, FEW + 2, "cascade.terminate", CASCADE_EXECUTION_FAILED,
              undelivered);
    assert_int_equal(db_stats(s.engine).hydrations, 0);
    end(&s);
}

/* A signal with the deletion goes with the cascade. */
static void
a_deletion_takes_the_rest_with_it(test_db *db)
{
    static const char *const kinds[] = {"delete", "signal", NULL};
    scene s;

    begin(&s, db);
    park(&s, FEW, 0);
    put_messages(&s, kinds);
    start_engine(&s);
    assert_true(stores_until(has_gone, &s));
    end(&s);
}

/* ---- Failures ----------------------------------------------------------- */

/* It is loaded whole, and the message is still there: the store may have
 * refused for a row that was not read. */
static void
a_refused_end_is_tried_whole(test_db *db)
{
    static const char *const kinds[] = {"terminate", NULL};
    scene s;

    begin(&s, db);
    park(&s, FEW, 0);
    put_messages(&s, kinds);
    wrap_store_fail(s.wrap, WRAP_COMMIT, 0, 1, WRAP_BEFORE,
                    CASCADE_ERR_REFUSED);
    start_engine(&s);
    db_await(s.store, &s.id, CASCADE_ERROR);
    assert_int_equal(db_stats(s.engine).refusals, 1);
    assert_int_equal(db_stats(s.engine).hydrations, 1);
    check_new(&s, FEW, "cascade.terminate", CASCADE_EXECUTION_FAILED,
              "terminated");
    end(&s);
}

/* Of the messages, or of the family. */
static void
a_failed_look_is_made_up_for(test_db *db)
{
    static const char *const kinds[] = {"terminate", NULL};

    for (size_t passed = 0; passed < 2; passed++) {
        scene s;

        begin(&s, db);
        park(&s, FEW, 0);
        put_messages(&s, kinds);
        wrap_store_fail(s.wrap, WRAP_LOAD, passed, 1, WRAP_AFTER,
                        CASCADE_ERR_UNAVAILABLE);
        start_engine(&s);
        db_await(s.store, &s.id, CASCADE_ERROR);
        assert_int_equal(atomic_load(&s.wrap->faults), 1);
        check_new(&s, FEW, "cascade.terminate", CASCADE_EXECUTION_FAILED,
                  "terminated");
        end(&s);
    }
}

int
main(int argc, char **argv)
{
#define ONE(name)               \
    {                           \
#name, name, STORES_ALL \
    }
    static const stores_test tests[] = {
        ONE(what_is_parked_is_terminated_unread),
        ONE(what_is_parked_is_deleted_unread),
        ONE(who_is_alone_terminates_unread),
        ONE(who_is_alone_deletes_unread),
        ONE(what_failed_is_deleted_unread),
        ONE(what_completed_is_deleted),
        ONE(what_is_as_it_was_when_asked_is_deleted_unread),
        ONE(what_failed_receives_unread),
        ONE(what_completed_is_told_of_children_unread),
        ONE(what_completed_is_read_once_for_many_letters),
        ONE(a_deletion_goes_in_front_of_letters),
        ONE(what_continued_is_read_once_for_many_letters),
        ONE(what_continued_is_read_once_though_claimed_before_the_answer),
        ONE(a_suspect_is_ended_unread),
        ONE(what_is_recorded_is_that_of_one_that_is_held),
        ONE(what_comes_before_is_received_first),
        ONE(what_comes_behind_is_undelivered),
        ONE(a_deletion_takes_the_rest_with_it),
        ONE(a_refused_end_is_tried_whole),
        ONE(a_failed_look_is_made_up_for),
    };

    return stores_run("dismiss", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
