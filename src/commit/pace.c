/* SPDX-License-Identifier: MIT
 *
 * How much a lane commits at once, by the time that it takes.
 *
 * SLICES of a cancellation, or of the end of a family, are sized so that others
 * wait for one hardly longer than for each other: twice the time of a commit
 * without one, or SLICE_NS, on the average of late. A slice of the least size
 * counts as a commit without one: where there is no other, that is what a
 * commit takes. Of either, one that takes very long counts for OUTLIER times
 * the average: it says more of the disk than of its rows.
 *
 * WHAT IS TOO SLOW. A try that fails after half of the store's deadline, or
 * later, may be too much for it, or wait for a lock that others keep. Where it
 * is settled that it was not done (lane.c), less is tried:
 *
 *   several items    a quarter of them; as many at once are the most from then
 *                    on, an eighth more after each commit
 *   one, of a start  its caller goes on without the lane (blocked_start.c)
 *   one, of a run    in each step one of these, the first that is left:
 *     several posts       one post at a time
 *     several messages    a quarter of them, as above; the others are still in
 *                         the store
 *     a slice, a family   a quarter of its rows
 *     a retry, a rerun    the same, in slices from then on
 *     so far less than    behind what others have, once more
 *     ALONE_TRIES
 *     else                set aside: the cascade is let go, and loaded anew
 *                         after a pause, twice as long each time; a retry or
 *                         a rerun is refused then, unless it is in force, as
 *                         it would keep all that is asked for behind it from
 *                         being done
 *
 * From its first try alone (`slow`) a run shares no batch with others, so that
 * these wait for its one try, and not for the search. Each of its commits makes
 * up for one try. What is set aside loses what it had posted: its functions run
 * again (G4). It never fails for it: who loses the answers of a store that is
 * well sees the same.
 *
 * If the process dies meanwhile, nothing of the try is there, and whoever
 * claims the cascade begins with ALONE_TRIES.
 */
#include "commit/lane.h"

#include "base/clock.h"
#include "base/data/pace.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "change/build/build.h"
#include "change/message_list.h"
#include "change/op.h"
#include "commit/outcome.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/lane/lane_queue.h"
#include "held/log_queue.h"
#include "held/room/reload.h"
#include "held/run/drop.h"
#include "held/run/run.h"
#include "state/reset_plan.h"
#include "store/store.h"

#define SLICE_NS INT64_C(250000)
#define SLICE_FIRST_BYTES (CSC_SLICE_BYTES / 8)
#define SLICE_MIN_BYTES (4 * (size_t)CSC_ROW_BYTES)
#define USUAL_PART 16 /* of an average is that of the last commit, */
#define SLICE_PART 4  /* or slice */
#define OUTLIER 4
#define SLOW_SHARE 2 /* of the deadline */
#define SLOW_PART 4  /* of what was too slow is tried next */
#define ALONE_TRIES 3
#define PAUSE_DOUBLED 2 /* so often the time of a try, for the first pause */
#define PAUSE_MAX_MS 60000
#define RECEIVE_MOST 1000 /* messages: no commit has more */

/* ---- Pace ---------------------------------------------------------------- */

size_t
csc_pace_items_max(const csc_lane *lane)
{
    return lane->items_max > 0 ? lane->items_max : SIZE_MAX;
}

size_t
csc_pace_slice_bytes(const csc_lane *lane)
{
    return lane->slice_bytes > 0 ? lane->slice_bytes : SLICE_FIRST_BYTES;
}

/* What a limit is after a commit: none, 0, where it would be more than `most`.
 */
static size_t
widen(size_t limit, size_t most)
{
    if (limit == 0)
        return 0;
    csc_assert(limit <= SIZE_MAX / 2);
    limit += limit / 8 + 1;
    return limit <= most ? limit : 0;
}

static void
set_items_pace(csc_lane *lane)
{
    csc_assert(lane->in_round);
    lane->items_max =
        widen(lane->items_max, lane->engine->options.batch_cascades_max);
}

void
csc_pace_make_up_locked(csc_run *run)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex));
    run->receive_max = widen(run->receive_max, RECEIVE_MOST);
    if (run->slow > 0)
        run->slow--;
}

/* Whether it goes on with a cancellation, or with a family. */
static bool
slices(const csc_post *post)
{
    const csc_message *message = post->messages;

    while (message != NULL && csc_family_end_from(message) == 0)
        message = message->next;
    return message != NULL || post->kind == CSC_POST_SLICE;
}

static bool
has_slice(const csc_lane *lane)
{
    csc_assert(lane->from + lane->slice <= lane->item_count);
    for (size_t i = lane->from; i < lane->from + lane->slice; i++)
        for (const csc_post *p = lane->items[i].posts; p != NULL; p = p->next)
            if (slices(p))
                return true;
    return false;
}

static const csc_pace_bounds slice_bounds = {SLICE_MIN_BYTES, CSC_SLICE_BYTES};

/* The average with one more. */
static int64_t
average(int64_t average_ns, int64_t took_ns, int64_t part)
{
    csc_assert(took_ns >= 0);
    csc_assert(average_ns >= 0 && part > 0);
    if (average_ns == 0)
        return took_ns;
    if (took_ns > OUTLIER * average_ns)
        took_ns = OUTLIER * average_ns;
    return average_ns + (took_ns - average_ns) / part;
}

/* Of the next slice, by what this commit has taken. */
static void
set_slice_pace(csc_lane *lane)
{
    int64_t now_ns = csc_clock_now_ns(lane->engine);
    int64_t took_ns = now_ns - lane->begun_ns;
    int64_t limit_ns = 0;
    size_t bytes = csc_pace_slice_bytes(lane);
    bool sliced = has_slice(lane);

    if (!sliced || bytes == SLICE_MIN_BYTES)
        lane->usual_ns = average(lane->usual_ns, took_ns, USUAL_PART);
    if (!sliced)
        return;
    limit_ns = 2 * lane->usual_ns;
    if (limit_ns < SLICE_NS)
        limit_ns = SLICE_NS;
    lane->slice_ns = average(lane->slice_ns, took_ns, SLICE_PART);
    lane->slice_bytes =
        csc_pace_next(bytes, lane->slice_ns, limit_ns, true, &slice_bounds);
    lane->slice_at_ns = now_ns + took_ns;
}

void
csc_pace_set(csc_lane *lane)
{
    csc_assert(csc_lock_is_none_held() && lane->in_round);
    set_items_pace(lane);
    set_slice_pace(lane);
}

/* ---- What is too slow ---------------------------------------------------- */

static int64_t
deadline_ms(const csc_lane *lane)
{
    return lane->engine->store->config.deadline_ms;
}

bool
csc_pace_was_slow(csc_lane *lane, cascade_err err)
{
    csc_assert(csc_lock_is_held(&lane->engine->mutex) && lane->in_round);
    lane->took_ns = csc_clock_now_ns(lane->engine) - lane->begun_ns;
    return (err == CASCADE_ERR_UNAVAILABLE || err == CASCADE_ERR_NOT_DONE) &&
           lane->took_ns >= deadline_ms(lane) * CSC_MS_NS / SLOW_SHARE;
}

/* Until it is loaded anew: in that time others have most of the lane. */
static int64_t
pause_ms(const csc_lane *lane, const csc_run *run)
{
    unsigned doubled = PAUSE_DOUBLED + run->slow - ALONE_TRIES;
    int64_t ms = lane->took_ns / CSC_MS_NS + 1;

    csc_assert(run->slow >= ALONE_TRIES);
    while (doubled-- > 0 && ms < PAUSE_MAX_MS)
        ms = ms * 2 < PAUSE_MAX_MS ? ms * 2 : PAUSE_MAX_MS;
    return ms < PAUSE_MAX_MS ? ms : PAUSE_MAX_MS;
}

/* The functions of the run are told to return. */
static void
let_go_locked(cascade_engine *engine, csc_item *item, const csc_reload *reload)
{
    csc_assert(csc_lock_is_held(&engine->mutex) &&
               csc_run_is_committing(item->run));
    csc_run_end_commit(item->run);
    csc_run_free_posts(item->posts, CASCADE_ERR_FENCED);
    csc_drop_expel(engine, item->run, reload, CASCADE_ERR_FENCED);
    csc_run_unref(item->run);
}

static void
set_aside_locked(csc_lane *lane, csc_item *item)
{
    cascade_engine *engine = lane->engine;
    csc_run *run = item->run;
    int64_t ms = pause_ms(lane, run);
    csc_reload reload = {.claimed = csc_run_claimed(run),
                         .at_ns = csc_clock_now_ns(engine) + ms * CSC_MS_NS,
                         .fail_id = -1,
                         .slow = run->slow};
    char id[CASCADE_UUID_TEXT_SIZE];

    csc_assert(csc_lock_is_held(&lane->engine->mutex));
    if (run->plan != NULL) {
        reload.plans = true;
        reload.from = run->plan->from;
        reload.late = !run->plan->at.in_force;
        if (run->plan->at.receipt != CSC_COURSE_NONE)
            reload.receipt = run->plan->at.receipt;
    }
    csc_log_queue_add(engine, CASCADE_LOG_ERROR,
                      "cascade %s is set aside for %lld ms: what it has to "
                      "record was not done in %u tries within the store's "
                      "deadline of %lld ms: %s",
                      cascade_uuid_format(&run->state.id, id), (long long)ms,
                      (unsigned)run->slow, (long long)deadline_ms(lane),
                      lane->trouble);
    let_go_locked(engine, item, &reload);
}

static void
divide_run_locked(csc_lane *lane, csc_item *item)
{
    csc_run *run = item->run;
    size_t bytes = csc_pace_slice_bytes(lane);
    size_t messages = item->posts->message_count;
    bool smaller = (has_slice(lane) || run->state.children > 0 ||
                    csc_reset_is_divisible(run->plan, bytes)) &&
                   bytes > SLICE_MIN_BYTES;

    csc_assert(csc_lock_is_held(&lane->engine->mutex) && lane->slice == 1);
    if (csc_run_is_gone(run)) {
        let_go_locked(lane->engine, item, &run->reload);
        return;
    }
    if (item->posts->next != NULL) {
        run->one_by_one = true;
    } else if (messages > 1) {
        run->receive_max = (messages + SLOW_PART - 1) / SLOW_PART;
        csc_mailbox_note_more(lane->engine, run);
        csc_message_list_cut(item->posts, run->receive_max,
                             run->state.recorded == CASCADE_ERROR);
    } else if (smaller) {
        if (run->plan != NULL)
            run->plan->cut = csc_reset_is_divisible(run->plan, 0);
        bytes /= SLOW_PART;
        lane->slice_bytes = bytes > SLICE_MIN_BYTES ? bytes : SLICE_MIN_BYTES;
    } else if (++run->slow >= ALONE_TRIES) {
        set_aside_locked(lane, item);
        return;
    }
    csc_outcome_put_back_locked(lane, item);
}

void
csc_pace_divide(csc_lane *lane)
{
    cascade_engine *engine = lane->engine;
    csc_item *item = &lane->items[lane->from];

    csc_assert(csc_lock_is_none_held() && lane->in_round);
    csc_assert(lane->state == CSC_LANE_BUILT && !lane->tried);
    csc_lock_take(&engine->mutex);
    lane->retry_at_ns = 0;
    lane->backoff_ms = 0;
    if (lane->slice > 1) {
        lane->slice = (lane->slice + SLOW_PART - 1) / SLOW_PART;
        lane->items_max = lane->slice;
    } else {
        if (item->start != NULL)
            csc_outcome_part_with_locked(lane, item->start);
        else
            divide_run_locked(lane, item);
        csc_apply_go_on_locked(lane, 1);
    }
    csc_lock_give(&engine->mutex);
}
