/* SPDX-License-Identifier: MIT
 *
 * The plan of a child: where the program may be found, its environment, its
 * limits. See process_plan.h.
 */
#include "base/process/process_plan.h"

#include <string.h>
#include <unistd.h>

#include "base/data/arena.h"
#include "base/error.h"
#include "base/process/process.h"
#include "cascade/cascade.h"

#define PATH_DEFAULT "/usr/bin:/bin"

/* The length of NAME= in "NAME=value"; all of it when there is no '='. */
static size_t
name_len(const char *variable)
{
    const char *equals = strchr(variable, '=');

    return equals != NULL ? (size_t)(equals - variable) + 1 : strlen(variable);
}

static cascade_err
plan_env(csc_process_plan *plan, const csc_process_spec *spec)
{
    char *const *given = environ;
    char **env = NULL;
    size_t count = 0;
    size_t kept = 0;

    if (spec->env != NULL)
        given = (char *const *)spec->env;
    while (given != NULL && given[count] != NULL)
        count++;
    env = csc_arena_alloc(&plan->arena, count + 2, sizeof(*env));
    if (env == NULL)
        return csc_fail_memory();
    for (size_t i = 0; i < count; i++) {
        if (spec->extra == NULL ||
            strncmp(given[i], spec->extra, name_len(spec->extra)) != 0)
            env[kept++] = given[i];
    }
    if (spec->extra != NULL)
        env[kept++] = (char *)spec->extra;
    env[kept] = NULL;
    plan->env = env;
    return CASCADE_OK;
}

static const char *
find_path(char *const *env)
{
    for (; *env != NULL; env++) {
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    }
    return PATH_DEFAULT;
}

/* Empty entries of PATH, which would mean the working folder, are passed over.
 */
static cascade_err
plan_paths(csc_process_plan *plan, const char *program)
{
    const char *at = strchr(program, '/') != NULL ? NULL : find_path(plan->env);
    const char **paths = NULL;
    size_t count = 0;
    size_t room = 2;

    for (const char *c = at; c != NULL && *c != '\0'; c++)
        room += *c == ':';
    paths = csc_arena_alloc(&plan->arena, room, sizeof(*paths));
    if (paths == NULL)
        return csc_fail_memory();
    if (at == NULL)
        paths[count++] = program;
    while (at != NULL && *at != '\0') {
        size_t len = strcspn(at, ":");
        const char *folder = csc_arena_strndup(&plan->arena, at, len);

        if (len > 0)
            paths[count++] = csc_arena_join(
                &plan->arena, folder != NULL ? folder : "", "/", program);
        at += len + (at[len] == ':');
    }
    paths[count] = NULL;
    plan->paths = paths;
    return plan->arena.failed ? csc_fail_memory() : CASCADE_OK;
}

/* `more` is what the hard limit has above the soft one: a program that outlives
 * the signal of its soft limit meets SIGKILL. */
static void
plan_limit(csc_process_plan *plan, int resource, int64_t limit, rlim_t more)
{
    struct rlimit now = {RLIM_INFINITY, RLIM_INFINITY};
    rlim_t soft = (rlim_t)limit;
    rlim_t hard = soft + more;

    if (limit <= 0)
        return;
    (void)getrlimit((__rlimit_resource_t)resource, &now);
    if (now.rlim_max != RLIM_INFINITY && hard > now.rlim_max)
        hard = now.rlim_max;
    if (soft > hard)
        soft = hard;
    plan->limits[plan->limit_count++] =
        (csc_process_limit){resource, {.rlim_cur = soft, .rlim_max = hard}};
}

cascade_err
csc_process_plan_init(csc_process_plan *plan, const csc_process_spec *spec)
{
    const csc_process_limits *limits = &spec->limits;
    cascade_err err = CASCADE_OK;

    *plan = (csc_process_plan){.fds = {-1, -1, -1}, .report = -1};
    plan->argv = (char *const *)spec->argv;
    plan->folder = spec->folder;
    plan_limit(plan, RLIMIT_CPU, limits->cpu_s, 1);
    plan_limit(plan, RLIMIT_AS, limits->memory_bytes, 0);
    plan_limit(plan, RLIMIT_FSIZE, limits->file_bytes, 0);
    plan_limit(plan, RLIMIT_NOFILE, limits->open_files, 0);
    err = plan_env(plan, spec);
    if (err == CASCADE_OK)
        err = plan_paths(plan, spec->argv[0]);
    return err;
}

static void
close_fd(int fd)
{
    if (fd >= 0)
        (void)close(fd);
}

void
csc_process_plan_fini(csc_process_plan *plan)
{
    for (size_t i = 0; i < 3; i++)
        close_fd(plan->fds[i]);
    close_fd(plan->report);
    csc_arena_fini(&plan->arena);
}
