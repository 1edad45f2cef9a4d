/* SPDX-License-Identifier: MIT
 *
 * Fuzz targets: functions that take any bytes and abort where the library does
 * what it must not. Each is linked twice:
 *
 *   fuzz_NAME   with libFuzzer (CASCADE_FUZZ), which looks for such bytes: see
 *               run.sh
 *   test_fuzz_NAME   with replay.c, a test of ctest that gives it the corpus in
 *               corpus/NAME: what was found once stays found
 *
 *   json      the JSON gate: what users hand in, what stores give back
 *   rows      hydration of rows that others wrote, and going on from there
 *   snapshot  the same rows as the looking side shows them
 *   columns   decoding what a database gives back
 *   texts     ids, times, names, paths and store URLs
 *   document  reading the documents that import takes
 *   zone      time zone files
 *   cron      cron patterns; times, lengths of time and calendars
 *   spec      specs of schedules
 *
 * A finding is mended in the library and its input added to the corpus.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* The target: always returns 0. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Tells what is wrong and aborts unless `holds`. */
#define fuzz_check(holds) fuzz_judge((holds), #holds, __FILE__, __LINE__)
void fuzz_judge(int holds, const char *text, const char *file, int line);

/* The bytes with a NUL behind them, to be freed. */
char *fuzz_text(const uint8_t *bytes, size_t len);

/* Whether the JSON gate gives this very text back; NULL is none. */
int fuzz_is_canonical(const char *text);

#endif
