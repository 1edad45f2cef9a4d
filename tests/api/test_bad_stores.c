/* SPDX-License-Identifier: MIT
 *
 * Stores that cannot be used: malformed URLs, servers that are not there,
 * schemas that are not ours, files and disks that cannot be written. Each is a
 * clear error, in which no secret of the URL comes back, nor in the log; and
 * what was accepted before a disk filled up is not lost.
 *
 * A read-only file means nothing to root, and a full disk needs a mount: both
 * are tried in a child process, as another user and in a mount namespace of its
 * own.
 */
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/stores.h"

#ifdef CASCADE_HAVE_SQLITE
#include <sqlite3.h>
#endif
#ifdef CASCADE_HAVE_POSTGRES
#include <libpq-fe.h>
#endif

#define SECRET "pa55word-of-mine"
#define NOBODY 65534
#define LONG_MS 60000 /* a slow machine has opened a store by then */
#define BRIEF_MS 500  /* how long a full disk is tried */
#define TRIES 200     /* of a call that has no longer than that */

/* ---- Opening ------------------------------------------------------------- */

static void
note_secret(void *context, cascade_log_level level, const char *line)
{
    int *seen = context;

    (void)level;
    if (strstr(line, SECRET) != NULL)
        (*seen)++;
}

/* Opens and closes; the store must fail with `wanted`, without the secret. */
static cascade_err
open_store(const char *url, const cascade_store_options *given)
{
    int secrets = 0;
    cascade_store *const untouched = (cascade_store *)(uintptr_t)&secrets;
    cascade_store_options options = {.size = sizeof(options)};
    cascade_store *store = untouched;
    cascade_err err = CASCADE_OK;

    if (given != NULL)
        options = *given;
    options.log = note_secret;
    options.log_context = &secrets;
    options.log_level = CASCADE_LOG_DEBUG;
    if (options.deadline_ms == 0)
        options.deadline_ms = LONG_MS;
    err = cascade_store_open(url, &options, &store);
    if (err == CASCADE_OK) {
        assert_int_equal(CASCADE_OK, cascade_store_close(store));
    } else {
        assert_ptr_equal(untouched, store);
        assert_string_not_equal("", cascade_errmsg());
        assert_null(strstr(cascade_errmsg(), SECRET));
    }
    assert_int_equal(0, secrets);
    return err;
}

static void
expect_open(const char *url, cascade_err wanted)
{
    cascade_err err = open_store(url, NULL);

    if (err != wanted)
        fail_msg("\"%s\" is %s: %s", url, cascade_err_name(err),
                 cascade_errmsg());
}

static void
malformed_urls(void **state)
{
    static const char *const bad[] = {
        "",         SECRET,     "memory",
        "sqlite:",  "sqlite",   "mysql://" SECRET "@x/y",
        "memory :", "/" SECRET, "http://" SECRET,
        ":",        " memory:", "sqlite3:/tmp/" SECRET,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        expect_open(bad[i], CASCADE_ERR_INVALID);
}

static void
options_out_of_range(void **state)
{
    const cascade_store_options bad[] = {
        {.size = sizeof(bad[0]), .migrate = 3},
        {.size = sizeof(bad[0]), .migrate = (cascade_migrate)-1},
        {.size = sizeof(bad[0]), .durability = 2},
        {.size = sizeof(bad[0]), .deadline_ms = -1},
        {.size = sizeof(bad[0]), .payload_max = 64 * 1024 * 1024 + 1},
        {.size = sizeof(bad[0]), .schema = ""},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (open_store("memory:", &bad[i]) != CASCADE_ERR_INVALID)
            fail_msg("options %zu are accepted", i);
}

/* ---- PostgreSQL ---------------------------------------------------------- */

#ifdef CASCADE_HAVE_POSTGRES
static void
unreachable_servers(void **state)
{
    (void)state;
    expect_open("host=/nonexistent user=u password=" SECRET " dbname=d",
                CASCADE_ERR_UNAVAILABLE);
    expect_open("postgresql://u:" SECRET "@127.0.0.1:1/d",
                CASCADE_ERR_UNAVAILABLE);
    expect_open("postgres://u:" SECRET "@127.0.0.1:1/d?connect_timeout=2",
                CASCADE_ERR_UNAVAILABLE);
}

static void
malformed_conninfos(void **state)
{
    static const char *const bad[] = {
        "postgresql://u:" SECRET "@h:port/d",
        "postgresql://u:" SECRET "@h/d?nonsense=" SECRET,
        "host=h nonsense=" SECRET,
        "host=h password='" SECRET,
        "host=h port=99999999 password=" SECRET,
    };

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cascade_err err = open_store(bad[i], NULL);

        if (err != CASCADE_ERR_INVALID && err != CASCADE_ERR_UNAVAILABLE)
            fail_msg("\"%s\" is %s", bad[i], cascade_err_name(err));
    }
}

static void
databases_that_are_not_there(void **state)
{
    char url[512];

    (void)state;
    snprintf(url, sizeof(url), "%s dbname=no-such-%s",
             getenv("CASCADE_TEST_PG"), SECRET);
    assert_true(open_store(url, NULL) != CASCADE_OK);
    snprintf(url, sizeof(url), "%s user=no-such-%s", getenv("CASCADE_TEST_PG"),
             SECRET);
    assert_true(open_store(url, NULL) != CASCADE_OK);
}

static PGresult *
exec_on_server(PGconn *connection, const char *sql)
{
    PGresult *result = PQexec(connection, sql);

    if (PQresultStatus(result) != PGRES_COMMAND_OK)
        fail_msg("%s: %s", sql, PQerrorMessage(connection));
    return result;
}

/* Each process has its own: others may run beside it on the same server. */
static const char *
own_schema(void)
{
    static char name[64];

    snprintf(name, sizeof(name), "cascade_api_bad_stores_%ld", (long)getpid());
    return name;
}

static void
run_on_server(const char *sql)
{
    PGconn *connection = PQconnectdb(getenv("CASCADE_TEST_PG"));
    char settings[160];

    snprintf(settings, sizeof(settings),
             "SET client_min_messages = warning; SET search_path = %s",
             own_schema());
    PQclear(exec_on_server(connection, settings));
    PQclear(exec_on_server(connection, sql));
    PQfinish(connection);
}

static cascade_err
open_schema(cascade_migrate migrate)
{
    const cascade_store_options options = {
        .size = sizeof(options), .schema = own_schema(), .migrate = migrate};

    return open_store(getenv("CASCADE_TEST_PG"), &options);
}

static int
drop_schema(void **state)
{
    char sql[160];

    (void)state;
    snprintf(sql, sizeof(sql), "DROP SCHEMA IF EXISTS %s CASCADE",
             own_schema());
    run_on_server(sql);
    return 0;
}

static int
make_schema(void **state)
{
    char sql[160];

    drop_schema(state);
    snprintf(sql, sizeof(sql), "CREATE SCHEMA %s", own_schema());
    run_on_server(sql);
    return 0;
}

static void
newer_schema_on_postgres(void **state)
{
    (void)state;
    assert_int_equal(CASCADE_OK, open_schema(CASCADE_MIGRATE_AUTO));
    run_on_server("INSERT INTO cascade_schema SELECT (jsonb_populate_record("
                  "s, '{\"number\": 999}')).* FROM cascade_schema s LIMIT 1");
    assert_int_equal(CASCADE_ERR_SCHEMA, open_schema(CASCADE_MIGRATE_AUTO));
    assert_int_equal(CASCADE_ERR_SCHEMA, open_schema(CASCADE_MIGRATE_CHECK));
}

static void
other_columns_on_postgres(void **state)
{
    (void)state;
    run_on_server("CREATE TABLE cascades (id INTEGER PRIMARY KEY)");
    assert_int_equal(CASCADE_ERR_SCHEMA, open_schema(CASCADE_MIGRATE_AUTO));
    assert_int_equal(CASCADE_ERR_SCHEMA, open_schema(CASCADE_MIGRATE_CHECK));
    run_on_server("INSERT INTO cascades VALUES (1)");
}

static void
missing_schema_on_postgres(void **state)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .schema = "no_such_schema",
                                           .migrate = CASCADE_MIGRATE_CHECK};

    (void)state;
    assert_int_equal(CASCADE_ERR_SCHEMA,
                     open_store(getenv("CASCADE_TEST_PG"), &options));
}
#endif

/* ---- SQLite -------------------------------------------------------------- */

#ifdef CASCADE_HAVE_SQLITE
static char folder[128];
static char url[192];

static int
make_folder(void **state)
{
    const char *base = getenv("TMPDIR");

    (void)state;
    snprintf(folder, sizeof(folder), "%s/cascade-api.XXXXXX",
             base == NULL ? "/tmp" : base);
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(url, sizeof(url), "sqlite:%s/cascade.db", folder);
    return 0;
}

static int
remove_one(const char *path, const struct stat *status, int type,
           struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static int
remove_folder(void **state)
{
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static void
run_on_file(const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(SQLITE_OK, sqlite3_open(url + strlen("sqlite:"), &db));
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_close(db);
}

static cascade_err
open_file(cascade_migrate migrate)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .migrate = migrate};

    return open_store(url, &options);
}

static void
newer_schema_on_sqlite(void **state)
{
    (void)state;
    assert_int_equal(CASCADE_OK, open_file(CASCADE_MIGRATE_AUTO));
    run_on_file("CREATE TEMP TABLE t AS SELECT * FROM cascade_schema LIMIT 1;"
                "UPDATE t SET number = 999;"
                "INSERT INTO cascade_schema SELECT * FROM t;");
    assert_int_equal(CASCADE_ERR_SCHEMA, open_file(CASCADE_MIGRATE_AUTO));
    assert_int_equal(CASCADE_ERR_SCHEMA, open_file(CASCADE_MIGRATE_CHECK));
}

static void
other_columns_on_sqlite(void **state)
{
    (void)state;
    run_on_file("CREATE TABLE cascades (id INTEGER PRIMARY KEY)");
    assert_int_equal(CASCADE_ERR_SCHEMA, open_file(CASCADE_MIGRATE_AUTO));
    assert_int_equal(CASCADE_ERR_SCHEMA, open_file(CASCADE_MIGRATE_CHECK));
    run_on_file("INSERT INTO cascades VALUES (1)");
}

static void
files_that_are_no_database(void **state)
{
    FILE *file = fopen(url + strlen("sqlite:"), "we");

    (void)state;
    assert_non_null(file);
    for (int i = 0; i < 200; i++)
        fputs("this is a text and no database\n", file);
    fclose(file);
    assert_int_equal(CASCADE_ERR_CORRUPT, open_file(CASCADE_MIGRATE_AUTO));
    expect_open("sqlite:/nonexistent/" SECRET "/x.db", CASCADE_ERR_UNAVAILABLE);
    expect_open("sqlite:/tmp", CASCADE_ERR_INVALID);
}

/* What a child found, as its exit status: a cascade_err, or 100 and more where
 * it could not try. */
static int
in_child(int (*run)(void))
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        _exit(run());
    assert_true(waitpid(pid, &status, 0) == pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int
open_as_nobody(void)
{
    cascade_store *store = NULL;
    cascade_err err = CASCADE_OK;

    if (getuid() == 0 && (setgid(NOBODY) != 0 || setuid(NOBODY) != 0))
        return 100;
    err = cascade_store_open(url, NULL, &store);
    if (err != CASCADE_OK)
        return cascade_errmsg()[0] == '\0' ? 101 : (int)err;
    return cascade_store_close(store) == CASCADE_OK ? 0 : 102;
}

static void
read_only_files(void **state)
{
    char path[192];

    (void)state;
    assert_int_equal(CASCADE_OK, open_file(CASCADE_MIGRATE_AUTO));
    assert_int_equal(0, chmod(folder, 0555));
    snprintf(path, sizeof(path), "%s", url + strlen("sqlite:"));
    assert_int_equal(0, chmod(path, 0444));
    assert_int_equal(CASCADE_ERR_READ_ONLY, in_child(open_as_nobody));
    assert_int_equal(0, chmod(folder, 0755));
}

/* ---- A full disk --------------------------------------------------------- */

static bool
write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool ok = fd >= 0 && write(fd, text, strlen(text)) > 0;

    close(fd);
    return ok;
}

/* A disk of 2 MiB in the folder, seen by this process alone. Whoever is not
 * root becomes root of a user namespace. */
static bool
mount_small_disk(void)
{
    char map[64];

    snprintf(map, sizeof(map), "0 %ld 1", (long)getuid());
    if (unshare(CLONE_NEWNS) != 0) {
        if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0 ||
            !write_text("/proc/self/uid_map", map))
            return false;
    }
    return mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", folder, "tmpfs", 0, "size=2m") == 0;
}

/* What the store cannot do within its deadline. */
static bool
is_out_of_time(cascade_err err)
{
    return err == CASCADE_ERR_UNAVAILABLE || err == CASCADE_ERR_OUTCOME_UNKNOWN;
}

/* Starts until the disk is full; the number of those accepted. One that was
 * just slow says something else. */
static int
fill_disk(cascade_store *store, cascade_err *err)
{
    static char input[8192];
    int count = 0;
    int slow = 0;
    bool full = false;

    memset(input, 'x', sizeof(input) - 1);
    input[0] = '"';
    input[sizeof(input) - 2] = '"';
    while (!full && count < 2000 && slow < TRIES) {
        const cascade_first first = {
            .size = sizeof(first), .node = "n", .input_text = input};
        const cascade_start_spec spec = {
            .size = sizeof(spec), .first = &first, .first_count = 1};
        cascade_started started;

        *err = cascade_start_many(store, &spec, 1, &started);
        if (*err != CASCADE_OK && !is_out_of_time(*err))
            return -1;
        count += *err == CASCADE_OK;
        slow += *err != CASCADE_OK;
        full = strstr(cascade_errmsg(), "full") != NULL;
    }
    return full ? count : -1;
}

static int
count_all(cascade_store *store)
{
    const cascade_list_options options = {.size = sizeof(options),
                                          .limit = 1000};
    cascade_page *page = NULL;
    cascade_err err = CASCADE_ERR_UNAVAILABLE;
    int count = -1;

    for (int i = 0; err == CASCADE_ERR_UNAVAILABLE && i < TRIES; i++)
        err = cascade_list(store, &options, &page);
    if (err == CASCADE_OK)
        count = (int)cascade_page_count(page);
    cascade_page_free(page);
    return count;
}

/* With the room of a disk that is full but for that. */
static bool
make_filler(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    bool ok = fd >= 0 && posix_fallocate(fd, 0, 1024 * 1024) == 0;

    close(fd);
    return ok;
}

static cascade_err
open_patiently(const cascade_store_options *options, cascade_store **store)
{
    cascade_err err = CASCADE_ERR_UNAVAILABLE;

    for (int i = 0; err == CASCADE_ERR_UNAVAILABLE && i < TRIES; i++)
        err = cascade_store_open(url, options, store);
    return err;
}

static cascade_err
start_patiently(cascade_store *store)
{
    const cascade_start_options once = {.size = sizeof(once), .key = "once"};
    cascade_err err = CASCADE_ERR_UNAVAILABLE;

    for (int i = 0; is_out_of_time(err) && i < TRIES; i++) {
        cascade_started started;

        err = cascade_start(store, "n", NULL, &once, &started);
    }
    return err;
}

static int
work_on_a_full_disk(void)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .deadline_ms = BRIEF_MS};
    char filler[192];
    cascade_store *store = NULL;
    cascade_err err = CASCADE_OK;
    int accepted = 0;

    if (!mount_small_disk())
        return 100;
    snprintf(filler, sizeof(filler), "%s/filler", folder);
    if (!make_filler(filler))
        return 101;
    if (open_patiently(&options, &store) != CASCADE_OK)
        return 102;
    accepted = fill_disk(store, &err);
    if (!is_out_of_time(err))
        return 103;
    if (accepted < 1)
        return 104;
    unlink(filler); /* there is room again */
    if (start_patiently(store) != CASCADE_OK)
        return 105;
    if (count_all(store) < accepted + 1)
        return 106;
    return cascade_store_close(store) == CASCADE_OK ? 0 : 107;
}

static void
full_disks(void **state)
{
    (void)state;
    assert_int_equal(0, in_child(work_on_a_full_disk));
}
#endif

/* ------------------------------------------------------------------------- */

int
main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(malformed_urls),
        cmocka_unit_test(options_out_of_range),
#ifdef CASCADE_HAVE_POSTGRES
        cmocka_unit_test(unreachable_servers),
        cmocka_unit_test(malformed_conninfos),
        cmocka_unit_test(databases_that_are_not_there),
        cmocka_unit_test_setup_teardown(newer_schema_on_postgres, make_schema,
                                        drop_schema),
        cmocka_unit_test_setup_teardown(other_columns_on_postgres, make_schema,
                                        drop_schema),
        cmocka_unit_test(missing_schema_on_postgres),
#endif
#ifdef CASCADE_HAVE_SQLITE
        cmocka_unit_test_setup_teardown(newer_schema_on_sqlite, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(other_columns_on_sqlite, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(files_that_are_no_database, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(read_only_files, make_folder,
                                        remove_folder),
        cmocka_unit_test_setup_teardown(full_disks, make_folder, remove_folder),
#endif
    };

#ifdef CASCADE_HAVE_POSTGRES
    if (getenv("CASCADE_TEST_PG") == NULL) {
        fputs("CASCADE_TEST_PG names no server\n", stderr);
        return 1;
    }
#endif
    return cmocka_run_group_tests(tests, NULL, NULL);
}
