/* SPDX-License-Identifier: MIT
 *
 * Tokens of executions that wait for their completion from outside, in
 * documents that are to hold none.
 *
 *   written   each stands as a placeholder that tells of which execution it is:
 *             00000000-0000-0000-0000-0001 and its function_id, in its record,
 *             in the completions that wait to be received, and in the receipts
 *             of those that came to a cascade that had ended
 *   read      each becomes a token: a hash of it and of a secret that is drawn
 *             for this reading, so the same in all places, and no other's
 *
 * So who has the document cannot complete the cascade that it was made from,
 * nor the one that is made of it; both wait as before, with their deadlines,
 * and a completion that was under way arrives. A token that no execution has
 * any more is no secret, and stays.
 *
 * A placeholder is as long as a token: in either direction the text is written
 * over, and stays canonical.
 */
#include "manage/document.h"

#include <stdint.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/digest/sha256.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "change/op.h"
#include "state/state.h"

#define TEXT_LEN ((size_t)CASCADE_UUID_TEXT_SIZE - 1)
#define MARK 11 /* the byte with 1 in it; what is before is 0 */

/* One that was written as a placeholder. */
typedef struct kept {
    cascade_uuid token;
    cascade_uuid placeholder;
} kept;

static cascade_uuid
placeholder(int32_t function_id)
{
    cascade_uuid id = {{0}};

    id.bytes[MARK] = 1;
    for (size_t i = 0; i < 4; i++)
        id.bytes[MARK + 1 + i] =
            (unsigned char)((uint32_t)function_id >> (24 - 8 * i));
    return id;
}

static bool
is_placeholder(const cascade_uuid *id)
{
    static const cascade_uuid zeros;

    return memcmp(id, &zeros, MARK) == 0 && id->bytes[MARK] == 1;
}

/* The token of a record, or of what completes one: where it stands in `json`;
 * 0: it has none. */
static size_t
find_token(const char *json, cascade_uuid *token)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    csc_json_span span;

    if (json == NULL || json[0] != '{' ||
        !csc_json_read_member(json, "token", &span) || span.len != TEXT_LEN + 2)
        return 0;
    memcpy(text, span.data + 1, TEXT_LEN);
    text[TEXT_LEN] = '\0';
    if (cascade_uuid_parse(text, token) != CASCADE_OK)
        return 0;
    return (size_t)(span.data + 1 - json);
}

/* A copy of `text` with `id` at `at`; NULL when out of memory. */
static const char *
write_over(csc_arena *arena, const char *text, size_t at,
           const cascade_uuid *id)
{
    char name[CASCADE_UUID_TEXT_SIZE];
    char *copy = csc_arena_strdup(arena, text);

    if (copy != NULL)
        memcpy(copy + at, cascade_uuid_format(id, name), TEXT_LEN);
    return copy;
}

/* Writes `id` over the token of a completion, which its path ends with too. */
static cascade_err
replace(csc_arena *arena, const char **json, const char **path, size_t at,
        const cascade_uuid *id)
{
    size_t len = strlen(*path);

    if (len >= TEXT_LEN &&
        strncmp(*path + len - TEXT_LEN, *json + at, TEXT_LEN) == 0)
        *path = write_over(arena, *path, len - TEXT_LEN, id);
    *json = write_over(arena, *json, at, id);
    return *json == NULL || *path == NULL ? csc_fail_memory() : CASCADE_OK;
}

/* Where the receipt of a completion has its token; 0: it is none. */
static size_t
find_in_receipt(const cascade_execution_row *row, cascade_uuid *token)
{
    return strcmp(row->node_name, CSC_MESSAGE_PREFIX CSC_MESSAGE_COMPLETE) == 0
               ? find_token(row->input, token)
               : 0;
}

/* ---- Writing ------------------------------------------------------------ */

static bool
find_kept(const csc_document_writer *writer, const cascade_uuid *token,
          kept *one)
{
    for (size_t at = 0; at < writer->tokens.len; at += sizeof(*one)) {
        memcpy(one, writer->tokens.data + at, sizeof(*one));
        if (csc_uuid_compare_secret(&one->token, token) == 0)
            return true;
    }
    return false;
}

static cascade_err
hide_receipt(csc_document_writer *writer, cascade_execution_row *row)
{
    cascade_uuid token;
    kept one;
    size_t at = find_in_receipt(row, &token);

    if (at == 0 || !find_kept(writer, &token, &one))
        return CASCADE_OK;
    return replace(&writer->arena, &row->input, &row->node_instance_id, at,
                   &one.placeholder);
}

cascade_err
csc_document_token_hide_execution(csc_document_writer *writer,
                                  cascade_execution_row *row)
{
    kept one = {.placeholder = placeholder(row->function_id)};
    size_t at = find_token(row->full_output, &one.token);

    if (at == 0)
        return hide_receipt(writer, row);
    csc_buf_add(&writer->tokens, (const char *)&one, sizeof(one));
    row->full_output =
        write_over(&writer->arena, row->full_output, at, &one.placeholder);
    return row->full_output == NULL || writer->tokens.failed ? csc_fail_memory()
                                                             : CASCADE_OK;
}

/* Where the payload of a completion has its token; 0: it is none. */
static size_t
find_in_message(const cascade_message_row *row, cascade_uuid *token)
{
    return strcmp(row->kind, CSC_MESSAGE_COMPLETE) == 0
               ? find_token(row->payload, token)
               : 0;
}

cascade_err
csc_document_token_hide_message(csc_document_writer *writer,
                                cascade_message_row *row)
{
    cascade_uuid token;
    kept one;
    size_t at = find_in_message(row, &token);

    if (at == 0 || !find_kept(writer, &token, &one))
        return CASCADE_OK;
    return replace(&writer->arena, &row->payload, &row->path, at,
                   &one.placeholder);
}

/* ---- Reading ------------------------------------------------------------ */

#define SECRET_SIZE 32

static cascade_uuid
make_token(const unsigned char *secret, const cascade_uuid *hidden)
{
    unsigned char digest[CSC_SHA256_SIZE];
    csc_sha256 hash;
    cascade_uuid token;

    csc_sha256_init(&hash);
    csc_sha256_add(&hash, secret, SECRET_SIZE);
    csc_sha256_add(&hash, hidden->bytes, sizeof(hidden->bytes));
    csc_sha256_end(&hash, digest);
    memcpy(token.bytes, digest, sizeof(token.bytes));
    token.bytes[6] = (unsigned char)((token.bytes[6] & 0x0f) | 0x80);
    token.bytes[8] = (unsigned char)((token.bytes[8] & 0x3f) | 0x80);
    return token;
}

static cascade_err
give_receipt(csc_arena *arena, cascade_execution_row *row,
             const unsigned char *secret)
{
    cascade_uuid id;
    size_t at = find_in_receipt(row, &id);

    if (at == 0 || !is_placeholder(&id))
        return CASCADE_OK;
    id = make_token(secret, &id);
    return replace(arena, &row->input, &row->node_instance_id, at, &id);
}

static cascade_err
give_execution(csc_arena *arena, cascade_execution_row *row,
               const unsigned char *secret)
{
    cascade_uuid id;
    size_t at = find_token(row->full_output, &id);

    if (at == 0)
        return give_receipt(arena, row, secret);
    if (!is_placeholder(&id))
        return CASCADE_OK;
    id = make_token(secret, &id);
    row->full_output = write_over(arena, row->full_output, at, &id);
    return row->full_output == NULL ? csc_fail_memory() : CASCADE_OK;
}

static cascade_err
give_message(csc_arena *arena, cascade_message_row *row,
             const unsigned char *secret)
{
    cascade_uuid id;
    size_t at = find_in_message(row, &id);

    if (at == 0 || !is_placeholder(&id))
        return CASCADE_OK;
    id = make_token(secret, &id);
    return replace(arena, &row->payload, &row->path, at, &id);
}

cascade_err
csc_document_token_give(csc_document *document, const cascade_random *random)
{
    unsigned char secret[SECRET_SIZE];
    csc_arena *arena = &document->arena;
    cascade_err err = CASCADE_OK;

    random->fill(random->context, secret, sizeof(secret));
    for (size_t i = 0; i < document->execution_count && err == CASCADE_OK; i++)
        err = give_execution(arena, &document->executions[i], secret);
    for (size_t i = 0; i < document->message_count && err == CASCADE_OK; i++)
        err = give_message(arena, &document->messages[i], secret);
    return err;
}
