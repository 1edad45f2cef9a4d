/* SPDX-License-Identifier: MIT
 *
 * One switch over all errors of the library: a new one has to be placed here.
 */
#include "exit.h"

enum exit_code
exit_of(cascade_err err)
{
    switch (err) {
    case CASCADE_OK:
    case CASCADE_SUSPENDED:
        return EXIT_DONE;
    case CASCADE_ERR_INVALID:
    case CASCADE_ERR_JSON:
    case CASCADE_ERR_TOO_LARGE:
        return EXIT_USAGE;
    case CASCADE_ERR_NOT_FOUND:
        return EXIT_NOT_FOUND;
    case CASCADE_ERR_EXISTS:
    case CASCADE_ERR_MISUSE:
    case CASCADE_ERR_REFUSED:
    case CASCADE_ERR_ENDED:
    case CASCADE_ERR_CANCELLED:
        return EXIT_REFUSED;
    case CASCADE_ERR_AGAIN:
    case CASCADE_ERR_TIMEOUT:
        return EXIT_NOT_YET;
    case CASCADE_ERR_OUTCOME_UNKNOWN:
    case CASCADE_ERR_UNAVAILABLE:
    case CASCADE_ERR_NOT_DONE:
    case CASCADE_ERR_LOST:
    case CASCADE_ERR_SCHEMA:
    case CASCADE_ERR_READ_ONLY:
    case CASCADE_ERR_UNSUPPORTED:
        return EXIT_UNAVAILABLE;
    case CASCADE_ERR_STOPPED:
        return EXIT_INTERRUPTED;
    case CASCADE_ERR_NO_MEMORY:
    case CASCADE_ERR_FENCED:
    case CASCADE_ERR_CORRUPT:
    case CASCADE_ERR_SYSTEM:
    case CASCADE_ERR_FAILED:
    case CASCADE_ERR_FINAL:
        return EXIT_FAILED;
    }
    return EXIT_FAILED;
}
