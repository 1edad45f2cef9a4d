/* SPDX-License-Identifier: MIT
 *
 * The plays; see scenarios.h. Each is written as a program would be that gives
 * up at the first error: what it leaves behind then, others must be able to
 * bring to its end.
 */
#include "sweep/scenarios.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cascade/manage.h"
#include "sweep/plays.h"

#define LONG_AGO_MS 100 /* the shortest lease */
#define ALONE_MS 60     /* a call that does the work itself gives up then */
#define NO_PID 99999999 /* beyond what Linux gives out */

/* ---- Parts --------------------------------------------------------------- */

cascade_err
plays_open_both(scene *s, cascade_store **store, cascade_engine **engine)
{
    cascade_err err = scene_open(s, store);

    return err == CASCADE_OK ? scene_engine(s, *store, NULL, engine) : err;
}

/* One cascade of `node`, from its start to its end. */
static cascade_err
play_one(scene *s, const char *node, const cascade_start_options *options)
{
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, node, options);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* ---- What nodes do ------------------------------------------------------- */

static cascade_err
play_graph(scene *s)
{
    return play_one(s, "fork", NULL);
}

static cascade_err
play_steps(scene *s)
{
    return play_one(s, "steps", NULL);
}

static cascade_err
play_saga(scene *s)
{
    return play_one(s, "undoes", NULL);
}

static cascade_err
play_children(scene *s)
{
    return play_one(s, "breed", NULL);
}

static cascade_err
play_retries(scene *s)
{
    return play_one(s, "flaky", NULL);
}

/* The reply to its first commit is lost. */
static cascade_err
play_transaction(scene *s)
{
    wrap_store_fail(s->wrap, WRAP_FINISH, 0, 1, WRAP_AFTER,
                    CASCADE_ERR_UNAVAILABLE);
    return play_one(s, "pay", NULL);
}

static cascade_err
play_waits(scene *s)
{
    const cascade_uuid id = scene_id(s);
    const cascade_start_options options = {
        .size = sizeof(options), .id = &id, .delay_ms = 6, .priority = 7};

    return play_one(s, "wait", &options);
}

/* The engine lives on meanwhile. */
static cascade_err
play_long_wait(scene *s)
{
    const cascade_uuid id = scene_id(s);
    const cascade_start_options options = {
        .size = sizeof(options),
        .id = &id,
        .delay_ms = s->db->backend->virtual_time ? 12000 : 90};

    return play_one(s, "leaf", &options);
}

/* That of the cascade, then that of an execution. */
static cascade_err
play_deadlines(scene *s)
{
    const cascade_uuid id = scene_id(s);
    const cascade_start_options options = {
        .size = sizeof(options), .id = &id, .deadline_ms = 8};
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "sleeps", &options);
    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "limited", NULL);
    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "undone", NULL);
    return err == CASCADE_OK ? scene_run(s) : err;
}

static cascade_err
play_failure(scene *s)
{
    return play_one(s, "end", NULL);
}

static cascade_err
play_failed_step(scene *s)
{
    return play_one(s, "fails", NULL);
}

static cascade_err
play_spared(scene *s)
{
    return play_one(s, "spare", NULL);
}

static cascade_err
play_program(scene *s)
{
    return play_one(s, "program", NULL);
}

/* ---- Starts -------------------------------------------------------------- */

static cascade_err
start_keyed(scene *s, cascade_store *store, bool *existed)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = "u", .key = "once"};
    const cascade_first first = {.size = sizeof(first), .node = "leaf"};
    const cascade_start_spec spec = {.size = sizeof(spec),
                                     .first = &first,
                                     .first_count = 1,
                                     .options = &options};
    cascade_started started = {0};
    cascade_err err = scene_start(s, store, &spec, 1, &started);

    *existed = started.existed;
    return err;
}

/* As somebody does who does not know whether the first took effect. */
static cascade_err
play_key(scene *s)
{
    cascade_store *store = NULL;
    bool existed = false;
    cascade_err err = plays_open_both(s, &store, NULL);
    cascade_err first = CASCADE_OK;

    if (err != CASCADE_OK)
        return err;
    first = start_keyed(s, store, &existed);
    err = start_keyed(s, store, &existed);
    if (first == CASCADE_OK && err == CASCADE_OK)
        SCENE_EXPECT(s, existed);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* Five cascades, of which the last is the first again. */
static cascade_err
play_many(scene *s)
{
    static const cascade_first firsts[2] = {
        {.size = sizeof(firsts[0]), .node = "leaf"},
        {.size = sizeof(firsts[0]), .node = "flaky"}};
    cascade_start_options options[5];
    cascade_start_spec specs[5];
    cascade_uuid ids[5];
    cascade_started started[5];
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    for (size_t i = 0; i < 5; i++) {
        ids[i] = i < 4 ? scene_id(s) : ids[0];
        options[i] = (cascade_start_options){
            .size = sizeof(options[i]), .id = &ids[i], .priority = (int)i};
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = firsts,
                                        .first_count = 1 + i % 2,
                                        .options = &options[i]};
    }
    if (err == CASCADE_OK)
        err = scene_start(s, store, specs, 5, started);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* ---- Several engines ----------------------------------------------------- */

/* Who does not know a node leaves the cascade to somebody who does. */
static cascade_err
play_unknown(scene *s)
{
    cascade_store *stores[2] = {NULL, NULL};
    cascade_err err = scene_open(s, &stores[0]);

    if (err == CASCADE_OK)
        err = scene_engine(s, stores[0], "join", NULL);
    if (err == CASCADE_OK)
        err = scene_start_one(s, stores[0], "fork", NULL);
    for (int i = 0; i < 4 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    if (err == CASCADE_OK)
        err = scene_open(s, &stores[1]);
    if (err == CASCADE_OK)
        err = scene_engine(s, stores[1], "branch", NULL);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* One engine writes, another runs, a third handle tells it. */
static cascade_err
play_handles(scene *s)
{
    cascade_store *stores[3] = {NULL, NULL, NULL};
    cascade_waited heard = {0};
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = scene_open(s, &stores[i]);
    if (err == CASCADE_OK)
        err = scene_engine(s, stores[0], NULL, NULL);
    if (err == CASCADE_OK)
        err = scene_start_one(s, stores[1], "leaf", NULL);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++) {
        err = stores[2]->driver->wait(stores[2]->self, -1, 0, &heard);
        if (err == CASCADE_OK)
            err = stores[1]->driver->wake(stores[1]->self);
    }
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* An engine of which there are only rows, made the way an engine makes them.
 * `host`: NULL for this machine, where its process can be seen to be gone.
 * `suspects`: what it has is one. */
static cascade_err
leave_behind(scene *s, cascade_store *store, const char *host, bool suspects,
             cascade_uuid *id)
{
    static const char *const queues[] = {"default"};
    static const char *const nodes[] = {"leaf", "steps"};
    char here[CSC_HOST_SIZE];
    cascade_incarnation dead = {.engine_id = scene_id(s),
                                .host = host,
                                .pid = NO_PID,
                                .lease_ms = LONG_AGO_MS,
                                .lane_count = 1};
    cascade_claim claim = {.engine_id = dead.engine_id,
                           .queues = queues,
                           .queue_count = 1,
                           .nodes = nodes,
                           .node_count = 2,
                           .limit = 1,
                           .suspect_from = 1,
                           .suspects = suspects};
    cascade_claimed claimed;
    cascade_claim_result result = {0};
    cascade_err err = CASCADE_OK;

    *id = dead.engine_id;
    csc_clock_host(here);
    if (host == NULL)
        dead.host = here;
    err = store->driver->attach(store->self, &dead);
    if (err == CASCADE_OK)
        err = store->driver->claim(store->self, &claim, &claimed, &result);
    return err;
}

static cascade_err
take_over(scene *s, const char *host)
{
    cascade_store *store = NULL;
    cascade_uuid dead;
    cascade_err err = scene_open(s, &store);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "steps", NULL);
    if (err == CASCADE_OK)
        err = leave_behind(s, store, host, false, &dead);
    if (err == CASCADE_OK)
        err = scene_engine(s, store, NULL, NULL);
    return err == CASCADE_OK ? scene_run(s) : err;
}

static cascade_err
play_dead(scene *s)
{
    return take_over(s, NULL);
}

/* Nobody can see whether it is alive: its lease must run out. */
static cascade_err
play_expired(scene *s)
{
    return take_over(s, "elsewhere");
}

/* The first makes a suspect, the others die in trial. */
static cascade_err
die_in_turn(scene *s, int deaths)
{
    cascade_store *store = NULL;
    cascade_uuid dead;
    size_t freed = 0;
    cascade_err err = scene_open(s, &store);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "steps", NULL);
    for (int i = 0; i < deaths && err == CASCADE_OK; i++) {
        if (i > 0)
            err = store->driver->remove(store->self, &dead, 1, 1, &freed);
        if (err == CASCADE_OK)
            err = leave_behind(s, store, NULL, i > 0, &dead);
    }
    if (err == CASCADE_OK)
        err = scene_engine(s, store, NULL, NULL);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* With a limit of one death in trial: the node is not run again. */
static cascade_err
play_poisoned(scene *s)
{
    return die_in_turn(s, 2);
}

/* And after one more it is not even loaded. */
static cascade_err
play_unread(scene *s)
{
    return die_in_turn(s, 3);
}

/* An engine that is stopped in the middle, and the one after it. */
static cascade_err
play_stop(scene *s)
{
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_err err = plays_open_both(s, &store, &engine);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "fork", NULL);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    if (err == CASCADE_OK)
        err = scene_stop(s, engine);
    if (err == CASCADE_OK)
        err = scene_close_store(s, store);
    if (err == CASCADE_OK)
        err = plays_open_both(s, &store, &engine);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* ---- Signals ------------------------------------------------------------- */

const scene_message plays_first_news = {"signal", "news", "first", 1};
const scene_message plays_second_news = {"signal", "news", "second", 2};
static const scene_message third_news = {"signal", "news", "third", 3};

/* The cascade that the play began with, if it came so far. */
void
plays_send_again(scene *s, cascade_store *store, const scene_message *message)
{
    cascade_err err = CASCADE_OK;

    if (s->journal->id_count > 0)
        err = scene_send(s, store, &s->journal->ids[0], message);
    SCENE_EXPECT(s, err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND);
}

static void
send_first(scene *s, cascade_store *store)
{
    plays_send_again(s, store, &plays_first_news);
}

void
plays_send_both(scene *s, cascade_store *store)
{
    plays_send_again(s, store, &plays_first_news);
    plays_send_again(s, store, &plays_second_news);
}

/* Its start, and polls while it does what it can. */
cascade_err
plays_begin(scene *s, cascade_store **store, const char *node, int polls)
{
    cascade_err err = plays_open_both(s, store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_one(s, *store, node, NULL);
    for (int i = 0; i < polls && err == CASCADE_OK; i++)
        err = scene_poll(s);
    return err;
}

static cascade_err
play_signal(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, "hear", 3);

    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &plays_first_news);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* The first of them twice, as somebody does who was not told. */
static cascade_err
play_early_signals(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, "hear.two", 0);

    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = scene_send(s, store, &s->journal->ids[0], &plays_first_news);
    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &plays_second_news);
    return err == CASCADE_OK ? scene_run(s) : err;
}

static cascade_err
play_timeout(scene *s)
{
    return play_one(s, "late", NULL);
}

/* By a handle that has no engine. */
static cascade_err
play_parked_receiver(scene *s)
{
    cascade_store *stores[2] = {NULL, NULL};
    cascade_err err = plays_begin(s, &stores[0], "hear", 12);

    if (err == CASCADE_OK)
        err = scene_open(s, &stores[1]);
    if (err == CASCADE_OK)
        err = scene_send(s, stores[1], &s->journal->ids[0], &plays_first_news);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* The second one finds it there, or ended. */
static cascade_err
play_start_with_signal(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_with(s, store, "k", &plays_first_news);
    if (err == CASCADE_OK)
        err = scene_poll(s);
    if (err == CASCADE_OK)
        err = scene_start_with(s, store, "k", &plays_second_news);
    return err == CASCADE_OK ? scene_run(s) : err;
}

static cascade_err
play_signal_by_key(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_with(s, store, "k", &plays_first_news);
    if (err == CASCADE_OK)
        err = scene_send_key(s, store, "k", &plays_second_news);
    return err == CASCADE_OK ? scene_run(s) : err;
}

static cascade_err
play_late_signal(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, "leaf", 0);

    if (err == CASCADE_OK)
        err = scene_run(s);
    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &plays_first_news);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* What a newer library sends. */
static cascade_err
play_unknown_message(scene *s)
{
    cascade_store *store = NULL;
    char id[CASCADE_UUID_TEXT_SIZE];
    char path[100];
    cascade_message_row message = {
        .kind = "future", .name = "", .path = path, .payload = "{}"};
    cascade_sent sent = CASCADE_SENT_ABSENT;
    const cascade_submission submission = {
        .messages = &message, .message_count = 1, .sent = &sent};
    cascade_err err = plays_begin(s, &store, "leaf", 0);

    if (err != CASCADE_OK)
        return err;
    message.cascade_id = s->journal->ids[0];
    message.sent_at_ms = scene_now_ms(s);
    snprintf(path, sizeof(path), "%s/message/future/unknown",
             cascade_uuid_format(&message.cascade_id, id));
    err = store->driver->submit(store->self, &submission);
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* ---- Runs and updates ---------------------------------------------------- */

static void
send_three(scene *s, cascade_store *store)
{
    plays_send_both(s, store);
    plays_send_again(s, store, &third_news);
}

/* Each finds the run that the key has by then; the last two may find the same,
 * of which the second goes on to the next. */
static cascade_err
play_runs(scene *s)
{
    const cascade_start_options options = {
        .size = sizeof(options), .user_id = "u", .key = "k"};
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "relay", &options);
    if (err == CASCADE_OK)
        err = scene_send_key(s, store, "k", &plays_first_news);
    for (int i = 0; i < 4 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    if (err == CASCADE_OK)
        err = scene_send_key(s, store, "k", &plays_second_news);
    if (err == CASCADE_OK)
        err = scene_send_key(s, store, "k", &third_news);
    return err == CASCADE_OK ? scene_run(s) : err;
}

static const scene_message asked = {"signal", "double", "ask", 1};

/* And once more when it has ended. */
static cascade_err
play_update(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, "answer.one", 0);

    if (err == CASCADE_OK)
        err = scene_ask(s, store, &s->journal->ids[0], &asked);
    if (err == CASCADE_OK)
        err = scene_run(s);
    if (err == CASCADE_OK)
        err = scene_ask_once(s, store, &s->journal->ids[0], &asked);
    return err == CASCADE_OK ? scene_run(s) : err;
}

static cascade_err
ask_first(scene *s, cascade_store *store)
{
    return s->journal->id_count > 0
               ? scene_ask_once(s, store, &s->journal->ids[0], &asked)
               : CASCADE_ERR_NOT_FOUND;
}

static void
ask_again(scene *s, cascade_store *store)
{
    cascade_err err = ask_first(s, store);

    SCENE_EXPECT(s, err == CASCADE_OK || err == CASCADE_ERR_TIMEOUT ||
                        err == CASCADE_ERR_NOT_FOUND);
}

/* It is answered, and published is, what it is without a fault. */
static void
look_at_answer(scene *s, cascade_store *store)
{
    cJSON *count = NULL;
    cascade_err err = ask_first(s, store);

    SCENE_EXPECT(s, err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND);
    if (err != CASCADE_OK)
        return;
    err = scene_check(
        s,
        cascade_get_published(store, &s->journal->ids[0], "answered", &count),
        "query");
    SCENE_EXPECT(s, err == CASCADE_OK && cJSON_GetNumberValue(count) == 1);
    cJSON_Delete(count);
}

/* ---- External executions ------------------------------------------------- */

static cascade_err
play_deadline(scene *s)
{
    return play_one(s, "task", NULL);
}

/* Completes the task if it waits. Its deadline may come first. */
static cascade_err
complete_task(scene *s, cascade_store *store, bool *over)
{
    const cascade_uuid *id = &s->journal->ids[0];
    const cascade_completion_spawn spawn = {.size = sizeof(spawn),
                                            .node = "leaf"};
    const cascade_completion completion = {.size = sizeof(completion),
                                           .output_text = "[1]",
                                           .spawns = &spawn,
                                           .spawn_count = 1};
    const cascade_execution_info *task = NULL;
    cascade_snapshot *snapshot = NULL;
    cascade_err err = scene_check(
        s, cascade_snapshot_load(store, id, NULL, &snapshot), "snapshot");

    if (err != CASCADE_OK)
        return err;
    task = cascade_snapshot_get(snapshot, CASCADE_PART_ACTIVE, 0);
    *over = task == NULL || task->token != NULL;
    if (task != NULL && task->token != NULL)
        err = scene_check(s,
                          cascade_complete(store, id, task->node_instance_id,
                                           task->token, &completion, NULL),
                          "complete");
    cascade_snapshot_free(snapshot);
    return err == CASCADE_ERR_TIMEOUT ? CASCADE_OK : err;
}

static cascade_err
play_completion(scene *s)
{
    cascade_store *store = NULL;
    bool over = false;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "task", NULL);
    while (err == CASCADE_OK && !over) {
        err = scene_poll(s);
        if (err == CASCADE_OK)
            err = complete_task(s, store, &over);
    }
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* ---- Looking ------------------------------------------------------------- */

static cascade_err
list_pages(scene *s, cascade_store *store)
{
    cascade_list_options options = {.size = sizeof(options), .limit = 1};
    cascade_uuid last;
    size_t count = 1;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && count > 0) {
        cascade_page *page = NULL;

        err = scene_check(s, cascade_list(store, &options, &page), "list");
        count = page != NULL ? cascade_page_count(page) : 0;
        if (count > 0)
            last = cascade_page_get(page, 0)->id;
        options.after = &last;
        cascade_page_free(page);
    }
    return err;
}

static cascade_err
load_snapshots(scene *s, cascade_store *store, const cascade_uuid *id)
{
    const cascade_snapshot_options past = {
        .size = sizeof(past), .as_of = 2, .ui = true};
    cascade_snapshot *snapshots[2] = {NULL, NULL};
    cascade_err err = cascade_snapshot_load(store, id, NULL, &snapshots[0]);

    (void)scene_check(s, err, "snapshot");
    if (err == CASCADE_OK)
        err = cascade_snapshot_load(store, id, &past, &snapshots[1]);
    (void)scene_check(s, err, "snapshot of the past");
    if (err == CASCADE_OK)
        SCENE_EXPECT(s,
                     strcmp(cascade_snapshot_context(snapshots[1]), "{}") != 0);
    cascade_snapshot_free(snapshots[0]);
    cascade_snapshot_free(snapshots[1]);
    return err;
}

static cascade_err
look_around(scene *s, cascade_store *store)
{
    const cascade_uuid *id = &s->journal->ids[0];
    cascade_info *info = NULL;
    cascade_status status = CASCADE_RUNNING;
    int64_t now_ms = 0;
    cascade_err err = scene_check(s, cascade_get(store, id, &info), "get");

    cascade_info_free(info);
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_wait(store, id, 0, &status), "wait");
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_store_now(store, &now_ms), "now");
    if (err == CASCADE_OK)
        err = list_pages(s, store);
    return err == CASCADE_OK ? load_snapshots(s, store, id) : err;
}

static cascade_err
play_looks(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "fork", NULL);
    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "leaf", NULL);
    if (err == CASCADE_OK)
        err = scene_run(s);
    return err == CASCADE_OK ? look_around(s, store) : err;
}

/* ---- The table ----------------------------------------------------------- */

/* ---- Looking after the store --------------------------------------------- */

/* The moves behind adopt and purge, where there is nothing to be done: a
 * cascade that is not there is not repaired, and none is old enough. */
static cascade_err
mend_nothing(scene *s, cascade_store *store, const cascade_uuid *id)
{
    const cascade_repair repair = {.was = {.id = scene_id(s),
                                           .status = CASCADE_RUNNING,
                                           .user_id = "nobody"},
                                   .status = CASCADE_COMPLETED};
    bool done = true;
    size_t deleted = 1;
    cascade_err err =
        store->driver->manage->repair(store->self, &repair, 1, &done);

    if (err == CASCADE_OK)
        SCENE_EXPECT(s, !done);
    if (err == CASCADE_OK)
        err = store->driver->manage->purge(store->self, id, 1, 1, &deleted);
    if (err == CASCADE_OK)
        SCENE_EXPECT(s, deleted == 0);
    return err;
}

static cascade_err
note_none(void *context, const cascade_execution_row *row)
{
    (void)row;
    ++*(int *)context;
    return CASCADE_OK;
}

static cascade_err
scan_first(scene *s, cascade_store *store, const cascade_uuid *id)
{
    int count = 0;
    const cascade_load_sink sink = {.context = &count,
                                    .on_execution = note_none};
    const cascade_scan scan = {.cascade_id = id, .limit = 1};
    cascade_err err = store->driver->scan(store->self, &scan, &sink);

    if (err == CASCADE_OK)
        SCENE_EXPECT(s, count == 1);
    return err;
}

static cascade_err
look_after(scene *s, cascade_store *store, const cascade_uuid *id)
{
    cascade_check_report report = {.size = sizeof(report)};
    cascade_started started = {.existed = false};
    char *text = NULL;
    cascade_err err =
        scene_check(s, cascade_verify(store, NULL, &report), "verify");

    if (err == CASCADE_OK)
        SCENE_EXPECT(s, report.cascades == 1 && report.findings == 0);
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_adopt(store, NULL, &report), "adopt");
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_export(store, id, NULL, &text), "export");
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_import(store, text, NULL, &started),
                          "import");
    if (err == CASCADE_OK)
        SCENE_EXPECT(s, started.existed);
    cascade_document_free(text);
    return err;
}

static cascade_err
play_looked_after(scene *s)
{
    cascade_store *store = NULL;
    const cascade_uuid id = scene_id(s);
    const cascade_start_options options = {.size = sizeof(options), .id = &id};
    cascade_err err = scene_open(s, &store);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "steps", &options);
    if (err == CASCADE_OK)
        err = look_after(s, store, &id);
    if (err == CASCADE_OK)
        err = scan_first(s, store, &id);
    if (err == CASCADE_OK)
        err = mend_nothing(s, store, &id);
    if (err == CASCADE_OK)
        err = scene_engine(s, store, NULL, NULL);
    return err == CASCADE_OK ? scene_run(s) : err;
}

const scenario scenarios[] = {
    {.name = "a graph with a join", .play = play_graph},
    {.name = "steps of a straight line", .play = play_steps},
    {.name = "a node that is undone", .play = play_saga},
    {.name = "children that are awaited",
     .play = play_children,
     .varies = true}, /* they may have ended before they are asked for */
    {.name = "attempts with backoff", .play = play_retries},
    {.name = "a transactional node", .play = play_transaction},
    {.name = "delays held and parked", .play = play_waits},
    {.name = "a wait beyond the lease", .play = play_long_wait},
    {.name = "deadlines", .play = play_deadlines, .varies = true},
    {.name = "a final failure", .play = play_failure},
    {.name = "a step that fails for good", .play = play_failed_step},
    {.name = "a failure that is passed over", .play = play_spared},
    {.name = "another program",
     .play = play_program,
     .reorders = true}, /* how long it took is recorded */
    {.name = "a key started twice", .play = play_key},
    {.name = "many starts in one call", .play = play_many},
    {.name = "nodes that one engine lacks", .play = play_unknown},
    {.name = "several handles", .play = play_handles},
    {.name = "a store that is looked after", .play = play_looked_after},
    {.name = "a takeover from a dead process", .play = play_dead},
    {.name = "a takeover when a lease ends", .play = play_expired},
    {.name = "a poisoned node",
     .play = play_poisoned,
     .varies = true,
     .poison_limit = 1},
    {.name = "a cascade that is not even loaded",
     .play = play_unread,
     .varies = true,
     .poison_limit = 1},
    {.name = "a deadline of an external node", .play = play_deadline},
    {.name = "a completion from outside",
     .play = play_completion,
     .varies = true},
    {.name = "a stop in the middle", .play = play_stop},
    {.name = "looking", .play = play_looks},
    {.name = "a signal that is awaited",
     .play = play_signal,
     .mend = send_first,
     .reorders = true},
    {.name = "signals before they are awaited",
     .play = play_early_signals,
     .mend = plays_send_both,
     .reorders = true},
    {.name = "an await that times out", .play = play_timeout},
    {.name = "a parked receiver",
     .play = play_parked_receiver,
     .mend = send_first,
     .reorders = true},
    {.name = "a start with its signal",
     .play = play_start_with_signal,
     .mend = plays_send_both,
     .reorders = true},
    {.name = "a signal by key",
     .play = play_signal_by_key,
     .mend = plays_send_both,
     .reorders = true},
    {.name = "a signal after the end",
     .play = play_late_signal,
     .reorders = true},
    {.name = "a message of an unknown kind",
     .play = play_unknown_message,
     .reorders = true},
    {.name = "runs that continue",
     .play = play_runs,
     .mend = send_three,
     .continues = true,
     .reorders = true},
    {.name = "an update that is answered",
     .play = play_update,
     .mend = ask_again,
     .look = look_at_answer,
     .reorders = true},
    {.name = "a cancellation with its clean-up",
     .play = plays_cancel,
     .mend = plays_cancel_again,
     .varies = true},
    {.name = "a cancellation of what is parked",
     .play = plays_cancel_parked,
     .mend = plays_cancel_again,
     .varies = true},
    {.name = "a termination",
     .play = plays_terminate,
     .mend = plays_terminate_again,
     .varies = true},
    {.name = "a deletion",
     .play = plays_delete,
     .mend = plays_delete_again,
     .varies = true},
    {.name = "a deletion without an engine",
     .play = plays_delete_alone,
     .mend = plays_delete_again,
     .varies = true,
     .deadline_ms = ALONE_MS},
    {.name = "a cancellation in slices",
     .play = plays_cancel_many,
     .mend = plays_cancel_again,
     .small = true,
     .varies = true},
    {.name = "a family that is left in slices",
     .play = plays_leave_family,
     .small = true,
     .family = true,
     .varies = true},
    {.name = "the end of a family in slices",
     .play = plays_terminate_family,
     .mend = plays_terminate_again,
     .small = true,
     .family = true,
     .varies = true},
    {.name = "a deletion of a family",
     .play = plays_delete_family,
     .mend = plays_delete_again,
     .small = true,
     .family = true,
     .varies = true},
    {.name = "looking after a store", .play = plays_care},
    {.name = "a retry", .play = plays_retry, .varies = true},
    {.name = "a rerun", .play = plays_rerun, .varies = true},
    {.name = "a rerun in slices",
     .play = plays_rerun_signals,
     .mend = plays_send_both,
     .small = true,
     .varies = true},
    {.name = "a pause and its end",
     .play = plays_pause,
     .mend = plays_resume_again,
     .varies = true,
     .reorders = true},
    {.name = "a pause of a queue",
     .play = plays_queue_pause,
     .mend = plays_resume_queue_again},
    {.name = "a queue with limits", .play = plays_queue_limits},
    {.name = "a database without tables", .play = play_graph, .fresh = true},
    {.name = "a store with integrity",
     .play = plays_sealed,
     .look = plays_look_at_seals,
     .fresh = true,
     .sealed = true},
};

const size_t scenario_count = sizeof(scenarios) / sizeof(scenarios[0]);
