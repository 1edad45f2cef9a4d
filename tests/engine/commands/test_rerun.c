/* SPDX-License-Identifier: MIT
 *
 * Rerun: a cascade is put back to where it was before a function_id, and runs
 * again from there, whatever it had become since.
 */
#include <stdio.h>
#include <string.h>

#include "engine/support/again.h"
#include "held/engine_state.h"

#define LINE_DONE "{\"steps\":[1,2,3]}"
#define HOUR_MS (INT64_C(3600) * 1000)
#define GRAPH_DONE "{\"seen\":[\"left\",\"right\"]}"

static void
check_steps(const again *a, int first, int second, int third)
{
    assert_int_equal(a->steps[0], first);
    assert_int_equal(a->steps[1], second);
    assert_int_equal(a->steps[2], third);
}

/* ---- What has ended ----------------------------------------------------- */

static void
a_line_runs_again_from_its_beginning(test_db *db, cascade_mode mode)
{
    again a = {.mended = true};
    play p = {.nodes = {{"line", again_line}}, .user = &a};

    play_run(&p, db, mode, "line", NULL, CASCADE_COMPLETED);
    assert_ok(again_rerun(&p, 0, "one"));
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    check_steps(&a, 2, 2, 2);
    for (int32_t i = 0; i < 4; i++)
        assert_int_equal(again_superseded(&p, i), 4);
    play_end(&p);
}

static void
a_line_runs_again_from_one_of_its_steps(test_db *db, cascade_mode mode)
{
    again a = {.mended = true};
    play p = {.nodes = {{"line", again_line}}, .user = &a};

    play_run(&p, db, mode, "line", NULL, CASCADE_COMPLETED);
    assert_ok(again_rerun(&p, 2, "one"));
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    check_steps(&a, 1, 2, 2);
    assert_int_equal(again_superseded(&p, 0), 4);
    assert_int_equal(again_superseded(&p, 1), -1);
    assert_int_equal(again_superseded(&p, 2), 4);
    play_end(&p);
}

/* Of two siblings, born in one commit, whichever is named both run again. */
static void
a_graph_runs_again_from_each_of_its_nodes(test_db *db, cascade_mode mode)
{
    for (int32_t from = 0; from < 4; from++) {
        again a = {.mended = true};
        play p = {.nodes = {AGAIN_GRAPH}, .user = &a};

        play_run(&p, db, mode, "fork", NULL, CASCADE_COMPLETED);
        assert_ok(again_rerun(&p, from, "one"));
        again_check(&p, CASCADE_COMPLETED, GRAPH_DONE, "3");
        assert_int_equal(a.steps[0], 2);
        assert_int_equal(a.steps[1], 2);
        assert_int_equal(a.joined, 2);
        assert_int_equal(play_count(&p, "fork", CASCADE_EXECUTION_COMPLETED),
                         from == 0 ? 2 : 1);
        play_end(&p);
    }
}

/* One behind the other: a rerun of what a rerun made, another engine between
 * them, and then of what was before both. */
static void
it_is_run_again_and_again(test_db *db, cascade_mode mode)
{
    again a = {.mended = true};
    play p = {.nodes = {{"line", again_line}}, .user = &a};

    play_run(&p, db, mode, "line", NULL, CASCADE_COMPLETED);
    assert_ok(again_rerun(&p, 2, "one")); /* 4; 5 line, 6 and 7 steps */
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    again_hand_over(&p);
    assert_ok(again_rerun(&p, 7, "two")); /* 8; 9 line, 10 step */
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    check_steps(&a, 1, 2, 3);
    assert_int_equal(again_superseded(&p, 5), 8);
    assert_int_equal(again_superseded(&p, 6), -1);
    again_hand_over(&p);
    assert_ok(again_rerun(&p, 1, "three")); /* both are void then */
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    check_steps(&a, 2, 3, 4);
    assert_int_equal(again_superseded(&p, 0), 11);
    for (int32_t i = 1; i < 11; i++)
        assert_int_equal(again_superseded(&p, i), 11);
    play_end(&p);
}

/* The place of an earlier rerun is one as any other. */
static void
it_is_run_again_from_an_earlier_rerun(test_db *db, cascade_mode mode)
{
    again a = {.mended = true};
    play p = {.nodes = {{"line", again_line}}, .user = &a};

    play_run(&p, db, mode, "line", NULL, CASCADE_COMPLETED);
    assert_ok(again_rerun(&p, 1, "one"));
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    /* Just before the rerun the cascade had completed. */
    if (mode == CASCADE_MODE_THREADS)
        assert_fails(CASCADE_ERR_INVALID, again_rerun(&p, 4, "two"));
    else
        assert_ok(again_rerun(&p, 4, "two"));
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    check_steps(&a, 2, 2, 2);
    play_end(&p);
}

static void
what_has_failed_runs_again_too(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {AGAIN_GRAPH}, .user = &a};

    play_run(&p, db, mode, "fork", NULL, CASCADE_ERROR);
    atomic_store(&a.mended, true);
    assert_ok(again_rerun(&p, 1, "one"));
    again_check(&p, CASCADE_COMPLETED, GRAPH_DONE, "3");
    assert_int_equal(a.joined, 1);
    play_end(&p);
}

/* ---- Signals ------------------------------------------------------------ */

static cascade_err
await_two(cascade_node *node, void *user)
{
    cJSON *first = NULL;
    cJSON *second = NULL;
    cascade_err err = cascade_node_await(node, "go", -1, &first);
    int sum = 0;

    atomic_fetch_add(&again_of(user)->entered, 1);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "go", -1, &second);
    if (err == CASCADE_OK)
        sum = 10 * play_read_number(first) + play_read_number(second);
    cJSON_Delete(first);
    cJSON_Delete(second);
    return err == CASCADE_OK
               ? cascade_node_output(node, cJSON_CreateNumber(sum))
               : err;
}

static void
send_two(play *p)
{
    play_until(p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p->store, &p->id, "go", play_number(4), NULL));
    play_until(p, "cascade.await:go", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_signal(p->store, &p->id, "go", play_number(2), NULL));
}

static int
signals_from(const play *p, int32_t from)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    int found = 0;

    for (size_t i = (size_t)from; i < count; i++)
        found += strcmp(play_execution(snapshot, i)->node_name,
                        "cascade.signal:go") == 0;
    cascade_snapshot_free(snapshot);
    return found;
}

/* Wherever it begins again, no signal is lost, and none comes twice: the node,
 * two awaits and two signals. */
/* Its sender was told so. */
static void
what_was_undelivered_stays_so(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", await_two}}, .user = &a};

    play_begin(&p, db, mode, "waits");
    send_two(&p);
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    assert_fails(CASCADE_ERR_ENDED,
                 cascade_signal(p.store, &p.id, "late", NULL, NULL));
    play_until(&p, "cascade.signal:late", CASCADE_EXECUTION_FAILED, 1);
    assert_ok(again_rerun(&p, 0, "one"));
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    assert_int_equal(
        play_count(&p, "cascade.signal:late", CASCADE_EXECUTION_COMPLETED), 0);
    play_end(&p);
}

static void
signals_are_received_once_more(test_db *db, cascade_mode mode)
{
    for (int32_t from = 0; from < 5; from++) {
        again a = {0};
        play p = {.nodes = {{"waits", await_two}}, .user = &a};
        int count = 0;

        play_begin(&p, db, mode, "waits");
        send_two(&p);
        again_check(&p, CASCADE_COMPLETED, "{}", "42");
        count = signals_from(&p, 0) + signals_from(&p, from);
        assert_ok(again_rerun(&p, from, "one"));
        again_check(&p, CASCADE_COMPLETED, "{}", "42");
        assert_int_equal(signals_from(&p, 0), count);
        play_end(&p);
    }
}

/* Just before the first rerun its signals had been received: those that it
 * received once more go with it. */
static void
no_signal_comes_twice_from_an_earlier_rerun(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", await_two}}, .user = &a};
    int32_t first = -1;

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(4), NULL));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_COMPLETED, 1);
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(again_rerun(&p, 0, "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_COMPLETED, 2);
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    first = again_find(&p, "cascade.rerun");
    assert_ok(again_rerun(&p, first, "two"));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(2), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    play_end(&p);
}

/* ---- Updates and published values --------------------------------------- */

/* Takes one update, answers it by how often it was asked, and publishes
 * that. */
static cascade_err
serve(cascade_node *node, void *user)
{
    const char *ticket = NULL;
    cascade_err err = cascade_node_await_update(node, "ask", -1, NULL, &ticket);
    int nth = 0;

    if (err == CASCADE_OK)
        nth = atomic_fetch_add(&again_of(user)->entered, 1) + 1;
    if (err == CASCADE_OK)
        err = cascade_node_answer(node, ticket, cJSON_CreateNumber(nth));
    if (err == CASCADE_OK)
        err = cascade_node_publish(node, "asked", cJSON_CreateNumber(nth));
    return err;
}

static int
published(const play *p)
{
    cJSON *value = NULL;
    int number = 0;

    if (cascade_get_published(p->store, &p->id, "asked", &value) != CASCADE_OK)
        return -1;
    number = value->valueint;
    cJSON_Delete(value);
    return number;
}

/* The request comes once more; whoever asked was told, and is told the same.
 * What was published counts no more until it is published again. */
static void
updates_are_taken_once_more(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"serves", serve}}, .worker_count = 1, .user = &a};
    cascade_update_options options = {
        .size = sizeof(options), .request_id = "one", .timeout_ms = DB_WAIT_MS};
    cJSON *answer = NULL;
    int first = 0;

    play_begin(&p, db, CASCADE_MODE_THREADS, "serves");
    assert_ok(cascade_update(p.store, &p.id, "ask", NULL, &options, &answer));
    first = answer->valueint;
    cJSON_Delete(answer);
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_true(published(&p) >= first);
    assert_ok(again_rerun(&p, 0, "two"));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_true(published(&p) > first);
    assert_ok(cascade_update(p.store, &p.id, "ask", NULL, &options, &answer));
    assert_int_equal(answer->valueint, first);
    cJSON_Delete(answer);
    play_end(&p);
}

static void
what_was_published_counts_no_more(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"serves", serve}}, .user = &a};
    cascade_update_options options = {.size = sizeof(options),
                                      .timeout_ms = DB_WAIT_MS};

    play_begin(&p, db, CASCADE_MODE_THREADS, "serves");
    assert_ok(cascade_update(p.store, &p.id, "ask", NULL, &options, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    assert_true(published(&p) > 0);
    db_close_engine(db, p.engine);
    assert_ok(cascade_rerun(
        p.store, &p.id,
        &(cascade_rerun_options){.size = sizeof(cascade_rerun_options),
                                 .wait_ms = DB_WAIT_MS}));
    assert_int_equal(published(&p), -1);
    db_close_store(db, p.store);
}

/* ---- What runs ---------------------------------------------------------- */

static bool
is_told(void *node)
{
    return cascade_node_is_cancelled(node);
}

static cascade_err
run_until_told(cascade_node *node, void *user)
{
    again *a = again_of(user);

    if (atomic_fetch_add(&a->entered, 1) > 0)
        return cascade_node_output(node, cJSON_CreateString("again"));
    expect(stores_until(is_told, node));
    expect(atomic_load(&a->entered) == 1); /* nothing begins meanwhile */
    atomic_fetch_add(&a->told, 1);
    return cascade_node_output(node, cJSON_CreateString("late"));
}

static bool
has_entered(void *context)
{
    return atomic_load(&((again *)context)->entered) > 0;
}

static void
functions_that_run_are_told_and_awaited(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"runs", run_until_told}}, .user = &a};

    play_begin(&p, db, CASCADE_MODE_THREADS, "runs");
    assert_true(stores_until(has_entered, &a));
    assert_ok(again_rerun(&p, 0, "one"));
    again_check(&p, CASCADE_COMPLETED, "{}", "\"again\"");
    assert_int_equal(a.told, 1);
    assert_int_equal(a.entered, 2);
    play_end(&p);
}

/* What waits begins its wait anew. */
static void
what_waits_runs_again(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", await_two}}, .user = &a};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(again_rerun(&p, 1, "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_int_equal(
        play_count(&p, "cascade.await:go", CASCADE_EXECUTION_FAILED), 1);
    again_hand_over(&p);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(4), NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(2), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    play_end(&p);
}

/* Just before the first rerun it waited: what that one closed had not ended. */
static void
what_waited_runs_again_from_a_rerun(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", await_two}}, .user = &a};
    int32_t first = -1;

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(again_rerun(&p, 1, "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    first = again_find(&p, "cascade.rerun");
    assert_ok(again_rerun(&p, first, "two"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_int_equal(again_superseded(&p, first),
                     again_find(&p, "cascade.rerun"));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(4), NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(2), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    play_end(&p);
}

/* A pause that was asked for since is not in force any more. */
static void
a_pause_is_undone(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", await_two}}, .user = &a};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_pause(p.store, &p.id, NULL));
    play_until(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(4), NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(2), NULL));
    assert_ok(again_rerun(&p, 1, "one"));
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    play_end(&p);
}

/* ---- What the engine learns late ---------------------------------------- */

/* The store has recorded an await, and the engine is told so only when it has
 * looked for messages since one was sent. */
typedef struct lateness {
    wrap_store *wrap;
    cascade_engine *engine;
    atomic_bool sent;
    atomic_bool looks;
    atomic_bool told;
    uint64_t receives; /* looks before that one */
} lateness;

static uint64_t
count_looks(const lateness *l)
{
    uint64_t looks = 0;

    pthread_mutex_lock(&l->engine->mutex);
    looks = l->engine->mailbox.receives;
    pthread_mutex_unlock(&l->engine->mutex);
    return looks;
}

static bool
has_looked(void *context)
{
    const lateness *l = context;

    return atomic_load(&l->looks) && count_looks(l) > l->receives;
}

static cascade_err
note_look(void *context, const wrap_call *call)
{
    lateness *l = context;

    if (call->move != WRAP_RECEIVE || !atomic_load(&l->sent) ||
        atomic_load(&l->looks))
        return CASCADE_OK;
    l->receives = count_looks(l);
    atomic_store(&l->looks, true);
    return CASCADE_OK;
}

static bool
begins_await(const cascade_batch *batch)
{
    for (size_t i = 0; i < batch->change_count; i++)
        for (size_t k = 0; k < batch->changes[i].insert_count; k++)
            if (strcmp(batch->changes[i].inserts[k].node_name,
                       "cascade.await:go") == 0)
                return true;
    return false;
}

static cascade_err
tell_late(void *context, const wrap_call *call, cascade_err answer)
{
    lateness *l = context;

    if (call->move == WRAP_COMMIT && begins_await(call->batch) &&
        !atomic_exchange(&l->told, true))
        expect(stores_until(has_looked, l));
    return answer;
}

static void
open_late(lateness *l, play *p, test_db *db)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 2,
                                            .lease_ms = HOUR_MS,
                                            .poll_interval_ms = 20};

    p->db = db;
    p->mode = CASCADE_MODE_THREADS;
    p->store = db_store(db);
    l->wrap = wrap_store_create(db->url);
    assert_non_null(l->wrap);
    l->wrap->context = l;
    l->wrap->before = note_look;
    l->wrap->after = tell_late;
    l->engine = db_engine(db, db_wrapped(db, l->wrap), &options);
    assert_ok(cascade_engine_register(l->engine, "waits", await_two, p, NULL));
    assert_ok(cascade_engine_start(l->engine));
}

/* Whoever asks for it has seen the row. */
static void
what_the_engine_learns_late_is_no_reason_to_refuse(test_db *db)
{
    static lateness l; /* until the handles are closed, also after a failure */
    static again a;
    static play p;
    const cascade_rerun_options once = {
        .size = sizeof(once), .request_id = "one", .from = 1};
    cascade_store *wrapped = NULL;

    memset(&l, 0, sizeof(l));
    memset(&a, 0, sizeof(a));
    p = (play){.user = &a};
    open_late(&l, &p, db);
    wrapped = db->stores[db->store_count - 1];
    p.id = db_start(p.store, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_rerun(p.store, &p.id, &once));
    atomic_store(&l.sent, true);
    assert_ok(again_rerun(&p, 1, "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(4), NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(2), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    db_close_engine(db, l.engine);
    db_close_store(db, wrapped);
    wrap_store_free(l.wrap);
    db_close_store(db, p.store);
}

/* ---- Cancelled ---------------------------------------------------------- */

/* From the cancellation on: it has not been asked for. */
static void
a_cancellation_is_lifted(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"waits", await_two}}, .user = &a};

    play_begin(&p, db, mode, "waits");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_ok(again_rerun(&p, again_find(&p, "cascade.cancel"), "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(4), NULL));
    assert_ok(cascade_signal(p.store, &p.id, "go", play_number(2), NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "42");
    play_end(&p);
}

static cascade_err
put_off(cascade_node *node, void *user)
{
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = HOUR_MS};

    (void)user;
    expect(cascade_node_spawn(node, "waits", NULL, NULL) == CASCADE_OK);
    return cascade_node_spawn(node, "left", NULL, &later);
}

/* The last execution of that name. */
static int64_t
not_before(const play *p, const char *node)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    int64_t at_ms =
        play_execution(snapshot, (size_t)again_find(p, node))->not_before_ms;

    cascade_snapshot_free(snapshot);
    return at_ms;
}

/* What had not begun was cancelled in the very commit of the cancellation. */
static void
what_was_put_off_is_put_off_again(test_db *db, cascade_mode mode)
{
    again a = {0};
    play p = {.nodes = {{"begins", put_off},
                        {"waits", await_two},
                        {"left", again_left}},
              .user = &a};
    int64_t at_ms = 0;

    play_begin(&p, db, mode, "begins");
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    at_ms = not_before(&p, "left");
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_ok(again_rerun(&p, again_find(&p, "cascade.cancel"), "one"));
    play_until(&p, "cascade.await:go", CASCADE_EXECUTION_RUNNING, 1);
    assert_int_equal(play_count(&p, "left", CASCADE_EXECUTION_RUNNING), 1);
    assert_int_equal(not_before(&p, "left"), at_ms);
    assert_ok(cascade_terminate(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    assert_int_equal(a.steps[0], 0);
    play_end(&p);
}

/* ---- Children ----------------------------------------------------------- */

static cascade_err
with_children(cascade_node *node, void *user)
{
    cascade_uuid ids[2];
    cascade_err err =
        cascade_node_start_child(node, "early", "child", NULL, NULL, &ids[0]);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "rest", 1);
    if (err == CASCADE_OK)
        err = cascade_node_start_child(node, "later", "child", NULL, NULL,
                                       &ids[1]);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = cascade_node_await_child(node, &ids[i], NULL);
    return err == CASCADE_OK
               ? cascade_node_output(node, cJSON_CreateString("gathered"))
               : err;
}

static cascade_err
be_a_child(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "end", -1, NULL);
}

/* The id of a child by its part, the last of that name. */
static cascade_uuid
child_id(const play *p, const char *part)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    int32_t at = again_find(p, part);
    cJSON *record = NULL;
    cascade_uuid id;

    assert_true(at >= 0);
    record = cJSON_Parse(play_execution(snapshot, (size_t)at)->full_output);
    assert_ok(cascade_uuid_parse(
        cJSON_GetStringValue(cJSON_GetObjectItem(record, "child")), &id));
    cJSON_Delete(record);
    cascade_snapshot_free(snapshot);
    return id;
}

static void
children_started_since_are_terminated(test_db *db)
{
    again a = {0};
    play p = {.nodes = {{"parent", with_children}, {"child", be_a_child}},
              .user = &a};
    cascade_uuid early;
    cascade_uuid later;

    play_begin(&p, db, CASCADE_MODE_THREADS, "parent");
    play_until(&p, "cascade.child:later", CASCADE_EXECUTION_RUNNING, 1);
    early = child_id(&p, "cascade.child:early");
    later = child_id(&p, "cascade.child:later");
    assert_ok(again_rerun(&p, again_find(&p, "cascade.sleep:rest"), "one"));
    db_await(p.store, &later, CASCADE_ERROR);
    play_until(&p, "cascade.child:later", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_signal(p.store, &early, "end", NULL, NULL));
    db_await(p.store, &early, CASCADE_COMPLETED);
    later = child_id(&p, "cascade.child:later");
    assert_ok(cascade_signal(p.store, &later, "end", NULL, NULL));
    again_check(&p, CASCADE_COMPLETED, "{}", "\"gathered\"");
    assert_int_equal(again_superseded(&p, 1), -1);
    play_end(&p);
}

/* ---- What is refused ---------------------------------------------------- */

static void
what_is_not_there_or_superseded_is_refused(test_db *db)
{
    again a = {.mended = true};
    play p = {.nodes = {{"line", again_line}}, .user = &a};
    cascade_rerun_options none = {.size = sizeof(none)};
    cascade_uuid unknown = {{1}};

    play_run(&p, db, CASCADE_MODE_THREADS, "line", NULL, CASCADE_COMPLETED);
    assert_fails(CASCADE_ERR_INVALID, again_rerun(&p, 4, "one"));
    assert_fails(CASCADE_ERR_INVALID, again_rerun(&p, -1, "one"));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_rerun(p.store, &unknown, &none));
    assert_fails(CASCADE_ERR_INVALID, cascade_rerun(NULL, &unknown, &none));
    assert_ok(again_rerun(&p, 2, "two"));
    assert_ok(again_rerun(&p, 2, "two")); /* the same request */
    again_check(&p, CASCADE_COMPLETED, LINE_DONE, "[1,2,3]");
    assert_fails(CASCADE_ERR_INVALID, again_rerun(&p, 2, "three"));
    assert_fails(CASCADE_ERR_INVALID, again_rerun(&p, 0, "four"));
    assert_int_equal(again_find(&p, "cascade.rerun"), 4);
    check_steps(&a, 1, 2, 2);
    play_end(&p);
}

PLAY_MODES(a_line_runs_again_from_its_beginning)
PLAY_MODES(a_line_runs_again_from_one_of_its_steps)
PLAY_MODES(a_graph_runs_again_from_each_of_its_nodes)
PLAY_MODES(it_is_run_again_and_again)
PLAY_MODES(it_is_run_again_from_an_earlier_rerun)
PLAY_MODES(what_has_failed_runs_again_too)
PLAY_MODES(signals_are_received_once_more)
PLAY_MODES(what_was_undelivered_stays_so)
PLAY_MODES(no_signal_comes_twice_from_an_earlier_rerun)
PLAY_MODES(what_waits_runs_again)
PLAY_MODES(what_waited_runs_again_from_a_rerun)
PLAY_MODES(a_pause_is_undone)
PLAY_MODES(a_cancellation_is_lifted)
PLAY_MODES(what_was_put_off_is_put_off_again)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(a_line_runs_again_from_its_beginning),
        PLAY_TESTS(a_line_runs_again_from_one_of_its_steps),
        PLAY_TESTS(a_graph_runs_again_from_each_of_its_nodes),
        PLAY_TESTS(it_is_run_again_and_again),
        PLAY_TESTS(it_is_run_again_from_an_earlier_rerun),
        PLAY_TESTS(what_has_failed_runs_again_too),
        PLAY_TESTS(signals_are_received_once_more),
        PLAY_TESTS(what_was_undelivered_stays_so),
        PLAY_TESTS(no_signal_comes_twice_from_an_earlier_rerun),
        {"functions_that_run_are_told_and_awaited",
         functions_that_run_are_told_and_awaited, STORES_ALL},
        {"updates_are_taken_once_more", updates_are_taken_once_more,
         STORES_ALL},
        {"what_was_published_counts_no_more", what_was_published_counts_no_more,
         STORES_ALL},
        PLAY_TESTS(what_waits_runs_again),
        PLAY_TESTS(what_waited_runs_again_from_a_rerun),
        PLAY_TESTS(a_pause_is_undone),
        {"what_the_engine_learns_late_is_no_reason_to_refuse",
         what_the_engine_learns_late_is_no_reason_to_refuse, STORES_ALL},
        PLAY_TESTS(a_cancellation_is_lifted),
        PLAY_TESTS(what_was_put_off_is_put_off_again),
        {"children_started_since_are_terminated",
         children_started_since_are_terminated, STORES_ALL},
        {"what_is_not_there_or_superseded_is_refused",
         what_is_not_there_or_superseded_is_refused, STORES_ALL},
    };

    return stores_run("rerun", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
