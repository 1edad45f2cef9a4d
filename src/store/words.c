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

#define ROW_BYTES 100 /* of a row without payloads, about */

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
