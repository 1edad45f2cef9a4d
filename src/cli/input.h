/* SPDX-License-Identifier: MIT
 *
 * Payloads and documents from the command line, a file or standard input.
 */
#ifndef CLI_INPUT_H
#define CLI_INPUT_H

#include "session.h"

/* The text of an option of JSON: itself, of @FILE, or of - standard input.
 * `*text` is NULL when the option is not given; the caller frees it. Gives an
 * exit code. */
int input_read(const struct session *session, enum option_id option,
               char **text);

/* What stands for itself, or for the one word that @FILE or - holds, without
 * the blanks around it: what must not be in the list of processes. The caller
 * frees `*text`. Gives an exit code. */
int input_secret(const char *given, char **text);

/* The whole of a file, "-" being standard input; at most 256 MiB. */
int input_file(const char *path, char **text);

/* Says why a file is of no use. EXIT_USAGE. */
int input_refuse(const char *path, const char *why);

#endif
