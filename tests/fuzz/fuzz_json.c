/* SPDX-License-Identifier: MIT
 *
 * The JSON gate. For any bytes it says no, leaving the buffer as it was, or
 * gives canonical text, of which must hold:
 *
 *   canonical text is its own canonical form, and no byte longer than allowed
 *   cJSON reads the same from it as from the original
 *   a tree made of it comes through the other gate as the same text, unless it
 *   is nested too deep for that
 *   the walkers find canonical values in it, and each member by its key
 *   strings come back as they are
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"

#define MAX (1 << 16)
#define DIGITS_CJSON 40 /* it cuts longer numbers */

/* Appends the canonical form of a value to an empty buffer. */
static cascade_err
canon(const char *text, size_t len, csc_buf *out)
{
    csc_buf_clear(out);
    return csc_json_canon_stored("x", text, len, out);
}

static int
is_same(const csc_buf *buf, const char *text, size_t len)
{
    return buf->len == len && memcmp(buf->data, text, len) == 0;
}

/* ---- With cJSON ---------------------------------------------------------- */

static int
has_long_number(const char *text)
{
    size_t run = 0;

    for (; *text != '\0'; text++) {
        run = strchr("0123456789.+-eE", *text) != NULL ? run + 1 : 0;
        if (run > DIGITS_CJSON)
            return 1;
    }
    return 0;
}

static cascade_err
canon_tree(const char *text, csc_buf *out)
{
    cJSON *tree = cJSON_Parse(text);
    cascade_err err = CASCADE_ERR_JSON;

    if (tree != NULL)
        err = csc_json_tree_canon("x", tree, MAX * 8, out);
    cJSON_Delete(tree);
    return err;
}

/* cJSON accepts more than we do, and reads numbers as doubles: what both read
 * must be the same. */
static void
check_cjson(const char *original, const char *canonical)
{
    csc_buf left = {0};
    csc_buf right = {0};
    cascade_err err;

    if (has_long_number(original) || has_long_number(canonical))
        return;
    err = canon_tree(canonical, &right);
    fuzz_check(err == CASCADE_OK || err == CASCADE_ERR_JSON);
    fuzz_check(canon_tree(original, &left) == err);
    if (err == CASCADE_OK)
        fuzz_check(is_same(&left, right.data, right.len));
    csc_buf_fini(&left);
    csc_buf_fini(&right);
}

static void
check_tree(const char *canonical)
{
    cJSON *tree = csc_json_tree_parse(canonical);
    csc_buf again = {0};
    cascade_err err = CASCADE_OK;

    fuzz_check(tree != NULL);
    err = csc_json_tree_canon("x", tree, (size_t)1 << 30, &again);
    fuzz_check(err == CASCADE_OK ? is_same(&again, canonical, strlen(canonical))
                                 : err == CASCADE_ERR_JSON);
    csc_buf_fini(&again);
    cJSON_Delete(tree);
}

/* ---- Walking ------------------------------------------------------------- */

static void
check_string(csc_json_span span)
{
    csc_buf again = {0};
    char *text = NULL;

    if (!csc_json_read_text(span, &text)) {
        fuzz_check(span.data[0] != '"');
        return;
    }
    fuzz_check(text != NULL && csc_json_utf8_is(text, strlen(text)));
    csc_json_add_string(&again, text);
    fuzz_check(is_same(&again, span.data, span.len));
    csc_buf_fini(&again);
    csc_mem_free(text);
}

static void
check_value(csc_json_span span, csc_buf *room)
{
    int64_t number = 0;

    fuzz_check(canon(span.data, span.len, room) == CASCADE_OK);
    fuzz_check(is_same(room, span.data, span.len));
    check_string(span);
    if (csc_json_read_i64(span, &number)) {
        csc_buf_clear(room);
        csc_buf_add_i64(room, number);
        fuzz_check(is_same(room, span.data, span.len));
    }
}

/* A key without escapes is found by its name. */
static void
check_member(const char *canonical, const csc_json_iter *iter)
{
    csc_json_span found = {NULL, 0};
    char *key = csc_mem_strndup(iter->key.data, iter->key.len);

    fuzz_check(key != NULL);
    if (strchr(key, '\\') == NULL) {
        fuzz_check(csc_json_read_member(canonical, key, &found));
        fuzz_check(found.data == iter->value.data &&
                   found.len == iter->value.len);
    }
    csc_mem_free(key);
}

/* One level: what lies deeper comes up as a value of its own elsewhere. */
static void
check_walk(const csc_buf *canonical)
{
    csc_buf room = {0};
    csc_json_span whole = {canonical->data, canonical->len};
    csc_json_iter iter;

    csc_json_read_iter_init(&iter, canonical->data, canonical->len);
    while (csc_json_read_next(&iter)) {
        fuzz_check(iter.value.data >= canonical->data);
        fuzz_check(iter.value.data + iter.value.len <=
                   canonical->data + canonical->len);
        check_value(iter.value, &room);
        if (canonical->data[0] == '{')
            check_member(canonical->data, &iter);
    }
    check_string(whole);
    csc_buf_fini(&room);
}

/* ---- The gate ------------------------------------------------------------ */

static void
check_canonical(const char *original, size_t len, const csc_buf *canonical)
{
    csc_buf again = {0};

    fuzz_check(canonical->data != NULL && canonical->len > 0);
    fuzz_check(strlen(canonical->data) == canonical->len);
    fuzz_check(csc_json_utf8_is(canonical->data, canonical->len));
    fuzz_check(canon(canonical->data, canonical->len, &again) == CASCADE_OK);
    fuzz_check(is_same(&again, canonical->data, canonical->len));
    csc_buf_fini(&again);
    check_tree(canonical->data);
    check_walk(canonical);
    if (strlen(original) == len)
        check_cjson(original, canonical->data);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    csc_buf out = {0};
    csc_buf stored = {0};
    size_t live = csc_mem_live();
    cascade_err err;

    csc_buf_add_text(&out, "before");
    err = csc_json_canon("x", text, len, MAX, &out);
    fuzz_check(memcmp(out.data, "before", 6) == 0);
    if (err == CASCADE_OK) {
        fuzz_check(len <= MAX && out.len - 6 <= MAX);
        fuzz_check(canon(text, len, &stored) == CASCADE_OK);
        fuzz_check(is_same(&stored, out.data + 6, out.len - 6));
        check_canonical(text, len, &stored);
    } else {
        fuzz_check(err == CASCADE_ERR_JSON || err == CASCADE_ERR_TOO_LARGE);
        fuzz_check(out.len == 6);
        if (canon(text, len, &stored) == CASCADE_OK)
            check_canonical(text, len, &stored);
    }
    csc_buf_fini(&out);
    csc_buf_fini(&stored);
    fuzz_check(csc_mem_live() <= live);
    free(text);
    return 0;
}
