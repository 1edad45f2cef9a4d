/* SPDX-License-Identifier: MIT
 *
 * What the texts of the statements are made of: for the files postgres_sql*.c,
 * each of which has those of its subjects. Which rules they keep is told in
 * sql.c.
 */
#ifndef CSC_STORE_POSTGRES_SQL_H
#define CSC_STORE_POSTGRES_SQL_H

#include "cascade/cascade.h"
#include "store/postgres/internal.h"

/* The text of a statement, with its '@' and '#'; NULL when it is not one of
 * this file's. */
const char *csc_postgres_sql_start_text(csc_postgres_statement statement);
const char *csc_postgres_sql_claim_text(csc_postgres_statement statement);
const char *csc_postgres_sql_manage_text(csc_postgres_statement statement);
const char *csc_postgres_sql_delete_text(csc_postgres_statement statement);

#define TEXT_OF_ITSELF(x) #x
#define TEXT_OF(macro) TEXT_OF_ITSELF(macro)

#define NOW_MS "floor(extract(epoch FROM now()) * 1000)::int8"
#define CLOCK_MS "floor(extract(epoch FROM clock_timestamp()) * 1000)::int8"

/* Of the first message that names the cascade of a row: one look-up. An EXISTS
 * might be planned as a set of all messages, read for each statement. */
#define FIRST_NAMING(what, row)                       \
    "(SELECT " what " FROM @cascade_messages AS m\n"  \
    "      WHERE m.cascade_id = " row ".cascade_id\n" \
    "      ORDER BY m.id\n"                           \
    "      LIMIT 1)"

/* Whether there is one. */
#define NAMED(row) FIRST_NAMING("true", row)

/* Behind an INSERT of seals: one that is there is replaced. */
#define REPLACING_SEALS                    \
    "ON CONFLICT (cascade_id) DO UPDATE\n" \
    "SET number = excluded.number,\n"      \
    "  seal = excluded.seal"

/* What is marked is not there: S40. One look-up in a table that is empty most
 * of the time. */
#define UNMARKED(id)                                  \
    "(SELECT true FROM @cascade_erasures AS marked\n" \
    "      WHERE marked.cascade_id = " id ") IS NULL"
/* Of a row `c` of cascades. */
#define C_UNMARKED UNMARKED("c.id")

/* What the index of children says. */
#define IS_CHILD "    AND node_name LIKE 'cascade.child:%'"

/* The casts keep the types that we decode, whatever an older table has. */
#define EXECUTION_COLUMNS                                               \
    "SELECT id, cascade_id, function_id, status::text,\n"               \
    "  node_instance_id::text, node_name::text, input_context::text,\n" \
    "  full_output::text, location::text, error::text, started_at,\n"   \
    "  completed_at\n"
#define EVENT_COLUMNS                                                     \
    "SELECT id::int8, cascade_id, function_id, key::text, value::text,\n" \
    "  ui_value::text, created_at\n"

/* What the rows before this one take in the table, in that order. */
#define BYTES_BEFORE(bytes, order)              \
    "sum(" bytes ") OVER (ORDER BY " order "\n" \
    "      ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS bytes_before"
#define WITHIN_BYTES(bytes_max)    \
    "WHERE bytes_before IS NULL\n" \
    "  OR bytes_before < " bytes_max "::int8\n"

#endif
