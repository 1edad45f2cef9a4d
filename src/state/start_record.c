/* SPDX-License-Identifier: MIT
 *
 * Reads what execution 0 records of its cascade.
 */
#include "state/start_record.h"

#include <string.h>

#include "base/check.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/full_output.h"

static void
read_number(csc_json_span span, int64_t min, int64_t max, int32_t *number)
{
    int64_t wide = 0;

    csc_assert(min <= max);
    if (csc_json_read_i64(span, &wide) && wide >= min && wide <= max)
        *number = (int32_t)wide;
}

/* False when out of memory. */
static bool
read_text(csc_json_span span, char **text)
{
    return !csc_json_read_text(span, text) || *text != NULL;
}

/* Its member `id`. */
static void
read_origin(csc_json_span span, cascade_uuid *origin)
{
    csc_json_iter iter;

    csc_json_read_iter_init(&iter, span.data, span.len);
    while (csc_json_read_next(&iter))
        if (csc_json_read_is(iter.key, "id"))
            (void)csc_full_output_uuid(iter.value, origin);
}

cascade_err
csc_start_record_read(csc_json_span span, csc_meta *meta)
{
    csc_json_iter iter;
    bool read = true;

    *meta = (csc_meta){.run_number = 1};
    if (span.data == NULL)
        return CASCADE_OK;
    csc_json_read_iter_init(&iter, span.data, span.len);
    while (read && csc_json_read_next(&iter)) {
        if (csc_json_read_is(iter.key, "queue"))
            read = read_text(iter.value, &meta->queue);
        else if (csc_json_read_is(iter.key, "key"))
            read = read_text(iter.value, &meta->key);
        else if (csc_json_read_is(iter.key, "limit_key"))
            read = read_text(iter.value, &meta->limit_key);
        else if (csc_json_read_is(iter.key, "priority"))
            read_number(iter.value, 0, CSC_PRIORITY_MAX, &meta->priority);
        else if (csc_json_read_is(iter.key, "depth"))
            read_number(iter.value, 0, INT32_MAX - 1, &meta->depth);
        else if (csc_json_read_is(iter.key, "run_number"))
            read_number(iter.value, 1, INT32_MAX - 1, &meta->run_number);
        else if (csc_json_read_is(iter.key, "parent"))
            (void)csc_full_output_uuid(iter.value, &meta->parent);
        else if (csc_json_read_is(iter.key, "child"))
            (void)csc_full_output_uuid(iter.value, &meta->child);
        else if (csc_json_read_is(iter.key, "previous"))
            (void)csc_full_output_uuid(iter.value, &meta->previous);
        else if (csc_json_read_is(iter.key, "root"))
            (void)csc_full_output_uuid(iter.value, &meta->root);
        else if (csc_json_read_is(iter.key, "forked_from"))
            read_origin(iter.value, &meta->origin);
    }
    return read ? CASCADE_OK : csc_fail_memory();
}

const char *
csc_start_record_queue(const csc_meta *meta)
{
    return meta->queue != NULL ? meta->queue : CSC_QUEUE_DEFAULT;
}

const char *
csc_start_record_limit_key(const char *own, const char *user_id)
{
    const char *key = own != NULL ? own : user_id;

    return strlen(key) <= CASCADE_LIMIT_KEY_MAX ? key : NULL;
}

void
csc_start_record_fini(csc_meta *meta)
{
    csc_mem_free(meta->queue);
    csc_mem_free(meta->limit_key);
    csc_mem_free(meta->key);
    *meta = (csc_meta){0};
}
