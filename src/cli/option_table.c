/* SPDX-License-Identifier: MIT
 *
 * The options, each once. Where one name means different things to different
 * commands, it stands here several times.
 */
#include "command.h"

#include <cascade/schedule.h>
#include <limits.h>

/* Function ids, and what is given in numbers of 32 bits. */
#define PLACE_MAX INT32_MAX

const struct option_spec option_table[OPTION_COUNT] = {
    [OPTION_STORE] = {"store", KIND_TEXT, "URL",
                      "the store: sqlite:PATH, postgresql://..., or a "
                      "connection string of libpq; default: the environment "
                      "variable CASCADE_STORE, which no list of processes "
                      "shows",
                      0, 0},
    [OPTION_SCHEMA] = {"schema", KIND_TEXT, "NAME",
                       "PostgreSQL: the schema of the tables; default: public",
                       0, 0},
    [OPTION_POOLER] = {"pooler", KIND_FLAG, NULL,
                       "PostgreSQL: the connection goes through a pooler in "
                       "transaction mode",
                       0, 0},
    [OPTION_INTEGRITY] = {"integrity", KIND_CHOICE, "none|checksum|hmac",
                          "by what cascades are sealed, as the database "
                          "has it; default: the "
                          "environment variable CASCADE_INTEGRITY, else hmac "
                          "where there are keys, else none",
                          0, 0},
    [OPTION_SECRETS] = {"secrets", KIND_TEXT, "FILE",
                        "the keys of hmac, each ID:HEX, of which the first "
                        "makes new seals; default: those in the environment "
                        "variable CASCADE_SECRETS, or of the @FILE that it "
                        "names",
                        0, 0},
    [OPTION_JSON] = {"json", KIND_FLAG, NULL,
                     "for programs: one JSON object a line", 0, 0},
    [OPTION_HELP] = {"help", KIND_FLAG, NULL, "this page", 0, 0},
    [OPTION_USER] = {"user", KIND_TEXT, "USER",
                     "only cascades of this user; with --key, who started it "
                     "(default there: anonymous)",
                     0, 0},
    [OPTION_KEY] = {"key", KIND_TEXT, "KEY",
                    "instead of an ID: the current run of what --user started "
                    "with this idempotency key",
                    0, 0},
    [OPTION_STATUS] = {"status", KIND_CHOICE, "running|completed|error",
                       "only cascades in this status", 0, 0},
    [OPTION_NODE] = {"node", KIND_TEXT, "NODE",
                     "only cascades with an execution of this node", 0, 0},
    [OPTION_QUEUE] = {"queue", KIND_TEXT, "QUEUE",
                      "only cascades in this queue that have not ended", 0, 0},
    [OPTION_OLDER] = {"older", KIND_DURATION, "AGE",
                      "only cascades that were written last before that long",
                      0, 0},
    [OPTION_ALL] = {"all", KIND_FLAG, NULL,
                    "every cascade that the filters leave, instead of IDs", 0,
                    0},
    [OPTION_AFTER] = {"after", KIND_UUID, "ID",
                      "go on behind this one, the last of the list before", 0,
                      0},
    [OPTION_LIMIT] = {"limit", KIND_NUMBER, "N",
                      "at most so many; default: 100", 1, INT_MAX},
    [OPTION_WATCH] = {"watch", KIND_WAIT, "INTERVAL",
                      "again and again, every 2 seconds or INTERVAL; SIGINT "
                      "ends it",
                      0, 0},
    [OPTION_AT] = {"at", KIND_NUMBER, "FUNCTION_ID",
                   "as it was just before this function_id was reached",
                   INT32_MIN, PLACE_MAX},
    [OPTION_UI] = {"ui", KIND_FLAG, NULL,
                   "context values in their form for user interfaces", 0, 0},
    [OPTION_PAYLOADS] = {"payloads", KIND_FLAG, NULL,
                         "show inputs, outputs and context values; without, "
                         "only how long they are",
                         0, 0},
    [OPTION_TOKENS] = {"tokens", KIND_FLAG, NULL,
                       "with the tokens that complete what waits for its "
                       "completion from outside: whoever reads one may",
                       0, 0},
    [OPTION_FROM_START] = {"from-start", KIND_FLAG, NULL,
                           "first what there is already", 0, 0},
    [OPTION_INPUT] = {"input", KIND_JSON, "JSON|@FILE|-",
                      "the input of the node; default: {}", 0, 0},
    [OPTION_START_USER] = {"user", KIND_TEXT, "USER",
                           "whose cascade it is; default: anonymous", 0, 0},
    [OPTION_START_KEY] = {"key", KIND_TEXT, "KEY",
                          "idempotency key: two starts with one key give one "
                          "cascade",
                          0, 0},
    [OPTION_ID] = {"id", KIND_UUID, "ID",
                   "the id of the new cascade; default: generated", 0, 0},
    [OPTION_INTO_QUEUE] = {"queue", KIND_TEXT, "QUEUE",
                           "into this queue; default: the recorded one, or "
                           "\"default\"",
                           0, 0},
    [OPTION_PRIORITY] = {"priority", KIND_NUMBER, "N",
                         "0 to 9, 9 runs first; default: 0", 0, 9},
    [OPTION_DELAY] = {"delay", KIND_DURATION, "DURATION",
                      "begin no earlier than that", 0, 0},
    [OPTION_DEADLINE] = {"deadline", KIND_DURATION, "DURATION",
                         "it ends in error when it takes longer than that", 0,
                         0},
    [OPTION_REUSE] = {"reuse", KIND_CHOICE, "never|ended|failed|terminate",
                      "when the next run of the key is started: never "
                      "(default); when the last has ended; when it has failed; "
                      "always, and one that runs is terminated",
                      0, 0},
    [OPTION_LIMIT_KEY] = {"limit-key", KIND_TEXT, "TEXT",
                          "what the limits of its queue go by; default: the "
                          "user",
                          0, 0},
    [OPTION_RUNNING] = {"running", KIND_NUMBER, "N",
                        "so many of the queue at once; 0: any number", 0,
                        INT32_MAX},
    [OPTION_KEY_RUNNING] = {"key-running", KIND_NUMBER, "N",
                            "so many of each limit key, which is the user's id "
                            "where a start gives none; 0: any number",
                            0, INT32_MAX},
    [OPTION_NONE] = {"none", KIND_FLAG, NULL, "take the limits away", 0, 0},
    [OPTION_WAIT] = {"wait", KIND_WAIT, "DURATION",
                     "until it is carried out, at most that long", 0, 0},
    [OPTION_WAIT_END] = {"wait", KIND_WAIT, "DURATION",
                         "until the cascade has ended, at most that long", 0,
                         0},
    [OPTION_TIMEOUT] = {"timeout", KIND_DURATION, "DURATION",
                        "at most that long; default: no limit", 0, 0},
    [OPTION_PAYLOAD] = {"payload", KIND_JSON, "JSON|@FILE|-",
                        "what the signal carries; default: {}", 0, 0},
    [OPTION_OUTPUT] = {"output", KIND_JSON, "JSON|@FILE|-",
                       "the output of the execution; default: none", 0, 0},
    [OPTION_ERROR] = {"error", KIND_TEXT, "TEXT", "it failed, with this text",
                      0, 0},
    [OPTION_REQUEST_ID] = {"request-id", KIND_TEXT, "TEXT",
                           "two requests to a cascade with one id are one: to "
                           "repeat a command without doing it twice",
                           0, 0},
    [OPTION_REASON] = {"reason", KIND_TEXT, "TEXT", "recorded with the command",
                       0, 0},
    [OPTION_BY] = {"by", KIND_TEXT, "NAME",
                   "who asks, recorded with the command; default: the "
                   "environment variable CASCADE_BY, else the login name",
                   0, 0},
    [OPTION_WHOLE_QUEUE] = {"queue", KIND_TEXT, "QUEUE",
                            "without IDs: the queue itself, for all engines; "
                            "with --all: its cascades, one by one",
                            0, 0},
    [OPTION_FROM] = {"from", KIND_NUMBER, "FUNCTION_ID",
                     "what had not ended just before this function_id was "
                     "reached runs again; needed",
                     0, PLACE_MAX},
    [OPTION_FORK_OUTPUT] = {"output", KIND_MANY, "NODE=JSON",
                            "another output for what NODE has completed by "
                            "then, or, with #FUNCTION_ID=JSON, for that "
                            "execution; any number of times",
                            0, 0},
    [OPTION_YES] = {"yes", KIND_FLAG, NULL,
                    "do not ask; needed where there is no terminal to ask on",
                    0, 0},
    [OPTION_CHECK] = {"check", KIND_FLAG, NULL,
                      "change nothing; show what is applied and what is not", 0,
                      0},
    [OPTION_DRY_RUN] = {"dry-run", KIND_FLAG, NULL,
                        "change nothing; tell what would be changed, and why",
                        0, 0},
    [OPTION_TRUST] = {"trust", KIND_FLAG, NULL,
                      "take what is there for what was written: what has no "
                      "seal, or was changed, and you have looked at",
                      0, 0},
    [OPTION_COUNTER] = {"counter", KIND_TEXT, "FILE",
                        "write the number and the seal of each cascade to "
                        "FILE, which must not be there; keep it where those "
                        "who write the database cannot",
                        0, 0},
    [OPTION_AGAINST] = {"against", KIND_TEXT, "FILE",
                        "also find what is gone, or was put back to what it "
                        "was, since --counter has written FILE",
                        0, 0},
    [OPTION_COMPLETED] = {"completed", KIND_DURATION, "AGE",
                          "those that completed, and were written last at "
                          "least that long ago",
                          0, 0},
    [OPTION_FAILED] = {"failed", KIND_DURATION, "AGE",
                       "the same of those that ended in error", 0, 0},
    [OPTION_NEW_IDS] = {"new-ids", KIND_FLAG, NULL,
                        "as another cascade, without its key and its parent", 0,
                        0},
    [OPTION_ZONE] = {"zone", KIND_TEXT, "ZONE",
                     "the time zone, such as Europe/Paris; default: UTC", 0, 0},
    [OPTION_FROM_TIME] = {"from", KIND_TEXT, "TIME",
                          "fires at TIME or later, such as "
                          "2026-03-08T00:00:00-05:00 or 2026-03-08T05:00Z; "
                          "default: now",
                          0, 0},
    [OPTION_COUNT_FIRES] = {"count", KIND_NUMBER, "N",
                            "so many fires; default: 10", 1,
                            CASCADE_SPEC_LIST_MAX},
    [OPTION_DIALECT] = {"dialect", KIND_CHOICE, "ocps|quartz",
                        "how the pattern is written: 5 fields, 6 with seconds "
                        "before, 7 with years behind (ocps, the default), or "
                        "as Quartz has it",
                        0, 0},
    [OPTION_EVERY] = {"every", KIND_TEXT, "DURATION",
                      "instead of a pattern: an interval from 1970-01-01 UTC "
                      "on, such as 1h30m",
                      0, 0},
    [OPTION_SPEC] = {"spec", KIND_TEXT, "FILE|-",
                     "instead of a pattern: a whole spec as JSON, as "
                     "schedule.h has it",
                     0, 0},
    [OPTION_MAN] = {"man", KIND_FLAG, NULL, "the manual page, for man", 0, 0},
    [OPTION_BASH] = {"bash", KIND_FLAG, NULL, "the completion for bash", 0, 0},
};

const enum option_id common_with_store[] = {
    OPTION_STORE,   OPTION_SCHEMA, OPTION_POOLER, OPTION_INTEGRITY,
    OPTION_SECRETS, OPTION_JSON,   OPTION_HELP,   OPTION_COUNT};
const enum option_id common_without[] = {OPTION_HELP, OPTION_COUNT};

enum option_id
command_option(const struct command *command, size_t index)
{
    const enum option_id *common =
        command->store == STORE_NONE ? common_without : common_with_store;
    size_t own = 0;

    while (command->options[own] != OPTION_COUNT)
        own++;
    return index < own ? command->options[index] : common[index - own];
}

bool
command_has(const struct command *command, enum option_id option)
{
    size_t i = 0;

    while (command_option(command, i) != OPTION_COUNT &&
           command_option(command, i) != option)
        i++;
    return command_option(command, i) == option;
}
