/* SPDX-License-Identifier: MIT
 *
 * How a cascade looks in the end, as a text that is compared with that of a
 * play without a fault; see scene.h.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "state/state.h"
#include "sweep/scene.h"

static void add(char *picture, const char *format, ...) CASCADE_PRINTF(2, 3);

static void
add(char *picture, const char *format, ...)
{
    size_t len = strlen(picture);
    va_list args;

    va_start(args, format);
    vsnprintf(picture + len, SCENE_PICTURE - len, format, args);
    va_end(args);
}

static void
note_kind(journal *j, const char *node_name)
{
    static const char *const kinds[] = CSC_KINDS;

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strncmp(node_name, kinds[i], strlen(kinds[i])) == 0)
            j->kinds[i]++;
}

static void
paint(journal *j, const cascade_snapshot *snapshot, char *picture)
{
    const char *result = cascade_snapshot_result(snapshot);
    size_t count = cascade_snapshot_count(snapshot, CASCADE_PART_HISTORY);

    add(picture, "status %d, result %s, context %s\n",
        (int)cascade_snapshot_info(snapshot)->status,
        result != NULL ? result : "-", cascade_snapshot_context(snapshot));
    for (size_t i = 0; i < count; i++) {
        const cascade_execution_info *row =
            cascade_snapshot_get(snapshot, CASCADE_PART_HISTORY, i);

        note_kind(j, row->node_name);
        add(picture, "%d %s: status %d, output %s\n", (int)row->function_id,
            row->node_name, (int)row->status,
            row->output != NULL ? row->output : "-");
    }
}

void
scene_picture(scene *s, size_t nth, char picture[SCENE_PICTURE])
{
    cascade_snapshot *snapshot = NULL;
    cascade_err err = CASCADE_OK;

    picture[0] = '\0';
    if (nth >= s->journal->id_count || s->stores[0] == NULL)
        return;
    err = cascade_snapshot_load(s->stores[0], &s->journal->ids[nth], NULL,
                                &snapshot);
    if (err == CASCADE_OK)
        paint(s->journal, snapshot, picture);
    else if (err != CASCADE_ERR_NOT_FOUND)
        journal_fail(s->journal, "snapshot: %s", cascade_errmsg());
    cascade_snapshot_free(snapshot);
}
