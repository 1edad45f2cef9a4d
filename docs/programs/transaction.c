/* SPDX-License-Identifier: MIT
 *
 * One transaction with your own data: the money is moved, and the node recorded
 * as done, in the same commit.
 *
 *   transaction [FILE]        default: transaction.db
 */
#include <cascade/cascade.h>
#include <cascade/sqlite.h>
#include <sqlite3.h>
#include <stdio.h>

/* A connection of yours, beside the library's: only that runs checkpoints. */
static const char prepare[] =
    "PRAGMA wal_autocheckpoint = 0;"
    "CREATE TABLE IF NOT EXISTS accounts (balance INTEGER NOT NULL);"
    "DELETE FROM accounts;"
    "INSERT INTO accounts (balance) VALUES (100);";

static cascade_err
pay(cascade_node *node, void *user)
{
    sqlite3 *db = NULL;
    cascade_err err = cascade_node_sqlite(node, &db);

    if (err == CASCADE_OK && sqlite3_exec(db, user, NULL, NULL, NULL) != 0)
        err = cascade_node_error(node, "%s", sqlite3_errmsg(db));
    if (err == CASCADE_OK && cascade_node_attempt(node) == 1)
        err = cascade_node_error(node, "rolled back, with what it wrote");
    return err;
}

static cascade_err
register_pay(cascade_engine *engine)
{
    static char sql[] = "UPDATE accounts SET balance = balance - 5";
    const cascade_node_options in_one = {
        .size = sizeof(in_one), .transactional = true, .backoff_ms = 10};

    return cascade_engine_register(engine, "pay", pay, sql, &in_one);
}

static int
open_bank(const char *file, sqlite3 **db)
{
    return sqlite3_open(file, db) != SQLITE_OK ||
           sqlite3_busy_timeout(*db, 10000) != SQLITE_OK ||
           sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) ||
           sqlite3_exec(*db, prepare, NULL, NULL, NULL) != SQLITE_OK;
}

static int
balance(sqlite3 *db)
{
    sqlite3_stmt *statement = NULL;
    int left = -1;

    if (sqlite3_prepare_v2(db, "SELECT balance FROM accounts", -1, &statement,
                           NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW)
        left = sqlite3_column_int(statement, 0);
    sqlite3_finalize(statement);
    return left;
}

int
main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : "transaction.db";
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_outcome *end = NULL;
    sqlite3 *db = NULL;
    char url[512];
    int failed = 1;

    snprintf(url, sizeof(url), "sqlite:%s", file);
    if (open_bank(file, &db))
        fprintf(stderr, "transaction: %s\n", sqlite3_errmsg(db));
    else if (cascade_store_open(url, NULL, &store) ||
             cascade_engine_open(store, NULL, &engine) ||
             register_pay(engine) || cascade_engine_start(engine) ||
             cascade_run_result(store, "pay", NULL, NULL, -1, NULL, &end))
        fprintf(stderr, "transaction: %s\n", cascade_errmsg());
    else
        failed = end->status != CASCADE_COMPLETED || balance(db) != 95;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    sqlite3_close(db);
    return failed;
}
