/* SPDX-License-Identifier: MIT */
#include "pg.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ALONE_MAX_NS INT64_C(120000000000)

PGconn *
bench_pg_connect(const bench *b)
{
    PGconn *pg;

    if (b->pg == NULL)
        bench_die("--pg is missing");
    pg = PQconnectdb(b->pg);
    if (PQstatus(pg) != CONNECTION_OK)
        bench_die("%s", PQerrorMessage(pg));
    bench_pg_run(pg, "SET client_min_messages = warning");
    return pg;
}

void
bench_pg_run(PGconn *pg, const char *sql)
{
    PGresult *result = PQexec(pg, sql);
    ExecStatusType status = PQresultStatus(result);

    if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
        bench_die("%s: %s", sql, PQerrorMessage(pg));
    PQclear(result);
}

int64_t
bench_pg_number(PGconn *pg, const char *sql)
{
    PGresult *result = PQexec(pg, sql);
    int64_t number = 0;

    if (PQresultStatus(result) != PGRES_TUPLES_OK)
        bench_die("%s: %s", sql, PQerrorMessage(pg));
    if (PQntuples(result) > 0)
        number = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
    PQclear(result);
    return number;
}

/* ---- The processes of the server ----------------------------------------- */

typedef struct process_times {
    long parent;
    long long own;   /* ticks, user and system */
    long long ended; /* of its children that have ended */
} process_times;

/* /proc/PID/stat: the name in parentheses may hold anything. */
static bool
read_times(long pid, process_times *times)
{
    unsigned long long user, kernel;
    long long ended_user, ended_kernel;
    char path[64];
    char line[1024];
    char *rest = NULL;
    FILE *file;
    int found = 0;

    snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
    file = fopen(path, "r");
    if (file == NULL)
        return false;
    if (fgets(line, sizeof(line), file) != NULL)
        rest = strrchr(line, ')');
    fclose(file);
    if (rest != NULL)
        found =
            sscanf(rest + 1,
                   " %*c %ld %*d %*d %*d %*d %*u %*u %*u %*u %*u "
                   "%llu %llu %lld %lld",
                   &times->parent, &user, &kernel, &ended_user, &ended_kernel);
    if (found != 5)
        return false;
    times->own = (long long)(user + kernel);
    times->ended = ended_user + ended_kernel;
    return true;
}

/* The postmaster, its children, and those it has seen end. */
static int64_t
server_cpu_us(long postmaster)
{
    DIR *folder = opendir("/proc");
    process_times times;
    long long ticks = 0;
    const struct dirent *entry;

    if (folder == NULL || !read_times(postmaster, &times))
        bench_die("the server is not a process of this machine");
    ticks = times.own + times.ended;
    for (entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        long pid = strtol(entry->d_name, NULL, 10);

        if (pid > 0 && read_times(pid, &times) && times.parent == postmaster)
            ticks += times.own;
    }
    closedir(folder);
    return (int64_t)(ticks * (1000000 / sysconf(_SC_CLK_TCK)));
}

bench_pg_figures
bench_pg_get(PGconn *pg)
{
    process_times self;

    if (!read_times(PQbackendPID(pg), &self))
        bench_die("the server is not a process of this machine");
    bench_pg_run(pg, "SELECT pg_stat_force_next_flush()");
    return (bench_pg_figures){
        .cpu_us = server_cpu_us(self.parent),
        .wal_bytes = bench_pg_number(
            pg, "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8"),
        .wal_syncs = bench_pg_number(pg, "SELECT wal_sync FROM pg_stat_wal")};
}

bench_pg_figures
bench_pg_since(const bench_pg_figures *before, const bench_pg_figures *after)
{
    return (bench_pg_figures){.cpu_us = after->cpu_us - before->cpu_us,
                              .wal_bytes = after->wal_bytes - before->wal_bytes,
                              .wal_syncs =
                                  after->wal_syncs - before->wal_syncs};
}

void
bench_pg_await_alone(PGconn *pg)
{
    int64_t until_ns = bench_now_ns() + ALONE_MAX_NS;

    while (bench_pg_number(pg, "SELECT count(*)\n"
                               "FROM pg_stat_activity\n"
                               "WHERE backend_type = 'client backend'") > 1) {
        if (bench_now_ns() > until_ns)
            bench_die("somebody else is connected to the server");
        bench_sleep_ms(2);
    }
}
