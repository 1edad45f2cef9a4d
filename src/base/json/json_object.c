/* SPDX-License-Identifier: MIT
 *
 * Writes an object member by member.
 */
#include "base/json/json_object.h"

#include "base/data/buf.h"
#include "base/json/json.h"

void
csc_json_object_begin(csc_json_object *object, csc_buf *out)
{
    object->out = out;
    object->any = false;
    csc_buf_add_char(out, '{');
}

static void
add_name(csc_json_object *object, const char *name)
{
    if (object->any)
        csc_buf_add_char(object->out, ',');
    object->any = true;
    csc_buf_add_char(object->out, '"');
    csc_buf_add_text(object->out, name);
    csc_buf_add(object->out, "\":", 2);
}

void
csc_json_object_add_number(csc_json_object *object, const char *name,
                           int64_t number)
{
    add_name(object, name);
    csc_buf_add_i64(object->out, number);
}

void
csc_json_object_add_ids(csc_json_object *object, const char *name,
                        const int32_t *ids, size_t count)
{
    if (count == 0)
        return;
    add_name(object, name);
    for (size_t i = 0; i < count; i++) {
        csc_buf_add_char(object->out, i == 0 ? '[' : ',');
        csc_buf_add_i64(object->out, ids[i]);
    }
    csc_buf_add_char(object->out, ']');
}

void
csc_json_object_add_text(csc_json_object *object, const char *name,
                         const char *text)
{
    add_name(object, name);
    csc_buf_add_char(object->out, '"');
    csc_buf_add_text(object->out, text);
    csc_buf_add_char(object->out, '"');
}

void
csc_json_object_add_string(csc_json_object *object, const char *name,
                           const char *text)
{
    if (text == NULL)
        return;
    add_name(object, name);
    csc_json_add_string(object->out, text);
}

void
csc_json_object_add_json(csc_json_object *object, const char *name,
                         const char *json)
{
    if (json == NULL)
        return;
    add_name(object, name);
    csc_buf_add_text(object->out, json);
}

void
csc_json_object_end(csc_json_object *object)
{
    csc_buf_add_char(object->out, '}');
}
