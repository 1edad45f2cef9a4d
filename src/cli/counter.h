/* SPDX-License-Identifier: MIT
 *
 * Files of counters outside (integrity.h), which `cascade verify` writes and
 * reads. A line for each cascade, by ascending id, between one that says what
 * the file is and one that says that it is whole:
 *
 *   cascade-counter 1
 *   ID NUMBER SEAL
 *   ...
 *   end COUNT
 *
 * They are written and read line by line, however many there are. One that is
 * there already is not written over: it may be the last that tells the truth.
 * Where writing fails, or the command dies, it has no last line, and is refused
 * as what it is.
 */
#ifndef CLI_COUNTER_H
#define CLI_COUNTER_H

#include "settings.h"

#include <cascade/integrity.h>

#include <stdio.h>

/* "ID NUMBER SEAL", the line break and the NUL. */
#define COUNTER_LINE_SIZE 384

struct counter {
    const char *out_path; /* NULL: nothing is written */
    const char *in_path;  /* NULL: nothing is read */
    FILE *out;
    FILE *in;
    int64_t written;
    int64_t lines;     /* that were read */
    cascade_uuid last; /* that was read */
    const char *wrong; /* what is wrong with the file that is read; or NULL */
    int error;         /* of writing; 0: none */
    char line[COUNTER_LINE_SIZE];
};

/* Opens what the settings name; counter_close() in any case. Gives an exit
 * code. */
int counter_open(const struct settings *settings, struct counter *counter);
/* Ends what was written, if `whole`, else takes it away. Gives an exit code,
 * with a line on standard error where reading or writing has failed. */
int counter_close(struct counter *counter, bool whole);

/* For cascade_check_options. */
bool counter_put(struct counter *counter, const cascade_seal_count *count);
cascade_err counter_next(struct counter *counter, cascade_seal_count *count);

#endif
