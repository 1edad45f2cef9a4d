/* SPDX-License-Identifier: MIT
 *
 * An object of known members, as canonical text: begun, given its members in
 * the canonical order (by length, then bytes) and ended. What is written needs
 * no gate. Out of memory the buffer has failed.
 */
#ifndef CSC_BASE_JSON_JSON_OBJECT_H
#define CSC_BASE_JSON_JSON_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/json.h"
#include "cascade/cascade.h"

typedef struct csc_buf csc_buf;

typedef struct csc_json_object {
    csc_buf *out;
    bool any;
} csc_json_object;

/* A list; nothing when it is empty. */
void csc_json_add_ids(csc_buf *out, const int32_t *ids, size_t count);

void csc_json_object_begin(csc_json_object *object, csc_buf *out);
void csc_json_object_add_number(csc_json_object *object, const char *name,
                                int64_t number);
void csc_json_object_add_ids(csc_json_object *object, const char *name,
                             const int32_t *ids, size_t count);
/* A text that needs no escapes. */
void csc_json_object_add_text(csc_json_object *object, const char *name,
                              const char *text);
/* Any text, with the escapes that it needs; nothing when it is NULL. */
void csc_json_object_add_string(csc_json_object *object, const char *name,
                                const char *text);
/* Nothing when `json` is NULL. */
void csc_json_object_add_json(csc_json_object *object, const char *name,
                              const char *json);
/* Nothing when the span is none. */
void csc_json_object_add_span(csc_json_object *object, const char *name,
                              csc_json_span span);
void csc_json_object_add_id(csc_json_object *object, const char *name,
                            const cascade_uuid *id);
/* One of another object, as it stands there. */
void csc_json_object_add_member(csc_json_object *object, csc_json_span key,
                                csc_json_span value);
void csc_json_object_end(csc_json_object *object);

#endif
