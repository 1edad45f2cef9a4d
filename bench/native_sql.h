/* SPDX-License-Identifier: MIT
 *
 * The application's side of a transactional node: a row of its own is changed
 * twice, and one inserted, on either database; by hand, the same with BEGIN and
 * COMMIT around it.
 */
#ifndef BENCH_NATIVE_SQL_H
#define BENCH_NATIVE_SQL_H

#include "bench.h"

#define NATIVE_ACCOUNTS 10000

typedef struct native_sql {
    bench_kind kind;
    void *handle; /* sqlite3 * or PGconn * */
} native_sql;

/* A connection to the store `name`, as an application has it; on SQLite to a
 * file of that name, which the library has open too where `shared`. */
native_sql native_sql_open(const bench *b, bench_kind kind, const char *name,
                           bool shared);
void native_sql_close(native_sql *sql);
/* The tables, in the store's database. */
void native_sql_prepare(native_sql *sql);

/* That of the node. */
cascade_err native_sql_take(native_sql *sql, bench_kind kind,
                            cascade_node *node);

/* Runs a statement; false where it fails. */
bool native_sql_run(native_sql *sql, const char *text);
/* The work on `account`; on PostgreSQL the tables are in `schema`. */
bool native_sql_work(native_sql *sql, const char *schema, unsigned account);
/* How often that was done. */
int64_t native_sql_moves(native_sql *sql, const char *schema);
/* All of it in a transaction. */
bool native_sql_transact(native_sql *sql, const char *schema, unsigned account);

#endif
