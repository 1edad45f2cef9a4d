/* SPDX-License-Identifier: MIT
 *
 * The sequence that numbers the rows of messages, found once.
 */
#include "store/postgres/internal.h"

#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "store/store.h"

static cascade_err
read_sequence(csc_postgres_conn *conn, char **name)
{
    csc_postgres_call call = {.statement = CSC_POSTGRES_SEQUENCE};
    cascade_err err = csc_postgres_conn_read(conn, "open", &call, 1);

    if (err == CASCADE_OK && PQgetisnull(call.result, 0, 0))
        err = csc_fail(CASCADE_ERR_SCHEMA,
                       "context_events.id has no sequence of its own: make "
                       "one with ALTER SEQUENCE ... OWNED BY");
    if (err == CASCADE_OK) {
        *name = csc_mem_strdup(PQgetvalue(call.result, 0, 0));
        if (*name == NULL)
            err = csc_fail_memory();
    }
    csc_postgres_conn_clear(&call, 1);
    return err;
}

cascade_err
csc_postgres_sequence(csc_postgres_conn *conn, const char **name)
{
    csc_postgres *store = conn->store;
    char *found = NULL;
    cascade_err err;

    csc_lock_take(&store->mutex);
    *name = store->sequence;
    csc_lock_give(&store->mutex);
    if (*name != NULL)
        return CASCADE_OK;
    err = read_sequence(conn, &found);
    if (err != CASCADE_OK)
        return err;
    csc_lock_take(&store->mutex);
    if (store->sequence == NULL) {
        store->sequence = found;
        found = NULL;
    }
    *name = store->sequence;
    csc_lock_give(&store->mutex);
    csc_mem_free(found);
    return CASCADE_OK;
}
