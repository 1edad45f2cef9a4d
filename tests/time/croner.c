/* SPDX-License-Identifier: MIT
 *
 *   test_time_croner SEED COUNT
 *
 * Random patterns with what we make of them, for croner.mjs to judge: see
 * croner.sh. A line: pattern, an instant, the next three matches and the one
 * before, in seconds, "-" for none; between them a '|'.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "time/cron.h"
#include "time/pattern.h"

static void
print_match(bool is_there, int64_t at_s)
{
    if (is_there)
        printf("|%" PRId64, at_s);
    else
        printf("|-");
}

static void
print_matches(const csc_cron *cron, int64_t at_s)
{
    int64_t last_s = at_s;
    int64_t previous_s = 0;
    bool is_there = true;

    for (int i = 0; i < 3; i++) {
        is_there = is_there && csc_cron_next(cron, last_s, &last_s);
        print_match(is_there, last_s);
    }
    is_there = csc_cron_previous(cron, at_s, &previous_s);
    print_match(is_there, previous_s);
    printf("\n");
}

int
main(int argc, char **argv)
{
    support_rng rng = {argc > 1 ? strtoull(argv[1], NULL, 10) : 1};
    int count = argc > 2 ? atoi(argv[2]) : 1000;

    for (int i = 0; i < count; i++) {
        bool seconds = support_rng_below(&rng, 3) > 0;
        bool years = support_rng_below(&rng, 3) == 0;
        int64_t at_s = (int64_t)support_rng_below(&rng, UINT64_C(7000000000));
        pattern_model p;
        csc_cron cron;

        pattern_random(&rng, seconds, years, &p);
        if (csc_cron_parse("pattern", p.text, CSC_CRON_OCPS, &cron) !=
            CASCADE_OK) {
            fprintf(stderr, "%s: %s\n", p.text, cascade_errmsg());
            return 1;
        }
        printf("%s|%" PRId64, p.text, at_s);
        print_matches(&cron, at_s);
    }
    return 0;
}
