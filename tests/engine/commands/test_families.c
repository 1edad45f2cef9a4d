/* SPDX-License-Identifier: MIT
 *
 * The end of a cascade with many children that run: they are left in commits of
 * a bounded size, and whoever has the cascade next goes on where an engine died
 * between two of them. It has ended with the first commit, or with the last,
 * and goes only when all have been told.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "store/store.h"
#include "support/stores.h"

#define FAMILIES 3
#define EACH 90 /* children of a family */
#define CHILDREN (FAMILIES * EACH)
#define ROWS_MAX 256 /* of a slice: its bytes, 512 a row */
#define LETTERS 120  /* more than one load gives */
#define POLL_MS 20

/* What the parent does once it has started them. */
typedef enum ending {
    FINALE_COMPLETE,
    FINALE_FAIL,
    FINALE_WAIT
} ending;

typedef struct scene {
    test_db *db;
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    ending finale;
    cascade_child_end policy;
    atomic_size_t most;     /* children told in one commit */
    atomic_size_t slices;   /* commits that told some */
    atomic_size_t fence_at; /* the slice that is fenced instead; 0: none */
    atomic_bool retried;
    atomic_bool started;    /* `id` is its own from then on */
    atomic_size_t receipts; /* messages that the parent has received */
    atomic_int letters;     /* to be sent behind the first slice, */
    atomic_bool finishes;   /* and to ask for the deletion behind these */
    atomic_bool retries;    /* ask for a retry there */
    atomic_bool deletes;    /* ask for the deletion there, before all that */
} scene;

/* ---- What is committed --------------------------------------------------- */

static size_t
count_told(const cascade_batch *batch)
{
    static const char end[] = "/message/parent/ended";
    size_t count = 0;

    for (size_t i = 0; i < batch->change_count; i++)
        for (size_t m = 0; m < batch->changes[i].send_count; m++)
            count += strcmp(batch->changes[i].sends[m].path +
                                CASCADE_UUID_TEXT_SIZE - 1,
                            end) == 0;
    return count;
}

static size_t
count_receipts(const scene *s, const cascade_batch *batch)
{
    size_t count = 0;

    if (!atomic_load(&s->started))
        return 0;
    for (size_t i = 0; i < batch->change_count; i++)
        if (csc_uuid_equal(&batch->changes[i].cascade.id, &s->id))
            count += batch->changes[i].received_count;
    return count;
}

static cascade_err
weigh(void *context, const wrap_call *call)
{
    scene *s = context;
    size_t count = call->move == WRAP_COMMIT ? count_told(call->batch) : 0;

    if (call->move == WRAP_COMMIT)
        atomic_fetch_add(&s->receipts, count_receipts(s, call->batch));
    if (count == 0)
        return CASCADE_OK;
    if (count > atomic_load(&s->most))
        atomic_store(&s->most, count);
    if (atomic_fetch_add(&s->slices, 1) + 1 == atomic_load(&s->fence_at))
        return cascade_store_fail(CASCADE_ERR_FENCED, "as if it were removed");
    return CASCADE_OK;
}

static void
send_letters(scene *s, int count)
{
    for (int i = 0; i < count; i++)
        (void)cascade_signal(s->db->stores[0], &s->id, "late", NULL, NULL);
}

/* Messages are there before the second slice is cut. */
static cascade_err
write_between(void *context, const wrap_call *call, cascade_err answer)
{
    const cascade_request_options at_once = {.size = sizeof(at_once)};
    scene *s = context;
    cascade_store *other = s->db->stores[0];

    if (call->move != WRAP_COMMIT || count_told(call->batch) == 0)
        return answer;
    if (atomic_exchange(&s->deletes, false))
        expect(cascade_delete(other, &s->id, &at_once) == CASCADE_OK);
    send_letters(s, atomic_exchange(&s->letters, 0));
    if (atomic_exchange(&s->finishes, false))
        expect(cascade_delete(other, &s->id, &at_once) == CASCADE_OK);
    if (atomic_exchange(&s->retries, false))
        expect(cascade_retry(other, &s->id, &at_once) == CASCADE_OK);
    return answer;
}

/* ---- The nodes ----------------------------------------------------------- */

static cascade_err
have_children(cascade_node *node, void *user)
{
    static const char *const names[FAMILIES] = {"one", "two", "three"};
    scene *s = user;
    const cascade_child_options options = {.size = sizeof(options),
                                           .when_parent_ends = s->policy};
    cJSON *inputs[EACH] = {NULL};
    cascade_uuid ids[EACH];
    cascade_err err = CASCADE_OK;

    if (atomic_load(&s->retried))
        return CASCADE_OK;
    for (size_t i = 0; i < FAMILIES && err == CASCADE_OK; i++)
        err = cascade_node_start_children(node, names[i], "child", inputs, EACH,
                                          &options, ids);
    if (err != CASCADE_OK || s->finale == FINALE_COMPLETE)
        return err;
    if (s->finale == FINALE_FAIL)
        return CASCADE_ERR_FAILED;
    return cascade_node_await(node, "go", -1, NULL);
}

static cascade_err
wait_for_ever(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "never", -1, NULL);
}

/* ---- The scene ----------------------------------------------------------- */

typedef struct tally {
    const char *node;
    cascade_execution_status status;
    size_t count;
} tally;

static cascade_err
count_row(void *context, const cascade_execution_row *row)
{
    tally *t = context;

    t->count += strncmp(row->node_name, t->node, strlen(t->node)) == 0 &&
                row->status == t->status;
    return CASCADE_OK;
}

static size_t
count_rows(scene *s, const char *node, cascade_execution_status status)
{
    tally t = {node, status, 0};
    cascade_store *store = s->db->stores[0];
    cascade_load_sink sink = {.context = &t, .on_execution = count_row};
    cascade_scan scan = {.cascade_id = &s->id, .limit = CASCADE_SCAN_MAX};

    assert_ok(store->driver->scan(store->self, &scan, &sink));
    return t.count;
}

static cascade_totals
totals(scene *s)
{
    cascade_store *store = s->db->stores[0];
    cascade_totals totals = {0};

    assert_ok(store->driver->manage->totals(store->self, &totals));
    return totals;
}

static bool
all_are_born(void *context)
{
    return totals(context).running == CHILDREN + 1;
}

static bool
none_runs(void *context)
{
    cascade_totals now = totals(context);

    return now.running == 0 && now.messages == 0;
}

static bool
has_completed(void *context)
{
    return totals(context).completed == 1;
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
open_engine(scene *s)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_THREADS,
                                      .poll_interval_ms = POLL_MS,
                                      .worker_count = 2,
                                      .lane_count = 1};

    s->engine = db_engine(s->db, s->store, &options);
    assert_ok(
        cascade_engine_register(s->engine, "parent", have_children, s, NULL));
    assert_ok(
        cascade_engine_register(s->engine, "child", wait_for_ever, s, NULL));
    assert_ok(cascade_engine_start(s->engine));
}

static scene *
scene_open(test_db *db, ending finale)
{
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->db = db;
    s->finale = finale;
    s->policy = CASCADE_CHILD_TERMINATE;
    assert_int_equal(wrap_store_init(&s->wrap, db->url), 0);
    s->wrap.context = s;
    s->wrap.before = weigh;
    s->wrap.after = write_between;
    (void)db_store(db);
    s->store = db_wrapped(db, &s->wrap);
    open_engine(s);
    return s;
}

static void
scene_start(scene *s)
{
    s->id = db_start(s->store, "parent");
    atomic_store(&s->started, true);
    if (s->finale == FINALE_WAIT)
        assert_true(stores_until(all_are_born, s));
}

/* Nothing runs any more, nobody was told twice, and nobody too many at once. */
static void
scene_check(scene *s)
{
    assert_true(stores_until(none_runs, s));
    assert_in_range(atomic_load(&s->most), 1, ROWS_MAX);
    assert_true(atomic_load(&s->slices) > CHILDREN / ROWS_MAX);
}

static void
scene_close(scene *s)
{
    if (s->engine != NULL)
        db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    wrap_store_fini(&s->wrap);
    free(s);
}

/* ---- Tests --------------------------------------------------------------- */

static void
one_that_completes_leaves_its_children_in_bounded_commits(test_db *db)
{
    scene *s = scene_open(db, FINALE_COMPLETE);

    scene_start(s);
    db_await(s->store, &s->id, CASCADE_COMPLETED);
    scene_check(s);
    assert_int_equal(
        count_rows(s, CASCADE_CHILD_PREFIX, CASCADE_EXECUTION_FAILED),
        CHILDREN);
    assert_int_equal(totals(s).failed, CHILDREN);
    scene_close(s);
}

/* What the first slices did is there; the others follow. */
static void
one_that_completes_goes_on_after_its_engine_is_fenced(test_db *db)
{
    scene *s = scene_open(db, FINALE_COMPLETE);

    atomic_store(&s->fence_at, 3);
    scene_start(s);
    db_await(s->store, &s->id, CASCADE_COMPLETED);
    scene_check(s);
    assert_int_equal(totals(s).failed, CHILDREN);
    scene_close(s);
}

static void
check_error(scene *s)
{
    db_await(s->store, &s->id, CASCADE_ERROR);
    scene_check(s);
    assert_int_equal(
        count_rows(s, CASCADE_CHILD_PREFIX, CASCADE_EXECUTION_RUNNING),
        CHILDREN);
    assert_int_equal(totals(s).failed, CHILDREN + 1);
    scene_close(s);
}

static void
one_that_fails_tells_its_children_in_bounded_commits(test_db *db)
{
    scene *s = scene_open(db, FINALE_FAIL);

    scene_start(s);
    check_error(s);
}

static void
one_that_is_terminated_tells_its_children_in_bounded_commits(test_db *db)
{
    scene *s = scene_open(db, FINALE_WAIT);

    scene_start(s);
    assert_ok(cascade_terminate(db->stores[0], &s->id, NULL));
    check_error(s);
}

static void
children_are_told_after_the_engine_of_their_parent_is_fenced(test_db *db)
{
    scene *s = scene_open(db, FINALE_WAIT);

    atomic_store(&s->fence_at, 3);
    scene_start(s);
    assert_ok(cascade_terminate(db->stores[0], &s->id, NULL));
    check_error(s);
}

/* It is not loaded: what is read of it is bounded too. */
static void
children_of_one_that_nobody_holds_are_told(test_db *db)
{
    scene *s = scene_open(db, FINALE_WAIT);

    scene_start(s);
    db_close_engine(db, s->engine);
    assert_ok(cascade_terminate(s->store, &s->id, NULL));
    db_await(s->store, &s->id, CASCADE_ERROR);
    open_engine(s);
    check_error(s);
}

static void
check_gone(scene *s)
{
    assert_true(stores_until(is_gone, s));
    scene_check(s);
    assert_int_equal(totals(s).failed, CHILDREN);
    scene_close(s);
}

static void
one_that_is_deleted_goes_when_its_children_are_told(test_db *db)
{
    scene *s = scene_open(db, FINALE_WAIT);

    scene_start(s);
    assert_ok(cascade_delete(db->stores[0], &s->id, NULL));
    check_gone(s);
}

/* The deletion is read long before what tells the children. */
static void
messages_in_between_let_no_child_be_forgotten(test_db *db)
{
    scene *s = scene_open(db, FINALE_WAIT);

    atomic_store(&s->letters, LETTERS);
    atomic_store(&s->deletes, true);
    scene_start(s);
    assert_ok(cascade_terminate(db->stores[0], &s->id, NULL));
    check_gone(s);
}

/* By nobody who would carry it out, too. */
static void
send_terminate(scene *s)
{
    char path[CASCADE_UUID_TEXT_SIZE + 32];
    char id[CASCADE_UUID_TEXT_SIZE];
    const cascade_message_row message = {.cascade_id = s->id,
                                         .kind = "terminate",
                                         .name = "",
                                         .path = path,
                                         .payload = "{}",
                                         .sent_at_ms = 1};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    const cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};

    (void)snprintf(path, sizeof(path), "%s/message/terminate/1",
                   cascade_uuid_format(&s->id, id));
    assert_ok(s->store->driver->submit(s->store->self, &submission));
    assert_int_equal(sent, CASCADE_SENT);
}

/* What tells the children is among the first letters, the deletion behind the
 * last: neither is read with the other. */
static void
a_deletion_waits_for_children_and_for_no_letters(test_db *db)
{
    scene *s = scene_open(db, FINALE_WAIT);

    scene_start(s);
    db_close_engine(db, s->engine);
    send_terminate(s);
    send_letters(s, 2 * LETTERS);
    atomic_store(&s->letters, CASCADE_LOAD_ENDS_MAX);
    atomic_store(&s->finishes, true);
    atomic_store(&s->receipts, 0);
    open_engine(s);
    assert_true(stores_until(is_gone, s));
    assert_in_range(atomic_load(&s->receipts), LETTERS, 4 * LETTERS);
    scene_check(s);
    assert_int_equal(totals(s).failed, CHILDREN);
    scene_close(s);
}

/* Where it does not, what is known of it is told. */
static void
check_completed(scene *s)
{
    cascade_explanation *why = NULL;
    cascade_totals now;

    if (stores_until(has_completed, s))
        return;
    now = totals(s);
    print_error("running %" PRId64 ", failed %" PRId64 ", messages %" PRId64
                "\n",
                now.running, now.failed, now.messages);
    assert_ok(cascade_explain(s->db->stores[0], &s->id, &why));
    for (size_t i = 0; i < cascade_explanation_count(why); i++)
        print_error("%s\n", cascade_explanation_get(why, i)->text);
    cascade_explanation_free(why);
    fail_msg("it has not completed");
}

/* What it supersedes was to end before it. */
static void
a_retry_in_between_lets_no_child_be_forgotten(test_db *db)
{
    scene *s = scene_open(db, FINALE_WAIT);

    s->policy = CASCADE_CHILD_CANCEL;
    scene_start(s);
    atomic_store(&s->retries, true);
    atomic_store(&s->retried, true);
    assert_ok(cascade_terminate(db->stores[0], &s->id, NULL));
    check_completed(s);
    assert_true(stores_until(none_runs, s));
    assert_int_equal(totals(s).failed, CHILDREN);
    scene_close(s);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"one_that_completes_leaves_its_children_in_bounded_commits",
         one_that_completes_leaves_its_children_in_bounded_commits, STORES_ALL},
        {"one_that_completes_goes_on_after_its_engine_is_fenced",
         one_that_completes_goes_on_after_its_engine_is_fenced, STORES_ALL},
        {"one_that_fails_tells_its_children_in_bounded_commits",
         one_that_fails_tells_its_children_in_bounded_commits, STORES_ALL},
        {"one_that_is_terminated_tells_its_children_in_bounded_commits",
         one_that_is_terminated_tells_its_children_in_bounded_commits,
         STORES_ALL},
        {"children_are_told_after_the_engine_of_their_parent_is_fenced",
         children_are_told_after_the_engine_of_their_parent_is_fenced,
         STORES_ALL},
        {"children_of_one_that_nobody_holds_are_told",
         children_of_one_that_nobody_holds_are_told, STORES_ALL},
        {"one_that_is_deleted_goes_when_its_children_are_told",
         one_that_is_deleted_goes_when_its_children_are_told, STORES_ALL},
        {"messages_in_between_let_no_child_be_forgotten",
         messages_in_between_let_no_child_be_forgotten, STORES_ALL},
        {"a_deletion_waits_for_children_and_for_no_letters",
         a_deletion_waits_for_children_and_for_no_letters, STORES_ALL},
        {"a_retry_in_between_lets_no_child_be_forgotten",
         a_retry_in_between_lets_no_child_be_forgotten, STORES_ALL},
    };

    return stores_run("families", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
