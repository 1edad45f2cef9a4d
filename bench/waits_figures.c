/* SPDX-License-Identifier: MIT
 *
 * The figures by name, until they are printed: one value a round, or many
 * times. They are noted by the thread that measures alone.
 */
#include "waits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 96
#define ROOM_FIRST 64

struct waits_series {
    char name[NAME_MAX_BYTES];
    const char *unit; /* NULL: times in nanoseconds */
    double *values;
    size_t count;
    size_t room;
    waits_series *next;
};

/* ---- Noting -------------------------------------------------------------- */

static waits_series *
find_series(waits *w, const char *name, const char *unit)
{
    waits_series **at = &w->series;

    while (*at != NULL && strcmp((*at)->name, name) != 0)
        at = &(*at)->next;
    if (*at != NULL)
        return *at;
    *at = bench_alloc(1, sizeof(waits_series));
    snprintf((*at)->name, NAME_MAX_BYTES, "%s", name);
    (*at)->unit = unit;
    return *at;
}

void
waits_note(waits *w, const char *name, double value, const char *unit)
{
    waits_series *s;

    if (!w->counts)
        return;
    s = find_series(w, name, unit);
    if (s->count == s->room) {
        size_t room = s->room == 0 ? ROOM_FIRST : 2 * s->room;
        double *values = bench_alloc(room, sizeof(double));

        if (s->count > 0)
            memcpy(values, s->values, s->count * sizeof(double));
        free(s->values);
        s->values = values;
        s->room = room;
    }
    s->values[s->count++] = value;
}

void
waits_note_time(waits *w, const char *name, double ns)
{
    waits_note(w, name, ns, NULL);
}

/* ---- Spans --------------------------------------------------------------- */

void
waits_begin(waits *w)
{
    if (w->pg != NULL)
        w->span.server = bench_pg_get(w->pg);
    w->span.commits = waits_stats(w).commits;
    w->span.cpu_us = bench_cpu_us();
    w->span.begun_ns = bench_now_ns();
}

static void
note_cost(waits *w, const char *name, const char *what, double value,
          const char *unit)
{
    char full[NAME_MAX_BYTES];

    snprintf(full, sizeof(full), "%s.%s", name, what);
    waits_note(w, full, value, unit);
}

void
waits_end_at(waits *w, const char *name, const char *unit, double items,
             int64_t from_ns, int64_t to_ns)
{
    int64_t cpu_us = bench_cpu_us() - w->span.cpu_us;
    uint64_t commits = waits_stats(w).commits - w->span.commits;
    bench_pg_figures now;
    bench_pg_figures used;

    waits_note(w, name, items * 1e9 / (double)(to_ns - from_ns), unit);
    note_cost(w, name, "process_cpu", (double)cpu_us / items, "us each");
    note_cost(w, name, "commits", (double)commits / items, "each");
    if (w->pg == NULL)
        return;
    now = bench_pg_get(w->pg);
    used = bench_pg_since(&w->span.server, &now);
    note_cost(w, name, "server_cpu", (double)used.cpu_us / items, "us each");
    note_cost(w, name, "wal", (double)used.wal_bytes / items, "bytes each");
}

void
waits_end(waits *w, const char *name, const char *unit, double items)
{
    waits_end_at(w, name, unit, items, w->span.begun_ns, bench_now_ns());
}

/* ---- Printing ------------------------------------------------------------ */

static void
print_time(const char *name, const char *end, double *values, size_t count,
           double share)
{
    char full[3 * NAME_MAX_BYTES];

    snprintf(full, sizeof(full), "%s.%s", name, end);
    bench_print(full, bench_percentile(values, count, share) / 1000, "us");
}

static void
print_series(const waits *w, waits_series *s)
{
    char name[2 * NAME_MAX_BYTES];

    snprintf(name, sizeof(name), "waits.%s.%s", bench_kind_name(w->kind),
             s->name);
    if (s->unit != NULL) {
        bench_print(name, bench_median(s->values, s->count), s->unit);
        return;
    }
    print_time(name, "p50", s->values, s->count, 0.5);
    print_time(name, "p99", s->values, s->count, 0.99);
}

void
waits_print(waits *w)
{
    waits_series *s = w->series;

    w->series = NULL;
    while (s != NULL) {
        waits_series *next = s->next;

        print_series(w, s);
        free(s->values);
        free(s);
        s = next;
    }
}
