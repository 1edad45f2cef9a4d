/* SPDX-License-Identifier: MIT
 *
 * What the files of the PostgreSQL store share.
 *
 *   store.c         the driver table, open and close, the clock
 *   conn.c    one connection: connecting, sending, receiving, always
 *                      with a deadline
 *   error.c   what went wrong, in our own words
 *   pool.c    the connections of a store; reconnecting with backoff
 *   sql.c     the statements of sql/postgres/statements, for a schema
 *   params.c   parameters: rows as one array for each column
 *   row.c     decoding results
 *   schema.c  migrate, schema; columns.c: do the columns fit
 *   commit.c  commit, submit; batch.c: their rows
 *   incarnation.c  attach, renew, detach, engines
 *   reap.c  remove
 *   claim.c   claim; turns.c: of queues that have limits
 *   read.c    load, list, scan, totals
 *   messages.c receive, key
 *   queues.c  pause, queues; limits.c: set, list, ...
 *   repair.c    repair, purge
 *   seals.c   seal, seals
 *   wait.c    wait, wake
 *   place.c   is it the same server, and as far as it was?
 *   node_txn.c  begin, finish, abandon, settle
 *   borrowed.c   stores on a connection of somebody else's
 *
 * A move takes a connection out of the pool, does one or a few exchanges with
 * the server and puts it back:
 *
 *   move --csc_postgres_pool_run()--> function(conn, context)
 *            \- again after a lost connection, where that is right
 *
 * An exchange is one round trip in pipeline mode: BEGIN, statements, COMMIT,
 * one Sync. Connections are in pipeline mode all the time but for migrations.
 * All values go as bind parameters in binary form, all results come in binary
 * form, so no setting of the session (DateStyle, TimeZone, ...) changes them.
 */
#ifndef CSC_STORE_POSTGRES_INTERNAL_H
#define CSC_STORE_POSTGRES_INTERNAL_H

#include <libpq-fe.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/data/buf.h"
#include "base/log.h"
#include "cascade/cascade.h"
#include "cascade/postgres.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/columns.h"
#include "store/postgres/statements.h"
#include "store/turn.h"

/* ---- sql.c ------------------------------------------------------ */

typedef struct csc_postgres csc_postgres;

/* Builds the texts for a schema (`schema` is quoted); false when out of memory,
 * and then too they are to be freed. */
bool csc_postgres_sql_build(const char *schema, const char *channel,
                            char *texts[CSC_POSTGRES_STATEMENTS]);
void csc_postgres_sql_free(char *texts[CSC_POSTGRES_STATEMENTS]);
/* The form for one row of a statement that takes rows; else itself. */
csc_postgres_statement csc_postgres_sql_for_one(
    csc_postgres_statement statement);

/* ---- params.c ---------------------------------------------------- */

#define CSC_POSTGRES_PARAMS_MAX 42
#define CSC_POSTGRES_COLUMNS_MAX 15
/* 2000-01-01, where a TIMESTAMP begins, since 1970. */
#define CSC_POSTGRES_EPOCH_US INT64_C(946684800000000)

/* The parameters of one statement, all binary but texts, whose two forms are
 * the same. They point to what they were made of. */
typedef struct csc_postgres_params {
    int count;
    const char *values[CSC_POSTGRES_PARAMS_MAX];
    int lengths[CSC_POSTGRES_PARAMS_MAX];
    int formats[CSC_POSTGRES_PARAMS_MAX];
    unsigned char scalars[CSC_POSTGRES_PARAMS_MAX][8];
} csc_postgres_params;

void csc_postgres_params_init(csc_postgres_params *params);
void csc_postgres_params_uuid(csc_postgres_params *params,
                              const cascade_uuid *id); /* NULL: NULL */
void csc_postgres_params_i64(csc_postgres_params *params, int64_t number);
void csc_postgres_params_i32(csc_postgres_params *params, int32_t number);
void csc_postgres_params_bool(csc_postgres_params *params, bool value);
/* A timestamp to compare with: one that does not fit is an infinity. */
void csc_postgres_params_bound(csc_postgres_params *params, int64_t time_ms);
/* For types without a binary form that we know (regclass, settings). */
void csc_postgres_params_text(csc_postgres_params *params, const char *text);

/* An array in PostgreSQL's binary form, growing at its end. */
typedef struct csc_postgres_array {
    csc_buf bytes;
    int32_t count;
    bool has_null;
} csc_postgres_array;

/* Rows, kept column by column. */
typedef struct csc_postgres_rows {
    csc_postgres_array columns[CSC_POSTGRES_COLUMNS_MAX];
    size_t column_count;
    size_t count;
} csc_postgres_rows;

/* `types` has a letter for each column: u uuid, i int4, l int8, s text,
 * t timestamp. Keeps the memory that `rows`, zeroed at first, already has. */
void csc_postgres_rows_start(csc_postgres_rows *rows, const char *types);
void csc_postgres_rows_fini(csc_postgres_rows *rows);
/* False when memory ran out while it was filled. */
bool csc_postgres_rows_good(const csc_postgres_rows *rows);
/* The same for what an insert has of a table: what the store gives is left out;
 * and `more` columns behind that. */
void csc_postgres_rows_start_table(csc_postgres_rows *rows,
                                   const csc_table *table, const char *more);
/* Adds a row of it. */
void csc_postgres_rows_add(csc_postgres_rows *rows, const csc_table *table,
                           const void *row);
/* Each adds the next row's value of one column. */
void csc_postgres_rows_uuid(csc_postgres_rows *rows, size_t column,
                            const cascade_uuid *id); /* NULL: NULL */
void csc_postgres_rows_i32(csc_postgres_rows *rows, size_t column,
                           int32_t number);
void csc_postgres_rows_i64(csc_postgres_rows *rows, size_t column,
                           int64_t number);
void csc_postgres_rows_text(csc_postgres_rows *rows, size_t column,
                            const char *text); /* NULL: NULL */
void csc_postgres_rows_time(csc_postgres_rows *rows, size_t column,
                            int64_t time_ms); /* CASCADE_TIME_NONE: NULL */
void csc_postgres_rows_time_us(csc_postgres_rows *rows, size_t column,
                               int64_t time_us);
/* Finishes the arrays and adds all of them as parameters. */
void csc_postgres_params_rows(csc_postgres_params *params,
                              csc_postgres_rows *rows);
/* Adds the values of the first row as parameters. */
void csc_postgres_params_row(csc_postgres_params *params,
                             const csc_postgres_rows *rows);

/* ---- batch.c ---------------------------------------------------- */

/* The rows of a batch, gathered by what is done with them. */
typedef struct csc_postgres_batch {
    csc_postgres_rows start_cascades;
    csc_postgres_rows start_runs;
    csc_postgres_rows start_executions;
    csc_postgres_rows start_events;
    csc_postgres_rows inserts;
    csc_postgres_rows updates;
    csc_postgres_rows events;
    csc_postgres_rows cascades;
    csc_postgres_rows resets;
    csc_postgres_rows frees;
    csc_postgres_rows revives;
    csc_postgres_rows ends;
    csc_postgres_rows start_keys;
    csc_postgres_rows received;
    csc_postgres_rows sends;
    csc_postgres_rows links;
    csc_postgres_rows seals;
    csc_postgres_rows start_seals;
    csc_postgres_rows submitted;
    csc_postgres_rows deletes;
    size_t keyed; /* of the starts */
} csc_postgres_batch;

/* Fills `*batch`, making it where it is NULL. `messages` are those of a submit.
 * CASCADE_ERR_NO_MEMORY. */
cascade_err csc_postgres_batch_fill(csc_postgres_batch **batch,
                                    const cascade_change *changes, size_t count,
                                    const cascade_message_row *messages,
                                    size_t message_count);
/* The id of execution 0; NULL without one. */
const cascade_uuid *csc_postgres_batch_first_id(const cascade_change *change);
/* Frees it when it has grown large: connections live long. */
void csc_postgres_batch_trim(csc_postgres_batch **batch);
void csc_postgres_batch_free(csc_postgres_batch *batch);

/* ---- row.c ------------------------------------------------------ */

/* One row of a result, checked while it is decoded: the first thing that makes
 * no sense is kept in `err` (CASCADE_ERR_CORRUPT), and the rest is skipped. */
typedef struct csc_postgres_reader {
    const PGresult *result;
    int row;
    int first; /* the column that tells the row from others */
    const char *table;
    const csc_column *columns;       /* from `first` on, for the error text */
    csc_buf *payloads[2];            /* room for them; where the row has any */
    char id[CASCADE_UUID_TEXT_SIZE]; /* of the row; "" until it was read */
    cascade_err err;
} csc_postgres_reader;

/* The columns from `first` on as a row of the table. Its texts are valid as
 * long as the result, payloads as long as their room. Returns `err`. */
cascade_err csc_postgres_row_read(csc_postgres_reader *reader,
                                  const csc_table *table, void *row);

/* One column, by its place in the result. */
cascade_uuid csc_postgres_row_uuid(csc_postgres_reader *reader, int column);
int32_t csc_postgres_row_i32(csc_postgres_reader *reader, int column);
int64_t csc_postgres_row_time(csc_postgres_reader *reader, int column);

/* For results of our own making: 0 where there is no such number. */
int64_t csc_postgres_result_i64(const PGresult *result, int row, int column);
cascade_uuid csc_postgres_result_uuid(const PGresult *result, int row,
                                      int column);

/* ---- conn.c ----------------------------------------------------- */

typedef struct csc_postgres_conn {
    csc_postgres *store;
    PGconn *pg;
    int64_t deadline_ms; /* monotonic; of the move that holds it */
    int cancel_fd;       /* readable: give up, CASCADE_ERR_AGAIN; -1: none */
    bool broken;         /* to be closed instead of used again */
    bool final;          /* the move must not be repeated, whatever it said */
    bool owed;           /* the answer to a call that nobody waited for */
    bool silent;         /* given up at a deadline: the backend may go on */
    bool unconfirmed;    /* a COMMIT did not wait for the standby */
    bool doubtful;       /* a COMMIT of this move may have taken effect */
    bool ended;          /* while lent: the transaction was committed */
    bool guest;          /* it is not ours: see borrowed.c */
    bool within;         /* a transaction is open on it that is not ours */
    bool bare;           /* nothing was set for the session, or not any more */
    bool blocking;       /* of a guest: as it was, and will be */
    PGresult *path;      /* within: the search_path as it was */
    int64_t opening_ms;  /* monotonic: the backend began between these */
    int64_t opened_ms;
    bool prepared[CSC_POSTGRES_STATEMENTS];
    csc_postgres_batch *batch; /* memory of the last commit, used again */
    struct csc_postgres_conn *next;
} csc_postgres_conn;

/* One statement of an exchange. */
typedef struct csc_postgres_call {
    csc_postgres_statement statement;
    const csc_postgres_params *params; /* NULL: none */
    PGresult *result;                  /* set by the exchange */
} csc_postgres_call;

/* What the server said to the first statement that failed. */
typedef struct csc_postgres_trouble {
    const csc_postgres_call *call; /* NULL: none of them */
    char sqlstate[6];              /* "": the connection is lost */
} csc_postgres_trouble;

/* Within a transaction that is not ours nothing is begun, committed or rolled
 * back: what these say of transactions is then true of the savepoint that the
 * move is in. */

/* Connects, checks the server and sets the session up. */
cascade_err csc_postgres_conn_open(csc_postgres *store, int64_t deadline_ms,
                                   int cancel_fd, csc_postgres_conn **conn);
void csc_postgres_conn_close(csc_postgres_conn *conn);
/* Whether this library can work with the server. */
cascade_err csc_postgres_conn_check_server(const PGconn *pg);
/* Whether a connection that was idle still stands, as far as one can see
 * without asking the server. */
bool csc_postgres_conn_alive(csc_postgres_conn *conn);

/* One round trip: the calls inside one READ COMMITTED transaction, which is
 * rolled back when one fails. `move` names it in error texts; `trouble` may be
 * NULL. The results are to be cleared with csc_postgres_conn_clear(), also
 * after an error. */
cascade_err csc_postgres_conn_write(csc_postgres_conn *conn, const char *move,
                                    csc_postgres_call *calls, size_t count,
                                    csc_postgres_trouble *trouble);
/* The same, and then a call that takes effect only when the transaction did,
 * apart from it. Nobody waits for its answer or hears of it: the next use of
 * the connection reads over it. Not behind a pooler. */
cascade_err csc_postgres_conn_write_then(csc_postgres_conn *conn,
                                         const char *move,
                                         csc_postgres_call *calls, size_t count,
                                         csc_postgres_trouble *trouble,
                                         const csc_postgres_call *then);
/* The same in the transaction that is open on the connection, which it ends.
 * Nothing is prepared for it: that would be an exchange of its own. */
cascade_err csc_postgres_conn_commit(csc_postgres_conn *conn, const char *move,
                                     csc_postgres_call *calls, size_t count,
                                     csc_postgres_trouble *trouble);
/* The same without a transaction of its own, for reading. */
cascade_err csc_postgres_conn_read(csc_postgres_conn *conn, const char *move,
                                   csc_postgres_call *calls, size_t count);
void csc_postgres_conn_clear(csc_postgres_call *calls, size_t count);
/* One statement by its text; `*result` is to be cleared, also on errors. */
cascade_err csc_postgres_conn_query(csc_postgres_conn *conn, const char *move,
                                    const char *sql,
                                    const csc_postgres_params *params,
                                    PGresult **result);

/* The same piece by piece, where an exchange does not do. Prepares what is not
 * prepared yet (a round trip of its own, the first time). */
cascade_err csc_postgres_conn_prepare(csc_postgres_conn *conn, const char *move,
                                      const csc_postgres_statement *statements,
                                      size_t count);
cascade_err csc_postgres_conn_send(csc_postgres_conn *conn,
                                   csc_postgres_statement statement,
                                   const csc_postgres_params *params);
cascade_err csc_postgres_conn_send_text(csc_postgres_conn *conn,
                                        const char *sql,
                                        const csc_postgres_params *params);
cascade_err csc_postgres_conn_send_begin(csc_postgres_conn *conn);
/* The parameters of CSC_POSTGRES_SETTINGS, for the session or (`local`) until
 * the transaction ends. They point into `texts`. */
void csc_postgres_conn_fill_settings(const cascade_store_config *config,
                                     bool local, csc_postgres_params *params,
                                     char texts[3][24]);
cascade_err csc_postgres_conn_send_sync(csc_postgres_conn *conn);
/* First in an exchange without a BEGIN of csc_postgres_conn_send_begin(): where
 * the session has another search_path than ours, sets it for as long as the
 * exchange, or its transaction, lasts; and the answer to that. */
cascade_err csc_postgres_conn_send_path(csc_postgres_conn *conn);
cascade_err csc_postgres_conn_receive_path(csc_postgres_conn *conn,
                                           const char *move);
/* What there is next; *result is NULL at the end of one statement's. */
cascade_err csc_postgres_conn_next(csc_postgres_conn *conn, PGresult **result);
/* All of the next statement, or of the Sync. */
cascade_err csc_postgres_conn_fetch(csc_postgres_conn *conn, PGresult **result);
/* Fetches what comes up to the Sync and forgets it. */
cascade_err csc_postgres_conn_fetch_sync(csc_postgres_conn *conn);
/* Waits until a result is there, at most until `until_ms`: `*ready`. */
cascade_err csc_postgres_conn_wait_ready(csc_postgres_conn *conn,
                                         int64_t until_ms, bool *ready);
cascade_err csc_postgres_conn_rollback(csc_postgres_conn *conn);
/* After `err`: fetches up to the Sync and rolls back, so that the connection is
 * good again. Returns `err`, or what prevented that. */
cascade_err csc_postgres_conn_recover(csc_postgres_conn *conn, cascade_err err);
/* Several statements at once, without parameters: for migrations. */
cascade_err csc_postgres_conn_script(csc_postgres_conn *conn, const char *move,
                                     const char *sql);
/* What such a text gives, up to its end; its first error counts. */
cascade_err csc_postgres_conn_receive_script(csc_postgres_conn *conn,
                                             const char *move);

/* Hands the connection, on which nothing is under way, to somebody else: out of
 * pipeline mode, blocking. And takes it back; what he has set in libpq is
 * undone, and it must be idle. */
cascade_err csc_postgres_conn_release(csc_postgres_conn *conn);
cascade_err csc_postgres_conn_claim(csc_postgres_conn *conn);
/* The lock_timeout of transactions of ours. */
int64_t csc_postgres_lock_ms(const cascade_store_config *config);

/* ---- delete.c --------------------------------------------------- */

#define CSC_POSTGRES_PIECES 6

/* The calls that take a piece of those of `ids` that are marked; `cut` has room
 * for their parameters, and gets so many rows. */
void csc_postgres_delete_fill(csc_postgres_call calls[CSC_POSTGRES_PIECES],
                              const csc_postgres_params *ids,
                              csc_postgres_params *cut, size_t rows);

/* ---- error.c ---------------------------------------------------- */

/* The error for a result that is none; marks the connection broken where it
 * is. */
cascade_err csc_postgres_error_result(csc_postgres_conn *conn, const char *move,
                                      const PGresult *result);
/* The connection cannot be made, or is gone. */
cascade_err csc_postgres_error_connect(const PGconn *pg);
cascade_err csc_postgres_error_lost(csc_postgres_conn *conn);

/* ---- pool.c ----------------------------------------------------- */

typedef enum csc_postgres_again {
    CSC_POSTGRES_ONCE = 0,  /* the caller decides about every failure */
    CSC_POSTGRES_IF_UNDONE, /* again when the server said that it failed */
    CSC_POSTGRES_ALWAYS,    /* it may take effect twice */
    CSC_POSTGRES_URGENT     /* the same; and where all connections are in use it
                               makes one more, for itself */
} csc_postgres_again;

typedef cascade_err (*csc_postgres_move)(csc_postgres_conn *conn,
                                         void *context);

cascade_err csc_postgres_pool_init(csc_postgres *store);
void csc_postgres_pool_fini(csc_postgres *store);
/* Calls `move` with a connection, within the store's deadline; after
 * CASCADE_ERR_UNAVAILABLE again, with backoff, where `again` allows it. */
cascade_err csc_postgres_pool_run(csc_postgres *store, csc_postgres_again again,
                                  csc_postgres_move move, void *context);
/* What of a call's time is left for another try, so that one that has had no
 * answer finds out what became of it. */
int64_t csc_postgres_pool_spare_ms(const cascade_store_config *config);
/* The same until `deadline_ms`, of a move that has used some of its time. */
cascade_err csc_postgres_pool_run_until(csc_postgres *store,
                                        int64_t deadline_ms,
                                        csc_postgres_again again,
                                        csc_postgres_move move, void *context);
/* Makes a connection that is not counted, spaced as the others are, within the
 * deadline. */
cascade_err csc_postgres_pool_connect(csc_postgres *store, int64_t deadline_ms,
                                      csc_postgres_conn **conn);
/* Sleeps on a condition of the store until `until_ms`, or earlier. */
void csc_postgres_pool_sleep(pthread_cond_t *cond, pthread_mutex_t *mutex,
                             int64_t until_ms);
/* Counts a connection that is not the pool's (the listener's). False when there
 * may be no more. */
bool csc_postgres_pool_reserve(csc_postgres *store);
void csc_postgres_pool_unreserve(csc_postgres *store);

/* ---- commit.c --------------------------------------------------- */

/* A batch that is written into the transaction which is open on a connection,
 * with its fence last, and ends it. */
typedef struct csc_postgres_within {
    csc_postgres_call *first; /* sent before it; at most 4 */
    size_t first_count;
    const csc_postgres_call *failed; /* which of these did; NULL: none */
    char sqlstate[6];                /* of the first error; "": none, or the
                                        connection is lost */
    bool in_commit;                  /* the COMMIT itself told it */
} csc_postgres_within;

/* After an error the transaction was rolled back, or the connection is broken.
 * `existed` as of `finish`. The results in `first` are to be cleared. */
cascade_err csc_postgres_commit_within(csc_postgres_conn *conn,
                                       csc_postgres_within *within,
                                       const cascade_batch *batch,
                                       bool *existed);
/* ---- borrowed.c ---------------------------------------------------- */

/* The connection, ready for a move: UNAVAILABLE when it is lost, MISUSE or
 * INVALID when it is in no state for that. */
cascade_err csc_postgres_guest_take(csc_postgres *store, int64_t deadline_ms,
                                    csc_postgres_conn **conn);
/* As it was before, after a move that ended with `err`. Returns that, or what
 * prevented it. */
cascade_err csc_postgres_guest_give_back(csc_postgres_conn *conn,
                                         cascade_err err);
/* A submit has ended with `err`: returns OUTCOME_UNKNOWN where the connection
 * was lost on its way, and it may have been committed. */
cascade_err csc_postgres_guest_fail(const csc_postgres *store, cascade_err err);
/* Takes back what the move has done, in a transaction that is not ours. */
cascade_err csc_postgres_guest_rollback(csc_postgres_conn *conn);
/* Whether such a transaction is open now. False for other stores. */
bool csc_postgres_guest_is_within(const csc_postgres *store);

/* ---- read.c, messages.c -------------------------------- */

/* Gets one row, valid during the call. */
typedef cascade_err (*csc_postgres_row_sink)(void *context,
                                             const PGresult *result);

/* Hands on the rows of the next statement one by one; `*begun` is set with the
 * first. After an error of the server the connection is still good, after one
 * of the sink it is not. */
cascade_err csc_postgres_read_stream(csc_postgres_conn *conn, const char *move,
                                     csc_postgres_row_sink sink, void *context,
                                     bool *begun);
/* Decodes one message, its payload in `payload`, and hands it on. */
cascade_err csc_postgres_messages_sink(const PGresult *result, csc_buf *payload,
                                       cascade_message_sink sink,
                                       void *context);

/* ---- The store ----------------------------------------------------------- */

/* Claims and mending may meet the locks of a batch crosswise. They are the ones
 * that give in, long before the server looks for deadlocks: who waits for a
 * lock longer than that fails, and tries again. */
#define CSC_POSTGRES_GIVE_IN_MS "100"
/* What an engine, or a pause, says that says nothing. */
#define CSC_POSTGRES_NOTHING "{}"

#define CSC_POSTGRES_CHANNEL_SIZE 32
#define CSC_POSTGRES_NATIVE_MAX 16 /* transactions of nodes at once */

typedef struct csc_postgres_waiter {
    int fd; /* an eventfd */
    struct csc_postgres_waiter *next;
} csc_postgres_waiter;

/* Whose claims walk over messages at once. More of them share the places, and
 * one that has lost its own begins anew. */
#define CSC_POSTGRES_WALKS 64

typedef struct csc_postgres_walk {
    cascade_uuid engine_id;
    bool suspects; /* these have walks of their own */
    cascade_uuid from;
} csc_postgres_walk;

/* Backends to be ended, at most; of more the oldest are left to the server. */
#define CSC_POSTGRES_SILENT_MAX 16

/* A backend whose connection was given up: see pool.c. */
typedef struct csc_postgres_silent {
    int pid;
    int64_t opening_ms; /* as of the connection */
    int64_t opened_ms;
} csc_postgres_silent;

/* Where a server stands: place.c. */
typedef struct csc_postgres_place {
    bool known;
    int64_t system;   /* PostgreSQL's system identifier */
    char timeline[9]; /* in digits */
    int64_t position; /* of the log, up to which it is durable */
} csc_postgres_place;

typedef struct csc_postgres_attached {
    cascade_uuid engine_id;
    uint64_t generation; /* the store's, when it attached */
} csc_postgres_attached;

struct csc_postgres {
    const cascade_store_config *config;
    csc_log log;
    char *url;
    bool several_hosts;
    char *schema; /* "\"public\"" */
    char channel[CSC_POSTGRES_CHANNEL_SIZE];
    char *sql[CSC_POSTGRES_STATEMENTS];
    csc_postgres_conn *guest; /* the only one, and not ours; NULL: a pool */
    cascade_store_config guest_config;
    bool always_within; /* of the store of a transactional node */

    pthread_mutex_t mutex;  /* guards what follows */
    pthread_cond_t changed; /* connections; monotonic clock */
    csc_postgres_conn *idle;
    size_t open_count;
    int64_t connect_after_ms; /* monotonic: no attempt before that */
    int64_t backoff_ms;       /* 0: the last attempt succeeded */
    char *sequence;           /* of context_events.id; NULL: not looked up */
    csc_postgres_walk walks[CSC_POSTGRES_WALKS];
    size_t next_walk; /* the place of the next claimer that has none */
    csc_turn_places turns;
    csc_postgres_conn *native_idle; /* beside those above, for nodes */
    csc_postgres_silent silent[CSC_POSTGRES_SILENT_MAX];
    size_t silent_count;
    size_t native_count;   /* in use */
    uint64_t native_begun; /* ever: the marks of transactions */
    size_t piece_rows;     /* of the next piece of an erasure; 0: not known */
    csc_postgres_place place;
    uint64_t generation; /* raised by what may have lost something */
    csc_postgres_attached *attached; /* engines of this handle */
    size_t attached_count;
    size_t attached_room;

    pthread_mutex_t wait_mutex; /* guards what follows */
    csc_postgres_waiter *waiters;
    bool listening;              /* a waiter has the listener */
    csc_postgres_conn *listener; /* of the waiter that has it */
    int64_t listen_after_ms;
    uint64_t heard; /* notifications, and listeners made anew */

    pthread_mutex_t wake_mutex; /* guards what follows */
    pthread_cond_t woken;       /* monotonic clock */
    uint64_t wakes_asked;
    uint64_t wakes_sent;
    bool waking;
    size_t submits; /* under way */
};

/* Milliseconds of the system's monotonic clock: network deadlines are real
 * time, also under an injected clock. */
int64_t csc_postgres_now_ms(void);

/* A store without connections; `url` is NULL for a guest. */
cascade_err csc_postgres_create(const char *url,
                                const cascade_store_config *config,
                                csc_postgres **created);

/* The sequence of context_events.id, looked up once. Valid as long as the
 * store. */
cascade_err csc_postgres_sequence(csc_postgres_conn *conn, const char **name);

/* ---- place.c ---------------------------------------------------- */

/* A connection was made: is it the same server? */
cascade_err csc_postgres_place_meet(csc_postgres_conn *conn);
/* How far it is now. */
cascade_err csc_postgres_place_note(csc_postgres_conn *conn);
/* From now on `engine_id` counts on what the server has. CASCADE_ERR_NO_MEMORY.
 */
cascade_err csc_postgres_place_attach(csc_postgres *store,
                                      const cascade_uuid *engine_id);
void csc_postgres_place_detach(csc_postgres *store,
                               const cascade_uuid *engine_id);
/* CASCADE_ERR_LOST when that may have less since. */
cascade_err csc_postgres_place_check(csc_postgres *store,
                                     const cascade_uuid *engine_id);

/* ---- turns.c ------------------------------------------------------ */

/* What a claim gets of the queues that have limits. */
typedef struct csc_postgres_turns {
    const cascade_claim *claim;
    csc_postgres_rows *nodes;
    const bool *kept;         /* for each queue of the claim: these */
    size_t room;              /* of what follows */
    cascade_claimed *claimed; /* in the order in which they should run */
    size_t count;             /* of it; written to, also on an error */
    int64_t next_wake_at_ms;  /* when something comes next in them, or none */
    bool again;
    bool suspects; /* one is due in them */
} csc_postgres_turns;

/* An error with `count` > 0 is one of a claim that has perhaps claimed runs
 * unseen. */
cascade_err csc_postgres_turns_claim(csc_postgres_conn *conn,
                                     csc_postgres_turns *turns);

/* ---- columns.c --------------------------------------------------- */

extern const csc_table csc_postgres_table_engines; /* cascade_incarnation */

/* Checks the columns of the tables: of those that exist (`all` false), or that
 * all of them exist too. */
cascade_err csc_postgres_column_check(csc_postgres_conn *conn, bool all);

/* ---- The moves; see cascade/store.h -------------------------------------- */

/* store.c: the same on a connection that was lent. */
extern const cascade_store_chain csc_postgres_chain;
extern const cascade_store_manage csc_postgres_manage;
extern const cascade_store_integrity csc_postgres_integrity;
extern const cascade_store_limits csc_postgres_limits;

cascade_err csc_postgres_now(void *self, int64_t *now_ms);
void csc_postgres_close(void *self);
cascade_err csc_postgres_schema_migrate(void *self, cascade_migrate mode);
cascade_err csc_postgres_schema_list(void *self, cascade_migration_sink sink,
                                     void *context);
cascade_err csc_postgres_engine_attach(void *self,
                                       const cascade_incarnation *incarnation);
cascade_err csc_postgres_engine_renew(void *self, const cascade_uuid *engine_id,
                                      int64_t lease_ms, int64_t *now_ms);
cascade_err csc_postgres_engine_detach(void *self,
                                       const cascade_uuid *engine_id);
cascade_err csc_postgres_engine_list(void *self, cascade_engine_sink sink,
                                     void *context, bool *orphans);
cascade_err csc_postgres_remove_dead(void *self, const cascade_uuid *dead,
                                     size_t dead_count, size_t limit,
                                     size_t *freed);
cascade_err csc_postgres_claim_runs(void *self, const cascade_claim *claim,
                                    cascade_claimed *claimed,
                                    cascade_claim_result *result);
cascade_err csc_postgres_read_load(void *self, const cascade_uuid *ids,
                                   size_t count, unsigned parts,
                                   const cascade_load_sink *sink);
cascade_err csc_postgres_read_list(void *self, const cascade_query *query,
                                   cascade_list_sink sink, void *context);
cascade_err csc_postgres_read_scan(void *self, const cascade_scan *scan,
                                   const cascade_load_sink *sink);
cascade_err csc_postgres_read_totals(void *self, cascade_totals *totals);
cascade_err csc_postgres_commit_batch(void *self, const cascade_batch *batch,
                                      bool *existed);
cascade_err csc_postgres_commit_submit(void *self,
                                       const cascade_submission *submission);
cascade_err csc_postgres_messages_receive(void *self,
                                          const cascade_receive *wanted,
                                          cascade_message_sink sink,
                                          void *context);
cascade_err csc_postgres_messages_key(void *self, const char *user_id,
                                      const char *key, int32_t *run_number);
cascade_err csc_postgres_links_find(void *self, const char *const *paths,
                                    size_t count, cascade_found *found);
/* A row of those that link the runs of a root to the last one: `first_id` is
 * execution 0 of a start, which has to be there, or NULL. */
#define CSC_POSTGRES_LINK_TYPES "uuiu"

void csc_postgres_links_add(csc_postgres_rows *rows, const cascade_uuid *root,
                            const cascade_uuid *next, int32_t run_number,
                            const cascade_uuid *first_id);
cascade_err csc_postgres_links_write(void *self, const cascade_link *link);
cascade_err csc_postgres_links_sweep(void *self, const cascade_uuid *root,
                                     size_t limit, cascade_uuid *cursor,
                                     bool *more);
cascade_err csc_postgres_strays_list(void *self, cascade_stray kind,
                                     size_t limit, cascade_uuid *cursor,
                                     cascade_fault_sink sink, void *context,
                                     bool *more);
/* Gives a row of a result to the sink. */
cascade_err csc_postgres_seals_sink(const PGresult *result, int row,
                                    cascade_seal_sink sink, void *context);
/* Number and text of a seal, in two columns; NULL: none. */
void csc_postgres_seals_side(csc_postgres_rows *rows, size_t column,
                             const cascade_seal_row *side);
cascade_err csc_postgres_seals_change(void *self, const cascade_reseal *reseals,
                                      size_t count, bool *done);
cascade_err csc_postgres_seals_list(void *self, const cascade_uuid *after,
                                    size_t limit, cascade_seal_sink sink,
                                    void *context);
cascade_err csc_postgres_queues_pause(void *self, const char *queue,
                                      bool paused, const char *about,
                                      bool *changed);
cascade_err csc_postgres_queues_list(void *self, cascade_queue_sink sink,
                                     void *context);
cascade_err csc_postgres_limits_set(void *self, const cascade_limits_row *row,
                                    bool *done, int64_t *version);
cascade_err csc_postgres_limits_list(void *self, const char *only,
                                     const char *after, size_t limit,
                                     cascade_limits_sink sink, void *context);
cascade_err csc_postgres_limits_drop(void *self, const char *queue, bool *done);
cascade_err csc_postgres_limits_slots(void *self, const char *queue,
                                      const char *key, size_t limit,
                                      cascade_slot_sink sink, void *context);
cascade_err csc_postgres_mend_repair(void *self, const cascade_repair *repairs,
                                     size_t count, bool *done);
cascade_err csc_postgres_mend_purge(void *self, const cascade_uuid *ids,
                                    size_t count, int64_t updated_before_ms,
                                    size_t *deleted);
cascade_err csc_postgres_delete_erase(void *self, const cascade_uuid *engine_id,
                                      bool *more);
cascade_err csc_postgres_wait_for(void *self, int wake_fd, int64_t timeout_ms,
                                  cascade_waited *result);
cascade_err csc_postgres_wait_wake(void *self);
/* The same until `deadline_ms`. */
cascade_err csc_postgres_wait_wake_until(csc_postgres *store,
                                         int64_t deadline_ms);
/* The call that tells the waiters. */
void csc_postgres_wait_fill_notify(const csc_postgres *store,
                                   csc_postgres_call *call,
                                   csc_postgres_params *params);

/* Of node_txn.c. */
cascade_err csc_postgres_native_begin(void *self, int64_t limit_ms,
                                      cascade_native *native);
cascade_err csc_postgres_native_finish(void *self, cascade_native *native,
                                       const cascade_batch *batch,
                                       bool *existed);
cascade_err csc_postgres_native_abandon(void *self, cascade_native *native);
cascade_err csc_postgres_native_settle(void *self,
                                       const cascade_uuid *engine_id,
                                       uint32_t lane, int64_t number,
                                       bool *committed);

/* It has not answered within its deadline, and is not used any more. */
cascade_err csc_postgres_conn_fail_deadline(csc_postgres_conn *conn);

/* Waits for those events. CASCADE_ERR_UNAVAILABLE. */
cascade_err csc_postgres_conn_poll(csc_postgres_conn *conn, short events,
                                   int64_t until_ms, bool *ready);

/* Whether a move may be done on the connection as it is. */
cascade_err csc_postgres_guest_check(const PGconn *pg);

#endif
