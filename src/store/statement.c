/* SPDX-License-Identifier: MIT */
#include "store/statement.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"

#define PARAMETERS_MAX 64

/* Where a text goes on behind a backquote. */
static const char *
skip(const char *at, unsigned parts)
{
    char letter = at[1];
    bool unless = letter >= 'A' && letter <= 'Z';

    at += 2;
    if (letter != '.' &&
        ((parts >> (letter - (unless ? 'A' : 'a')) & 1) != 0) == unless)
        at = strstr(at, "`.") + 2;
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
    for (const char *at = text; *at != '\0';) {
        unsigned long number = parameter(at, &end);

        if (number > 0)
            numbers[number] = 1;
        if (*at == '`')
            at = skip(at, parts);
        else
            at += 1 + strcspn(at + 1, "`$");
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
    unsigned numbers[PARAMETERS_MAX];
    csc_buf buf;

    number_parameters(statement->sql, parts, numbers);
    csc_buf_init(&buf);
    for (const char *at = statement->sql; *at != '\0';) {
        char *end;
        unsigned long number = parameter(at, &end);
        size_t plain = strcspn(at, "`$@#");

        if (number > 0)
            csc_buf_add_format(&buf, "$%u", numbers[number]);
        else if (*at == '@')
            csc_buf_add_text(&buf, schema);
        else if (*at == '#')
            csc_buf_add_text(&buf, channel);
        else if (*at == '$')
            csc_buf_add_char(&buf, '$');
        else
            csc_buf_add(&buf, at, plain);
        if (number > 0)
            at = end;
        else if (*at == '`')
            at = skip(at, parts);
        else
            at += plain > 0 ? plain : 1;
    }
    return csc_buf_take(&buf);
}
