/* SPDX-License-Identifier: MIT
 *
 * A server comes back with what it had some time ago. An engine that has
 * committed nothing since is told all the same, though its own lanes are as it
 * knows them: what it holds is loaded anew, and goes on.
 */
#include <time.h>

#include "base/uuid.h"
#include "faults/admin.h"
#include "process/check.h"
#include "process/place.h"
#include "process/server.h"
#include "store/postgres/internal.h"
#include "store/store.h"

#define LIMIT_MS 90000
#define HOUR_MS 3600000
#define UNFLUSHED "fsync=off" /* no power is cut */

typedef struct scene {
    test_server server;
    test_place place;
    cascade_store *store; /* the engine's */
    cascade_engine *engine;
    cascade_store *outside;
    cascade_uuid held;
    cascade_uuid lost;
    int64_t position; /* of the server, when it was asked */
} scene;

static scene current;

static int
clean_up(void **state)
{
    (void)state;
    (void)cascade_engine_close(current.engine);
    (void)cascade_store_close(current.store);
    (void)cascade_store_close(current.outside);
    if (current.server.folder[0] != '\0')
        server_remove(&current.server);
    place_destroy(&current.place);
    return 0;
}

static cascade_err
waits(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

static bool
until(bool (*done)(const scene *s), const scene *s)
{
    const struct timespec pause = {.tv_nsec = 5000000};

    for (int i = 0; i < LIMIT_MS / 5; i++) {
        if (done(s))
            return true;
        (void)nanosleep(&pause, NULL);
    }
    return false;
}

static cascade_engine_stats
stats_of(const scene *s)
{
    cascade_engine_stats stats = {.size = sizeof(stats)};

    assert_ok(cascade_engine_get_stats(s->engine, &stats));
    return stats;
}

static bool
is_told(const scene *s)
{
    return stats_of(s).losses > 0;
}

static csc_postgres_place
place_known(const scene *s)
{
    csc_postgres *postgres = s->store->self;
    csc_postgres_place place;

    pthread_mutex_lock(&postgres->mutex);
    place = postgres->place;
    pthread_mutex_unlock(&postgres->mutex);
    return place;
}

static void
begin(scene *s)
{
    const cascade_engine_options options = {.size = sizeof(options),
                                            .worker_count = 1,
                                            .lease_ms = 300,
                                            .poll_interval_ms = 50,
                                            .park_after_ms = HOUR_MS};

    *s = (scene){.engine = NULL};
    server_create(&s->server, UNFLUSHED);
    place_create_at(&s->place, s->server.conninfo);
    s->outside = place_open(&s->place);
    s->store = place_open(&s->place);
    assert_ok(cascade_engine_open(s->store, &options, &s->engine));
    assert_ok(cascade_engine_register(s->engine, "waits", waits, NULL, NULL));
    assert_ok(cascade_engine_start(s->engine));
}

static cascade_uuid
start(const scene *s, const char *queue)
{
    const cascade_start_options options = {.size = sizeof(options),
                                           .queue = queue};
    cascade_started started;

    assert_ok(cascade_start(s->outside, "waits", NULL, &options, &started));
    return started.id;
}

static bool
is_renewed(const scene *s)
{
    return place_known(s).position >= s->position;
}

/* As far as the server is now, at least. */
static void
await_renewal(scene *s)
{
    s->position =
        admin_number(s->server.conninfo,
                     "SELECT (pg_current_wal_flush_lsn() - '0/0')::bigint");
    assert_true(until(is_renewed, s));
}

static void
what_is_older_than_what_was_acknowledged_is_noticed(void **state)
{
    scene *s = &current;
    cascade_info *info = NULL;

    (void)state;
    begin(s);
    s->held = start(s, NULL);
    admin_until(s->server.conninfo, "SELECT count(*) FROM node_executions"
                                    " WHERE node_name LIKE 'cascade.await:%'");
    server_stop(&s->server);
    server_keep(&s->server);
    server_start(&s->server);
    await_renewal(s);
    assert_int_equal(0, stats_of(s).losses); /* a restart is none */
    s->lost = start(s, "elsewhere");
    await_renewal(s);
    server_stop(&s->server);
    server_restore(&s->server);
    server_start(&s->server);
    assert_true(until(is_told, s));
    assert_int_equal(CASCADE_ERR_NOT_FOUND,
                     cascade_get(s->outside, &s->lost, &info));
    assert_ok(cascade_signal(s->outside, &s->held, "go", NULL, NULL));
    assert_ok(cascade_wait(s->outside, &s->held, LIMIT_MS, NULL));
}

int
main(int argc, char **argv)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(
            what_is_older_than_what_was_acknowledged_is_noticed, clean_up),
    };

    if (argc == 2)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
