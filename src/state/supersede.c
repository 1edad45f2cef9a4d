/* SPDX-License-Identifier: MIT
 *
 * See supersede.h.
 */
#include "state/supersede.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/search.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/state.h"

void
csc_supersede_fini(csc_course *course)
{
    for (size_t i = 0; i < course->receipt_count; i++)
        csc_mem_free(course->receipts[i].ids);
    for (size_t i = 0; i < course->heir_count; i++)
        csc_mem_free(course->heirs[i].parts);
    csc_mem_free(course->receipts);
    csc_mem_free(course->heirs);
    csc_mem_free(course->heirs_by_old);
    csc_mem_free(course->open);
    *course = (csc_course){0};
}

bool
csc_supersede_is_receipt(const cascade_execution_row *row)
{
    return strcmp(row->node_name, CSC_RETRY_NAME) == 0 ||
           strcmp(row->node_name, CSC_RERUN_NAME) == 0;
}

/* ---- Noting ------------------------------------------------------------- */

static cascade_err
read_ids(csc_json_span list, csc_course_receipt *receipt)
{
    csc_json_iter iter;
    size_t room = 0;
    int64_t id = 0;

    csc_assert(receipt->id_count == 0);
    if (list.data == NULL)
        return CASCADE_OK;
    csc_json_read_iter_init(&iter, list.data, list.len);
    while (csc_json_read_next(&iter)) {
        void *ids = receipt->ids;

        if (!csc_json_read_i64(iter.value, &id) || id < 0 ||
            id >= receipt->function_id)
            continue;
        if (csc_mem_grow(&ids, &room, receipt->id_count + 1,
                         sizeof(*receipt->ids)) != 0)
            return csc_fail_memory();
        receipt->ids = ids;
        receipt->ids[receipt->id_count++] = (int32_t)id;
    }
    return CASCADE_OK;
}

static cascade_err
add_receipt(csc_course *course, int32_t function_id, const csc_record *record)
{
    void *receipts = course->receipts;
    csc_course_receipt *receipt = NULL;

    if (course->receipt_count > 0 &&
        course->receipts[course->receipt_count - 1].function_id >= function_id)
        return CASCADE_OK; /* it was read before */
    if (csc_mem_grow(&receipts, &course->receipt_room,
                     course->receipt_count + 1, sizeof(*receipt)) != 0)
        return csc_fail_memory();
    course->receipts = receipts;
    receipt = &course->receipts[course->receipt_count++];
    *receipt = (csc_course_receipt){
        .function_id = function_id,
        .from = record->from < function_id ? record->from : CSC_COURSE_NONE};
    course->grew = true;
    return read_ids(record->supersedes, receipt);
}

static const csc_course_heir *
find_heir(const csc_course *course, int32_t id)
{
    size_t at = csc_search_i32(course->heirs, course->heir_count,
                               sizeof(course->heirs[0]),
                               offsetof(csc_course_heir, id), id);

    csc_assert(course->heir_count <= course->heir_room);
    return at < course->heir_count && course->heirs[at].id == id
               ? &course->heirs[at]
               : NULL;
}

int32_t
csc_supersede_origin(const csc_course *course, int32_t function_id)
{
    const csc_course_heir *heir = find_heir(course, function_id);

    return heir != NULL ? heir->origin : function_id;
}

static cascade_err
add_heir(csc_course *course, const cascade_execution_row *row, int32_t resumes)
{
    void *heirs = course->heirs;
    int32_t receipt = CSC_COURSE_NONE;
    uint32_t occurrence = 0;

    if (row->node_instance_id == NULL ||
        (course->heir_count > 0 &&
         course->heirs[course->heir_count - 1].id >= row->function_id))
        return CASCADE_OK; /* of an update, or read before: it was noted */
    if (!csc_kind_path(row->node_instance_id, &row->cascade_id, &receipt,
                       &occurrence) ||
        receipt >= row->function_id || resumes >= receipt)
        return CASCADE_OK; /* none of ours */
    if (csc_mem_grow(&heirs, &course->heir_room, course->heir_count + 1,
                     sizeof(*course->heirs)) != 0)
        return csc_fail_memory();
    course->heirs = heirs;
    course->heirs[course->heir_count] =
        (csc_course_heir){.id = row->function_id,
                          .resumes = resumes,
                          .origin = csc_supersede_origin(course, resumes),
                          .receipt = receipt};
    course->heir_count++;
    csc_assert(course->heirs[course->heir_count - 1].origin <= resumes);
    return CASCADE_OK;
}

static csc_course_open *
find_open(const csc_course *course, int32_t receipt)
{
    for (size_t i = 0; i < course->open_count; i++)
        if (course->open[i].receipt == receipt)
            return &course->open[i];
    return NULL;
}

/* Nothing will ever stand under one that has failed, if nothing does when the
 * next one comes. */
static bool
is_idle(const csc_course *course)
{
    const csc_course_open *last = &course->open[course->open_count - 1];

    csc_assert(course->open_count > 0);
    return !last->running && last->last == last->receipt;
}

static cascade_err
add_open(csc_course *course, const cascade_execution_row *row, int32_t from)
{
    void *open = course->open;

    if (find_open(course, row->function_id) != NULL)
        return CASCADE_OK; /* it was read before */
    if (course->open_count > 0 && is_idle(course))
        course->open_count--;
    if (csc_mem_grow(&open, &course->open_room, course->open_count + 1,
                     sizeof(*course->open)) != 0)
        return csc_fail_memory();
    course->open = open;
    course->open[course->open_count++] =
        (csc_course_open){.receipt = row->function_id,
                          .last = row->function_id,
                          .from = from,
                          .running = row->status == CASCADE_EXECUTION_RUNNING};
    return CASCADE_OK;
}

/* Whether it stands under a receipt that is not COMPLETED. */
static bool
is_prepared(csc_course *course, const cascade_execution_row *row)
{
    csc_course_open *open = NULL;
    int32_t parent = CSC_COURSE_NONE;
    uint32_t occurrence = 0;

    if (course->open_count == 0 || row->node_instance_id == NULL ||
        !csc_kind_path(row->node_instance_id, &row->cascade_id, &parent,
                       &occurrence))
        return false;
    open = find_open(course, parent);
    if (open == NULL || row->function_id <= parent)
        return false;
    if (row->function_id > open->last)
        open->last = row->function_id;
    return true;
}

cascade_err
csc_supersede_note(csc_course *course, const cascade_execution_row *row,
                   const csc_record *record)
{
    bool receipt = csc_supersede_is_receipt(row);

    if (is_prepared(course, row))
        return CASCADE_OK;
    if (receipt && row->status != CASCADE_EXECUTION_COMPLETED)
        return add_open(course, row, record->from);
    if (record->resumes != CSC_RECORD_NO_ID &&
        csc_kind_of(row->node_name) == CSC_PART_NONE)
        return add_heir(course, row, record->resumes);
    return receipt ? add_receipt(course, row->function_id, record) : CASCADE_OK;
}

/* ---- Which count -------------------------------------------------------- */

static bool
has_id(const csc_course_receipt *receipt, int32_t id)
{
    const csc_ids ids = {.items = receipt->ids, .count = receipt->id_count};

    return csc_view_has(&ids, id);
}

static int32_t
prepared_by(const csc_course *course, int32_t function_id)
{
    for (size_t i = 0; i < course->open_count; i++) {
        const csc_course_open *open = &course->open[i];

        if (function_id <= open->last &&
            (function_id > open->receipt ||
             (open->running && function_id == open->receipt)))
            return open->receipt;
    }
    return CSC_COURSE_NONE;
}

int32_t
csc_supersede_by(const csc_course *course, int32_t function_id)
{
    int32_t by = prepared_by(course, function_id);

    if (by != CSC_COURSE_NONE)
        return by;
    for (size_t i = course->any ? course->receipt_count : 0; i > 0; i--) {
        const csc_course_receipt *receipt = &course->receipts[i - 1];

        if (receipt->function_id <= function_id)
            break;
        if (receipt->counts && ((receipt->from != CSC_COURSE_NONE &&
                                 receipt->from <= function_id) ||
                                has_id(receipt, function_id)))
            return receipt->function_id;
    }
    return CSC_COURSE_NONE;
}

int32_t
csc_supersede_unfinished(const csc_course *course, int32_t fn_id)
{
    for (size_t i = 0; i < course->open_count; i++)
        if (course->open[i].running && course->open[i].last == fn_id)
            return course->open[i].receipt;
    return CSC_COURSE_NONE;
}

bool
csc_supersede_is_done(const csc_course *course, int32_t receipt)
{
    return find_open(course, receipt) == NULL;
}

int32_t
csc_supersede_from(const csc_course *course, int32_t receipt)
{
    const csc_course_open *open = find_open(course, receipt);

    if (open != NULL)
        return open->from;
    for (size_t i = 0; i < course->receipt_count; i++)
        if (course->receipts[i].function_id == receipt)
            return course->receipts[i].from;
    return CSC_COURSE_NONE;
}

static bool
counts(const csc_course *course, int32_t function_id)
{
    for (size_t i = 0; i < course->receipt_count; i++)
        if (course->receipts[i].function_id == function_id)
            return course->receipts[i].counts;
    return false;
}

/* Those of receipts that are void never ran, to whoever reads; and what counts
 * has no heirs, whatever rows say. */
static void
drop_void_heirs(csc_course *course)
{
    size_t kept = 0;

    csc_assert(!course->grew);
    for (size_t i = 0; i < course->heir_count; i++) {
        csc_course_heir *heir = &course->heirs[i];

        csc_mem_free(heir->parts);
        heir->parts = NULL;
        heir->part_count = heir->part_room = 0;
        if (counts(course, heir->receipt) &&
            csc_supersede_by(course, heir->resumes) != CSC_COURSE_NONE)
            course->heirs[kept++] = *heir;
    }
    course->heir_count = kept;
}

static int
compare_old(const void *a, const void *b, void *context)
{
    const csc_course_heir *heirs = context;
    int32_t left = heirs[*(const int32_t *)a].resumes;
    int32_t right = heirs[*(const int32_t *)b].resumes;

    return (left > right) - (left < right);
}

static cascade_err
index_heirs(csc_course *course)
{
    csc_assert(!course->grew);
    csc_mem_free(course->heirs_by_old);
    course->heirs_by_old = NULL;
    course->by_old_count = 0;
    if (course->heir_count == 0)
        return CASCADE_OK;
    course->heirs_by_old =
        csc_mem_zalloc(course->heir_count, sizeof(*course->heirs_by_old));
    if (course->heirs_by_old == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < course->heir_count; i++)
        course->heirs_by_old[i] = (int32_t)i;
    course->by_old_count = course->heir_count;
    qsort_r(course->heirs_by_old, course->heir_count,
            sizeof(*course->heirs_by_old), compare_old, course->heirs);
    return CASCADE_OK;
}

cascade_err
csc_supersede_settle(csc_course *course, int64_t as_of)
{
    for (size_t i = 0; i < course->receipt_count; i++)
        course->receipts[i].counts = false;
    course->any = true;
    for (size_t i = course->receipt_count; i > 0; i--) {
        csc_course_receipt *receipt = &course->receipts[i - 1];

        receipt->counts =
            receipt->function_id < as_of &&
            csc_supersede_by(course, receipt->function_id) == CSC_COURSE_NONE;
    }
    course->any = course->receipt_count > 0;
    course->grew = false;
    drop_void_heirs(course);
    return index_heirs(course);
}

/* ---- Heirs -------------------------------------------------------------- */

static const csc_course_heir *
next_heir(const csc_course *course, int32_t id)
{
    size_t from = 0;
    size_t to = course->by_old_count;

    csc_assert(course->by_old_count <= course->heir_count);
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        const csc_course_heir *heir =
            &course->heirs[course->heirs_by_old[middle]];

        csc_assert(heir < course->heirs + course->heir_count);
        if (heir->resumes == id)
            return heir;
        if (heir->resumes > id)
            to = middle;
        else
            from = middle + 1;
    }
    return NULL;
}

int32_t
csc_supersede_heir_of(const csc_course *course, int32_t function_id)
{
    const csc_course_heir *heir = next_heir(course, function_id);

    while (heir != NULL) {
        csc_assert(heir->id > function_id); /* so this ends */
        function_id = heir->id;
        heir = next_heir(course, function_id);
    }
    return function_id;
}

cascade_err
csc_supersede_add_part(csc_course *course, int32_t heir, int32_t part)
{
    csc_course_heir *found = (csc_course_heir *)find_heir(course, heir);
    void *parts = NULL;

    csc_assert(part < heir);
    if (found == NULL)
        return CASCADE_OK;
    parts = found->parts;
    if (csc_mem_grow(&parts, &found->part_room, found->part_count + 1,
                     sizeof(*found->parts)) != 0)
        return csc_fail_memory();
    found->parts = parts;
    found->parts[found->part_count++] = part;
    return CASCADE_OK;
}

size_t
csc_supersede_parts(const csc_course *course, int32_t heir,
                    const int32_t **parts)
{
    const csc_course_heir *found = find_heir(course, heir);

    if (found == NULL)
        return 0;
    *parts = found->parts;
    return found->part_count;
}
