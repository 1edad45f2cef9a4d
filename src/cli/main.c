/* SPDX-License-Identifier: MIT
 *
 * The `cascade` command: whoever looks after the cascades of a store works with
 * it. It is made of the public calls of cascade.h, manage.h and schedule.h
 * alone.
 *
 *   main      finds the command, and runs it with its store open
 *   command   the table: what the command line may say
 *   settings  reads a command line by it
 *   keys      the integrity of the store, and its secrets
 *   counter   what `verify` writes down, and compares with
 *   session   store and output of one run
 *   which     the cascades that are meant: ids, a key, filters
 *   out, table, text, moment      how things are written
 *   ask, interrupt                questions, progress, SIGINT
 *   help, page_man, page_bash     what is made from the table
 *   the others                    the commands
 *
 * If it dies in the middle: each command is a message in the store, or one
 * transaction, and holds or does not; those for many go on where they are
 * repeated with the same --request-id. A cascade that it carried a command out
 * for is free again when its lease is over.
 */
#include "pages/help.h"
#include "session.h"
#include "text/text.h"

#include <locale.h>
#include <string.h>

/* "--help", "--version" and "-h" stand for commands. */
static const char *
command_name(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";

    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
        return "help";
    return strcmp(name, "--version") == 0 ? "version" : name;
}

static int
refuse_command(const char *name)
{
    fputs("cascade: ", stderr);
    if (*name == '\0') {
        fputs("which command?", stderr);
    } else {
        fputs("there is no command '", stderr);
        text_write(stderr, text_shown(name));
        fputs("'", stderr);
    }
    fputs("\nSee `cascade help`.\n", stderr);
    return EXIT_USAGE;
}

static int
run(struct session *session)
{
    const struct settings *settings = session->settings;

    if (settings_has(settings, OPTION_HELP))
        return help_command(&session->out, settings->command);
    int code = session_open(session);
    if (code == EXIT_DONE)
        code = settings->command->run(session);
    session_close(session);
    return code;
}

int
main(int argc, char **argv)
{
    const char *name = command_name(argc, argv);
    struct settings settings = {.command = command_by_name(name)};
    struct session session = {.settings = &settings};
    int code = EXIT_USAGE;

    (void)setlocale(LC_CTYPE, "C.UTF-8");
    if (settings.command == NULL)
        return refuse_command(name);
    if (settings_read(argc - 1, argv + 1, &settings)) {
        out_init(&session.out, stdout, settings_has(&settings, OPTION_JSON));
        code = run(&session);
        if (!out_flush(&session.out) && code == EXIT_DONE)
            code = EXIT_FAILED;
    }
    settings_free(&settings);
    return code;
}
