/* SPDX-License-Identifier: MIT
 *
 * Ids that are begun again by whoever chooses them, while something is known of
 * a chain that began under them: what that has received is nothing that the new
 * one has, and no second one begins beside a chain that goes on.
 */
#include <string.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "engine/support/chain.h"

#define LONG_MS 30000

/* ---- Helpers ------------------------------------------------------------ */

static void
delete_run(const play *p, const cascade_uuid *id)
{
    const cascade_request_options wait = {.size = sizeof(wait),
                                          .wait_ms = LONG_MS};

    assert_ok(cascade_delete(p->store, id, &wait));
}

static cascade_err
start_as(const play *p, const cascade_uuid *id)
{
    const cascade_start_options options = {.size = sizeof(options), .id = id};
    cascade_started started;

    return cascade_start(p->store, "goes", NULL, &options, &started);
}

static cascade_err
fork_as(const play *p, const cascade_uuid *origin, const cascade_uuid *id)
{
    const cascade_fork_options options = {.size = sizeof(options), .id = id};
    cascade_started started;

    return cascade_fork(p->store, origin, &options, &started);
}

static cascade_err
import(const play *p, const char *document)
{
    cascade_started started;

    return cascade_import(p->store, document, NULL, &started);
}

/* A run that has received one of the news, and its next, which is the play's;
 * the first is gone, and known by what outlives it. `document`: that of the
 * first, before it had the news. */
static cascade_uuid
begin(play *p, test_db *db, char **document)
{
    cascade_uuid first;

    play_begin(p, db, CASCADE_MODE_THREADS, "goes");
    first = p->id;
    play_until(p, "goes", CASCADE_EXECUTION_RUNNING, 1);
    assert_ok(cascade_export(p->store, &first, NULL, document));
    assert_ok(chain_send_news(p, &first, "old"));
    chain_expect_news(p, 1);
    (void)chain_turn(p);
    delete_run(p, &first);
    return first;
}

/* The whole chain is, and nothing has swept what it has left. */
static cascade_uuid
begin_gone(play *p, test_db *db, char **document)
{
    const cascade_request_options wait = {.size = sizeof(wait),
                                          .wait_ms = LONG_MS};
    cascade_uuid first = begin(p, db, document);

    assert_ok(cascade_terminate(p->store, &p->id, &wait));
    delete_run(p, &p->id);
    return first;
}

/* It has received nothing yet. */
static void
check_new(play *p, const cascade_uuid *id)
{
    p->id = *id;
    assert_ok(chain_send_news(p, id, "old"));
    assert_ok(chain_send_news(p, id, "old"));
    assert_ok(chain_send_news(p, id, "new"));
    chain_expect_news(p, 2);
    play_end(p);
}

/* ---- Tests -------------------------------------------------------------- */

static void
a_start_under_the_id_of_a_chain_that_is_gone_is_new(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    char *document = NULL;
    cascade_uuid id = begin_gone(&p, db, &document);

    cascade_document_free(document);
    assert_ok(start_as(&p, &id));
    check_new(&p, &id);
}

static void
a_fork_under_the_id_of_a_chain_that_is_gone_is_new(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    char *document = NULL;
    cascade_uuid id = begin_gone(&p, db, &document);
    cascade_uuid origin = db_start(p.store, "goes");

    cascade_document_free(document);
    assert_ok(fork_as(&p, &origin, &id));
    check_new(&p, &id);
}

static void
what_is_restored_of_a_chain_that_is_gone_is_new(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    char *document = NULL;
    cascade_uuid id = begin_gone(&p, db, &document);

    assert_ok(import(&p, document));
    cascade_document_free(document);
    check_new(&p, &id);
}

/* It would get nothing of what has come to the chain. */
static void
nothing_begins_beside_a_chain_that_goes_on(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    char *document = NULL;
    cascade_uuid id = begin(&p, db, &document);
    cascade_uuid last = p.id;
    cascade_uuid origin = db_start(p.store, "goes");
    char text[CASCADE_UUID_TEXT_SIZE];

    assert_fails(CASCADE_ERR_REFUSED, start_as(&p, &id));
    assert_non_null(strstr(cascade_errmsg(), cascade_uuid_format(&last, text)));
    assert_fails(CASCADE_ERR_REFUSED, fork_as(&p, &origin, &id));
    assert_fails(CASCADE_ERR_REFUSED, import(&p, document));
    cascade_document_free(document);
    assert_ok(chain_send_news(&p, &id, "old"));
    assert_ok(chain_send_news(&p, &id, "new"));
    chain_expect_news(&p, 2);
    play_end(&p);
}

/* One that has ended as it went on is the one that it was. */
static void
a_run_that_has_continued_is_restored_beside_its_chain(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid first;
    cascade_info *info = NULL;
    char *document = NULL;

    play_begin(&p, db, CASCADE_MODE_THREADS, "goes");
    first = p.id;
    assert_ok(chain_send_news(&p, &first, "old"));
    chain_expect_news(&p, 1);
    (void)chain_turn(&p);
    assert_ok(cascade_export(p.store, &first, NULL, &document));
    delete_run(&p, &first);
    assert_ok(import(&p, document));
    cascade_document_free(document);
    assert_ok(cascade_get(p.store, &first, &info));
    cascade_info_free(info);
    assert_ok(start_as(&p, &first));
    assert_ok(chain_send_news(&p, &first, "old"));
    assert_ok(chain_send_news(&p, &first, "new"));
    chain_expect_news(&p, 2);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_start_under_the_id_of_a_chain_that_is_gone_is_new",
         a_start_under_the_id_of_a_chain_that_is_gone_is_new, STORES_ALL},
        {"a_fork_under_the_id_of_a_chain_that_is_gone_is_new",
         a_fork_under_the_id_of_a_chain_that_is_gone_is_new, STORES_ALL},
        {"what_is_restored_of_a_chain_that_is_gone_is_new",
         what_is_restored_of_a_chain_that_is_gone_is_new, STORES_ALL},
        {"nothing_begins_beside_a_chain_that_goes_on",
         nothing_begins_beside_a_chain_that_goes_on, STORES_ALL},
        {"a_run_that_has_continued_is_restored_beside_its_chain",
         a_run_that_has_continued_is_restored_beside_its_chain, STORES_ALL}};

    return stores_run("begun_again", tests, sizeof(tests) / sizeof(tests[0]),
                      argc, argv);
}
