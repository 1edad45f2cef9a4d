/* SPDX-License-Identifier: MIT
 *
 * The events of a document in the order of the context. A load gives those of
 * one execution by their ids; where these are not in that order, their texts
 * change places when all of them are written.
 */
#include "manage/document.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "state/moment.h"

cascade_err
csc_document_sort_note_event(csc_document_writer *writer,
                             const cascade_event_row *row, size_t at)
{
    void *pieces = writer->pieces;
    csc_document_piece *added = NULL;

    if (csc_mem_grow(&pieces, &writer->piece_room, writer->piece_count + 1,
                     sizeof(*added)) != 0)
        return csc_fail_memory();
    writer->pieces = pieces;
    added = &writer->pieces[writer->piece_count];
    *added =
        (csc_document_piece){.when = {.created_at_us = row->created_at_us,
                                      .function_id = row->function_id,
                                      .number = (uint32_t)writer->piece_count},
                             .at = at,
                             .len = writer->events.len - at};
    if (writer->piece_count > 0 &&
        csc_moment_order(&added[-1].when, &added->when) > 0)
        writer->unsorted = true;
    writer->piece_count++;
    return CASCADE_OK;
}

static int
order_pieces(const void *a, const void *b)
{
    const csc_document_piece *x = a;
    const csc_document_piece *y = b;

    return csc_moment_order(&x->when, &y->when);
}

/* They are the end of the text, with a comma between each two. */
static cascade_err
change_places(csc_document_writer *writer)
{
    size_t from = writer->pieces[0].at;
    size_t len = writer->events.len - from;
    char *copy = csc_mem_alloc(len);
    char *to = writer->events.data + from;

    if (copy == NULL)
        return csc_fail_memory();
    memcpy(copy, to, len);
    qsort(writer->pieces, writer->piece_count, sizeof(*writer->pieces),
          order_pieces);
    for (size_t i = 0; i < writer->piece_count; i++) {
        const csc_document_piece *piece = &writer->pieces[i];

        if (i > 0)
            *to++ = ',';
        memcpy(to, copy + (piece->at - from), piece->len);
        to += piece->len;
    }
    csc_mem_free(copy);
    return CASCADE_OK;
}

cascade_err
csc_document_sort_events(csc_document_writer *writer)
{
    cascade_err err = CASCADE_OK;

    if (writer->unsorted)
        err = change_places(writer);
    writer->unsorted = false;
    writer->piece_count = 0;
    return err;
}
