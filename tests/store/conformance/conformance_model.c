/* SPDX-License-Identifier: MIT
 *
 * Random moves on a store and on the reference model at once. Both get the same
 * arguments; after each move the results are the same, and so is everything
 * that can be seen (db_dump). The seed is printed at the start of the program;
 * CASCADE_TEST_SEED replays it.
 *
 * The moves are those of engines that mostly behave: they commit to cascades
 * they own, repeat batches, die, claim, park, receive, send and delete. Now and
 * then one does what is refused, is fenced, or uses a wrong number. Others look
 * after what is stored: they pause queues, repair, purge, and read pages. Where
 * the store has transactions of nodes, some commits are the finish of one, and
 * some lanes are settled.
 *
 * The ids of messages are each store's own. So the changes of this file name
 * what they receive by its place among the letters of the world, and each store
 * is told the ids it gave.
 *
 * Left out, because a store may choose: which of several runs with the same
 * priority and wake_at a claim with a small limit takes, and which orphans a
 * removal with a small limit frees. So claims here take all they may get, and
 * removals go on until nothing is left. Nor when the messages of absent
 * cascades are deleted: their paths are not used again; nor what a repeated
 * batch tells of a cascade that was deleted since. On a store with a clock of
 * its own the near times of wake_at are not compared, and no lease expires.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/uuid.h"
#include "store/conformance/conformance_twin.h"

#define EPISODES 6
#define MOVES 350
#define COMPARE_EVERY 5 /* moves: what differs goes on to do so */
#define FAR_MS INT64_C(3600000)

/* ---- Both stores -------------------------------------------------------- */

static void
compare_dumps(twin_world *world)
{
    unsigned parts = DUMP_ENGINES;
    char *real;
    char *model;

    if (world->db->backend->virtual_time)
        parts |= DUMP_EXACT_TIMES;
    parts |= db_dump_without(world->db->driver);
    real = db_dump(world->db->handles[0], parts);
    model = db_dump(world->model, parts);
    assert_string_equal(real, model);
    csc_mem_free(real);
    csc_mem_free(model);
}

/* A store that others' clocks do not reach lends its own to the model. */
static void
set_model_clock(twin_world *world)
{
    if (!world->db->backend->virtual_time)
        fake_clock_set_wall(&world->model_clock, db_now(world->db));
}

/* The changes with the ids of messages that one of the stores gave. */
static cascade_change *
translate(twin_world *world, const cascade_batch *batch, bool real)
{
    cascade_change *changes = calloc(batch->change_count + 1, sizeof(*changes));

    assert_non_null(changes);
    for (size_t i = 0; i < batch->change_count; i++) {
        const cascade_change *change = &batch->changes[i];

        changes[i] = *change;
        changes[i].received = NULL;
        changes[i].received_count = 0;
        for (size_t k = 0; k < change->received_count; k++) {
            const letter *it = &world->letters[change->received[k]];

            rows_receive(world->rows, &changes[i],
                         real ? it->real_id : it->model_id);
        }
    }
    return changes;
}

static cascade_err
commit_both(twin_world *world, const cascade_batch *batch)
{
    bool real[BATCH_MAX + 1];
    bool model[BATCH_MAX + 1];
    cascade_change *real_changes = translate(world, batch, true);
    cascade_change *model_changes = translate(world, batch, false);
    cascade_batch real_batch = *batch;
    cascade_batch model_batch = *batch;
    cascade_err wanted;
    cascade_err err;

    real_batch.changes = real_changes;
    model_batch.changes = model_changes;
    wanted =
        world->model->driver->commit(world->model->self, &model_batch, model);
    err = twin_commit(world, &real_batch, wanted, real);
    assert_int_equal(err, wanted);
    free(real_changes);
    free(model_changes);
    if (err == CASCADE_OK)
        assert_memory_equal(real, model, batch->change_count * sizeof(bool));
    world->committed += err == CASCADE_OK;
    world->refused += err == CASCADE_ERR_REFUSED;
    return err;
}

static cascade_err
submit_both(twin_world *world, cascade_submission submission)
{
    bool existed[2][BATCH_MAX + 1];
    cascade_sent sent[2][SENDS_MAX + 1];
    cascade_err err;

    submission.existed = existed[0];
    submission.sent = sent[0];
    err = world->db->driver->submit(world->db->self, &submission);
    submission.existed = existed[1];
    submission.sent = sent[1];
    assert_int_equal(
        err, world->model->driver->submit(world->model->self, &submission));
    if (err != CASCADE_OK)
        return err;
    assert_memory_equal(existed[0], existed[1],
                        submission.start_count * sizeof(bool));
    for (size_t i = 0; i < submission.message_count; i++)
        assert_int_equal(sent[0][i], sent[1][i]);
    return CASCADE_OK;
}

/* ---- What the world knows ----------------------------------------------- */

const char *
twin_queue(twin_world *world)
{
    static const char *const queues[] = {"default", "mail", "slow"};

    return twin_text(world, queues, 3);
}

/* Due by now, or an hour away. */
int64_t
twin_wake_at(twin_world *world)
{
    int64_t now_ms = world->rows->now_ms;

    return twin_chance(world, 70)
               ? now_ms - (int64_t)rows_below(world->rows, 1000)
               : now_ms + FAR_MS + (int64_t)rows_below(world->rows, 100000);
}

known_cascade *
twin_cascade(twin_world *world)
{
    return world->count == 0
               ? NULL
               : &world->cascades[rows_below(world->rows, world->count)];
}

static known_cascade *
find_known(twin_world *world, const cascade_uuid *id)
{
    for (size_t i = 0; i < world->count; i++) {
        if (csc_uuid_equal(&world->cascades[i].id, id))
            return &world->cascades[i];
    }
    return NULL;
}

static cascade_err
count_row(void *context, const cascade_row *row)
{
    (void)row;
    ++*(int *)context;
    return CASCADE_OK;
}

bool
twin_is_there(twin_world *world, const cascade_uuid *id)
{
    int count = 0;
    cascade_load_sink sink = {.context = &count, .on_cascade = count_row};

    assert_ok(world->model->driver->load(world->model->self, id, 1, 0, &sink));
    return count > 0;
}

/* Whose the run is that a start made, if it made one. */
static int
owner_of(twin_world *world, const cascade_change *start)
{
    if (start->cascade.status != CASCADE_RUNNING)
        return OWNER_ENDED;
    for (int i = 0; i < ENGINES; i++) {
        if (world->engines[i].alive &&
            csc_uuid_equal(&world->engines[i].id, &start->run.engine_id))
            return i;
    }
    return OWNER_NONE;
}

static void
learn_start(twin_world *world, cascade_change *start)
{
    known_cascade *it = find_known(world, &start->cascade.id);

    if ((it != NULL && it->owner != OWNER_DELETED) ||
        !twin_is_there(world, &start->cascade.id))
        return;
    if (it == NULL) {
        assert_true(world->count < CASCADES);
        it = &world->cascades[world->count++];
    }
    *it = (known_cascade){.id = start->cascade.id,
                          .start = start,
                          .owner = owner_of(world, start)};
    for (size_t i = 0; i < start->insert_count; i++)
        it->open[it->open_count++] = it->next++;
}

static void
lose_owner(twin_world *world, int owner)
{
    for (size_t i = 0; i < world->count; i++) {
        if (world->cascades[i].owner == owner)
            world->cascades[i].owner = OWNER_NONE;
    }
}

static int
some_engine(twin_world *world)
{
    for (int tries = 0; tries < 20; tries++) {
        int at = (int)rows_below(world->rows, ENGINES);

        if (world->engines[at].alive)
            return at;
    }
    return -1;
}

/* ---- Changes ------------------------------------------------------------ */

/* The next run of a key, or another. */
static void
some_key(twin_world *world, cascade_change *start)
{
    static const char *const keys[] = {"a", "b", "c"};

    start->key = twin_text(world, keys, 3);
    assert_ok(
        conformance_chain(world->model->driver)
            ->key(world->model->self, "user", start->key, &start->run_number));
    start->run_number += (int32_t)rows_below(world->rows, 4) - 1;
}

/* Whoever leaves a cascade without a run may say that it is running: then it
 * needs a repair. */
static cascade_status
some_end(twin_world *world)
{
    if (twin_chance(world, 20))
        return CASCADE_RUNNING;
    return twin_chance(world, 50) ? CASCADE_COMPLETED : CASCADE_ERROR;
}

/* A start that is new, or repeated, or of a cascade that others started. */
static cascade_change *
some_start(twin_world *world, int owner)
{
    cascade_change *start;
    known_cascade *old = twin_cascade(world);
    cascade_uuid id = rows_id(world->rows);

    if (old != NULL && twin_chance(world, 8))
        return old->start;
    if (old != NULL && twin_chance(world, 8))
        id = old->id;
    start = owner >= 0
                ? rows_start_owned(world->rows, id, world->engines[owner].id)
                : rows_start(world->rows, id);
    start->run.queue = twin_queue(world);
    start->run.priority = (int32_t)rows_below(world->rows, 10);
    start->run.wake_at_ms = twin_wake_at(world);
    start->run.needs = twin_chance(world, 20) ? twin_node(world) : NULL;
    if (twin_chance(world, 10))
        start->cascade.status = some_end(world);
    if (twin_chance(world, 40))
        rows_event(world->rows, start, 0, "started", twin_payload(world));
    if (world->db->driver->chain != NULL && twin_chance(world, 25))
        some_key(world, start);
    if (old != NULL && twin_chance(world, 4))
        rows_insert(world->rows, start, 1, "n")->node_instance_id =
            old->start->inserts[0].node_instance_id;
    return start;
}

static void
some_updates(twin_world *world, const known_cascade *it, cascade_change *write)
{
    for (size_t i = 0; i < it->open_count; i++) {
        cascade_execution_row *row;

        if (!twin_chance(world, 60))
            continue;
        row = rows_update(world->rows, write, it->open[i], twin_payload(world));
        row->error = twin_chance(world, 20) ? "it did not work" : NULL;
        if (twin_chance(world, 20)) {
            row->status = CASCADE_EXECUTION_RUNNING;
            row->completed_at_ms = CASCADE_TIME_NONE;
        } else if (twin_chance(world, 20)) {
            row->status = CASCADE_EXECUTION_FAILED;
        }
    }
}

static void
some_culprit(twin_world *world, cascade_change *write)
{
    switch (rows_below(world->rows, 4)) {
    case 0:
        rows_update(world->rows, write, 1000000, "{}");
        return;
    case 1:
        rows_insert(world->rows, write, 0, "n");
        return;
    case 2:
        rows_insert(world->rows, write, 1000001, "n")->node_instance_id =
            world->cascades[0].start->inserts[0].node_instance_id;
        return;
    case 3:
        write->cascade.id = rows_id(world->rows);
        return;
    }
}

static cascade_change *
some_write(twin_world *world, const known_cascade *it)
{
    static const cascade_run_action actions[] = {
        CASCADE_RUN_KEEP, CASCADE_RUN_KEEP,  CASCADE_RUN_RESET,
        CASCADE_RUN_FREE, CASCADE_RUN_FREE,  CASCADE_RUN_END,
        CASCADE_RUN_END,  CASCADE_RUN_REVIVE};
    cascade_change *write = rows_write(world->rows, it->id, it->next);
    size_t inserts = rows_below(world->rows, OPEN_MAX + 1 - it->open_count);
    size_t events = rows_below(world->rows, 4);

    write->cascade.updated_at_ms = world->rows->now_ms + it->next;
    some_updates(world, it, write);
    for (size_t i = 0; i < inserts; i++) {
        cascade_execution_row *row = rows_insert(
            world->rows, write, it->next + (int32_t)i, twin_node(world));

        row->input = twin_payload(world);
    }
    for (size_t i = 0; i < events; i++)
        rows_event(world->rows, write,
                   (int32_t)rows_below(world->rows, (size_t)it->next),
                   twin_node(world), twin_payload(world))
            ->ui_value = twin_chance(world, 30) ? twin_payload(world) : NULL;
    twin_receipts(world, it, write);
    for (size_t i = rows_below(world->rows, SENDS_MAX); i > 0; i--)
        rows_send(world->rows, write, twin_message(world, NULL));
    write->run_action = actions[rows_below(world->rows, 8)];
    write->run.queue = twin_queue(world);
    write->run.priority = (int32_t)rows_below(world->rows, 10);
    write->run.wake_at_ms = twin_wake_at(world);
    write->run.needs = twin_chance(world, 30) ? twin_node(world) : NULL;
    if (write->run_action == CASCADE_RUN_END)
        write->cascade.status = some_end(world);
    if (twin_chance(world, 3))
        some_culprit(world, write);
    return write;
}

static void
learn_write(known_cascade *it, const cascade_change *write)
{
    size_t kept = 0;

    for (size_t i = 0; i < it->open_count; i++) {
        bool ended = false;

        for (size_t k = 0; k < write->update_count; k++)
            ended = ended ||
                    (write->updates[k].function_id == it->open[i] &&
                     write->updates[k].status != CASCADE_EXECUTION_RUNNING);
        if (!ended)
            it->open[kept++] = it->open[i];
    }
    for (size_t i = 0; i < write->insert_count && kept < OPEN_MAX; i++)
        it->open[kept++] = write->inserts[i].function_id;
    it->open_count = kept;
    it->next += (int32_t)write->insert_count;
    if (write->run_action == CASCADE_RUN_FREE)
        it->owner = OWNER_NONE;
    if (write->run_action == CASCADE_RUN_END)
        it->owner = OWNER_ENDED;
}

/* ---- Moves -------------------------------------------------------------- */

void
twin_learn_delete(twin_world *world, known_cascade *it)
{
    it->owner = OWNER_DELETED;
    for (size_t i = 0; i < world->letter_count; i++) {
        if (csc_uuid_equal(&world->letters[i].to, &it->id))
            world->letters[i].waiting = false;
    }
    for (int i = 0; i < ENGINES; i++)
        world->engines[i].deleted = true;
}

static void
learn_batch(twin_world *world, cascade_change **changes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        known_cascade *it = find_known(world, &changes[i]->cascade.id);

        twin_learn_received(world, changes[i]);
        if (changes[i]->run_action == CASCADE_RUN_START)
            learn_start(world, changes[i]);
        else if (changes[i]->run_action == CASCADE_RUN_DELETE)
            twin_learn_delete(world, it);
        else
            learn_write(it, changes[i]);
    }
}

/* Which of two starts with one key comes first in a batch, nobody says. */
static bool
has_key(cascade_change *const *changes, size_t count, const char *key)
{
    for (size_t i = 0; key != NULL && i < count; i++) {
        if (changes[i]->key != NULL && strcmp(changes[i]->key, key) == 0)
            return true;
    }
    return false;
}

static bool
is_in(cascade_change *const *changes, size_t count, const cascade_uuid *id)
{
    for (size_t i = 0; i < count; i++) {
        if (csc_uuid_equal(&changes[i]->cascade.id, id))
            return true;
    }
    return false;
}

/* Changes of one batch, each cascade once. */
static size_t
some_changes(twin_world *world, int engine, cascade_change **changes)
{
    size_t count = 0;
    size_t wanted = rows_below(world->rows, BATCH_MAX + 1);

    for (size_t tries = 0; tries < 40 && count < wanted; tries++) {
        known_cascade *it = twin_cascade(world);
        cascade_change *change = NULL;

        if (it != NULL && engine >= 0 && it->owner == engine)
            change = some_write(world, it);
        else if (twin_chance(world, 15) || engine < 0)
            change = some_start(world, twin_chance(world, 50) ? engine : -1);
        if (change != NULL && !is_in(changes, count, &change->cascade.id) &&
            !has_key(changes, count, change->key))
            changes[count++] = change;
    }
    return count;
}

/* Some of the known cascades, whoever has them. */
static size_t
some_deletions(twin_world *world, cascade_change **changes)
{
    size_t count = 0;

    for (int tries = 0; tries < 2 && world->count > 0; tries++) {
        known_cascade *it = twin_cascade(world);
        cascade_change *change = rows_write(world->rows, it->id, 0);

        change->run_action = CASCADE_RUN_DELETE;
        if (!is_in(changes, count, &it->id))
            changes[count++] = change;
    }
    return count;
}

static void
move_commit(twin_world *world)
{
    int at = some_engine(world);
    peer *engine = &world->engines[at < 0 ? 0 : at];
    cascade_change *changes[BATCH_MAX];
    cascade_batch batch = {.number = 1};

    if (at < 0)
        return;
    twin_receive(world, at);
    if (engine->number > 0 && !engine->deleted && twin_chance(world, 10)) {
        assert_int_equal(commit_both(world, &engine->last), CASCADE_OK);
        return;
    }
    batch.engine_id = engine->id;
    batch.number = engine->number + 1;
    batch.change_count = twin_chance(world, 10)
                             ? some_deletions(world, changes)
                             : some_changes(world, at, changes);
    batch.changes = rows_changes(world->rows, changes, batch.change_count);
    if (twin_chance(world, 3)) {
        batch.number += 1 + (int64_t)rows_below(world->rows, 3);
        assert_int_equal(commit_both(world, &batch), CASCADE_ERR_LOST);
        return;
    }
    if (twin_chance(world, 3)) {
        batch.engine_id = rows_id(world->rows);
        assert_int_equal(commit_both(world, &batch), CASCADE_ERR_FENCED);
        return;
    }
    if (commit_both(world, &batch) != CASCADE_OK)
        return;
    engine->number = batch.number;
    engine->last = batch;
    engine->deleted = false;
    learn_batch(world, changes, batch.change_count);
}

static void
move_submit(twin_world *world)
{
    cascade_change *changes[BATCH_MAX];
    size_t count = some_changes(world, -1, changes);
    cascade_message_row messages[SENDS_MAX];
    cascade_submission submission = {
        .starts = rows_changes(world->rows, changes, count),
        .start_count = count,
        .messages = messages};

    while (world->count > 0 && submission.message_count < SENDS_MAX &&
           twin_chance(world, 60))
        messages[submission.message_count++] =
            *twin_message(world, count > 0 && changes[0]->key == NULL &&
                                         twin_chance(world, 30)
                                     ? &changes[0]->cascade.id
                                     : NULL);
    if (submit_both(world, submission) == CASCADE_OK)
        learn_batch(world, changes, count);
}

static int
compare_claimed(const void *a, const void *b)
{
    const cascade_claimed *left = a;
    const cascade_claimed *right = b;

    return csc_uuid_compare(&left->cascade_id, &right->cascade_id);
}

/* The earliest wake_at to come in the queues of a claim that are not paused: of
 * all free runs, and of those whose needs it knows. A store may answer either.
 */
typedef struct next_wakes {
    const cascade_claim *claim;
    const bool *paused; /* of its queues */
    int64_t now_ms;
    int64_t all_ms;
    int64_t known_ms;
} next_wakes;

static bool
has_text(const char *const *texts, size_t count, const char *text)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(texts[i], text) == 0)
            return true;
    }
    return false;
}

static bool
is_open(const next_wakes *wakes, const char *queue)
{
    for (size_t i = 0; i < wakes->claim->queue_count; i++) {
        if (strcmp(wakes->claim->queues[i], queue) == 0)
            return !wakes->paused[i];
    }
    return false;
}

static cascade_err
note_wake(void *context, const cascade_row *row, const cascade_run_row *run)
{
    next_wakes *wakes = context;
    const cascade_claim *claim = wakes->claim;

    (void)row;
    if (run == NULL || !csc_uuid_is_nil(&run->engine_id) ||
        run->wake_at_ms <= wakes->now_ms || !is_open(wakes, run->queue))
        return CASCADE_OK;
    if (wakes->all_ms == CASCADE_TIME_NONE || run->wake_at_ms < wakes->all_ms)
        wakes->all_ms = run->wake_at_ms;
    if (run->needs != NULL &&
        !has_text(claim->nodes, claim->node_count, run->needs))
        return CASCADE_OK;
    if (wakes->known_ms == CASCADE_TIME_NONE ||
        run->wake_at_ms < wakes->known_ms)
        wakes->known_ms = run->wake_at_ms;
    return CASCADE_OK;
}

static void
check_next_wake(twin_world *world, const cascade_claim *claim,
                const cascade_claim_result *result)
{
    next_wakes wakes = {.claim = claim,
                        .paused = result->paused,
                        .all_ms = CASCADE_TIME_NONE,
                        .known_ms = CASCADE_TIME_NONE};
    cascade_query query = {.limit = 1000};

    assert_true(world->count < 1000);
    assert_ok(world->model->driver->now(world->model->self, &wakes.now_ms));
    assert_ok(world->model->driver->list(world->model->self, &query, note_wake,
                                         &wakes));
    assert_true(result->next_wake_at_ms == wakes.all_ms ||
                result->next_wake_at_ms == wakes.known_ms);
}

static void
learn_claimed(twin_world *world, const cascade_claimed *claimed, size_t count,
              int engine)
{
    for (size_t i = 0; i < count; i++) {
        known_cascade *it = find_known(world, &claimed[i].cascade_id);

        assert_non_null(it);
        assert_true(it->owner == OWNER_NONE || it->owner == OWNER_ENDED);
        it->owner = engine;
    }
    world->claimed += count;
}

static void
move_claim(twin_world *world)
{
    static cascade_claimed real[1000];
    static cascade_claimed model[1000];
    const char *queues[2] = {twin_queue(world), twin_queue(world)};
    const char *nodes[2] = {twin_node(world), twin_node(world)};
    int at = some_engine(world);
    cascade_claim claim = {.queues = queues,
                           .queue_count = strcmp(queues[0], queues[1]) ? 2 : 1,
                           .nodes = nodes,
                           .node_count = strcmp(nodes[0], nodes[1]) ? 2 : 1,
                           .limit = 1000,
                           .suspect_from = 2,
                           .suspects = twin_chance(world, 30)};
    bool paused[2][2] = {{false}};
    cascade_claim_result real_result = {.paused = paused[0]};
    cascade_claim_result model_result = {.paused = paused[1]};

    if (at < 0)
        return;
    claim.engine_id = world->engines[at].id;
    assert_ok(
        world->db->driver->claim(world->db->self, &claim, real, &real_result));
    assert_ok(world->model->driver->claim(world->model->self, &claim, model,
                                          &model_result));
    assert_int_equal(real_result.count, model_result.count);
    assert_int_equal(real_result.messages, model_result.messages);
    assert_memory_equal(paused[0], paused[1], sizeof(paused[0]));
    check_next_wake(world, &claim, &real_result);
    check_next_wake(world, &claim, &model_result);
    qsort(real, real_result.count, sizeof(real[0]), compare_claimed);
    qsort(model, model_result.count, sizeof(model[0]), compare_claimed);
    for (size_t i = 0; i < real_result.count; i++) {
        assert_memory_equal(&real[i].cascade_id, &model[i].cascade_id, 16);
        assert_int_equal(real[i].claim_no, model[i].claim_no);
        assert_int_equal(real[i].takeovers, model[i].takeovers);
        assert_int_equal(real[i].trials, model[i].trials);
    }
    learn_claimed(world, real, real_result.count, at);
}

static void
move_attach(twin_world *world)
{
    for (int i = 0; i < ENGINES; i++) {
        cascade_incarnation row =
            rows_incarnation(world->rows, 1, DB_LONG_LEASE_MS);

        if (world->engines[i].alive)
            continue;
        row.pid = i;
        row.about = twin_about(world);
        assert_ok(world->db->driver->attach(world->db->self, &row));
        assert_ok(world->model->driver->attach(world->model->self, &row));
        world->engines[i] = (peer){.id = row.engine_id, .alive = true};
        return;
    }
}

static void
move_detach(twin_world *world)
{
    int at = some_engine(world);

    if (at < 0)
        return;
    assert_ok(
        world->db->driver->detach(world->db->self, &world->engines[at].id));
    assert_ok(world->model->driver->detach(world->model->self,
                                           &world->engines[at].id));
    world->engines[at].alive = false;
    lose_owner(world, at);
}

/* How many runs were freed, by a small limit at a time. */
static size_t
remove_from(cascade_store *store, const cascade_uuid *dead, size_t dead_count)
{
    size_t total = 0;
    size_t freed;

    do {
        assert_ok(
            store->driver->remove(store->self, dead, dead_count, 4, &freed));
        assert_true(freed <= 4);
        total += freed;
    } while (freed == 4);
    return total;
}

static void
move_remove(twin_world *world)
{
    cascade_uuid dead[2] = {rows_id(world->rows)};
    int at = some_engine(world);
    size_t count = at < 0 ? 1 : 2;

    if (at >= 0)
        dead[1] = world->engines[at].id;
    assert_int_equal(remove_from(world->db->handles[0], dead, count),
                     remove_from(world->model, dead, count));
    if (at < 0)
        return;
    world->engines[at].alive = false;
    lose_owner(world, at);
}

/* All leases run out; some are renewed; the others are removed. */
static void
move_expire(twin_world *world)
{
    if (!world->db->backend->virtual_time)
        return;
    fake_clock_advance(&world->db->clock, 2 * DB_LONG_LEASE_MS);
    fake_clock_advance(&world->model_clock, 2 * DB_LONG_LEASE_MS);
    world->rows->now_ms += 2 * DB_LONG_LEASE_MS;
    for (int i = 0; i < ENGINES; i++) {
        peer *engine = &world->engines[i];

        if (engine->alive && twin_chance(world, 70)) {
            assert_ok(world->db->driver->renew(world->db->self, &engine->id,
                                               DB_LONG_LEASE_MS, NULL));
            assert_ok(world->model->driver->renew(
                world->model->self, &engine->id, DB_LONG_LEASE_MS, NULL));
            continue;
        }
        engine->alive = false;
        lose_owner(world, i);
    }
    assert_int_equal(remove_from(world->db->handles[0], NULL, 0),
                     remove_from(world->model, NULL, 0));
}

typedef struct id_list {
    cascade_uuid ids[1000];
    size_t count;
} id_list;

static cascade_err
keep_id(void *context, const cascade_row *row, const cascade_run_row *run)
{
    id_list *list = context;

    (void)run;
    list->ids[list->count++] = row->id;
    return CASCADE_OK;
}

static void
move_list(twin_world *world)
{
    static id_list real;
    static id_list model;
    cascade_uuid after = rows_id(world->rows);
    cascade_query query = {
        .status = (cascade_status)rows_below(world->rows, 4),
        .node = twin_chance(world, 50) ? twin_node(world) : NULL,
        .after = twin_chance(world, 50) ? &after : NULL,
        .queue = twin_chance(world, 30) ? twin_queue(world) : NULL,
        .limit = 1 + rows_below(world->rows, 20)};

    if (twin_chance(world, 50))
        query.updated_before_ms =
            world->rows->now_ms + (int64_t)rows_below(world->rows, 20);
    real.count = 0;
    model.count = 0;
    assert_ok(world->db->driver->list(world->db->self, &query, keep_id, &real));
    assert_ok(world->model->driver->list(world->model->self, &query, keep_id,
                                         &model));
    assert_int_equal(real.count, model.count);
    assert_memory_equal(real.ids, model.ids, real.count * sizeof(cascade_uuid));
}

static void
move_once(twin_world *world)
{
    size_t dice = rows_below(world->rows, 100);

    set_model_clock(world);
    if (dice < 2)
        twin_settle(world);
    else if (dice < 36)
        move_commit(world);
    else if (dice < 47)
        move_submit(world);
    else if (dice < 68)
        move_claim(world);
    else if (dice < 76)
        move_attach(world);
    else if (dice < 78)
        move_detach(world);
    else if (dice < 80)
        move_remove(world);
    else if (dice < 82)
        move_expire(world);
    else if (dice < 86)
        move_list(world);
    else if (dice < 89)
        twin_pause(world);
    else if (dice < 93)
        twin_repair(world);
    else if (dice < 96)
        twin_purge(world);
    else
        twin_look(world);
}

/* ---- An episode --------------------------------------------------------- */

static twin_world *
create_world(void)
{
    cascade_store_options options = {.size = sizeof(options)};
    twin_world *it = calloc(1, sizeof(*it));
    conformance_db *db = db_create();

    assert_non_null(it);
    assert_non_null(db);
    it->db = db;
    db_open(db);
    fake_clock_init(&it->model_clock, db_now(db));
    options.clock = &it->model_clock.clock;
    assert_ok(cascade_store_open("memory:", &options, &it->model));
    it->rows = &db->rows;
    return it;
}

static void
free_world(twin_world *world)
{
    assert_ok(cascade_store_close(world->model));
    db_destroy(world->db);
    free(world);
}

/* S2-S6, S8, S9, S11, S12, S14, S19-S22, S25-S29, S32, G5: a store and the
 * model do the same. */
static void
random_moves_give_what_the_model_gives(void **state)
{
    size_t received = 0;
    size_t mended = 0;
    size_t finished = 0;
    bool native = false;
    bool manages = false;

    (void)state;
    for (uint64_t episode = 0; episode < EPISODES; episode++) {
        twin_world *world = create_world();

        world->rows->random = rows_seed() + episode * 1000003;
        for (int move = 0; move < MOVES; move++) {
            move_once(world);
            if ((move + 1) % COMPARE_EVERY == 0)
                compare_dumps(world);
        }
        assert_true(world->committed > 0);
        assert_true(world->claimed > 0);
        received += world->received;
        mended += world->mended;
        finished += world->finished;
        native = world->db->driver->node_txn != NULL;
        manages = world->db->driver->manage != NULL;
        print_message("episode %" PRIu64 ": %zu cascades, %zu commits, "
                      "%zu refused, %zu claimed, %zu letters, %zu received, "
                      "%zu repaired or purged\n",
                      episode, world->count, world->committed, world->refused,
                      world->claimed, world->letter_count, world->received,
                      world->mended);
        free_world(world);
    }
    assert_true(received > 0);
    assert_true(mended > 0 || !manages);
    assert_int_equal(finished > 0, native);
}

conformance_group
conformance_model(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_moves_give_what_the_model_gives),
    };

    return (conformance_group){"model", tests,
                               sizeof(tests) / sizeof(tests[0])};
}
