/* SPDX-License-Identifier: MIT
 *
 * The rows of one cascade by themselves. See oracle.h.
 *
 * HOW COMMITS SHOW IN THE ROWS. All that ended in one commit has the same `at`:
 * the fn_id before it. What that commit inserted (steps, and the children of
 * what ended) has the ids that follow. So an inserted row's `at` (a step's own,
 * a child's parent's) is the highest `at` of the cascade that is below its id:
 * otherwise another commit came in between, and the parts of this one became
 * visible apart (G1).
 *
 *   ids   0 1 2 | 3 4 | 5 6
 *               at 2  at 4    0 ended in the commit that wrote 3 and 4
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "state/state.h"
#include "support/oracle_internal.h"

#define STEP_PREFIX "cascade.step:"
#define SLEEP_PREFIX "cascade.sleep:"
#define UNDO_PREFIX "cascade.undo:"
#define SAGA_PREFIX "cascade.saga:"
#define VERSION_PREFIX "cascade.version:"
#define AWAIT_PREFIX "cascade.await:"
#define GATHER_PREFIX "cascade.gather:"
#define CHILD_PREFIX "cascade.child:"
#define SIGNAL_PREFIX "cascade.signal:"
#define CANCEL "cascade.cancel"
#define PAUSE "cascade.pause"
#define RESUME "cascade.resume"
#define RETRY "cascade.retry"
#define DEADLINE_NAME "cascade.deadline"

bool
oracle_member(const cascade_execution_row *row, const char *name,
              csc_json_span *span)
{
    *span = (csc_json_span){0};
    return row->full_output != NULL && row->full_output[0] == '{' &&
           csc_json_read_member(row->full_output, name, span);
}

static int64_t
number_of(const cascade_execution_row *row, const char *name, int64_t none)
{
    csc_json_span span;
    int64_t number = none;

    if (oracle_member(row, name, &span) && !csc_json_read_i64(span, &number))
        number = none;
    return number;
}

/* ---- Decoding ----------------------------------------------------------- */

/* <cascade>/<parent or ->/<name>#<n>, or
 * <cascade>/message/<kind>/<request id>, where the cascade may be the first run
 * of this one */
static bool
decode_path(const oracle_view *v, oracle_fact *fact)
{
    const char *path = fact->row->node_instance_id;
    const char *name = fact->row->node_name;
    char expected[CASCADE_UUID_TEXT_SIZE + 1];
    char *end = NULL;

    fact->parent = ORACLE_NO_ID;
    if (fact->receipt && oracle_run_number(&v->rows) > 1)
        return true;
    (void)cascade_uuid_format(&v->c->id, expected);
    strcat(expected, "/");
    if (strncmp(path, expected, strlen(expected)) != 0)
        return false;
    path += strlen(expected);
    if (fact->receipt)
        return true;
    if (path[0] == '-')
        end = (char *)path + 1;
    else
        fact->parent = (int32_t)strtol(path, &end, 10);
    if (end == path || *end != '/' || fact->parent < ORACLE_NO_ID ||
        strncmp(end + 1, name, strlen(name)) != 0)
        return false;
    path = end + 1 + strlen(name);
    if (*path != '#')
        return false;
    fact->nth = strtol(path + 1, &end, 10);
    return end != path + 1 && *end == '\0' && fact->nth >= 0;
}

static bool
is_named(const cascade_execution_row *row, const char *prefix)
{
    return strncmp(row->node_name, prefix, strlen(prefix)) == 0;
}

int64_t
oracle_parent_of(const char *path)
{
    path += CASCADE_UUID_TEXT_SIZE; /* and the slash */
    return *path == '-' || *path == 'm' ? ORACLE_NO_ID : strtol(path, NULL, 10);
}

const char *
oracle_request_of(const char *path)
{
    const char *rest = path + CASCADE_UUID_TEXT_SIZE;

    if (strlen(path) < CASCADE_UUID_TEXT_SIZE ||
        strncmp(rest, "message/", 8) != 0)
        return NULL;
    rest = strchr(rest + 8, '/');
    return rest != NULL ? rest + 1 : NULL;
}

static bool
is_true(const cascade_execution_row *row, const char *name)
{
    csc_json_span span;

    return oracle_member(row, name, &span) && csc_json_read_is(span, "true");
}

static bool
is_over(const cascade_execution_row *row)
{
    return row->status == CASCADE_EXECUTION_FAILED && row->error != NULL &&
           (strncmp(row->error, "deadline passed", 15) == 0 ||
            strncmp(row->error, "start timeout", 13) == 0);
}

static void
decode_kind(oracle_fact *fact)
{
    const cascade_execution_row *row = fact->row;

    fact->mark = is_named(row, SAGA_PREFIX) || is_named(row, VERSION_PREFIX);
    fact->undo = is_named(row, UNDO_PREFIX);
    fact->step = is_named(row, STEP_PREFIX) || fact->undo || fact->mark;
    fact->await = is_named(row, AWAIT_PREFIX);
    fact->gather = is_named(row, GATHER_PREFIX);
    fact->child = is_named(row, CHILD_PREFIX);
    fact->wait = fact->await || fact->gather || is_named(row, SLEEP_PREFIX);
    fact->part = fact->step || fact->wait || fact->child;
    fact->deadline = strcmp(row->node_name, DEADLINE_NAME) == 0;
    fact->over = is_over(row);
    fact->receipt = oracle_request_of(row->node_instance_id) != NULL;
    fact->undelivered = fact->receipt &&
                        row->status == CASCADE_EXECUTION_FAILED &&
                        fact->continued;
    fact->carried = !fact->receipt && (is_named(row, SIGNAL_PREFIX) ||
                                       strcmp(row->node_name, PAUSE) == 0);
    fact->signal = (fact->receipt || fact->carried) &&
                   is_named(row, SIGNAL_PREFIX) &&
                   row->status == CASCADE_EXECUTION_COMPLETED;
    fact->cancel = fact->receipt && strcmp(row->node_name, CANCEL) == 0 &&
                   row->status != CASCADE_EXECUTION_COMPLETED &&
                   !fact->undelivered;
}

static void
decode_record(oracle_fact *fact)
{
    const cascade_execution_row *row = fact->row;
    csc_json_span span;

    fact->at = number_of(row, "at", ORACLE_NO_ID);
    fact->attempts = number_of(row, "attempts", 0);
    fact->instead_of = number_of(row, "instead_of", ORACLE_NO_ID);
    fact->not_before_ms = number_of(row, "not_before", CASCADE_TIME_NONE);
    fact->took = number_of(row, "signal", ORACLE_NO_ID);
    fact->from = number_of(row, "from", ORACLE_NO_ID);
    fact->continued = is_true(row, "continue");
    fact->cancelled = is_true(row, "cancelled");
    fact->timed_out = is_true(row, "timed_out");
    fact->has_steps = oracle_member(row, "steps", &span);
    (void)oracle_member(row, "after", &fact->after);
    (void)oracle_member(row, "spawned", &fact->spawned);
    (void)oracle_member(row, "keys", &fact->keys);
    fact->external = !is_named(row, "cascade.") &&
                     (oracle_member(row, "by", &span) || fact->timed_out);
    fact->patient = oracle_member(row, "token", &span) &&
                    !oracle_member(row, "deadline", &span);
    decode_kind(fact);
}

bool
oracle_decode(oracle_view *v)
{
    v->count = v->rows.execution_count;
    v->facts = calloc(v->count + 1, sizeof(*v->facts));
    if (v->facts == NULL)
        abort();
    for (size_t i = 0; i < v->count; i++) {
        oracle_fact *fact = &v->facts[i];

        fact->row = &v->rows.executions[i];
        decode_record(fact);
        if (!decode_path(v, fact)) {
            oracle_fail(v->o, "G5", &v->c->id, fact->row->function_id,
                        "node_instance_id is no path: %s",
                        fact->row->node_instance_id);
            return false;
        }
        if (fact->row->function_id != (int32_t)i) {
            oracle_fail(v->o, "G5", &v->c->id, fact->row->function_id,
                        "is the %zuth of its cascade: ids are not dense, or "
                        "one was given twice",
                        i);
            return false;
        }
    }
    return true;
}

const oracle_fact *
oracle_fact_find(const oracle_view *v, int64_t function_id)
{
    if (function_id < 0 || function_id >= (int64_t)v->count)
        return NULL;
    return &v->facts[function_id];
}

bool
oracle_fact_ended(const oracle_fact *fact)
{
    return fact->row->status != CASCADE_EXECUTION_RUNNING;
}

cascade_status
oracle_status(const oracle_view *v)
{
    bool running = false;

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (fact->row->status == CASCADE_EXECUTION_FAILED && !fact->continued)
            return CASCADE_ERROR;
        running = running || !oracle_fact_ended(fact);
    }
    return running ? CASCADE_RUNNING : CASCADE_COMPLETED;
}

/* ---- One execution ------------------------------------------------------ */

static void
fail_fact(const oracle_view *v, const oracle_fact *fact, const char *guarantee,
          const char *what)
{
    oracle_fail(v->o, guarantee, &v->c->id, fact->row->function_id, "%s", what);
}

static void
check_canonical(const oracle_view *v, int32_t function_id, const char *what,
                const char *text)
{
    csc_buf out = {0};
    bool same = text == NULL;

    if (text != NULL &&
        csc_json_canon_stored(what, text, strlen(text), &out) == CASCADE_OK)
        same = strcmp(out.data, text) == 0;
    if (!same)
        oracle_fail(v->o, "G13", &v->c->id, function_id,
                    "%s is not canonical JSON", what);
    csc_buf_fini(&out);
}

/* The columns that depend on the status. */
static void
check_columns(const oracle_view *v, const oracle_fact *fact)
{
    const cascade_execution_row *row = fact->row;
    bool ended = oracle_fact_ended(fact);

    if (memcmp(&row->cascade_id, &v->c->id, sizeof(v->c->id)) != 0)
        fail_fact(v, fact, "G5", "belongs to another cascade");
    if (ended != (row->completed_at_ms != CASCADE_TIME_NONE))
        fail_fact(v, fact, "G1", "its status and its end disagree");
    if (ended &&
        (fact->at == ORACLE_NO_ID ||
         (fact->attempts < 1 && fact->after.data == NULL && !fact->receipt &&
          !fact->carried && !fact->cancelled && !fact->child && !fact->over)))
        fail_fact(v, fact, "G1", "ended without a record of its end");
    if (!ended && fact->at != ORACLE_NO_ID)
        fail_fact(v, fact, "G1", "runs with a record of its end");
    if (row->status == CASCADE_EXECUTION_FAILED && row->error == NULL)
        fail_fact(v, fact, "G14", "failed without an error");
    if (row->status == CASCADE_EXECUTION_COMPLETED && row->error != NULL)
        fail_fact(v, fact, "G1", "completed with an error");
    if (!ended && (fact->attempts > 0 || fact->has_steps) && row->error == NULL)
        fail_fact(v, fact, "G14", "its failed attempt left no error");
    if (fact->step && !ended)
        fail_fact(v, fact, "G1", "a step that is not recorded as ended");
    check_canonical(v, row->function_id, "input", row->input);
    check_canonical(v, row->function_id, "full_output", row->full_output);
}

/* Its place under its parent. */
static void
check_parent(const oracle_view *v, const oracle_fact *fact)
{
    const oracle_fact *parent = oracle_fact_find(v, fact->parent);
    int32_t id = fact->row->function_id;

    if (fact->receipt)
        return;
    if (fact->parent == ORACLE_NO_ID) {
        if (fact->part || (!fact->deadline && id > 0 &&
                           (v->facts[id - 1].receipt ||
                            v->facts[id - 1].parent != ORACLE_NO_ID)))
            fail_fact(v, fact, "G1", "has no parent, but is no first node");
        return;
    }
    if (parent == NULL || fact->parent >= id) {
        fail_fact(v, fact, "G1", "its parent does not exist");
        return;
    }
    if (fact->part && parent->part)
        fail_fact(v, fact, "G1", "is the part of a part");
    if (!fact->part && parent->row->status != CASCADE_EXECUTION_COMPLETED &&
        !parent->continued)
        fail_fact(v, fact, "G1", "its parent has neither completed nor failed");
}

/* What failed has no other children than what runs instead of it. */
static void
check_instead(const oracle_view *v, const oracle_fact *fact)
{
    const oracle_fact *parent = oracle_fact_find(v, fact->parent);
    int64_t expected = ORACLE_NO_ID;

    if (fact->cancelled && fact->instead_of == ORACLE_NO_ID)
        return; /* it never began */
    if (parent != NULL && !fact->part &&
        parent->row->status == CASCADE_EXECUTION_FAILED)
        expected = parent->instead_of != ORACLE_NO_ID
                       ? parent->instead_of
                       : parent->row->function_id;
    if (fact->instead_of != expected)
        fail_fact(v, fact, "G1", "runs instead of another one than its parent");
}

/* A time that it keeps, and a node that waits for it. */
static void
check_wait(const oracle_view *v, const oracle_fact *fact)
{
    const oracle_fact *node = oracle_fact_find(v, fact->parent);
    const cascade_execution_row *row = fact->row;
    bool by_time =
        fact->wait && !fact->gather && (!fact->await || fact->timed_out);

    if (!fact->wait)
        return;
    if (by_time && !fact->cancelled && fact->not_before_ms == CASCADE_TIME_NONE)
        fail_fact(v, fact, "G8", "waits without a time");
    if (by_time && row->status == CASCADE_EXECUTION_COMPLETED &&
        row->completed_at_ms < fact->not_before_ms)
        fail_fact(v, fact, "G8", "was over before its time");
    if (node != NULL && node->row->status == CASCADE_EXECUTION_COMPLETED &&
        !oracle_fact_ended(fact))
        fail_fact(v, fact, "G8", "its node has completed without it");
}

/* Compensations run in reverse order: the last of a name first. */
static void
check_reverse(const oracle_view *v, const oracle_fact *fact)
{
    for (int32_t i = 0; i < fact->row->function_id; i++) {
        const oracle_fact *other = &v->facts[i];

        if (other->parent == fact->parent && other->nth <= fact->nth &&
            strcmp(other->row->node_name, fact->row->node_name) == 0)
            fail_fact(v, fact, "G5", "its path exists already, or comes late");
    }
}

/* Among executions of the same name and parent. One that waits for a child has
 * the number of that: children may be awaited in any order. */
static void
check_unique(const oracle_view *v, const oracle_fact *fact)
{
    bool previous = fact->nth == 0 || fact->gather;

    if (fact->undo) {
        check_reverse(v, fact);
        return;
    }
    if (fact->receipt || fact->carried)
        return; /* see oracle_messages.c, oracle_runs.c */
    for (int32_t i = 0; i < fact->row->function_id; i++) {
        const oracle_fact *other = &v->facts[i];

        if (other->receipt || other->parent != fact->parent ||
            strcmp(other->row->node_name, fact->row->node_name) != 0)
            continue;
        if (fact->gather ? other->nth == fact->nth : other->nth >= fact->nth)
            fail_fact(v, fact, "G5", "its path exists already, or comes late");
        previous = previous || other->nth == fact->nth - 1;
    }
    if (!previous)
        fail_fact(v, fact, "G5", "the path before its own does not exist");
}

/* What it came after: earlier siblings. */
static void
check_after(const oracle_view *v, const oracle_fact *fact)
{
    csc_json_iter iter;
    int64_t id = 0;
    int64_t last = ORACLE_NO_ID;

    if (fact->after.data == NULL)
        return;
    csc_json_read_iter_init(&iter, fact->after.data, fact->after.len);
    while (csc_json_read_next(&iter)) {
        const oracle_fact *other =
            csc_json_read_i64(iter.value, &id) ? oracle_fact_find(v, id) : NULL;

        if (other == NULL || id <= last || id >= fact->row->function_id ||
            other->parent != fact->parent || other->part != fact->gather ||
            other->child != fact->gather) {
            fail_fact(v, fact, "G1", "`after` names no earlier siblings");
            return;
        }
        last = id;
    }
}

/* ---- Both ways between parent and child --------------------------------- */

static size_t
count_children(const oracle_view *v, const oracle_fact *fact)
{
    size_t count = 0;

    for (size_t i = 0; i < v->count; i++)
        if (!v->facts[i].part && v->facts[i].parent == fact->row->function_id)
            count++;
    return count;
}

static void
check_spawned(const oracle_view *v, const oracle_fact *fact)
{
    csc_json_iter iter;
    int64_t id = 0;
    int64_t last = fact->at;
    size_t named = 0;

    csc_json_read_iter_init(&iter, fact->spawned.data, fact->spawned.len);
    while (fact->spawned.data != NULL && csc_json_read_next(&iter)) {
        const oracle_fact *child =
            csc_json_read_i64(iter.value, &id) ? oracle_fact_find(v, id) : NULL;

        if (child == NULL || child->parent != fact->row->function_id ||
            child->part)
            fail_fact(v, fact, "G1", "names a child that is not there");
        if (id <= last)
            fail_fact(v, fact, "G1", "names a child older than its own end");
        last = id;
        named++;
    }
    if (named != count_children(v, fact))
        fail_fact(v, fact, "G1", "has children that it does not name");
}

/* ---- Commits ------------------------------------------------------------ */

/* below[id]: the highest `at` of the cascade below id. */
static int64_t *
highest_below(const oracle_view *v)
{
    int64_t *below = calloc(v->count + 1, sizeof(*below));
    int64_t highest = ORACLE_NO_ID;

    if (below == NULL)
        abort();
    for (size_t i = 0; i < v->count; i++)
        if (oracle_fact_ended(&v->facts[i]) && v->facts[i].at >= 0 &&
            v->facts[i].at < (int64_t)v->count)
            below[v->facts[i].at + 1] = v->facts[i].at + 1;
    for (size_t i = 0; i <= v->count; i++) {
        if (below[i] > 0)
            highest = below[i] - 1;
        below[i] = highest;
    }
    return below;
}

static void
check_commits(const oracle_view *v)
{
    int64_t *below = highest_below(v);

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];
        const oracle_fact *parent = oracle_fact_find(v, fact->parent);
        int64_t id = fact->row->function_id;

        /* A step, a receipt, an await whose signal was there, and what is
         * born into a cancelled cascade are inserted when they have ended. */
        bool made_so = fact->step || fact->receipt || fact->carried ||
                       fact->await || fact->cancelled || fact->deadline;

        if (oracle_fact_ended(fact) && (!made_so || fact->at >= id) &&
            !fact->step && (fact->at < id || fact->at > v->rows.cascade.fn_id))
            fail_fact(v, fact, "G1", "its `at` makes no sense");
        if (made_so && oracle_fact_ended(fact) &&
            (fact->step || fact->at < id) && fact->at != below[id])
            fail_fact(v, fact, "G1", "a step or receipt apart from its commit");
        if (!fact->part && parent != NULL && parent->at != below[id])
            fail_fact(v, fact, "G1", "a child apart from its parent's end");
    }
    free(below);
}

/* ---- Events ------------------------------------------------------------- */

/* Whether the first `count` of these events have that key. */
static bool
has_key(const cascade_event_row *events, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(events[i].key, key) == 0)
            return true;
    return false;
}

/* The record's keys are those of the events, in the order of first writes. */
static bool
same_keys(const oracle_fact *fact, const cascade_event_row *events,
          size_t count)
{
    csc_json_iter iter;
    csc_buf key = {0};
    bool same = true;

    csc_json_read_iter_init(&iter, fact->keys.data, fact->keys.len);
    for (size_t i = 0; i < count && same; i++) {
        if (has_key(events, i, events[i].key))
            continue;
        csc_buf_clear(&key);
        csc_json_add_string(&key, events[i].key);
        same = fact->keys.data != NULL && csc_json_read_next(&iter) &&
               iter.value.len == key.len &&
               memcmp(iter.value.data, key.data, key.len) == 0;
    }
    if (same && fact->keys.data != NULL)
        same = !csc_json_read_next(&iter);
    csc_buf_fini(&key);
    return same;
}

static void
check_events(const oracle_view *v)
{
    const cascade_event_row *events = v->rows.events;
    size_t at = 0;

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];
        size_t from = at;

        while (at < v->rows.event_count &&
               events[at].function_id == fact->row->function_id)
            at++;
        if (at > from && fact->row->status != CASCADE_EXECUTION_COMPLETED)
            fail_fact(v, fact, "G1", "wrote events, but has not completed");
        else if (!same_keys(fact, events != NULL ? &events[from] : NULL,
                            at - from))
            fail_fact(v, fact, "G1", "its events are not those it recorded");
    }
    if (at < v->rows.event_count)
        oracle_fail(v->o, "G1", &v->c->id, events[at].function_id,
                    "an event without a writer");
    for (size_t i = 0; i < v->rows.event_count; i++) {
        check_canonical(v, events[i].function_id, "value", events[i].value);
        check_canonical(v, events[i].function_id, "ui value",
                        events[i].ui_value);
        if (i > 0 && events[i].function_id == events[i - 1].function_id &&
            events[i].created_at_us <= events[i - 1].created_at_us)
            oracle_fail(v->o, "G7", &v->c->id, events[i].function_id,
                        "its events are not in the order of time");
    }
}

/* ---- The cascade -------------------------------------------------------- */

/* Whether one of its waits goes on. */
static bool
is_waiting(const oracle_view *v, const oracle_fact *fact)
{
    for (size_t i = 0; i < v->count; i++)
        if (v->facts[i].wait && !oracle_fact_ended(&v->facts[i]) &&
            v->facts[i].parent == fact->row->function_id)
            return true;
    return false;
}

/* Whether it may go on by itself when its time has come. */
static bool
has_turn(const oracle_view *v, const oracle_fact *fact)
{
    return !oracle_fact_ended(fact) && !fact->cancel && !fact->child &&
           !fact->patient && !is_waiting(v, fact) &&
           (!fact->await || fact->not_before_ms != CASCADE_TIME_NONE);
}

bool
oracle_is_paused(const dump_rows *rows)
{
    bool paused = false;

    for (size_t i = 0; i < rows->execution_count; i++) {
        const cascade_execution_row *row = &rows->executions[i];

        if (strcmp(row->node_name, CANCEL) == 0 &&
            row->status == CASCADE_EXECUTION_RUNNING)
            return false;
        if (row->status != CASCADE_EXECUTION_COMPLETED)
            continue;
        if (strcmp(row->node_name, PAUSE) == 0)
            paused = true;
        else if (strcmp(row->node_name, RESUME) == 0 ||
                 strcmp(row->node_name, RETRY) == 0)
            paused = false;
    }
    return paused && rows->cascade.status == CASCADE_RUNNING;
}

/* When the first execution may run; CASCADE_TIME_NONE for never, 0: at once.
 * While the cascade is `paused` only what waits from outside ends by time. */
static int64_t
earliest_due(const oracle_view *v, bool paused)
{
    int64_t earliest = CASCADE_TIME_NONE;

    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];
        oracle_verdict verdict = oracle_judge(&v->rows, fact->row);
        int64_t due = number_of(fact->row, "deadline", fact->not_before_ms);

        if (!has_turn(v, fact) || verdict == ORACLE_WAIT)
            continue;
        if (paused && number_of(fact->row, "deadline", CASCADE_TIME_NONE) ==
                          CASCADE_TIME_NONE)
            continue;
        if (due == CASCADE_TIME_NONE || verdict != ORACLE_RUN)
            due = 0; /* not to be run: recorded at once */
        if (earliest == CASCADE_TIME_NONE || due < earliest)
            earliest = due;
    }
    return earliest;
}

/* It waits for nothing but a signal, a completion or the end of a child. */
static bool
waits_for_message(const oracle_view *v)
{
    for (size_t i = 0; i < v->count; i++)
        if ((v->facts[i].await || v->facts[i].child || v->facts[i].patient) &&
            !oracle_fact_ended(&v->facts[i]))
            return true;
    return false;
}

/* One that has ended has a run row only to receive what still comes. */
static bool
may_have_run(const oracle_view *v)
{
    return v->rows.cascade.status == CASCADE_RUNNING ||
           oracle_is_written_to(v) || oracle_has_family(v);
}

/* The deadline of the cascade; CASCADE_TIME_NONE without one. */
static int64_t
deadline_of(const oracle_view *v)
{
    csc_json_iter iter;
    csc_json_span meta;
    int64_t deadline = CASCADE_TIME_NONE;

    if (v->count == 0 || !oracle_member(v->facts[0].row, "cascade", &meta))
        return deadline;
    csc_json_read_iter_init(&iter, meta.data, meta.len);
    while (csc_json_read_next(&iter))
        if (csc_json_read_is(iter.key, "deadline"))
            (void)csc_json_read_i64(iter.value, &deadline);
    return deadline;
}

/* When the cascade must be looked at again. */
static int64_t
wake_by(const oracle_view *v, bool paused)
{
    int64_t due = earliest_due(v, paused);
    int64_t deadline = deadline_of(v);

    if (deadline != CASCADE_TIME_NONE &&
        (due == CASCADE_TIME_NONE || deadline < due))
        return deadline;
    return due;
}

static void
check_deadline(const oracle_view *v)
{
    for (size_t i = 0; i < v->count; i++) {
        const oracle_fact *fact = &v->facts[i];

        if (fact->deadline && (deadline_of(v) == CASCADE_TIME_NONE ||
                               fact->row->completed_at_ms < deadline_of(v)))
            fail_fact(v, fact, "G8", "a deadline that had not passed");
    }
}

static void
check_run(const oracle_view *v)
{
    bool paused = oracle_is_paused(&v->rows);
    int64_t due = wake_by(v, paused);
    bool running = v->rows.cascade.status == CASCADE_RUNNING;

    if (v->run.found ? !may_have_run(v) : running)
        oracle_fail(v->o, "G2", &v->c->id, ORACLE_NO_ID,
                    v->run.found ? "ended, but has a run row"
                                 : "RUNNING, but has no run row");
    if (!v->run.found || !running)
        return;
    if (!paused && earliest_due(v, false) == CASCADE_TIME_NONE &&
        !waits_for_message(v))
        oracle_fail(v->o, "G2", &v->c->id, ORACLE_NO_ID,
                    "RUNNING, but nothing of it can ever run");
    if (due == CASCADE_TIME_NONE)
        return;
    if (due < v->now_ms)
        due = v->now_ms;
    if (!v->run.owned && v->run.wake_at_ms > due + v->o->slack_ms)
        oracle_fail(v->o, "G8", &v->c->id, ORACLE_NO_ID,
                    "is free and wakes %" PRId64 " ms too late",
                    v->run.wake_at_ms - due);
}

/* The id of a cascade follows from its key. */
static void
check_key(const oracle_view *v, csc_json_span span)
{
    char *key = NULL;
    cascade_uuid id;

    if (!csc_json_read_text(span, &key) || key == NULL)
        return;
    id = csc_uuid_v8(v->rows.cascade.user_id, key, oracle_run_number(&v->rows));
    if (memcmp(&id, &v->c->id, sizeof(id)) != 0)
        oracle_fail(v->o, "G10", &v->c->id, ORACLE_NO_ID,
                    "its id does not follow from its key");
    csc_mem_free(key);
}

/* What its first execution tells of the whole. */
static void
check_meta(const oracle_view *v)
{
    csc_json_iter iter;
    csc_json_span meta;
    int64_t priority = -1;

    if (oracle_member(&v->rows.executions[0], "cascade", &meta)) {
        csc_json_read_iter_init(&iter, meta.data, meta.len);
        while (csc_json_read_next(&iter)) {
            if (csc_json_read_is(iter.key, "key"))
                check_key(v, iter.value);
            if (csc_json_read_is(iter.key, "priority"))
                (void)csc_json_read_i64(iter.value, &priority);
        }
    }
    if (priority < 0)
        oracle_fail(v->o, "G2", &v->c->id, 0, "has no record of its cascade");
    else if (v->run.found && v->run.priority != priority &&
             v->rows.cascade.status == CASCADE_RUNNING)
        oracle_fail(v->o, "G2", &v->c->id, ORACLE_NO_ID,
                    "its run has another priority than it was started with");
}

static void
check_hydration(const oracle_view *v)
{
    csc_state state;

    if (dump_rows_hydrate(&v->rows, &state) != CASCADE_OK)
        oracle_fail(v->o, "G7", &v->c->id, ORACLE_NO_ID,
                    "cannot be hydrated: %s", cascade_errmsg());
    else if (csc_view_status(&state) != v->rows.cascade.status ||
             state.fn_id != v->rows.cascade.fn_id ||
             (v->rows.cascade.status == CASCADE_RUNNING &&
              (csc_due_queue_wake_at(&state) != wake_by(v, false) ||
               csc_view_is_paused(&state) != oracle_is_paused(&v->rows))))
        oracle_fail(v->o, "G7", &v->c->id, ORACLE_NO_ID,
                    "hydrates to another state than its rows tell");
    csc_state_fini(&state);
}

void
oracle_check_rows(oracle_view *v)
{
    const cascade_row *row = &v->rows.cascade;

    if (v->count == 0 || row->fn_id != (int32_t)v->count - 1)
        oracle_fail(v->o, "G5", &v->c->id, ORACLE_NO_ID,
                    "fn_id is %" PRId32 " with %zu executions", row->fn_id,
                    v->count);
    if (v->count == 0)
        return;
    for (size_t i = 0; i < v->count; i++) {
        check_columns(v, &v->facts[i]);
        check_parent(v, &v->facts[i]);
        check_instead(v, &v->facts[i]);
        check_wait(v, &v->facts[i]);
        check_unique(v, &v->facts[i]);
        check_after(v, &v->facts[i]);
        oracle_check_join(v, &v->facts[i]);
        oracle_check_late(v, &v->facts[i]);
        check_spawned(v, &v->facts[i]);
    }
    check_commits(v);
    check_deadline(v);
    check_events(v);
    oracle_check_waits(v);
    if (row->status != oracle_status(v))
        oracle_fail(v->o, "G2", &v->c->id, ORACLE_NO_ID,
                    "status is %d, by its rows it must be %d", (int)row->status,
                    (int)oracle_status(v));
    if (!v->torn)
        check_run(v);
    check_meta(v);
    check_hydration(v);
}
