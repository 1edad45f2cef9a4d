/* SPDX-License-Identifier: MIT */
#include "process/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "process/check.h"

void
server_run(const char *name, const char *arguments, char *line, size_t size)
{
    const char *root = getenv("CASCADE_SOURCE_DIR");
    char command[1024];
    FILE *script = NULL;
    int status = 0;

    if (root == NULL)
        fail_msg("CASCADE_SOURCE_DIR does not name the source tree");
    snprintf(command, sizeof(command), "sh '%s/tests/lib/%s' %s", root, name,
             arguments);
    script = popen(command, "re");
    assert_non_null(script);
    if (fgets(line, (int)size, script) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    status = pclose(script);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("%s %s failed", name, arguments);
}

static void
run_script(const char *verb, const char *folder, const char *options,
           char *line, size_t size)
{
    char arguments[512];

    snprintf(arguments, sizeof(arguments), "%s %s %s", verb, folder, options);
    server_run("throwaway-postgres.sh", arguments, line, size);
}

static void
make(test_server *server, const char *verb, const char *folder,
     const char *options)
{
    *server = (test_server){.options = options};
    run_script(verb, folder, options, server->folder, sizeof(server->folder));
    snprintf(server->conninfo, sizeof(server->conninfo),
             "host=%s user=cascade dbname=cascade", server->folder);
}

void
server_create(test_server *server, const char *options)
{
    make(server, "create", "", options);
}

void
server_create_standby(test_server *server, const test_server *primary,
                      const char *options)
{
    make(server, "standby", primary->folder, options);
}

static void
run_verb(const test_server *server, const char *verb)
{
    char line[128];

    run_script(verb, server->folder, "", line, sizeof(line));
}

void
server_promote(test_server *server)
{
    run_verb(server, "promote");
}

void
server_crash(test_server *server)
{
    run_verb(server, "crash");
}

void
server_stop(test_server *server)
{
    run_verb(server, "stop");
}

void
server_start(test_server *server)
{
    char line[128];

    run_script("start", server->folder, server->options, line, sizeof(line));
}

void
server_keep(test_server *server)
{
    run_verb(server, "keep");
}

void
server_restore(test_server *server)
{
    run_verb(server, "restore");
}

void
server_remove(test_server *server)
{
    run_verb(server, "remove");
}
