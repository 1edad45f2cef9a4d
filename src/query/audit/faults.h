/* SPDX-License-Identifier: MIT
 *
 * Rows of a list that cannot be read (S73), kept until the list is over: who is
 * told of them may call the store.
 */
#ifndef CSC_QUERY_AUDIT_FAULTS_H
#define CSC_QUERY_AUDIT_FAULTS_H

#include "base/data/arena.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

#define CSC_FAULTS_MAX 1000 /* that are kept; the others are counted */

typedef struct csc_fault {
    struct csc_fault *next;
    cascade_uuid id; /* of the cascade, or all zero */
    const char *text;
} csc_fault;

/* All zero at first. */
typedef struct csc_faults {
    csc_arena arena;
    csc_fault *first;
    csc_fault *last;
    size_t count;
} csc_faults;

/* CASCADE_ERR_NO_MEMORY. */
cascade_err csc_faults_add(csc_faults *faults, const cascade_fault *fault);
/* Forgets all; it may begin anew. */
void csc_faults_clear(csc_faults *faults);
void csc_faults_fini(csc_faults *faults);

/* For lists that leave such rows out, without a word. */
cascade_err csc_faults_pass(void *context, const cascade_fault *fault);

#endif
