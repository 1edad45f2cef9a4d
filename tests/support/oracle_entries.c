/* SPDX-License-Identifier: MIT
 *
 * Which functions were entered. See oracle.h.
 *
 * An entry is judged twice: when it is made, by the rows as they were at the
 * last look (oracle_ran), and at every look, by the rows of then (attempts that
 * are recorded must have been entered, and no others).
 *
 * A step without options of its own carries the attempts of its node, while its
 * record counts one: its attempts are not compared.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/oracle_internal.h"
#include "support/stores.h"

#define ATTEMPT_BITS 63
#define STEP_PREFIX "cascade.step:"
#define SLEEP_PREFIX "cascade.sleep:"
#define UNDO_PREFIX "cascade.undo:"
#define SAGA_PREFIX "cascade.saga:"
#define AWAIT_PREFIX "cascade.await:"
#define GATHER_PREFIX "cascade.gather:"
#define PROGRAM_RESULT "{\"exit\":" /* how it begins */

/* ---- The table ---------------------------------------------------------- */

static size_t
place(const oracle *o, const char *path)
{
    size_t at = (size_t)stores_hash(path, 3) & (o->entry_room - 1);

    while (o->entries[at].path != NULL &&
           strcmp(o->entries[at].path, path) != 0)
        at = (at + 1) & (o->entry_room - 1);
    return at;
}

static void
grow(oracle *o)
{
    oracle_entry *old = o->entries;
    size_t old_room = o->entry_room;

    o->entry_room = old_room == 0 ? 256 : old_room * 2;
    o->entries = calloc(o->entry_room, sizeof(*old));
    if (o->entries == NULL)
        abort();
    for (size_t i = 0; i < old_room; i++)
        if (old[i].path != NULL)
            o->entries[place(o, old[i].path)] = old[i];
    free(old);
}

const oracle_entry *
oracle_entry_find(const oracle *o, const char *path)
{
    const oracle_entry *entry = NULL;

    if (o->entry_room > 0)
        entry = &o->entries[place(o, path)];
    return entry != NULL && entry->path != NULL ? entry : NULL;
}

static oracle_entry *
get_entry(oracle *o, const char *path)
{
    oracle_entry *entry = NULL;

    if (o->entry_count * 2 >= o->entry_room)
        grow(o);
    entry = &o->entries[place(o, path)];
    if (entry->path == NULL) {
        entry->path = strdup(path);
        if (entry->path == NULL)
            abort();
        o->entry_count++;
    }
    return entry;
}

void
oracle_entries_free(oracle *o)
{
    for (size_t i = 0; i < o->entry_room; i++)
        free(o->entries[i].path);
    free(o->entries);
}

/* ---- At the entry ------------------------------------------------------- */

static const cascade_execution_row *
find_row(const dump_rows *rows, const char *path)
{
    for (size_t i = 0; i < rows->execution_count; i++)
        if (strcmp(rows->executions[i].node_instance_id, path) == 0)
            return &rows->executions[i];
    return NULL;
}

static const cascade_execution_row *
find_number(const dump_rows *rows, int64_t function_id)
{
    for (size_t i = 0; i < rows->execution_count; i++)
        if (rows->executions[i].function_id == function_id)
            return &rows->executions[i];
    return NULL;
}

static int64_t
number_of(const cascade_execution_row *row, const char *name, int64_t none)
{
    csc_json_span span;
    int64_t number = none;

    if (row->full_output != NULL &&
        csc_json_read_member(row->full_output, name, &span))
        (void)csc_json_read_i64(span, &number);
    return number;
}

static bool
is_wait(const cascade_execution_row *row)
{
    return strncmp(row->node_name, SLEEP_PREFIX, strlen(SLEEP_PREFIX)) == 0 ||
           strncmp(row->node_name, GATHER_PREFIX, strlen(GATHER_PREFIX)) == 0 ||
           strncmp(row->node_name, AWAIT_PREFIX, strlen(AWAIT_PREFIX)) == 0;
}

/* One of its waits goes on: their paths name its function id. */
static bool
is_waiting(const dump_rows *rows, const cascade_execution_row *row)
{
    for (size_t i = 0; i < rows->execution_count; i++) {
        const cascade_execution_row *other = &rows->executions[i];

        if (other->status == CASCADE_EXECUTION_RUNNING && is_wait(other) &&
            oracle_parent_of(other->node_instance_id) == row->function_id)
            return true;
    }
    return false;
}

/* A node whose row says RUNNING is entered. With `follow` the row is as of this
 * moment; else as of the last look, and only its time can be judged, and that
 * at the first entry since. */
static void
judge_node(oracle *o, const oracle_cascade *c, const cascade_execution_row *row,
           const oracle_entry *entry, int attempt, int64_t now_ms)
{
    int64_t not_before = number_of(row, "not_before", INT64_MIN);
    int64_t failed = number_of(row, "attempts", 0);

    if ((o->follow || entry->look != c->looks) && now_ms < not_before)
        oracle_fail(o, "G8", &c->id, row->function_id,
                    "entered %" PRId64 " ms before its time",
                    not_before - now_ms);
    if (!o->follow)
        return;
    if (attempt != failed + 1)
        oracle_fail(o, "G4", &c->id, row->function_id,
                    "attempt %d entered after %" PRId64 " recorded failures",
                    attempt, failed);
    if (oracle_judge(&c->rows, row) != ORACLE_RUN)
        oracle_fail(o, "G1", &c->id, row->function_id,
                    "entered before what it comes after has ended, or though "
                    "that has failed");
    if (is_waiting(&c->rows, row))
        oracle_fail(o, "G8", &c->id, row->function_id,
                    "entered while it waits");
}

/* That it has failed, and is undone, is recorded of a node. */
static bool
is_undone(const dump_rows *rows, int64_t function_id)
{
    for (size_t i = 0; i < rows->execution_count; i++)
        if (strncmp(rows->executions[i].node_name, SAGA_PREFIX,
                    strlen(SAGA_PREFIX)) == 0 &&
            oracle_parent_of(rows->executions[i].node_instance_id) ==
                function_id)
            return true;
    return false;
}

/* The path behind the number of the node: what a step is to its node. */
static const char *
part_of(const char *path)
{
    const char *slash = strchr(path, '/');

    return slash != NULL ? strchr(slash + 1, '/') : NULL;
}

/* Whether one in whose place the node runs has recorded that step, and that
 * counts. */
static bool
is_done_before(const dump_rows *rows, const cascade_execution_row *node,
               const char *path)
{
    bool *counts = oracle_find_counting(rows);
    const char *part = part_of(path);
    bool done = false;
    int64_t old = oracle_resumed_by(node);

    for (; old >= 0 && part != NULL;
         old = oracle_resumed_by(&rows->executions[old]))
        for (size_t i = 0; i < rows->execution_count; i++) {
            const cascade_execution_row *row = &rows->executions[i];
            const char *other = part_of(row->node_instance_id);

            done = done || (counts[i] && other != NULL &&
                            row->status == CASCADE_EXECUTION_COMPLETED &&
                            oracle_parent_of(row->node_instance_id) == old &&
                            strcmp(other, part) == 0);
        }
    free(counts);
    return done;
}

/* The node of a step: its path names the node's function id. */
static void
judge_step(oracle *o, const oracle_cascade *c, const char *path)
{
    int64_t parent = oracle_parent_of(path);
    bool undo = strstr(path, UNDO_PREFIX) != NULL;
    const cascade_execution_row *row = find_number(&c->rows, parent);

    if (!o->follow)
        return;
    if (row == NULL || row->status != CASCADE_EXECUTION_RUNNING)
        oracle_fail(o, "G3", &c->id, (int32_t)parent,
                    "a step entered (%s) while its node is not RUNNING", path);
    if (row != NULL && !undo && is_done_before(&c->rows, row, path))
        oracle_fail(o, "G3", &c->id, row->function_id,
                    "a step entered (%s) that was recorded before its node was "
                    "made afresh",
                    path);
    if (undo != is_undone(&c->rows, parent))
        oracle_fail(o, "G3", &c->id, (int32_t)parent,
                    undo ? "entered (%s) before its node had failed"
                         : "a step entered (%s) though its node is undone",
                    path);
}

static void
judge_entry(oracle *o, const oracle_cascade *c, const oracle_entry *entry,
            int attempt, int64_t now_ms)
{
    const cascade_execution_row *row = find_row(&c->rows, entry->path);

    if (row != NULL && row->status != CASCADE_EXECUTION_RUNNING)
        oracle_fail(o, "G3", &c->id, row->function_id,
                    "entered after it was recorded (attempt %d)", attempt);
    else if (row != NULL)
        judge_node(o, c, row, entry, attempt, now_ms);
    else if (strstr(entry->path, STEP_PREFIX) != NULL ||
             strstr(entry->path, UNDO_PREFIX) != NULL)
        judge_step(o, c, entry->path);
    else if (o->follow)
        oracle_fail(o, "G1", &c->id, ORACLE_NO_ID,
                    "entered before it was recorded: %s", entry->path);
    if (o->follow && !o->open && oracle_is_paused(&c->rows))
        oracle_fail(o, "G3", &c->id, ORACLE_NO_ID,
                    "entered (%s) while the cascade is paused", entry->path);
    if (o->follow && !o->open && c->rows.found &&
        c->rows.cascade.status != CASCADE_RUNNING)
        oracle_fail(o, "G3", &c->id, ORACLE_NO_ID,
                    "entered (%s) after the cascade had ended", entry->path);
}

void
oracle_ran(oracle *o, const char *request_id, int attempt, int64_t now_ms)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id = {0};
    const oracle_cascade *c = NULL;
    oracle_entry *entry = NULL;

    (void)snprintf(text, sizeof(text), "%s", request_id);
    pthread_mutex_lock(&o->mutex);
    entry = get_entry(o, request_id);
    if (cascade_uuid_parse(text, &id) != CASCADE_OK || attempt < 1)
        oracle_fail(o, "G4", &id, ORACLE_NO_ID, "entered as %s, attempt %d",
                    request_id, attempt);
    c = csc_map_get(&o->cascades, &id);
    if (c != NULL)
        judge_entry(o, c, entry, attempt, now_ms);
    else if (o->follow)
        oracle_fail(o, "G1", &id, ORACLE_NO_ID, "entered, but not recorded");
    entry->attempts |= UINT64_C(1)
                       << (attempt < ATTEMPT_BITS ? attempt : ATTEMPT_BITS);
    if (entry->count++ == 0)
        entry->first_ms = now_ms;
    entry->last_ms = now_ms;
    if (attempt > entry->attempt_max)
        entry->attempt_max = attempt;
    entry->look = c != NULL ? c->looks : 0;
    pthread_mutex_unlock(&o->mutex);
}

size_t
oracle_entered(oracle *o, const char *request_id)
{
    const oracle_entry *entry = NULL;
    size_t count = 0;

    pthread_mutex_lock(&o->mutex);
    entry = oracle_entry_find(o, request_id);
    if (entry != NULL)
        count = entry->count;
    pthread_mutex_unlock(&o->mutex);
    return count;
}

int
oracle_attempts(oracle *o, const char *request_id)
{
    const oracle_entry *entry = NULL;
    int attempts = 0;

    pthread_mutex_lock(&o->mutex);
    entry = oracle_entry_find(o, request_id);
    if (entry != NULL)
        attempts = entry->attempt_max;
    pthread_mutex_unlock(&o->mutex);
    return attempts;
}

void
oracle_entry_times(oracle *o, const char *request_id, int64_t *first_ms,
                   int64_t *last_ms)
{
    const oracle_entry *entry = NULL;

    *first_ms = CASCADE_TIME_NONE;
    *last_ms = CASCADE_TIME_NONE;
    pthread_mutex_lock(&o->mutex);
    entry = oracle_entry_find(o, request_id);
    if (entry != NULL) {
        *first_ms = entry->first_ms;
        *last_ms = entry->last_ms;
    }
    pthread_mutex_unlock(&o->mutex);
}

/* ---- At a look ---------------------------------------------------------- */

/* Attempts 1 to `last` were entered. */
static bool
has_attempts(const oracle_entry *entry, int64_t last)
{
    for (int64_t i = 1; i <= last && i < ATTEMPT_BITS; i++)
        if ((entry->attempts >> i & 1) == 0)
            return false;
    return true;
}

static bool
is_poisoned(const cascade_execution_row *row)
{
    return row->error != NULL && strncmp(row->error, "poisoned", 8) == 0;
}

/* It failed after the cascade was cancelled: the last attempt may have been
 * none, since what was not begun is failed without being entered. */
static bool
is_unwanted(const oracle_view *v, const oracle_fact *fact)
{
    if (fact->row->status != CASCADE_EXECUTION_FAILED || !fact->continued)
        return false;
    for (size_t i = 0; i < v->count; i++)
        if (v->facts[i].cancel && (int64_t)i <= fact->at)
            return true;
    return false;
}

/* A step in which nothing of the user's runs: an answer, or another program. */
static bool
is_without_function(const cascade_execution_row *row)
{
    static const char answer[] = "cascade.step:answer/";
    csc_json_span output;

    return strncmp(row->node_name, answer, strlen(answer)) == 0 ||
           (row->status == CASCADE_EXECUTION_COMPLETED &&
            oracle_member(row, "output", &output) &&
            strncmp(output.data, PROGRAM_RESULT, strlen(PROGRAM_RESULT)) == 0);
}

static void
check_recorded(oracle_view *v, const oracle_fact *fact,
               const oracle_entry *entry)
{
    const cascade_execution_row *row = fact->row;
    int64_t attempts = fact->attempts - is_unwanted(v, fact);

    if (is_without_function(row) && entry == NULL)
        return;
    if (is_poisoned(row) || fact->over || fact->deadline ||
        (fact->cancelled && fact->attempts == 0))
        return; /* its engines may not have come to enter it */
    if (fact->external) {
        if (entry != NULL)
            oracle_fail(v->o, "G4", &v->c->id, row->function_id,
                        "completed from outside, but entered");
        return;
    }
    if (oracle_judge(&v->rows, row) != ORACLE_RUN && entry == NULL)
        return; /* a join that was not to be run */
    if (fact->cancelled && entry != NULL)
        return; /* an attempt may have begun in an engine that died */
    if (entry == NULL && attempts == 0)
        return;
    if (entry == NULL) {
        if (!fact->undo || row->status != CASCADE_EXECUTION_FAILED)
            oracle_fail(v->o, "G4", &v->c->id, row->function_id,
                        "recorded as ended, but never entered");
        return;
    }
    if (fact->step && fact->attempts == 1)
        return;
    if ((!fact->undo && !has_attempts(entry, attempts)) ||
        entry->attempt_max > fact->attempts)
        oracle_fail(v->o, "G4", &v->c->id, row->function_id,
                    "recorded with %" PRId64
                    " attempts, entered up to attempt %d",
                    fact->attempts, entry->attempt_max);
}

static void
check_running(oracle_view *v, const oracle_fact *fact,
              const oracle_entry *entry)
{
    int attempt_max = entry != NULL ? entry->attempt_max : 0;

    if (fact->attempts > 0 &&
        (entry == NULL || !has_attempts(entry, fact->attempts)))
        oracle_fail(v->o, "G4", &v->c->id, fact->row->function_id,
                    "%" PRId64 " failed attempts recorded, not all entered",
                    fact->attempts);
    if (v->o->follow && attempt_max > fact->attempts + 1)
        oracle_fail(v->o, "G4", &v->c->id, fact->row->function_id,
                    "attempt %d entered, %" PRId64 " failures recorded",
                    attempt_max, fact->attempts);
}

void
oracle_check_entries(oracle_view *v)
{
    if (v->o->entry_count == 0)
        return; /* a test without oracle_ran() */
    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];
        const oracle_entry *entry =
            oracle_entry_find(v->o, fact->row->node_instance_id);

        if (fact->wait || fact->receipt || fact->carried || fact->mark ||
            fact->child)
            continue; /* nothing is entered for it */
        if (oracle_fact_ended(fact))
            check_recorded(v, fact, entry);
        else
            check_running(v, fact, entry);
    }
}
