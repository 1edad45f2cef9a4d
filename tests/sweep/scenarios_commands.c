/* SPDX-License-Identifier: MIT
 *
 * The scenarios of commands, and of the moves by which a store is looked after;
 * see scenarios.h.
 */
#include <stdio.h>

#include "base/uuid.h"
#include "cascade/manage.h"
#include "store/chain.h"
#include "sweep/plays.h"

/* ---- Commands ------------------------------------------------------------ */

static const scene_message cancellation = {"cancel", NULL, "c", 0};
static const scene_message termination = {"terminate", NULL, "t", 0};
static const scene_message deletion = {"delete", NULL, "d", 0};

void
plays_cancel_again(scene *s, cascade_store *store)
{
    plays_send_again(s, store, &cancellation);
}

void
plays_terminate_again(scene *s, cascade_store *store)
{
    plays_send_again(s, store, &termination);
}

void
plays_delete_again(scene *s, cascade_store *store)
{
    plays_send_again(s, store, &deletion);
}

/* NULL: none. */
static cascade_err
command(scene *s, const char *node, int polls, const scene_message *message)
{
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, node, polls);

    if (err == CASCADE_OK && message != NULL)
        err = scene_send(s, store, &s->journal->ids[0], message);
    return err == CASCADE_OK ? scene_run(s) : err;
}

cascade_err
plays_cancel(scene *s)
{
    return command(s, "tidy", 3, &cancellation);
}

cascade_err
plays_cancel_parked(scene *s)
{
    return command(s, "tidy", 12, &cancellation);
}

cascade_err
plays_terminate(scene *s)
{
    return command(s, "tidy", 3, &termination);
}

cascade_err
plays_delete(scene *s)
{
    return command(s, "tidy", 3, &deletion);
}

/* Nobody is alive: the call does it. */
cascade_err
plays_delete_alone(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = scene_open(s, &store);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "tidy", NULL);
    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &deletion);
    return err;
}

/* ---- In slices ----------------------------------------------------------- */

/* Those that wait, and the children, which are asked. */
cascade_err
plays_cancel_many(scene *s)
{
    return command(s, "keep.many", 8, &cancellation);
}

cascade_err
plays_leave_family(scene *s)
{
    return command(s, "leave.many", 0, NULL);
}

cascade_err
plays_terminate_family(scene *s)
{
    return command(s, "keep.many", 8, &termination);
}

cascade_err
plays_delete_family(scene *s)
{
    return command(s, "keep.many", 8, &deletion);
}

/* ---- Looking after a store ----------------------------------------------- */

static cascade_err
keep_row(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)run;
    ((cascade_repair *)context)->was = *row;
    return CASCADE_OK;
}

/* Says of an ended cascade what is so, with a key. */
static cascade_err
repair_one(scene *s, cascade_store *store, const cascade_uuid *id)
{
    const cascade_query query = {
        .id = id, .updated_before_ms = INT64_MAX, .limit = 1};
    cascade_repair repair = {.key = "care", .run_number = 2};
    bool done = false;
    cascade_err err =
        store->driver->list(store->self, &query, keep_row, &repair);

    if (err != CASCADE_OK)
        return err;
    repair.status = repair.was.status;
    repair.fn_id = repair.was.fn_id;
    err = store->driver->manage->repair(store->self, &repair, 1, &done);
    SCENE_EXPECT(s, err != CASCADE_OK || done);
    return err;
}

/* One that was written since. */
static cascade_err
purge_none(scene *s, cascade_store *store, const cascade_uuid *id)
{
    size_t deleted = 0;
    cascade_err err =
        store->driver->manage->purge(store->self, id, 1, 1, &deleted);

    SCENE_EXPECT(s, deleted == 0);
    return err;
}

/* Of a run that was never there; the last one is, and so nothing is swept. */
static cascade_err
link_one(scene *s, cascade_store *store, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const cascade_uuid gone = scene_id(s);
    const char *const path = cascade_uuid_format(&gone, text);
    const cascade_receipt receipt = {path, 1};
    const cascade_link link = {.id = scene_id(s),
                               .root = scene_id(s),
                               .run_number = 1,
                               .next = *id,
                               .next_number = 2,
                               .receipts = &receipt,
                               .receipt_count = 1};
    cascade_uuid cursor = {{0}};
    cascade_found found = {.id = {{0}}};
    bool more = false;
    cascade_err err = store->driver->chain->link(store->self, &link);

    if (err == CASCADE_OK)
        err =
            store->driver->chain->sweep(store->self, NULL, 10, &cursor, &more);
    if (err == CASCADE_OK)
        err = store->driver->chain->find(store->self, &path, 1, &found);
    SCENE_EXPECT(s, err != CASCADE_OK || csc_uuid_equal(&found.id, id));
    return err;
}

typedef struct kept_seal {
    cascade_uuid id; /* of that cascade */
    cascade_seal_row row;
    char text[CASCADE_SEAL_MAX + 1];
    bool there;
} kept_seal;

static cascade_err
keep_seal(void *context, const cascade_seal_row *row)
{
    kept_seal *kept = context;

    if (!csc_uuid_equal(&row->cascade_id, &kept->id))
        return CASCADE_OK;
    kept->there = true;
    kept->row = *row;
    (void)snprintf(kept->text, sizeof(kept->text), "%s", row->seal);
    kept->row.seal = kept->text;
    return CASCADE_OK;
}

/* Of the cascade alone: earlier ones have theirs. */
static cascade_err
seal_one(scene *s, cascade_store *store, const cascade_uuid *id)
{
    const cascade_store_driver *driver = store->driver;
    const cascade_seal_row seal = {.number = 1, .seal = "sealed"};
    cascade_reseal reseal = {.cascade_id = *id, .now = &seal};
    kept_seal kept = {.id = *id};
    bool done = false;
    cascade_uuid before;
    cascade_uuid to;
    cascade_err err = CASCADE_OK;

    csc_store_sweep_range(id, id, &before, &to);
    err = driver->integrity->seals(store->self, &before, 1, keep_seal, &kept);
    reseal.was = kept.there ? &kept.row : NULL;
    if (err == CASCADE_OK)
        err = driver->integrity->seal(store->self, &reseal, 1, &done);
    SCENE_EXPECT(s, err != CASCADE_OK || done);
    return err;
}

static cascade_err
pause_queue(cascade_store *store, bool paused)
{
    bool changed = false;

    return store->driver->manage->pause(store->self, "other", paused, "{}",
                                        &changed);
}

static cascade_err
pass_queue(void *context, const cascade_queue_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
pass_migration(void *context, const cascade_migration_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
pass_execution(void *context, const cascade_execution_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
pass_event(void *context, const cascade_event_row *row)
{
    (void)context;
    (void)row;
    return CASCADE_OK;
}

static cascade_err
read_all(cascade_store *store, const cascade_uuid *id)
{
    const cascade_store_driver *driver = store->driver;
    const cascade_scan scans[] = {
        {.limit = 10},
        {.cascade_id = id, .limit = 10},
        {.cascade_id = id, .events = true, .limit = 10}};
    const cascade_load_sink sink = {.on_execution = pass_execution,
                                    .on_event = pass_event};
    cascade_totals totals;
    cascade_err err = driver->manage->queues(store->self, pass_queue, NULL);

    if (err == CASCADE_OK)
        err = driver->manage->totals(store->self, &totals);
    if (err == CASCADE_OK)
        err = driver->manage->schema(store->self, pass_migration, NULL);
    for (size_t i = 0; i < 3 && err == CASCADE_OK; i++)
        err = driver->scan(store->self, &scans[i], &sink);
    return err;
}

static cascade_err
care_for(scene *s, cascade_store *store, const cascade_uuid *id)
{
    cascade_err err = pause_queue(store, true);

    if (err == CASCADE_OK)
        err = read_all(store, id);
    if (err == CASCADE_OK)
        err = repair_one(s, store, id);
    if (err == CASCADE_OK)
        err = purge_none(s, store, id);
    if (err == CASCADE_OK)
        err = link_one(s, store, id);
    if (err == CASCADE_OK)
        err = seal_one(s, store, id);
    if (err == CASCADE_OK)
        err = pause_queue(store, false);
    return err;
}

cascade_err
plays_care(scene *s)
{
    cascade_store *store = NULL;
    const cascade_uuid *id = &s->journal->ids[0];
    cascade_err err = plays_begin(s, &store, "fork", 0);

    if (err == CASCADE_OK)
        err = scene_run(s);
    return err == CASCADE_OK ? care_for(s, store, id) : err;
}

/* ---- Retry and rerun ----------------------------------------------------- */

static const scene_message retry = {"retry", NULL, "r", 0};
static const scene_message rerun = {"rerun", NULL, "a", 1};

/* A cascade of `node` that has ended is asked, and ends once more. */
static cascade_err
ask_ended(scene *s, const char *node, const scene_message *message)
{
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, node, 0);

    if (err == CASCADE_OK)
        err = scene_run(s);
    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], message);
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    return err == CASCADE_OK ? scene_run(s) : err;
}

cascade_err
plays_retry(scene *s)
{
    return ask_ended(s, "end", &retry);
}

cascade_err
plays_rerun(scene *s)
{
    return ask_ended(s, "steps", &rerun);
}

/* What it has heard is received once more. */
cascade_err
plays_rerun_signals(scene *s)
{
    static const scene_message whole = {"rerun", NULL, "a", 0};
    const scene_message *messages[] = {&plays_first_news, &plays_second_news};
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, "hear.two", 0);

    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = scene_send(s, store, &s->journal->ids[0], messages[i]);
    if (err == CASCADE_OK)
        err = scene_run(s);
    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &whole);
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* ---- Pauses -------------------------------------------------------------- */

static const scene_message pause_of_it = {"pause", NULL, "p", 0};
static const scene_message resumption = {"resume", NULL, "r", 0};

void
plays_resume_again(scene *s, cascade_store *store)
{
    plays_send_again(s, store, &resumption);
    plays_send_again(s, store, &plays_first_news);
}

/* What it awaits comes while it is paused. */
cascade_err
plays_pause(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_begin(s, &store, "hear", 3);

    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &pause_of_it);
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &plays_first_news);
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    if (err == CASCADE_OK)
        err = scene_send(s, store, &s->journal->ids[0], &resumption);
    return err == CASCADE_OK ? scene_run(s) : err;
}

void
plays_resume_queue_again(scene *s, cascade_store *store)
{
    cascade_err err = cascade_queue_resume(store, "default");

    SCENE_EXPECT(s, err == CASCADE_OK || err == CASCADE_ERR_NOT_FOUND);
}

cascade_err
plays_queue_pause(scene *s)
{
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_check(s, cascade_queue_pause(store, "default", NULL),
                          "queue_pause");
    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "leaf", NULL);
    for (int i = 0; i < 3 && err == CASCADE_OK; i++)
        err = scene_poll(s);
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_queue_resume(store, "default"),
                          "queue_resume");
    return err == CASCADE_OK ? scene_run(s) : err;
}

/* Two by one key, of which one runs at a time; why the first waits is asked
 * before an engine comes. The limits before them are taken away again. */
cascade_err
plays_queue_limits(scene *s)
{
    const cascade_uuid id = scene_id(s);
    const cascade_start_options known = {.size = sizeof(known), .id = &id};
    cascade_explanation *why = NULL;
    const cascade_queue_limits limits = {.size = sizeof(limits),
                                         .running_max = 5,
                                         .key_running_max = 1,
                                         .by = "sweep"};
    cascade_store *store = NULL;
    cascade_err err = plays_open_both(s, &store, NULL);

    if (err == CASCADE_OK)
        err = scene_check(s, cascade_queue_set(store, "default", &limits, NULL),
                          "queue_set");
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_queue_unset(store, "default"),
                          "queue_unset");
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_queue_set(store, "default", &limits, NULL),
                          "queue_set");
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = scene_start_one(s, store, "leaf", i == 0 ? &known : NULL);
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_explain(store, &id, &why), "explain");
    cascade_explanation_free(why);
    return err == CASCADE_OK ? scene_run(s) : err;
}
