/* SPDX-License-Identifier: MIT
 *
 * What does integrity cost? An engine on a store without it, with checksums
 * and with an HMAC, each on a store of its own, in turn in each round: the
 * work, the setting and the size of throughput's comparisons. Of each round
 * the rate is held against that of the same round without integrity; the median
 * counts, so what the machine does besides in some rounds does not. --only
 * takes the name of a store.
 */
#include <stdio.h>

#include "load.h"

#define STEPS 10
#define IN_FLIGHT 1000
#define MODES 3
#define WARM_UP 2 /* rounds */

/* What checksums cost at most, where rows go to a disk. */
#define CHECKSUM_MIN 0.9

static const char *const names[MODES] = {"none", "checksum", "hmac"};
static const cascade_integrity_mode modes[MODES] = {
    CASCADE_INTEGRITY_NONE, CASCADE_INTEGRITY_CHECKSUM, CASCADE_INTEGRITY_HMAC};

typedef struct side {
    bench b; /* with its mode */
    load *load;
    double rates[BENCH_ROUNDS_MAX];
    double cpu[BENCH_ROUNDS_MAX];
} side;

static void
name_store(size_t mode, char name[32])
{
    snprintf(name, 32, "bench_integrity_%s", names[mode]);
}

static void
open_side(const bench *b, bench_kind kind, size_t mode, side *s)
{
    static const load_setting setting = {.workers = 4};
    char name[32];

    s->b = *b;
    s->b.integrity = modes[mode];
    name_store(mode, name);
    s->load = load_open(&s->b, kind, name, &setting);
}

static void
close_side(bench_kind kind, size_t mode, side *s)
{
    char name[32];

    load_close(s->load);
    name_store(mode, name);
    bench_drop(&s->b, kind, name);
}

static size_t
executions_for(const bench *b, bench_kind kind)
{
    size_t count = bench_pick(b, 20000, 40000, 80000);

    return kind == BENCH_MEMORY ? 5 * count : count;
}

static void
run_side(bench_kind kind, raw_style style, side *s, size_t round)
{
    const load_run run = {.style = style,
                          .steps = STEPS,
                          .in_flight = IN_FLIGHT,
                          .cascades = executions_for(&s->b, kind) / STEPS};
    load_figures f = load_do(s->load, &run);

    s->rates[round] = f.executions / f.seconds;
    s->cpu[round] = f.cpu_us / f.executions;
}

static void
show(bench_kind kind, raw_style style, size_t mode, const char *what,
     double value, const char *unit)
{
    char name[96];

    snprintf(name, sizeof(name), "integrity.%s.%s.%s.%s", bench_kind_name(kind),
             raw_style_name(style), names[mode], what);
    if (kind != BENCH_MEMORY && mode == 1 && unit[0] == 'x')
        bench_print_target(name, value, unit, BENCH_MIN, CHECKSUM_MIN, true);
    else
        bench_print(name, value, unit);
}

/* In front of what sorts the rates. */
static void
show_ratio(bench_kind kind, raw_style style, const side *sides, size_t mode,
           size_t rounds)
{
    double ratios[BENCH_ROUNDS_MAX];

    for (size_t i = 0; i < rounds; i++)
        ratios[i] = sides[mode].rates[i] / sides[0].rates[i];
    show(kind, style, mode, "ratio", bench_median(ratios, rounds), "x none");
}

static void
compare(const bench *b, bench_kind kind, raw_style style)
{
    static side sides[MODES];

    for (size_t i = 0; i < MODES; i++)
        open_side(b, kind, i, &sides[i]);
    for (size_t round = 0; round < WARM_UP + b->rounds; round++)
        for (size_t i = 0; i < MODES; i++)
            run_side(kind, style, &sides[i],
                     round < WARM_UP ? 0 : round - WARM_UP);
    for (size_t i = 0; i < MODES; i++)
        close_side(kind, i, &sides[i]);
    for (size_t i = 1; i < MODES; i++)
        show_ratio(kind, style, sides, i, b->rounds);
    for (size_t i = 0; i < MODES; i++) {
        show(kind, style, i, "executions",
             bench_median(sides[i].rates, b->rounds), "exec/s");
        show(kind, style, i, "process_cpu",
             bench_median(sides[i].cpu, b->rounds), "us/exec");
    }
}

int
main(int argc, char **argv)
{
    bench b;

    bench_init(&b, argc, argv);
    for (int kind = BENCH_MEMORY; kind <= BENCH_POSTGRES; kind++)
        for (int style = RAW_LINE; style <= RAW_GRAPH; style++)
            if (bench_has(&b, (bench_kind)kind) &&
                bench_wants(&b, bench_kind_name((bench_kind)kind)))
                compare(&b, (bench_kind)kind, (raw_style)style);
    return 0;
}
