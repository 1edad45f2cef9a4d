/* SPDX-License-Identifier: MIT
 *
 * Pages through cascade_list(), by the user id that all cascades of a run have.
 */
#include "view.h"

#include <stdlib.h>

#define PAGE_MAX 1000

static cascade_err
add_page(const cascade_page *page, struct view *view)
{
    size_t count = cascade_page_count(page);
    cascade_uuid *ids =
        realloc(view->ids, (view->count + count + 1) * sizeof(*ids));
    if (ids == NULL)
        return CASCADE_ERR_NO_MEMORY;
    view->ids = ids;
    for (size_t i = 0; i < count; i++)
        view->ids[view->count++] = cascade_page_get(page, i)->id;
    return CASCADE_OK;
}

/* `more` tells whether another page may follow. */
static cascade_err
load_page(cascade_store *store, cascade_list_options *options,
          struct view *view, bool *more)
{
    cascade_page *page = NULL;
    if (view->count > 0)
        options->after = &view->ids[view->count - 1];
    cascade_err err = cascade_list(store, options, &page);
    if (err != CASCADE_OK)
        return err;
    *more = cascade_page_count(page) == options->limit;
    err = add_page(page, view);
    cascade_page_free(page);
    return err;
}

cascade_err
view_load(cascade_store *store, const char *name, cascade_status status,
          struct view *view)
{
    cascade_list_options options = {
        .size = sizeof(options),
        .user_id = name,
        .status = status,
        .limit = PAGE_MAX,
    };
    cascade_err err = CASCADE_OK;
    bool more = true;

    *view = (struct view){.ids = NULL};
    while (err == CASCADE_OK && more)
        err = load_page(store, &options, view, &more);
    if (err != CASCADE_OK)
        view_free(view);
    return err;
}

void
view_free(struct view *view)
{
    free(view->ids);
    *view = (struct view){.ids = NULL};
}

cascade_err
view_count(cascade_store *store, const char *name, cascade_status status,
           size_t *count)
{
    struct view view;
    cascade_err err = view_load(store, name, status, &view);
    if (err != CASCADE_OK)
        return err;
    *count = view.count;
    view_free(&view);
    return CASCADE_OK;
}
