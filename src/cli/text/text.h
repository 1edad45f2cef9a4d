/* SPDX-License-Identifier: MIT
 *
 * Texts from the store on their way to a terminal.
 *
 * A stored text may hold anything: escape sequences that move the cursor, codes
 * that turn the direction of writing, characters that show nothing, bytes that
 * are no UTF-8. None of them gets out as it is; what stands in its place is
 * visible and harmless. It begins with a backslash, and a backslash is written
 * as two: what is printed can be read back, so two texts that differ differ on
 * the terminal too. That letters of two scripts, or a letter and its parts,
 * resemble each other is left as it is.
 */
#ifndef CLI_TEXT_H
#define CLI_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Writes `text` for people: \n, \x1b, \u202e, \U000e0041 stand for what is not
 * shown. */
void text_write(FILE *stream, const char *text);

/* The same of a text that is JSON, which stays JSON of the same meaning. */
void text_write_json(FILE *stream, const char *json);

/* A copy for people, which the caller frees; NULL when out of memory. */
char *text_escaped(const char *text);

/* The same of JSON, which stays JSON: a payload on its way to people. */
char *text_escaped_json(const char *json);

/* How many columns of a terminal a text takes that was made for people. */
size_t text_width(const char *text);

/* A word from the command line for a message about it; in the place of what may
 * be an address, also one with a mistake in it, and so hold a password, that it
 * is one. */
const char *text_shown(const char *text);

#endif
