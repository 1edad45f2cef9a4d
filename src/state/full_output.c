/* SPDX-License-Identifier: MIT
 *
 * Reads and writes full_output by the table of its members, without building a
 * tree.
 */
#include "state/full_output.h"

#include <stddef.h>
#include <string.h>

#include "base/check.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/json/json_object.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/node.h"
#include "cascade/rows.h"

#define WORDS 3

/* With their quotes; NULL is not written. */
static const char *const policies[WORDS] = {
    [CASCADE_CHILD_CANCEL] = "\"cancel\"",
    [CASCADE_CHILD_TERMINATE] = "\"terminate\"",
    [CASCADE_CHILD_ABANDON] = "\"abandon\""};
static const char *const joins[WORDS] = {[CASCADE_JOIN_WAIT] = NULL,
                                         [CASCADE_JOIN_FAIL] = "\"fail\"",
                                         [CASCADE_JOIN_SKIP] = "\"skip\""};

const char *
csc_full_output_policy(cascade_child_end policy)
{
    csc_assert((size_t)policy < WORDS);
    return policies[policy];
}

bool
csc_full_output_uuid(csc_json_span span, cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    if (span.len != CASCADE_UUID_TEXT_SIZE + 1 || span.data[0] != '"')
        return false;
    memcpy(text, span.data + 1, CASCADE_UUID_TEXT_SIZE - 1);
    text[CASCADE_UUID_TEXT_SIZE - 1] = '\0';
    return cascade_uuid_parse(text, id) == CASCADE_OK;
}

/* ---- Whose it is -------------------------------------------------------- */

static const char *
skip_digits(const char *at)
{
    while (*at >= '0' && *at <= '9')
        at++;
    return at;
}

/* `<parent>/<name>#<n>` */
static bool
is_place(const char *text)
{
    const char *slash = text[0] == '-' ? text + 1 : skip_digits(text);
    const char *number = strrchr(text, '#');

    return slash > text && *slash == '/' && number != NULL &&
           number[1] != '\0' && *skip_digits(number + 1) == '\0';
}

bool
csc_full_output_is_path(const char *node_instance_id)
{
    static const char message[] = "message/";
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *rest = NULL;
    cascade_uuid id;

    if (strnlen(node_instance_id, sizeof(text)) < sizeof(text) ||
        node_instance_id[sizeof(text) - 1] != '/')
        return false;
    memcpy(text, node_instance_id, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    rest = node_instance_id + sizeof(text);
    return cascade_uuid_parse(text, &id) == CASCADE_OK &&
           (strncmp(rest, message, sizeof(message) - 1) == 0 || is_place(rest));
}

/* ---- The members -------------------------------------------------------- */

typedef enum member_kind {
    KIND_ID,
    KIND_COUNT,
    KIND_ATTEMPTS,
    KIND_PRIORITY,
    KIND_TIME,
    KIND_FLAG,
    KIND_UUID,
    KIND_LIST,
    KIND_OBJECT,
    KIND_TEXT,
    KIND_JSON,
    KIND_POLICY,
    KIND_JOIN,
    KIND_MARK
} member_kind;

typedef struct record_member {
    const char *name;
    size_t len;
    size_t offset; /* in csc_record */
    member_kind kind;
} record_member;

#define MEMBER(type, field, name, kind, ...) \
    {name, sizeof(name) - 1, offsetof(csc_record, field), KIND_##kind},

static const record_member members[] = {CSC_RECORD_MEMBERS(MEMBER)};

#define MEMBER_COUNT (sizeof(members) / sizeof(members[0]))

const csc_record csc_full_output_none = {.at = CSC_RECORD_NO_AT,
                                         .from = CSC_RECORD_NO_ID,
                                         .signal = CSC_RECORD_NO_ID,
                                         .resumes = CSC_RECORD_NO_ID,
                                         .attempts = CSC_RECORD_NO_ATTEMPTS,
                                         .deadline_ms = CASCADE_TIME_NONE,
                                         .instead_of = CSC_RECORD_NO_ID,
                                         .not_before_ms = CASCADE_TIME_NONE,
                                         .early = CSC_RECORD_NO_EARLY};

/* Of the kinds that are numbers. */
static const int32_t maxima[] = {[KIND_ID] = INT32_MAX,
                                 [KIND_COUNT] = INT32_MAX,
                                 [KIND_ATTEMPTS] = INT32_MAX - 1,
                                 [KIND_PRIORITY] = CSC_PRIORITY_MAX};

/* With what a span begins; 0: anything. */
static const char openings[] = {
    [KIND_LIST] = '[', [KIND_OBJECT] = '{', [KIND_TEXT] = '"', [KIND_JSON] = 0};

/* ---- Reading ------------------------------------------------------------ */

/* Anything else than a number from 0 to `max` leaves it as it is. */
static void
read_i32(csc_json_span span, int32_t max, int32_t *number)
{
    int64_t wide = 0;

    csc_assert(max > 0);
    if (csc_json_read_i64(span, &wide) && wide >= 0 && wide <= max)
        *number = (int32_t)wide;
}

/* 0 where it is none of the words. */
static unsigned
read_word(csc_json_span span, const char *const words[WORDS])
{
    for (unsigned i = 0; i < WORDS; i++)
        if (words[i] != NULL && csc_json_read_is(span, words[i]))
            return i;
    return 0;
}

static void
read_mark(csc_json_span mark, csc_record *record)
{
    csc_json_iter iter;

    if (mark.data[0] != '{')
        return;
    record->foreign = false;
    csc_json_read_iter_init(&iter, mark.data, mark.len);
    while (csc_json_read_next(&iter))
        if (csc_json_read_is(iter.key, "early"))
            read_i32(iter.value, INT32_MAX, &record->early);
}

static void
read_member(csc_record *record, const record_member *member, csc_json_span span)
{
    void *field = (char *)record + member->offset;
    const member_kind kind = member->kind;

    if (span.len == 0)
        return; /* a store of the host's may give what is no JSON */
    switch (kind) {
    case KIND_ID:
    case KIND_COUNT:
    case KIND_ATTEMPTS:
    case KIND_PRIORITY:
        read_i32(span, maxima[kind], field);
        break;
    case KIND_TIME:
        (void)csc_json_read_i64(span, field);
        break;
    case KIND_FLAG:
        *(bool *)field = csc_json_read_is(span, "true");
        break;
    case KIND_UUID:
        (void)csc_full_output_uuid(span, field);
        break;
    case KIND_LIST:
    case KIND_OBJECT:
    case KIND_TEXT:
    case KIND_JSON:
        if (openings[kind] == 0 || span.data[0] == openings[kind])
            *(csc_json_span *)field = span;
        break;
    case KIND_POLICY:
        record->when_parent_ends = (cascade_child_end)read_word(span, policies);
        break;
    case KIND_JOIN:
        record->on_failure = (cascade_join)read_word(span, joins);
        break;
    case KIND_MARK:
        read_mark(span, record);
        break;
    }
}

/* Looked for behind `*at`, the one that was found before: what was written in
 * order is read in one pass. */
static const record_member *
find_member(csc_json_span key, size_t *at)
{
    size_t next = *at;

    for (size_t i = 0; i < MEMBER_COUNT; i++) {
        const record_member *member = &members[next];

        next = next + 1 < MEMBER_COUNT ? next + 1 : 0;
        if (key.len == member->len &&
            memcmp(key.data, member->name, key.len) == 0) {
            *at = next;
            return member;
        }
    }
    return NULL;
}

static void
clear(csc_record *record, bool adopted)
{
    *record = csc_full_output_none;
    record->attempts = 0;
    record->adopted = adopted;
    record->foreign = adopted;
}

void
csc_full_output_read(const cascade_execution_row *row, csc_record *record)
{
    const char *text = row->full_output;
    csc_json_iter iter;
    size_t at = 0;

    clear(record, row->node_instance_id != NULL &&
                      !csc_full_output_is_path(row->node_instance_id));
    if (text == NULL || text[0] != '{')
        return;
    csc_json_read_iter_init(&iter, text, strlen(text));
    while (csc_json_read_next(&iter)) {
        const record_member *member = find_member(iter.key, &at);

        if (member != NULL)
            read_member(record, member, iter.value);
    }
    if (record->foreign)
        clear(record, true);
}

/* ---- Writing ------------------------------------------------------------ */

static inline void
write_number(csc_json_object *object, const char *name, int64_t number,
             int64_t none)
{
    if (number != none)
        csc_json_object_add_number(object, name, number);
}

static inline void
write_word(csc_json_object *object, const char *name, const char *word)
{
    if (word != NULL)
        csc_json_object_add_json(object, name, word);
}

static inline void
write_span(csc_json_object *object, const char *name, csc_json_span span)
{
    if (span.data != NULL)
        csc_json_object_add_span(object, name, span);
}

static inline void
write_id(csc_json_object *object, const char *name, const cascade_uuid *id)
{
    if (!csc_uuid_is_nil(id))
        csc_json_object_add_id(object, name, id);
}

/* Each kind, in csc_full_output_write(). */
#define WRITE_ID(name, value) \
    write_number(&object, name, value, CSC_RECORD_NO_ID)
#define WRITE_COUNT(name, value) write_number(&object, name, value, 0)
#define WRITE_ATTEMPTS(name, value) \
    write_number(&object, name, value, CSC_RECORD_NO_ATTEMPTS)
#define WRITE_PRIORITY(name, value) write_number(&object, name, value, 0)
#define WRITE_TIME(name, value) \
    write_number(&object, name, value, CASCADE_TIME_NONE)
#define WRITE_FLAG(name, value) \
    write_word(&object, name, (value) ? "true" : NULL)
#define WRITE_UUID(name, value) write_id(&object, name, &(value))
#define WRITE_LIST(name, value) write_span(&object, name, value)
#define WRITE_OBJECT(name, value) write_span(&object, name, value)
#define WRITE_TEXT(name, value) write_span(&object, name, value)
#define WRITE_JSON(name, value) write_span(&object, name, value)
#define WRITE_POLICY(name, value) \
    write_word(&object, name, is_part ? policies[value] : NULL)
#define WRITE_JOIN(name, value) write_word(&object, name, joins[value])
#define WRITE_MARK(name, value) (void)(value) /* mark.c */
#define WRITE(type, field, name, kind, ...) WRITE_##kind(name, record->field);

void
csc_full_output_write(const csc_record *record, csc_buf *out)
{
    const bool is_part = !csc_uuid_is_nil(&record->child);
    csc_json_object object;

    csc_json_object_begin(&object, out);
    CSC_RECORD_MEMBERS(WRITE)
    csc_json_object_end(&object);
}
