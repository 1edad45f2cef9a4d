/* SPDX-License-Identifier: MIT
 *
 * Errors of writing are kept by the stream and told once, at the end or at a
 * flush: a disk that is full, a reader that has gone.
 */
#include "text/out.h"

#include "text/moment.h"
#include "text/text.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool
wants_colour(void)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");

    return (no_color == NULL || *no_color == '\0') && term != NULL &&
           *term != '\0' && strcmp(term, "dumb") != 0;
}

void
out_init(struct out *out, FILE *stream, bool json)
{
    bool terminal = isatty(fileno(stream)) == 1;

    *out = (struct out){
        .stream = stream,
        .json = json,
        .terminal = terminal,
        .colour = terminal && !json && wants_colour(),
    };
}

void
out_plain(struct out *out, const char *text)
{
    fputs(text, out->stream);
}

void
out_format(struct out *out, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vfprintf(out->stream, format, arguments);
    va_end(arguments);
}

void
out_blanks(struct out *out, size_t count)
{
    for (size_t i = 0; i < count; i++)
        fputc(' ', out->stream);
}

void
out_text(struct out *out, const char *text)
{
    text_write(out->stream, text);
}

void
out_payload(struct out *out, const char *json)
{
    text_write_json(out->stream, json);
}

void
out_styled(struct out *out, enum style style, const char *text)
{
    static const char *const codes[] = {
        [STYLE_HEAD] = "1",  [STYLE_GOOD] = "32", [STYLE_BAD] = "31",
        [STYLE_BUSY] = "33", [STYLE_FAINT] = "2",
    };

    if (out->colour && style != STYLE_NONE)
        out_format(out, "\033[%sm%s\033[0m", codes[style], text);
    else
        out_plain(out, text);
}

bool
out_flush(struct out *out)
{
    if (fflush(out->stream) == 0 && ferror(out->stream) == 0)
        return true;
    fprintf(stderr, "cascade: standard output cannot be written: %s\n",
            strerror(errno));
    return false;
}

void
object_init(struct object *object)
{
    object->json = cJSON_CreateObject();
    object->failed = object->json == NULL;
}

void
object_free(struct object *object)
{
    cJSON_Delete(object->json);
    object->json = NULL;
}

/* Takes `member`, NULL where it could not be made. */
static void
add(struct object *object, const char *name, cJSON *member)
{
    if (object->failed || member == NULL ||
        !cJSON_AddItemToObject(object->json, name, member)) {
        cJSON_Delete(member);
        object->failed = true;
    }
}

void
object_text(struct object *object, const char *name, const char *text)
{
    add(object, name,
        text != NULL ? cJSON_CreateString(text) : cJSON_CreateNull());
}

void
object_number(struct object *object, const char *name, int64_t number)
{
    add(object, name, cJSON_CreateNumber((double)number));
}

void
object_place(struct object *object, const char *name, int64_t number)
{
    if (number >= 0)
        object_number(object, name, number);
    else
        object_text(object, name, NULL);
}

void
object_bool(struct object *object, const char *name, bool value)
{
    add(object, name, cJSON_CreateBool(value));
}

void
object_time(struct object *object, const char *name, int64_t at_ms)
{
    char text[MOMENT_SIZE];

    object_text(object, name,
                at_ms == CASCADE_TIME_NONE ? NULL : moment_exact(at_ms, text));
}

void
object_id(struct object *object, const char *name, const cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    object_text(object, name,
                id == NULL ? NULL : cascade_uuid_format(id, text));
}

void
object_payload(struct object *object, const char *name, const char *json)
{
    add(object, name,
        json != NULL ? cJSON_CreateRaw(json) : cJSON_CreateNull());
}

void
object_object(struct object *object, const char *name, struct object *member)
{
    if (member->failed)
        object->failed = true;
    add(object, name, member->json);
    member->json = NULL;
}

void
object_texts(struct object *object, const char *name, const char *const *texts,
             size_t count)
{
    cJSON *list = cJSON_CreateArray();

    for (size_t i = 0; i < count && list != NULL; i++) {
        cJSON *text = cJSON_CreateString(texts[i]);
        if (text == NULL || !cJSON_AddItemToArray(list, text)) {
            cJSON_Delete(text);
            object->failed = true;
        }
    }
    add(object, name, list);
}

void
list_init(struct object *list)
{
    list->json = cJSON_CreateArray();
    list->failed = list->json == NULL;
}

void
list_add(struct object *list, struct object *element)
{
    if (list->failed || element->failed ||
        !cJSON_AddItemToArray(list->json, element->json)) {
        object_free(element);
        list->failed = true;
    }
    element->json = NULL;
}

void
out_json(struct out *out, const char *json)
{
    text_write_json(out->stream, json);
    fputc('\n', out->stream);
}

cascade_err
out_object(struct out *out, struct object *object)
{
    char *line = object->failed ? NULL : cJSON_PrintUnformatted(object->json);

    object_free(object);
    if (line == NULL)
        return CASCADE_ERR_NO_MEMORY;
    out_json(out, line);
    cJSON_free(line);
    return CASCADE_OK;
}
