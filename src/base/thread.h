/* SPDX-License-Identifier: MIT
 *
 * Threads of the library.
 */
#ifndef CSC_BASE_THREAD_H
#define CSC_BASE_THREAD_H

#include <pthread.h>
#include <stddef.h>

#include "cascade/cascade.h"

/* A thread with all signals blocked; `stack_size` 0: the system's default. */
cascade_err csc_thread_create(pthread_t *thread, size_t stack_size,
                              void *(*main)(void *), void *context);

#endif
