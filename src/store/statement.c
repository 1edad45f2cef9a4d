/* SPDX-License-Identifier: MIT */
#include "store/statement.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"

#define PARAMETERS_MAX 64

/* The first character from here on that belongs to a text with these parts. */
static const char *
skip(const char *at, unsigned parts)
{
    while (*at == '{' || *at == '}') {
        bool unless = at[1] >= 'A' && at[1] <= 'Z';

        if (*at == '}')
            at++;
        else if (((parts >> (at[1] - (unless ? 'A' : 'a')) & 1) != 0) == unless)
            at = strchr(at, '}') + 1;
        else
            at += 2;
    }
    return at;
}

/* The number of a parameter, or 0. `*end` is behind it. */
static unsigned long
parameter(const char *at, char **end)
{
    unsigned long number;

    if (at[0] != '$' || at[1] < '1' || at[1] > '9')
        return 0;
    number = strtoul(at + 1, end, 10);
    csc_assert(number < PARAMETERS_MAX);
    return number;
}

/* What each parameter that the text has becomes. */
static void
number_parameters(const char *text, unsigned parts,
                  unsigned numbers[PARAMETERS_MAX])
{
    unsigned count = 0;
    char *end;

    memset(numbers, 0, PARAMETERS_MAX * sizeof(numbers[0]));
    for (const char *at = skip(text, parts); *at != '\0';
         at = skip(at + 1, parts)) {
        unsigned long number = parameter(at, &end);

        if (number > 0)
            numbers[number] = 1;
    }
    for (size_t i = 1; i < PARAMETERS_MAX; i++) {
        if (numbers[i] > 0)
            numbers[i] = ++count;
    }
}

char *
csc_statement_build(const csc_statement *statement, unsigned more,
                    const char *schema, const char *channel)
{
    const unsigned parts = statement->parts | more;
    const char *at = skip(statement->sql, parts);
    unsigned numbers[PARAMETERS_MAX];
    char *end;
    csc_buf buf;

    number_parameters(statement->sql, parts, numbers);
    csc_buf_init(&buf);
    while (*at != '\0') {
        unsigned long number = parameter(at, &end);

        if (number > 0)
            csc_buf_add_format(&buf, "$%u", numbers[number]);
        else if (*at == '@')
            csc_buf_add_text(&buf, schema);
        else if (*at == '#')
            csc_buf_add_text(&buf, channel);
        else
            csc_buf_add_char(&buf, *at);
        at = skip(number > 0 ? end : at + 1, parts);
    }
    return csc_buf_take(&buf);
}
