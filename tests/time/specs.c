/* SPDX-License-Identifier: MIT */
#include "time/specs.h"

#include "base/support.h"

int64_t
specs_ms(const char *text)
{
    return made_s(text) * 1000;
}

size_t
specs_rule(const char *rule, uint8_t bytes[MADE_SIZE])
{
    static const made_kind kind = {0, 0, "UTC"};
    made_file file = {'3', &kind, 1, NULL, 0, rule};

    return made_bytes(&file, bytes);
}

cascade_err
specs_create(const char *text, const char *rule, cascade_spec **spec)
{
    uint8_t bytes[MADE_SIZE];
    cascade_spec_options options = {.size = sizeof(options)};

    if (rule == NULL)
        return cascade_spec_create(text, NULL, spec);
    options.zone_bytes = bytes;
    options.zone_len = specs_rule(rule, bytes);
    return cascade_spec_create(text, &options, spec);
}

cascade_spec *
specs_must(const char *text, const char *rule)
{
    cascade_spec *spec = NULL;

    if (specs_create(text, rule, &spec) != CASCADE_OK)
        fail_msg("%s: %s", text, cascade_errmsg());
    assert_string_equal(cascade_errmsg(), "");
    return spec;
}
