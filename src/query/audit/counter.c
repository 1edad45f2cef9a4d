/* SPDX-License-Identifier: MIT */
#include "query/audit/counter.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "store/move.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

#define PAGE 200
#define TEXT_SIZE 200

typedef struct one {
    cascade_uuid id;
    csc_seal_kept seal;
} one;

/* One walk. */
typedef struct walk {
    csc_counter *counter;
    const csc_ring *ring;
    one page[PAGE];
    size_t count;
    one known; /* the next that was counted */
    bool more; /* there is one */
} walk;

/* ---- What was counted ---------------------------------------------------- */

static cascade_err
check_known(const walk *w, const cascade_seal_count *count)
{
    bool fits = count->seal != NULL && count->number > 0 &&
                strnlen(count->seal, CASCADE_SEAL_MAX + 1) <= CASCADE_SEAL_MAX;

    if (fits && csc_uuid_compare(&count->id, &w->known.id) > 0)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID, "verify: `known` gives %s",
                    fits ? "ids that do not ascend"
                         : "what was never counted: number, or seal");
}

/* A callback that fails may have left no text. */
static cascade_err
next_known(walk *w)
{
    cascade_seal_count count = {.number = 0};
    cascade_err err = w->counter->known(w->counter->context, &count);

    w->more = err == CASCADE_OK;
    if (err == CASCADE_ERR_NOT_FOUND)
        return CASCADE_OK;
    if (err != CASCADE_OK)
        return csc_fail(err, "verify: `known` gave no count: %s",
                        cascade_err_text(err));
    err = check_known(w, &count);
    if (err != CASCADE_OK)
        return err;
    w->known.id = count.id;
    csc_seal_keep(&w->known.seal, &(cascade_seal_row){.cascade_id = count.id,
                                                      .number = count.number,
                                                      .seal = count.seal});
    return CASCADE_OK;
}

/* ---- Comparing ----------------------------------------------------------- */

static cascade_err
tell(const walk *w, const char *text)
{
    return w->counter->tell(w->counter->tell_context, &w->known.id, text);
}

static cascade_err
tell_gone(const walk *w)
{
    char text[TEXT_SIZE];

    (void)snprintf(text, sizeof(text),
                   "it was counted with number %lld, and is gone: a command "
                   "or retention deleted it, or somebody else",
                   (long long)w->known.seal.number);
    return tell(w, text);
}

/* An engine that took the cascade while its seal was renewed has written its
 * own over that, of the same number, by the key that it has: see renew.c. That
 * was counted in between. */
static bool
is_written_over(const walk *w, const csc_seal_kept *now)
{
    const csc_seal_kept *then = &w->known.seal;

    return now->number == then->number &&
           csc_ring_is_newer(w->ring, then->text, now->text);
}

static cascade_err
compare(const walk *w, const csc_seal_kept *now)
{
    const csc_seal_kept *then = &w->known.seal;
    char text[TEXT_SIZE];

    if (now->number > then->number)
        return CASCADE_OK;
    if (now->number == then->number && strcmp(now->text, then->text) == 0)
        return CASCADE_OK;
    if (is_written_over(w, now))
        return CASCADE_OK;
    (void)snprintf(text, sizeof(text),
                   "it was counted with number %lld, and has %s %lld: it was "
                   "put back to what it was%s",
                   (long long)then->number,
                   now->number == then->number ? "another seal of number"
                                               : "number",
                   (long long)now->number,
                   now->number == then->number ? ", and has gone on"
                                               : ", or deleted and begun anew");
    return tell(w, text);
}

/* Those that were counted, up to an id, or all. */
static cascade_err
pass_gone(walk *w, const cascade_uuid *up_to)
{
    cascade_err err = CASCADE_OK;

    while (err == CASCADE_OK && w->more &&
           (up_to == NULL || csc_uuid_compare(&w->known.id, up_to) < 0)) {
        w->counter->compared++;
        err = tell_gone(w);
        if (err == CASCADE_OK)
            err = next_known(w);
    }
    return err;
}

static cascade_err
pass_one(walk *w, const one *now)
{
    cascade_err err = pass_gone(w, &now->id);

    if (err != CASCADE_OK || !w->more ||
        !csc_uuid_equal(&w->known.id, &now->id))
        return err;
    w->counter->compared++;
    err = compare(w, &now->seal);
    return err == CASCADE_OK ? next_known(w) : err;
}

static cascade_err
count_one(const walk *w, const one *now)
{
    const cascade_seal_count count = {
        .id = now->id, .number = now->seal.number, .seal = now->seal.text};

    if (w->counter->counted == NULL ||
        w->counter->counted(w->counter->context, &count))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_STOPPED, "verify: its counted function ended "
                                         "it");
}

/* ---- Walking ------------------------------------------------------------- */

static cascade_err
keep_one(void *context, const cascade_seal_row *row)
{
    walk *w = context;
    one *now = &w->page[w->count++];

    now->id = row->cascade_id;
    csc_seal_keep(&now->seal, row);
    return CASCADE_OK;
}

static cascade_err
walk_all(cascade_store *store, walk *w)
{
    cascade_uuid after = {{0}}; /* the store's own is not counted */
    cascade_err err = w->more ? next_known(w) : CASCADE_OK;

    do {
        w->count = 0;
        if (err == CASCADE_OK)
            err = csc_move_seals(store, &after, PAGE, keep_one, w);
        for (size_t i = 0; i < w->count && err == CASCADE_OK; i++) {
            err = pass_one(w, &w->page[i]);
            if (err == CASCADE_OK)
                err = count_one(w, &w->page[i]);
            after = w->page[i].id;
        }
    } while (err == CASCADE_OK && w->count == PAGE);
    return err == CASCADE_OK ? pass_gone(w, NULL) : err;
}

cascade_err
csc_counter_walk(cascade_store *store, csc_counter *counter)
{
    walk *w = csc_mem_zalloc(1, sizeof(*w));
    cascade_err err = CASCADE_OK;

    if (w == NULL)
        return csc_fail_memory();
    w->counter = counter;
    w->ring = store->ring;
    w->more = counter->known != NULL;
    err = walk_all(store, w);
    csc_mem_free(w);
    return err;
}
