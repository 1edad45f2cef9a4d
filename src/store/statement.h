/* SPDX-License-Identifier: MIT
 *
 * Texts of SQL. They stand in sql/BACKEND/statements, each with a name and what
 * it is for, and are embedded as tables when the library is built
 * (cmake/EmbedStatements.cmake). Nothing is ever put into a text but this:
 *
 *   in a text   becomes
 *   @           the schema, quoted
 *   #           the channel of LISTEN
 *   `a ... `.   what stands between, if it has the first part; b: the second
 *   `A ... `.   the same if it has not
 *   $2          of the parameters that are left, $1 to as many as they are
 */
#ifndef CSC_STORE_STATEMENT_H
#define CSC_STORE_STATEMENT_H

typedef struct csc_statement {
    const char *sql;
    const char *verb; /* for errors; NULL: the caller has one */
    unsigned parts;   /* a bit for each */
    int one;          /* the form for one row; 0: there is none */
} csc_statement;

/* The text of a statement with its parts and `more` of them; to be freed. NULL
 * when out of memory. */
char *csc_statement_build(const csc_statement *statement, unsigned more,
                          const char *schema, const char *channel);

#endif
