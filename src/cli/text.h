/* SPDX-License-Identifier: MIT
 *
 * Texts from the store on their way to a terminal.
 *
 * A stored text may hold anything: escape sequences that move the cursor, codes
 * that turn the direction of writing, bytes that are no UTF-8. None of them
 * gets out as it is; what stands in its place is visible and harmless.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes `text` for people: \n, \x1b, \u202e stand for what is not shown. */
void text_write(FILE *stream, const char *text);

/* The same of a text that is JSON, which stays JSON of the same meaning. */
void text_write_json(FILE *stream, const char *json);

/* A copy for people, which the caller frees; NULL when out of memory. */
char *text_escaped(const char *text);

/* How many columns of a terminal a text takes that was made for people. */
size_t text_width(const char *text);

/* A word from the command line for a message about it; in the place of an
 * address, which may hold a password, that it is one. */
const char *text_shown(const char *text);

#endif
