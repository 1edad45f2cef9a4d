/* SPDX-License-Identifier: MIT
 *
 * Rows of one cascade as a text that a fuzzer can change and a person can
 * write. A line is a word and its fields; what makes no sense is passed over.
 *
 *     cascade STATUS FN_ID             RUNNING, COMPLETED or ERROR
 *     exec FUNCTION_ID STATUS PATH NAME    @ in PATH: the cascade's id
 *     in JSON    out JSON    error TEXT    of the exec above
 *     event FUNCTION_ID KEY
 *     value JSON    ui JSON                of the event above
 *
 * The rows are as a store would hand them over: payloads through the gate,
 * executions in order and with a function_id each of their own, events with a
 * value, and keys in UTF-8.
 */
#ifndef TESTS_FUZZ_ROW_TEXT_H
#define TESTS_FUZZ_ROW_TEXT_H

#include "support/dump.h"

#define ROW_TEXT_MAX 64 /* executions, and events */

/* `rows` is all zero, or was used before. */
void row_text_read(const char *text, dump_rows *rows);

#endif
