/* SPDX-License-Identifier: MIT
 *
 * A limit of how many runs of one key are in functions at once, as a model that
 * spin checks exhaustively: engines claim, their lanes end and park runs beside
 * that, processes die, runs are started, and the limit is raised, lowered and
 * set to nothing, in any order. The server is one of READ COMMITTED: a statement
 * sees what was committed as it began, and who waits for a row's lock goes on
 * behind the commit of whoever had it. Nothing in src/ does this yet: it is the
 * design, tried before it is built.
 *
 *   key row    the lock of all claims of the key; whether it sleeps, for which
 *              runs' time, and the version of the limits it fell asleep by
 *   wakes      rows that are only inserted: by each commit that starts a run of
 *              the key, frees it, or gives a slot back. A claim deletes those
 *              that it sees
 *   slot       a column of a run, set by claims alone. What is in use is the
 *              number of slots: nothing is counted up or down
 *   limit      maximum and version in the row of the queue
 *
 * A CLAIM is a transaction of these statements, in this order
 *   share      locks the queue's row against changes, and reads the limit
 *   lock       locks the key's row; waits for other claims of the key
 *   hear       deletes the wakes that it sees
 *   count      counts the slots: by a statement behind the lock
 *   admit      gives free slots to runs that are due, as many as workers wait
 *   commit     the key sleeps, unless free slots and due runs are left
 * One for a message takes a run without a slot, and lets it go again.
 *
 * WHAT HOLDS in every state (asserted where it is said in brackets)
 *   - no claim makes more slots than the maximum that is in force [commit]
 *   - no key sleeps while a run of it is due and a slot is free [commit]
 *   - when nothing can happen any more all runs have ended: none waits for ever
 *     with a free slot [judge]. No run of the model goes on for ever, faults
 *     left aside: a key that is full is not asked again and again.
 *
 * WRONG ON PURPOSE: with one of these defined a search must fail.
 *   COUNTS_WITH_LOCK   one statement locks and counts: it sees what was there
 *                      before it waited
 *   HEARS_LAST         the slots are counted before the wakes are deleted
 *   SLEEPS_THOUGH_DUE  the key sleeps whatever is left
 *   STARTS_QUIETLY     a start inserts no wake
 *   ENDS_QUIETLY       nor does an end
 *   PARKS_QUIETLY      nor a run that is put off
 *   FREES_QUIETLY      nor one that was claimed for a message
 *   REMOVES_QUIETLY    nor who frees the runs of a dead engine
 *   KEEPS_SLOT         who frees them leaves the slots as they are
 *   NO_VERSION         a sleep does not name the version of the limits
 *   NO_SHARE           the queue's row is not locked by claims
 *   NO_TIMER           a key sleeps though a run of it has a time to come
 *
 * WHERE THE MODEL SAYS LESS than the design
 *   - One key, one limit. A claim of several keys locks them in order, and each
 *     by itself is this.
 *   - An owner's commit is one step: that it is fenced is what ownership.pml is
 *     about. So is who may call whom dead. A claim whose answer is lost ends the
 *     incarnation: it dies behind its commit here.
 *   - Rates, fair shares and the order of runs choose among those that may be
 *     admitted; they never admit more.
 *   - Not in it: a maximum that is never reached, kept as an upper bound; rows of
 *     keys that are deleted; births, and runs that go on in the slot of another.
 */
#ifndef FAULTS
#define FAULTS 2
#endif
#ifndef CHANGES
#define CHANGES 2
#endif
#ifndef MESSAGES
#define MESSAGES 1
#endif

#define RUNS 3
#define ENGINES 2
#define NOBODY 0 /* engines are 1 and 2 */

mtype:phase = { ABSENT, QUEUED, LATER, OWNED, READING, ENDED };

/* ---- The tables ---------------------------------------------------------- */

mtype:phase phase[RUNS] = ABSENT;
byte owner[RUNS];
bit slot[RUNS];
bit parked[RUNS]; /* it has been put off once; it is not again */
byte maximum = 1;
byte version;
byte sharers; /* claims that keep the queue's row as it is */
byte locker;  /* who has the key's row */
byte wakes;
bit timed[RUNS]; /* it wakes when the first of these is due */
bit awake;       /* or at once */
byte asleep_by; /* version of the limits */

byte faults = FAULTS;
byte changes = CHANGES;
byte messages = MESSAGES;
bit dead[ENGINES + 1];

#define slots (slot[0] + slot[1] + slot[2])
#define is_due(r) (phase[r] == QUEUED && owner[r] == NOBODY)
#define any_due (is_due(0) || is_due(1) || is_due(2))
#define rings \
    ((timed[0] && is_due(0)) || (timed[1] && is_due(1)) || \
     (timed[2] && is_due(2)))

#ifdef NO_VERSION
#define is_old (false)
#else
#define is_old (asleep_by != version)
#endif

/* What a look for work finds without a lock. */
#define is_called (awake || wakes > 0 || is_old || rings)

/* ---- An engine ----------------------------------------------------------- */

inline admit(r)
{
    if
    :: is_due(r) && used + given < most && given < workers ->
        got[r] = 1;
        given++
    :: is_due(r) && used + given < most && given >= workers -> left = 1
    :: else
    fi;
    later[r] = (phase[r] == LATER)
}

inline take(r)
{
    if
    :: got[r] ->
        owner[r] = e;
        slot[r] = 1;
        phase[r] = OWNED;
        got[r] = 0
    :: else
    fi;
#ifndef NO_TIMER
    timed[r] = later[r];
#endif
    later[r] = 0
}

inline forget()
{
    got[0] = 0;
    got[1] = 0;
    got[2] = 0;
    used = 0;
    given = 0;
    most = 0;
    named = 0;
    heard = 0;
    left = 0;
    workers = 0;
    later[0] = 0;
    later[1] = 0;
    later[2] = 0
}

/* The connection is cut: the server takes all of it back. */
inline give_up()
{
#ifndef NO_SHARE
    sharers--;
#endif
    if
    :: locker == e -> locker = NOBODY
    :: else
    fi;
    faults--;
    dead[e] = 1;
    forget()
}

#define may_die (faults > 0 && !dead[1] && !dead[2])

inline wake()
{
    wakes++
}

/* Whoever ends, parks or loses a run gives its slot back. */
inline finish(r)
{
    slot[r] = 0;
    owner[r] = NOBODY;
    phase[r] = ENDED;
#ifndef ENDS_QUIETLY
    wake()
#endif
}

inline park(r)
{
    slot[r] = 0;
    owner[r] = NOBODY;
    phase[r] = LATER;
    parked[r] = 1;
#ifndef PARKS_QUIETLY
    wake()
#endif
}

/* A claim for a message, and what comes of it. */
inline read(r)
{
    messages--;
    owner[r] = e;
    phase[r] = READING
}

inline free(r)
{
    owner[r] = NOBODY;
    phase[r] = QUEUED;
#ifndef FREES_QUIETLY
    wake()
#endif
}

inline rob(r)
{
    if
    :: owner[r] == 3 - e ->
        owner[r] = NOBODY;
        phase[r] = QUEUED;
#ifndef KEEPS_SLOT
        slot[r] = 0;
#endif
#ifndef REMOVES_QUIETLY
        wake()
#endif
    :: else
    fi
}

#define has(r) (phase[r] == OWNED && owner[r] == e)
#define robs (dead[3 - e] && (owner[0] == 3 - e || owner[1] == 3 - e || \
                              owner[2] == 3 - e))

#define reads(r) (phase[r] == READING && owner[r] == e)

proctype lanes(byte e)
{
end:
    do
    :: d_step { !dead[e] && has(0) -> finish(0) }
    :: d_step { !dead[e] && has(1) -> finish(1) }
    :: d_step { !dead[e] && has(2) -> finish(2) }
    :: d_step { !dead[e] && has(0) && !parked[0] -> park(0) }
    :: d_step { !dead[e] && has(1) && !parked[1] -> park(1) }
    :: d_step { !dead[e] && has(2) && !parked[2] -> park(2) }
    :: d_step { !dead[e] && reads(0) -> free(0) }
    :: d_step { !dead[e] && reads(1) -> free(1) }
    :: d_step { !dead[e] && reads(2) -> free(2) }
    od
}

proctype engine(byte e)
{
    bit got[RUNS];
    byte used;
    byte given;
    byte most;
    byte named;
    byte heard;
    byte workers;
    bit left;
    bit later[RUNS];

end:
    do
    :: d_step { robs -> rob(0); rob(1); rob(2) }
    :: d_step { may_die -> faults--; dead[e] = 1 } -> goto gone
    :: d_step { messages > 0 && is_due(0) -> read(0) }
    :: d_step { messages > 0 && is_due(1) -> read(1) }
    :: d_step { messages > 0 && is_due(2) -> read(2) }
    :: is_called ->
        /* share */
        d_step {
#ifndef NO_SHARE
            sharers++;
#endif
            most = maximum;
            named = version
        }
        if
        :: workers = 1
        :: workers = RUNS
        fi;
        /* lock */
#ifdef COUNTS_WITH_LOCK
        used = slots;
#endif
        if
        :: d_step { locker == NOBODY -> locker = e }
        :: d_step { may_die -> give_up() } -> goto gone
        fi;
        /* hear and count */
#ifdef HEARS_LAST
        used = slots;
        d_step { admit(0); admit(1); admit(2) };
        heard = wakes;
#else
        heard = wakes;
#ifndef COUNTS_WITH_LOCK
        used = slots;
#endif
        d_step { admit(0); admit(1); admit(2) };
#endif
        /* commit: what is due then was seen by the statement before */
        if
        :: d_step {
            take(0);
            take(1);
            take(2);
            assert(given == 0 || slots <= maximum);
            wakes = wakes - heard;
            asleep_by = named;
#ifdef SLEEPS_THOUGH_DUE
            awake = 0;
#else
            awake = left;
#endif
            assert(is_called || slots >= maximum || !any_due);
            locker = NOBODY;
#ifndef NO_SHARE
            sharers--;
#endif
            forget()
           }
        :: d_step { may_die -> give_up() } -> goto gone
        fi
    od;
gone:
    /* A new process, when the other engine has freed what this one had. */
    if
    :: d_step { owner[0] != e && owner[1] != e && owner[2] != e ->
        dead[e] = 0 } -> goto end
    fi
}

/* ---- Everybody else ------------------------------------------------------ */

inline start(r)
{
    phase[r] = QUEUED;
#ifndef STARTS_QUIETLY
    wake()
#endif
}

proctype senders()
{
end:
    do
    :: d_step { phase[0] == ABSENT -> start(0) }
    :: d_step { phase[0] != ABSENT && phase[1] == ABSENT -> start(1) }
    :: d_step { phase[1] != ABSENT && phase[2] == ABSENT -> start(2) }
    od
}

proctype time()
{
end:
    do
    :: phase[0] == LATER -> phase[0] = QUEUED
    :: phase[1] == LATER -> phase[1] = QUEUED
    :: phase[2] == LATER -> phase[2] = QUEUED
    od
}

/* 0 pauses; the last change leaves some. */
inline change(n)
{
    maximum = n;
    version++;
    changes--
}

proctype operator()
{
end:
    do
    :: d_step { changes > 1 && sharers == 0 && maximum != 0 -> change(0) }
    :: d_step { changes > 0 && sharers == 0 && maximum != 1 -> change(1) }
    :: d_step { changes > 0 && sharers == 0 && maximum != 2 -> change(2) }
    od
}

/* What a run that was started has come to. */
init {
    atomic {
        run engine(1);
        run engine(2);
        run lanes(1);
        run lanes(2);
        run senders();
        run time();
        run operator()
    }
    timeout ->
        assert(phase[0] == ENDED && phase[1] == ENDED && phase[2] == ENDED)
}

