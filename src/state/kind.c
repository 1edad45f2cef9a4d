/* SPDX-License-Identifier: MIT
 *
 * Kinds of executions, by the reserved beginnings of their names and paths.
 */
#include "state/kind.h"

#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "cascade/cascade.h"
#include "state/state.h"

const char *
csc_kind_skip_id(const char *path, cascade_uuid *id)
{
    char text[CASCADE_UUID_TEXT_SIZE];

    if (strlen(path) < sizeof(text) || path[sizeof(text) - 1] != '/')
        return NULL;
    memcpy(text, path, sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    if (cascade_uuid_parse(text, id) != CASCADE_OK)
        return NULL;
    return path + sizeof(text) - 1;
}

static const char *const prefixes[] = {[CSC_PART_NONE] = "",
                                       [CSC_PART_STEP] = CSC_STEP_PREFIX,
                                       [CSC_PART_SLEEP] = CSC_SLEEP_PREFIX,
                                       [CSC_PART_AWAIT] = CSC_AWAIT_PREFIX,
                                       [CSC_PART_CHILD] = CSC_CHILD_PREFIX,
                                       [CSC_PART_GATHER] = CSC_GATHER_PREFIX,
                                       [CSC_PART_CANCEL] = CSC_CANCEL_NAME,
                                       [CSC_PART_VERSION] = CSC_VERSION_PREFIX,
                                       [CSC_PART_SAGA] = CSC_SAGA_PREFIX,
                                       [CSC_PART_UNDO] = CSC_UNDO_PREFIX};

const char *
csc_kind_prefix(csc_part_kind kind)
{
    csc_assert((size_t)kind < sizeof(prefixes) / sizeof(prefixes[0]));
    return prefixes[kind];
}

csc_part_kind
csc_kind_of(const char *full_name)
{
    size_t count = sizeof(prefixes) / sizeof(prefixes[0]);

    if (strncmp(full_name, CSC_RESERVED_PREFIX, strlen(CSC_RESERVED_PREFIX)) !=
        0)
        return CSC_PART_NONE;
    for (size_t kind = CSC_PART_NONE + 1; kind < count; kind++)
        if (strncmp(full_name, prefixes[kind], strlen(prefixes[kind])) == 0)
            return (csc_part_kind)kind;
    return CSC_PART_NONE;
}

/* Reads a decimal number from *at on; false when there is none that fits. */
static bool
read_number(const char **at, int64_t max, int64_t *number)
{
    const char *digit = *at;
    int64_t value = 0;

    csc_assert(max > 0);
    for (; *digit >= '0' && *digit <= '9' && value <= max; digit++)
        value = 10 * value + (*digit - '0');
    if (digit == *at)
        return false;
    *number = value;
    *at = digit;
    return value <= max;
}

bool
csc_kind_path(const char *node_instance_id, const cascade_uuid *cascade,
              int32_t *parent, uint32_t *occurrence)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    const char *at = node_instance_id;
    const char *hash = strrchr(node_instance_id, '#');
    int64_t up = CSC_NO_PARENT;
    int64_t nth = 0;

    cascade_uuid_format(cascade, id);
    if (hash == NULL || strncmp(at, id, sizeof(id) - 1) != 0)
        return false;
    at += sizeof(id) - 1;
    if (*at++ != '/')
        return false;
    if (*at == '-')
        at++;
    else if (!read_number(&at, INT32_MAX, &up))
        return false;
    hash++;
    if (*at != '/' || !read_number(&hash, INT32_MAX, &nth) || *hash != '\0')
        return false;
    *parent = (int32_t)up;
    *occurrence = (uint32_t)nth;
    return true;
}
