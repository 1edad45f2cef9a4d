/* SPDX-License-Identifier: MIT
 *
 * A retry or a rerun of a cascade with many executions: it is carried out in
 * commits of a bounded size, and goes on where it was when an engine dies
 * behind any of them. It is one to the eye: until all that runs again is there
 * the cascade is what it was, and what is asked for meanwhile comes behind.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"
#include "held/engine_state.h"
#include "state/state.h"
#include "store/store.h"
#include "support/stores.h"

#define LATER 600 /* executions that are to begin in an hour */
#define WAITS 100 /* nodes that wait for a signal */
#define HOUR_MS (INT64_C(3600) * 1000)
#define ROWS_MAX 256 /* of a slice: its bytes, 512 a row */
#define SLICES_MIN ((2 * (LATER + WAITS) + WAITS) / ROWS_MAX)
#define DEADLINE_MS 40
#define TOO_LONG_MS 25 /* more than half of it */
#define FEW 40         /* rows are no matter */
#define FENCES 8       /* slices behind which an engine is fenced, in turn, */
#define FENCE_EVERY 7  /* and how many there are between */

typedef enum meanwhile {
    MEANWHILE_NOTHING,
    MEANWHILE_LOOK,
    MEANWHILE_TERMINATE,
    MEANWHILE_RETRY,
    MEANWHILE_DELETE,
    MEANWHILE_FORK,
    MEANWHILE_STOP
} meanwhile;

typedef struct scene {
    test_db *db;
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    cascade_uuid fork;      /* made of it meanwhile */
    atomic_bool stops;      /* somebody is to stop the engine */
    atomic_size_t most;     /* rows in one commit of it */
    atomic_size_t slices;   /* such commits */
    atomic_size_t fence_at; /* the slice that is fenced; 0: none */
    atomic_size_t fences;   /* and how many more are to come */
    atomic_bool lost;       /* it is done all the same */
    atomic_bool slow;       /* what has more than FEW rows takes too long */
    atomic_bool refused;    /* by the store, behind the first slice */
    atomic_int then;        /* a meanwhile, behind the second slice */
    cascade_status before;  /* as it was asked for */
} scene;

/* ---- What is committed --------------------------------------------------- */

static bool
is_closed(const cascade_execution_row *row)
{
    return row->error != NULL && strncmp(row->error, "superseded by", 13) == 0;
}

static bool
is_of_receipt(const cascade_execution_row *row)
{
    return strcmp(row->node_name, CSC_RETRY_NAME) == 0 ||
           strcmp(row->node_name, CSC_RERUN_NAME) == 0;
}

static bool
is_of_it(const cascade_change *change)
{
    for (size_t i = 0; i < change->insert_count; i++) {
        const cascade_execution_row *row = &change->inserts[i];

        if (is_of_receipt(row) ||
            (row->full_output != NULL &&
             strstr(row->full_output, "\"resumes\"") != NULL))
            return true;
    }
    for (size_t i = 0; i < change->update_count; i++)
        if (is_of_receipt(&change->updates[i]) ||
            is_closed(&change->updates[i]))
            return true;
    return false;
}

/* 0: it has nothing of it. */
static size_t
count_batch(const cascade_batch *batch)
{
    size_t count = 0;

    for (size_t i = 0; i < batch->change_count; i++)
        if (is_of_it(&batch->changes[i]))
            count +=
                batch->changes[i].insert_count + batch->changes[i].update_count;
    return count;
}

static cascade_err
fail_slowly(void)
{
    const struct timespec span = {.tv_nsec = TOO_LONG_MS * 1000000L};

    (void)nanosleep(&span, NULL);
    return cascade_store_fail(CASCADE_ERR_NOT_DONE, "it takes too long");
}

/* The next one is some slices later. */
static bool
fences(scene *s, size_t slice)
{
    if (slice == 0 || slice != atomic_load(&s->fence_at))
        return false;
    if (atomic_load(&s->fences) > 0 && atomic_fetch_sub(&s->fences, 1) > 0)
        atomic_fetch_add(&s->fence_at, FENCE_EVERY);
    return true;
}

static cascade_err
weigh(void *context, const wrap_call *call)
{
    scene *s = context;
    size_t count = call->move == WRAP_COMMIT ? count_batch(call->batch) : 0;

    if (count == 0)
        return CASCADE_OK;
    if (atomic_load(&s->slow) && count > FEW)
        return fail_slowly();
    if (count > atomic_load(&s->most))
        atomic_store(&s->most, count);
    if (atomic_load(&s->refused) && atomic_load(&s->slices) > 0 &&
        call->batch->changes[0].insert_count > 0)
        return cascade_store_fail(CASCADE_ERR_REFUSED, "not these");
    if (!atomic_load(&s->lost) && fences(s, atomic_fetch_add(&s->slices, 1)))
        return cascade_store_fail(CASCADE_ERR_FENCED, "as if it were removed");
    return CASCADE_OK;
}

static cascade_status
status_of(scene *s)
{
    cascade_info *info = NULL;
    cascade_status status = CASCADE_RUNNING;

    expect(cascade_get(s->db->stores[0], &s->id, &info) == CASCADE_OK);
    status = info->status;
    cascade_info_free(info);
    return status;
}

static bool
tell(void *context, const cascade_uuid *id, int32_t function_id,
     const char *rule, const char *text)
{
    (void)context;
    (void)id;
    (void)function_id;
    print_error("%s: %s\n", rule, text);
    return true;
}

static void
expect_sound(scene *s)
{
    const cascade_check_options options = {.size = sizeof(options),
                                           .finding = tell};
    cascade_check_report report = {.size = sizeof(report)};

    expect(cascade_verify(s->db->stores[0], &options, &report) == CASCADE_OK);
    expect(report.findings == 0);
}

/* Who asks why is told that it is under way. */
static void
expect_explained(scene *s)
{
    cascade_explanation *why = NULL;
    size_t resets = 0;

    expect(cascade_explain(s->db->stores[0], &s->id, &why) == CASCADE_OK);
    for (size_t i = 0; i < cascade_explanation_count(why); i++) {
        const cascade_cause *cause = cascade_explanation_get(why, i);

        if (cause->reason != CASCADE_REASON_RESETS)
            continue;
        resets++;
        expect(cause->count >= 0 && cause->count <= 2 * ROWS_MAX);
        expect(strncmp(cause->text, "a re", strlen("a re")) == 0);
    }
    expect(resets == 1);
    cascade_explanation_free(why);
}

/* To who reads, nothing has happened. */
static void
look(scene *s)
{
    cascade_snapshot *snapshot = NULL;
    size_t receipts = 0;

    expect(status_of(s) == s->before);
    expect_sound(s);
    expect(cascade_snapshot_load(s->db->stores[0], &s->id, NULL, &snapshot) ==
           CASCADE_OK);
    for (size_t i = 0;
         i < cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY); i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);
        bool receipt = strcmp(info->node_name, CSC_RETRY_NAME) == 0 ||
                       strcmp(info->node_name, CSC_RERUN_NAME) == 0;

        receipts += receipt;
        expect(receipts == 0 || receipt || info->superseded_by >= 0);
        expect(receipts > 0 || info->superseded_by < 0);
    }
    expect(receipts == 1);
    cascade_snapshot_free(snapshot);
}

/* From where its command runs it again. */
static void
fork_it(scene *s)
{
    const cascade_fork_options options = {.size = sizeof(options),
                                          .from = LATER + 1};
    cascade_started started;

    expect(cascade_fork(s->db->stores[0], &s->id, &options, &started) ==
           CASCADE_OK);
    s->fork = started.id;
}

static bool
is_stopping(void *context)
{
    scene *s = context;
    bool stopping = false;

    pthread_mutex_lock(&s->engine->mutex);
    stopping = s->engine->life == CSC_LIFE_DRAINING;
    pthread_mutex_unlock(&s->engine->mutex);
    return stopping;
}

static void
act(scene *s, meanwhile then)
{
    const cascade_request_options again = {.size = sizeof(again),
                                           .request_id = "again"};
    cascade_store *store = s->db->stores[0];

    switch (then) {
    case MEANWHILE_NOTHING:
        break;
    case MEANWHILE_LOOK:
        look(s);
        expect_explained(s);
        break;
    case MEANWHILE_TERMINATE:
        expect(cascade_terminate(store, &s->id, NULL) == CASCADE_OK ||
               s->before != CASCADE_RUNNING);
        break;
    case MEANWHILE_RETRY:
        expect(cascade_retry(store, &s->id, &again) == CASCADE_OK);
        break;
    case MEANWHILE_DELETE:
        expect(cascade_delete(store, &s->id, NULL) == CASCADE_OK);
        break;
    case MEANWHILE_FORK:
        fork_it(s);
        break;
    case MEANWHILE_STOP:
        atomic_store(&s->stops, true);
        expect(stores_until(is_stopping, s));
        break;
    }
}

static cascade_err
behind(void *context, const wrap_call *call, cascade_err answer)
{
    scene *s = context;

    if (call->move != WRAP_COMMIT || answer != CASCADE_OK ||
        count_batch(call->batch) == 0)
        return answer;
    if (atomic_load(&s->lost) && fences(s, atomic_fetch_add(&s->slices, 1)))
        return cascade_store_fail(CASCADE_ERR_FENCED, "as if it were removed");
    if (atomic_load(&s->slices) >= 2)
        act(s, (meanwhile)atomic_exchange(&s->then, MEANWHILE_NOTHING));
    return answer;
}

/* ---- The nodes ----------------------------------------------------------- */

static cascade_err
fan_out(cascade_node *node, void *user)
{
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = HOUR_MS};

    (void)user;
    for (int i = 0; i < LATER; i++)
        expect(cascade_node_spawn(node, "later", NULL, &later) == CASCADE_OK);
    for (int i = 0; i < WAITS; i++)
        expect(cascade_node_spawn(node, "waits", NULL, NULL) == CASCADE_OK);
    return CASCADE_OK;
}

static cascade_err
end_at_once(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static cascade_err
wait_for_signal(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

/* ---- The scene ----------------------------------------------------------- */

typedef struct tally {
    const char *node;
    cascade_execution_status status;
    bool closed; /* only what was superseded while it ran */
    size_t count;
} tally;

static cascade_err
count_row(void *context, const cascade_execution_row *row)
{
    tally *t = context;

    t->count += strcmp(row->node_name, t->node) == 0 &&
                row->status == t->status && (!t->closed || is_closed(row));
    return CASCADE_OK;
}

static cascade_err
pass(void *context, const cascade_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static size_t
count_rows(scene *s, const char *node, cascade_execution_status status,
           bool closed)
{
    tally t = {node, status, closed, 0};
    cascade_store *store = s->db->stores[0];
    cascade_load_sink sink = {
        .context = &t, .on_cascade = pass, .on_execution = count_row};

    assert_ok(store->driver->load(store->self, &s->id, 1,
                                  CASCADE_LOAD_EXECUTIONS, &sink));
    return t.count;
}

static bool
all_wait(void *context)
{
    return count_rows(context, "cascade.await:go", CASCADE_EXECUTION_RUNNING,
                      false) == WAITS;
}

static void
start_engine(scene *s)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_THREADS,
                                      .poll_interval_ms = 20,
                                      .worker_count = 2,
                                      .lane_count = 1};

    s->engine = db_engine(s->db, s->store, &options);
    assert_ok(cascade_engine_register(s->engine, "fan", fan_out, s, NULL));
    assert_ok(
        cascade_engine_register(s->engine, "later", end_at_once, s, NULL));
    assert_ok(
        cascade_engine_register(s->engine, "waits", wait_for_signal, s, NULL));
    assert_ok(cascade_engine_start(s->engine));
}

static scene *
scene_open(test_db *db, bool terminates)
{
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->db = db;
    s->before = terminates ? CASCADE_ERROR : CASCADE_RUNNING;
    assert_int_equal(wrap_store_init(&s->wrap, db->url), 0);
    s->wrap.context = s;
    s->wrap.before = weigh;
    s->wrap.after = behind;
    s->wrap.inner_deadline_ms = DB_DEADLINE_MS;
    (void)db_store(db);
    s->store = db_wrapped(db, &s->wrap);
    start_engine(s);
    s->id = db_start(s->store, "fan");
    assert_true(stores_until(all_wait, s));
    if (!terminates)
        return s;
    assert_ok(cascade_terminate(db->stores[0], &s->id, NULL));
    db_await(s->store, &s->id, CASCADE_ERROR);
    return s;
}

static void
scene_close(scene *s)
{
    db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    wrap_store_fini(&s->wrap);
    free(s);
}

static cascade_err
retry(scene *s)
{
    const cascade_request_options options = {
        .size = sizeof(options), .request_id = "one", .wait_ms = 120000};

    return cascade_retry(s->db->stores[0], &s->id, &options);
}

static bool
is_closed_all(void *context)
{
    scene *s = context;

    return all_wait(s) &&
           count_rows(s, "later", CASCADE_EXECUTION_FAILED, true) == LATER &&
           count_rows(s, "waits", CASCADE_EXECUTION_FAILED, true) == WAITS &&
           count_rows(s, "cascade.await:go", CASCADE_EXECUTION_FAILED, true) ==
               WAITS;
}

/* All of it runs again, by as many rows as of one commit. */
static void
scene_check(scene *s, const char *receipt)
{
    assert_true(stores_until(is_closed_all, s));
    assert_int_equal(status_of(s), CASCADE_RUNNING);
    assert_int_equal(count_rows(s, receipt, CASCADE_EXECUTION_COMPLETED, false),
                     1);
    assert_int_equal(count_rows(s, "later", CASCADE_EXECUTION_RUNNING, false),
                     LATER);
    assert_int_equal(count_rows(s, "waits", CASCADE_EXECUTION_RUNNING, false),
                     WAITS);
    expect_sound(s);
}

/* ---- Tests --------------------------------------------------------------- */

static void
a_retry_is_cut_into_bounded_commits(test_db *db)
{
    scene *s = scene_open(db, true);

    assert_ok(retry(s));
    scene_check(s, CSC_RETRY_NAME);
    assert_in_range(atomic_load(&s->most), 1, ROWS_MAX);
    assert_true(atomic_load(&s->slices) >= SLICES_MIN);
    scene_close(s);
}

static void
goes_on_after_fences(test_db *db, bool lost)
{
    scene *s = scene_open(db, true);

    atomic_store(&s->lost, lost);
    atomic_store(&s->fence_at, 1);
    atomic_store(&s->fences, FENCES);
    assert_ok(retry(s));
    scene_check(s, CSC_RETRY_NAME);
    assert_true(atomic_load(&s->fence_at) > FENCE_EVERY);
    scene_close(s);
}

/* What the first slices did is there; the others follow, by the rows. */
static void
a_retry_goes_on_after_its_engine_is_fenced(test_db *db)
{
    goes_on_after_fences(db, false);
}

static void
a_retry_goes_on_after_a_slice_whose_answer_is_lost(test_db *db)
{
    goes_on_after_fences(db, true);
}

/* Today's deadline is enough, as less is tried. */
static void
a_retry_is_as_slow_as_the_deadline_allows(test_db *db)
{
    scene *s = scene_open(db, true);

    db_close_engine(db, s->engine);
    s->store->config.deadline_ms = DEADLINE_MS;
    start_engine(s);
    atomic_store(&s->slow, true);
    assert_ok(retry(s));
    scene_check(s, CSC_RETRY_NAME);
    assert_in_range(atomic_load(&s->most), 1, FEW);
    scene_close(s);
}

static void
nobody_sees_a_part_of_it(test_db *db)
{
    scene *s = scene_open(db, true);

    atomic_store(&s->then, MEANWHILE_LOOK);
    assert_ok(retry(s));
    assert_int_equal(atomic_load(&s->then), MEANWHILE_NOTHING);
    scene_check(s, CSC_RETRY_NAME);
    scene_close(s);
}

static bool
is_second_refused(void *context)
{
    return count_rows(context, CSC_RETRY_NAME, CASCADE_EXECUTION_FAILED,
                      false) == 1;
}

/* As soon as it is in force there is something to end. */
static void
a_second_retry_comes_behind_it(test_db *db)
{
    scene *s = scene_open(db, true);

    atomic_store(&s->then, MEANWHILE_RETRY);
    assert_ok(retry(s));
    scene_check(s, CSC_RETRY_NAME);
    assert_true(stores_until(is_second_refused, s));
    scene_close(s);
}

static bool
is_gone(void *context)
{
    scene *s = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(s->db->stores[0], &s->id, &info);

    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND;
}

static void
a_deletion_comes_behind_it(test_db *db)
{
    scene *s = scene_open(db, true);

    atomic_store(&s->then, MEANWHILE_DELETE);
    (void)retry(s);
    assert_true(stores_until(is_gone, s));
    assert_true(atomic_load(&s->slices) >= SLICES_MIN);
    scene_close(s);
}

/* What was RUNNING is closed, and what was asked for meanwhile is done. */
static void
a_rerun_of_what_runs_is_cut_too(test_db *db)
{
    const cascade_rerun_options options = {
        .size = sizeof(options), .from = 1, .wait_ms = 120000};
    scene *s = scene_open(db, false);

    atomic_store(&s->then, MEANWHILE_LOOK);
    atomic_store(&s->fence_at, 4);
    assert_ok(cascade_rerun(db->stores[0], &s->id, &options));
    scene_check(s, CSC_RERUN_NAME);
    assert_in_range(atomic_load(&s->most), 1, ROWS_MAX);
    atomic_store(&s->then, MEANWHILE_NOTHING);
    assert_ok(cascade_terminate(db->stores[0], &s->id, NULL));
    db_await(s->store, &s->id, CASCADE_ERROR);
    assert_ok(retry(s));
    assert_true(stores_until(all_wait, s));
    expect_sound(s);
    scene_close(s);
}

static void
a_termination_comes_behind_it(test_db *db)
{
    const cascade_rerun_options options = {
        .size = sizeof(options), .from = 1, .wait_ms = 120000};
    scene *s = scene_open(db, false);

    atomic_store(&s->then, MEANWHILE_TERMINATE);
    assert_ok(cascade_rerun(db->stores[0], &s->id, &options));
    db_await(s->store, &s->id, CASCADE_ERROR);
    assert_int_equal(
        count_rows(s, CSC_RERUN_NAME, CASCADE_EXECUTION_COMPLETED, false), 1);
    assert_int_equal(count_rows(s, "later", CASCADE_EXECUTION_FAILED, true),
                     LATER);
    expect_sound(s);
    scene_close(s);
}

/* It is undelivered, and what it had made counts for nobody; another one makes
 * all of it. */
static void
a_retry_that_is_refused_in_between_is_given_up(test_db *db)
{
    const cascade_request_options two = {
        .size = sizeof(two), .request_id = "two", .wait_ms = 120000};
    scene *s = scene_open(db, true);

    atomic_store(&s->refused, true);
    assert_fails(CASCADE_ERR_REFUSED, retry(s));
    atomic_store(&s->refused, false);
    look(s);
    assert_ok(cascade_retry(db->stores[0], &s->id, &two));
    assert_int_equal(
        count_rows(s, CSC_RETRY_NAME, CASCADE_EXECUTION_COMPLETED, false), 1);
    assert_int_equal(status_of(s), CASCADE_RUNNING);
    assert_true(count_rows(s, "later", CASCADE_EXECUTION_RUNNING, false) >
                LATER);
    expect_sound(s);
    scene_close(s);
}

/* What is not done yet is none of its past: there it would be gone on with. */
static void
a_fork_in_between_has_nothing_of_it(test_db *db)
{
    const cascade_rerun_options options = {
        .size = sizeof(options), .from = 1, .wait_ms = 120000};
    scene *s = scene_open(db, false);

    atomic_store(&s->then, MEANWHILE_FORK);
    assert_ok(cascade_rerun(db->stores[0], &s->id, &options));
    scene_check(s, CSC_RERUN_NAME);
    s->id = s->fork;
    for (int status = CASCADE_EXECUTION_RUNNING;
         status <= CASCADE_EXECUTION_FAILED; status++)
        assert_int_equal(count_rows(s, CSC_RERUN_NAME,
                                    (cascade_execution_status)status, false),
                         0);
    assert_int_equal(status_of(s), CASCADE_RUNNING);
    scene_close(s);
}

static bool
is_to_be_stopped(void *context)
{
    return atomic_load(&((scene *)context)->stops);
}

/* The next owner goes on. */
static void
a_stop_waits_for_one_slice(test_db *db)
{
    const cascade_request_options one = {.size = sizeof(one),
                                         .request_id = "one"};
    scene *s = scene_open(db, true);

    atomic_store(&s->then, MEANWHILE_STOP);
    assert_ok(cascade_retry(db->stores[0], &s->id, &one));
    assert_true(stores_until(is_to_be_stopped, s));
    assert_ok(cascade_engine_stop(s->engine, -1));
    assert_true(atomic_load(&s->slices) < SLICES_MIN);
    assert_int_equal(status_of(s), CASCADE_ERROR);
    db_close_engine(db, s->engine);
    start_engine(s);
    assert_ok(retry(s));
    scene_check(s, CSC_RETRY_NAME);
    scene_close(s);
}

/* There are fewer function_ids than rows, and more than a slice has. */
static void
one_that_has_too_few_ids_changes_nothing(test_db *db)
{
    scene *s = scene_open(db, true);

    db->unsound = true; /* V15: the numbers in between are not used */
    raw_sql(db, "UPDATE node_executions SET function_id = 2147483500"
                " WHERE function_id = (SELECT fn_id FROM cascades)");
    raw_sql(db, "UPDATE cascades SET fn_id = 2147483500");
    assert_fails(CASCADE_ERR_REFUSED, retry(s));
    assert_non_null(strstr(cascade_errmsg(), "function_ids"));
    assert_int_equal(status_of(s), CASCADE_ERROR);
    assert_int_equal(
        count_rows(s, CSC_RETRY_NAME, CASCADE_EXECUTION_FAILED, false), 1);
    assert_int_equal(count_rows(s, "later", CASCADE_EXECUTION_RUNNING, false),
                     LATER);
    scene_close(s);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_retry_is_cut_into_bounded_commits",
         a_retry_is_cut_into_bounded_commits, STORES_ALL},
        {"a_retry_goes_on_after_its_engine_is_fenced",
         a_retry_goes_on_after_its_engine_is_fenced, STORES_ALL},
        {"a_retry_goes_on_after_a_slice_whose_answer_is_lost",
         a_retry_goes_on_after_a_slice_whose_answer_is_lost, STORES_ALL},
        {"a_retry_is_as_slow_as_the_deadline_allows",
         a_retry_is_as_slow_as_the_deadline_allows, STORES_ALL},
        {"nobody_sees_a_part_of_it", nobody_sees_a_part_of_it, STORES_ALL},
        {"a_second_retry_comes_behind_it", a_second_retry_comes_behind_it,
         STORES_ALL},
        {"a_deletion_comes_behind_it", a_deletion_comes_behind_it, STORES_ALL},
        {"a_rerun_of_what_runs_is_cut_too", a_rerun_of_what_runs_is_cut_too,
         STORES_ALL},
        {"a_termination_comes_behind_it", a_termination_comes_behind_it,
         STORES_ALL},
        {"a_retry_that_is_refused_in_between_is_given_up",
         a_retry_that_is_refused_in_between_is_given_up, STORES_ALL},
        {"a_fork_in_between_has_nothing_of_it",
         a_fork_in_between_has_nothing_of_it, STORES_ALL},
        {"a_stop_waits_for_one_slice", a_stop_waits_for_one_slice, STORES_ALL},
        {"one_that_has_too_few_ids_changes_nothing",
         one_that_has_too_few_ids_changes_nothing, STORES_FILES},
    };

    return stores_run("reset_slices", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
