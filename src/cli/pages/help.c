/* SPDX-License-Identifier: MIT
 *
 * help and version: pages of 79 columns, made from the table of commands.
 */
#include "pages/help.h"

#include "session.h"
#include "text/text.h"

#include <string.h>

#define WIDTH 79
#define OPTION_COLUMN 4
#define OPTION_TEXT_COLUMN 8

const char *const help_about[] = {
    "It looks after the cascades in a store of libcascade, and needs no engine "
    "to be alive. Payloads (inputs, outputs, context values) are shown only "
    "with --payloads; error texts always.",
    "Durations and ages are written 250ms, 90s, 5m, 2h, 7d or 1h30m; times are "
    "UTC. Inputs are JSON, @FILE, or - for standard input.",
    "Keys are ID:HEX, parted by blanks or in lines; what stands behind # is "
    "not "
    "read. ID is 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-', and HEX 16 bytes "
    "or more, as `openssl rand -hex 32` makes them.",
    "delete, terminate, rerun, purge, and any command with --all ask before "
    "they do it. Without a terminal they refuse, unless --yes is given.",
    NULL,
};

const struct help_exit help_exits[] = {
#define EXIT_ROW(name, value, text) {value, text},
    EXIT_CODES(EXIT_ROW)
#undef EXIT_ROW
};
const size_t help_exit_count = sizeof(help_exits) / sizeof(help_exits[0]);

/* Where a line of at most `room` columns may end: before a blank, or where
 * there is none before the next one. */
static size_t
line_len(const char *text, size_t room)
{
    size_t len = strcspn(text, "\n");

    if (len <= room)
        return len;
    for (size_t at = room; at > 0; at--)
        if (text[at] == ' ')
            return at;
    return strcspn(text, " \n");
}

/* `text` in lines, each behind `indent` blanks. */
static void
put_wrapped(struct out *out, size_t indent, const char *text)
{
    while (*text != '\0') {
        size_t len = line_len(text, WIDTH - indent);
        out_blanks(out, len > 0 ? indent : 0);
        out_format(out, "%.*s\n", (int)len, text);
        text += len;
        text += *text != '\0';
    }
}

const char *
help_option(const struct option_spec *option, char text[HELP_OPTION_SIZE])
{
    const char *format = option->kind == KIND_FLAG   ? "--%s"
                         : option->kind == KIND_WAIT ? "--%s[=%s]"
                                                     : "--%s %s";

    snprintf(text, HELP_OPTION_SIZE, format, option->name,
             option->kind == KIND_FLAG ? "" : option->value);
    return text;
}

static void
put_option(struct out *out, enum option_id id)
{
    char name[HELP_OPTION_SIZE];

    out_blanks(out, OPTION_COLUMN);
    out_format(out, "%s\n", help_option(&option_table[id], name));
    put_wrapped(out, OPTION_TEXT_COLUMN, option_table[id].text);
}

static void
put_heading(struct out *out, const char *text)
{
    out_plain(out, "\n");
    out_styled(out, STYLE_HEAD, text);
    out_plain(out, "\n");
}

int
help_command(struct out *out, const struct command *command)
{
    out_format(out, "cascade %s: %s\n\n", command->name, command->summary);
    out_format(out, "Usage: cascade %s [OPTION...]%s%s\n", command->name,
               *command->operands != '\0' ? " " : "", command->operands);
    if (command->text != NULL) {
        out_plain(out, "\n");
        put_wrapped(out, 0, command->text);
    }
    put_heading(out, "Options");
    for (size_t i = 0; command_option(command, i) != OPTION_COUNT; i++)
        put_option(out, command_option(command, i));
    return EXIT_DONE;
}

static void
put_exit_codes(struct out *out)
{
    put_heading(out, "Exit codes");
    for (size_t i = 0; i < help_exit_count; i++)
        out_format(out, "  %3d  %s\n", help_exits[i].value, help_exits[i].text);
    out_plain(out, "Of several cascades the first that failed decides.\n");
}

int
help_overview(struct out *out)
{
    out_plain(out, "Usage: cascade COMMAND [OPTION...] [OPERAND...]\n\n");
    for (size_t i = 0; help_about[i] != NULL; i++) {
        out_plain(out, i > 0 ? "\n" : "");
        put_wrapped(out, 0, help_about[i]);
    }
    put_heading(out, "Commands");
    for (size_t i = 0; i < command_count; i++)
        out_format(out, "  %-10s %s\n", command_table[i].name,
                   command_table[i].summary);
    put_heading(out, "Options of every command that uses a store");
    for (size_t i = 0; common_with_store[i] != OPTION_COUNT; i++)
        put_option(out, common_with_store[i]);
    put_exit_codes(out);
    out_plain(out, "\n`cascade help COMMAND` tells more.\n");
    return EXIT_DONE;
}

int
run_help(struct session *session)
{
    const struct settings *settings = session->settings;
    const struct command *command = NULL;

    if (settings_has(settings, OPTION_MAN))
        return help_man(&session->out);
    if (settings_has(settings, OPTION_BASH))
        return help_bash(&session->out);
    if (settings->operand_count == 0)
        return help_overview(&session->out);
    command = command_by_name(settings->operands[0]);
    if (command == NULL)
        return settings_refuse(settings, "there is no command '%s'",
                               text_shown(settings->operands[0]));
    return help_command(&session->out, command);
}

int
run_version(struct session *session)
{
    struct object object;

    if (!session->out.json) {
        out_format(&session->out, "cascade %s\n", cascade_version());
        return EXIT_DONE;
    }
    object_init(&object);
    object_text(&object, "version", cascade_version());
    return session_end(NULL, out_object(&session->out, &object));
}
