/* SPDX-License-Identifier: MIT
 *
 * A snapshot for programs.
 */
#ifndef CLI_SHOW_H
#define CLI_SHOW_H

#include "text/out.h"
#include "text/tree.h"
#include "text/words.h"

/* Prints all of it as one object. */
cascade_err show_json(struct out *out, const cascade_snapshot *snapshot,
                      struct words_with with);

#endif
