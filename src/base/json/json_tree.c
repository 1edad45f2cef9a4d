/* SPDX-License-Identifier: MIT
 *
 * cJSON trees: the gate for what users build, and trees out of canonical text
 * for what they read.
 *
 * A tree comes from anywhere: it may be a cycle, share branches, hold invalid
 * UTF-8 or a raw piece of text. The walk keeps its own stack of CSC_JSON_DEPTH_
 * MAX items, which ends every cycle through children; one through siblings
 * ends at the limit of bytes, as does a tree that shares branches until it
 * unfolds into billions.
 *
 * cJSON's own parser is not used on the way back: it gives up on numbers longer
 * than 63 characters, and 1e100 written out has 101.
 */
#include "base/json/json.h"

#include <math.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json_internal.h"
#include "base/mem.h"
#include "cascade/cascade.h"

/* ---- A tree into text --------------------------------------------------- */

#define TYPE_MASK 0xff
#define FLAGS (cJSON_IsReference | cJSON_StringIsConst)

static cascade_err
write_string(csc_json_writer *writer, const char *text, size_t *len)
{
    if (text == NULL)
        return csc_json_writer_refuse(writer, "a string or a name is NULL");
    *len = strlen(text);
    if (*len > writer->max)
        return csc_json_writer_too_large(writer);
    if (!csc_json_utf8_is(text, *len))
        return csc_json_writer_refuse(writer,
                                      "a string or a name is not valid UTF-8");
    csc_json_utf8_add_string(writer->out, text, *len);
    return CASCADE_OK;
}

static cascade_err
write_number(csc_json_writer *writer, double number)
{
    if (!isfinite(number))
        return csc_json_writer_refuse(
            writer, "a number is infinite or not a number; leave it out or "
                    "pass null");
    if (!csc_json_number_add_double(writer->out, number))
        return csc_json_writer_refuse(writer, "a number cannot be written");
    return CASCADE_OK;
}

/* What stands in front of an item: its name, or a comma. */
static cascade_err
write_place(csc_json_writer *writer, const cJSON *item)
{
    size_t len = 0;
    cascade_err err;

    if (writer->depth == 0)
        return CASCADE_OK;
    if (!writer->frames[writer->depth - 1].object) {
        csc_json_writer_element(writer);
        return CASCADE_OK;
    }
    err = csc_json_writer_key_begin(writer);
    if (err == CASCADE_OK)
        err = write_string(writer, item->string, &len);
    if (err == CASCADE_OK)
        err = csc_json_writer_key_end(writer, len);
    return err;
}

/* One item; a container is only opened. */
static cascade_err
write_item(csc_json_writer *writer, const cJSON *item)
{
    size_t len = 0;

    if ((item->type & ~(TYPE_MASK | FLAGS)) != 0)
        return csc_json_writer_refuse(writer, "an item has an unknown type");
    switch (item->type & TYPE_MASK) {
    case cJSON_False:
        csc_buf_add_text(writer->out, "false");
        return CASCADE_OK;
    case cJSON_True:
        csc_buf_add_text(writer->out, "true");
        return CASCADE_OK;
    case cJSON_NULL:
        csc_buf_add_text(writer->out, "null");
        return CASCADE_OK;
    case cJSON_Number:
        return write_number(writer, item->valuedouble);
    case cJSON_String:
        return write_string(writer, item->valuestring, &len);
    case cJSON_Array:
        return csc_json_writer_open(writer, false);
    case cJSON_Object:
        return csc_json_writer_open(writer, true);
    case cJSON_Raw:
        return csc_json_writer_refuse(writer,
                                      "an item is raw text; pass the "
                                      "text through the text functions");
    default:
        return csc_json_writer_refuse(writer, "an item has an unknown type");
    }
}

/* Closes containers until an item follows; NULL when the root is done. */
static cascade_err
write_closings(csc_json_writer *writer, const cJSON *const *open,
               const cJSON **next)
{
    *next = NULL;
    while (*next == NULL && writer->depth > 0) {
        const cJSON *container = open[writer->depth - 1];
        cascade_err err = csc_json_writer_close(writer);

        if (err != CASCADE_OK)
            return err;
        if (writer->depth > 0)
            *next = container->next;
    }
    return CASCADE_OK;
}

static cascade_err
write_tree(csc_json_writer *writer, const cJSON *tree)
{
    const cJSON *open[CSC_JSON_DEPTH_MAX];
    const cJSON *item = tree;
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && item != NULL) {
        size_t depth = writer->depth;

        err = write_place(writer, item);
        if (err == CASCADE_OK)
            err = write_item(writer, item);
        if (err == CASCADE_OK)
            err = csc_json_writer_check_size(writer);
        if (err != CASCADE_OK)
            break;
        if (writer->depth > depth) {
            open[depth] = item;
            item = item->child;
        } else {
            item = depth > 0 ? item->next : NULL;
        }
        if (item == NULL)
            err = write_closings(writer, open, &item);
    }
    return err;
}

cascade_err
csc_json_tree_canon(const char *what, const cJSON *tree, size_t max,
                    csc_buf *out)
{
    csc_json_writer writer;
    cascade_err err = csc_json_writer_init(&writer, what, max, out);

    if (err != CASCADE_OK)
        return err;
    if (tree == NULL)
        err = csc_json_writer_refuse(&writer, "the tree is NULL");
    else
        err = write_tree(&writer, tree);
    return csc_json_writer_fini(&writer, err);
}

/* ---- Canonical text into a tree ----------------------------------------- */

typedef struct builder {
    const char *at;
    const char *end;
    cJSON *open[CSC_JSON_NESTED_MAX];
    size_t depth;
} builder;

/* Unescapes the string at the position to *room, and moves *room behind it.
 * False when there is none. */
static bool
take_string(builder *from, char **room)
{
    csc_json_span text;

    if (!csc_json_read_string(&from->at, from->end, &text))
        return false;
    *room += csc_json_utf8_unescape(text, *room) + 1;
    return true;
}

static cJSON *
build_string(builder *from, char *room)
{
    const char *text = room;

    return take_string(from, &room) ? cJSON_CreateString(text) : NULL;
}

static cJSON *
build_number(builder *from)
{
    const char *begin = from->at;
    size_t len = strspn(begin, "-0123456789.");

    if (len == 0)
        return NULL;
    from->at += len;
    return cJSON_CreateNumber(csc_json_number_to_double(begin, len));
}

static bool
take_literal(builder *from, const char *literal)
{
    size_t len = strlen(literal);

    if ((size_t)(from->end - from->at) < len ||
        memcmp(from->at, literal, len) != 0)
        return false;
    from->at += len;
    return true;
}

/* The value at the position; a container is left empty. */
static cJSON *
build_value(builder *from, char *room)
{
    if (take_literal(from, "{"))
        return cJSON_CreateObject();
    if (take_literal(from, "["))
        return cJSON_CreateArray();
    if (*from->at == '"')
        return build_string(from, room);
    if (take_literal(from, "true"))
        return cJSON_CreateTrue();
    if (take_literal(from, "false"))
        return cJSON_CreateFalse();
    if (take_literal(from, "null"))
        return cJSON_CreateNull();
    return build_number(from);
}

/* Builds the next item and hangs it into the open container. NULL, and nothing
 * is left of it, without memory or when the text is not canonical. `room` takes
 * its key and its text. */
static cJSON *
build_item(builder *from, char *room)
{
    cJSON *parent = from->depth > 0 ? from->open[from->depth - 1] : NULL;
    bool member = parent != NULL && cJSON_IsObject(parent);
    char *rest = room;
    cJSON *item;
    cJSON_bool done = 1;

    if (member && (!take_string(from, &rest) || !take_literal(from, ":")))
        return NULL;
    item = build_value(from, rest);
    if (item == NULL)
        return NULL;
    if (member)
        done = cJSON_AddItemToObject(parent, room, item);
    else if (parent != NULL)
        done = cJSON_AddItemToArray(parent, item);
    if (done == 0) {
        cJSON_Delete(item);
        return NULL;
    }
    return item;
}

static bool
is_container(const cJSON *item)
{
    return cJSON_IsObject(item) || cJSON_IsArray(item);
}

/* Builds everything; NULL without memory. The NUL at the end is no item, so a
 * text that is not canonical ends there. */
static cJSON *
build(builder *from, char *room)
{
    cJSON *root = build_item(from, room);
    cJSON *item = root;

    if (root == NULL)
        return NULL;
    for (;;) {
        if (is_container(item) && from->depth < CSC_JSON_NESTED_MAX)
            from->open[from->depth++] = item;
        while (from->depth > 0 &&
               (take_literal(from, "}") || take_literal(from, "]")))
            from->depth--;
        if (from->depth == 0)
            return root;
        (void)take_literal(from, ",");
        item = build_item(from, room);
        if (item == NULL) {
            cJSON_Delete(root);
            return NULL;
        }
    }
}

cJSON *
csc_json_tree_parse(const char *canonical)
{
    size_t len = strlen(canonical);
    /* A key and a string are shorter unescaped, and each loses a quote to its
     * NUL: the length of the text is room for both. */
    char *room = csc_mem_alloc(len + 1);
    builder from = {.at = canonical, .end = canonical + len};
    cJSON *tree;

    if (room == NULL)
        return NULL;
    tree = build(&from, room);
    csc_mem_free(room);
    return tree;
}
