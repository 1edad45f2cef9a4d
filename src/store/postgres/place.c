/* SPDX-License-Identifier: MIT
 *
 * Whether a server is still the one that has acknowledged what we know: one
 * that took over from it (an asynchronous standby), or came back from a copy,
 * may not have the last of that. What an engine commits itself is found out by
 * its lanes (commit.c, claim.c); what others have submitted,
 * and what an engine holds and does not write, by this:
 *
 *   a connection is made   where does the server stand? Its system, its
 *                          timeline, and how far its log is durable
 *     as known, or further   remembered
 *     another system or timeline, or not as far any more
 *                            said in the log; from then on whoever attached
 *                            before is CASCADE_ERR_LOST at its next renewal,
 *                            drops what it holds, and loads it anew
 *   a lease is renewed     how far is it durable now?
 *
 * A server that took over from a synchronous one has lost nothing, but nobody
 * can tell that from here: its engines load anew too. What was acknowledged
 * between a renewal and a crash is not seen to be gone where the same server
 * comes back on the same timeline from a copy that is younger than that.
 *
 * A server that will not tell (it is none of PostgreSQL's own, or follows
 * another one) is not compared.
 */
#include "store/postgres/internal.h"

#include <string.h>

#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "store/store.h"

#define TIMELINE_DIGITS 8 /* with which the name of a log file begins */

/* `place->known` tells whether it said so. An error only where the connection
 * is of no use. */
static cascade_err
read_place(csc_postgres_conn *conn, csc_postgres_place *place)
{
    PGresult *result = NULL;
    cascade_err err = csc_postgres_conn_query(
        conn, "place", conn->store->sql[CSC_POSTGRES_PLACE], NULL, &result);

    *place = (csc_postgres_place){.known = false};
    if (err == CASCADE_OK && PQntuples(result) == 1 &&
        PQgetlength(result, 0, 1) > TIMELINE_DIGITS) {
        place->known = true;
        place->system = csc_postgres_result_i64(result, 0, 0);
        memcpy(place->timeline, PQgetvalue(result, 0, 1), TIMELINE_DIGITS);
        place->position = csc_postgres_result_i64(result, 0, 2);
    }
    PQclear(result);
    return conn->broken || err == CASCADE_ERR_NO_MEMORY ? err : CASCADE_OK;
}

/* What may have been lost on the way from one to the other, or NULL. */
static const char *
compare(const csc_postgres_place *before, const csc_postgres_place *now)
{
    if (now->system != before->system)
        return "is another one than before";
    if (strcmp(now->timeline, before->timeline) != 0)
        return "has taken over from another one";
    if (now->position < before->position)
        return "has come back in an older state";
    return NULL;
}

/* Connections are made side by side: one that was asked before another
 * may tell after it. */
static void
keep_place_locked(csc_postgres *store, const csc_postgres_place *now)
{
    csc_assert(csc_lock_is_held(&store->mutex));
    if (!store->place.known || store->place.position < now->position)
        store->place = *now;
}

cascade_err
csc_postgres_place_meet(csc_postgres_conn *conn)
{
    csc_postgres *store = conn->store;
    csc_postgres_place before;
    csc_postgres_place now;
    const char *trouble = NULL;
    cascade_err err = CASCADE_OK;

    csc_lock_take(&store->mutex);
    before = store->place;
    csc_lock_give(&store->mutex);
    err = read_place(conn, &now);
    if (err != CASCADE_OK || !now.known)
        return err;
    csc_lock_take(&store->mutex);
    if (before.known)
        trouble = compare(&before, &now);
    if (trouble == NULL) {
        keep_place_locked(store, &now);
    } else {
        store->place = now;
        store->generation++;
    }
    csc_lock_give(&store->mutex);
    if (trouble != NULL)
        csc_log_add(&store->log, CASCADE_LOG_ERROR,
                    "postgres: the server %s: what it had acknowledged last "
                    "may be gone; engines load anew what they hold",
                    trouble);
    return CASCADE_OK;
}

cascade_err
csc_postgres_place_note(csc_postgres_conn *conn)
{
    csc_postgres *store = conn->store;
    csc_postgres_place now;
    bool known = false;
    cascade_err err = CASCADE_OK;

    csc_lock_take(&store->mutex);
    known = store->place.known;
    csc_lock_give(&store->mutex);
    if (!known || conn->guest)
        return CASCADE_OK;
    err = read_place(conn, &now);
    if (err != CASCADE_OK || !now.known)
        return err;
    csc_lock_take(&store->mutex);
    if (compare(&store->place, &now) == NULL)
        store->place = now;
    csc_lock_give(&store->mutex);
    return CASCADE_OK;
}

/* ---- Who attached when --------------------------------------------------- */

static csc_postgres_attached *
find_attached(csc_postgres *store, const cascade_uuid *engine_id)
{
    for (size_t i = 0; i < store->attached_count; i++)
        if (csc_uuid_equal(&store->attached[i].engine_id, engine_id))
            return &store->attached[i];
    return NULL;
}

cascade_err
csc_postgres_place_attach(csc_postgres *store, const cascade_uuid *engine_id)
{
    csc_postgres_attached *found = NULL;
    void *attached = NULL;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    attached = store->attached;
    found = find_attached(store, engine_id);
    if (found == NULL &&
        csc_mem_grow(&attached, &store->attached_room,
                     store->attached_count + 1, sizeof(*found)) != 0) {
        err = csc_fail_memory();
    } else if (found == NULL) {
        store->attached = attached;
        found = &store->attached[store->attached_count++];
        *found = (csc_postgres_attached){.engine_id = *engine_id,
                                         .generation = store->generation};
    }
    csc_lock_give(&store->mutex);
    return err;
}

void
csc_postgres_place_detach(csc_postgres *store, const cascade_uuid *engine_id)
{
    csc_postgres_attached *found = NULL;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    found = find_attached(store, engine_id);
    if (found != NULL)
        *found = store->attached[--store->attached_count];
    csc_lock_give(&store->mutex);
}

cascade_err
csc_postgres_place_check(csc_postgres *store, const cascade_uuid *engine_id)
{
    const csc_postgres_attached *found = NULL;
    bool lost = false;

    csc_assert(csc_lock_is_none_held());
    csc_lock_take(&store->mutex);
    found = find_attached(store, engine_id);
    lost = found != NULL && found->generation != store->generation;
    csc_lock_give(&store->mutex);
    if (!lost)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_LOST,
                    "renew: the server is not the one that this incarnation "
                    "has attached to, or is in an older state");
}
