/* SPDX-License-Identifier: MIT
 *
 * cascade(1) in the macros of man(7). The page stands in this folder as
 * cascade.1, for those who build it for another machine; a test compares.
 */
#include "pages/help.h"

#include "session.h"

#include <ctype.h>
#include <string.h>

/* A text as roff wants it: no command at the begin of a line, dashes that can
 * be copied. */
static void
put_roff(struct out *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\\')
            out_plain(out, "\\e");
        else if (*text == '-')
            out_plain(out, "\\-");
        else if (*text == '\'')
            out_plain(out, "\\(aq");
        else if (*text == '`')
            out_plain(out, "\\(ga");
        else if (*text == '\n')
            out_plain(out, text[1] == '\n' ? "\n.PP" : "\n");
        else
            out_format(out, "%c", *text);
    }
    out_plain(out, "\n");
}

static void
put_option(struct out *out, enum option_id id)
{
    char name[HELP_OPTION_SIZE];

    out_plain(out, ".TP\n.B ");
    put_roff(out, help_option(&option_table[id], name));
    put_roff(out, option_table[id].text);
}

static void
put_command(struct out *out, const struct command *command)
{
    out_format(out, ".SS cascade %s [OPTION...] %s\n", command->name,
               command->operands);
    out_format(out, "%c", toupper((unsigned char)command->summary[0]));
    put_roff(out, command->summary + 1);
    if (command->text != NULL) {
        out_plain(out, ".PP\n");
        put_roff(out, command->text);
    }
    for (size_t i = 0; command->options[i] != OPTION_COUNT; i++)
        put_option(out, command->options[i]);
}

static void
put_ends(struct out *out)
{
    out_plain(out, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < help_exit_count; i++) {
        out_format(out, ".TP\n.B %d\n", help_exits[i].value);
        put_roff(out, help_exits[i].text);
    }
    out_plain(out, ".PP\nOf several cascades the first that failed decides.\n"
                   ".SH ENVIRONMENT\n"
                   ".TP\n.B CASCADE_STORE\nThe store, where \\-\\-store is "
                   "not given.\n"
                   ".TP\n.B CASCADE_INTEGRITY\nBy what cascades are sealed, "
                   "where \\-\\-integrity is not given.\n"
                   ".TP\n.B CASCADE_SECRETS\nThe keys of hmac, or @FILE, "
                   "where \\-\\-secrets is not given: ID:HEX, parted by "
                   "blanks or in lines.\n"
                   ".TP\n.B CASCADE_BY\nWho asks, where \\-\\-by is not "
                   "given.\n"
                   ".TP\n.B NO_COLOR\nSet to anything, there are no colours.\n"
                   ".TP\n.B TERM\nNor are there where it is dumb.\n");
}

int
help_man(struct out *out)
{
    out_format(out, ".TH CASCADE 1 \"\" \"libcascade %s\"\n",
               cascade_version());
    out_plain(out, ".SH NAME\ncascade \\- look after the cascades of a store\n"
                   ".SH SYNOPSIS\n.B cascade\nCOMMAND [OPTION...] "
                   "[OPERAND...]\n.SH DESCRIPTION\n");
    for (size_t i = 0; help_about[i] != NULL; i++) {
        out_plain(out, i > 0 ? ".PP\n" : "");
        put_roff(out, help_about[i]);
    }
    out_plain(out, ".SH COMMANDS\n");
    for (size_t i = 0; i < command_count; i++)
        put_command(out, &command_table[i]);
    out_plain(out, ".SH OPTIONS\nOf every command that uses a store:\n");
    for (size_t i = 0; common_with_store[i] != OPTION_COUNT; i++)
        put_option(out, common_with_store[i]);
    put_ends(out);
    return EXIT_DONE;
}
