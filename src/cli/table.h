/* SPDX-License-Identifier: MIT
 *
 * Aligned columns for people. Cells are copied, and made harmless, as they are
 * added; the widths are known when the last one is.
 */
#ifndef CLI_TABLE_H
#define CLI_TABLE_H

#include "text/out.h"

#define TABLE_COLUMNS_MAX 12

struct table_column {
    const char *name;
    size_t width_min;
    bool right; /* numbers stand to the right */
};

struct table_cell {
    char *text;
    size_t width;
    enum style style;
};

struct table {
    const struct table_column *columns;
    size_t column_count;
    struct table_cell *cells; /* row by row */
    size_t cell_count;
    size_t cell_max;
    bool failed; /* out of memory */
};

void table_init(struct table *table, const struct table_column *columns,
                size_t column_count);
void table_free(struct table *table);

/* The next cell, from left to right. */
void table_add(struct table *table, enum style style, const char *text);
void table_add_format(struct table *table, enum style style, const char *format,
                      ...) CASCADE_PRINTF(3, 4);
void table_add_json(struct table *table, const char *json); /* a payload */

/* Prints a line of heads, and one for each row. CASCADE_ERR_NO_MEMORY where a
 * cell could not be added. */
cascade_err table_print(const struct table *table, struct out *out);

#endif
