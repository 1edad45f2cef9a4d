/* SPDX-License-Identifier: MIT
 *
 * What calls ask of the engines of their handle.
 */
#ifndef CSC_HELD_ROOM_ANSWERS_H
#define CSC_HELD_ROOM_ANSWERS_H

#include "store/store.h"

extern const csc_store_answers csc_answers;

#endif
