/* SPDX-License-Identifier: MIT
 *
 * fork: a new cascade with the past of another one. With --all the new ids are
 * not told; `cascade ps` shows the cascades.
 */
#include "commands/many.h"
#include "input.h"
#include "which.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* Reads "#K" at the begin of a pair; -1: it is none. */
static int32_t
function_id_of(const char *pair)
{
    char *end = NULL;

    errno = 0;
    long value = *pair == '#' ? strtol(pair + 1, &end, 10) : -1;
    return end == NULL || end == pair + 1 || *end != '=' || errno != 0 ||
                   value < 0 || value > INT32_MAX
               ? -1
               : (int32_t)value;
}

/* Cuts "NODE=JSON" in two, in place; names of nodes hold no "=". */
static int
read_output(struct session *session, char *pair, cascade_fork_output *output)
{
    char *sign = strchr(pair, '=');

    if (sign == NULL || sign == pair)
        return settings_refuse(session->settings,
                               "--output is NODE=JSON or #FUNCTION_ID=JSON");
    *output = (cascade_fork_output){.size = sizeof(cascade_fork_output),
                                    .function_id = function_id_of(pair),
                                    .output = sign + 1};
    if (output->function_id >= 0)
        return EXIT_DONE;
    *sign = '\0';
    output->node = pair;
    return EXIT_DONE;
}

static int
read_outputs(struct session *session, cascade_fork_output **outputs)
{
    const struct settings *settings = session->settings;
    int code = EXIT_DONE;

    *outputs = calloc(settings->many_count + 1, sizeof(**outputs));
    if (*outputs == NULL) {
        fputs("cascade: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    for (size_t i = 0; i < settings->many_count && code == EXIT_DONE; i++)
        code = read_output(session, settings->many[i], &(*outputs)[i]);
    return code;
}

static int
fork_each(struct session *session, const cascade_uuid *ids, size_t count,
          const cascade_fork_options *options)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    int code = EXIT_DONE;

    for (size_t i = 0; i < count; i++) {
        cascade_started started;
        cascade_uuid_format(&ids[i], id);
        cascade_err err =
            cascade_fork(session->store, &ids[i], options, &started);
        int one = request_answer(
            session, id,
            err == CASCADE_OK && started.existed ? "existed" : "forked",
            err == CASCADE_OK ? &started.id : NULL, err);
        code = code == EXIT_DONE ? one : code;
    }
    return code;
}

static int
fork_several(struct session *session, const cascade_uuid *ids, size_t count)
{
    const struct settings *settings = session->settings;
    cascade_fork_output *outputs = NULL;
    cascade_uuid id;
    cascade_fork_options options = {
        .size = sizeof(options),
        .from = (int32_t)settings->number[OPTION_FROM],
        .queue = settings->text[OPTION_INTO_QUEUE],
        .reason = settings->text[OPTION_REASON],
        .by = settings_by(settings),
        .output_count = settings->many_count,
    };
    int code = read_outputs(session, &outputs);

    if (settings_has(settings, OPTION_ID)) {
        (void)cascade_uuid_parse(settings->text[OPTION_ID], &id);
        options.id = &id;
    }
    options.outputs = outputs;
    if (code == EXIT_DONE)
        code = fork_each(session, ids, count, &options);
    free(outputs);
    return code;
}

int
run_fork(struct session *session)
{
    const struct settings *settings = session->settings;
    cascade_uuid *ids = NULL;
    size_t count = 0;

    if (!settings_has(settings, OPTION_FROM))
        return settings_refuse(settings, "it needs --from");
    if (settings_has(settings, OPTION_ALL)) {
        if (settings_has(settings, OPTION_ID) || settings->many_count > 0 ||
            settings_has(settings, OPTION_INTO_QUEUE))
            return settings_refuse(
                settings, "--all goes without --id, --output and --queue");
        return many_run(session);
    }
    if (settings_has(settings, OPTION_REQUEST_ID))
        return settings_refuse(settings, "--request-id is for --all; without "
                                         "it, --id tells a repetition");
    int code = which_several(session, &ids, &count);
    if (code == EXIT_DONE && count > 1 && settings_has(settings, OPTION_ID))
        code = settings_refuse(settings, "--id is for a single one");
    if (code == EXIT_DONE)
        code = fork_several(session, ids, count);
    free(ids);
    return code;
}
