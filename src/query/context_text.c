/* SPDX-License-Identifier: MIT
 *
 * Contexts as texts.
 *
 * SLOTS. To Cascaide a key's list is a JavaScript array. A value that is an
 * object with a member `index` is assigned to the property of that name, any
 * other is pushed behind the last slot:
 *
 *   the text of `index`, as JavaScript makes it    the value
 *     0, 1, ..., 4294967294, without a zero         stands in that slot, where
 *     before it: 1, 1.0, "1", [1], [["1"]]          it replaces what was there
 *     all else: "01", "foo", -1, 1.5, null, true,   is a property that no JSON
 *     {}, [], [1,2]                                 of the list shows: it is
 *                                                   left out
 *
 * Slots that were never written are null. One value may name a slot far away,
 * so what is empty is bounded, in all lists together, before any of it is
 * built.
 */
#include "query/context_text.h"

#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/data/tree.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/snapshot.h"
#include "state/moment.h"

#define SLOT_MAX 4294967294 /* of a JavaScript array */

/* ---- Keys --------------------------------------------------------------- */

static const csc_context_key *
key_of(const csc_tree_node *node)
{
    return CSC_TREE_ITEM(node, const csc_context_key, by_name);
}

/* By length, then bytes. */
static int
compare_names(const char *a, const char *b)
{
    size_t left = strlen(a);
    size_t right = strlen(b);

    if (left != right)
        return left < right ? -1 : 1;
    return strcmp(a, b);
}

static int
compare_keys(const csc_tree_node *a, const csc_tree_node *b)
{
    return compare_names(key_of(a)->name, key_of(b)->name);
}

static int
compare_name(const void *name, const csc_tree_node *node)
{
    return compare_names(name, key_of(node)->name);
}

csc_context_key *
csc_context_find(const csc_tree *keys, const char *name)
{
    csc_tree_node *node = csc_tree_from(keys, name, compare_name);
    csc_context_key *key = NULL;

    if (node == NULL)
        return NULL;
    key = CSC_TREE_ITEM(node, csc_context_key, by_name);
    return strcmp(key->name, name) == 0 ? key : NULL;
}

void
csc_context_put(csc_tree *keys, csc_context_key *key)
{
    csc_tree_put(keys, &key->by_name, compare_keys, NULL);
}

cascade_err
csc_context_add(csc_context_key *key, const csc_context_value *value)
{
    void *values = key->values;
    csc_context_value *added = NULL;

    if (csc_mem_grow(&values, &key->room, key->count + 1, sizeof(*added)) != 0)
        return csc_fail_memory();
    key->values = values;
    added = &key->values[key->count];
    *added = *value;
    added->when.number = (uint32_t)key->count;
    key->unsorted =
        key->unsorted ||
        (key->count > 0 && csc_moment_order(&added[-1].when, &added->when) > 0);
    key->count++;
    return CASCADE_OK;
}

static int
order_values(const void *a, const void *b)
{
    const csc_context_value *x = a;
    const csc_context_value *y = b;

    return csc_moment_order(&x->when, &y->when);
}

void
csc_context_sort(csc_tree *keys)
{
    for (size_t i = 0; i < csc_tree_count(keys); i++) {
        csc_context_key *key =
            CSC_TREE_ITEM(csc_tree_at(keys, i), csc_context_key, by_name);

        if (key->unsorted)
            qsort(key->values, key->count, sizeof(*key->values), order_values);
        key->unsorted = false;
    }
}

/* ---- Slots -------------------------------------------------------------- */

typedef struct slots {
    const char **values;
    size_t count;
    size_t room;
    size_t empty;
} slots;

/* The one element of arrays in one another, as a text of theirs is its. False
 * where one of them has none or several. */
static bool
open_arrays(csc_json_span *span)
{
    while (span->data[0] == '[') {
        csc_json_iter iter;

        csc_json_read_iter_init(&iter, span->data, span->len);
        if (!csc_json_read_next(&iter))
            return false;
        *span = iter.value;
        if (csc_json_read_next(&iter))
            return false;
    }
    return true;
}

/* JavaScript's numbers are doubles. */
static bool
read_number(double number, uint64_t *slot)
{
    if (!(number >= 0 && number <= (double)SLOT_MAX))
        return false;
    *slot = (uint64_t)number;
    return (double)*slot == number;
}

static bool
read_text(csc_json_span span, uint64_t *slot)
{
    const csc_json_span digits = {span.data + 1, span.len - 2};
    int64_t number = 0;

    if (digits.len == 0 || (digits.len > 1 && digits.data[0] == '0') ||
        digits.data[0] == '-' || !csc_json_read_i64(digits, &number) ||
        number > SLOT_MAX)
        return false;
    *slot = (uint64_t)number;
    return true;
}

/* False for a property that is no slot. */
static bool
read_slot(csc_json_span index, uint64_t *slot)
{
    double number = 0;

    if (!open_arrays(&index))
        return false;
    if (index.data[0] == '"')
        return read_text(index, slot);
    return csc_json_read_double(index, &number) && read_number(number, slot);
}

static cascade_err
grow(slots *list, size_t count)
{
    void *values = list->values;

    if (csc_mem_grow(&values, &list->room, count, sizeof(*list->values)) != 0)
        return csc_fail_memory();
    list->values = values;
    list->empty += count - list->count;
    while (list->count < count)
        list->values[list->count++] = NULL;
    return CASCADE_OK;
}

/* Room for it; `left`: of slots that may be empty besides. What is empty now
 * may be filled by values that are still to come, `more` of them. */
static cascade_err
reach(slots *list, const csc_context_key *key, uint64_t slot, size_t left,
      size_t more)
{
    if (slot < list->count)
        return CASCADE_OK;
    if (slot - list->count + list->empty > left + more)
        return csc_fail(CASCADE_ERR_TOO_LARGE,
                        "the Cascaide form of the context: with slot %llu of "
                        "key \"%s\" more than %d slots would be empty; read "
                        "the key's values by cascade_snapshot_context()",
                        (unsigned long long)slot, key->name, CASCADE_SLOTS_MAX);
    return grow(list, (size_t)slot + 1);
}

static cascade_err
put_value(slots *list, const csc_context_key *key, size_t nth, size_t left)
{
    const char *value = key->values[nth].text;
    uint64_t slot = list->count;
    csc_json_span index;
    cascade_err err = CASCADE_OK;

    if (value[0] == '{' && csc_json_read_member(value, "index", &index) &&
        !read_slot(index, &slot))
        return CASCADE_OK;
    err = reach(list, key, slot, left, key->count - nth - 1);
    if (err != CASCADE_OK)
        return err;
    list->empty -= list->values[slot] == NULL;
    list->values[slot] = value;
    return CASCADE_OK;
}

/* `*left` becomes less by what is empty in the end. */
static cascade_err
fill_slots(slots *list, const csc_context_key *key, size_t *left)
{
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < key->count && err == CASCADE_OK; i++)
        err = put_value(list, key, i, *left);
    if (err == CASCADE_OK && list->empty > *left)
        err = csc_fail(CASCADE_ERR_TOO_LARGE,
                       "the Cascaide form of the context: with key \"%s\" more "
                       "than %d slots are empty; read the key's values by "
                       "cascade_snapshot_context()",
                       key->name, CASCADE_SLOTS_MAX);
    else
        *left -= list->empty;
    return err;
}

/* ---- Texts -------------------------------------------------------------- */

static void
add_value(csc_buf *out, const char *value, size_t nth)
{
    if (nth > 0)
        csc_buf_add_char(out, ',');
    csc_buf_add_text(out, value != NULL ? value : "null");
}

static void
add_all(csc_buf *out, const csc_context_key *key)
{
    csc_buf_add_char(out, '[');
    for (size_t i = 0; i < key->count; i++)
        add_value(out, key->values[i].text, i);
    csc_buf_add_char(out, ']');
}

static void
add_slots(csc_buf *out, const slots *list)
{
    csc_buf_add_char(out, '[');
    for (size_t i = 0; i < list->count; i++)
        add_value(out, list->values[i], i);
    csc_buf_add_char(out, ']');
}

static void
add_name(csc_buf *out, const csc_context_key *key, bool first)
{
    if (!first)
        csc_buf_add_char(out, ',');
    csc_json_add_string(out, key->name);
    csc_buf_add_char(out, ':');
}

static cascade_err
finish(csc_buf *out, char **text)
{
    csc_buf_add_char(out, '}');
    *text = csc_buf_take(out);
    csc_buf_fini(out);
    return *text != NULL ? CASCADE_OK : csc_fail_memory();
}

cascade_err
csc_context_text(const csc_tree *keys, char **text)
{
    csc_buf out = {0};

    csc_buf_add_char(&out, '{');
    for (size_t i = 0; i < csc_tree_count(keys); i++) {
        const csc_context_key *key = key_of(csc_tree_at(keys, i));

        add_name(&out, key, i == 0);
        add_all(&out, key);
    }
    return finish(&out, text);
}

cascade_err
csc_context_text_cascaide(const csc_tree *keys, char **text)
{
    size_t left = CASCADE_SLOTS_MAX;
    csc_buf out = {0};
    cascade_err err = CASCADE_OK;

    csc_buf_add_char(&out, '{');
    for (size_t i = 0; i < csc_tree_count(keys) && err == CASCADE_OK; i++) {
        const csc_context_key *key = key_of(csc_tree_at(keys, i));
        slots list = {0};

        err = fill_slots(&list, key, &left);
        add_name(&out, key, i == 0);
        add_slots(&out, &list);
        csc_mem_free(list.values);
    }
    if (err == CASCADE_OK)
        return finish(&out, text);
    csc_buf_fini(&out);
    return err;
}
