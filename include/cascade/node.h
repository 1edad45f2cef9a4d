/* SPDX-License-Identifier: MIT
 *
 * The node side: what the function of a node may call. Part of cascade.h, whose
 * head has the words and the rules for threads, ownership and errors; including
 * either of the two is the same.
 */
#ifndef CASCADE_NODE_H
#define CASCADE_NODE_H

#include "cascade/cascade.h"
#include "cascade/exception.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- The node side ------------------------------------------------------ */

CASCADE_API const cascade_uuid *cascade_node_cascade_id(
    const cascade_node *node);
CASCADE_API int32_t cascade_node_function_id(const cascade_node *node);
/* 1 for the first. Inside a step with options of its own: the step's. */
CASCADE_API int cascade_node_attempt(const cascade_node *node);
CASCADE_API const char *cascade_node_name(const cascade_node *node);
CASCADE_API const char *cascade_node_user_id(const cascade_node *node);

/* The same text on every attempt and after every crash, different for every
 * execution and every step: hand it to the outside as idempotency key. Valid
 * until the node's function returns; inside a step, until the step does. */
CASCADE_API const char *cascade_node_request_id(const cascade_node *node);

/* In a transactional node (sqlite.h, postgres.h): a store on its transaction.
 * What is started, sent or completed with it becomes part of the very commit
 * that records the node, and never happens if that does not; what must wait is
 * CASCADE_ERR_MISUSE, and so is closing it or opening an engine on it. It
 * belongs to the node until its function returns.
 * CASCADE_ERR_MISUSE for a node that is not registered as transactional. */
CASCADE_API cascade_err cascade_node_store(cascade_node *node,
                                           cascade_store **store);

/* The input; {} when none was given. Belongs to the node; do not change it.
 * NULL when out of memory. */
CASCADE_API const cJSON *cascade_node_input(cascade_node *node);
CASCADE_API const char *cascade_node_input_text(const cascade_node *node);

/* The last value of `key` that this node can see: what was committed before
 * its own place in the cascade, what the executions it came `after` wrote, and
 * what it put itself. The same on every attempt. CASCADE_ERR_NOT_FOUND when
 * there is none. `*value` belongs to the node until its function returns. */
CASCADE_API cascade_err cascade_node_get(cascade_node *node, const char *key,
                                         const cJSON **value);

/* All values of `key` that the node can see, as an array, oldest first; empty
 * when there is none. `*values` belongs to the node until it returns. Each call
 * reads and keeps all of them: where they are many, ask for a part. */
CASCADE_API cascade_err cascade_node_history(cascade_node *node,
                                             const char *key,
                                             const cJSON **values);

/* The same of at most `limit` values, from number `begin` on: 0 is the oldest,
 * -1 the newest, -10 the first of the last ten. `*count` becomes how many there
 * are in all; it may be NULL. Costs what it gives, however many there are. */
CASCADE_API cascade_err cascade_node_history_part(cascade_node *node,
                                                  const char *key,
                                                  int64_t begin, size_t limit,
                                                  const cJSON **values,
                                                  size_t *count);

/* Appends `value` to the context's `key`; takes `value`. Recorded with the
 * node's completion, inside a step with the step. CASCADE_ERR_TOO_LARGE when
 * the execution would exceed its bytes. */
CASCADE_API cascade_err cascade_node_put(cascade_node *node, const char *key,
                                         cJSON *value);
/* The same with another form for user interfaces; takes both. */
CASCADE_API cascade_err cascade_node_put_ui(cascade_node *node, const char *key,
                                            cJSON *value, cJSON *ui_value);

/* Sets the output of the execution; takes `output`. The last call counts. */
CASCADE_API cascade_err cascade_node_output(cascade_node *node, cJSON *output);
/* The same, and it is the result of the cascade (cascade_snapshot_result()),
 * whatever others put out that do not call this; of several that do the one
 * with the highest function_id counts. A later cascade_node_output() of this
 * execution changes the value only. */
CASCADE_API cascade_err cascade_node_result(cascade_node *node, cJSON *result);

/* What becomes of a join when one of its predecessors, the executions it comes
 * `after`, has failed for good and nothing runs instead of it. (Where that
 * failure ends the cascade nothing is left to be decided: this is for nodes
 * with CASCADE_FINAL_CONTINUE or _INSTEAD.) */
typedef enum cascade_join {
    CASCADE_JOIN_WAIT = 0, /* it runs all the same, once the others have ended;
                              cascade_node_outcomes() tells how */
    CASCADE_JOIN_FAIL,     /* it fails at once, and is not run: its error names
                              the predecessor, and its node's final_failure
                              holds. A predecessor that was skipped counts as
                              ended well */
    CASCADE_JOIN_SKIP      /* it is skipped at once: recorded as COMPLETED, with
                              "skipped" and no output, and not run. The same
                              where a predecessor was skipped */
} cascade_join;

typedef struct cascade_spawn_options {
    size_t size;
    int64_t delay_ms;      /* runs no earlier than that after this node; at
                              most 100 years, as each delay */
    int priority;          /* 0: that of the cascade; else 1-9 */
    const uint32_t *after; /* runs once all of these have ended: numbers of
                              spawns of this node (of this step, inside one),
                              the first spawn call being 1. 11 bytes each
                              of execution_bytes_max */
    size_t after_count;
    uint32_t first; /* 0: all; n: it runs once n of `after` have ended, by the
                       order of their records; the others go on, and it sees
                       nothing of them. With JOIN_FAIL and JOIN_SKIP only those
                       count that ended well, and the join fails or is skipped
                       once n such are out of reach */
    cascade_join on_failure;
} cascade_spawn_options;

/* Spawns an execution of `node_name`, recorded and begun with this one's
 * completion (inside a step: with the step); takes `input` (NULL: {}).
 * CASCADE_ERR_TOO_LARGE when the execution would exceed its bytes, or 10,000
 * spawns; and of this, of steps, waits, children and versions, when the cascade
 * has used up its function_ids. There are some two thousand million; the last
 * ones are kept for what ends it. What it receives then, and could not record,
 * ends it as ERROR. */
CASCADE_API cascade_err
cascade_node_spawn(cascade_node *node, const char *node_name, cJSON *input,
                   const cascade_spawn_options *options);

/* The number of the latest spawn, for `after`: how many there were so far. */
CASCADE_API uint32_t cascade_node_spawned(const cascade_node *node);

/* How the executions that this one came `after` have ended: an array with an
 * object for each of them, in the order of their spawns, empty when there are
 * none:
 *   {"function_id": 3, "node": "charge", "status": "COMPLETED",
 *    "output": ...}           (no "output" where it gave none)
 *   {"function_id": 4, "node": "notify", "status": "FAILED", "error": "..."}
 * Besides there are "SKIPPED" and, for those that had not ended when the first
 * n had, "RUNNING". Where another node ran instead of one that failed it is
 * that one's outcome, the last in line. The same on every attempt and after
 * every crash, whatever has ended since. For that the outputs stay in memory
 * until the joins that come after them have ended. `*outcomes` belongs to the
 * node until its function returns. */
CASCADE_API cascade_err cascade_node_outcomes(cascade_node *node,
                                              const cJSON **outcomes);

/* It has to return: behind a step that longjmp() has left nothing begins in the
 * node any more (CASCADE_ERR_MISUSE), and that attempt of the node has failed,
 * whatever it returns; the recorded error names the step. */
typedef cascade_err (*cascade_step_fn)(cascade_node *node, void *arg,
                                       cJSON **result);

/* As for nodes. Given options, the step has attempts of its own: the node is
 * suspended between them; when the last has failed that is recorded, and the
 * step returns CASCADE_ERR_FINAL for good. Without options nothing is recorded
 * when it fails, and the node's own attempts count. */
typedef struct cascade_step_options {
    size_t size;
    int attempts_max;
    int64_t backoff_ms;
    int64_t backoff_max_ms;
    int backoff_percent;
    int jitter_percent;
} cascade_step_options;

/* Runs `fn` once and records its result under `name`; when the node is entered
 * again, the recorded result is returned instead. Steps are matched by name and
 * occurrence. The caller frees `*result` with cJSON_Delete(); it is NULL when
 * the step gave none; `result` may be NULL. Returns when the step is durable:
 * with threads to the caller, in the other modes and with `suspend_steps` by
 * entering the node again. With `fibers` other nodes run in the thread until
 * then: hold no lock (FIBERS in cascade.h). CASCADE_SUSPENDED: return it from
 * the node.
 * CASCADE_ERR_FENCED (another engine has taken over, or the cascade has ended),
 * _REFUSED and _STOPPED: the step is not recorded; return it.
 * CASCADE_ERR_MISUSE inside a step. */
CASCADE_API cascade_err cascade_node_step(cascade_node *node, const char *name,
                                          cascade_step_fn fn, void *arg,
                                          const cascade_step_options *options,
                                          cJSON **result);

/* ---- Another program as a step ------------------------------------------ */

typedef struct cascade_program {
    size_t size;
    const char *const *argv; /* the program and its arguments, ends in NULL; no
                                shell reads them. Without a slash the program
                                is looked up in the PATH of `env` (empty
                                entries of it are passed over), with one from
                                `folder`. A script needs its #! line. */
    const char *const *env;  /* "NAME=value", ends in NULL; NULL: all that this
                                process has. CASCADE_REQUEST_ID is added: the
                                step's request id */
    const char *folder;      /* to work in; NULL: that of this process */
    const char *input_text;  /* standard input; NULL: /dev/null */
    size_t output_max;  /* bytes kept of each of the two outputs; 0: 65,536 */
    int64_t timeout_ms; /* from its start; 0: none; at most 100 years */
    int64_t grace_ms;   /* between SIGTERM and SIGKILL; 0: 1,000; -1: none */
    bool check;         /* an exit other than 0, or an end by a signal, fails
                           the attempt: CASCADE_ERR_FAILED. Else it is a result
                           like any other */
    bool keep_timeout;  /* the end by timeout_ms is a result, with timed_out.
                           Else it fails the attempt: CASCADE_ERR_TIMEOUT */
    int64_t cpu_max_s;  /* limits of its process, see setrlimit(2); 0: those */
    int64_t memory_max_bytes; /* of this process, which no limit can exceed: */
    int64_t file_max_bytes;   /* RLIMIT_CPU, _AS, _FSIZE, _NOFILE */
    int64_t open_files_max;
} cascade_program;

/* A step that runs another program and records what came of it:
 *
 *     const char *argv[] = {"pdftotext", "in.pdf", "-", NULL};
 *     cascade_program program = {
 *         .size = sizeof(program), .argv = argv, .timeout_ms = 60000};
 *     cJSON *result = NULL;
 *     cascade_err err =
 *         cascade_node_program(node, "to-text", &program, NULL, &result);
 *
 *     if (err != CASCADE_OK)
 *         return err;
 *
 * gives {"elapsed_ms":12,"exit":0,"stderr":"","stdout":"..."}; "signal" stands
 * in place of "exit" when one ended it; "stdout_truncated", "stderr_truncated"
 * and "timed_out" are there only where true. Of each output the first bytes are
 * kept, fewer where the result would exceed payload_max or execution_bytes_max;
 * the rest is read and dropped. What is no UTF-8, and NUL, becomes U+FFFD.
 *
 * Recorded, matched, tried again and returned as cascade_node_step() says; a
 * program that was running at a crash runs again, with the same
 * CASCADE_REQUEST_ID. One that cannot be started (not found, no right to, no
 * such folder) fails the attempt with CASCADE_ERR_SYSTEM; the text says which
 * and why.
 *
 * The program leads a session of its own, without terminal; it has descriptors
 * 0, 1 and 2 and no other, all signals at their defaults, the umask of this
 * process. At the timeout, and when cascade_node_is_cancelled() says so (asked
 * every 100 ms; then CASCADE_ERR_FENCED, nothing is recorded), its process
 * group gets SIGTERM, after the grace SIGKILL. When the program has ended by
 * itself, what it started may keep the outputs open for the grace; then the
 * rest of its group is killed in any case. A process that made a group of its
 * own is not found. When this process dies, the kernel kills the program (but
 * not what it started, nor a set-user-ID one).
 *
 * The call holds its thread until the program has ended: a worker, in the other
 * modes the host's thread. Times here are real ones, whatever clock is
 * injected. cascade_engine_stop() lets the program run on and waits for it. The
 * host gets SIGCHLD as for any child, and must leave the waiting for this one
 * to the library. CASCADE_ERR_MISUSE, with nothing run or recorded, inside a
 * step, and where SIGCHLD is set to SIG_IGN or has SA_NOCLDWAIT: the exit
 * status would be lost. CASCADE_ERR_INVALID for an argument out of range. */
CASCADE_API cascade_err cascade_node_program(
    cascade_node *node, const char *name, const cascade_program *program,
    const cascade_step_options *options, cJSON **result);

/* ---- The node side: sleeping, and how it ends --------------------------- */

/* Lets the node leave; it is entered again from the top once `ms` milliseconds
 * have passed since it asked, or when the time `at_ms` has come (since 1970),
 * by the store's clock; at once for a time that is over. Meanwhile it holds no
 * thread; a cascade that only waits, and for longer than park_after_ms, holds
 * no memory either. What the node has put and spawned outside of steps is
 * dropped, and made anew by what it does again. Matched by name and occurrence,
 * as steps are, and apart from them: a sleep that is over returns CASCADE_OK at
 * once, whatever time is asked for now. CASCADE_SUSPENDED: return it from the
 * node, which fails for good otherwise. CASCADE_ERR_INVALID for an end more
 * than 100 years ahead, CASCADE_ERR_MISUSE inside a step, CASCADE_ERR_FINAL
 * where the store refused to record its end, CASCADE_ERR_CANCELLED in a cascade
 * that is cancelled. */
CASCADE_API cascade_err cascade_node_sleep(cascade_node *node, const char *name,
                                           int64_t ms);
CASCADE_API cascade_err cascade_node_sleep_until(cascade_node *node,
                                                 const char *name,
                                                 int64_t at_ms);

/* Waits for a signal `name`: for the next one that no await of the cascade has
 * taken, at once when it has come already. As with a sleep the node leaves
 * meanwhile and is entered again; awaits are matched by name and occurrence,
 * and what came of one is the same ever after. The caller frees `*payload` with
 * cJSON_Delete(); `payload` may be NULL. CASCADE_ERR_TIMEOUT when `timeout_ms`
 * milliseconds have passed by the store's clock since it was recorded
 * (0: unless it is there; -1: no limit). CASCADE_ERR_CANCELLED in a cascade
 * that is cancelled. CASCADE_SUSPENDED: return it from the node.
 * CASCADE_ERR_INVALID, _MISUSE, _FINAL: as with a sleep. */
CASCADE_API cascade_err cascade_node_await(cascade_node *node, const char *name,
                                           int64_t timeout_ms, cJSON **payload);

/* Waits for an update `name` (cascade_update()), as cascade_node_await() waits
 * for a signal; they do not take one another's. Gives the request, which the
 * caller frees with cJSON_Delete() (`request` may be NULL), and the ticket to
 * answer it by, which belongs to the node until its function returns. */
CASCADE_API cascade_err cascade_node_await_update(cascade_node *node,
                                                  const char *name,
                                                  int64_t timeout_ms,
                                                  cJSON **request,
                                                  const char **ticket);

/* Answers the update of that ticket; takes `answer` (NULL: {}). Recorded as a
 * step of the node is, and returns as cascade_node_step(): the caller is told
 * what is durable. Of several answers to one request the first counts. Whatever
 * the answer tells of should be recorded before: what the node does outside of
 * steps is so only when it completes. CASCADE_ERR_INVALID for what is no
 * ticket. */
CASCADE_API cascade_err cascade_node_answer(cascade_node *node,
                                            const char *ticket, cJSON *answer);

/* Publishes `value` under `name` for cascade_get_published(); takes `value`. It
 * is put to the context's key "published:NAME", and as with any put it is
 * recorded with the node's completion, inside a step with the step: a node that
 * runs for long publishes in steps. Each one stays in the context's history. */
CASCADE_API cascade_err cascade_node_publish(cascade_node *node,
                                             const char *name, cJSON *value);

/* What becomes of a child that runs when its parent ends. */
typedef enum cascade_child_end {
    CASCADE_CHILD_CANCEL = 0,
    CASCADE_CHILD_TERMINATE,
    CASCADE_CHILD_ABANDON /* nothing: it goes on by itself */
} cascade_child_end;

typedef struct cascade_child_options {
    size_t size;
    const char *queue; /* NULL: the parent's */
    int priority;      /* 0: the parent's; else 1-9 */
    int64_t delay_ms;  /* its first node runs no earlier than that */
    cascade_child_end when_parent_ends;
    int64_t deadline_ms; /* it ends as ERROR when it takes longer than that,
                            delay included; 0: no limit */
} cascade_child_options;

/* Starts a child cascade with one node, and gives its id; takes `input` (NULL:
 * {}). It belongs to the parent's user. Recorded under `name` in one commit
 * with its start, and matched as steps are: when the node is entered again, the
 * id of the recorded child is given. A cascade that is cancelled cancels its
 * children, whatever they are to do at its end, but for those to be abandoned,
 * and waits for them; otherwise a child that runs does not keep its parent from
 * ending. CASCADE_SUSPENDED: return it from the node.
 * CASCADE_ERR_TOO_LARGE when the child would be more than depth_max levels
 * below the first cascade (see cascade_engine_options). CASCADE_ERR_CANCELLED
 * in a cascade that is cancelled, CASCADE_ERR_MISUSE inside a step. */
CASCADE_API cascade_err cascade_node_start_child(
    cascade_node *node, const char *name, const char *child_node, cJSON *input,
    const cascade_child_options *options, cascade_uuid *id);

/* The same for `count` (1-1,000) children of one node in one commit; takes each
 * of `inputs`. Writes `count` ids. */
CASCADE_API cascade_err cascade_node_start_children(
    cascade_node *node, const char *name, const char *child_node,
    cJSON *const *inputs, size_t count, const cascade_child_options *options,
    cascade_uuid *ids);

/* Waits until a child that this node has started in this entry has ended, and
 * gives its result (cascade_snapshot_result()). The node leaves meanwhile and
 * holds no thread, as with a sleep. The caller frees `*result` with
 * cJSON_Delete(); it is NULL where the child has none; `result` may be NULL.
 * CASCADE_ERR_FAILED when the child ended in ERROR, or goes on abandoned:
 * cascade_errmsg() tells why.
 * CASCADE_ERR_NOT_FOUND for any other id. CASCADE_ERR_CANCELLED in a cascade
 * that is cancelled. CASCADE_SUSPENDED: return it from the node. */
CASCADE_API cascade_err cascade_node_await_child(cascade_node *node,
                                                 const cascade_uuid *id,
                                                 cJSON **result);

/* Waits until all children have ended that this node has started so far. */
CASCADE_API cascade_err cascade_node_await_children(cascade_node *node);

/* Which branch of changed code this execution takes. The number is recorded
 * when the node gets here, and is the same ever after:
 *
 *     int fee = 0;
 *     cascade_err err = cascade_node_version(node, "fee", 0, 1, &fee);
 *     if (err == CASCADE_OK && fee == 1)
 *         err = cascade_node_step(node, "add-fee", ...);
 *
 * An execution that gets here for the first time takes `max_supported`; one
 * that was beyond this place before the change was made takes 0. It was beyond
 * it when there are steps or waits recorded that this entry of the node has not
 * passed yet. That is all that is known: an execution that had passed this
 * place, but had recorded nothing behind it, counts as new; where steps in
 * front of it were removed or renamed, one counts as old that was not.
 * `min_supported` says how far back the code can go: 0 while the code from
 * before is there. An execution with a version out of this range fails for
 * good, as one does that finds a step recorded as a sleep; nothing is undone.
 * Not needed where steps and waits are inserted, removed or put in another
 * order: those are matched by name. Takes a commit of its own, once. The same
 * change may be asked for again. CASCADE_SUSPENDED: return it from the node.
 * CASCADE_ERR_INVALID unless 0 <= min_supported <= max_supported,
 * CASCADE_ERR_MISUSE inside a step; others as of a step. */
CASCADE_API cascade_err cascade_node_version(cascade_node *node,
                                             const char *change,
                                             int min_supported,
                                             int max_supported, int *version);

/* What would be another at each entry of the node, by a name. */

/* The time, in milliseconds since 1970 by the store's clock, when an entry of
 * the node came here first, and the same ever after. Recorded as a step is, in
 * a commit of its own, and matched as steps are, by name and occurrence: a
 * second call of one entry with this name is another time. What it returns, and
 * CASCADE_SUSPENDED, as of cascade_node_step(). */
CASCADE_API cascade_err cascade_node_now(cascade_node *node, const char *name,
                                         int64_t *now_ms);

/* Numbers that are the same on every attempt and after every crash, made of the
 * request id (inside a step: the step's) and `name`; another name gives another
 * number, and the same one the same. Nothing is recorded. They are spread like
 * random ones, but whoever knows the id of the cascade can compute them: not
 * for secrets. */
CASCADE_API cascade_err cascade_node_random(cascade_node *node,
                                            const char *name, uint64_t *value);
/* The same as a UUID (version 8). */
CASCADE_API cascade_err cascade_node_uuid(cascade_node *node, const char *name,
                                          cascade_uuid *id);

/* Undoes something. `user` is what its node was registered with, `input` what
 * the compensation was; both outlive the call. Whatever lies on the stack of
 * the node's function is gone by then. */
typedef cascade_err (*cascade_undo_fn)(cascade_node *node, void *user,
                                       const cJSON *input);

/* Registers what undoes the work of this execution so far, for the case that it
 * fails for good; takes `input` (NULL: {}). To be called at every entry, like
 * everything in a node: right behind a step, or in front of it where `undo` can
 * bear that the step was not done.
 *
 * When the node then fails for good (CASCADE_ERR_FINAL, or its last attempt),
 * that is recorded first, with its error and the list of compensations. They
 * run in reverse order, each as a step of its own: recorded once it is done,
 * with what it puts and spawns, under a request id of its own, with attempts by
 * `options` (NULL: as the node's). One that fails for good does not keep the
 * others from running; the node's error names it. Then the node is recorded as
 * failed, and its options say what becomes of the cascade: what compensations
 * have spawned runs where it goes on, and not where that failure ends it, as
 * with CASCADE_FINAL_ERROR.
 *
 * Between two of them the node may be entered again, in this process or after a
 * crash: what is recorded returns its results, and the first thing that is not
 * returns CASCADE_SUSPENDED. Nothing new begins, and what the node returns
 * counts for nothing. Where it does not register again what it had when it
 * failed, that counts as a failed attempt of that compensation.
 *
 * Nothing is undone where the node does not run: it is poisoned, the store
 * refused what it had to record, or the cascade has ended otherwise; nor where
 * the build does not fit what is recorded, nor at the deadline of the cascade.
 * Where the last attempt runs out of its time, or the execution reaches its
 * deadline, the node is entered once more to register them, in another worker
 * while the late function still runs: nothing new begins in it. Each then has
 * the time of an attempt. Of an engine that died behind a step it is not known
 * whether there were any: then the node is entered to find out.
 * CASCADE_ERR_MISUSE inside a step; CASCADE_ERR_TOO_LARGE for more than 1,000
 * of one execution, or inputs over its bytes. */
CASCADE_API cascade_err cascade_node_compensate(
    cascade_node *node, const char *name, cascade_undo_fn undo, cJSON *input,
    const cascade_step_options *options);

/* Whether what the node does is wanted no more: its cascade is cancelled; or it
 * has ended, or another engine has taken it over, or its time is over (see TIME
 * LIMITS), and what it records is refused. For nodes that take long, to ask now
 * and then. */
CASCADE_API bool cascade_node_is_cancelled(const cascade_node *node);

/* Tells that the node goes on, which is what heartbeat_timeout_ms waits for,
 * and saves how far it is, for the next attempt; takes `progress` (NULL: what
 * was saved stays). Call it as often as you like: progress is recorded at most
 * once a second for an execution, the first at once and what came meanwhile
 * once the second is over, or with the failure of the attempt. It is not waited
 * for, except with INLINE, where the call commits, and where what came
 * meanwhile waits for a later call or the return. A crash of the process loses
 * what was not recorded yet; completion needs none. Inside a step it counts for
 * the node. CASCADE_ERR_FENCED: the node is wanted no more, see
 * cascade_node_is_cancelled(); give up what you do, and return. */
CASCADE_API cascade_err cascade_node_heartbeat(cascade_node *node,
                                               cJSON *progress);

/* What the last heartbeat with progress saved, of this attempt or of an earlier
 * one, also in another process. CASCADE_ERR_NOT_FOUND when there was none.
 * `*progress` belongs to the node until its function returns. */
CASCADE_API cascade_err cascade_node_progress(cascade_node *node,
                                              const cJSON **progress);

/* Sets the error text of this attempt, of which the first 2,000 bytes are
 * recorded, and returns CASCADE_ERR_FINAL: no further attempt. */
CASCADE_API cascade_err cascade_node_fail(cascade_node *node,
                                          const char *format, ...)
    CASCADE_PRINTF(2, 3);

/* Continues as new: ends this run of the cascade, as COMPLETED, and starts the
 * next one, with the node `first_node` (NULL: the first node of this run), in
 * the commit that records the node; takes `input` (NULL: {}). A last word:
 * return what it returns. The last call counts, none if the node fails.
 *
 * The next run is another cascade, with an empty history: of the same user,
 * queue, priority, depth and key, whose run number goes up by one. Signals that
 * no await has taken are there; whatever is sent to this run from now on is
 * sent on to it, so a request id holds for both; signals of one name sent to
 * one id keep their order. Each run that something is sent on through costs a
 * claim and a commit, and the sender reads it too: where there were many, send
 * to a late one, or by key, which goes to the current run at once. A child
 * stays its parent's child: the parent is told of the end of its last run.
 * Children of this run become what they do at any end. cascade_wait() for this
 * run is over; cascade_snapshot_continued_as() tells which one follows.
 *
 * In a cascade that is cancelled or terminated meanwhile nothing is started.
 * CASCADE_ERR_FINAL when other executions of the cascade run, or are to: wait
 * for them first; the node must not spawn in this attempt either, nor a step of
 * it behind the call: then the node fails for good once it returns.
 * CASCADE_ERR_TOO_LARGE when the signals that no await has taken come to more
 * than 16 MiB (512 bytes for each, and its payload): await some of them first.
 * CASCADE_ERR_MISUSE inside a step. CASCADE_SUSPENDED: return it. */
CASCADE_API cascade_err cascade_node_continue_as_new(cascade_node *node,
                                                     const char *first_node,
                                                     cJSON *input);

/* Sets the error text of this attempt and returns CASCADE_ERR_FAILED: the next
 * attempt follows as the options say. */
CASCADE_API cascade_err cascade_node_error(cascade_node *node,
                                           const char *format, ...)
    CASCADE_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif

#include "cascade/text.h"

#endif
