/* SPDX-License-Identifier: MIT
 *
 * One array of cells that doubles. The last column is not filled up, so no line
 * ends in blanks.
 */
#include "table.h"

#include "text/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>

#define GAP 2

void
table_init(struct table *table, const struct table_column *columns,
           size_t column_count)
{
    *table = (struct table){.columns = columns, .column_count = column_count};
}

void
table_free(struct table *table)
{
    for (size_t i = 0; i < table->cell_count; i++)
        free(table->cells[i].text);
    free(table->cells);
    table->cells = NULL;
    table->cell_count = 0;
    table->cell_max = 0;
}

static bool
make_room(struct table *table)
{
    if (table->cell_count < table->cell_max)
        return true;
    size_t max = table->cell_max > 0 ? 2 * table->cell_max : 64;
    struct table_cell *cells = realloc(table->cells, max * sizeof(*cells));
    if (cells == NULL)
        return false;
    table->cells = cells;
    table->cell_max = max;
    return true;
}

/* Takes `copy`, NULL where it could not be made. */
static void
add(struct table *table, enum style style, char *copy)
{
    if (copy == NULL || !make_room(table)) {
        free(copy);
        table->failed = true;
        return;
    }
    table->cells[table->cell_count++] = (struct table_cell){
        .text = copy, .width = text_width(copy), .style = style};
}

void
table_add(struct table *table, enum style style, const char *text)
{
    add(table, style, table->failed ? NULL : text_escaped(text));
}

void
table_add_json(struct table *table, const char *json)
{
    add(table, STYLE_NONE, table->failed ? NULL : text_escaped_json(json));
}

void
table_add_format(struct table *table, enum style style, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (len < 0) {
        table->failed = true;
        return;
    }
    table_add(table, style, text);
    free(text);
}

static void
measure(const struct table *table, size_t *widths)
{
    assert(table->column_count > 0);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct table_column *column = &table->columns[i];
        size_t head = text_width(column->name);
        widths[i] = head > column->width_min ? head : column->width_min;
    }
    for (size_t i = 0; i < table->cell_count; i++) {
        size_t *width = &widths[i % table->column_count];
        if (table->cells[i].width > *width)
            *width = table->cells[i].width;
    }
}

static void
print_cell(const struct table *table, size_t column,
           const struct table_cell *cell, const size_t *widths, struct out *out)
{
    size_t fill = widths[column] - cell->width;
    bool last = column + 1 == table->column_count;

    if (table->columns[column].right)
        out_blanks(out, fill);
    out_styled(out, cell->style, cell->text);
    if (!last && !table->columns[column].right)
        out_blanks(out, fill);
    if (last)
        out_plain(out, "\n");
    else
        out_blanks(out, GAP);
}

cascade_err
table_print(const struct table *table, struct out *out)
{
    size_t widths[TABLE_COLUMNS_MAX];

    if (table->failed)
        return CASCADE_ERR_NO_MEMORY;
    assert(table->column_count > 0);
    measure(table, widths);
    for (size_t i = 0; i < table->column_count; i++) {
        const char *name = table->columns[i].name;
        struct table_cell head = {.text = (char *)name,
                                  .width = text_width(name),
                                  .style = STYLE_HEAD};
        print_cell(table, i, &head, widths, out);
    }
    for (size_t i = 0; i < table->cell_count; i++)
        print_cell(table, i % table->column_count, &table->cells[i], widths,
                   out);
    return CASCADE_OK;
}
