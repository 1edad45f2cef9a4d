/* SPDX-License-Identifier: MIT */
#include "process/crowd.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "process/check.h"

#define SIDES 2

static char *
log_path(const test_place *place, const char *who, char path[PLACE_PATH])
{
    char name[CROWD_WHO + 4];

    snprintf(name, sizeof(name), "%s.log", who);
    return place_path(place, name, path);
}

int64_t
crowd_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* ---- The nodes ----------------------------------------------------------- */

static void
note(const test_crowd *crowd, const cascade_node *node, char what,
     unsigned number)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char text[FLOW_LINE];

    snprintf(text, sizeof(text), "%c %u %s %s %" PRId64, what, number,
             cascade_uuid_format(cascade_node_cascade_id(node), id),
             cascade_node_user_id(node), crowd_now_ns());
    flow_append(crowd->log_fd, text);
}

static cascade_err
work(test_crowd *crowd, cascade_node *node, bool gated)
{
    unsigned number = atomic_fetch_add(&crowd->begun, 1) + 1;
    char tag[CROWD_WHO + 16];
    cascade_err err = CASCADE_OK;

    note(crowd, node, 'b', number);
    flow_work(crowd->flow);
    if (gated)
        flow_pass(crowd->flow->gate);
    snprintf(tag, sizeof(tag), "%s:%u", crowd->flow->who, number);
    err = cascade_node_put(node, "ran", cJSON_CreateString(tag));
    note(crowd, node, 'e', number);
    return err;
}

static cascade_err
side(cascade_node *node, void *user)
{
    return work(user, node, false);
}

static cascade_err
spawn(cascade_node *node)
{
    uint32_t sides[SIDES];
    const cascade_spawn_options behind = {.size = sizeof(behind),
                                          .delay_ms = CROWD_DELAY_MS,
                                          .after = sides,
                                          .after_count = SIDES};
    cascade_err err = CASCADE_OK;

    for (int i = 0; i < SIDES && err == CASCADE_OK; i++) {
        err = cascade_node_spawn(node, "side", NULL, NULL);
        sides[i] = cascade_node_spawned(node);
    }
    return err == CASCADE_OK ? cascade_node_spawn(node, "last", NULL, &behind)
                             : err;
}

static cascade_err
first(cascade_node *node, void *user)
{
    cascade_err err = spawn(node);

    return err == CASCADE_OK ? work(user, node, true) : err;
}

cascade_err
crowd_register(cascade_engine *engine, test_crowd *crowd,
               const test_place *place, const test_flow *flow)
{
    char path[PLACE_PATH];
    cascade_err err = CASCADE_OK;

    crowd->flow = flow;
    crowd->log_fd = open(log_path(place, flow->who, path),
                         O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    err = cascade_engine_register(engine, "first", first, crowd, NULL);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "side", side, crowd, NULL);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "last", side, crowd, NULL);
    return err;
}

/* ---- The logs ------------------------------------------------------------ */

FILE *
crowd_open_log(const test_place *place, const char *who)
{
    char path[PLACE_PATH];

    return fopen(log_path(place, who, path), "re");
}

bool
crowd_next(FILE *log, crowd_line *line)
{
    char text[FLOW_LINE + 1];
    char id[CASCADE_UUID_TEXT_SIZE];
    char what = '\0';

    if (fgets(text, sizeof(text), log) == NULL)
        return false;
    assert_int_equal(5, sscanf(text, "%c %u %36s %15s %" SCNd64, &what,
                               &line->number, id, line->user, &line->at_ns));
    line->begin = what == 'b';
    assert_ok(cascade_uuid_parse(id, &line->cascade));
    return true;
}

size_t
crowd_lines(const test_place *place, const char *who)
{
    char path[PLACE_PATH];
    struct stat status;

    if (stat(log_path(place, who, path), &status) != 0)
        return 0;
    return (size_t)status.st_size / FLOW_LINE;
}
