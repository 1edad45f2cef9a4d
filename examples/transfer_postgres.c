/* SPDX-License-Identifier: MIT
 *
 * Money that is moved exactly once, on PostgreSQL: the program's own tables and
 * the library's lie in one database. transfer_sqlite.c is the same on SQLite.
 *
 *   transfer_postgres [CONNINFO [TRANSFERS]]      default: dbname=transfer, 100
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
#include <cascade/postgres.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

static const char prepare[] =
    "SET client_min_messages = warning;"
    "CREATE TABLE IF NOT EXISTS accounts (id int PRIMARY KEY, balance int);"
    "CREATE TABLE IF NOT EXISTS transfers (payer int, payee int, amount int);"
    "INSERT INTO accounts SELECT i, 1000 FROM generate_series(0, 9) AS i"
    "  ON CONFLICT DO NOTHING;";

/* Nothing is lost; how many transfers there are; accounts whose balance is not
 * what their transfers make it. */
static const char report[] =
    "SELECT (SELECT sum(balance) FROM accounts),"
    "  (SELECT count(*) FROM transfers),"
    "  (SELECT count(*) FROM accounts AS a WHERE balance <> 1000"
    "    - (SELECT coalesce(sum(amount), 0) FROM transfers WHERE payer = a.id)"
    "    + (SELECT coalesce(sum(amount), 0) FROM transfers WHERE payee = a.id)"
    "  )";

/* `numbers` are payer, payee and amount. */
static cascade_err
run(cascade_node *node, PGconn *conn, const char *sql, const cJSON *numbers)
{
    const char *values[3];
    char texts[3][16];
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < 3; i++) {
        snprintf(texts[i], sizeof(texts[i]), "%d",
                 cJSON_GetArrayItem(numbers, i)->valueint);
        values[i] = texts[i];
    }
    PGresult *result = PQexecParams(conn, sql, 3, NULL, values, NULL, NULL, 0);
    if (PQresultStatus(result) != PGRES_COMMAND_OK &&
        PQresultStatus(result) != PGRES_TUPLES_OK)
        err = cascade_node_error(node, "%s", PQresultErrorMessage(result));
    PQclear(result);
    return err;
}

/* Neither begins nor commits: the library does. If this returns an error, all
 * that it wrote is rolled back, and the next attempt follows; so it does where
 * PostgreSQL finds a deadlock. The first statement locks in one order, so that
 * there is none. */
static cascade_err
transfer(cascade_node *node, void *user)
{
    static const char *const statements[] = {
        "SELECT FROM accounts WHERE id IN ($1, $2) AND $3::int > 0"
        "  ORDER BY id FOR UPDATE",
        "UPDATE accounts SET balance = balance"
        "    + CASE id WHEN $1 THEN -$3::int ELSE $3::int END"
        "  WHERE id IN ($1, $2)",
        "INSERT INTO transfers (payer, payee, amount) VALUES ($1, $2, $3)"};
    PGconn *conn = NULL;
    cascade_err err = cascade_node_postgres(node, &conn);

    (void)user;
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = run(node, conn, statements[i], cascade_node_input(node));
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
tell(PGconn *conn, int transfers)
{
    PGresult *result = PQexec(conn, report);
    int agree = 0;

    if (PQntuples(result) == 1) {
        agree = atoi(PQgetvalue(result, 0, 0)) == 10000 &&
                atoi(PQgetvalue(result, 0, 1)) == transfers &&
                atoi(PQgetvalue(result, 0, 2)) == 0;
        printf("the accounts hold %s; %s transfers were made; they %s\n",
               PQgetvalue(result, 0, 0), PQgetvalue(result, 0, 1),
               agree ? "agree" : "do not agree");
    } else {
        fprintf(stderr, "transfer: %s", PQerrorMessage(conn));
    }
    PQclear(result);
    return !agree;
}

static int
make_tables(PGconn *conn)
{
    PGresult *result = PQexec(conn, prepare);
    int failed = PQresultStatus(result) != PGRES_COMMAND_OK;

    PQclear(result);
    return failed;
}

int
main(int argc, char **argv)
{
    const cascade_node_options in_one = {.size = sizeof(in_one),
                                         .transactional = true};
    const char *conninfo = argc > 1 ? argv[1] : "dbname=transfer";
    int transfers = argc > 2 ? atoi(argv[2]) : 100;
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    PGconn *conn = PQconnectdb(conninfo);
    int status = 1;

    if (PQstatus(conn) != CONNECTION_OK || make_tables(conn))
        fprintf(stderr, "transfer: %s", PQerrorMessage(conn));
    else if (cascade_store_open(conninfo, NULL, &store) ||
             cascade_engine_open(store, NULL, &engine) ||
             cascade_engine_register(engine, "transfer", transfer, NULL,
                                     &in_one) ||
             cascade_engine_start(engine) || make(store, transfers))
        fprintf(stderr, "transfer: %s\n", cascade_errmsg());
    else
        status = tell(conn, transfers);
    cascade_engine_close(engine);
    cascade_store_close(store);
    PQfinish(conn);
    return status;
}
