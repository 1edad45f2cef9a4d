/* SPDX-License-Identifier: MIT
 *
 * How much may be in memory, in bytes. What a cascade takes is counted when it
 * is read or born, and after each of its commits.
 *
 *   small   together they may take half of held_bytes_max. Beyond that none is
 *           claimed, read or born here, and what comes to rest is parked at
 *           once
 *   large   one that takes more than that by itself. One of them has the place
 *           for such: it is the first to show that it is, or the first of those
 *           that wait. Another one is let go as soon as its rows show it, and
 *           waits, behind those that do already, until the place is free;
 *           meanwhile the first is parked as soon as it rests
 *
 *             claimed --> read --> held --> parked, ended, or its turn is over
 *                ^          |
 *                +-- waits -+  in `reloads`, owned
 *
 * One that does not rest has a turn: of some time, and of several times what it
 * took to read it, so that most of the time is not spent on reading. Once that
 * is over, it has recorded something, and another one waits, it is made to
 * leave: nothing of it begins any more, as if it were paused (pause.c), and
 * when nothing is in a function it is given up, due at once. Whoever claims it
 * reads it anew, here behind those that wait. So n of them have one turn in n.
 * A function that was entered may record a part of its own before, so that one
 * that is slow goes on too, whatever is beside it (part.c). One that does not
 * return, nor come to its next part, keeps the place.
 *
 * So the small ones go on beside a large one, and a large one beside them. Only
 * what comes into memory waits: a cascade that is held grows by its commits as
 * it has to, and two large ones may come of that. The place is free when its
 * owner is let go; the bytes count until they are freed.
 *
 * What was claimed waits like any other until there is memory for it, and
 * while it could be read as soon as others are (reloads.due) no more is
 * claimed. A load brings messages, too: while as much as may be waits for its
 * commit (backlog_bytes_max), nothing is claimed or read.
 *
 * Between the look and the count there is one load (hydrate.c) or portion
 * (stream.c) of the housekeeper, and one load of the helper of a burst
 * (claim.c): by so much the bounds may be passed. A load has rows of a quarter
 * of held_bytes_max, 32 MiB at most, which take up to twice as much in memory.
 * So an engine takes
 *
 *   the small ones        held_bytes_max / 2
 *   two loads             held_bytes_max, 128 MiB at most
 *   one that is large     what it has
 *   results and messages  backlog_bytes_max, one look (receive.c), and what is
 *                         in functions
 *
 * Not counted: what nodes allocate themselves, and what is the store's own.
 */
#include "held/room/room.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/room/reload.h"
#include "held/room/suspect.h"
#include "held/run/run.h"
#include "held/run/sealing.h"
#include "held/wakeup.h"
#include "state/state.h"

#define TURN_NS (500 * CSC_MS_NS)
#define TURN_READS 4 /* times as long as the reading took, at least */

/* What one may take to be small, and all the small ones together. */
static size_t
share(const cascade_engine *engine)
{
    return engine->options.held_bytes_max / 2;
}

bool
csc_room_is_full(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->room.small_bytes >= share(engine);
}

static void
take_out(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (run->counted == 0)
        return;
    if (run->large) {
        csc_assert(engine->room.large_bytes >= run->counted);
        engine->room.large_bytes -= run->counted;
    } else {
        csc_assert(engine->room.small_bytes >= run->counted &&
                   engine->room.small_count > 0);
        engine->room.small_bytes -= run->counted;
        engine->room.small_count--;
    }
    run->counted = 0;
}

static void
put_in(cascade_engine *engine, csc_run *run, size_t bytes)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && bytes > 0);
    csc_assert(run->counted == 0);
    run->counted = bytes;
    run->large = bytes > share(engine);
    if (run->large) {
        engine->room.large_bytes += bytes;
    } else {
        engine->room.small_bytes += bytes;
        engine->room.small_count++;
    }
}

/* Something has become free that somebody may have waited for. */
static void
tell(cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->reloads.at_ns = 0;
    csc_wakeup_house_locked(engine);
}

static int64_t
turn_ns(const csc_run *run)
{
    return run->read_ns > TURN_NS / TURN_READS ? TURN_READS * run->read_ns
                                               : TURN_NS;
}

void
csc_room_take_place(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->room.large != NULL)
        return;
    engine->room.large = run;
    engine->room.large_until_ns = csc_run_is_held(run)
                                      ? csc_clock_now_ns(engine) + turn_ns(run)
                                      : INT64_MAX;
}

void
csc_room_begin_turn(cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex) && csc_run_is_held(run));
    if (engine->room.large == run)
        engine->room.large_until_ns = csc_clock_now_ns(engine) + turn_ns(run);
}

bool
csc_room_is_wanted(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return engine->room.large == run && engine->room.large_waiting > 0;
}

/* What has only been ready so far is given the time that it takes until its
 * turn comes: it is not read in vain. */
bool
csc_room_must_leave(const cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return csc_room_is_wanted(engine, run) &&
           (run->worked || run->active == 0) &&
           csc_clock_now_ns(engine) >= engine->room.large_until_ns;
}

void
csc_room_give_place(cascade_engine *engine, const csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    if (engine->room.large != run)
        return;
    engine->room.large = NULL;
    tell(engine);
}

void
csc_room_count(cascade_engine *engine, csc_run *run)
{
    size_t bytes =
        sizeof(*run) + csc_state_bytes(&run->state) + csc_sealing_bytes(run);
    bool was_full = csc_room_is_full(engine);
    bool was_large = run->large;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (bytes == run->counted)
        return;
    take_out(engine, run);
    put_in(engine, run, bytes);
    csc_assert(run->counted == bytes);
    if (run->large && (csc_run_is_held(run) || engine->room.large_waiting == 0))
        csc_room_take_place(engine, run);
    else if (was_large && !run->large)
        csc_room_give_place(engine, run);
    if (was_full && !csc_room_is_full(engine))
        tell(engine);
}

void
csc_room_leave(cascade_engine *engine, csc_run *run)
{
    bool was_full = csc_room_is_full(engine);

    csc_assert(csc_lock_is_held(&engine->mutex) && run->refs == 0);
    csc_room_give_place(engine, run);
    take_out(engine, run);
    csc_assert(run->counted == 0 && engine->room.large != run);
    if (was_full && !csc_room_is_full(engine))
        tell(engine);
}

/* By what those in memory take on average. */
static size_t
places_left(const cascade_engine *engine)
{
    size_t each = sizeof(csc_run);
    size_t left = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (csc_room_is_full(engine))
        return 0;
    if (engine->room.small_count > 0)
        each = engine->room.small_bytes / engine->room.small_count;
    csc_assert(each > 0);
    left = (share(engine) - engine->room.small_bytes) / each;
    return left > 0 ? left : 1;
}

bool
csc_room_may_receive(const cascade_engine *engine)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return atomic_load(&engine->backlog) < engine->options.backlog_bytes_max;
}

bool
csc_room_waits(cascade_engine *engine)
{
    bool waits = !csc_room_may_receive(engine);

    csc_assert(csc_lock_is_held(&engine->mutex));
    engine->room.held_back = engine->room.held_back || waits;
    return waits;
}

bool
csc_room_admits(const cascade_engine *engine, const csc_reload *reload)
{
    csc_assert(csc_lock_is_held(&engine->mutex));
    return reload->large ? engine->room.large == NULL
                         : !csc_room_is_full(engine);
}

bool
csc_room_is_second(cascade_engine *engine, csc_run *run)
{
    csc_assert(csc_lock_is_held(&engine->mutex) &&
               run->life == CSC_RUN_LOADING);
    csc_room_count(engine, run);
    return run->large && engine->room.large != run;
}

size_t
csc_room_for_claims(const cascade_engine *engine)
{
    size_t coming =
        engine->room.births + engine->room.claiming + engine->reloads.due;
    size_t left = 0;

    csc_assert(csc_lock_is_held(&engine->mutex));
    if (!csc_room_may_receive(engine) || csc_suspect_is_alone(engine) ||
        engine->life != CSC_LIFE_RUNNING ||
        atomic_load_explicit(&engine->stop_requested, memory_order_relaxed) ||
        engine->runs.count >= engine->options.capacity)
        return 0;
    left = places_left(engine);
    if (left > engine->options.capacity - engine->runs.count)
        left = engine->options.capacity - engine->runs.count;
    return left > coming ? left - coming : 0;
}
