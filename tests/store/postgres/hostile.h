/* SPDX-License-Identifier: MIT
 *
 * What somebody who may create in a schema can make to have statements of
 * others call functions of his own (the class of CVE-2018-1058): operators,
 * functions, types and casts that fit what the library says as well as
 * PostgreSQL's own, or better.
 *
 *   operators  of every name in the sources, for all pairs of the types in
 *              question, and for those that PostgreSQL has one for
 *   functions  of every name that the sources call, with the same arguments,
 *              and with each of them replaced by each of the types
 *   types      by the names that casts give
 *   casts      implicit ones, to a type that there are operators for
 *
 * Each raises, and nobody has the right to call one: so a statement that would
 * call one fails when it begins, also where there are no rows to call it for.
 */
#ifndef TESTS_STORE_POSTGRES_HOSTILE_H
#define TESTS_STORE_POSTGRES_HOSTILE_H

#include <stdbool.h>

#include <libpq-fe.h>

/* Makes them in `schema`, which is there. `admin` is a superuser's connection,
 * and has `pg_catalog` as its search_path from then on. Enums that are there
 * already are among the types. False with lines on stderr. */
bool hostile_make(PGconn *admin, const char *schema);

/* Makes a role that can log in, and finds hostile things before PostgreSQL's
 * own, in those schemas: "one, two". */
bool hostile_make_role(PGconn *admin, const char *role, const char *schemas);

#endif
