/* SPDX-License-Identifier: MIT
 *
 * The order demo: a program that is killed in mid-flight again and again, and
 * the proof that nothing came of it. Start reading in order_flow.c.
 */
#include <stdio.h>
#include <string.h>

#include "demo.h"
#include "proof.h"
#include "record.h"
#include "report.h"
#include "settings.h"
#include "worker.h"

static bool
prove(const struct settings *settings)
{
    struct proof proof;
    return proof_make(settings, &proof) && report_print(settings, &proof, NULL);
}

int
main(int argc, char **argv)
{
    static const struct {
        const char *name;
        bool (*run)(const struct settings *settings);
    } commands[] = {
        {"run", worker_run},
        {"record", record_take},
        {"prove", prove},
        {"demo", demo_run},
    };
    struct settings settings;

    if (!settings_read(argc, argv, &settings))
        return 2;
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (strcmp(commands[i].name, settings.command) == 0)
            return commands[i].run(&settings) ? 0 : 1;
    fprintf(stderr, "orders: no command '%s'\n", settings.command);
    return 2;
}
