/* SPDX-License-Identifier: MIT
 *
 * Starting a key again: when its current run has ended, when that has failed,
 * or by terminating it; several at a time start one run.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/uuid.h"
#include "engine/support/play.h"
#include "store/store.h"
#include "support/rows.h"

#define STARTERS 8
#define AHEAD_MS 3600000

static cascade_err
fail_at_once(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_fail(node, "it fails");
}

static cascade_err
wait_for_signal(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

static cascade_err
continue_once(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_continue_as_new(node, "waits", NULL);
}

static cascade_err
continue_when_told(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_continue_as_new(node, "waits", NULL)
                             : err;
}

static play
made(void)
{
    return (play){.nodes = {{"nothing", stores_nothing},
                            {"fails", fail_at_once},
                            {"waits", wait_for_signal},
                            {"continues", continue_once},
                            {"told", continue_when_told}}};
}

static cascade_started
start_key(cascade_store *store, const char *node, const char *key,
          cascade_reuse reuse)
{
    cascade_start_options options = {
        .size = sizeof(options), .key = key, .reuse = reuse};
    cascade_started started;

    assert_ok(cascade_start(store, node, NULL, &options, &started));
    return started;
}

static void
check_run(const cascade_started *started, const char *key, int32_t number,
          bool existed)
{
    cascade_uuid id = csc_uuid_v8("anonymous", key, number);

    assert_true(csc_uuid_equal(&started->id, &id));
    assert_int_equal(started->existed, existed);
}

static void
check_status(const play *p, const char *key, int32_t number,
             cascade_status status)
{
    cascade_uuid id = csc_uuid_v8("anonymous", key, number);
    cascade_info *info = NULL;

    assert_ok(cascade_get(p->store, &id, &info));
    assert_int_equal(info->status, status);
    cascade_info_free(info);
}

/* ---- Policies ----------------------------------------------------------- */

/* What a start gives of a key whose run is as `node` left it. */
static void
check_policy(play *p, const char *node, cascade_status status,
             cascade_reuse reuse, bool anew)
{
    char key[64];
    cascade_started started;
    cascade_uuid current;

    snprintf(key, sizeof(key), "%s-%d", node, (int)reuse);
    started = start_key(p->store, node, key, reuse);
    check_run(&started, key, 1, false);
    if (status != CASCADE_RUNNING)
        play_await(p, &started.id, status);
    started = start_key(p->store, "nothing", key, reuse);
    check_run(&started, key, anew ? 2 : 1, !anew);
    assert_ok(cascade_key_current(p->store, NULL, key, &current));
    assert_true(csc_uuid_equal(&current, &started.id));
    if (anew)
        play_await(p, &started.id, CASCADE_COMPLETED);
}

static void
a_key_is_used_again_as_it_is_wanted(test_db *db)
{
    static const struct {
        const char *node;
        cascade_status status;
        bool anew[4]; /* by cascade_reuse */
    } cases[] = {
        {"nothing", CASCADE_COMPLETED, {false, true, false, true}},
        {"fails", CASCADE_ERROR, {false, true, true, true}},
        {"waits", CASCADE_RUNNING, {false, false, false, true}},
    };
    play p = made();

    play_open(&p, db, CASCADE_MODE_THREADS);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int reuse = 0; reuse < 4; reuse++)
            check_policy(&p, cases[i].node, cases[i].status,
                         (cascade_reuse)reuse, cases[i].anew[reuse]);
    check_status(&p, "waits-3", 1, CASCADE_ERROR);
    play_end(&p);
}

static void
a_run_is_terminated_where_no_engine_is_alive(test_db *db)
{
    play p = {.store = db_store(db), .db = db};
    cascade_started started =
        start_key(p.store, "unknown", "k", CASCADE_REUSE_NEVER);

    started = start_key(p.store, "unknown", "k", CASCADE_REUSE_TERMINATE);
    check_run(&started, "k", 2, false);
    check_status(&p, "k", 1, CASCADE_ERROR);
    check_status(&p, "k", 2, CASCADE_RUNNING);
    db_close_store(db, p.store);
}

static void
of_runs_that_continued_the_current_one_counts(test_db *db)
{
    play p = made();
    cascade_started started;

    play_open(&p, db, CASCADE_MODE_THREADS);
    started = start_key(p.store, "continues", "k", CASCADE_REUSE_ENDED);
    play_await(&p, &started.id, CASCADE_COMPLETED);
    started = start_key(p.store, "nothing", "k", CASCADE_REUSE_ENDED);
    check_run(&started, "k", 2, true);
    started = start_key(p.store, "nothing", "k", CASCADE_REUSE_TERMINATE);
    check_run(&started, "k", 3, false);
    check_status(&p, "k", 2, CASCADE_ERROR);
    play_end(&p);
}

static void
reuse_without_a_key_is_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_start_options options = {.size = sizeof(options),
                                     .reuse = CASCADE_REUSE_ENDED};
    cascade_started started;

    assert_fails(CASCADE_ERR_INVALID,
                 cascade_start(store, "nothing", NULL, &options, &started));
    options.key = "k";
    options.reuse = (cascade_reuse)4;
    assert_fails(CASCADE_ERR_INVALID,
                 cascade_start(store, "nothing", NULL, &options, &started));
    db_close_store(db, store);
}

/* ---- Many, and with signals --------------------------------------------- */

static void
of_one_key_mentioned_twice_one_run_is_started(test_db *db)
{
    play p = made();
    cascade_started started[3];
    cascade_first first = {.size = sizeof(first), .node = "waits"};
    cascade_start_options k = {
        .size = sizeof(k), .key = "k", .reuse = CASCADE_REUSE_TERMINATE};
    cascade_start_options other = {.size = sizeof(other), .key = "other"};
    const cascade_start_spec specs[] = {{.size = sizeof(specs[0]),
                                         .first = &first,
                                         .first_count = 1,
                                         .options = &k},
                                        {.size = sizeof(specs[0]),
                                         .first = &first,
                                         .first_count = 1,
                                         .options = &other},
                                        {.size = sizeof(specs[0]),
                                         .first = &first,
                                         .first_count = 1,
                                         .options = &k}};

    play_open(&p, db, CASCADE_MODE_THREADS);
    assert_ok(cascade_start_many(p.store, specs, 3, started));
    check_run(&started[0], "k", 1, false);
    check_run(&started[2], "k", 1, true);
    assert_ok(cascade_start_many(p.store, specs, 3, started));
    check_run(&started[0], "k", 2, false);
    check_run(&started[1], "other", 1, true);
    check_run(&started[2], "k", 2, true);
    play_end(&p);
}

static void
the_run_that_is_started_has_the_signal(test_db *db)
{
    play p = made();
    cascade_start_options k = {
        .size = sizeof(k), .key = "k", .reuse = CASCADE_REUSE_ENDED};
    cascade_started started;

    play_open(&p, db, CASCADE_MODE_THREADS);
    for (int32_t run = 1; run < 4; run++) {
        assert_ok(cascade_start_with_signal(p.store, "waits", NULL, &k, "go",
                                            NULL, NULL, &started));
        check_run(&started, "k", run, false);
        play_await(&p, &started.id, CASCADE_COMPLETED);
    }
    assert_int_equal(start_key(p.store, "waits", "k", k.reuse).existed, false);
    assert_ok(cascade_start_with_signal(p.store, "waits", NULL, &k, "go", NULL,
                                        NULL, &started));
    check_run(&started, "k", 4, true);
    play_await(&p, &started.id, CASCADE_COMPLETED);
    play_end(&p);
}

static const cascade_signal_options once = {.size = sizeof(once),
                                            .request_id = "r"};

/* Run `number`, which that signal lets end. */
static void
start_told(play *p, const char *key, cascade_reuse reuse, int32_t number)
{
    const cascade_start_options options = {
        .size = sizeof(options), .key = key, .reuse = reuse};
    cascade_started started;

    assert_ok(cascade_start_with_signal(p->store, "waits", NULL, &options, "go",
                                        NULL, &once, &started));
    check_run(&started, key, number, false);
    play_await(p, &started.id, CASCADE_COMPLETED);
}

static void
signal_key(play *p, int32_t number)
{
    cascade_uuid id = csc_uuid_v8("anonymous", "k", number);

    assert_ok(cascade_signal_key(p->store, NULL, "k", "go", NULL, &once));
    play_await(p, &id, CASCADE_COMPLETED);
}

static void
another_start_has_its_signal_whatever_the_last_had(test_db *db)
{
    play p = made();

    play_open(&p, db, CASCADE_MODE_THREADS);
    for (int32_t run = 1; run < 4; run++)
        start_told(&p, "ended", CASCADE_REUSE_ENDED, run);
    (void)start_key(p.store, "waits", "running", CASCADE_REUSE_NEVER);
    for (int32_t run = 2; run < 4; run++)
        start_told(&p, "running", CASCADE_REUSE_TERMINATE, run);
    for (int32_t run = 1; run < 4; run++) {
        cascade_started started =
            start_key(p.store, "waits", "k", CASCADE_REUSE_ENDED);

        check_run(&started, "k", run, false);
        signal_key(&p, run);
    }
    play_end(&p);
}

/* ---- At a time ---------------------------------------------------------- */

typedef struct starter {
    cascade_store *store;
    cascade_reuse reuse;
    pthread_t thread;
    pthread_barrier_t *barrier;
    cascade_started started;
} starter;

static void *
start_too(void *context)
{
    starter *s = context;
    cascade_start_options options = {
        .size = sizeof(options), .key = "k", .reuse = s->reuse};

    (void)pthread_barrier_wait(s->barrier);
    expect(cascade_start(s->store, "waits", NULL, &options, &s->started) ==
           CASCADE_OK);
    return NULL;
}

static void
start_all(starter *starters, cascade_store *store, cascade_reuse reuse)
{
    pthread_barrier_t barrier;

    assert_int_equal(pthread_barrier_init(&barrier, NULL, STARTERS), 0);
    for (size_t i = 0; i < STARTERS; i++) {
        starters[i] =
            (starter){.store = store, .reuse = reuse, .barrier = &barrier};
        assert_int_equal(
            pthread_create(&starters[i].thread, NULL, start_too, &starters[i]),
            0);
    }
    for (size_t i = 0; i < STARTERS; i++)
        assert_int_equal(pthread_join(starters[i].thread, NULL), 0);
    (void)pthread_barrier_destroy(&barrier);
}

/* All of them start the key, whose run has the number before. */
static void
start_together(cascade_store *store, cascade_reuse reuse, int32_t number)
{
    starter starters[STARTERS];
    size_t fresh = 0;

    start_all(starters, store, reuse);
    for (size_t i = 0; i < STARTERS; i++) {
        check_run(&starters[i].started, "k", number,
                  starters[i].started.existed);
        fresh += !starters[i].started.existed;
    }
    assert_int_equal(fresh, 1);
}

static void
several_who_find_it_ended_start_one_run(test_db *db)
{
    play p = made();
    cascade_started started;

    play_open(&p, db, CASCADE_MODE_THREADS);
    started = start_key(p.store, "nothing", "k", CASCADE_REUSE_NEVER);
    play_await(&p, &started.id, CASCADE_COMPLETED);
    for (int32_t run = 2; run < 5; run++) {
        cascade_uuid id = csc_uuid_v8("anonymous", "k", run);

        start_together(p.store, CASCADE_REUSE_ENDED, run);
        assert_ok(cascade_terminate(p.store, &id, NULL));
        play_await(&p, &id, CASCADE_ERROR);
    }
    play_end(&p);
}

/* One who comes when the next run is there already terminates that: so they are
 * held until each has read which one is current. */
typedef struct meeting {
    pthread_barrier_t barrier;
    atomic_int readers;
    wrap_store *wrap;
} meeting;

static cascade_err
meet(void *context, const wrap_call *call, cascade_err err)
{
    meeting *m = context;

    if (call->move == WRAP_KEY && atomic_fetch_add(&m->readers, 1) < STARTERS)
        (void)pthread_barrier_wait(&m->barrier);
    return err;
}

static void
several_who_terminate_it_start_one_run(test_db *db)
{
    play p = made();
    static meeting m; /* until the handle is closed, also after a failure */
    cascade_store *store = NULL;

    play_open(&p, db, CASCADE_MODE_THREADS);
    (void)start_key(p.store, "waits", "k", CASCADE_REUSE_NEVER);
    m.wrap = wrap_store_create(db->url);
    assert_non_null(m.wrap);
    atomic_store(&m.readers, 0);
    assert_int_equal(pthread_barrier_init(&m.barrier, NULL, STARTERS), 0);
    store = db_wrapped(db, m.wrap);
    m.wrap->context = &m;
    m.wrap->after = meet;
    start_together(store, CASCADE_REUSE_TERMINATE, 2);
    check_status(&p, "k", 1, CASCADE_ERROR);
    check_status(&p, "k", 2, CASCADE_RUNNING);
    db_close_store(db, store);
    wrap_store_free(m.wrap);
    (void)pthread_barrier_destroy(&m.barrier);
    play_end(&p);
}

/* Just when its key was looked at, the run continues as the next one. */
static cascade_err
tell_to_continue(void *context, const wrap_call *call, cascade_err err)
{
    play *p = context;

    if (call->move == WRAP_KEY && call->number == 1) {
        expect(cascade_signal(p->store, &p->id, "go", NULL, NULL) ==
               CASCADE_OK);
        expect(cascade_wait(p->store, &p->id, DB_WAIT_MS, NULL) == CASCADE_OK);
    }
    return err;
}

static void
one_that_just_continues_is_terminated(test_db *db)
{
    play p = made();
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;
    cascade_started started;

    assert_non_null(wrap);
    play_open(&p, db, CASCADE_MODE_THREADS);
    p.id = start_key(p.store, "told", "k", CASCADE_REUSE_NEVER).id;
    store = db_wrapped(db, wrap);
    wrap->context = &p;
    wrap->after = tell_to_continue;
    started = start_key(store, "nothing", "k", CASCADE_REUSE_TERMINATE);
    check_run(&started, "k", 3, false);
    check_status(&p, "k", 2, CASCADE_ERROR);
    db_close_store(db, store);
    wrap_store_free(wrap);
    play_end(&p);
}

/* Each is sending, or waits to, when the key is started by one more, who is
 * done before they go on. */
typedef struct overtaking {
    atomic_size_t sending; /* what was asked for, by all */
    atomic_int begun;
    atomic_bool done;
    cascade_store *store; /* theirs */
    const play *p;
    const char *node;
    cascade_reuse reuse;
    wrap_store *wrap;
} overtaking;

static void
overtake(const overtaking *o)
{
    cascade_start_options options = {
        .size = sizeof(options), .key = "k", .reuse = o->reuse};
    cascade_started started = {.existed = true};

    expect(cascade_start(o->p->store, o->node, NULL, &options, &started) ==
           CASCADE_OK);
    expect(!started.existed);
    if (strcmp(o->node, "waits") != 0)
        expect(cascade_wait(o->p->store, &started.id, DB_WAIT_MS, NULL) ==
               CASCADE_OK);
}

static bool
are_all_sending(void *context)
{
    overtaking *o = context;
    size_t queued = 0;

    pthread_mutex_lock(&o->store->pipeline.mutex);
    queued = o->store->pipeline.queued;
    pthread_mutex_unlock(&o->store->pipeline.mutex);
    return queued + atomic_load(&o->sending) >= STARTERS;
}

static bool
is_overtaken(void *context)
{
    return atomic_load(&((overtaking *)context)->done);
}

static cascade_err
be_overtaken(void *context, const wrap_call *call)
{
    overtaking *o = context;

    if (call->move != WRAP_SUBMIT || is_overtaken(o))
        return CASCADE_OK;
    (void)atomic_fetch_add(&o->sending, call->submission->start_count +
                                            call->submission->message_count);
    if (atomic_fetch_add(&o->begun, 1) > 0) {
        expect(stores_until(is_overtaken, o));
        return CASCADE_OK;
    }
    expect(stores_until(are_all_sending, o));
    overtake(o);
    atomic_store(&o->done, true);
    return CASCADE_OK;
}

/* The key's current run is one of `node`. */
static void
check_overtaken(test_db *db, const char *node, cascade_reuse reuse)
{
    play p = made();
    static overtaking o; /* until the handle is closed, also after a failure */
    cascade_store *store = NULL;
    cascade_started started;
    starter starters[STARTERS];

    play_open(&p, db, CASCADE_MODE_THREADS);
    started = start_key(p.store, node, "k", CASCADE_REUSE_NEVER);
    if (strcmp(node, "waits") != 0)
        assert_ok(cascade_wait(p.store, &started.id, DB_WAIT_MS, NULL));
    o.p = &p;
    o.node = node;
    o.reuse = reuse;
    o.wrap = wrap_store_create(db->url);
    assert_non_null(o.wrap);
    atomic_store(&o.sending, 0);
    atomic_store(&o.begun, 0);
    atomic_store(&o.done, false);
    store = db_wrapped(db, o.wrap);
    o.store = store;
    o.wrap->context = &o;
    o.wrap->before = be_overtaken;
    start_all(starters, store, reuse);
    for (size_t i = 0; i < STARTERS; i++)
        check_run(&starters[i].started, "k", 2, true);
    db_close_store(db, store);
    wrap_store_free(o.wrap);
    play_end(&p);
}

static void
who_is_overtaken_terminates_no_later_run(test_db *db)
{
    check_overtaken(db, "waits", CASCADE_REUSE_TERMINATE);
}

static void
who_is_overtaken_starts_none_when_that_has_ended(test_db *db)
{
    check_overtaken(db, "nothing", CASCADE_REUSE_ENDED);
}

static void
who_is_overtaken_starts_none_when_that_has_failed(test_db *db)
{
    check_overtaken(db, "fails", CASCADE_REUSE_FAILED);
}

/* ---- Times -------------------------------------------------------------- */

/* The first run of a key, which an engine has made whose clock is ahead. */
static void
start_ahead(const play *p, const char *node, const char *key)
{
    cascade_uuid id = csc_uuid_v8("anonymous", key, 1);
    test_rows rows;
    cascade_change *start = NULL;
    cascade_execution_row *first = NULL;
    char text[CASCADE_UUID_TEXT_SIZE];
    bool existed = true;

    rows_init(&rows, (uint64_t)key[1], csc_clock_wall_ms(&csc_clock_system));
    start = rows_start(&rows, id);
    start->cascade.created_at_ms += AHEAD_MS;
    start->cascade.updated_at_ms += AHEAD_MS;
    start->cascade.user_id = "anonymous";
    start->key = key;
    start->run_number = 1;
    first = (cascade_execution_row *)&start->inserts[0];
    first->node_name = node;
    first->node_instance_id =
        rows_text(&rows, "%s/-/%s#0", cascade_uuid_format(&id, text), node);
    first->full_output =
        rows_text(&rows, "{\"cascade\":{\"key\":\"%s\",\"priority\":0}}", key);
    assert_ok(
        rows_submit(p->store->driver, p->store->self, start, 1, &existed));
    assert_false(existed);
    rows_fini(&rows);
}

static void
check_times(const play *p, const char *key)
{
    cascade_uuid id = csc_uuid_v8("anonymous", key, 1);
    cascade_info *info = NULL;
    int64_t ended_ms = 0;

    assert_ok(cascade_get(p->store, &id, &info));
    assert_int_not_equal(info->status, CASCADE_RUNNING);
    ended_ms = info->updated_at_ms;
    assert_true(ended_ms >= info->created_at_ms);
    cascade_info_free(info);
    id = csc_uuid_v8("anonymous", key, 2);
    assert_ok(cascade_get(p->store, &id, &info));
    assert_true(info->created_at_ms >= ended_ms);
    assert_true(info->updated_at_ms >= info->created_at_ms);
    cascade_info_free(info);
}

/* What the first run is, as which it is to end, and how the next one comes. */
typedef struct succession {
    const char *node;
    cascade_status status;
    cascade_reuse reuse; /* NEVER: it continues as new */
    bool signal;         /* with a signal */
} succession;

static void
check_succession(play *p, const succession *is, const char *key)
{
    const cascade_start_options options = {
        .size = sizeof(options), .key = key, .reuse = is->reuse};
    cascade_uuid id = csc_uuid_v8("anonymous", key, 1);
    cascade_started started;

    start_ahead(p, is->node, key);
    if (is->reuse != CASCADE_REUSE_TERMINATE)
        play_await(p, &id, is->status);
    if (is->signal) {
        assert_ok(cascade_start_with_signal(p->store, "waits", NULL, &options,
                                            "go", NULL, NULL, &started));
        check_run(&started, key, 2, false);
    } else if (is->reuse != CASCADE_REUSE_NEVER) {
        started = start_key(p->store, "waits", key, is->reuse);
        check_run(&started, key, 2, false);
    }
    check_times(p, key);
}

static void
a_run_is_created_when_the_one_before_has_ended(test_db *db)
{
    static const succession all[] = {
        {"nothing", CASCADE_COMPLETED, CASCADE_REUSE_ENDED, false},
        {"nothing", CASCADE_COMPLETED, CASCADE_REUSE_ENDED, true},
        {"fails", CASCADE_ERROR, CASCADE_REUSE_FAILED, false},
        {"waits", CASCADE_ERROR, CASCADE_REUSE_TERMINATE, false},
        {"waits", CASCADE_ERROR, CASCADE_REUSE_TERMINATE, true},
        {"continues", CASCADE_COMPLETED, CASCADE_REUSE_NEVER, false},
    };
    play p = made();

    play_open(&p, db, CASCADE_MODE_THREADS);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        char key[16];

        snprintf(key, sizeof(key), "k%zu", i);
        check_succession(&p, &all[i], key);
    }
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_key_is_used_again_as_it_is_wanted",
         a_key_is_used_again_as_it_is_wanted, STORES_ALL},
        {"a_run_is_terminated_where_no_engine_is_alive",
         a_run_is_terminated_where_no_engine_is_alive, STORES_ALL},
        {"of_runs_that_continued_the_current_one_counts",
         of_runs_that_continued_the_current_one_counts, STORES_ALL},
        {"reuse_without_a_key_is_refused", reuse_without_a_key_is_refused,
         STORES_ALL},
        {"of_one_key_mentioned_twice_one_run_is_started",
         of_one_key_mentioned_twice_one_run_is_started, STORES_ALL},
        {"the_run_that_is_started_has_the_signal",
         the_run_that_is_started_has_the_signal, STORES_ALL},
        {"another_start_has_its_signal_whatever_the_last_had",
         another_start_has_its_signal_whatever_the_last_had, STORES_ALL},
        {"several_who_find_it_ended_start_one_run",
         several_who_find_it_ended_start_one_run, STORES_ALL},
        {"one_that_just_continues_is_terminated",
         one_that_just_continues_is_terminated, STORES_ALL},
        {"several_who_terminate_it_start_one_run",
         several_who_terminate_it_start_one_run, STORES_ALL},
        {"who_is_overtaken_terminates_no_later_run",
         who_is_overtaken_terminates_no_later_run, STORES_ALL},
        {"who_is_overtaken_starts_none_when_that_has_ended",
         who_is_overtaken_starts_none_when_that_has_ended, STORES_ALL},
        {"who_is_overtaken_starts_none_when_that_has_failed",
         who_is_overtaken_starts_none_when_that_has_failed, STORES_ALL},
        {"a_run_is_created_when_the_one_before_has_ended",
         a_run_is_created_when_the_one_before_has_ended, STORES_ALL},
    };

    return stores_run("reuse", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
