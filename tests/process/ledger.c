/* SPDX-License-Identifier: MIT
 *
 * Rows are read with the moves of the driver, a page of cascades at a time.
 */
#include "process/ledger.h"

#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "process/check.h"
#include "process/flow.h"
#include "store/store.h"

#define SLEEP_PREFIX "cascade.sleep:"
#define PAGE 500
#define ID_MAX 256

/* ---- Entries: executions by request id ----------------------------------- */

typedef struct recorded {
    size_t mark; /* recorded when the log was that long */
    size_t lines;
    int attempt; /* the highest seen in the log */
    char id[];
} recorded;

static int
compare(const void *a, const void *b)
{
    const recorded *left = a;
    const recorded *right = b;

    return strcmp(left->id, right->id);
}

/* The recorded with that id; made when missing and `mark` is given. */
static recorded *
find(test_ledger *ledger, const char *id, const size_t *mark)
{
    size_t length = strlen(id) + 1;
    recorded *key = calloc(1, sizeof(*key) + length);
    recorded **found = NULL;

    assert_non_null(key);
    memcpy(key->id, id, length);
    if (mark != NULL)
        key->mark = *mark;
    found = mark != NULL ? tsearch(key, &ledger->recorded, compare)
                         : tfind(key, &ledger->recorded, compare);
    if (found == NULL || *found != key)
        free(key);
    else
        ledger->marked++;
    return found != NULL ? *found : NULL;
}

/* ---- Cascades that had ended --------------------------------------------- */

static int
compare_ids(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(cascade_uuid));
}

bool
ledger_has_ended(const test_ledger *ledger, const cascade_uuid *id)
{
    return tfind(id, &ledger->ended, compare_ids) != NULL;
}

/* Nothing more is to be read of it. */
static void
set_ended(test_ledger *ledger, const cascade_uuid *id)
{
    cascade_uuid *copy = NULL;

    if (ledger_has_ended(ledger, id))
        return;
    copy = malloc(sizeof(*copy));
    assert_non_null(copy);
    *copy = *id;
    assert_non_null(tsearch(copy, &ledger->ended, compare_ids));
}

void
ledger_open(test_ledger *ledger, const test_place *place)
{
    *ledger = (test_ledger){.place = place, .store = place_open(place)};
}

void
ledger_close(test_ledger *ledger)
{
    tdestroy(ledger->recorded, free);
    tdestroy(ledger->ended, free);
    assert_ok(cascade_store_close(ledger->store));
}

/* ---- Reading the tables -------------------------------------------------- */

typedef struct reading {
    test_ledger *ledger;
    cascade_uuid ids[PAGE];
    size_t count;
    size_t listed;
    cascade_uuid after; /* the last listed */
    bool whole;         /* checks each cascade against the flow */
    size_t cascades;
    size_t keyed;
    size_t executions;
    size_t sleeps;
    size_t events;
    int32_t last_place; /* of the event before */
    cascade_uuid last_id;
} reading;

static cascade_err
on_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    reading *r = context;

    r->listed++;
    r->after = row->id;
    if (row->status == CASCADE_RUNNING)
        r->ledger->running++;
    if (r->whole && run != NULL)
        fail_msg("an ended cascade has a run");
    if (r->whole || !ledger_has_ended(r->ledger, &row->id))
        r->ids[r->count++] = row->id;
    return CASCADE_OK;
}

static cascade_err
on_cascade(void *context, const cascade_row *row)
{
    reading *r = context;

    r->cascades++;
    if (row->status != CASCADE_RUNNING)
        set_ended(r->ledger, &row->id);
    if (strcmp(row->user_id, "keyed") == 0)
        r->keyed++;
    if (r->whole || (r->ledger->strict && row->status != CASCADE_RUNNING)) {
        assert_int_equal(CASCADE_COMPLETED, row->status);
        assert_int_equal(FLOW_EXECUTIONS + FLOW_SLEEPS - 1, row->fn_id);
    }
    return CASCADE_OK;
}

static cascade_err
on_execution(void *context, const cascade_execution_row *row)
{
    reading *r = context;
    const size_t *mark = &r->ledger->mark;

    if (r->whole)
        assert_int_equal(CASCADE_EXECUTION_COMPLETED, row->status);
    if (strncmp(row->node_name, SLEEP_PREFIX, strlen(SLEEP_PREFIX)) == 0) {
        r->sleeps++;
        return CASCADE_OK; /* nothing runs for it */
    }
    r->executions++;
    if (row->status != CASCADE_EXECUTION_RUNNING)
        find(r->ledger, row->node_instance_id, mark);
    return CASCADE_OK;
}

/* Events come in the order of their places: each has one. */
static cascade_err
on_event(void *context, const cascade_event_row *row)
{
    reading *r = context;

    r->events++;
    if (!r->whole)
        return CASCADE_OK;
    if (memcmp(&r->last_id, &row->cascade_id, sizeof(r->last_id)) == 0 &&
        r->last_place == row->function_id)
        fail_msg("the value of execution %d is recorded twice",
                 row->function_id);
    r->last_id = row->cascade_id;
    r->last_place = row->function_id;
    return CASCADE_OK;
}

static void
read_tables(test_ledger *ledger, reading *r)
{
    const cascade_store_driver *driver = ledger->store->driver;
    cascade_query query = {.limit = PAGE};
    const cascade_load_sink sink = {.context = r,
                                    .on_cascade = on_cascade,
                                    .on_execution = on_execution,
                                    .on_event = on_event};
    cascade_uuid after;

    ledger->running = 0;
    do {
        r->count = 0;
        r->listed = 0;
        assert_ok(driver->list(ledger->store->self, &query, on_listed, r));
        if (r->count > 0)
            assert_ok(driver->load(
                ledger->store->self, r->ids, r->count,
                CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS, &sink));
        after = r->after;
        query.after = &after;
    } while (r->listed == PAGE);
}

/* ---- Engines ------------------------------------------------------------- */

typedef struct listing {
    pid_t pid;
    bool found;
    int64_t left_ms;
} listing;

static cascade_err
note_engine(void *context, const cascade_incarnation *row)
{
    listing *l = context;

    if (row->pid != l->pid)
        return CASCADE_OK;
    l->found = true;
    l->left_ms = row->lease_ms;
    return CASCADE_OK;
}

static cascade_err
list_engines(const test_ledger *ledger, listing *l)
{
    const cascade_store *store = ledger->store;

    return store->driver->engines(store->self, note_engine, l, NULL);
}

/* On SQLite one that was stopped as it told what it has written can be waited
 * for in vain, by readers too: see incarnation.c. */
static void
make_readable(test_ledger *ledger)
{
    listing any = {.pid = 0};

    if (ledger->let_go != NULL &&
        list_engines(ledger, &any) == CASCADE_ERR_UNAVAILABLE)
        ledger->let_go(ledger->context);
}

bool
ledger_lists(test_ledger *ledger, pid_t pid, int64_t *left_ms)
{
    listing l = {.pid = pid};

    make_readable(ledger);
    assert_ok(list_engines(ledger, &l));
    if (left_ms != NULL)
        *left_ms = l.left_ms;
    return l.found;
}

/* ---- Marks --------------------------------------------------------------- */

size_t
ledger_log_size(const test_place *place)
{
    char path[PLACE_PATH];
    struct stat status;

    if (stat(place_path(place, FLOW_LOG, path), &status) != 0)
        return 0;
    return (size_t)status.st_size;
}

static void
set_mark(const void *node, VISIT visit, void *mark)
{
    recorded *it = *(recorded *const *)node;

    if ((visit == postorder || visit == leaf) && it->mark == SIZE_MAX)
        it->mark = *(size_t *)mark;
}

void
ledger_mark(test_ledger *ledger)
{
    reading r = {.ledger = ledger};
    size_t mark = 0;

    ledger->mark = SIZE_MAX;
    make_readable(ledger);
    read_tables(ledger, &r);
    mark = ledger_log_size(ledger->place);
    twalk_r(ledger->recorded, set_mark, &mark);
}

static bool
all_ended(void *context)
{
    test_ledger *it = context;

    ledger_mark(it);
    return it->running == 0;
}

void
ledger_wait_ended(test_ledger *ledger, int64_t limit_ms)
{
    if (!place_wait(all_ended, ledger, limit_ms))
        fail_msg("%zu cascades have not ended after %lld ms", ledger->running,
                 (long long)limit_ms);
}

/* ---- The end ------------------------------------------------------------- */

/* A line behind a mark. */
static bool
is_excused(test_ledger *ledger, const char *who)
{
    ledger->late++;
    if (ledger->forgetful)
        return true;
    return ledger->may_be_late != NULL &&
           ledger->may_be_late(ledger->context, who);
}

/* One line of the log, which began at `at`. Returns whether an attempt of the
 * execution had begun before. */
static bool
check_line(test_ledger *ledger, char *line, size_t at)
{
    char id[ID_MAX];
    char who[ID_MAX];
    int attempt = 0;
    recorded *it = NULL;
    bool repeated = false;

    assert_int_equal(3, sscanf(line, "%255s %d %255s", id, &attempt, who));
    it = find(ledger, id, NULL);
    if (it == NULL && ledger->forgetful)
        return false;
    if (it == NULL)
        fail_msg("%s ran and is not recorded", id);
    if (at >= it->mark && !is_excused(ledger, who))
        fail_msg("%s ran at %zu by %s, after it was recorded at %zu", id, at,
                 who, it->mark);
    repeated = it->lines > 0 && attempt <= it->attempt && !flow_reenters(id);
    it->lines++;
    it->attempt = attempt;
    return repeated;
}

static void
check_log(test_ledger *ledger)
{
    char path[PLACE_PATH];
    FILE *log = fopen(place_path(ledger->place, FLOW_LOG, path), "re");
    char line[FLOW_LINE + 1];
    size_t at = 0;

    assert_non_null(log);
    ledger->effects = 0;
    ledger->repeated = 0;
    while (fgets(line, sizeof(line), log) != NULL) {
        ledger->repeated += check_line(ledger, line, at);
        at += FLOW_LINE;
        ledger->effects++;
    }
    fclose(log);
    assert_int_equal(at, ledger_log_size(ledger->place));
    print_message("%zu effects, %zu repeated because not yet recorded, %zu "
                  "begun by a stopped thread\n",
                  ledger->effects, ledger->repeated, ledger->late);
}

static void
check_ran(const void *node, VISIT visit, void *context)
{
    const recorded *it = *(recorded *const *)node;

    (void)context;
    if ((visit == postorder || visit == leaf) && it->lines == 0)
        fail_msg("%s is recorded and never ran", it->id);
}

void
ledger_check(test_ledger *ledger, size_t cascades)
{
    reading r = {.ledger = ledger, .whole = true};

    ledger->mark = SIZE_MAX;
    read_tables(ledger, &r);
    assert_int_equal(0, ledger->running);
    ledger->cascades = r.cascades;
    ledger->keyed = r.keyed;
    if (cascades == LEDGER_ANY)
        cascades = r.cascades;
    assert_int_equal(cascades, r.cascades);
    assert_int_equal(cascades * FLOW_EXECUTIONS, r.executions);
    assert_int_equal(cascades * FLOW_SLEEPS, r.sleeps);
    assert_int_equal(cascades * FLOW_EXECUTIONS, r.events);
    if (!ledger->forgetful)
        assert_int_equal(cascades * FLOW_EXECUTIONS, ledger->marked);
    check_log(ledger);
    twalk_r(ledger->recorded, check_ran, NULL);
}
