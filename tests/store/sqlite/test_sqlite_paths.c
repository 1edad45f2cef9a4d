/* SPDX-License-Identifier: MIT
 *
 * What may lie at PATH and beside it, and who may read it: links, FIFOs and
 * sockets under the names of the database's files harm nobody, and a database
 * can be made for its owner alone.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "store/sqlite/sqlite_fixture.h"

#define VICTIM "a file that somebody else needs\n"

/* All that lies beside a database. */
static const char *const suffixes[] = {"-lock", "-wal", "-shm", "-journal"};
#define SUFFIX_COUNT (sizeof(suffixes) / sizeof(suffixes[0]))

static void
assert_says(const char *word)
{
    if (strstr(cascade_errmsg(), word) == NULL)
        fail_msg("\"%s\" is not in \"%s\"", word, cascade_errmsg());
}

static void
write_victim(const char *path)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fputs(VICTIM, file) >= 0, 1);
    assert_int_equal(fclose(file), 0);
}

static void
assert_victim_is_whole(const char *path)
{
    char text[100] = "";
    FILE *file = fopen(path, "r");

    assert_non_null(file);
    assert_int_equal(fread(text, 1, sizeof(text) - 1, file), strlen(VICTIM));
    assert_int_equal(fclose(file), 0);
    assert_string_equal(text, VICTIM);
}

/* Puts something other than a file of its own at `path`. */
typedef void (*placer)(const char *path, const char *victim);

static void
place_symbolic_link(const char *path, const char *victim)
{
    assert_int_equal(symlink(victim, path), 0);
}

static void
place_hard_link(const char *path, const char *victim)
{
    assert_int_equal(link(victim, path), 0);
}

static void
place_dangling_link(const char *path, const char *victim)
{
    (void)victim;
    assert_int_equal(symlink("not-there", path), 0);
}

static void
place_fifo(const char *path, const char *victim)
{
    (void)victim;
    assert_int_equal(mkfifo(path, 0600), 0);
}

static void
place_folder(const char *path, const char *victim)
{
    (void)victim;
    assert_int_equal(mkdir(path, 0700), 0);
}

static void
place_socket(const char *path, const char *victim)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    (void)victim;
    assert_true(fd >= 0);
    assert_true(strlen(path) < sizeof(address.sun_path));
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(
        bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(close(fd), 0);
}

static const placer placers[] = {place_symbolic_link, place_hard_link,
                                 place_dangling_link, place_fifo,
                                 place_folder,        place_socket};
#define PLACER_COUNT (sizeof(placers) / sizeof(placers[0]))

static void
check_refused(sqlite_fixture *it, const char *suffix, placer place)
{
    char path[300];
    char victim[300];
    char name[40];

    snprintf(path, sizeof(path), "%s%s", it->path, suffix);
    snprintf(victim, sizeof(victim), "%s/victim", it->folder);
    snprintf(name, sizeof(name), "cascade.db%s", suffix);
    write_victim(victim);
    place(path, victim);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_INVALID);
    assert_says(name);
    assert_says("move it away");
    assert_victim_is_whole(victim);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(victim), 0);
}

/* Under the names beside a database, whatever is there already. */
static void
what_is_no_file_of_its_own_is_left_alone(void **state)
{
    sqlite_fixture *it = *state;

    for (int made = 0; made < 2; made++) {
        for (size_t i = 0; i < SUFFIX_COUNT; i++) {
            char path[300];

            snprintf(path, sizeof(path), "%s%s", it->path, suffixes[i]);
            (void)remove(path);
            for (size_t k = 0; k < PLACER_COUNT; k++)
                check_refused(it, suffixes[i], placers[k]);
        }
        assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    }
}

/* A lock file holds eight bytes at most: what is longer is somebody's data. */
static void
a_lock_file_with_data_in_it_is_left_alone(void **state)
{
    sqlite_fixture *it = *state;
    char path[300];

    snprintf(path, sizeof(path), "%s-lock", it->path);
    write_victim(path);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_INVALID);
    assert_says("cascade.db-lock");
    assert_victim_is_whole(path);
    assert_int_equal(truncate(path, 8), 0);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
}

/* An open without a right to write looks as closely. */
static int
open_read_only(sqlite_fixture *it)
{
    if (geteuid() == 0 && setuid(65534) != 0)
        return 1;
    if (fixture_try(it, CASCADE_MIGRATE_AUTO) != CASCADE_ERR_INVALID)
        return 2;
    return strstr(cascade_errmsg(), "cascade.db-lock") != NULL ? 0 : 3;
}

static void
a_reader_hangs_on_no_fifo(void **state)
{
    sqlite_fixture *it = *state;
    char path[300];

    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    snprintf(path, sizeof(path), "%s-lock", it->path);
    assert_int_equal(remove(path), 0);
    assert_int_equal(mkfifo(path, 0644), 0);
    assert_int_equal(chmod(it->path, 0444), 0);
    assert_int_equal(chmod(it->folder, 0777), 0);
    fixture_fork(it, open_read_only);
}

static void
the_path_itself_is_a_file_or_leads_to_one(void **state)
{
    sqlite_fixture *it = *state;
    static const placer bad[] = {place_fifo, place_folder, place_socket};
    char real[300];
    char beside[320];

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        bad[i](it->path, NULL);
        assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                         CASCADE_ERR_INVALID);
        assert_says("not a regular file");
        assert_int_equal(remove(it->path), 0);
    }
    snprintf(real, sizeof(real), "%s/real.db", it->folder);
    snprintf(beside, sizeof(beside), "%s-lock", real);
    write_victim(real);
    assert_int_equal(truncate(real, 0), 0);
    assert_int_equal(symlink("real.db", it->path), 0);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO), CASCADE_OK);
    assert_int_equal(access(beside, F_OK), 0);
    snprintf(beside, sizeof(beside), "%s-lock", it->path);
    assert_int_equal(access(beside, F_OK), -1);
    snprintf(beside, sizeof(beside), "%s-lock", real); /* seen beside that */
    assert_int_equal(remove(beside), 0);
    assert_int_equal(symlink("victim", beside), 0);
    assert_int_equal(fixture_try(it, CASCADE_MIGRATE_AUTO),
                     CASCADE_ERR_INVALID);
    assert_says("real.db-lock");
}

/* ---- Who may read it ----------------------------------------------------- */

static mode_t
get_mode(const sqlite_fixture *it, const char *suffix)
{
    struct stat info;
    char path[300];

    snprintf(path, sizeof(path), "%s%s", it->path, suffix);
    if (stat(path, &info) != 0)
        fail_msg("%s is not there", path);
    return info.st_mode & 0777;
}

static cascade_err
open_with(sqlite_fixture *it, bool private_files, cascade_store **store)
{
    cascade_store_options options = {.size = sizeof(options),
                                     .deadline_ms = it->deadline_ms,
                                     .private_files = private_files};

    return cascade_store_open(it->url, &options, store);
}

static void
check_modes(sqlite_fixture *it, bool private_files, mode_t expected)
{
    cascade_store *store = NULL;

    assert_int_equal(open_with(it, private_files, &store), CASCADE_OK);
    assert_int_equal(get_mode(it, ""), expected);
    assert_int_equal(get_mode(it, "-lock"), expected);
    assert_int_equal(get_mode(it, "-wal"), expected);
    assert_int_equal(get_mode(it, "-shm"), expected);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

static void
a_new_database_may_be_for_its_owner_alone(void **state)
{
    sqlite_fixture *it = *state;
    mode_t before = umask(0022);
    char path[300];

    check_modes(it, true, 0600);
    check_modes(it, false, 0600);
    snprintf(path, sizeof(path), "%s-lock", it->path);
    assert_int_equal(remove(it->path), 0);
    assert_int_equal(remove(path), 0);
    check_modes(it, false, 0644); /* as the umask says */
    check_modes(it, true, 0644);  /* one that is there is left as it is */
    (void)umask(before);
}

/* SQLite would make the file by the umask, so nothing is made. */
static void
no_private_database_is_made_behind_a_link(void **state)
{
    sqlite_fixture *it = *state;
    cascade_store *store = NULL;
    char path[300];

    assert_int_equal(symlink("real.db", it->path), 0);
    assert_int_equal(open_with(it, true, &store), CASCADE_ERR_INVALID);
    assert_says("symbolic link");
    snprintf(path, sizeof(path), "%s/real.db", it->folder);
    assert_int_equal(access(path, F_OK), -1);
    write_victim(path);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(open_with(it, true, &store), CASCADE_OK);
    assert_int_equal(cascade_store_close(store), CASCADE_OK);
}

int
main(int argc, char **argv)
{
#define ONE(name) \
    cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
    static const struct CMUnitTest tests[] = {
        ONE(what_is_no_file_of_its_own_is_left_alone),
        ONE(a_lock_file_with_data_in_it_is_left_alone),
        ONE(a_reader_hangs_on_no_fifo),
        ONE(the_path_itself_is_a_file_or_leads_to_one),
        ONE(a_new_database_may_be_for_its_owner_alone),
        ONE(no_private_database_is_made_behind_a_link),
    };

    if (argc > 1)
        cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests_name("sqlite paths", tests, NULL, NULL);
}
