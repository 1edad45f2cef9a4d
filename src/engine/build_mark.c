/* SPDX-License-Identifier: MIT
 *
 * Records of executions that another program has inserted say that they are
 * ours: record.h. Nothing else is known by its row alone, so all of them are
 * marked in one place, when the change is built.
 */
#include "engine/build_internal.h"

#include <string.h>

static const char *
mark(struct csc_builder *b, const char *record)
{
    size_t len = record != NULL ? strlen(record) - 1 : 1;

    csc_buf_add(&b->text, record != NULL ? record : "{", len);
    csc_buf_add_text(&b->text, len > 1 ? ",\"" : "\"");
    csc_buf_add_text(&b->text, CSC_RECORD_MARK "\":{}}");
    return csc_build_text(b);
}

void
csc_build_mark(struct csc_builder *b)
{
    for (size_t i = 0; i < b->update_count; i++) {
        cascade_execution_row *row = &b->updates[i];
        const csc_exec *exec = csc_state_find(b->state, row->function_id);

        if (exec != NULL && exec->adopted)
            row->full_output = mark(b, row->full_output);
    }
}
