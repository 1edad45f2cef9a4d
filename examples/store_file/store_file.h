/* SPDX-License-Identifier: MIT
 *
 * A store of one's own: all rows in one file, "file:PATH". See store_file.c.
 */
#ifndef STORE_FILE_H
#define STORE_FILE_H

#include <cascade/store.h>

extern const cascade_store_driver store_file;

#endif
