/* SPDX-License-Identifier: MIT
 *
 * What the files of a scene share with one another only.
 */
#ifndef TESTS_SWEEP_SCENE_INTERNAL_H
#define TESTS_SWEEP_SCENE_INTERNAL_H

#include "sweep/scene.h"

/* Time passes by itself, or stands from now on. */
void scene_let_flow(scene *s, bool flows);
/* What the id of a start will be. */
cascade_uuid scene_id_of(const cascade_start_options *options);
/* Whether messages to it wait, as far as that can be read. */
bool scene_has_messages(const scene *s, const cascade_store *store,
                        const cascade_uuid *id);

#endif
