/* SPDX-License-Identifier: MIT
 *
 * Records of executions that another program has inserted say that they are
 * ours: full_output.h; and those of which others have written events, how many:
 * from then on that is settled (EVENTS OF OTHERS in state.h). All of them are
 * marked in one place, when the change is built.
 */
#include "change/build/builder.h"

#include <string.h>

#include "base/data/buf.h"
#include "base/error.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/full_output.h"
#include "state/state.h"

const char *
csc_mark_has(struct csc_builder *b, const char *record, int32_t early)
{
    size_t len = record != NULL ? strlen(record) - 1 : 1;

    csc_assert(b->text.len == 0);
    csc_buf_add(&b->text, record != NULL ? record : "{", len);
    csc_buf_add_text(&b->text, len > 1 ? ",\"" : "\"");
    csc_buf_add_text(&b->text, CSC_RECORD_MARK "\":{");
    if (early > 0)
        csc_buf_add_format(&b->text, "\"early\":%d", (int)early);
    csc_buf_add_text(&b->text, "}}");
    return csc_builder_text(b);
}

void
csc_mark_add(struct csc_builder *b)
{
    csc_assert(b->marks);
    for (size_t i = 0; i < b->update_count; i++) {
        cascade_execution_row *row = &b->updates[i];
        const csc_exec *exec = csc_view_find(b->state, row->function_id);

        if (exec != NULL && (exec->adopted || exec->early > 0))
            row->full_output = csc_mark_has(b, row->full_output, exec->early);
    }
}
