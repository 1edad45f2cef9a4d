/* SPDX-License-Identifier: MIT
 *
 * The schema of each SQL backend, embedded in the library.
 *
 * The build turns sql/BACKEND/NNN_some_words.sql into these arrays, ordered by
 * number, without gaps from 1 on. A released migration is never edited: its
 * checksum is recorded in every database it was applied to.
 */
#ifndef CASCADE_STORE_MIGRATIONS_H
#define CASCADE_STORE_MIGRATIONS_H

#include <stddef.h>

#include "cascade/cascade.h"

typedef struct csc_migration {
    int number;
    const char *name; /* the file's name without its suffix */
    const char *sql;  /* the file's text, several statements */
} csc_migration;

extern const csc_migration csc_migrations_sqlite[];
extern const size_t csc_migrations_sqlite_count;

extern const csc_migration csc_migrations_postgres[];
extern const size_t csc_migrations_postgres_count;

#endif
