/* SPDX-License-Identifier: MIT
 *
 * The files of time zones that this machine has: in the folder TZDIR of the
 * environment (not for a program that runs with more rights than its user),
 * else in /usr/share/zoneinfo.
 *
 * Who names a zone reads no other file by it: a name has parts of letters
 * between single '/', and no part is ".." (csc_zone_check_name()). Links are
 * followed: many zones are links to others, and whoever can write there is whom
 * zones are believed. Only regular files are read, to a bound, without waiting
 * for whatever else may stand there.
 */
#ifndef CSC_BASE_ZONEINFO_H
#define CSC_BASE_ZONEINFO_H

#include <stddef.h>

#include "cascade/cascade.h"

typedef struct csc_buf csc_buf;

/* Appends the bytes of `name`, which is a checked one. CASCADE_ERR_NOT_FOUND,
 * CASCADE_ERR_TOO_LARGE (over `max`), CASCADE_ERR_INVALID (no regular file),
 * CASCADE_ERR_SYSTEM, CASCADE_ERR_NO_MEMORY: the text names the folder. */
cascade_err csc_zoneinfo_read(const char *name, size_t max, csc_buf *out);

#endif
