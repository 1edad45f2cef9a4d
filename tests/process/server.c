/* SPDX-License-Identifier: MIT */
#include "process/server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "process/check.h"

/* Runs the script and reads the first line of what it says. */
static void
run_script(const char *verb, const char *folder, const char *options,
           char *line, size_t size)
{
    const char *root = getenv("CASCADE_SOURCE_DIR");
    char command[1024];
    FILE *script = NULL;
    int status = 0;

    if (root == NULL)
        fail_msg("CASCADE_SOURCE_DIR does not name the source tree");
    snprintf(command, sizeof(command),
             "sh '%s/tests/lib/throwaway-postgres.sh' %s %s %s", root, verb,
             folder, options);
    script = popen(command, "re");
    assert_non_null(script);
    if (fgets(line, (int)size, script) == NULL)
        line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    status = pclose(script);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("throwaway-postgres.sh %s failed", verb);
}

void
server_create(test_server *server, const char *options)
{
    *server = (test_server){.options = options};
    run_script("create", "", options, server->folder, sizeof(server->folder));
    snprintf(server->conninfo, sizeof(server->conninfo),
             "host=%s user=cascade dbname=cascade", server->folder);
}

void
server_crash(test_server *server)
{
    char line[128];

    run_script("crash", server->folder, "", line, sizeof(line));
}

void
server_start(test_server *server)
{
    char line[128];

    run_script("start", server->folder, server->options, line, sizeof(line));
}

void
server_remove(test_server *server)
{
    char line[128];

    run_script("remove", server->folder, "", line, sizeof(line));
}
