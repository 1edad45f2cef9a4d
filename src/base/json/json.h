/* SPDX-License-Identifier: MIT
 *
 * The JSON gate. What users hand in and what is read back from a store passes
 * through here once; behind it there is only canonical text: the form that
 * PostgreSQL's jsonb gives back, without blanks.
 *
 *   text  --csc_json_canon()------> canonical text
 *   cJSON --csc_json_tree_canon()-> canonical text
 *
 * A call that takes either has it as csc_json_given, and asks no further.
 *
 * Canonical: object members by length of key, then bytes; no duplicate keys;
 * numbers written out as numeric does (1e2 -> 100, 1.50 -> 1.50, -0 -> 0,
 * 1E-2 -> 0.01), at most CSC_JSON_DIGITS_MAX digits; strings with the escapes
 * \" \\ \b \f \n \r \t and \u00xx for the other control characters only.
 *
 * Both ways are iterative: no input can exhaust the stack.
 */
#ifndef CSC_BASE_JSON_JSON_H
#define CSC_BASE_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

typedef struct csc_arena csc_arena;
typedef struct csc_buf csc_buf;

#define CSC_JSON_DEPTH_MAX 128
/* What the library wraps around a payload: full_output, a history. */
#define CSC_JSON_NESTED_MAX (CSC_JSON_DEPTH_MAX + 4)
/* And a document of rows around that: itself, a list, a row. */
#define CSC_JSON_DOCUMENT_MAX (CSC_JSON_NESTED_MAX + 3)
#define CSC_JSON_DIGITS_MAX 400

/* Appends the canonical form of `text` (`len` bytes) to `out`. The error names
 * what is wrong and at which byte, never the payload. `what` names the payload
 * in the error text ("input", "value of key"). CASCADE_ERR_JSON,
 * CASCADE_ERR_TOO_LARGE (over `max` bytes before or after), _NO_MEMORY. On an
 * error `out` is as before. */
cascade_err csc_json_canon(const char *what, const char *text, size_t len,
                           size_t max, csc_buf *out);

/* The same for what a store gives back: no limit of size but that of a text
 * here (1 GiB), and CSC_JSON_NESTED_MAX deep, since payloads at the limit lie
 * in records of ours. */
cascade_err csc_json_canon_stored(const char *what, const char *text,
                                  size_t len, csc_buf *out);

/* Why the last one refused it, behind `what`; the thread's until its next
 * error. */
const char *csc_json_why(const char *what);

/* The same for a document of rows: up to `max` bytes, CSC_JSON_DOCUMENT_MAX
 * deep. */
cascade_err csc_json_canon_document(const char *what, const char *text,
                                    size_t len, size_t max, csc_buf *out);

/* The same for a tree a user built: numbers by their digits where the item has
 * them and its double is still the nearest to them, else in the shortest form
 * that reads back as the same double; NaN, infinities, raw and invalid items,
 * cycles (depth) and NULL names are refused. */
cascade_err csc_json_tree_canon(const char *what, const cJSON *tree, size_t max,
                                csc_buf *out);

/* Canonical text into a tree. Numbers that a double would not give back digit
 * by digit have their digits as valuestring, so that csc_json_tree_canon()
 * gives the text again. NULL when out of memory. */
cJSON *csc_json_tree_parse(const char *canonical);

/* A number with its digits, which are canonical; NULL when out of memory. */
cJSON *csc_json_tree_number(const char *digits);

/* ---- What a caller hands in ---------------------------------------------- */

/* A tree, or a text; or none, where there is neither. By the text form of a
 * call a text has to be there. Borrowed. */
typedef struct csc_json_given {
    const cJSON *tree;
    const char *text;
    bool by_text;
} csc_json_given;

csc_json_given csc_json_given_tree(const cJSON *tree);
csc_json_given csc_json_given_text(const char *text);
bool csc_json_given_is_none(csc_json_given given);

/* As two members of a struct, at most one of which is given; else
 * CASCADE_ERR_INVALID names `what`. */
cascade_err csc_json_given_either(const char *what, const cJSON *tree,
                                  const char *text, csc_json_given *given);

/* CASCADE_ERR_INVALID for a text that has to be there and is not. */
cascade_err csc_json_given_check(const char *what, csc_json_given given);

/* Appends its canonical form to `out`, {} for none: the one way in. Errors as
 * of csc_json_given_check(), csc_json_canon(), csc_json_tree_canon(). */
cascade_err csc_json_given_canon(const char *what, csc_json_given given,
                                 size_t max, csc_buf *out);

/* The same into `arena`; `*len` (may be NULL) is its length, 0 for none. */
cascade_err csc_json_given_keep(const char *what, csc_json_given given,
                                size_t max, csc_arena *arena, const char **copy,
                                size_t *len);

/* Appends `text` as a canonical JSON string, with its quotes. `text` is valid
 * UTF-8 (csc_json_utf8_is) or comes from canonical JSON. */
void csc_json_add_string(csc_buf *out, const char *text);

/* Valid UTF-8 without NUL: no overlong forms, no surrogates, <= U+10FFFF. */
bool csc_json_utf8_is(const char *bytes, size_t len);

/* Appends `bytes` as valid UTF-8: what is none, and NUL, becomes U+FFFD, byte
 * by byte. Stops before the text would have more than `max` bytes as a
 * canonical string, its quotes apart: false. */
bool csc_json_utf8_clean(csc_buf *out, const char *bytes, size_t len,
                         size_t max);

/* Reading canonical text without a tree. A span is a piece of the text. */
typedef struct csc_json_span {
    const char *data;
    size_t len;
} csc_json_span;

/* The whole of a text; none of NULL. */
csc_json_span csc_json_read_whole(const char *text);

/* Walks the members of a canonical object (the elements of an array, with an
 * empty key):
 *     csc_json_iter iter;
 *     csc_json_read_iter_init(&iter, text, strlen(text));
 *     while (csc_json_read_next(&iter)) use(iter.key, iter.value);
 * iter.key is without quotes and not unescaped. A text that is neither object
 * nor array has no members. */
typedef struct csc_json_iter {
    const char *at;
    const char *end;
    csc_json_span key;
    csc_json_span value;
    bool object;
} csc_json_iter;

void csc_json_read_iter_init(csc_json_iter *iter, const char *text, size_t len);
bool csc_json_read_next(csc_json_iter *iter);

/* The value of member `key` of a canonical object. False without it. */
bool csc_json_read_member(const char *text, const char *key,
                          csc_json_span *value);

/* False when the span is not an integer that int64_t holds. */
bool csc_json_read_i64(csc_json_span span, int64_t *number);
/* The nearest double. False when the span is no number. */
bool csc_json_read_double(csc_json_span span, double *number);
/* False when it is no string. *text is an unescaped copy, to be freed with
 * csc_mem_free(); NULL when out of memory. */
bool csc_json_read_text(csc_json_span span, char **text);
bool csc_json_read_is(csc_json_span span, const char *literal);

#endif
