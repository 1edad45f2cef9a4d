/* SPDX-License-Identifier: MIT
 *
 * By number, from 1 on: see status.h.
 */
#include "base/status.h"

#include <string.h>

#include "cascade/cascade.h"

#define WORDS 4

static const char *const of_cascades[WORDS] = {[CASCADE_RUNNING] = "RUNNING",
                                               [CASCADE_COMPLETED] =
                                                   "COMPLETED",
                                               [CASCADE_ERROR] = "ERROR"};
static const char *const of_executions[WORDS] = {
    [CASCADE_EXECUTION_RUNNING] = "RUNNING",
    [CASCADE_EXECUTION_COMPLETED] = "COMPLETED",
    [CASCADE_EXECUTION_FAILED] = "FAILED"};

static int
find(const char *const words[WORDS], const char *word, size_t len)
{
    for (int i = 1; i < WORDS; i++)
        if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0)
            return i;
    return 0;
}

const char *
csc_status_word(cascade_status status)
{
    return (unsigned)status < WORDS ? of_cascades[status] : NULL;
}

const char *
csc_status_execution_word(cascade_execution_status status)
{
    return (unsigned)status < WORDS ? of_executions[status] : NULL;
}

int
csc_status_read(const char *word, size_t len)
{
    return find(of_cascades, word, len);
}

int
csc_status_read_execution(const char *word, size_t len)
{
    return find(of_executions, word, len);
}
