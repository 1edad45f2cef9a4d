/* SPDX-License-Identifier: MIT */
#include "process/long_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool
long_run_asked(int argc, char **argv)
{
    return argc > 1 && strncmp(argv[1], "--", 2) == 0;
}

static bool
take_option(long_run *it, const char *name, const char *value)
{
    if (strcmp(name, "--seconds") == 0)
        it->seconds = strtoll(value, NULL, 10);
    else if (strcmp(name, "--seed") == 0)
        setenv("CASCADE_TEST_SEED", value, 1);
    else if (strcmp(name, "--store") == 0)
        for (int kind = 0; kind < 2; kind++)
            it->stores[kind] &= strcmp(value, place_names[kind]) == 0;
    else
        return false;
    return true;
}

static bool
take_options(long_run *it, int argc, char **argv)
{
    for (int i = 1; i < argc; i += 2)
        if (i + 1 == argc || !take_option(it, argv[i], argv[i + 1]))
            return false;
    return it->seconds > 0 && (it->stores[0] || it->stores[1]);
}

int
long_run_main(const char *program, int argc, char **argv,
              CMUnitTestFunction test, CMFixtureFunction teardown)
{
    long_run it = {.stores = {
#ifdef CASCADE_HAVE_SQLITE
                       [PLACE_SQLITE] = true,
#endif
#ifdef CASCADE_HAVE_POSTGRES
                       [PLACE_POSTGRES] = true,
#endif
                   }};
    const struct CMUnitTest tests[] = {
        {"the_long_run", test, NULL, teardown, &it}};

    if (!take_options(&it, argc, argv)) {
        fprintf(stderr,
                "usage: %s --seconds N [--seed S] [--store sqlite|postgres]\n",
                program);
        return 2;
    }
    return _cmocka_run_group_tests(program, tests, 1, NULL, NULL);
}
