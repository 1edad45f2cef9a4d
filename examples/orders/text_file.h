/* SPDX-License-Identifier: MIT
 *
 * Whole files as text, read line by line.
 */
#ifndef ORDERS_TEXT_FILE_H
#define ORDERS_TEXT_FILE_H

#include <stdbool.h>
#include <stddef.h>

struct text_file {
    char *data; /* with a NUL behind its last byte */
    size_t len;
    size_t at; /* where the next line begins */
};

/* Reads the file at `path`; false, and a word on stderr, when that fails. Free
 * with text_file_free(). */
bool text_file_read(const char *path, struct text_file *file);
void text_file_free(struct text_file *file);

/* Cuts off the next line and gives it, without its newline; NULL after the
 * last. What follows the last newline is a line as well. */
char *text_file_next(struct text_file *file);

#endif
