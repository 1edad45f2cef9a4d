/* SPDX-License-Identifier: MIT
 *
 * Claiming: S7 to S9, S20, S23, S25, S47, S60.
 */
#include "file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Claiming ------------------------------------------------------------ */

/* A run that a claim may take: S8. */
typedef struct candidate {
    cascade_uuid id;
    bool named; /* by a message, of this kind */
    char kind[CASCADE_MESSAGE_KIND_MAX + 1];
    int32_t priority;
    int64_t wake_at_ms;
} candidate;

typedef struct claiming {
    const cascade_claim *claim;
    cascade_claim_result *result;
    candidate *found;
    size_t count;
    bool changed;
    int64_t now_ms;
} claiming;

static bool
is_among(const char *text, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(texts[i], text) == 0)
            return true;
    return false;
}

static bool
is_asked(const cascade_claim *claim, const cascade_run_row *run)
{
    return is_among(run->queue, claim->queues, claim->queue_count) &&
           (run->takeovers >= claim->suspect_from) == claim->suspects;
}

static bool
is_due(const claiming *c, const cascade_run_row *run)
{
    return is_nil(&run->engine_id) && run->wake_at_ms <= c->now_ms &&
           is_asked(c->claim, run) &&
           (length(run->needs) == 0 ||
            is_among(run->needs, c->claim->nodes, c->claim->node_count));
}

/* Of a cascade that has messages: whether the claim may have it. */
static bool
look_at_named(claiming *c, const cascade_run_row *run)
{
    if (run == NULL)
        return !c->claim->suspects && c->claim->queue_count > 0;
    if (compare_ids(&run->engine_id, &c->claim->engine_id) == 0)
        c->result->messages = true;
    return is_nil(&run->engine_id) && is_asked(c->claim, run);
}

static void
add_candidate(claiming *c, const cascade_uuid *id, const cascade_run_row *run,
              const char *kind)
{
    candidate *it = &c->found[c->count++];

    *it = (candidate){.id = *id, .named = kind != NULL};
    it->priority = run != NULL ? run->priority : 0;
    it->wake_at_ms = run != NULL ? run->wake_at_ms : c->now_ms;
    snprintf(it->kind, sizeof(it->kind), "%s", kind != NULL ? kind : "");
}

static void
find_candidates(claiming *c, const state *s)
{
    for (size_t i = 0; i < s->tables[CASCADES].count; i++) {
        const cascade_row *cascade = state_row(s, CASCADES, i);
        const cascade_run_row *run = find_run(s, &cascade->id);
        size_t at = first_of(s, MESSAGES, &cascade->id);
        const cascade_message_row *first =
            next_of(s, MESSAGES, &cascade->id, &at);

        if (first != NULL && look_at_named(c, run))
            add_candidate(c, &cascade->id, run, first->kind);
        else if (run != NULL && is_due(c, run))
            add_candidate(c, &cascade->id, run, NULL);
    }
}

static int
compare_candidates(const void *a, const void *b)
{
    const candidate *left = a;
    const candidate *right = b;

    if (left->named != right->named)
        return left->named ? -1 : 1;
    if (left->priority != right->priority)
        return left->priority > right->priority ? -1 : 1;
    if (left->wake_at_ms != right->wake_at_ms)
        return left->wake_at_ms < right->wake_at_ms ? -1 : 1;
    return compare_ids(&left->id, &right->id);
}

static void
take(claiming *c, state *s, const candidate *it, cascade_claimed *claimed)
{
    cascade_run_row *run = find_run(s, &it->id);

    if (run == NULL) {
        state_add(s, RUNS,
                  &(cascade_run_row){.cascade_id = it->id,
                                     .queue = c->claim->queues[0],
                                     .wake_at_ms = c->now_ms});
        run = find_run(s, &it->id);
    }
    if (run == NULL) /* out of memory */
        return;
    run->engine_id = c->claim->engine_id;
    run->claim_no++;
    state_set_text(s, &run->needs, NULL);
    if (c->claim->suspects && run->trial < INT32_MAX)
        run->trial++;
    *claimed = (cascade_claimed){.cascade_id = it->id,
                                 .claim_no = run->claim_no,
                                 .takeovers = run->takeovers,
                                 .trials = run->trial};
    memcpy(claimed->message_kind, it->kind, sizeof(it->kind));
    c->changed = true;
}

/* S60: messages of cascades that are not there. */
static void
delete_strays(claiming *c, state *s)
{
    int left = CASCADE_CLAIM_STRAYS_MAX;

    for (size_t i = 0; i < s->tables[MESSAGES].count && left > 0;) {
        const cascade_message_row *row = state_row(s, MESSAGES, i);

        if (find_cascade(s, &row->cascade_id) != NULL) {
            i++;
            continue;
        }
        state_remove(s, MESSAGES, i);
        c->changed = true;
        left--;
    }
}

static int64_t
next_wake(const claiming *c, const state *s)
{
    int64_t next = CASCADE_TIME_NONE;

    for (size_t i = 0; i < s->tables[RUNS].count; i++) {
        const cascade_run_row *run = state_row(s, RUNS, i);

        if (is_nil(&run->engine_id) && run->wake_at_ms > c->now_ms &&
            is_among(run->queue, c->claim->queues, c->claim->queue_count) &&
            (next == CASCADE_TIME_NONE || run->wake_at_ms < next))
            next = run->wake_at_ms;
    }
    return next;
}

static cascade_err
check_claim(const state *s, const cascade_claim *claim)
{
    int64_t batches = 0;

    if (find_engine(s, &claim->engine_id) == NULL)
        return file_fail_fenced("claim");
    for (size_t i = 0; i < s->tables[LANES].count; i++) {
        const lane_row *lane = state_row(s, LANES, i);

        if (compare_ids(&lane->engine_id, &claim->engine_id) == 0)
            batches += lane->number;
    }
    if (batches >= claim->batches)
        return CASCADE_OK;
    return cascade_store_fail(CASCADE_ERR_LOST,
                              "claim: the lanes show fewer batches than were "
                              "committed");
}

cascade_err
file_claim(void *self, const cascade_claim *claim, cascade_claimed *claimed,
           cascade_claim_result *result)
{
    file_store *f = self;
    cascade_claim_result told = {.paused = result->paused};
    claiming c = {.claim = claim, .result = &told, .now_ms = file_wall_ms(f)};
    state next;
    cascade_err err = file_begin_write(f, &next);

    if (err != CASCADE_OK)
        return err;
    err = check_claim(&next, claim);
    c.found = calloc(next.tables[CASCADES].count + 1, sizeof(*c.found));
    next.failed = next.failed || c.found == NULL;
    if (err == CASCADE_OK && !next.failed) {
        find_candidates(&c, &next);
        qsort(c.found, c.count, sizeof(*c.found), compare_candidates);
        told.count = c.count < claim->limit ? c.count : claim->limit;
        for (size_t i = 0; i < told.count; i++)
            take(&c, &next, &c.found[i], &claimed[i]);
        delete_strays(&c, &next);
        told.next_wake_at_ms = next_wake(&c, &next);
    }
    free(c.found);
    err = file_end_write(f, &next, err, c.changed);
    if (err != CASCADE_OK)
        return err;
    for (size_t i = 0; told.paused != NULL && i < claim->queue_count; i++)
        told.paused[i] = false;
    *result = told;
    return CASCADE_OK;
}
