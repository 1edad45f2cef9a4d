/* SPDX-License-Identifier: MIT */
#include "faults/disk.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "process/check.h"

#define ROOM_BYTES ((size_t)512 * 1024 * 1024) /* taken as it is used */
#define FILL_TRIES 1000

int
disk_prepare(void)
{
    if (unshare(CLONE_NEWNS) == 0 &&
        mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0)
        return 0;
    fprintf(stderr,
            "this test mounts a small tmpfs, which takes root (%s): run it so, "
            "or configure with -DCASCADE_TEST_MOUNTS=OFF\n",
            strerrorname_np(errno));
    return -1;
}

/* 0 when it worked: a disk cannot become smaller than what is on it. */
static int
resize(const test_disk *disk, size_t bytes)
{
    char options[64];

    snprintf(options, sizeof(options), "size=%zu", bytes);
    return mount("none", disk->folder, "tmpfs", MS_REMOUNT, options);
}

void
disk_create(test_disk *disk)
{
    char folder[] = "/tmp/cascade-disk.XXXXXX";
    char options[64];

    assert_non_null(mkdtemp(folder));
    snprintf(options, sizeof(options), "size=%zu,mode=1777", ROOM_BYTES);
    assert_int_equal(0, mount("none", folder, "tmpfs", 0, options));
    memcpy(disk->folder, folder, sizeof(folder));
}

void
disk_fill(test_disk *disk)
{
    for (int i = 0; i < FILL_TRIES; i++) {
        struct statvfs status;

        assert_int_equal(0, statvfs(disk->folder, &status));
        if (resize(disk,
                   (status.f_blocks - status.f_bfree) * status.f_frsize) == 0)
            return;
    }
    fail_msg("%s was never seen full", disk->folder);
}

void
disk_make_room(test_disk *disk)
{
    assert_int_equal(0, resize(disk, ROOM_BYTES));
}

void
disk_remove(test_disk *disk)
{
    if (disk->folder[0] == '\0')
        return;
    umount2(disk->folder, MNT_DETACH);
    rmdir(disk->folder);
    disk->folder[0] = '\0';
}
