/* SPDX-License-Identifier: MIT
 *
 * Errors: what to try again, and what not.
 *
 *   errors [STORE-URL]        default: memory:
 */
#include <cascade/cascade.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Of such an error trying again may help, with the same key. */
static bool
may_pass(cascade_err err)
{
    return err == CASCADE_ERR_UNAVAILABLE || err == CASCADE_ERR_AGAIN ||
           err == CASCADE_ERR_OUTCOME_UNKNOWN;
}

/* Starts a cascade once, however often it has to ask: the key makes it safe. */
static cascade_err
start_surely(cascade_store *store, const char *key, cascade_started *started)
{
    cascade_err err = CASCADE_ERR_AGAIN;

    for (int tries = 0; may_pass(err) && tries < 10; tries++) {
        if (tries > 0)
            usleep(100000U << tries);
        err = cascade_start(store, "bill", NULL,
                            CASCADE_OPTIONS(cascade_start_options, .key = key),
                            started);
    }
    if (err != CASCADE_OK)
        fprintf(stderr, "%s: %s\n", cascade_err_name(err), cascade_errmsg());
    return err;
}

/* Another payload would be refused again: so this is no case for a repetition.
 * The text says what is wrong, and where. */
static bool
refuses_what_is_no_json(cascade_store *store)
{
    cascade_started started;
    cascade_err err =
        cascade_start_text(store, "bill", "{\"amount\": }", NULL, &started);

    printf("%s\n", cascade_errmsg());
    return err == CASCADE_ERR_JSON && cascade_errmsg()[0] != '\0';
}

int
main(int argc, char **argv)
{
    cascade_store *store = NULL;
    cascade_started first;
    cascade_started second;
    int failed = 1;

    if (cascade_store_open(argc > 1 ? argv[1] : "memory:", NULL, &store))
        fprintf(stderr, "errors: %s\n", cascade_errmsg());
    else
        failed = start_surely(store, "bill-7", &first) ||
                 start_surely(store, "bill-7", &second) || !second.existed ||
                 memcmp(&first.id, &second.id, sizeof(first.id)) != 0 ||
                 !refuses_what_is_no_json(store);
    cascade_store_close(store);
    return failed;
}
