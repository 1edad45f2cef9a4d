/* SPDX-License-Identifier: MIT */
#include "support/sealed.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "cascade/integrity.h"
#include "store/ring.h"
#include "store/seal.h"
#include "store/store.h"

#define SECRET "a secret of the tests"

static cascade_err
give_secret(void *context, size_t number, cascade_secret *secret)
{
    (void)context;
    if (number > 0)
        return CASCADE_ERR_NOT_FOUND;
    *secret = (cascade_secret){"test", SECRET, strlen(SECRET)};
    return CASCADE_OK;
}

const cascade_integrity *
sealed_by_secret(void)
{
    static const cascade_integrity hmac = {.size = sizeof(hmac),
                                           .mode = CASCADE_INTEGRITY_HMAC,
                                           .secret = give_secret};

    return &hmac;
}

const cascade_integrity *
sealed_by_checksum(void)
{
    static const cascade_integrity checksum = {
        .size = sizeof(checksum), .mode = CASCADE_INTEGRITY_CHECKSUM};

    return &checksum;
}

const cascade_integrity *
sealed_wanted(void)
{
    const char *wanted = getenv("CASCADE_TEST_SEALED");

    if (wanted == NULL)
        return NULL;
    if (strcmp(wanted, "checksum") == 0)
        return sealed_by_checksum();
    return strcmp(wanted, "hmac") == 0 ? sealed_by_secret() : NULL;
}

/* ---- Checking ------------------------------------------------------------ */

typedef struct reading {
    const csc_ring *ring;
    csc_seal seal;
    cascade_row row;
    char user_id[256];
    char text[CASCADE_SEAL_MAX + 1];
    int64_t number; /* 0: no seal came */
} reading;

static cascade_err
read_cascade(void *context, const cascade_row *row)
{
    reading *r = context;

    r->row = *row;
    (void)snprintf(r->user_id, sizeof(r->user_id), "%s", row->user_id);
    r->row.user_id = r->user_id;
    csc_seal_init(&r->seal, csc_ring_current(r->ring), &row->id);
    return CASCADE_OK;
}

static cascade_err
read_seal(void *context, const cascade_seal_row *row)
{
    reading *r = context;

    r->number = row->number;
    (void)snprintf(r->text, sizeof(r->text), "%s", row->seal);
    return csc_ring_find(r->ring, row->seal, &r->seal.key);
}

static cascade_err
read_execution(void *context, const cascade_execution_row *row)
{
    return csc_seal_add_execution(&((reading *)context)->seal, row);
}

static cascade_err
read_event(void *context, const cascade_event_row *row)
{
    csc_seal_add_event(&((reading *)context)->seal, row);
    return CASCADE_OK;
}

static bool
is_sealed(cascade_store *store, const cascade_uuid *id)
{
    reading *r = csc_mem_zalloc(1, sizeof(*r));
    const cascade_load_sink sink = {.context = r,
                                    .on_cascade = read_cascade,
                                    .on_execution = read_execution,
                                    .on_event = read_event,
                                    .on_seal = read_seal};
    char text[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = CASCADE_OK;

    assert_non_null(r);
    r->ring = store->ring;
    err = store->driver->load(store->self, id, 1,
                              CASCADE_LOAD_EXECUTIONS | CASCADE_LOAD_EVENTS |
                                  CASCADE_LOAD_SEALS,
                              &sink);
    if (err == CASCADE_OK && r->row.user_id != NULL)
        err = csc_seal_check(&r->seal, &r->row, r->number, r->text);
    if (err != CASCADE_OK)
        print_error("%s: not sealed (%lld): %s\n",
                    cascade_uuid_format(id, text), (long long)r->number,
                    cascade_errmsg());
    csc_seal_fini(&r->seal);
    csc_mem_free(r);
    return err == CASCADE_OK;
}

bool
sealed_all(cascade_store *store, size_t *count)
{
    cascade_list_options options = {.size = sizeof(options), .limit = 100};
    cascade_uuid last;
    size_t found = 100;
    bool good = true;

    if (count != NULL)
        *count = 0;
    while (found == 100) {
        cascade_page *page = NULL;

        assert_int_equal(cascade_list(store, &options, &page), CASCADE_OK);
        found = cascade_page_count(page);
        for (size_t i = 0; i < found; i++) {
            last = cascade_page_get(page, i)->id;
            good = is_sealed(store, &last) && good;
        }
        if (count != NULL)
            *count += found;
        options.after = &last;
        cascade_page_free(page);
    }
    return good;
}
