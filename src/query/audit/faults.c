/* SPDX-License-Identifier: MIT */
#include "query/audit/faults.h"

#include "base/data/arena.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

cascade_err
csc_faults_add(csc_faults *faults, const cascade_fault *fault)
{
    csc_fault *made = NULL;

    faults->count++;
    if (faults->count > CSC_FAULTS_MAX)
        return CASCADE_OK;
    made = csc_arena_alloc(&faults->arena, 1, sizeof(*made));
    if (made == NULL)
        return csc_fail_memory();
    made->id = fault->id;
    made->text = csc_arena_strdup(&faults->arena, fault->text);
    if (made->text == NULL)
        return csc_fail_memory();
    if (faults->last != NULL)
        faults->last->next = made;
    else
        faults->first = made;
    faults->last = made;
    return CASCADE_OK;
}

void
csc_faults_clear(csc_faults *faults)
{
    csc_arena_clear(&faults->arena);
    faults->first = NULL;
    faults->last = NULL;
    faults->count = 0;
}

void
csc_faults_fini(csc_faults *faults)
{
    csc_arena_fini(&faults->arena);
    *faults = (csc_faults){.count = 0};
}

cascade_err
csc_faults_pass(void *context, const cascade_fault *fault)
{
    (void)context;
    (void)fault;
    return CASCADE_OK;
}
