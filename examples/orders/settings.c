/* SPDX-License-Identifier: MIT
 *
 * The command line: one table of options, one place for the defaults.
 */
#include "settings.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: orders COMMAND --dir DIR --orders FILE [OPTION...]\n"
    "\n"
    "  run       start the orders and work until all have ended; may be\n"
    "            killed and started again at any moment\n"
    "  record    after a kill, while nothing runs: write down what the\n"
    "            tables hold as done\n"
    "  prove     read tables, log and records, and judge\n"
    "  demo      all of it: run, kill, record, run again ..., prove\n"
    "\n"
    "  --dir DIR            for the log, the records and the SQLite file\n"
    "  --orders FILE        the orders, as JSON\n"
    "  --store URL          default: the SQLite file DIR/orders.db\n"
    "  --name NAME          of this run in the store; default: orders\n"
    "  --seed N             of all that is random; default: 1\n"
    "  --orders-max N       take only the first N orders\n"
    "  --window N           orders in flight at most; default: 80\n"
    "  --workers N          threads that run nodes; default: 4\n"
    "  --progress           run: say how far it is\n"
    "  --kills N            demo: how often, at most 99; default: 5\n"
    "  --in-flight-min N    demo: fewer orders in flight at a kill are a\n"
    "                       failure; default: 20\n";

enum kind {
    TEXT,
    NUMBER,
    FLAG
};

static const struct option {
    const char *name;
    enum kind kind;
    size_t offset;
    uint64_t max;
} options[] = {
    {"--dir", TEXT, offsetof(struct settings, folder), 0},
    {"--orders", TEXT, offsetof(struct settings, orders), 0},
    {"--store", TEXT, offsetof(struct settings, store), 0},
    {"--name", TEXT, offsetof(struct settings, name), 0},
    {"--seed", NUMBER, offsetof(struct settings, seed), UINT64_MAX},
    {"--kills", NUMBER, offsetof(struct settings, kills), 99},
    {"--orders-max", NUMBER, offsetof(struct settings, orders_max), 100000},
    {"--window", NUMBER, offsetof(struct settings, window), 10000},
    {"--in-flight-min", NUMBER, offsetof(struct settings, in_flight_min),
     10000},
    {"--workers", NUMBER, offsetof(struct settings, workers), 256},
    {"--status-fd", NUMBER, offsetof(struct settings, status_fd), 1000},
    {"--permits-fd", NUMBER, offsetof(struct settings, permits_fd), 1000},
    {"--progress", FLAG, offsetof(struct settings, progress), 0},
};

static const struct option *
option_by_name(const char *name)
{
    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(options[i].name, name) == 0)
            return &options[i];
    return NULL;
}

static bool
number(const char *text, uint64_t max, uint64_t *value)
{
    char *end = NULL;
    errno = 0;
    unsigned long long read = strtoull(text, &end, 10);
    if (errno != 0 || *text < '0' || *text > '9' || *end != '\0' || read > max)
        return false;
    *value = read;
    return true;
}

/* Stores the value of `option`; false when it is no good. */
static bool
store_value(const struct option *option, const char *value,
            struct settings *settings)
{
    void *member = (char *)settings + option->offset;
    switch (option->kind) {
    case TEXT:
        *(const char **)member = value;
        return value != NULL;
    case NUMBER:
        return value != NULL && number(value, option->max, member);
    case FLAG:
        *(bool *)member = true;
        return true;
    }
    return false;
}

static bool
read_options(int argc, char **argv, struct settings *settings)
{
    for (int i = 2; i < argc; i++) {
        const struct option *option = option_by_name(argv[i]);
        const char *value = NULL;
        if (option != NULL && option->kind != FLAG) {
            i++;
            value = argv[i]; /* NULL after the last */
        }
        if (option == NULL || !store_value(option, value, settings)) {
            fprintf(stderr, "orders: wrong or incomplete option '%s'\n\n",
                    option == NULL ? argv[i] : option->name);
            return false;
        }
    }
    return true;
}

/* What was not given follows from the folder. */
static bool
complete(struct settings *settings)
{
    if (settings->folder == NULL || settings->orders == NULL) {
        fprintf(stderr, "orders: --dir and --orders are needed\n\n");
        return false;
    }
    int db = snprintf(settings->sqlite, sizeof(settings->sqlite),
                      "sqlite:%s/orders.db", settings->folder);
    int log = snprintf(settings->effects, sizeof(settings->effects),
                       "%s/effects.log", settings->folder);
    if (db >= SETTINGS_PATH_MAX || log >= SETTINGS_PATH_MAX) {
        fprintf(stderr, "orders: the path of --dir is too long\n\n");
        return false;
    }
    if (settings->store == NULL)
        settings->store = settings->sqlite;
    return true;
}

bool
settings_read(int argc, char **argv, struct settings *settings)
{
    *settings = (struct settings){
        .command = argc > 1 ? argv[1] : "",
        .name = "orders",
        .seed = 1,
        .kills = 5,
        .orders_max = 100000,
        .window = 80,
        .in_flight_min = 20,
        .workers = 4,
    };
    if (read_options(argc, argv, settings) && complete(settings))
        return true;
    fputs(usage, stderr);
    return false;
}
