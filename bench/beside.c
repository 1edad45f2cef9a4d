/* SPDX-License-Identifier: MIT
 *
 * How long others wait beside what is done to a giant. One cascade of very many
 * executions, and as many events, is deleted, or cancelled; meanwhile others
 * make one short call after the other (the loads). Each deed is done once for
 * each load: first the load alone, beside the giant at rest, then beside the
 * deed, until that is over.
 *
 *   delete     of one that is RUNNING and that no engine holds, until the last
 *              of its rows is gone
 *   dispose    the same of one that is COMPLETED
 *   cancel     of one whose executions are all to begin in a year, until it has
 *              ended
 *   load       of one that no engine holds, for a signal that nobody awaits,
 *              until this has been received
 *
 * The target is that no call waits more than three times as long as alone: of
 * the p99, and of the longest.
 */
#include <stdio.h>

#include "beside.h"

#define RATIO 3.0
#define LOOK_MS 20
#define MS_NS INT64_C(1000000)

typedef struct deed {
    const char *name;
    cascade_status status; /* of the giant */
    cascade_err (*ask)(cascade_store *store, const cascade_uuid *id,
                       const cascade_request_options *options);
    bool (*is_done)(cascade_store *store, const cascade_uuid *id);
} deed;

/* One that is under way. */
typedef struct doing {
    beside *s;
    const deed *deed;
    cascade_uuid id;
    int64_t look_ns; /* when to look for its end */
} doing;

/* ---- Deeds --------------------------------------------------------------- */

static bool
is_erased(cascade_store *store, const cascade_uuid *id)
{
    cascade_counts counts = {.size = sizeof(counts)};
    cascade_info *info = NULL;
    cascade_err err = cascade_get(store, id, &info);

    cascade_info_free(info);
    if (err != CASCADE_ERR_NOT_FOUND)
        return false;
    bench_check("count", cascade_counts_load(store, &counts));
    return counts.erasing == 0;
}

static bool
has_ended(cascade_store *store, const cascade_uuid *id)
{
    cascade_info *info = NULL;
    bool ended = false;

    bench_check("get", cascade_get(store, id, &info));
    ended = info->status != CASCADE_RUNNING;
    cascade_info_free(info);
    return ended;
}

static cascade_err
knock(cascade_store *store, const cascade_uuid *id,
      const cascade_request_options *options)
{
    (void)options;
    return cascade_signal(store, id, "knock", NULL, NULL);
}

static bool
has_heard(cascade_store *store, const cascade_uuid *id)
{
    cascade_counts counts = {.size = sizeof(counts)};

    (void)id;
    bench_check("count", cascade_counts_load(store, &counts));
    return counts.messages == 0;
}

static const deed deeds[] = {
    {"delete", CASCADE_RUNNING, cascade_delete, is_erased},
    {"dispose", CASCADE_COMPLETED, cascade_delete, is_erased},
    {"cancel", CASCADE_RUNNING, cascade_cancel, has_ended},
    {"load", CASCADE_RUNNING, knock, has_heard},
};

static bool
is_over(void *context)
{
    doing *d = context;
    int64_t now_ns = bench_now_ns();

    if (now_ns < d->look_ns)
        return false;
    d->look_ns = now_ns + LOOK_MS * MS_NS;
    return d->deed->is_done(d->s->outside, &d->id);
}

/* ---- The scene ----------------------------------------------------------- */

static cascade_err
return_at_once(cascade_node *node, void *user)
{
    (void)node;
    (void)user;
    return CASCADE_OK;
}

static void
start_engine(beside *s)
{
    const cascade_engine_options options = {.size = sizeof(options)};

    bench_check("open the engine",
                cascade_engine_open(s->store, &options, &s->engine));
    bench_check("register",
                cascade_engine_register(s->engine, BESIDE_NODE, return_at_once,
                                        NULL, NULL));
    bench_check("start the engine", cascade_engine_start(s->engine));
}

/* ---- Printing ------------------------------------------------------------ */

static void
print_one(const char *what, const char *part, const char *name, double value)
{
    char text[120];

    snprintf(text, sizeof(text), "%s.%s.%s", what, part, name);
    bench_print(text, value, "ms");
}

static void
print_figures(const char *what, const char *part, const beside_figures *figures)
{
    print_one(what, part, "p50", figures->p50);
    print_one(what, part, "p99", figures->p99);
    print_one(what, part, "max", figures->max);
}

static void
print_ratio(const beside *s, const char *what, const char *name, double alone,
            double beside_it)
{
    char text[120];

    snprintf(text, sizeof(text), "%s.ratio.%s", what, name);
    bench_print_target(text, beside_it / alone, "x alone", BENCH_MAX, RATIO,
                       bench_trusts(s->b, s->kind));
}

/* ---- Measuring ----------------------------------------------------------- */

static void
measure(beside *s, const deed *of, const beside_load *load, size_t count)
{
    doing d = {.s = s, .deed = of};
    char what[80];
    int64_t begun_ns = 0;
    beside_figures alone;
    beside_figures beside_it;

    snprintf(what, sizeof(what), "beside.%s.%s.%s", bench_kind_name(s->kind),
             of->name, load->name);
    if (!bench_wants(s->b, what))
        return;
    s->store = bench_open_new(s->b, s->kind, BESIDE_NAME);
    s->outside = bench_open(s->b, s->kind, BESIDE_NAME);
    d.id = beside_giant(s, count, of->status);
    bench_fill_settle(s->b, s->kind, BESIDE_NAME);
    start_engine(s);
    alone = beside_run(s, load, (int64_t)bench_pick(s->b, 2000, 10000, 20000),
                       NULL, NULL);
    begun_ns = bench_now_ns();
    bench_check(of->name, of->ask(s->outside, &d.id, NULL));
    beside_it = beside_run(s, load, 0, is_over, &d);
    print_one(what, "deed", "time", (double)(bench_now_ns() - begun_ns) / 1e6);
    print_figures(what, "alone", &alone);
    print_figures(what, "beside", &beside_it);
    print_ratio(s, what, "p99", alone.p99, beside_it.p99);
    print_ratio(s, what, "max", alone.max, beside_it.max);
    bench_check("close the engine", cascade_engine_close(s->engine));
    bench_close(s->store);
    bench_close(s->outside);
    bench_drop(s->b, s->kind, BESIDE_NAME);
}

int
main(int argc, char **argv)
{
    static const bench_kind kinds[] = {BENCH_SQLITE, BENCH_POSTGRES};
    bench b;

    bench_init(&b, argc, argv);
    for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
        beside s = {.b = &b, .kind = kinds[k]};

        if (!bench_has(&b, s.kind))
            continue;
        for (size_t i = 0; i < sizeof(deeds) / sizeof(deeds[0]); i++)
            for (size_t n = 0; n < beside_load_count; n++)
                measure(&s, &deeds[i], &beside_loads[n],
                        bench_count(&b, 20000, 300000, 1000000));
    }
    return 0;
}
