/* SPDX-License-Identifier: MIT
 *
 * The oracle: what it knows, and the loops over cascades. See oracle.h.
 *
 * A look at a cascade reads its run row, then the three tables, then the run
 * row again: where that has changed meanwhile, all is read once more.
 */
#include "support/oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/data/map.h"
#include "base/uuid.h"
#include "support/must.h"
#include "support/oracle_internal.h"

#define FAILURES_MAX 20 /* told; more are counted only */
#define PAGE 500
#define READS_MAX 50 /* of one cascade, until it stands still */

/* ---- The object --------------------------------------------------------- */

oracle *
oracle_create(void)
{
    oracle *o = must(calloc(1, sizeof(*o)));

    pthread_mutex_init(&o->mutex, NULL);
    csc_map_init(&o->cascades);
    return o;
}

void
oracle_free(oracle *o)
{
    if (o == NULL)
        return;
    for (size_t i = 0; i < o->count; i++) {
        dump_rows_fini(&o->order[i]->rows);
        oracle_letters_free(o->order[i]);
        free(o->order[i]);
    }
    free(o->order);
    oracle_entries_free(o);
    csc_map_fini(&o->cascades);
    csc_buf_fini(&o->text);
    pthread_mutex_destroy(&o->mutex);
    free(o);
}

void
oracle_fail(oracle *o, const char *guarantee, const cascade_uuid *id,
            int32_t function_id, const char *format, ...)
{
    char words[500];
    char text[CASCADE_UUID_TEXT_SIZE];
    va_list args;

    o->failures++;
    if (o->failures > FAILURES_MAX)
        return;
    va_start(args, format);
    (void)vsnprintf(words, sizeof(words), format, args);
    va_end(args);
    csc_buf_add_format(&o->text, "%s cascade %s", guarantee,
                       cascade_uuid_format(id, text));
    if (function_id != ORACLE_NO_ID)
        csc_buf_add_format(&o->text, " execution %" PRId32, function_id);
    csc_buf_add_format(&o->text, ": %s\n", words);
}

oracle_cascade *
oracle_cascade_get(oracle *o, const cascade_uuid *id)
{
    oracle_cascade *c = csc_map_get(&o->cascades, id);

    if (c != NULL)
        return c;
    c = must(calloc(1, sizeof(*c)));
    c->id = *id;
    if (csc_map_put(&o->cascades, id, c) != 0)
        must(NULL);
    if (o->count == o->room) {
        o->room = o->room == 0 ? 64 : o->room * 2;
        o->order = must(realloc(o->order, o->room * sizeof(c)));
    }
    o->order[o->count++] = c;
    return c;
}

void
oracle_started(oracle *o, const cascade_uuid *id, bool acknowledged)
{
    oracle_cascade *c = NULL;

    pthread_mutex_lock(&o->mutex);
    c = oracle_cascade_get(o, id);
    c->started = true;
    c->acknowledged = c->acknowledged || acknowledged;
    pthread_mutex_unlock(&o->mutex);
}

void
oracle_existed(oracle *o, const cascade_uuid *id, bool existed)
{
    oracle_cascade *c = NULL;

    pthread_mutex_lock(&o->mutex);
    c = oracle_cascade_get(o, id);
    if (!existed && c->fresh)
        oracle_fail(o, "G10", id, ORACLE_NO_ID,
                    "a second start was not told that it existed");
    if (!c->started && existed)
        oracle_fail(o, "G10", id, ORACLE_NO_ID,
                    "the first start was told that it existed");
    c->fresh = c->fresh || !existed;
    pthread_mutex_unlock(&o->mutex);
}

void
oracle_expect(oracle *o, const cascade_uuid *id, cascade_status status)
{
    pthread_mutex_lock(&o->mutex);
    oracle_cascade_get(o, id)->expected = status;
    pthread_mutex_unlock(&o->mutex);
}

void
oracle_follow(oracle *o)
{
    o->follow = true;
}

void
oracle_leave_out(oracle *o, const cascade_uuid *id)
{
    pthread_mutex_lock(&o->mutex);
    oracle_cascade_get(o, id)->left_out = true;
    pthread_mutex_unlock(&o->mutex);
}

bool
oracle_left_out(oracle *o, const cascade_uuid *id)
{
    const oracle_cascade *c = NULL;
    bool left_out = false;

    pthread_mutex_lock(&o->mutex);
    c = csc_map_get(&o->cascades, id);
    left_out = c != NULL && c->left_out;
    pthread_mutex_unlock(&o->mutex);
    return left_out;
}

void
oracle_refuse_strangers(oracle *o)
{
    o->refuse_strangers = true;
}

void
oracle_set_poison_limit(oracle *o, int32_t trials)
{
    o->poison_limit = trials;
}

void
oracle_set_open(oracle *o, bool open)
{
    o->open = open;
}

void
oracle_set_slack(oracle *o, int64_t slack_ms)
{
    o->slack_ms = slack_ms;
}

const char *
oracle_text(oracle *o)
{
    if (o->failures > FAILURES_MAX)
        csc_buf_add_format(&o->text, "... and %zu more\n",
                           o->failures - FAILURES_MAX);
    return o->text.data != NULL ? o->text.data : "";
}

size_t
oracle_looks(oracle *o)
{
    return o->looks;
}

cascade_status
oracle_seen(oracle *o, const cascade_uuid *id)
{
    cascade_status status = 0;
    const oracle_cascade *c = NULL;

    pthread_mutex_lock(&o->mutex);
    c = csc_map_get(&o->cascades, id);
    if (c != NULL && c->looks > 0 && !c->deleted)
        status = c->rows.cascade.status;
    pthread_mutex_unlock(&o->mutex);
    return status;
}

size_t
oracle_running(oracle *o)
{
    size_t running = 0;

    pthread_mutex_lock(&o->mutex);
    for (size_t i = 0; i < o->count; i++)
        running += o->order[i]->looks > 0 && !o->order[i]->deleted &&
                   o->order[i]->rows.cascade.status == CASCADE_RUNNING;
    pthread_mutex_unlock(&o->mutex);
    return running;
}

size_t
oracle_messages(oracle *o)
{
    size_t messages = 0;

    pthread_mutex_lock(&o->mutex);
    for (size_t i = 0; i < o->count; i++)
        if (o->order[i]->looks > 0 && !o->order[i]->deleted)
            messages += o->order[i]->rows.message_count;
    pthread_mutex_unlock(&o->mutex);
    return messages;
}

/* ---- Reading ------------------------------------------------------------ */

static cascade_err
take_run(void *context, const cascade_row *row, const cascade_run_row *run)
{
    oracle_run *to = context;

    (void)row;
    *to = (oracle_run){.found = run != NULL};
    if (run == NULL)
        return CASCADE_OK;
    to->owned = !csc_uuid_is_nil(&run->engine_id);
    to->wake_at_ms = run->wake_at_ms;
    to->claim_no = run->claim_no;
    to->priority = run->priority;
    to->takeovers = run->takeovers;
    to->trial = run->trial;
    (void)snprintf(to->queue, sizeof(to->queue), "%s", run->queue);
    return CASCADE_OK;
}

static cascade_err
read_run(const cascade_store_driver *driver, void *self, const cascade_uuid *id,
         oracle_run *run)
{
    cascade_query query = {.id = id, .limit = 1};

    *run = (oracle_run){0};
    return driver->list(self, &query, take_run, run);
}

/* The fields that only a commit or a claim changes. */
static bool
same_run(const oracle_run *a, const oracle_run *b)
{
    return a->found == b->found && a->owned == b->owned &&
           a->wake_at_ms == b->wake_at_ms && a->claim_no == b->claim_no &&
           a->takeovers == b->takeovers && a->trial == b->trial;
}

/* The rows and the run as of one moment, as far as that can be seen; else the
 * view is torn. The time is read behind them: what a run is to wake by was
 * reckoned before. */
static cascade_err
read_view(oracle_view *v, const cascade_store_driver *driver, void *self)
{
    oracle_run after = {0};
    cascade_err err = CASCADE_OK;

    v->torn = true;
    for (int i = 0; i < READS_MAX && err == CASCADE_OK && v->torn; i++) {
        err = read_run(driver, self, &v->c->id, &v->run);
        if (err == CASCADE_OK)
            err = dump_rows_load(&v->rows, driver, self, &v->c->id);
        if (err == CASCADE_OK)
            err = read_run(driver, self, &v->c->id, &after);
        v->torn = err != CASCADE_OK || !same_run(&v->run, &after);
    }
    return err == CASCADE_OK ? driver->now(self, &v->now_ms) : err;
}

/* ---- Looking ------------------------------------------------------------ */

static void
judge(oracle_view *v)
{
    oracle_cascade *c = v->c;

    if (!v->rows.found) {
        c->deleted = c->deleted || (c->looks > 0 && c->deleting);
        if (c->acknowledged && !oracle_may_be_gone(c))
            oracle_fail(v->o, "G2", &c->id, ORACLE_NO_ID,
                        "was acknowledged, and is not in the store");
        return;
    }
    if (!c->started && v->o->refuse_strangers)
        oracle_fail(v->o, "G12", &c->id, ORACLE_NO_ID, "nobody started it");
    if (c->deleted)
        oracle_fail(v->o, "G3", &c->id, ORACLE_NO_ID,
                    "was deleted, and is there again");
    c->acknowledged = true;
    if (!oracle_decode(v))
        return;
    if (c->looks > 0)
        oracle_check_change(v);
    if (oracle_has_course(&v->rows)) {
        oracle_check_course(v);
        oracle_check_messages(v);
        return;
    }
    oracle_check_rows(v);
    oracle_check_run(v);
    oracle_check_messages(v);
    oracle_check_entries(v);
}

static void
keep(oracle_view *v)
{
    oracle_cascade *c = v->c;

    if (v->rows.found) {
        c->revivals += c->looks > 0 &&
                       c->rows.cascade.status != CASCADE_RUNNING &&
                       v->rows.cascade.status == CASCADE_RUNNING;
        dump_rows_fini(&c->rows);
        c->rows = v->rows;
        c->run = v->run;
        c->looks++;
    } else {
        dump_rows_fini(&v->rows);
    }
    free(v->facts);
}

static void
look(oracle *o, oracle_cascade *c, const cascade_store_driver *driver,
     void *self, oracle_phase phase)
{
    oracle_view v = {.o = o, .c = c};
    cascade_err err = CASCADE_OK;

    if (c->left_out)
        return;
    err = read_view(&v, driver, self);
    o->looks++;
    if (err == CASCADE_OK)
        judge(&v);
    else
        oracle_fail(o, "G2", &c->id, ORACLE_NO_ID, "cannot be read: %s",
                    cascade_errmsg());
    if (err == CASCADE_OK && v.torn && phase == ORACLE_ENDED)
        oracle_fail(o, "G2", &c->id, ORACLE_NO_ID,
                    "does not stand still in the end");
    keep(&v);
}

bool
oracle_look(oracle *o, const cascade_store_driver *driver, void *self,
            const cascade_uuid *ids, size_t count)
{
    bool ok = false;

    pthread_mutex_lock(&o->mutex);
    for (size_t i = 0; i < count; i++)
        look(o, oracle_cascade_get(o, &ids[i]), driver, self, ORACLE_RUNNING);
    ok = o->failures == 0;
    pthread_mutex_unlock(&o->mutex);
    return ok;
}

/* ---- Checking all ------------------------------------------------------- */

typedef struct listing {
    oracle *o;
    cascade_uuid last;
    size_t count;
} listing;

static cascade_err
note_listed(void *context, const cascade_row *row, const cascade_run_row *run)
{
    listing *l = context;

    (void)run;
    (void)oracle_cascade_get(l->o, &row->id);
    l->last = row->id;
    l->count++;
    return CASCADE_OK;
}

/* Every cascade of the store becomes known. */
static void
list_all(oracle *o, const cascade_store_driver *driver, void *self)
{
    cascade_query query = {.limit = PAGE};
    cascade_uuid after;
    listing l = {.o = o};
    cascade_err err = CASCADE_OK;

    do {
        l.count = 0;
        err = driver->list(self, &query, note_listed, &l);
        after = l.last;
        query.after = &after;
    } while (err == CASCADE_OK && l.count == PAGE);
    if (err != CASCADE_OK)
        oracle_fail(o, "G2", &l.last, ORACLE_NO_ID, "cannot list: %s",
                    cascade_errmsg());
}

static void
check_end(oracle *o, const oracle_cascade *c)
{
    cascade_status status = c->rows.cascade.status;

    if (c->looks == 0 || c->deleted)
        return; /* it never came to be, or is no more */
    if (status == CASCADE_RUNNING)
        oracle_fail(o, "G2", &c->id, ORACLE_NO_ID, "has not ended");
    else if (c->rows.message_count > 0)
        oracle_fail(o, "G9", &c->id, ORACLE_NO_ID,
                    "%zu messages were not received", c->rows.message_count);
    else if (c->expected != 0 && status != c->expected)
        oracle_fail(o, "G2", &c->id, ORACLE_NO_ID,
                    "ended with status %d instead of %d", (int)status,
                    (int)c->expected);
    oracle_check_previous(o, c);
    oracle_check_next(o, c);
    oracle_check_family(o, c);
}

bool
oracle_check(oracle *o, const cascade_store_driver *driver, void *self,
             oracle_phase phase)
{
    bool ok = false;

    pthread_mutex_lock(&o->mutex);
    list_all(o, driver, self);
    for (size_t i = 0; i < o->count; i++)
        look(o, o->order[i], driver, self, phase);
    for (size_t i = 0; i < o->count && phase == ORACLE_ENDED; i++)
        check_end(o, o->order[i]);
    ok = o->failures == 0;
    pthread_mutex_unlock(&o->mutex);
    return ok;
}
