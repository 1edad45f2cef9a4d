/* SPDX-License-Identifier: MIT
 *
 * What the SQL backends share about migrations: which of the embedded ones are
 * still to be applied, and whether what was applied is what we know.
 *
 * Each database keeps a table cascade_schema with one row for each migration
 * applied: number, name, checksum (SHA-256 of the file, hexadecimal) and time.
 * A file applied by hand (psql, sqlite3) inserts its own row, without a
 * checksum; the library writes the checksum when it next may.
 *
 * This module knows no SQL and no database. A backend, under a lock:
 *   1. reads cascade_schema (no such table: no rows);
 *   2. asks csc_migrate_plan() what that means;
 *   3. applies known[from], known[from + 1], ... and records each of them.
 */
#ifndef CSC_STORE_MIGRATE_H
#define CSC_STORE_MIGRATE_H

#include <stddef.h>
#include <stdint.h>

#include "base/digest/sha256.h"
#include "cascade/cascade.h"

typedef struct csc_migration csc_migration;

#define CSC_MIGRATE_CHECKSUM_SIZE (2 * CSC_SHA256_SIZE + 1)

/* One row of cascade_schema. */
typedef struct csc_applied {
    int64_t number;
    const char *name;
    const char *checksum; /* NULL: applied by hand, not known yet */
} csc_applied;

/* Writes the checksum of a migration's text, in lower-case hexadecimal, and
 * returns it. */
char *csc_migrate_checksum(const csc_migration *migration,
                           char text[CSC_MIGRATE_CHECKSUM_SIZE]);

/* Compares what was applied (ascending by number) with what this library knows
 * (1, 2, ... without gaps) and tells in `*from` the index of the first
 * migration to apply; `known_count` when the schema is current. With
 * CASCADE_MIGRATE_CHECK a schema that is not current is an error.
 * CASCADE_ERR_SCHEMA: newer than this library, changed after it was applied, a
 * gap, or not current. */
cascade_err csc_migrate_plan(const csc_migration *known, size_t known_count,
                             const csc_applied *applied, size_t applied_count,
                             cascade_migrate mode, size_t *from);

#endif
