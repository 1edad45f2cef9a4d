/* SPDX-License-Identifier: MIT
 *
 * Who a process is, where those of others are hidden from it: only root can do
 * that.
 */
#include <grp.h>
#include <sched.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/support.h"

#define NOBODY 65534

/* Sees only its own processes from here on; false without the rights to. */
static bool
hide_other_processes(void)
{
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("proc", "/proc", "proc", 0, "hidepid=2") == 0 &&
           setgroups(0, NULL) == 0 && setgid(NOBODY) == 0 &&
           setuid(NOBODY) == 0; /* group 0 would see all of them */
}

/* Otherwise it would take the processes of others for dead. */
static void
a_process_that_sees_only_its_own_has_another_host(void **state)
{
    char host[CSC_HOST_SIZE];
    pid_t child;

    (void)state;
    csc_clock_host(host);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char hidden[CSC_HOST_SIZE];
        size_t len = strlen(host);

        if (!hide_other_processes())
            _exit(2);
        csc_clock_host(hidden);
        _exit(strncmp(hidden, host, len) == 0 &&
                      strcmp(hidden + len, "/65534") == 0
                  ? 0
                  : 1);
    }
    assert_true(support_succeeded(child));
}

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_that_sees_only_its_own_has_another_host),
    };

    return cmocka_run_group_tests_name("clock hidden", tests, NULL, NULL);
}
