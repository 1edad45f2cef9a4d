/* SPDX-License-Identifier: MIT
 *
 * cascade_adopt(): takes in cascades that are RUNNING and have no run.
 *
 *   page of the list
 *     |
 *     +-- RUNNING, no run ------> audited (audit.h): status and fn_id as the
 *     |                           executions say, a run with the queue and the
 *     |                           priority that are recorded
 *     +-- ended, no run --------> its key's row is brought up to its run number
 *     |
 *     +-- with a run -----------> left alone
 *
 *   what is to be changed of a page --> one repair of the store: all of it, but
 *                                       for what has changed meanwhile (S27)
 *
 * In a store with integrity the rows have to fit their seal first, and the next
 * seal is of them with what the repair makes of the cascade's row: it takes the
 * place of the one that was read in the very commit of the repair (S88). What
 * does not fit is told and left alone, without trust.
 *
 * A dry run ends before that repair. Engines are told behind each page. If the
 * process dies before that they find its runs when they poll; if it dies
 * between two pages, the first is adopted: the next call finds nothing to do
 * there. Messages are not made: what was sent, and had not been received when
 * the auxiliary tables were lost, is lost, and so is that a child has ended.
 * Such things are told, and counted as unknown.
 */
#include "cascade/manage.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/origin.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "held/wakeup.h"
#include "query/audit/audit.h"
#include "query/audit/audit_read.h"
#include "query/audit/audit_seal.h"
#include "query/audit/faults.h"
#include "query/link.h"
#include "query/start_records.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/start_record.h"
#include "state/state.h"
#include "store/move.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

#define PAGE CSC_AUDIT_GROUP_MAX
#define NOTED_MAX 20 /* executions told one by one, and children looked up */

/* What is told, by this name. */
#define RULE_RUN "A1 run"
#define RULE_STATUS "A2 status"
#define RULE_FN_ID "A3 fn_id"
#define RULE_KEY "A4 key"
#define RULE_FORM "A5 ids of another form"
#define RULE_GAPS "A6 gaps"
#define RULE_KEYS "A7 context keys"
#define RULE_AGAIN "A8 runs again"
#define RULE_SPAWNS "A9 spawns"
#define RULE_MESSAGES "A10 messages"
#define RULE_CHILD "A11 children"
#define RULE_ENDED "A12 ended"
#define RULE_READABLE "A13 readable"
#define RULE_SEAL "A14 seal"

/* A cascade of a page. */
typedef struct target {
    cascade_row row;
    bool has_run;
    csc_family_state family;
    csc_meta meta;
} target;

/* Which names of nodes a program can register. */
typedef enum naming {
    NAME_OWN,
    NAME_FOREIGN, /* with `foreign` */
    NAME_NONE     /* not at all */
} naming;

/* What the rows of one cascade show besides. */
typedef struct tally {
    csc_seal fresh; /* of them, where there is integrity */
    bool seals;
    int64_t executions;
    int64_t foreign; /* of another form */
    int64_t id_keys; /* events whose key is an id */
    int64_t running;
    int32_t again[NOTED_MAX]; /* the first of those */
    naming names[NOTED_MAX];  /* of their nodes */
    int64_t children;         /* parts of children that are RUNNING */
    cascade_uuid child[NOTED_MAX];
    int32_t child_part[NOTED_MAX];
} tally;

typedef struct adopter {
    cascade_store *store;
    cascade_check_options options;
    cascade_check_report *report;
    int64_t now_ms;
    csc_arena arena; /* of one page: its texts, and those of the repairs */
    target targets[PAGE];
    size_t count;
    cascade_repair repairs[PAGE];
    size_t repair_count;
    csc_faults faults; /* of the list of that page */
    csc_audit audit;
    tally tally;
    cascade_err told; /* what became of telling */
} adopter;

/* ---- Telling ------------------------------------------------------------ */

/* After the first that ends the call nothing is told any more. */
static void tell(adopter *a, const cascade_uuid *id, int32_t function_id,
                 const char *rule, const char *format, ...)
    CASCADE_PRINTF(5, 6);

static void
tell(adopter *a, const cascade_uuid *id, int32_t function_id, const char *rule,
     const char *format, ...)
{
    char text[CSC_ERRMSG_SIZE];
    va_list args;

    if (a->told != CASCADE_OK)
        return;
    a->report->findings++;
    if (a->options.finding == NULL)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!a->options.finding(a->options.context, id, function_id, rule, text))
        a->told = csc_fail(CASCADE_ERR_STOPPED,
                           "adopt: its finding function ended it");
}

static cascade_err
tell_progress(const adopter *a)
{
    const cascade_progress progress = {.seen = a->report->cascades,
                                       .done = a->report->repaired};

    if (a->options.progress == NULL ||
        a->options.progress(a->options.context, &progress))
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_STOPPED,
                    "adopt: its progress function ended it");
}

/* ---- What the rows show ------------------------------------------------- */

static naming
naming_of(const char *name)
{
    if (csc_check_name("node name", name) == CASCADE_OK)
        return NAME_OWN;
    return csc_check_foreign_name("node name", name) == CASCADE_OK
               ? NAME_FOREIGN
               : NAME_NONE;
}

static cascade_err
add_fresh(tally *t, const cascade_execution_row *row)
{
    return t->seals ? csc_seal_add_execution(&t->fresh, row) : CASCADE_OK;
}

static cascade_err
tally_execution(void *context, const cascade_execution_row *row)
{
    tally *t = context;
    csc_record record;

    t->executions++;
    csc_full_output_read(row, &record);
    if (record.foreign)
        t->foreign++;
    if (row->status != CASCADE_EXECUTION_RUNNING)
        return add_fresh(t, row);
    if (csc_kind_of(row->node_name) == CSC_PART_CHILD) {
        if (t->children < NOTED_MAX) {
            t->child[t->children] = record.child;
            t->child_part[t->children] = row->function_id;
        }
        t->children++;
    } else if (csc_kind_of(row->node_name) == CSC_PART_NONE) {
        if (t->running < NOTED_MAX) {
            t->again[t->running] = row->function_id;
            t->names[t->running] = naming_of(row->node_name);
        }
        t->running++;
    }
    return add_fresh(t, row);
}

static cascade_err
tally_event(void *context, const cascade_event_row *row)
{
    tally *t = context;
    cascade_uuid id;

    if (cascade_uuid_parse(row->key, &id) == CASCADE_OK)
        t->id_keys++;
    if (t->seals)
        csc_seal_add_event(&t->fresh, row);
    return CASCADE_OK;
}

/* ---- What is told of a cascade ------------------------------------------ */

static void
tell_foreign(adopter *a, const cascade_uuid *id)
{
    const csc_audit *audit = &a->audit;
    int64_t first = audit->seen_count > 0 ? audit->seen[0].function_id : 0;
    int64_t span = csc_audit_highest(audit) - first + 1;

    if (a->tally.foreign > 0)
        tell(a, id, -1, RULE_FORM,
             "%lld executions have ids of another program's form; they are "
             "taken as they are",
             (long long)a->tally.foreign);
    if (audit->seen_count > 0 && span != (int64_t)audit->seen_count)
        tell(a, id, -1, RULE_GAPS,
             "function_ids go from %lld to %d, and %lld of them are missing; "
             "new ones come after the highest",
             (long long)first, csc_audit_highest(audit),
             (long long)(span - (int64_t)audit->seen_count));
    if (a->tally.id_keys > 0)
        tell(a, id, -1, RULE_KEYS,
             "%lld context events have an id as their key; they are read under "
             "that name",
             (long long)a->tally.id_keys);
}

static void
tell_running(adopter *a, const cascade_uuid *id)
{
    static const char *const ways[] = {
        [NAME_OWN] = "it runs again, or goes on waiting",
        [NAME_FOREIGN] = "it runs again where its node is registered as "
                         "`foreign`, for the name of it",
        [NAME_NONE] = "it never runs again, as no node can be registered under "
                      "its name (1 to 128 bytes of UTF-8): terminate the "
                      "cascade, or rename the node in its row"};
    int64_t count = a->tally.running;

    for (int64_t i = 0; i < count && i < NOTED_MAX; i++)
        tell(a, id, a->tally.again[i], RULE_AGAIN,
             "execution %d was left RUNNING; %s", a->tally.again[i],
             ways[a->tally.names[i]]);
    if (count > NOTED_MAX)
        tell(a, id, -1, RULE_AGAIN, "%lld executions more were left RUNNING",
             (long long)(count - NOTED_MAX));
}

/* What is missing of what was recorded as spawned; and of what other programs
 * spawned nothing is recorded. */
static void
tell_spawns(adopter *a, const cascade_uuid *id)
{
    for (const csc_audit_finding *f = a->audit.first; f != NULL; f = f->next) {
        if (f->rule != CSC_AUDIT_REFERENCE)
            continue;
        a->report->unknown++;
        tell(a, id, f->function_id, RULE_SPAWNS, "%s", f->text);
    }
    if (a->tally.foreign == 0 && a->audit.has_meta)
        return;
    a->report->unknown++;
    tell(a, id, -1, RULE_SPAWNS,
         "what its executions had spawned is not recorded: whether any of that "
         "is missing cannot be known");
}

static void
tell_messages(adopter *a, const cascade_uuid *id)
{
    if (!a->audit.has_meta)
        return;
    a->report->unknown++;
    tell(a, id, -1, RULE_MESSAGES,
         "its run was lost, and what had been sent to it and not received may "
         "be lost as well: send it again, with the same request ids");
}

/* A child that has ended told so by a message, which is gone. */
static cascade_err
tell_children(adopter *a, const cascade_uuid *id)
{
    csc_audit child = {0};
    cascade_err err = CASCADE_OK;

    for (int64_t i = 0; i < a->tally.children && i < NOTED_MAX; i++) {
        bool there = false;

        err = csc_audit_list(a->store, &a->tally.child[i], &child, &there);
        if (err != CASCADE_OK)
            break;
        if (there && child.row.status == CASCADE_RUNNING)
            continue;
        a->report->unknown++;
        tell(a, id, a->tally.child_part[i], RULE_CHILD,
             "execution %d waits for a child that %s, unless a message tells "
             "it: if it goes on waiting, cancel the cascade",
             a->tally.child_part[i], there ? "has ended" : "is not there");
    }
    if (a->tally.children > NOTED_MAX)
        a->report->unknown += a->tally.children - NOTED_MAX;
    csc_audit_fini(&child);
    return err;
}

static void
tell_unreadable(adopter *a, const cascade_uuid *id, const char *why)
{
    a->report->unknown++;
    a->report->unreadable++;
    tell(a, id, -1, RULE_READABLE, "it is left as it is: %s", why);
}

/* Those of which not even their own row, or that of the run, can be read. */
static void
tell_faults(adopter *a)
{
    int64_t more = (int64_t)a->faults.count - CSC_FAULTS_MAX;

    a->report->cascades += (int64_t)a->faults.count;
    for (const csc_fault *f = a->faults.first; f != NULL; f = f->next)
        tell_unreadable(a, &f->id, f->text);
    if (more <= 0)
        return;
    a->report->unknown += more;
    a->report->unreadable += more;
    a->report->findings += more;
}

/* ---- Repairs ------------------------------------------------------------ */

static const char *
keep(adopter *a, const char *text)
{
    return csc_arena_strdup(&a->arena, text);
}

static cascade_repair *
add_repair(adopter *a, const cascade_row *row)
{
    cascade_repair *repair = &a->repairs[a->repair_count++];

    *repair = (cascade_repair){
        .was = *row, .status = row->status, .fn_id = row->fn_id};
    return repair;
}

/* The key's row, where it says an earlier run. */
static cascade_err
look_at_key(adopter *a, const char *user_id, const csc_meta *meta,
            const cascade_uuid *id, bool *behind)
{
    int32_t current = 1;
    cascade_uuid own;
    cascade_err err = CASCADE_OK;

    *behind = false;
    if (meta->key == NULL || meta->run_number == 1)
        return CASCADE_OK;
    own = csc_uuid_v8(user_id, meta->key, meta->run_number);
    if (!csc_uuid_equal(&own, id))
        return CASCADE_OK;
    err = csc_move_key(a->store, user_id, meta->key, &current);
    *behind = err == CASCADE_OK && current < meta->run_number;
    return err;
}

static void
repair_key(adopter *a, cascade_repair *repair, const csc_meta *meta)
{
    repair->key = keep(a, meta->key);
    repair->run_number = meta->run_number;
    tell(a, &repair->was.id, -1, RULE_KEY,
         "it is run %d of its key, and the key's row said an earlier one",
         meta->run_number);
}

/* NULL: none that a run may be in. */
static const char *
recorded_queue(const csc_meta *meta)
{
    if (meta->queue == NULL ||
        csc_check_name("the recorded queue", meta->queue) != CASCADE_OK)
        return NULL;
    return meta->queue;
}

static void
repair_row(adopter *a, cascade_repair *repair)
{
    const cascade_uuid *id = &repair->was.id;
    const csc_meta *meta = &a->audit.meta;
    const char *queue = recorded_queue(meta);
    int32_t highest = csc_audit_highest(&a->audit);

    repair->status = csc_audit_status(&a->audit);
    repair->starts = repair->status == CASCADE_RUNNING;
    if (highest > repair->fn_id) {
        tell(a, id, -1, RULE_FN_ID, "fn_id was %d, and becomes %d",
             repair->fn_id, highest);
        repair->fn_id = highest;
    }
    if (!repair->starts) {
        tell(a, id, -1, RULE_STATUS, "it was RUNNING, and %s: it becomes %s",
             repair->status == CASCADE_ERROR
                 ? "an execution of it has failed for good"
                 : "none of its executions is",
             csc_status_word(repair->status));
        return;
    }
    repair->run = (cascade_run_row){
        .cascade_id = *id,
        .queue = keep(a, queue != NULL ? queue : CSC_QUEUE_DEFAULT),
        .priority = meta->priority,
        .wake_at_ms = a->now_ms};
    tell(a, id, -1, RULE_RUN, "it was RUNNING and had no run; it gets one%s",
         queue != NULL ? ""
                       : " in the queue default, as no other one is "
                         "recorded that may be");
}

/* ---- Seals -------------------------------------------------------------- */

/* The last of those findings is of the cascade, those before of messages. */
static void
tell_seal(adopter *a)
{
    const char *why = "it does not fit the rows";

    for (const csc_audit_finding *f = a->audit.first; f != NULL; f = f->next)
        if (f->rule == CSC_AUDIT_SEAL)
            why = f->text;
    a->report->left++;
    tell(a, &a->audit.row.id, -1, RULE_SEAL,
         "its seal does not hold (%s): it is left as it is; put its rows back "
         "as they were, or, if they are right as they are, adopt it with trust "
         "(`cascade adopt ID --trust`)",
         why);
}

/* It was read: whether anything of it may be changed. */
static bool
may_repair(adopter *a)
{
    if (a->store->ring == NULL)
        return true;
    if (!csc_audit_seal_is_there(&a->audit) || csc_audit_seal_moved(&a->audit))
        return false; /* somebody has just deleted it, or is at it */
    if (!csc_audit_seal_is_broken(&a->audit) || a->options.trust)
        return true;
    tell_seal(a);
    return false;
}

static const cascade_seal_row *
keep_seal(adopter *a, cascade_seal_row row)
{
    cascade_seal_row *kept = NULL;

    if (row.seal == NULL)
        return NULL;
    row.seal = keep(a, row.seal);
    kept = csc_arena_alloc(&a->arena, 1, sizeof(*kept));
    if (kept != NULL)
        *kept = row;
    return kept;
}

/* That of what the repair makes of the rows that were read. */
static cascade_err
seal_repair(adopter *a, cascade_repair *repair)
{
    cascade_seal_row made;
    cascade_err err = CASCADE_OK;

    if (a->store->ring == NULL)
        return CASCADE_OK;
    err = csc_audit_seal_renew(&a->audit, &a->tally.fresh, repair->status,
                               repair->fn_id, &a->arena, &made);
    if (err != CASCADE_OK)
        return err;
    repair->seal = keep_seal(a, made);
    repair->was_seal = keep_seal(a, csc_audit_seal_kept(&a->audit));
    return CASCADE_OK;
}

/* ---- One cascade -------------------------------------------------------- */

/* Reads its rows, all of them; CASCADE_ERR_CORRUPT: they cannot be. */
static cascade_err
audit_target(adopter *a, const target *t)
{
    const cascade_load_sink tap = {.context = &a->tally,
                                   .on_execution = tally_execution,
                                   .on_event = tally_event};
    const csc_ring *ring = a->store->ring;
    cascade_err err = csc_audit_begin(&a->audit, &t->row, NULL);

    csc_seal_fini(&a->tally.fresh);
    a->tally = (tally){.seals = ring != NULL};
    if (ring != NULL)
        csc_seal_init(&a->tally.fresh, csc_ring_current(ring), &t->row.id);
    if (err == CASCADE_OK)
        err = csc_audit_read(a->store, &a->audit, &tap);
    return err == CASCADE_OK ? csc_audit_end(&a->audit, 1) : err;
}

/* It was read: what is to be done, and what is told of it. */
static cascade_err
adopt_audited(adopter *a, const target *t)
{
    const cascade_uuid *id = &t->row.id;
    cascade_repair *repair = add_repair(a, &t->row);
    bool behind = false;
    cascade_err err =
        look_at_key(a, t->row.user_id, &a->audit.meta, id, &behind);

    if (err != CASCADE_OK)
        return err;
    a->report->executions += a->tally.executions;
    a->report->events += (int64_t)a->audit.event_count;
    repair_row(a, repair);
    if (behind)
        repair_key(a, repair, &a->audit.meta);
    err = seal_repair(a, repair);
    if (err != CASCADE_OK)
        return err;
    tell_foreign(a, id);
    if (repair->starts)
        tell_running(a, id);
    tell_spawns(a, id);
    tell_messages(a, id);
    return tell_children(a, id);
}

/* Reads it and tells what stands against a repair: `*may`: nothing does. */
static cascade_err
audit_for_repair(adopter *a, const target *t, bool *may)
{
    cascade_err err = audit_target(a, t);

    *may = err == CASCADE_OK && may_repair(a);
    if (err != CASCADE_ERR_CORRUPT)
        return err;
    tell_unreadable(a, &t->row.id, cascade_errmsg());
    return CASCADE_OK;
}

static cascade_err
adopt_running(adopter *a, const target *t)
{
    bool may = false;
    cascade_err err = audit_for_repair(a, t, &may);

    return may ? adopt_audited(a, t) : err;
}

/* Its key's row seems to be behind it. Where seals can tell whether the rows
 * that say so are its own, all of them are read, and asked again. */
static cascade_err
raise_key_sealed(adopter *a, const target *t)
{
    const csc_meta *meta = &a->audit.meta;
    cascade_repair *repair = NULL;
    bool behind = false;
    bool may = false;
    cascade_err err = audit_for_repair(a, t, &may);

    if (may)
        err = look_at_key(a, t->row.user_id, meta, &t->row.id, &behind);
    if (err != CASCADE_OK || !behind)
        return err;
    repair = add_repair(a, &t->row);
    repair_key(a, repair, meta);
    return seal_repair(a, repair);
}

static cascade_err
note_any(void *context, const cascade_execution_row *row)
{
    *(int32_t *)context = row->function_id;
    return CASCADE_OK;
}

/* Other programs write a status as they come to it: what is hidden behind one
 * may have been meant to run, or not. */
static cascade_err
look_at_ended(adopter *a, const target *t)
{
    int32_t running = INT32_MIN;
    const cascade_load_sink sink = {.context = &running,
                                    .on_execution = note_any};
    const cascade_scan scan = {.cascade_id = &t->row.id,
                               .running_only = true,
                               .from = INT32_MIN,
                               .limit = 1};
    cascade_err err = CASCADE_OK;

    if (t->row.status == CASCADE_ERROR)
        return CASCADE_OK; /* what was RUNNING has ended with it */
    err = csc_move_scan(a->store, &scan, &sink);
    if (err != CASCADE_OK || running == INT32_MIN)
        return err;
    a->report->unknown++;
    tell(a, &t->row.id, running, RULE_ENDED,
         "it is COMPLETED, and execution %d is RUNNING: it stays as it is",
         running);
    return CASCADE_OK;
}

static cascade_err
adopt_ended(adopter *a, const target *t)
{
    bool behind = false;
    cascade_err err = CASCADE_OK;

    if (t->family == CSC_FAMILY_FOREIGN)
        return look_at_ended(a, t);
    err = look_at_key(a, t->row.user_id, &t->meta, &t->row.id, &behind);
    if (err != CASCADE_OK || !behind)
        return err;
    if (a->store->ring != NULL)
        return raise_key_sealed(a, t);
    repair_key(a, add_repair(a, &t->row), &t->meta);
    return CASCADE_OK;
}

/* ---- Pages -------------------------------------------------------------- */

static cascade_err
note_target(void *context, const cascade_row *row, const cascade_run_row *run)
{
    adopter *a = context;
    target *t = &a->targets[a->count++];

    *t = (target){.row = *row, .has_run = run != NULL};
    t->row.user_id = keep(a, row->user_id);
    return t->row.user_id != NULL ? CASCADE_OK : csc_fail_memory();
}

static cascade_err
note_fault(void *context, const cascade_fault *fault)
{
    return csc_faults_add(&((adopter *)context)->faults, fault);
}

static void
note_family(void *context, size_t at, csc_family_state state, csc_meta *meta)
{
    adopter *a = context;
    target *t = &a->targets[at];

    csc_start_record_fini(&t->meta);
    t->meta = *meta;
    *meta = (csc_meta){0};
    t->family = state;
    if (state == CSC_FAMILY_UNREADABLE && !t->has_run &&
        t->row.status != CASCADE_RUNNING)
        tell_unreadable(a, &t->row.id, cascade_errmsg());
}

static cascade_err
read_families(adopter *a)
{
    cascade_uuid ids[PAGE];

    for (size_t i = 0; i < a->count; i++)
        ids[i] = a->targets[i].row.id;
    return csc_start_records_read(a->store, ids, a->count, note_family, a);
}

/* There may be new runs. */
static void
tell_engines(cascade_store *store)
{
    csc_wakeup_tell_all(store);
    (void)csc_move_wake(store);
}

static cascade_err
make_repairs(adopter *a)
{
    bool done[PAGE] = {false};
    int64_t before = a->report->repaired;
    cascade_err err = CASCADE_OK;

    if (a->arena.failed)
        return csc_fail_memory();
    if (a->options.dry_run)
        a->report->repaired += (int64_t)a->repair_count;
    if (a->options.dry_run || a->repair_count == 0)
        return CASCADE_OK;
    err = csc_move_repair(a->store, a->repairs, a->repair_count, done);
    for (size_t i = 0; i < a->repair_count && err == CASCADE_OK; i++)
        a->report->repaired += done[i];
    if (a->report->repaired > before)
        tell_engines(a->store);
    return err;
}

/* Rows that were forged could say of any cascade that they continue it, and
 * what is sent to that would go astray. */
static cascade_err
may_enter(adopter *a, const target *t, bool *may)
{
    cascade_err err = CASCADE_OK;

    *may = !csc_uuid_is_nil(&t->meta.root);
    if (!*may || a->store->ring == NULL)
        return CASCADE_OK;
    err = audit_target(a, t);
    *may = err == CASCADE_OK && csc_audit_seal_is_there(&a->audit) &&
           !csc_audit_seal_moved(&a->audit) &&
           !csc_audit_seal_is_broken(&a->audit) &&
           csc_uuid_equal(&a->audit.meta.root, &t->meta.root) &&
           a->audit.meta.run_number == t->meta.run_number;
    return err == CASCADE_ERR_CORRUPT ? CASCADE_OK : err;
}

/* Of each that continues others: whether a later one is there or not, it is
 * entered, unless that was. */
static cascade_err
enter_chains(adopter *a)
{
    cascade_link runs[PAGE];
    size_t count = 0;
    cascade_err err = CASCADE_OK;

    if (a->options.dry_run)
        return CASCADE_OK;
    for (size_t i = 0; i < a->count && err == CASCADE_OK; i++) {
        const target *t = &a->targets[i];
        bool may = false;

        err = may_enter(a, t, &may);
        if (may)
            runs[count++] = (cascade_link){.id = t->row.id,
                                           .root = t->meta.root,
                                           .run_number = t->meta.run_number};
    }
    return err == CASCADE_OK ? csc_link_enter(a->store, runs, count) : err;
}

static cascade_err
adopt_page(adopter *a)
{
    cascade_err err = read_families(a);

    tell_faults(a);
    if (err == CASCADE_OK)
        err = a->told;
    for (size_t i = 0; i < a->count && err == CASCADE_OK; i++) {
        const target *t = &a->targets[i];

        a->report->cascades++;
        if (!t->has_run)
            err = t->row.status == CASCADE_RUNNING ? adopt_running(a, t)
                                                   : adopt_ended(a, t);
        if (err == CASCADE_OK)
            err = a->told;
    }
    if (err == CASCADE_OK)
        err = make_repairs(a);
    return err == CASCADE_OK ? enter_chains(a) : err;
}

static void
forget_page(adopter *a)
{
    for (size_t i = 0; i < a->count; i++)
        csc_start_record_fini(&a->targets[i].meta);
    csc_arena_clear(&a->arena);
    csc_faults_clear(&a->faults);
    a->count = 0;
    a->repair_count = 0;
}

static cascade_err
adopt_all(adopter *a)
{
    cascade_uuid after = {{0}};
    cascade_place place = {.more = false};
    cascade_query query = {.id = a->options.id,
                           .limit = PAGE,
                           .on_fault = note_fault,
                           .place = &place};
    cascade_err err = csc_move_now(a->store, &a->now_ms);

    while (err == CASCADE_OK) {
        size_t listed = 0;

        err = csc_move_list(a->store, &query, note_target, a);
        listed = a->count;
        if (listed > 0)
            after = a->targets[listed - 1].row.id;
        query.after = &after;
        if (err == CASCADE_OK)
            err = adopt_page(a);
        forget_page(a);
        if (err == CASCADE_OK)
            err = tell_progress(a);
        if (listed < PAGE && !place.more)
            break;
    }
    return err;
}

static cascade_err
adopt(adopter *a)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = adopt_all(a);

    if (err == CASCADE_OK && a->options.id != NULL && a->report->cascades == 0)
        err = csc_fail(CASCADE_ERR_NOT_FOUND, "there is no cascade %s",
                       cascade_uuid_format(a->options.id, text));
    return err;
}

cascade_err
cascade_adopt(cascade_store *store, const cascade_check_options *options,
              cascade_check_report *report)
{
    cascade_check_report made = {0};
    adopter *a = NULL;
    cascade_err err = CASCADE_OK;

    if (csc_origin_check(store) != CASCADE_OK)
        return CASCADE_ERR_MISUSE;
    if (store == NULL || report == NULL || report->size < sizeof(size_t))
        return csc_fail(CASCADE_ERR_INVALID,
                        "adopt: give a store, and a report with its size set "
                        "to sizeof(cascade_check_report)");
    a = csc_mem_zalloc(1, sizeof(*a));
    if (a == NULL)
        return csc_fail_memory();
    a->store = store;
    a->report = &made;
    err = csc_check_options("check options", options, &a->options,
                            sizeof(a->options));
    if (err == CASCADE_OK &&
        (a->options.counted != NULL || a->options.known != NULL))
        err = csc_fail(CASCADE_ERR_INVALID,
                       "adopt: `counted` and `known` are for verify; leave "
                       "them out");
    if (err == CASCADE_OK)
        err = csc_store_refuse_within(store, "cascade_adopt()");
    if (err == CASCADE_OK)
        err = adopt(a);
    csc_audit_fini(&a->audit);
    csc_seal_fini(&a->tally.fresh);
    csc_faults_fini(&a->faults);
    csc_arena_fini(&a->arena);
    csc_mem_free(a);
    made.size = report->size;
    memcpy(report, &made, made.size < sizeof(made) ? made.size : sizeof(made));
    return err == CASCADE_OK ? csc_ok() : err;
}
