/* SPDX-License-Identifier: MIT
 *
 * Lists of what a store has besides cascades, for who looks after it.
 */
#ifndef CSC_QUERY_ENGINES_H
#define CSC_QUERY_ENGINES_H

#include "cascade/cascade.h"
#include "cascade/manage.h"

/* The incarnations, alive or not, in the order in which they attached; those of
 * single calls too where `brief`. */
cascade_err csc_engines_read(cascade_store *store, bool brief,
                             cascade_engine_list **list);

#endif
