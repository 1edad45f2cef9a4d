/* SPDX-License-Identifier: MIT
 *
 * The integrity of a store: which options are refused, which mode a database
 * has from the first handle on, and what handles with another mode or another
 * key are told.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cascade/integrity.h"
#include "cascade/manage.h"
#include "support/sealed.h"
#include "support/stores.h"

#define OWN "00000000-0000-0000-0000-000000000000"

/* ---- Keys ---------------------------------------------------------------- */

/* What the callback gives; behind the last one there are no more. */
typedef struct keys {
    cascade_secret secrets[CASCADE_SECRETS_MAX + 2];
    size_t count;
    cascade_err err; /* instead of them */
    size_t asked;
    char buffer[64]; /* each secret lies here, over the one before */
} keys;

static cascade_err
give(void *context, size_t number, cascade_secret *secret)
{
    keys *k = context;

    k->asked++;
    memset(k->buffer, 0, sizeof(k->buffer));
    if (k->err != CASCADE_OK)
        return k->err;
    if (number >= k->count)
        return CASCADE_ERR_NOT_FOUND;
    *secret = k->secrets[number];
    if (secret->bytes == NULL)
        return CASCADE_OK;
    assert_true(secret->len <= sizeof(k->buffer));
    memcpy(k->buffer, secret->bytes, secret->len);
    secret->bytes = k->buffer;
    return CASCADE_OK;
}

#define SECRET(name, text)               \
    (cascade_secret)                     \
    {                                    \
        (name), (text), sizeof(text) - 1 \
    }
static const char first_secret[] = "the first secret of all";
static const char other_secret[] = "another secret than that";

static keys
one_key(const char *id, const char *text)
{
    return (keys){.secrets = {{id, text, strlen(text)}}, .count = 1};
}

static cascade_integrity
of_mode(cascade_integrity_mode mode, keys *k)
{
    return (cascade_integrity){.size = sizeof(cascade_integrity),
                               .mode = mode,
                               .secret =
                                   mode == CASCADE_INTEGRITY_HMAC ? give : NULL,
                               .context = k};
}

/* ---- Handles ------------------------------------------------------------- */

static cascade_err
try_open(test_db *db, const cascade_integrity *integrity,
         cascade_migrate migrate, cascade_store **store)
{
    cascade_store_options options = db_store_options(db);

    options.integrity = integrity;
    options.migrate = migrate;
    return cascade_store_open(db->url, &options, store);
}

/* Opens it, and closes it again. */
static void
open_once(test_db *db, cascade_integrity_mode mode, keys *k)
{
    cascade_integrity integrity = of_mode(mode, k);
    cascade_store *store = NULL;

    assert_ok(try_open(db, &integrity, CASCADE_MIGRATE_AUTO, &store));
    assert_ok(cascade_store_close(store));
}

/* Opening fails, frees all, and says why. */
static void
open_fails(test_db *db, const cascade_integrity *integrity, cascade_err err,
           const char *why)
{
    cascade_store *store = NULL;
    size_t live = csc_mem_live();

    assert_fails(err, try_open(db, integrity, CASCADE_MIGRATE_AUTO, &store));
    assert_null(store);
    assert_int_equal(csc_mem_live(), live);
    if (strstr(cascade_errmsg(), why) == NULL)
        fail_msg("\"%s\" is not in: %s", why, cascade_errmsg());
    assert_null(strstr(cascade_errmsg(), first_secret));
    assert_null(strstr(cascade_errmsg(), other_secret));
}

static void
mode_fails(test_db *db, cascade_integrity_mode mode, keys *k, cascade_err err,
           const char *why)
{
    cascade_integrity integrity = of_mode(mode, k);

    open_fails(db, &integrity, err, why);
}

static cascade_uuid
start_one(cascade_store *store)
{
    cascade_started started;

    assert_ok(cascade_start(store, "node", NULL, NULL, &started));
    return started.id;
}

/* Keeps the memory store, which goes with its last handle; without a look at
 * the rest. */
static cascade_store *
keep(test_db *db)
{
    cascade_store *store = NULL;

    assert_ok(try_open(db, NULL, CASCADE_MIGRATE_AUTO, &store));
    return store;
}

/* ---- Options ------------------------------------------------------------- */

static void
options_that_make_no_sense_are_refused(test_db *db)
{
    keys good = one_key("one", first_secret);
    cascade_integrity integrity = of_mode((cascade_integrity_mode)3, &good);

    open_fails(db, &integrity, CASCADE_ERR_INVALID, "mode is 3");
    integrity = of_mode(CASCADE_INTEGRITY_HMAC, &good);
    integrity.secret = NULL;
    open_fails(db, &integrity, CASCADE_ERR_INVALID, "HMAC needs");
    integrity = of_mode(CASCADE_INTEGRITY_CHECKSUM, &good);
    integrity.secret = give;
    open_fails(db, &integrity, CASCADE_ERR_INVALID, "is for HMAC");
    integrity.mode = CASCADE_INTEGRITY_NONE;
    open_fails(db, &integrity, CASCADE_ERR_INVALID, "is for HMAC");
    integrity = of_mode(CASCADE_INTEGRITY_CHECKSUM, NULL);
    integrity.size = 3;
    open_fails(db, &integrity, CASCADE_ERR_INVALID, "size is 3");
    integrity = of_mode(CASCADE_INTEGRITY_HMAC, &good);
    integrity.begin = (cascade_integrity_begin)9;
    open_fails(db, &integrity, CASCADE_ERR_INVALID, "begin is 9");
    assert_int_equal(good.asked, 0);
}

static void
hmac_fails(test_db *db, keys k, cascade_err err, const char *why)
{
    mode_fails(db, CASCADE_INTEGRITY_HMAC, &k, err, why);
}

static void
keys_that_are_none_are_refused(test_db *db)
{
    keys many = {.count = CASCADE_SECRETS_MAX + 1};
    char names[CASCADE_SECRETS_MAX + 1][8];

    hmac_fails(db, (keys){.count = 0}, CASCADE_ERR_NOT_FOUND, "no key 0");
    hmac_fails(db, (keys){.err = CASCADE_ERR_UNAVAILABLE},
               CASCADE_ERR_UNAVAILABLE, "no key 0");
    hmac_fails(db, one_key(NULL, first_secret), CASCADE_ERR_INVALID, "no id");
    hmac_fails(db, (keys){.secrets = {{"one", NULL, 20}}, .count = 1},
               CASCADE_ERR_INVALID, "no bytes");
    hmac_fails(db, one_key("one", "too short"), CASCADE_ERR_INVALID,
               "key one has 9 bytes");
    hmac_fails(db, one_key("a b", first_secret), CASCADE_ERR_INVALID,
               "the id of a key");
    hmac_fails(db,
               (keys){.secrets = {SECRET("one", "the first secret of all"),
                                  SECRET("one", "another secret than that")},
                      .count = 2},
               CASCADE_ERR_INVALID, "given twice");
    for (size_t i = 0; i <= CASCADE_SECRETS_MAX; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "key%zu", i);
        many.secrets[i] =
            (cascade_secret){names[i], first_secret, strlen(first_secret)};
    }
    hmac_fails(db, many, CASCADE_ERR_TOO_LARGE, "16 keys at most");
    many.count--;
    open_once(db, CASCADE_INTEGRITY_HMAC, &many);
}

/* ---- The mode of a database ---------------------------------------------- */

/* Each mode that a database can have, opened with each. */
static void
expect_mode(test_db *db, cascade_integrity_mode stored)
{
    keys k = one_key("one", first_secret);
    static const char *const words[] = {"with none", "with checksum",
                                        "with hmac"};

    for (cascade_integrity_mode mode = CASCADE_INTEGRITY_NONE;
         mode <= CASCADE_INTEGRITY_HMAC; mode++) {
        if (mode == stored)
            open_once(db, mode, &k);
        else
            mode_fails(db, mode, &k, CASCADE_ERR_INVALID, words[mode]);
    }
}

static void
a_database_has_the_mode_of_its_first_store(test_db *db,
                                           cascade_integrity_mode mode)
{
    cascade_store *kept = keep(db);
    keys k = one_key("one", first_secret);
    cascade_store *never = NULL;

    open_once(db, CASCADE_INTEGRITY_NONE, NULL);
    open_once(db, mode, &k);
    expect_mode(db, mode);
    expect_mode(db, mode); /* what was refused has changed nothing */
    assert_ok(try_open(db, NULL, CASCADE_MIGRATE_NEVER, &never));
    assert_ok(cascade_store_close(never));
    assert_ok(cascade_store_close(kept));
}

static void
checksums_stay_checksums(test_db *db)
{
    a_database_has_the_mode_of_its_first_store(db, CASCADE_INTEGRITY_CHECKSUM);
}

static void
secrets_stay_secrets(test_db *db)
{
    a_database_has_the_mode_of_its_first_store(db, CASCADE_INTEGRITY_HMAC);
}

static void
a_key_is_known_by_its_id_and_its_bytes(test_db *db)
{
    cascade_store *kept = keep(db);
    keys k = one_key("one", first_secret);
    keys both = {.secrets = {SECRET("two", "another secret than that"),
                             SECRET("one", "the first secret of all")},
                 .count = 2};

    open_once(db, CASCADE_INTEGRITY_HMAC, &k);
    hmac_fails(db, one_key("one", other_secret), CASCADE_ERR_CORRUPT,
               "the key \"one\" that is given");
    hmac_fails(db, one_key("two", first_secret), CASCADE_ERR_INVALID,
               "with key one, which is not given");
    open_once(db, CASCADE_INTEGRITY_HMAC, &both);
    open_once(db, CASCADE_INTEGRITY_HMAC, &k);
    assert_ok(cascade_store_close(kept));
}

static void
cascades_without_seals_are_not_taken_for_sealed(test_db *db)
{
    cascade_store *kept = keep(db);
    keys k = one_key("one", first_secret);

    (void)start_one(kept);
    mode_fails(db, CASCADE_INTEGRITY_CHECKSUM, &k, CASCADE_ERR_INVALID,
               "without seals");
    mode_fails(db, CASCADE_INTEGRITY_HMAC, &k, CASCADE_ERR_INVALID,
               "without seals");
    open_once(db, CASCADE_INTEGRITY_NONE, NULL);
    assert_ok(cascade_store_close(kept));
}

static void
who_only_looks_begins_nothing(test_db *db)
{
    cascade_store *kept = keep(db);
    keys k = one_key("one", first_secret);
    cascade_integrity looks = of_mode(CASCADE_INTEGRITY_HMAC, &k);
    cascade_store *store = NULL;

    looks.begin = CASCADE_INTEGRITY_BEGIN_NEVER;
    open_fails(db, &looks, CASCADE_ERR_INVALID, "has no mode");
    open_once(db, CASCADE_INTEGRITY_NONE, NULL);
    open_once(db, CASCADE_INTEGRITY_HMAC, &k);
    assert_ok(try_open(db, &looks, CASCADE_MIGRATE_CHECK, &store));
    assert_ok(cascade_store_close(store));
    assert_ok(cascade_store_close(kept));
}

static void
the_row_of_the_store_is_missed(test_db *db)
{
    keys k = one_key("one", first_secret);
    cascade_integrity integrity = of_mode(CASCADE_INTEGRITY_HMAC, &k);
    cascade_store *store = NULL;

    db->unsound = true;
    assert_ok(try_open(db, &integrity, CASCADE_MIGRATE_AUTO, &store));
    (void)start_one(store);
    assert_int_equal(db_sql(db, "UPDATE cascade_seals SET number = 2"
                                " WHERE cascade_id = '" OWN "'"),
                     0);
    hmac_fails(db, k, CASCADE_ERR_CORRUPT, "or was changed");
    assert_int_equal(db_sql(db, "UPDATE cascade_seals SET seal = 'h1'"
                                " WHERE cascade_id = '" OWN "'"),
                     0);
    hmac_fails(db, k, CASCADE_ERR_CORRUPT, "is no seal");
    open_fails(db, NULL, CASCADE_ERR_CORRUPT, "is no seal");
    assert_int_equal(db_sql(db, "DELETE FROM cascade_seals WHERE cascade_id"
                                " = '" OWN "'"),
                     0);
    hmac_fails(db, k, CASCADE_ERR_INVALID, "that row was deleted");
    assert_ok(cascade_store_close(store));
}

/* ---- At the same time ---------------------------------------------------- */

#define OPENERS 4

typedef struct opener {
    test_db *db;
    pthread_barrier_t *all;
    pthread_t thread;
    cascade_err err;
} opener;

static void *
open_with_the_others(void *context)
{
    opener *o = context;
    keys k = one_key("one", first_secret);
    cascade_integrity integrity = of_mode(CASCADE_INTEGRITY_HMAC, &k);
    cascade_store *store = NULL;

    (void)pthread_barrier_wait(o->all);
    o->err = try_open(o->db, &integrity, CASCADE_MIGRATE_AUTO, &store);
    if (o->err != CASCADE_OK)
        print_error("%s\n", cascade_errmsg());
    else
        o->err = cascade_store_close(store);
    return NULL;
}

static void
of_several_first_stores_one_enters_the_mode(test_db *db)
{
    cascade_store *kept = keep(db);
    pthread_barrier_t all;
    opener openers[OPENERS];

    assert_int_equal(pthread_barrier_init(&all, NULL, OPENERS), 0);
    for (size_t i = 0; i < OPENERS; i++) {
        openers[i] = (opener){.db = db, .all = &all};
        assert_int_equal(pthread_create(&openers[i].thread, NULL,
                                        open_with_the_others, &openers[i]),
                         0);
    }
    for (size_t i = 0; i < OPENERS; i++) {
        assert_int_equal(pthread_join(openers[i].thread, NULL), 0);
        assert_int_equal(openers[i].err, CASCADE_OK);
    }
    (void)pthread_barrier_destroy(&all);
    expect_mode(db, CASCADE_INTEGRITY_HMAC);
    assert_ok(cascade_store_close(kept));
}

/* ---- What is written ----------------------------------------------------- */

/* The callback is not asked again, and its buffer is another's by then. */
static void
what_a_store_with_integrity_starts_is_sealed(test_db *db)
{
    keys k = one_key("one", first_secret);
    cascade_integrity integrity = of_mode(CASCADE_INTEGRITY_HMAC, &k);
    cascade_store *store = NULL;
    cascade_uuid id;
    size_t count = 0;

    assert_ok(try_open(db, &integrity, CASCADE_MIGRATE_AUTO, &store));
    memset(k.buffer, 0xff, sizeof(k.buffer));
    assert_int_equal(k.asked, 2);
    id = start_one(store);
    assert_ok(cascade_signal(store, &id, "news", NULL, NULL));
    assert_true(sealed_all(store, &count));
    assert_int_equal(count, 1);
    assert_int_equal(k.asked, 2);
    assert_ok(cascade_store_close(store));
}

/* ---- What is verified ---------------------------------------------------- */

static bool
note_seal_finding(void *context, const cascade_uuid *id, int32_t function_id,
                  const char *rule, const char *text)
{
    (void)id;
    (void)function_id;
    if (strcmp(rule, "V18 seal") == 0 && strstr(text, "no cascade") != NULL)
        ++*(size_t *)context;
    return true;
}

static size_t
count_lone_seals(cascade_store *store)
{
    size_t count = 0;
    const cascade_check_options options = {.size = sizeof(options),
                                           .finding = note_seal_finding,
                                           .context = &count};
    cascade_check_report report = {.size = sizeof(report)};

    assert_ok(cascade_verify(store, &options, &report));
    return count;
}

static void
a_seal_without_its_cascade_is_found(test_db *db)
{
    keys k = one_key("one", first_secret);
    cascade_integrity integrity = of_mode(CASCADE_INTEGRITY_HMAC, &k);
    cascade_store *store = NULL;
    cascade_uuid ids[2];
    char text[CASCADE_UUID_TEXT_SIZE];
    char sql[700];

    db->unsound = true;
    assert_ok(try_open(db, &integrity, CASCADE_MIGRATE_AUTO, &store));
    ids[0] = start_one(store);
    ids[1] = start_one(store);
    assert_int_equal(count_lone_seals(store), 0);
    (void)cascade_uuid_format(&ids[1], text);
    (void)snprintf(sql, sizeof(sql),
                   "DELETE FROM cascade_runs WHERE cascade_id = '%s';"
                   "DELETE FROM context_events WHERE cascade_id = '%s';"
                   "DELETE FROM node_executions WHERE cascade_id = '%s';"
                   "DELETE FROM cascades WHERE id = '%s'",
                   text, text, text, text);
    assert_int_equal(db_sql(db, sql), 0);
    assert_int_equal(count_lone_seals(store), 1);
    assert_ok(cascade_store_close(store));
}

/* The texts of all causes, of which the first has that reason. */
static void
check_explained(cascade_store *store, const cascade_uuid *id,
                cascade_reason reason, const char *has, const char *has_not)
{
    cascade_explanation *explanation = NULL;
    char all[2048] = "";

    assert_ok(cascade_explain(store, id, &explanation));
    for (size_t i = 0; i < cascade_explanation_count(explanation); i++)
        (void)snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s; ",
                       cascade_explanation_get(explanation, i)->text);
    assert_int_equal(cascade_explanation_get(explanation, 0)->reason, reason);
    if (strstr(all, has) == NULL || strstr(all, has_not) != NULL)
        fail_msg("no \"%s\", or \"%s\", in: %s", has, has_not, all);
    cascade_explanation_free(explanation);
}

static void
explain_tells_what_has_no_good_seal(test_db *db)
{
    keys k = one_key("one", first_secret);
    cascade_integrity integrity = of_mode(CASCADE_INTEGRITY_HMAC, &k);
    cascade_store *store = NULL;
    cascade_uuid id;

    db->unsound = true;
    assert_ok(try_open(db, &integrity, CASCADE_MIGRATE_AUTO, &store));
    id = start_one(store);
    check_explained(store, &id, CASCADE_REASON_NO_ENGINE, "no live engine",
                    "seal");
    assert_ok(cascade_signal(store, &id, "go", NULL, NULL));
    assert_int_equal(db_sql(db, "UPDATE cascade_messages SET seal = NULL"), 0);
    check_explained(store, &id, CASCADE_REASON_SEAL,
                    "1 messages for it have no good seal, and are not received",
                    "nothing of it runs");
    assert_int_equal(db_sql(db, "UPDATE node_executions SET location = 'x'"),
                     0);
    check_explained(store, &id, CASCADE_REASON_SEAL, "its seal does not hold (",
                    "is due since");
    assert_int_equal(db_sql(db, "UPDATE node_executions"
                                " SET location = 'server'"),
                     0);
    check_explained(store, &id, CASCADE_REASON_SEAL, "1 messages",
                    "nothing of it runs");
    assert_int_equal(db_sql(db, "DELETE FROM cascade_seals"
                                " WHERE cascade_id <> '" OWN "'"),
                     0);
    check_explained(store, &id, CASCADE_REASON_SEAL, "it has no seal",
                    "is due since");
    assert_ok(cascade_store_close(store));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"options_that_make_no_sense_are_refused",
         options_that_make_no_sense_are_refused, STORES_ALL},
        {"keys_that_are_none_are_refused", keys_that_are_none_are_refused,
         STORES_ALL},
        {"checksums_stay_checksums", checksums_stay_checksums, STORES_ALL},
        {"secrets_stay_secrets", secrets_stay_secrets, STORES_ALL},
        {"a_key_is_known_by_its_id_and_its_bytes",
         a_key_is_known_by_its_id_and_its_bytes, STORES_ALL},
        {"cascades_without_seals_are_not_taken_for_sealed",
         cascades_without_seals_are_not_taken_for_sealed, STORES_ALL},
        {"who_only_looks_begins_nothing", who_only_looks_begins_nothing,
         STORES_ALL},
        {"the_row_of_the_store_is_missed", the_row_of_the_store_is_missed,
         STORES_FILES},
        {"of_several_first_stores_one_enters_the_mode",
         of_several_first_stores_one_enters_the_mode, STORES_ALL},
        {"what_a_store_with_integrity_starts_is_sealed",
         what_a_store_with_integrity_starts_is_sealed, STORES_ALL},
        {"a_seal_without_its_cascade_is_found",
         a_seal_without_its_cascade_is_found, STORES_FILES},
        {"explain_tells_what_has_no_good_seal",
         explain_tells_what_has_no_good_seal, STORES_FILES},
    };

    return stores_run("integrity", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
