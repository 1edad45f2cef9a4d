/* SPDX-License-Identifier: MIT
 *
 * Money that is moved exactly once, on SQLite: the program's own tables and the
 * library's lie in one file.
 *
 *   transfer_sqlite [FILE [TRANSFERS]]        default: transfer.db, 100
 *
 *   accounts    id, balance             10 accounts of 1,000 each
 *   transfers   payer, payee, amount    a row for each one that was made
 *
 * Each transfer is a cascade of one node, which is registered as transactional:
 * what it writes and the record that it is done are one commit. Kill the
 * program at any moment and start it again, with the same number: it goes on,
 * and in the end each transfer was made once. No constraint sees to that here.
 */
#include <cascade/cascade.h>
#include <cascade/sqlite.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

/* Of a connection beside the library's: that runs the checkpoints. */
static const char prepare[] =
    "PRAGMA wal_autocheckpoint = 0;"
    "CREATE TABLE IF NOT EXISTS accounts ("
    "  id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);"
    "CREATE TABLE IF NOT EXISTS transfers ("
    "  payer INTEGER NOT NULL, payee INTEGER NOT NULL,"
    "  amount INTEGER NOT NULL);"
    "INSERT OR IGNORE INTO accounts (id, balance)"
    "  SELECT value, 1000 FROM json_each('[0,1,2,3,4,5,6,7,8,9]');";

/* Nothing is lost; how many transfers there are; accounts whose balance is not
 * what their transfers make it. */
static const char report[] =
    "SELECT (SELECT sum(balance) FROM accounts),"
    "  (SELECT count(*) FROM transfers),"
    "  (SELECT count(*) FROM accounts AS a WHERE balance <> 1000"
    "    - (SELECT total(amount) FROM transfers WHERE payer = a.id)"
    "    + (SELECT total(amount) FROM transfers WHERE payee = a.id))";

/* `numbers` are payer, payee and amount. */
static cascade_err
change(cascade_node *node, sqlite3 *db, const char *sql, const cJSON *numbers)
{
    sqlite3_stmt *statement = NULL;
    int status = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);

    for (int i = 0; i < 3 && status == SQLITE_OK; i++)
        status = sqlite3_bind_int(statement, i + 1,
                                  cJSON_GetArrayItem(numbers, i)->valueint);
    if (status == SQLITE_OK)
        status = sqlite3_step(statement);
    sqlite3_finalize(statement);
    if (status == SQLITE_DONE)
        return CASCADE_OK;
    return cascade_node_error(node, "%s", sqlite3_errmsg(db));
}

/* Neither begins nor commits: the library does. If this returns an error, all
 * that it wrote is rolled back, and the next attempt follows. */
static cascade_err
transfer(cascade_node *node, void *user)
{
    static const char *const changes[] = {
        "UPDATE accounts SET balance = balance - ?3 WHERE id = ?1",
        "UPDATE accounts SET balance = balance + ?3 WHERE id = ?2",
        "INSERT INTO transfers (payer, payee, amount) VALUES (?1, ?2, ?3)"};
    sqlite3 *db = NULL;
    cascade_err err = cascade_node_sqlite(node, &db);

    (void)user;
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = change(node, db, changes[i], cascade_node_input(node));
    return err;
}

/* By key: where the program was killed, some are there, or are done. */
static cascade_err
start(cascade_store *store, int number, cascade_uuid *id)
{
    const int numbers[] = {number % 10, (number + 1 + number / 10 % 9) % 10,
                           number % 7 + 1};
    char key[32];
    const cascade_start_options once = {.size = sizeof(once), .key = key};
    cascade_started started;
    cascade_err err = CASCADE_OK;

    snprintf(key, sizeof(key), "transfer-%d", number);
    err = cascade_start(store, "transfer", cJSON_CreateIntArray(numbers, 3),
                        &once, &started);
    if (err == CASCADE_OK)
        *id = started.id;
    return err;
}

static cascade_err
make(cascade_store *store, int transfers)
{
    cascade_uuid *ids = calloc((size_t)transfers, sizeof(*ids));
    cascade_err err = ids != NULL ? CASCADE_OK : CASCADE_ERR_NO_MEMORY;

    for (int i = 0; i < transfers && err == CASCADE_OK; i++)
        err = start(store, i, &ids[i]);
    for (int i = 0; i < transfers && err == CASCADE_OK; i++)
        err = cascade_wait(store, &ids[i], -1, NULL);
    free(ids);
    return err;
}

static int
tell(sqlite3 *db, int transfers)
{
    sqlite3_stmt *statement = NULL;
    int agree = 0;

    if (sqlite3_prepare_v2(db, report, -1, &statement, NULL) == SQLITE_OK &&
        sqlite3_step(statement) == SQLITE_ROW) {
        agree = sqlite3_column_int(statement, 0) == 10000 &&
                sqlite3_column_int(statement, 1) == transfers &&
                sqlite3_column_int(statement, 2) == 0;
        printf("the accounts hold %d; %d transfers were made; they %s\n",
               sqlite3_column_int(statement, 0),
               sqlite3_column_int(statement, 1),
               agree ? "agree" : "do not agree");
    } else {
        fprintf(stderr, "transfer: %s\n", sqlite3_errmsg(db));
    }
    sqlite3_finalize(statement);
    return !agree;
}

static int
open_bank(const char *file, sqlite3 **db)
{
    return sqlite3_open(file, db) != SQLITE_OK ||
           sqlite3_busy_timeout(*db, 10000) != SQLITE_OK ||
           sqlite3_db_config(*db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL) ||
           sqlite3_exec(*db, prepare, NULL, NULL, NULL) != SQLITE_OK;
}

int
main(int argc, char **argv)
{
    const cascade_node_options in_one = {.size = sizeof(in_one),
                                         .transactional = true};
    const char *file = argc > 1 ? argv[1] : "transfer.db";
    int transfers = argc > 2 ? atoi(argv[2]) : 100;
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    sqlite3 *db = NULL;
    char url[512];
    int status = 1;

    snprintf(url, sizeof(url), "sqlite:%s", file);
    if (open_bank(file, &db))
        fprintf(stderr, "transfer: %s\n", sqlite3_errmsg(db));
    else if (cascade_store_open(url, NULL, &store) ||
             cascade_engine_open(store, NULL, &engine) ||
             cascade_engine_register(engine, "transfer", transfer, NULL,
                                     &in_one) ||
             cascade_engine_start(engine) || make(store, transfers))
        fprintf(stderr, "transfer: %s\n", cascade_errmsg());
    else
        status = tell(db, transfers);
    cascade_engine_close(engine);
    cascade_store_close(store);
    sqlite3_close(db);
    return status;
}
