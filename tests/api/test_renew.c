/* SPDX-License-Identifier: MIT
 *
 * Another key, and a database that gets integrity: seals are renewed cascade by
 * cascade, where what is there has the old one; and what comes by a document is
 * sealed by who takes it in.
 */
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cascade/integrity.h"
#include "cascade/manage.h"
#include "engine/support/peer.h"
#include "support/sealed.h"
#include "support/stores.h"
#include "support/wrap_store.h"

#define OF_ALL " of all"
#define OWN "00000000-0000-0000-0000-000000000000"

/* ---- Keys ---------------------------------------------------------------- */

typedef struct keys {
    const char *ids[2]; /* the first makes new seals; NULL: no more */
} keys;

static const keys only_old = {{"old", NULL}};
static const keys both = {{"new", "old"}};
static const keys only_new = {{"new", NULL}};

static cascade_err
give(void *context, size_t number, cascade_secret *secret)
{
    const keys *k = context;
    const char *id = number < 2 ? k->ids[number] : NULL;

    if (id == NULL)
        return CASCADE_ERR_NOT_FOUND;
    secret->id = id;
    secret->bytes = strcmp(id, "old") == 0 ? "the old secret" OF_ALL
                                           : "the new secret" OF_ALL;
    secret->len = strlen(secret->bytes);
    return CASCADE_OK;
}

static cascade_err
try_open(test_db *db, const keys *k, cascade_integrity_begin begin,
         cascade_store **store)
{
    keys copy = *k;
    const cascade_integrity integrity = {.size = sizeof(integrity),
                                         .mode = CASCADE_INTEGRITY_HMAC,
                                         .secret = give,
                                         .context = &copy,
                                         .begin = begin};
    cascade_store_options options = db_store_options(db);

    options.integrity = &integrity;
    return cascade_store_open(db->url, &options, store);
}

static cascade_store *
open_with(test_db *db, const keys *k)
{
    cascade_store *store = NULL;

    assert_ok(try_open(db, k, CASCADE_INTEGRITY_BEGIN_EMPTY, &store));
    return store;
}

static cascade_uuid
start_one(cascade_store *store)
{
    cascade_started started;

    assert_ok(cascade_start(store, "node", NULL, NULL, &started));
    return started.id;
}

/* ---- Calls --------------------------------------------------------------- */

static bool
note_finding(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    (void)id;
    (void)function_id;
    (void)snprintf(context, 300, "%s: %s", rule, text);
    return true;
}

static cascade_check_report
renew(cascade_store *store, const cascade_uuid *id, bool trust, char *found)
{
    const cascade_check_options options = {.size = sizeof(options),
                                           .id = id,
                                           .trust = trust,
                                           .finding = note_finding,
                                           .context = found};
    cascade_check_report report = {.size = sizeof(report)};

    found[0] = '\0';
    assert_ok(cascade_seal_renew(store, &options, &report));
    return report;
}

static void
expect_renewed(cascade_store *store, int64_t seen, int64_t renewed)
{
    char found[300];
    cascade_check_report report = renew(store, NULL, false, found);

    assert_string_equal(found, "");
    assert_int_equal(report.cascades, seen);
    assert_int_equal(report.repaired, renewed);
    assert_int_equal(report.left, 0);
    assert_int_equal(report.messages, 0);
}

static int64_t
count_findings(cascade_store *store)
{
    cascade_check_report report = {.size = sizeof(report)};

    assert_ok(cascade_verify(store, NULL, &report));
    return report.findings;
}

/* ---- Another key --------------------------------------------------------- */

#define MANY 205 /* more than a page */

static void
all_go_over_to_another_key(test_db *db)
{
    cascade_store *old = open_with(db, &only_old);
    cascade_store *store = NULL;
    cascade_store *later = NULL;

    for (int i = 0; i < MANY; i++)
        (void)start_one(old);
    store = open_with(db, &both);
    assert_int_equal(count_findings(store), 0);
    expect_renewed(store, MANY, MANY);
    expect_renewed(store, MANY, 0);
    assert_int_equal(count_findings(store), 0);
    assert_ok(cascade_store_close(old));
    later = open_with(db, &only_new);
    assert_int_equal(count_findings(later), 0);
    assert_fails(CASCADE_ERR_INVALID,
                 try_open(db, &only_old, CASCADE_INTEGRITY_BEGIN_EMPTY, &old));
    assert_ok(cascade_store_close(store));
    assert_ok(cascade_store_close(later));
}

/* Some are left until their messages are received. */
static void
the_old_key_stays_as_long_as_it_is_needed(test_db *db)
{
    cascade_store *old = open_with(db, &only_old);
    cascade_uuid id = start_one(old);
    cascade_store *store = NULL;
    cascade_store *later = NULL;
    cascade_check_report report;
    char found[300];

    assert_ok(cascade_signal(old, &id, "go", NULL, NULL));
    store = open_with(db, &both);
    report = renew(store, NULL, false, found);
    assert_int_equal(report.repaired, 1);
    assert_int_equal(report.messages, 1);
    assert_string_equal(found, "");
    assert_fails(
        CASCADE_ERR_INVALID,
        try_open(db, &only_new, CASCADE_INTEGRITY_BEGIN_EMPTY, &later));
    assert_ok(cascade_store_close(old));
    assert_ok(cascade_store_close(store));
}

/* One that it has loaded it seals itself. */
static void
what_an_engine_has_is_left(test_db *db)
{
    cascade_store *old = open_with(db, &only_old);
    cascade_store *store = NULL;
    cascade_check_report report;
    cascade_uuid peer;
    char found[300];

    (void)start_one(old);
    store = open_with(db, &both);
    peer = peer_own(store, "node", 0);
    report = renew(store, NULL, false, found);
    assert_int_equal(report.left, 1);
    assert_int_equal(report.repaired, 0);
    peer_remove(store, &peer);
    expect_renewed(store, 1, 1);
    assert_ok(cascade_store_close(old));
    assert_ok(cascade_store_close(store));
}

static void
a_dry_run_renews_nothing(test_db *db)
{
    cascade_store *old = open_with(db, &only_old);
    cascade_store *store = NULL;
    cascade_check_options options = {.size = sizeof(options), .dry_run = true};
    cascade_check_report report = {.size = sizeof(report)};

    (void)start_one(old);
    store = open_with(db, &both);
    assert_ok(cascade_seal_renew(store, &options, &report));
    assert_int_equal(report.repaired, 1);
    assert_int_equal(count_findings(old), 0);
    expect_renewed(store, 1, 1);
    assert_int_equal(count_findings(old), 1);
    assert_ok(cascade_store_close(old));
    assert_ok(cascade_store_close(store));
}

/* ---- What does not fit --------------------------------------------------- */

static void
what_was_changed_is_sealed_by_trust_alone(test_db *db)
{
    cascade_store *old = open_with(db, &only_old);
    cascade_uuid id = start_one(old);
    cascade_store *store = NULL;
    cascade_check_report report;
    char found[300];

    store = open_with(db, &both);
    assert_int_equal(db_sql(db, "UPDATE node_executions SET location = 'x'"),
                     0);
    for (int i = 0; i < 2; i++) {
        report = renew(store, NULL, false, found);
        assert_int_equal(report.repaired, 0);
        assert_int_equal(report.findings, 1);
        assert_non_null(strstr(found, "V18 seal: the seal of cascade"));
        assert_int_equal(count_findings(store), 1);
    }
    report = renew(store, &id, true, found);
    assert_int_equal(report.repaired, 1);
    assert_int_equal(count_findings(store), 0);
    assert_int_equal(db_sql(db, "DELETE FROM cascade_seals WHERE cascade_id"
                                " <> '" OWN "'"),
                     0);
    report = renew(store, NULL, false, found);
    assert_non_null(strstr(found, "it has no seal"));
    report = renew(store, NULL, true, found);
    assert_int_equal(report.repaired, 1);
    assert_int_equal(report.findings, 0);
    assert_int_equal(count_findings(store), 0);
    assert_ok(cascade_store_close(old));
    assert_ok(cascade_store_close(store));
}

/* It had cascades before. */
static void
a_database_with_cascades_gets_integrity(test_db *db)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *plain = NULL;
    cascade_store *store = NULL;
    cascade_check_report report;
    char found[300];

    options.integrity = NULL;
    assert_ok(cascade_store_open(db->url, &options, &plain));
    (void)start_one(plain);
    (void)start_one(plain);
    assert_fails(
        CASCADE_ERR_INVALID,
        try_open(db, &only_new, CASCADE_INTEGRITY_BEGIN_EMPTY, &store));
    assert_ok(try_open(db, &only_new, CASCADE_INTEGRITY_BEGIN_ANY, &store));
    assert_int_equal(count_findings(store), 2);
    report = renew(store, NULL, false, found);
    assert_int_equal(report.findings, 2);
    report = renew(store, NULL, true, found);
    assert_int_equal(report.repaired, 2);
    assert_int_equal(count_findings(store), 0);
    assert_true(sealed_all(store, NULL));
    assert_ok(cascade_store_close(plain));
    assert_ok(cascade_store_close(store));
}

static void
what_makes_no_sense_is_refused(test_db *db)
{
    cascade_store_options plain = db_store_options(db);
    cascade_check_options options = {.size = sizeof(options)};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_store *store = NULL;
    cascade_uuid nobody = {{1}};

    plain.integrity = NULL;
    assert_ok(cascade_store_open(db->url, &plain, &store));
    assert_fails(CASCADE_ERR_UNSUPPORTED,
                 cascade_seal_renew(store, NULL, &report));
    assert_ok(cascade_store_close(store));
    store = open_with(db, &only_new);
    options.id = &nobody;
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_seal_renew(store, &options, &report));
    assert_fails(CASCADE_ERR_INVALID, cascade_seal_renew(store, NULL, NULL));
    assert_fails(CASCADE_ERR_INVALID, cascade_seal_renew(NULL, NULL, &report));
    assert_ok(cascade_seal_renew(store, NULL, &report));
    assert_int_equal(report.cascades, 0);
    assert_ok(cascade_store_close(store));
}

/* ---- What goes meanwhile ------------------------------------------------- */

/* Whom a purge takes between the list and the load of its rows. */
typedef struct taker {
    cascade_uuid id;
    const cascade_store_driver *driver; /* the real one */
    size_t taken;
} taker;

static cascade_err
take_before_load(void *context, const wrap_call *call)
{
    taker *t = context;
    cascade_err err = CASCADE_OK;

    if (call->move == WRAP_LOAD && t->taken == 0 &&
        (call->parts & CASCADE_LOAD_EXECUTIONS) != 0)
        err = t->driver->manage->purge(call->self, &t->id, 1, INT64_MAX,
                                       &t->taken);
    return err;
}

static cascade_uuid
run_one(test_db *db, cascade_store *store)
{
    cascade_engine *engine = db_engine(db, store, NULL);
    cascade_uuid id = start_one(store);

    assert_ok(
        cascade_engine_register(engine, "node", stores_nothing, NULL, NULL));
    assert_ok(cascade_engine_start(engine));
    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, engine);
    return id;
}

/* It has no rows to be sealed, and is no finding. */
static void
what_is_deleted_meanwhile_is_passed_over(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;
    cascade_check_report report;
    taker t = {.taken = 0};
    char found[300];

    assert_non_null(wrap);
    db->integrity = sealed_by_secret();
    store = db_wrapped(db, wrap);
    t.id = run_one(db, store);
    t.driver = wrap->inner;
    wrap->context = &t;
    wrap->before = take_before_load;
    report = renew(store, &t.id, true, found);
    wrap->before = NULL;
    assert_int_equal(t.taken, 1);
    assert_string_equal(found, "");
    assert_int_equal(report.repaired + report.left, 0);
    db_close_store(db, store);
    wrap_store_free(wrap);
}

/* An engine takes the cascade behind the last look at who has it, with the old
 * seal, and ends it when it may. */
typedef struct race {
    test_db *db;
    cascade_store *old;
    cascade_engine *engine;
    sem_t begun;
    sem_t may_end;
    cascade_seal_count counted;
    char seal[256]; /* of that */
    size_t shown;
    char found[300];
} race;

static cascade_err
end_later(cascade_node *node, void *user)
{
    race *r = user;

    (void)node;
    sem_post(&r->begun);
    stores_await(&r->may_end);
    return CASCADE_OK;
}

static cascade_err
take_before_seal(void *context, const wrap_call *call)
{
    race *r = context;

    if (call->move != WRAP_SEAL || r->engine != NULL)
        return CASCADE_OK;
    r->engine = db_engine(r->db, r->old, NULL);
    assert_ok(cascade_engine_register(r->engine, "node", end_later, r, NULL));
    assert_ok(cascade_engine_start(r->engine));
    stores_await(&r->begun);
    return CASCADE_OK;
}

static bool
keep_count(void *context, const cascade_seal_count *count)
{
    race *r = context;

    (void)snprintf(r->seal, sizeof(r->seal), "%s", count->seal);
    r->counted = *count;
    r->counted.seal = r->seal;
    return true;
}

static cascade_err
show_count(void *context, cascade_seal_count *count)
{
    race *r = context;

    if (r->shown++ > 0)
        return CASCADE_ERR_NOT_FOUND;
    *count = r->counted;
    return CASCADE_OK;
}

static bool
note_in_race(void *context, const cascade_uuid *id, int32_t function_id,
             const char *rule, const char *text)
{
    return note_finding(((race *)context)->found, id, function_id, rule, text);
}

static void
verify_count(cascade_store *store, race *r, bool compares)
{
    const cascade_check_options options = {
        .size = sizeof(options),
        .finding = note_in_race,
        .context = r,
        .counted = compares ? NULL : keep_count,
        .known = compares ? show_count : NULL};
    cascade_check_report report = {.size = sizeof(report)};

    r->shown = 0;
    assert_ok(cascade_verify(store, &options, &report));
    assert_string_equal(r->found, "");
    assert_int_equal(report.compared, compares);
}

/* With both keys, as whoever looks at the rows in the end. */
static cascade_store *
open_wrapped(test_db *db, wrap_store *wrap)
{
    static keys copy;
    static const cascade_integrity integrity = {.size = sizeof(integrity),
                                                .mode = CASCADE_INTEGRITY_HMAC,
                                                .secret = give,
                                                .context = &copy};

    assert_non_null(wrap);
    copy = both;
    db->integrity = &integrity;
    return db_wrapped(db, wrap);
}

/* The old seal of the next number comes over the new one of that number. */
static void
a_count_between_a_renewal_and_a_commit_is_no_finding(test_db *db)
{
    wrap_store *wrap = wrap_store_create(db->url);
    race r = {.db = db, .old = open_with(db, &only_old)};
    cascade_uuid id = start_one(r.old);
    cascade_store *store = open_wrapped(db, wrap);
    char found[300];

    assert_int_equal(sem_init(&r.begun, 0, 0), 0);
    assert_int_equal(sem_init(&r.may_end, 0, 0), 0);
    wrap->context = &r;
    wrap->before = take_before_seal;
    assert_int_equal(renew(store, &id, false, found).repaired, 1);
    verify_count(store, &r, false);
    assert_int_equal(r.counted.number, 2);
    assert_non_null(strstr(r.seal, "new"));
    sem_post(&r.may_end);
    db_await(store, &id, CASCADE_COMPLETED);
    db_close_engine(db, r.engine);
    verify_count(store, &r, true);
    assert_int_equal(renew(store, &id, false, found).repaired, 1);
    verify_count(store, &r, true);
    sem_destroy(&r.begun);
    sem_destroy(&r.may_end);
    assert_ok(cascade_store_close(r.old));
    db_close_store(db, store);
    wrap_store_free(wrap);
}

/* ---- Documents ----------------------------------------------------------- */

/* A document tells of no seal: who takes it in seals what it has. */
static void
what_is_imported_is_sealed_by_who_imports(test_db *db)
{
    const cascade_import_options anew = {.size = sizeof(anew), .new_ids = true};
    const cascade_export_options tokens = {.size = sizeof(tokens),
                                           .tokens = true};
    cascade_store *store = open_with(db, &only_new);
    cascade_uuid id = start_one(store);
    cascade_started started;
    char *document = NULL;
    size_t count = 0;

    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    assert_ok(cascade_export(store, &id, &tokens, &document));
    assert_null(strstr(document, "h1:"));
    assert_null(strstr(document, "seal"));
    assert_ok(cascade_import(store, document, &anew, &started));
    assert_true(sealed_all(store, &count));
    assert_int_equal(count, 2);
    assert_int_equal(count_findings(store), 0);
    cascade_document_free(document);
    assert_ok(cascade_store_close(store));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"all_go_over_to_another_key", all_go_over_to_another_key, STORES_ALL},
        {"the_old_key_stays_as_long_as_it_is_needed",
         the_old_key_stays_as_long_as_it_is_needed, STORES_ALL},
        {"what_an_engine_has_is_left", what_an_engine_has_is_left, STORES_ALL},
        {"a_dry_run_renews_nothing", a_dry_run_renews_nothing, STORES_ALL},
        {"what_was_changed_is_sealed_by_trust_alone",
         what_was_changed_is_sealed_by_trust_alone, STORES_FILES},
        {"a_database_with_cascades_gets_integrity",
         a_database_with_cascades_gets_integrity, STORES_ALL},
        {"what_makes_no_sense_is_refused", what_makes_no_sense_is_refused,
         STORES_ALL},
        {"what_is_deleted_meanwhile_is_passed_over",
         what_is_deleted_meanwhile_is_passed_over, STORES_ALL},
        {"a_count_between_a_renewal_and_a_commit_is_no_finding",
         a_count_between_a_renewal_and_a_commit_is_no_finding, STORES_ALL},
        {"what_is_imported_is_sealed_by_who_imports",
         what_is_imported_is_sealed_by_who_imports, STORES_ALL},
    };

    return stores_run("renew", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
