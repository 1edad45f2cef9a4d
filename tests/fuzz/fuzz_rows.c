/* SPDX-License-Identifier: MIT
 *
 * Hydration of rows that others wrote (row_text.h), and going on from there.
 * Any rows must give a state. Then, as an engine does: what is runnable is
 * taken, what its function did becomes rows, and these are applied. After each
 * commit the rows, hydrated anew, must give the very state that is in memory
 * (G7), and what was written must be canonical.
 *
 * What the functions did follows from the bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/mem.h"
#include "change/build/build.h"
#include "change/op.h"
#include "fuzz/fuzz.h"
#include "fuzz/row_text.h"
#include "state/full_output.h"
#include "state/state.h"

#define ROUNDS 6
#define NOW_MS INT64_C(1800000000000)

typedef struct walk {
    dump_rows rows;
    csc_state state;
    csc_arena arena;
    uint64_t random;
} walk;

/* Begins anew with each input, so that one gives the same alone. */
static unsigned char next_byte;

static void
fill(void *context, void *bytes, size_t len)
{
    (void)context;
    memset(bytes, next_byte++, len);
}

static unsigned
choose(walk *w, unsigned below)
{
    w->random =
        w->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963);
    return (unsigned)(w->random >> 33) % below;
}

/* ---- What a function did ------------------------------------------------- */

static void
add_put(csc_post *post, const char *key)
{
    csc_put *put = csc_arena_alloc(&post->arena, 1, sizeof(*put));

    fuzz_check(put != NULL);
    put->key = key;
    put->value = "[1,\"two\"]";
    csc_op_add_put(&post->effects, put);
}

/* The third waits for the others, or for one of them. */
static void
add_spawns(walk *w, csc_post *post, bool delayed)
{
    for (uint32_t i = 0; i < 3; i++) {
        csc_spawn *spawn = csc_arena_alloc(&post->arena, 1, sizeof(*spawn));

        fuzz_check(spawn != NULL);
        spawn->name = "next";
        spawn->input = "{}";
        spawn->delay_ms = delayed && i == 0 ? 5 : 0;
        if (i == 2) {
            spawn->after = csc_arena_alloc(&post->arena, 2, sizeof(uint32_t));
            fuzz_check(spawn->after != NULL);
            spawn->after[0] = 1;
            spawn->after[1] = 2;
            spawn->after_count = 2;
            spawn->first = choose(w, 2);
            spawn->on_failure = (cascade_join)choose(w, 3);
        }
        csc_op_add_spawn(&post->effects, spawn);
    }
}

static void
fill_post(walk *w, csc_post *post)
{
    switch (post->kind) {
    case CSC_POST_STEP:
        post->part_name = CSC_STEP_PREFIX "pay";
        post->part_occurrence = (uint32_t)w->random % 1000 + 1000;
        post->failed = choose(w, 4) == 0;
        post->error = post->failed ? "no" : NULL;
        break;
    case CSC_POST_FAIL:
        post->continued = choose(w, 2) == 0;
        post->error = "no";
        if (post->continued && choose(w, 2) == 0)
            add_spawns(w, post, false);
        for (csc_spawn *s = post->effects.first_spawn; s != NULL; s = s->next)
            s->instead = true;
        return;
    case CSC_POST_ATTEMPT:
    case CSC_POST_STEP_ATTEMPT:
        post->delay_ms = choose(w, 100);
        post->over = choose(w, 4) == 0;
        post->undoes = choose(w, 2) == 0;
        post->error = "again";
        post->step_attempts = choose(w, 2) == 0 ? "{\"pay#0\":1}" : NULL;
        return;
    case CSC_POST_WAIT:
        post->part_name = choose(w, 2) == 0 ? CSC_SLEEP_PREFIX "rest"
                                            : CSC_AWAIT_PREFIX "news";
        post->forever =
            post->part_name[strlen("cascade.")] == 'a' && choose(w, 2) == 0;
        post->part_occurrence = (uint32_t)w->random % 1000 + 1000;
        post->delay_ms = choose(w, 100);
        post->until_ms = choose(w, 2) == 0 ? CASCADE_TIME_NONE : 5;
        return;
    case CSC_POST_BEAT:
        post->progress = choose(w, 2) == 0 ? "[1]" : "{\"done\":2}";
        return;
    case CSC_POST_COMPLETE:
    case CSC_POST_RECEIVE:
    case CSC_POST_CHILDREN:
    case CSC_POST_EXTERNAL:
    case CSC_POST_DEADLINE:
    case CSC_POST_SLICE:
    case CSC_POST_FREE:
        break;
    }
    if (post->failed)
        return;
    post->skipped = post->kind == CSC_POST_COMPLETE && choose(w, 4) == 0;
    add_put(post, choose(w, 2) == 0 ? "key" : "k");
    if (choose(w, 2) == 0)
        add_spawns(w, post, choose(w, 2) == 0);
    post->effects.output = choose(w, 2) == 0 ? "{\"a\":1}" : NULL;
}

static csc_post *
make_post(walk *w, const csc_exec *exec)
{
    static const csc_post_kind kinds[] = {
        CSC_POST_COMPLETE, CSC_POST_COMPLETE, CSC_POST_FAIL,
        CSC_POST_ATTEMPT,  CSC_POST_STEP,     CSC_POST_STEP_ATTEMPT,
        CSC_POST_WAIT,     CSC_POST_BEAT};
    bool over = csc_view_is_wait(exec);
    csc_post_kind kind =
        over ? CSC_POST_COMPLETE
             : kinds[choose(w, sizeof(kinds) / sizeof(kinds[0]))];
    csc_post *post = csc_op_create(kind, exec->function_id);

    fuzz_check(post != NULL);
    post->attempts = exec->attempts + 1;
    if (!over)
        fill_post(w, post);
    return post;
}

/* Messages that come meanwhile, each with a path of its own. */
static csc_post *
make_receipt(walk *w)
{
    csc_post *post = csc_op_create(CSC_POST_RECEIVE, -1);
    csc_message **at = &post->messages;
    unsigned count = 1 + choose(w, 3);

    fuzz_check(post != NULL);
    for (unsigned i = 0; i < count; i++) {
        csc_message *message =
            csc_arena_alloc(&post->arena, 1, sizeof(*message));

        fuzz_check(message != NULL);
        *message = (csc_message){.id = i + 1,
                                 .kind = choose(w, 8) == 0 ? "other" : "signal",
                                 .name = choose(w, 3) == 0 ? "x" : "news",
                                 .path = "x/message/y",
                                 .payload = choose(w, 2) == 0 ? "{}" : "[1]",
                                 .repeated = choose(w, 8) == 0};
        *at = message;
        at = &message->next;
    }
    post->message_count = count;
    return post;
}

/* ---- Checks -------------------------------------------------------------- */

static void
check_output(const cascade_execution_row *row)
{
    fuzz_check(row->full_output == NULL || fuzz_is_canonical(row->full_output));
}

static void
check_change(const cascade_change *change)
{
    for (size_t i = 0; i < change->update_count; i++)
        check_output(&change->updates[i]);
    for (size_t i = 0; i < change->insert_count; i++)
        check_output(&change->inserts[i]);
}

/* The rows give the state that is there. */
static void
check_hydrated(const walk *w)
{
    csc_state other;
    csc_buf live = {0};
    csc_buf read = {0};

    fuzz_check(dump_rows_hydrate(&w->rows, &other) == CASCADE_OK);
    dump_state(&live, &w->state);
    dump_state(&read, &other);
    if (strcmp(live.data, read.data) != 0)
        dump_differ("live and hydrated", live.data, read.data);
    fuzz_check(strcmp(live.data, read.data) == 0);
    csc_buf_fini(&live);
    csc_buf_fini(&read);
    csc_state_fini(&other);
}

/* What is read of a record is written, and read the same again. */
static void
check_record(const cascade_execution_row *row)
{
    cascade_execution_row copy = *row;
    csc_record record;
    csc_buf once = {0};
    csc_buf twice = {0};

    csc_full_output_read(row, &record);
    csc_full_output_write(&record, &once);
    fuzz_check(fuzz_is_canonical(once.data));
    copy.node_instance_id = NULL; /* the record is ours */
    copy.full_output = once.data;
    csc_full_output_read(&copy, &record);
    csc_full_output_write(&record, &twice);
    fuzz_check(strcmp(once.data, twice.data) == 0);
    csc_buf_fini(&once);
    csc_buf_fini(&twice);
}

/* What is known of a state without knowing the rows. */
static void
check_state(const csc_state *state)
{
    size_t running = 0;

    for (size_t i = 0; i < state->exec_count; i++) {
        const csc_exec *exec = state->execs[i].exec;

        fuzz_check(i == 0 || state->execs[i - 1].function_id <
                                 state->execs[i].function_id);
        if (exec == NULL)
            continue;
        fuzz_check(exec->function_id <= state->fn_id);
        fuzz_check(csc_view_find(state, exec->function_id) == exec);
        running += exec->status == CASCADE_EXECUTION_RUNNING;
        fuzz_check(exec->blocked < state->running || exec->blocked == 0);
        fuzz_check(exec->priority >= 0 && exec->priority <= 9);
    }
    fuzz_check(running == state->running);
    fuzz_check(state->priority >= 0 && state->priority <= 9);
    fuzz_check(state->queue_count <= state->running);
}

/* ---- Going on ------------------------------------------------------------ */

/* False when nothing is left to do, or no function id. */
static bool
commit_one(walk *w)
{
    csc_exec *exec = csc_due_queue_take(&w->state, INT64_MAX);
    cascade_random random = {NULL, fill};
    csc_build_env env = {.arena = &w->arena,
                         .random = &random,
                         .location = "here",
                         .now_ms = NOW_MS,
                         .delay_from_ms = NOW_MS};
    cascade_change change;
    csc_post *receipt = choose(w, 2) == 0 ? make_receipt(w) : NULL;
    csc_post *post = receipt;
    cascade_err err;

    if (exec != NULL)
        post = make_post(w, exec);
    if (post == NULL)
        return false;
    if (post != receipt)
        post->next = receipt;
    err = csc_build_change(&env, &w->state, post, &change);
    if (err == CASCADE_OK) {
        check_change(&change);
        fuzz_check(csc_build_apply(&w->state, &change) == CASCADE_OK);
        dump_rows_apply(&w->rows, &change);
        check_state(&w->state);
        if (!w->state.course.grew)
            check_hydrated(w);
        /* Else no engine runs this: what meets a receipt is to be read anew. */
    } else {
        fuzz_check(err == CASCADE_ERR_TOO_LARGE);
    }
    if (receipt != post)
        csc_op_free(receipt);
    csc_op_free(post);
    return err == CASCADE_OK && !w->state.course.grew;
}

static void
go_on(walk *w)
{
    for (int i = 0; i < ROUNDS; i++) {
        if (csc_view_status(&w->state) != CASCADE_RUNNING || !commit_one(w))
            return;
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    size_t live = csc_mem_live();
    walk w;
    cascade_err err;

    memset(&w, 0, sizeof(w));
    next_byte = 0;
    for (size_t i = 0; i < len; i++)
        w.random = w.random * 31 + bytes[i];
    row_text_read(text, &w.rows);
    for (size_t i = 0; i < w.rows.execution_count; i++)
        check_record(&w.rows.executions[i]);
    err = dump_rows_hydrate(&w.rows, &w.state);
    fuzz_check(err == CASCADE_OK || err == CASCADE_ERR_CORRUPT);
    if (err == CASCADE_OK) {
        check_state(&w.state);
        check_hydrated(&w);
        go_on(&w);
    }
    csc_state_fini(&w.state);
    dump_rows_fini(&w.rows);
    csc_arena_fini(&w.arena);
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
