/* SPDX-License-Identifier: MIT
 *
 * Whether a cascade has its seal, in a store with integrity: all of its rows
 * are read for that, in pages where they are many (audit_read.h), as an engine
 * reads them that takes it. Where somebody writes all the time there is no
 * answer, and none is needed: its engine has found it sound.
 */
#include "query/explain/explain.h"

#include <stdio.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "query/audit/audit.h"
#include "query/audit/audit_read.h"
#include "query/audit/audit_seal.h"
#include "store/store.h"

#define TRIES 3

static void
note(csc_seal_facts *facts, const char *text)
{
    (void)snprintf(facts->text, sizeof(facts->text), "%s", text);
}

/* What is told of the cascade comes last, behind messages; it may be one too
 * many to be kept. */
static void
note_findings(const csc_audit *audit, csc_seal_facts *facts)
{
    facts->broken = csc_audit_seal_is_broken(audit);
    for (const csc_audit_finding *f = audit->first; f != NULL; f = f->next) {
        if (f->rule != CSC_AUDIT_SEAL)
            continue;
        facts->message_count++;
        note(facts, f->text);
    }
    if (facts->broken && facts->message_count > 0)
        facts->message_count--;
    else if (facts->broken)
        note(facts, "it is of other rows");
}

/* Rows that cannot be read are not those that were sealed. */
static cascade_err
read_once(cascade_store *store, const cascade_uuid *id, csc_audit *audit,
          csc_seal_facts *facts, bool *again)
{
    bool there = false;
    cascade_err err = csc_audit_list(store, id, audit, &there);

    *again = false;
    if (err != CASCADE_OK || !there)
        return err;
    err = csc_audit_read(store, audit, NULL);
    if (audit->arena.failed)
        return csc_fail_memory();
    if (err == CASCADE_ERR_CORRUPT) {
        facts->broken = true;
        note(facts, cascade_errmsg());
        return CASCADE_OK;
    }
    *again = csc_audit_seal_moved(audit);
    if (err == CASCADE_OK && !*again)
        note_findings(audit, facts);
    return err;
}

cascade_err
csc_explain_seal_read(cascade_store *store, const cascade_uuid *id,
                      csc_seal_facts *facts)
{
    csc_audit audit = {.first = NULL};
    bool again = store->ring != NULL;
    cascade_err err = CASCADE_OK;

    *facts = (csc_seal_facts){.broken = false};
    for (int i = 0; i < TRIES && again && err == CASCADE_OK; i++) {
        err = read_once(store, id, &audit, facts, &again);
        csc_audit_fini(&audit);
    }
    return err;
}

static void
explain_broken(const csc_seal_facts *facts, cascade_explanation *out)
{
    if (csc_explain_add(out, CASCADE_REASON_SEAL) != NULL)
        csc_explain_say(out,
                        "its seal does not hold (%s): nothing of it runs, and "
                        "no command reaches it; put its rows back as they "
                        "were, from a backup, or, if they are right as they "
                        "are, have them sealed so (`cascade reseal ID "
                        "--trust`)",
                        facts->text);
}

static void
explain_messages(const csc_seal_facts *facts, cascade_explanation *out)
{
    cascade_cause *cause = csc_explain_add(out, CASCADE_REASON_SEAL);

    if (cause == NULL)
        return;
    cause->count = facts->message_count;
    if (facts->broken)
        csc_explain_say(out,
                        "%lld messages for it have no good seal: they are not "
                        "received",
                        (long long)facts->message_count);
    else
        csc_explain_say(out,
                        "%lld messages for it have no good seal, and are not "
                        "received (%s): send again what is to reach it",
                        (long long)facts->message_count, facts->text);
}

void
csc_explain_seal(const csc_seal_facts *facts, cascade_explanation *out)
{
    if (facts->broken)
        explain_broken(facts, out);
    if (facts->message_count > 0)
        explain_messages(facts, out);
}
