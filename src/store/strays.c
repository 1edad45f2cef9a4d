/* SPDX-License-Identifier: MIT
 *
 * What all backends have in common of strays: S75.
 */
#include "store/store.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/store.h"

static const char *const tables[] = {
    [CASCADE_STRAY_EXECUTIONS] = "node_executions",
    [CASCADE_STRAY_EVENTS] = "context_events",
    [CASCADE_STRAY_RUNS] = "cascade_runs",
    [CASCADE_STRAY_MESSAGES] = "cascade_messages",
    [CASCADE_STRAY_ERASURES] = "cascade_erasures",
    [CASCADE_STRAY_LANES] = "cascade_lanes",
    [CASCADE_STRAY_ENGINES] = "cascade_engines",
};

const char *
csc_store_stray_table(cascade_stray kind)
{
    return tables[kind];
}

void
csc_store_begin_strays(csc_store_straying *s, cascade_stray kind, size_t limit,
                       cascade_uuid *cursor, cascade_fault_sink sink,
                       void *context)
{
    *s = (csc_store_straying){.kind = kind,
                              .limit = limit,
                              .cursor = cursor,
                              .began = *cursor,
                              .sink = sink,
                              .context = context};
}

/* What there is not. */
static const char *
missing(cascade_stray kind)
{
    switch (kind) {
    case CASCADE_STRAY_LANES:
        return "an incarnation";
    case CASCADE_STRAY_ENGINES:
        return "a lane 0";
    case CASCADE_STRAY_EXECUTIONS:
    case CASCADE_STRAY_EVENTS:
    case CASCADE_STRAY_RUNS:
    case CASCADE_STRAY_MESSAGES:
    case CASCADE_STRAY_ERASURES:
        break;
    }
    return "a cascade";
}

cascade_err
csc_store_stray(csc_store_straying *s, const cascade_uuid *id, bool stray)
{
    char name[CASCADE_UUID_TEXT_SIZE];
    char text[CSC_ERRMSG_SIZE];
    const cascade_fault fault = {.id = *id, .text = text};

    s->looked++;
    *s->cursor = *id;
    if (!stray)
        return CASCADE_OK;
    (void)snprintf(text, sizeof(text),
                   "table %s has rows of %s, and there is not %s of that id",
                   tables[s->kind], cascade_uuid_format(id, name),
                   missing(s->kind));
    return s->sink(s->context, &fault);
}

cascade_err
csc_store_stray_fault(csc_store_straying *s)
{
    char text[CSC_ERRMSG_SIZE];
    const cascade_fault fault = {.text = text};

    s->looked++;
    (void)snprintf(text, sizeof(text), "%s", cascade_errmsg());
    return s->sink(s->context, &fault);
}

/* Where no id of a whole page could be read there is none to go on behind. */
cascade_err
csc_store_end_strays(const csc_store_straying *s, cascade_err err, bool *more)
{
    *more = err == CASCADE_OK && s->looked == s->limit &&
            !csc_uuid_equal(s->cursor, &s->began);
    return err;
}
