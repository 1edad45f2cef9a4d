/* SPDX-License-Identifier: MIT
 *
 * The progress line. Used by one thread of a process only.
 */
#include "progress.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TERMINAL_PERIOD_MS 100
#define PLAIN_PERIOD_MS 2000

static int64_t shown_ms;
static bool on_screen;

static int64_t
now_ms(void)
{
    struct timespec now = {0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void
progress_show(const struct status *status, size_t orders, const char *remark)
{
    bool terminal = isatty(STDOUT_FILENO) == 1;
    int64_t period_ms = terminal ? TERMINAL_PERIOD_MS : PLAIN_PERIOD_MS;
    int64_t time_ms = now_ms();

    if (shown_ms == 0 && !terminal)
        shown_ms = time_ms; /* the first line after a period, not at once */
    if (time_ms - shown_ms < period_ms)
        return;
    shown_ms = time_ms;
    printf("%s  %zu of %zu orders ended, %zu in flight%s%s%s",
           terminal ? "\r\033[K" : "", status->ended, orders, status->in_flight,
           remark == NULL ? "" : ", ", remark == NULL ? "" : remark,
           terminal ? "" : "\n");
    fflush(stdout);
    on_screen = terminal;
}

void
progress_end(void)
{
    if (on_screen)
        fputs("\r\033[K", stdout);
    fflush(stdout);
    on_screen = false;
}

char *
grouped(unsigned long long value, char text[GROUPED_SIZE])
{
    char digits[GROUPED_SIZE];
    size_t len = (size_t)snprintf(digits, sizeof(digits), "%llu", value);
    size_t at = 0;
    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            text[at++] = ',';
        text[at++] = digits[i];
    }
    text[at] = '\0';
    return text;
}
