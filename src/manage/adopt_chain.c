/* SPDX-License-Identifier: MIT
 *
 * Which run is the last of those that continue each other, for cascade_adopt():
 * what is sent to one that is gone comes to it (link.h).
 *
 *   runs of a page that continue others, the latest of each root first
 *     |   as the last of the root is entered: it, or a later one --> nothing
 *     |   the root has one of this page by now                   --> nothing
 *     v   an earlier one, or none:
 *   with integrity: all its rows, where they were not read before
 *     |   they have not their seal --> told; the one before it is looked at
 *     v   they have, or there is trust
 *   told and entered
 *
 * Rows that were forged could say of any cascade that they continue it, and
 * what is sent to that would go astray: so only those are believed that have
 * their seal. Nothing of the cascade is written, so with trust its seal stays
 * what it is. A dry run tells the same.
 */
#include "manage/adopt_internal.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "query/audit/audit.h"
#include "query/link.h"
#include "store/store.h"

#define TRIES 3 /* to read one that an engine writes to */

/* Runs of a page that continue others. */
typedef struct chains {
    cascade_link runs[CSC_ADOPT_PAGE];
    csc_adopt_target *targets[CSC_ADOPT_PAGE];
    bool behind[CSC_ADOPT_PAGE];
    size_t count;
} chains;

/* By root, the latest run first. */
static int
compare_targets(const void *left, const void *right)
{
    const csc_adopt_target *a = *(csc_adopt_target *const *)left;
    const csc_adopt_target *b = *(csc_adopt_target *const *)right;
    int order = csc_uuid_compare(&a->meta.root, &b->meta.root);

    if (order != 0)
        return order;
    return (a->meta.run_number < b->meta.run_number) -
           (a->meta.run_number > b->meta.run_number);
}

static void
note_chains(csc_adopter *a, chains *c)
{
    c->count = 0;
    for (size_t i = 0; i < a->count; i++)
        if (!csc_uuid_is_nil(&a->targets[i].meta.root))
            c->targets[c->count++] = &a->targets[i];
    if (c->count > 0)
        qsort(c->targets, c->count, sizeof(c->targets[0]), compare_targets);
    for (size_t i = 0; i < c->count; i++)
        c->runs[i] =
            (cascade_link){.id = c->targets[i]->row.id,
                           .root = c->targets[i]->meta.root,
                           .run_number = c->targets[i]->meta.run_number};
}

/* Whether what was read is of the rows that say which run it is. */
static bool
says_the_same(const csc_adopter *a, const cascade_link *run)
{
    return csc_uuid_equal(&a->audit.meta.root, &run->root) &&
           a->audit.meta.run_number == run->run_number;
}

static void
tell_moved(csc_adopter *a, csc_adopt_target *t)
{
    t->verdict = CSC_ADOPT_REFUSED;
    a->report->left++;
    csc_adopt_tell(a, &t->row.id, -1, CSC_ADOPT_CHAIN,
                   "somebody writes to it, so that its seal cannot be compared "
                   "with its rows, and what is sent to earlier runs that are "
                   "gone does not come to it: adopt it again");
}

/* There is integrity, and its rows were not read yet. */
static cascade_err
read_run(csc_adopter *a, csc_adopt_target *t, const cascade_link *run)
{
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < TRIES && err == CASCADE_OK; i++) {
        err = csc_adopt_read(a, t,
                             "what is sent to earlier runs that are gone does "
                             "not come to it");
        if (err == CASCADE_OK && t->verdict == CSC_ADOPT_HOLDS &&
            !says_the_same(a, run))
            t->verdict = CSC_ADOPT_MOVED;
        if (t->verdict != CSC_ADOPT_MOVED)
            break;
    }
    if (err == CASCADE_OK && t->verdict == CSC_ADOPT_MOVED)
        tell_moved(a, t);
    return err;
}

static cascade_err
enter(csc_adopter *a, const csc_adopt_target *t, const cascade_link *run)
{
    char root[CASCADE_UUID_TEXT_SIZE];

    csc_adopt_tell(a, &run->id, -1, CSC_ADOPT_CHAIN,
                   "it is run %d of those of cascade %s, and of these an "
                   "earlier one was entered as the last, or none: it is "
                   "entered%s",
                   run->run_number, cascade_uuid_format(&run->root, root),
                   t->verdict == CSC_ADOPT_TRUSTED
                       ? ", though its seal does not hold (`cascade reseal ID "
                         "--trust`)"
                       : "");
    return a->options.dry_run ? CASCADE_OK : csc_link_enter(a->store, run);
}

/* `*entered`: it is the last one by now. */
static cascade_err
enter_run(csc_adopter *a, csc_adopt_target *t, const cascade_link *run,
          bool *entered)
{
    cascade_err err = CASCADE_OK;

    if (a->store->ring != NULL &&
        (t->verdict == CSC_ADOPT_UNREAD || t->verdict == CSC_ADOPT_MOVED))
        err = read_run(a, t, run);
    *entered = err == CASCADE_OK && t->verdict != CSC_ADOPT_REFUSED &&
               t->verdict != CSC_ADOPT_MOVED;
    return *entered ? enter(a, t, run) : err;
}

static cascade_err
enter_all(csc_adopter *a, chains *c)
{
    bool done = false; /* the root has its last run */
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < c->count && err == CASCADE_OK; i++) {
        const cascade_link *run = &c->runs[i];

        if (i > 0 && !csc_uuid_equal(&run->root, &c->runs[i - 1].root))
            done = false;
        done = done || !c->behind[i];
        if (!done)
            err = enter_run(a, c->targets[i], run, &done);
        if (err == CASCADE_OK)
            err = a->told;
    }
    return err;
}

cascade_err
csc_adopt_chain_enter(csc_adopter *a)
{
    chains *c = csc_mem_alloc(sizeof(*c));
    cascade_err err = CASCADE_OK;

    if (c == NULL)
        return csc_fail_memory();
    note_chains(a, c);
    err = csc_link_behind(a->store, c->runs, c->count, c->behind);
    if (err == CASCADE_OK)
        err = enter_all(a, c);
    csc_mem_free(c);
    return err;
}
