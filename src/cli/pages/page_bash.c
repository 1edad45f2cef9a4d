/* SPDX-License-Identifier: MIT
 *
 * The completion for bash: commands, the options of each, and the words that an
 * option may have. It asks no store, so a key pressed never waits for one. It
 * stands in this folder as cascade.bash; a test compares.
 */
#include "pages/help.h"

#include "session.h"

/* Words of "one|two|three", or of nothing. */
static void
put_choices(struct out *out, const char *choices)
{
    for (; *choices != '\0'; choices++)
        out_format(out, "%c", *choices == '|' ? ' ' : *choices);
}

static void
put_options(struct out *out, const struct command *command)
{
    out_format(out, "    %s) words=\"", command->name);
    for (size_t i = 0; command_option(command, i) != OPTION_COUNT; i++)
        out_format(out, "%s--%s", i > 0 ? " " : "",
                   option_table[command_option(command, i)].name);
    out_plain(out, "\" ;;\n");
}

static void
put_values(struct out *out)
{
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        const struct option_spec *option = &option_table[i];
        if (option->kind != KIND_CHOICE)
            continue;
        out_format(out, "    --%s) words=\"", option->name);
        put_choices(out, option->value);
        out_plain(out, "\" ;;\n");
    }
}

static void
put_commands(struct out *out)
{
    for (size_t i = 0; i < command_count; i++)
        out_format(out, "%s%s", i > 0 ? " " : "", command_table[i].name);
}

int
help_bash(struct out *out)
{
    out_plain(out, "# bash completion for cascade(1)\n"
                   "\n"
                   "_cascade()\n"
                   "{\n"
                   "    local word=${COMP_WORDS[COMP_CWORD]} words=\n"
                   "    local before=${COMP_WORDS[COMP_CWORD - 1]}\n"
                   "\n"
                   "    case $COMP_CWORD:${COMP_WORDS[1]} in\n"
                   "    1:* | 2:help) words=\"");
    put_commands(out);
    out_plain(out, "\" ;;\n"
                   "    *) case ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < command_count; i++)
        put_options(out, &command_table[i]);
    out_plain(out, "    esac ;;\n"
                   "    esac\n"
                   "    case $before in\n");
    put_values(out);
    out_plain(out, "    esac\n"
                   "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                   "}\n"
                   "complete -o default -F _cascade cascade\n");
    return EXIT_DONE;
}
