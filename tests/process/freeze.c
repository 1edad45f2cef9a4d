/* SPDX-License-Identifier: MIT */
#include "process/freeze.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "store/store.h"

#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif

/* Of the process: a driver has no room for more. */
static const cascade_store_driver *real;
static cascade_store_driver frozen;
static test_place where;
static bool in_pipeline;
static atomic_int commits;

#ifdef CASCADE_HAVE_POSTGRES
/* Takes the lane row as a commit does, and leaves the transaction open. */
static PGconn *
take_fence(const cascade_batch *batch)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char sql[512];
    PGconn *connection = PQconnectdb(where.url);
    PGresult *taken = NULL;

    cascade_uuid_format(&batch->engine_id, id);
    snprintf(sql, sizeof(sql),
             "UPDATE %s.cascade_lanes SET batch = %lld WHERE engine_id = '%s' "
             "AND lane = %u AND batch = %lld",
             where.schema, (long long)batch->number, id, (unsigned)batch->lane,
             (long long)batch->number - 1);
    PQenterPipelineMode(connection);
    PQsendQueryParams(connection, "BEGIN", 0, NULL, NULL, NULL, NULL, 0);
    PQsendQueryParams(connection, sql, 0, NULL, NULL, NULL, NULL, 0);
    PQsendFlushRequest(connection);
    PQflush(connection);
    PQclear(PQgetResult(connection)); /* BEGIN */
    PQclear(PQgetResult(connection)); /* and its end */
    taken = PQgetResult(connection);
    if (strcmp(PQcmdTuples(taken), "1") != 0) {
        fputs("the lane row is not ours\n", stderr);
        _exit(1);
    }
    PQclear(taken);
    return connection;
}

/* Goes on where it stood; whether that is a commit is the server's word. */
static void
finish_pipeline(PGconn *connection)
{
    PGresult *result = NULL;

    PQsendQueryParams(connection, "COMMIT", 0, NULL, NULL, NULL, NULL, 0);
    PQpipelineSync(connection);
    for (int i = 0; i < 8; i++) {
        result = PQgetResult(connection);
        if (result != NULL && strcmp(PQcmdStatus(result), "COMMIT") == 0)
            fputs("the stopped transaction could commit\n", stderr);
        PQclear(result);
    }
    PQfinish(connection);
}

static void
stop_in_pipeline(const cascade_batch *batch)
{
    PGconn *connection = take_fence(batch);

    raise(SIGSTOP);
    finish_pipeline(connection);
}
#else
static void
stop_in_pipeline(const cascade_batch *batch)
{
    (void)batch;
}
#endif

static cascade_err
commit(void *self, const cascade_batch *batch, bool *existed)
{
    if (atomic_fetch_add(&commits, 1) == FREEZE_AFTER) {
        if (in_pipeline)
            stop_in_pipeline(batch);
        else
            raise(SIGSTOP);
    }
    return real->commit(self, batch, existed);
}

const cascade_store_driver *
freeze_driver(const test_place *place, const char *how)
{
    if (csc_store_driver_find(place->url, &real) != CASCADE_OK)
        return NULL;
    where = *place;
    in_pipeline = strcmp(how, "pipeline") == 0;
    frozen = *real;
    frozen.commit = commit;
    return &frozen;
}
