/* SPDX-License-Identifier: MIT
 *
 * Specs of schedules. For any text there is a reason, and nothing written; or
 * a spec, of which must hold:
 *
 *   its canonical text is JSON in the form of the gate, and makes a spec of the
 *   same text
 *   it can be told in words
 *   fires are in order, both ways, and are what is said of their instants; both
 *   specs have the same
 */
#include <stdlib.h>
#include <string.h>

#include "base/json/json.h"
#include "base/mem.h"
#include "cascade/schedule.h"
#include "fuzz/fuzz.h"

#define FIRES 12

/* A rule with a gap at 22:00 on a day before, and a fold. */
#define ZONE                                                            \
    "TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0"                                  \
    "TZif3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0" \
    "\0\0\0\0\1\0\0\0\4\0\0\0\0\0\0UTC\0"                               \
    "\n<-02>2<-01>,M3.5.0/-1,M10.5.0/0\n"

static cascade_err
create(const char *text, cascade_spec **spec)
{
    return cascade_spec_create(text,
                               CASCADE_OPTIONS(cascade_spec_options,
                                               .zone_bytes = ZONE,
                                               .zone_len = sizeof(ZONE) - 1),
                               spec);
}

static void
check_refusal(cascade_err err, const cascade_spec *spec)
{
    const char *why = cascade_errmsg();

    fuzz_check(err == CASCADE_ERR_INVALID || err == CASCADE_ERR_JSON ||
               err == CASCADE_ERR_TOO_LARGE);
    fuzz_check(strncmp(why, "spec", 4) == 0 || strncmp(why, "zone", 4) == 0);
    fuzz_check(csc_json_utf8_is(why, strlen(why)));
    fuzz_check(spec == NULL);
}

static void
check_instant(const cascade_spec *spec, int64_t at_ms)
{
    cascade_spec_answer answer;

    fuzz_check(cascade_spec_explain(spec, at_ms, &answer) == CASCADE_OK);
    fuzz_check((answer.why == CASCADE_SPEC_FIRES) ==
               cascade_spec_matches(spec, at_ms));
    fuzz_check(answer.text[0] != '\0');
}

static void
check_from(const cascade_spec *spec, const cascade_spec *again, int64_t from_ms)
{
    cascade_spec_fire fire = {.at_ms = from_ms};
    cascade_spec_fire other = {.at_ms = from_ms};
    cascade_spec_fire back;

    check_instant(spec, from_ms);
    for (int i = 0; i < FIRES; i++) {
        int64_t was_ms = fire.at_ms;
        cascade_err err = cascade_spec_next(spec, was_ms, &fire);

        fuzz_check(cascade_spec_next(again, was_ms, &other) == err);
        if (err == CASCADE_ERR_NOT_FOUND)
            return;
        fuzz_check(fire.at_ms > was_ms);
        fuzz_check(memcmp(&fire, &other, sizeof(fire)) == 0);
        if (err != CASCADE_OK)
            continue;
        check_instant(spec, fire.at_ms);
        fuzz_check(cascade_spec_matches(spec, fire.at_ms));
        fuzz_check(cascade_spec_previous(spec, fire.at_ms + 1, &back) ==
                   CASCADE_OK);
        fuzz_check(memcmp(&fire, &back, sizeof(fire)) == 0);
    }
}

static void
check_list(const cascade_spec *spec, int64_t from_ms)
{
    cascade_spec_fire fires[FIRES];
    int64_t more_ms = 0;
    size_t count = 0;

    fuzz_check(cascade_spec_list(spec, from_ms, INT64_MAX, fires, FIRES, &count,
                                 &more_ms) == CASCADE_OK);
    fuzz_check(count <= FIRES && more_ms > from_ms);
    for (size_t i = 0; i < count; i++)
        fuzz_check(fires[i].at_ms >= from_ms && fires[i].at_ms < more_ms &&
                   (i == 0 || fires[i].at_ms > fires[i - 1].at_ms));
}

static void
check_spec(const cascade_spec *spec)
{
    static const int64_t from_ms[] = {INT64_MIN, 0, 1774700000000,
                                      1792900000000, 7258000000000};
    cascade_spec *again = NULL;
    char *told = NULL;

    fuzz_check(fuzz_is_canonical(cascade_spec_text(spec)));
    fuzz_check(create(cascade_spec_text(spec), &again) == CASCADE_OK);
    fuzz_check(strcmp(cascade_spec_text(spec), cascade_spec_text(again)) == 0);
    fuzz_check(cascade_spec_describe(spec, &told) == CASCADE_OK);
    fuzz_check(csc_json_utf8_is(told, strlen(told)));
    cascade_text_free(told);
    for (size_t i = 0; i < sizeof(from_ms) / sizeof(from_ms[0]); i++) {
        check_from(spec, again, from_ms[i]);
        check_list(spec, from_ms[i]);
    }
    check_instant(spec, INT64_MAX);
    cascade_spec_free(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
    char *text = fuzz_text(bytes, len);
    size_t live = csc_mem_live();
    cascade_spec *spec = NULL;
    cascade_err err = create(text, &spec);

    if (err == CASCADE_OK)
        check_spec(spec);
    else
        check_refusal(err, spec);
    cascade_spec_free(spec);
    fuzz_check(csc_mem_live() == live);
    free(text);
    return 0;
}
