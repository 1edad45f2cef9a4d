/* SPDX-License-Identifier: MIT */
#include "faults/pooler.h"

#include <stdio.h>

#include "process/check.h"

static void
run(const char *verb, const test_pooler *pooler, const char *more)
{
    char arguments[256];
    char line[128];

    snprintf(arguments, sizeof(arguments), "%s %s %s", verb, pooler->folder,
             more);
    server_run("throwaway-pooler.sh", arguments, line, sizeof(line));
}

void
pooler_create(test_pooler *pooler, const test_server *server, int size)
{
    char arguments[256];

    snprintf(arguments, sizeof(arguments), "create %s %d", server->folder,
             size);
    server_run("throwaway-pooler.sh", arguments, pooler->folder,
               sizeof(pooler->folder));
    snprintf(pooler->conninfo, sizeof(pooler->conninfo),
             "host=%s port=6432 user=cascade dbname=cascade", pooler->folder);
}

void
pooler_kill(test_pooler *pooler)
{
    run("signal", pooler, "KILL");
}

void
pooler_start(test_pooler *pooler)
{
    run("start", pooler, "");
}

void
pooler_reload(test_pooler *pooler)
{
    run("signal", pooler, "HUP");
}

void
pooler_remove(test_pooler *pooler)
{
    run("remove", pooler, "");
}
