/* SPDX-License-Identifier: MIT
 *
 * Strays: S75. Each statement steps from one id to the next in an index, one
 * seek each, however many rows there are of it, and looks whether there is what
 * they belong to. It is one read transaction, so both are of one moment.
 */
#include "store/sqlite/internal.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

static const csc_sqlite_statement statements[] = {
    [CASCADE_STRAY_EXECUTIONS] = CSC_SQLITE_STRAY_EXECUTIONS,
    [CASCADE_STRAY_EVENTS] = CSC_SQLITE_STRAY_EVENTS,
    [CASCADE_STRAY_RUNS] = CSC_SQLITE_STRAY_RUNS,
    [CASCADE_STRAY_MESSAGES] = CSC_SQLITE_STRAY_MESSAGES,
    [CASCADE_STRAY_ERASURES] = CSC_SQLITE_STRAY_ERASURES,
    [CASCADE_STRAY_LANES] = CSC_SQLITE_STRAY_LANES,
    [CASCADE_STRAY_ENGINES] = CSC_SQLITE_STRAY_ENGINES,
};

/* An id that cannot be read is nobody's. The cursor stays in front of it. */
static cascade_err
give(csc_store_straying *s, sqlite3_stmt *statement)
{
    const char *table = csc_store_stray_table(s->kind);
    cascade_uuid id;
    cascade_err err = csc_sqlite_row_uuid(statement, 0, table, "id", &id);

    if (err == CASCADE_OK)
        return csc_store_stray(s, &id, sqlite3_column_int(statement, 1) != 0);
    return err == CASCADE_ERR_CORRUPT ? csc_store_stray_fault(s) : err;
}

static cascade_err
look(csc_sqlite_conn *conn, csc_store_straying *s)
{
    csc_sqlite_call call;
    bool row = true;
    cascade_err err = CASCADE_OK;

    csc_sqlite_call_begin(&call, conn, statements[s->kind]);
    if (csc_uuid_is_nil(s->cursor))
        csc_sqlite_call_add_text(&call, ""); /* nor is there an id below */
    else
        csc_sqlite_call_add_uuid(&call, s->cursor);
    csc_sqlite_call_add_i64(&call, (int64_t)s->limit);
    if (s->kind == CASCADE_STRAY_MESSAGES)
        csc_sqlite_call_add_i64(&call,
                                csc_clock_wall_ms(conn->store->config->clock) -
                                    CASCADE_STRAY_MESSAGE_MS);
    while (err == CASCADE_OK && row) {
        err = csc_sqlite_call_next(&call, &row);
        if (err == CASCADE_OK && row)
            err = give(s, call.statement);
    }
    csc_sqlite_call_end(&call);
    return err;
}

cascade_err
csc_sqlite_strays_list(void *self, cascade_stray kind, size_t limit,
                       cascade_uuid *cursor, cascade_fault_sink sink,
                       void *context, bool *more)
{
    csc_sqlite_conn *conn = NULL;
    csc_store_straying s;
    cascade_err err = csc_sqlite_txn_begin_read(self, &conn);

    csc_assert(csc_lock_is_none_held());
    if (err != CASCADE_OK)
        return err;
    csc_store_begin_strays(&s, kind, limit, cursor, sink, context);
    err = csc_sqlite_txn_end(conn, look(conn, &s));
    return csc_store_end_strays(&s, err, more);
}
