/* SPDX-License-Identifier: MIT
 *
 * A queue with limits, as a model that spin checks exhaustively: two engines
 * claim, their lanes end runs and put them off beside that, processes die, runs
 * are started, messages come, and the limits are set and changed, in any order.
 * The server is one of READ COMMITTED: a statement sees what was committed as
 * it began, and who waits for a row's lock goes on behind the commit of whoever
 * had it. See check.sh for how it is run.
 *
 *   run 0   may be put off once (PARKS)
 *   run 1   or it is what continues run 0 (NEXT)
 *   run 2   of the same key, or of another (KEYS)
 *
 * WHAT HOLDS in every state (asserted where it is said in brackets)
 *   - no claim makes more slots than the maxima that are in force: S96 [take]
 *   - nothing but a claim makes more than there were promised: S96, S97
 *     [read, go_on]
 *   - what begins has a slot, unless its engine has not been told yet that
 *     there are limits. Such runs are in no count of slots, and none begins
 *     behind the first claim that tells [begin]
 *   - when nothing can happen any more all runs have ended: none waits for ever
 *     with a free slot [judge]. That holds without polls (POLLS=0) but for what
 *     is said below, and by polls alone (RARELY). No run of the model goes on
 *     for ever.
 *
 * WHICH FUNCTION MAKES WHICH STEP (check.sh looks whether there are such)
 *   look       csc_claim_round; csc_postgres_claim_runs, and the first
 *              statement of csc_postgres_turns_claim. From here on turns_more
 *              tells of slots that are given back (in the code: slots_left)
 *   lock, count, take
 *              the transaction of csc_postgres_turns_claim: turn_lock, then
 *              turn_take, which counts and chooses by what it sees as it
 *              begins, and takes what nobody else has taken since. turn_sort is
 *              in it
 *   note       has_more_turns(), csc_pause_note_queues
 *   take_free  claim_take, for a queue of which the look said that it has none
 *   read       the same, for a message
 *   begin, give_up
 *              csc_pause_is_on, by what the engine was told; csc_pause_begin
 *   finish, go_on, park
 *              csc_build_change, and what csc_apply_batch leaves in turns_more;
 *              of the run that goes on in the slot of another, keep_slot()
 *   rob        csc_peers_look; csc_postgres_remove_dead
 *   change     csc_postgres_limits_set: it waits for the lock, and wakes all
 *   born       a start that is owned from birth, by csc_pause_is_on_queue
 *
 * On SQLite a claim is one transaction that has no other beside it: lock, count
 * and take are one step, which is the part of this in which nobody waits.
 *
 * WHAT THE POLL IS FOR: it finds what is due and has room, for an idle worker
 *   CANCELS    a claim has chosen a run which another engine then takes for a
 *              message, and is given less than there was. That engine asks when
 *              it gives the run up; not when the message has ended it
 *   RARELY     nobody asks for anything but at a poll: wakes are lost, or not
 *              sent as their senders die
 *
 * WRONG ON PURPOSE: with one of these defined a search must fail.
 *   COUNTS_WITH_LOCK  one statement locks and counts: it sees what was there
 *                     before it waited
 *   NO_LOCK           claims do not lock
 *   NO_KEY            claims count the slots of the queue alone
 *   TAKES_BLINDLY     what was chosen is taken without a look who has it
 *   KEEPS_SLOT        who frees the runs of a dead engine leaves the slots, and
 *                     so does a claim for a message
 *   PARKS_KEEPING     a run that is put off keeps its slot, and is counted
 *   NEXT_RUN_TWICE    what continues a run begins with a slot before that ends
 *   NEXT_RUN_LATE     the run ends first, and what continues it gets the slot
 *                     in the commit behind that
 *   MESSAGE_RUNS      what was claimed for a message begins without a slot
 *   FORGETS_OVERLAP   a claim forgets that a slot was given back beside it
 *   FORGETS_BUSY      who had no idle worker does not ask again
 *   ENDS_QUIETLY      who gives a slot back does not ask for the next
 *   FREES_QUIETLY     nor who gives up what was claimed for a message
 *   NO_TIMES          nobody asks when the time of a run has come
 *   STARTS_QUIETLY    a start wakes nobody
 *   ROBS_QUIETLY      who frees the runs of a dead engine does not ask
 *   NEVER_TOLD        claims do not tell that there are limits
 *   ATTACHES_UNTOLD   an incarnation begins without having read them
 *
 * WHERE THE MODEL SAYS LESS than the code, and why nothing is lost
 *   - An owner's commit is one step, with what the engine learns by it: that it
 *     is fenced is what ownership.pml is about. So is who may call whom dead. A
 *     claim whose answer is lost ends the incarnation: it dies behind that.
 *   - A claim that does not get the lock in time asks again: it waits here.
 *   - A claim that finds a chosen run taken goes on to the next of its key, but
 *     not to another key: here it does neither, and is given less.
 *   - Who gives a slot back and has no idle worker wakes all: not here, and the
 *     runs end without it.
 *   - The order of keys and runs chooses among those that there is room for.
 *     The other reasons of `again` (many keys, many runs to sort) only add
 *     claims.
 *   - An engine asks for its idle worker, or for one run more than that. Who
 *     got all of it asks again: for speed, since who ends one of them asks too.
 *   - Births are engine 1's: until then the two are the same.
 *   - Pauses, limits that are dropped, suspects: not in it.
 */
#ifndef FAULTS
#define FAULTS 0
#endif
#ifndef CHANGES
#define CHANGES 0
#endif
#ifndef MESSAGES
#define MESSAGES 0
#endif
#ifndef CANCELS
#define CANCELS 0
#endif
#ifndef PARKS
#define PARKS 0
#endif
#ifndef NEXT
#define NEXT 0
#endif
#ifndef LATE /* the limits are set when there are runs already */
#define LATE 0
#endif
#ifndef KEYS
#define KEYS 1
#endif
#ifndef POLLS
#define POLLS 0
#endif
#ifdef RARELY
#define FORGETS_OVERLAP
#define FORGETS_BUSY
#define ENDS_QUIETLY
#define FREES_QUIETLY
#define NO_TIMES
#define STARTS_QUIETLY
#define ROBS_QUIETLY
#endif

#define RUNS 3
#define ENGINES 2
#define NOBODY 0 /* engines are 1 and 2 */
#define KEY_MAXIMUM 1

mtype:phase = { ABSENT, QUEUED, LATER, OWNED, RUNNING, ENDED };
mtype:life = { ALIVE, DEAD, REMOVED };

/* ---- The tables ---------------------------------------------------------- */

mtype:phase phase[RUNS] = ABSENT;
byte owner[RUNS];
bit slot[RUNS];
bit kept = !LATE;
byte maximum = KEYS; /* of the queue */
byte locker;         /* who has its row */

/* ---- What an engine remembers -------------------------------------------- */

mtype:life life[ENGINES + 1] = ALIVE;
bit knows[ENGINES + 1]; /* that there are limits */
bit told[ENGINES + 1];  /* somebody has waked it, or it has freed something */
bit more[ENGINES + 1];  /* turns_more */
bit waits[ENGINES + 1]; /* for the time of run 0 */

/* ---- What is asserted by, and what may happen yet ------------------------ */

bit could_know[ENGINES + 1]; /* it has asked since there are limits */
byte promised;               /* the maximum when the last slot was given */
byte faults = FAULTS;
byte changes = CHANGES;
byte messages = MESSAGES;
byte parks = PARKS;
#ifdef NEXT_RUN_LATE
byte follows; /* who is to start run 1 */
#endif

#ifdef PARKS_KEEPING
#define counts(r) (slot[r])
#else
#define counts(r) (slot[r] && owner[r] != NOBODY)
#endif
#define slots (counts(0) + counts(1) + counts(2))
#if KEYS == 1
#define key_slots(r) (slots)
#define key_room(r) (true)
#else
#define key_slots(r) (r == 2 -> counts(2) : counts(0) + counts(1))
#ifdef NO_KEY
#define key_room(r) (true)
#else
#define key_room(r) (key_slots(r) + chosen(r) < KEY_MAXIMUM)
#endif
#endif
#define chosen(r) (r == 2 -> got[2] : got[0] + got[1])

/* Nobody has it, and its time has come. */
#define is_due(r) (phase[r] == QUEUED)
#define any_due (is_due(0) || is_due(1) || is_due(2))
#define has_room(r) \
    (is_due(r) && (!kept || (slots < maximum && (KEYS == 1 || \
                                                 key_slots(r) < KEY_MAXIMUM))))
#define works(r, e) (phase[r] == RUNNING && owner[r] == e)
#define owns(r, e) (phase[r] == OWNED && owner[r] == e)
#define busy(e) (works(0, e) + works(1, e) + works(2, e))

#define polls(e) \
    (POLLS && busy(e) == 0 && (has_room(0) || has_room(1) || has_room(2)))
#define is_called(e) \
    (told[e] || (more[e] && busy(e) == 0) || \
     (waits[e] && phase[0] != LATER) || polls(e))

/* ---- An engine: its lane ------------------------------------------------- */

inline wake_all()
{
    told[1] = (life[1] == ALIVE);
    told[2] = (life[2] == ALIVE)
}

/* Whoever ends or parks a run gives its slot back, and asks for the next. */
inline leave(r)
{
#ifndef ENDS_QUIETLY
    if
    :: slot[r] -> more[e] = 1
    :: else
    fi;
#endif
    owner[r] = NOBODY;
    slot[r] = 0
}

inline finish(r)
{
    phase[r] = ENDED;
    leave(r)
}

/* Run 1 continues run 0: in its slot, or as all others. */
inline go_on()
{
#if defined(NEXT_RUN_TWICE)
    phase[1] = RUNNING;
    owner[1] = e;
    slot[1] = slot[0];
#elif defined(NEXT_RUN_LATE)
    follows = e;
    finish(0);
#else
    if
    :: slot[0] ->
        phase[1] = RUNNING;
        owner[1] = e;
        slot[1] = 1
    :: else -> phase[1] = QUEUED
    fi;
    finish(0);
#endif
    assert(slots <= promised && (KEYS == 1 || key_slots(1) <= KEY_MAXIMUM));
    wake_all()
}

#define goes_on (NEXT && phase[1] == ABSENT)

inline park()
{
    parks--;
    phase[0] = LATER;
#ifndef NO_TIMES
    waits[e] = 1;
#endif
#ifdef PARKS_KEEPING
    owner[0] = NOBODY;
    more[e] = 1
#else
    leave(0)
#endif
}

/* It has no slot, and the engine knows that it needs one. */
inline give_up(r)
{
    phase[r] = QUEUED;
#ifndef FREES_QUIETLY
    told[e] = 1;
#endif
    leave(r)
}

inline begin(r)
{
    assert(slot[r] || !could_know[e]);
    phase[r] = RUNNING
}

#ifdef MESSAGE_RUNS
#define may_begin(r) (true)
#else
#define may_begin(r) (!knows[e])
#endif

#define is_uncounted(r, e) (works(r, e) && !slot[r] && knows[e])

/* What owns nothing any more does nothing here: the dead, and the removed. */
#define acts(e) (life[e] == ALIVE)

proctype lane(byte e)
{
end:
    do
    :: d_step { acts(e) && works(0, e) && !goes_on -> finish(0) }
    :: d_step { acts(e) && works(0, e) && goes_on -> go_on() }
    :: d_step { acts(e) && works(1, e) -> finish(1) }
    :: d_step { acts(e) && works(2, e) -> finish(2) }
    :: d_step { acts(e) && works(0, e) && parks > 0 -> park() }
    :: d_step { acts(e) && owns(0, e) && may_begin(0) -> begin(0) }
    :: d_step { acts(e) && owns(1, e) && may_begin(1) -> begin(1) }
    :: d_step { acts(e) && owns(2, e) && may_begin(2) -> begin(2) }
    :: d_step { acts(e) && owns(0, e) && knows[e] -> give_up(0) }
    :: d_step { acts(e) && owns(1, e) && knows[e] -> give_up(1) }
    :: d_step { acts(e) && owns(2, e) && knows[e] -> give_up(2) }
    :: d_step { acts(e) && is_uncounted(0, e) -> give_up(0) }
    :: d_step { acts(e) && is_uncounted(1, e) -> give_up(1) }
    :: d_step { acts(e) && is_uncounted(2, e) -> give_up(2) }
#if CANCELS
    :: d_step { acts(e) && owns(0, e) && !goes_on -> finish(0) }
    :: d_step { acts(e) && owns(1, e) -> finish(1) }
    :: d_step { acts(e) && owns(2, e) -> finish(2) }
#endif
#ifdef NEXT_RUN_LATE
    :: d_step { acts(e) && follows == e ->
        follows = NOBODY;
        phase[1] = RUNNING;
        owner[1] = e;
        slot[1] = 1;
        assert(slots <= promised) }
#endif
    od
}

/* ---- An engine: its housekeeper ------------------------------------------ */

/* The connection is cut: the server takes all of it back. */
inline die()
{
    faults--;
    life[e] = DEAD;
    if
    :: locker == e -> locker = NOBODY
    :: else
    fi;
    knows[e] = 0;
    could_know[e] = 0;
    told[e] = 0;
    more[e] = 0;
    waits[e] = 0;
    forget()
}

#define may_die (faults > 0 && life[1] == ALIVE && life[2] == ALIVE)

inline forget()
{
    got[0] = 0;
    got[1] = 0;
    got[2] = 0;
    asked = 0;
    given = 0;
    room = 0;
    keeps = 0;
    seems = 0;
    later = 0
}

inline rob_run(r)
{
    if
    :: owner[r] == 3 - e ->
        owner[r] = NOBODY;
        phase[r] = QUEUED;
#ifndef KEEPS_SLOT
        slot[r] = 0;
#endif
    :: else
    fi
}

/* Who is gone may also have parked what is due. */
inline rob()
{
    life[3 - e] = REMOVED;
    rob_run(0);
    rob_run(1);
    rob_run(2);
#ifndef ROBS_QUIETLY
    told[e] = 1
#endif
}

inline read(r)
{
    messages--;
    phase[r] = OWNED;
    owner[r] = e;
#ifndef KEEPS_SLOT
    slot[r] = 0;
#endif
    assert(slots <= promised)
}

#define may_read(r) \
    (messages > 0 && (phase[r] == QUEUED || phase[r] == LATER))

/* What is asked for: the idle worker, or one more. */
inline look(n)
{
    asked = (busy(e) < n -> n - busy(e) : 0);
    told[e] = 0;
    more[e] = 0;
    waits[e] = 0;
    later = (phase[0] == LATER);
    keeps = kept;
    seems = (asked > 0 && any_due && slots < maximum);
    got[0] = !kept && is_due(0);
    got[1] = !kept && is_due(1);
    got[2] = !kept && is_due(2)
}

inline choose(r)
{
    if
    :: is_due(r) && room > 0 && key_room(r) ->
        got[r] = 1;
        room--
    :: else
    fi
}

inline count()
{
    room = (slots < maximum -> maximum - slots : 0);
    room = (asked < room -> asked : room);
    choose(0);
    choose(1);
    choose(2);
    room = 0
}

#ifdef TAKES_BLINDLY
#define is_free(r) (true)
#else
#define is_free(r) (is_due(r))
#endif

inline take(r)
{
    if
    :: got[r] && is_free(r) ->
        assert(owner[r] == NOBODY);
        phase[r] = RUNNING;
        owner[r] = e;
        slot[r] = 1;
        given++;
        promised = maximum;
        assert(slots <= maximum);
        assert(KEYS == 1 || key_slots(r) <= KEY_MAXIMUM)
    :: else
    fi
}

inline take_free(r)
{
    if
    :: got[r] && is_due(r) ->
        phase[r] = OWNED;
        owner[r] = e;
        slot[r] = 0
    :: else
    fi
}

#ifdef FORGETS_BUSY
#define was_busy (false)
#else
#define was_busy (asked == 0)
#endif
#define was_full (asked > 0 && given >= asked)

inline note()
{
#ifdef FORGETS_OVERLAP
    more[e] = 0;
#endif
    more[e] = keeps && (more[e] || was_busy || was_full);
#ifndef NO_TIMES
    waits[e] = (waits[e] || later);
#endif
    could_know[e] = keeps;
#ifndef NEVER_TOLD
    knows[e] = keeps;
#endif
    forget()
}

inline attach()
{
    life[e] = ALIVE;
    told[e] = 1;
    could_know[e] = kept;
#ifndef ATTACHES_UNTOLD
    knows[e] = kept;
#endif
}

proctype engine(byte e)
{
    bit got[RUNS];
    byte asked;
    byte given;
    byte room;
    bit keeps;
    bit seems;
    bit later;

end:
    do
    :: d_step { life[3 - e] == DEAD -> rob() }
    :: d_step { may_die -> die() } -> goto gone
    :: d_step { may_read(0) -> read(0) }
    :: d_step { may_read(1) -> read(1) }
    :: d_step { may_read(2) -> read(2) }
    :: atomic { is_called(e) ->
        if
        :: d_step { look(1) }
        :: d_step { look(2) }
        fi }
        if
        :: d_step { !keeps -> take_free(0); take_free(1); take_free(2); note() }
        :: d_step { keeps && !seems -> note() }
        :: keeps && seems ->
#ifdef COUNTS_WITH_LOCK
            d_step { count() };
#endif
#ifndef NO_LOCK
            if
            :: d_step { locker == NOBODY -> locker = e }
            :: d_step { may_die -> die() } -> goto gone
            fi;
#endif
#ifndef COUNTS_WITH_LOCK
            d_step { count() };
#endif
            if
            :: d_step { true ->
                take(0);
                take(1);
                take(2);
                locker = (locker == e -> NOBODY : locker);
                note() }
            :: d_step { may_die -> die() } -> goto gone
            fi
        fi
    od;
gone:
    /* A new process, when the other engine has freed what this one had. Or
     * there is none any more. */
    if
    :: d_step { life[e] == REMOVED -> attach() } -> goto end
    :: true
    fi
}

/* ---- Everybody else ------------------------------------------------------ */

inline start(r)
{
    phase[r] = QUEUED;
#ifndef STARTS_QUIETLY
    wake_all()
#endif
}

inline born(r, by)
{
    phase[r] = OWNED;
    owner[r] = by
}

#define may_start(r) \
    (phase[r] == ABSENT && (r == 0 || phase[0] != ABSENT) && \
     !(r == 1 && NEXT))
#define may_bear(r, by) (may_start(r) && life[by] == ALIVE && !knows[by])

proctype senders()
{
end:
    do
    :: d_step { may_start(0) -> start(0) }
    :: d_step { may_start(1) -> start(1) }
    :: d_step { may_start(2) -> start(2) }
#if LATE
    :: d_step { may_bear(0, 1) -> born(0, 1) }
    :: d_step { may_bear(1, 1) -> born(1, 1) }
    :: d_step { may_bear(2, 1) -> born(2, 1) }
#endif
    :: d_step { phase[0] == LATER -> phase[0] = QUEUED } /* time */
    od
}

inline change(n)
{
    maximum = n;
    changes--;
    wake_all()
}

proctype operator()
{
end:
    do
    :: d_step { !kept && locker == NOBODY -> kept = 1; wake_all() }
    :: d_step { kept && changes > 0 && locker == NOBODY && maximum != 1 ->
        change(1) }
    :: d_step { kept && changes > 0 && locker == NOBODY && maximum != 2 ->
        change(2) }
    od
}

proctype judge()
{
    timeout ->
        assert(phase[0] == ENDED && phase[1] == ENDED && phase[2] == ENDED)
}

init {
    atomic {
        knows[1] = kept;
        knows[2] = kept;
        could_know[1] = kept;
        could_know[2] = kept;
        run engine(1);
        run engine(2);
        run lane(1);
        run lane(2);
        run senders();
        run operator();
        run judge()
    }
}
