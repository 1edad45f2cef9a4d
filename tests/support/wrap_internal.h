/* SPDX-License-Identifier: MIT
 *
 * What the files of the wrapping driver share: wrap_store.c (the object, the
 * moves of the driver itself) and wrap_tables.c (those of its sub-tables).
 */
#ifndef TESTS_SUPPORT_WRAP_INTERNAL_H
#define TESTS_SUPPORT_WRAP_INTERNAL_H

#include "support/wrap_store.h"

/* One opened handle. */
typedef struct wrap_handle {
    wrap_store *wrap;
    const cascade_store_driver *inner;
    cascade_store_config config; /* the real store's */
    const cascade_store_config *outer;
    void *self;
} wrap_handle;

typedef struct wrap_fault {
    bool hit;
    wrap_when when;
    cascade_err err;
} wrap_fault;

/* What is done before a move: an error is its answer. */
cascade_err wrap_enter(wrap_handle *h, wrap_call *call, wrap_fault *found);
/* What is done after it; gives what is to be told. */
cascade_err wrap_leave(wrap_handle *h, const wrap_call *call,
                       const wrap_fault *found, cascade_err answer);

extern const cascade_store_chain wrap_chain;
extern const cascade_store_manage wrap_manage;
extern const cascade_store_integrity wrap_integrity;
extern const cascade_store_limits wrap_limits;

#endif
