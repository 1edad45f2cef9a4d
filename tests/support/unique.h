/* SPDX-License-Identifier: MIT
 *
 * Names of schemas, roles and databases, for a server that many programs use.
 */
#ifndef TESTS_SUPPORT_UNIQUE_H
#define TESTS_SUPPORT_UNIQUE_H

#include <stddef.h>

#define UNIQUE_SIZE 64 /* what PostgreSQL takes */

/* PREFIX_PID_RANDOM_N: no other program has it, nor had one that was killed,
 * though numbers of processes are given again, and in a container the same. */
void unique_name(char *name, size_t size, const char *prefix);

#endif
