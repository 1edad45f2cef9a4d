/* SPDX-License-Identifier: MIT
 *
 * Documents that say of other cascades what is not so. A document is a right to
 * write: but to write the cascade that it is of, and nothing of others.
 */
#include <stdio.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "support/stores.h"

#define ID(n) "0190ffff-0000-4000-8000-00000000000" #n
#define KEYED "\"key\":\"k\","
#define SECOND "\"run_number\":2"

/* A cascade of two executions, of which the second is `second`. */
typedef struct forged {
    const char *id;
    const char *user;
    const char *meta; /* members before `queue` */
    const char *more; /* and the last one; "" for none */
    const char *end;  /* members of the record of execution 0 that ended the
                          cascade; NULL: it is RUNNING */
    const char *second;
} forged;

/* The first node, and behind it what came; each test has ids of its own. */
static cascade_err
import_forged(cascade_store *store, const forged *it)
{
    cascade_started started;
    bool ended = it->end != NULL;
    char text[3000];

    (void)snprintf(
        text, sizeof(text),
        "{\"format\":\"libcascade\",\"version\":2,\"events\":[],"
        "\"messages\":[],\"cascade\":{\"id\":\"%s\",\"fn_id\":1,"
        "\"status\":\"%s\",\"user_id\":\"%s\",\"created_at\":1,"
        "\"updated_at\":2},\"executions\":[{\"id\":\"%.24s00000000000%s\","
        "\"status\":\"%s\",\"location\":\"server\",\"node_name\":\"n\","
        "\"started_at\":1,%s\"function_id\":0,\"input_context\":{},"
        "\"full_output\":{%s\"cascade\":{%s\"queue\":\"default\","
        "\"priority\":0%s%s}},\"node_instance_id\":\"%s/-/n#0\"}%s]}",
        it->id, ended ? "COMPLETED" : "RUNNING", it->user, it->id, it->id + 35,
        ended ? "COMPLETED" : "RUNNING", ended ? "\"completed_at\":2," : "",
        ended ? it->end : "", it->meta, it->more[0] != '\0' ? "," : "",
        it->more, it->id, it->second);
    return cascade_import(store, text, NULL, &started);
}

/* The receipt of a signal. */
static const char *
receipt(const char *of, char text[500])
{
    (void)snprintf(text, 500,
                   ",{\"id\":\"%.24saaaaaaaaaaaa\",\"status\":\"COMPLETED\","
                   "\"location\":\"server\",\"node_name\":\"cascade.signal:go\""
                   ",\"started_at\":1,\"completed_at\":2,\"function_id\":1,"
                   "\"input_context\":{},\"full_output\":{\"at\":0},"
                   "\"node_instance_id\":\"%s/message/signal/r1\"}",
                   of, of);
    return text;
}

/* Of another one, that the run with the first has not received. */
static const char *
receipt_again(const char *of, char text[500])
{
    char *at = NULL;

    (void)receipt(of, text);
    at = strstr(text, "aaaaaaaaaaaa");
    memcpy(at, "bbbbbbbbbbbb", 12);
    at = strstr(text, "r1\"");
    at[1] = '2';
    return text;
}

/* ---- The parent --------------------------------------------------------- */

static void
a_parent_must_know_its_child(test_db *db)
{
    static const char waits[] =
        ",{\"id\":\"0190ffff-0000-4000-8000-0000000000cc\","
        "\"status\":\"RUNNING\",\"location\":\"server\","
        "\"node_name\":\"cascade.child:c\",\"started_at\":1,"
        "\"function_id\":1,\"input_context\":{},\"full_output\":"
        "{\"child\":\"" ID(2) "\",\"policy\":\"cancel\"},"
                              "\"node_instance_id\":\"" ID(
                                  1) "/0/cascade.child:c#0\"}";
    static const forged parent = {ID(1), "ann", "", "", NULL, waits};
    static const char of_1[] = "\"parent\":\"" ID(1) "\",";
    static const char as_2[] =
        "\"child\":\"" ID(2) "\",\"parent\":\"" ID(1) "\",";
    char text[500];
    const forged bad[] = {
        {ID(3), "ann", of_1, "", NULL, receipt(ID(3), text)},
        {ID(3), "ann", as_2, "", NULL, text},
        {ID(2), "bob", of_1, "", NULL, text},
        {ID(2), "ann", "\"parent\":\"" ID(9) "\",", "", NULL, text}};
    forged good = {ID(2), "ann", of_1, "", NULL, ""};
    cascade_store *store = db_store(db);

    db->unsound = true; /* the fn_id of some is of no row */
    assert_ok(import_forged(store, &parent));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_fails(CASCADE_ERR_REFUSED, import_forged(store, &bad[i]));
        assert_non_null(strstr(cascade_errmsg(), "its parent is"));
        assert_non_null(strstr(cascade_errmsg(), "new ids"));
    }
    assert_ok(import_forged(store, &good));
}

/* ---- Paths -------------------------------------------------------------- */

/* Else a signal of that id would be taken for one that was received. */
static void
a_path_of_another_needs_a_reason(test_db *db)
{
    char text[500];
    const forged bad = {ID(5), "ann", "", "", NULL, receipt(ID(6), text)};
    cascade_store *store = db_store(db);

    assert_fails(CASCADE_ERR_REFUSED, import_forged(store, &bad));
    assert_non_null(strstr(cascade_errmsg(), ID(6)));
}

static void
runs_of_one_key_may_have_paths_of_earlier_ones(test_db *db)
{
    cascade_uuid own = csc_uuid_v8("ann", "k", 2);
    const cascade_uuid others[] = {csc_uuid_v8("ann", "k", 3),
                                   csc_uuid_v8("bob", "k", 1),
                                   csc_uuid_v8("ann", "k", 1)};
    cascade_store *store = db_store(db);
    char id[CASCADE_UUID_TEXT_SIZE];

    (void)cascade_uuid_format(&own, id);
    for (size_t i = 0; i < 3; i++) {
        char of[CASCADE_UUID_TEXT_SIZE];
        char text[500];
        const forged it = {
            id,     "ann", KEYED,
            SECOND, NULL,  receipt(cascade_uuid_format(&others[i], of), text)};

        if (i < 2)
            assert_fails(CASCADE_ERR_REFUSED, import_forged(store, &it));
        else
            assert_ok(import_forged(store, &it));
    }
}

/* The store shows that 7 has continued as 8. */
static void
runs_of_a_chain_may_have_paths_of_earlier_ones(test_db *db)
{
    char first[500];
    char second[500];
    const forged run_1 = {ID(7),
                          "ann",
                          "",
                          "",
                          "\"at\":1,\"continued_as\":\"" ID(8) "\",",
                          receipt(ID(7), first)};
    const forged run_2 = {ID(8),  "ann", "",
                          SECOND, NULL,  receipt(ID(7), second)};
    cascade_store *store = db_store(db);
    char other[500];
    forged no_run = run_2;

    db->unsound = true; /* of the chain only what counts here is there */
    assert_fails(CASCADE_ERR_REFUSED, import_forged(store, &run_2));
    assert_ok(import_forged(store, &run_1));
    no_run.id = ID(9);
    no_run.second = receipt_again(ID(7), other);
    assert_fails(CASCADE_ERR_REFUSED, import_forged(store, &no_run));
    no_run.id = ID(8);
    assert_ok(import_forged(store, &no_run));
}

static void
delete_now(cascade_store *store, const char *text)
{
    cascade_uuid id;
    cascade_info *info = NULL;

    assert_ok(cascade_uuid_parse(text, &id));
    assert_ok(cascade_delete(store, &id, NULL));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_get(store, &id, &info));
}

/* What was entered of 7 leads to 8, and not to 9. */
static void
the_last_run_comes_back_though_those_before_are_gone(test_db *db)
{
    char first[500];
    char second[500];
    char third[500];
    const char *of_7 = "\"root\":\"" ID(7) "\"," SECOND;
    const char *behind_7 = "\"previous\":\"" ID(7) "\",";
    const forged run_1 = {ID(7),
                          "ann",
                          "",
                          "",
                          "\"at\":1,\"continued_as\":\"" ID(8) "\",",
                          receipt(ID(7), first)};
    const forged run_2 = {ID(8), "ann", behind_7,
                          of_7,  NULL,  receipt_again(ID(7), second)};
    const forged other = {ID(9), "ann", behind_7,
                          of_7,  NULL,  receipt_again(ID(7), third)};
    cascade_store *store = db_store(db);

    db->unsound = true; /* what it has received has an id of that one's */
    assert_ok(import_forged(store, &run_1));
    assert_ok(import_forged(store, &run_2));
    delete_now(store, ID(7));
    delete_now(store, ID(8));
    assert_fails(CASCADE_ERR_REFUSED, import_forged(store, &other));
    assert_ok(import_forged(store, &run_2));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_parent_must_know_its_child", a_parent_must_know_its_child,
         STORES_ALL},
        {"a_path_of_another_needs_a_reason", a_path_of_another_needs_a_reason,
         STORES_ALL},
        {"runs_of_one_key_may_have_paths_of_earlier_ones",
         runs_of_one_key_may_have_paths_of_earlier_ones, STORES_ALL},
        {"runs_of_a_chain_may_have_paths_of_earlier_ones",
         runs_of_a_chain_may_have_paths_of_earlier_ones, STORES_ALL},
        {"the_last_run_comes_back_though_those_before_are_gone",
         the_last_run_comes_back_though_those_before_are_gone, STORES_ALL},
    };

    return stores_run("forged", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
