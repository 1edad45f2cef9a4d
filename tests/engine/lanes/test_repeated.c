/* SPDX-License-Identifier: MIT
 *
 * Updates and commands with a request id, sent again by the ids of several runs
 * of a cascade that continues as new: they are one, and each caller is told
 * what came of that one.
 */
#include <stdio.h>
#include <string.h>

#include "cascade/manage.h"
#include "engine/support/chain.h"

#define RUNS 3
#define LONG_MS 30000

/* ---- Helpers ------------------------------------------------------------ */

static void
expect_answer(const play *p, const cascade_uuid *id, int n,
              const char *request_id, int wanted)
{
    cascade_update_options options = {.size = sizeof(options),
                                      .request_id = request_id,
                                      .timeout_ms = LONG_MS};
    cJSON *answer = NULL;

    assert_ok(cascade_update(p->store, id, "double", play_number(n), &options,
                             &answer));
    assert_int_equal(play_read_number(answer), wanted);
    cJSON_Delete(answer);
}

typedef cascade_err (*request_fn)(cascade_store *store, const cascade_uuid *id,
                                  const cascade_request_options *options);

static void
ask(const play *p, request_fn request, const cascade_uuid *id,
    const char *request_id)
{
    const cascade_request_options options = {
        .size = sizeof(options), .request_id = request_id, .wait_ms = LONG_MS};

    assert_ok(request(p->store, id, &options));
}

static void
ask_all(const play *p, request_fn request, const cascade_uuid *ids,
        size_t count, const char *request_id)
{
    for (size_t i = 0; i < count; i++)
        ask(p, request, &ids[i], request_id);
}

/* ---- Tests -------------------------------------------------------------- */

static void
a_repeated_update_gets_its_answer_by_the_id_of_any_run(test_db *db)
{
    play p = {.nodes = {{"answers", chain_answer_and_go_on}}};
    cascade_uuid ids[RUNS];
    char request_id[10];

    play_begin(&p, db, CASCADE_MODE_THREADS, "answers");
    ids[0] = p.id;
    for (int run = 0; run < RUNS; run++) {
        (void)snprintf(request_id, sizeof(request_id), "r%d", run);
        expect_answer(&p, &ids[0], run, request_id, 2 * run);
        for (int to = 0; to <= run; to++)
            expect_answer(&p, &ids[to], 9, request_id, 2 * run);
        if (run + 1 < RUNS)
            ids[run + 1] = chain_turn(&p);
    }
    for (int to = 0; to < RUNS; to++)
        expect_answer(&p, &ids[to], 9, "r0", 0);
    assert_int_equal(play_count(&p, "cascade.step:answer/double",
                                CASCADE_EXECUTION_COMPLETED),
                     1);
    play_end(&p);
}

static void
a_repeated_command_is_one_by_the_id_of_any_run(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid ids[RUNS];

    play_begin(&p, db, CASCADE_MODE_THREADS, "goes");
    ids[0] = p.id;
    ask(&p, cascade_pause, &ids[0], "p");
    ask(&p, cascade_resume, &ids[0], "p");
    ids[1] = chain_turn(&p);
    ask_all(&p, cascade_pause, ids, 2, "p");
    ask(&p, cascade_pause, &ids[0], "q");
    ask(&p, cascade_resume, &ids[1], "q");
    ask_all(&p, cascade_pause, ids, 2, "q");
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 1);
    ids[2] = chain_turn(&p);
    ask_all(&p, cascade_pause, ids, RUNS, "p");
    ask_all(&p, cascade_pause, ids, RUNS, "q");
    assert_int_equal(
        play_count(&p, "cascade.pause", CASCADE_EXECUTION_COMPLETED), 0);
    ask(&p, cascade_cancel, &ids[1], "c");
    play_await(&p, &ids[2], CASCADE_ERROR);
    ask_all(&p, cascade_cancel, ids, RUNS, "c");
    play_end(&p);
}

static void
many_are_asked_once_whatever_they_continue_as(test_db *db)
{
    play p = {.nodes = {{"goes", chain_go_on}}};
    const cascade_many_options once = {.size = sizeof(once),
                                       .request_id = "once"};
    cascade_progress total;

    play_begin(&p, db, CASCADE_MODE_THREADS, "goes");
    ask(&p, cascade_pause, &p.id, "once");
    ask(&p, cascade_resume, &p.id, "once");
    (void)chain_turn(&p);
    assert_ok(
        cascade_request_many(p.store, CASCADE_REQUEST_PAUSE, &once, &total));
    assert_int_equal(total.done, 1);
    (void)chain_turn(&p);
    play_end(&p);
}

/* The signal was sent on before its first address was deleted. */
static void
a_signal_is_one_though_the_run_it_was_sent_to_is_gone(test_db *db)
{
    const cascade_signal_options once = {.size = sizeof(once),
                                         .request_id = "once"};
    const cascade_purge_options all = {.size = sizeof(all)};
    play p = {.nodes = {{"goes", chain_go_on}}};
    cascade_uuid first;
    cascade_progress total;

    play_begin(&p, db, CASCADE_MODE_THREADS, "goes");
    first = p.id;
    (void)chain_turn(&p);
    assert_ok(cascade_signal(p.store, &first, "news", NULL, &once));
    play_until(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, 1);
    assert_ok(cascade_purge(p.store, &all, &total));
    assert_int_equal(total.done, 1);
    assert_ok(cascade_signal(p.store, &first, "news", NULL, &once));
    assert_ok(cascade_signal(p.store, &p.id, "news", NULL, &once));
    assert_int_equal(
        play_count(&p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED), 1);
    play_end(&p);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"a_repeated_update_gets_its_answer_by_the_id_of_any_run",
         a_repeated_update_gets_its_answer_by_the_id_of_any_run, STORES_ALL},
        {"a_repeated_command_is_one_by_the_id_of_any_run",
         a_repeated_command_is_one_by_the_id_of_any_run, STORES_ALL},
        {"many_are_asked_once_whatever_they_continue_as",
         many_are_asked_once_whatever_they_continue_as, STORES_ALL},
        {"a_signal_is_one_though_the_run_it_was_sent_to_is_gone",
         a_signal_is_one_though_the_run_it_was_sent_to_is_gone, STORES_ALL}};

    return stores_run("repeated", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
