/* SPDX-License-Identifier: MIT
 *
 * Standard output: for people, with colour where a terminal wants it, or for
 * programs, one JSON object a line.
 */
#ifndef CLI_OUT_H
#define CLI_OUT_H

#include <cascade/manage.h>
#include <stdio.h>

enum style {
    STYLE_NONE = 0,
    STYLE_HEAD,
    STYLE_GOOD,
    STYLE_BAD,
    STYLE_BUSY,
    STYLE_FAINT
};

struct out {
    FILE *stream;
    bool json;
    bool terminal;
    bool colour;
};

/* Colour: only on a terminal that is not dumb, and without NO_COLOR. */
void out_init(struct out *out, FILE *stream, bool json);

/* Written as they are: our own words, and what was escaped before. */
void out_plain(struct out *out, const char *text);
void out_format(struct out *out, const char *format, ...) CASCADE_PRINTF(2, 3);
void out_blanks(struct out *out, size_t count);

/* A text from the store, escaped. */
void out_text(struct out *out, const char *text);

/* A payload among the words for people: JSON, of which nothing harms. */
void out_payload(struct out *out, const char *json);

/* Plain text that looks like that. */
void out_styled(struct out *out, enum style style, const char *text);

/* Hands over what was written, for whoever reads along. False, with a line on
 * standard error, where it could not be written. */
bool out_flush(struct out *out);

/* ---- JSON --------------------------------------------------------------- */

/* An object in the making. Where memory is short it is `failed` from then on,
 * and out_object() says so. */
struct object {
    cJSON *json;
    bool failed;
};

void object_init(struct object *object);
void object_free(struct object *object);

/* Members; NULL and CASCADE_TIME_NONE are null. */
void object_text(struct object *object, const char *name, const char *text);
void object_number(struct object *object, const char *name, int64_t number);
/* A number that counts from 0; below that null. */
void object_place(struct object *object, const char *name, int64_t number);
void object_bool(struct object *object, const char *name, bool value);
void object_time(struct object *object, const char *name, int64_t at_ms);
void object_id(struct object *object, const char *name, const cascade_uuid *id);
/* JSON as it stands in the store. */
void object_payload(struct object *object, const char *name, const char *json);
/* Takes `member`. */
void object_object(struct object *object, const char *name,
                   struct object *member);
void object_texts(struct object *object, const char *name,
                  const char *const *texts, size_t count);

/* A list, which becomes a member as an object does. list_add() takes
 * `element`. */
void list_init(struct object *list);
void list_add(struct object *list, struct object *element);

/* A line of JSON, of which nothing harms a terminal. */
void out_json(struct out *out, const char *json);

/* Prints the object as one line and frees it. CASCADE_ERR_NO_MEMORY. */
cascade_err out_object(struct out *out, struct object *object);

#endif
