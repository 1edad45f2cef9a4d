/* SPDX-License-Identifier: MIT
 *
 * Both go to standard error, so that standard output stays what was asked for.
 */
#include "ask.h"

#include "interrupt.h"
#include "text/text.h"

#include <inttypes.h>
#include <strings.h>
#include <unistd.h>

/* Back to the first column, and the line is empty. */
#define LINE_AGAIN "\r\033[K"

/* "y" or "yes", in any letters; a longer line is none of them. */
static bool
is_yes(void)
{
    char line[8];

    return fgets(line, sizeof(line), stdin) != NULL &&
           (strcasecmp(line, "y\n") == 0 || strcasecmp(line, "yes\n") == 0);
}

bool
ask(const struct session *session, const char *question)
{
    if (settings_has(session->settings, OPTION_YES))
        return true;
    if (isatty(STDIN_FILENO) != 1 || isatty(STDERR_FILENO) != 1) {
        fprintf(stderr,
                "cascade %s: this needs --yes where there is no terminal to "
                "ask on\n",
                session->settings->command->name);
        return false;
    }
    text_write(stderr, question);
    fputs(" [y/N] ", stderr);
    return is_yes();
}

bool
ask_progress(void *context, const cascade_progress *progress)
{
    (void)context;
    if (isatty(STDERR_FILENO) == 1)
        fprintf(stderr,
                LINE_AGAIN "%" PRId64 " seen, %" PRId64 " done, %" PRId64
                           " failed",
                progress->seen, progress->done, progress->failed);
    return !interrupt_wait(0);
}

void
ask_progress_end(void)
{
    if (isatty(STDERR_FILENO) == 1)
        fputs(LINE_AGAIN, stderr);
}
