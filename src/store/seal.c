/* SPDX-License-Identifier: MIT
 *
 * Terms, sums and tags: see seal.h. What is hashed is written so that no two
 * contents give the same bytes: a letter for what it is, numbers in eight bytes
 * with the highest first, texts with their length in front, and one byte for
 * whether there is one.
 */
#include "store/seal.h"

#include <stdio.h>
#include <string.h>

#include "base/data/arena.h"
#include "base/data/map.h"
#include "base/digest/hmac.h"
#include "base/digest/siphash.h"
#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"

/* What a hash is of. Never changed: seals that were made would be void. */
#define OF_STILL 'S'
#define OF_MOVING 'R'
#define OF_EVENT 'E'
#define OF_TAG 'T'
#define OF_MASK 'M'
#define OF_MESSAGE 'L'

#define KIND_CHECKSUM "c1"
#define KIND_SECRET "h1"
#define TAG_SIZE 32
#define TAG_DIGITS ((size_t)TAG_SIZE * 2)

/* ---- Keys ---------------------------------------------------------------- */

void
csc_seal_key_checksum(csc_seal_key *key)
{
    memset(key, 0, sizeof(*key));
}

static bool
is_key_id(const char *id, size_t len)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

    return len > 0 && len <= CSC_SEAL_KEY_ID_MAX && strspn(id, allowed) >= len;
}

cascade_err
csc_seal_key_secret(csc_seal_key *key, const char *id, const void *secret,
                    size_t len)
{
    if (!is_key_id(id, strlen(id)))
        return csc_fail(CASCADE_ERR_INVALID,
                        "the id of a key has 1-%d bytes of [A-Za-z0-9._-]",
                        CSC_SEAL_KEY_ID_MAX);
    if (len < CSC_SEAL_SECRET_MIN)
        return csc_fail(CASCADE_ERR_INVALID,
                        "key %s has %zu bytes; give at least %d, random ones",
                        id, len, CSC_SEAL_SECRET_MIN);
    memset(key, 0, sizeof(*key));
    (void)snprintf(key->id, sizeof(key->id), "%s", id);
    key->secret = true;
    csc_hmac_key_init(&key->hmac, secret, len);
    return CASCADE_OK;
}

void
csc_seal_key_fini(csc_seal_key *key)
{
    csc_hmac_key_fini(&key->hmac);
}

/* ---- Hashes -------------------------------------------------------------- */

/* A row is many small pieces: they are gathered, and hashed together. */
typedef struct hashing {
    bool secret;
    union {
        csc_hmac hmac;
        csc_siphash sip;
    } with;
    size_t gathered;
    unsigned char pieces[256];
} hashing;

static void
hash_bytes(hashing *h, const void *bytes, size_t len)
{
    if (h->secret)
        csc_hmac_add(&h->with.hmac, bytes, len);
    else
        csc_siphash_add(&h->with.sip, bytes, len);
}

static void
hash_gathered(hashing *h)
{
    hash_bytes(h, h->pieces, h->gathered);
    h->gathered = 0;
}

static void
add_bytes(hashing *h, const void *bytes, size_t len)
{
    if (len > sizeof(h->pieces) - h->gathered)
        hash_gathered(h);
    if (len > sizeof(h->pieces)) {
        hash_bytes(h, bytes, len);
        return;
    }
    memcpy(h->pieces + h->gathered, bytes, len);
    h->gathered += len;
}

static void
add_number(hashing *h, int64_t number)
{
    unsigned char bytes[8];

    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (unsigned char)((uint64_t)number >> (56 - 8 * i));
    add_bytes(h, bytes, sizeof(bytes));
}

/* `text` may be NULL, which is not "". */
static void
add_text(hashing *h, const char *text)
{
    const unsigned char there = text != NULL;
    size_t len = there ? strlen(text) : 0;

    add_bytes(h, &there, 1);
    if (!there)
        return;
    add_number(h, (int64_t)len);
    add_bytes(h, text, len);
}

static void
begin_hash(hashing *h, const csc_seal_key *key, char of, const cascade_uuid *id)
{
    static const unsigned char known[CSC_SIPHASH_KEY_SIZE] = {0};

    h->secret = key->secret;
    h->gathered = 0;
    if (key->secret)
        csc_hmac_init(&h->with.hmac, &key->hmac);
    else
        csc_siphash_init(&h->with.sip, known);
    add_bytes(h, &of, 1);
    add_bytes(h, id->bytes, sizeof(id->bytes));
}

/* A checksum has half as many bytes; zeros follow. */
static void
end_hash(hashing *h, unsigned char tag[TAG_SIZE])
{
    memset(tag, 0, TAG_SIZE);
    hash_gathered(h);
    if (h->secret)
        csc_hmac_end(&h->with.hmac, tag);
    else
        csc_siphash_end(&h->with.sip, tag);
}

/* ---- Sums ---------------------------------------------------------------- */

static void
read_sum(const unsigned char bytes[TAG_SIZE], csc_seal_sum *sum)
{
    memset(sum, 0, sizeof(*sum));
    for (unsigned i = 0; i < TAG_SIZE; i++)
        sum->words[i / 8] |= (uint64_t)bytes[i] << (8 * (i % 8));
}

/* How many bytes of a tag, and of a sum, count. */
static size_t
tag_size(const csc_seal_key *key)
{
    return key->secret ? TAG_SIZE : CSC_SIPHASH_SIZE;
}

static void
write_sum(const csc_seal *seal, const csc_seal_sum *sum,
          unsigned char bytes[TAG_SIZE])
{
    memset(bytes, 0, TAG_SIZE);
    for (unsigned i = 0; i < tag_size(seal->key); i++)
        bytes[i] = (unsigned char)(sum->words[i / 8] >> (8 * (i % 8)));
}

/* Modulo 2^256. */
static void
add_sum(csc_seal_sum *sum, const csc_seal_sum *term)
{
    uint64_t carry = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint64_t word = sum->words[i] + carry;

        carry = word < carry;
        sum->words[i] = word + term->words[i];
        carry += sum->words[i] < word;
    }
}

static void
subtract_sum(csc_seal_sum *sum, const csc_seal_sum *term)
{
    uint64_t borrow = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint64_t word = sum->words[i] - borrow;

        borrow = word > sum->words[i];
        sum->words[i] = word - term->words[i];
        borrow += sum->words[i] > word;
    }
}

static void
end_term(hashing *h, csc_seal_sum *term)
{
    unsigned char tag[TAG_SIZE];

    end_hash(h, tag);
    read_sum(tag, term);
}

/* ---- Terms --------------------------------------------------------------- */

static void
make_still(const csc_seal *seal, const cascade_execution_row *row,
           csc_seal_sum *term)
{
    hashing h;

    begin_hash(&h, seal->key, OF_STILL, &seal->id);
    add_number(&h, row->function_id);
    add_bytes(&h, row->id.bytes, sizeof(row->id.bytes));
    add_text(&h, row->node_instance_id);
    add_text(&h, row->node_name);
    add_text(&h, row->input);
    add_text(&h, row->location);
    add_number(&h, row->started_at_ms);
    end_term(&h, term);
}

static void
make_moving(const csc_seal *seal, const cascade_execution_row *row,
            csc_seal_sum *term)
{
    hashing h;

    begin_hash(&h, seal->key, OF_MOVING, &seal->id);
    add_number(&h, row->function_id);
    add_number(&h, row->status);
    add_text(&h, row->full_output);
    add_text(&h, row->error);
    add_number(&h, row->completed_at_ms);
    end_term(&h, term);
}

/* `place`: among those of its function_id and time. */
static void
make_event(const csc_seal *seal, const cascade_event_row *row, uint64_t place,
           csc_seal_sum *term)
{
    hashing h;

    begin_hash(&h, seal->key, OF_EVENT, &seal->id);
    add_number(&h, row->function_id);
    add_number(&h, row->created_at_us);
    add_number(&h, (int64_t)place);
    add_text(&h, row->key);
    add_text(&h, row->value);
    add_text(&h, row->ui_value);
    end_term(&h, term);
}

/* ---- Rows ---------------------------------------------------------------- */

void
csc_seal_init(csc_seal *seal, const csc_seal_key *key, const cascade_uuid *id)
{
    memset(seal, 0, sizeof(*seal));
    seal->key = key;
    seal->id = *id;
    csc_map_init(&seal->open);
}

size_t
csc_seal_bytes(const csc_seal *seal)
{
    return seal->open.room * sizeof(seal->open.slots[0]) +
           seal->open.count * sizeof(csc_seal_live);
}

void
csc_seal_keep(csc_seal_kept *kept, const cascade_seal_row *row)
{
    kept->found = true;
    kept->number = row->number;
    (void)snprintf(kept->text, sizeof(kept->text), "%s", row->seal);
}

void
csc_seal_fini(csc_seal *seal)
{
    size_t at = 0;

    for (;;) {
        void *term = csc_map_next(&seal->open, &at);

        if (term == NULL)
            break;
        csc_mem_free(term);
    }
    csc_map_fini(&seal->open);
}

static cascade_uuid
place_of(int32_t function_id)
{
    cascade_uuid place = {{0}};

    memcpy(place.bytes, &function_id, sizeof(function_id));
    return place;
}

static csc_seal_live *
find_open(const csc_seal *seal, int32_t function_id)
{
    cascade_uuid place = place_of(function_id);

    return csc_map_get(&seal->open, &place);
}

static void
close_term(csc_seal *seal, int32_t function_id)
{
    cascade_uuid place = place_of(function_id);

    csc_mem_free(csc_map_remove(&seal->open, &place));
}

static cascade_err
open_term(csc_seal *seal, int32_t function_id, const csc_seal_sum *term)
{
    cascade_uuid place = place_of(function_id);
    csc_seal_live *kept = csc_map_get(&seal->open, &place);

    if (kept != NULL) {
        kept->term = *term;
        return CASCADE_OK;
    }
    kept = csc_mem_zalloc(1, sizeof(*kept));
    if (kept == NULL)
        return csc_fail_memory();
    kept->term = *term;
    if (csc_map_put(&seal->open, &place, kept) == 0)
        return CASCADE_OK;
    csc_mem_free(kept);
    return csc_fail_memory();
}

cascade_err
csc_seal_note_execution(csc_seal *seal, const cascade_execution_row *row)
{
    csc_seal_sum term;

    if (row->status != CASCADE_EXECUTION_RUNNING)
        return CASCADE_OK;
    make_moving(seal, row, &term);
    return open_term(seal, row->function_id, &term);
}

cascade_err
csc_seal_add_execution(csc_seal *seal, const cascade_execution_row *row)
{
    csc_seal_sum term;

    make_still(seal, row, &term);
    add_sum(&seal->sum, &term);
    make_moving(seal, row, &term);
    add_sum(&seal->sum, &term);
    if (row->status != CASCADE_EXECUTION_RUNNING)
        return CASCADE_OK;
    return open_term(seal, row->function_id, &term);
}

void
csc_seal_add_event(csc_seal *seal, const cascade_event_row *row)
{
    csc_seal_live *writer = find_open(seal, row->function_id);
    csc_seal_sum term;

    if (seal->event_function_id != row->function_id)
        seal->event_count = 0;
    seal->event_function_id = row->function_id;
    make_event(seal, row, seal->event_count++, &term);
    add_sum(&seal->sum, &term);
    if (writer != NULL)
        writer->event_count = seal->event_count;
}

/* ---- Texts --------------------------------------------------------------- */

static void
write_hex(const unsigned char *bytes, size_t len, char *text)
{
    static const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        *text++ = digits[bytes[i] >> 4];
        *text++ = digits[bytes[i] & 15];
    }
    *text = '\0';
}

static bool
read_digit(char c, unsigned char *digit)
{
    if (c >= '0' && c <= '9')
        *digit = (unsigned char)(c - '0');
    else if (c >= 'a' && c <= 'f')
        *digit = (unsigned char)(c - 'a' + 10);
    else
        return false;
    return true;
}

/* `text` has 2 * `len` digits, and ends there. */
static bool
read_hex(const char *text, unsigned char *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char high = 0;
        unsigned char low = 0;

        if (!read_digit(text[2 * i], &high) ||
            !read_digit(text[2 * i + 1], &low))
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

bool
csc_seal_text_key(const char *text, bool *secret, char *id)
{
    const char *end = NULL;
    size_t len = 0;

    if (strncmp(text, KIND_SECRET ":", 3) == 0)
        *secret = true;
    else if (strncmp(text, KIND_CHECKSUM ":", 3) == 0)
        *secret = false;
    else
        return false;
    end = strchr(text + 3, ':');
    if (end == NULL)
        return false;
    len = (size_t)(end - text) - 3;
    if (*secret ? !is_key_id(text + 3, len) : len != 0)
        return false;
    memcpy(id, text + 3, len);
    id[len] = '\0';
    return true;
}

/* What comes behind KIND:KEY: of this key; NULL where it is none of it. */
static const char *
skip_key(const csc_seal_key *key, const char *text)
{
    char id[CSC_SEAL_KEY_ID_MAX + 1];
    bool secret = false;

    if (!csc_seal_text_key(text, &secret, id) || secret != key->secret ||
        strcmp(id, key->id) != 0)
        return NULL;
    return text + 3 + strlen(id) + 1;
}

/* The mask makes the sum of it, and the sum it. */
static void
mask(const csc_seal *seal, const unsigned char tag[TAG_SIZE],
     unsigned char bytes[TAG_SIZE])
{
    unsigned char noise[TAG_SIZE];
    hashing h;

    begin_hash(&h, seal->key, OF_MASK, &seal->id);
    add_bytes(&h, tag, TAG_SIZE);
    end_hash(&h, noise);
    for (size_t i = 0; i < TAG_SIZE; i++)
        bytes[i] ^= noise[i];
}

static void
make_tag(const csc_seal *seal, const cascade_row *row, int64_t number,
         const unsigned char sum[TAG_SIZE], unsigned char tag[TAG_SIZE])
{
    hashing h;

    begin_hash(&h, seal->key, OF_TAG, &seal->id);
    add_number(&h, number);
    add_number(&h, row->status);
    add_number(&h, row->fn_id);
    add_text(&h, row->user_id);
    add_number(&h, row->created_at_ms);
    add_number(&h, row->updated_at_ms);
    add_bytes(&h, sum, TAG_SIZE);
    end_hash(&h, tag);
}

/* Sum and tag of a text; false where it has another form. */
static bool
read_text(const csc_seal *seal, const char *text, unsigned char sum[TAG_SIZE],
          unsigned char tag[TAG_SIZE])
{
    size_t size = tag_size(seal->key);
    const char *at = skip_key(seal->key, text);

    memset(sum, 0, TAG_SIZE);
    memset(tag, 0, TAG_SIZE);
    if (at == NULL || strlen(at) != 4 * size + 1 || at[2 * size] != ':')
        return false;
    if (!read_hex(at, sum, size) || !read_hex(at + 2 * size + 1, tag, size))
        return false;
    mask(seal, tag, sum);
    return true;
}

/* ---- Checks -------------------------------------------------------------- */

static cascade_err
fail_seal(const csc_seal *seal, const char *what)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    return csc_fail(CASCADE_ERR_CORRUPT, "the seal of cascade %s: %s",
                    cascade_uuid_format(&seal->id, id), what);
}

/* The sum that the text is of, where its tag holds. */
static cascade_err
read_seal(const csc_seal *seal, const cascade_row *row, int64_t number,
          const char *text, unsigned char bytes[TAG_SIZE])
{
    unsigned char found[TAG_SIZE];
    unsigned char tag[TAG_SIZE];

    if (number < 1 || !read_text(seal, text, bytes, found))
        return fail_seal(seal, "it cannot be read, or is of another key");
    make_tag(seal, row, number, bytes, tag);
    if (!csc_hmac_equal(tag, found, TAG_SIZE))
        return fail_seal(seal, "it does not belong to the cascade's row: that, "
                               "or the seal, was changed");
    return CASCADE_OK;
}

cascade_err
csc_seal_open(csc_seal *seal, const cascade_row *row, int64_t number,
              const char *text)
{
    unsigned char bytes[TAG_SIZE];
    cascade_err err = read_seal(seal, row, number, text, bytes);

    if (err != CASCADE_OK)
        return err;
    read_sum(bytes, &seal->sum);
    seal->number = number;
    return CASCADE_OK;
}

cascade_err
csc_seal_check(csc_seal *seal, const cascade_row *row, int64_t number,
               const char *text)
{
    unsigned char told[TAG_SIZE];
    unsigned char found[TAG_SIZE];
    cascade_err err = read_seal(seal, row, number, text, told);

    if (err != CASCADE_OK)
        return err;
    write_sum(seal, &seal->sum, found);
    if (!csc_hmac_equal(told, found, TAG_SIZE))
        return fail_seal(seal, "executions or events were changed, added or "
                               "deleted");
    seal->number = number;
    return CASCADE_OK;
}

/* ---- Commits ------------------------------------------------------------- */

static void
note_turn(csc_seal_turn *turn, const cascade_execution_row *row,
          const csc_seal_sum *moving)
{
    turn->function_id = row->function_id;
    turn->open = row->status == CASCADE_EXECUTION_RUNNING;
    turn->term = *moving;
}

static void
add_insert(const csc_seal *seal, const cascade_execution_row *row,
           csc_seal_sum *sum, csc_seal_turn *turn)
{
    csc_seal_sum term;

    make_still(seal, row, &term);
    add_sum(sum, &term);
    make_moving(seal, row, &term);
    add_sum(sum, &term);
    note_turn(turn, row, &term);
}

static cascade_err
add_update(const csc_seal *seal, const cascade_execution_row *row,
           csc_seal_sum *sum, csc_seal_turn *turn)
{
    const csc_seal_live *old = find_open(seal, row->function_id);
    csc_seal_sum term;

    if (old == NULL)
        return fail_seal(seal, "an execution is updated that is not known");
    subtract_sum(sum, &old->term);
    make_moving(seal, row, &term);
    add_sum(sum, &term);
    note_turn(turn, row, &term);
    return CASCADE_OK;
}

/* That of an event of the change among those of its function_id, where the one
 * before it is of another. */
static uint64_t
find_place(const csc_seal *seal, const cascade_change *change, size_t at)
{
    int32_t function_id = change->events[at].function_id;
    const csc_seal_live *writer = find_open(seal, function_id);
    uint64_t place = writer != NULL ? writer->event_count : 0;

    for (size_t i = 0; i < at; i++)
        place += change->events[i].function_id == function_id;
    return place;
}

static void
add_events(const csc_seal *seal, const cascade_change *change,
           csc_seal_sum *sum)
{
    const cascade_event_row *events = change->events;
    uint64_t place = 0;

    for (size_t i = 0; i < change->event_count; i++) {
        csc_seal_sum term;

        if (i > 0 && events[i].function_id == events[i - 1].function_id)
            place++;
        else
            place = find_place(seal, change, i);
        make_event(seal, &events[i], place, &term);
        add_sum(sum, &term);
    }
}

static void
count_events(csc_seal *seal, const cascade_change *change)
{
    for (size_t i = 0; i < change->event_count; i++) {
        csc_seal_live *writer = find_open(seal, change->events[i].function_id);

        if (writer != NULL)
            writer->event_count++;
    }
}

static cascade_err
write_text(const csc_seal *seal, const cascade_row *row, csc_arena *arena,
           csc_seal_next *next)
{
    unsigned char sum[TAG_SIZE];
    unsigned char tag[TAG_SIZE];
    char sum_text[TAG_DIGITS + 1];
    char tag_text[TAG_DIGITS + 1];

    write_sum(seal, &next->sum, sum);
    make_tag(seal, row, next->number, sum, tag);
    mask(seal, tag, sum);
    write_hex(sum, tag_size(seal->key), sum_text);
    write_hex(tag, tag_size(seal->key), tag_text);
    next->text = csc_arena_join(
        arena, seal->key->secret ? KIND_SECRET ":" : KIND_CHECKSUM ":",
        seal->key->id, ":", sum_text, ":", tag_text);
    return next->text != NULL ? CASCADE_OK : csc_fail_memory();
}

cascade_err
csc_seal_make(const csc_seal *seal, const cascade_row *row,
              const cascade_change *change, csc_arena *arena,
              csc_seal_next *next)
{
    size_t count = change->insert_count + change->update_count;
    csc_seal_turn *turns = csc_arena_alloc(arena, count + 1, sizeof(*turns));
    csc_seal_turn *turn = turns;
    cascade_err err = CASCADE_OK;

    if (turns == NULL)
        return csc_fail_memory();
    *next = (csc_seal_next){.number = seal->number + 1,
                            .sum = seal->sum,
                            .turns = turns,
                            .turn_count = count,
                            .change = change};
    for (size_t i = 0; i < change->insert_count; i++)
        add_insert(seal, &change->inserts[i], &next->sum, turn++);
    for (size_t i = 0; i < change->update_count && err == CASCADE_OK; i++)
        err = add_update(seal, &change->updates[i], &next->sum, turn++);
    if (err != CASCADE_OK)
        return err;
    add_events(seal, change, &next->sum);
    return write_text(seal, row, arena, next);
}

cascade_err
csc_seal_apply(csc_seal *seal, const csc_seal_next *next)
{
    cascade_err err = CASCADE_OK;

    seal->number = next->number;
    seal->sum = next->sum;
    for (size_t i = 0; i < next->turn_count && err == CASCADE_OK; i++) {
        const csc_seal_turn *turn = &next->turns[i];

        if (turn->open)
            err = open_term(seal, turn->function_id, &turn->term);
        else
            close_term(seal, turn->function_id);
    }
    if (err == CASCADE_OK)
        count_events(seal, next->change);
    return err;
}

/* ---- Messages ------------------------------------------------------------ */

static void
tag_message(const csc_seal_key *key, const cascade_message_row *row,
            unsigned char tag[TAG_SIZE])
{
    hashing h;

    begin_hash(&h, key, OF_MESSAGE, &row->cascade_id);
    add_text(&h, row->kind);
    add_text(&h, row->name);
    add_text(&h, row->path);
    add_text(&h, row->payload);
    add_number(&h, row->sent_at_ms);
    end_hash(&h, tag);
}

void
csc_seal_make_message(const csc_seal_key *key, const cascade_message_row *row,
                      char *text)
{
    unsigned char tag[TAG_SIZE];
    char tag_text[TAG_DIGITS + 1];

    tag_message(key, row, tag);
    write_hex(tag, tag_size(key), tag_text);
    (void)snprintf(text, CSC_SEAL_TEXT_SIZE, "%s:%s:%s",
                   key->secret ? KIND_SECRET : KIND_CHECKSUM, key->id,
                   tag_text);
}

cascade_err
csc_seal_check_message(const csc_seal_key *key, const cascade_message_row *row,
                       const char *text)
{
    char made[CSC_SEAL_TEXT_SIZE];
    size_t len = 0;

    csc_seal_make_message(key, row, made);
    len = strlen(made);
    if (strlen(text) == len && csc_hmac_equal(text, made, len))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_CORRUPT,
                    "a message was not sealed with key \"%s\", or was changed",
                    key->id);
}
