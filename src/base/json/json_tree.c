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
 *
 * cJSON keeps a number as a double, and the text may have more digits:
 *
 *     9007199254740993 --> valuedouble 9007199254740992, valuestring "...993"
 *     1.50             --> 1.5, "1.50"
 *     12               --> 12, NULL: a double gives back 15 digits
 *
 * cJSON itself copies and frees that string with the item. It counts on the way
 * in as long as the double is the nearest to it: whoever sets another double
 * means that one.
 */
#include "base/json/json.h"

#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json_internal.h"
#include "base/mem.h"
#include "cascade/cascade.h"

/* ---- A tree into text --------------------------------------------------- */

#define TYPE_MASK 0xff
#define NUMBER_MAX (CSC_JSON_DIGITS_MAX + 2) /* with its sign and its point */
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

bool
csc_json_tree_digits(const cJSON *item, csc_json_number *digits)
{
    const char *text = item->valuestring;
    double nearest = 0;
    size_t len = 0;

    if (text == NULL)
        return false;
    len = strnlen(text, NUMBER_MAX + 1);
    if (len > NUMBER_MAX || csc_json_number_read(text, len, digits) != len ||
        digits->has_exponent)
        return false;
    nearest = csc_json_number_to_double(text, len);
    return nearest <= item->valuedouble && nearest >= item->valuedouble;
}

static cascade_err
write_number(csc_json_writer *writer, const cJSON *item)
{
    double number = item->valuedouble;
    csc_json_number digits;

    if (csc_json_tree_digits(item, &digits) &&
        csc_json_number_add(writer->out, &digits))
        return CASCADE_OK;
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
        return write_number(writer, item);
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

/* Whether a double gives back each digit of it. */
static bool
is_short(const char *text, size_t len)
{
    return len <= DBL_DIG &&
           (text[len - 1] != '0' || memchr(text, '.', len) == NULL);
}

/* As cJSON does it. */
static int
nearest_int(double number)
{
    if (number >= INT_MAX)
        return INT_MAX;
    return number <= INT_MIN ? INT_MIN : (int)number;
}

/* An item that has the digits too: of a string, which has become a number. */
static cJSON *
create_number(const char *digits, size_t len)
{
    double number = csc_json_number_to_double(digits, len);
    cJSON *item = cJSON_CreateString(digits);

    if (item == NULL)
        return NULL;
    item->type = cJSON_Number;
    item->valuedouble = number;
    item->valueint = nearest_int(number);
    return item;
}

cJSON *
csc_json_tree_number(const char *digits)
{
    size_t len = strlen(digits);

    return is_short(digits, len)
               ? cJSON_CreateNumber(csc_json_number_to_double(digits, len))
               : create_number(digits, len);
}

static cJSON *
build_number(builder *from, char *room)
{
    const char *begin = from->at;
    size_t len = strspn(begin, "-0123456789.");

    if (len == 0)
        return NULL;
    from->at += len;
    memcpy(room, begin, len);
    room[len] = '\0';
    return csc_json_tree_number(room);
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
    return build_number(from, room);
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
     * NUL, a number behind a key takes the other: the length of the text is
     * room for both. */
    char *room = csc_mem_alloc(len + 1);
    builder from = {.at = canonical, .end = canonical + len};
    cJSON *tree;

    if (room == NULL)
        return NULL;
    tree = build(&from, room);
    csc_mem_free(room);
    return tree;
}
