/* SPDX-License-Identifier: MIT
 *
 * What cascade_adopt() tells: what it finds, what it repairs, and what it
 * cannot know, which is counted as unknown.
 */
#include "manage/adopt_internal.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "base/uuid.h"
#include "cascade/cascade.h"
#include "cascade/rows.h"
#include "query/audit/audit.h"
#include "query/audit/audit_read.h"
#include "query/audit/faults.h"

void
csc_adopt_tell(csc_adopter *a, const cascade_uuid *id, int32_t function_id,
               const char *rule, const char *format, ...)
{
    char text[CSC_ERRMSG_SIZE];
    va_list args;

    if (a->told != CASCADE_OK)
        return;
    a->report->findings++;
    if (a->options.finding == NULL)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    if (!a->options.finding(a->options.context, id, function_id, rule, text))
        a->told = csc_fail(CASCADE_ERR_STOPPED,
                           "adopt: its finding function ended it");
}

void
csc_adopt_tell_foreign(csc_adopter *a, const cascade_uuid *id)
{
    const csc_audit *audit = &a->audit;
    int64_t first = audit->seen_count > 0 ? audit->seen[0].function_id : 0;
    int64_t span = csc_audit_highest(audit) - first + 1;

    if (a->tally.foreign > 0)
        csc_adopt_tell(
            a, id, -1, CSC_ADOPT_FORM,
            "%lld executions have ids of another program's form; they are "
            "taken as they are",
            (long long)a->tally.foreign);
    if (audit->seen_count > 0 && span != (int64_t)audit->seen_count)
        csc_adopt_tell(
            a, id, -1, CSC_ADOPT_GAPS,
            "function_ids go from %lld to %d, and %lld of them are missing; "
            "new ones come after the highest",
            (long long)first, csc_audit_highest(audit),
            (long long)(span - (int64_t)audit->seen_count));
    if (a->tally.id_keys > 0)
        csc_adopt_tell(
            a, id, -1, CSC_ADOPT_KEYS,
            "%lld context events have an id as their key; they are read under "
            "that name",
            (long long)a->tally.id_keys);
}

void
csc_adopt_tell_running(csc_adopter *a, const cascade_uuid *id)
{
    static const char *const ways[] = {
        [CSC_ADOPT_NAME_OWN] = "it runs again, or goes on waiting",
        [CSC_ADOPT_NAME_FOREIGN] =
            "it runs again where its node is registered as "
            "`foreign`, for the name of it",
        [CSC_ADOPT_NAME_NONE] =
            "it never runs again, as no node can be registered under "
            "its name (1 to 128 bytes of UTF-8): terminate the "
            "cascade, or rename the node in its row"};
    int64_t count = a->tally.running;

    for (int64_t i = 0; i < count && i < CSC_ADOPT_NOTED_MAX; i++)
        csc_adopt_tell(a, id, a->tally.again[i], CSC_ADOPT_AGAIN,
                       "execution %d was left RUNNING; %s", a->tally.again[i],
                       ways[a->tally.names[i]]);
    if (count > CSC_ADOPT_NOTED_MAX)
        csc_adopt_tell(a, id, -1, CSC_ADOPT_AGAIN,
                       "%lld executions more were left RUNNING",
                       (long long)(count - CSC_ADOPT_NOTED_MAX));
}

void
csc_adopt_tell_spawns(csc_adopter *a, const cascade_uuid *id)
{
    for (const csc_audit_finding *f = a->audit.first; f != NULL; f = f->next) {
        if (f->rule != CSC_AUDIT_REFERENCE)
            continue;
        a->report->unknown++;
        csc_adopt_tell(a, id, f->function_id, CSC_ADOPT_SPAWNS, "%s", f->text);
    }
    if (a->tally.foreign == 0 && a->audit.has_meta)
        return;
    a->report->unknown++;
    csc_adopt_tell(
        a, id, -1, CSC_ADOPT_SPAWNS,
        "what its executions had spawned is not recorded: whether any of that "
        "is missing cannot be known");
}

void
csc_adopt_tell_messages(csc_adopter *a, const cascade_uuid *id)
{
    if (!a->audit.has_meta)
        return;
    a->report->unknown++;
    csc_adopt_tell(
        a, id, -1, CSC_ADOPT_MESSAGES,
        "its run was lost, and what had been sent to it and not received may "
        "be lost as well: send it again, with the same request ids");
}

cascade_err
csc_adopt_tell_children(csc_adopter *a, const cascade_uuid *id)
{
    csc_audit child = {0};
    cascade_err err = CASCADE_OK;

    for (int64_t i = 0; i < a->tally.children && i < CSC_ADOPT_NOTED_MAX; i++) {
        bool there = false;

        err = csc_audit_list(a->store, &a->tally.child[i], &child, &there);
        if (err != CASCADE_OK)
            break;
        if (there && child.row.status == CASCADE_RUNNING)
            continue;
        a->report->unknown++;
        csc_adopt_tell(
            a, id, a->tally.child_part[i], CSC_ADOPT_CHILD,
            "execution %d waits for a child that %s, unless a message tells "
            "it: if it goes on waiting, cancel the cascade",
            a->tally.child_part[i], there ? "has ended" : "is not there");
    }
    if (a->tally.children > CSC_ADOPT_NOTED_MAX)
        a->report->unknown += a->tally.children - CSC_ADOPT_NOTED_MAX;
    csc_audit_fini(&child);
    return err;
}

void
csc_adopt_tell_unreadable(csc_adopter *a, const cascade_uuid *id,
                          const char *why)
{
    a->report->unknown++;
    a->report->unreadable++;
    csc_adopt_tell(a, id, -1, CSC_ADOPT_READABLE, "it is left as it is: %s",
                   why);
}

void
csc_adopt_tell_faults(csc_adopter *a)
{
    int64_t more = (int64_t)a->faults.count - CSC_FAULTS_MAX;

    a->report->cascades += (int64_t)a->faults.count;
    for (const csc_fault *f = a->faults.first; f != NULL; f = f->next)
        csc_adopt_tell_unreadable(a, &f->id, f->text);
    if (more <= 0)
        return;
    a->report->unknown += more;
    a->report->unreadable += more;
    a->report->findings += more;
}

/* The last of those findings is of the cascade, those before of messages. */
void
csc_adopt_tell_seal(csc_adopter *a, const char *left)
{
    const char *why = "it does not fit the rows";

    for (const csc_audit_finding *f = a->audit.first; f != NULL; f = f->next)
        if (f->rule == CSC_AUDIT_SEAL)
            why = f->text;
    a->report->left++;
    csc_adopt_tell(a, &a->audit.row.id, -1, CSC_ADOPT_SEAL,
                   "its seal does not hold (%s): %s; put its rows back as they "
                   "were, or, if they are right as they are, adopt it with "
                   "trust (`cascade adopt ID --trust`)",
                   why, left);
}
