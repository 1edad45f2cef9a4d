/* SPDX-License-Identifier: MIT
 *
 * Messages and keys.
 */
#include "base/error.h"
#include "store/postgres_internal.h"

cascade_err
csc_postgres_messages_receive(void *self, const cascade_uuid *engine_id,
                              size_t limit, cascade_message_sink sink,
                              void *context)
{
    (void)self;
    (void)engine_id;
    (void)limit;
    (void)sink;
    (void)context;
    return CASCADE_OK;
}

cascade_err
csc_postgres_messages_key(void *self, const char *user_id, const char *key,
                          int32_t *run_number)
{
    (void)self;
    (void)user_id;
    (void)key;
    *run_number = 1;
    return CASCADE_OK;
}
