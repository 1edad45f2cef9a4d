/* SPDX-License-Identifier: MIT
 *
 * The statements of sql/postgres/statements, built once when a store is opened,
 * for its schema and its channel. Which rules they keep is told there, in
 * README.md.
 */
#include "base/mem.h"
#include "cascade/cascade.h"
#include "store/postgres/internal.h"
#include "store/statement.h"

csc_postgres_statement
csc_postgres_sql_for_one(csc_postgres_statement statement)
{
    int one = csc_postgres_statements[statement].one;

    return one > 0 ? (csc_postgres_statement)one : statement;
}

bool
csc_postgres_sql_build(const char *schema, const char *channel,
                       char *texts[CSC_POSTGRES_STATEMENTS])
{
    bool good = true;

    for (size_t i = 0; i < CSC_POSTGRES_STATEMENTS; i++) {
        texts[i] = csc_statement_build(&csc_postgres_statements[i], 0, schema,
                                       channel);
        good = good && texts[i] != NULL;
    }
    return good;
}

void
csc_postgres_sql_free(char *texts[CSC_POSTGRES_STATEMENTS])
{
    for (size_t i = 0; i < CSC_POSTGRES_STATEMENTS; i++)
        csc_mem_free(texts[i]);
}
