/* SPDX-License-Identifier: MIT
 *
 * What calls ask of the engines of their handle.
 */
#ifndef CSC_HELD_ROOM_ANSWERS_H
#define CSC_HELD_ROOM_ANSWERS_H

#include <stdbool.h>

#include "cascade/cascade.h"
#include "store/store.h"

/* What an engine answers, locked; false: another one is to be asked. */
typedef bool csc_question(cascade_engine *engine, const cascade_uuid *id,
                          void *context);

/* Asks the engines of the handle in turn: whether one of them says yes. Not
 * locked. */
bool csc_answers_ask(cascade_store *store, csc_question *answer_locked,
                     const cascade_uuid *id, void *context);

extern const csc_store_answers csc_answers;

#endif
