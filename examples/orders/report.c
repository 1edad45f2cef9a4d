/* SPDX-License-Identifier: MIT
 *
 * Prints what the proof found. Every figure in the table is read from the
 * tables, the log or the records, but for the three columns on the restart:
 * these are what the supervisor heard from the worker.
 */
#include "report.h"

#include <stdio.h>

#include "progress.h"

/* The three columns on the restart. */
static void
print_restart(const struct kill_report *kill)
{
    if (kill == NULL || !kill->after.back)
        printf("%11s%10s%11s", "-", "-", "-");
    else
        printf("%8lld ms%10zu%8lld ms", (long long)kill->after.back_ms,
               kill->after.hydrated, (long long)kill->after.hydrate_ms);
}

static void
print_kills(const struct proof *proof, const struct kill_report *kills)
{
    bool all_back = true;
    puts("\n"
         "                  orders  executions    all back    orders  hydration"
         "   effects\n"
         "  kill   after in flight    recorded   in memory  hydrated       took"
         "  repeated");
    for (size_t k = 0; k < proof->kill_count; k++) {
        const struct kill_report *kill = kills == NULL ? NULL : &kills[k];
        char after[GROUPED_SIZE] = "-";
        char ended[GROUPED_SIZE];
        if (kill != NULL)
            snprintf(after, sizeof(after), "%.1f s",
                     (double)kill->at_ms / 1000);
        printf("%6zu%8s%10zu%12s ", k + 1, after, proof->kills[k].in_flight,
               grouped(proof->kills[k].ended, ended));
        print_restart(kill);
        printf("%10zu\n", proof->kills[k].repeated);
        all_back = all_back && (kill == NULL || kill->after.back);
    }
    if (!all_back)
        puts("  -: killed again before all were back in memory");
}

static void
print_sums(const struct proof *proof)
{
    char executions[GROUPED_SIZE];
    char lines[GROUPED_SIZE];
    printf("\n  %zu orders, %zu cascades, %zu completed\n", proof->orders,
           proof->cascades, proof->completed);
    printf("  %s executions in the tables, nodes and steps\n",
           grouped(proof->executions, executions));
    printf("  %s effects in the outside world: %zu of them repeated, "
           "%zu payments declined\n",
           grouped(proof->lines, lines), proof->repeated, proof->declined);
    if (proof->torn > 0)
        printf("  %zu effects cut short as they were logged\n", proof->torn);
}

/* Prints the verdict; what follows it on a line of its own is the evidence. */
static bool
verdict(bool good, const char *claim)
{
    printf("  %s  %s\n          ", good ? "[ ok ]" : "[FAIL]", claim);
    return good;
}

/* Ends the evidence. */
static void
print_contradictions(size_t count)
{
    if (count > 0)
        printf("; %zu contradictions", count);
    putchar('\n');
}

static bool
judge_lost(const struct proof *proof)
{
    char happened[GROUPED_SIZE];
    char expected[GROUPED_SIZE];
    bool good = verdict(proof->lost == 0, "nothing was lost");
    printf("%zu of %zu orders completed, %s of %s actions happened",
           proof->completed, proof->orders, grouped(proof->happened, happened),
           grouped(proof->expected, expected));
    print_contradictions(proof->lost);
    return good;
}

static bool
judge_again(const struct proof *proof)
{
    char recorded[GROUPED_SIZE] = "0";
    bool good = verdict(proof->again == 0,
                        "nothing recorded before a kill ran again after it");
    if (proof->kill_count > 0)
        grouped(proof->kills[proof->kill_count - 1].ended, recorded);
    printf("%zu of the %s executions recorded before the last kill\n",
           proof->again, recorded);
    return good;
}

static bool
judge_repeated(const struct proof *proof)
{
    bool good = verdict(proof->unexplained == 0,
                        "an effect happened again only where a kill had cut "
                        "it off");
    printf("%zu effects, %zu of them without a kill\n", proof->repeated,
           proof->unexplained);
    return good;
}

static bool
judge_totals(const struct proof *proof)
{
    char ordered[GROUPED_SIZE];
    char charged[GROUPED_SIZE];
    unsigned long long ordered_cents = (unsigned long long)proof->ordered_cents;
    unsigned long long charged_cents = (unsigned long long)proof->charged_cents;
    bool good = verdict(proof->totals == 0, "goods and money add up in every "
                                            "order, each request counted once");
    printf("%s.%02llu ordered, %s.%02llu charged",
           grouped(ordered_cents / 100, ordered), ordered_cents % 100,
           grouped(charged_cents / 100, charged), charged_cents % 100);
    print_contradictions(proof->totals);
    return good;
}

static bool
judge_in_flight(const struct settings *settings, const struct proof *proof)
{
    size_t fewest = proof->kills[0].in_flight;
    char claim[64];
    for (size_t k = 1; k < proof->kill_count; k++)
        if (proof->kills[k].in_flight < fewest)
            fewest = proof->kills[k].in_flight;
    snprintf(claim, sizeof(claim), "at least %u orders in flight at each kill",
             (unsigned)settings->in_flight_min);
    bool good = verdict(fewest >= settings->in_flight_min, claim);
    printf("the fewest were %zu\n", fewest);
    return good;
}

bool
report_print(const struct settings *settings, const struct proof *proof,
             const struct kill_report *kills)
{
    bool good = true;
    if (proof->kill_count > 0)
        print_kills(proof, kills);
    print_sums(proof);
    printf("\n  The proof, from the three tables and the log of effects:\n");
    good = judge_lost(proof) && good;
    good = judge_again(proof) && good;
    good = judge_repeated(proof) && good;
    good = judge_totals(proof) && good;
    if (proof->kill_count > 0)
        good = judge_in_flight(settings, proof) && good;
    printf("\n  %s\n", good ? "All of it holds." : "IT DOES NOT HOLD.");
    fflush(stdout);
    return good;
}
