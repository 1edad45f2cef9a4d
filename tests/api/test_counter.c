/* SPDX-License-Identifier: MIT
 *
 * A counter outside: what is gone, and what was put back, is found against what
 * was counted before, by nothing else; and what a counter has to be.
 */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cascade/integrity.h"
#include "cascade/manage.h"
#include "support/sealed.h"
#include "support/stores.h"

#define COUNTS_MAX 300

/* What was counted; and, shown again, what was found. */
typedef struct counter {
    cascade_seal_count counts[COUNTS_MAX];
    char seals[COUNTS_MAX][256];
    size_t count;
    size_t at;           /* the next that is shown */
    cascade_err err;     /* instead of it */
    size_t stops_at;     /* no more are received */
    size_t other;        /* findings of other rules */
    char found[4][256];  /* what the first findings say */
    cascade_uuid ids[4]; /* of what */
    size_t found_count;
} counter;

static bool
receive(void *context, const cascade_seal_count *count)
{
    counter *c = context;

    if (c->count == c->stops_at)
        return false;
    assert_true(c->count < COUNTS_MAX);
    (void)snprintf(c->seals[c->count], sizeof(c->seals[0]), "%s", count->seal);
    c->counts[c->count] = *count;
    c->counts[c->count].seal = c->seals[c->count];
    c->count++;
    return true;
}

static cascade_err
show(void *context, cascade_seal_count *count)
{
    counter *c = context;

    if (c->err != CASCADE_OK)
        return c->err;
    if (c->at == c->count)
        return CASCADE_ERR_NOT_FOUND;
    *count = c->counts[c->at++];
    return CASCADE_OK;
}

static bool
find(void *context, const cascade_uuid *id, int32_t function_id,
     const char *rule, const char *text)
{
    counter *c = context;

    assert_int_equal(function_id, -1);
    if (strcmp(rule, "V19 counter") != 0) {
        print_error("%s: %s\n", rule, text);
        c->other++;
        return true;
    }
    if (c->found_count < 4) {
        (void)snprintf(c->found[c->found_count], sizeof(c->found[0]), "%s",
                       text);
        c->ids[c->found_count] = *id;
    }
    c->found_count++;
    return true;
}

static cascade_check_options
options_of(counter *c, bool counts, bool compares)
{
    return (cascade_check_options){.size = sizeof(cascade_check_options),
                                   .finding = find,
                                   .context = c,
                                   .counted = counts ? receive : NULL,
                                   .known = compares ? show : NULL};
}

static void
count_all(cascade_store *store, counter *c)
{
    cascade_check_options options = options_of(c, true, false);
    cascade_check_report report = {.size = sizeof(report)};

    *c = (counter){.stops_at = COUNTS_MAX};
    assert_ok(cascade_verify(store, &options, &report));
    assert_int_equal(report.compared, 0);
    assert_int_equal(report.findings, 0);
}

/* Only the counter finds anything, and that is what `found` has then. */
static void
compare(cascade_store *store, counter *c, size_t found_count)
{
    cascade_check_options options = options_of(c, false, true);
    cascade_check_report report = {.size = sizeof(report)};

    c->at = c->found_count = c->other = 0;
    assert_ok(cascade_verify(store, &options, &report));
    for (size_t i = 0; i < c->found_count && i < 4; i++)
        if (c->found_count != found_count)
            print_error("%s\n", c->found[i]);
    assert_int_equal(c->found_count, found_count);
    assert_int_equal(c->other, 0);
    assert_int_equal(report.findings, found_count);
    assert_int_equal(report.compared, c->count);
}

static void
check_found(const counter *c, size_t i, const cascade_uuid *id,
            const char *text)
{
    assert_memory_equal(&c->ids[i], id, sizeof(*id));
    if (strstr(c->found[i], text) == NULL)
        fail_msg("\"%s\" is not in: %s", text, c->found[i]);
}

/* ---- Stores -------------------------------------------------------------- */

static cascade_store *
open_sealed(test_db *db, const cascade_integrity *integrity)
{
    cascade_store_options options = db_store_options(db);
    cascade_store *store = NULL;

    options.integrity = integrity;
    assert_ok(cascade_store_open(db->url, &options, &store));
    return store;
}

static cascade_uuid
start_one(cascade_store *store)
{
    cascade_started started;

    assert_ok(cascade_start(store, "node", NULL, NULL, &started));
    return started.id;
}

/* Carried out by the call, as there is no engine. */
static void
go_on(cascade_store *store, const cascade_uuid *id)
{
    const cascade_request_options options = {.size = sizeof(options),
                                             .wait_ms = -1};

    assert_ok(cascade_pause(store, id, &options));
    assert_ok(cascade_resume(store, id, &options));
}

/* ---- What is compared ---------------------------------------------------- */

static void
what_goes_on_and_what_begins_is_no_finding(test_db *db)
{
    cascade_store *store = open_sealed(db, sealed_by_secret());
    cascade_uuid id = start_one(store);
    counter c;

    (void)start_one(store);
    (void)start_one(store);
    count_all(store, &c);
    assert_int_equal(c.count, 3);
    compare(store, &c, 0);
    go_on(store, &id);
    (void)start_one(store);
    compare(store, &c, 0);
    count_all(store, &c);
    assert_int_equal(c.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true((c.counts[i].number > 1) ==
                    (memcmp(&c.counts[i].id, &id, sizeof(id)) == 0));
    assert_ok(cascade_store_close(store));
}

/* As if they had been so when they were counted. */
static void
what_is_less_than_it_was_is_found(test_db *db)
{
    cascade_store *store = open_sealed(db, sealed_by_secret());
    counter c;

    for (int i = 0; i < 3; i++)
        (void)start_one(store);
    count_all(store, &c);
    c.counts[0].number++;
    c.counts[2].seal = c.counts[1].seal;
    compare(store, &c, 2);
    check_found(&c, 0, &c.counts[0].id,
                "counted with number 2, and has number 1");
    check_found(&c, 1, &c.counts[2].id, "another seal of number 1");
    memset(&c.counts[2].id, 0xff, sizeof(c.counts[2].id));
    compare(store, &c, 2);
    check_found(&c, 1, &c.counts[2].id, "counted with number 1, and is gone");
    memset(&c.counts[0].id, 0, sizeof(c.counts[0].id));
    c.counts[0].id.bytes[15] = 1;
    compare(store, &c, 2);
    check_found(&c, 0, &c.counts[0].id, "counted with number 2, and is gone");
    assert_ok(cascade_store_close(store));
}

static void
what_was_deleted_is_told(test_db *db)
{
    const cascade_request_options options = {.size = sizeof(options),
                                             .wait_ms = -1};
    cascade_store *store = open_sealed(db, sealed_by_secret());
    cascade_uuid id = start_one(store);
    counter c;

    count_all(store, &c);
    assert_ok(cascade_delete(store, &id, &options));
    compare(store, &c, 1);
    check_found(&c, 0, &id, "is gone");
    count_all(store, &c);
    assert_int_equal(c.count, 0);
    compare(store, &c, 0);
    assert_ok(cascade_store_close(store));
}

static void
more_than_a_page_is_compared(test_db *db)
{
    static const cascade_integrity checksum = {
        .size = sizeof(checksum), .mode = CASCADE_INTEGRITY_CHECKSUM};
    cascade_store *store = open_sealed(db, &checksum);
    counter c;

    for (int i = 0; i < 210; i++)
        (void)start_one(store);
    count_all(store, &c);
    assert_int_equal(c.count, 210);
    for (size_t i = 1; i < c.count; i++)
        assert_true(memcmp(&c.counts[i - 1].id, &c.counts[i].id,
                           sizeof(cascade_uuid)) < 0);
    compare(store, &c, 0);
    for (size_t i = 0; i < c.count; i += 3)
        c.counts[i].number++;
    compare(store, &c, 70);
    assert_ok(cascade_store_close(store));
}

/* ---- Who writes the database --------------------------------------------- */

#define TABLES(X) \
    X(cascades) X(node_executions) X(cascade_runs) X(cascade_seals)

#define KEEP(table) "CREATE TABLE kept_" #table " AS SELECT * FROM " #table ";"
#define CLEAR(table) "DELETE FROM " #table ";"
#define RESTORE(table) "INSERT INTO " #table " SELECT * FROM kept_" #table ";"

/* All rows that a cascade has, with their seals, are what they were. */
static void
what_was_put_back_is_found_by_the_counter_alone(test_db *db)
{
    cascade_store *store = open_sealed(db, sealed_by_secret());
    cascade_uuid id = start_one(store);
    counter c;

    assert_int_equal(db_sql(db, TABLES(KEEP)), 0);
    go_on(store, &id);
    count_all(store, &c);
    compare(store, &c, 0);
    assert_int_equal(db_sql(db, "DELETE FROM cascade_seals;"
                                "DELETE FROM cascade_runs;"
                                "DELETE FROM node_executions;"
                                "DELETE FROM cascades;"),
                     0);
    assert_int_equal(db_sql(db, TABLES(RESTORE)), 0);
    compare(store, &c, 1);
    check_found(&c, 0, &id, "put back to what it was");
    assert_int_equal(db_sql(db, "DELETE FROM cascade_seals WHERE cascade_id <>"
                                " '00000000-0000-0000-0000-000000000000';"
                                "DELETE FROM cascade_runs;"
                                "DELETE FROM node_executions;"
                                "DELETE FROM cascades;"),
                     0);
    compare(store, &c, 1);
    check_found(&c, 0, &id, "is gone");
    assert_ok(cascade_store_close(store));
}

/* ---- What a counter is not ----------------------------------------------- */

static void
verify_fails(cascade_store *store, const cascade_check_options *options,
             cascade_err err, const char *why)
{
    cascade_check_report report = {.size = sizeof(report)};
    size_t live = csc_mem_live();

    assert_fails(err, cascade_verify(store, options, &report));
    assert_int_equal(csc_mem_live(), live);
    if (strstr(cascade_errmsg(), why) == NULL)
        fail_msg("\"%s\" is not in: %s", why, cascade_errmsg());
}

static void
what_is_no_counter_is_refused(test_db *db)
{
    cascade_store *store = open_sealed(db, sealed_by_secret());
    cascade_uuid id = start_one(store);
    cascade_check_report report = {.size = sizeof(report)};
    counter c;
    cascade_check_options options = options_of(&c, false, true);

    (void)start_one(store);
    count_all(store, &c);
    options.id = &id;
    verify_fails(store, &options, CASCADE_ERR_INVALID, "is of all cascades");
    options.id = NULL;
    assert_fails(CASCADE_ERR_INVALID, cascade_adopt(store, &options, &report));
    c.counts[1].id = c.counts[0].id;
    verify_fails(store, &options, CASCADE_ERR_INVALID, "do not ascend");
    c.counts[0].number = 0;
    c.at = 0;
    verify_fails(store, &options, CASCADE_ERR_INVALID, "never counted");
    c.err = CASCADE_ERR_UNAVAILABLE;
    verify_fails(store, &options, CASCADE_ERR_UNAVAILABLE, "gave no count");
    options = options_of(&c, true, false);
    c = (counter){.stops_at = 1};
    verify_fails(store, &options, CASCADE_ERR_STOPPED, "counted function");
    assert_int_equal(c.count, 1);
    assert_ok(cascade_store_close(store));
}

static void
without_seals_there_is_nothing_to_count(test_db *db)
{
    cascade_store *store = open_sealed(db, NULL);
    counter c = {.stops_at = COUNTS_MAX};
    cascade_check_options options = options_of(&c, true, false);

    verify_fails(store, &options, CASCADE_ERR_UNSUPPORTED, "no integrity");
    options = options_of(&c, false, true);
    verify_fails(store, &options, CASCADE_ERR_UNSUPPORTED, "no integrity");
    assert_ok(cascade_store_close(store));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"what_goes_on_and_what_begins_is_no_finding",
         what_goes_on_and_what_begins_is_no_finding, STORES_ALL},
        {"what_is_less_than_it_was_is_found", what_is_less_than_it_was_is_found,
         STORES_ALL},
        {"what_was_deleted_is_told", what_was_deleted_is_told, STORES_ALL},
        {"more_than_a_page_is_compared", more_than_a_page_is_compared,
         STORES_ALL},
        {"what_was_put_back_is_found_by_the_counter_alone",
         what_was_put_back_is_found_by_the_counter_alone, STORES_FILES},
        {"what_is_no_counter_is_refused", what_is_no_counter_is_refused,
         STORES_ALL},
        {"without_seals_there_is_nothing_to_count",
         without_seals_there_is_nothing_to_count, STORES_ALL},
    };

    return stores_run("counter", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
