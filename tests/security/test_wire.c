/* SPDX-License-Identifier: MIT
 *
 * What goes over the wire to PostgreSQL, and what is told of it. Run by
 * wire.sh, against a server that speaks TLS alone and asks for passwords or
 * certificates.
 *
 * libpq's options for both reach it as they stand, by every way it has, for
 * every connection that a store makes; and whatever goes wrong with them, no
 * secret (each begins with the marker) is in an error, in the log at its lowest
 * level, or in what the server shows of its sessions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cascade/cascade.h"
#include "faults/admin.h"

#define LIMIT_MS 60000
#define MARKER "m4rker"
#define NAME "wire"
#define TLS "host=localhost hostaddr=127.0.0.1 dbname=cascade "
#define TRUSTING TLS "sslmode=verify-full sslrootcert=%2$s/root.crt "
#define BY_PASSWORD TRUSTING "user=wire_password port=%1$s "
#define BY_KEY                                                          \
    TRUSTING "user=wire_certificate port=%1$s sslcert=%2$s/client.crt " \
             "sslkey=%2$s/locked.key "

/* ---- Listening ----------------------------------------------------------- */

static _Atomic int leaks;
static _Atomic int lines;

static void
inspect(const char *where, const char *text)
{
    if (strstr(text, MARKER) == NULL)
        return;
    leaks++;
    fprintf(stderr, "%s: %s\n", where, text);
}

static void
listen(void *context, cascade_log_level level, const char *line)
{
    (void)context;
    (void)level;
    lines++;
    inspect("in the log", line);
}

static cascade_err
open_url(const char *url, cascade_store **store)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .schema = "wire",
                                           .application_name = NAME,
                                           .deadline_ms = LIMIT_MS,
                                           .log = listen,
                                           .log_level = CASCADE_LOG_DEBUG};
    cascade_err err = cascade_store_open(url, &options, store);

    if (err != CASCADE_OK)
        inspect("in an error", cascade_errmsg());
    return err;
}

/* Puts the port for %1$s and the folder of the keys for %2$s; printf would want
 * every format to have both. */
static void
fill(char *url, size_t size, const char *format)
{
    const char *values[] = {getenv("WIRE_PORT"), getenv("WIRE_KEYS")};
    size_t length = 0;

    assert_non_null(values[0]);
    assert_non_null(values[1]);
    while (*format != '\0' && length + 1 < size) {
        if (format[0] == '%' && (format[1] == '1' || format[1] == '2')) {
            const char *value = values[format[1] - '1'];

            length +=
                (size_t)snprintf(url + length, size - length, "%s", value);
            format += strlen("%1$s");
        } else {
            url[length++] = *format++;
        }
    }
    assert_true(length + 1 < size);
    url[length] = '\0';
}

/* ---- What works ---------------------------------------------------------- */

static cascade_err
do_nothing(cascade_node *node, void *user)
{
    (void)user;
    return cascade_node_output(node, cJSON_CreateString(MARKER));
}

/* While an engine works every connection of the store is there: the pool's,
 * and the listener's. */
static void
expect_sessions(void)
{
    const char *admin = getenv("WIRE_ADMIN");

    admin_until(admin, "SELECT count(*) FROM pg_stat_activity WHERE "
                       "application_name = '" NAME "' AND query LIKE "
                       "'LISTEN %'");
    assert_true(admin_number(admin,
                             "SELECT count(*) FROM pg_stat_activity WHERE "
                             "application_name = '" NAME "'") >= 2);
    assert_int_equal(
        0,
        admin_number(admin, "SELECT count(*) FROM pg_stat_activity AS a "
                            "JOIN pg_stat_ssl AS s USING (pid) WHERE "
                            "a.application_name = '" NAME "' AND NOT s.ssl"));
    assert_int_equal(
        0, admin_number(admin, "SELECT count(*) FROM pg_stat_activity WHERE "
                               "application_name = '" NAME
                               "' AND (application_name || query) LIKE "
                               "'%" MARKER "%'"));
}

static void
run_engine(cascade_store *store)
{
    cascade_engine *engine = NULL;
    cascade_started started;
    cascade_status status = CASCADE_RUNNING;

    assert_int_equal(CASCADE_OK, cascade_engine_open(store, NULL, &engine));
    assert_int_equal(CASCADE_OK, cascade_engine_register(
                                     engine, "n", do_nothing, NULL, NULL));
    assert_int_equal(CASCADE_OK, cascade_engine_start(engine));
    for (int i = 0; i < 3; i++) {
        assert_int_equal(CASCADE_OK,
                         cascade_start(store, "n", cJSON_CreateString(MARKER),
                                       NULL, &started));
        assert_int_equal(CASCADE_OK,
                         cascade_wait(store, &started.id, LIMIT_MS, &status));
        assert_int_equal(CASCADE_COMPLETED, status);
    }
    expect_sessions();
    assert_int_equal(CASCADE_OK, cascade_engine_close(engine));
}

static void
expect_works(const char *format)
{
    cascade_store *store = NULL;
    char url[1024];

    fill(url, sizeof(url), format);
    if (open_url(url, &store) != CASCADE_OK)
        fail_msg("%s: %s", url, cascade_errmsg());
    run_engine(store);
    assert_int_equal(CASCADE_OK, cascade_store_close(store));
    assert_int_equal(0, leaks);
}

/* ---- Files of libpq's ---------------------------------------------------- */

static void
write_file(const char *name, const char *format, char *path, size_t size)
{
    char text[1024];
    FILE *file = NULL;

    snprintf(path, size, "%s/%s", getenv("WIRE_KEYS"), name);
    fill(text, sizeof(text), format);
    file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(0, fclose(file));
    assert_int_equal(0, chmod(path, 0600));
}

/* ---- Tests --------------------------------------------------------------- */

static void
passwords_reach_the_server_by_every_way(void **state)
{
    char path[512];

    (void)state;
    expect_works(BY_PASSWORD "password=" MARKER "-password");
    expect_works("postgresql://wire_password:" MARKER
                 "-password@localhost:%1$s/cascade?sslmode=verify-full&"
                 "sslrootcert=%2$s/root.crt");
    setenv("PGPASSWORD", MARKER "-password", 1);
    expect_works(BY_PASSWORD);
    unsetenv("PGPASSWORD");
    write_file("passes", "*:*:*:wire_password:" MARKER "-password\n", path,
               sizeof(path));
    expect_works(BY_PASSWORD "passfile=%2$s/passes");
    write_file("services",
               "[wire]\nhost=localhost\nport=%1$s\ndbname=cascade\n"
               "user=wire_password\npassword=" MARKER
               "-password\nsslmode=verify-full\nsslrootcert=%2$s/root.crt\n",
               path, sizeof(path));
    setenv("PGSERVICEFILE", path, 1);
    expect_works("service=wire");
    unsetenv("PGSERVICEFILE");
}

static void
certificates_reach_the_server(void **state)
{
    (void)state;
    expect_works(BY_KEY "sslpassword=" MARKER "-passphrase");
}

static void
every_mode_of_tls_is_libpqs_own(void **state)
{
    static const char *const modes[] = {"require", "prefer", "verify-ca"};

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        char format[512];

        snprintf(format, sizeof(format),
                 TLS "port=%%1$s user=wire_password sslmode=%s "
                     "sslrootcert=%%2$s/root.crt password=" MARKER "-password",
                 modes[i]);
        expect_works(format);
    }
    setenv("PGSSLMODE", "require", 1);
    expect_works(TLS "port=%1$s user=wire_password password=" MARKER
                     "-password");
    unsetenv("PGSSLMODE");
}

typedef struct failure {
    const char *format;
    const char *says; /* in the error */
    cascade_err err;
} failure;

#define SECRET " password=" MARKER "-password "

static const failure failures[] = {
    {BY_PASSWORD "password=" MARKER "-wrong", "password",
     CASCADE_ERR_UNAVAILABLE},
    {"postgresql://wire_password:" MARKER "-wrong@localhost:%1$s/cascade?"
     "sslmode=require",
     "password", CASCADE_ERR_UNAVAILABLE},
    {BY_PASSWORD "passfile=/nowhere", "password", CASCADE_ERR_UNAVAILABLE},
    {TLS "port=%1$s user=" MARKER "_nobody sslmode=require" SECRET,
     "lets nobody in", CASCADE_ERR_UNAVAILABLE},
    {TRUSTING "port=%1$s user=wire_password dbname=" MARKER "_none" SECRET,
     "database", CASCADE_ERR_UNAVAILABLE},
    {"host=" MARKER ".invalid port=1 user=u" SECRET, "host name",
     CASCADE_ERR_UNAVAILABLE},
    {"host=127.0.0.1 port=1 user=u" SECRET, "nobody listens",
     CASCADE_ERR_UNAVAILABLE},
    {"host=/" MARKER " port=1 user=u" SECRET, "socket",
     CASCADE_ERR_UNAVAILABLE},
    {"host=localhost passwrod=" MARKER, "libpq does not know",
     CASCADE_ERR_INVALID},
    {"host=localhost password='" MARKER, "malformed", CASCADE_ERR_INVALID},
    {"postgresql://u:" MARKER "@[::1/cascade", "malformed",
     CASCADE_ERR_INVALID},
    {"postgresql://u:" MARKER "%%zz@localhost/cascade", "malformed",
     CASCADE_ERR_INVALID},
    {TLS "port=%1$s user=wire_password sslmode=" MARKER SECRET,
     "cannot connect", CASCADE_ERR_UNAVAILABLE},
    {TLS "port=%1$s user=wire_password sslmode=disable" SECRET,
     "lets nobody in", CASCADE_ERR_UNAVAILABLE},
    {TLS "port=%1$s user=wire_password sslmode=verify-full "
         "sslrootcert=%2$s/stranger.crt" SECRET,
     "encrypted", CASCADE_ERR_UNAVAILABLE},
    {TLS "port=%1$s user=wire_password sslmode=verify-full "
         "sslrootcert=/" MARKER SECRET,
     "certificate", CASCADE_ERR_UNAVAILABLE},
    {"host=127.0.0.1 port=%1$s dbname=cascade user=wire_password "
     "sslmode=verify-full sslrootcert=%2$s/root.crt" SECRET,
     "certificate", CASCADE_ERR_UNAVAILABLE},
    {BY_KEY "sslpassword=" MARKER "-wrong", "cannot connect",
     CASCADE_ERR_UNAVAILABLE},
    {TRUSTING "port=%1$s user=wire_certificate sslcert=none sslkey=none" SECRET,
     "cannot connect", CASCADE_ERR_UNAVAILABLE},
};

static void
failures_are_clear_and_tell_no_secret(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(failures) / sizeof(failures[0]); i++) {
        const failure *it = &failures[i];
        cascade_store *store = NULL;
        cascade_err err = CASCADE_OK;
        char url[1024];

        fill(url, sizeof(url), it->format);
        err = open_url(url, &store);
        if (err != it->err || strstr(cascade_errmsg(), it->says) == NULL)
            fail_msg("%s: %s: %s", url, cascade_err_name(err),
                     cascade_errmsg());
    }
    assert_int_equal(0, leaks);
}

/* The log was there all the time. */
static void
the_log_was_heard(void **state)
{
    (void)state;
    assert_true(lines > 0);
    assert_int_equal(0, leaks);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(passwords_reach_the_server_by_every_way),
        cmocka_unit_test(certificates_reach_the_server),
        cmocka_unit_test(every_mode_of_tls_is_libpqs_own),
        cmocka_unit_test(failures_are_clear_and_tell_no_secret),
        cmocka_unit_test(the_log_was_heard),
    };

    if (getenv("WIRE_PORT") == NULL) {
        fprintf(stderr, "run by wire.sh\n");
        return 1;
    }
    return cmocka_run_group_tests_name("wire", tests, NULL, NULL);
}
