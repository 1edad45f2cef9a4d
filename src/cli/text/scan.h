/* SPDX-License-Identifier: MIT
 *
 * JSON texts cut into their parts, without reading any number: cJSON holds them
 * as doubles, and what is shown or handed on must be what is stored.
 */
#ifndef CLI_SCAN_H
#define CLI_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* The length of the value at `text`; 0 where there is none, or its end is
 * missing. It is not checked otherwise. */
size_t scan_value(const char *text);

/* How many blanks are at `text`. */
size_t scan_blanks(const char *text);

struct scan_part {
    const char *name; /* of a member of an object, without quotes; else NULL */
    size_t name_len;
    const char *value;
    size_t value_len;
};

/* The next part of an object or array of the store, which has no blanks.
 * `*text` begins at the object, and is moved on. False behind the last. */
bool scan_next(const char **text, struct scan_part *part);

/* How many parts an object or array of the store has. */
size_t scan_count(const char *text);

#endif
