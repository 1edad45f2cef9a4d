/* SPDX-License-Identifier: MIT
 *
 * What stands for a schedule: a cascade that sleeps until a spec says that it
 * is time, does its work, and continues as new. The clock is the program's own,
 * as in testing.c, so that a week passes in no time.
 *
 *   schedule [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <cascade/schedule.h>
#include <stdio.h>

/* In a program that runs on it would have no end, and a zone:
 * cascade_spec_create_cron("0 2 * * MON-FRI", "Europe/Paris", &spec). */
#define SPEC "{\"cron\":\"0 2 * * MON-FRI\",\"end\":\"2026-03-11T00:00Z\"}"

#define SEARCHES_MAX 100

static const int64_t hour_ms = INT64_C(60) * 60 * 1000;
static const int64_t friday_noon_ms = 1772798400000; /* 2026-03-06 */

struct nightly {
    cascade_spec *spec;
    int reports;
};

static cascade_err
write_report(cascade_node *node, void *arg, cJSON **result)
{
    struct nightly *nightly = arg;

    (void)node;
    (void)result;
    nightly->reports++;
    return CASCADE_OK;
}

/* The first time behind `at_ms`. CASCADE_ERR_AGAIN: excludes leave none for as
 * far as was looked, which is far: some 500,000 times of a pattern. */
static cascade_err
find_next(const cascade_spec *spec, int64_t at_ms, int64_t *next_ms)
{
    cascade_spec_fire fire = {.at_ms = at_ms};
    cascade_err err = CASCADE_ERR_AGAIN;

    for (int i = 0; err == CASCADE_ERR_AGAIN && i < SEARCHES_MAX; i++)
        err = cascade_spec_next(spec, fire.at_ms, &fire);
    if (err == CASCADE_OK)
        *next_ms = fire.at_ms;
    return err;
}

/* The input is the time that this run is for. */
static cascade_err
report(cascade_node *node, void *user)
{
    struct nightly *nightly = user;
    int64_t at_ms = 0;
    cascade_err err = cascade_json_get_int64(cascade_node_input(node), &at_ms);

    if (err == CASCADE_OK)
        err = cascade_node_sleep_until(node, "until-then", at_ms);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "write", write_report, user, NULL, NULL);
    if (err != CASCADE_OK)
        return err;
    err = find_next(nightly->spec, at_ms, &at_ms);
    if (err == CASCADE_ERR_AGAIN)
        return cascade_node_fail(node, "all times are excluded for very long");
    if (err != CASCADE_OK) /* NOT_FOUND: this was the last time */
        return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
    return cascade_node_continue_as_new(node, NULL,
                                        cascade_json_create_int64(at_ms));
}

/* Whoever is first starts it; to all others it is there already. */
static cascade_err
start_report(cascade_store *store, const cascade_spec *spec,
             cascade_started *started)
{
    int64_t at_ms = 0;
    cascade_err err = cascade_store_now(store, &at_ms);

    if (err == CASCADE_OK)
        err = find_next(spec, at_ms, &at_ms);
    if (err != CASCADE_OK)
        return err;
    return cascade_start(
        store, "report", cascade_json_create_int64(at_ms),
        CASCADE_OPTIONS(cascade_start_options, .key = "report"), started);
}

/* ---- A week ------------------------------------------------------------- */

static int64_t
wall_ms(void *context)
{
    const int64_t *now_ms = context;

    return *now_ms;
}

static int64_t
monotonic_ns(void *context)
{
    const int64_t *now_ms = context;

    return *now_ms * 1000000;
}

/* Runs what is due, hour by hour. */
static cascade_err
pass_days(cascade_engine *engine, int64_t *now_ms, int days)
{
    cascade_err err = CASCADE_OK;

    for (int hour = 0; err == CASCADE_OK && hour <= days * 24; hour++) {
        do
            err = cascade_engine_poll(engine, 0, NULL);
        while (err == CASCADE_OK && cascade_engine_timeout_ms(engine) == 0);
        *now_ms += hour_ms;
    }
    return err;
}

int
main(int argc, char **argv)
{
    struct nightly nightly = {.reports = 0};
    int64_t now_ms = friday_noon_ms;
    const cascade_clock clock = {&now_ms, wall_ms, monotonic_ns};
    const cascade_store_options own_time = {.size = sizeof(own_time),
                                            .clock = &clock};
    const cascade_engine_options no_thread = {.size = sizeof(no_thread),
                                              .mode = CASCADE_MODE_INLINE};
    cascade_store *store = NULL;
    cascade_engine *engine = NULL;
    cascade_started started;
    cascade_outcome *end = NULL;
    int failed = 1;

    if (cascade_spec_create(SPEC, NULL, &nightly.spec) ||
        cascade_store_open(argc > 1 ? argv[1] : "memory:", &own_time, &store) ||
        cascade_engine_open(store, &no_thread, &engine) ||
        cascade_engine_register(engine, "report", report, &nightly, NULL) ||
        cascade_engine_start(engine) ||
        start_report(store, nightly.spec, &started) ||
        pass_days(engine, &now_ms, 7) ||
        cascade_wait_result(store, &started.id, -1, &end))
        fprintf(stderr, "schedule: %s\n", cascade_errmsg());
    else /* Monday's and Tuesday's */
        failed = nightly.reports != 2;
    cascade_outcome_free(end);
    cascade_engine_close(engine);
    cascade_store_close(store);
    cascade_spec_free(nightly.spec);
    return failed;
}
