/* SPDX-License-Identifier: MIT
 *
 * The exit codes of the command, as `cascade help` tells them.
 */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

#include <cascade/manage.h>

/* name, value, what it means. */
#define EXIT_CODES(X)                                                        \
    X(EXIT_DONE, 0, "done")                                                  \
    X(EXIT_FAILED, 1, "failed, or the cascade that was waited for did")      \
    X(EXIT_USAGE, 2, "wrong usage, or an input that is not acceptable")      \
    X(EXIT_NOT_FOUND, 3, "there is no such thing")                           \
    X(EXIT_REFUSED, 4,                                                       \
      "refused: it has ended, is not in the state for it, or nobody agreed") \
    X(EXIT_NOT_YET, 5, "not in the time that was given for it")              \
    X(EXIT_UNAVAILABLE, 6, "the store cannot be used as it is")              \
    X(EXIT_FINDINGS, 7, "something was found (verify, migrate --check)")     \
    X(EXIT_INTERRUPTED, 130, "ended by SIGINT")

enum exit_code {
#define EXIT_ENUM(name, value, text) name = value,
    EXIT_CODES(EXIT_ENUM)
#undef EXIT_ENUM
};

/* The exit code of a call that returned `err`. */
enum exit_code exit_of(cascade_err err);

#endif
