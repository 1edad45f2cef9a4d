/* SPDX-License-Identifier: MIT
 *
 * What is said of cascades and executions in several commands, the same in all.
 */
#ifndef CLI_WORDS_H
#define CLI_WORDS_H

#include "settings.h"
#include "table.h"
#include "text/out.h"

/* "RUNNING", and how it looks. */
const char *words_status(cascade_status status);
enum style words_status_style(cascade_status status);
const char *words_execution(cascade_execution_status status);
enum style words_execution_style(cascade_execution_status status);

/* What a cascade does: "owned", "due", "waits until ...". "-" when it has
 * ended. Lies in `text`, or is static. */
#define WORDS_STATE_SIZE 192
const char *words_state(const cascade_info *info, int64_t now_ms,
                        char text[WORDS_STATE_SIZE]);

/* The members of a cascade_info. */
void words_info(struct object *object, const cascade_info *info);

/* What is shown only where it was asked for. */
struct words_with {
    bool payloads; /* else only how long they are */
    bool tokens;
};

/* As the options of a command say. */
struct words_with words_with(const struct settings *settings);

/* Whether payloads of it are shown: the receipt of a completion that came too
 * late holds its token. */
bool words_shows_payloads(const cascade_execution_info *execution,
                          struct words_with with);

/* The members of an execution. */
void words_execution_info(struct object *object,
                          const cascade_execution_info *execution,
                          struct words_with with);

/* Who asked for a command, and why, as its execution records them: NULL where
 * it does not say. Freed by words_asked_free(). */
struct words_asked {
    struct cJSON *input;
    const char *by;
    const char *reason;
};
void words_asked(const cascade_execution_info *execution,
                 struct words_asked *asked);
void words_asked_free(struct words_asked *asked);

/* A payload as a member: null, or how long it is, and with `payloads` what. */
void words_payload(struct object *object, const char *name, const char *json,
                   bool payloads);

/* How long an execution took; has taken so far; -1 when that is not known. */
int64_t words_took_ms(const cascade_execution_info *execution, int64_t now_ms);

/* A payload, or how long it is; "-" for none. */
void words_add_payload(struct table *table, const char *json, bool payloads);

#endif
