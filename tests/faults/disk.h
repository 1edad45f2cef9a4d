/* SPDX-License-Identifier: MIT
 *
 * A small disk: a tmpfs whose size is changed under those who use it. Full
 * means: as large as what is on it. It is mounted in a mount namespace of this
 * process and its children, and is gone with the last of them, however they
 * end.
 *
 * Mounting takes root (CAP_SYS_ADMIN). Where that is missing the test fails;
 * CASCADE_TEST_MOUNTS=OFF tells CMake to leave such tests out.
 */
#ifndef TESTS_FAULTS_DISK_H
#define TESTS_FAULTS_DISK_H

#include <stddef.h>

typedef struct test_disk {
    char folder[64]; /* "": none */
} test_disk;

/* For main(), before there are threads: 0, or -1 with a line on stderr. */
int disk_prepare(void);

/* Each fails the test when it cannot. */
void disk_create(test_disk *disk);
void disk_fill(test_disk *disk);
void disk_make_room(test_disk *disk);
/* Nobody uses it any more, or it goes with who does. */
void disk_remove(test_disk *disk);

#endif
