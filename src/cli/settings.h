/* SPDX-License-Identifier: MIT
 *
 * One command line, read and checked against the table of command.h.
 */
#ifndef CLI_SETTINGS_H
#define CLI_SETTINGS_H

#include "command.h"

#include <cascade/manage.h>

struct settings {
    const struct command *command;
    const char *text[OPTION_COUNT]; /* as given, "" for a flag; NULL: not */
    int64_t number[OPTION_COUNT];   /* of what is read as one; 0: not given */
    char **many;                    /* of the option that may be repeated */
    size_t many_count;
    char **operands;
    int operand_count;
};

/* False, with a line on standard error, when it is no good. Free with
 * settings_free() in any case. */
bool settings_read(int argc, char **argv, struct settings *settings);
void settings_free(struct settings *settings);

/* Whether `option` was given. */
bool settings_has(const struct settings *settings, enum option_id option);

/* Who asks: as the option says, else the environment, else the login name; NULL
 * where there is none. */
const char *settings_by(const struct settings *settings);

/* The place of `text` in "one|two|three", from 1; 0: it is none of them. */
int64_t settings_place(const char *choices, const char *text);

/* A line on standard error that says what is wrong, and where help is; gives
 * EXIT_USAGE. */
int settings_refuse(const struct settings *settings, const char *format, ...)
    CASCADE_PRINTF(2, 3);

#endif
