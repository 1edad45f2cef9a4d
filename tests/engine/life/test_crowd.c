/* SPDX-License-Identifier: MIT
 *
 * A crowd of signals, sent while their cascade comes to its end (G9): each is
 * received, or recorded as undelivered, and none twice; those of one sender in
 * the order in which he sent them. The cascade ends all the same.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/support/play.h"

#define SENDERS 8
#define EACH 1250 /* signals of a sender, the last of them after the end */
#define CROWD (SENDERS * EACH)
#define HEARD 50 /* by the cascade, before it waits for its end */
/* So many are sent before it is told to end. Each one after the end costs a
 * look for a next run of the cascade, which a database takes its time for: so
 * there are few, and they wait until those before were received. In memory many
 * come behind the end before that is received. */
#define END_AT 9900
#define END_AT_IN_MEMORY 5000

typedef struct crowd {
    play play;
    size_t end_at; /* then it is told to end */
    bool waits;    /* once it has received all until then */
    atomic_bool told_to_end;
    atomic_size_t sent;
    atomic_size_t told; /* that the cascade has ended */
} crowd;

typedef struct sender {
    crowd *crowd;
    size_t nth;
    pthread_t thread;
} sender;

/* How they were recorded. */
typedef struct tally {
    size_t received;
    size_t undelivered;
    int64_t last[SENDERS]; /* of each sender, so far; -1: none */
} tally;

static cascade_err
hear_until_the_end(cascade_node *node, void *user)
{
    cascade_err err = CASCADE_OK;

    (void)user;
    for (int i = 0; i < HEARD && err == CASCADE_OK; i++)
        err = cascade_node_await(node, "news", -1, NULL);
    return err == CASCADE_OK ? cascade_node_await(node, "end", -1, NULL) : err;
}

static cascade_err
send_one(crowd *c, size_t nth, size_t number)
{
    char request_id[48];
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = request_id};

    snprintf(request_id, sizeof(request_id), "%zu-%zu", nth, number);
    return cascade_signal(c->play.store, &c->play.id, "news", NULL, &options);
}

static bool
has_received(void *context)
{
    const crowd *c = context;

    return db_stats(c->play.engine).messages > c->end_at;
}

static bool
is_told_to_end(void *context)
{
    return atomic_load(&((crowd *)context)->told_to_end);
}

/* One was sent after `before` others. */
static void
go_on(crowd *c, size_t before)
{
    if (before == c->end_at) {
        expect(!c->waits || stores_until(has_received, c));
        expect(cascade_signal(c->play.store, &c->play.id, "end", NULL, NULL) ==
               CASCADE_OK);
        atomic_store(&c->told_to_end, true);
    } else if (before > c->end_at && c->waits) {
        expect(stores_until(is_told_to_end, c));
    }
}

static void *
send_all(void *argument)
{
    sender *s = argument;
    crowd *c = s->crowd;

    for (size_t i = 0; i < EACH - 1; i++) {
        cascade_err err = send_one(c, s->nth, i);

        expect(err == CASCADE_OK || err == CASCADE_ERR_ENDED);
        atomic_fetch_add(&c->told, err == CASCADE_ERR_ENDED);
        go_on(c, atomic_fetch_add(&c->sent, 1));
    }
    return NULL;
}

/* ---- What is recorded ---------------------------------------------------- */

static void
count_one(tally *t, const cascade_execution_info *info)
{
    const char *request_id = strrchr(info->node_instance_id, '/') + 1;
    char *end = NULL;
    size_t nth = strtoull(request_id, &end, 10);
    int64_t number = strtoll(end + 1, NULL, 10);

    assert_true(nth < SENDERS && *end == '-');
    assert_int_equal(number, t->last[nth] + 1);
    t->last[nth] = number;
    if (info->status == CASCADE_EXECUTION_COMPLETED) {
        t->received++;
        return;
    }
    assert_int_equal(info->status, CASCADE_EXECUTION_FAILED);
    assert_non_null(strstr(info->error, "undelivered"));
    t->undelivered++;
}

static void
count_all(const play *p, tally *t)
{
    cascade_snapshot *snapshot = play_snapshot(p);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    *t = (tally){0};
    for (size_t i = 0; i < SENDERS; i++)
        t->last[i] = -1;
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *info = play_execution(snapshot, i);

        if (strcmp(info->node_name, "cascade.signal:news") == 0)
            count_one(t, info);
    }
    cascade_snapshot_free(snapshot);
}

/* A run is left as long as messages are. */
static bool
all_are_recorded(void *context)
{
    const crowd *c = context;
    cascade_info *info = NULL;
    bool left = true;
    tally t;

    assert_ok(cascade_get(c->play.store, &c->play.id, &info));
    left = info->has_run;
    cascade_info_free(info);
    if (left)
        return false;
    count_all(&c->play, &t);
    return t.received + t.undelivered == CROWD;
}

/* ---- The crowd ----------------------------------------------------------- */

static void
send_crowd(crowd *c)
{
    sender senders[SENDERS];

    for (size_t i = 0; i < SENDERS; i++) {
        senders[i] = (sender){.crowd = c, .nth = i};
        assert_int_equal(
            0, pthread_create(&senders[i].thread, NULL, send_all, &senders[i]));
    }
    for (size_t i = 0; i < SENDERS; i++)
        pthread_join(senders[i].thread, NULL);
}

static void
none_of_a_crowd_is_lost_while_the_cascade_ends(test_db *db)
{
    crowd c = {.play = {.nodes = {{"hears", hear_until_the_end}}},
               .end_at = db_has_sql(db) ? END_AT : END_AT_IN_MEMORY,
               .waits = db_has_sql(db)};
    tally t;

    play_begin(&c.play, db, CASCADE_MODE_THREADS, "hears");
    send_crowd(&c);
    play_await(&c.play, &c.play.id, CASCADE_COMPLETED);
    for (size_t i = 0; i < SENDERS; i++)
        assert_fails(CASCADE_ERR_ENDED, send_one(&c, i, EACH - 1));
    assert_true(stores_until(all_are_recorded, &c));
    count_all(&c.play, &t);
    print_message("%zu received, %zu undelivered; %zu senders were told\n",
                  t.received, t.undelivered, atomic_load(&c.told) + SENDERS);
    assert_true(t.received >= HEARD && t.undelivered >= SENDERS);
    assert_true(atomic_load(&c.told) + SENDERS <= t.undelivered);
    play_end(&c.play);
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"none_of_a_crowd_is_lost_while_the_cascade_ends",
         none_of_a_crowd_is_lost_while_the_cascade_ends, STORES_ALL},
    };

    return stores_run("crowd", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
