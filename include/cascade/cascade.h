/* SPDX-License-Identifier: MIT
 *
 * libcascade: durable workflows inside a C program.
 *
 * A program registers plain C functions as nodes and starts cascades: runs in
 * which nodes spawn nodes. Every execution and every context write is recorded
 * in three tables of a database the program owns. When the process dies, the
 * next one rebuilds the state in memory from those tables and carries on.
 *
 * CAVEATS FIRST
 *   - A node that was running at a crash runs again (at least once until it is
 *     recorded, never after). Hand cascade_node_request_id() to the outside, so
 *     that it can tell a repetition from a new request.
 *   - C functions cannot be interrupted. A node that never returns keeps its
 *     worker and delays cascade_engine_stop(). A time limit ends the attempt,
 *     not the function: see TIME LIMITS.
 *   - After fork() a handle of the parent is CASCADE_ERR_MISUSE in the child,
 *     and so is opening a SQLite file that the parent has open: fork first.
 *   - Linux with glibc is the platform.
 *
 * WORDS
 *   node        a named C function registered with an engine
 *   execution   one activation of a node in a cascade; its handle: cascade_node
 *   attempt     one try of an execution
 *   function_id the place of an execution in its cascade: 0, 1, 2, ...
 *   step        a named piece of work inside a node, recorded on its own
 *   sleep       a named wait inside a node, recorded on its own
 *   message     what is asked of a cascade from outside it; a signal is one
 *   await       a named wait inside a node for a signal of that name
 *   saga        steps with compensations, which undo them when the node fails
 *   external    of an execution: not run by an engine, but completed by whoever
 *               shows it to a person, or gets the callback it stands for
 *   context     the keys of a cascade, each with the list of values put to it
 *   store       where the tables live; engine: runs cascades in this process
 *   incarnation one life of an engine in the store, kept alive by a lease
 *   fenced      no longer the owner: another engine has taken over
 *   hydrate     rebuild the state in memory from the tables
 *   park        give up a cascade that only waits; its memory is freed
 *
 * FILES
 *   This header is for whoever starts cascades and runs engines; node.h, which
 *   it includes, is for the functions of nodes; text.h, included too, has the
 *   same calls with JSON as text. manage.h is for whoever looks
 *   after the cascades of a store: further commands, explanations, repairs.
 *   integrity.h is for stores that are to find what others did to their tables.
 *   sqlite.h and postgres.h are for one transaction with the application's own
 *   data.
 *
 * HANDLES
 *   cascade_store   enough to start, wait, get and list
 *   cascade_engine  runs cascades of one store; close it before the store
 *   cascade_node    valid inside the function it is handed to
 *
 * THREADS
 *   cascade_store, and what takes one       any thread, at the same time
 *   cascade_engine                          any thread; open, start, stop and
 *                                           close by one thread at a time; poll
 *                                           only by the thread of the loop
 *   cascade_node, cascade_snapshot, _page   one thread at a time
 *   Callbacks run with no lock of the library held; only the injected clock and
 *   random functions may be called with one, and must not call the library.
 *
 * OWNERSHIP
 *   Inputs are copied unless the comment says "takes": then the library owns
 *   them from the call on, also when it fails. A const result belongs to the
 *   object it came from until the moment the comment names. What comes out
 *   through a pointer to a pointer is freed by the function the comment names;
 *   each of those accepts NULL. Outputs are written only on success.
 *
 * ERRORS
 *   Every fallible function returns a cascade_err. cascade_errmsg() tells the
 *   calling thread in words what its last failed call found wrong.
 *
 * OPTIONS
 *   An options struct begins with its size: { .size = sizeof(options) }, and
 *   every member left zero means the default its comment names. NULL stands for
 *   all defaults. CASCADE_OPTIONS() and CASCADE_DEFAULTS() set the size
 *   (options.h). A longer struct from a newer header is accepted as long as the
 *   members this library does not know are zero. So is each element of an array
 *   (cascade_first): all of one array have the size of the first, by which the
 *   library steps. What it writes has `reserved`, zero, for members to come, or
 *   a size to be set before. Others without a size are final.
 *
 * TEXTS
 *   Payloads are JSON (RFC 8259, UTF-8), at most 1 MiB each unless the store's
 *   options say otherwise, nested at most 128 deep, without duplicate keys,
 *   \u0000 or lone surrogates, numbers of at most 400 digits when written out.
 *   They are kept in the canonical form of PostgreSQL's jsonb without blanks.
 *   Names of nodes, steps, sleeps, signals, children, compensations, changes
 *   and queues: 1-128 bytes of [A-Za-z0-9._:-], not beginning with "cascade.".
 *   Context keys, user ids, idempotency keys and request ids: 1-255 bytes of
 *   UTF-8 without control characters.
 *   Times are milliseconds since 1970-01-01 UTC by the store's clock.
 *
 * TIME LIMITS
 *   attempt_timeout_ms    of a node: how long its function may take, from the
 *                         call to the return; a node that left to wait begins
 *                         anew when it is entered again
 *   heartbeat_timeout_ms  of a node: how long its function may go without a
 *                         heartbeat, or without returning
 *   start_timeout_ms      of a node: how long an execution may wait, from when
 *                         it could run, until it is entered for the first time,
 *                         as far as is known: of an engine that is stopped and
 *                         given up while the function runs, no other knows
 *   deadline_ms           of a node: how long an execution may take, from being
 *                         recorded, with all attempts, pauses and waits
 *   deadline_ms           of a start, or a child's: how long the cascade may
 *                         take, with all the runs that it continues as
 *   The first two end an attempt; the next follows as the options say. Those
 *   behind them end the execution for good, as its `final_failure` says, and
 *   the last ends the cascade as ERROR. The texts tell which limit it was. What
 *   has registered compensations is undone before it ends, in a further entry:
 *   see cascade_node_compensate(); at the cascade's deadline nothing is.
 *   The first two are measured by the monotonic clock of the process, the
 *   others by the store's; none is ever early. The limits of a node are those
 *   of the engine that has the cascade (as it was registered there), that of a
 *   start is recorded with it. They hold while nobody runs the cascade too: the
 *   next engine that takes it finds them passed. One that waits for a node
 *   nobody knows ends when an engine that knows the node takes it. One that
 *   comes after others may be ended by its deadline before they end; one that
 *   is not to be run, as they failed, is recorded as that.
 *   WHEN THE FUNCTION DOES NOT RETURN its attempt is recorded as failed all the
 *   same, and the next attempt begins when it is due, in another worker, while
 *   the old one still runs. What the late function answers is dropped; its
 *   calls are refused with CASCADE_ERR_FENCED, steps, waits, puts and spawns
 *   alike, and cascade_node_is_cancelled() says so. A step that it had handed
 *   over before stays recorded. Its worker is taken until it returns, counts as
 *   `running` and as `overdue` in the stats, and stop and close wait for it. So
 *   a node that shares something between attempts must expect two at a time.
 *   Where the host's thread runs the nodes (LOOP, INLINE) the next attempt
 *   begins only after the return; with INLINE nobody looks at the clock before,
 *   but a heartbeat, and the late return is refused then.
 *
 * FIBERS
 *   With the engine's option `fibers` the function of a node runs on a stack of
 *   its own, in a worker that it does not leave. While a step, or a
 *   compensation, waits for its commit, the worker goes on with other
 *   functions: so a few carry up to fiber_max of them. What is recorded, and
 *   what happens after a crash, is the same as without.
 *   To a function it means that others run in its thread between its call of
 *   cascade_node_step() and the return of that. Over such a call it holds no
 *   lock, and keeps nothing in thread-local variables, nor pointers to any.
 *   What goes with it: cascade_errmsg(), errno, the signal mask, the exceptions
 *   that it handles. No jump leaves it, and it does not end its thread.
 *   A function that computes or blocks for long holds up the others of its
 *   worker; one that waits for what another function does (cascade_wait(),
 *   cascade_update(), a condition of the host's) may hold up just that one, and
 *   wait for ever. So such a node is registered with `thread`: it has its
 *   worker for itself while one is free. One that takes longer than 5 ms
 *   between two such calls, one time in 16 or more, is treated so from then on.
 *   So are nodes that are `transactional`, nodes in C++ where the library finds
 *   no runtime of C++ in the process, and those beyond fiber_max.
 *   While a function could go on and waits for its worker, attempt_timeout_ms
 *   and heartbeat_timeout_ms stand still.
 */
#ifndef CASCADE_CASCADE_H
#define CASCADE_CASCADE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cjson/cJSON.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CASCADE_VERSION_MAJOR 0
#define CASCADE_VERSION_MINOR 2
#define CASCADE_VERSION_PATCH 0

#define CASCADE_API __attribute__((visibility("default")))
#define CASCADE_PRINTF(at, from) __attribute__((format(printf, at, from)))

/* The version of the library at run time, "major.minor.patch". Static. */
CASCADE_API const char *cascade_version(void);

/* ---- Errors ------------------------------------------------------------- */

/* name, value, text. Values are never reused. */
#define CASCADE_ERRORS(X)                                                      \
    X(CASCADE_OK, 0, "success")                                                \
    X(CASCADE_SUSPENDED, 1, "the node waits and will be entered again")        \
    X(CASCADE_ERR_INVALID, 2, "wrong argument")                                \
    X(CASCADE_ERR_NOT_FOUND, 3, "not found")                                   \
    X(CASCADE_ERR_EXISTS, 4, "already exists")                                 \
    X(CASCADE_ERR_AGAIN, 5, "not now, try again")                              \
    X(CASCADE_ERR_TIMEOUT, 6, "the time limit passed")                         \
    X(CASCADE_ERR_NO_MEMORY, 7, "out of memory")                               \
    X(CASCADE_ERR_TOO_LARGE, 8, "over a size limit")                           \
    X(CASCADE_ERR_JSON, 9, "not acceptable JSON")                              \
    X(CASCADE_ERR_MISUSE, 10, "call out of place")                             \
    X(CASCADE_ERR_UNSUPPORTED, 11, "not supported by this store")              \
    X(CASCADE_ERR_STOPPED, 12, "the engine is stopping")                       \
    X(CASCADE_ERR_FENCED, 13, "ownership lost to another engine")              \
    X(CASCADE_ERR_OUTCOME_UNKNOWN, 14, "the outcome of the commit is unknown") \
    X(CASCADE_ERR_UNAVAILABLE, 15, "the store cannot be reached or is busy")   \
    X(CASCADE_ERR_REFUSED, 16, "the store refuses the data")                   \
    X(CASCADE_ERR_LOST, 17, "the store lost commits")                          \
    X(CASCADE_ERR_SCHEMA, 18, "the schema of the database does not fit")       \
    X(CASCADE_ERR_CORRUPT, 19, "the store holds rows that make no sense")      \
    X(CASCADE_ERR_READ_ONLY, 20, "the store cannot be written")                \
    X(CASCADE_ERR_SYSTEM, 21, "a call to the operating system failed")         \
    X(CASCADE_ERR_FAILED, 22, "the node failed")                               \
    X(CASCADE_ERR_FINAL, 23, "the node failed for good")                       \
    X(CASCADE_ERR_ENDED, 24, "the cascade has ended")                          \
    X(CASCADE_ERR_CANCELLED, 25, "the cascade is cancelled")                   \
    X(CASCADE_ERR_NOT_DONE, 26, "the store has done nothing of it")

typedef enum cascade_err {
#define CASCADE_ERR_ENUM(name, value, text) name = value,
    CASCADE_ERRORS(CASCADE_ERR_ENUM)
#undef CASCADE_ERR_ENUM
} cascade_err;

/* "CASCADE_ERR_INVALID"; "CASCADE_ERR_UNKNOWN" for a value of no error.
 * Static. */
CASCADE_API const char *cascade_err_name(cascade_err err);

/* The general text of `err`, in English. Static. */
CASCADE_API const char *cascade_err_text(cascade_err err);

/* What the last failed call of this thread found wrong, naming the thing, the
 * limit and what to do; "" when the thread's last call succeeded. Contains no
 * payload and no secret. Valid until the thread's next call of the library. */
CASCADE_API const char *cascade_errmsg(void);

/* ---- Ids ---------------------------------------------------------------- */

#define CASCADE_UUID_TEXT_SIZE 37

typedef struct cascade_uuid {
    unsigned char bytes[16];
} cascade_uuid;

/* Reads the usual 36-character form, upper or lower case.
 * CASCADE_ERR_INVALID when it is malformed. */
CASCADE_API cascade_err cascade_uuid_parse(const char *text, cascade_uuid *id);

/* Writes the lower-case text of `id` with its NUL into `text` and returns
 * `text`. */
CASCADE_API char *cascade_uuid_format(const cascade_uuid *id,
                                      char text[CASCADE_UUID_TEXT_SIZE]);

/* The id of the cascade that `user_id` (NULL: "anonymous") starts with the
 * idempotency `key`: UUID version 8 (RFC 9562) of the first 16 bytes of
 * SHA-256(user_id, 0x00, key, 0x00, "1"), so that SQL can compute it too. */
CASCADE_API cascade_err cascade_uuid_from_key(const char *user_id,
                                              const char *key,
                                              cascade_uuid *id);

/* ---- What is injected --------------------------------------------------- */

/* Both functions must be callable from any thread. `wall_ms` is the time of
 * day, `monotonic_ns` never goes back. */
typedef struct cascade_clock {
    void *context;
    int64_t (*wall_ms)(void *context);
    int64_t (*monotonic_ns)(void *context);
} cascade_clock;

/* Fills `bytes` with `len` random bytes; callable from any thread. */
typedef struct cascade_random {
    void *context;
    void (*fill)(void *context, void *bytes, size_t len);
} cascade_random;

typedef enum cascade_log_level {
    CASCADE_LOG_ERROR = 1,
    CASCADE_LOG_WARNING = 2,
    CASCADE_LOG_INFO = 3,
    CASCADE_LOG_DEBUG = 4
} cascade_log_level;

/* Receives one line without newline, from any thread, valid during the call.
 * Contains no payload and no secret. Must not call the library. */
typedef void (*cascade_log_fn)(void *context, cascade_log_level level,
                               const char *line);

/* ---- Store -------------------------------------------------------------- */

typedef struct cascade_store cascade_store;

typedef enum cascade_migrate {
    CASCADE_MIGRATE_AUTO = 0, /* create or upgrade the tables when needed */
    CASCADE_MIGRATE_CHECK,    /* an error when the schema is not current */
    CASCADE_MIGRATE_NEVER     /* neither look nor touch */
} cascade_migrate;

typedef enum cascade_durability {
    CASCADE_DURABILITY_FULL = 0, /* what is acknowledged survives power loss */
    CASCADE_DURABILITY_RELAXED   /* power loss may take the last commits; a
                                    killed process loses nothing */
} cascade_durability;

typedef struct cascade_integrity cascade_integrity; /* integrity.h */

typedef struct cascade_store_options {
    size_t size;
    cascade_migrate migrate;
    cascade_durability durability;
    const char *schema;           /* PostgreSQL: NULL means "public" */
    const char *application_name; /* PostgreSQL: NULL means "libcascade" */
    bool pooler;           /* behind a pooler in transaction mode: no session
                              state, no LISTEN, no prepared statements */
    int64_t deadline_ms;   /* the longest a store call may block, or twice that
                              behind calls of others; 0: 30,000 */
    size_t payload_max;    /* bytes of one JSON payload; 0: 1 MiB; at most
                              64 MiB */
    size_t connection_max; /* PostgreSQL: open at once (+ 1: to renew); 0: 16 */
    const cascade_clock *clock;   /* NULL: the system's. The memory and SQLite
                                     stores take their time from it */
    const cascade_random *random; /* NULL: the system's */
    cascade_log_fn log;           /* NULL: silent */
    void *log_context;
    cascade_log_level log_level; /* 0: CASCADE_LOG_WARNING */
    bool private_files; /* SQLite: a new database has mode 0600, and so have the
                           files beside it; else as the umask says */
    const cascade_integrity *integrity; /* NULL: none */
} cascade_store_options;

/* Opens the store at `url`:
 *   memory:            private to the handle, gone when it is closed
 *   memory:NAME        shared by name inside the process
 *   sqlite:PATH        a SQLite file, created when missing; by several
 *                      processes at once if they like
 *   postgresql://...   PostgreSQL, as a URI or
 *   host=... dbname=   as any other libpq connection string
 * Blocks up to the deadline. CASCADE_ERR_INVALID (url, options, or integrity
 * that is not the store's), _UNAVAILABLE (cannot be
 * reached), _SCHEMA (not current, newer, or other columns), _READ_ONLY,
 * _UNSUPPORTED (backend not built in, or server too old). */
CASCADE_API cascade_err cascade_store_open(const char *url,
                                           const cascade_store_options *options,
                                           cascade_store **store);

/* Closes the store and frees the handle. CASCADE_ERR_MISUSE, and nothing
 * happens, while an engine of it is open, and for a store of a node
 * (cascade_node_store()). NULL is accepted. */
CASCADE_API cascade_err cascade_store_close(cascade_store *store);

/* The store's clock now, in milliseconds. */
CASCADE_API cascade_err cascade_store_now(cascade_store *store,
                                          int64_t *now_ms);

/* ---- Starting ----------------------------------------------------------- */

/* A first node of a cascade. At most one of `input` and `input_text` is given;
 * none means {}. Both are copied. */
typedef struct cascade_first {
    size_t size; /* sizeof(cascade_first) */
    const char *node;
    const cJSON *input;
    const char *input_text;
} cascade_first;

/* What a start does with the run of its key that is current when it begins. Of
 * several at a time one starts the next run, and the others get that. */
typedef enum cascade_reuse {
    CASCADE_REUSE_NEVER = 0, /* gives that run: `existed` */
    CASCADE_REUSE_ENDED,     /* starts the next run when it has ended */
    CASCADE_REUSE_FAILED,    /* the same, when it has ended as ERROR */
    CASCADE_REUSE_TERMINATE  /* the same, when it has ended; one that is RUNNING
                                is terminated first: CASCADE_ERR_AGAIN when that
                                takes longer than the store's deadline */
} cascade_reuse;

typedef struct cascade_start_options {
    size_t size;
    const char *user_id; /* NULL: "anonymous" */
    const char *key;     /* idempotency key: two starts of a user with one key
                            give one cascade. A key is free again when its
                            current run is deleted; having had several, it
                            goes on with the next run. NULL: none */
    const cascade_uuid *id; /* explicit id, instead of a key. NULL: generated.
                               CASCADE_ERR_REFUSED: it is that of a run that
                               was deleted, of which a later one is there */
    const char *queue;      /* NULL: "default" */
    int priority;           /* 0-9, 9 runs first */
    int64_t delay_ms;       /* the first nodes run no earlier than that */
    int64_t deadline_ms;    /* the cascade ends as ERROR when it takes longer
                               than that, delay included; 0: no limit. Not
                               while it waits for its turn in a queue with
                               limits, see cascade_queue_set() */
    cascade_reuse reuse;    /* of a key that was started before */
    const char *limit_key;  /* what the limits of its queue go by, see
                               cascade_queue_set() in manage.h: a tenant, an API
                               that is called; 1-255 bytes as a key has. NULL:
                               the user's id. Its children, in whatever queue,
                               the runs that continue it and its forks have it
                               too. SQL's cascade_start() gives none */
} cascade_start_options;

typedef struct cascade_started {
    cascade_uuid id; /* by a key: of its current run */
    bool existed;    /* the key or id was started before: nothing was changed */
    uint64_t reserved[5];
} cascade_started;

/* Starts a cascade with one node; takes `input` (NULL: {}). When it returns OK
 * the cascade is durable and ends as long as some engine knows its nodes. An
 * engine of this process that runs on the same store takes it on at once.
 * CASCADE_ERR_OUTCOME_UNKNOWN when the store went away in mid-commit: then
 * started->id is set all the same, to be looked up. CASCADE_ERR_UNAVAILABLE
 * when it is known not to be made, as where another transaction that starts the
 * same was open all the time. */
CASCADE_API cascade_err cascade_start(cascade_store *store, const char *node,
                                      cJSON *input,
                                      const cascade_start_options *options,
                                      cascade_started *started);

/* A cascade for cascade_start_many(): 1 to 1,000 first nodes. */
typedef struct cascade_start_spec {
    size_t size; /* sizeof(cascade_start_spec) */
    const cascade_first *first;
    size_t first_count;
    const cascade_start_options *options;
} cascade_start_spec;

/* Starts 1 to 10,000 cascades in one commit: all or none. Those that existed
 * are left alone and marked; of two with one key or id in the call the first
 * counts. Writes `count` results to `started`, on CASCADE_ERR_OUTCOME_UNKNOWN
 * too. CASCADE_ERR_TOO_LARGE for inputs of more than 64 MiB together. */
CASCADE_API cascade_err cascade_start_many(cascade_store *store,
                                           const cascade_start_spec *specs,
                                           size_t count,
                                           cascade_started *started);

/* Tells the engines of all processes that there may be something to do, which
 * they would find at a later poll: after the COMMIT of a transaction in which a
 * call of a store on the application's own connection, or SQL, asked for
 * something (postgres.h). Not needed otherwise. */
CASCADE_API cascade_err cascade_wake(cascade_store *store);

/* ---- Signals ------------------------------------------------------------ */

typedef struct cascade_signal_options {
    size_t size;
    const char *request_id; /* two signals of a cascade with one request id are
                               one, whichever of the runs that it continued as
                               they are sent to, by id or key; to another start
                               of the key it is a new one. NULL: each is one of
                               its own */
} cascade_signal_options;

/* Sends the signal `name` to a cascade, from any process; takes `payload`
 * (NULL: {}). When it returns OK the signal is durable, or was before, and is
 * received exactly once: signals of one name in the order in which they were
 * sent, also before the cascade awaits them (cascade_node_await()), or recorded
 * as undelivered when the cascade ends first. CASCADE_ERR_NOT_FOUND: there is
 * no such cascade. CASCADE_ERR_ENDED: it has ended; the signal is recorded as
 * undelivered. A cascade that has continued as new sends on to its next run and
 * counts as its last run does; to find that is to read the runs between.
 * CASCADE_ERR_OUTCOME_UNKNOWN when the store went away: send it again with the
 * same request id. */
CASCADE_API cascade_err cascade_signal(cascade_store *store,
                                       const cascade_uuid *id, const char *name,
                                       cJSON *payload,
                                       const cascade_signal_options *options);

/* The same to the cascade that `user_id` (NULL: "anonymous") started with the
 * idempotency `key`: to its current run. While a run continues as new, a signal
 * may be overtaken by one that is sent after it. */
CASCADE_API cascade_err cascade_signal_key(
    cascade_store *store, const char *user_id, const char *key,
    const char *name, cJSON *payload, const cascade_signal_options *options);

/* Starts a cascade, unless it exists, and sends it a signal, both or neither;
 * takes `input` and `payload`. As cascade_start(), and then as
 * cascade_signal(). */
CASCADE_API cascade_err cascade_start_with_signal(
    cascade_store *store, const char *node, cJSON *input,
    const cascade_start_options *start_options, const char *name,
    cJSON *payload, const cascade_signal_options *signal_options,
    cascade_started *started);

/* ---- Updates and queries ------------------------------------------------ */

typedef struct cascade_update_options {
    size_t size;
    const char *request_id; /* two updates with one request id are one, as two
                               signals are, and get the same answer. NULL: each
                               is one of its own */
    int64_t timeout_ms;     /* the longest to wait for the answer; 0: 10,000;
                               -1: no limit */
} cascade_update_options;

/* Hands a running cascade the request `name` and waits for the answer of its
 * node (cascade_node_await_update(), cascade_node_answer()); takes `request`
 * (NULL: {}). The caller frees `*answer` with cJSON_Delete(); `answer` may be
 * NULL. The request is durable, and received exactly once, as a signal is, also
 * by the run that the cascade continues as. CASCADE_ERR_TIMEOUT: there is no
 * answer yet; call again with the same request id to go on waiting.
 * CASCADE_ERR_ENDED: the cascade has ended without an answer.
 * CASCADE_ERR_NOT_FOUND, CASCADE_ERR_OUTCOME_UNKNOWN: as with cascade_signal().
 * Each look for the answer, ever more rarely up to five times a second, reads
 * the executions of the cascade. */
CASCADE_API cascade_err cascade_update(cascade_store *store,
                                       const cascade_uuid *id, const char *name,
                                       cJSON *request,
                                       const cascade_update_options *options,
                                       cJSON **answer);

/* Reads the value that a node of the cascade published last under `name`
 * (cascade_node_publish()), without waking it, also when it has ended. The
 * caller frees `*value` with cJSON_Delete(). CASCADE_ERR_NOT_FOUND when there
 * is none. A cascade that has continued as new gives what that run published:
 * ask the next one (cascade_snapshot_continued_as()) for what follows. Reads
 * all writes to the context of that cascade, in one look. */
CASCADE_API cascade_err cascade_get_published(cascade_store *store,
                                              const cascade_uuid *id,
                                              const char *name, cJSON **value);

/* ---- Commands ----------------------------------------------------------- */

typedef struct cascade_request_options {
    size_t size;
    const char *request_id; /* two of a kind with one id are one, as two signals
                               are; of a deletion, in one run. NULL: none */
    const char *reason;     /* recorded; 1-255 bytes as a key has. NULL: none */
    int64_t wait_ms;        /* until it is carried out; -1: no limit; 0: do not
                               wait */
    const char *by;         /* who asks; recorded, as the reason is. NULL:
                               nobody says */
} cascade_request_options;

/* Commands to a cascade, from any process. When they return OK the command is
 * durable; the engine that owns the cascade, or any that serves its queue,
 * carries it out and records it, with who asked and why, as an execution. Where
 * no engine is alive the call does it itself. CASCADE_ERR_NOT_FOUND: there is
 * no such cascade. CASCADE_ERR_ENDED: it has ended (and the command is recorded
 * as undelivered). CASCADE_ERR_OUTCOME_UNKNOWN as with cascade_signal().
 * With `wait_ms` the call tells what became of it: OK, it was carried out;
 * CASCADE_ERR_REFUSED, or another with its meaning, it was recorded as
 * undelivered; CASCADE_ERR_AGAIN, it was not received so far. More commands
 * are in manage.h.
 *
 * cascade_cancel() asks the cascade to end. Executions that have not begun fail
 * as cancelled, and so does what is spawned from then on. Those that run may
 * ask (cascade_node_is_cancelled()); those that wait are entered again, and
 * their wait, and each later one, returns CASCADE_ERR_CANCELLED, so that they
 * can clean up; steps still run, with their own attempts, but no node is tried
 * again. What waits for its next attempt is entered at once where it has
 * recorded steps to clean up after, else it fails. When the last has returned
 * the cascade ends as ERROR, "cancelled".
 *
 * cascade_terminate() ends it as ERROR, "terminated", at once, whatever its
 * size; where it has many children they are told behind that. What runs then is
 * told when it asks, and what it records is refused.
 *
 * cascade_delete() ends it, if it has not ended, and deletes it in one commit,
 * once its children are told. An engine erases the rows of a large one behind
 * that, in pieces; until then a start with its id (not a key) is
 * CASCADE_ERR_AGAIN. One that continued as new is deleted alone, and as long as
 * the last run goes on, only where nobody finds that by it: CASCADE_ERR_AGAIN
 * for a run of a child, whose parent knows only the first, and for one whose
 * previous run is still there; so delete the oldest first. A run that continues
 * as new between the call and the deletion is kept, and the command recorded as
 * undelivered; ask again, with another request id. What is sent to the id of a
 * run while that is deleted is lost with it; what is sent later comes to the
 * last run, see cascade_purge(); but where the call is part of a transaction of
 * yours, this holds of the first run alone: of others nothing is kept. */
CASCADE_API cascade_err cascade_cancel(cascade_store *store,
                                       const cascade_uuid *id,
                                       const cascade_request_options *options);
CASCADE_API cascade_err
cascade_terminate(cascade_store *store, const cascade_uuid *id,
                  const cascade_request_options *options);
CASCADE_API cascade_err cascade_delete(cascade_store *store,
                                       const cascade_uuid *id,
                                       const cascade_request_options *options);

/* ---- External executions ------------------------------------------------ */

/* As with cascade_node_put_ui(), and cascade_node_spawn(). All is copied. */
typedef struct cascade_completion_put {
    size_t size; /* sizeof(cascade_completion_put) */
    const char *key;
    const cJSON *value;
    const cJSON *ui_value;     /* NULL: the same */
    const char *value_text;    /* instead of `value`: JSON */
    const char *ui_value_text; /* instead of `ui_value` */
} cascade_completion_put;

typedef struct cascade_completion_spawn {
    size_t size; /* sizeof(cascade_completion_spawn) */
    const char *node;
    const cJSON *input; /* NULL: {} */
    int64_t delay_ms;
    int priority;           /* 0: that of the cascade; else 1-9 */
    const char *input_text; /* instead of `input`: JSON */
} cascade_completion_spawn;

/* What an execution produced: at most 10,000 puts, 10,000 spawns and 4 MiB
 * together. All is copied. */
typedef struct cascade_completion {
    size_t size;
    const char *error;       /* it failed, with this text, of which the first
                                2,000 bytes are recorded, as of a node's; then
                                nothing else is given */
    const cJSON *output;     /* at most one of both; NULL: none */
    const char *output_text; /* JSON */
    const cascade_completion_put *puts;
    size_t put_count;
    const cascade_completion_spawn *spawns;
    size_t spawn_count;
} cascade_completion;

typedef struct cascade_complete_options {
    size_t size;
    int64_t wait_ms; /* until it is received; -1: no limit; 0: do not wait */
} cascade_complete_options;

/* Completes an external execution that waits (see
 * cascade_engine_register_external()), or fails it, from any process. A
 * snapshot of the cascade tells its node_instance_id and its token; cascades
 * that have one are found by cascade_list() with `node`. NULL for `completion`
 * is one that produced nothing. When it fails the cascade ends, or goes on, as
 * the node was registered.
 *
 * When it returns OK the completion is durable, and is received as commands
 * are: by an engine, or, where none is alive, by this call. The execution ends
 * once, so its deadline, or a cancellation, may still come first; then the
 * completion is recorded as undelivered. With `wait_ms` the call tells which:
 * OK, the execution was completed by this call; CASCADE_ERR_AGAIN, not received
 * so far. Without it, look at the execution later.
 *
 * Refused, with nothing written; but where the execution ends during the call,
 * the completion may be recorded as undelivered:
 *   CASCADE_ERR_NOT_FOUND   there is no such cascade, or execution in it
 *   CASCADE_ERR_EXISTS      it was completed (or failed) before, by such a call
 *   CASCADE_ERR_TIMEOUT     its deadline has passed
 *   CASCADE_ERR_CANCELLED   it failed with the cascade's cancellation
 *   CASCADE_ERR_ENDED       the cascade has ended
 *   CASCADE_ERR_REFUSED     the token is another one: it is that of an earlier
 *                           cascade with this id, or of another execution
 *   CASCADE_ERR_MISUSE      it is no external execution, or does not wait yet
 * CASCADE_ERR_OUTCOME_UNKNOWN when the store went away: call again; EXISTS may
 * then mean this one. A reply that is lost within the call is no such case: the
 * call tells its own completion from another. */
CASCADE_API cascade_err
cascade_complete(cascade_store *store, const cascade_uuid *cascade_id,
                 const char *node_instance_id, const char *token,
                 const cascade_completion *completion,
                 const cascade_complete_options *options);

/* ---- Looking ------------------------------------------------------------ */

typedef enum cascade_status {
    CASCADE_RUNNING = 1,
    CASCADE_COMPLETED,
    CASCADE_ERROR
} cascade_status;

typedef enum cascade_execution_status {
    CASCADE_EXECUTION_RUNNING = 1,
    CASCADE_EXECUTION_COMPLETED,
    CASCADE_EXECUTION_FAILED
} cascade_execution_status;

#define CASCADE_TIME_NONE INT64_MIN

/* One cascade. The run members tell about a cascade that is not ended. */
typedef struct cascade_info {
    cascade_uuid id;
    cascade_status status;
    int32_t fn_id; /* highest function_id committed */
    const char *user_id;
    int64_t created_at_ms; /* not before the run of its key before had ended */
    int64_t updated_at_ms; /* written last; of one that has ended, its end */
    bool has_run;          /* the members below are set */
    const char *queue;     /* "" without a run */
    int priority;
    int64_t wake_at_ms; /* free and not runnable before that */
    bool owned;         /* by the incarnation engine_id */
    cascade_uuid engine_id;
    int32_t takeovers; /* since its last commit */
    const char *needs; /* the node that its last owner did not know, or "" */
    bool paused;       /* given up as it is paused (manage.h): nothing begins */
    int32_t trials;    /* of `takeovers` and the owner: alone, as a suspect */
    bool turn;         /* due: waits for its turn in a queue with limits */
    const char *limit_key; /* "": by its user */
} cascade_info;

/* Waits until the cascade has ended, at most `timeout_ms` (-1: no limit), and
 * gives its status. One that continues as new has ended: its next run is
 * another cascade. What an engine of this store handle has in memory is waited
 * for without a query; for other cascades the store is asked at intervals that
 * grow to 200 ms, once for all that wait. CASCADE_ERR_NOT_FOUND,
 * CASCADE_ERR_TIMEOUT. `status` may be NULL. */
CASCADE_API cascade_err cascade_wait(cascade_store *store,
                                     const cascade_uuid *id, int64_t timeout_ms,
                                     cascade_status *status);

/* How one has ended: cascade_wait_result(), in snapshot.h. */
typedef struct cascade_outcome cascade_outcome;

/* Reads one cascade. Free `*info` with cascade_info_free(). */
CASCADE_API cascade_err cascade_get(cascade_store *store,
                                    const cascade_uuid *id,
                                    cascade_info **info);
CASCADE_API void cascade_info_free(cascade_info *info);

/* The id of the current run of the `key` that `user_id` (NULL: "anonymous")
 * started a cascade with: of its first run where it was never started, of which
 * the other calls then say that it is not found. */
CASCADE_API cascade_err cascade_key_current(cascade_store *store,
                                            const char *user_id,
                                            const char *key, cascade_uuid *id);

typedef struct cascade_list_options {
    size_t size;
    const char *user_id;       /* NULL: of any user */
    cascade_status status;     /* 0: of any status */
    const char *node;          /* only those with an execution of that node */
    const cascade_uuid *after; /* the last id of the previous page */
    size_t limit;              /* 0: 100; at most 1,000 */
    const char *queue;         /* only those in it that have not ended */
    int64_t updated_before_ms; /* only those written last before that; 0: all */
} cascade_list_options;

typedef struct cascade_page cascade_page;

/* One page of cascades in the order of their ids, which for generated ids is
 * the order of their starts. Free with cascade_page_free(). */
CASCADE_API cascade_err cascade_list(cascade_store *store,
                                     const cascade_list_options *options,
                                     cascade_page **page);
/* 0 of NULL, as in the next. */
CASCADE_API size_t cascade_page_count(const cascade_page *page);
/* NULL when `index` is out of range; belongs to the page. */
CASCADE_API const cascade_info *cascade_page_get(const cascade_page *page,
                                                 size_t index);
CASCADE_API void cascade_page_free(cascade_page *page);

/* ---- Engine ------------------------------------------------------------- */

typedef struct cascade_engine cascade_engine;
typedef struct cascade_node cascade_node;

typedef enum cascade_mode {
    CASCADE_MODE_THREADS = 0, /* workers, committers, a housekeeper; who would
                            only wait for a commit (a worker, a caller of
                            cascade_start()) may make it, with others' */
    CASCADE_MODE_LOOP,        /* nodes run in cascade_engine_poll(); one library
                            thread does the store's work. But the transaction
                            of a transactional node is begun and committed in
                            the poll, which may block up to the deadline for
                            each */
    CASCADE_MODE_INLINE       /* no thread at all: cascade_engine_poll() does
                            everything and may block up to the deadline.
                            Nobody renews the lease while a node runs: one
                            that takes longer than the lease to come to its
                            next step, or to return, may be taken over, and
                            begun anew, each time */
} cascade_mode;

/* Told of what happens: event.h. */
typedef struct cascade_event cascade_event;
typedef void (*cascade_event_fn)(void *context, const cascade_event *event);

typedef struct cascade_engine_options {
    size_t size;
    cascade_mode mode;
    const char *const *queues; /* the queues it serves; NULL: "default" */
    size_t queue_count;
    unsigned worker_count;     /* threads that run nodes; 0: 64 */
    size_t worker_stack_size;  /* bytes for the nodes; 0: 256 KiB. The
                                 library adds 256 KiB for itself */
    unsigned lane_count;       /* commits in flight at once on PostgreSQL;
                                 0: 2; at most 16. One elsewhere */
    size_t capacity;           /* cascades held in memory; 0: 20,000 */
    int64_t lease_ms;          /* alive without a sign; 0: 10,000; from 100 */
    int64_t poll_interval_ms;  /* how often it looks for work of others; 0:
                                 2,000. Where it hears of it, every 5th time */
    int64_t park_after_ms;     /* a wait longer than that is parked; 0: 5,000 */
    int poison_limit;          /* deaths in trial (guide) after which what runs
                                 fails as poisoned; 0: 5; -1: never */
    size_t batch_bytes_max;    /* of one commit; 0: 4 MiB */
    size_t batch_cascades_max; /* of one commit; 0: 500 */
    size_t execution_bytes_max; /* puts, output and spawns (with what they come
                                   after) of one execution; 0: 4 MiB */
    const char *location;       /* node_executions.location; NULL: "server" */
    /* Called in each worker thread as it begins and ends. A failing init ends
     * cascade_engine_start() with its error. NULL: none. */
    cascade_err (*worker_init)(void *context);
    void (*worker_exit)(void *context);
    void *worker_context;
    bool suspend_steps; /* THREADS: a step suspends its node, as in the other
                           modes, instead of blocking its worker: a few carry
                           thousands of nodes that wait, and no thread is woken
                           for each; code before the step runs again */
    int depth_max;      /* levels of children; 0: 1,000; at most 1,000,000 */
    /* Retention: cascades of any queue are deleted when they have ended so long
     * ago, as cascade_purge() does (manage.h), in small portions; 0: never. */
    int64_t retain_completed_ms;
    int64_t retain_failed_ms;
    int64_t retain_interval_ms; /* between two passes; 0: 3,600,000 */
    unsigned transaction_count; /* transactional nodes at once on PostgreSQL,
                                   each on a connection beside connection_max;
                                   0: 4; at most 16. One on SQLite */
    int64_t priority_age_ms;    /* what has waited that long for its turn counts
                                 as of the next priority; 0: never */
    size_t backlog_bytes_max;   /* of what waits for its commit: over it nothing
                                 is begun and no message read; 0: 64 MiB */
    size_t held_bytes_max; /* of cascades in memory; 0: 512 MiB; from 1 MiB.
                                 Beyond half of it no more are taken in; one
                                 that takes so much itself is held beside the
                                 others, if it is the only one */
    int fibers;            /* THREADS, without suspend_steps: 1: see FIBERS at
                              the head; 0, -1: each node has its worker */
    unsigned fiber_max;    /* nodes on fibers at once; 0: 1,000; at most 30,000.
                              Each takes two of vm.max_map_count. What begins
                              beyond it has its worker */
    cascade_event_fn on_event; /* NULL: nobody is told; see event.h */
    void *event_context;
} cascade_engine_options;

/* Makes an engine on `store`; nothing runs yet. Register the nodes, then start
 * it. Close it with cascade_engine_close(). */
CASCADE_API cascade_err
cascade_engine_open(cascade_store *store, const cascade_engine_options *options,
                    cascade_engine **engine);

/* A node's function. Returns CASCADE_OK (completed), CASCADE_SUSPENDED when a
 * step or a wait returned it, CASCADE_ERR_FINAL or cascade_node_fail() (no
 * further attempt), or any other error (the next attempt follows as the options
 * say). No jump may leave it; exceptions may: cascade/exception.h. */
typedef cascade_err (*cascade_node_fn)(cascade_node *node, void *user);

typedef enum cascade_final_failure {
    CASCADE_FINAL_ERROR = 0, /* the cascade ends as ERROR */
    CASCADE_FINAL_CONTINUE,  /* the others go on without it */
    CASCADE_FINAL_INSTEAD    /* the node `instead` runs in its place */
} cascade_final_failure;

/* Between attempts n and n + 1 lie
 *   min(backoff_max_ms, backoff_ms * (backoff_percent / 100)^(n - 1))
 * milliseconds, changed by a random share of up to +- jitter_percent. */
typedef struct cascade_node_options {
    size_t size;
    int attempts_max;       /* 0: 5; 1: no second; -1: no limit */
    int64_t backoff_ms;     /* 0: 1,000 */
    int64_t backoff_max_ms; /* 0: 60,000 */
    int backoff_percent;    /* 0: 200; at least 100 */
    int jitter_percent;     /* 0: 20; -1: none; at most 100 */
    cascade_final_failure final_failure;
    void (*destroy)(void *user); /* called for `user` when the engine closes */
    const char *instead; /* FINAL_INSTEAD: a node, another one, which may be
                            registered elsewhere (told by a WARNING at the start
                            of the engine). It is spawned by the failure; its
                            input is {"node": the one that failed, "error": its
                            text, "input": its input; where that ran instead of
                            another itself, the input of the first}; whatever
                            comes after the one that failed comes after it too.
                            Nodes that stand for each other in a circle go on
                            until one of them succeeds */
    /* See TIME LIMITS at the head; each 0: none; at most 100 years. */
    int64_t attempt_timeout_ms;
    int64_t heartbeat_timeout_ms;
    int64_t start_timeout_ms;
    int64_t deadline_ms;
    /* The function runs inside the database transaction that records its
     * completion: see cascade/sqlite.h and cascade/postgres.h. Only on a store
     * that has such transactions. */
    bool transactional; /* heartbeat_timeout_ms is not for such a node, nor is
                           what commits besides: steps, waits, children */
    int64_t transaction_max_ms; /* how long that may be open; 0: a quarter of
                                   the engine's lease on SQLite, where it may be
                                   half of that at most; 60,000 on
                                   PostgreSQL, a day at most. Then the attempt
                                   has failed; until then commands and the
                                   deadline of the cascade wait behind it */
    bool foreign; /* `name` is one that another program gave: any 1-128 bytes of
                     UTF-8 without control characters. Executions of it that
                     were adopted run; it is started or spawned only where it is
                     a name of ours as well */
    bool thread;  /* never on a fiber; so is what is `transactional` */
} cascade_node_options;

/* Registers `fn` under `name`, before cascade_engine_start() or the first poll.
 * CASCADE_ERR_EXISTS for a name that is taken; when it fails, `user` stays the
 * caller's. C++ with exceptions: cascade/exception.h. */
#if !defined(__cplusplus) || !defined(__cpp_exceptions)
CASCADE_API cascade_err cascade_engine_register(
    cascade_engine *engine, const char *name, cascade_node_fn fn, void *user,
    const cascade_node_options *options);
#endif

typedef struct cascade_external_options {
    size_t size;
    int64_t timeout_ms; /* from when it begins to wait until its deadline, at
                           which it fails; 0: none; at most 100 years */
    cascade_final_failure final_failure; /* as in cascade_node_options */
    const char *instead;
} cascade_external_options;

/* Registers `name` for executions that are completed from outside, by
 * cascade_complete(): tasks for people, pages of a user interface, callbacks.
 * There is no function. Such an execution is RUNNING, and from when it begins
 * to wait, which is recorded, it has a token and perhaps a deadline
 * (cascade_execution_info). Where an engine that knows the name spawned it to
 * run at once it waits from then on; started from outside, spawned with a delay
 * or `after` others, it waits once an engine that knows the name finds that it
 * could run. Then any engine may record its end: the deadline and what follows
 * a failure are recorded with it. It holds no thread, and a cascade that only
 * waits for it is parked. It has one attempt. Its `location` is "client" where
 * an engine that knew the name spawned it.
 * Errors as of cascade_engine_register(). */
CASCADE_API cascade_err
cascade_engine_register_external(cascade_engine *engine, const char *name,
                                 const cascade_external_options *options);

/* Attaches to the store and starts the threads of the mode. In the INLINE mode
 * it only attaches. */
CASCADE_API cascade_err cascade_engine_start(cascade_engine *engine);

/* Runs up to `max` ready executions in the calling thread (0: all there are)
 * and tells how many in `ran` (may be NULL). Only in LOOP and INLINE. */
CASCADE_API cascade_err cascade_engine_poll(cascade_engine *engine, size_t max,
                                            size_t *ran);

/* A descriptor that is readable while cascade_engine_poll() has something to
 * do; -1 in the THREADS mode. Belongs to the engine; only poll it. */
CASCADE_API int cascade_engine_fd(const cascade_engine *engine);

/* The longest time in milliseconds after which cascade_engine_poll() should be
 * called even if the descriptor stays silent; 0: at once. */
CASCADE_API int64_t cascade_engine_timeout_ms(cascade_engine *engine);

/* Asks for a stop: may be called in a signal handler and from any thread.
 * cascade_engine_wait() returns; new work is no longer begun. */
CASCADE_API void cascade_engine_request_stop(cascade_engine *engine);

/* Blocks until a stop is requested, at most `timeout_ms` (-1: no limit):
 * CASCADE_ERR_TIMEOUT. */
CASCADE_API cascade_err cascade_engine_wait(cascade_engine *engine,
                                            int64_t timeout_ms);

/* Stops: begins no further execution, lets those that run return and records
 * them, gives up every cascade, detaches. When `timeout_ms` (-1: no limit)
 * passes first, ownership is given up all the same and CASCADE_ERR_TIMEOUT
 * names a node that has not returned. Where that is a transactional one on
 * SQLite, whose transaction all wait for, it cannot be given up before it
 * returns: that is done then, by its thread (sqlite.h). A store that does not
 * answer can add up to twice its deadline. Idempotent: a further one waits for
 * what has not returned. CASCADE_ERR_MISUSE inside a node. */
CASCADE_API cascade_err cascade_engine_stop(cascade_engine *engine,
                                            int64_t timeout_ms);

/* Stops, within 10 seconds, if need be; frees the engine. NULL is accepted.
 * CASCADE_ERR_AGAIN while a node has not returned: call it again later. Waits
 * for a poll in another thread, without a limit: let it begin no other. */
CASCADE_API cascade_err cascade_engine_close(cascade_engine *engine);

typedef struct cascade_engine_stats {
    size_t size;         /* in: sizeof(cascade_engine_stats) */
    uint64_t held;       /* cascades in memory now */
    uint64_t ready;      /* could run now, or once a transaction may begin */
    uint64_t running;    /* executions in a function now */
    uint64_t waiting;    /* cascades in memory with something due later */
    uint64_t parked;     /* cascades given up to wait, since the start */
    uint64_t commits;    /* batches committed since the start */
    uint64_t changes;    /* cascades written by them; / commits: mean batch */
    uint64_t executions; /* recorded as ended since the start */
    uint64_t attempts;   /* of nodes and steps begun since the start */
    uint64_t fences;     /* times another engine had removed this one */
    uint64_t losses;     /* times the store had lost commits */
    uint64_t refusals;   /* changes the store refused for good */
    uint64_t takeovers;  /* cascades of dead engines that it set free */
    uint64_t hydrations; /* cascades read back from the store */
    uint64_t unknown_nodes; /* cascades left for an engine that knows a node */
    int64_t hydrate_ms;     /* time spent in claiming and hydrating */
    uint64_t messages;      /* received since the start */
    uint64_t overdue;       /* of `running`: functions beyond their time now */
    uint64_t transactions;  /* of nodes, committed since the start */
    uint64_t held_bytes;    /* what `held` take, and those being read */
    uint64_t fibers;        /* of `running`: on fibers now */
    uint64_t events_lost;   /* since on_event was too slow, or memory short */
} cascade_engine_stats;

/* Copies the figures as of now. */
CASCADE_API cascade_err cascade_engine_get_stats(cascade_engine *engine,
                                                 cascade_engine_stats *stats);

#ifdef __cplusplus
}
#endif

#include "cascade/event.h"
#include "cascade/node.h"
#include "cascade/options.h"
#include "cascade/snapshot.h"

#endif
