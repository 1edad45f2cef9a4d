/* SPDX-License-Identifier: MIT */
#include "support/sound.h"

#include <stdio.h>

#include "cascade/manage.h"

static bool
print_finding(void *context, const cascade_uuid *id, int32_t function_id,
              const char *rule, const char *text)
{
    char name[CASCADE_UUID_TEXT_SIZE];

    (void)context;
    fprintf(stderr, "verify: %s: %s: %s (%d)\n", cascade_uuid_format(id, name),
            rule, text, function_id);
    return true;
}

bool
sound_all(cascade_store *store)
{
    const cascade_check_options options = {.size = sizeof(options),
                                           .finding = print_finding};
    cascade_check_report report = {.size = sizeof(report)};
    cascade_err err = cascade_verify(store, &options, &report);

    if (err != CASCADE_OK)
        fprintf(stderr, "verify: %s\n", cascade_errmsg());
    return err == CASCADE_OK && report.findings == 0;
}
