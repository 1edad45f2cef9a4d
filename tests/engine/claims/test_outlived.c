/* SPDX-License-Identifier: MIT
 *
 * What outlives a run that has continued as new, and was purged or deleted:
 * what is sent to its id comes to the last run, and what it has received is not
 * received again.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "engine/support/chain.h"
#include "store/store.h"

#define RUNS 3
#define LONG_MS 30000

/* ---- Helpers ------------------------------------------------------------ */

static void
expect_gone(const play *p, const cascade_uuid *id)
{
    cascade_info *info = NULL;

    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_get(p->store, id, &info));
}

/* Where it leads. */
static void
expect_explained(const play *p, const cascade_uuid *id,
                 const cascade_uuid *last)
{
    cascade_explanation *explanation = NULL;
    char text[CASCADE_UUID_TEXT_SIZE];

    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_explain(p->store, id, &explanation));
    assert_non_null(strstr(cascade_errmsg(), cascade_uuid_format(last, text)));
}

/* Neither their ids nor what they have received are known any more. */
static void
expect_swept(const play *p, const cascade_uuid ids[RUNS])
{
    char root[CASCADE_UUID_TEXT_SIZE];
    char second[CASCADE_UUID_TEXT_SIZE];
    char path[100];
    const char *const paths[] = {path, cascade_uuid_format(&ids[0], root),
                                 cascade_uuid_format(&ids[1], second)};
    cascade_found found[3];

    (void)snprintf(path, sizeof(path), "%s/message/signal/of-1", root);
    assert_ok(p->store->driver->chain->find(p->store->self, paths, 3, found));
    for (size_t i = 0; i < 3; i++)
        assert_true(csc_uuid_is_nil(&found[i].id));
}

/* Three runs, of which the first two have received one of the news each. */
static void
begin(play *p, test_db *db, cascade_uuid ids[RUNS])
{
    play_begin(p, db, CASCADE_MODE_THREADS, "goes");
    ids[0] = p->id;
    assert_ok(chain_send_news(p, &ids[0], "of-1"));
    play_until(p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 1);
    ids[1] = chain_turn(p);
    assert_ok(chain_send_news(p, &ids[0], "of-2"));
    play_until(p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 2);
    ids[2] = chain_turn(p);
    play_until(p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 2);
}

/* The two that the first runs have passed on unread are there. */
static void
check(play *p, const cascade_uuid ids[RUNS])
{
    const char *const fresh[RUNS] = {"a", "b", "c"};

    expect_gone(p, &ids[0]);
    expect_gone(p, &ids[1]);
    expect_explained(p, &ids[0], &ids[2]);
    expect_explained(p, &ids[1], &ids[2]);
    for (size_t i = 0; i < RUNS; i++) {
        assert_ok(chain_send_news(p, &ids[i], "of-1"));
        assert_ok(chain_send_news(p, &ids[i], "of-2"));
    }
    for (size_t i = 0; i < RUNS; i++)
        for (size_t to = 0; to < RUNS; to++)
            assert_ok(chain_send_news(p, &ids[(to + i) % RUNS], fresh[i]));
    chain_expect_news(p, 2 + RUNS);
    assert_ok(cascade_signal(p->store, &ids[1], "news", NULL, NULL));
    chain_expect_news(p, 2 + RUNS + 1);
}

/* ---- Tests -------------------------------------------------------------- */

static void
runs_that_are_purged_lead_to_the_last(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    begin(&p, db, ids);
    chain_purge(&p, 2);
    check(&p, ids);
    (void)chain_turn(&p);
    chain_purge(&p, 1);
    assert_ok(chain_send_news(&p, &ids[2], "of-2"));
    assert_ok(chain_send_news(&p, &ids[0], "c"));
    assert_ok(chain_send_news(&p, &ids[1], "d"));
    chain_expect_news(&p, 2 + RUNS + 2);
    play_end(&p);
}

static void
runs_that_are_deleted_lead_to_the_last(test_db *db)
{
    const cascade_request_options wait = {.size = sizeof(wait),
                                          .wait_ms = LONG_MS};
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    begin(&p, db, ids);
    assert_ok(cascade_delete(p.store, &ids[0], &wait));
    assert_ok(cascade_delete(p.store, &ids[1], &wait));
    check(&p, ids);
    play_end(&p);
}

static void
commands_to_a_run_that_is_gone_come_to_the_last(test_db *db)
{
    const cascade_request_options once = {
        .size = sizeof(once), .request_id = "once", .wait_ms = LONG_MS};
    const cascade_request_options old = {.size = sizeof(old),
                                         .request_id = "old"};
    cascade_request_options wait = old;
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    begin(&p, db, ids);
    assert_ok(cascade_pause(p.store, &ids[2], &once));
    assert_ok(cascade_resume(p.store, &ids[2], &once));
    assert_ok(cascade_pause(p.store, &ids[2], &old));
    play_until(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED, 2);
    assert_ok(cascade_resume(p.store, &ids[2], &old));
    (void)chain_turn(&p);
    chain_purge(&p, 3);
    wait.wait_ms = LONG_MS;
    assert_ok(cascade_pause(p.store, &ids[0], &old));
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_pause(p.store, &ids[1], &wait));
    assert_non_null(strstr(cascade_errmsg(), "deleted since"));
    wait.request_id = "new";
    assert_ok(cascade_pause(p.store, &ids[1], &wait));
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 1);
    assert_fails(CASCADE_ERR_NOT_FOUND, cascade_retry(p.store, &ids[0], &wait));
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_delete(p.store, &ids[0], &wait));
    assert_ok(cascade_cancel(p.store, &ids[0], &once));
    play_await(&p, &p.id, CASCADE_ERROR);
    play_end(&p);
}

static void
updates_to_a_run_that_is_gone_come_to_the_last(test_db *db)
{
    cascade_update_options options = {
        .size = sizeof(options), .request_id = "one", .timeout_ms = LONG_MS};
    play p = {.nodes = {{"answers", chain_answer_and_go_on}}};
    cascade_uuid first;
    cJSON *answer = NULL;

    play_begin(&p, db, CASCADE_MODE_THREADS, "answers");
    first = p.id;
    assert_ok(cascade_update(p.store, &first, "double", play_number(1),
                             &options, &answer));
    cJSON_Delete(answer);
    (void)chain_turn(&p);
    chain_purge(&p, 1);
    answer = NULL;
    assert_fails(CASCADE_ERR_NOT_FOUND,
                 cascade_update(p.store, &first, "double", play_number(1),
                                &options, &answer));
    assert_null(answer);
    options.request_id = "two";
    for (int i = 0; i < 2; i++) {
        assert_ok(cascade_update(p.store, &first, "double", play_number(2 + i),
                                 &options, &answer));
        assert_int_equal(play_read_number(answer), 4);
        cJSON_Delete(answer);
    }
    play_end(&p);
}

/* The second run was allowed to go, since the last had ended: what the first
 * sends on to it comes to the last, which goes on. */
static void
what_is_sent_on_to_a_run_that_is_gone_comes_to_the_last(test_db *db)
{
    const cascade_request_options wait = {.size = sizeof(wait),
                                          .wait_ms = LONG_MS};
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    begin(&p, db, ids);
    assert_ok(cascade_terminate(p.store, &ids[2], &wait));
    assert_ok(cascade_delete(p.store, &ids[1], &wait));
    assert_ok(cascade_retry(p.store, &ids[2], &wait));
    assert_ok(chain_send_news(&p, &ids[0], "new"));
    assert_ok(chain_send_news(&p, &ids[0], "of-2"));
    assert_ok(chain_send_news(&p, &ids[1], "new"));
    assert_ok(chain_send_news(&p, &ids[1], "newer"));
    chain_expect_news(&p, 2 + 2);
    play_end(&p);
}

/* Between the list of a call and what it sends. */
typedef struct meanwhile {
    wrap_store wrap;
    play p;
    bool done;
} meanwhile;

static cascade_err
turn_and_purge(void *context, const wrap_call *call)
{
    meanwhile *m = context;

    if (call->move != WRAP_SUBMIT || m->done)
        return CASCADE_OK;
    m->done = true;
    (void)chain_turn(&m->p);
    chain_purge(&m->p, 1);
    return CASCADE_OK;
}

static void
a_request_of_many_comes_to_the_last(test_db *db)
{
    const cascade_many_options options = {.size = sizeof(options),
                                          .request_id = "all"};
    meanwhile *m = calloc(1, sizeof(*m));
    cascade_progress total;
    cascade_store *store = NULL;

    assert_non_null(m);
    m->p = (play){.nodes = {{"goes", chain_go_on}}};
    play_begin(&m->p, db, CASCADE_MODE_THREADS, "goes");
    assert_int_equal(wrap_store_init(&m->wrap, db->url), 0);
    m->wrap.context = m;
    m->wrap.before = turn_and_purge;
    store = db_wrapped(db, &m->wrap);
    assert_ok(
        cascade_request_many(store, CASCADE_REQUEST_PAUSE, &options, &total));
    assert_true(m->done);
    assert_int_equal(total.done, 1);
    assert_int_equal(total.failed, 0);
    play_until(&m->p, "cascade.pause", CASCADE_EXECUTION_COMPLETED, 1);
    db_close_store(db, store);
    play_end(&m->p);
    wrap_store_fini(&m->wrap);
    free(m);
}

/* ---- Size ---------------------------------------------------------------- */

#define MANY 700 /* more than goes in one piece */

static void
send_many(const play *p, const cascade_uuid *id, int run)
{
    char request_id[32];

    for (int i = 0; i < MANY; i++) {
        (void)snprintf(request_id, sizeof(request_id), "%d-%d", run, i);
        assert_ok(chain_send_news(p, id, request_id));
    }
}

/* What a deletion costs who asks for it, but for what the engines do. */
static void
expect_cheap(wrap_store *wrap)
{
    assert_in_range(atomic_load(&wrap->rows), 0, 10);
    assert_in_range(wrap_store_count(wrap, WRAP_SCAN), 0, 5);
    assert_in_range(wrap_store_count(wrap, WRAP_FIND), 0, 5);
    assert_in_range(wrap_store_count(wrap, WRAP_LINK), 0, 1);
    assert_int_equal(wrap_store_count(wrap, WRAP_ERASE), 0);
}

static void
delete_cheaply(test_db *db, const cascade_uuid *id)
{
    wrap_store *wrap = wrap_store_create(db->url);
    cascade_store *store = NULL;

    assert_non_null(wrap);
    store = db_wrapped(db, wrap);
    assert_ok(cascade_delete(store, id, NULL));
    expect_cheap(wrap);
    db_close_store(db, store);
    wrap_store_free(wrap);
}

typedef struct going {
    const play *p;
    const cascade_uuid *id;
} going;

static bool
is_gone(void *context)
{
    const going *g = context;
    cascade_info *info = NULL;
    cascade_err err = cascade_get(g->p->store, g->id, &info);

    cascade_info_free(info);
    assert_true(err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND);
    return err == CASCADE_ERR_NOT_FOUND;
}

/* The engine's housekeeper does it. */
static bool
is_erased(void *context)
{
    const going *g = context;
    cascade_totals totals;

    assert_ok(g->p->store->driver->manage->totals(g->p->store->self, &totals));
    return totals.erasing == 0;
}

/* A deletion of a run with many receipts is asked for in a few steps, and all
 * of these outlive it, while pieces go and behind the last one. */
static void
a_deletion_of_much_keeps_all_and_asks_little(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    play_begin(&p, db, CASCADE_MODE_THREADS, "goes");
    for (int run = 0; run < RUNS - 1; run++) {
        ids[run] = p.id;
        send_many(&p, &ids[run], run);
        play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED,
                   (size_t)MANY * (size_t)(run + 1));
        (void)chain_turn(&p);
    }
    for (int run = 0; run < RUNS - 1; run++) {
        delete_cheaply(db, &ids[run]);
        play_on(&p, is_gone, &(going){&p, &ids[run]});
        send_many(&p, &ids[run], run);
    }
    play_on(&p, is_erased, &(going){.p = &p});
    for (int run = 0; run < RUNS - 1; run++)
        send_many(&p, &ids[1 - run], run);
    chain_expect_news(&p, (size_t)MANY * (RUNS - 1));
    play_end(&p);
}

/* With the last run all is gone. */
static void
nothing_leads_to_a_run_that_is_gone_itself(test_db *db)
{
    const cascade_request_options wait = {.size = sizeof(wait),
                                          .wait_ms = LONG_MS};
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    begin(&p, db, ids);
    assert_ok(cascade_terminate(p.store, &ids[2], &wait));
    play_await(&p, &p.id, CASCADE_ERROR);
    chain_purge(&p, 3);
    for (size_t i = 0; i < RUNS; i++)
        assert_fails(CASCADE_ERR_NOT_FOUND,
                     chain_send_news(&p, &ids[i], "new"));
    expect_swept(&p, ids);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"runs_that_are_purged_lead_to_the_last",
         runs_that_are_purged_lead_to_the_last, STORES_ALL},
        {"runs_that_are_deleted_lead_to_the_last",
         runs_that_are_deleted_lead_to_the_last, STORES_ALL},
        {"commands_to_a_run_that_is_gone_come_to_the_last",
         commands_to_a_run_that_is_gone_come_to_the_last, STORES_ALL},
        {"updates_to_a_run_that_is_gone_come_to_the_last",
         updates_to_a_run_that_is_gone_come_to_the_last, STORES_ALL},
        {"what_is_sent_on_to_a_run_that_is_gone_comes_to_the_last",
         what_is_sent_on_to_a_run_that_is_gone_comes_to_the_last, STORES_ALL},
        {"a_request_of_many_comes_to_the_last",
         a_request_of_many_comes_to_the_last, STORES_ALL},
        {"a_deletion_of_much_keeps_all_and_asks_little",
         a_deletion_of_much_keeps_all_and_asks_little, STORES_ALL},
        {"nothing_leads_to_a_run_that_is_gone_itself",
         nothing_leads_to_a_run_that_is_gone_itself, STORES_ALL}};

    return stores_run("outlived", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
