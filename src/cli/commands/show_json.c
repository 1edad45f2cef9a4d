/* SPDX-License-Identifier: MIT
 *
 * show --json. The context is handed on as the library gives it, for numbers
 * read and written again might change.
 */
#include "commands/show.h"
#include "text/scan.h"

#include <stdlib.h>
#include <string.h>

static void
put_executions(struct object *object, const cascade_snapshot *snapshot,
               struct words_with with)
{
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);
    struct object list;
    struct object element;

    list_init(&list);
    for (size_t i = 0; i < count; i++) {
        object_init(&element);
        words_execution_info(
            &element, cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i),
            with);
        list_add(&list, &element);
    }
    object_object(object, "executions", &list);
}

/* How many values each key has. */
static void
put_keys(struct object *object, const char *context)
{
    struct object counts;
    struct scan_part key;

    object_init(&counts);
    while (scan_next(&context, &key)) {
        char *name = strndup(key.name, key.name_len);
        char *values = strndup(key.value, key.value_len);
        if (name != NULL && values != NULL)
            object_number(&counts, name, (int64_t)scan_count(values));
        else
            counts.failed = true;
        free(values);
        free(name);
    }
    object_object(object, "context_keys", &counts);
}

cascade_err
show_json(struct out *out, const cascade_snapshot *snapshot,
          struct words_with with)
{
    const char *context = cascade_snapshot_context(snapshot);
    const char *result = cascade_snapshot_result(snapshot);
    struct object object;

    object_init(&object);
    words_info(&object, cascade_snapshot_info(snapshot));
    object_id(&object, "continued_as", cascade_snapshot_continued_as(snapshot));
    object_text(&object, "error", cascade_snapshot_error(snapshot));
    words_payload(&object, "result", result, with.payloads);
    put_executions(&object, snapshot, with);
    put_keys(&object, context);
    words_payload(&object, "context", context, with.payloads);
    return out_object(out, &object);
}
