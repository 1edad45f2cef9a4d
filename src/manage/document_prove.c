/* SPDX-License-Identifier: MIT
 *
 * What a document says of other cascades, and what the store knows of that. A
 * document may come from anybody; so it is believed only where it can be shown:
 *
 *   parent      it is in the store, of the same user, and records as its child
 *               this cascade, or one that has continued as it: the end of this
 *               one completes that child
 *   a path that begins with another id (a receipt, or a message, of an earlier
 *   run: /message/ follows)
 *               that id is the one of an earlier run of the same key, or of a
 *               cascade of the store that has continued as this one, or is
 *               gone, and this one was entered as the last of its runs:
 *               whatever is sent to that id with such a path is taken for
 *               repeated
 *
 * Nothing of this is asked of a cascade that comes with new ids: it has neither
 * of them.
 */
#include "manage/document.h"

#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "cascade/store.h"
#include "query/execution_info.h"
#include "query/run_chain.h"
#include "state/full_output.h"
#include "state/kind.h"
#include "state/start_record.h"
#include "store/move.h"
#include "store/store.h"

#define PAGE_ROWS 1000
#define PAGE_BYTES ((size_t)1 << 20)

/* ---- Earlier runs ------------------------------------------------------- */

/* Whether what was entered of a run that is gone leads to this one as the last
 * (link.h). */
static cascade_err
leads_on(cascade_store *store, const cascade_uuid *gone, const cascade_uuid *to,
         bool *leads)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    const char *path = cascade_uuid_format(gone, text);
    cascade_found found = {.run_number = 0};
    cascade_err err = csc_move_find(store, &path, 1, &found);

    *leads = err == CASCADE_OK && !csc_uuid_is_nil(&found.root) &&
             csc_uuid_equal(&found.id, to);
    return err;
}

/* Whether the cascade `from` has continued as `to`, at once or by others. */
static cascade_err
has_continued(cascade_store *store, const cascade_uuid *from,
              const cascade_uuid *to, bool *has)
{
    cascade_uuid run = *from;
    cascade_err err = CASCADE_OK;

    *has = false;
    for (int i = 0; i < CSC_RUN_CHAIN_MAX && err == CASCADE_OK && !*has; i++) {
        cascade_uuid next;

        err = csc_run_chain_next(store, &run, &next);
        if (err == CASCADE_OK)
            run = next;
        *has = err == CASCADE_OK && csc_uuid_equal(&run, to);
    }
    return err == CASCADE_ERR_NOT_FOUND ? leads_on(store, &run, to, has) : err;
}

/* `known` is the last id that was shown. */
static cascade_err
prove_path(cascade_store *store, const csc_document *document,
           const csc_meta *meta, const char *path, cascade_uuid *known)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_uuid id;
    bool shown = true;
    cascade_err err = CASCADE_OK;

    if (csc_kind_skip_id(path, &id) == NULL ||
        csc_uuid_equal(&id, &document->cascade.id) ||
        csc_uuid_equal(&id, known))
        return CASCADE_OK;
    if (!csc_run_chain_has_key(&document->cascade.id, document->cascade.user_id,
                               meta, &id))
        err = has_continued(store, &id, &document->cascade.id, &shown);
    if (err != CASCADE_OK)
        return err;
    *known = id;
    if (shown)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_REFUSED,
                    "import: there is a path of cascade %s, and nothing shows "
                    "that this one is a later run of it: import that one "
                    "first, or use new ids",
                    cascade_uuid_format(&id, text));
}

static cascade_err
prove_paths(cascade_store *store, const csc_document *document,
            const csc_meta *meta)
{
    cascade_uuid known = document->cascade.id;
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < document->execution_count && err == CASCADE_OK; i++)
        err = prove_path(store, document, meta,
                         document->executions[i].node_instance_id, &known);
    for (size_t i = 0; i < document->message_count && err == CASCADE_OK; i++)
        err = prove_path(store, document, meta, document->messages[i].path,
                         &known);
    return err;
}

/* ---- The parent --------------------------------------------------------- */

typedef struct search {
    cascade_uuid child;
    bool found;
    size_t count; /* rows of the page */
    int32_t last;
} search;

static cascade_err
note_child(void *context, const cascade_execution_row *row)
{
    search *s = context;
    csc_record record;

    s->count++;
    s->last = row->function_id;
    if (strncmp(row->node_name, CASCADE_CHILD_PREFIX,
                strlen(CASCADE_CHILD_PREFIX)) != 0)
        return CASCADE_OK;
    csc_full_output_read(row, &record);
    s->found = s->found || csc_uuid_equal(&record.child, &s->child);
    return CASCADE_OK;
}

/* Page by page, so that no read takes long. */
static cascade_err
find_child(cascade_store *store, const cascade_uuid *parent, search *s)
{
    const cascade_load_sink sink = {.context = s, .on_execution = note_child};
    cascade_scan scan = {.cascade_id = parent,
                         .from = INT32_MIN,
                         .limit = PAGE_ROWS,
                         .bytes_max = PAGE_BYTES};
    cascade_err err = CASCADE_OK;

    do {
        s->count = 0;
        err = csc_move_scan(store, &scan, &sink);
        scan.from = s->last < INT32_MAX ? s->last + 1 : s->last;
    } while (err == CASCADE_OK && s->count > 0 && !s->found &&
             s->last < INT32_MAX);
    return err;
}

/* As which its parent knows it: itself, or the first of the runs before it. */
static cascade_err
is_known_child(cascade_store *store, const csc_document *document,
               const csc_meta *meta, bool *known)
{
    *known = csc_uuid_is_nil(&meta->child) ||
             csc_uuid_equal(&meta->child, &document->cascade.id);
    return *known ? CASCADE_OK
                  : has_continued(store, &meta->child, &document->cascade.id,
                                  known);
}

static cascade_err
is_child(cascade_store *store, const csc_document *document,
         const csc_meta *meta, bool *is)
{
    search s = {.child = csc_uuid_is_nil(&meta->child) ? document->cascade.id
                                                       : meta->child};
    cascade_info *parent = NULL;
    cascade_err err = csc_get_read(store, &meta->parent, &parent);

    *is = err == CASCADE_OK &&
          strcmp(parent->user_id, document->cascade.user_id) == 0;
    cascade_info_free(parent);
    if (err == CASCADE_OK && *is)
        err = find_child(store, &meta->parent, &s);
    *is = *is && s.found;
    if (err == CASCADE_OK && *is)
        err = is_known_child(store, document, meta, is);
    return err == CASCADE_ERR_NOT_FOUND ? CASCADE_OK : err;
}

static cascade_err
prove_parent(cascade_store *store, const csc_document *document,
             const csc_meta *meta)
{
    char text[CASCADE_UUID_TEXT_SIZE];
    bool is = false;
    cascade_err err = CASCADE_OK;

    if (csc_uuid_is_nil(&meta->parent))
        return CASCADE_OK;
    err = is_child(store, document, meta, &is);
    if (err != CASCADE_OK || is)
        return err;
    return csc_fail(CASCADE_ERR_REFUSED,
                    "import: the cascade says that its parent is %s, and that "
                    "one is not there, or does not know it: import the parent "
                    "and the runs before first, or use new ids",
                    cascade_uuid_format(&meta->parent, text));
}

cascade_err
csc_document_prove(cascade_store *store, const csc_document *document,
                   const csc_meta *meta)
{
    cascade_err err = prove_parent(store, document, meta);

    return err == CASCADE_OK ? prove_paths(store, document, meta) : err;
}
