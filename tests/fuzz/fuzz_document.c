/* SPDX-License-Identifier: MIT
 *
 * Reading documents of cascades, as import does. Any bytes are refused with a
 * text, or give rows; and these rows, written as export does, give the very
 * document in its canonical form, but for the form and the order of events,
 * which older versions have otherwise; what was written comes back as it is.
 * With other ids they are a sound document too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "fuzz/fuzz.h"
#include "manage/document.h"
#include "state/start_record.h"

#define NOW_MS INT64_C(1800000000000)

/* Begins anew with each input, so that one gives the same alone. */
static unsigned char next_byte;

static void
fill(void *context, void *bytes, size_t len)
{
    (void)context;
    memset(bytes, next_byte++, len);
}

static char *
write_document(const csc_document *document)
{
    csc_document_writer writer = {.with_tokens = true};
    char *text = NULL;
    cascade_err err = csc_document_write_cascade(&writer, &document->cascade);

    for (size_t i = 0; i < document->execution_count && err == CASCADE_OK; i++)
        err = csc_document_write_execution(&writer, &document->executions[i]);
    for (size_t i = 0; i < document->event_count && err == CASCADE_OK; i++)
        err = csc_document_write_event(&writer, &document->events[i]);
    for (size_t i = 0; i < document->message_count && err == CASCADE_OK; i++)
        err =
            csc_document_write_message(&writer, &document->messages[i], false);
    if (err == CASCADE_OK)
        err = csc_document_write_end(&writer, &text);
    csc_document_write_fini(&writer);
    fuzz_check(err == CASCADE_OK && text != NULL);
    return text;
}

static void
check_members(const char *text, const char *written)
{
    static const char *const names[] = {"format", "cascade", "messages",
                                        "executions"};
    csc_json_span a;
    csc_json_span b;

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        fuzz_check(csc_json_read_member(text, names[i], &a) &&
                   csc_json_read_member(written, names[i], &b) &&
                   a.len == b.len && memcmp(a.data, b.data, a.len) == 0);
}

static void
check_written(const char *text, const csc_document *document)
{
    csc_buf canonical = {0};
    csc_document again = {0};
    char *written = write_document(document);
    char *twice = NULL;

    fuzz_check(csc_json_canon_document("text", text, strlen(text),
                                       CSC_DOCUMENT_MAX,
                                       &canonical) == CASCADE_OK);
    check_members(canonical.data, written);
    csc_buf_fini(&canonical);
    fuzz_check(csc_document_read(written, &again) == CASCADE_OK);
    fuzz_check(again.event_count == document->event_count);
    twice = write_document(&again);
    fuzz_check(strcmp(written, twice) == 0);
    csc_document_read_fini(&again);
    csc_mem_free(twice);
    csc_mem_free(written);
}

/* Only paths may meet: those of two runs that begin alike behind the id. */
static void
check_renamed(csc_document *document)
{
    const cascade_random random = {NULL, fill};
    const cascade_uuid id = {{1, 2, 3}};
    csc_document again = {0};
    csc_meta meta;
    cascade_change change;
    cascade_err err = csc_document_make_rename(document, &id, NOW_MS, &random);
    char *text = NULL;

    fuzz_check(err == CASCADE_OK);
    text = write_document(document);
    err = csc_document_read(text, &again);
    fuzz_check(err == CASCADE_OK || err == CASCADE_ERR_REFUSED ||
               err == CASCADE_ERR_INVALID);
    fuzz_check(csc_start_record_read(document->meta, &meta) == CASCADE_OK);
    fuzz_check(meta.key == NULL);
    csc_document_make(document, &meta, NULL, NOW_MS, &change);
    fuzz_check(change.run.priority >= 0 && change.run.priority <= 9);
    csc_start_record_fini(&meta);
    csc_document_read_fini(&again);
    csc_mem_free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    size_t live = csc_mem_live();
    csc_document document = {0};
    cascade_err err = csc_document_read(text, &document);

    next_byte = 0;
    if (err == CASCADE_OK) {
        check_written(text, &document);
        check_renamed(&document);
    } else {
        fuzz_check(cascade_errmsg() != NULL && cascade_errmsg()[0] != '\0');
    }
    csc_document_read_fini(&document);
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
