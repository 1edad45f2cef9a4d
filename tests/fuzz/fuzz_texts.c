/* SPDX-License-Identifier: MIT
 *
 * Short texts that others wrote: UUIDs, times, names, the paths of executions,
 * and the URL of a store (which backend it is for; nothing is opened but
 * stores in memory). What is accepted must be written back as it was read; what
 * is refused must leave a text that does not repeat it.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/check.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json/json.h"
#include "base/mem.h"
#include "base/uuid.h"
#include "fuzz/fuzz.h"
#include "state/kind.h"
#include "state/state.h"
#include "store/store.h"

static void
check_refusal(const char *text, cascade_err err)
{
    const char *why = cascade_errmsg();

    fuzz_check(err == CASCADE_ERR_INVALID || err == CASCADE_ERR_UNSUPPORTED);
    fuzz_check(why[0] != '\0' && csc_json_utf8_is(why, strlen(why)));
    fuzz_check(strchr(text, '@') == NULL || strstr(why, text) == NULL);
}

static void
check_uuid(const char *text)
{
    cascade_uuid id;
    cascade_uuid again;
    char back[CASCADE_UUID_TEXT_SIZE];
    cascade_err err = cascade_uuid_parse(text, &id);

    if (err != CASCADE_OK) {
        check_refusal(text, err);
        return;
    }
    fuzz_check(strcasecmp(cascade_uuid_format(&id, back), text) == 0);
    fuzz_check(cascade_uuid_parse(back, &again) == CASCADE_OK);
    fuzz_check(csc_uuid_equal(&id, &again));
}

/* The fraction may be longer or shorter than ours; the second stands. */
static void
check_time(const char *text)
{
    int64_t time_ms = 0;
    int64_t again_ms = 1;
    char back[CSC_TIME_TEXT_SIZE];

    if (csc_clock_parse(text, &time_ms) != 0)
        return;
    csc_clock_format(time_ms, back);
    fuzz_check(csc_clock_parse(back, &again_ms) == 0 && again_ms == time_ms);
    fuzz_check(strncmp(text, back, 10) == 0);
    fuzz_check(strncmp(text + 11, back + 11, 8) == 0);
}

static void
check_names(const char *text)
{
    size_t len = strlen(text);
    cascade_err err = csc_check_name("name", text);

    if (err == CASCADE_OK)
        fuzz_check(csc_check_text("text", text) == CASCADE_OK &&
                   len <= CSC_NAME_MAX && strncmp(text, "cascade.", 8) != 0);
    else
        check_refusal(text, err);
    err = csc_check_text("text", text);
    if (err == CASCADE_OK)
        fuzz_check(len > 0 && len <= CSC_TEXT_MAX &&
                   csc_json_utf8_is(text, len));
    else
        check_refusal(text, err);
    fuzz_check(csc_check_cut(text, len) <= len);
}

/* The id of a key: of any texts, and never two ways for one. */
static void
check_key(const char *text)
{
    cascade_uuid id;
    cascade_uuid again;

    if (cascade_uuid_from_key("user", text, &id) != CASCADE_OK)
        return;
    fuzz_check(cascade_uuid_from_key("user", text, &again) == CASCADE_OK);
    fuzz_check(csc_uuid_equal(&id, &again));
    fuzz_check((id.bytes[6] >> 4) == 8 && (id.bytes[8] >> 6) == 2);
}

static void
check_path(const char *text)
{
    cascade_uuid id;
    int32_t parent = -7;
    uint32_t occurrence = 7;
    char head[CASCADE_UUID_TEXT_SIZE];

    memset(&id, 0, sizeof(id));
    if (strlen(text) >= sizeof(head) - 1) {
        memcpy(head, text, sizeof(head) - 1);
        head[sizeof(head) - 1] = '\0';
        (void)cascade_uuid_parse(head, &id);
    }
    if (!csc_kind_path(text, &id, &parent, &occurrence)) {
        fuzz_check(parent == -7 && occurrence == 7);
        return;
    }
    fuzz_check(parent >= CSC_NO_PARENT && occurrence <= INT32_MAX);
    fuzz_check((text[37] == '-') == (parent == CSC_NO_PARENT));
    fuzz_check(parent < 0 || atoll(text + 37) == parent);
    fuzz_check(atoll(strrchr(text, '#') + 1) == (long long)occurrence);
}

static void
check_url(const char *text)
{
    const cascade_store_driver *driver = NULL;
    cascade_store *store = NULL;
    cascade_err err = csc_store_driver_find(text, &driver);

    if (err != CASCADE_OK) {
        fuzz_check(driver == NULL);
        check_refusal(text, err);
        return;
    }
    if (strncmp(text, "memory:", 7) != 0) {
        fuzz_check(strncmp(text, "sqlite:", 7) == 0 ||
                   strcmp(driver->name, "postgres") == 0);
        return;
    }
    err = cascade_store_open(text, NULL, &store);
    if (err == CASCADE_OK)
        fuzz_check(cascade_store_close(store) == CASCADE_OK);
    else
        check_refusal(text, err);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    size_t live = csc_mem_live();

    check_uuid(text);
    check_time(text);
    check_names(text);
    check_key(text);
    check_path(text);
    check_url(text);
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
