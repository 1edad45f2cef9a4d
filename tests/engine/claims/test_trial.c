/* SPDX-License-Identifier: MIT
 *
 * A cascade that takes its engine down as soon as it is loaded: it is ended
 * unread, after a bounded number of engines, and everything else goes on. What
 * kills in a node is in test_life.c and test_handover.c.
 */
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "store/store.h"
#include "support/dump.h"
#include "support/stores.h"

#define SUSPECT_FROM 3
#define LIMIT 3
/* The last one had it only to fail what was to run. */
#define DEATHS (SUSPECT_FROM + LIMIT + 1)
#define LIVES 32
#define HOUR_MS (INT64_C(3600) * 1000)
#define OTHERS 5
#define POISON                                                        \
    "poisoned: 7 engines in turn died while they held this cascade, " \
    "the last one as it was to be loaded"

/* One engine whose process can die: from then on it reaches no store. */
typedef struct life {
    wrap_store wrap;
    cascade_store *store;
    cascade_engine *engine;
    struct play *play;
    bool dead;
} life;

typedef struct play {
    test_db *db;
    cascade_store *store; /* that nobody dies of */
    cascade_uuid bomb;
    cascade_uuid others[OTHERS];
    bool defused;
    life *lives[LIVES];
    size_t used;
    bool (*done)(struct play *p);
} play;

/* What of it is read whole. */
static bool
loads_bomb(const play *p, const wrap_call *call)
{
    if (call->move != WRAP_LOAD || (call->parts & CASCADE_LOAD_EXECUTIONS) == 0)
        return false;
    for (size_t i = 0; i < call->id_count; i++)
        if (memcmp(&call->ids[i], &p->bomb, sizeof(p->bomb)) == 0)
            return true;
    return false;
}

static cascade_err
reach(void *context, const wrap_call *call)
{
    life *l = context;

    l->dead = l->dead || (!l->play->defused && loads_bomb(l->play, call));
    return l->dead ? CASCADE_ERR_UNAVAILABLE : CASCADE_OK;
}

/* Takes its engine down; whoever loads it dies from then on. */
static cascade_err
explode(cascade_node *node, void *user)
{
    life *l = user;

    l->play->bomb = *cascade_node_cascade_id(node);
    l->dead = true;
    return CASCADE_OK;
}

static cascade_err
beget(cascade_node *node, void *user)
{
    cascade_uuid child;
    cascade_err err =
        cascade_node_start_child(node, "one", "explode", NULL, NULL, &child);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_await_child(node, &child, NULL);
    if (err != CASCADE_ERR_FAILED)
        return err;
    return cascade_node_put(node, "told", cJSON_CreateTrue());
}

/* Where time passes by itself no lease ends but that of the dead, or else who
 * is late would be one of them. */
static void
end_leases(const play *p)
{
    if (!p->db->fake_time)
        assert_int_equal(
            db_sql(p->db, "UPDATE cascade_engines SET lease_until = 0"), 0);
}

static life *
be_born(play *p)
{
    cascade_engine_options options = {.size = sizeof(options),
                                      .mode = CASCADE_MODE_INLINE,
                                      .lease_ms =
                                          p->db->fake_time ? 200 : HOUR_MS,
                                      .poll_interval_ms = 20,
                                      .poison_limit = LIMIT};
    life *l = calloc(1, sizeof(*l));

    assert_non_null(l);
    assert_true(p->used < LIVES);
    p->lives[p->used++] = l;
    l->play = p;
    assert_int_equal(wrap_store_init(&l->wrap, p->db->url), 0);
    l->wrap.context = l;
    l->wrap.before = reach;
    l->store = db_wrapped(p->db, &l->wrap);
    l->engine = db_engine(p->db, l->store, &options);
    assert_ok(
        cascade_engine_register(l->engine, "n", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_register(l->engine, "explode", explode, l, NULL));
    assert_ok(cascade_engine_register(l->engine, "beget", beget, NULL, NULL));
    assert_ok(cascade_engine_start(l->engine));
    return l;
}

static void
bury(play *p, life *l)
{
    for (size_t i = 0; i < p->db->engine_count; i++)
        if (p->db->engines[i] == l->engine)
            p->db->engines[i] = NULL;
    (void)cascade_engine_stop(l->engine, 0);
    assert_ok(cascade_engine_close(l->engine));
    db_close_store(p->db, l->store);
    wrap_store_fini(&l->wrap);
    free(l);
}

static bool
dead_or_done(void *context)
{
    play *p = context;

    return p->lives[p->used - 1]->dead || p->done(p);
}

/* Engines follow one another until that is so, or so many more have died; how
 * many have. */
static size_t
live_until(play *p, bool (*done)(play *p), size_t deaths_max)
{
    size_t deaths = 0;

    p->done = done;
    while (deaths < deaths_max) {
        life *l = p->lives[p->used - 1];

        assert_true(db_poll_until(p->db, &l->engine, 1, dead_or_done, p));
        if (!l->dead)
            return deaths;
        deaths++;
        end_leases(p);
        (void)be_born(p);
    }
    return deaths;
}

/* With nothing to do. */
static void
begin_world(play *p, test_db *db)
{
    *p = (play){.db = db};
    db->fake_time = db->backend->virtual_time;
    p->store = db_store(db);
}

static void
begin(play *p, test_db *db)
{
    begin_world(p, db);
    p->bomb = db_start(p->store, "n");
    for (size_t i = 0; i < OTHERS; i++)
        p->others[i] = db_start(p->store, "n");
    (void)be_born(p);
}

static void
end(play *p)
{
    while (p->used > 0)
        bury(p, p->lives[--p->used]);
}

static bool
all_have_ended(play *p)
{
    db_ends bomb = {p->store, &p->bomb, 1, 0};
    db_ends others = {p->store, p->others, OTHERS, 0};

    return db_all_ended(&bomb) && db_all_ended(&others);
}

static dump_rows
read_bomb(play *p)
{
    dump_rows rows = {.found = false};

    assert_ok(
        dump_rows_load(&rows, p->store->driver, p->store->self, &p->bomb));
    assert_true(rows.found);
    return rows;
}

static bool
has_no_messages(play *p)
{
    dump_rows rows = read_bomb(p);
    size_t count = rows.message_count;

    dump_rows_fini(&rows);
    return count == 0;
}

static void
check_row(play *p, size_t at, const char *name, cascade_execution_status status,
          const char *error)
{
    dump_rows rows = read_bomb(p);
    const cascade_execution_row *row = NULL;

    assert_true(rows.execution_count > at);
    row = &rows.executions[at];
    assert_string_equal(row->node_name, name);
    assert_int_equal(row->status, status);
    if (error != NULL)
        assert_string_equal(row->error, error);
    dump_rows_fini(&rows);
}

static void
check_poisoned(play *p)
{
    cascade_snapshot *snapshot = NULL;

    db_await(p->store, &p->bomb, CASCADE_ERROR);
    assert_ok(cascade_snapshot_load(p->store, &p->bomb, NULL, &snapshot));
    assert_string_equal(cascade_snapshot_error(snapshot), POISON);
    cascade_snapshot_free(snapshot);
    check_row(p, 1, "cascade.terminate", CASCADE_EXECUTION_FAILED, POISON);
    for (size_t i = 0; i < OTHERS; i++)
        db_await(p->store, &p->others[i], CASCADE_COMPLETED);
}

static void
what_kills_in_its_load_is_ended_unread(test_db *db)
{
    static play p; /* the engines that a failed test leaves have it */

    begin(&p, db);
    assert_int_equal(live_until(&p, all_have_ended, LIVES), DEATHS);
    check_poisoned(&p);
    end(&p);
}

/* What has come meanwhile is told that it came too late; it brings nobody to
 * load it. */
static void
its_messages_are_undelivered(test_db *db)
{
    static play p; /* the engines that a failed test leaves have it */

    begin(&p, db);
    assert_ok(cascade_signal(p.store, &p.bomb, "go", NULL, NULL));
    assert_ok(cascade_pause(p.store, &p.bomb, NULL));
    assert_int_equal(live_until(&p, all_have_ended, LIVES), DEATHS);
    assert_int_equal(live_until(&p, has_no_messages, LIVES), 0);
    check_poisoned(&p);
    check_row(&p, 2, "cascade.signal:go", CASCADE_EXECUTION_FAILED,
              "undelivered: the cascade had ended");
    check_row(&p, 3, "cascade.pause", CASCADE_EXECUTION_FAILED,
              "undelivered: the cascade had ended");
    end(&p);
}

static const cascade_request_options again = {.size = sizeof(again),
                                              .request_id = "again"};

/* A retry tries all of it again. */
static void
a_retry_tries_again(test_db *db)
{
    static play p; /* the engines that a failed test leaves have it */

    begin(&p, db);
    assert_int_equal(live_until(&p, all_have_ended, LIVES), DEATHS);
    p.defused = true;
    assert_ok(cascade_retry(p.store, &p.bomb, &again));
    assert_int_equal(live_until(&p, has_no_messages, LIVES), 0);
    assert_int_equal(live_until(&p, all_have_ended, LIVES), 0);
    db_await(p.store, &p.bomb, CASCADE_COMPLETED);
    end(&p);
}

/* And is refused where it has killed as many once more. */
static void
a_retry_that_kills_is_refused(test_db *db)
{
    cascade_request_options told = again;
    static play p; /* the engines that a failed test leaves have it */

    begin(&p, db);
    assert_int_equal(live_until(&p, all_have_ended, LIVES), DEATHS);
    assert_ok(cascade_retry(p.store, &p.bomb, &again));
    assert_int_equal(live_until(&p, has_no_messages, LIVES), DEATHS);
    check_poisoned(&p);
    check_row(&p, 2, "cascade.retry", CASCADE_EXECUTION_FAILED,
              "undelivered: one engine after the other died when it was to "
              "load the cascade for that");
    told.wait_ms = 1;
    assert_int_equal(cascade_retry(p.store, &p.bomb, &told),
                     CASCADE_ERR_REFUSED);
    end(&p);
}

static bool
parent_has_ended(play *p)
{
    db_ends parent = {p->store, p->others, 1, 0};

    return db_all_ended(&parent);
}

/* Its parent goes on. */
static void
its_parent_is_told(test_db *db)
{
    static play p; /* the engines that a failed test leaves have it */

    begin_world(&p, db);
    p.others[0] = db_start(p.store, "beget");
    (void)be_born(&p);
    assert_int_equal(live_until(&p, parent_has_ended, LIVES), DEATHS);
    db_await(p.store, &p.bomb, CASCADE_ERROR);
    db_await(p.store, &p.others[0], CASCADE_COMPLETED);
    end(&p);
}

/* What a run that has completed is sent may have to go to the next one, which
 * only its executions name. */
static void
what_has_completed_is_not_loaded_for_ever(test_db *db)
{
    static play p; /* the engines that a failed test leaves have it */

    begin(&p, db);
    p.defused = true;
    assert_int_equal(live_until(&p, all_have_ended, LIVES), 0);
    db_await(p.store, &p.bomb, CASCADE_COMPLETED);
    p.defused = false;
    assert_int_equal(cascade_signal(p.store, &p.bomb, "go", NULL, NULL),
                     CASCADE_ERR_ENDED);
    assert_int_equal(live_until(&p, has_no_messages, LIVES), DEATHS);
    db_await(p.store, &p.bomb, CASCADE_COMPLETED);
    check_row(&p, 1, "cascade.signal:go", CASCADE_EXECUTION_FAILED,
              "undelivered: the cascade had ended");
    end(&p);
}

/* What is asked for is done, where it needs no load. */
static void
it_can_be_deleted(test_db *db)
{
    cascade_info *info = NULL;
    static play p; /* the engines that a failed test leaves have it */

    begin(&p, db);
    assert_int_equal(live_until(&p, all_have_ended, LIVES), DEATHS);
    assert_ok(cascade_delete(p.store, &p.bomb, NULL));
    for (int i = 0;
         i < 1000 && cascade_get(p.store, &p.bomb, &info) == CASCADE_OK; i++) {
        cascade_info_free(info);
        assert_ok(cascade_engine_poll(p.lives[p.used - 1]->engine, 100, NULL));
        if (db->fake_time)
            fake_clock_advance(&db->clock, 10);
    }
    assert_int_equal(cascade_get(p.store, &p.bomb, &info),
                     CASCADE_ERR_NOT_FOUND);
    assert_false(p.lives[p.used - 1]->dead);
    end(&p);
}

/* When that fails it is tried again, and the cascade is not loaded instead. */
static void
what_cannot_be_ended_now_is_not_loaded(test_db *db)
{
    static play p; /* the engines that a failed test leaves have it */

    begin(&p, db);
    assert_int_equal(live_until(&p, all_have_ended, DEATHS), DEATHS);
    wrap_store_fail(&p.lives[p.used - 1]->wrap, WRAP_LOAD, 0, 3, WRAP_BEFORE,
                    CASCADE_ERR_UNAVAILABLE);
    assert_int_equal(live_until(&p, all_have_ended, LIVES), 0);
    check_poisoned(&p);
    end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_kills_in_its_load_is_ended_unread",
         what_kills_in_its_load_is_ended_unread, STORES_ALL},
        {"its_messages_are_undelivered", its_messages_are_undelivered,
         STORES_ALL},
        {"a_retry_tries_again", a_retry_tries_again, STORES_ALL},
        {"a_retry_that_kills_is_refused", a_retry_that_kills_is_refused,
         STORES_ALL},
        {"its_parent_is_told", its_parent_is_told, STORES_ALL},
        {"what_has_completed_is_not_loaded_for_ever",
         what_has_completed_is_not_loaded_for_ever, STORES_ALL},
        {"it_can_be_deleted", it_can_be_deleted, STORES_ALL},
        {"what_cannot_be_ended_now_is_not_loaded",
         what_cannot_be_ended_now_is_not_loaded, STORES_ALL},
    };

    return stores_run("trial", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
