/* SPDX-License-Identifier: MIT
 *
 * What the files of the SQLite store share.
 *
 *   store.c         the driver, opening and closing a store
 *   schema.c  migrate, schema, and the check of the columns
 *   incarnation.c   attach, renew, detach, engines, remove
 *   claim.c   claim; named.c: by messages; turns.c: of queues with limits
 *   commit.c  commit, submit
 *   delete.c  whole cascades, at once or in pieces
 *   messages.c  receive, key, and what commit and submit need of both
 *   read.c    load, list
 *   scan.c    scan
 *   repair.c  pause, queues, totals, repair, purge
 *   limits.c  set, list, drop, slots
 *   strays.c  strays
 *   seals.c   seal, seals, and what commit needs of both
 *   node_txn.c  begin, finish, abandon, settle
 *   wait.c    wait, wake
 *   borrowed.c   stores on a connection of the application's
 *   borrowed_registry.c    what such a connection knows of them
 *   sqlite_functions.c  functions for SQL on such a store
 *   ---- below, each standing on the next ----
 *   row.c     reading rows back, with suspicion
 *   trust.c   what the tables of a file may have it run
 *   ddl.c     the same of the text of one
 *   transaction.c     transactions: whose turn it is, begin, end, checkpoint
 *   statement.c    running one prepared statement
 *   conn.c    one connection to the file
 *   lock_file.c    the sidecar file
 *   path.c    what may lie at the path, and beside it
 *   error.c   SQLite's result codes into ours
 *
 * A store handle has one connection that writes and a few that read:
 *
 *   csc_sqlite --+-- writer     commits and checkpoints, one at a time
 *                +-- readers    load, list, and looks before a write
 *                +-- native     transactions of nodes, in the writer's turn
 *                +-- lock       PATH-lock, shared with other handles
 *                +-- watches    inotify descriptors for wait
 *
 * Two handles on one file, in one process or in two, are alike in everything:
 * they meet in the file's own locks and in the sidecar only.
 */
#ifndef CSC_STORE_SQLITE_INTERNAL_H
#define CSC_STORE_SQLITE_INTERNAL_H

#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/data/buf.h"
#include "base/log.h"
#include "base/origin.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/sqlite.h"
#include "cascade/store.h"
#include "store/columns.h"
#include "store/sqlite/statements.h"
#include "store/turn.h"

#define CSC_SQLITE_READERS 4
#define CSC_SQLITE_WATCHES 4
#define CSC_SQLITE_PRIORITIES 10
#define CSC_SQLITE_CHECKPOINT_PAGES 20000
#define CSC_SQLITE_PIECE_ROWS 64 /* of the first piece of an erasure */

typedef struct csc_sqlite csc_sqlite;

/* A connection, used by one thread at a time. */
typedef struct csc_sqlite_conn {
    csc_sqlite *store;
    sqlite3 *db; /* NULL: to be opened at the next use */
    sqlite3_stmt *statements[CSC_SQLITE_STATEMENTS];
    int64_t deadline_ns; /* of the move that uses it; CLOCK_MONOTONIC */
    int wal_pages;       /* in the WAL after the last commit */
    bool writer;
    bool writes;   /* so does the transaction that is under way on it */
    bool wal;      /* the database is in WAL mode */
    bool busy;     /* guarded by the store's mutex */
    bool locked;   /* holds the sidecar lock */
    bool scatters; /* what it commits is in many pages, each written once */
} csc_sqlite_conn;

/* How the transaction of a node ended before finish or abandon. */
typedef enum csc_sqlite_native_end {
    CSC_SQLITE_NATIVE_OPEN = 0,
    CSC_SQLITE_NATIVE_COMMITTING, /* somebody tried to: refused */
    CSC_SQLITE_NATIVE_ROLLED_BACK
} csc_sqlite_native_end;

/* The transaction of a node: see node_txn.c. */
typedef struct csc_sqlite_native {
    csc_sqlite_conn conn;
    int64_t limit_ms;
    int64_t limit_ns; /* when it is over; CLOCK_MONOTONIC */
    int64_t began_ns; /* or 0: it has not */
    csc_sqlite_native_end end;
    int inside;      /* the statements are the library's, not the function's */
    bool asked;      /* the authorizer was, about a statement */
    bool may_commit; /* the library may, as in begin and finish */
} csc_sqlite_native;

/* The sidecar: see lock_file.c. */
typedef struct csc_sqlite_lock {
    int fd; /* -1: none (the database cannot be written) */
    char *path;
    csc_origin origin;            /* the rest is for fork.c: the */
    struct csc_sqlite_lock *next; /* database */
    dev_t device;
    ino_t inode;
} csc_sqlite_lock;

/* What a move of a guest is part of: see borrowed.c. */
typedef enum csc_sqlite_span {
    CSC_SQLITE_SPAN_OWN = 0,   /* a transaction of its own */
    CSC_SQLITE_SPAN_SAVEPOINT, /* one of the application's */
    CSC_SQLITE_SPAN_STATEMENT, /* one of its statements that write */
    CSC_SQLITE_SPAN_NONE       /* the same, and the move only reads */
} csc_sqlite_span;

typedef struct csc_sqlite_link csc_sqlite_link;

/* What a connection that is lent does in its own way (borrowed.c). Who
 * works with a connection asks for it here, and nobody else knows whose it
 * is. */
typedef struct csc_sqlite_session {
    /* Instead of those of transaction.c. */
    cascade_err (*begin)(struct csc_sqlite *store, bool writes,
                         struct csc_sqlite_conn **out);
    cascade_err (*end)(struct csc_sqlite_conn *conn, cascade_err err);
    cascade_err (*leave_own)(struct csc_sqlite_conn *conn, cascade_err err);
    /* A move that failed within a statement takes back the start that it made;
     * returns `err`. */
    cascade_err (*take_back)(struct csc_sqlite_conn *conn,
                             const cascade_uuid *id, cascade_err err);
    /* Instead of the moves of node_txn.c. */
    cascade_err (*native_begin)(struct csc_sqlite *store, int64_t limit_ms,
                                cascade_native *native);
    cascade_err (*native_finish)(struct csc_sqlite *store,
                                 const cascade_batch *batch, bool *existed);
    cascade_err (*native_abandon)(struct csc_sqlite *store);
    /* Whether waking others has to wait for the application's commit; then it
     * is kept in mind. */
    bool (*put_off_wake)(struct csc_sqlite *store);
    /* Before a migration: CASCADE_ERR_MISUSE where a temporary table has the
     * name of one of ours; and behind it. */
    cascade_err (*check_shadows)(struct csc_sqlite_conn *conn);
    cascade_err (*enter_wal)(struct csc_sqlite *store);
    /* It cannot be opened: when it lets go of the connection, the settings of
     * that are as they were. */
    void (*refuse)(struct csc_sqlite *store);
    /* Lets go of the connection, which stays open. */
    void (*leave)(struct csc_sqlite *store);
    /* Whether the handlers and hooks of its connection are the
     * application's. */
    bool (*is_hooked)(const struct csc_sqlite *store);
} csc_sqlite_session;

/* A store on a connection of the application's. */
typedef struct csc_sqlite_guest {
    const csc_sqlite_session *session; /* NULL: it is none */
    bool fleeting;                /* keeps no statement between two moves */
    bool closing;                 /* the connection is, and is not touched */
    bool open;                    /* a move is under way */
    bool fresh;                   /* which took the sidecar lock */
    bool within;                  /* and began in a transaction */
    bool committed;               /* the transaction of its own was */
    bool told;                    /* that the application's is over */
    bool interrupted;             /* the move was, by the application */
    bool refused;                 /* it could not be opened */
    int autocheckpoint;           /* pages, before it was opened; 0: none */
    int no_checkpoint_on_close;   /* before it was opened; -1: not known */
    int foreign_keys;             /* the same */
    bool tell;                    /* others, when the application commits */
    csc_sqlite_span span;         /* of that move */
    const cascade_native *native; /* the transaction of a node, or NULL */
    csc_sqlite_link *link;        /* what the connection knows of us; NULL:
                                     nothing */
} csc_sqlite_guest;

struct csc_sqlite {
    char *path; /* absolute; once opened, as SQLite resolved it */
    const cascade_store_config *config;
    csc_log log;
    char boot[CSC_HOST_SIZE]; /* the machine boot that leases belong to */
    dev_t device;             /* of the file that was opened, if it is noted */
    ino_t inode;
    bool noted;
    bool read_only;
    _Atomic bool numeric_json; /* payload columns have the affinity NUMERIC */
    _Atomic bool trusted;      /* the tables were looked at */
    csc_sqlite_lock lock;
    csc_sqlite_conn writer;   /* of a guest: the only one */
    csc_sqlite_native native; /* used by who has the writer's turn */
    csc_sqlite_guest guest;
    int checkpoint_pages;    /* a checkpoint when the log has as many; fixed */
    int checkpoint_at_pages; /* the next one; used by who has the writer, as
                                the two below */
    int copied_pages;        /* of the log, by the last checkpoint of ours */
    size_t piece_rows;       /* of the next piece of an erasure */
    csc_turn_places turns;   /* used by who has the writer */
    pthread_mutex_t mutex;   /* guards `busy` of connections, readers, and
                                all below */
    pthread_cond_t writer_freed; /* the writer is not busy any more */
    pthread_cond_t reader_freed; /* one of the readers is not */
    int writer_waiting;          /* who wait for that */
    bool writer_handed;          /* to one of them, still busy */
    int64_t rest_until_ns;       /* no transaction of a node begins before */
    csc_sqlite_conn readers[CSC_SQLITE_READERS];
    int watches[CSC_SQLITE_WATCHES]; /* idle inotify descriptors, or -1 */
    uint64_t seen_wake; /* the sidecar's token, last seen by a wait without a
                           result */
};

/* ---- store.c ------------------------------------------------------------ */

extern const cascade_store_driver csc_sqlite_driver;

/* A store without a connection. */
cascade_err csc_sqlite_create(const cascade_store_config *config,
                              csc_sqlite **store);
/* Closes everything of it that is open. */
void csc_sqlite_free(csc_sqlite *store);

/* ---- path.c ------------------------------------------------------- */

#define CSC_SQLITE_LOCK_BYTES 8

/* Why there is no such database, or it can be none. */
cascade_err csc_sqlite_path_check(const char *path);
/* Makes an empty file for its owner alone, unless there is one. */
cascade_err csc_sqlite_path_make_private(const char *path);
/* What SQLite would open beside the database at `path`. CASCADE_ERR_INVALID
 * names the file that is none of a database's. */
cascade_err csc_sqlite_path_check_beside(const char *path);
/* The same of a single file, and of the lock file. */
cascade_err csc_sqlite_path_check_file(const char *path,
                                       const struct stat *info);
cascade_err csc_sqlite_path_check_lock(const char *path,
                                       const struct stat *info);
/* The last part of it, for texts. */
const char *csc_sqlite_path_get_name(const char *path);
/* Keeps in mind which file the writer has opened. */
cascade_err csc_sqlite_path_note(csc_sqlite *store);
/* Whether that is what lies at the path. Else CASCADE_ERR_LOST for what writes,
 * or _UNAVAILABLE. */
cascade_err csc_sqlite_path_check_there(const csc_sqlite *store, bool writes);
/* The same of a connection that was just opened: whether it has that file. */
cascade_err csc_sqlite_path_check_opened(const csc_sqlite_conn *conn);

/* ---- error.c ------------------------------------------------------ */

/* The extended code, of a connection of the application's that may give primary
 * ones only. `db` may be NULL. */
int csc_sqlite_error_extend(sqlite3 *db, int code);
/* Makes an error of a result code. `conn` may have no handle. The text is ours:
 * SQLite's own may hold data. */
cascade_err csc_sqlite_error_set(csc_sqlite_conn *conn, int result,
                                 const char *verb);

/* ---- lock_file.c ------------------------------------------------------- */

/* Opens (creates) the sidecar of the database at `path` and takes part in it.
 * For a database that is only read, it may be missing. */
cascade_err csc_sqlite_lock_open(csc_sqlite_lock *lock, const char *path,
                                 bool read_only, int64_t deadline_ns);
void csc_sqlite_lock_close(csc_sqlite_lock *lock);
/* For a transaction that writes. Waits while a checkpoint runs. */
cascade_err csc_sqlite_lock_share(csc_sqlite_lock *lock, int64_t deadline_ns);
/* For a checkpoint: false when it is not to be had in time. */
bool csc_sqlite_lock_exclude(csc_sqlite_lock *lock, int64_t deadline_ns);
void csc_sqlite_lock_release(csc_sqlite_lock *lock);
/* True when no other handle takes part any more; none can from then on until
 * this one is closed. */
bool csc_sqlite_lock_alone(csc_sqlite_lock *lock);
/* The token that wake changes. */
uint64_t csc_sqlite_lock_get_token(const csc_sqlite_lock *lock);
cascade_err csc_sqlite_lock_set_token(const csc_sqlite_lock *lock,
                                      uint64_t token);

/* ---- fork.c ------------------------------------------------------- */

/* Makes SQLite ready for use. */
cascade_err csc_sqlite_fork_initialize(void);
/* CASCADE_ERR_MISUSE for a database that a store of a process had open that
 * this one was forked from. */
cascade_err csc_sqlite_fork_check(const struct stat *info);
/* The same for the one at `path`, which is open from here on, with that
 * sidecar. */
cascade_err csc_sqlite_fork_enter(csc_sqlite_lock *lock, const char *path);
void csc_sqlite_fork_leave(csc_sqlite_lock *lock);

/* ---- conn.c ------------------------------------------------------- */

/* Real time: deadlines hold also where the injected clock stands still. */
int64_t csc_sqlite_conn_now_ns(void);
/* When it is `span_ms` from now. */
int64_t csc_sqlite_conn_end_ns(int64_t span_ms);
/* Sleeps a little, more with each `round`; false when the deadline is over. */
bool csc_sqlite_conn_pause(int64_t deadline_ns, unsigned round);

/* Opens conn->store->path; does not look into the file yet. */
cascade_err csc_sqlite_conn_open(csc_sqlite_conn *conn);
cascade_err csc_sqlite_conn_set_up(csc_sqlite_conn *conn);
/* PRAGMA synchronous, as the store's options say. Outside a transaction. */
cascade_err csc_sqlite_conn_set_durability(csc_sqlite_conn *conn,
                                           const char *verb);
/* Sets what the connection's behaviour rests on: options and callbacks.
 * SQLITE_OK, or a result code. */
int csc_sqlite_conn_install(csc_sqlite_conn *conn);
/* Makes it a WAL database. Outside a transaction. */
cascade_err csc_sqlite_conn_enter_wal(csc_sqlite_conn *conn);
/* Makes `conn` ready for use by a move that ends at its deadline_ns. */
cascade_err csc_sqlite_conn_ready(csc_sqlite_conn *conn);
void csc_sqlite_conn_close(csc_sqlite_conn *conn);
/* Finalizes the prepared statements. */
void csc_sqlite_conn_finalize(csc_sqlite_conn *conn);
/* The prepared statement, compiled at its first use. */
cascade_err csc_sqlite_conn_prepare(csc_sqlite_conn *conn,
                                    csc_sqlite_statement id,
                                    sqlite3_stmt **statement);
/* Compiles a statement that the caller finalizes, with SQLITE_PREPARE_*. */
cascade_err csc_sqlite_conn_compile(csc_sqlite_conn *conn, const char *verb,
                                    const char *sql, unsigned flags,
                                    sqlite3_stmt **statement);
/* Runs several statements without parameters or rows. */
cascade_err csc_sqlite_conn_exec(csc_sqlite_conn *conn, const char *verb,
                                 const char *sql);

/* ---- statement.c ------------------------------------------------------- */

#define CSC_SQLITE_CALL_TEXTS 4
#define CSC_SQLITE_CALL_TEXT_SIZE 40

/* One run of a statement. Parameters are bound in their order; the first error
 * is kept and comes out of the next function that returns one. Texts are not
 * copied: they must stay until csc_sqlite_call_end(). Not to be moved. */
typedef struct csc_sqlite_call {
    csc_sqlite_conn *conn;
    sqlite3_stmt *statement;
    const char *verb;
    cascade_err err;
    int code;
    int at;
    int text_count;
    char texts[CSC_SQLITE_CALL_TEXTS][CSC_SQLITE_CALL_TEXT_SIZE];
} csc_sqlite_call;

void csc_sqlite_call_begin(csc_sqlite_call *call, csc_sqlite_conn *conn,
                           csc_sqlite_statement id);
/* For a statement of the caller's own making. */
void csc_sqlite_call_begin_with(csc_sqlite_call *call, csc_sqlite_conn *conn,
                                const char *verb, sqlite3_stmt *statement);
void csc_sqlite_call_add_text(csc_sqlite_call *call, const char *text);
/* A JSON text, or NULL. */
void csc_sqlite_call_add_json(csc_sqlite_call *call, const char *json);
void csc_sqlite_call_add_i64(csc_sqlite_call *call, int64_t number);
/* Not copied either. */
void csc_sqlite_call_add_blob(csc_sqlite_call *call, const void *data,
                              size_t len);
/* `id` may be NULL. */
void csc_sqlite_call_add_uuid(csc_sqlite_call *call, const cascade_uuid *id);
/* What is no status is NULL, which the table refuses. */
void csc_sqlite_call_add_status(csc_sqlite_call *call, cascade_status status);
/* CASCADE_TIME_NONE is NULL. */
void csc_sqlite_call_add_time(csc_sqlite_call *call, int64_t time_ms);
void csc_sqlite_call_add_time_us(csc_sqlite_call *call, int64_t time_us);
/* All that an insert has of the table: what the store gives is left out. */
void csc_sqlite_call_add_row(csc_sqlite_call *call, const csc_table *table,
                             const void *row);
/* Steps to the next row; `*row` tells whether there is one. */
cascade_err csc_sqlite_call_next(csc_sqlite_call *call, bool *row);
/* The text of a column, NULL where the column is; SQLite gives none either
 * where memory is out. */
cascade_err csc_sqlite_call_text(sqlite3_stmt *statement, int at,
                                 const char **text);
void csc_sqlite_call_end(csc_sqlite_call *call);
/* Runs a statement that gives no rows, and ends it. `changes` (may be NULL)
 * tells how many rows were changed. */
cascade_err csc_sqlite_call_run(csc_sqlite_call *call, int *changes);

/* ---- transaction.c ------------------------------------------------------- */

/* Takes a connection and begins a transaction, all within the deadline. On
 * success it must be ended. */
cascade_err csc_sqlite_txn_begin_read(csc_sqlite *store,
                                      csc_sqlite_conn **conn);
cascade_err csc_sqlite_txn_begin_write(csc_sqlite *store,
                                       csc_sqlite_conn **conn);
/* The same on the connection for transactions of nodes. */
cascade_err csc_sqlite_txn_begin_native(csc_sqlite *store,
                                        csc_sqlite_conn **conn);
/* Commits when `err` is CASCADE_OK, else rolls back; gives the connection back.
 * Returns `err`, or why the commit failed. */
cascade_err csc_sqlite_txn_end(csc_sqlite_conn *conn, cascade_err err);
/* The same as csc_sqlite_txn_end(), and tells what is certainly not done from
 * what may be: S34. */
cascade_err csc_sqlite_txn_end_told(csc_sqlite_conn *conn, cascade_err err);
/* The same behind a COMMIT of the caller's, if `err` is CASCADE_OK. */
cascade_err csc_sqlite_txn_leave(csc_sqlite_conn *conn, cascade_err err);
#ifdef CASCADE_ASSERTS
/* Whether what was begun on it last may write: for assertions. */
bool csc_sqlite_txn_may_write(const csc_sqlite_conn *conn);
#endif
/* When it is `deadline_ms` from now. */
int64_t csc_sqlite_txn_get_deadline(const csc_sqlite *store);
/* A checkpoint, if one is due. Outside a transaction. */
void csc_sqlite_txn_tend_log(csc_sqlite_conn *conn);

/* ---- borrowed.c ------------------------------------------------------ */

/* It cannot be opened: when it lets go of the connection, the settings of that
 * are as they were. */
void csc_sqlite_guest_refuse(csc_sqlite *store);
/* The connection is not the store's any more. */
void csc_sqlite_guest_leave(csc_sqlite *store);
/* The number that a PRAGMA gives. SQLITE_OK, or a result code. */
int csc_sqlite_guest_read_number(sqlite3 *db, const char *sql, int *number);
/* How the moves of a lent connection begin and end. */
const csc_sqlite_session *csc_sqlite_guest_session(void);
/* Its commit on this connection put `pages` into the log. */
void csc_sqlite_guest_note_commit(csc_sqlite *store, int pages);
/* Whether a transaction is open, or a statement writing. */
bool csc_sqlite_guest_is_within(const csc_sqlite *store);
/* Whether a statement is under way on a connection of the application's. */
bool csc_sqlite_guest_is_busy(sqlite3 *db);
/* Without one nothing of it is left over. */
void csc_sqlite_guest_settle(csc_sqlite *store);
/* From now on the connection of this store (of csc_sqlite_guest_functions()) is
 * being closed. */
void csc_sqlite_guest_set_closing(csc_sqlite *store);
/* As csc_store_sqlite_guest(), for a store of the functions for SQL. */
const struct csc_store_guest *csc_sqlite_guest_functions(void);

/* ---- borrowed_registry.c ------------------------------------------------- */

/* Makes the store known to its connection; CASCADE_ERR_MISUSE where another
 * of its kind is. */
cascade_err csc_sqlite_link_enter(csc_sqlite *store);
void csc_sqlite_link_leave(csc_sqlite *store);
/* Takes the connection's WAL hook, again if need be, and settles the stores
 * there. */
void csc_sqlite_link_hold(csc_sqlite *store);

/* ---- row.c -------------------------------------------------------- */

/* Room for the payloads of a row, made canonical. */
typedef struct csc_sqlite_row_room {
    csc_buf first;
    csc_buf second;
} csc_sqlite_row_room;

void csc_sqlite_row_fini(csc_sqlite_row_room *room);
/* Each reads the columns from `at` on, in the order of their table. The texts
 * are valid until the statement is stepped and the room used again.
 * CASCADE_ERR_CORRUPT names table, column and cascade. */
cascade_err csc_sqlite_row_read(sqlite3_stmt *statement, int at,
                                const csc_table *table, void *row);
cascade_err csc_sqlite_row_execution(sqlite3_stmt *statement,
                                     csc_sqlite_row_room *room,
                                     cascade_execution_row *row);
cascade_err csc_sqlite_row_event(sqlite3_stmt *statement,
                                 csc_sqlite_row_room *room,
                                 cascade_event_row *row);
/* Read one, and give it to the sink. */
cascade_err csc_sqlite_row_give_execution(sqlite3_stmt *statement,
                                          csc_sqlite_row_room *room,
                                          const cascade_load_sink *sink);
cascade_err csc_sqlite_row_give_event(sqlite3_stmt *statement,
                                      csc_sqlite_row_room *room,
                                      const cascade_load_sink *sink);
/* `*repeated`: the column behind those of the row. */
cascade_err csc_sqlite_row_message(sqlite3_stmt *statement,
                                   csc_sqlite_row_room *room,
                                   cascade_message_row *row, bool *repeated);
cascade_err csc_sqlite_row_run(sqlite3_stmt *statement, int at,
                               cascade_run_row *row);
cascade_err csc_sqlite_row_engine(sqlite3_stmt *statement,
                                  cascade_incarnation *row);
cascade_err csc_sqlite_row_queue(sqlite3_stmt *statement,
                                 cascade_queue_row *row);
/* A row of cascade_schema: its number and its time. */
cascade_err csc_sqlite_row_applied(sqlite3_stmt *statement, int64_t *number,
                                   int64_t *applied_at_ms);
/* A text column as an id. */
cascade_err csc_sqlite_row_uuid(sqlite3_stmt *statement, int at,
                                const char *table, const char *column,
                                cascade_uuid *id);

/* ---- trust.c and ddl.c ------------------------------------- */

/* CASCADE_ERR_SCHEMA when one of our tables is none that may be used. Inside a
 * transaction; looks once for a store. */
cascade_err csc_sqlite_trust_look(csc_sqlite_conn *conn);
/* NULL, or why the text of a table, or of an index, is refused. */
const char *csc_sqlite_ddl_check_table(const char *sql, const char *table);
const char *csc_sqlite_ddl_check_index(const char *sql);

/* ---- messages.c, inside a transaction that writes ----------------- */

/* Inserts a message unless its path is taken: `*inserted`. */
cascade_err csc_sqlite_messages_insert(csc_sqlite_conn *conn,
                                       const cascade_message_row *row,
                                       bool *inserted);
/* The same for one that comes from outside, to a cascade that exists. */
cascade_err csc_sqlite_messages_submit(csc_sqlite_conn *conn,
                                       const cascade_message_row *row,
                                       cascade_sent *sent);
/* That one is gone is no error. */
cascade_err csc_sqlite_messages_delete(csc_sqlite_conn *conn,
                                       const cascade_uuid *cascade_id,
                                       int64_t id);
/* Whether the key of a start says that its run is the next. */
cascade_err csc_sqlite_messages_is_next(csc_sqlite_conn *conn,
                                        const cascade_change *start,
                                        bool *next);
/* Makes it the current one. */
cascade_err csc_sqlite_messages_set_key(csc_sqlite_conn *conn,
                                        const cascade_change *start);

/* ---- commit.c, inside a transaction that writes ------------------- */

cascade_err csc_sqlite_commit_insert_run(csc_sqlite_conn *conn,
                                         const cascade_uuid *cascade_id,
                                         const cascade_run_row *run);
/* A batch, its fence last. `*claimable`: others may claim what came of it. */
cascade_err csc_sqlite_commit_within(csc_sqlite_conn *conn,
                                     const cascade_batch *batch, bool *existed,
                                     bool *claimable);
/* The number that a lane shows. CASCADE_ERR_FENCED when it is not there. */
cascade_err csc_sqlite_commit_get_lane(csc_sqlite_conn *conn,
                                       const cascade_uuid *engine_id,
                                       uint32_t lane, int64_t *number);

/* ---- delete.c ---------------------------------------------------- */

/* The tables that whole cascades are taken from row by row. */
#define CSC_SQLITE_CUTS 3

/* What a transaction may still take, of each: S39. */
typedef struct csc_sqlite_room {
    size_t rows[CSC_SQLITE_CUTS];
    int64_t bytes[CSC_SQLITE_CUTS];
} csc_sqlite_room;

/* Deletes all rows of a cascade: S21. That it is gone is no error. */
cascade_err csc_sqlite_delete_whole(csc_sqlite_conn *conn,
                                    const cascade_uuid *cascade_id);
/* A transaction that deletes begins. */
void csc_sqlite_delete_begin(csc_sqlite_room *room);
/* Deletes the cascade, or as much of it as there is room for and marks it:
 * `*marked`. That it is gone is no error. */
cascade_err csc_sqlite_delete_or_mark(csc_sqlite_conn *conn,
                                      const cascade_uuid *cascade_id,
                                      csc_sqlite_room *room, bool *marked);
cascade_err csc_sqlite_delete_is_marked(csc_sqlite_conn *conn,
                                        const cascade_uuid *cascade_id,
                                        bool *marked);
/* Leaves out of `ids` those that are marked. */
cascade_err csc_sqlite_delete_pass_marked(csc_sqlite_conn *conn,
                                          cascade_uuid *ids, size_t *count);
/* By a statement that is given its id alone. */
cascade_err csc_sqlite_delete_rows(csc_sqlite_conn *conn,
                                   csc_sqlite_statement id,
                                   const cascade_uuid *cascade_id);

/* Looks up whether payload columns have the affinity NUMERIC. */
cascade_err csc_sqlite_schema_look(csc_sqlite_conn *conn);

/* ---- The moves ----------------------------------------------------------- */

cascade_err csc_sqlite_schema_migrate(void *self, cascade_migrate mode);
cascade_err csc_sqlite_schema_list(void *self, cascade_migration_sink sink,
                                   void *context);
cascade_err csc_sqlite_lease_attach(void *self,
                                    const cascade_incarnation *incarnation);
cascade_err csc_sqlite_lease_renew(void *self, const cascade_uuid *engine_id,
                                   int64_t lease_ms, int64_t *now_ms);
cascade_err csc_sqlite_lease_detach(void *self, const cascade_uuid *engine_id);
cascade_err csc_sqlite_lease_engines(void *self, cascade_engine_sink sink,
                                     void *context, bool *orphans);
cascade_err csc_sqlite_lease_remove(void *self, const cascade_uuid *dead,
                                    size_t dead_count, size_t limit,
                                    size_t *freed);
cascade_err csc_sqlite_claim_runs(void *self, const cascade_claim *claim,
                                  cascade_claimed *claimed,
                                  cascade_claim_result *result);
cascade_err csc_sqlite_commit_batch(void *self, const cascade_batch *batch,
                                    bool *existed);
cascade_err csc_sqlite_commit_submit(void *self,
                                     const cascade_submission *submission);
cascade_err csc_sqlite_messages_receive(void *self,
                                        const cascade_receive *receive,
                                        cascade_message_sink sink,
                                        void *context);
cascade_err csc_sqlite_messages_key(void *self, const char *user_id,
                                    const char *key, int32_t *run_number);
cascade_err csc_sqlite_links_find(void *self, const char *const *paths,
                                  size_t count, cascade_found *found);
cascade_err csc_sqlite_links_lead(csc_sqlite_conn *conn,
                                  const cascade_uuid *root,
                                  const cascade_uuid *next, int32_t run_number);
cascade_err csc_sqlite_links_write(void *self, const cascade_link *link);
cascade_err csc_sqlite_links_sweep(void *self, const cascade_uuid *root,
                                   size_t limit, cascade_uuid *cursor,
                                   bool *more);
cascade_err csc_sqlite_strays_list(void *self, cascade_stray kind, size_t limit,
                                   cascade_uuid *cursor,
                                   cascade_fault_sink sink, void *context,
                                   bool *more);
/* Enters a seal for this cascade. */
cascade_err csc_sqlite_seals_write(csc_sqlite_conn *conn,
                                   const cascade_uuid *cascade_id,
                                   const cascade_seal_row *row);
/* Whether the cascade's seal is `was`; NULL: it has none. */
cascade_err csc_sqlite_seals_look(csc_sqlite_conn *conn,
                                  const cascade_uuid *cascade_id,
                                  const cascade_seal_row *was, bool *as_read);
cascade_err csc_sqlite_seals_change(void *self, const cascade_reseal *reseals,
                                    size_t count, bool *done);
cascade_err csc_sqlite_seals_list(void *self, const cascade_uuid *after,
                                  size_t limit, cascade_seal_sink sink,
                                  void *context);
cascade_err csc_sqlite_read_load(void *self, const cascade_uuid *ids,
                                 size_t count, unsigned parts,
                                 const cascade_load_sink *sink);
cascade_err csc_sqlite_read_list(void *self, const cascade_query *query,
                                 cascade_list_sink sink, void *context);
cascade_err csc_sqlite_scan_page(void *self, const cascade_scan *scan,
                                 const cascade_load_sink *sink);
cascade_err csc_sqlite_limits_set(void *self, const cascade_limits_row *row,
                                  bool *done, int64_t *version);
cascade_err csc_sqlite_limits_list(void *self, const char *only,
                                   const char *after, size_t limit,
                                   cascade_limits_sink sink, void *context);
cascade_err csc_sqlite_limits_drop(void *self, const char *queue, bool *done);
cascade_err csc_sqlite_limits_slots(void *self, const char *queue,
                                    const char *key, size_t limit,
                                    cascade_slot_sink sink, void *context);
cascade_err csc_sqlite_manage_pause(void *self, const char *queue, bool paused,
                                    const char *about, bool *changed);
cascade_err csc_sqlite_manage_queues(void *self, cascade_queue_sink sink,
                                     void *context);
cascade_err csc_sqlite_manage_totals(void *self, cascade_totals *totals);
cascade_err csc_sqlite_manage_repair(void *self, const cascade_repair *repairs,
                                     size_t count, bool *done);
cascade_err csc_sqlite_manage_purge(void *self, const cascade_uuid *ids,
                                    size_t count, int64_t updated_before_ms,
                                    size_t *deleted);
cascade_err csc_sqlite_delete_erase(void *self, const cascade_uuid *engine_id,
                                    bool *more);
cascade_err csc_sqlite_wait_for(void *self, int wake_fd, int64_t timeout_ms,
                                cascade_waited *result);
cascade_err csc_sqlite_wait_wake(void *self);
/* Frees the idle watches. */
void csc_sqlite_wait_fini(csc_sqlite *store);

/* Of node_txn.c. */
cascade_err csc_sqlite_native_begin(void *self, int64_t limit_ms,
                                    cascade_native *native);
cascade_err csc_sqlite_native_finish(void *self, cascade_native *native,
                                     const cascade_batch *batch, bool *existed);
cascade_err csc_sqlite_native_abandon(void *self, cascade_native *native);
cascade_err csc_sqlite_native_settle(void *self, const cascade_uuid *engine_id,
                                     uint32_t lane, int64_t number,
                                     bool *committed);
/* From _enter to _leave the statements on the connection are the library's, and
 * nothing is denied to them: for what runs while the function has it. Result
 * codes are extended ones meanwhile. They nest. */
void csc_sqlite_native_enter(csc_sqlite_native *it);
void csc_sqlite_native_leave(csc_sqlite_native *it);
/* For whoever has the writer's turn, until it is given back: puts the
 * connection in order, before BEGIN, and enters it. */
cascade_err csc_sqlite_native_take(csc_sqlite_native *it);
void csc_sqlite_native_give_back(csc_sqlite_native *it);
void csc_sqlite_native_set_limit(csc_sqlite_native *it, int64_t limit_ms);
/* CASCADE_ERR_TIMEOUT when it is over. */
cascade_err csc_sqlite_native_check_time(const csc_sqlite_native *it);
/* COMMIT, with what finish answers when that fails. */
cascade_err csc_sqlite_native_commit(csc_sqlite_conn *conn);
/* Closes the connection. No transaction of a node is open. */
void csc_sqlite_native_fini(csc_sqlite_native *it);

/* Puts the guard on, and back where a function has replaced it. */
cascade_err csc_sqlite_native_install(csc_sqlite_native *it);

/* Ends the statements that a function has left. */
void csc_sqlite_native_reset(csc_sqlite_native *it);

#endif
