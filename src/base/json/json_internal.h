/* SPDX-License-Identifier: MIT
 *
 * What the files of the JSON gate share.
 *
 *   json.c         the text gate: a reader in front of the writer
 *   json_plain.c   its short cut, for text that is canonical but for blanks
 *   json_tree.c    the tree gate, a walk in front of the same writer; and
 *                  canonical text back into a tree
 *   json_given.c   either of the two, as a call was given it
 *   json_int64.c   integers that a double does not hold, for trees
 *   json_writer.c  writes canonical text: commas, order of members, limits
 *   json_number.c  numbers as PostgreSQL's numeric prints them
 *   json_utf8.c    UTF-8 and string escapes
 *   json_read.c    reading canonical text in place
 */
#ifndef CSC_BASE_JSON_JSON_INTERNAL_H
#define CSC_BASE_JSON_JSON_INTERNAL_H

#include "base/json/json.h"
#include "cascade/cascade.h"

typedef struct csc_buf csc_buf;

/* Payloads and their offsets fit 32 bits with room to spare. */
#define CSC_JSON_SIZE_MAX ((size_t)1 << 30)

/* ---- json.c ------------------------------------------------------------- */

/* csc_json_canon() and csc_json_canon_stored() but for the short cut. */
cascade_err csc_json_canon_slowly(const char *what, const char *text,
                                  size_t len, size_t max, size_t depth_max,
                                  csc_buf *out);

/* ---- json_plain.c ------------------------------------------------------- */

/* Appends the canonical form of `text` to `out`, which has room for `len` bytes
 * more, when the two differ by blanks only. False, and `out` is as before, when
 * they do not or it is not sure. */
bool csc_json_plain(const char *text, size_t len, csc_buf *out);

/* ---- json_writer.c ------------------------------------------------------ */

/* A member of an object that is being written, by offsets from the start of the
 * text. The key is canonical: without its quotes, still escaped. */
typedef struct csc_json_member_at {
    uint32_t at;       /* of the opening quote */
    uint32_t end;      /* behind the value; set when the members are sorted */
    uint32_t key_size; /* as written */
    uint32_t key_len;  /* unescaped: what jsonb sorts by */
} csc_json_member_at;

/* An open array or object. */
typedef struct csc_json_frame {
    uint32_t at;           /* of the bracket */
    uint32_t first_member; /* where its members begin */
    uint32_t count;        /* elements or members so far */
    bool object;
    bool sorted; /* the members came in order so far */
} csc_json_frame;

#define CSC_JSON_LOCAL_MEMBERS 64

/* The members of all open objects lie on one stack, which moves to the heap
 * when a text has very many: small texts need no allocation but the output. */
typedef struct csc_json_writer {
    const char *what;
    const size_t *position; /* of the reader, for error texts; NULL: none */
    csc_buf *out;
    size_t start; /* of our text in `out` */
    size_t max;
    size_t depth;
    size_t depth_max; /* CSC_JSON_DEPTH_MAX unless changed after init */
    csc_json_frame frames[CSC_JSON_DOCUMENT_MAX];
    csc_json_member_at *members;
    size_t member_count;
    size_t member_room;
    csc_json_member_at local[CSC_JSON_LOCAL_MEMBERS];
    char *scratch; /* an object while its members change places */
    size_t scratch_room;
} csc_json_writer;

/* CASCADE_ERR_NO_MEMORY when `out` has failed before. */
cascade_err csc_json_writer_init(csc_json_writer *writer, const char *what,
                                 size_t max, csc_buf *out);
/* Frees what the writer owns. After an error, also one of memory that only the
 * buffer noticed, `out` is as it was at init. Returns the error. */
cascade_err csc_json_writer_fini(csc_json_writer *writer, cascade_err err);

cascade_err csc_json_writer_open(csc_json_writer *writer, bool object);
/* Sorts the members when they came out of order and refuses duplicates. */
cascade_err csc_json_writer_close(csc_json_writer *writer);
/* Before an element of an array. */
void csc_json_writer_element(csc_json_writer *writer);
/* Before and behind the string of a key; `key_len` is its unescaped length. */
cascade_err csc_json_writer_key_begin(csc_json_writer *writer);
cascade_err csc_json_writer_key_end(csc_json_writer *writer, size_t key_len);

/* CASCADE_ERR_TOO_LARGE when the text has grown beyond its limit. */
cascade_err csc_json_writer_check_size(const csc_json_writer *writer);
cascade_err csc_json_writer_too_large(const csc_json_writer *writer);
/* CASCADE_ERR_JSON: names the payload, the position and `why`. */
cascade_err csc_json_writer_refuse(const csc_json_writer *writer,
                                   const char *why);

/* ---- json_number.c ------------------------------------------------------ */

/* A number literal, taken apart. Both digit runs may be empty but the first. */
typedef struct csc_json_number {
    const char *integer;
    size_t integer_len;
    const char *fraction;
    size_t fraction_len;
    int64_t exponent; /* saturated beyond what is accepted */
    bool negative;
    bool has_exponent;
} csc_json_number;

/* Reads the literal at the start of `text` and returns its length; 0 when there
 * is none by the grammar of RFC 8259. */
size_t csc_json_number_read(const char *text, size_t len,
                            csc_json_number *number);

/* Appends it written out. False, and nothing is added, when that takes more
 * than CSC_JSON_DIGITS_MAX digits, or when numeric takes no such exponent. */
bool csc_json_number_add(csc_buf *out, const csc_json_number *number);

/* Appends a finite double in the shortest form that reads back the same. */
bool csc_json_number_add_double(csc_buf *out, double number);

/* The double nearest to a canonical number; infinite when out of range. */
double csc_json_number_to_double(const char *text, size_t len);

/* ---- json_tree.c -------------------------------------------------------- */

/* The digits of a number item, where they are known and still its own: they
 * point into item->valuestring. */
bool csc_json_tree_digits(const cJSON *item, csc_json_number *digits);

/* ---- json_utf8.c -------------------------------------------------------- */

/* The length of the UTF-8 sequence at `at`, of `room` > 0 bytes; 0 when it is
 * not valid. U+0000 is valid here. */
size_t csc_json_utf8_len(const char *at, size_t room);

/* Appends a code point, escaped where canonical strings escape; returns how
 * many bytes it has unescaped. */
size_t csc_json_utf8_add(csc_buf *out, uint32_t code);

/* The byte at *at < end of a canonical string, unescaped; moves *at behind it,
 * to `end` at most. */
char csc_json_utf8_take(const char **at, const char *end);

/* Unescapes `text` of a canonical string without its quotes into `to`, which
 * has room for text.len + 1 bytes; returns the length. */
size_t csc_json_utf8_unescape(csc_json_span text, char *to);

/* Appends `len` bytes of valid UTF-8 as a canonical string with its quotes. */
void csc_json_utf8_add_string(csc_buf *out, const char *text, size_t len);

/* ---- json_read.c -------------------------------------------------------- */

/* Takes the string at *at, without its quotes and not unescaped, and moves *at
 * behind it. False when there is none that ends before `end`. */
bool csc_json_read_string(const char **at, const char *end,
                          csc_json_span *text);

#endif
