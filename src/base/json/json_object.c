/* SPDX-License-Identifier: MIT
 *
 * Writes an object member by member.
 */
#include "base/json/json_object.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "cascade/cascade.h"

void
csc_json_add_ids(csc_buf *out, const int32_t *ids, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        csc_buf_add_char(out, i == 0 ? '[' : ',');
        csc_buf_add_i64(out, ids[i]);
    }
    if (count > 0)
        csc_buf_add_char(out, ']');
}

void
csc_json_object_begin(csc_json_object *object, csc_buf *out)
{
    object->out = out;
    object->any = false;
    csc_buf_add_char(out, '{');
}

/* ,"name": in one piece. */
static void
add_key(csc_json_object *object, const char *name, size_t len)
{
    csc_buf *out = object->out;
    char *at = NULL;

    if (!csc_buf_reserve(out, len + 4))
        return;
    at = out->data + out->len;
    if (object->any)
        *at++ = ',';
    object->any = true;
    *at++ = '"';
    memcpy(at, name, len);
    memcpy(at + len, "\":", 3);
    out->len = (size_t)(at - out->data) + len + 2;
}

static void
add_name(csc_json_object *object, const char *name)
{
    add_key(object, name, strlen(name));
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
    csc_json_add_ids(object->out, ids, count);
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
csc_json_object_add_span(csc_json_object *object, const char *name,
                         csc_json_span span)
{
    if (span.data == NULL)
        return;
    add_name(object, name);
    csc_buf_add(object->out, span.data, span.len);
}

void
csc_json_object_add_id(csc_json_object *object, const char *name,
                       const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    csc_json_object_add_text(object, name, cascade_uuid_format(id, text));
}

void
csc_json_object_add_member(csc_json_object *object, csc_json_span key,
                           csc_json_span value)
{
    add_key(object, key.data, key.len);
    csc_buf_add(object->out, value.data, value.len);
}

void
csc_json_object_end(csc_json_object *object)
{
    csc_buf_add_char(object->out, '}');
}
