/* SPDX-License-Identifier: MIT
 *
 * The rules of csc_migrate_plan(), in the order in which they are checked:
 *
 *   applied            known             answer
 *   1 2 3              1 2               newer: this library must not write
 *   1   3              1 2 3             a gap: somebody deleted a row
 *   1 2 (other text)   1 2               changed: we cannot know what is there
 *   1                  1 2               AUTO applies 2, CHECK is an error
 *   1 2                1 2               current
 *
 * "Newer" comes first: an older library cannot judge what a newer one wrote.
 */
#include "store/migrate.h"

#include <inttypes.h>
#include <string.h>

#include "base/digest/sha256.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/migrations.h"

char *
csc_migrate_checksum(const csc_migration *migration,
                     char text[CSC_MIGRATE_CHECKSUM_SIZE])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char digest[CSC_SHA256_SIZE];
    csc_sha256 hash;

    csc_sha256_init(&hash);
    csc_sha256_add(&hash, migration->sql, strlen(migration->sql));
    csc_sha256_end(&hash, digest);
    for (size_t i = 0; i < sizeof(digest); i++) {
        text[2 * i] = digits[digest[i] >> 4];
        text[2 * i + 1] = digits[digest[i] & 15];
    }
    text[2 * sizeof(digest)] = '\0';
    return text;
}

static cascade_err
check_newer(size_t known_count, const csc_applied *applied,
            size_t applied_count)
{
    if (applied_count == 0 ||
        applied[applied_count - 1].number <= (int64_t)known_count)
        return CASCADE_OK;
    return cascade_store_fail(CASCADE_ERR_SCHEMA,
                              "the database has migration %" PRId64
                              " and this library only "
                              "knows %zu: use a newer libcascade",
                              applied[applied_count - 1].number, known_count);
}

static cascade_err
check_same(const csc_migration *known, const csc_applied *applied)
{
    char checksum[CSC_MIGRATE_CHECKSUM_SIZE];

    if (applied->number != known->number)
        return cascade_store_fail(
            CASCADE_ERR_SCHEMA,
            "migration %d (%s) is not recorded in cascade_schema, but a "
            "later one is",
            known->number, known->name);
    if (applied->name == NULL || strcmp(applied->name, known->name) != 0)
        return cascade_store_fail(
            CASCADE_ERR_SCHEMA,
            "migration %d is recorded in cascade_schema under another name "
            "than %s",
            known->number, known->name);
    if (applied->checksum != NULL &&
        strcmp(applied->checksum, csc_migrate_checksum(known, checksum)) != 0)
        return cascade_store_fail(
            CASCADE_ERR_SCHEMA,
            "migration %d (%s) was applied with another text than this "
            "library's: its checksum in cascade_schema differs",
            known->number, known->name);
    return CASCADE_OK;
}

cascade_err
csc_migrate_plan(const csc_migration *known, size_t known_count,
                 const csc_applied *applied, size_t applied_count,
                 cascade_migrate mode, size_t *from)
{
    cascade_err err = check_newer(known_count, applied, applied_count);

    for (size_t i = 0; i < applied_count && err == CASCADE_OK; i++) {
        if (i >= known_count)
            return cascade_store_fail(CASCADE_ERR_SCHEMA,
                                      "cascade_schema holds more rows than "
                                      "there are migrations");
        err = check_same(&known[i], &applied[i]);
    }
    if (err != CASCADE_OK)
        return err;
    if (applied_count < known_count && mode != CASCADE_MIGRATE_AUTO)
        return cascade_store_fail(
            CASCADE_ERR_SCHEMA,
            "the schema is not current: migration %d (%s) is not applied; "
            "open with CASCADE_MIGRATE_AUTO or apply the file by hand",
            known[applied_count].number, known[applied_count].name);
    *from = applied_count;
    return CASCADE_OK;
}
