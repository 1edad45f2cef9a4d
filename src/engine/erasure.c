/* SPDX-License-Identifier: MIT
 *
 * Erasing what is left of deleted cascades: S39 to S42 of store.h.
 *
 *   a commit has marked one ------------+
 *   a purge or a removal may have left  |
 *   some; the engine has attached ------+--> due --> a piece --+
 *   nobody has looked for a minute -----+     ^                |
 *                                             +-- more: a pause as long as the
 *                                                 piece took, one piece a round
 *
 * It needs no lane and no turn among commits: a piece takes only what nobody
 * sees any more, so one that comes late or twice does no harm. What waits for
 * the store, or for a round of the housekeeper, waits for one piece, and at
 * most half of the time belongs to pieces. If the process dies, the engine that
 * removes it goes on; where none is left, the next that attaches does.
 */
#include "engine/erasure.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/erasure_due.h"
#include "held/incarnation.h"
#include "store/move.h"
#include "store/store.h"

#define LOOK_MS 60000 /* for what others have marked, and left */
#define RETRY_MS 1000

/* How long to wait behind a piece. */
static int64_t
pause_ns_locked(const cascade_engine *engine, cascade_err err, bool more,
                int64_t took_ns)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (err != CASCADE_OK)
        return RETRY_MS * CSC_MS_NS;
    return more || engine->erasure.due ? took_ns : LOOK_MS * CSC_MS_NS;
}

static bool
begin(cascade_engine *engine, int64_t now_ns)
{
    bool due = false;

    csc_lock_take(&engine->mutex);
    due = engine->incarnation.attached && engine->erasure.at_ns <= now_ns;
    if (due) {
        engine->erasure.due = false;
        engine->erasure.paused = true;
    }
    csc_lock_give(&engine->mutex);
    return due;
}

cascade_err
csc_erasure_fail(const char *what, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    return csc_fail(CASCADE_ERR_AGAIN,
                    "%s: cascade %s was deleted, and its rows are still being "
                    "erased; try again, or give another id",
                    what, cascade_uuid_format(id, text));
}

void
csc_erasure_round(cascade_engine *engine)
{
    int64_t begun_ns = csc_clock_now_ns(engine);
    int64_t now_ns = 0;
    bool more = false;
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (!begin(engine, begun_ns))
        return;
    err = csc_move_erase(engine->store, &engine->incarnation.id, &more);
    if (err != CASCADE_OK)
        csc_log_add(&engine->store->log, CASCADE_LOG_WARNING,
                    "erasing what was deleted failed: %s", cascade_errmsg());
    now_ns = csc_clock_now_ns(engine);
    csc_lock_take(&engine->mutex);
    engine->erasure.at_ns =
        now_ns + pause_ns_locked(engine, err, more, now_ns - begun_ns);
    engine->erasure.paused = err != CASCADE_OK || more || engine->erasure.due;
    csc_lock_give(&engine->mutex);
}
