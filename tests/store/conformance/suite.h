/* SPDX-License-Identifier: MIT
 *
 * The conformance suite, for stores: what every one must do, a test for each
 * promise of cascade/store.h. A test program is a table and a main:
 *
 *     #include <cascade/conformance.h>
 *
 *     static const conformance_backend backend = {
 *         .name = "mine", .virtual_time = true, .create = create,
 *         .open = open_store, .destroy = destroy};
 *
 *     int main(int argc, char **argv)
 *     {
 *         return conformance_run(&backend, argc, argv);
 *     }
 *
 * with CMake, where libcascade was installed with the suite (component
 * "conformance", -DCASCADE_CONFORMANCE=ON), and libcmocka is there:
 *
 *     find_package(cascade REQUIRED)
 *     target_link_libraries(program PRIVATE cascade::conformance)
 *
 * What sub-tables promise is not asked of a store that does not have them:
 * these tests are told as skipped. CASCADE_TEST_SEED replays the random ones.
 */
#ifndef CASCADE_CONFORMANCE_H
#define CASCADE_CONFORMANCE_H

#include <cascade/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Where an empty database is. */
typedef struct conformance_place {
    char url[1024];
    char schema[64]; /* "": the default */
    void *own;       /* the backend's */
} conformance_place;

typedef struct conformance_backend {
    const char *name;
    /* True: leases and due times follow the clock of the options. False: the
     * store's own clock, which nobody can move. */
    bool virtual_time;
    /* True: other processes can open it too, and it has a schema, which
     * cascade_migration_list() gives. */
    bool on_disk;
    bool native;  /* it has transactions of nodes */
    bool single;  /* one connection: nothing goes on beside those, and there is
                    no guard around them */
    bool pooler;  /* opened with that option: wakes are not heard */
    bool hostile; /* SQL that is not the store's own means something else, so no
                     function of a transaction can say any */
    /* Makes an empty database and writes `place`. 0, or -1 with a line on
     * stderr. */
    int (*create)(conformance_place *place);
    /* The same, or one without rows that is migrated already, for the cases
     * that need no other; NULL: create. */
    int (*take)(conformance_place *place);
    /* Opens a handle; NULL: cascade_store_open() with the URL. */
    cascade_err (*open)(conformance_place *place,
                        const cascade_store_options *options,
                        cascade_store **store);
    /* All handles are closed. */
    void (*destroy)(conformance_place *place);
} conformance_backend;

/* Runs all tests, or those that the first argument names ("*fence*"), and tells
 * of each on stdout: 0 when none fails. */
int conformance_run(const conformance_backend *backend, int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
