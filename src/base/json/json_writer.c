/* SPDX-License-Identifier: MIT
 *
 * Writes canonical text from a stream of open, key, value, close. Both gates
 * stand in front of it, so there is one place that knows the order of members,
 * the limits and what happens to the output after an error.
 *
 * Members are written as they come. Each is noted with the place of its key;
 * as long as every key is greater than the one before, nothing else is done:
 * that is the common case, text that was canonical already. When an object
 * closes whose members came out of order, the notes are sorted and the bytes
 * between its braces are put together anew from the sorted pieces:
 *
 *     {"bb":1,"a":{...}}     notes: "bb" "a" -> "a" "bb"
 *      ^~~~~~ ^~~~~~~~~      copied aside, and back in order
 *
 * An object inside another is finished before, so its bytes are moved at most
 * once for each level above: depth times length at worst. Sorting is a heap
 * sort: n log n whatever the input, in place, and no recursion.
 */
#include "base/json/json_internal.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"

cascade_err
csc_json_writer_init(csc_json_writer *writer, const char *what, size_t max,
                     csc_buf *out)
{
    writer->what = what;
    writer->position = NULL;
    writer->out = out;
    writer->start = out->len;
    writer->max = max < CSC_JSON_SIZE_MAX ? max : CSC_JSON_SIZE_MAX;
    writer->depth = 0;
    writer->depth_max = CSC_JSON_DEPTH_MAX;
    writer->members = writer->local;
    writer->member_count = 0;
    writer->member_room = CSC_JSON_LOCAL_MEMBERS;
    writer->scratch = NULL;
    writer->scratch_room = 0;
    return out->failed ? csc_fail_memory() : CASCADE_OK;
}

cascade_err
csc_json_writer_fini(csc_json_writer *writer, cascade_err err)
{
    csc_buf *out = writer->out;

    if (writer->members != writer->local)
        csc_mem_free(writer->members);
    csc_mem_free(writer->scratch);
    if (err == CASCADE_OK && out->failed)
        err = csc_fail_memory();
    if (err != CASCADE_OK) {
        out->failed = false;
        out->len = writer->start;
        if (out->data != NULL)
            out->data[out->len] = '\0';
    }
    return err;
}

cascade_err
csc_json_writer_refuse(const csc_json_writer *writer, const char *why)
{
    if (writer->position == NULL)
        return csc_fail(CASCADE_ERR_JSON, "%s: not acceptable JSON: %s",
                        writer->what, why);
    return csc_fail(CASCADE_ERR_JSON, "%s: not acceptable JSON at byte %zu: %s",
                    writer->what, *writer->position, why);
}

cascade_err
csc_json_writer_too_large(const csc_json_writer *writer)
{
    return csc_fail(CASCADE_ERR_TOO_LARGE,
                    "%s: larger than %zu bytes, the limit of one payload; "
                    "store it elsewhere and pass a reference, or raise "
                    "payload_max",
                    writer->what, writer->max);
}

cascade_err
csc_json_writer_check_size(const csc_json_writer *writer)
{
    if (writer->out->len - writer->start > writer->max)
        return csc_json_writer_too_large(writer);
    return CASCADE_OK;
}

/* Offsets from the start of the text; small because check_size() is called
 * after every token. */
static uint32_t
here(const csc_json_writer *writer)
{
    return (uint32_t)(writer->out->len - writer->start);
}

static char *
text_at(const csc_json_writer *writer, uint32_t offset)
{
    return writer->out->data + writer->start + offset;
}

cascade_err
csc_json_writer_open(csc_json_writer *writer, bool object)
{
    if (writer->depth == writer->depth_max)
        return csc_json_writer_refuse(
            writer, "nested more than 128 deep (or a cycle); flatten it");
    writer->frames[writer->depth++] = (csc_json_frame){
        .at = here(writer),
        .first_member = (uint32_t)writer->member_count,
        .object = object,
        .sorted = true,
    };
    csc_buf_add_char(writer->out, object ? '{' : '[');
    return CASCADE_OK;
}

void
csc_json_writer_element(csc_json_writer *writer)
{
    csc_json_frame *frame = &writer->frames[writer->depth - 1];

    if (frame->count++ > 0)
        csc_buf_add_char(writer->out, ',');
}

/* ---- Keys --------------------------------------------------------------- */

/* One more note; the first time the local ones are full, all move to the heap.
 */
static cascade_err
grow_members(csc_json_writer *writer)
{
    size_t size = sizeof(writer->members[0]);
    bool local = writer->members == writer->local;
    void *items = local ? NULL : writer->members;
    size_t room = local ? 0 : writer->member_room;

    if (writer->member_count < writer->member_room)
        return CASCADE_OK;
    if (csc_mem_grow(&items, &room, writer->member_count * 2, size) != 0)
        return csc_fail_memory();
    if (local)
        memcpy(items, writer->local, sizeof(writer->local));
    writer->members = items;
    writer->member_room = room;
    return CASCADE_OK;
}

/* Both keys are as long unescaped. */
static int
compare_escaped(csc_json_span a, csc_json_span b)
{
    const char *at_a = a.data;
    const char *at_b = b.data;

    while (at_a < a.data + a.len && at_b < b.data + b.len) {
        unsigned char from_a =
            (unsigned char)csc_json_utf8_take(&at_a, a.data + a.len);
        unsigned char from_b =
            (unsigned char)csc_json_utf8_take(&at_b, b.data + b.len);

        if (from_a != from_b)
            return from_a < from_b ? -1 : 1;
    }
    return 0;
}

/* jsonb's order: by length, then by bytes, of the unescaped keys. */
static int
compare(const csc_json_writer *writer, const csc_json_member_at *a,
        const csc_json_member_at *b)
{
    const char *key_a = text_at(writer, a->at) + 1;
    const char *key_b = text_at(writer, b->at) + 1;

    if (a->key_len != b->key_len)
        return a->key_len < b->key_len ? -1 : 1;
    if (a->key_size == a->key_len && b->key_size == b->key_len)
        return memcmp(key_a, key_b, a->key_len);
    return compare_escaped((csc_json_span){key_a, a->key_size},
                           (csc_json_span){key_b, b->key_size});
}

static cascade_err
refuse_duplicate(const csc_json_writer *writer)
{
    return csc_json_writer_refuse(
        writer, "the object has a key twice; give each key once");
}

cascade_err
csc_json_writer_key_begin(csc_json_writer *writer)
{
    cascade_err err = grow_members(writer);

    if (err != CASCADE_OK)
        return err;
    csc_json_writer_element(writer);
    writer->members[writer->member_count] = (csc_json_member_at){
        .at = here(writer),
    };
    return CASCADE_OK;
}

cascade_err
csc_json_writer_key_end(csc_json_writer *writer, size_t key_len)
{
    csc_json_frame *frame = &writer->frames[writer->depth - 1];
    csc_json_member_at *member = &writer->members[writer->member_count];
    int order = -1;

    if (writer->out->failed)
        return csc_fail_memory(); /* there are no bytes to compare */
    member->key_size = here(writer) - member->at - 2;
    member->key_len = (uint32_t)key_len;
    if (frame->count > 1 && frame->sorted)
        order = compare(writer, member - 1, member);
    if (order == 0)
        return refuse_duplicate(writer);
    if (order > 0)
        frame->sorted = false;
    writer->member_count++;
    csc_buf_add_char(writer->out, ':');
    return csc_json_writer_check_size(writer);
}

/* ---- Sorting an object -------------------------------------------------- */

/* Lets the note at `root` sink to its place in a heap with the greatest on top.
 */
static void
sift_down(const csc_json_writer *writer, csc_json_member_at *heap, size_t root,
          size_t count)
{
    csc_json_member_at moved = heap[root];

    for (size_t child = root * 2 + 1; child < count; child = root * 2 + 1) {
        if (child + 1 < count &&
            compare(writer, &heap[child], &heap[child + 1]) < 0)
            child++;
        if (compare(writer, &moved, &heap[child]) >= 0)
            break;
        heap[root] = heap[child];
        root = child;
    }
    heap[root] = moved;
}

static void
sort(const csc_json_writer *writer, csc_json_member_at *members, size_t count)
{
    for (size_t i = count / 2; i > 0; i--)
        sift_down(writer, members, i - 1, count);
    for (size_t i = count - 1; i > 0; i--) {
        csc_json_member_at greatest = members[0];

        members[0] = members[i];
        members[i] = greatest;
        sift_down(writer, members, 0, i);
    }
}

/* Each member ends where the comma in front of the next stands. */
static void
note_ends(csc_json_member_at *members, size_t count, uint32_t end)
{
    for (size_t i = 0; i + 1 < count; i++)
        members[i].end = members[i + 1].at - 1;
    members[count - 1].end = end;
}

/* Copies the members aside in their new order, and back over the old. */
static cascade_err
rearrange(csc_json_writer *writer, const csc_json_member_at *members,
          size_t count, uint32_t from, uint32_t to)
{
    void *scratch = writer->scratch;
    size_t len = 0;

    if (csc_mem_grow(&scratch, &writer->scratch_room, to - from, 1) != 0)
        return csc_fail_memory();
    writer->scratch = scratch;
    for (size_t i = 0; i < count; i++) {
        size_t size = members[i].end - members[i].at;

        if (i > 0)
            writer->scratch[len++] = ',';
        memcpy(writer->scratch + len, text_at(writer, members[i].at), size);
        len += size;
    }
    csc_assert(len == to - from);
    memcpy(text_at(writer, from), writer->scratch, len);
    return CASCADE_OK;
}

static cascade_err
sort_object(csc_json_writer *writer, const csc_json_frame *frame)
{
    csc_json_member_at *members = writer->members + frame->first_member;
    size_t count = writer->member_count - frame->first_member;
    uint32_t end = here(writer);

    if (writer->out->failed)
        return csc_fail_memory();
    note_ends(members, count, end);
    sort(writer, members, count);
    for (size_t i = 1; i < count; i++) {
        if (compare(writer, &members[i - 1], &members[i]) == 0)
            return refuse_duplicate(writer);
    }
    return rearrange(writer, members, count, frame->at + 1, end);
}

cascade_err
csc_json_writer_close(csc_json_writer *writer)
{
    csc_json_frame *frame = &writer->frames[writer->depth - 1];
    cascade_err err = CASCADE_OK;

    if (!frame->sorted)
        err = sort_object(writer, frame);
    if (err != CASCADE_OK)
        return err;
    csc_buf_add_char(writer->out, frame->object ? '}' : ']');
    writer->member_count = frame->first_member;
    writer->depth--;
    return csc_json_writer_check_size(writer);
}
