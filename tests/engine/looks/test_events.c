/* SPDX-License-Identifier: MIT
 *
 * What an engine tells of what happens: each thing once, in the order of the
 * commits, with its names; and what failed also in the log.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/map.h"
#include "base/lock.h"
#include "engine/support/play.h"
#include "held/engine_state.h"
#include "held/event_queue.h"
#include "held/run/run.h"

#define TOLD_MAX 40
#define LINE_SIZE 160
#define LOST 5

/* What was told, a line for each. */
typedef struct told {
    pthread_mutex_t mutex;
    char lines[TOLD_MAX][LINE_SIZE];
    size_t count;
    bool bad; /* something that is never to be */
    atomic_bool inside;
} told;

static const char *const names[] = {
    [CASCADE_EVENT_CASCADE_STARTED] = "started",
    [CASCADE_EVENT_ATTEMPT_FAILED] = "attempt failed",
    [CASCADE_EVENT_EXECUTION_COMPLETED] = "did",
    [CASCADE_EVENT_EXECUTION_FAILED] = "failed",
    [CASCADE_EVENT_CASCADE_PARKED] = "parked",
    [CASCADE_EVENT_CASCADE_COMPLETED] = "completed",
    [CASCADE_EVENT_CASCADE_FAILED] = "ended in error",
    [CASCADE_EVENT_CASCADE_CLAIMED] = "claimed",
    [CASCADE_EVENT_ENGINE_FENCED] = "fenced",
};

static void
note(void *context, const cascade_event *e)
{
    told *t = context;

    if (atomic_exchange(&t->inside, true))
        t->bad = true; /* two at a time */
    pthread_mutex_lock(&t->mutex);
    if (e->at_ms <= 0)
        t->bad = true;
    if (t->count++ < TOLD_MAX)
        (void)snprintf(t->lines[t->count - 1], LINE_SIZE,
                       "%s %d %s/%s %d: %.80s", names[e->kind],
                       (int)e->function_id, e->node, e->step, e->attempt,
                       e->error);
    pthread_mutex_unlock(&t->mutex);
    atomic_store(&t->inside, false);
}

static told *
told_open(void)
{
    static told t;

    memset(&t, 0, sizeof(t));
    pthread_mutex_init(&t.mutex, NULL);
    return &t;
}

static size_t
count_told(told *t)
{
    size_t count = 0;

    pthread_mutex_lock(&t->mutex);
    count = t->count;
    pthread_mutex_unlock(&t->mutex);
    return count;
}

static bool
has_told(told *t, size_t count)
{
    return count_told(t) >= count;
}

/* In a loop, and inline, a start is a commit of its caller's, and what it has
 * started is claimed. */
static const char *
begin_of(cascade_mode mode, const char *started)
{
    return mode == CASCADE_MODE_THREADS ? started : "claimed -1 / 0: ";
}

/* Those lines and no others, in that order. */
static void
expect_told(told *t, const char *const *lines, size_t count)
{
    pthread_mutex_lock(&t->mutex);
    for (size_t i = 0; i < count && i < t->count; i++)
        assert_string_equal(t->lines[i], lines[i]);
    assert_int_equal(t->count, count);
    assert_false(t->bad);
    pthread_mutex_unlock(&t->mutex);
}

/* ---- What is told -------------------------------------------------------- */

static cascade_err
fail_once(cascade_node *node, void *arg, cJSON **result)
{
    atomic_int *tries = arg;

    (void)result;
    if (atomic_fetch_add(tries, 1) == 0)
        return cascade_node_error(node, "the step");
    return CASCADE_OK;
}

static cascade_err
work(cascade_node *node, void *user)
{
    static atomic_int tries;
    const cascade_step_options twice = {
        .size = sizeof(twice), .attempts_max = 2, .backoff_ms = 1};
    cascade_err err = CASCADE_OK;

    (void)user;
    if (cascade_node_attempt(node) == 1) {
        atomic_store(&tries, 0);
        return cascade_node_error(node, "at first");
    }
    err = cascade_node_step(node, "charge", fail_once, &tries, &twice, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_sleep(node, "rest", 1);
    if (err == CASCADE_OK)
        err = cascade_node_put(node, "secret", cJSON_CreateString("payload"));
    return err;
}

static cascade_err
break_down(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "no such\norder");
}

typedef struct enough {
    told *told;
    size_t count;
} enough;

static bool
is_enough(void *context)
{
    const enough *e = context;

    return has_told(e->told, e->count);
}

static void
what_happens_is_told_in_order(test_db *db, cascade_mode mode)
{
    const char *const lines[] = {
        begin_of(mode, "started 0 works/ 0: "),
        "attempt failed 0 works/ 1: at first",
        "attempt failed 0 works/charge 1: the step",
        "did 0 works/charge 2: ",
        "did 0 works/rest 1: ",
        "did 0 works/ 2: ",
        "completed -1 / 0: ",
    };
    const size_t count = sizeof(lines) / sizeof(lines[0]);
    told *t = told_open();
    enough all = {t, count};
    play p = {.nodes = {{"works", work}},
              .attempts_max = 2,
              .on_event = note,
              .event_context = t};

    play_run(&p, db, mode, "works", NULL, CASCADE_COMPLETED);
    play_on(&p, is_enough, &all);
    play_end(&p);
    expect_told(t, lines, count);
}

static void
failures_are_told(test_db *db, cascade_mode mode)
{
    const char *const lines[] = {
        begin_of(mode, "started 0 breaks/ 0: "),
        "failed 0 breaks/ 1: no such\norder",
        "ended in error -1 / 0: no such\norder",
    };
    told *t = told_open();
    enough all = {t, 3};
    play p = {.nodes = {{"breaks", break_down}},
              .on_event = note,
              .event_context = t};
    size_t warnings = 0;

    play_open(&p, db, mode);
    warnings = atomic_load(&db->warnings);
    play_end(&p);
    play_run(&p, db, mode, "breaks", NULL, CASCADE_ERROR);
    play_on(&p, is_enough, &all);
    play_end(&p);
    expect_told(t, lines, 3);
    assert_int_equal(atomic_load(&db->warnings) - warnings, 2);
}

/* Without a function that is told the log has the failures all the same. */
static void
failures_are_logged(test_db *db, cascade_mode mode)
{
    play p = {.nodes = {{"breaks", break_down}}};
    size_t before = atomic_load(&db->warnings);

    play_run(&p, db, mode, "breaks", NULL, CASCADE_ERROR);
    play_end(&p);
    assert_int_equal(atomic_load(&db->warnings) - before, 2);
}

static cascade_err
wait_for_word(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "word", -1, NULL);
}

/* Parked, and taken on again as its message comes. */
static void
parked_ones_are_claimed(test_db *db, cascade_mode mode)
{
    const char *const lines[] = {
        begin_of(mode, "started 0 waits/ 0: "),
        "parked -1 / 0: ",
        "claimed -1 / 0: ",
        "did 0 waits/word 1: ",
        "did 0 waits/ 1: ",
        "completed -1 / 0: ",
    };
    const size_t count = sizeof(lines) / sizeof(lines[0]);
    told *t = told_open();
    enough all = {t, count};
    play p = {.nodes = {{"waits", wait_for_word}},
              .park_after_ms = 1,
              .on_event = note,
              .event_context = t};

    play_begin(&p, db, mode, "waits");
    play_until_left(&p);
    assert_ok(cascade_signal(p.store, &p.id, "word", NULL, NULL));
    play_await(&p, &p.id, CASCADE_COMPLETED);
    play_on(&p, is_enough, &all);
    play_end(&p);
    expect_told(t, lines, count);
}

/* What a command ends is told, and is no failure of its own. */
static void
cancelled_ones_are_told(test_db *db)
{
    static const char *const lines[] = {
        "started 0 waits/ 0: ",
        "parked -1 / 0: ",
        "claimed -1 / 0: ",
        "failed 0 waits/word 0: cancelled",
        "failed 0 waits/ 1: cascade.await:word: the cascade is cancelled; "
        "clean "
        "up and return",
        "ended in error -1 / 0: cancelled",
    };
    const size_t count = sizeof(lines) / sizeof(lines[0]);
    told *t = told_open();
    enough all = {t, count};
    play p = {.nodes = {{"waits", wait_for_word}},
              .park_after_ms = 1,
              .on_event = note,
              .event_context = t};
    size_t before = atomic_load(&db->warnings);

    play_begin(&p, db, CASCADE_MODE_THREADS, "waits");
    play_until_left(&p);
    assert_ok(cascade_cancel(p.store, &p.id, NULL));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_on(&p, is_enough, &all);
    play_end(&p);
    expect_told(t, lines, count);
    assert_int_equal(atomic_load(&db->warnings) - before, 1);
}

/* ---- A claim before the answer ------------------------------------------- */

/* Parked by a commit whose answer is held back until its message has made the
 * engine claim it again. */
typedef struct overtaken {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    cascade_err (*send)(cascade_store *store, const cascade_uuid *id);
    atomic_bool parked;
} overtaken;

static cascade_err
send_word(cascade_store *store, const cascade_uuid *id)
{
    return cascade_signal(store, id, "word", NULL, NULL);
}

static cascade_err
send_end(cascade_store *store, const cascade_uuid *id)
{
    return cascade_terminate(store, id, NULL);
}

static bool
is_claimed_anew(void *context)
{
    const overtaken *o = context;
    const csc_run *run = NULL;
    bool anew = false;

    csc_lock_take(&o->engine->mutex);
    run = csc_map_get(&o->engine->runs, &o->id);
    anew = run != NULL && run->claimed_anew;
    csc_lock_give(&o->engine->mutex);
    return anew;
}

static cascade_err
hold_answer(void *context, const wrap_call *call, cascade_err answer)
{
    overtaken *o = context;

    if (call->move != WRAP_COMMIT || answer != CASCADE_OK ||
        call->batch->changes[0].run_action != CASCADE_RUN_FREE ||
        atomic_exchange(&o->parked, true))
        return answer;
    o->id = call->batch->changes[0].cascade.id;
    expect(o->send(o->store, &o->id) == CASCADE_OK);
    expect(stores_until(is_claimed_anew, o));
    return answer;
}

static overtaken *
overtaken_open(test_db *db, told *t)
{
    overtaken *o = calloc(1, sizeof(*o));
    cascade_engine_options options = {.size = sizeof(options),
                                      .worker_count = 3,
                                      .poll_interval_ms = 20,
                                      .park_after_ms = 1,
                                      .on_event = note,
                                      .event_context = t};

    assert_non_null(o);
    assert_int_equal(wrap_store_init(&o->wrap, db->url), 0);
    o->wrap.context = o;
    o->wrap.after = hold_answer;
    o->store = db_wrapped(db, &o->wrap);
    o->engine = db_engine(db, o->store, &options);
    assert_ok(
        cascade_engine_register(o->engine, "waits", wait_for_word, NULL, NULL));
    assert_ok(cascade_engine_start(o->engine));
    return o;
}

/* How often it was read, until all lines were told. */
static uint64_t
read_until_told(test_db *db, overtaken *o, cascade_status status, enough *all)
{
    cascade_uuid id = db_start(o->store, "waits");
    cascade_engine_stats stats = {.size = sizeof(stats)};

    db_await(o->store, &id, status);
    assert_true(stores_until(is_enough, all));
    assert_ok(cascade_engine_get_stats(o->engine, &stats));
    db_close_engine(db, o->engine);
    db_close_store(db, o->store);
    wrap_store_fini(&o->wrap);
    free(o);
    return stats.hydrations;
}

static void
a_claim_is_told_behind_the_commit_before_it(test_db *db)
{
    static const char *const lines[] = {
        "started 0 waits/ 0: ", "parked -1 / 0: ",  "claimed -1 / 0: ",
        "did 0 waits/word 1: ", "did 0 waits/ 1: ", "completed -1 / 0: ",
    };
    const size_t count = sizeof(lines) / sizeof(lines[0]);
    told *t = told_open();
    enough all = {t, count};
    overtaken *o = overtaken_open(db, t);

    o->send = send_word;
    assert_int_equal(read_until_told(db, o, CASCADE_COMPLETED, &all), 1);
    expect_told(t, lines, count);
}

static void
an_end_is_behind_the_commit_before_it_and_reads_nothing(test_db *db)
{
    static const char *const lines[] = {
        "started 0 waits/ 0: ",
        "parked -1 / 0: ",
        "ended in error -1 / 0: terminated",
    };
    const size_t count = sizeof(lines) / sizeof(lines[0]);
    told *t = told_open();
    enough all = {t, count};
    overtaken *o = overtaken_open(db, t);

    o->send = send_end;
    assert_int_equal(read_until_told(db, o, CASCADE_ERROR, &all), 0);
    expect_told(t, lines, count);
}

/* ---- Too many ------------------------------------------------------------ */

static void
what_is_too_much_is_counted(test_db *db)
{
    told *t = told_open();
    play p = {.on_event = note, .event_context = t};
    const cascade_event event = {.kind = CASCADE_EVENT_CASCADE_PARKED,
                                 .node = "",
                                 .step = "",
                                 .error = ""};
    cascade_engine_stats stats = {.size = sizeof(stats)};

    play_open(&p, db, CASCADE_MODE_INLINE);
    csc_lock_take(&p.engine->mutex);
    for (size_t i = 0; i < CSC_EVENTS_MAX + LOST; i++)
        csc_event_queue_add_locked(p.engine, &event, false);
    csc_lock_give(&p.engine->mutex);
    csc_event_queue_end(p.engine);
    assert_int_equal(count_told(t), CSC_EVENTS_MAX);
    assert_ok(cascade_engine_get_stats(p.engine, &stats));
    assert_int_equal(stats.events_lost, LOST);
    play_end(&p);
}

/* One that tells what comes while it is told is not overtaken. */
typedef struct echo {
    told *told;
    cascade_engine *engine;
    int left;
} echo;

static void
note_and_add(void *context, const cascade_event *e)
{
    echo *ec = context;
    cascade_event next = *e;

    note(ec->told, e);
    if (ec->left == 0)
        return;
    ec->left--;
    next.attempt++;
    csc_lock_take(&ec->engine->mutex);
    csc_event_queue_add_locked(ec->engine, &next, false);
    csc_lock_give(&ec->engine->mutex);
    csc_event_queue_tell(ec->engine); /* leaves it to this one */
}

static void
what_comes_meanwhile_is_told_behind(test_db *db)
{
    static const char *const lines[] = {
        "parked 0 / 0: ", "parked 0 / 1: ", "parked 0 / 2: "};
    echo ec = {.told = told_open(), .left = 2};
    play p = {.on_event = note_and_add, .event_context = &ec};
    const cascade_event event = {.kind = CASCADE_EVENT_CASCADE_PARKED,
                                 .node = "",
                                 .step = "",
                                 .error = ""};

    play_open(&p, db, CASCADE_MODE_INLINE);
    ec.engine = p.engine;
    csc_lock_take(&p.engine->mutex);
    csc_event_queue_add_locked(p.engine, &event, false);
    csc_lock_give(&p.engine->mutex);
    csc_event_queue_end(p.engine);
    expect_told(ec.told, lines, 3);
    play_end(&p);
}

PLAY_MODES(what_happens_is_told_in_order)
PLAY_MODES(failures_are_told)
PLAY_MODES(failures_are_logged)
PLAY_MODES(parked_ones_are_claimed)

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        PLAY_TESTS(what_happens_is_told_in_order),
        PLAY_TESTS(failures_are_told),
        PLAY_TESTS(failures_are_logged),
        PLAY_TESTS(parked_ones_are_claimed),
        {"cancelled_ones_are_told", cancelled_ones_are_told, STORES_ALL},
        {"a_claim_is_told_behind_the_commit_before_it",
         a_claim_is_told_behind_the_commit_before_it, STORES_ALL},
        {"an_end_is_behind_the_commit_before_it_and_reads_nothing",
         an_end_is_behind_the_commit_before_it_and_reads_nothing, STORES_ALL},
        {"what_is_too_much_is_counted", what_is_too_much_is_counted,
         STORES_MEMORY},
        {"what_comes_meanwhile_is_told_behind",
         what_comes_meanwhile_is_told_behind, STORES_MEMORY},
    };

    return stores_run("events", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
