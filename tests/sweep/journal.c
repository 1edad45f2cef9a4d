/* SPDX-License-Identifier: MIT
 *
 * The record of a play; see journal.h.
 */
#include "sweep/journal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/uuid.h"

journal *
journal_create(void)
{
    void *memory = mmap(NULL, sizeof(journal), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED) {
        perror("mmap");
        exit(1);
    }
    return memory;
}

void
journal_free(journal *j)
{
    (void)munmap(j, sizeof(*j));
}

/* The entries are left: `count` says which of them mean anything. */
void
journal_clear(journal *j)
{
    j->ahead_ms = 0;
    j->shown_ms = 0;
    j->seen = 0;
    j->id_count = 0;
    j->count = 0;
    j->failure[0] = '\0';
    memset(j->calls, 0, sizeof(j->calls));
    memset(j->kinds, 0, sizeof(j->kinds));
}

void
journal_fail(journal *j, const char *format, ...)
{
    va_list args;

    if (j->failure[0] != '\0')
        return;
    va_start(args, format);
    vsnprintf(j->failure, sizeof(j->failure), format, args);
    va_end(args);
}

static journal_entry *
add(journal *j, journal_kind kind)
{
    journal_entry *entry = &j->entries[j->count];

    if (j->count == JOURNAL_ENTRIES) {
        journal_fail(j, "the play did more than %d things", JOURNAL_ENTRIES);
        return &j->entries[JOURNAL_ENTRIES - 1];
    }
    j->count++;
    entry->kind_of = kind;
    return entry;
}

void
journal_starting(journal *j, const cascade_uuid *id)
{
    add(j, JOURNAL_STARTING)->id = *id;
    for (size_t i = 0; i < j->id_count; i++)
        if (csc_uuid_equal(&j->ids[i], id))
            return;
    if (j->id_count == JOURNAL_IDS)
        journal_fail(j, "the play started more than %d", JOURNAL_IDS);
    else
        j->ids[j->id_count++] = *id;
}

void
journal_started(journal *j, const cascade_uuid *id, bool existed)
{
    journal_entry *entry = add(j, JOURNAL_STARTED);

    entry->id = *id;
    entry->flag = existed;
}

void
journal_ran(journal *j, const char *request_id, int attempt, int64_t now_ms)
{
    journal_entry *entry = add(j, JOURNAL_RAN);

    if (strlen(request_id) >= JOURNAL_TEXT)
        journal_fail(j, "request id %s is too long", request_id);
    snprintf(entry->request_id, JOURNAL_TEXT, "%s", request_id);
    entry->attempt = attempt;
    entry->now_ms = now_ms;
}

void
journal_message(journal *j, const oracle_message *message, bool sent,
                cascade_err err)
{
    journal_entry *entry = add(j, sent ? JOURNAL_SENT : JOURNAL_SENDING);

    entry->id = *message->to;
    entry->err = err;
    snprintf(entry->kind, JOURNAL_NAME, "%s", message->kind);
    snprintf(entry->name, JOURNAL_NAME, "%s",
             message->name != NULL ? message->name : "");
    snprintf(entry->request_id, JOURNAL_TEXT, "%s", message->request_id);
}

bool
journal_was_sent(const journal *j, const cascade_uuid *id, const char *kind)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->entries[i].kind_of == JOURNAL_SENDING &&
            csc_uuid_equal(&j->entries[i].id, id) &&
            (kind == NULL || strcmp(j->entries[i].kind, kind) == 0))
            return true;
    return false;
}

bool
journal_is_acknowledged(const journal *j, const cascade_uuid *id)
{
    for (size_t i = 0; i < j->count; i++)
        if (j->entries[i].kind_of == JOURNAL_STARTED &&
            csc_uuid_equal(&j->entries[i].id, id))
            return true;
    return false;
}

static void
tell(const journal_entry *entry, oracle *o)
{
    const oracle_message message = {.to = &entry->id,
                                    .kind = entry->kind,
                                    .name = entry->name[0] != '\0' ? entry->name
                                                                   : NULL,
                                    .request_id = entry->request_id};

    switch (entry->kind_of) {
    case JOURNAL_STARTING:
        oracle_started(o, &entry->id, false);
        break;
    case JOURNAL_STARTED:
        oracle_existed(o, &entry->id, entry->flag);
        oracle_started(o, &entry->id, true);
        break;
    case JOURNAL_SENDING:
        oracle_sending(o, &message);
        break;
    case JOURNAL_SENT:
        oracle_sent(o, &message, entry->err);
        break;
    case JOURNAL_RAN:
        oracle_ran(o, entry->request_id, entry->attempt, entry->now_ms);
        break;
    }
}

void
journal_tell(const journal *j, oracle *o, size_t *from)
{
    for (; *from < j->count; (*from)++)
        tell(&j->entries[*from], o);
}
