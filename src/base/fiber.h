/* SPDX-License-Identifier: MIT
 *
 * Fibers: functions that run on a stack of their own, in the thread that enters
 * them, and that may leave it in the middle and be entered again.
 *
 *            begun              left                ended
 *   IDLE -----------> INSIDE ----------> LEFT         |
 *     ^                 |  ^               |          |
 *     |                 |  +--- entered ---+          |
 *     +------- ended ---+
 *
 *   begun    csc_fiber_begin()
 *   entered  csc_fiber_enter()
 *   left     csc_fiber_leave()
 *   ended    its function has returned
 *
 * A fiber is of one thread: that which has begun it enters it each time, since
 * compilers keep addresses of thread-local variables over a call. With it go
 * the text of cascade_errmsg(), errno, the signal mask, and the exceptions of
 * C++ that are being handled. All other thread-local variables are the
 * thread's. Below the stack lies a page that may not be touched.
 */
#ifndef CSC_BASE_FIBER_H
#define CSC_BASE_FIBER_H

#include <stdbool.h>
#include <stddef.h>

#include "cascade/cascade.h"

typedef struct csc_fiber csc_fiber;

/* IDLE, with a stack of at least that many bytes, of which the kernel gives
 * memory as it is used. CASCADE_ERR_NO_MEMORY, CASCADE_ERR_SYSTEM;
 * CASCADE_ERR_UNSUPPORTED where the C library cannot switch stacks. */
cascade_err csc_fiber_create(size_t stack_size, csc_fiber **fiber);
/* It is IDLE, or NULL. */
void csc_fiber_free(csc_fiber *fiber);

/* Calls `main(context)` on it. True: that has returned; false: it has left. */
bool csc_fiber_begin(csc_fiber *fiber, void (*main)(void *context),
                     void *context);
/* Goes on behind its csc_fiber_leave(). Answers as csc_fiber_begin() does. */
bool csc_fiber_enter(csc_fiber *fiber);
/* On the fiber: back to who has begun or entered it. Returns once it is entered
 * again. */
void csc_fiber_leave(csc_fiber *fiber);

/* Whether the exceptions of C++ are known that go with a fiber: else no
 * function that has any may run on one. */
bool csc_fiber_has_exceptions(void);

#endif
