/* SPDX-License-Identifier: MIT
 *
 * A message that crosses what its receiver does just then: it is sent by
 * another handle before and after each call that an engine makes of its store,
 * in turn, from its attachment over the first node, the parking of the cascade
 * and its claim to its end. Wherever it comes, it is received once, by the next
 * poll, and the cascade comes to the end that it asks for (G9). A signal to one
 * that waits for a time only either comes in time or does not: whichever it is,
 * that is recorded, and the same at every later entry.
 *
 * The engine is INLINE, so that its calls are the same in every play and the
 * sender stands exactly between two of them. Where the clock can be injected,
 * time stands but for the engine's own pauses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/store.h"
#include "support/dump.h"
#include "support/stores.h"

#define POLL_MS 1000
#define REAL_POLL_MS 150 /* where the test waits for it */
#define PARK_MS 20
#define IDLE_MS 2500 /* so long nothing is sent, when nothing was */
#define TIMEOUT_MS 30
#define PASSES 5
#define TIMED_OUT (-1)

typedef enum kind {
    SIGNAL,
    CANCEL,
    TERMINATE,
    DELETE,
    TIMED_SIGNAL, /* to a node that waits no longer than TIMEOUT_MS */
    KINDS
} kind;

typedef struct crossing {
    test_db *db;
    wrap_store *wrap;
    cascade_store *store; /* the engine's */
    cascade_store *other; /* the sender's */
    cascade_engine *engine;
    cascade_uuid id;
    kind kind;
    size_t nth; /* the call of the engine at which it is sent */
    bool after; /* when that has had its effect */
    bool counts;
    size_t calls;
    bool sent;
    int64_t sent_ms; /* when, by the injected clock */
    int64_t done_ms; /* when the engine's last commit was made */
    int heard;       /* TIMED_OUT: that, instead */
} crossing;

/* ---- Sending ------------------------------------------------------------ */

static cascade_err
ask(crossing *c)
{
    const cascade_signal_options signal = {.size = sizeof(signal),
                                           .request_id = "crosses"};
    const cascade_request_options request = {.size = sizeof(request),
                                             .request_id = "crosses"};

    switch (c->kind) {
    case SIGNAL:
    case TIMED_SIGNAL:
        return cascade_signal(c->other, &c->id, "news", cJSON_CreateNumber(7),
                              &signal);
    case CANCEL:
        return cascade_cancel(c->other, &c->id, &request);
    case TERMINATE:
        return cascade_terminate(c->other, &c->id, &request);
    case DELETE:
    case KINDS:
        break;
    }
    return cascade_delete(c->other, &c->id, &request);
}

static void
send(crossing *c)
{
    cascade_err err = CASCADE_OK;

    c->counts = false;
    err = ask(c);
    if (err != CASCADE_ERR_ENDED || c->kind != TIMED_SIGNAL)
        assert_ok(err);
    c->sent = true;
    c->sent_ms = atomic_load(&c->db->clock.wall_ms);
    c->counts = true;
}

static cascade_err
before(void *context, const wrap_call *call)
{
    crossing *c = context;

    if (!c->counts || call->move == WRAP_CLOSE)
        return CASCADE_OK;
    if (++c->calls == c->nth && !c->after)
        send(c);
    return CASCADE_OK;
}

static cascade_err
after(void *context, const wrap_call *call, cascade_err answer)
{
    crossing *c = context;

    if (call->move == WRAP_COMMIT)
        c->done_ms = atomic_load(&c->db->clock.wall_ms);
    if (c->counts && call->move != WRAP_CLOSE && c->calls == c->nth &&
        c->after && !c->sent)
        send(c);
    return answer;
}

/* ---- A play ------------------------------------------------------------- */

static cascade_err
hear(cascade_node *node, void *user)
{
    cJSON *payload = NULL;
    cascade_err err = cascade_node_await(node, "news", -1, &payload);

    if (err == CASCADE_OK)
        ((crossing *)user)->heard = (int)cJSON_GetNumberValue(payload);
    cJSON_Delete(payload);
    return err;
}

static cascade_err
act(cascade_node *node, void *arg, cJSON **result)
{
    (void)node;
    (void)arg;
    (void)result;
    return CASCADE_OK;
}

/* Behind the step it is entered again, and meets the same. */
static cascade_err
hear_in_time(cascade_node *node, void *user)
{
    crossing *c = user;
    cascade_err err = cascade_node_await(node, "news", TIMEOUT_MS, NULL);
    int heard = err == CASCADE_OK ? 7 : TIMED_OUT;

    if (err != CASCADE_OK && err != CASCADE_ERR_TIMEOUT)
        return err;
    expect(c->heard == 0 || c->heard == heard);
    c->heard = heard;
    return cascade_node_step(node, "act", act, NULL, NULL, NULL);
}

static int64_t
poll_ms(const test_db *db)
{
    return db->backend->virtual_time ? POLL_MS : REAL_POLL_MS;
}

static void
begin(crossing *c)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .mode = CASCADE_MODE_INLINE,
                                            .poll_interval_ms = poll_ms(c->db),
                                            .park_after_ms = PARK_MS};

    c->db->fake_time = c->db->backend->virtual_time;
    c->other = db_store(c->db);
    c->id = db_start(c->other, "hears");
    c->wrap = wrap_store_create(c->db->url);
    assert_non_null(c->wrap);
    c->wrap->context = c;
    c->wrap->before = before;
    c->wrap->after = after;
    c->store = db_wrapped(c->db, c->wrap);
    c->engine = db_engine(c->db, c->store, &options);
    assert_ok(cascade_engine_register(
        c->engine, "hears", c->kind == TIMED_SIGNAL ? hear_in_time : hear, c,
        NULL));
    c->counts = true;
    assert_ok(cascade_engine_start(c->engine));
}

static void
end(crossing *c)
{
    c->counts = false;
    db_close_engine(c->db, c->engine);
    db_close_store(c->db, c->store);
    db_close_store(c->db, c->other);
    wrap_store_free(c->wrap);
}

static bool
is_over(void *context)
{
    crossing *c = context;
    bool counts = c->counts;
    cascade_status status = CASCADE_RUNNING;
    cascade_err err = CASCADE_OK;

    c->counts = false;
    err = cascade_wait(c->other, &c->id, 0, &status);
    c->counts = counts;
    return err == (c->kind == DELETE ? CASCADE_ERR_NOT_FOUND : CASCADE_OK);
}

static bool
is_sent(void *context)
{
    return ((crossing *)context)->sent;
}

/* ---- What came of it ---------------------------------------------------- */

static size_t
count(const dump_rows *rows, const char *name, cascade_execution_status status)
{
    size_t found = 0;

    for (size_t i = 0; i < rows->execution_count; i++)
        found += strcmp(rows->executions[i].node_name, name) == 0 &&
                 rows->executions[i].status == status;
    return found;
}

static void
check(const crossing *c)
{
    static const char *const receipts[] = {
        "cascade.signal:news", "cascade.cancel", "cascade.terminate"};
    bool signal = c->kind == SIGNAL;
    dump_rows rows = {0};

    assert_ok(dump_rows_load(&rows, c->other->driver, c->other->self, &c->id));
    assert_int_equal(rows.found, c->kind != DELETE);
    if (rows.found) {
        assert_int_equal(rows.message_count, 0);
        assert_int_equal(rows.cascade.status,
                         signal ? CASCADE_COMPLETED : CASCADE_ERROR);
        assert_int_equal(count(&rows, receipts[c->kind],
                               signal ? CASCADE_EXECUTION_COMPLETED
                                      : CASCADE_EXECUTION_FAILED),
                         1);
        assert_int_equal(c->heard, signal ? 7 : 0);
    }
    if (c->db->fake_time)
        if (c->done_ms - c->sent_ms > POLL_MS)
            fail_msg("kind %d %s call %zu is received after %lld ms",
                     (int)c->kind, c->after ? "after" : "before", c->nth,
                     (long long)(c->done_ms - c->sent_ms));
    dump_rows_fini(&rows);
}

/* It has one outcome, and the signal one receipt. */
static void
check_timed(const crossing *c)
{
    dump_rows rows = {0};
    size_t received = 0;

    assert_ok(dump_rows_load(&rows, c->other->driver, c->other->self, &c->id));
    received = count(&rows, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED);
    assert_int_equal(rows.message_count, 0);
    assert_int_equal(rows.cascade.status, CASCADE_COMPLETED);
    assert_int_equal(
        count(&rows, "cascade.await:news", CASCADE_EXECUTION_COMPLETED), 1);
    assert_int_equal(
        count(&rows, "cascade.step:act", CASCADE_EXECUTION_COMPLETED), 1);
    assert_int_equal(received + count(&rows, "cascade.signal:news",
                                      CASCADE_EXECUTION_FAILED),
                     c->sent);
    assert_true(c->heard == TIMED_OUT || (c->heard == 7 && received == 1));
    dump_rows_fini(&rows);
}

static bool
is_received(void *context)
{
    crossing *c = context;
    dump_rows rows = {0};
    bool is = false;

    if (!is_over(c))
        return false;
    c->counts = false;
    assert_ok(dump_rows_load(&rows, c->other->driver, c->other->self, &c->id));
    is = rows.message_count == 0;
    dump_rows_fini(&rows);
    return is;
}

/* What was heard; 0: the engine made fewer calls. */
static int
cross_timeout(test_db *db, size_t nth, bool after_it)
{
    crossing c = {
        .db = db, .kind = TIMED_SIGNAL, .nth = nth, .after = after_it};

    begin(&c);
    assert_true(db_poll_until(db, &c.engine, 1, is_received, &c));
    check_timed(&c);
    end(&c);
    return c.sent ? c.heard : 0;
}

/* False when the engine made fewer calls. */
static bool
cross(test_db *db, kind what, size_t nth, bool after_it)
{
    crossing c = {.db = db, .kind = what, .nth = nth, .after = after_it};
    bool met = false;

    begin(&c);
    met = db_poll_until(db, &c.engine, 1, is_sent, &c) &&
          db_poll_until(db, &c.engine, 1, is_over, &c);
    if (!met)
        fail_msg("kind %d at call %zu is not received", (int)what, nth);
    check(&c);
    end(&c);
    return met;
}

/* ---- How far ------------------------------------------------------------ */

static bool
is_idle(void *context)
{
    crossing *c = context;

    if (!c->db->fake_time)
        return db_stats(c->engine).parked > 0;
    return atomic_load(&c->db->clock.wall_ms) - c->sent_ms > IDLE_MS;
}

/* The calls of an engine that is told nothing: until some polls after it has
 * parked the cascade. */
static size_t
count_calls(test_db *db)
{
    crossing c = {.db = db};
    size_t calls = 0;

    begin(&c);
    c.sent_ms = atomic_load(&db->clock.wall_ms);
    assert_true(db_poll_until(db, &c.engine, 1, is_idle, &c));
    assert_true(db_stats(c.engine).parked > 0);
    calls = c.calls;
    end(&c);
    return calls;
}

static void
cross_everywhere(test_db *db, kind what)
{
    size_t calls = count_calls(db);

    assert_true(calls > 8);
    for (size_t nth = 1; nth <= calls; nth++) {
        (void)cross(db, what, nth, false);
        (void)cross(db, what, nth, true);
    }
}

/* ---- The tests ---------------------------------------------------------- */

static void
a_signal_crosses_every_call(test_db *db)
{
    cross_everywhere(db, SIGNAL);
}

/* Where time cannot stand, a play may have fewer calls than another, and each
 * be soon enough: then once more. */
static void
a_signal_crosses_its_timeout(test_db *db)
{
    size_t in_time = 0;
    size_t late = 0;

    for (int i = 0; in_time == 0 || late == 0; i++) {
        int heard = 1;

        if (i == (db->fake_time ? 1 : PASSES))
            fail_msg("of the last pass %zu were in time, %zu late", in_time,
                     late);
        in_time = 0;
        late = 0;
        for (size_t nth = 1; heard != 0; nth++) {
            heard = cross_timeout(db, nth, false);
            in_time += heard == 7;
            late += heard == TIMED_OUT;
            heard = cross_timeout(db, nth, true);
            in_time += heard == 7;
            late += heard == TIMED_OUT;
        }
    }
}

static void
a_cancellation_crosses_every_call(test_db *db)
{
    cross_everywhere(db, CANCEL);
}

static void
a_termination_crosses_every_call(test_db *db)
{
    cross_everywhere(db, TERMINATE);
}

static void
a_deletion_crosses_every_call(test_db *db)
{
    cross_everywhere(db, DELETE);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_signal_crosses_every_call", a_signal_crosses_every_call,
         STORES_ALL},
        {"a_signal_crosses_its_timeout", a_signal_crosses_its_timeout,
         STORES_ALL},
        {"a_cancellation_crosses_every_call", a_cancellation_crosses_every_call,
         STORES_VIRTUAL},
        {"a_termination_crosses_every_call", a_termination_crosses_every_call,
         STORES_VIRTUAL},
        {"a_deletion_crosses_every_call", a_deletion_crosses_every_call,
         STORES_VIRTUAL},
    };

    return stores_run("messages_anywhere", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
