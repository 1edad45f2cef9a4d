/* SPDX-License-Identifier: MIT
 *
 * Kinds of executions: see kind.c.
 */
#ifndef CSC_STATE_KIND_H
#define CSC_STATE_KIND_H

#include <stdbool.h>
#include <stdint.h>

#include "cascade/cascade.h"
#include "state/state.h"

/* What follows the id that a path begins with, from the slash on; NULL when it
 * begins with none. */
const char *csc_kind_skip_id(const char *path, cascade_uuid *id);

/* The reserved prefix of a kind of parts. */
const char *csc_kind_prefix(csc_part_kind kind);

/* The kind of the part that bears this name, with the prefix. */
csc_part_kind csc_kind_of(const char *full_name);

/* The parts of a node_instance_id `<cascade>/<parent>/<name>#<n>`; false for
 * any other form. */
bool csc_kind_path(const char *node_instance_id, const cascade_uuid *cascade,
                   int32_t *parent, uint32_t *occurrence);

#endif
