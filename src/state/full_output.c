/* SPDX-License-Identifier: MIT
 *
 * Reads full_output without building a tree, and writes it member by member.
 */
#include "state/full_output.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"

#define PRIORITY_MAX 9

/* Anything else than a number from 0 to `max` counts as absent. */
static void
read_i32(csc_json_span span, int32_t max, int32_t *number)
{
    int64_t wide = 0;

    if (csc_json_read_i64(span, &wide) && wide >= 0 && wide <= max)
        *number = (int32_t)wide;
}

static void
read_first(csc_json_span span, uint32_t *first)
{
    int32_t number = 0;

    read_i32(span, INT32_MAX, &number);
    *first = (uint32_t)number;
}

static cascade_join
read_join(csc_json_span span)
{
    if (csc_json_read_is(span, "\"fail\""))
        return CASCADE_JOIN_FAIL;
    if (csc_json_read_is(span, "\"skip\""))
        return CASCADE_JOIN_SKIP;
    return CASCADE_JOIN_WAIT;
}

static const char *const policies[] = {[CASCADE_CHILD_CANCEL] = "cancel",
                                       [CASCADE_CHILD_TERMINATE] = "terminate",
                                       [CASCADE_CHILD_ABANDON] = "abandon"};

const char *
csc_full_output_policy(cascade_child_end policy)
{
    return policies[policy];
}

static void
read_policy(csc_json_span span, cascade_child_end *policy)
{
    for (size_t i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
        if (span.len == strlen(policies[i]) + 2 &&
            memcmp(span.data + 1, policies[i], span.len - 2) == 0)
            *policy = (cascade_child_end)i;
}

bool
csc_full_output_uuid(csc_json_span span, cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    if (span.len != CASCADE_UUID_TEXT_SIZE + 1 || span.data[0] != '"')
        return false;
    memcpy(text, span.data + 1, CASCADE_UUID_TEXT_SIZE - 1);
    text[CASCADE_UUID_TEXT_SIZE - 1] = '\0';
    return cascade_uuid_parse(text, id) == CASCADE_OK;
}

/* ---- Whose it is -------------------------------------------------------- */

/* `<parent>/<name>#<n>` */
static bool
is_place(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    const char *number = strrchr(text, '#');

    if (text[0] == '-')
        digits = 1;
    return digits > 0 && text[digits] == '/' && number != NULL &&
           number[1] != '\0' &&
           number[1 + strspn(number + 1, "0123456789")] == '\0';
}

bool
csc_full_output_is_path(const char *node_instance_id)
{
    static const char message[] = "message/";
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *rest = NULL;
    cascade_uuid id;

    if (strnlen(node_instance_id, sizeof(text)) < sizeof(text) ||
        node_instance_id[sizeof(text) - 1] != '/')
        return false;
    memcpy(text, node_instance_id, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    rest = node_instance_id + sizeof(text);
    return cascade_uuid_parse(text, &id) == CASCADE_OK &&
           (strncmp(rest, message, sizeof(message) - 1) == 0 || is_place(rest));
}

/* ---- Reading ------------------------------------------------------------ */

static void
read_mark(csc_record *record, csc_json_span mark)
{
    csc_json_iter iter;

    record->foreign = false;
    csc_json_read_iter_init(&iter, mark.data, mark.len);
    while (csc_json_read_next(&iter))
        if (csc_json_read_is(iter.key, "early"))
            read_i32(iter.value, INT32_MAX, &record->early);
}

static void
read_member(csc_record *record, csc_json_span key, csc_json_span value)
{
    if (csc_json_read_is(key, "at"))
        read_i32(value, INT32_MAX, &record->at);
    else if (csc_json_read_is(key, "attempts"))
        read_i32(value, INT32_MAX - 1, &record->attempts); /* one more fits */
    else if (csc_json_read_is(key, "priority"))
        read_i32(value, PRIORITY_MAX, &record->priority);
    else if (csc_json_read_is(key, "instead_of"))
        read_i32(value, INT32_MAX, &record->instead_of);
    else if (csc_json_read_is(key, "signal"))
        read_i32(value, INT32_MAX, &record->signal);
    else if (csc_json_read_is(key, "from"))
        read_i32(value, INT32_MAX, &record->from);
    else if (csc_json_read_is(key, "resumes"))
        read_i32(value, INT32_MAX, &record->resumes);
    else if (csc_json_read_is(key, "supersedes") && value.data[0] == '[')
        record->supersedes = value;
    else if (csc_json_read_is(key, "child"))
        (void)csc_full_output_uuid(value, &record->child);
    else if (csc_json_read_is(key, "token"))
        (void)csc_full_output_uuid(value, &record->token);
    else if (csc_json_read_is(key, "by"))
        (void)csc_full_output_uuid(value, &record->by);
    else if (csc_json_read_is(key, "continued_as"))
        (void)csc_full_output_uuid(value, &record->continued_as);
    else if (csc_json_read_is(key, "policy"))
        read_policy(value, &record->when_parent_ends);
    else if (csc_json_read_is(key, "cancelled"))
        record->cancelled = csc_json_read_is(value, "true");
    else if (csc_json_read_is(key, "over"))
        record->over = csc_json_read_is(value, "true");
    else if (csc_json_read_is(key, "undo"))
        record->undo = csc_json_read_is(value, "true");
    else if (csc_json_read_is(key, "timed_out"))
        record->timed_out = csc_json_read_is(value, "true");
    else if (csc_json_read_is(key, "not_before"))
        (void)csc_json_read_i64(value, &record->not_before_ms);
    else if (csc_json_read_is(key, "deadline"))
        (void)csc_json_read_i64(value, &record->deadline_ms);
    else if (csc_json_read_is(key, "continue"))
        record->continued = csc_json_read_is(value, "true");
    else if (csc_json_read_is(key, "skipped"))
        record->skipped = csc_json_read_is(value, "true");
    else if (csc_json_read_is(key, "on_failure"))
        record->on_failure = read_join(value);
    else if (csc_json_read_is(key, "first"))
        read_first(value, &record->first);
    else if (csc_json_read_is(key, "late") && value.data[0] == '[')
        record->late = value;
    else if (csc_json_read_is(key, "output"))
        record->output = value;
    else if (csc_json_read_is(key, "cascade") && value.data[0] == '{')
        record->meta = value;
    else if (csc_json_read_is(key, "steps") && value.data[0] == '{')
        record->steps = value;
    else if (csc_json_read_is(key, "progress"))
        record->progress = value;
    else if (csc_json_read_is(key, "after") && value.data[0] == '[')
        record->after = value;
    else if (csc_json_read_is(key, "instead") && value.data[0] == '"')
        record->instead = value;
    else if (csc_json_read_is(key, CSC_RECORD_MARK) && value.data[0] == '{')
        read_mark(record, value);
}

static void
clear(csc_record *record, bool adopted)
{
    *record = (csc_record){.adopted = adopted,
                           .foreign = adopted,
                           .early = CSC_RECORD_NO_EARLY,
                           .at = CSC_RECORD_NO_AT,
                           .instead_of = CSC_RECORD_NO_ID,
                           .signal = CSC_RECORD_NO_ID,
                           .from = CSC_RECORD_NO_ID,
                           .resumes = CSC_RECORD_NO_ID,
                           .not_before_ms = CASCADE_TIME_NONE,
                           .deadline_ms = CASCADE_TIME_NONE};
}

void
csc_full_output_read(const cascade_execution_row *row, csc_record *record)
{
    const char *text = row->full_output;
    csc_json_iter iter;

    clear(record, row->node_instance_id != NULL &&
                      !csc_full_output_is_path(row->node_instance_id));
    if (text == NULL || text[0] != '{')
        return;
    csc_json_read_iter_init(&iter, text, strlen(text));
    while (csc_json_read_next(&iter))
        read_member(record, iter.key, iter.value);
    if (record->foreign)
        clear(record, true);
}
