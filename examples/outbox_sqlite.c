/* SPDX-License-Identifier: MIT
 *
 * An outbox on SQLite: an order and the start of what delivers it are one
 * transaction. outbox.sql and outbox.c are the same on PostgreSQL.
 *
 *   outbox_sqlite [FILE]        default: outbox.db
 *
 * Functions for SQL belong to a connection here, so this program is both sides:
 * it orders on a connection of its own, and an engine delivers.
 */
#include <cascade/cascade.h>
#include <cascade/sqlite.h>
#include <sqlite3.h>
#include <stdio.h>

static const char order[] =
    "CREATE TABLE IF NOT EXISTS orders ("
    "  id INTEGER PRIMARY KEY, item TEXT NOT NULL);"

    /* By hand. The key says that an order is delivered once, however often
     * this is called. */
    "BEGIN IMMEDIATE;"
    "INSERT INTO orders (item) VALUES ('lamp');"
    "SELECT cascade_start('deliver', json_object('item', item), 'order-' || id)"
    "  FROM orders WHERE item = 'lamp';"
    "COMMIT;"

    /* What is rolled back is never delivered. */
    "BEGIN IMMEDIATE;"
    "INSERT INTO orders (item) VALUES ('mistake');"
    "SELECT cascade_start('deliver', json_object('item', item), 'order-' || id)"
    "  FROM orders WHERE item = 'mistake';"
    "ROLLBACK;"

    /* By a trigger: whoever inserts an order need not know. A temporary one,
     * since other connections do not have the function. */
    "CREATE TEMP TRIGGER deliver_order AFTER INSERT ON main.orders BEGIN"
    "  SELECT cascade_start('deliver', json_object('item', NEW.item),"
    "    'order-' || NEW.id);"
    " END;"
    "INSERT INTO orders (item) VALUES ('chair'), ('table');";

/* May run again after a crash: the request id tells the outside that it is the
 * same delivery. */
static cascade_err
deliver(cascade_node *node, void *user)
{
    const cJSON *item =
        cJSON_GetObjectItemCaseSensitive(cascade_node_input(node), "item");

    (void)user;
    if (!cJSON_IsString(item))
        return cascade_node_fail(node, "an order without an item");
    printf("deliver a %s\n", item->valuestring);
    return CASCADE_OK;
}

/* For sqlite3_exec(): waits for the order whose key is in the row. */
static int
await(void *context, int columns, char **values, char **names)
{
    cascade_uuid id;

    (void)columns;
    (void)names;
    return cascade_uuid_from_key("anonymous", values[0], &id) ||
           cascade_wait(context, &id, -1, NULL);
}

int
main(int argc, char **argv)
{
    const char *file = argc > 1 ? argv[1] : "outbox.db";
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    sqlite3 *db = NULL;
    char url[512];
    int failed = 1;

    snprintf(url, sizeof(url), "sqlite:%s", file);
    if (cascade_store_open(url, NULL, &store) ||
        cascade_engine_open(store, NULL, &engine) ||
        cascade_engine_register(engine, "deliver", deliver, NULL, NULL) ||
        cascade_engine_start(engine))
        fprintf(stderr, "outbox: %s\n", cascade_errmsg());
    else if (sqlite3_open(file, &db) != SQLITE_OK ||
             sqlite3_busy_timeout(db, 10000) != SQLITE_OK ||
             cascade_sqlite_functions(db, NULL) != CASCADE_OK ||
             sqlite3_exec(db, order, NULL, NULL, NULL) != SQLITE_OK ||
             sqlite3_exec(db, "SELECT 'order-' || id FROM orders", await, store,
                          NULL) != SQLITE_OK)
        fprintf(stderr, "outbox: %s; %s\n", sqlite3_errmsg(db),
                cascade_errmsg());
    else
        failed = 0;
    cascade_engine_close(engine);
    sqlite3_close(db);
    cascade_store_close(store);
    return failed;
}
