/* SPDX-License-Identifier: MIT
 *
 * Adopting runs that continue each other, of which what was entered is gone:
 * the last one is entered and told; with integrity, one that has its seal.
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "base/uuid.h"
#include "cascade/integrity.h"
#include "cascade/manage.h"
#include "store/store.h"
#include "support/keyed.h"
#include "support/sealed.h"
#include "support/stores.h"

/* ---- Calls --------------------------------------------------------------- */

static cascade_store *
open_store(test_db *db, bool sealed)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    options.integrity = sealed ? sealed_by_secret() : NULL;
    assert_ok(cascade_store_open(db->url, &options, &store));
    return store;
}

typedef struct told {
    cascade_uuid seal; /* the last that A14 is told of, and the text of it */
    cascade_uuid chain;
    char seal_text[600];
    char chain_text[400];
    size_t seals; /* how many */
    size_t chains;
} told;

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    told *t = context;

    (void)function_id;
    if (strcmp(rule, "A14 seal") == 0) {
        t->seal = *id;
        (void)snprintf(t->seal_text, sizeof(t->seal_text), "%s", text);
        t->seals++;
    }
    if (strcmp(rule, "A15 chain") == 0) {
        t->chain = *id;
        (void)snprintf(t->chain_text, sizeof(t->chain_text), "%s", text);
        t->chains++;
    }
    return true;
}

static cascade_check_report
adopt(cascade_store *store, bool trust, bool dry_run, told *t)
{
    const cascade_check_options options = {.size = sizeof(options),
                                           .finding = note_finding,
                                           .context = t,
                                           .trust = trust,
                                           .dry_run = dry_run};
    cascade_check_report report = {.size = sizeof(report)};

    *t = (told){.seals = 0};
    assert_ok(cascade_adopt(store, &options, &report));
    return report;
}

static void
forge(test_db *db, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[300];

    db->unsound = true;
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE node_executions SET location = 'x'"
                   " WHERE cascade_id = '%s'",
                   cascade_uuid_format(id, text));
    raw_sql(db, sql);
}

/* Which run what is sent to the first one comes to, once that is gone. */
static void
expect_last(cascade_store *store, const cascade_uuid *first,
            const cascade_uuid *last)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *path = cascade_uuid_format(first, text);
    cascade_found found = {.run_number = 0};

    assert_ok(store->driver->chain->find(store->self, &path, 1, &found));
    if (last == NULL) {
        assert_true(csc_uuid_is_nil(&found.root));
        return;
    }
    assert_memory_equal(&found.id, last, sizeof(*last));
}

/* ---- Tests --------------------------------------------------------------- */

static void
check_last_is_entered(test_db *db, bool sealed)
{
    cascade_store *store = open_store(db, sealed);
    cascade_uuid ids[3];
    told t;

    keyed_run_three(db, store, ids);
    raw_sql(db, "DELETE FROM cascade_links");
    (void)adopt(store, false, true, &t);
    assert_int_equal(t.chains, 1);
    expect_last(store, &ids[0], NULL);
    assert_int_equal(adopt(store, false, false, &t).left, 0);
    assert_int_equal(t.chains, 1);
    assert_int_equal(t.seals, 0);
    assert_memory_equal(&t.chain, &ids[2], sizeof(t.chain));
    assert_non_null(strstr(t.chain_text, "it is run 3 of those of cascade"));
    assert_null(strstr(t.chain_text, "seal"));
    expect_last(store, &ids[0], &ids[2]);
    (void)adopt(store, false, false, &t);
    assert_int_equal(t.chains, 0);
    assert_ok(cascade_store_close(store));
}

static void
the_last_run_is_entered_and_told(test_db *db)
{
    check_last_is_entered(db, false);
}

static void
with_integrity_too(test_db *db)
{
    check_last_is_entered(db, true);
}

/* The one before it is entered, which is as it was sealed. */
static void
a_run_without_its_seal_is_told_and_entered_by_trust(test_db *db)
{
    cascade_store *store = open_store(db, true);
    cascade_uuid ids[3];
    cascade_check_report report;
    told t;

    keyed_run_three(db, store, ids);
    raw_sql(db, "DELETE FROM cascade_links");
    forge(db, &ids[2]);
    report = adopt(store, false, false, &t);
    assert_int_equal(report.left, 1);
    assert_int_equal(t.seals, 1);
    assert_memory_equal(&t.seal, &ids[2], sizeof(t.seal));
    assert_non_null(strstr(t.seal_text, "sent to earlier runs that are gone"));
    assert_non_null(strstr(t.seal_text, "`cascade adopt ID --trust`"));
    assert_int_equal(t.chains, 1);
    assert_memory_equal(&t.chain, &ids[1], sizeof(t.chain));
    expect_last(store, &ids[0], &ids[1]);
    report = adopt(store, true, false, &t);
    assert_int_equal(report.left, 0);
    assert_int_equal(t.seals, 0);
    assert_int_equal(t.chains, 1);
    assert_memory_equal(&t.chain, &ids[2], sizeof(t.chain));
    assert_non_null(strstr(t.chain_text, "`cascade reseal ID --trust`"));
    expect_last(store, &ids[0], &ids[2]);
    assert_ok(cascade_store_close(store));
}

/* A run that was forged would be told if it were. */
static void
what_is_entered_as_it_is_to_be_is_not_read(test_db *db)
{
    cascade_store *store = open_store(db, true);
    cascade_uuid ids[3];
    told t;

    keyed_run_three(db, store, ids);
    forge(db, &ids[1]);
    forge(db, &ids[2]);
    assert_int_equal(adopt(store, false, false, &t).left, 0);
    assert_int_equal(t.seals + t.chains, 0);
    raw_sql(db, "DELETE FROM cascade_links");
    assert_int_equal(adopt(store, true, false, &t).left, 0);
    assert_int_equal(t.chains, 1);
    assert_memory_equal(&t.chain, &ids[2], sizeof(t.chain));
    assert_ok(cascade_store_close(store));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"the_last_run_is_entered_and_told", the_last_run_is_entered_and_told,
         STORES_FILES},
        {"with_integrity_too", with_integrity_too, STORES_FILES},
        {"a_run_without_its_seal_is_told_and_entered_by_trust",
         a_run_without_its_seal_is_told_and_entered_by_trust, STORES_FILES},
        {"what_is_entered_as_it_is_to_be_is_not_read",
         what_is_entered_as_it_is_to_be_is_not_read, STORES_FILES},
    };

    return stores_run("adopt_chain", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
