/* SPDX-License-Identifier: MIT
 *
 * What would be another at each entry of a node, and must not be: time is
 * recorded, as a step; chance is made of what the execution, or the step, is
 * called, and needs no record.
 */
#include "cascade/node.h"

#include <string.h>

#include "base/check.h"
#include "base/data/arena.h"
#include "base/digest/sha256.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "held/clock.h"
#include "node/node.h"
#include "state/state.h"

/* ---- Time ---------------------------------------------------------------- */

static cascade_err
look_at_clock(cascade_node *node, void *arg, cJSON **result)
{
    int64_t now_ms = csc_clock_now_ms(node->engine);

    (void)arg;
    *result = cJSON_CreateNumber((double)now_ms);
    return *result != NULL ? CASCADE_OK : csc_fail_memory();
}

/* Of another program's row it may be anything. */
static cascade_err
read_time(const char *recorded, const char *name, int64_t *now_ms)
{
    if (recorded == NULL ||
        !csc_json_read_i64(csc_json_read_whole(recorded), now_ms))
        return csc_fail(CASCADE_ERR_CORRUPT,
                        "now %s: what is recorded is no time in milliseconds",
                        name);
    return csc_ok();
}

cascade_err
cascade_node_now(cascade_node *node, const char *name, int64_t *now_ms)
{
    const char *step = NULL;
    const char *recorded = NULL;
    int64_t at_ms = 0;
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("name of a time", name);
    if (err == CASCADE_OK)
        err = csc_node_check(node, "now", now_ms);
    if (err == CASCADE_OK)
        err = csc_node_refuse_step(node, "now", name);
    if (err == CASCADE_OK)
        err = csc_txn_refuse(node, "a time");
    if (err != CASCADE_OK)
        return err;
    step = csc_arena_join(&node->arena, CSC_NOW_NAME, name);
    if (step == NULL)
        return csc_fail_memory();
    err = csc_step_run(node, step, look_at_clock, NULL, NULL,
                       (csc_node_out){.text = &recorded});
    if (err == CASCADE_OK)
        err = read_time(recorded, name, &at_ms);
    if (err == CASCADE_OK)
        *now_ms = at_ms;
    return err;
}

/* ---- Chance -------------------------------------------------------------- */

/* The ends are hashed too: no two places have the same bytes. */
static void
draw(const cascade_node *node, const char *what, const char *name,
     unsigned char digest[CSC_SHA256_SIZE])
{
    const char *of = cascade_node_request_id(node);
    csc_sha256 hash;

    csc_sha256_init(&hash);
    csc_sha256_add(&hash, what, strlen(what) + 1);
    csc_sha256_add(&hash, of, strlen(of) + 1);
    csc_sha256_add(&hash, name, strlen(name) + 1);
    csc_sha256_end(&hash, digest);
}

static cascade_err
check_draw(const cascade_node *node, const char *what, const char *name,
           const void *place)
{
    cascade_err err = csc_node_check_origin(node);

    if (err == CASCADE_OK)
        err = csc_check_name("name of a draw", name);
    return err == CASCADE_OK ? csc_node_check(node, what, place) : err;
}

cascade_err
cascade_node_random(cascade_node *node, const char *name, uint64_t *value)
{
    unsigned char digest[CSC_SHA256_SIZE];
    uint64_t number = 0;
    cascade_err err = check_draw(node, "random", name, value);

    if (err != CASCADE_OK)
        return err;
    draw(node, "random", name, digest);
    for (size_t i = 0; i < sizeof(number); i++)
        number = number << 8 | digest[i];
    *value = number;
    return csc_ok();
}

cascade_err
cascade_node_uuid(cascade_node *node, const char *name, cascade_uuid *id)
{
    unsigned char digest[CSC_SHA256_SIZE];
    cascade_err err = check_draw(node, "uuid", name, id);

    if (err != CASCADE_OK)
        return err;
    draw(node, "uuid", name, digest);
    *id = csc_uuid_of_digest(digest);
    return csc_ok();
}
