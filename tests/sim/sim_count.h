/* SPDX-License-Identifier: MIT
 *
 * What happened, over all seeds of a run. A simulation in which an event never
 * happened has not tested it: the run says so, and fails when it was as long as
 * the committed one.
 *
 * (name, text)
 */
#ifndef TESTS_SIM_COUNT_H
#define TESTS_SIM_COUNT_H

#include <stddef.h>
#include <stdint.h>

#define SIM_COUNTS(X)                                                   \
    X(SEEDS, "seeds run")                                               \
    X(STORE_CALLS, "store calls")                                       \
    X(COMMITS, "commits with effect")                                   \
    X(CASCADES, "cascades ended")                                       \
    X(EXECUTIONS, "functions entered")                                  \
    X(LOOKS, "outside looks")                                           \
    X(COMMIT_LOST_BEFORE, "commits of unknown outcome, without effect") \
    X(COMMIT_LOST_AFTER, "commits of unknown outcome, with effect")     \
    X(COMMIT_REPEATED, "repeated commits that had taken effect before") \
    X(COMMIT_FENCED, "commits fenced")                                  \
    X(COMMIT_LOSSES, "commits told that the store lost some")           \
    X(COMMIT_HELD, "commits with starts that were held up")             \
    X(COMMIT_UNDONE, "commits that were certainly not done")            \
    X(CLAIM_UNDONE, "claims that were certainly not made")              \
    X(COMMIT_REFUSED, "commits refused for what they hold")             \
    X(BATCH_SPLIT, "refused commits of several cascades (split)")       \
    X(BATCH_SHARED, "commits of several cascades")                      \
    X(SUBMIT_LOST_AFTER, "starts that took effect, reply lost")         \
    X(SUBMIT_LOST_BEFORE, "starts without effect, outcome unknown")     \
    X(START_EXISTED, "starts told that the cascade existed")            \
    X(START_MANY, "starts of several in one call")                      \
    X(START_REFUSED, "bad starts refused")                              \
    X(START_DELAYED, "delayed starts")                                  \
    X(CLAIM_LOST, "claims that took effect, reply lost")                \
    X(CLAIMED, "cascades claimed")                                      \
    X(CLAIM_SUSPECT, "suspects claimed")                                \
    X(ATTACH_LOST, "attaches that took effect, reply lost")             \
    X(REATTACHED, "engines that attached anew")                         \
    X(RENEW_FENCED, "renewals fenced")                                  \
    X(DETACHED, "engines stopped in good order")                        \
    X(DETACH_LOST, "detaches whose reply was lost")                     \
    X(LOAD_FAILED, "loads that failed")                                 \
    X(KILL_COMMIT_BEFORE, "killed before a commit took effect")         \
    X(KILL_COMMIT_AFTER, "killed after a commit took effect")           \
    X(KILL_CLAIM, "killed in a claim")                                  \
    X(KILL_LOAD, "killed in a load")                                    \
    X(KILL_REMOVE, "killed while removing the dead")                    \
    X(KILL_SUBMIT, "killed in a start")                                 \
    X(KILL_ATTACH, "killed in an attach")                               \
    X(KILL_OPEN, "killed in opening the store")                         \
    X(OPEN_FAILED, "stores that did not open")                          \
    X(KILL_OTHER, "killed in another call")                             \
    X(KILL_IDLE, "killed between calls")                                \
    X(KILL_NODE, "killed in a node")                                    \
    X(KILL_RECOVERING, "killed while holding what others left behind")  \
    X(TAKEOVER, "cascades freed of dead engines")                       \
    X(STALL_CALL, "stalled in a store call past the lease")             \
    X(STALL_NODE, "stalled in a node past the lease")                   \
    X(STOPPED, "stopped between calls past the lease")                  \
    X(LOST_OWNERSHIP, "live engines removed")                           \
    X(ORPHANS, "removals that left cascades behind")                    \
    X(OUTAGE, "outages of the store for one engine")                    \
    X(OUTAGE_ALL, "outages of the store for all")                       \
    X(JUMP_FORWARD, "wall clocks set forward")                          \
    X(JUMP_BACK, "wall clocks set back")                                \
    X(SKEWED, "engines with a clock of their own")                      \
    X(PARKED, "cascades parked")                                        \
    X(WOKEN, "parked cascades claimed again")                           \
    X(NEEDS, "cascades given up for an unknown node")                   \
    X(POISONED, "executions poisoned")                                  \
    X(BLAMED, "of them where only nodes had killed")                    \
    X(BOMBED, "loads that killed who loaded")                           \
    X(UNREAD, "cascades ended unread for that")                         \
    X(REFUSED_RECORD, "executions failed since the store refused them") \
    X(RETRY_NODE, "second and later attempts of nodes")                 \
    X(RETRY_STEP, "second and later attempts of steps")                 \
    X(STEP_FAILED, "steps failed for good")                             \
    X(STEP_REUSED, "recorded steps given back")                         \
    X(SLEPT, "sleeps that were over")                                   \
    X(CONTINUED, "failures that their cascade survived")                \
    X(INSTEAD, "nodes that ran instead of failed ones")                 \
    X(UNDONE, "steps that were undone")                                 \
    X(OVER, "nodes that reached their deadline")                        \
    X(OVER_WHOLE, "cascades that reached their deadline")               \
    X(ENDED_ERROR, "cascades ended in error")                           \
    X(JOINED, "executions that came after others")                      \
    X(REENTERED, "executions entered again in the same attempt")        \
    X(TOOK_LATE, "results too late to count")                           \
    X(ENTERED_LATE, "functions entered by engines that were removed")   \
    X(NESTED, "engines polled while another was in a call or node")     \
    X(CAPACITY, "engines at their capacity")                            \
    X(BAD_NODE_INPUT, "bad input refused inside nodes")                 \
    X(WAIT_ENDED, "outside waits that saw an end")                      \
    X(RECEIVED, "messages received")                                    \
    X(RECEIVE_FAILED, "looks for messages that failed")                 \
    X(KILL_RECEIVE, "killed in a look for messages")                    \
    X(SENT_AGAIN, "messages sent again")                                \
    X(SENT_UNKNOWN, "messages of unknown outcome")                      \
    X(SENT_LATE, "messages to cascades that had ended")                 \
    X(SENT_WITH_START, "signals sent with a start")                     \
    X(SENT_BY_KEY, "messages sent by key")                              \
    X(HEARD_EARLY, "signals there before they were awaited")            \
    X(HEARD_WAITING, "signals that ended an await")                     \
    X(UNDELIVERED, "signals undelivered")                               \
    X(TIMED_OUT, "awaits that timed out")                               \
    X(CANCELLED, "cascades cancelled")                                  \
    X(TIDIED, "clean-ups of cancelled nodes")                           \
    X(TERMINATED, "cascades terminated")                                \
    X(PAUSED, "pauses of cascades")                                     \
    X(RETRIED, "retries carried out")                                   \
    X(RERUN, "reruns carried out")                                      \
    X(RECEIVED_AGAIN, "signals that a rerun received once more")        \
    X(COURSE_REFUSED, "retries and reruns refused")                     \
    X(DELETED, "cascades deleted")                                      \
    X(MARKED, "of them marked, and erased by pieces")                   \
    X(NEXT_RUN, "next runs of cascades that continued as new")          \
    X(CARRIED, "signals that they were born with")                      \
    X(SENT_ON, "signals sent on to them")                               \
    X(STARTED_LATER, "starts told of a later run")                      \
    X(LAST_RUN, "chains of runs that came to their end")                \
    X(CHILD, "children started")                                        \
    X(CHILD_RESULT, "children whose result was told")                   \
    X(CHILD_ERROR, "children whose failure was told")                   \
    X(CHILD_RUNS, "of them that had continued as new")                  \
    X(CHILD_LEFT, "children left by a parent that ended")               \
    X(CHILD_ENDED, "of them that this ended")                           \
    X(CHILD_GOES_ON, "of them that went on by themselves")              \
    X(PARENT_ERROR, "parents that ended in error")                      \
    X(TRANSFERS, "transactions of nodes with effect")                   \
    X(FINISH_LOST_BEFORE, "of unknown outcome, without effect")         \
    X(FINISH_LOST_AFTER, "of unknown outcome, with effect")             \
    X(FINISH_LATE, "of unknown outcome, not in the store yet")          \
    X(LATE_DONE, "of these, in the store before they were settled")     \
    X(LATE_FENCED, "of these, fenced since they were settled")          \
    X(SETTLED_DONE, "settled as committed")                             \
    X(SETTLED_UNDONE, "settled as not committed")                       \
    X(SETTLE_FAILED, "settlings without an answer")                     \
    X(SETTLE_FENCED, "settlings fenced")                                \
    X(FINISH_FENCED, "transactions fenced")                             \
    X(FINISH_OVER, "out of time when they should be committed")         \
    X(FINISH_FAILED, "transactions that could not be committed")        \
    X(FINISH_MISUSE, "ended by their function")                         \
    X(FINISH_REFUSED, "refused for what they hold")                     \
    X(ABANDONED, "transactions rolled back")                            \
    X(ABANDONED_LATE, "rolled back out of time")                        \
    X(BEGIN_FAILED, "transactions that did not begin")                  \
    X(KILL_BEGIN, "killed in beginning a transaction")                  \
    X(KILL_WITHIN, "killed within a transaction")                       \
    X(KILL_FINISH_BEFORE, "killed before a transaction took effect")    \
    X(KILL_FINISH_AFTER, "killed after a transaction took effect")      \
    X(KILL_ABANDON, "killed in rolling one back")                       \
    X(KILL_SETTLE, "killed in settling one")                            \
    X(KILL_IN_DOUBT, "killed with one that was not settled")            \
    X(LEFT_IN_DOUBT, "stopped with one that was not settled")           \
    X(GIANTS, "giants")                                                 \
    X(GIANTS_LARGE, "of them too large for a deadline")                 \
    X(LATE_READ, "reads that were too long for their deadline")         \
    X(SMALL, "small cascades ended beside giants")                      \
    X(KEY_STARTED, "runs of the key that were started")                 \
    X(KEY_CONTINUED, "runs of it that others continued as")             \
    X(KEY_WITH_SIGNAL, "of them started with a signal")                 \
    X(KEY_PURGED, "runs of it purged")                                  \
    X(KEY_PURGED_EARLY, "of them before a run that they continued as")  \
    X(KEY_LINKED, "signals to the id of one that was purged")           \
    X(LIMITS_SET, "limits of queues set")                               \
    X(LIMITS_UNSET, "limits taken away")                                \
    X(LIMITS_REFUSED, "of either, refused")                             \
    X(SLOTS, "slots given, of queues and of keys")                      \
    X(SLOTS_FULL, "of them, the last there was room for")               \
    X(CLAIMED_SLOTLESS, "cascades claimed without a slot")              \
    X(BEGUN_BY_SLOT, "functions entered with a slot")

typedef enum sim_count {
#define SIM_COUNT_ENUM(name, text) SIM_##name,
    SIM_COUNTS(SIM_COUNT_ENUM)
#undef SIM_COUNT_ENUM
    SIM_COUNT_MAX
} sim_count;

extern uint64_t sim_counts[SIM_COUNT_MAX];

void sim_note(sim_count what);
void sim_note_many(sim_count what, size_t count);
/* Counting is off while a failing seed is shrunk. */
void sim_count_pause(void);
/* Prints all; returns how many never happened. */
size_t sim_count_print(void);

#endif
