/* SPDX-License-Identifier: MIT
 *
 * The deletion of a cascade with many executions: one commit makes it absent,
 * whatever its size, and its rows are erased in pieces of a bounded size, which
 * go on when an engine dies between two of them. Until then its id is taken,
 * and its key goes on.
 */
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "support/stores.h"

#define LATER 1300 /* executions that are to begin in an hour */
#define HOUR_MS (INT64_C(3600) * 1000)
#define KEY "large"

typedef struct scene {
    test_db *db;
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    cascade_uuid id;
    atomic_size_t deletions; /* commits that delete */
    atomic_size_t pieces;    /* erased behind them, with something left */
    atomic_size_t stay_at;   /* the piece that is not made; 0: none */
} scene;

/* ---- What is done -------------------------------------------------------- */

static size_t
count_deletions(const cascade_batch *batch)
{
    size_t count = 0;

    for (size_t i = 0; i < batch->change_count; i++)
        count += batch->changes[i].run_action == CASCADE_RUN_DELETE;
    return count;
}

static cascade_err
before_move(void *context, const wrap_call *call)
{
    scene *s = context;

    if (call->move == WRAP_COMMIT)
        atomic_fetch_add(&s->deletions, count_deletions(call->batch));
    if (call->move != WRAP_ERASE || atomic_load(&s->deletions) == 0)
        return CASCADE_OK;
    if (atomic_load(&s->pieces) + 1 == atomic_load(&s->stay_at))
        return cascade_store_fail(CASCADE_ERR_UNAVAILABLE,
                                  "as if it were slow");
    atomic_fetch_add(&s->pieces, 1);
    return CASCADE_OK;
}

static cascade_err
fan_out(cascade_node *node, void *user)
{
    const cascade_spawn_options later = {.size = sizeof(later),
                                         .delay_ms = HOUR_MS};

    (void)user;
    for (int i = 0; i < LATER; i++)
        expect(cascade_node_spawn(node, "later", NULL, &later) == CASCADE_OK);
    return CASCADE_OK;
}

/* ---- The scene ----------------------------------------------------------- */

static void
open_engine_with(scene *s, cascade_node_fn fan)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_THREADS,
                                      .poll_interval_ms = 20,
                                      .worker_count = 2,
                                      .lane_count = 1};

    s->engine = db_engine(s->db, s->store, &options);
    assert_ok(cascade_engine_register(s->engine, "fan", fan, NULL, NULL));
    assert_ok(cascade_engine_register(s->engine, "later", stores_nothing, NULL,
                                      NULL));
    assert_ok(cascade_engine_start(s->engine));
}

static void
open_engine(scene *s)
{
    open_engine_with(s, fan_out);
}

static bool
has_fanned_out(void *context)
{
    scene *s = context;
    cascade_info *info = NULL;
    bool done = false;

    assert_ok(cascade_get(s->db->stores[0], &s->id, &info));
    done = info->fn_id >= LATER;
    cascade_info_free(info);
    return done;
}

static scene *
scene_open(test_db *db)
{
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = KEY};
    cascade_started started;
    scene *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    s->db = db;
    assert_int_equal(wrap_store_init(&s->wrap, db->url), 0);
    s->wrap.context = s;
    s->wrap.before = before_move;
    (void)db_store(db);
    s->store = db_wrapped(db, &s->wrap);
    open_engine(s);
    assert_ok(cascade_start(s->store, "fan", NULL, &keyed, &started));
    s->id = started.id;
    assert_true(stores_until(has_fanned_out, s));
    return s;
}

static void
scene_end(scene *s)
{
    if (s->engine != NULL)
        db_close_engine(s->db, s->engine);
    db_close_store(s->db, s->store);
    wrap_store_fini(&s->wrap);
    free(s);
}

static bool
has_gone(void *context)
{
    scene *s = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(s->db->stores[0], &s->id, &info);

    cascade_info_free(info);
    return err == CASCADE_ERR_NOT_FOUND;
}

static cascade_err
start_again(scene *s)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .id = &s->id};
    cascade_started started;
    cascade_err err =
        cascade_start(s->db->stores[0], "later", NULL, &options, &started);

    assert_true(err != CASCADE_OK || !started.existed);
    return err;
}

/* Its id is free when the last row is gone. */
static bool
is_erased(void *context)
{
    cascade_err err = start_again(context);

    assert_true(err == CASCADE_OK || err == CASCADE_ERR_AGAIN);
    return err == CASCADE_OK;
}

/* Deletes it; of what is erased then so many pieces are made. */
static void
delete_up_to(scene *s, size_t pieces)
{
    atomic_store(&s->stay_at, pieces + 1);
    assert_ok(cascade_delete(s->db->stores[0], &s->id, NULL));
    assert_true(stores_until(has_gone, s));
}

static bool
has_no_messages(void *context)
{
    scene *s = context;
    cascade_counts counts = {.size = sizeof(counts)};

    assert_ok(cascade_counts_load(s->db->stores[0], &counts));
    return counts.messages == 0;
}

static bool
stays(void *context)
{
    scene *s = context;

    return atomic_load(&s->pieces) + 1 == atomic_load(&s->stay_at);
}

/* ---- Tests --------------------------------------------------------------- */

static void
check_absent(scene *s)
{
    cascade_store *store = s->db->stores[0];
    cascade_check_options options = {.size = sizeof(options)};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_page *page = NULL;

    assert_ok(cascade_verify(store, &options, &report));
    assert_int_equal(report.findings, 0);
    assert_ok(cascade_list(store, NULL, &page));
    assert_int_equal(cascade_page_count(page), 0);
    cascade_page_free(page);
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_retry(store, &s->id, NULL));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_delete(store, &s->id, NULL));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_signal(store, &s->id, "go", NULL, NULL));
    assert_fails(CASCADE_ERR_AGAIN, start_again(s));
}

/* Its document is no cascade that is there, until its id is free. */
static void
its_document_has_to_wait(test_db *db)
{
    cascade_started started;
    char *document = NULL;
    scene *s = scene_open(db);
    cascade_store *store = s->db->stores[0];

    assert_ok(cascade_export(store, &s->id, NULL, &document));
    delete_up_to(s, 1);
    assert_fails(CASCADE_ERR_AGAIN,
                 cascade_import(store, document, NULL, &started));
    assert_non_null(strstr(cascade_errmsg(), "still being erased"));
    db_close_engine(db, s->engine);
    s->engine = NULL;
    assert_ok(cascade_purge(
        store, &(cascade_purge_options){.size = sizeof(cascade_purge_options)},
        NULL));
    assert_ok(cascade_import(store, document, NULL, &started));
    assert_false(started.existed);
    cascade_document_free(document);
    scene_end(s);
}

static void
one_commit_makes_it_absent(test_db *db)
{
    scene *s = scene_open(db);

    delete_up_to(s, 0);
    check_absent(s);
    assert_int_equal(atomic_load(&s->deletions), 1);
    assert_int_equal(atomic_load(&s->pieces), 0);
    atomic_store(&s->stay_at, 0);
    assert_true(stores_until(is_erased, s));
    assert_true(atomic_load(&s->pieces) >= LATER / CASCADE_DELETE_ROWS_MAX);
    assert_int_equal(atomic_load(&s->deletions), 1);
    scene_end(s);
}

/* What it has claimed is another's when it is gone. */
static void
another_engine_goes_on_with_the_pieces(test_db *db)
{
    scene *s = scene_open(db);

    delete_up_to(s, 1);
    assert_true(stores_until(stays, s));
    check_absent(s);
    db_close_engine(db, s->engine);
    assert_fails(CASCADE_ERR_AGAIN, start_again(s));
    atomic_store(&s->stay_at, 0);
    open_engine(s);
    assert_true(stores_until(is_erased, s));
    scene_end(s);
}

static cascade_err
fan_out_now(cascade_node *node, void *user)
{
    (void)user;
    for (int i = 0; i < LATER; i++)
        expect(cascade_node_spawn(node, "later", NULL, NULL) == CASCADE_OK);
    return CASCADE_OK;
}

/* Whether it has continued as new stands in one of its executions: where that
 * is to be known they are read in pages, of which none takes long. Who deletes
 * it looks at the first one. */
static void
one_that_has_ended_is_asked_in_pages(test_db *db)
{
    scene *s = scene_open(db);
    size_t scans = 0;

    db_close_engine(db, s->engine);
    open_engine_with(s, fan_out_now);
    s->id = db_start(s->store, "fan");
    db_await(s->store, &s->id, CASCADE_COMPLETED);
    scans = wrap_store_count(&s->wrap, WRAP_SCAN);
    assert_fails(CASCADE_ERR_ENDED,
                 cascade_signal(s->store, &s->id, "go", NULL, NULL));
    assert_true(wrap_store_count(&s->wrap, WRAP_SCAN) - scans >=
                LATER / 1000 + 1);
    assert_true(stores_until(has_no_messages, s));
    scans = wrap_store_count(&s->wrap, WRAP_SCAN);
    assert_ok(cascade_delete(s->store, &s->id, NULL));
    assert_int_equal(wrap_store_count(&s->wrap, WRAP_SCAN) - scans, 1);
    assert_true(stores_until(has_gone, s));
    assert_true(stores_until(is_erased, s));
    scene_end(s);
}

/* The first run is marked: the next start is that of the second. */
static void
its_key_goes_on_meanwhile(test_db *db)
{
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = KEY};
    cascade_started started;
    cascade_started again;
    scene *s = scene_open(db);

    delete_up_to(s, 0);
    assert_ok(cascade_start(s->store, "later", NULL, &keyed, &started));
    assert_false(started.existed);
    assert_memory_not_equal(&started.id, &s->id, sizeof(s->id));
    assert_ok(cascade_start(s->store, "later", NULL, &keyed, &again));
    assert_true(again.existed);
    assert_memory_equal(&again.id, &started.id, sizeof(again.id));
    atomic_store(&s->stay_at, 0);
    assert_true(stores_until(is_erased, s));
    scene_end(s);
}

/* The call does it itself, by an engine of its own. */
static void
who_is_alone_erases_all_of_it(test_db *db)
{
    scene *s = scene_open(db);

    db_close_engine(db, s->engine);
    s->engine = NULL;
    assert_ok(cascade_delete(s->store, &s->id, NULL));
    assert_true(has_gone(s));
    assert_ok(start_again(s));
    scene_end(s);
}

static void
who_purges_erases_all_of_it(test_db *db)
{
    const cascade_purge_options all = {.size = sizeof(all)};
    const cascade_request_options wait = {.size = sizeof(wait),
                                          .wait_ms = DB_WAIT_MS};
    scene *s = scene_open(db);

    assert_ok(cascade_terminate(s->store, &s->id, &wait));
    db_close_engine(db, s->engine);
    s->engine = NULL;
    assert_ok(cascade_purge(s->store, &all, NULL));
    assert_true(has_gone(s));
    assert_ok(start_again(s));
    scene_end(s);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"one_commit_makes_it_absent", one_commit_makes_it_absent, STORES_ALL},
        {"its_document_has_to_wait", its_document_has_to_wait, STORES_ALL},
        {"another_engine_goes_on_with_the_pieces",
         another_engine_goes_on_with_the_pieces, STORES_ALL},
        {"one_that_has_ended_is_asked_in_pages",
         one_that_has_ended_is_asked_in_pages, STORES_ALL},
        {"its_key_goes_on_meanwhile", its_key_goes_on_meanwhile, STORES_ALL},
        {"who_is_alone_erases_all_of_it", who_is_alone_erases_all_of_it,
         STORES_ALL},
        {"who_purges_erases_all_of_it", who_purges_erases_all_of_it,
         STORES_ALL},
    };

    return stores_run("erasures", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
