/* SPDX-License-Identifier: MIT
 *
 * What all backends say and refuse alike: one definition of each.
 */
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"

#define MEND_MAX 1000
#define RECEIVE_MAX 10000
#define ROW_BYTES 100 /* of a row without payloads, about */

const char *
csc_store_status_word(cascade_status status)
{
    switch (status) {
    case CASCADE_RUNNING:
        return "RUNNING";
    case CASCADE_COMPLETED:
        return "COMPLETED";
    case CASCADE_ERROR:
        return "ERROR";
    }
    return NULL;
}

const char *
csc_store_execution_word(cascade_execution_status status)
{
    switch (status) {
    case CASCADE_EXECUTION_RUNNING:
        return "RUNNING";
    case CASCADE_EXECUTION_COMPLETED:
        return "COMPLETED";
    case CASCADE_EXECUTION_FAILED:
        return "FAILED";
    }
    return NULL;
}

cascade_err
csc_store_check_scan(const cascade_scan *scan)
{
    if (scan->limit < 1 || scan->limit > CASCADE_SCAN_MAX)
        return csc_fail(CASCADE_ERR_INVALID,
                        "scan: the limit is %zu; give 1 to %d", scan->limit,
                        CASCADE_SCAN_MAX);
    if (scan->events && scan->cascade_id == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "scan: the events of all cascades are asked for; name "
                        "one cascade");
    if (scan->children_only &&
        (scan->cascade_id == NULL || scan->events || !scan->running_only))
        return csc_fail(CASCADE_ERR_INVALID,
                        "scan: children_only is of the executions of one "
                        "cascade that are RUNNING");
    return CASCADE_OK;
}

static size_t
text_bytes(const char *text)
{
    return text != NULL ? strlen(text) : 0;
}

size_t
csc_store_execution_bytes(const cascade_execution_row *row)
{
    return ROW_BYTES + text_bytes(row->input) + text_bytes(row->full_output) +
           text_bytes(row->error);
}

size_t
csc_store_event_bytes(const cascade_event_row *row)
{
    return ROW_BYTES + text_bytes(row->value) + text_bytes(row->ui_value);
}

size_t
csc_store_message_bytes(const cascade_message_row *row)
{
    return ROW_BYTES + text_bytes(row->payload);
}

bool
csc_store_message_ends(const char *kind)
{
    return strcmp(kind, "delete") == 0 || strcmp(kind, "family") == 0;
}

bool
csc_store_is_full(size_t bytes, size_t bytes_max)
{
    return bytes_max > 0 && bytes >= bytes_max;
}

cascade_err
csc_store_check_receive(const cascade_receive *receive)
{
    if (receive->limit >= 1 && receive->limit <= RECEIVE_MAX &&
        receive->each >= 1 && receive->each <= RECEIVE_MAX &&
        receive->except_count <= CASCADE_RECEIVE_EXCEPT_MAX)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "receive: %zu messages, %zu of each cascade, but of %zu; "
                    "give 1 to %d, 1 to %d, 0 to %d",
                    receive->limit, receive->each, receive->except_count,
                    RECEIVE_MAX, RECEIVE_MAX, CASCADE_RECEIVE_EXCEPT_MAX);
}

cascade_err
csc_store_tell_fault(const cascade_query *query, void *context,
                     const cascade_uuid *id, cascade_err err)
{
    char text[CSC_ERRMSG_SIZE];
    const cascade_fault fault = {.id = *id, .text = text};

    if (err != CASCADE_ERR_CORRUPT || query->on_fault == NULL)
        return err;
    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    return query->on_fault(context, &fault);
}

cascade_err
csc_store_undone(cascade_err err)
{
    if (err != CASCADE_ERR_UNAVAILABLE)
        return err;
    return csc_fail(CASCADE_ERR_NOT_DONE, "%s", cascade_errmsg());
}

cascade_err
csc_store_check_mend(const char *move, size_t count)
{
    if (count >= 1 && count <= MEND_MAX)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID, "%s: %zu cascades; give 1 to %d", move,
                    count, MEND_MAX);
}
