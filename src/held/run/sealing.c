/* SPDX-License-Identifier: MIT
 *
 * The seal of a run, beside its state. Who changes the state changes it too:
 * the thread that loads, before the run is held, and later the one that is in
 * its lane.
 */
#include "held/run/sealing.h"

#include <string.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "held/engine_state.h"
#include "held/run/run.h"
#include "state/state.h"
#include "store/move.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

struct csc_sealing {
    csc_seal seal;
    cascade_row row;    /* as it was read, without its text */
    csc_seal_kept kept; /* that came with it */
    csc_seal_next next; /* of the commit that is being made */
};

static const csc_ring *
ring_of(const csc_run *run)
{
    return run->engine->store->ring;
}

unsigned
csc_sealing_part(const cascade_engine *engine)
{
    return engine->store->ring != NULL ? CASCADE_LOAD_SEALS : 0;
}

size_t
csc_sealing_bytes(const csc_run *run)
{
    return run->sealing != NULL
               ? sizeof(*run->sealing) + csc_seal_bytes(&run->sealing->seal)
               : 0;
}

/* ---- Loading ------------------------------------------------------------- */

static cascade_err
begin(csc_run *run, const csc_seal_key *key)
{
    if (run->sealing == NULL)
        run->sealing = csc_mem_zalloc(1, sizeof(*run->sealing));
    if (run->sealing == NULL)
        return csc_fail_memory();
    csc_seal_fini(&run->sealing->seal);
    memset(run->sealing, 0, sizeof(*run->sealing));
    csc_seal_init(&run->sealing->seal, key, &run->state.id);
    return CASCADE_OK;
}

void
csc_sealing_fini(csc_run *run)
{
    if (run->sealing == NULL)
        return;
    csc_seal_fini(&run->sealing->seal);
    csc_mem_free(run->sealing);
    run->sealing = NULL;
}

/* One that is read whole is read anew; of a partial one some comes with each
 * load, and the row and its seal with any. */
cascade_err
csc_sealing_take_cascade(csc_run *run, const cascade_row *row)
{
    cascade_err err = csc_state_apply_cascade(&run->state, row);

    csc_assert(run->life == CSC_RUN_LOADING);
    if (err != CASCADE_OK || ring_of(run) == NULL)
        return err;
    if (run->extent == CSC_EXTENT_WHOLE || run->sealing == NULL)
        err = begin(run, csc_ring_current(ring_of(run)));
    if (err != CASCADE_OK)
        return err;
    run->sealing->row = *row;
    run->sealing->row.user_id = NULL;
    return CASCADE_OK;
}

/* The key of it is that of the rows that follow. */
cascade_err
csc_sealing_take_seal(csc_run *run, const cascade_seal_row *row)
{
    csc_sealing *s = run->sealing;
    const csc_seal_key *key = NULL;

    csc_assert(run->life == CSC_RUN_LOADING);
    if (s == NULL)
        return CASCADE_OK;
    csc_seal_keep(&s->kept, row);
    if (csc_ring_find(ring_of(run), row->seal, &key) == CASCADE_OK)
        s->seal.key = key;
    return CASCADE_OK;
}

cascade_err
csc_sealing_take_execution(csc_run *run, const cascade_execution_row *row)
{
    cascade_err err = csc_state_apply_execution(&run->state, row);

    csc_assert(run->life == CSC_RUN_LOADING);
    if (err != CASCADE_OK || run->sealing == NULL)
        return err;
    return run->extent != CSC_EXTENT_WHOLE
               ? csc_seal_note_execution(&run->sealing->seal, row)
               : csc_seal_add_execution(&run->sealing->seal, row);
}

cascade_err
csc_sealing_take_event(csc_run *run, const cascade_event_row *row)
{
    cascade_err err = csc_events_apply_event(&run->state, row);

    csc_assert(run->life == CSC_RUN_LOADING);
    if (err == CASCADE_OK && run->sealing != NULL)
        csc_seal_add_event(&run->sealing->seal, row);
    return err;
}

cascade_err
csc_sealing_check(csc_run *run)
{
    csc_sealing *s = run->sealing;
    const csc_seal_key *key = NULL;
    char id[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = CASCADE_OK;

    csc_assert(run->life == CSC_RUN_LOADING);
    if (s == NULL || run->state.user_id == NULL)
        return CASCADE_OK; /* it is not there */
    if (!s->kept.found)
        return csc_fail(CASCADE_ERR_CORRUPT, "cascade %s has no seal",
                        cascade_uuid_format(&run->state.id, id));
    err = csc_ring_find(ring_of(run), s->kept.text, &key);
    if (err != CASCADE_OK)
        return csc_fail(err, "cascade %s: %s",
                        cascade_uuid_format(&run->state.id, id),
                        cascade_errmsg());
    s->row.user_id = run->state.user_id;
    err = run->extent != CSC_EXTENT_WHOLE
              ? csc_seal_open(&s->seal, &s->row, s->kept.number, s->kept.text)
              : csc_seal_check(&s->seal, &s->row, s->kept.number, s->kept.text);
    s->row.user_id = NULL;
    return err;
}

/* ---- Changes ------------------------------------------------------------- */

/* The row of the cascade as the change leaves it; `run` NULL: of a start. */
static cascade_row
row_behind(const csc_run *run, const cascade_change *change)
{
    cascade_row row = change->cascade;

    csc_assert(run == NULL ||
               csc_uuid_equal(&run->state.id, &change->cascade.id));
    if (run == NULL || change->run_action == CASCADE_RUN_START)
        return row;
    row.user_id = run->state.user_id;
    row.created_at_ms = run->state.created_at_ms;
    return row;
}

static cascade_err
seal_change(csc_seal *seal, const csc_run *run, csc_arena *arena,
            cascade_change *change, csc_seal_next *next)
{
    cascade_row row = row_behind(run, change);
    cascade_seal_row *made = csc_arena_alloc(arena, 1, sizeof(*made));
    cascade_err err = CASCADE_OK;

    if (made == NULL)
        return csc_fail_memory();
    err = csc_seal_make(seal, &row, change, arena, next);
    if (err != CASCADE_OK)
        return err;
    *made = (cascade_seal_row){.cascade_id = change->cascade.id,
                               .number = next->number,
                               .seal = next->text};
    change->seal = made;
    return CASCADE_OK;
}

/* Copies of them, sealed; NULL when out of memory. */
static const cascade_message_row *
seal_messages(const csc_seal_key *key, csc_arena *arena,
              const cascade_message_row *rows, size_t count)
{
    cascade_message_row *sealed =
        csc_arena_alloc(arena, count + 1, sizeof(*sealed));
    char text[CSC_SEAL_TEXT_SIZE];

    for (size_t i = 0; sealed != NULL && i < count; i++) {
        sealed[i] = rows[i];
        csc_seal_make_message(key, &rows[i], text);
        sealed[i].seal = csc_arena_strdup(arena, text);
        if (sealed[i].seal == NULL)
            return NULL;
    }
    return sealed;
}

static cascade_err
seal_start(const csc_ring *ring, csc_arena *arena, cascade_change *start)
{
    csc_seal seal;
    csc_seal_next next;
    cascade_err err = CASCADE_OK;

    csc_seal_init(&seal, csc_ring_current(ring), &start->cascade.id);
    err = seal_change(&seal, NULL, arena, start, &next);
    csc_seal_fini(&seal);
    return err;
}

cascade_err
csc_sealing_make(const cascade_store *store, csc_run *run, csc_arena *arena,
                 cascade_change *change)
{
    cascade_err err = CASCADE_OK;

    csc_assert(run == NULL || csc_run_is_committing(run));
    if (store->ring == NULL)
        return CASCADE_OK;
    if (change->send_count > 0) {
        change->sends = seal_messages(csc_ring_current(store->ring), arena,
                                      change->sends, change->send_count);
        if (change->sends == NULL)
            return csc_fail_memory();
    }
    if (change->run_action == CASCADE_RUN_DELETE)
        return CASCADE_OK;
    if (run == NULL || change->run_action == CASCADE_RUN_START)
        return seal_start(store->ring, arena, change);
    csc_assert(run->sealing != NULL);
    err = seal_change(&run->sealing->seal, run, arena, change,
                      &run->sealing->next);
    return err;
}

cascade_err
csc_sealing_apply(csc_run *run)
{
    csc_assert(csc_lock_is_held(&run->engine->mutex) && csc_run_is_held(run));
    if (run->sealing == NULL || run->sealing->next.change == NULL)
        return CASCADE_OK;
    return csc_seal_apply(&run->sealing->seal, &run->sealing->next);
}

cascade_err
csc_sealing_born(csc_run *run, const cascade_change *start)
{
    csc_seal *seal = NULL;
    cascade_err err = CASCADE_OK;

    csc_assert(run->life == CSC_RUN_LOADING && run->sealing == NULL);
    if (ring_of(run) == NULL)
        return CASCADE_OK;
    err = begin(run, csc_ring_current(ring_of(run)));
    if (err != CASCADE_OK)
        return err;
    seal = &run->sealing->seal;
    for (size_t i = 0; i < start->insert_count && err == CASCADE_OK; i++)
        err = csc_seal_add_execution(seal, &start->inserts[i]);
    for (size_t i = 0; i < start->event_count && err == CASCADE_OK; i++)
        csc_seal_add_event(seal, &start->events[i]);
    seal->number = 1;
    return err;
}

/* ---- From outside -------------------------------------------------------- */

static cascade_err
seal_submission(const cascade_store *store, csc_arena *arena,
                cascade_submission *submission)
{
    const csc_seal_key *key = csc_ring_current(store->ring);
    cascade_change *starts =
        csc_arena_alloc(arena, submission->start_count + 1, sizeof(*starts));
    cascade_err err = CASCADE_OK;

    csc_assert(store->ring != NULL);
    if (starts == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < submission->start_count && err == CASCADE_OK; i++) {
        starts[i] = submission->starts[i];
        err = csc_sealing_make(store, NULL, arena, &starts[i]);
    }
    submission->starts = starts;
    submission->messages = seal_messages(key, arena, submission->messages,
                                         submission->message_count);
    if (submission->messages == NULL && err == CASCADE_OK)
        err = csc_fail_memory();
    return err;
}

cascade_err
csc_sealing_submit(cascade_store *store, const cascade_submission *submission)
{
    cascade_submission sealed = *submission;
    csc_arena arena = {0};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    if (store->ring == NULL)
        return csc_move_submit(store, submission);
    err = seal_submission(store, &arena, &sealed);
    if (err == CASCADE_OK)
        err = csc_move_submit(store, &sealed);
    csc_arena_fini(&arena);
    return err;
}

cascade_err
csc_sealing_share(cascade_store *store, const cascade_submission *submission,
                  int64_t end_ms, bool *told)
{
    cascade_submission sealed = *submission;
    csc_arena arena = {0};
    cascade_err err = CASCADE_OK;

    csc_assert(csc_lock_is_none_held());
    *told = false;
    if (store->ring != NULL)
        err = seal_submission(store, &arena, &sealed);
    if (err == CASCADE_OK)
        err = csc_pipeline_submit(store, &sealed, end_ms, told);
    csc_arena_fini(&arena);
    return err;
}

cascade_err
csc_sealing_check_message(const cascade_store *store,
                          const cascade_message_row *row)
{
    return store->ring != NULL ? csc_ring_check_message(store->ring, row)
                               : CASCADE_OK;
}
