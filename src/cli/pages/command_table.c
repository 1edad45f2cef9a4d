/* SPDX-License-Identifier: MIT
 *
 * The commands, in the order in which help lists them. A command is added here
 * and nowhere else; then `sh tests/cli/renew.sh` makes the pages anew.
 */
#include "command.h"

#include <string.h>

#define LIST(...)                 \
    (const enum option_id[])      \
    {                             \
        __VA_ARGS__, OPTION_COUNT \
    }
#define NOTHING              \
    (const enum option_id[]) \
    {                        \
        OPTION_COUNT         \
    }
#define FILTERS \
    OPTION_USER, OPTION_STATUS, OPTION_NODE, OPTION_QUEUE, OPTION_OLDER
/* Of a command to cascades. */
#define REQUEST                                                        \
    OPTION_ALL, FILTERS, OPTION_KEY, OPTION_REQUEST_ID, OPTION_REASON, \
        OPTION_BY, OPTION_WAIT, OPTION_YES
#define QUEUE_REQUEST                                                          \
    OPTION_ALL, OPTION_WHOLE_QUEUE, OPTION_USER, OPTION_STATUS, OPTION_NODE,   \
        OPTION_OLDER, OPTION_KEY, OPTION_REQUEST_ID, OPTION_REASON, OPTION_BY, \
        OPTION_WAIT, OPTION_YES

const struct command command_table[] = {
    {"ps", "", 0, 0, "list cascades",
     "Oldest first. STATE says of what has not ended whether an engine runs "
     "it, "
     "it is due, or it waits.",
     LIST(FILTERS, OPTION_AFTER, OPTION_LIMIT, OPTION_WATCH), STORE_CHECK,
     run_ps},
    {"show", "ID", 0, 1, "show a cascade: executions, context, result",
     "Executions stand below the one that spawned them, with the time they "
     "took, or have taken so far. What a retry or a rerun has superseded is "
     "marked with the command's function_id. Of executions that wait for their "
     "completion from outside it shows, with --tokens, what `cascade complete` "
     "needs.",
     LIST(OPTION_KEY, OPTION_USER, OPTION_AT, OPTION_UI, OPTION_PAYLOADS,
          OPTION_TOKENS),
     STORE_CHECK, run_show},
    {"explain", "ID", 0, 1, "say why a cascade is where it is",
     "First what holds for the whole, then a line for each execution that has "
     "not ended.",
     LIST(OPTION_KEY, OPTION_USER), STORE_CHECK, run_explain},
    {"tail", "[ID]", 0, 1, "follow what changes in one cascade, or in all",
     "Ends when the cascade has ended. With all cascades only SIGINT ends it, "
     "and an execution may be told up to a minute late.",
     LIST(OPTION_KEY, OPTION_USER, OPTION_FROM_START, OPTION_PAYLOADS,
          OPTION_TOKENS),
     STORE_CHECK, run_tail},
    {"start", "NODE", 1, 1, "start a cascade with one node",
     "Prints its id. With --wait the exit code tells how it ended: 0 "
     "completed, "
     "1 in error, 5 not in that time.",
     LIST(OPTION_INPUT, OPTION_START_KEY, OPTION_START_USER, OPTION_ID,
          OPTION_INTO_QUEUE, OPTION_PRIORITY, OPTION_DELAY, OPTION_DEADLINE,
          OPTION_REUSE, OPTION_LIMIT_KEY, OPTION_WAIT_END),
     STORE_CHECK, run_start},
    {"wait", "ID", 0, 1, "wait until a cascade has ended, and say how",
     "Where it continues as new: until its last run has. Prints the id of what "
     "has ended, its status and its error; with --payloads also its result. "
     "The exit code is 0 when it completed, 1 when it ended in error, 5 when "
     "it did not end in that time.",
     LIST(OPTION_KEY, OPTION_USER, OPTION_TIMEOUT, OPTION_PAYLOADS),
     STORE_CHECK, run_wait},
    {"signal", "ID NAME", 1, 2, "send a signal to a cascade",
     "With --key the NAME stands alone.",
     LIST(OPTION_KEY, OPTION_USER, OPTION_PAYLOAD, OPTION_REQUEST_ID),
     STORE_CHECK, run_signal},
    {"complete", "ID NODE_INSTANCE_ID TOKEN|@FILE|-", 3, 3,
     "complete an external execution, or fail it",
     "`cascade show ID --tokens` tells the other two of what waits. An "
     "argument "
     "is seen by whoever may list processes: a token that others must not have "
     "comes from FILE, or from standard input.",
     LIST(OPTION_OUTPUT, OPTION_ERROR, OPTION_WAIT), STORE_CHECK, run_complete},
    {"cancel", "[ID...]", 0, -1, "ask cascades to end",
     "What runs may clean up; then they end in error, \"cancelled\".",
     LIST(REQUEST), STORE_CHECK, run_request},
    {"terminate", "[ID...]", 0, -1, "end cascades at once",
     "They end in error, \"terminated\", and what runs is not asked. Asks "
     "first.",
     LIST(REQUEST), STORE_CHECK, run_request},
    {"pause", "[ID...]", 0, -1,
     "keep anything of cascades, or of a queue, "
     "from beginning",
     "What runs goes on to its next step or wait.", LIST(QUEUE_REQUEST),
     STORE_CHECK, run_request},
    {"resume", "[ID...]", 0, -1, "let what is paused go on", NULL,
     LIST(QUEUE_REQUEST), STORE_CHECK, run_request},
    {"retry", "[ID...]", 0, -1, "let cascades that failed go on",
     "From where they ended in error: what failed for good is made afresh, "
     "with the steps that it had recorded.",
     LIST(REQUEST), STORE_CHECK, run_request},
    {"rerun", "[ID...]", 0, -1, "run cascades again in place",
     "From a function_id on: what came after it is superseded. Asks first.",
     LIST(OPTION_FROM, REQUEST), STORE_CHECK, run_rerun},
    {"fork", "[ID...]", 0, -1, "start new cascades with the past of others",
     "Up to a function_id. Prints the new ids; the old cascades stay as they "
     "are. --id is for a single one.",
     LIST(OPTION_FROM, OPTION_FORK_OUTPUT, OPTION_ID, OPTION_INTO_QUEUE,
          OPTION_ALL, OPTION_USER, OPTION_STATUS, OPTION_NODE, OPTION_OLDER,
          OPTION_KEY, OPTION_REQUEST_ID, OPTION_REASON, OPTION_BY, OPTION_YES),
     STORE_CHECK, run_fork},
    {"delete", "[ID...]", 0, -1, "end cascades and delete all their rows",
     "Asks first.", LIST(REQUEST), STORE_CHECK, run_request},
    {"engines", "", 0, 0, "list the engines that are alive", NULL, NOTHING,
     STORE_CHECK, run_engines},
    {"queues", "", 0, 0, "list queues and what is in them",
     "Those that hold cascades which have not ended, are paused, or have "
     "limits.",
     NOTHING, STORE_CHECK, run_queues},
    {"limit", "QUEUE", 1, 1, "set how many cascades of a queue run at once",
     "For all engines. What is not given stays as it is. Keys take turns, "
     "whatever the numbers. What waits for a time or a message does not count. "
     "`cascade queues` shows them.",
     LIST(OPTION_RUNNING, OPTION_KEY_RUNNING, OPTION_NONE, OPTION_REASON,
          OPTION_BY),
     STORE_CHECK, run_limit},
    {"stats", "", 0, 0, "count cascades and messages",
     "Reads an index of all cascades: seconds where there are millions.",
     NOTHING, STORE_CHECK, run_stats},
    {"migrate", "", 0, 0, "bring the schema to this version",
     "Creates the tables where there are none. No other command changes a "
     "schema. With --integrity, or keys, the cascades of a database that has "
     "none yet are sealed from then on; with --trust also of one that has "
     "some, of which none runs until `cascade reseal --trust`. With --check "
     "the exit code is 7 where "
     "something is missing.",
     LIST(OPTION_CHECK, OPTION_TRUST), STORE_NEVER, run_migrate},
    {"adopt", "[ID]", 0, 1, "take in cascades that have no run",
     "Those of a database that holds only the three tables: written by another "
     "program, or restored without the rest. Statuses change: what is RUNNING "
     "without an execution that is becomes COMPLETED or ERROR, and what is "
     "left "
     "runs again. --dry-run tells all that, and why, and changes nothing. May "
     "be repeated. Where cascades are sealed, what has not its seal is left, "
     "but with --trust, which asks first; what is changed is sealed again. The "
     "exit code is 7 when a cascade was left as it is because its rows cannot "
     "be read, or have not their seal.",
     LIST(OPTION_DRY_RUN, OPTION_TRUST, OPTION_YES), STORE_CHECK, run_adopt},
    {"verify", "[ID]", 0, 1, "check what the tables have to satisfy",
     "Changes nothing. Of cascades that another program began, or has written "
     "to, not all can be judged: how many they are is told, as not judged "
     "whole. The exit code is 7 when something was found. Where cascades are "
     "sealed, so is what has not its seal; what was deleted or put back with "
     "it is found against a counter that was written before. A counter is of "
     "all, so there is no ID with it.",
     LIST(OPTION_COUNTER, OPTION_AGAINST), STORE_CHECK, run_verify},
    {"reseal", "[ID]", 0, 1, "seal cascades with the first key",
     "Those that are sealed with another, to which the seal has to fit. What "
     "an "
     "engine has is left, since that goes on with the key it has: give all "
     "engines the new key first, and repeat the command until nothing is left, "
     "not even a message; then the old key may go. The exit code is 7 when a "
     "seal does not fit. With --trust it asks first.",
     LIST(OPTION_DRY_RUN, OPTION_TRUST, OPTION_YES), STORE_CHECK, run_reseal},
    {"purge", "", 0, 0, "delete cascades that ended long ago",
     "At least one of both ages is needed. Asks first.",
     LIST(OPTION_COMPLETED, OPTION_FAILED, OPTION_YES), STORE_CHECK, run_purge},
    {"export", "ID...", 0, -1, "write cascades as JSON documents",
     "One a line, with all payloads: a copy for another store. Without "
     "--tokens, what waits for its completion from outside gets a new one when "
     "it is imported.",
     LIST(OPTION_KEY, OPTION_USER, OPTION_TOKENS), STORE_CHECK, run_export},
    {"import", "[FILE]", 0, 1, "make the cascades of exported documents",
     "From FILE, or from standard input without one or with -. Each is made "
     "whole or not at all. One that is refused is told with its number, the "
     "others follow, and the exit code is that of the first; one that is there "
     "already is left as it is, and the exit code is 4. What is running goes "
     "on where an engine knows its nodes.",
     LIST(OPTION_NEW_IDS, OPTION_INTO_QUEUE), STORE_CHECK, run_import},
    {"schedule", "preview [CRON]", 1, 2, "show when a schedule would fire",
     "`cascade schedule preview '0 9 * * MON-FRI' --zone Europe/Paris` tells "
     "what was understood, and when it fires next; marked is what a change of "
     "clocks moves, or what clocks show more than once. It needs no store. "
     "The exit code is 3 when it does not fire any more, or never, and 5 when "
     "excludes leave nothing as far as was looked.",
     LIST(OPTION_ZONE, OPTION_FROM_TIME, OPTION_COUNT_FIRES, OPTION_DIALECT,
          OPTION_EVERY, OPTION_SPEC, OPTION_JSON),
     STORE_NONE, run_schedule},
    {"help", "[COMMAND]", 0, 1, "show this page, or the page of a command",
     NULL, LIST(OPTION_MAN, OPTION_BASH), STORE_NONE, run_help},
    {"version", "", 0, 0, "show the version", NULL, LIST(OPTION_JSON),
     STORE_NONE, run_version},
};

const size_t command_count = sizeof(command_table) / sizeof(command_table[0]);

const struct command *
command_by_name(const char *name)
{
    for (size_t i = 0; i < command_count; i++)
        if (strcmp(command_table[i].name, name) == 0)
            return &command_table[i];
    return NULL;
}
