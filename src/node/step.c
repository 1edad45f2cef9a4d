/* SPDX-License-Identifier: MIT
 *
 * Steps: work inside a node that is recorded on its own.
 *
 *   asked for the nth time under that name in this entry
 *        |
 *        +-- recorded COMPLETED --> its result, `fn` is not called (G3)
 *        +-- recorded FAILED ----> CASCADE_ERR_FINAL, with the recorded text
 *        |
 *        v  not recorded: call fn
 *      OK --> one INSERT, with what it put and spawned
 *        |      THREADS: the function waits until that is durable (strand.c)
 *        |      else: the node leaves with CASCADE_SUSPENDED, and is entered
 *        |      again once it is; then the step is found recorded
 *      error, no options --> the error; nothing is recorded
 *      error, attempts left --> the node leaves; its row remembers the count;
 *        |      it is entered again after the backoff
 *      error, the last one --> recorded FAILED, not ending the cascade
 *
 * If the process dies between fn and the commit, fn runs again: it has the same
 * request id then. If it dies after the commit, the step is found recorded.
 */
#include "node/node.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/data/digits.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "change/backoff.h"
#include "change/op.h"
#include "held/clock.h"
#include "held/engine_state.h"
#include "held/run/run.h"
#include "held/run/time_limit.h"
#include "node/strand.h"
#include "state/kind.h"
#include "state/state.h"
#include "store/store.h"

/* A call of cascade_node_step(). */
typedef struct csc_step_call {
    cascade_node *node;
    csc_part part;
    const char *full_name; /* with the prefix */
    const char *key;       /* name#occurrence; but of steps with the prefix */
    bool own;              /* has attempts of its own */
    csc_attempts attempts;
    int32_t failed; /* attempts so far */
    int64_t started_at_ms;
    csc_node_out out;
} call;

/* What a step that is recorded already does without. */
static cascade_err
name_call(call *c)
{
    csc_arena *arena = &c->node->arena;
    const char *prefix = csc_kind_prefix(c->part.kind);
    char nth[CSC_DIGITS_SIZE];

    c->full_name = csc_arena_join(arena, prefix, c->part.name);
    c->key =
        csc_arena_join(arena, c->part.kind == CSC_PART_STEP ? "" : prefix,
                       c->part.name, "#", csc_digits(c->part.occurrence, nth));
    return arena->failed ? csc_fail_memory() : CASCADE_OK;
}

cascade_err
csc_step_read_attempts(const char *name, const cascade_step_options *options,
                       csc_attempts *attempts)
{
    cascade_step_options known = {0};
    cascade_err err =
        csc_check_options("step options", options, &known, sizeof(known));
    csc_attempts given = {.max = known.attempts_max,
                          .backoff_ms = known.backoff_ms,
                          .backoff_max_ms = known.backoff_max_ms,
                          .backoff_percent = known.backoff_percent,
                          .jitter_percent = known.jitter_percent};

    return err == CASCADE_OK ? csc_backoff_init(attempts, name, &given) : err;
}

/* ---- Recorded ----------------------------------------------------------- */

/* The recorded step stays in memory, unchanged, while its node runs. */
static cascade_err
give_recorded(const call *c, const csc_exec *step)
{
    cascade_err err = csc_part_pass_one(c->node, &c->part, step);

    return err == CASCADE_OK ? csc_node_give(c->node, c->out, step->output)
                             : err;
}

/* ---- Recording ---------------------------------------------------------- */

cascade_err
csc_step_record_part(cascade_node *node, const csc_part *part, csc_post *post,
                     const csc_exec **recorded)
{
    cascade_err err = CASCADE_OK;

    post->part_name =
        csc_arena_join(&post->arena, csc_kind_prefix(part->kind), part->name);
    post->part_occurrence = part->occurrence;
    if (post->arena.failed) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    if (node->engine->options.mode != CASCADE_MODE_THREADS ||
        node->engine->options.suspend_steps) {
        post->reenter = true;
        return csc_part_suspend(node, post);
    }
    err = csc_strand_wait(node->strand, post, recorded);
    if (err == CASCADE_OK)
        csc_part_note_recorded(node);
    return err;
}

/* Hands over a step that has ended, well or not. */
static cascade_err
record(const call *c, csc_post *post)
{
    const csc_exec *step = NULL;
    cascade_err err = CASCADE_OK;

    post->attempts = c->failed + 1;
    err = csc_step_record_part(c->node, &c->part, post, &step);
    if (err != CASCADE_OK)
        return err;
    csc_assert(step != NULL);
    return give_recorded(c, step);
}

/* The count of this step's failed attempts in member `steps`, and the member
 * with that count replaced by `count` (NULL: only read). */
static int32_t
read_failed(const call *c, csc_buf *with, int32_t count)
{
    const char *text = c->node->exec->step_attempts;
    csc_json_iter iter;
    int64_t number = 0;
    int32_t failed = 0;
    bool first = true;

    if (with != NULL) {
        csc_buf_add_char(with, '{');
        csc_json_add_string(with, c->key);
        csc_buf_add_char(with, ':');
        csc_buf_add_i64(with, count);
        first = false;
    }
    csc_json_read_iter_init(&iter, text != NULL ? text : "{}",
                            text != NULL ? strlen(text) : 2);
    while (csc_json_read_next(&iter)) {
        if (csc_json_read_is(iter.key, c->key)) {
            if (csc_json_read_i64(iter.value, &number) && number > 0 &&
                number < INT32_MAX)
                failed = (int32_t)number;
        } else if (with != NULL) {
            csc_buf_add_text(with, first ? "\"" : ",\"");
            csc_buf_add(with, iter.key.data, iter.key.len);
            csc_buf_add(with, "\":", 2);
            csc_buf_add(with, iter.value.data, iter.value.len);
        }
    }
    if (with != NULL)
        csc_buf_add_char(with, '}');
    return failed;
}

/* The node's row remembers the failed attempt of its step. */
static cascade_err
make_attempt(const call *c, csc_post *post)
{
    const cascade_node *node = c->node;
    csc_buf with = {0};
    csc_buf canonical = {0};
    cascade_err err = CASCADE_OK;

    (void)read_failed(c, &with, c->failed + 1);
    if (with.failed)
        err = csc_fail_memory();
    else
        err =
            csc_json_canon("attempts of steps", with.data, with.len,
                           node->engine->store->config.payload_max, &canonical);
    if (err == CASCADE_OK)
        post->step_attempts =
            csc_arena_strndup(&post->arena, canonical.data, canonical.len);
    csc_buf_fini(&with);
    csc_buf_fini(&canonical);
    post->part_name = csc_arena_strdup(&post->arena, c->full_name);
    if (err == CASCADE_OK &&
        (post->step_attempts == NULL || post->part_name == NULL))
        err = csc_fail_memory();
    post->kind = CSC_POST_STEP_ATTEMPT;
    post->tried = c->failed + 1;
    post->effects = (csc_effects){0};
    post->attempts = node->exec->attempts;
    post->delay_ms = csc_backoff_delay_ms(&c->attempts, c->failed + 1,
                                          &node->engine->store->random);
    return err;
}

static cascade_err
record_attempt(const call *c, csc_post *post)
{
    cascade_err err = make_attempt(c, post);

    if (err == CASCADE_OK)
        return csc_part_suspend(c->node, post);
    csc_op_free(post);
    return err;
}

/* The time of a compensation that is in its function is over, as post->error
 * says: makes the post that of its failed attempt, or of its end. Maybe called
 * by another thread than the one that runs it. */
static cascade_err
time_out_locked(const struct csc_step_call *undo, struct csc_post *post)
{
    csc_assert(csc_lock_is_held(&undo->node->engine->mutex));
    if (csc_backoff_left(&undo->attempts, undo->failed + 1))
        return make_attempt(undo, post);
    post->kind = CSC_POST_STEP;
    post->started_at_ms = undo->started_at_ms;
    post->attempts = undo->failed + 1;
    post->failed = true;
    post->reenter = true;
    post->part_name = csc_arena_strdup(&post->arena, undo->full_name);
    post->part_occurrence = undo->part.occurrence;
    return post->part_name != NULL ? CASCADE_OK : csc_fail_memory();
}

/* ---- Calling ------------------------------------------------------------ */

static cascade_err
after_failure(const call *c, csc_post *post, cascade_err err)
{
    post->error = csc_node_error_text(c->node, &post->arena, err);
    if (err == CASCADE_SUSPENDED || err == CASCADE_ERR_FENCED || !c->own ||
        c->node->step_barred) {
        csc_op_free(post);
        return err;
    }
    if (err != CASCADE_ERR_FINAL &&
        csc_backoff_left(&c->attempts, c->failed + 1))
        return record_attempt(c, post);
    post->failed = true;
    post->effects = (csc_effects){0};
    return record(c, post);
}

static cascade_err
after_success(const call *c, csc_post *post, cJSON *result)
{
    cascade_engine *engine = c->node->engine;
    csc_buf text = {0};
    cascade_err err = CASCADE_OK;

    if (result != NULL)
        err = csc_json_tree_canon("result of a step", result,
                                  engine->store->config.payload_max, &text);
    if (result != NULL && post->effects.output != NULL) {
        post->effects.bytes -= strlen(post->effects.output);
        post->effects.output = NULL;
    }
    if (err == CASCADE_OK &&
        text.len + post->effects.bytes > engine->options.execution_bytes_max)
        err = csc_fail(CASCADE_ERR_TOO_LARGE,
                       "step %s: result, puts and spawns exceed %zu bytes",
                       c->key, engine->options.execution_bytes_max);
    if (err == CASCADE_OK && result != NULL) {
        post->effects.output =
            csc_arena_strndup(&post->arena, text.data, text.len);
        post->effects.bytes += text.len;
        if (post->effects.output == NULL)
            err = csc_fail_memory();
    }
    csc_buf_fini(&text);
    if (err != CASCADE_OK)
        return after_failure(c, post, err);
    return record(c, post);
}

static cascade_err
run_step(call *c, cascade_step_fn fn, void *arg)
{
    cascade_node *node = c->node;
    csc_post *post = csc_op_create(CSC_POST_STEP, node->exec->function_id);
    cJSON *result = NULL;
    cascade_err err = CASCADE_OK;

    if (post == NULL)
        return csc_fail_memory();
    node->step_request_id = csc_node_path(node, node->exec->function_id,
                                          c->full_name, c->part.occurrence);
    if (node->step_request_id == NULL) {
        csc_op_free(post);
        return csc_fail_memory();
    }
    c->started_at_ms = csc_clock_now_ms(node->engine);
    post->started_at_ms = c->started_at_ms;
    node->step = post;
    node->step_name = c->key;
    node->step_attempt = c->own ? c->failed + 1 : 0;
    node->step_gives = c->part.kind == CSC_PART_STEP;
    node->step_barred = false;
    node->error = NULL;
    if (c->part.kind == CSC_PART_UNDO)
        csc_time_limit_note_undoing(node->engine, node->call, c,
                                    time_out_locked);
    (void)csc_ok();
    err = csc_guard_step(node, fn, arg, &result);
    if (csc_node_check_origin(node) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (c->part.kind == CSC_PART_UNDO)
        csc_time_limit_note_undoing(node->engine, node->call, NULL, NULL);
    node->step = NULL;
    node->step_attempt = 0;
    err = err == CASCADE_OK ? after_success(c, post, result)
                            : after_failure(c, post, err);
    cJSON_Delete(result);
    return err;
}

/* Not recorded yet. */
static cascade_err
begin_step(call *c, cascade_step_fn fn, void *arg)
{
    cascade_err err = name_call(c);

    if (err != CASCADE_OK)
        return err;
    c->failed = read_failed(c, NULL, 0);
    return run_step(c, fn, arg);
}

cascade_err
csc_step_run_part(cascade_node *node, const csc_part *part,
                  const csc_attempts *attempts, cascade_step_fn fn, void *arg)
{
    call c = {.node = node, .part = *part, .own = true, .attempts = *attempts};

    return begin_step(&c, fn, arg);
}

cascade_err
csc_step_run(cascade_node *node, const char *name, cascade_step_fn fn,
             void *arg, const cascade_step_options *options, csc_node_out out)
{
    call c = {.node = node,
              .part = {.kind = CSC_PART_STEP, .name = name},
              .own = options != NULL,
              .out = out};
    const csc_exec *step = NULL;
    bool leave = false;
    cascade_err err = CASCADE_OK;

    if (node == NULL || fn == NULL)
        return csc_fail(CASCADE_ERR_INVALID, "step %s: %s is NULL", name,
                        node == NULL ? "node" : "fn");
    err = csc_node_refuse_step(node, "step", name);
    if (err == CASCADE_OK)
        err = csc_step_read_attempts(name, options, &c.attempts);
    if (err != CASCADE_OK)
        return err;
    if (node->suspended)
        return csc_part_suspend(node, node->pending);
    err = csc_part_count(node, &c.part);
    if (err != CASCADE_OK)
        return err;
    step = csc_part_find(node, &c.part, &leave);
    if (step != NULL)
        return give_recorded(&c, step);
    if (leave)
        return csc_part_suspend(node, NULL);
    return begin_step(&c, fn, arg);
}

cascade_err
csc_step_call(cascade_node *node, const char *name, cascade_step_fn fn,
              void *arg, const cascade_step_options *options, csc_node_out out)
{
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("step name", name);
    if (err == CASCADE_OK)
        err = csc_txn_refuse(node, "a step");
    return err == CASCADE_OK ? csc_step_run(node, name, fn, arg, options, out)
                             : err;
}

cascade_err
cascade_node_step(cascade_node *node, const char *name, cascade_step_fn fn,
                  void *arg, const cascade_step_options *options,
                  cJSON **result)
{
    return csc_step_call(node, name, fn, arg, options,
                         (csc_node_out){.tree = result});
}

cascade_err
cascade_node_step_text(cascade_node *node, const char *name, cascade_step_fn fn,
                       void *arg, const cascade_step_options *options,
                       const char **result)
{
    return csc_step_call(node, name, fn, arg, options,
                         (csc_node_out){.text = result});
}
