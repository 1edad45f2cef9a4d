/* SPDX-License-Identifier: MIT
 *
 * What users hand in, checked at the edge of the API: names, texts, structs of
 * options and arrays of structs. Each failure names the argument (`what`: "node
 * name", "queue"), the limit and what to do; it never echoes what was given.
 */
#ifndef CSC_BASE_CHECK_H
#define CSC_BASE_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cascade/cascade.h"

#define CSC_NAME_MAX 128
#define CSC_TEXT_MAX 255
#define CSC_RESERVED_PREFIX "cascade."
#define CSC_QUEUE_DEFAULT "default"
#define CSC_USER_DEFAULT "anonymous"
#define CSC_PRIORITY_MAX 9

/* The longest delay of a start or a spawn, and the longest sleep: 100 years. */
#define CSC_DELAY_MAX_MS (INT64_C(100) * 365 * 86400 * 1000)

/* Names of nodes, steps, sleeps and queues: 1-128 bytes of [A-Za-z0-9._:-], not
 * beginning with "cascade.". CASCADE_ERR_INVALID. */
cascade_err csc_check_name(const char *what, const char *name);

/* Names of nodes that other programs gave: 1-128 bytes of UTF-8 without control
 * characters, none of them reserved. CASCADE_ERR_INVALID. */
cascade_err csc_check_foreign_name(const char *what, const char *name);

/* Context keys, user ids and idempotency keys: 1-255 bytes of UTF-8 without
 * control characters (those of Unicode's category Cc). CASCADE_ERR_INVALID. */
cascade_err csc_check_text(const char *what, const char *text);

/* Copies options of a caller whose header may be older or newer than ours.
 * `given` begins with its size_t size; `copy` has `known_size` bytes, is zeroed
 * and gets the shorter of the two; its size member becomes `known_size`. NULL
 * for `given` means all defaults. CASCADE_ERR_INVALID when the size was never
 * set, or when a member that this library does not know is not zero. */
cascade_err csc_check_options(const char *what, const void *given, void *copy,
                              size_t known_size);

/* The same of element `at` of the caller's array `items`, whose elements all
 * have the size of the first. The elements are asked for in their order: a
 * later one is found by a size that was good before. */
cascade_err csc_check_item(const char *what, const void *items, size_t at,
                           void *copy, size_t known_size);
/* 0 to CSC_PRIORITY_MAX. */
bool csc_check_is_priority(int64_t priority);

/* The length of `text` (`len` bytes) without a UTF-8 sequence that a buffer cut
 * in two at its end. */
size_t csc_check_cut(const char *text, size_t len);

/* Of a start, a child or a spawn (without a deadline), as `what` says. */
cascade_err csc_check_start_limits(const char *what, int64_t delay_ms,
                                   int64_t deadline_ms);

#endif
