/* SPDX-License-Identifier: MIT
 *
 * libcascade: looking after the cascades of a store.
 *
 * For operators and their tools: commands beside those of cascade.h, why a
 * cascade does not progress, lists of engines and queues, what changes, the
 * checking and mending of the tables, retention, export and import. The
 * `cascade` command is made of these calls. The rules at the head of cascade.h
 * hold; all of them may be called by any thread, but for the objects that they
 * give out: one thread at a time.
 *
 * COMMANDS are recorded as executions of the cascade: the history shows what
 * was asked, when, by which request id, and why.
 *
 *                       of a cascade that is   what it records
 *   cascade_pause()     RUNNING                cascade.pause
 *   cascade_resume()    RUNNING                cascade.resume
 *   cascade_retry()     ERROR                  cascade.retry
 *   cascade_rerun()     any                    cascade.rerun
 *   cascade_fork()      any; it stays as it    execution 0 of the new one names
 *                       is                     its origin
 *
 * SUPERSEDED
 *   A retry and a rerun put executions in the place of others. Those stay in
 *   the tables as they were recorded (done is done), but count no more: the
 *   state, the context, the result and the error of the cascade are what they
 *   would be without them. Snapshots show them with `superseded_by`. A program
 *   that reads the three tables by itself, like Cascaide, sees both: it takes
 *   what was superseded for part of the course.
 */
#ifndef CASCADE_MANAGE_H
#define CASCADE_MANAGE_H

#include "cascade/cascade.h"
#include "cascade/integrity.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Commands ----------------------------------------------------------- */

/* As the commands of cascade.h, with the same errors.
 *
 * cascade_pause() keeps anything of the cascade from beginning: nodes, steps,
 * what follows a wait; once its engine has heard that the pause is recorded,
 * which others may see a moment sooner. A function that runs goes on to its
 * next step or wait, where it is suspended, or to its return, which is
 * recorded. Messages are received, time limits hold. A cancellation ends the
 * pause. Pausing what is paused, and resuming what is not, changes nothing and
 * is no error. Children are not paused with their parent; the run that a
 * cascade continues as is. */
CASCADE_API cascade_err cascade_pause(cascade_store *store,
                                      const cascade_uuid *id,
                                      const cascade_request_options *options);
CASCADE_API cascade_err cascade_resume(cascade_store *store,
                                       const cascade_uuid *id,
                                       const cascade_request_options *options);

/* Lets a cascade that ended as ERROR go on from where that was: what failed for
 * good, what was cancelled, and what was RUNNING when it ended is made afresh,
 * as executions of the command, with its first input, its attempts from the
 * beginning, and the steps that it had recorded; where compensations have
 * undone those, without them. What failed and let the cascade go on stays as it
 * is. A deadline of the cascade no longer holds. Parents are not told again.
 * CASCADE_ERR_MISUSE: it is RUNNING. CASCADE_ERR_REFUSED: it has COMPLETED, or
 * one engine after the other died as it loaded it for that (see "poisoned" in
 * the guide). CASCADE_ERR_TOO_LARGE: what is made afresh was not recorded in
 * the deadline_ms of the store that the engine was opened on, in commits
 * however small; nothing has changed. Of two who retry at a time one succeeds.
 * Where much is made afresh it is recorded in many commits: the cascade is what
 * it was until all of it is there, also if engines die in between, and what is
 * asked for meanwhile is received behind that. */
CASCADE_API cascade_err cascade_retry(cascade_store *store,
                                      const cascade_uuid *id,
                                      const cascade_request_options *options);

typedef struct cascade_rerun_options {
    size_t size;
    const char *request_id; /* these four as in cascade_request_options */
    const char *reason;
    int64_t wait_ms;
    const char *by;
    int32_t from; /* the function_id from which it is run again */
} cascade_rerun_options;

/* Runs a cascade again in place from a function_id on. It is put back to where
 * it was just before that was reached: the command supersedes all executions
 * from there on up to itself, and what had begun before and had not ended by
 * then is made afresh, as executions of the command. So that a node is run
 * again whole, give its own function_id; to run it again from one of its steps,
 * give that of the step. Signals received since are received once more, in
 * their order. Functions that run are told by cascade_node_is_cancelled(), and
 * nothing begins before they have returned; what they record is refused.
 * Children that it had started since are terminated, but for those that it
 * abandons at its end. A cancellation that was under way is lifted, and a
 * deadline of the cascade no longer holds; parents are not told again. An
 * answer to an update stays the one that was given.
 * CASCADE_ERR_INVALID: there is no such function_id, or it is superseded, or
 * the cascade had ended before it, so that nothing is to be run.
 * CASCADE_ERR_TOO_LARGE, and CASCADE_ERR_MISUSE: this run has continued as new;
 * ask it of the next one: as with a retry. */
CASCADE_API cascade_err cascade_rerun(cascade_store *store,
                                      const cascade_uuid *id,
                                      const cascade_rerun_options *options);

/* The output that a fork is to have of a node, instead of the recorded one. */
typedef struct cascade_fork_output {
    size_t size;         /* sizeof(cascade_fork_output) */
    const char *node;    /* every execution of it that has completed by then; or
                            NULL: */
    int32_t function_id; /* this one */
    const char *output;  /* JSON */
} cascade_fork_output;

typedef struct cascade_fork_options {
    size_t size;
    int32_t from;           /* what had not ended just before this function_id
                               was reached runs in the new cascade */
    const cascade_uuid *id; /* of the new cascade, of which a repeated call is
                               told; NULL: generated */
    const char *user_id;    /* NULL: that of the old one */
    const char *queue;      /* NULL: that of the old one */
    const char *reason;     /* recorded in the new one; NULL: none */
    const char *by;         /* the same */
    const cascade_fork_output *outputs;
    size_t output_count;
} cascade_fork_options;

/* Starts a new cascade with the past of another one, up to a function_id: its
 * executions with the outputs and steps that they had, its context with the ui
 * values. What had begun by then and had not ended is made afresh. The old one
 * is left as it is, whatever its status; the new one names it as its origin,
 * and has neither its key nor its parent nor a deadline. `from` may be
 * superseded: what counted just before it was reached is what is copied.
 * CASCADE_ERR_NOT_FOUND: there is no such cascade, or nothing completed whose
 * output is given. CASCADE_ERR_INVALID: there is no such function_id, or the
 * cascade had ended before it. CASCADE_ERR_TOO_LARGE: its rows have more than
 * 64 MiB. CASCADE_ERR_REFUSED: options->id, as with cascade_start().
 * started->existed as there. */
CASCADE_API cascade_err cascade_fork(cascade_store *store,
                                     const cascade_uuid *id,
                                     const cascade_fork_options *options,
                                     cascade_started *started);

/* Pauses a queue, for all engines of the store: of its cascades nothing begins,
 * as if each were paused; what is started waits. Commands are carried out, but
 * of a cancelled cascade that no engine has what is to be cleaned up waits, and
 * limits of such cascades are kept, until it is over. Engines that run know
 * within a few poll intervals, most of them at once; wait_ms is not awaited.
 * CASCADE_ERR_EXISTS: it is paused already; resume: CASCADE_ERR_NOT_FOUND: it
 * is not. */
CASCADE_API cascade_err
cascade_queue_pause(cascade_store *store, const char *queue,
                    const cascade_request_options *options);
CASCADE_API cascade_err cascade_queue_resume(cascade_store *store,
                                             const char *queue);

/* ---- Limits of queues ---------------------------------------------------- */

/* How many cascades of a queue may run at once. One runs while something of it
 * is in a function, or could be: one that waits, for a time or a message, gives
 * its place to others within a moment. Not counted is a function that goes on
 * though its cascade has ended without it, by a time limit, or
 * cascade_terminate(), or though its engine lost the lease. */
typedef struct cascade_queue_limits {
    size_t size;
    int running_max;     /* of the queue; 0: any number */
    int key_running_max; /* of each limit key (cascade_start_options), by
                            default of each user; 0: any number */
    int64_t version;     /* only where the limits have this version, see
                            cascade_queue_info; 0: whatever there is; -1: where
                            there are none */
    const char *by;      /* who asks, and why: recorded. NULL: not said */
    const char *reason;
} cascade_queue_limits;

/* Sets the limits of a queue, for all engines of the store, in the place of
 * those it had; also of one that nobody serves yet. Its cascades are then
 * served by their keys in turn, whether there are maxima or not: a key with a
 * million that wait does not keep another's from their turn; of a key, higher
 * priority comes first, then what was due first; of what has begun already, the
 * older cascade. Until its turn nothing of a
 * cascade is carried out but what it is asked from outside: neither a deadline
 * nor a time limit ends it before, and one that is cancelled waits with what it
 * has to clean up.
 * A maximum that is lowered ends nothing; nothing begins until there is room.
 * Where a queue gets its first limits, engines that run know within a few poll
 * intervals, most of them at once: what has begun until then is not counted,
 * and waits for its turn at its next step.
 * CASCADE_ERR_INVALID for a maximum below 0; CASCADE_ERR_EXISTS: the limits
 * have another version, or there are none of that; CASCADE_ERR_UNSUPPORTED in a
 * store without them. `version` (may be NULL) becomes the new one. */
CASCADE_API cascade_err cascade_queue_set(cascade_store *store,
                                          const char *queue,
                                          const cascade_queue_limits *limits,
                                          int64_t *version);

/* Reads them: the maxima and the version, to set them by; `by` and `reason` are
 * NULL, those are in cascade_queue_info. CASCADE_ERR_NOT_FOUND: it has none;
 * CASCADE_ERR_INVALID for a name that is none, or a wrong size;
 * CASCADE_ERR_UNSUPPORTED in a store without limits. */
CASCADE_API cascade_err cascade_queue_get(cascade_store *store,
                                          const char *queue,
                                          cascade_queue_limits *limits);

/* Takes the limits away: what waits for its turn is claimed like any other.
 * CASCADE_ERR_NOT_FOUND: it has none. */
CASCADE_API cascade_err cascade_queue_unset(cascade_store *store,
                                            const char *queue);

/* ---- Commands to many --------------------------------------------------- */

typedef enum cascade_request {
    CASCADE_REQUEST_CANCEL = 1,
    CASCADE_REQUEST_TERMINATE,
    CASCADE_REQUEST_DELETE,
    CASCADE_REQUEST_PAUSE,
    CASCADE_REQUEST_RESUME,
    CASCADE_REQUEST_RETRY,
    CASCADE_REQUEST_RERUN, /* with `from` */
    CASCADE_REQUEST_FORK   /* with `from` */
} cascade_request;

/* How far a call that takes long has come. Return false to end it: what was
 * done stays done, and the call returns CASCADE_ERR_STOPPED. Called from time
 * to time in the calling thread; may not call the library. */
typedef struct cascade_progress {
    int64_t seen; /* cascades looked at */
    int64_t done; /* of these: for which something was done */
    int64_t failed;
    uint64_t reserved[5];
} cascade_progress;
typedef bool (*cascade_progress_fn)(void *context,
                                    const cascade_progress *progress);

typedef struct cascade_many_options {
    size_t size;
    /* Which, all of it, as in cascade_list_options. */
    const char *user_id;
    cascade_status status; /* 0: those that the command is for */
    const char *node;
    const char *queue;
    int64_t updated_before_ms;
    /* What, as in cascade_request_options. With a request id a call may be
     * repeated: what was asked of a cascade is not asked again. */
    const char *request_id;
    const char *reason;
    const char *by;
    int32_t from;                 /* RERUN, FORK */
    cascade_progress_fn progress; /* NULL: none */
    void *context;
} cascade_many_options;

/* Asks it of every cascade that the options name, in the order of their ids, up
 * to 1,000 in a transaction; does not wait until it is carried out, and where
 * no engine is alive carries it out one by one. Cascades that end meanwhile, or
 * that do not admit it, count as failed in `total` (may be NULL), which is
 * written on an error too. */
CASCADE_API cascade_err cascade_request_many(
    cascade_store *store, cascade_request request,
    const cascade_many_options *options, cascade_progress *total);

/* ---- Why ---------------------------------------------------------------- */

/* What a cascade, or one of its executions, waits for. */
typedef enum cascade_reason {
    /* Of the cascade. */
    CASCADE_REASON_ENDED = 1,     /* it has ended as `name`, "COMPLETED" or
                                     "ERROR", and did so then; `id`:
                                     the cascade as which it has continued */
    CASCADE_REASON_OWNED,         /* engine_id runs it, its lease until then */
    CASCADE_REASON_OWNER_EXPIRED, /* engine_id has it, and no lease since then;
                                     another engine removes it soon */
    CASCADE_REASON_OWNER_GONE, /* engine_id had it, and is no more; it is freed
                                  soon */
    CASCADE_REASON_FREE,       /* due since then, and an engine will take it */
    CASCADE_REASON_LATER,      /* nothing of it is due before then (or ever,
                                  before it is told of something) */
    CASCADE_REASON_MESSAGES,   /* `count` messages for it (100: or more) wait
                                  to be received, the first one, of kind
                                  `name`, since then */
    CASCADE_REASON_UNKNOWN_NODE, /* no live engine of its queue knows `name` */
    CASCADE_REASON_NO_ENGINE,    /* no live engine serves its queue, `name` */
    CASCADE_REASON_PAUSED,       /* by the execution function_id, as request
                                    `name` asked ("": the run before was) */
    CASCADE_REASON_QUEUE_PAUSED, /* its queue, `name`, since then */
    CASCADE_REASON_SUSPECT,      /* taken over `count` times in a row: it is run
                               alone, and fails as poisoned in the end */
    CASCADE_REASON_NO_RUN,       /* no run row: adopt it, see cascade_adopt() */
    CASCADE_REASON_SET_ASIDE,    /* `count` commits of it took too long: it is
                                    loaded anew then. Only an engine on this
                                    store handle is asked */
    CASCADE_REASON_SEAL,         /* its rows are not those of its seal, so no
                                    engine takes it; or `count` messages have no
                                    good one (integrity.h) */
    CASCADE_REASON_RESETS,       /* a retry or a rerun of it, the execution
                                    function_id, of node `name`, is carried out
                                    in several commits: `count` rows are
                                    prepared, and count once all are */
    CASCADE_REASON_TURN,         /* due since then: waits for its turn in its
                                    queue, `name`, which has limits; `count`
                                    slots of the queue, or of its key if that
                                    has none left, are in use (1,000: or more),
                                    one of them by the cascade `id` */
    /* Of an execution. */
    CASCADE_REASON_RUNS = 32, /* could run: is run by the owner, or next */
    CASCADE_REASON_BACKOFF,   /* attempt `count` failed; the next is due then */
    CASCADE_REASON_DELAYED,   /* not to run before then */
    CASCADE_REASON_SLEEPS,    /* sleep `name`, until then */
    CASCADE_REASON_SIGNAL,    /* awaits signal `name`, until then (or none) */
    CASCADE_REASON_JOIN,      /* comes after others; `count` of them have not
                                 ended, of which function_id `other` is the
                                 first */
    CASCADE_REASON_CHILDREN,  /* gathers children; as with JOIN */
    CASCADE_REASON_CHILD,     /* stands for the child cascade `id` */
    CASCADE_REASON_EXTERNAL,  /* its completion from outside, until then */
    CASCADE_REASON_WAITS,     /* for its own wait `other` to end */
    CASCADE_REASON_CANCEL     /* the cancellation, until all else, `count`
                                 executions, has ended */
} cascade_reason;

typedef struct cascade_cause {
    cascade_reason reason;
    int32_t function_id; /* the execution; -1: of the cascade, unless it says
                            otherwise above */
    const char *node;    /* its node_name; "" for the cascade */
    const char *name;    /* "" where the reason has none */
    cascade_uuid id;     /* engine or child; all zero where there is none */
    int64_t at_ms;       /* "then"; CASCADE_TIME_NONE without one */
    int64_t count;
    int32_t other;    /* -1 without one */
    const char *text; /* all of it in words, one line of English */
} cascade_cause;

typedef struct cascade_explanation cascade_explanation;

/* Says why a cascade is where it is: first what holds for the whole, then one
 * cause for each execution that has not ended, by function_id. Engines that do
 * not say what they serve, those of earlier releases, count as serving nothing.
 * Texts hold names, ids and times, no payloads and no texts of errors. Read
 * from the tables at about one moment: the executions of the cascade, and,
 * while it has not ended, what cascade_queue_list_load() reads. Of a run that
 * is gone (see cascade_purge()) the text of CASCADE_ERR_NOT_FOUND tells the
 * last one. Free with cascade_explanation_free(). */
CASCADE_API cascade_err cascade_explain(cascade_store *store,
                                        const cascade_uuid *id,
                                        cascade_explanation **explanation);
CASCADE_API size_t
cascade_explanation_count(const cascade_explanation *explanation);
/* NULL when `index` is out of range; belongs to the explanation. */
CASCADE_API const cascade_cause *cascade_explanation_get(
    const cascade_explanation *explanation, size_t index);
CASCADE_API void cascade_explanation_free(cascade_explanation *explanation);

/* "OWNED". Static; "UNKNOWN" for a value of no reason. */
CASCADE_API const char *cascade_reason_name(cascade_reason reason);

/* ---- Engines, queues, counts -------------------------------------------- */

/* A live incarnation of an engine. */
typedef struct cascade_engine_info {
    cascade_uuid engine_id;
    const char *host; /* machine, boot and pid namespace */
    int64_t pid;
    int64_t started_at_ms;
    int64_t lease_left_ms; /* negative: expired, to be removed */
    unsigned lane_count;   /* those of transactional nodes included */
    const char *version;   /* of its library; "" where it does not say */
    const char *const *queues;
    size_t queue_count;
    const char *const *nodes;
    size_t node_count;
} cascade_engine_info;

typedef struct cascade_engine_list cascade_engine_list;

/* By the time when they attached. Free with cascade_engine_list_free(). Those
 * of single calls (commands where no engine is alive) are left out. */
CASCADE_API cascade_err cascade_engine_list_load(cascade_store *store,
                                                 cascade_engine_list **list);
CASCADE_API size_t cascade_engine_list_count(const cascade_engine_list *list);
CASCADE_API const cascade_engine_info *cascade_engine_list_get(
    const cascade_engine_list *list, size_t index);
CASCADE_API void cascade_engine_list_free(cascade_engine_list *list);

/* A queue in which there are cascades that have not ended, or that is paused or
 * has limits. */
typedef struct cascade_queue_info {
    const char *name;
    bool paused;
    int64_t paused_at_ms;      /* CASCADE_TIME_NONE when it is not */
    const char *pause_request; /* the request id, "" without one */
    const char *pause_by;      /* who asked; "" where nobody said, also below */
    const char *pause_reason;
    int64_t owned;   /* cascades that engines have; */
    int64_t slots;   /* of them, what its limits count: how many have a slot */
    int64_t due;     /* free, could run now */
    int64_t later;   /* free, wait for a time or a message */
    int64_t needing; /* free, wait for an engine that knows their node, or are
                        paused */
    int64_t due_since_ms; /* of the one that waits longest; CASCADE_TIME_NONE */
    int64_t limits_version; /* 0: it has no limits, and these are 0 too */
    int running_max;
    int key_running_max;
    const char *limits_by; /* who has set them; "" where nobody said */
    const char *limits_reason;
} cascade_queue_info;

typedef struct cascade_queue_list cascade_queue_list;

/* By name. Reads a row for each cascade that has not ended. Free with
 * cascade_queue_list_free(). */
CASCADE_API cascade_err cascade_queue_list_load(cascade_store *store,
                                                cascade_queue_list **list);
CASCADE_API size_t cascade_queue_list_count(const cascade_queue_list *list);
CASCADE_API const cascade_queue_info *cascade_queue_list_get(
    const cascade_queue_list *list, size_t index);
CASCADE_API void cascade_queue_list_free(cascade_queue_list *list);

typedef struct cascade_counts {
    size_t size;     /* in: sizeof(cascade_counts) */
    int64_t running; /* cascades, by status */
    int64_t completed;
    int64_t failed;
    int64_t messages; /* not yet received */
    int64_t erasing;  /* cascades that were deleted, with rows that are still to
                         be erased; counted nowhere else */
} cascade_counts;

/* Counts. Reads an index of all cascades: seconds where there are millions. */
CASCADE_API cascade_err cascade_counts_load(cascade_store *store,
                                            cascade_counts *counts);

/* ---- The schema --------------------------------------------------------- */

typedef struct cascade_migration {
    int32_t number;
    char name[64];         /* "001_initial" */
    int64_t applied_at_ms; /* CASCADE_TIME_NONE: it is not applied */
    uint64_t reserved[2];
} cascade_migration;

/* Writes up to `room` migrations that this library knows, by number, and how
 * many there are to `count`. Also of a store opened with CASCADE_MIGRATE_NEVER
 * whose tables are not there. */
CASCADE_API cascade_err cascade_migration_list(cascade_store *store,
                                               cascade_migration *migrations,
                                               size_t room, size_t *count);

/* Brings the schema to this library's version, as cascade_store_open() does
 * with CASCADE_MIGRATE_AUTO. */
CASCADE_API cascade_err cascade_store_migrate(cascade_store *store);

/* ---- What changes ------------------------------------------------------- */

typedef enum cascade_change_kind {
    CASCADE_CHANGE_EXECUTION = 1, /* an execution is new, or was updated */
    CASCADE_CHANGE_CASCADE        /* a cascade has another status, or is seen
                                     for the first time */
} cascade_change_kind;

typedef struct cascade_news {
    cascade_change_kind kind;
    cascade_uuid cascade_id;
    cascade_status status; /* CASCADE: of the cascade, and its user */
    const char *user_id;
    cascade_execution_info execution; /* EXECUTION: as it is now */
} cascade_news;

typedef struct cascade_cursor cascade_cursor;

typedef struct cascade_cursor_options {
    size_t size;
    const cascade_uuid *id; /* follow this one; NULL: all */
    bool from_start; /* first what there is already; of all cascades: what those
                        that have not ended have */
} cascade_cursor_options;

/* Follows one cascade or all. Each execution is told when it is first seen and
 * when it has changed since it was told, in the order of the function_ids; what
 * comes and goes between two looks is told once, as it is then. It has changed
 * when another status, attempt, error, time or token is recorded: a heartbeat
 * is no change. Whether it is superseded is not told with it, but the command
 * that does so is an execution too. That a cascade is there comes before its
 * executions, another status of it behind them. CASCADE_ERR_NOT_FOUND.
 *
 * With all, cascades are found by their executions, whose ids have to be of
 * version 7, as those of this library are, up to a minute after they were
 * recorded; what other programs write is seen in cascades that are followed.
 * Opening reads what is RUNNING of all. What has not ended is looked at in
 * turn, 10,000 cascades at a time; of more than 100,000 those are forgotten
 * that were found first, until something is recorded of them, and then told
 * from their beginning.
 * A cascade with a row that cannot be read is left out from then on, and keeps
 * none of the others from being told; cascade_verify() names it.
 *
 * Close it with cascade_cursor_close(). */
CASCADE_API cascade_err
cascade_cursor_open(cascade_store *store, const cascade_cursor_options *options,
                    cascade_cursor **cursor);

/* The next change, waiting for it up to `timeout_ms` (-1: no limit):
 * CASCADE_ERR_TIMEOUT. CASCADE_ERR_ENDED: the one that it follows has ended,
 * and all was told; CASCADE_ERR_NOT_FOUND: it was deleted. After an error of
 * the store the next call goes on where it was. `*news` belongs to the cursor
 * until its next call. */
CASCADE_API cascade_err cascade_cursor_next(cascade_cursor *cursor,
                                            int64_t timeout_ms,
                                            const cascade_news **news);
CASCADE_API void cascade_cursor_close(cascade_cursor *cursor);

/* ---- Checking and mending ----------------------------------------------- */

/* How many rows cascade_list() has met, up to the last one of the page, of
 * which the cascade or its run cannot be read: it leaves them out, and
 * cascade_verify() tells which they are. */
CASCADE_API size_t cascade_page_unreadable(const cascade_page *page);

/* Receives one finding, a line of English that names the row; valid during the
 * call. `id`: the cascade, all zero where that cannot be read. Return false to
 * end the call, which then returns CASCADE_ERR_STOPPED. */
typedef bool (*cascade_finding_fn)(void *context, const cascade_uuid *id,
                                   int32_t function_id, const char *rule,
                                   const char *text);

typedef struct cascade_check_options {
    size_t size;
    const cascade_uuid *id;     /* only this one; NULL: all */
    cascade_finding_fn finding; /* NULL: only count */
    cascade_progress_fn progress;
    void *context; /* of all */
    bool dry_run;  /* adopt: tell what it would change, and change nothing */
    cascade_counted_fn counted; /* verify all, in a store with integrity: */
    cascade_known_fn known;     /* see there; NULL: none */
    bool trust; /* seal_renew, adopt: takes what is there for what was
                   written */
} cascade_check_options;

typedef struct cascade_check_report {
    size_t size; /* in: sizeof(cascade_check_report) */
    int64_t cascades;
    int64_t executions;
    int64_t events;
    int64_t findings;   /* verify: violations; adopt: what was found */
    int64_t repaired;   /* adopt: cascades that were changed, or would be */
    int64_t unknown;    /* adopt: what could not be known; verify: cascades that
                           another program began or has written to, of which
                           not all can be judged */
    int64_t unreadable; /* adopt: cascades left as they are, as their rows
                           cannot be read */
    int64_t compared;   /* verify: counts that were known */
    int64_t left;       /* seal_renew: cascades that engines have, with seals
                           by another key than the first; adopt: those that
                           do not fit their seals */
    int64_t messages;   /* seal_renew: messages with such */
} cascade_check_report;

/* Checks each invariant that the tables have to satisfy and tells each
 * violation, of one cascade up to 100 of them; changes nothing. A row that
 * cannot be read is one, and the others are judged all the same. In a store
 * with integrity (integrity.h) so is a cascade or a message that has not the
 * seal of what is there, a seal without its cascade, and what is less than was
 * counted. Bounded in memory, however many rows there are. Cascades that are
 * written meanwhile are looked at again before anything is told of them. */
CASCADE_API cascade_err cascade_verify(cascade_store *store,
                                       const cascade_check_options *options,
                                       cascade_check_report *report);

/* Takes in cascades that have no run though they are RUNNING: those of a
 * database that holds only the three tables, written by another program or
 * restored without the rest. Each gets a run, with its queue and priority where
 * these are recorded, so that an engine takes it; statuses, fn_ids and keys are
 * put right as the executions say: where none is RUNNING any more, the cascade
 * becomes COMPLETED or ERROR. Tells what it found, what it repaired, and what
 * it cannot know; with `dry_run` the same, and nothing is changed. Cascades
 * that engines have are left alone. Which is the last run of each that has
 * continued as new is entered and told, so that what is sent to those before
 * comes to it when they are gone. It may be repeated. In a store with integrity
 * all rows of what it would change, or enter, are compared with the seal first,
 * and what is changed is sealed in the same commit; what does not fit is a
 * finding, counted in `left`, left as it is and not entered, until it is called
 * with `trust`, which takes what is there for what was written: after somebody
 * has looked at it. What is entered by trust keeps the seal that it has. */
CASCADE_API cascade_err cascade_adopt(cascade_store *store,
                                      const cascade_check_options *options,
                                      cascade_check_report *report);

/* Seals each cascade with the first key of the store that is not sealed with
 * it, in a store with integrity: CASCADE_ERR_UNSUPPORTED elsewhere. Its rows
 * are read and compared with the old seal first; what does not fit is a
 * finding, and left as it is. With `trust` that is sealed as it stands: after
 * somebody has looked at it, or where a database that has cascades gets
 * integrity (CASCADE_INTEGRITY_BEGIN_ANY); messages are not. Cascades that
 * engines have are left, as these seal them with the key that they have: call
 * it again. When nothing is left, not even a message, of all cascades, the
 * store's own row is sealed with that key, and the other keys may go. May be
 * ended and begun again at any time: each cascade is sealed by itself. Bounded
 * in memory by one page of cascades, and what is known of one. `repaired`
 * counts those that were sealed; with `dry_run` nothing is written. */
CASCADE_API cascade_err cascade_seal_renew(cascade_store *store,
                                           const cascade_check_options *options,
                                           cascade_check_report *report);

/* ---- Retention ---------------------------------------------------------- */

typedef struct cascade_purge_options {
    size_t size;
    int64_t completed_ms; /* those that ended as COMPLETED so long ago, at least
                             that; -1: none of them; 0: however short ago. What
                             was sent to them since does not count */
    int64_t failed_ms;    /* the same of those that ended as ERROR */
    cascade_progress_fn progress;
    void *context;
} cascade_purge_options;

/* Deletes cascades that have ended, in many transactions of up to 500 rows of
 * each table; what others have deleted and not erased yet goes too, unless an
 * engine is at it. A run that continued as new, and
 * by which a later one is found that goes on (see cascade_delete()), stays. Of
 * others the id and the request ids that they have received outlive them, for
 * as long as the last run is there: what is sent to such an id comes to that
 * run, and such a request is not received again. An update that is repeated so,
 * or a command that waits, is CASCADE_ERR_NOT_FOUND, since what came of the
 * first is gone. Of the runs of one start the last 10,000 of these are kept,
 * ids and request ids together, but for the id of the first run, which stays.
 * `seen` of `total` (may be NULL) are old enough, `done` are deleted. Looks at
 * every cascade of the store, a page at a time. */
CASCADE_API cascade_err cascade_purge(cascade_store *store,
                                      const cascade_purge_options *options,
                                      cascade_progress *total);

/* ---- Export and import -------------------------------------------------- */

typedef struct cascade_export_options {
    size_t size;
    bool tokens; /* with those of executions that wait for their completion
                    from outside: who has the document can complete them.
                    Without, import makes new ones, which a snapshot tells */
} cascade_export_options;

/* Writes a cascade, as of one moment, as one JSON document: all of its rows in
 * the three tables, with its pending messages. `options` may be NULL. The
 * caller frees `*document` with cascade_document_free(). CASCADE_ERR_TOO_LARGE:
 * over 64 MiB, or 100 messages wait for it. */
CASCADE_API cascade_err cascade_export(cascade_store *store,
                                       const cascade_uuid *id,
                                       const cascade_export_options *options,
                                       char **document);
CASCADE_API void cascade_document_free(char *document);

typedef struct cascade_import_options {
    size_t size;
    bool new_ids;      /* it becomes another cascade, without its key, its
                           parent and its run before; its children stay those
                           of the old one, which they tell of their ends, and
                           are abandoned by the new one. Else the ids stay */
    const char *queue; /* NULL: the one that is recorded */
} cascade_import_options;

/* Makes the cascade of a document, in one transaction; what is RUNNING goes on
 * where an engine knows its nodes. Exported again it gives the same document,
 * but for new ids, with what these say above, and another queue.
 * started->existed: a cascade with this id is there, and nothing was changed.
 * CASCADE_ERR_JSON, CASCADE_ERR_INVALID: it is not such a document, of which
 * the text names the member; CASCADE_ERR_REFUSED: the rows contradict each
 * other, or others in the store, or say of other cascades what the store does
 * not show (its parent, paths of earlier runs: import these first, or use new
 * ids), or it is a run that has not ended, of which a later one is there;
 * CASCADE_ERR_AGAIN: a cascade with this id was deleted (by an engine that does
 * not retain it so long, perhaps as soon as it was made here), and its rows are
 * still being erased. */
CASCADE_API cascade_err cascade_import(cascade_store *store,
                                       const char *document,
                                       const cascade_import_options *options,
                                       cascade_started *started);

#ifdef __cplusplus
}
#endif

#endif
