/* SPDX-License-Identifier: MIT
 *
 * What the command line of the order demo says. All commands read the same
 * options, so one line can be repeated with another command.
 */
#ifndef ORDERS_SETTINGS_H
#define ORDERS_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#define SETTINGS_PATH_MAX 1024

struct settings {
    const char *command;
    const char *folder;     /* for the log, the records and the SQLite file */
    const char *orders;     /* the file of orders */
    const char *store;      /* a URL; a SQLite file in `folder` if not given */
    const char *name;       /* user id and queue of this run: several runs may
                               share a database */
    uint64_t seed;          /* of all that is random */
    uint64_t kills;         /* demo: how often */
    uint64_t orders_max;    /* take only the first orders of the file */
    uint64_t window;        /* cascades in flight at most */
    uint64_t in_flight_min; /* demo: fewer than that at a kill is a failure */
    uint64_t workers;       /* threads that run nodes */
    uint64_t status_fd;     /* the worker reports there; 0: nowhere */
    uint64_t permits_fd;    /* a byte there allows an effect; 0: all are */
    bool progress;          /* run: say how far it is */
    char sqlite[SETTINGS_PATH_MAX];
    char effects[SETTINGS_PATH_MAX]; /* the log of side effects */
};

/* Reads the command line. False when it is wrong: then the usage is printed. */
bool settings_read(int argc, char **argv, struct settings *settings);

#endif
