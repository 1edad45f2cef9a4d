/* SPDX-License-Identifier: MIT
 *
 * The proof: see proof.h for what it says. It goes in three passes:
 *
 *   orders      each order's cascade is read and compared with the order; its
 *               executions and steps are collected by request id
 *   log         each line is matched with an execution and with the records
 *   executions  each must have happened; sums by order are compared
 */
#include "proof.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cascade/cascade.h>

#include "effect_log.h"
#include "order_file.h"
#include "order_flow.h"
#include "view.h"

#define TOLD_MAX 10

/* What an order asks for: one node or step each, or one for each item. */
static const struct kind {
    const char *node;
    const char *action; /* NULL: nothing happens outside */
    bool each_item;
} kinds[] = {
    {NODE_RESERVE, "reserve", false},
    {NODE_CHARGE, "charge", false},
    {NODE_PARCEL, NULL, true},
    {"cascade.step:" STEP_PICK, STEP_PICK, true},
    {"cascade.step:" STEP_PACK, STEP_PACK, true},
    {"cascade.step:" STEP_LABEL, STEP_LABEL, true},
    {NODE_SHIP, "ship", false},
    {NODE_NOTIFY, "notify", false},
};
#define KIND_COUNT (sizeof(kinds) / sizeof(kinds[0]))

struct execution {
    char *request;
    size_t order;
    size_t kind;
    bool ended;
    bool happened;
    int64_t value; /* of what happened */
};

struct reader {
    const struct settings *settings;
    cascade_store *store;
    struct order_file orders;
    struct effect_log log;
    struct record records[RECORDS_MAX];
    struct execution *executions; /* by request id */
    size_t execution_count;
    size_t execution_room;
    struct proof *proof;
    size_t told;
};

/* Counts one thing that is wrong, and tells it if it is one of the first. */
static void wrong(struct reader *reader, size_t *counter, const char *format,
                  ...) CASCADE_PRINTF(3, 4);

static void
wrong(struct reader *reader, size_t *counter, const char *format, ...)
{
    va_list args;
    (*counter)++;
    reader->told++;
    if (reader->told > TOLD_MAX)
        return;
    va_start(args, format);
    fputs("proof: ", stderr);
    vfprintf(stderr, format, args);
    fputs(reader->told == TOLD_MAX ? " (no more is told)\n" : "\n", stderr);
    va_end(args);
}

/* ---- Orders ------------------------------------------------------------- */

static size_t
kind_of(const char *node)
{
    size_t kind = 0;
    while (kind < KIND_COUNT && strcmp(kinds[kind].node, node) != 0)
        kind++;
    return kind;
}

static bool
add_execution(struct reader *reader, size_t order,
              const cascade_execution_info *info)
{
    if (reader->execution_count == reader->execution_room) {
        size_t room = reader->execution_room * 2 + 1024;
        struct execution *executions =
            realloc(reader->executions, room * sizeof(*executions));
        if (executions == NULL)
            return false;
        reader->executions = executions;
        reader->execution_room = room;
    }
    struct execution execution = {
        .request = strdup(info->node_instance_id),
        .order = order,
        .kind = kind_of(info->node_name),
        .ended = info->status != CASCADE_EXECUTION_RUNNING,
    };
    reader->executions[reader->execution_count] = execution;
    reader->execution_count += execution.request == NULL ? 0 : 1;
    return execution.request != NULL;
}

/* The result of the cascade is the summary that notify gives. */
static bool
result_fits(const struct order *order, const char *result)
{
    cJSON *json = result == NULL ? NULL : cJSON_Parse(result);
    const char *id =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, "order"));
    const cJSON *parcels = cJSON_GetObjectItemCaseSensitive(json, "parcels");
    const cJSON *cents = cJSON_GetObjectItemCaseSensitive(json, "amount_cents");
    bool fits = id != NULL && strcmp(id, order->id) == 0 &&
                cJSON_IsNumber(parcels) && cJSON_IsNumber(cents) &&
                (size_t)parcels->valueint == order->items &&
                (int64_t)cents->valuedouble == order->amount_cents;
    cJSON_Delete(json);
    return fits;
}

/* Compares the executions in the tables with what the order asks for. */
static bool
check_executions(struct reader *reader, size_t number,
                 const cascade_snapshot *snapshot)
{
    const struct order *order = &reader->orders.orders[number];
    size_t counts[KIND_COUNT + 1] = {0};
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);
        counts[kind_of(info->node_name)]++;
        if (info->status != CASCADE_EXECUTION_COMPLETED)
            wrong(reader, &reader->proof->lost, "%s is not completed",
                  info->node_instance_id);
        if (!add_execution(reader, number, info))
            return false;
    }
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        size_t expected = kinds[kind].each_item ? order->items : 1;
        if (counts[kind] != expected)
            wrong(reader, &reader->proof->lost,
                  "order %s has %zu executions of %s, not %zu", order->id,
                  counts[kind], kinds[kind].node, expected);
    }
    if (counts[KIND_COUNT] != 0)
        wrong(reader, &reader->proof->lost,
              "order %s has executions of other nodes", order->id);
    return true;
}

static bool
check_snapshot(struct reader *reader, size_t number,
               const cascade_snapshot *snapshot)
{
    const struct order *order = &reader->orders.orders[number];
    if (cascade_snapshot_info(snapshot)->status == CASCADE_COMPLETED)
        reader->proof->completed++;
    else
        wrong(reader, &reader->proof->lost, "order %s is not completed%s%s",
              order->id, cascade_snapshot_error(snapshot) == NULL ? "" : ": ",
              cascade_snapshot_error(snapshot) == NULL
                  ? ""
                  : cascade_snapshot_error(snapshot));
    if (!result_fits(order, cascade_snapshot_result(snapshot)))
        wrong(reader, &reader->proof->totals,
              "the result of order %s is not what was ordered", order->id);
    return check_executions(reader, number, snapshot);
}

static bool
check_order(struct reader *reader, size_t number)
{
    const struct order *order = &reader->orders.orders[number];
    cascade_snapshot *snapshot = NULL;
    cascade_uuid id;
    cascade_err err =
        cascade_uuid_from_key(reader->settings->name, order->id, &id);

    reader->proof->ordered_cents += order->amount_cents;
    if (err == CASCADE_OK)
        err = cascade_snapshot_load(reader->store, &id, NULL, &snapshot);
    if (err == CASCADE_ERR_NOT_FOUND) {
        wrong(reader, &reader->proof->lost, "order %s has no cascade",
              order->id);
        return true;
    }
    if (err != CASCADE_OK) {
        fprintf(stderr, "orders: %s\n", cascade_errmsg());
        return false;
    }
    bool ok = check_snapshot(reader, number, snapshot);
    cascade_snapshot_free(snapshot);
    return ok;
}

static int
by_request(const void *a, const void *b)
{
    const struct execution *x = a;
    const struct execution *y = b;
    return strcmp(x->request, y->request);
}

static bool
check_orders(struct reader *reader)
{
    struct proof *proof = reader->proof;
    if (view_count(reader->store, reader->settings->name, 0,
                   &proof->cascades) != CASCADE_OK) {
        fprintf(stderr, "orders: %s\n", cascade_errmsg());
        return false;
    }
    if (proof->cascades != proof->orders)
        wrong(reader, &proof->lost, "there are %zu cascades for %zu orders",
              proof->cascades, proof->orders);
    for (size_t i = 0; i < reader->orders.count; i++)
        if (!check_order(reader, i))
            return false;
    proof->executions = reader->execution_count;
    if (reader->execution_count > 0)
        qsort(reader->executions, reader->execution_count,
              sizeof(*reader->executions), by_request);
    return true;
}

/* ---- Log ---------------------------------------------------------------- */

static int
against_request(const void *request, const void *execution)
{
    return strcmp(request, ((const struct execution *)execution)->request);
}

static struct execution *
find_execution(struct reader *reader, const char *request)
{
    if (reader->execution_count == 0)
        return NULL;
    return bsearch(request, reader->executions, reader->execution_count,
                   sizeof(*reader->executions), against_request);
}

/* The number of kills before the byte `offset` of the log. */
static size_t
kills_before(const struct reader *reader, size_t offset)
{
    size_t kills = 0;
    while (kills < reader->proof->kill_count &&
           reader->records[kills].effects_len <= offset)
        kills++;
    return kills;
}

/* What was recorded before a kill must not happen after it. */
static void
check_not_again(struct reader *reader, const struct log_line *line)
{
    size_t kills = kills_before(reader, line->offset);
    for (size_t i = 0; i < kills; i++) {
        const struct record_line *recorded =
            record_find(&reader->records[i], line->request);
        if (recorded == NULL ||
            (!recorded->ended && line->attempt > recorded->attempts))
            continue;
        wrong(reader, &reader->proof->again,
              "%s was recorded before kill %zu and ran again", line->request,
              i + 1);
        return;
    }
}

/* `line` repeats `before`, same request and same attempt: the first kill after
 * `before` cut it off. */
static void
count_repetition(struct reader *reader, const struct log_line *before,
                 const struct log_line *line)
{
    size_t kill = kills_before(reader, before->offset);
    reader->proof->repeated++;
    if (kill < kills_before(reader, line->offset))
        reader->proof->kills[kill].repeated++;
    else
        wrong(reader, &reader->proof->unexplained,
              "%s happened twice without a kill in between", line->request);
}

static void
match_line(struct reader *reader, const struct log_line *line)
{
    struct execution *execution = find_execution(reader, line->request);
    const char *action = NULL;
    if (execution != NULL && execution->kind < KIND_COUNT)
        action = kinds[execution->kind].action;
    if (action == NULL || strcmp(action, line->action) != 0) {
        wrong(reader, &reader->proof->lost, "the tables know no %s as %s",
              line->action, line->request);
        return;
    }
    if (!line->done)
        return;
    if (execution->happened && execution->value != line->value)
        wrong(reader, &reader->proof->totals,
              "%s happened with different amounts", line->request);
    execution->happened = true;
    execution->value = line->value;
}

static void
check_log(struct reader *reader)
{
    const struct effect_log *log = &reader->log;
    reader->proof->lines = log->count;
    reader->proof->torn = log->torn;
    for (size_t i = 0; i < log->count; i++) {
        const struct log_line *line = &log->lines[i];
        const struct log_line *before = i == 0 ? line : line - 1;
        reader->proof->declined += line->done ? 0 : 1;
        match_line(reader, line);
        check_not_again(reader, line);
        if (before != line && before->attempt == line->attempt &&
            strcmp(before->request, line->request) == 0)
            count_repetition(reader, before, line);
    }
}

/* ---- Executions --------------------------------------------------------- */

/* Sums for each order and kind what happened outside: a request counts once. */
static void
sum_executions(struct reader *reader, int64_t (*sums)[KIND_COUNT])
{
    for (size_t i = 0; i < reader->execution_count; i++) {
        const struct execution *execution = &reader->executions[i];
        if (execution->kind == KIND_COUNT ||
            kinds[execution->kind].action == NULL)
            continue;
        reader->proof->expected++;
        reader->proof->happened += execution->happened ? 1 : 0;
        sums[execution->order][execution->kind] += execution->value;
        if (!execution->happened)
            wrong(reader, &reader->proof->lost, "%s never happened outside",
                  execution->request);
    }
}

static int64_t
expected_sum(const struct order *order, const char *action)
{
    if (strcmp(action, "charge") == 0)
        return order->amount_cents;
    if (strcmp(action, "ship") == 0)
        return (int64_t)order->items;
    if (strcmp(action, "notify") == 0)
        return 0;
    return order->pieces;
}

static void
check_sums(struct reader *reader, size_t number, const int64_t *sums)
{
    const struct order *order = &reader->orders.orders[number];
    for (size_t kind = 0; kind < KIND_COUNT; kind++) {
        const char *action = kinds[kind].action;
        if (action == NULL)
            continue;
        if (sums[kind] != expected_sum(order, action))
            wrong(reader, &reader->proof->totals,
                  "order %s: %s adds up to %lld, not %lld", order->id, action,
                  (long long)sums[kind],
                  (long long)expected_sum(order, action));
        if (strcmp(action, "charge") == 0)
            reader->proof->charged_cents += sums[kind];
    }
}

static bool
check_totals(struct reader *reader)
{
    int64_t(*sums)[KIND_COUNT] =
        calloc(reader->orders.count + 1, sizeof(*sums));
    if (sums == NULL) {
        fprintf(stderr, "orders: out of memory\n");
        return false;
    }
    sum_executions(reader, sums);
    for (size_t i = 0; i < reader->orders.count; i++)
        check_sums(reader, i, sums[i]);
    free(sums);
    return true;
}

/* ---- Records ------------------------------------------------------------ */

/* What was recorded as ended before a kill must be so at the end. */
static void
check_records(struct reader *reader)
{
    for (size_t k = 0; k < reader->proof->kill_count; k++) {
        const struct record *record = &reader->records[k];
        for (size_t i = 0; i < record->count; i++) {
            const struct record_line *line = &record->lines[i];
            const struct execution *execution =
                find_execution(reader, line->request);
            if (line->ended && (execution == NULL || !execution->ended))
                wrong(reader, &reader->proof->lost,
                      "%s was recorded at kill %zu and is lost", line->request,
                      k + 1);
        }
    }
}

static bool
read_records(struct reader *reader)
{
    struct proof *proof = reader->proof;
    for (size_t k = 0; k < RECORDS_MAX; k++) {
        struct record *record = &reader->records[k];
        if (!record_exists(reader->settings, k + 1))
            break;
        if (!record_read(reader->settings, k + 1, record))
            return false;
        proof->kills[k].in_flight = record->in_flight;
        proof->kills[k].ended = record->ended;
        proof->kill_count = k + 1;
    }
    return true;
}

/* ---- Together ----------------------------------------------------------- */

static bool
read_sources(struct reader *reader)
{
    const struct settings *settings = reader->settings;
    if (!order_file_read(settings->orders, settings->orders_max,
                         &reader->orders) ||
        !effect_log_read(settings->effects, &reader->log) ||
        !read_records(reader))
        return false;
    if (cascade_store_open(settings->store, NULL, &reader->store) !=
        CASCADE_OK) {
        fprintf(stderr, "orders: %s\n", cascade_errmsg());
        return false;
    }
    reader->proof->orders = reader->orders.count;
    return true;
}

static void
free_sources(struct reader *reader)
{
    for (size_t i = 0; i < reader->execution_count; i++)
        free(reader->executions[i].request);
    free(reader->executions);
    for (size_t k = 0; k < reader->proof->kill_count; k++)
        record_free(&reader->records[k]);
    effect_log_free(&reader->log);
    order_file_free(&reader->orders);
    cascade_store_close(reader->store);
}

bool
proof_make(const struct settings *settings, struct proof *proof)
{
    struct reader reader = {.settings = settings, .proof = proof};

    *proof = (struct proof){.orders = 0};
    bool ok = read_sources(&reader) && check_orders(&reader);
    if (ok) {
        check_log(&reader);
        check_records(&reader);
        ok = check_totals(&reader);
    }
    free_sources(&reader);
    return ok;
}

bool
proof_holds(const struct proof *proof)
{
    return proof->lost == 0 && proof->again == 0 && proof->unexplained == 0 &&
           proof->totals == 0;
}
