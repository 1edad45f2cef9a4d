/* SPDX-License-Identifier: MIT
 *
 * The pages that are made from the table of commands. Each gives an exit code.
 */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "command.h"
#include "text/out.h"

/* One page about one command. */
int help_command(struct out *out, const struct command *command);

/* The page about all. */
int help_overview(struct out *out);

/* cascade(1), in the language of man. */
int help_man(struct out *out);

/* The completion for bash. */
int help_bash(struct out *out);

/* What holds for all commands, paragraph by paragraph; NULL behind the last. */
extern const char *const help_about[];

struct help_exit {
    int value;
    const char *text;
};
extern const struct help_exit help_exits[];
extern const size_t help_exit_count;

/* "--limit N", "--watch[=INTERVAL]" */
#define HELP_OPTION_SIZE 80
const char *help_option(const struct option_spec *option,
                        char text[HELP_OPTION_SIZE]);

#endif
