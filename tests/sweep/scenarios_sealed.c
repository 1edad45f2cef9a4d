/* SPDX-License-Identifier: MIT
 *
 * Plays in a store with integrity: whatever call fails, each cascade that is
 * there has the seal of its rows in the end.
 */
#include "sweep/plays.h"

#include "cascade/manage.h"

/* What can be judged has its seal. */
static cascade_err
verify_seals(scene *s, cascade_store *store)
{
    cascade_check_report report = {.size = sizeof(report)};
    cascade_err err =
        scene_check(s, cascade_verify(store, NULL, &report), "verify");

    if (err == CASCADE_OK)
        SCENE_EXPECT(s, report.findings == 0);
    return err;
}

/* By trust: what has the newest seal already gets another one. */
static cascade_err
renew_seal(scene *s, cascade_store *store)
{
    const cascade_check_options options = {.size = sizeof(options),
                                           .trust = true};
    cascade_check_report report = {.size = sizeof(report)};

    return scene_check(s, cascade_seal_renew(store, &options, &report),
                       "seal renew");
}

cascade_err
plays_sealed(scene *s)
{
    cascade_store *store = NULL;
    cascade_check_report report = {.size = sizeof(report)};
    cascade_err err = scene_open(s, &store);

    if (err == CASCADE_OK)
        err = scene_start_one(s, store, "steps", NULL);
    if (err == CASCADE_OK)
        err = verify_seals(s, store);
    if (err == CASCADE_OK)
        err = renew_seal(s, store);
    if (err == CASCADE_OK)
        err = scene_check(s, cascade_adopt(store, NULL, &report), "adopt");
    if (err == CASCADE_OK)
        err = scene_engine(s, store, NULL, NULL);
    return err == CASCADE_OK ? scene_run(s) : err;
}

void
plays_look_at_seals(scene *s, cascade_store *store)
{
    (void)verify_seals(s, store);
}
