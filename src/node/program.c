/* SPDX-License-Identifier: MIT
 *
 * Another program as a step. base/process/process.h runs it; here its end
 * becomes the result, or the error, of a step.
 *
 *   ended by itself or by a signal    the result; with `check`, unless it
 *                                     exited with 0: CASCADE_ERR_FAILED
 *   timeout_ms                        CASCADE_ERR_TIMEOUT; with `keep_timeout`
 *                                     the result
 *   the cascade has ended or belongs  CASCADE_ERR_FENCED: nothing is recorded
 *   to another engine
 *   never started                     CASCADE_ERR_SYSTEM
 *   nothing can be waited for here    CASCADE_ERR_MISUSE: no attempt of the
 *                                     step, whatever its options
 *
 * If this process dies while the program runs, the kernel kills the program,
 * and it runs again (step.c). What of it had taken effect only the program
 * can know: it finds the step's request id in its environment.
 */
#include "cascade/node.h"

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/process/process.h"
#include "cascade/cascade.h"
#include "held/engine_state.h"
#include "node/node.h"
#include "store/store.h"

#define REQUEST_ID "CASCADE_REQUEST_ID"
#define OUTPUT_DEFAULT 65536
#define GRACE_DEFAULT_MS 1000
#define NUMBERS_MAX 512 /* bytes of the result beside the two texts */

typedef struct program_call {
    const cascade_program *program;
    const char *name;
} program_call;

/* ---- What is asked ------------------------------------------------------ */

static cascade_err
check_range(const char *name, const char *member, int64_t value, int64_t min,
            int64_t max)
{
    if (value >= min && value <= max)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "program %s: %s is %lld; give %lld to %lld", name, member,
                    (long long)value, (long long)min, (long long)max);
}

static cascade_err
check_texts(const char *name, const cascade_program *program)
{
    if (program->argv == NULL || program->argv[0] == NULL ||
        program->argv[0][0] == '\0')
        return csc_fail(CASCADE_ERR_INVALID,
                        "program %s: argv names no program; begin it with one",
                        name);
    if (program->folder != NULL && program->folder[0] == '\0')
        return csc_fail(
            CASCADE_ERR_INVALID,
            "program %s: folder is empty; give NULL for that of this "
            "process",
            name);
    return CASCADE_OK;
}

static cascade_err
check_program(const char *name, const cascade_program *given,
              cascade_program *program)
{
    cascade_err err = csc_check_name("step name", name);

    if (err == CASCADE_OK && given == NULL)
        err =
            csc_fail(CASCADE_ERR_INVALID, "program %s: program is NULL", name);
    if (err == CASCADE_OK)
        err = csc_check_options("program", given, program, sizeof(*program));
    if (err == CASCADE_OK)
        err = check_texts(name, program);
    if (err == CASCADE_OK)
        err = check_range(name, "timeout_ms", program->timeout_ms, 0,
                          CSC_DELAY_MAX_MS);
    if (err == CASCADE_OK)
        err = check_range(name, "grace_ms", program->grace_ms, -1,
                          CSC_DELAY_MAX_MS);
    if (err == CASCADE_OK)
        err = check_range(name, "cpu_max_s", program->cpu_max_s, 0, INT32_MAX);
    if (err == CASCADE_OK)
        err = check_range(name, "memory_max_bytes", program->memory_max_bytes,
                          0, INT64_MAX);
    if (err == CASCADE_OK)
        err = check_range(name, "file_max_bytes", program->file_max_bytes, 0,
                          INT64_MAX);
    if (err == CASCADE_OK)
        err = check_range(name, "open_files_max", program->open_files_max, 0,
                          INT32_MAX);
    return err;
}

/* ---- What came of it ---------------------------------------------------- */

static bool
add_number(cJSON *result, const char *name, int64_t number)
{
    return cJSON_AddNumberToObject(result, name, (double)number) != NULL;
}

/* Adds an output to the result, at most `max` bytes of it as JSON. */
static bool
add_output(cJSON *result, const char *name, const csc_buf *output,
           bool truncated, size_t max)
{
    csc_buf text = {0};
    csc_buf flag = {0};
    size_t len =
        truncated ? csc_check_cut(output->data, output->len) : output->len;
    bool whole = csc_json_utf8_clean(&text, output->data, len, max);
    bool added = false;

    csc_buf_add(&text, "", 0);
    csc_buf_add_format(&flag, "%s_truncated", name);
    added = !text.failed && !flag.failed &&
            cJSON_AddStringToObject(result, name, text.data) != NULL;
    if (added && (truncated || !whole))
        added = cJSON_AddTrueToObject(result, flag.data) != NULL;
    csc_buf_fini(&text);
    csc_buf_fini(&flag);
    return added;
}

/* Half of the room for each output. */
static size_t
output_room(const cascade_node *node)
{
    size_t max = node->engine->store->config.payload_max;

    if (max > node->engine->options.execution_bytes_max)
        max = node->engine->options.execution_bytes_max;
    return max > NUMBERS_MAX ? (max - NUMBERS_MAX) / 2 : 0;
}

static cascade_err
make_result(const cascade_node *node, const csc_process_end *end,
            cJSON **result)
{
    size_t room = output_room(node);
    cJSON *made = cJSON_CreateObject();
    bool whole =
        made != NULL && add_number(made, "elapsed_ms", end->elapsed_ms);

    whole =
        whole && (end->signal != 0 ? add_number(made, "signal", end->signal)
                                   : add_number(made, "exit", end->exit_code));
    whole = whole && (!end->timed_out ||
                      cJSON_AddTrueToObject(made, "timed_out") != NULL);
    whole = whole && add_output(made, "stdout", &end->output[0],
                                end->truncated[0], room);
    whole = whole && add_output(made, "stderr", &end->output[1],
                                end->truncated[1], room);
    if (!whole) {
        cJSON_Delete(made);
        return csc_fail_memory();
    }
    *result = made;
    return CASCADE_OK;
}

/* Whether that end is a result, or why it fails the attempt. */
static cascade_err
judge(const program_call *call, const csc_process_end *end)
{
    const cascade_program *program = call->program;

    if (end->cancelled)
        return csc_fail(
            CASCADE_ERR_FENCED,
            "program %s: the program was ended, because the cascade "
            "is cancelled, has ended or is owned by another engine",
            call->name);
    if (end->timed_out && !program->keep_timeout)
        return csc_fail(CASCADE_ERR_TIMEOUT,
                        "program %s: %.200s was ended after timeout_ms = %lld",
                        call->name, program->argv[0],
                        (long long)program->timeout_ms);
    if (!program->check || end->timed_out || end->exit_code == 0)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_FAILED, "program %s: %.200s %s %d", call->name,
                    program->argv[0],
                    end->signal != 0 ? "was ended by signal" : "exited with",
                    end->signal != 0 ? end->signal : end->exit_code);
}

/* ---- The step ----------------------------------------------------------- */

/* Asked while it runs. One that begins in a cascade that is cancelled already
 * is there to clean up. */
typedef struct asking {
    const cascade_node *node;
    bool cleans_up;
} asking;

static bool
ask_cancelled(void *context)
{
    const asking *a = context;

    return csc_node_is_gone(a->node) ||
           (!a->cleans_up && csc_node_is_cancelled(a->node));
}

static cascade_err
run_program(cascade_node *node, void *arg, cJSON **result)
{
    const program_call *call = arg;
    const cascade_program *program = call->program;
    asking asks = {node, csc_node_is_cancelled(node)};
    csc_process_spec spec = {
        .argv = program->argv,
        .env = program->env,
        .extra = csc_arena_format(&node->arena, REQUEST_ID "=%s",
                                  cascade_node_request_id(node)),
        .folder = program->folder,
        .input = program->input_text,
        .output_max = program->output_max,
        .timeout_ms = program->timeout_ms,
        .grace_ms = program->grace_ms,
        .limits = {.cpu_s = program->cpu_max_s,
                   .memory_bytes = program->memory_max_bytes,
                   .file_bytes = program->file_max_bytes,
                   .open_files = program->open_files_max},
        .cancelled = ask_cancelled,
        .context = &asks};
    csc_process_end end;
    cascade_err err = CASCADE_OK;

    if (spec.extra == NULL)
        return csc_fail_memory();
    err = csc_process_run(&spec, &end);
    node->step_barred = err == CASCADE_ERR_MISUSE;
    if (err == CASCADE_OK)
        err = judge(call, &end);
    if (err == CASCADE_OK)
        err = make_result(node, &end, result);
    csc_process_free_end(&end);
    return err;
}

static cascade_err
program_step(cascade_node *node, const char *name,
             const cascade_program *program,
             const cascade_step_options *options, csc_node_out out)
{
    cascade_program known = {0};
    program_call call = {.program = &known, .name = name};
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = check_program(name, program, &known);
    if (err == CASCADE_OK && node == NULL)
        err = csc_fail(CASCADE_ERR_INVALID, "program %s: node is NULL", name);
    if (err == CASCADE_OK)
        err = csc_txn_refuse(node, "a program");
    if (err != CASCADE_OK)
        return err;
    if (known.output_max == 0)
        known.output_max = OUTPUT_DEFAULT;
    if (known.output_max > output_room(node))
        known.output_max = output_room(node);
    if (known.grace_ms == 0)
        known.grace_ms = GRACE_DEFAULT_MS;
    if (known.grace_ms < 0)
        known.grace_ms = 0;
    return csc_step_call(node, name, run_program, &call, options, out);
}

cascade_err
cascade_node_program(cascade_node *node, const char *name,
                     const cascade_program *program,
                     const cascade_step_options *options, cJSON **result)
{
    return program_step(node, name, program, options,
                        (csc_node_out){.tree = result});
}

cascade_err
cascade_node_program_text(cascade_node *node, const char *name,
                          const cascade_program *program,
                          const cascade_step_options *options,
                          const char **result)
{
    return program_step(node, name, program, options,
                        (csc_node_out){.text = result});
}
