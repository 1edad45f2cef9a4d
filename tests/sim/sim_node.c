/* SPDX-License-Identifier: MIT
 *
 * What all nodes of all workloads have in common: they are entered through
 * here. The oracle is told; it is told, too, what the node sees of the context,
 * and compares that with the rows. A node of a process that has been killed
 * does nothing: what runs there still is only the unwinding of the library.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/uuid.h"
#include "held/engine_state.h"
#include "node/node.h"
#include "sim/work.h"
#include "store/store.h"

const sim_workload *const sim_workloads[] = {
    &sim_work_program,  &sim_work_graph, &sim_work_line,   &sim_work_doom,
    &sim_work_instead,  &sim_work_saga,  &sim_work_join,   &sim_work_signals,
    &sim_work_limits,   &sim_work_runs,  &sim_work_family, &sim_work_course,
    &sim_work_transfer, &sim_work_bomb,  &sim_work_small,  &sim_work_key};
const size_t sim_workload_count =
    sizeof(sim_workloads) / sizeof(sim_workloads[0]);

typedef struct binding {
    sim_engine *engine;
    const sim_node_def *def;
} binding;

/* ---- Entering ----------------------------------------------------------- */

#define BACKOFF_MAX_MS 60000
#define BACKOFF_MS 1000
#define JITTER_PERCENT 20

/* How long the second attempt waits at least; 0: not told. */
typedef struct backoff {
    int64_t ms;
    int jitter_percent;
} backoff;

/* The options as given, with their defaults. */
static backoff
backoff_of(int64_t backoff_ms, int jitter_percent)
{
    backoff wait = {backoff_ms, jitter_percent};

    if (wait.ms == 0)
        wait.ms = BACKOFF_MS;
    if (wait.jitter_percent == 0)
        wait.jitter_percent = JITTER_PERCENT;
    else if (wait.jitter_percent < 0)
        wait.jitter_percent = 0;
    return wait;
}

static int64_t
eye_now(sim *s)
{
    return s->eye_clock.wall_ms(s->eye_clock.context);
}

static cascade_err
dead(cascade_node *node)
{
    return cascade_node_error(node, "the process is dead");
}

static void
tell_context(sim *s, cascade_node *node)
{
    static const char *const keys[] = {"a", "b", "log"};

    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const cJSON *values = NULL;
        char *text = NULL;

        if (cascade_node_history(node, keys[i], &values) != CASCADE_OK) {
            sim_fail(s, "history: %s", cascade_errmsg());
            return;
        }
        text = cJSON_PrintUnformatted(values);
        oracle_saw(s->o, cascade_node_request_id(node), keys[i], text);
        cJSON_free(text);
    }
}

static void
tell_outcomes(sim *s, cascade_node *node)
{
    const cJSON *outcomes = NULL;
    char *text = NULL;

    if (cascade_node_outcomes(node, &outcomes) != CASCADE_OK) {
        sim_fail(s, "outcomes: %s", cascade_errmsg());
        return;
    }
    text = cJSON_PrintUnformatted(outcomes);
    oracle_told(s->o, cascade_node_request_id(node), text);
    cJSON_free(text);
}

/* The first entry of the second and later attempts: the entry before it was of
 * the attempt that failed. */
static void
check_backoff(sim *s, const char *path, int attempt, const backoff *wait)
{
    int64_t least_ms = wait->ms;
    int64_t first_ms = 0;
    int64_t last_ms = 0;

    if (attempt < 2 || wait->ms == 0 || s->clock_moved ||
        oracle_attempts(s->o, path) != attempt - 1)
        return;
    for (int i = 2; i < attempt && least_ms < BACKOFF_MAX_MS; i++)
        least_ms *= 2;
    if (least_ms > BACKOFF_MAX_MS)
        least_ms = BACKOFF_MAX_MS;
    least_ms -= least_ms * wait->jitter_percent / 100;
    oracle_entry_times(s->o, path, &first_ms, &last_ms);
    if (eye_now(s) - last_ms < least_ms)
        sim_fail(s, "%s: attempt %d follows after %" PRId64 " ms, not %" PRId64,
                 path, attempt, eye_now(s) - last_ms, least_ms);
}

/* Whatever is wrong stops the run here, and not at the next look. */
static void
note_entry(sim_engine *e, const cascade_node *node, bool step,
           const backoff *wait)
{
    sim *s = e->process->s;
    const char *path = cascade_node_request_id(node);
    int attempt = cascade_node_attempt(node);

    sim_note(SIM_EXECUTIONS);
    if (attempt > 1)
        sim_note(step ? SIM_RETRY_STEP : SIM_RETRY_NODE);
    if (oracle_entered(s->o, path) >= (size_t)attempt)
        sim_note(SIM_REENTERED);
    sim_trace(s, "p%u.%u enters %s, attempt %d", e->process->slot, e->index,
              path, attempt);
    if (sim_engine_is_removed(e)) {
        sim_note(SIM_ENTERED_LATE);
        return;
    }
    sim_slots_entered(e, node);
    if (!cascade_node_is_cancelled(node)) /* then it cleans up at once */
        check_backoff(s, path, attempt, wait);
    oracle_set_open(s->o, csc_run_is_committing(node->run));
    oracle_ran(s->o, path, attempt, e->process->wall_max_ms);
    if (oracle_text(s->o)[0] != '\0' && !sim_failed(s))
        sim_fail(s, "%s", oracle_text(s->o));
}

static cascade_err
enter_node(cascade_node *node, void *user)
{
    const binding *b = user;
    sim_process *p = b->engine->process;
    backoff wait;

    if (p->dead)
        return dead(node);
    if (b->def->unseen)
        return b->def->fn(node, b->engine);
    wait =
        backoff_of(b->def->options.backoff_ms, b->def->options.jitter_percent);
    note_entry(b->engine, node, false, &wait);
    if (!sim_engine_is_removed(b->engine)) {
        tell_context(p->s, node);
        tell_outcomes(p->s, node);
    }
    return b->def->fn(node, b->engine);
}

void
sim_register(sim_engine *engine, bool all, sim_random *random)
{
    for (size_t w = 0; w < sim_workload_count; w++)
        for (size_t i = 0; i < sim_workloads[w]->node_count; i++) {
            const sim_node_def *def = &sim_workloads[w]->nodes[i];
            cascade_node_options options = def->options;
            binding *b = NULL;

            if (def->rare && !all && sim_chance(random, 60))
                continue;
            b = calloc(1, sizeof(*b));
            if (b == NULL)
                abort();
            *b = (binding){engine, def};
            options.size = sizeof(options);
            options.destroy = free;
            if (cascade_engine_register(engine->engine, def->name, enter_node,
                                        b, &options) != CASCADE_OK) {
                fprintf(stderr, "%s: %s\n", def->name, cascade_errmsg());
                abort();
            }
        }
}

sim_engine *
sim_enter_undo(cascade_node *node, void *user)
{
    static const backoff any = {0, 0};
    const binding *b = user;

    if (b->engine->process->dead)
        return NULL;
    note_entry(b->engine, node, true, &any);
    return b->engine;
}

/* ---- Steps -------------------------------------------------------------- */

typedef struct step_call {
    sim_engine *engine;
    sim_step_fn fn;
    const void *arg;
    backoff wait; /* of attempts of its own */
    bool entered;
} step_call;

static cascade_err
enter_step(cascade_node *node, void *arg, cJSON **result)
{
    step_call *call = arg;

    call->entered = true;
    if (call->engine->process->dead)
        return dead(node);
    note_entry(call->engine, node, true, &call->wait);
    return call->fn(node, call->engine, call->arg, result);
}

cascade_err
sim_step(cascade_node *node, sim_engine *engine, const char *name,
         sim_step_fn fn, const void *arg, const cascade_step_options *options,
         cJSON **result)
{
    step_call call = {engine, fn, arg, {0, 0}, false};
    cascade_err err = CASCADE_OK;

    if (engine->process->dead)
        return dead(node);
    if (options != NULL)
        call.wait = backoff_of(options->backoff_ms, options->jitter_percent);
    err = cascade_node_step(node, name, enter_step, &call, options, result);
    if (call.entered)
        return err;
    if (err == CASCADE_OK)
        sim_note(SIM_STEP_REUSED);
    if (err == CASCADE_ERR_FINAL)
        sim_note(SIM_STEP_FAILED);
    return err;
}

/* ---- What nodes do ------------------------------------------------------ */

cascade_err
sim_node_die(cascade_node *node, sim_engine *engine)
{
    sim_process_kill(engine->process->s, engine->process, SIM_KILL_NODE);
    return dead(node);
}

typedef struct search {
    const cascade_uuid *id;
    bool found;
} search;

static cascade_err
find_engine(void *context, const cascade_incarnation *row)
{
    search *wanted = context;

    if (csc_uuid_equal(&row->engine_id, wanted->id))
        wanted->found = true;
    return CASCADE_OK;
}

void
sim_node_take(sim_engine *engine, int64_t ms)
{
    sim *s = engine->process->s;
    search own = {&engine->engine->incarnation.id, false};

    if (engine->process->dead || ms <= 0)
        return;
    if (ms >= 500)
        s->lossy = true;
    if (ms > 10000)
        sim_note(SIM_STALL_NODE);
    sim_trace(s, "p%u.%u takes %" PRId64 " ms in a node", engine->process->slot,
              engine->index, ms);
    sim_pass(s, ms);
    if (s->eye->driver->engines(s->eye->self, find_engine, &own, NULL) ==
            CASCADE_OK &&
        !own.found)
        sim_note(SIM_TOOK_LATE);
}

unsigned
sim_node_entries(const cascade_node *node, sim_engine *engine)
{
    return (unsigned)oracle_entered(engine->process->s->o,
                                    cascade_node_request_id(node));
}

int
sim_member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);

    return cJSON_IsNumber(item) ? item->valueint : 0;
}

cJSON *
sim_object(const char *name, int value)
{
    cJSON *object = cJSON_CreateObject();

    cJSON_AddNumberToObject(object, name, value);
    return object;
}

bool
sim_expect(sim_engine *engine, const cascade_node *node, bool holds,
           const char *what)
{
    if (!holds && !engine->process->dead)
        sim_fail(engine->process->s, "%s: %s", cascade_node_request_id(node),
                 what);
    return holds;
}

/* ---- Checks ------------------------------------------------------------- */

size_t
sim_executions(const cascade_snapshot *snapshot, const char *name,
               cascade_execution_status status)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    size_t found = 0;

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);

        found += strcmp(info->node_name, name) == 0 && info->status == status;
    }
    return found;
}

void
sim_check(sim *s, const sim_planned *planned, bool holds, const char *what)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    if (!holds)
        sim_fail(s, "cascade %u (%s, %s): %s", planned->index,
                 planned->work->name, cascade_uuid_format(&planned->id, id),
                 what);
}
