/* SPDX-License-Identifier: MIT
 *
 * Another connection to the database of a scene, of another program as it were,
 * that tells whether a failed move left a transaction behind (S16).
 *
 *   SQLite       begins a transaction that writes, without waiting
 *   PostgreSQL   asks the server for sessions that are idle in a transaction,
 *                until there is none: one whose connection was cut takes a
 *                moment to find out
 *   memory       there is nothing to ask
 *
 * It is opened at its first use, and must be closed before a fork().
 */
#ifndef TESTS_SWEEP_WITNESS_H
#define TESTS_SWEEP_WITNESS_H

#include <stdbool.h>

typedef struct witness {
    const char *url;
    void *connection; /* NULL: not yet */
} witness;

/* Sessions of the scene are known by this name, which no other program has, but
 * one that plays for this one. */
const char *witness_application(void);

/* "" when others can write; else what is in their way. */
const char *witness_ask(witness *w);
void witness_close(witness *w);

/* Waits until the server has no session of the scene: one whose client has died
 * goes on with what was sent before. 0, or -1. */
int witness_await_gone(witness *w);

/* PostgreSQL: runs statements, in the same connection; 0, or -1. */
int witness_run(witness *w, const char *sql);

#endif
