/* SPDX-License-Identifier: MIT
 *
 * The integrity that the command line, a file of keys and the environment ask
 * for. A list of processes shows command lines: keys are in none.
 *
 *   mode   --integrity, else CASCADE_INTEGRITY, else hmac where there are keys,
 *          else none
 *   keys   those of the file --secrets, else those in CASCADE_SECRETS, or of
 *          the file @FILE that it names
 *
 * Keys are parted by blanks and line breaks, and each is ID:HEX. What stands
 * behind # is not read, up to the end of the line. The first one makes new
 * seals. No text of an error has anything of one.
 */
#ifndef CLI_KEYS_H
#define CLI_KEYS_H

#include "settings.h"

#include <cascade/integrity.h>

struct keys {
    cascade_integrity integrity; /* for cascade_store_options */
    cascade_secret secrets[CASCADE_SECRETS_MAX];
    size_t count;
    char *text; /* they lie in it */
    size_t len;
};

/* Reads them; `keys` stays where it is until keys_free(), which has to be
 * called in any case, and wipes them. Gives an exit code. */
int keys_read(const struct settings *settings, struct keys *keys);
void keys_free(struct keys *keys);

#endif
