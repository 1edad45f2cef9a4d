/* SPDX-License-Identifier: MIT
 *
 * What keeps a cascade from its turn in a queue with limits: its key has no
 * slot left, or the queue has none, and who has them; or nothing but that no
 * engine has come yet. The first slots that are listed are as good as others:
 * any that is given up may be the next.
 */
#include "query/explain/explain.h"

#include <string.h>

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "cascade/store_limits.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/store.h"

#define SLOTS_MAX CASCADE_STORE_PAGE_MAX /* that are counted */

/* ---- Reading ------------------------------------------------------------- */

static cascade_err
note_limits(void *context, const cascade_limits_row *row)
{
    csc_turn_facts *facts = context;

    facts->kept = true;
    facts->queue.max = row->running_max;
    facts->key.max = row->key_running_max;
    return CASCADE_OK;
}

static cascade_err
note_slot(void *context, const cascade_slot_row *row)
{
    csc_turn_slots *slots = context;

    if (slots->count < CSC_TURN_HOLDERS)
        slots->holders[slots->count] = row->cascade_id;
    slots->count++;
    return CASCADE_OK;
}

static cascade_err
read_slots(cascade_store *store, const cascade_info *info, const char *key,
           csc_turn_slots *slots)
{
    return slots->max == 0 ? CASCADE_OK
                           : csc_move_slots(store, info->queue, key, SLOTS_MAX,
                                            note_slot, slots);
}

cascade_err
csc_explain_turn_read(cascade_store *store, const cascade_info *info,
                      csc_turn_facts *facts)
{
    const char *own = info->limit_key[0] != '\0' ? info->limit_key : NULL;
    const char *key = csc_start_record_limit_key(own, info->user_id);
    cascade_err err = CASCADE_OK;

    *facts = (csc_turn_facts){.kept = false};
    if (!info->has_run || info->owned || store->driver->limits == NULL)
        return CASCADE_OK;
    err = csc_move_list_limits(store, info->queue, "", 1, note_limits, facts);
    if (err != CASCADE_OK || !facts->kept)
        return err;
    err = read_slots(store, info, NULL, &facts->queue);
    return err == CASCADE_OK
               ? read_slots(store, info, key != NULL ? key : "", &facts->key)
               : err;
}

/* ---- Telling ------------------------------------------------------------- */

/* Where more than are counted may be in use. */
static bool
is_unknown(const csc_turn_slots *slots)
{
    return slots->count >= SLOTS_MAX;
}

static bool
is_full(const csc_turn_slots *slots)
{
    return slots->max > 0 && slots->count >= (size_t)slots->max;
}

/* "ID, ID, ID and 7 more". */
static const char *
name_holders(csc_arena *arena, const csc_turn_slots *slots)
{
    const char *names = "";
    char id[CASCADE_UUID_TEXT_SIZE];

    for (size_t i = 0; i < slots->count && i < CSC_TURN_HOLDERS; i++) {
        names = csc_arena_format(arena, "%s%s%s", names, i > 0 ? ", " : "",
                                 cascade_uuid_format(&slots->holders[i], id));
        if (names == NULL)
            return "";
    }
    if (slots->count <= CSC_TURN_HOLDERS)
        return names;
    names = csc_arena_format(arena, "%s and %zu more", names,
                             slots->count - CSC_TURN_HOLDERS);
    return names != NULL ? names : "";
}

static void
say_full(const csc_facts *facts, const csc_turn_slots *slots, const char *whose,
         cascade_explanation *out)
{
    cascade_cause *cause = &out->causes[out->count - 1];

    cause->count = (int64_t)slots->count;
    cause->id = slots->holders[0];
    csc_explain_say(out,
                    "it is due since %s, and waits for its turn in queue %s: "
                    "%zu of %ld slots of its %s are in use, by %s",
                    csc_explain_time(&out->arena, cause->at_ms),
                    facts->info->queue, slots->count, (long)slots->max, whose,
                    name_holders(&out->arena, slots));
}

void
csc_explain_turn(const csc_facts *facts, cascade_explanation *out)
{
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_TURN);

    if (cause == NULL)
        return;
    cause->at_ms = facts->info->wake_at_ms;
    cause->name = csc_arena_strdup(&out->arena, facts->info->queue);
    if (is_full(&facts->turn.key))
        say_full(facts, &facts->turn.key, "key", out);
    else if (is_full(&facts->turn.queue))
        say_full(facts, &facts->turn.queue, "queue", out);
    else
        csc_explain_say(out,
                        "it is due since %s, and there %s a slot for it in "
                        "queue %s: an engine of that takes it in its turn",
                        csc_explain_time(&out->arena, cause->at_ms),
                        is_unknown(&facts->turn.key) ||
                                is_unknown(&facts->turn.queue)
                            ? "may be"
                            : "is",
                        facts->info->queue);
}
