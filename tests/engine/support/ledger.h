/* SPDX-License-Identifier: MIT
 *
 * A table of the application's own, in the database that the engine's store is
 * in: what transactional nodes write, and what tests count. Rows are texts.
 */
#ifndef TESTS_ENGINE_SUPPORT_LEDGER_H
#define TESTS_ENGINE_SUPPORT_LEDGER_H

#include "support/stores.h"

/* Makes the table. The store must be there: it makes the file. */
void ledger_create(test_db *db);
/* From a transactional node: one row. CASCADE_ERR_FAILED with a text when the
 * database says no. */
cascade_err ledger_write(const test_db *db, cascade_node *node,
                         const char *what);
/* The same for any statement. */
cascade_err ledger_run(const test_db *db, cascade_node *node, const char *sql);
/* Rows of that text, as another connection sees them; NULL: of any. */
int ledger_count(test_db *db, const char *what);

#endif
