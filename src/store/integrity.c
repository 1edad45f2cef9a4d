/* SPDX-License-Identifier: MIT */
#include "store/integrity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/integrity.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "store/move.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

static const cascade_uuid own_id = {{0}};

/* ---- Options ------------------------------------------------------------- */

static cascade_err
check_given(const cascade_integrity *integrity)
{
    bool hmac = integrity->mode == CASCADE_INTEGRITY_HMAC;

    if (integrity->mode < CASCADE_INTEGRITY_NONE ||
        integrity->mode > CASCADE_INTEGRITY_HMAC)
        return csc_fail(CASCADE_ERR_INVALID,
                        "integrity: mode is %d; give one of "
                        "cascade_integrity_mode",
                        (int)integrity->mode);
    if (integrity->begin < CASCADE_INTEGRITY_BEGIN_EMPTY ||
        integrity->begin > CASCADE_INTEGRITY_BEGIN_ANY)
        return csc_fail(CASCADE_ERR_INVALID,
                        "integrity: begin is %d; give one of "
                        "cascade_integrity_begin",
                        (int)integrity->begin);
    if (hmac != (integrity->secret != NULL))
        return csc_fail(CASCADE_ERR_INVALID, "integrity: %s",
                        hmac ? "HMAC needs `secret`, which gives the keys"
                             : "`secret` is for HMAC; leave it out, or ask for "
                               "that mode");
    return CASCADE_OK;
}

/* A callback that fails may have left no text. */
static cascade_err
fail_secret(cascade_err err, size_t number)
{
    return csc_fail(err, "integrity: `secret` gave no key %zu: %s", number,
                    cascade_err_text(err));
}

static cascade_err
check_secret(const cascade_secret *secret, size_t number)
{
    if (secret->id != NULL && secret->bytes != NULL)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID, "integrity: key %zu has no %s", number,
                    secret->id == NULL ? "id" : "bytes");
}

static cascade_err
add_secrets(const cascade_integrity *integrity, csc_ring *ring)
{
    for (size_t number = 0; number <= CASCADE_SECRETS_MAX; number++) {
        cascade_secret secret = {.id = NULL};
        cascade_err err =
            integrity->secret(integrity->context, number, &secret);

        if (err == CASCADE_ERR_NOT_FOUND && number > 0)
            return CASCADE_OK;
        if (err != CASCADE_OK)
            return fail_secret(err, number);
        err = check_secret(&secret, number);
        if (err == CASCADE_OK)
            err = csc_ring_add(ring, secret.id, secret.bytes, secret.len);
        if (err != CASCADE_OK)
            return err;
    }
    return CASCADE_OK;
}

cascade_err
csc_integrity_read(const cascade_integrity *integrity, csc_ring **ring)
{
    cascade_integrity known;
    csc_ring *made = NULL;
    cascade_err err =
        csc_check_options("integrity", integrity, &known, sizeof(known));

    *ring = NULL;
    if (err == CASCADE_OK)
        err = check_given(&known);
    if (err != CASCADE_OK || known.mode == CASCADE_INTEGRITY_NONE)
        return err;
    made = csc_ring_create();
    if (made == NULL)
        return csc_fail_memory();
    if (known.mode == CASCADE_INTEGRITY_HMAC)
        err = add_secrets(&known, made);
    if (err != CASCADE_OK) {
        csc_ring_free(made);
        return err;
    }
    *ring = made;
    return CASCADE_OK;
}

cascade_integrity_begin
csc_integrity_begin(const cascade_integrity *given)
{
    cascade_integrity known;

    return csc_check_options("integrity", given, &known, sizeof(known)) ==
                   CASCADE_OK
               ? known.begin
               : CASCADE_INTEGRITY_BEGIN_NEVER;
}

/* ---- The store's own row ------------------------------------------------- */

static cascade_err
take_own(void *context, const cascade_seal_row *row)
{
    if (csc_uuid_is_nil(&row->cascade_id))
        csc_seal_keep(context, row);
    return CASCADE_OK;
}

/* Its id is before all others. Where the store can have no seals there is none,
 * and nothing is missed: only a handle with keys asks for them. */
static cascade_err
read_own(cascade_store *store, csc_seal_kept *own)
{
    memset(own, 0, sizeof(*own));
    if (store->driver->integrity == NULL && store->ring == NULL)
        return CASCADE_OK;
    return csc_move_seals(store, NULL, 1, take_own, own);
}

static cascade_err
note_cascade(void *context, const cascade_row *row, const cascade_run_row *run)
{
    (void)row;
    (void)run;
    *(bool *)context = true;
    return CASCADE_OK;
}

static cascade_err
note_unreadable(void *context, const cascade_fault *fault)
{
    (void)fault;
    *(bool *)context = true;
    return CASCADE_OK;
}

/* One that cannot be read is one. */
static cascade_err
has_cascades(cascade_store *store, bool *has)
{
    const cascade_query query = {.limit = 1, .on_fault = note_unreadable};

    *has = false;
    return csc_move_list(store, &query, note_cascade, has);
}

static cascade_err
check_empty(cascade_store *store)
{
    bool has = false;
    cascade_err err = has_cascades(store, &has);

    if (err != CASCADE_OK || !has)
        return err;
    return csc_fail(CASCADE_ERR_INVALID,
                    "integrity: this database has cascades without seals, and "
                    "no row that tells of a mode: begin with an empty one; if "
                    "it had integrity, that row was deleted");
}

/* Whoever else enters one at the same time may be first. `was`: NULL, or the
 * one that is there. */
static cascade_err
put_own(cascade_store *store, const csc_seal_next *next,
        const cascade_seal_row *was)
{
    const cascade_seal_row made = {
        .cascade_id = own_id, .number = next->number, .seal = next->text};
    const cascade_reseal reseal = {
        .cascade_id = own_id, .was = was, .now = &made};
    bool done = false;

    return csc_move_seal(store, &reseal, 1, &done);
}

static cascade_err
enter_own(cascade_store *store, const cascade_seal_row *was)
{
    static const cascade_row nothing = {.id = {{0}}};
    static const cascade_change none = {.cascade = {.id = {{0}}}};
    csc_arena arena = {0};
    csc_seal_next next;
    csc_seal seal;
    cascade_err err = CASCADE_OK;

    csc_seal_init(&seal, csc_ring_current(store->ring), &own_id);
    seal.number = was != NULL ? was->number : 0;
    err = csc_seal_make(&seal, &nothing, &none, &arena, &next);
    if (err == CASCADE_OK)
        err = put_own(store, &next, was);
    csc_seal_fini(&seal);
    csc_arena_fini(&arena);
    return err;
}

static const char *
mode_word(bool secret)
{
    return secret ? "hmac" : "checksum";
}

static cascade_err
fail_mode(const char *stored, const char *given)
{
    return csc_fail(CASCADE_ERR_INVALID,
                    "integrity: the cascades of this database are sealed by "
                    "%s, and the store is opened with %s: give the options "
                    "that it has",
                    stored, given);
}

/* Of a row that is there. */
static cascade_err
check_own(const cascade_store *store, const csc_seal_kept *own)
{
    static const cascade_row nothing = {.id = {{0}}};
    char id[CSC_SEAL_KEY_ID_MAX + 1];
    const csc_seal_key *key = NULL;
    csc_seal seal;
    bool secret = false;
    cascade_err err = CASCADE_OK;

    if (!csc_seal_text_key(own->text, &secret, id))
        return csc_fail(CASCADE_ERR_CORRUPT,
                        "integrity: the store's own row in cascade_seals is "
                        "no seal");
    if (store->ring == NULL)
        return fail_mode(mode_word(secret), "none");
    if (csc_ring_current(store->ring)->secret != secret)
        return fail_mode(mode_word(secret), mode_word(!secret));
    if (csc_ring_find(store->ring, own->text, &key) != CASCADE_OK)
        return csc_fail(CASCADE_ERR_INVALID,
                        "integrity: this database is sealed with key %s, which "
                        "is not given",
                        id);
    csc_seal_init(&seal, key, &own_id);
    err = csc_seal_check(&seal, &nothing, own->number, own->text);
    csc_seal_fini(&seal);
    if (err == CASCADE_OK || err == CASCADE_ERR_NO_MEMORY)
        return err;
    return csc_fail(CASCADE_ERR_CORRUPT,
                    "integrity: the store's own row was not made with the key "
                    "\"%s\" that is given, or was changed",
                    id);
}

/* Where there was none. */
static cascade_err
begin_sealing(cascade_store *store, cascade_integrity_begin begin,
              csc_seal_kept *own)
{
    cascade_err err = CASCADE_OK;

    if (begin == CASCADE_INTEGRITY_BEGIN_NEVER)
        return csc_fail(CASCADE_ERR_INVALID,
                        "integrity: this database has no mode, and this handle "
                        "is not to begin one: open it without integrity, or "
                        "begin it first");
    err = csc_store_refuse_within(store,
                                  "opening the first store with integrity");
    if (err == CASCADE_OK && begin != CASCADE_INTEGRITY_BEGIN_ANY)
        err = check_empty(store);
    if (err == CASCADE_OK)
        err = enter_own(store, NULL);
    return err == CASCADE_OK ? read_own(store, own) : err;
}

cascade_err
csc_integrity_enter(cascade_store *store, cascade_integrity_begin begin)
{
    csc_seal_kept own;
    cascade_err err = read_own(store, &own);

    if (err != CASCADE_OK)
        return err;
    if (!own.found && store->ring == NULL)
        return CASCADE_OK;
    if (!own.found)
        err = begin_sealing(store, begin, &own);
    return err == CASCADE_OK ? check_own(store, &own) : err;
}

cascade_err
csc_integrity_renew(cascade_store *store)
{
    csc_seal_kept own;
    cascade_seal_row was = {.cascade_id = own_id, .seal = own.text};
    const csc_seal_key *key = NULL;
    cascade_err err = read_own(store, &own);

    if (err == CASCADE_OK)
        err = check_own(store, &own);
    if (err == CASCADE_OK)
        err = csc_ring_find(store->ring, own.text, &key);
    if (err != CASCADE_OK || key == csc_ring_current(store->ring))
        return err;
    was.number = own.number;
    return enter_own(store, &was);
}
