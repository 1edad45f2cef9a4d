/* SPDX-License-Identifier: MIT
 *
 * Transfers between accounts, by transactional nodes. A few chains of them go
 * on side by side in one cascade; between two transfers of a chain there may be
 * an ordinary node, with a step, so that something else of the cascade is to be
 * recorded while a transaction is open or its outcome is not known:
 *
 *   begin --> move --> move --> note --> move
 *        \--> move --> note --> move --> move
 *
 * A transfer takes the money from one account, and then gives it to another.
 * Between the two it may fail, take longer than its transaction may, or take
 * its process down; in the end its transaction may not be one that can be
 * committed. All that a few times only: so each transfer must be made once. The
 * last of a chain may fail for good instead, in several ways: then it must not
 * be made at all. sim_ledger.c compares the accounts with the rows.
 */
#include <stdio.h>
#include <string.h>

#include "sim/work.h"

#define CHAINS_MAX 4
#define LAST_MAX 4 /* of a chain, counted from 0 */
#define LIMIT_MS 200
#define COMMAND_PERCENT 15

typedef enum fate {
    PLAIN,
    FAILS,       /* between the two */
    BREAKS,      /* as it is committed */
    SLOW,        /* out of time */
    DIES,        /* its process does, between the two */
    FAILS_FINAL, /* and the rest for good */
    ENDS,        /* its own transaction, and says that all is well */
    ENDS_FAILS,  /* the same, and that it has failed */
    CURSED       /* the store refuses what it records */
} fate;

/* ---- What each one does ------------------------------------------------- */

static fate
draw_fate(sim_random *random, int chain, bool last)
{
    static const fate passing[] = {FAILS, BREAKS, SLOW};
    static const fate final[] = {FAILS_FINAL, ENDS, ENDS_FAILS, CURSED};

    if (last && sim_chance(random, 35))
        return final[sim_below(random, 4)];
    if (chain == 0 && sim_chance(random, 8))
        return DIES; /* the others would be blamed for several */
    return sim_chance(random, 35) ? passing[sim_below(random, 3)] : PLAIN;
}

/* The same for everybody who asks. */
static sim_random
random_of(int seed, int chain, int nth)
{
    return sim_fork((uint64_t)seed, (uint64_t)chain, (uint64_t)nth);
}

static fate
fate_of(int seed, int chain, int nth, int last)
{
    sim_random random = random_of(seed, chain, nth);

    return draw_fate(&random, chain, nth == last);
}

/* The input of the nth transfer of a chain. */
static cJSON *
make_task(const cJSON *like, int chain, int nth)
{
    int seed = sim_member(like, "seed");
    int last = sim_member(like, "last");
    sim_random random = random_of(seed, chain, nth);
    fate kind = draw_fate(&random, chain, nth == last);
    int times = 1 + (int)sim_below(&random, 2);
    cJSON *task = sim_object("seed", seed);

    cJSON_AddNumberToObject(task, "last", last);
    cJSON_AddNumberToObject(task, "chain", chain);
    cJSON_AddNumberToObject(task, "nth", nth);
    cJSON_AddNumberToObject(task, "fate", kind);
    cJSON_AddNumberToObject(task, kind == DIES ? SIM_DEADLY : "times", times);
    cJSON_AddNumberToObject(task, "from",
                            (int)sim_below(&random, SIM_ACCOUNTS));
    cJSON_AddNumberToObject(task, "to", (int)sim_below(&random, SIM_ACCOUNTS));
    cJSON_AddNumberToObject(task, "sum", 1 + (int)sim_below(&random, 99));
    cJSON_AddNumberToObject(task, "asks", sim_chance(&random, 15));
    cJSON_AddNumberToObject(
        task, "take",
        sim_chance(&random, 30) ? (int)sim_below(&random, 60) : 0);
    cJSON_AddNumberToObject(task, "note", sim_chance(&random, 40));
    cJSON_AddNumberToObject(
        task, SIM_LATE,
        sim_chance(&random, 15) ? (int)sim_below(&random, 3000) : 0);
    return task;
}

static cascade_err
spawn_move(cascade_node *node, const cJSON *like, int chain, int nth)
{
    cJSON *task = make_task(like, chain, nth);
    cascade_spawn_options options = {.size = sizeof(options),
                                     .delay_ms = sim_member(task, SIM_LATE)};

    return cascade_node_spawn(node, SIM_TRANSFER_NODE, task, &options);
}

/* ---- The nodes ---------------------------------------------------------- */

static cascade_err
begin(cascade_node *node, sim_engine *engine)
{
    const cJSON *input = cascade_node_input(node);
    int chains = sim_member(input, "chains");
    cascade_err err = CASCADE_OK;

    (void)engine;
    for (int i = 0; i < chains && err == CASCADE_OK; i++)
        err = spawn_move(node, input, i, 0);
    return err;
}

/* It tells where in which chain it is, and nothing of that transfer. */
static cascade_err
spawn_note(cascade_node *node, const cJSON *task)
{
    static const char *const names[] = {"seed", "last", "chain", "nth"};
    cJSON *place = cJSON_CreateObject();

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        cJSON_AddNumberToObject(place, names[i], sim_member(task, names[i]));
    return cascade_node_spawn(node, "t.note", place, NULL);
}

static cascade_err
go_on(cascade_node *node, const cJSON *task)
{
    int nth = sim_member(task, "nth") + 1;

    if (nth > sim_member(task, "last"))
        return CASCADE_OK;
    if (sim_member(task, "note") != 0)
        return spawn_note(node, task);
    return spawn_move(node, task, sim_member(task, "chain"), nth);
}

static cascade_err
end_well(cascade_node *node, const cJSON *task)
{
    bool cursed = sim_member(task, "fate") == CURSED;
    cascade_err err = CASCADE_OK;

    sim_ledger_write(node, (unsigned)sim_member(task, "to"),
                     sim_member(task, "sum"));
    err =
        cascade_node_put(node, "a",
                         cursed ? cJSON_CreateString(SIM_CURSE)
                                : cJSON_CreateNumber(sim_member(task, "sum")));
    return err == CASCADE_OK ? go_on(node, task) : err;
}

/* What would be a commit of its own. */
static void
ask_too_much(cascade_node *node, sim_engine *engine)
{
    cascade_err err = cascade_node_sleep(node, "nap", 5);

    sim_expect(engine, node,
               err == CASCADE_ERR_MISUSE || err == CASCADE_ERR_FENCED,
               "a transactional node may sleep");
}

static cascade_err
move(cascade_node *node, sim_engine *engine)
{
    const cJSON *task = cascade_node_input(node);
    fate kind = (fate)sim_member(task, "fate");
    bool bad = cascade_node_attempt(node) <= sim_member(task, "times");

    if (sim_member(task, "asks") != 0)
        ask_too_much(node, engine);
    sim_ledger_write(node, (unsigned)sim_member(task, "from"),
                     -sim_member(task, "sum"));
    sim_node_take(engine, kind == SLOW && bad ? 2 * LIMIT_MS
                                              : sim_member(task, "take"));
    if (kind == DIES && sim_node_entries(node, engine) <=
                            (unsigned)sim_member(task, SIM_DEADLY)) {
        sim_note(SIM_KILL_WITHIN);
        return sim_node_die(node, engine);
    }
    if (kind == FAILS && bad)
        return cascade_node_error(node, "no luck");
    if (kind == FAILS_FINAL)
        return cascade_node_fail(node, "not today");
    if (kind == ENDS || kind == ENDS_FAILS)
        sim_ledger_end(node);
    if (kind == ENDS_FAILS)
        return cascade_node_error(node, "it is over");
    if (kind == BREAKS && bad)
        sim_ledger_break(node);
    return end_well(node, task);
}

static cascade_err
write_down(cascade_node *node, sim_engine *engine, const void *arg,
           cJSON **result)
{
    (void)engine;
    (void)arg;
    *result = NULL;
    return cascade_node_put(node, "log", cJSON_CreateNumber(1));
}

static cascade_err
note(cascade_node *node, sim_engine *engine)
{
    const cJSON *task = cascade_node_input(node);
    cascade_err err =
        sim_step(node, engine, "write", write_down, NULL, NULL, NULL);

    if (err != CASCADE_OK)
        return err;
    return spawn_move(node, task, sim_member(task, "chain"),
                      sim_member(task, "nth") + 1);
}

/* ---- The plan ----------------------------------------------------------- */

static void
add_command(sim_planned *planned, sim_random *random)
{
    sim_letter *letter = &planned->letters[planned->letter_count++];

    *letter = (sim_letter){.times = 1};
    (void)snprintf(letter->kind, sizeof(letter->kind), "%s",
                   sim_chance(random, 60) ? "cancel" : "terminate");
    (void)snprintf(letter->request_id, sizeof(letter->request_id), "t#0");
    letter->at_ms = planned->start_ms + sim_between(random, 0, 3000);
    planned->expected = 0;
}

static void
plan(sim_planned *planned, sim_random *random)
{
    (void)snprintf(planned->input, sizeof(planned->input),
                   "{\"seed\":%d,\"chains\":%d,\"last\":%d}",
                   sim_between(random, 1, 1000000),
                   sim_between(random, 1, CHAINS_MAX),
                   sim_between(random, 0, LAST_MAX));
    planned->expected = CASCADE_COMPLETED;
    if (sim_chance(random, COMMAND_PERCENT))
        add_command(planned, random);
}

/* ---- The check ---------------------------------------------------------- */

/* How many transfers fail for good: the last of some chains. */
static size_t
count_failing(const cJSON *input)
{
    int last = sim_member(input, "last");
    size_t count = 0;

    for (int i = 0; i < sim_member(input, "chains"); i++)
        count +=
            fate_of(sim_member(input, "seed"), i, last, last) >= FAILS_FINAL;
    return count;
}

static void
check(sim *s, const sim_planned *planned, const cascade_snapshot *snapshot)
{
    cJSON *input = cJSON_Parse(planned->input);
    size_t failing = count_failing(input);
    size_t all =
        (size_t)(sim_member(input, "chains") * (sim_member(input, "last") + 1));

    cJSON_Delete(input);
    if (planned->expected == 0)
        return;
    sim_check(s, planned,
              sim_executions(snapshot, SIM_TRANSFER_NODE,
                             CASCADE_EXECUTION_COMPLETED) == all - failing &&
                  sim_executions(snapshot, SIM_TRANSFER_NODE,
                                 CASCADE_EXECUTION_FAILED) == failing,
              "not each transfer was made that should be, or others were");
}

static const sim_node_def nodes[] = {
    {.name = "t.begin", .fn = begin},
    {.name = SIM_TRANSFER_NODE,
     .fn = move,
     .options = {.attempts_max = -1,
                 .backoff_ms = 20,
                 .final_failure = CASCADE_FINAL_CONTINUE,
                 .transactional = true,
                 .transaction_max_ms = LIMIT_MS}},
    {.name = "t.note", .fn = note}};

const sim_workload sim_work_transfer = {.name = "transfer",
                                        .weight = 25,
                                        .nodes = nodes,
                                        .node_count = 3,
                                        .first = "t.begin",
                                        .survives = true,
                                        .plan = plan,
                                        .check = check};
