/* SPDX-License-Identifier: MIT */
#include "process/place.h"

#include <ftw.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "process/check.h"
#include "support/splitmix.h"

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif

#define LOOK_EVERY_MS 2

/* ---- PostgreSQL ---------------------------------------------------------- */

const char *
place_server(void)
{
    const char *conninfo = getenv("CASCADE_TEST_PG");

    if (conninfo == NULL || conninfo[0] == '\0')
        fail_msg("CASCADE_TEST_PG names no server");
    return conninfo;
}

static void
run_sql(const char *format, const char *schema)
{
#ifdef CASCADE_HAVE_POSTGRES
    PGconn *connection = PQconnectdb(place_server());
    PGresult *result = NULL;
    char sql[192];

    snprintf(sql, sizeof(sql), format, schema);
    result = PQexec(connection, sql);
    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        print_error("%s: %s", sql, PQerrorMessage(connection));
    assert_int_equal(PGRES_COMMAND_OK, PQresultStatus(result));
    PQclear(result);
    PQfinish(connection);
#else
    fail_msg("%s %s: built without PostgreSQL", format, schema);
#endif
}

/* ---- Kinds --------------------------------------------------------------- */

const char *const place_names[] = {
    [PLACE_SQLITE] = "sqlite", [PLACE_POSTGRES] = "postgres"};

place_kind place_kinds[] = {PLACE_SQLITE, PLACE_POSTGRES};

place_kind
place_of(void **state)
{
    const place_kind *kind = *state;

    return *kind;
}

/* ---- Places -------------------------------------------------------------- */

static void
make_folder(test_place *place)
{
    const char *base = getenv("TMPDIR");

    snprintf(place->folder, sizeof(place->folder), "%s/cascade-process.XXXXXX",
             base == NULL ? "/tmp" : base);
    if (mkdtemp(place->folder) == NULL)
        fail_msg("no folder %s", place->folder);
}

void
place_create(test_place *place, place_kind kind)
{
    static int number;

    *place = (test_place){.kind = kind};
    if (kind == PLACE_POSTGRES)
        snprintf(place->url, sizeof(place->url), "%s", place_server());
    make_folder(place);
    if (kind == PLACE_SQLITE) {
        snprintf(place->url, sizeof(place->url), "sqlite:%s/cascade.db",
                 place->folder);
        return;
    }
    /* A test that fails leaves its schema, and numbers of processes return. */
    snprintf(place->schema, sizeof(place->schema), "cascade_process_%ld_%ld_%d",
             (long)time(NULL), (long)getpid(), number++);
    run_sql("CREATE SCHEMA %s", place->schema);
}

void
place_create_at(test_place *place, const char *conninfo)
{
    *place = (test_place){.kind = PLACE_POSTGRES};
    make_folder(place);
    snprintf(place->url, sizeof(place->url), "%s", conninfo);
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *position)
{
    (void)status;
    (void)type;
    (void)position;
    return remove(path);
}

void
place_destroy(test_place *place)
{
    if (place->schema[0] != '\0')
        run_sql("SET client_min_messages = warning; DROP SCHEMA %s CASCADE",
                place->schema);
    nftw(place->folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

cascade_store *
place_open(const test_place *place)
{
    const cascade_store_options options = {
        .size = sizeof(options),
        .schema = place->schema[0] == '\0' ? NULL : place->schema,
        .durability = place->relaxed ? CASCADE_DURABILITY_RELAXED
                                     : CASCADE_DURABILITY_FULL};
    cascade_store *store = NULL;

    assert_ok(cascade_store_open(place->url, &options, &store));
    return store;
}

char *
place_path(const test_place *place, const char *name, char path[PLACE_PATH])
{
    int length = snprintf(path, PLACE_PATH, "%s/%s", place->folder, name);

    assert_true(length > 0 && length < PLACE_PATH);
    return path;
}

/* ---- Waiting ------------------------------------------------------------- */

int64_t
place_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000) + now.tv_nsec / 1000000;
}

bool
place_wait(bool (*condition)(void *context), void *context, int64_t limit_ms)
{
    int64_t until_ms = place_now_ms() + limit_ms;

    while (!condition(context)) {
        if (place_now_ms() >= until_ms)
            return condition(context);
        poll(NULL, 0, LOOK_EVERY_MS);
    }
    return true;
}

/* ---- Chance -------------------------------------------------------------- */

uint64_t
place_random(uint64_t below)
{
    static uint64_t state;

    if (state == 0) {
        const char *given = getenv("CASCADE_TEST_SEED");

        state = given != NULL
                    ? strtoull(given, NULL, 10)
                    : (uint64_t)time(NULL) * 1000003u + (uint64_t)getpid();
        print_message("CASCADE_TEST_SEED=%" PRIu64 "\n", state);
    }
    return splitmix_next(&state) % below;
}
