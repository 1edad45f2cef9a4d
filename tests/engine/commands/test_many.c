/* SPDX-License-Identifier: MIT
 *
 * Commands to many cascades: which ones, page by page, once for each request
 * id, with an engine and without one.
 */
#include <stdlib.h>
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/play.h"

#define MANY 2500

static cascade_err
wait_for_signal(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_await(node, "go", -1, NULL);
}

static void
start_some(cascade_store *store, const char *node, const char *queue,
           size_t count)
{
    cascade_first first = {.size = sizeof(first), .node = node};
    cascade_start_options options = {.size = sizeof(options), .queue = queue};
    cascade_start_spec *specs = calloc(count, sizeof(*specs));
    cascade_started *started = calloc(count, sizeof(*started));

    assert_non_null(specs);
    assert_non_null(started);
    for (size_t i = 0; i < count; i++)
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &first,
                                        .first_count = 1,
                                        .options = &options};
    assert_ok(cascade_start_many(store, specs, count, started));
    free(specs);
    free(started);
}

/* What is looked for, and how many of it there are to be. */
typedef struct sight {
    cascade_store *store;
    cascade_status status; /* 0: any */
    bool paused;
    size_t count;
} sight;

static bool
are_there(void *context)
{
    const sight *s = context;
    cascade_list_options options = {
        .size = sizeof(options), .status = s->status, .limit = 1000};
    cascade_uuid last;
    size_t found = 0;
    size_t read = 1000;

    while (read == 1000) {
        cascade_page *page = NULL;

        assert_ok(cascade_list(s->store, &options, &page));
        read = cascade_page_count(page);
        for (size_t i = 0; i < read; i++)
            found += cascade_page_get(page, i)->paused == s->paused;
        if (read > 0)
            last = cascade_page_get(page, read - 1)->id;
        options.after = &last;
        cascade_page_free(page);
    }
    return found == s->count;
}

static void
await_sight(sight s)
{
    assert_true(stores_until(are_there, &s));
}

static cascade_progress
ask(cascade_store *store, cascade_request request,
    const cascade_many_options *options)
{
    cascade_progress total = {0};

    assert_ok(cascade_request_many(store, request, options, &total));
    return total;
}

static void
check_total(const cascade_progress *total, int64_t seen, int64_t done,
            int64_t failed)
{
    assert_int_equal(total->seen, seen);
    assert_int_equal(total->done, done);
    assert_int_equal(total->failed, failed);
}

static void
thousands_are_paused_resumed_terminated_and_deleted(test_db *db)
{
    play p = {.nodes = {{"waits", wait_for_signal}}};
    cascade_progress total;

    play_open(&p, db, CASCADE_MODE_THREADS);
    start_some(p.store, "waits", "default", MANY);
    total = ask(p.store, CASCADE_REQUEST_PAUSE, NULL);
    check_total(&total, MANY, MANY, 0);
    await_sight((sight){p.store, CASCADE_RUNNING, true, MANY});
    total = ask(p.store, CASCADE_REQUEST_RESUME, NULL);
    check_total(&total, MANY, MANY, 0);
    await_sight((sight){p.store, CASCADE_RUNNING, false, MANY});
    total = ask(p.store, CASCADE_REQUEST_TERMINATE, NULL);
    check_total(&total, MANY, MANY, 0);
    await_sight((sight){p.store, CASCADE_ERROR, false, MANY});
    total = ask(p.store, CASCADE_REQUEST_CANCEL, NULL);
    check_total(&total, 0, 0, 0);
    total = ask(p.store, CASCADE_REQUEST_DELETE, NULL);
    check_total(&total, MANY, MANY, 0);
    await_sight((sight){p.store, 0, false, 0});
    play_end(&p);
}

static void
only_those_that_are_named_are_asked(test_db *db)
{
    play p = {
        .nodes = {{"waits", wait_for_signal}, {"nothing", stores_nothing}}};
    cascade_many_options queue = {.size = sizeof(queue), .queue = "nobody's"};
    cascade_many_options node = {.size = sizeof(node), .node = "waits"};
    cascade_many_options ended = {.size = sizeof(ended),
                                  .status = CASCADE_COMPLETED};
    cascade_many_options before = {.size = sizeof(before),
                                   .updated_before_ms = 1};
    cascade_many_options user = {.size = sizeof(user), .user_id = "someone"};
    cascade_progress total;

    play_open(&p, db, CASCADE_MODE_THREADS);
    start_some(p.store, "waits", "default", 3);
    start_some(p.store, "waits", "nobody-s", 2);
    start_some(p.store, "nothing", "default", 4);
    await_sight((sight){p.store, CASCADE_COMPLETED, false, 4});
    assert_fails(
        CASCADE_ERR_INVALID,
        cascade_request_many(p.store, CASCADE_REQUEST_PAUSE, &queue, NULL));
    queue.queue = "nobody-s";
    total = ask(p.store, CASCADE_REQUEST_PAUSE, &queue);
    check_total(&total, 2, 2, 0);
    total = ask(p.store, CASCADE_REQUEST_PAUSE, &node);
    check_total(&total, 5, 5, 0);
    total = ask(p.store, CASCADE_REQUEST_PAUSE, &ended);
    check_total(&total, 4, 0, 4);
    total = ask(p.store, CASCADE_REQUEST_DELETE, &before);
    check_total(&total, 0, 0, 0);
    total = ask(p.store, CASCADE_REQUEST_DELETE, &user);
    check_total(&total, 0, 0, 0);
    total = ask(p.store, CASCADE_REQUEST_DELETE, &ended);
    check_total(&total, 4, 4, 0);
    /* Nobody receives anything in the other queue. */
    await_sight((sight){p.store, 0, true, 3});
    await_sight((sight){p.store, 0, false, 2});
    play_end(&p);
}

static void
with_a_request_id_nothing_is_asked_twice(test_db *db)
{
    play p = {.nodes = {{"waits", wait_for_signal}}};
    cascade_many_options once = {.size = sizeof(once), .request_id = "once"};

    play_begin(&p, db, CASCADE_MODE_THREADS, "waits");
    for (int i = 0; i < 3; i++) {
        cascade_progress total = ask(p.store, CASCADE_REQUEST_PAUSE, &once);

        check_total(&total, 1, 1, 0);
        await_sight((sight){p.store, CASCADE_RUNNING, true, 1});
    }
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

static void
where_no_engine_is_alive_they_are_carried_out(test_db *db)
{
    cascade_store *store = db_store(db);
    cascade_progress total;
    sight s = {store, CASCADE_RUNNING, true, 5};

    start_some(store, "unknown", "default", 5);
    total = ask(store, CASCADE_REQUEST_PAUSE, NULL);
    check_total(&total, 5, 5, 0);
    assert_true(are_there(&s));
    total = ask(store, CASCADE_REQUEST_TERMINATE, NULL);
    check_total(&total, 5, 5, 0);
    total = ask(store, CASCADE_REQUEST_DELETE, NULL);
    check_total(&total, 5, 5, 0);
    s = (sight){store, 0, false, 0};
    assert_true(are_there(&s));
    db_close_store(db, store);
}

static void
what_failed_is_retried_and_run_again(test_db *db)
{
    play p = {.nodes = {{"waits", wait_for_signal}}};
    cascade_many_options failed = {.size = sizeof(failed),
                                   .status = CASCADE_ERROR};
    cascade_progress total;

    play_open(&p, db, CASCADE_MODE_THREADS);
    start_some(p.store, "waits", "default", 7);
    total = ask(p.store, CASCADE_REQUEST_TERMINATE, NULL);
    check_total(&total, 7, 7, 0);
    await_sight((sight){p.store, CASCADE_ERROR, false, 7});
    total = ask(p.store, CASCADE_REQUEST_RERUN, &failed);
    check_total(&total, 7, 7, 0);
    await_sight((sight){p.store, CASCADE_RUNNING, false, 7});
    total = ask(p.store, CASCADE_REQUEST_TERMINATE, NULL);
    check_total(&total, 7, 7, 0);
    await_sight((sight){p.store, CASCADE_ERROR, false, 7});
    total = ask(p.store, CASCADE_REQUEST_RETRY, NULL);
    check_total(&total, 7, 7, 0);
    await_sight((sight){p.store, CASCADE_RUNNING, false, 7});
    play_end(&p);
}

static void
forks_are_made_once_for_each_request_id(test_db *db)
{
    play p = {.nodes = {{"waits", wait_for_signal}}};
    cascade_many_options fork = {.size = sizeof(fork), .request_id = "f"};
    cascade_many_options nowhere = {.size = sizeof(nowhere), .from = 1000};
    cascade_progress total;

    play_open(&p, db, CASCADE_MODE_THREADS);
    start_some(p.store, "waits", "default", 7);
    total = ask(p.store, CASCADE_REQUEST_FORK, &fork);
    check_total(&total, 7, 7, 0);
    await_sight((sight){p.store, 0, false, 14});
    total = ask(p.store, CASCADE_REQUEST_FORK, &fork);
    check_total(&total, 7, 7, 0); /* the forks are left out */
    fork.request_id = "g";
    total = ask(p.store, CASCADE_REQUEST_FORK, &fork);
    check_total(&total, 14, 14, 0);
    await_sight((sight){p.store, 0, false, 28});
    total = ask(p.store, CASCADE_REQUEST_FORK, &nowhere);
    check_total(&total, 28, 0, 28);
    play_end(&p);
}

static bool
stop_at_once(void *context, const cascade_progress *progress)
{
    *(int64_t *)context = progress->seen;
    return false;
}

static void
the_caller_may_end_it(test_db *db)
{
    play p = {.nodes = {{"waits", wait_for_signal}}};
    int64_t seen = 0;
    cascade_progress total = {0};
    cascade_many_options options = {
        .size = sizeof(options), .progress = stop_at_once, .context = &seen};

    play_open(&p, db, CASCADE_MODE_THREADS);
    start_some(p.store, "waits", "default", 1200);
    assert_fails(CASCADE_ERR_STOPPED,
                 cascade_request_many(p.store, CASCADE_REQUEST_TERMINATE,
                                      &options, &total));
    assert_int_equal(seen, 1000);
    check_total(&total, 1000, 1000, 0);
    await_sight((sight){p.store, CASCADE_ERROR, false, 1000});
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"thousands_are_paused_resumed_terminated_and_deleted",
         thousands_are_paused_resumed_terminated_and_deleted, STORES_ALL},
        {"only_those_that_are_named_are_asked",
         only_those_that_are_named_are_asked, STORES_ALL},
        {"with_a_request_id_nothing_is_asked_twice",
         with_a_request_id_nothing_is_asked_twice, STORES_ALL},
        {"where_no_engine_is_alive_they_are_carried_out",
         where_no_engine_is_alive_they_are_carried_out, STORES_ALL},
        {"what_failed_is_retried_and_run_again",
         what_failed_is_retried_and_run_again, STORES_ALL},
        {"forks_are_made_once_for_each_request_id",
         forks_are_made_once_for_each_request_id, STORES_ALL},
        {"the_caller_may_end_it", the_caller_may_end_it, STORES_ALL},
    };

    return stores_run("many", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
