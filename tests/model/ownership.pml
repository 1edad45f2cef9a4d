/* SPDX-License-Identifier: MIT
 *
 * Ownership and fencing, as a model that spin checks exhaustively: two engines,
 * two cascades, and faults at any moment. See check.sh for how it is run.
 *
 *   cascade 0   STEP, RECEIVE (a message that comes at any time), FINISH
 *   cascade 1   RECEIVE (a message that was there before), FINISH (a timer)
 *
 * Each is an execution, recorded by a commit of whoever owns the cascade. An
 * owner with nothing to record gives the cascade up (PARK). FAULTS of these may
 * happen, in any mixture and order:
 *
 *   a process dies, and starts again or not; a connection is cut before or
 *   after the server has what was sent; a process is stopped in the middle of
 *   sending; a lease runs out while its engine lives; the answer to a claim is
 *   lost, with and without effect; a remover dies between its two halves
 *
 * WHAT HOLDS in every state (asserted where it is said in brackets)
 *   - only the owner's commit takes effect, on the rows that it was built from,
 *     so an execution is recorded once: G3, G5 [apply]
 *   - who attached and was not removed remembers what the tables say, and knows
 *     what it owns: G7, G12 [choose]
 *   - what an engine takes for committed is committed: G2, G12 [believe]
 *   - a message is received once: G9 [apply]
 *   - when nothing can happen any more both cascades have ended: none waits for
 *     ever with a message or a time that has come, nothing is locked for good:
 *     G2, G6, G9 [judge]. Together with the absence of cycles (every run ends:
 *     the second search of check.sh) this needs no assumption of fairness.
 *
 * WHICH FUNCTION MAKES WHICH STEP (check.sh looks whether there are such)
 *   step         engine                 PostgreSQL, then SQLite
 *   attach       csc_housekeeper_attach       csc_postgres_engine_attach,
 *                                       csc_postgres_engine_detach;
 *                                       csc_sqlite_lease_attach,
 *                                       csc_sqlite_lease_detach
 *   renew        csc_housekeeper_round        csc_postgres_engine_renew;
 *                                       csc_sqlite_lease_renew
 *   lose         csc_drop_lose, which leaves the rest to csc_drop_all
 *   claim, load  csc_claim_round      csc_postgres_claim_runs,
 *                                       csc_postgres_read_load;
 *                                       csc_sqlite_claim_runs,
 *                                       csc_sqlite_read_load
 *   remove, free_run, unblock
 *                csc_peers_look         csc_postgres_remove_dead;
 *                                       csc_sqlite_lease_remove
 *   choose       csc_advance_run (whether to park), csc_build_change
 *   send, decide csc_lane_round         csc_postgres_commit_batch;
 *                                       csc_sqlite_commit_batch
 *   believe      csc_build_apply, called when the lane applies its slice
 *   backend      the server: what the transaction of a commit does, step by
 *                step. On SQLite a transaction has no other beside it, so it is
 *                the part of this in which nobody waits
 * Messages are of the design: nothing sends or receives them yet.
 *
 * WHERE THE MODEL SAYS LESS than the code, and why nothing is lost
 *   - A commit that was sent whole is one step: whoever could tell that it has
 *     its lock waits for the lock. One that was sent in part stays HELD.
 *   - The number of a batch is compared with its lane's alone, so all that is
 *     kept of it is the answer: `late` (the lane moved since this try was made)
 *     and, on the engine's side, `moved` (it shows the number now being tried).
 *   - claim, remove, detach and renew lock what they check, so each is a step.
 *   - A new incarnation may have the id of an old one once nobody names that.
 *   - The first fault meets engine 0: until then the two are the same.
 *   - One lane: a cascade keeps to one, and lanes share nothing but the life of
 *     their incarnation.
 *
 * WRONG ON PURPOSE: with one of these defined a search must fail, the last one
 * in a cycle.
 *   NO_FENCE           a commit neither looks at its lane nor moves it
 *   SHARED_LOCK        it locks the lane beside others and does not move it
 *   SENDER_WRITES_RUN  senders set wake_at, and nobody looks for messages
 *   EXPIRY_FREES       a lease that has run out is enough to be robbed
 *   GUESSES            an unknown outcome is taken for a success
 *   SENDS_OTHER        what is sent after one is not the same batch again
 *   KEEPS_CLAIM        after a claim without an answer all goes on as before
 *   NO_UNBLOCK         a remover waits for whoever holds the lane
 *   RESTLESS           a cascade is given up without looking for its messages
 */
#ifndef FAULTS
#define FAULTS 2
#endif

#define NOBODY 0
#define IDS 4 /* 1 and 2 are of engine 0, 3 and 4 of engine 1 */

mtype:what = { NOTHING, STEP, RECEIVE, PARK, FINISH };
mtype:when = { NOW, AT_TIME, NEVER };
mtype:state = { UNUSED, SENT, HELD, COMMITTED, RAISED, BROKEN };

/* ---- The tables ---------------------------------------------------------- */

bit alive[IDS + 1];  /* cascade_engines, and the lane in cascade_lanes */
bit paused[IDS + 1]; /* its lease ran out though its engine lives */
bit running[2];      /* cascade_runs has a row: */
byte owner[2];       /*   engine_id */
mtype:when wake[2];  /*   wake_at */
byte done[2];        /* executions recorded */
bit message[2];      /* cascade_messages has one for it */
bit due[2];          /* the time that AT_TIME waits for has come */

/* ---- What is under way --------------------------------------------------- */

typedef batch {
    mtype:what what[2];
    byte done[2] /* what each cascade had recorded when this was built */
};

/* A try to commit a batch. 0 and 1 are those that the engines wait for; in 2
 * and 3 are such that nobody listens to any more. */
#define TRIES 4
typedef try {
    mtype:state state;
    bit partial; /* the server waits for the rest */
    bit stuck;   /* and does not see that it will never come */
    bit late;
    byte id;
    batch b
};
try T[TRIES];

typedef memory {
    bit down; /* for good */
    bit attached;
    byte id;
    byte dead_id;
    bit held[2];
    byte done[2];
    bit busy; /* a batch is not decided */
    bit moved;
    batch b
};
memory E[2];

byte faults = FAULTS;
bit lost_one; /* one engine goes on */

#define me E[e]
#define mine T[e]
#define may_fail (faults > 0 && (faults < FAULTS || e == 0))

/* ---- What statements ask ------------------------------------------------- */

#define is_due(c) (wake[c] == NOW || (wake[c] == AT_TIME && due[c]))
#ifdef SENDER_WRITES_RUN
#define is_called(c) is_due(c)
#else
#define is_called(c) (is_due(c) || message[c])
#endif
#define is_renewed(i) \
    ((E[0].attached && E[0].id == i) || (E[1].attached && E[1].id == i))
#define is_expired(i) (!is_renewed(i) || paused[i])
#ifdef EXPIRY_FREES
#define is_free(c) \
    (owner[c] == NOBODY || (owner[c] != me.id && is_expired(owner[c])))
#else
#define is_free(c) (owner[c] == NOBODY)
#endif
#define is_tried(t, i) (T[t].state != UNUSED && T[t].id == i)
#define is_held(t, i) (T[t].state == HELD && T[t].id == i)
#ifdef NO_FENCE
#define is_locked(i) (false)
#else
#define is_locked(i) \
    (is_held(0, i) || is_held(1, i) || is_held(2, i) || is_held(3, i))
#endif
#define is_named(i) \
    (alive[i] || owner[0] == i || owner[1] == i || E[0].id == i || \
     E[1].id == i || E[0].dead_id == i || E[1].dead_id == i || \
     is_tried(0, i) || is_tried(1, i) || is_tried(2, i) || is_tried(3, i))

#if defined(NO_FENCE)
#define passes(t) (true)
#elif defined(SHARED_LOCK)
#define passes(t) (alive[T[t].id])
#else
#define passes(t) (alive[T[t].id] && !T[t].late)
#endif

/* ---- The server ---------------------------------------------------------- */

inline clear(t)
{
    T[t].state = UNUSED;
    T[t].partial = 0;
    T[t].stuck = 0;
    T[t].late = 0;
    T[t].id = NOBODY;
    T[t].b.what[0] = NOTHING;
    T[t].b.what[1] = NOTHING;
    T[t].b.done[0] = 0;
    T[t].b.done[1] = 0
}

inline answer(t, with)
{
    if
    :: t < 2 -> T[t].state = with
    :: else -> clear(t)
    fi
}

/* One that nobody listens to and that cannot pass any more is left out: it
 * would raise, unheard. */
inline outdate(t)
{
    if
    :: is_tried(t, i) && T[t].state == SENT && t >= 2 -> clear(t)
    :: is_tried(t, i) && !(T[t].state == SENT && t >= 2) -> T[t].late = 1
    :: else
    fi
}

inline outdate_all()
{
#if !defined(NO_FENCE) && !defined(SHARED_LOCK)
    outdate(0);
    outdate(1);
    outdate(2);
    outdate(3)
#else
    skip
#endif
}

/* batch = n, for every later look at the lane. */
inline move_lane()
{
    outdate_all();
    if
    :: E[0].id == i -> E[0].moved = 1
    :: E[1].id == i -> E[1].moved = 1
    :: else
    fi
}

inline apply(t, c)
{
    if
    :: T[t].b.what[c] == NOTHING
    :: else ->
        assert(running[c] && owner[c] == T[t].id);
        assert(done[c] == T[t].b.done[c]);
        if
        :: T[t].b.what[c] == STEP -> done[c]++
        :: T[t].b.what[c] == RECEIVE ->
            assert(message[c]);
            message[c] = 0;
            done[c]++
        :: T[t].b.what[c] == PARK ->
            owner[c] = NOBODY;
            if
            :: done[c] == 1 -> wake[c] = NEVER
            :: else -> wake[c] = AT_TIME
            fi
        :: T[t].b.what[c] == FINISH ->
            done[c]++;
            running[c] = 0;
            owner[c] = NOBODY;
            wake[c] = NOW
        fi
    fi
}

inline commit(t)
{
    T[t].state = HELD;
    i = T[t].id;
    move_lane();
    i = 0;
    apply(t, 0);
    apply(t, 1);
    answer(t, COMMITTED)
}

#define arrived(t) (T[t].state == SENT && !is_locked(T[t].id))

proctype backend(byte t)
{
    byte i;
end:
    do
    :: d_step { arrived(t) && !T[t].partial && passes(t) -> commit(t) }
    :: d_step { arrived(t) && T[t].partial && passes(t) -> T[t].state = HELD }
    :: d_step { arrived(t) && !passes(t) -> answer(t, RAISED) }
    :: d_step { T[t].state == HELD && !T[t].partial -> commit(t) }
    /* It never arrived; or the server has seen that the client is gone. */
    :: d_step { T[t].state == SENT && t >= 2 -> clear(t) }
    :: d_step { T[t].state == HELD && t >= 2 && T[t].partial && !T[t].stuck ->
        clear(t) }
    od
}

/* ---- An engine: its incarnation ------------------------------------------ */

inline forget(c)
{
    me.held[c] = 0;
    me.done[c] = 0
}

inline end_batch()
{
    me.busy = 0;
    me.b.what[0] = NOTHING;
    me.b.what[1] = NOTHING;
    me.b.done[0] = 0;
    me.b.done[1] = 0
}

inline lose()
{
    paused[me.id] = 0;
    me.attached = 0;
    me.dead_id = me.id;
    me.id = NOBODY;
    me.moved = 0;
    forget(0);
    forget(1)
}

inline free_run(c)
{
    if
    :: owner[c] == i && i != NOBODY ->
        owner[c] = NOBODY;
        wake[c] = NOW
    :: else
    fi
}

inline delete_incarnation()
{
    alive[i] = 0;
    paused[i] = 0;
    outdate_all()
}

#define can_attach(i) \
    (!me.down && !me.attached && !me.busy && !is_named(i) && \
     (me.dead_id == NOBODY || !is_locked(me.dead_id)))

inline attach(n)
{
    i = me.dead_id;
    delete_incarnation();
    free_run(0);
    free_run(1);
    i = 0;
    me.dead_id = NOBODY;
    alive[n] = 1;
    me.id = n;
    me.attached = 1
}

/* ---- An engine: what others leave ---------------------------------------- */

#define can_claim(c) \
    (me.attached && alive[me.id] && !me.held[c] && running[c] && \
     is_free(c) && is_called(c))

inline load(c)
{
    me.held[c] = 1;
    me.done[c] = done[c]
}

/* No answer came: runs may be ours unseen. */
inline miss_answer()
{
    faults--;
#ifndef KEEPS_CLAIM
    lose()
#endif
}

inline claim(c)
{
    if
    :: true -> d_step { owner[c] = me.id; load(c) }
    :: may_fail -> d_step { owner[c] = me.id; miss_answer() }
    :: may_fail -> d_step { miss_answer() }
    fi
}

#define can_remove(i) \
    (me.attached && me.id != i && alive[i] && is_expired(i) && !is_locked(i))

/* The second half is lost when the remover dies before it. */
inline remove(n)
{
    i = n;
    delete_incarnation();
    if
    :: true -> free_run(0); free_run(1)
    :: may_fail -> faults--
    fi;
    i = 0
}

#define is_orphan(c) \
    (me.attached && owner[c] != NOBODY && !alive[owner[c]])

#ifdef NO_UNBLOCK
#define in_the_way(t) (false)
#else
#define in_the_way(t) \
    (me.attached && T[t].state == HELD && T[t].partial && \
     T[t].id != me.id && is_expired(T[t].id))
#endif

/* ---- An engine: its lane ------------------------------------------------- */

/* What comes next for a cascade that is held, as its owner sees it now. */
inline choose(c)
{
    assert(!alive[me.id] || (owner[c] == me.id && done[c] == me.done[c]));
    me.b.done[c] = me.done[c];
    if
    :: me.done[c] == 0 -> me.b.what[c] = STEP
#ifdef RESTLESS
    :: me.done[c] == 1 && message[c] && c == 0 -> me.b.what[c] = PARK
    :: me.done[c] == 1 && message[c] && c == 1 -> me.b.what[c] = RECEIVE
#else
    :: me.done[c] == 1 && message[c] -> me.b.what[c] = RECEIVE
#endif
    :: me.done[c] == 1 && !message[c] -> me.b.what[c] = PARK
    :: me.done[c] == 2 && due[c] -> me.b.what[c] = FINISH
    :: me.done[c] == 2 && !due[c] -> me.b.what[c] = PARK
    fi
}

inline copy(to, from)
{
    T[to].b.what[0] = from.b.what[0];
    T[to].b.what[1] = from.b.what[1];
    T[to].b.done[0] = from.b.done[0];
    T[to].b.done[1] = from.b.done[1]
}

inline send()
{
    me.busy = 1;
    mine.state = SENT;
    mine.late = me.moved;
    mine.id = me.id;
    copy(e, E[e])
}

#define has_slot (T[2].state == UNUSED || T[3].state == UNUSED)

inline leave_in(t, how)
{
    T[t].state = mine.state;
    T[t].partial = mine.partial;
    T[t].stuck = how;
    T[t].late = mine.late;
    T[t].id = mine.id;
    copy(t, T[e])
}

/* The answer is not waited for any more. */
inline hang_up(how)
{
    if
    :: mine.state == HELD || (mine.state == SENT && passes(e)) ->
        if
        :: T[2].state == UNUSED -> leave_in(2, how)
        :: else -> leave_in(3, how)
        fi
    :: else
    fi;
    clear(e)
}

inline believe(c)
{
    if
    :: me.b.what[c] == NOTHING
    :: me.b.what[c] == STEP || me.b.what[c] == RECEIVE ->
        me.done[c]++;
        assert(done[c] >= me.done[c])
    :: me.b.what[c] == PARK ->
        assert(!alive[me.id] || owner[c] != me.id);
        forget(c)
    :: me.b.what[c] == FINISH ->
        assert(!running[c]);
        forget(c)
    fi
}

inline apply_slice()
{
    if
    :: me.attached ->
        believe(0);
        believe(1);
        me.moved = 0
    :: else
    fi;
    end_batch()
}

/* The fence has raised: the lane shows this number, or it is not there. */
inline decide()
{
    if
    :: me.attached && alive[me.id] ->
        assert(me.moved);
        apply_slice()
    :: me.attached && !alive[me.id] ->
        lose();
        end_batch()
    :: else -> end_batch()
    fi
}

#define can_send (me.attached && !me.busy)
#define waits (mine.state == SENT || mine.state == HELD)
#define in_doubt (me.busy && me.attached && mine.state == UNUSED)
#define is_written(c) \
    (me.b.what[c] == NOTHING || owner[c] != me.id || \
     done[c] != me.b.done[c])

proctype engine(bit e)
{
    byte i;
end:
    do
    /* the incarnation */
    :: d_step { can_attach(1 + 2 * e) -> attach(1 + 2 * e) }
    :: d_step { can_attach(2 + 2 * e) && is_named(1 + 2 * e) ->
        attach(2 + 2 * e) }
    :: d_step { me.attached && alive[me.id] && !paused[me.id] && may_fail ->
        faults--;
        paused[me.id] = 1 }
    :: d_step { me.attached && alive[me.id] && paused[me.id] ->
        paused[me.id] = 0 /* renew */ }
    :: d_step { me.attached && !alive[me.id] -> lose() }

    /* what others leave */
    :: atomic { can_claim(0) -> claim(0) }
    :: atomic { can_claim(1) -> claim(1) }
    :: atomic { can_remove(1) -> remove(1) }
    :: atomic { can_remove(2) -> remove(2) }
    :: atomic { can_remove(3) -> remove(3) }
    :: atomic { can_remove(4) -> remove(4) }
    :: d_step { in_the_way(0) -> answer(0, BROKEN) /* unblock */ }
    :: d_step { in_the_way(1) -> answer(1, BROKEN) }
    :: d_step { in_the_way(2) -> answer(2, BROKEN) }
    :: d_step { in_the_way(3) -> answer(3, BROKEN) }
    :: d_step { is_orphan(0) -> i = owner[0]; free_run(0); i = 0 }
    :: d_step { is_orphan(1) -> i = owner[1]; free_run(1); i = 0 }

    /* the lane: one batch at a time, of one cascade or of both */
    :: d_step { can_send && me.held[0] -> choose(0); send() }
    :: d_step { can_send && me.held[1] -> choose(1); send() }
    :: d_step { can_send && me.held[0] && me.held[1] ->
        choose(0);
        choose(1);
        send() }
    :: d_step { mine.state == SENT && !mine.partial && may_fail ->
        faults--;
        mine.partial = 1 }
    :: d_step { waits && mine.partial -> mine.partial = 0 }
    :: d_step { mine.state == COMMITTED -> clear(e); apply_slice() }
    :: d_step { mine.state == RAISED -> clear(e); decide() }
    :: d_step { mine.state == BROKEN -> clear(e) }
    :: d_step { mine.state != UNUSED && has_slot && may_fail ->
        faults--;
        hang_up(0) }
#if defined(NO_FENCE) || defined(SHARED_LOCK)
    :: d_step { in_doubt && !(is_written(0) && is_written(1)) -> send() }
    :: d_step { in_doubt && is_written(0) && is_written(1) -> apply_slice() }
#elif defined(GUESSES)
    :: d_step { in_doubt -> apply_slice() }
#elif defined(SENDS_OTHER)
    :: d_step { in_doubt -> end_batch() }
#else
    :: d_step { in_doubt -> send() }
#endif
    :: d_step { me.busy && !me.attached && has_slot ->
        hang_up(0);
        end_batch() }

    /* the end of the process; a stopped one hangs up no connection */
    :: atomic { !me.down && may_fail && has_slot ->
        faults--;
        if
        :: !lost_one ->
            lost_one = 1;
            me.down = 1
        :: true
        fi;
        if
        :: true -> hang_up(0)
        :: mine.partial -> hang_up(1)
        fi;
        d_step {
            lose();
            me.dead_id = NOBODY;
            end_batch()
        } }
    od
}

/* ---- The world around ---------------------------------------------------- */

proctype sender()
{
#ifdef SENDER_WRITES_RUN
    d_step { message[0] = 1; wake[0] = NOW }
#else
    message[0] = 1
#endif
}

proctype clock()
{
    done[1] == 2;
    due[1] = 1
}

proctype judge()
{
    timeout -> assert(!running[0] && !running[1])
}

inline begin(e)
{
    E[e].id = 1 + 2 * e;
    E[e].attached = 1;
    alive[1 + 2 * e] = 1;
    E[e].b.what[0] = NOTHING;
    E[e].b.what[1] = NOTHING;
    running[e] = 1;
    wake[e] = NOW
}

init {
    atomic {
        d_step {
            clear(0);
            clear(1);
            clear(2);
            clear(3);
            begin(0);
            begin(1);
            due[0] = 1;
            done[1] = 1;
            message[1] = 1
        }
        run backend(0);
        run backend(1);
        run backend(2);
        run backend(3);
        run engine(0);
        run engine(1);
        run sender();
        run clock();
        run judge()
    }
}
