/* SPDX-License-Identifier: MIT
 *
 * The process that a handle was made in. After fork() the child has a copy of
 * every handle, whose connections, files and threads are the parent's: with it
 * the child would write where the parent writes. So each public call with a
 * handle asks here first, before it takes any lock (another thread of the
 * parent may have held it), and is refused in any other process.
 */
#ifndef CSC_BASE_ORIGIN_H
#define CSC_BASE_ORIGIN_H

#include "cascade/cascade.h"

/* The first member of each handle. */
typedef struct csc_origin {
    uint64_t process; /* never 0, once it is marked */
} csc_origin;

/* It is made in this process. */
void csc_origin_mark(csc_origin *origin);

/* Whether the handle was made in this process; so is NULL. Takes no lock and
 * makes no system call: also for signal handlers. */
bool csc_origin_is_here(const void *handle);

/* CASCADE_ERR_MISUSE for a handle of another process. */
cascade_err csc_origin_check(const void *handle);

#endif
