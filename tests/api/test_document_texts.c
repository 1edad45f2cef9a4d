/* SPDX-License-Identifier: MIT
 *
 * What can be stored can be exported and imported: texts of other programs'
 * rows, which this library's own bounds do not bind. What a store cannot keep
 * is for the store to refuse.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/manage.h"
#include "support/must.h"
#include "support/splitmix.h"

#define ID "0190aaaa-0000-4000-8000-000000000001"
#define LONG ((size_t)4096)
#define LONGER ((size_t)3 << 20)

/* Each of one row. */
static const struct {
    const char *table;
    const char *column;
    size_t len;
} texts[] = {
    {"cascades", "user_id", LONG},
    {"node_executions", "node_instance_id", LONG},
    {"node_executions", "node_name", LONG},
    {"node_executions", "location", LONG},
    {"node_executions", "error", LONGER},
    {"context_events", "key", LONG},
};

static void
insert_rows(test_db *db)
{
    raw_sql(db, "INSERT INTO cascades (id, status, fn_id, user_id, created_at,"
                " updated_at) VALUES ('" ID "', 'COMPLETED', 1, 'ann',"
                " '2026-01-31 10:00:00', '2026-01-31 10:00:01')");
    raw_sql(db, "INSERT INTO node_executions (id, node_instance_id,"
                " cascade_id, node_name, function_id, input_context, location,"
                " status, started_at, completed_at) VALUES"
                " ('0190aaaa-0000-4000-8000-0000000000a0', 'a', '" ID "', 'a',"
                " 1, '{}', 'server', 'COMPLETED', '2026-01-31 10:00:00',"
                " '2026-01-31 10:00:00.5')");
    raw_sql(db, "INSERT INTO context_events (cascade_id, function_id, key,"
                " value, created_at) VALUES ('" ID "', 1, 'k', '1',"
                " '2026-01-31 10:00:00.5')");
}

/* The same letter all along: PostgreSQL's indices pack it. */
static char *
text_of(char c, size_t len)
{
    char *text = must(malloc(len + 1));

    memset(text, c, len);
    text[len] = '\0';
    return text;
}

static void
write_text(test_db *db, size_t which)
{
    char *text = text_of((char)('a' + which), texts[which].len);
    char *sql = NULL;

    assert_true(asprintf(&sql, "UPDATE %s SET %s = '%s'", texts[which].table,
                         texts[which].column, text) > 0);
    raw_sql(db, sql);
    free(sql);
    free(text);
}

static void
move_there_and_back(cascade_store *store, cascade_store *other)
{
    cascade_uuid id;
    cascade_started started;
    char *text = NULL;
    char *there = NULL;
    char *back = NULL;

    assert_ok(cascade_uuid_parse(ID, &id));
    assert_ok(cascade_export(store, &id, NULL, &text));
    assert_ok(cascade_import(other, text, NULL, &started));
    assert_false(started.existed);
    assert_ok(cascade_export(other, &id, NULL, &there));
    assert_string_equal(text, there);
    assert_ok(cascade_delete(store, &id, NULL));
    assert_ok(cascade_import(store, there, NULL, &started));
    assert_false(started.existed);
    assert_ok(cascade_export(store, &id, NULL, &back));
    assert_string_equal(text, back);
    cascade_document_free(text);
    cascade_document_free(there);
    cascade_document_free(back);
}

static void
long_texts_come_back(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_store *other = NULL;

    insert_rows(db);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        write_text(db, i);
    assert_ok(cascade_store_open("memory:", NULL, &other));
    move_there_and_back(store, other);
    assert_ok(cascade_store_close(other));
}

/* Whatever follows one another in it. */
static void
mix_up(char *text, size_t len)
{
    uint64_t seed = 7;

    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + splitmix_next(&seed) % 26);
}

static void
what_an_index_cannot_keep_is_refused(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_started started;
    cascade_info *info = NULL;
    cascade_uuid id;
    char *text = NULL;
    char *path = text_of('b', LONG);

    insert_rows(db);
    write_text(db, 1);
    assert_ok(cascade_uuid_parse(ID, &id));
    assert_ok(cascade_export(store, &id, NULL, &text));
    assert_ok(cascade_delete(store, &id, NULL));
    mix_up(strstr(text, path), LONG);
    assert_fails(CASCADE_ERR_REFUSED,
                 cascade_import(store, text, NULL, &started));
    assert_non_null(strstr(cascade_errmsg(), "too large"));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_get(store, &id, &info));
    cascade_document_free(text);
    free(path);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"long_texts_come_back", long_texts_come_back, STORES_FILES},
        {"what_an_index_cannot_keep_is_refused",
         what_an_index_cannot_keep_is_refused, STORES_POSTGRES},
    };

    return stores_run("texts of documents", tests,
                      sizeof(tests) / sizeof(tests[0]), argc, argv);
}
