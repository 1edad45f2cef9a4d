/* SPDX-License-Identifier: MIT
 *
 * A document as rows. The JSON gate makes it canonical first, so each payload
 * in it is; then each row is read member by member: none twice, none that is
 * not known. Texts may be as long as the document: other programs write longer
 * ones than this library, and what an index cannot keep is for its store to
 * refuse. What is wrong is told with its place, "executions[3].started_at", and
 * never with what was given.
 *
 * A reader keeps its first error, and does nothing more.
 */
#include "manage/document.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/status.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/build/build.h"
#include "state/full_output.h"
#include "store/columns.h"

#define MEMBERS_MAX CSC_COLUMNS_MAX
#define LISTS 6
#define ROW_LEN_MIN 48 /* no row is shorter: so bounds what they take here */
#define MESSAGES_MAX 10000
/* What stores can keep: the years 1 to 9999. */
#define TIME_MIN_MS INT64_C(-62135596800000)
#define TIME_MAX_MS INT64_C(253402300799999)

typedef struct reader {
    csc_document *document;
    const char *list; /* "" for the document itself */
    size_t index;     /* of the row in it */
    bool listed;      /* it is a list */
    const char *const *names;
    const char *columns[MEMBERS_MAX + 1]; /* of the row's table, as names */
    csc_json_span values[MEMBERS_MAX];    /* of the row; data is NULL without */
    cascade_err err;
} reader;

/* ---- Errors ------------------------------------------------------------- */

static void
refuse(reader *r, const char *member, const char *why)
{
    char place[32] = "";

    if (r->err != CASCADE_OK)
        return;
    if (r->listed)
        (void)snprintf(place, sizeof(place), "[%zu]", r->index);
    r->err = csc_fail(
        CASCADE_ERR_INVALID, "import: %s%s%s%s %s",
        r->list[0] == '\0' && member[0] == '\0' ? "the document" : r->list,
        place, r->list[0] != '\0' && member[0] != '\0' ? "." : "", member, why);
}

static void
note_memory(reader *r)
{
    if (r->err == CASCADE_OK && r->document->arena.failed)
        r->err = csc_fail_memory();
}

/* ---- Members ------------------------------------------------------------ */

/* The members of an object, which all have to be among `names`. */
static void
read_members(reader *r, csc_json_span object, const char *const *names)
{
    csc_json_iter iter;

    memset(r->values, 0, sizeof(r->values));
    r->names = names;
    if (object.len == 0 || object.data[0] != '{') {
        refuse(r, "", "is no object");
        return;
    }
    csc_json_read_iter_init(&iter, object.data, object.len);
    while (r->err == CASCADE_OK && csc_json_read_next(&iter)) {
        size_t i = 0;

        while (names[i] != NULL && !csc_json_read_is(iter.key, names[i]))
            i++;
        if (names[i] == NULL)
            refuse(r, "", "has a member that is none of a document's");
        else
            r->values[i] = iter.value;
    }
}

static bool
is_there(const reader *r, size_t i)
{
    return r->err == CASCADE_OK && r->values[i].data != NULL;
}

static bool
require(reader *r, size_t i)
{
    if (r->err == CASCADE_OK && r->values[i].data == NULL)
        refuse(r, r->names[i], "is missing");
    return r->err == CASCADE_OK;
}

/* NULL where there is none. */
static const char *
take_text(reader *r, size_t i)
{
    char *text = NULL;
    const char *kept = NULL;

    if (!is_there(r, i))
        return NULL;
    if (!csc_json_read_text(r->values[i], &text)) {
        refuse(r, r->names[i], "is no string");
        return NULL;
    }
    if (text != NULL)
        kept = csc_arena_strdup(&r->document->arena, text);
    else
        r->document->arena.failed = true;
    csc_mem_free(text);
    note_memory(r);
    return kept;
}

static const char *
need_text(reader *r, size_t i)
{
    return require(r, i) ? take_text(r, i) : NULL;
}

static const char *
take_json(reader *r, size_t i)
{
    const char *kept = NULL;

    if (is_there(r, i))
        kept = csc_arena_strndup(&r->document->arena, r->values[i].data,
                                 r->values[i].len);
    note_memory(r);
    return kept;
}

static const char *
need_json(reader *r, size_t i)
{
    return require(r, i) ? take_json(r, i) : NULL;
}

static int64_t
need_number(reader *r, size_t i, int64_t min, int64_t max, const char *why)
{
    int64_t number = 0;

    if (require(r, i) && (!csc_json_read_i64(r->values[i], &number) ||
                          number < min || number > max))
        refuse(r, r->names[i], why);
    return number;
}

static int64_t
need_time(reader *r, size_t i)
{
    return need_number(r, i, TIME_MIN_MS, TIME_MAX_MS,
                       "is no time: give milliseconds since 1970, in the "
                       "years 1 to 9999");
}

/* A text to the microsecond; or milliseconds, as version 1 has them. */
static int64_t
need_time_us(reader *r, size_t i)
{
    char text[CSC_TIME_TEXT_SIZE] = "";
    csc_json_span span = r->values[i];
    int64_t time_us = 0;

    if (!require(r, i))
        return 0;
    if (span.data[0] != '"')
        return csc_clock_ms_to_us(need_time(r, i));
    if (span.len - 2 < sizeof(text))
        memcpy(text, span.data + 1, span.len - 2);
    if (csc_clock_parse_us(text, &time_us) != 0)
        refuse(r, r->names[i],
               "is no time: give it as \"2026-01-31T23:59:59.999000Z\"");
    return time_us;
}

static int32_t
need_function_id(reader *r, size_t i)
{
    return (int32_t)need_number(r, i, INT32_MIN, CSC_FUNCTION_ID_MAX,
                                "is no function_id: give a whole number up to "
                                "2147483646");
}

static cascade_uuid
need_id(reader *r, size_t i)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id = {{0}};

    if (!require(r, i))
        return id;
    if (!csc_full_output_uuid(r->values[i], &id) ||
        memcmp(cascade_uuid_format(&id, text), r->values[i].data + 1,
               sizeof(text) - 1) != 0)
        refuse(r, r->names[i], "is no uuid in small letters");
    return id;
}

static int
need_status(reader *r, size_t i, int (*read)(const char *word, size_t len))
{
    const csc_json_span *value = &r->values[i];
    int status = 0;

    if (!require(r, i))
        return 1;
    if (value->data[0] == '"')
        status = read(value->data + 1, value->len - 2);
    if (status != 0)
        return status;
    refuse(r, r->names[i], "is no status");
    return 1;
}

/* ---- Rows --------------------------------------------------------------- */

static void
read_column(reader *r, size_t i, const csc_column *column, void *at)
{
    bool nullable = (column->rules & CSC_COLUMN_NULL) != 0;

    switch (column->kind) {
    case CSC_COLUMN_UUID:
        *(cascade_uuid *)at = need_id(r, i);
        break;
    case CSC_COLUMN_STATUS:
        *(cascade_status *)at =
            (cascade_status)need_status(r, i, csc_status_read);
        break;
    case CSC_COLUMN_EXECUTION_STATUS:
        *(cascade_execution_status *)at = (cascade_execution_status)need_status(
            r, i, csc_status_read_execution);
        break;
    case CSC_COLUMN_I32:
        *(int32_t *)at = need_function_id(r, i);
        break;
    case CSC_COLUMN_TEXT:
        *(const char **)at = nullable ? take_text(r, i) : need_text(r, i);
        break;
    case CSC_COLUMN_JSON:
    case CSC_COLUMN_PAYLOAD:
        *(const char **)at = nullable ? take_json(r, i) : need_json(r, i);
        break;
    case CSC_COLUMN_I64:
    case CSC_COLUMN_SERIAL:
    case CSC_COLUMN_TIME:
        *(int64_t *)at =
            nullable && !is_there(r, i) ? CASCADE_TIME_NONE : need_time(r, i);
        break;
    case CSC_COLUMN_TIME_US:
        *(int64_t *)at = need_time_us(r, i);
        break;
    }
}

/* The members of a row are the columns of its table, but for those that only a
 * store has. */
static void
read_row(reader *r, csc_json_span object, const csc_table *table, void *row)
{
    size_t count = 0;

    for (size_t i = 0; i < table->count; i++) {
        if ((table->columns[i].rules & CSC_COLUMN_LOCAL) == 0)
            r->columns[count++] = table->columns[i].name;
    }
    r->columns[count] = NULL;
    read_members(r, object, r->columns);
    count = 0;
    for (size_t i = 0; i < table->count; i++) {
        const csc_column *column = &table->columns[i];

        if ((column->rules & CSC_COLUMN_LOCAL) == 0)
            read_column(r, count++, column, (char *)row + column->at);
    }
}

static void
read_cascade(reader *r, csc_json_span object)
{
    read_row(r, object, &csc_table_cascades, &r->document->cascade);
}

static void
read_execution(reader *r, csc_json_span object)
{
    cascade_execution_row *row = &r->document->executions[r->index];

    row->cascade_id = r->document->cascade.id;
    read_row(r, object, &csc_table_executions, row);
}

static void
read_event(reader *r, csc_json_span object)
{
    cascade_event_row *row = &r->document->events[r->index];

    row->cascade_id = r->document->cascade.id;
    read_row(r, object, &csc_table_events, row);
}

static void
read_message(reader *r, csc_json_span object)
{
    cascade_message_row *row = &r->document->messages[r->index];

    row->cascade_id = r->document->cascade.id;
    read_row(r, object, &csc_table_messages, row);
    if (r->err == CASCADE_OK && row->kind[0] == '\0')
        refuse(r, "kind", "is empty");
    if (r->err == CASCADE_OK && strlen(row->kind) > CASCADE_MESSAGE_KIND_MAX)
        refuse(r, "kind", "is too long");
}

/* ---- Lists -------------------------------------------------------------- */

/* Room for the rows of a list; NULL for none. */
static void *
count_rows(reader *r, const char *list, csc_json_span array, size_t size,
           size_t *count)
{
    csc_json_iter iter;

    r->list = list;
    r->index = 0;
    r->listed = false;
    *count = 0;
    if (r->err == CASCADE_OK && array.data[0] != '[')
        refuse(r, "", "is no array");
    if (r->err != CASCADE_OK)
        return NULL;
    csc_json_read_iter_init(&iter, array.data, array.len);
    r->listed = true;
    for (; csc_json_read_next(&iter); r->index++)
        if (iter.value.len < ROW_LEN_MIN)
            refuse(r, "", "is no row");
    *count = r->index;
    r->index = 0;
    if (*count == 0 || r->err != CASCADE_OK)
        return NULL;
    return csc_arena_alloc(&r->document->arena, *count, size);
}

static void
read_rows(reader *r, csc_json_span array,
          void (*read)(reader *r, csc_json_span object))
{
    csc_json_iter iter;

    note_memory(r);
    if (r->err != CASCADE_OK)
        return;
    csc_json_read_iter_init(&iter, array.data, array.len);
    for (; r->err == CASCADE_OK && csc_json_read_next(&iter); r->index++)
        read(r, iter.value);
}

static void
read_lists(reader *r, csc_json_span events, csc_json_span messages,
           csc_json_span executions)
{
    csc_document *d = r->document;

    d->executions = count_rows(r, "executions", executions,
                               sizeof(*d->executions), &d->execution_count);
    read_rows(r, executions, read_execution);
    d->events =
        count_rows(r, "events", events, sizeof(*d->events), &d->event_count);
    read_rows(r, events, read_event);
    d->messages = count_rows(r, "messages", messages, sizeof(*d->messages),
                             &d->message_count);
    if (d->message_count > MESSAGES_MAX)
        refuse(r, "", "are too many; a cascade comes with up to 10000");
    read_rows(r, messages, read_message);
}

static void
read_document(reader *r, csc_json_span whole)
{
    enum {
        EVENTS,
        FORMAT,
        CASCADE,
        VERSION,
        MESSAGES,
        EXECUTIONS
    };
    static const char *const names[] = {"events",  "format",   "cascade",
                                        "version", "messages", "executions",
                                        NULL};
    csc_json_span lists[LISTS];

    read_members(r, whole, names);
    if (require(r, FORMAT) &&
        !csc_json_read_is(r->values[FORMAT], "\"" CSC_DOCUMENT_FORMAT "\""))
        refuse(r, names[FORMAT], "is not that of a cascade's document");
    (void)need_number(r, VERSION, 1, CSC_DOCUMENT_VERSION,
                      "is none that this library reads: 1 and 2");
    if (!require(r, EVENTS) || !require(r, CASCADE) || !require(r, MESSAGES) ||
        !require(r, EXECUTIONS))
        return;
    memcpy(lists, r->values, sizeof(lists));
    r->list = names[CASCADE];
    read_cascade(r, lists[CASCADE]);
    read_lists(r, lists[EVENTS], lists[MESSAGES], lists[EXECUTIONS]);
}

/* ---- The whole ---------------------------------------------------------- */

static void
find_meta(csc_document *document)
{
    csc_record record;

    for (size_t i = 0; i < document->execution_count; i++) {
        if (document->executions[i].function_id != 0)
            continue;
        csc_full_output_read(&document->executions[i], &record);
        document->meta = record.meta;
    }
}

cascade_err
csc_document_read(const char *text, csc_document *document)
{
    reader r = {.document = document, .list = ""};
    csc_buf canonical = {0};

    r.err = csc_json_canon_document("the document", text, strlen(text),
                                    CSC_DOCUMENT_MAX, &canonical);
    if (r.err == CASCADE_OK)
        read_document(&r, (csc_json_span){canonical.data, canonical.len});
    csc_buf_fini(&canonical);
    if (r.err != CASCADE_OK)
        return r.err;
    find_meta(document);
    return csc_document_check(document);
}

void
csc_document_read_fini(csc_document *document)
{
    csc_arena_fini(&document->arena);
    *document = (csc_document){0};
}
