/* SPDX-License-Identifier: MIT
 *
 * Runs of chains of which nothing, or too little, was entered as they went on:
 * begun before there was a table for it, continued by an engine of a release
 * that has none, imported, adopted. What outlives them is the same.
 */
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "engine/support/chain.h"
#include "store/store.h"

#define RUNS 3

/* ---- Helpers ------------------------------------------------------------ */

/* Three runs, of which the first two have received one of the news each. */
static void
begin(play *p, test_db *db, cascade_uuid ids[RUNS])
{
    play_begin(p, db, CASCADE_MODE_THREADS, "goes");
    ids[0] = p->id;
    for (size_t i = 0; i + 1 < RUNS; i++) {
        assert_ok(chain_send_news(p, &ids[i], i == 0 ? "of-1" : "of-2"));
        play_until(p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED,
                   i + 1);
        ids[i + 1] = chain_turn(p);
    }
    chain_expect_news(p, 2);
}

static void
run_sql(test_db *db, const char *sql)
{
    assert_int_equal(0, db_sql(db, sql));
}

/* As an engine of the release before has left it. */
static void
forget_links(test_db *db)
{
    run_sql(db, "DELETE FROM cascade_links");
}

/* Those that are gone lead to the last one, and what they have received is
 * known. */
static void
check(play *p, const cascade_uuid ids[RUNS])
{
    for (size_t i = 0; i < RUNS; i++) {
        assert_ok(chain_send_news(p, &ids[i], "of-1"));
        assert_ok(chain_send_news(p, &ids[i], "of-2"));
    }
    assert_ok(chain_send_news(p, &ids[0], "new"));
    assert_ok(chain_send_news(p, &ids[1], "newer"));
    assert_ok(chain_send_news(p, &ids[2], "new"));
    chain_expect_news(p, 4);
}

static cascade_found
find(const play *p, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *path = cascade_uuid_format(id, text);
    cascade_found found = {.run_number = 0};

    assert_ok(p->store->driver->chain->find(p->store->self, &path, 1, &found));
    return found;
}

static void
expect_nothing(const play *p, const cascade_uuid *id)
{
    cascade_found found = find(p, id);

    assert_true(csc_uuid_is_nil(&found.id));
}

static void
expect_entered(const play *p, const cascade_uuid *root,
               const cascade_uuid *last, int32_t run_number)
{
    cascade_found found = find(p, root);

    assert_true(csc_uuid_equal(&found.root, root));
    assert_true(csc_uuid_equal(&found.id, last));
    assert_int_equal(found.run_number, run_number);
}

static char *
export_run(const play *p, const cascade_uuid *id)
{
    char *document = NULL;

    assert_ok(cascade_export(p->store, id, NULL, &document));
    return document;
}

static void
import_run(const play *p, char *document)
{
    cascade_started started;

    assert_ok(cascade_import(p->store, document, NULL, &started));
    assert_false(started.existed);
    cascade_document_free(document);
}

/* ---- Tests -------------------------------------------------------------- */

/* What was entered is older than the last run: an engine of the release before
 * has continued it since. */
static void
a_link_that_is_stale_is_put_right_by_adopting(test_db *db)
{
    cascade_check_options options = {.size = sizeof(options)};
    cascade_check_report report = {.size = sizeof(report)};
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];
    char second[CASCADE_UUID_TEXT_SIZE];
    char sql[200];

    begin(&p, db, ids);
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE cascade_links SET next_id = '%s', run_number = 2"
                   " WHERE run_number = 3",
                   cascade_uuid_format(&ids[1], second));
    run_sql(db, sql);
    assert_ok(cascade_adopt(p.store, &options, &report));
    expect_entered(&p, &ids[0], &ids[2], 3);
    chain_purge(&p, 2);
    check(&p, ids);
    play_end(&p);
}

/* The tables as the migration before it has left them. */
static void
undo_migration(test_db *db)
{
    static const char *const statements[] = {
        "DROP INDEX cascade_runs_turn_idx",
        "DROP INDEX cascade_runs_slot_idx",
        "ALTER TABLE cascade_runs DROP COLUMN limit_key",
        "ALTER TABLE cascade_runs DROP COLUMN slot",
        "ALTER TABLE cascade_queues DROP COLUMN version",
        "ALTER TABLE cascade_queues DROP COLUMN running_max",
        "ALTER TABLE cascade_queues DROP COLUMN key_running_max",
        "ALTER TABLE cascade_queues DROP COLUMN limits_about",
        "DELETE FROM cascade_schema WHERE name LIKE '%_limits'",
        "DELETE FROM cascade_schema WHERE name LIKE '%_lists'",
        "DROP TABLE cascade_seals",
        "ALTER TABLE cascade_messages DROP COLUMN seal",
        "DELETE FROM cascade_schema WHERE name LIKE '%_seal%'",
        "DELETE FROM cascade_links",
        "DROP INDEX cascade_links_roots",
        "ALTER TABLE cascade_links DROP COLUMN run_number",
        "DELETE FROM cascade_schema WHERE name LIKE '%_chains'"};

    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++)
        run_sql(db, statements[i]);
}

/* A row of that table as it was written: the number of the run in `number`. */
static void
write_old_link(test_db *db, const cascade_uuid *root, const cascade_uuid *next)
{
    char first[CASCADE_UUID_TEXT_SIZE];
    char second[CASCADE_UUID_TEXT_SIZE];
    char sql[300];

    cascade_uuid_format(root, first);
    (void)snprintf(sql, sizeof(sql),
                   "INSERT INTO cascade_links (path, root, next_id, number)"
                   " VALUES ('%s', '%s', '%s', -2)",
                   first, first, cascade_uuid_format(next, second));
    run_sql(db, sql);
}

static void
the_migration_enters_what_is_there(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];
    cascade_uuid other;
    cascade_uuid next;

    begin(&p, db, ids);
    other = db_start(p.store, "goes");
    p.id = other;
    next = chain_turn(&p);
    db_close_engine(db, p.engine);
    db_close_store(db, p.store);
    undo_migration(db);
    write_old_link(db, &ids[0], &ids[1]);
    play_open(&p, db, CASCADE_MODE_THREADS);
    expect_entered(&p, &ids[0], &ids[2], 3);
    expect_entered(&p, &other, &next, 2);
    expect_nothing(&p, &ids[2]);
    p.id = ids[2];
    chain_purge(&p, 3);
    check(&p, ids);
    play_end(&p);
}

/* Into a store that knows nothing of it. */
static void
runs_that_are_imported_are_entered(test_db *db)
{
    const cascade_purge_options all = {.size = sizeof(all)};
    play p = {.nodes = {{"goes", chain_go_on}}};
    char *documents[RUNS];
    cascade_uuid ids[RUNS];
    cascade_progress total;

    begin(&p, db, ids);
    for (size_t i = 0; i < RUNS; i++)
        documents[i] = export_run(&p, &ids[i]);
    assert_ok(cascade_terminate(p.store, &ids[2], NULL));
    play_await(&p, &ids[2], CASCADE_ERROR);
    chain_purge(&p, RUNS);
    for (size_t i = 0; i < RUNS; i++)
        import_run(&p, documents[i]);
    expect_entered(&p, &ids[0], &ids[2], 3);
    assert_ok(cascade_purge(p.store, &all, &total));
    assert_int_equal(total.done, 2);
    check(&p, ids);
    play_end(&p);
}

/* The auxiliary tables were lost. */
static void
runs_that_are_adopted_are_entered(test_db *db)
{
    cascade_check_options options = {.size = sizeof(options), .dry_run = true};
    cascade_check_report report = {.size = sizeof(report)};
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    begin(&p, db, ids);
    forget_links(db);
    assert_ok(cascade_adopt(p.store, &options, &report));
    expect_nothing(&p, &ids[0]);
    options.dry_run = false;
    assert_ok(cascade_adopt(p.store, &options, &report));
    expect_entered(&p, &ids[0], &ids[2], 3);
    chain_purge(&p, 2);
    check(&p, ids);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_link_that_is_stale_is_put_right_by_adopting",
         a_link_that_is_stale_is_put_right_by_adopting, STORES_FILES},
        {"the_migration_enters_what_is_there",
         the_migration_enters_what_is_there, STORES_FILES},
        {"runs_that_are_imported_are_entered",
         runs_that_are_imported_are_entered, STORES_ALL},
        {"runs_that_are_adopted_are_entered", runs_that_are_adopted_are_entered,
         STORES_FILES}};

    return stores_run("begun_before", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
