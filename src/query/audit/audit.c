/* SPDX-License-Identifier: MIT
 *
 * See audit.h. What a row names may come later, so that is looked up when all
 * are there.
 */
#include "query/audit/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/data/buf.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/status.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "query/audit/audit_family.h"
#include "query/audit/audit_seal.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/start_record.h"
#include "state/state.h"
#include "state/supersede.h"

#define FORK_PART "/fork/"
#define PATH_ROOM 1200

#define AUDIT_NAME(name, label, text) label,
#define AUDIT_TEXT(name, label, text) text,
static const char *const names[] = {CSC_AUDIT_RULES(AUDIT_NAME)};
static const char *const texts[] = {CSC_AUDIT_RULES(AUDIT_TEXT)};

const char *
csc_audit_name(csc_audit_rule rule)
{
    return names[rule];
}

const char *
csc_audit_text(csc_audit_rule rule)
{
    return texts[rule];
}

/* ---- Findings ----------------------------------------------------------- */

void
csc_audit_add(csc_audit *audit, csc_audit_rule rule, int32_t function_id,
              const char *format, ...)
{
    csc_audit_finding *finding = NULL;
    char text[CSC_ERRMSG_SIZE];
    va_list args;

    audit->finding_count++;
    if (audit->finding_count > CSC_AUDIT_FINDINGS_MAX)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    finding = csc_arena_alloc(&audit->arena, 1, sizeof(*finding));
    if (finding == NULL)
        return; /* the arena has failed */
    finding->rule = rule;
    finding->function_id = function_id;
    finding->text = csc_arena_strdup(&audit->arena, text);
    *audit->last = finding;
    audit->last = &finding->next;
}

static cascade_err
result(const csc_audit *audit)
{
    return audit->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* ---- Beginning ---------------------------------------------------------- */

cascade_err
csc_audit_begin(csc_audit *audit, const cascade_row *row,
                const cascade_run_row *run)
{
    csc_audit_fini(audit);
    audit->last = &audit->first;
    audit->row = *row;
    audit->row.user_id = NULL;
    audit->user_id = csc_arena_strdup(&audit->arena, row->user_id);
    audit->has_run = run != NULL;
    if (run != NULL) {
        audit->run = *run;
        audit->run.needs = NULL;
        audit->run_queue = csc_arena_strdup(&audit->arena, run->queue);
        audit->run.queue = NULL;
    }
    return result(audit);
}

void
csc_audit_fini(csc_audit *audit)
{
    csc_arena_fini(&audit->arena);
    csc_start_record_fini(&audit->meta);
    csc_supersede_fini(&audit->course);
    csc_mem_free(audit->seen);
    csc_mem_free(audit->named);
    csc_mem_free(audit->kin);
    csc_audit_seal_fini(audit);
    *audit = (csc_audit){0};
}

/* ---- What is known ------------------------------------------------------ */

static int
compare_seen(const void *key, const void *item)
{
    int32_t id = *(const int32_t *)key;
    int32_t other = ((const csc_audit_seen *)item)->function_id;

    return id < other ? -1 : id > other;
}

const csc_audit_seen *
csc_audit_find(const csc_audit *audit, int32_t function_id)
{
    if (audit->seen_count == 0)
        return NULL;
    return bsearch(&function_id, audit->seen, audit->seen_count,
                   sizeof(*audit->seen), compare_seen);
}

int32_t
csc_audit_highest(const csc_audit *audit)
{
    return audit->seen_count > 0
               ? audit->seen[audit->seen_count - 1].function_id
               : -1;
}

bool
csc_audit_is_own(const csc_audit *audit)
{
    return audit->has_meta && !audit->foreign;
}

cascade_status
csc_audit_status(const csc_audit *audit)
{
    bool running = false;

    for (size_t i = 0; i < audit->seen_count; i++) {
        const csc_audit_seen *seen = &audit->seen[i];

        if (csc_supersede_by(&audit->course, seen->function_id) !=
            CSC_COURSE_NONE)
            continue;
        if (seen->ends)
            return CASCADE_ERROR;
        if (seen->status == CASCADE_EXECUTION_RUNNING)
            running = true;
    }
    return running ? CASCADE_RUNNING : CASCADE_COMPLETED;
}

static cascade_err
note_seen(csc_audit *audit, const cascade_execution_row *row,
          const csc_record *record, int32_t parent)
{
    void *seen = audit->seen;

    if (csc_mem_grow(&seen, &audit->seen_room, audit->seen_count + 1,
                     sizeof(*audit->seen)) != 0)
        return csc_fail_memory();
    audit->seen = seen;
    audit->seen[audit->seen_count++] = (csc_audit_seen){
        .function_id = row->function_id,
        .parent = parent,
        .status = (unsigned char)row->status,
        .ends = row->status == CASCADE_EXECUTION_FAILED && !record->continued,
        .signal = csc_signals_is_signal(row),
        .early = record->early > 0 ? record->early : 0};
    return CASCADE_OK;
}

static cascade_err
note_named(csc_audit *audit, int32_t from, int64_t to, csc_audit_as as)
{
    void *named = audit->named;

    if (to < 0 || to > INT32_MAX)
        to = INT32_MAX; /* no function_id */
    if (csc_mem_grow(&named, &audit->named_room, audit->named_count + 1,
                     sizeof(*audit->named)) != 0)
        return csc_fail_memory();
    audit->named = named;
    audit->named[audit->named_count++] =
        (csc_audit_named){.from = from, .to = (int32_t)to, .as = as};
    return CASCADE_OK;
}

static cascade_err
note_list(csc_audit *audit, int32_t from, csc_json_span list, csc_audit_as as)
{
    csc_json_iter iter;
    cascade_err err = CASCADE_OK;

    if (list.data == NULL)
        return CASCADE_OK;
    csc_json_read_iter_init(&iter, list.data, list.len);
    while (err == CASCADE_OK && csc_json_read_next(&iter)) {
        int64_t id = -1;

        (void)csc_json_read_i64(iter.value, &id);
        err = note_named(audit, from, id, as);
    }
    return err;
}

/* ---- Executions --------------------------------------------------------- */

/* In a cascade of ours: not one of ours whose path was changed, which still
 * records its end. A fork keeps what others have written. */
static bool
is_of_others(const cascade_execution_row *row, const csc_record *record)
{
    cascade_uuid id;
    csc_json_span at;
    const char *rest = csc_kind_skip_id(row->node_instance_id, &id);

    if (rest != NULL && strncmp(rest, FORK_PART, strlen(FORK_PART)) == 0)
        return record->foreign;
    return record->foreign &&
           (row->full_output == NULL ||
            !csc_json_read_member(row->full_output, "at", &at));
}

/* The path says parent and occurrence; the name must be the row's. */
static void
check_path(csc_audit *audit, const cascade_execution_row *row, int32_t parent,
           uint32_t occurrence)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char up[16] = "-";
    char path[PATH_ROOM];

    (void)cascade_uuid_format(&row->cascade_id, id);
    if (parent != CSC_NO_PARENT)
        (void)snprintf(up, sizeof(up), "%d", parent);
    (void)snprintf(path, sizeof(path), "%s/%s/%s#%u", id, up, row->node_name,
                   occurrence);
    if (strcmp(path, row->node_instance_id) != 0)
        csc_audit_add(audit, CSC_AUDIT_PATH, row->function_id,
                      "execution %d has a node_instance_id of another node, "
                      "or one that is written otherwise",
                      row->function_id);
}

static void
check_parent(csc_audit *audit, const cascade_execution_row *row, int32_t parent)
{
    const csc_audit_seen *up = csc_audit_find(audit, parent);
    bool part = strncmp(row->node_name, CSC_RESERVED_PREFIX,
                        strlen(CSC_RESERVED_PREFIX)) == 0;

    if (parent == CSC_NO_PARENT)
        return;
    if (up == NULL)
        csc_audit_add(audit, CSC_AUDIT_PARENT, row->function_id,
                      "execution %d is one of execution %d, which does not "
                      "come before it",
                      row->function_id, parent);
    else if (!part && up->status == CASCADE_EXECUTION_RUNNING &&
             csc_supersede_is_done(&audit->course, parent))
        csc_audit_add(audit, CSC_AUDIT_PARENT, row->function_id,
                      "execution %d was spawned by execution %d, which is "
                      "RUNNING",
                      row->function_id, parent);
}

/* Not that it is not before started_at: a clock may be set back. */
static void
check_times(csc_audit *audit, const cascade_execution_row *row)
{
    bool running = row->status == CASCADE_EXECUTION_RUNNING;
    bool completed = row->completed_at_ms != CASCADE_TIME_NONE;

    if (running == completed)
        csc_audit_add(audit, CSC_AUDIT_COMPLETED_AT, row->function_id,
                      "execution %d %s", row->function_id,
                      running ? "is RUNNING and has a completed_at"
                              : "has ended and has no completed_at");
}

static void
check_at(csc_audit *audit, const cascade_execution_row *row,
         const csc_record *record)
{
    if (row->status == CASCADE_EXECUTION_RUNNING)
        return;
    if (record->at == CSC_RECORD_NO_AT)
        csc_audit_add(audit, CSC_AUDIT_RECORD, row->function_id,
                      "execution %d has ended, and does not record when "
                      "(member \"at\" of full_output)",
                      row->function_id);
    else if (record->at > audit->row.fn_id)
        csc_audit_add(audit, CSC_AUDIT_RECORD, row->function_id,
                      "execution %d records an end at fn_id %d, and the "
                      "cascade's is %d",
                      row->function_id, record->at, audit->row.fn_id);
}

/* `reformed`: it was none before it was read (S76). */
static void
check_canonical(csc_audit *audit, int32_t function_id, const char *what,
                const char *text, bool reformed)
{
    csc_buf canonical = {0};
    cascade_err err = CASCADE_OK;

    if (text == NULL)
        return;
    err = csc_json_canon_stored(what, text, strlen(text), &canonical);
    if (err == CASCADE_ERR_NO_MEMORY)
        audit->arena.failed = true;
    else if (err != CASCADE_OK || reformed || strcmp(canonical.data, text) != 0)
        csc_audit_add(audit, CSC_AUDIT_CANONICAL, function_id,
                      "the %s of execution %d is not canonical", what,
                      function_id);
    csc_buf_fini(&canonical);
}

/* What the record of the row names. */
static cascade_err
note_references(csc_audit *audit, const cascade_execution_row *row,
                const csc_record *record)
{
    csc_json_span spawned = {NULL, 0};
    cascade_err err = CASCADE_OK;

    if (row->full_output != NULL)
        (void)csc_json_read_member(row->full_output, "spawned", &spawned);
    err = note_list(audit, row->function_id, spawned, CSC_AUDIT_SPAWNED);
    if (err == CASCADE_OK)
        err =
            note_list(audit, row->function_id, record->after, CSC_AUDIT_AFTER);
    if (err == CASCADE_OK)
        err = note_list(audit, row->function_id, record->late, CSC_AUDIT_LATE);
    if (err == CASCADE_OK && record->instead_of != CSC_RECORD_NO_ID)
        err = note_named(audit, row->function_id, record->instead_of,
                         CSC_AUDIT_INSTEAD_OF);
    if (err == CASCADE_OK && record->signal != CSC_RECORD_NO_ID)
        err = note_named(audit, row->function_id, record->signal,
                         CSC_AUDIT_TAKEN);
    if (err == CASCADE_OK && record->resumes != CSC_RECORD_NO_ID)
        err = note_named(audit, row->function_id, record->resumes,
                         CSC_AUDIT_RESUMED);
    if (err == CASCADE_OK)
        err = note_list(audit, row->function_id, record->supersedes,
                        CSC_AUDIT_SUPERSEDED);
    return err;
}

static cascade_err
note_meta(csc_audit *audit, const cascade_execution_row *row,
          const csc_record *record)
{
    if (row->function_id != 0 || record->meta.data == NULL)
        return CASCADE_OK;
    audit->has_meta = true;
    return csc_start_record_read(record->meta, &audit->meta);
}

cascade_err
csc_audit_execution(csc_audit *audit, const cascade_execution_row *row)
{
    csc_record record;
    int32_t parent = CSC_NO_PARENT;
    uint32_t occurrence = 0;
    bool placed = csc_kind_path(row->node_instance_id, &row->cascade_id,
                                &parent, &occurrence);
    cascade_uuid of;
    bool message = !placed && csc_audit_family_path(row->node_instance_id, &of);
    cascade_err err = CASCADE_OK;

    csc_full_output_read(row, &record);
    err = note_meta(audit, row, &record);
    if (err == CASCADE_OK)
        err = csc_audit_family_execution(audit, row, &record);
    if (err == CASCADE_OK && !placed && !message &&
        (!audit->has_meta || is_of_others(row, &record))) {
        audit->foreign = true;
        return note_seen(audit, row, &record, CSC_NO_PARENT);
    }
    if (placed) {
        check_path(audit, row, parent, occurrence);
        check_parent(audit, row, parent);
    } else if (!message) {
        csc_audit_add(audit, CSC_AUDIT_PATH, row->function_id,
                      "execution %d has a node_instance_id of another form",
                      row->function_id);
    }
    check_times(audit, row);
    check_at(audit, row, &record);
    check_canonical(audit, row->function_id, "input_context", row->input,
                    (row->reformed & CASCADE_REFORMED_FIRST) != 0);
    check_canonical(audit, row->function_id, "full_output", row->full_output,
                    (row->reformed & CASCADE_REFORMED_SECOND) != 0);
    if (err == CASCADE_OK)
        err = csc_supersede_note(&audit->course, row, &record);
    if (err == CASCADE_OK)
        err = note_references(audit, row, &record);
    if (err == CASCADE_OK)
        err = note_seen(audit, row, &record, parent);
    return err == CASCADE_OK ? result(audit) : err;
}

/* ---- Events and messages ------------------------------------------------ */

cascade_err
csc_audit_event(csc_audit *audit, const cascade_event_row *row)
{
    const csc_audit_seen *writer = csc_audit_find(audit, row->function_id);

    audit->event_count++;
    if (!csc_audit_is_own(audit)) {
        if (!audit->document)
            csc_audit_others_event(audit, row);
        return result(audit);
    }
    if (writer != NULL && writer->early > 0)
        audit->seen[writer - audit->seen].early--;
    else if (writer == NULL || writer->status == CASCADE_EXECUTION_RUNNING)
        csc_audit_add(audit, CSC_AUDIT_WRITER, row->function_id,
                      "event %lld was written by execution %d, which %s",
                      (long long)row->id, row->function_id,
                      writer == NULL ? "is not there" : "is RUNNING");
    check_canonical(audit, row->function_id, "value of an event", row->value,
                    (row->reformed & CASCADE_REFORMED_FIRST) != 0);
    check_canonical(audit, row->function_id, "ui_value of an event",
                    row->ui_value,
                    (row->reformed & CASCADE_REFORMED_SECOND) != 0);
    return result(audit);
}

cascade_err
csc_audit_message(csc_audit *audit, const cascade_message_row *row)
{
    cascade_uuid of;
    cascade_err err = csc_audit_family_message(audit, row);

    audit->message_count++;
    if (!csc_audit_family_path(row->path, &of))
        csc_audit_add(audit, CSC_AUDIT_MESSAGE, -1,
                      "message %lld has a path of another form",
                      (long long)row->id);
    return err == CASCADE_OK ? result(audit) : err;
}

/* ---- The whole ---------------------------------------------------------- */

/* One finding for each range. */
void
csc_audit_gaps(csc_audit *audit, int32_t from, const char *why)
{
    int64_t next = from;

    if (audit->document)
        return;
    for (size_t i = 0; i < audit->seen_count; i++) {
        int32_t id = audit->seen[i].function_id;

        if (id == next + 1)
            csc_audit_add(audit, CSC_AUDIT_GAPS, (int32_t)next,
                          "execution %lld is not there%s", (long long)next,
                          why);
        else if (id > next)
            csc_audit_add(audit, CSC_AUDIT_GAPS, (int32_t)next,
                          "executions %lld to %d are not there%s",
                          (long long)next, id - 1, why);
        if (id >= next)
            next = (int64_t)id + 1;
    }
}

/* What is wrong with the naming; NULL for nothing. */
static const char *
judge_named(const csc_audit *audit, const csc_audit_named *named)
{
    const csc_audit_seen *to = csc_audit_find(audit, named->to);

    if (to == NULL)
        return "which is not there";
    switch (named->as) {
    case CSC_AUDIT_SPAWNED:
        return to->parent == named->from ? NULL : "which is another's";
    case CSC_AUDIT_AFTER:
    case CSC_AUDIT_RESUMED:
    case CSC_AUDIT_SUPERSEDED:
        return named->to < named->from ? NULL : "which does not come before it";
    case CSC_AUDIT_INSTEAD_OF:
        return to->status == CASCADE_EXECUTION_FAILED ? NULL
                                                      : "which has not failed";
    case CSC_AUDIT_TAKEN:
        return to->signal ? NULL : "which is no signal";
    case CSC_AUDIT_LATE:
        break;
    }
    return NULL;
}

static const char *
named_as(csc_audit_as as)
{
    switch (as) {
    case CSC_AUDIT_SPAWNED:
        return "to have spawned";
    case CSC_AUDIT_AFTER:
        return "to come after";
    case CSC_AUDIT_INSTEAD_OF:
        return "to run instead of";
    case CSC_AUDIT_TAKEN:
        return "to have taken";
    case CSC_AUDIT_RESUMED:
        return "to run in the place of";
    case CSC_AUDIT_SUPERSEDED:
        return "to supersede";
    case CSC_AUDIT_LATE:
        break;
    }
    return "to be too late for";
}

static void
check_named(csc_audit *audit)
{
    for (size_t i = 0; i < audit->named_count; i++) {
        const csc_audit_named *named = &audit->named[i];
        const char *fault = judge_named(audit, named);

        if (fault != NULL)
            csc_audit_add(audit, CSC_AUDIT_REFERENCE, named->from,
                          "execution %d records %s execution %d, %s",
                          named->from, named_as(named->as), named->to, fault);
    }
}

static const char *
word(cascade_status status)
{
    const char *known = csc_status_word(status);

    return known != NULL ? known : "no status";
}

static void
check_cascade(csc_audit *audit)
{
    cascade_status status = csc_audit_status(audit);
    bool running = audit->row.status == CASCADE_RUNNING;

    if (audit->row.status != status)
        csc_audit_add(audit, CSC_AUDIT_STATUS, -1,
                      "the cascade is %s, and by its executions it is %s",
                      word(audit->row.status), word(status));
    if (audit->document ? audit->row.fn_id < csc_audit_highest(audit)
                        : audit->row.fn_id != csc_audit_highest(audit))
        csc_audit_add(audit, CSC_AUDIT_FN_ID, -1,
                      "fn_id is %d, and the last execution is %d",
                      audit->row.fn_id, csc_audit_highest(audit));
    csc_audit_gaps(audit, 0, "");
    if (running && !audit->has_run)
        csc_audit_add(audit, CSC_AUDIT_RUN, -1,
                      "the cascade is RUNNING and has no run; adopt it");
    if (!running && audit->has_run && audit->message_count == 0)
        csc_audit_add(audit, CSC_AUDIT_RUN, -1,
                      "the cascade has ended and has a run, though no message "
                      "waits for it");
}

/* Those of a cascade that has ended are of the claim that receives for it. */
static void
check_place(csc_audit *audit)
{
    int priority = audit->run.priority;

    if (audit->meta.queue != NULL &&
        strcmp(audit->meta.queue, audit->run_queue) != 0)
        csc_audit_add(audit, CSC_AUDIT_RUN_VALUES, -1,
                      "the run is in another queue than execution 0 records");
    if (priority != audit->meta.priority)
        csc_audit_add(audit, CSC_AUDIT_RUN_VALUES, -1,
                      "the run has priority %d, and execution 0 records %d",
                      priority, audit->meta.priority);
}

void
csc_audit_counters(csc_audit *audit)
{
    const cascade_run_row *run = &audit->run;
    bool owned = !csc_uuid_is_nil(&run->engine_id);

    if (!audit->document &&
        csc_check_name("queue", audit->run_queue) != CASCADE_OK)
        csc_audit_add(audit, CSC_AUDIT_RUN_VALUES, -1,
                      "the run is in a queue that cannot be: %s",
                      cascade_errmsg());
    if (run->takeovers < 0 || run->claim_no < (owned ? 1 : 0) ||
        run->trial < 0 || run->trial > run->claim_no)
        csc_audit_add(audit, CSC_AUDIT_RUN_VALUES, -1,
                      "the run was claimed %lld times, %d times of these as a "
                      "suspect, and taken over %d times",
                      (long long)run->claim_no, run->trial, run->takeovers);
}

static void
check_run(csc_audit *audit)
{
    if (!audit->has_run)
        return;
    if (audit->row.status == CASCADE_RUNNING)
        check_place(audit);
    csc_audit_counters(audit);
}

static void
check_key(csc_audit *audit, int32_t current_run)
{
    cascade_uuid id;

    if (audit->meta.key == NULL)
        return;
    id = csc_uuid_v8(audit->user_id, audit->meta.key, audit->meta.run_number);
    if (!csc_uuid_equal(&id, &audit->row.id))
        csc_audit_add(audit, CSC_AUDIT_KEY, 0,
                      "the cascade's id is not that of the key, the user and "
                      "the run number that execution 0 records");
    else if (current_run < audit->meta.run_number)
        csc_audit_add(audit, CSC_AUDIT_KEY, 0,
                      "the cascade is run %d of its key, and the key's row "
                      "says run %d; adopt it",
                      audit->meta.run_number, current_run);
}

/* Its deletion is under way, which takes the last rows first: what is left need
 * not hang together. */
static bool
is_torn(const csc_audit *audit)
{
    return audit->row.status != CASCADE_RUNNING && audit->message_count > 0 &&
           csc_audit_highest(audit) < audit->row.fn_id;
}

cascade_err
csc_audit_end(csc_audit *audit, int32_t current_run)
{
    cascade_err err = csc_supersede_settle(&audit->course, CSC_COURSE_NOW);

    if (err != CASCADE_OK)
        return err;
    if (is_torn(audit))
        return result(audit);
    check_named(audit);
    if (csc_audit_is_own(audit)) {
        check_cascade(audit);
        check_run(audit);
        check_key(audit, current_run);
    } else if (!audit->document) {
        csc_audit_others_end(audit);
    }
    return result(audit);
}
