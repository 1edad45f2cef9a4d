/* SPDX-License-Identifier: MIT
 *
 * The store interface: for authors of backends. Programs that only use
 * libcascade need cascade.h alone.
 *
 * A store keeps the three tables (cascades, node_executions, context_events)
 * and the auxiliary ones that hold dispatch (cascade_runs, cascade_engines,
 * cascade_lanes, cascade_messages, cascade_keys, cascade_queues,
 * cascade_erasures, cascade_links, cascade_seals, cascade_schema). It knows
 * nothing of nodes and attempts: the engine decides what is written, the store
 * writes it, all or nothing. A backend is one constant table of moves,
 * cascade_store_driver. Each move is atomic: it takes effect whole, or not at
 * all.
 *
 *   MOVES       | which                                     | where missing
 *   ------------+-------------------------------------------+----------------
 *   the core    | open migrate now close                    | the store is not
 *               | attach renew detach engines remove        | opened: INVALID,
 *               | claim load receive scan list              | "store x lacks
 *               | commit submit settle wait wake            | `claim`"
 *   chain       | key find link sweep                       | store_chain.h
 *   manage      | pause queues totals schema repair purge   | store_manage.h
 *               | erase strays                              |
 *   integrity   | seal seals                                | store_seal.h
 *   node_txn    | begin finish abandon                      | store_txn.h
 *   limits      | set list drop                             | store_limits.h
 *
 * The last five are sub-tables: NULL, or whole. A call that needs one which is
 * not there is CASCADE_ERR_UNSUPPORTED and names it. Each table says its size:
 * what is added to it later stands behind it, so that a backend which was built
 * before goes on working, and lacks that.
 *
 * The library checks what it passes on: see CHECKED ABOVE.
 *
 *                 attach                    detach, or remove by another
 *   (no incarnation) ----> incarnation alive ----> (gone: runs are free)
 *                            |  ^
 *                      claim |  | commit (KEEP, RESET)
 *                            v  |
 *   run free  <------------ run owned ------------> run row deleted
 *              commit FREE              commit END
 *
 * OWNERSHIP
 *   An engine attaches with a new incarnation id, which inserts one row in
 *   cascade_engines (with a lease) and one row for each lane in cascade_lanes
 *   (batch = 0). A run whose engine_id is that incarnation is owned by it. Only
 *   deletion of the incarnation takes ownership away: expiry of the lease by
 *   itself means nothing.
 *
 * THE FENCE
 *   Every batch names (engine_id, lane, number). The first thing its
 *   transaction does is to move that lane's row from number - 1 to number. If
 *   there is no such row the whole batch has no effect. The row lock makes a
 *   second try of the same batch wait for the first, so an unknown outcome is
 *   decided, never guessed: see `commit`.
 *
 * NUMBERED GUARANTEES (the conformance suite cites them)
 *   S1  open and migrate: any number of processes may open one database at
 *       once; a newer schema, a changed migration or other columns are
 *       CASCADE_ERR_SCHEMA; what is there is not touched.
 *   S2  a commit is all or nothing, and durable when it returns OK.
 *   S3  a repeated commit of the same number takes effect once; OK both times.
 *   S4  a fenced commit changes nothing: CASCADE_ERR_FENCED when the
 *       incarnation or lane is gone, CASCADE_ERR_LOST when the lane shows
 *       another number than number - 1 or number. A claim is LOST, and takes
 *       nothing, when the lanes show fewer batches than it names.
 *   S5  a batch with one change the database refuses for good (a path that is
 *       taken, a cascade that is not there, an execution that is not there or
 *       has ended) changes nothing and is CASCADE_ERR_REFUSED.
 *   S6  a start whose cascade exists changes nothing of it and is told; a
 *       repeated start (same id of execution 0) is not taken for an existing
 *       one. Its neighbours in the batch are not affected.
 *   S7  a claim is exclusive: a run is claimed by at most one incarnation.
 *   S8  a claim gives only free runs of the asked queues which a message names,
 *       or whose wake_at has come by the store's clock and whose `needs` is
 *       empty or asked for: those with messages first, then higher priority
 *       first, then earlier wake_at.
 *   S9  each claim raises claim_no by one and clears `needs`: what its owner
 *       meets next is for that owner to say.
 *   S10 a live lease is not removed; one that is expired by the store's clock,
 *       or named dead by the caller, is, also when a stopped process holds its
 *       lane row; a renewal that came first wins.
 *   S11 runs of incarnations that are gone become free, with takeovers + 1, in
 *       bounded portions; detach frees them with takeovers unchanged.
 *   S12 load gives the rows of one moment, in order.
 *   S13 payload texts come back as they were given (canonical JSON).
 *   S14 list pages by id, without gaps or repetitions.
 *   S15 no move blocks longer than the deadline (wait: than its time limit).
 *   S16 a failing move leaves the error text, changes nothing, and leaves no
 *       transaction, lock or descriptor behind; the store stays usable.
 *   S17 wake, and a submit that returns OK, in one handle end a wait in
 *       another, of another process too where the backend can; a wait may
 *       always end early. Where `listening` is told, a wake between two waits
 *       of a waiter (see cascade_waited) ends the second at once, for
 *       each waiter of a handle, with `woken`; time and `wake_fd` alone are
 *       not told as a wake.
 *   S18 names and payloads of any content cannot change a statement.
 *   S19 a message whose path is that of a message, or of an execution, is not
 *       inserted, and is no error. Of two messages for one cascade, of which
 *       one was durable before the other was sent, the first has the lower id.
 *   S20 a message is there until the commit that names it among `received`, or
 *       that deletes its cascade; receiving it and what comes of it are one
 *       commit. A cascade that has ended and has messages is claimable: its run
 *       row is made anew, in some queue of the claim and of priority 0. A
 *       message for a cascade that is not there is deleted by some claim, or
 *       sent on by it (S55).
 *   S21 CASCADE_RUN_DELETE and purge, and what erase does of a cascade that
 *       they have marked (S39), leave no row of it in any table but
 *       cascade_keys and cascade_links; its seal where the store is not
 *       `sealed`.
 *   S22 a start with a key takes effect only while it is the next run of that
 *       key; see `key` of cascade_change.
 *   S23 a claim tells of each run that it gives for its messages the kind of
 *       the first.
 *   S24 CASCADE_LOAD_FAMILY gives the first execution, and of the others those
 *       of children that are RUNNING; what it costs does not grow with the
 *       executions that are no children.
 *   S25 a claim gives runs of a paused queue only where a message names them,
 *       and counts no others of it in next_wake_at_ms. A start is not kept from
 *       a paused queue.
 *   S26 purge deletes no cascade that is RUNNING, has a run or a message, or
 *       whose updated_at is since the time that is named. What is sent to one
 *       while it is deleted may be lost with it, unless it leads on (S55).
 *   S27 repair changes no cascade that has a run, or whose row is another than
 *       the caller had read.
 *   S28 scan gives each page as of one moment, in order; pages that follow each
 *       other leave out no row that was there all the time.
 *   S29 finish commits the batch and all that was written through the handle
 *       since begin, or nothing of either. The fence is the last statement
 *       before the commit: until then nothing of the lane is locked, and
 *       `remove` does not wait for the function that has the handle (where a
 *       database has one writer, native_max = 1, all that write wait for it).
 *   S30 whatever finish and abandon answer, the transaction has ended as far as
 *       this process can end it, and the handle is the store's again, with its
 *       session as it was.
 *   S31 a transaction that was ended by whoever had the handle, or that is past
 *       its limit, is not committed: finish tells, and nothing is written that
 *       was not committed behind its back.
 *   S32 settle decides a finish whose outcome is not known, once and for all: a
 *       finish of that number that comes to the server later is fenced.
 *   S33 a start that waits for a transaction which is not the store's (one of
 *       the application's, in which the same cascade was started) does not keep
 *       the rest of its batch waiting: a commit with starts, and a submit that
 *       is `brief`, do not wait long for each, and may answer
 *       CASCADE_ERR_AGAIN. Nothing of that call has taken effect, or will: a
 *       try of it that is undecided is UNAVAILABLE, never AGAIN later in the
 *       same call. A commit without starts never does.
 *   S34 a claim or a commit that certainly has done nothing, and will not, says
 *       so: CASCADE_ERR_NOT_DONE. It never says so of one that may have taken
 *       effect, and it says nothing of earlier calls with the same number.
 *   S37 receive gives of each cascade its first messages alone, `each` at most,
 *       and goes through the cascades in the order of their ids: who goes on
 *       behind the last one that it gave comes to all of them, however many
 *       messages one has. What it reads of a cascade does not grow with these.
 *   S39 a commit takes no more than CASCADE_DELETE_ROWS_MAX rows out of each
 *       table for all its CASCADE_RUN_DELETE changes together, and no more than
 *       about CASCADE_DELETE_BYTES_MAX bytes of them where bytes take time; so
 *       does purge. Of a cascade go its events, then its executions, both from
 *       the highest function_id down, then its messages, then its row. One of
 *       which something is left is marked in the same commit: it has no run any
 *       more, and has an erasure. `existed` tells of it; of a batch that took
 *       effect before, whether it still is so.
 *   S40 what is marked is absent: no read gives it or its rows, no claim makes
 *       it a run, nothing can be sent to it, it is neither counted, repaired
 *       nor purged. Its id alone is taken until it is erased: a start of it
 *       counts as existing, and changes nothing.
 *   S41 erase goes on where the commit has stopped, by the bounds and in the
 *       order of S39, in marked cascades alone; where others wait for whoever
 *       writes it takes fewer rows, but CASCADE_ERASE_ROWS_MIN of each table,
 *       if there are so many within the bytes. With the last rows of one go
 *       its own and the erasure, together. A piece that comes late, or twice,
 *       takes nothing of what has been started anew under that id.
 *   S42 an erasure is worked at by one incarnation at a time, by another when
 *       that one is gone, and by a caller without one where no incarnation that
 *       lives has it.
 *   S43 what is gone leads on: a start with `root` enters, in the same commit,
 *       that its cascade is the last run of that one, if its number is higher
 *       than what was entered before. find gives it, with the root, for the
 *       root's id as text, and for whatever `link` has entered, where these are
 *       in no cascade any more. A start that does nothing enters nothing.
 *   S44 link enters what outlives a run that is about to be deleted: its id,
 *       and the paths that it has received, which are taken (S19) and told as
 *       repeated from then on. Of one root the last CASCADE_LINKS_MAX of these
 *       stay, by (run_number, function_id), the id behind the paths: whoever
 *       enters them, in whatever order. Entering them again changes nothing.
 *   S45 a page of a scan with bytes_max ends behind the row that brings it to
 *       about so many bytes, as they are stored; so it gives a row where there
 *       is one, and only a page without any tells that there are no more. What
 *       it costs does not grow with the rows behind it.
 *   S46 a receive with bytes_max ends behind the message that brings it to
 *       about so many bytes, as they are stored; where there is one it gives
 *       one.
 *   S47 a claim of suspects raises `trial` of each run that it gives, and tells
 *       it; any other claim leaves it alone. RESET, FREE, REVIVE make it 0, and
 *       a run begins with 0; detach takes one back of each of its runs that has
 *       any; remove leaves it. So it counts the owners that were removed while
 *       they had the run as a suspect, and the one that has it so now.
 *   S49 find gives the cascade that each path is in, as of one moment: that
 *       which is to receive the message, or has the execution; else what S43
 *       says. A path that is free is in none, and so is that of a marked one
 *       (S40), but S84.
 *   S50 a message whose path is taken is told as REPEATED also where the
 *       cascade that it is for is not there; not where that is marked (S40).
 *   S51 CASCADE_LOAD_FAMILY gives of each cascade the first children that are
 *       RUNNING, CASCADE_LOAD_FAMILY_MAX at most. What it reads of one does not
 *       grow with those that are RUNNING besides.
 *   S52 a scan with children_only gives the same as one that is running_only,
 *       without the executions that are no children: what it costs does not
 *       grow with these.
 *   S53 settle decides a commit as it does a finish (S32), of any lane, also of
 *       a store without transactions of nodes: one that it tells as not
 *       committed never is, whenever it comes, and number + 2 is the next.
 *   S54 sweep takes what was entered by S43 and S44 for roots of which the last
 *       run is gone, or marked (S40), and nothing else: of each root what leads
 *       to its last run goes last.
 *   S55 a message for a cascade that is not there, but leads to a last run that
 *       is (S43), is sent on to that by some claim, with another id; but one of
 *       a kind that the claim names as a run's own.
 *   S59 CASCADE_LOAD_ENDS gives of each cascade the messages of kind "delete"
 *       or "family" among its last CASCADE_LOAD_ENDS_MAX, in the order of their
 *       ids. What it reads of one does not grow with those in front of these.
 *   S60 a claim deletes CASCADE_CLAIM_STRAYS_MAX messages at most of cascades
 *       that are not there (S20); others are left to the next.
 *   S67 an event's created_at comes back to the microsecond.
 *   S73 a row of a cascade, or of its run, that cannot be read does not end a
 *       list with on_fault, which is told of it once: it does not count against
 *       the limit, and pages that follow each other leave out no other row.
 *       Without on_fault it is the list's error. A list with a place ends
 *       behind CASCADE_LIST_FAULTS_MAX of them at the latest, and tells from
 *       where the next one goes on, which leaves out no row and tells of none
 *       again.
 *   S74 what the auxiliary tables hold that cannot be read keeps no claim,
 *       engines, remove, receive or erase from the other rows: it is passed
 *       over. Of a cascade that has such a message, receive gives those before
 *       it alone.
 *   S75 strays tells of rows of which there is not what they belong to, as of
 *       one moment for each page; calls that follow each other leave out none
 *       that is one all the time. What a call costs is bounded by the ids that
 *       it looks at, however many rows these have.
 *   S76 a payload is given in canonical form, or as it stands there; where it
 *       was made so while it was read, `reformed` of its row tells. A database
 *       that keeps no other form of its own accord has none to tell of.
 *   S78 a change that has a seal enters it, in the place of the one that is
 *       there, if there is one; one that has none leaves what is there. A start
 *       that does nothing enters nothing.
 *   S79 CASCADE_LOAD_SEALS gives the seals of the cascades of a load, as of the
 *       same moment; none of those that have none.
 *   S80 seal changes a seal only while it is as the caller had read it, and the
 *       cascade is there and is not marked (S40); for the id that is all zero,
 *       which is the store's own, nothing need be there.
 *   S81 seals lists them by id, without gaps or repetitions, also those of
 *       cascades that are not there. In a store that is `sealed` the seal of a
 *       cascade goes in the commit that deletes or marks it.
 *   S82 the seal of a message comes back as it was given.
 *   S83 what CASCADE_RUN_DELETE, purge and erase take out of a run that leads
 *       on (S43) is kept by the bounds of S44: with the rows of its executions
 *       go, in the same commit, the paths that it has received into what was
 *       entered for its root. These begin with the root's id and "/message/".
 *       That a run leads on is told by its own id, if it is not the root, which
 *       `link` has entered. Until then they are taken by the rows.
 *   S84 a path that a marked run has received is found as what is gone (S43),
 *       where that leads on.
 *   S86 a list by user_id gives, or tells of (S73), each cascade of that user
 *       that the list of all does, whatever stands in its status.
 *   S87 messages that name what is no id are deleted by claims, a portion by
 *       each, where a database can hold such.
 *   S88 a repair with a seal changes nothing where the seal of the cascade is
 *       another than the caller had read; else that is put in its place, in the
 *       same commit.
 *   S93 a submit that is `brief` does not wait long either for the path of a
 *       message which a transaction that is not the store's brings, and may
 *       answer CASCADE_ERR_AGAIN, as of S33.
 *   S94 a submission may bring what several callers ask for, who know nothing
 *       of each other, and tells of each start and message what it would tell
 *       if they came one behind the other: of two starts of one cascade the
 *       second finds that of the first, and of two messages with one path the
 *       second is REPEATED.
 *   S96 of a kept queue (store_limits.h) no more runs have a slot, nor of one
 *       of its keys, than its maxima said when the last of them was claimed,
 *       however many claim at once. A lowered maximum ends nothing: none is
 *       claimed until there is room. `slot` tells of a run that is given with
 *       one; of such it gives `slots` at most.
 *   S97 a slot is its run's until FREE, END, DELETE, REVIVE, or the detach or
 *       removal of its owner, and goes in that commit.
 *       A start that is owned from birth may bring one: the run that continues
 *       another, which ends in the same commit.
 *   S98 a claim gives runs of a kept queue by turns: it looks at up to
 *       CASCADE_CLAIM_KEYS_MAX keys of those that have runs which are due, from
 *       where the last claim by this handle has stopped, around the end; none
 *       that has room gets a second slot before all of them have had one. Of a
 *       key they go by higher priority, then by earlier wake_at. A run without
 *       a key gets its cascade's user_id, once it waits or has a slot. What
 *       waits does not make it cost more. `again` tells that another claim may
 *       find more; it is false once a walk over all keys has found nothing, or
 *       there was room for no more, or as many were given as `slots` said.
 *   S99 for the rest a kept queue is like others: runs that a message names are
 *       given without a slot, and when it is paused no others (S25); needs and
 *       suspects are those of S8, of suspects one at a time, with a slot: a
 *       claim that gave none tells in `suspects` that one is due, but there is
 *       no room for it, or `slots` is 0;
 *       next_wake_at_ms counts what comes. `kept` tells which queues are. What
 *       waits by its key in a queue that is not kept is given as if it did not.
 *   S100 set changes the limits only where they have the version it names, and
 *       raises that; list pages by name; drop takes them away whatever runs:
 *       what has a slot counts again for limits that are set later.
 *   S101 slots gives those runs alone that have a slot, of that queue, and of
 *       that key, each once; whether the queue is kept or not.
 *
 * MESSAGES
 *   Whoever asks something of a cascade inserts a message and touches nothing
 *   else, so nothing that is asked can be lost by a run row that changes at the
 *   same time: that a cascade has messages is found by looking, each time.
 *   `path` is the node_instance_id that the receipt will have: what tells a
 *   repeated request from a new one, before its receipt and after.
 *
 * ERRORS
 *   CASCADE_ERR_UNAVAILABLE  transient: the call may or may not have taken
 *                            effect; repeating the identical call is right
 *   CASCADE_ERR_NOT_DONE     of claim and commit: transient too, S34
 *   CASCADE_ERR_REFUSED      permanent, for these data
 *   CASCADE_ERR_AGAIN        of commit and submit: S33, S93
 *   CASCADE_ERR_FENCED, _LOST, _NOT_FOUND, _NO_MEMORY, _SCHEMA, _READ_ONLY,
 *   _UNSUPPORTED, _CORRUPT   as their texts say. LOST, of whatever writes, also
 *                            where the database itself is gone (SQLite: its
 *                            file was deleted or replaced)
 *   Every error leaves a text by cascade_store_fail().
 *
 * CHECKED ABOVE
 *   By the library, before a move is made: CASCADE_ERR_INVALID, with a text
 *   that names what was given and the bounds. No backend checks it again.
 *
 *     move                        | bounds
 *     ----------------------------+-------------------------------------------
 *     attach                      | CASCADE_STORE_LANES_MAX lanes, 1 at least
 *     claim, load, list, find,    | CASCADE_STORE_PAGE_MAX runs, ids, rows,
 *     sweep, repair, purge, seal, | paths, roots, ... at most, and 1 at least
 *     seals                       |
 *     receive                     | CASCADE_RECEIVE_MAX of all and of each, 1
 *                                 | at least; but of
 *                                 | CASCADE_RECEIVE_EXCEPT_MAX
 *     scan                        | CASCADE_SCAN_MAX, 1 at least; `events` of
 *                                 | one cascade; `children_only` of one, with
 *                                 | running_only and without events
 *     strays                      | a kind that there is; CASCADE_STRAYS_MAX
 *                                 | ids, 1 at least
 *     link                        | CASCADE_LINKS_MAX receipts
 *     submit                      | starts alone
 *     set                         | maxima from 0 on; a version from
 *                                 | CASCADE_LIMITS_ANY on
 *
 * THREADS
 *   Every move but `close` may be called by any thread at any time, also at
 *   the same time; a backend serialises what it must. Sinks are called in the
 *   calling thread, possibly with a connection held: they must not call the
 *   store.
 *
 * TIME is the store's: a database server's own clock, else the injected one.
 * Wall time is in milliseconds UTC, but for that of events. Leases must survive
 * a jumping wall clock: a server's clock, or monotonic time with the boot it
 * belongs to.
 */
#ifndef CASCADE_STORE_H
#define CASCADE_STORE_H

#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store_chain.h"
#include "cascade/store_limits.h"
#include "cascade/store_manage.h"
#include "cascade/store_seal.h"
#include "cascade/store_txn.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CASCADE_STORE_ABI 14

#define CASCADE_STORE_LANES_MAX 1024
#define CASCADE_STORE_PAGE_MAX 1000

/* ---- Writing ------------------------------------------------------------ */

typedef enum cascade_run_action {
    CASCADE_RUN_KEEP = 0, /* leave the run row alone */
    CASCADE_RUN_RESET,    /* takeovers = 0, trial = 0 */
    CASCADE_RUN_FREE,     /* engine_id = NULL, wake_at and needs as given,
                             takeovers = 0, trial = 0, slot = 0 */
    CASCADE_RUN_END,      /* delete the row; that it is gone is no error */
    CASCADE_RUN_START,    /* insert the run row, see `run`; none where the
                             cascade is not RUNNING: it comes as it ended */
    CASCADE_RUN_REVIVE,   /* set queue, priority and limit_key as in `run`,
                             takeovers = 0, trial = 0, slot = 0: an ended
                             cascade goes on */
    CASCADE_RUN_DELETE    /* delete the cascade, its executions, events, run
                             and messages, or mark it: S39. The change has
                             nothing else to write. That it is gone is no
                             error */
} cascade_run_action;

#define CASCADE_DELETE_ROWS_MAX 500
#define CASCADE_DELETE_BYTES_MAX (1 << 20)
#define CASCADE_ERASE_ROWS_MIN 8

/* What one commit does to one cascade. A change is a start (it inserts the
 * cascade, its executions and its run, unless the cascade exists: then it does
 * nothing) or it writes a cascade that the engine owns. */
typedef struct cascade_change {
    cascade_row cascade; /* a start inserts all of it; else status, fn_id and
                            updated_at are written where id matches */
    cascade_run_action run_action;
    cascade_run_row run; /* START: all of it, claim_no = 1 when owned from
                            birth, else 0; FREE: wake_at_ms and needs */
    const cascade_execution_row *inserts;
    size_t insert_count;
    /* status, full_output, error, completed_at of the execution with this
     * (cascade_id, function_id), which must be RUNNING in the table */
    const cascade_execution_row *updates;
    size_t update_count;
    const cascade_event_row *events; /* in the order of their ids to be */
    size_t event_count;
    /* Ids of messages that were received with this change: they are deleted,
     * before `sends` are inserted. One that is gone is no error. DELETE: none,
     * all messages of the cascade go with it. */
    const int64_t *received;
    size_t received_count;
    /* Messages to this cascade or others, whether these exist or not: S19. */
    const cascade_message_row *sends;
    size_t send_count;
    /* START: the run that was started of those that it continues, or NULL: S43.
     * Its number among them is `run_number`. */
    const cascade_uuid *root;
    /* START: the key of cascade.user_id whose run `run_number` it is, or NULL.
     * The number in cascade_keys has to be the one before: no row for 1; for 2
     * no row, or one that says 1. Otherwise the cascade counts as existing.
     * From 2 on the row says `run_number` then. */
    const char *key;
    int32_t run_number;
    /* Of the cascade as it is behind this change, or NULL: S78. Its cascade_id
     * is not read. DELETE: NULL. */
    const cascade_seal_row *seal;
} cascade_change;

/* One transaction of one lane. Changes are sorted by cascade id, each cascade
 * at most once; but starts of cascades with random ids may stand anywhere.
 * Bounds: 10,000 changes; 64 MiB. */
typedef struct cascade_batch {
    cascade_uuid engine_id;
    uint32_t lane;
    int64_t number; /* 1, 2, ... for each lane of an incarnation */
    const cascade_change *changes;
    size_t change_count;
} cascade_batch;

/* What became of a message that was submitted. */
typedef enum cascade_sent {
    CASCADE_SENT = 1,      /* it is there */
    CASCADE_SENT_ENDED,    /* it is there, and its cascade has ended */
    CASCADE_SENT_REPEATED, /* its path was taken: nothing was inserted */
    CASCADE_SENT_ABSENT    /* there is no such cascade: nothing was inserted;
                              unless its path was taken: S50 */
} cascade_sent;

/* Starts and messages from outside, all or none. The starts count for the
 * messages, which are inserted after them, in their order. Bounds: 10,000
 * starts, 10,000 messages. */
typedef struct cascade_submission {
    const cascade_change *starts;
    size_t start_count;
    bool *existed; /* written for each start */
    const cascade_message_row *messages;
    size_t message_count;
    cascade_sent *sent; /* written for each message */
    bool brief; /* it is not to wait long for transactions that are not the
                   store's: S33, S93. A backend may pass over it */
    bool quiet; /* the waiters need not be told: whoever submits it tells the
                   one that it is for. A backend may pass over it */
} cascade_submission;

/* ---- Owning ------------------------------------------------------------- */

#define CASCADE_HOST_MAX 255

typedef struct cascade_incarnation {
    cascade_uuid engine_id;
    const char *host; /* machine, boot and pid namespace */
    int64_t pid;
    int64_t process_start; /* tells a reused pid apart */
    int64_t lease_ms;      /* attach: the length. engines: what is left,
                                 negative when expired */
    uint32_t lane_count;
    const char *about;     /* JSON: what it serves, as the engine writes it;
                              kept as it is. attach: NULL stands for {} */
    int64_t started_at_ms; /* engines: when it attached, by the store's clock;
                              not read by attach */
} cascade_incarnation;

typedef struct cascade_claim {
    cascade_uuid engine_id;
    const char *const *queues; /* each once */
    size_t queue_count;
    const char *const *nodes; /* the node names that engine knows */
    size_t node_count;
    size_t limit;         /* 1-1,000 runs at most */
    int32_t suspect_from; /* runs with that many takeovers are suspects */
    bool suspects;        /* false: no suspect; true: suspects only */
    int64_t batches;      /* that its lanes have committed, all together; 0: it
                             does not say */
    const char *const *own_kinds; /* of messages that are for one run alone, */
    size_t own_kind_count;        /* and are not sent on: S55 */
    size_t slots; /* of the limit, runs of kept queues with a slot: as many as
                     can be begun now; 0: none */
} cascade_claim;

typedef struct cascade_claimed {
    cascade_uuid cascade_id;
    int64_t claim_no;
    int32_t takeovers;
    int32_t trials; /* this one included: S47 */
    /* Of the first message that names it, as the claim saw; "" where it saw
     * none. S23 */
    char message_kind[CASCADE_MESSAGE_KIND_MAX + 1];
    bool slot; /* it has one: S96 */
} cascade_claimed;

#define CASCADE_CLAIM_STRAYS_MAX 100 /* S60 */
#define CASCADE_CLAIM_KEYS_MAX 64    /* S98 */

typedef struct cascade_claim_result {
    size_t count;            /* of what was written to `claimed` */
    int64_t next_wake_at_ms; /* the earliest wake_at still to come in these
                               queues; CASCADE_TIME_NONE without one */
    bool messages;           /* there are some for runs that were its own
                                before */
    bool *paused; /* in: room for each queue of the claim, or NULL; out: whether
                     that queue is paused */
    bool *kept;   /* the same: whether it has limits */
    bool again;   /* S98 */
    bool suspects; /* S99 */
} cascade_claim_result;

#define CASCADE_RECEIVE_MAX 10000
#define CASCADE_RECEIVE_EXCEPT_MAX 100

/* Which messages are to be given. */
typedef struct cascade_receive {
    cascade_uuid engine_id; /* of runs that this one owns */
    cascade_uuid after;     /* of cascades with ids above this one; all zero:
                               from the first */
    size_t limit;           /* 1-CASCADE_RECEIVE_MAX of them */
    size_t each;            /* of one cascade: 1-CASCADE_RECEIVE_MAX */
    size_t bytes_max; /* it ends behind the message that brings it to so many:
                         S46; 0: whatever they are */
    const cascade_uuid *except; /* none of these cascades */
    size_t except_count;        /* 0-CASCADE_RECEIVE_EXCEPT_MAX */
} cascade_receive;

/* ---- Reading ------------------------------------------------------------ */

#define CASCADE_LOAD_EXECUTIONS 1u
#define CASCADE_LOAD_EVENTS 2u
#define CASCADE_LOAD_MESSAGES 4u
#define CASCADE_LOAD_FAMILY \
    8u                        /* some executions, where not all are asked for:
                                  S24 */
#define CASCADE_LOAD_ENDS 16u /* what is to end it, of its last messages: S59 */
#define CASCADE_LOAD_SEALS 32u
#define CASCADE_LOAD_MESSAGES_MAX 100 /* of each cascade, the first */
#define CASCADE_LOAD_ENDS_MAX 1000    /* the last, among which ends are found */
#define CASCADE_LOAD_FAMILY_MAX 100   /* children of each, the first: S51 */

/* So begins the node_name of an execution that stands for a child. */
#define CASCADE_CHILD_PREFIX "cascade.child:"

/* `repeated`: an execution has its path; it was received before. */
typedef cascade_err (*cascade_message_sink)(void *context,
                                            const cascade_message_row *row,
                                            bool repeated);

/* First every cascade, in the order of ids, and in the same their seals; then
 * executions by (cascade id, function_id); then events by (cascade id,
 * function_id, id); then messages by (cascade id, id). An error of a sink ends
 * the load and is its result. Those of parts that are not asked for may be
 * NULL.
 *
 * The values of a context have the order (function_id, created_at, id). Whoever
 * keeps the events makes it: they differ only where the clock of another
 * program stepped back between two writes of one execution, and an index by
 * time would cost each write. */
typedef struct cascade_load_sink {
    void *context;
    cascade_err (*on_cascade)(void *context, const cascade_row *row);
    cascade_err (*on_execution)(void *context,
                                const cascade_execution_row *row);
    cascade_err (*on_event)(void *context, const cascade_event_row *row);
    cascade_message_sink on_message;
    cascade_seal_sink on_seal;
} cascade_load_sink;

#define CASCADE_LIST_FAULTS_MAX 1000
#define CASCADE_PLACE_MAX 96

/* Where a list has ended early: behind a row that may have no id. All zero at
 * first; written when the list succeeds. */
typedef struct cascade_place {
    bool more;   /* it has: the next list goes on here, whatever its `after` */
    int kind;    /* of the key, which means something to the store alone */
    size_t size; /* of what it has of the key: a list does not end behind a row
                    of which the key is longer */
    char key[CASCADE_PLACE_MAX];
} cascade_place;

typedef struct cascade_query {
    const cascade_uuid *id;      /* only this one; NULL: any */
    const char *user_id;         /* NULL: any */
    cascade_status status;       /* 0: any */
    const char *node;            /* having an execution of it; NULL: any */
    const cascade_uuid *after;   /* ids above this one; NULL: from the first */
    const char *queue;           /* having a run in it; NULL: any */
    int64_t updated_before_ms;   /* written last before that; 0: any time */
    size_t limit;                /* 1-1,000 */
    cascade_fault_sink on_fault; /* with the context of the sink; NULL: such a
                                    row is CASCADE_ERR_CORRUPT */
    cascade_place *place; /* S73, for on_fault; NULL: the list has no bound but
                             its limit */
} cascade_query;

/* `run` is NULL when the cascade has no run row. */
typedef cascade_err (*cascade_list_sink)(void *context, const cascade_row *row,
                                         const cascade_run_row *run);
typedef cascade_err (*cascade_engine_sink)(void *context,
                                           const cascade_incarnation *row);

#define CASCADE_SCAN_MAX 10000

/* A page of rows: of one cascade, or of all. */
typedef struct cascade_scan {
    const cascade_uuid *cascade_id; /* of this one, by function_id; NULL: of
                                       all, by their own ids: executions only */
    bool events;                    /* of one: its events by (function_id, id),
                                       instead of its executions */
    bool running_only;              /* executions that are RUNNING */
    bool children_only;             /* of one, of these: those of children;
                                       what others there are costs nothing: S52.
                                       Only with running_only */
    int32_t from;                   /* of one: function_ids from there on */
    int64_t after_event;            /* of the events of `from`, ids above
                                       this */
    const cascade_uuid *after;      /* of all: ids above this one; NULL: from
                                       the first */
    size_t limit;                   /* 1-CASCADE_SCAN_MAX */
    size_t bytes_max; /* the page ends behind the row that brings it to so many:
                         S45; 0: whatever they are */
} cascade_scan;

/* ---- Waiting ------------------------------------------------------------ */

/* In and out: a waiter keeps `seen` from one of its waits to the next, so that
 * none takes a wake from another waiter of the same handle. */
typedef struct cascade_waited {
    uint64_t seen;  /* in: what this waiter's last wait gave, 0 at first; out:
                       for its next. Written on every return */
    bool woken;     /* by a wake, or by what may have hidden one */
    bool listening; /* a wake that comes before the next wait will end that at
                       once, of another process too; false where only looking
                       finds work */
} cascade_waited;

/* ---- The moves ---------------------------------------------------------- */

/* The store's options with their defaults applied; no pointer is NULL but
 * `log`. Copied by the caller, valid until `close` has returned. */
typedef struct cascade_store_config {
    const char *schema;
    const char *application_name;
    cascade_durability durability;
    bool pooler;
    int64_t deadline_ms;
    size_t payload_max;
    size_t connection_max;
    const cascade_clock *clock;
    const cascade_random *random;
    cascade_log_fn log;
    void *log_context;
    cascade_log_level log_level;
    bool private_files; /* new files are for their owner alone */
    bool sealed;        /* cascades have seals: S81 */
} cascade_store_config;

typedef struct cascade_store_driver {
    uint32_t abi;      /* CASCADE_STORE_ABI */
    size_t size;       /* sizeof(cascade_store_driver) */
    const char *name;  /* "sqlite" */
    uint32_t lane_max; /* lanes that commit independently: 1 for one writer */
    bool server_clock; /* `now` asks a server, which takes time: starts may use
                          an answer for a second, by the system's own clock */

    /* Connects to `url` and checks the lowest version it can work with. Does
     * not look at the tables. */
    cascade_err (*open)(const char *url, const cascade_store_config *config,
                        void **self);

    /* Brings the schema to the current version (AUTO) or only checks that it
     * is (CHECK). Without rights to create, AUTO on a current schema succeeds.
     * S1. */
    cascade_err (*migrate)(void *self, cascade_migrate mode);

    /* The store's wall clock. */
    cascade_err (*now)(void *self, int64_t *now_ms);

    /* Inserts the incarnation and its lanes, batch = 0. A repeated attach of
     * the same incarnation is OK. */
    cascade_err (*attach)(void *self, const cascade_incarnation *incarnation);

    /* Extends the lease to now + lease_ms, and tells the store's wall clock in
     * `now_ms` (may be NULL). CASCADE_ERR_FENCED when the incarnation is gone;
     * renewal never inserts. CASCADE_ERR_LOST when the database itself is. */
    cascade_err (*renew)(void *self, const cascade_uuid *engine_id,
                         int64_t lease_ms, int64_t *now_ms);

    /* Frees the runs of the incarnation (takeovers unchanged, wake_at = now,
     * one trial less: S47, no slot) and deletes it with its lanes. That it is
     * gone already is OK. */
    cascade_err (*detach)(void *self, const cascade_uuid *engine_id);

    /* Lists the incarnations. `*orphans` (may be NULL) tells whether there are
     * runs of owners that are gone; meant for an incarnation that is listed. */
    cascade_err (*engines)(void *self, cascade_engine_sink sink, void *context,
                           bool *orphans);

    /* Deletes incarnations (with lanes) whose lease has expired and those
     * named in `dead`, then frees up to `limit` runs of incarnations that are
     * gone: engine_id = NULL, wake_at = now, takeovers + 1, trial unchanged,
     * no slot.
     * `*freed` tells how many: when it is `limit` there may be more. A lane row
     * held by a stopped process of such an incarnation must not block the
     * removal for good: S10. */
    cascade_err (*remove)(void *self, const cascade_uuid *dead,
                          size_t dead_count, size_t limit, size_t *freed);

    /* Makes up to `limit` free runs the incarnation's and writes them to
     * `claimed`: S7, S8, S9. CASCADE_ERR_FENCED when the incarnation is gone,
     * CASCADE_ERR_LOST: S4.
     * After CASCADE_ERR_UNAVAILABLE runs may have been claimed unseen: the
     * engine attaches anew. After CASCADE_ERR_NOT_DONE it asks again. */
    cascade_err (*claim)(void *self, const cascade_claim *claim,
                         cascade_claimed *claimed,
                         cascade_claim_result *result);

    /* Reads cascades with what `parts` (CASCADE_LOAD_*) names: S12. Ids that
     * do not exist are passed over. `count` is 1-1,000. */
    cascade_err (*load)(void *self, const cascade_uuid *ids, size_t count,
                        unsigned parts, const cascade_load_sink *sink);

    /* Gives messages, by (cascade id, id): S37. They stay until they are
     * received: S20. An error of the sink ends the move and is its result. */
    cascade_err (*receive)(void *self, const cascade_receive *receive,
                           cascade_message_sink sink, void *context);

    /* Gives one page of rows to on_execution or on_event of the sink: S28. */
    cascade_err (*scan)(void *self, const cascade_scan *scan,
                        const cascade_load_sink *sink);

    /* Lists cascades by ascending id: S14. */
    cascade_err (*list)(void *self, const cascade_query *query,
                        cascade_list_sink sink, void *context);

    /* Commits a batch: S2-S6. `existed[i]` is written for each change i when
     * it returns OK: true for a start whose cascade was there before, and for a
     * CASCADE_RUN_DELETE that has marked it (S39).
     * CASCADE_ERR_UNAVAILABLE: repeat the identical batch; if the lane shows
     * that an earlier try took effect the answer is OK.
     * CASCADE_ERR_AGAIN, _REFUSED, _NOT_DONE: the number is still the next one,
     * and may be that of another batch, unless an earlier try was UNAVAILABLE:
     * that one may come to the store yet. `settle` decides it. A backend whose
     * settle is unsupported answers _REFUSED only where none can come. */
    cascade_err (*commit)(void *self, const cascade_batch *batch,
                          bool *existed);

    /* Commits starts and messages from outside, without a lane, all or none:
     * S6, S19. Repeating it is safe: starts that took effect are recognised,
     * messages are told as REPEATED. OK tells the waiters too, as `wake` does
     * (S17), unless it is quiet. CASCADE_ERR_AGAIN where it is brief: S33. */
    cascade_err (*submit)(void *self, const cascade_submission *submission);

    /* Decides a finish or a commit (S53): `*committed`, and where it is false
     * the lane row shows number + 1 from then on. Repeating it gives the same
     * answer.
     * CASCADE_ERR_FENCED, _LOST: S4. */
    cascade_err (*settle)(void *self, const cascade_uuid *engine_id,
                          uint32_t lane, int64_t number, bool *committed);

    /* Returns when something may have become claimable, when `wake_fd` (an
     * eventfd, not read by the move) is readable, or after `timeout_ms`: S17.
     * Returns OK in each case. At once when there was a wake that is not in
     * `result->seen`. `result` may be NULL: such waiters may miss a wake that
     * comes between their waits, where there are several. */
    cascade_err (*wait)(void *self, int wake_fd, int64_t timeout_ms,
                        cascade_waited *result);

    /* Tells the waiters that something may have become claimable; the engine
     * calls it behind a pause and a repair, too. Coalesced; outside any
     * transaction; losing it only costs a few poll intervals. */
    cascade_err (*wake)(void *self);

    /* Frees everything. No other move is running. */
    void (*close)(void *self);

    /* What it has besides; NULL: it has not. */
    const cascade_store_chain *chain;
    const cascade_store_manage *manage;
    const cascade_store_integrity *integrity;
    const cascade_store_node_txn *node_txn;
    const cascade_store_limits *limits;
} cascade_store_driver;

/* Opens a store on a backend of the caller's own. `driver` is copied, with its
 * sub-tables; its texts stay the caller's and must outlive the store.
 * CASCADE_ERR_INVALID when a move is missing, which it names, or the abi
 * differs. */
CASCADE_API cascade_err cascade_store_open_driver(
    const cascade_store_driver *driver, const char *url,
    const cascade_store_options *options, cascade_store **store);

/* Sets the thread's error text and returns `err`: how a backend fails. */
CASCADE_API cascade_err cascade_store_fail(cascade_err err, const char *format,
                                           ...) CASCADE_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#endif
