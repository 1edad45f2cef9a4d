/* SPDX-License-Identifier: MIT
 *
 * Adopting in a store with integrity: what fits its seal is repaired and sealed
 * by one commit, what does not is left until somebody trusts it.
 */
#include <stdio.h>
#include <string.h>

#include "api/raw_sql.h"
#include "cascade/integrity.h"
#include "cascade/manage.h"
#include "engine/support/peer.h"
#include "store/store.h"
#include "support/keyed.h"
#include "support/sealed.h"
#include "support/stores.h"

/* ---- Calls --------------------------------------------------------------- */

static cascade_store *
open_sealed(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    options.integrity = sealed_by_secret();
    assert_ok(cascade_store_open(db->url, &options, &store));
    return store;
}

typedef struct told {
    char seal[400]; /* the last of A14, or of V17 and V18 */
    size_t count;   /* how many there are of these */
} told;

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    told *t = context;

    (void)id;
    (void)function_id;
    if (strncmp(rule, "A14", 3) != 0 && strncmp(rule, "V17", 3) != 0 &&
        strncmp(rule, "V18", 3) != 0)
        return true;
    (void)snprintf(t->seal, sizeof(t->seal), "%s", text);
    t->count++;
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

    *t = (told){.count = 0};
    assert_ok(cascade_adopt(store, &options, &report));
    return report;
}

static size_t
verify(cascade_store *store, told *t)
{
    const cascade_check_options options = {
        .size = sizeof(options), .finding = note_finding, .context = t};
    cascade_check_report report = {.size = sizeof(report)};

    *t = (told){.count = 0};
    assert_ok(cascade_verify(store, &options, &report));
    return (size_t)report.findings;
}

/* ---- Strays -------------------------------------------------------------- */

static cascade_err
keep_row(void *context, const cascade_row *row)
{
    cascade_row *kept = context;

    *kept = *row;
    kept->user_id = "anonymous";
    return CASCADE_OK;
}

/* It ends its run without a seal, so the one that is there stays; another time
 * of its last write than the seal knows is forged. */
static cascade_uuid
make_stray(cascade_store *store, bool forged)
{
    const cascade_uuid id = db_start(store, "plan");
    cascade_change change = {.run_action = CASCADE_RUN_END};
    cascade_batch batch = {.number = 1, .changes = &change, .change_count = 1};
    const cascade_load_sink sink = {.context = &change.cascade,
                                    .on_cascade = keep_row};
    bool existed = false;

    assert_ok(store->driver->load(store->self, &id, 1, 0, &sink));
    change.cascade.updated_at_ms += forged;
    batch.engine_id = peer_own(store, "plan", 0);
    assert_ok(store->driver->commit(store->self, &batch, &existed));
    assert_ok(store->driver->detach(store->self, &batch.engine_id));
    return id;
}

static void
run_to_end(test_db *db, cascade_store *store, const cascade_uuid *id)
{
    cascade_engine *engine = db_engine(db, store, NULL);

    assert_ok(
        cascade_engine_register(engine, "plan", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    db_await(store, id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
}

static void
what_fits_its_seal_is_adopted_and_sealed(test_db *db)
{
    cascade_store *store = open_sealed(db);
    cascade_uuid id = make_stray(store, false);
    cascade_check_report report;
    told t;

    report = adopt(store, false, true, &t);
    assert_int_equal(report.repaired, 1);
    assert_int_equal(adopt(store, false, false, &t).repaired, 1);
    assert_int_equal(t.count, 0);
    assert_int_equal(adopt(store, false, false, &t).repaired, 0);
    assert_true(sealed_all(store, NULL));
    assert_int_equal(verify(store, &t), 0);
    run_to_end(db, store, &id);
    assert_int_equal(verify(store, &t), 0);
    assert_ok(cascade_store_close(store));
}

/* One beside it is adopted all the same. */
static void
what_does_not_fit_is_left_without_trust(test_db *db)
{
    cascade_store *store = open_sealed(db);
    cascade_uuid forged = make_stray(store, true);
    cascade_check_report report;
    told t;

    (void)make_stray(store, false);
    report = adopt(store, false, false, &t);
    assert_int_equal(report.repaired, 1);
    assert_int_equal(report.left, 1);
    assert_int_equal(report.unreadable, 0);
    assert_int_equal(t.count, 1);
    assert_non_null(strstr(t.seal, "its seal does not hold (the seal of"));
    assert_non_null(strstr(t.seal, "--trust"));
    assert_true(verify(store, &t) > 0);
    report = adopt(store, true, true, &t);
    assert_int_equal(report.repaired, 1);
    assert_true(verify(store, &t) > 0);
    report = adopt(store, true, false, &t);
    assert_int_equal(report.repaired, 1);
    assert_int_equal(report.left, 0);
    assert_int_equal(t.count, 0);
    assert_int_equal(verify(store, &t), 0);
    assert_true(sealed_all(store, NULL));
    run_to_end(db, store, &forged);
    assert_ok(cascade_store_close(store));
}

/* Those of a database of three tables, which had no seals. */
static void
what_has_no_seal_gets_its_first_by_trust(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_integrity any = *sealed_by_secret();
    cascade_store *plain = NULL;
    cascade_store *store = NULL;
    cascade_check_report report;
    cascade_uuid id;
    told t;

    options.integrity = NULL;
    assert_ok(cascade_store_open(db->url, &options, &plain));
    id = make_stray(plain, true);
    any.begin = CASCADE_INTEGRITY_BEGIN_ANY;
    options.integrity = &any;
    assert_ok(cascade_store_open(db->url, &options, &store));
    report = adopt(store, false, false, &t);
    assert_int_equal(report.left, 1);
    assert_int_equal(report.repaired, 0);
    assert_non_null(strstr(t.seal, "it has no seal"));
    assert_int_equal(adopt(store, true, false, &t).repaired, 1);
    assert_int_equal(verify(store, &t), 0);
    run_to_end(db, store, &id);
    assert_ok(cascade_store_close(plain));
    assert_ok(cascade_store_close(store));
}

/* ---- Keys and chains ----------------------------------------------------- */

static void
expect_current(cascade_store *store, const cascade_uuid *id)
{
    cascade_started started;

    assert_ok(cascade_start(store, "again", NULL, &keyed_options, &started));
    assert_true(started.existed);
    assert_memory_equal(&started.id, id, sizeof(*id));
}

/* The last run says of itself that it is; its rows are others by then. */
static void
a_key_and_a_chain_follow_what_is_sealed(test_db *db)
{
    cascade_store *store = open_sealed(db);
    cascade_uuid ids[3];
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[300];
    cascade_check_report report;
    told t;

    db->unsound = true;
    keyed_run_three(db, store, ids);
    raw_sql(db, "DELETE FROM cascade_keys");
    raw_sql(db, "DELETE FROM cascade_links");
    (void)snprintf(sql, sizeof(sql),
                   "UPDATE node_executions SET location = 'x'"
                   " WHERE cascade_id = '%s'",
                   cascade_uuid_format(&ids[2], text));
    raw_sql(db, sql);
    report = adopt(store, false, false, &t);
    assert_int_equal(report.repaired, 1);
    assert_int_equal(report.left, 1);
    expect_current(store, &ids[1]);
    (void)verify(store, &t);
    assert_int_equal(t.count, 2);
    assert_int_equal(adopt(store, true, false, &t).repaired, 1);
    expect_current(store, &ids[2]);
    (void)verify(store, &t);
    assert_int_equal(t.count, 0);
    assert_ok(cascade_store_close(store));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_fits_its_seal_is_adopted_and_sealed",
         what_fits_its_seal_is_adopted_and_sealed, STORES_ALL},
        {"what_does_not_fit_is_left_without_trust",
         what_does_not_fit_is_left_without_trust, STORES_ALL},
        {"what_has_no_seal_gets_its_first_by_trust",
         what_has_no_seal_gets_its_first_by_trust, STORES_ALL},
        {"a_key_and_a_chain_follow_what_is_sealed",
         a_key_and_a_chain_follow_what_is_sealed, STORES_FILES},
    };

    return stores_run("adopt_sealed", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
