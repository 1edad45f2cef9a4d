/* SPDX-License-Identifier: MIT
 *
 * A proxy between a store and the server, on a unix socket in a folder of its
 * own or on a port of the loopback, that can fail at the moments which matter:
 * it reads the protocol and knows when a COMMIT passes by.
 */
#ifndef TESTS_STORE_POSTGRES_POSTGRES_PROXY_H
#define TESTS_STORE_POSTGRES_POSTGRES_PROXY_H

#include <stddef.h>

typedef enum pg_fault {
    PG_FAULT_NONE = 0,
    PG_FAULT_CUT_BEFORE_COMMIT, /* once: the server never sees the COMMIT */
    PG_FAULT_CUT_BEFORE_REPLY,  /* once: it does, but nobody hears of it */
    PG_FAULT_STALL_AT_COMMIT,   /* once: what is before it arrives, then that
                                   connection is silent until it is armed anew:
                                   as with a stopped process */
    PG_FAULT_LOSE_COMMIT,       /* once: the same, and the server does not hear
                                   that the client has gone either: armed anew,
                                   what is left arrives, and then the end */
    PG_FAULT_LOSE_REPLY,        /* once: the same behind the COMMIT */
    PG_FAULT_TEAR_COMMIT,       /* once: half of its message arrives, and then
                                   the end of the connection */
    PG_FAULT_TEAR_REPLY,        /* once: half of the reply to it is heard */
    PG_FAULT_END_AFTER_REPLY,   /* once: all of it is, and in one breath with
                                   the end of the transaction that the server
                                   ends the connection */
    PG_FAULT_SWALLOW,           /* all: nothing arrives, either way */
    PG_FAULT_FREEZE,            /* all: the same, until another is armed: then
                                   all of it does, late */
    PG_FAULT_DELAY,             /* all: each piece comes 50 to 200 ms late */
    PG_FAULT_REFUSE             /* all are cut, and no new one is let in */
} pg_fault;

typedef struct pg_proxy pg_proxy;

/* NULL when it could not be started (a line on stderr tells why). */
pg_proxy *pg_proxy_start(const char *server_conninfo);
/* The same on TCP. */
pg_proxy *pg_proxy_start_tcp(const char *server_conninfo);
void pg_proxy_stop(pg_proxy *proxy);

/* The conninfo by which to reach the server through it. */
const char *pg_proxy_conninfo(const pg_proxy *proxy);

void pg_proxy_arm(pg_proxy *proxy, pg_fault fault);
/* How often a fault has struck. */
size_t pg_proxy_struck(pg_proxy *proxy);

#endif
