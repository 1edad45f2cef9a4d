/* SPDX-License-Identifier: MIT
 *
 * What the rows of a cascade that is audited say of other cascades, compared
 * with what these say: V20 and V21.
 *
 *   an execution waits for   that one says so: this is its parent, and it is
 *   a child                  known by its own id. Two that wait for one child,
 *                            of one cascade or of two, are found by that
 *   the run before it        has continued as it, and is the same child of the
 *                            same parent; the first run is known by its own id.
 *                            So of two that would be the end of one child only
 *                            the one that is passes
 *   a message, or the        that other is an earlier run: of the same key, or
 *   receipt of one, with     of the same root and of a lower number. Else what
 *   the id of another        is sent to that with such a path would count as
 *                            sent before, and nobody would receive it
 *
 * A child that goes on by itself when its parent ends may be another's: a
 * document that was imported with new ids waits for it too, and is not told.
 * Judged from this side alone: a child that no one waits for tells nobody its
 * end. What is not there is not asked: it may be deleted; of a run that is gone
 * what was entered (link.h) still tells its root. What a record says of its
 * start never changes, and both sides are written by one commit: so it does not
 * matter when each is read.
 */
#ifndef CSC_QUERY_AUDIT_AUDIT_FAMILY_H
#define CSC_QUERY_AUDIT_AUDIT_FAMILY_H

#include <stdbool.h>

#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"

typedef struct csc_audit csc_audit;
typedef struct csc_record csc_record;

/* The id in front of the path of a message; false for any other. */
bool csc_audit_family_path(const char *path, cascade_uuid *id);

/* Rows, to be kept of: CASCADE_ERR_NO_MEMORY. */
cascade_err csc_audit_family_execution(csc_audit *audit,
                                       const cascade_execution_row *row,
                                       const csc_record *record);
cascade_err csc_audit_family_message(csc_audit *audit,
                                     const cascade_message_row *row);

/* All rows were shown. Reads of each child that is waited for, and of each
 * other id, the first execution; of the run before all of them. */
cascade_err csc_audit_family(cascade_store *store, csc_audit *audit);

#endif
