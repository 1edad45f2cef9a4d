/* SPDX-License-Identifier: MIT
 *
 * What the command line may say: the one table of commands and options. The
 * parser, the pages of help, the manual page and the completion for bash are
 * all made from it, so none of them can tell something else.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct session;

enum option_id {
    OPTION_STORE,
    OPTION_SCHEMA,
    OPTION_POOLER,
    OPTION_INTEGRITY,
    OPTION_SECRETS,
    OPTION_JSON,
    OPTION_HELP,
    OPTION_USER,
    OPTION_KEY,
    OPTION_STATUS,
    OPTION_NODE,
    OPTION_QUEUE,
    OPTION_OLDER,
    OPTION_ALL,
    OPTION_AFTER,
    OPTION_LIMIT,
    OPTION_WATCH,
    OPTION_AT,
    OPTION_UI,
    OPTION_PAYLOADS,
    OPTION_TOKENS,
    OPTION_FROM_START,
    OPTION_INPUT,
    OPTION_START_USER,
    OPTION_START_KEY,
    OPTION_ID,
    OPTION_INTO_QUEUE,
    OPTION_PRIORITY,
    OPTION_DELAY,
    OPTION_DEADLINE,
    OPTION_REUSE,
    OPTION_LIMIT_KEY,
    OPTION_RUNNING,
    OPTION_KEY_RUNNING,
    OPTION_NONE,
    OPTION_WAIT,
    OPTION_WAIT_END,
    OPTION_TIMEOUT,
    OPTION_PAYLOAD,
    OPTION_OUTPUT,
    OPTION_ERROR,
    OPTION_REQUEST_ID,
    OPTION_REASON,
    OPTION_BY,
    OPTION_WHOLE_QUEUE,
    OPTION_FROM,
    OPTION_FORK_OUTPUT,
    OPTION_YES,
    OPTION_CHECK,
    OPTION_DRY_RUN,
    OPTION_TRUST,
    OPTION_COUNTER,
    OPTION_AGAINST,
    OPTION_COMPLETED,
    OPTION_FAILED,
    OPTION_NEW_IDS,
    OPTION_ZONE,
    OPTION_FROM_TIME,
    OPTION_COUNT_FIRES,
    OPTION_DIALECT,
    OPTION_EVERY,
    OPTION_SPEC,
    OPTION_MAN,
    OPTION_BASH,
    OPTION_COUNT /* ends a command's list */
};

enum option_kind {
    KIND_FLAG,
    KIND_TEXT,
    KIND_JSON, /* JSON, @FILE, or - for standard input */
    KIND_NUMBER,
    KIND_DURATION,
    KIND_WAIT,   /* a duration that may be left out: -1 */
    KIND_CHOICE, /* one of `value`; its number counts from 1 */
    KIND_UUID,
    KIND_MANY /* a text, any number of times */
};

struct option_spec {
    const char *name;
    enum option_kind kind;
    const char *value; /* how help calls it; NULL for a flag */
    const char *text;
    int64_t min, max; /* of a NUMBER */
};

/* With which promise about its schema a command opens the store. */
enum command_store {
    STORE_NONE = 0, /* it needs none */
    STORE_CHECK,    /* the schema is current, or that is an error */
    STORE_NEVER     /* whatever there is */
};

struct command {
    const char *name;
    const char *operands; /* "ID..." */
    int operand_min;
    int operand_max; /* -1: no limit */
    const char *summary;
    const char *text; /* paragraphs, parted by "\n\n"; NULL: none */
    const enum option_id *options; /* up to OPTION_COUNT; the common ones are
                                      not named */
    enum command_store store;
    int (*run)(struct session *session);
};

extern const struct option_spec option_table[OPTION_COUNT];
extern const struct command command_table[];
extern const size_t command_count;

/* The options that every command with a store has, and that every one has. */
extern const enum option_id common_with_store[];
extern const enum option_id common_without[];

/* NULL when there is none of that name. */
const struct command *command_by_name(const char *name);

/* The option of `command` at `index`, the common ones last; OPTION_COUNT behind
 * the last. */
enum option_id command_option(const struct command *command, size_t index);

bool command_has(const struct command *command, enum option_id option);

/* ---- The commands ------------------------------------------------------- */

int run_ps(struct session *session);
int run_show(struct session *session);
int run_explain(struct session *session);
int run_tail(struct session *session);
int run_start(struct session *session);
int run_wait(struct session *session);
int run_signal(struct session *session);
int run_complete(struct session *session);
int run_request(struct session *session);
int run_rerun(struct session *session);
int run_fork(struct session *session);
int run_engines(struct session *session);
int run_queues(struct session *session);
int run_limit(struct session *session);
int run_stats(struct session *session);
int run_migrate(struct session *session);
int run_adopt(struct session *session);
int run_verify(struct session *session);
int run_reseal(struct session *session);
int run_purge(struct session *session);
int run_export(struct session *session);
int run_import(struct session *session);
int run_schedule(struct session *session);
int run_help(struct session *session);
int run_version(struct session *session);

#endif
