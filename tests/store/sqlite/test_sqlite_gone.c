/* SPDX-License-Identifier: MIT
 *
 * A database file that is deleted, moved away or replaced while it is in use:
 * nothing is acknowledged any more that would be gone with the last handle.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cascade/cascade.h"
#include "cascade/sqlite.h"
#include "store/sqlite/sqlite_fixture.h"

#define LEASE_MS 1000
#define DEADLINE_MS 30000
#define LIMIT_MS 60000

static void
assert_says(const char *word)
{
    if (strstr(cascade_errmsg(), word) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", word, cascade_errmsg());
}

/* ---- What happens to the file -------------------------------------------- */

/* To or from a name with ".away" behind it. */
static void
move(const char *path, bool away)
{
    char to[300];

    (void)snprintf(to, sizeof(to), "%s.away", path);
    assert_int_equal(rename(away ? path : to, away ? to : path), 0);
}

static void
move_away(const sqlite_fixture *it)
{
    move(it->path, true);
}

static void
put_back(const sqlite_fixture *it)
{
    move(it->path, false);
}

static void
delete_it(const sqlite_fixture *it)
{
    assert_int_equal(unlink(it->path), 0);
}

/* A copy, as of a backup, beside it; and then in its place. */
static void
make_copy(const sqlite_fixture *it)
{
    char sql[400];
    sqlite3 *db = NULL;

    (void)snprintf(sql, sizeof(sql), "VACUUM INTO '%s.copy'", it->path);
    assert_int_equal(sqlite3_open(it->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void
put_copy(const sqlite_fixture *it)
{
    char copy[300];

    (void)snprintf(copy, sizeof(copy), "%s.copy", it->path);
    assert_int_equal(rename(copy, it->path), 0);
}

static void
replace(const sqlite_fixture *it)
{
    make_copy(it);
    put_copy(it);
}

static void
move_folder_away(const sqlite_fixture *it)
{
    move(it->folder, true);
}

static void
put_folder_back(const sqlite_fixture *it)
{
    move(it->folder, false);
}

typedef struct fate {
    void (*happen)(const sqlite_fixture *it);
    void (*undo)(const sqlite_fixture *it); /* or NULL: it cannot be */
    const char *says;
} fate;

static const fate fates[] = {
    {move_away, put_back, "deleted or moved away"},
    {move_folder_away, put_folder_back, "deleted or moved away"},
    {delete_it, NULL, "deleted or moved away"},
    {replace, NULL, "replaced by another file"},
};
#define FATE_COUNT (sizeof(fates) / sizeof(fates[0]))

/* ---- Moves --------------------------------------------------------------- */

static cascade_err
ignore_row(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)context;
    (void)row;
    (void)run;
    return CASCADE_OK;
}

static cascade_err
list_all(cascade_store *store)
{
    const cascade_query query = {.limit = 10};

    return store->driver->list(store->self, &query, ignore_row, NULL);
}

static void
check_moves(sqlite_fixture *it, cascade_store *store,
            const cascade_uuid *engine_id, cascade_err wrong, const char *says)
{
    cascade_incarnation row = rows_incarnation(&it->rows, 1, LEASE_MS);
    cascade_uuid id = rows_id(&it->rows);
    cascade_err reads =
        wrong == CASCADE_OK ? CASCADE_OK : CASCADE_ERR_UNAVAILABLE;

    assert_int_equal(fixture_submit(store, rows_start(&it->rows, id)), wrong);
    assert_says(says);
    assert_int_equal(
        store->driver->renew(store->self, engine_id, LEASE_MS, NULL), wrong);
    assert_says(says);
    assert_int_equal(store->driver->attach(store->self, &row), wrong);
    assert_int_equal(list_all(store), reads);
    assert_says(says);
    if (wrong != CASCADE_OK)
        assert_says("cascade.db");
}

static void
a_file_that_is_gone_acknowledges_nothing(void **state)
{
    for (size_t i = 0; i < FATE_COUNT; i++) {
        sqlite_fixture *it = *state;
        cascade_store *store = fixture_store(it);
        cascade_uuid engine_id = fixture_attach(it, store);

        check_moves(it, store, &engine_id, CASCADE_OK, "");
        fates[i].happen(it);
        check_moves(it, store, &engine_id, CASCADE_ERR_LOST, fates[i].says);
        if (fates[i].undo != NULL) {
            fates[i].undo(it);
            check_moves(it, store, &engine_id, CASCADE_OK, "");
        }
        assert_int_equal(cascade_store_close(store), CASCADE_OK);
        assert_int_equal(fixture_teardown(state), 0);
        assert_int_equal(fixture_setup(state), 0);
    }
}

/* It is deleted when the transaction is open already. */
static int
delete_in_commit(void *context)
{
    delete_it(context);
    return 0;
}

static void
a_commit_into_a_file_that_is_gone_is_none(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    csc_sqlite *self = store->self;

    (void)sqlite3_commit_hook(self->writer.db, delete_in_commit, it);
    assert_int_equal(
        fixture_submit(store, rows_start(&it->rows, rows_id(&it->rows))),
        CASCADE_ERR_LOST);
    assert_says("cascade.db was deleted");
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(access(it->path, F_OK), -1); /* no new one was made */
}

/* A connection that is opened when another file lies there is not used. */
static void
a_reader_of_another_file_is_not_asked(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    csc_sqlite *self = store->self;

    csc_sqlite_conn_close(&self->readers[0]);
    replace(it);
    assert_int_equal(list_all(store), CASCADE_ERR_UNAVAILABLE);
    assert_says("replaced");
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_CHECK), CASCADE_OK);
}

/* It is not kept either: by then the right file may be there again. */
static void
a_connection_that_has_another_file_is_closed(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    csc_sqlite *self = store->self;
    csc_sqlite_conn *reader = &self->readers[0];

    csc_sqlite_conn_close(reader);
    reader->deadline_ns = INT64_MAX;
    make_copy(it);
    move_away(it);
    put_copy(it);
    assert_int_equal(csc_sqlite_conn_ready(reader), CASCADE_ERR_UNAVAILABLE);
    assert_says("replaced");
    assert_null(reader->db);
    put_back(it);
    assert_int_equal(csc_sqlite_conn_ready(reader), CASCADE_OK);
    assert_int_equal(list_all(store), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

/* Closing the old one leaves the new one, and its log, alone. */
static void
closing_harms_no_file_in_its_place(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = fixture_store(it);
    cascade_store *next = NULL;
    cascade_uuid id = rows_id(&it->rows);

    replace(it);
    next = fixture_store(it);
    assert_int_equal(fixture_submit(next, rows_start(&it->rows, id)),
                     CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(list_all(next), CASCADE_OK);
    assert_int_equal(cascade_store_close(next), CASCADE_OK);
    assert_int_equal(fixture_number(it, "SELECT count(*) FROM cascades"), 1);
}

/* ---- On a connection of the application's -------------------------------- */

static void
a_connection_whose_file_is_gone_is_told(void **state)
{
    sqlite_fixture *it = *state;
    const cascade_store_options options = {.size = sizeof(options)};
    cascade_started started;
    cascade_store *store = NULL;
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(it->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TABLE t (a)", NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(cascade_sqlite_open(db, &options, &store), CASCADE_OK);
    assert_int_equal(cascade_start(store, "n", NULL, NULL, &started),
                     CASCADE_OK);
    delete_it(it);
    assert_int_equal(cascade_start(store, "n", NULL, NULL, &started),
                     CASCADE_ERR_LOST);
    assert_says("cascade.db was deleted");
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

/* ---- With an engine ------------------------------------------------------ */

static cascade_err
do_nothing(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

typedef struct engine_scene {
    sqlite_fixture *it;
    cascade_store *store;
    cascade_engine *engine;
} engine_scene;

static engine_scene
open_scene(sqlite_fixture *it)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .deadline_ms = DEADLINE_MS};
    const cascade_engine_options engine_options = {.size =
                                                       sizeof(engine_options),
                                                   .lease_ms = LEASE_MS,
                                                   .poll_interval_ms = 100};
    engine_scene scene = {.it = it};

    assert_int_equal(cascade_store_open(it->url, &options, &scene.store),
                     CASCADE_OK);
    assert_int_equal(
        cascade_engine_open(scene.store, &engine_options, &scene.engine),
        CASCADE_OK);
    assert_int_equal(cascade_engine_register(scene.engine, "nothing",
                                             do_nothing, NULL, NULL),
                     CASCADE_OK);
    assert_int_equal(cascade_engine_start(scene.engine), CASCADE_OK);
    return scene;
}

static void
close_scene(engine_scene *scene)
{
    assert_int_equal(cascade_engine_stop(scene->engine, LIMIT_MS), CASCADE_OK);
    assert_int_equal(cascade_engine_close(scene->engine), CASCADE_OK);
    assert_int_equal(cascade_store_close(scene->store), CASCADE_OK);
}

static uint64_t
count_losses(const engine_scene *scene)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    assert_int_equal(cascade_engine_get_stats(scene->engine, &stats),
                     CASCADE_OK);
    return stats.losses;
}

static void
await_loss(const engine_scene *scene)
{
    const struct timespec pause = {0, 5000000};
    int64_t end_ms = csc_clock_monotonic_ms(&csc_clock_system) + LIMIT_MS;

    while (count_losses(scene) == 0) {
        if (csc_clock_monotonic_ms(&csc_clock_system) > end_ms)
            fail_msg("the engine never noticed");
        (void)nanosleep(&pause, NULL);
    }
}

/* No start is acknowledged; renewing alone tells an engine that has nothing to
 * do; and it stops and closes. */
static void
an_engine_whose_file_is_gone_says_so(void **state)
{
    sqlite_fixture *it = *state;
    engine_scene scene = open_scene(it);
    cascade_started started;
    cascade_err err;

    assert_int_equal(
        cascade_start(scene.store, "nothing", NULL, NULL, &started),
        CASCADE_OK);
    delete_it(it);
    err = cascade_start(scene.store, "nothing", NULL, NULL, &started);
    if (err != CASCADE_ERR_LOST && err != CASCADE_ERR_OUTCOME_UNKNOWN)
        fail_msg("%d %s", err, cascade_errmsg());
    assert_says("cascade.db was deleted");
    await_loss(&scene);
    close_scene(&scene);
}

static void
an_idle_engine_notices_when_it_renews(void **state)
{
    sqlite_fixture *it = *state;
    engine_scene scene = open_scene(it);

    replace(it);
    await_loss(&scene);
    close_scene(&scene);
}

/* It goes on when the file comes back. */
static void
an_engine_goes_on_with_the_file_that_is_back(void **state)
{
    sqlite_fixture *it = *state;
    engine_scene scene = open_scene(it);
    cascade_started started;
    cascade_status status = CASCADE_RUNNING;

    move_away(it);
    await_loss(&scene);
    put_back(it);
    assert_int_equal(
        cascade_start(scene.store, "nothing", NULL, NULL, &started),
        CASCADE_OK);
    assert_int_equal(cascade_wait(scene.store, &started.id, LIMIT_MS, &status),
                     CASCADE_OK);
    close_scene(&scene);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(a_file_that_is_gone_acknowledges_nothing),
        ONE(a_commit_into_a_file_that_is_gone_is_none),
        ONE(a_reader_of_another_file_is_not_asked),
        ONE(a_connection_that_has_another_file_is_closed),
        ONE(closing_harms_no_file_in_its_place),
        ONE(a_connection_whose_file_is_gone_is_told),
        ONE(an_engine_whose_file_is_gone_says_so),
        ONE(an_idle_engine_notices_when_it_renews),
        ONE(an_engine_goes_on_with_the_file_that_is_back),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite gone", tests, NULL, NULL);
}
