/* SPDX-License-Identifier: MIT
 *
 * The library keeps quiet: it prints nothing, logs nothing unless asked, and
 * neither its log, at the lowest level, nor its error texts hold anything of a
 * payload or of a secret in the URL.
 *
 * The same scenario, in which much goes wrong, runs with a log that is searched
 * for the marker all its payloads carry, and in a process of its own, without a
 * log, whose output must be empty.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "api/raw_sql.h"

#define MARKER "m4rker"
#define LIMIT_MS 60000

typedef struct test_ear {
    _Atomic int lines;
    _Atomic int leaks;
} test_ear;

static void
listen(void *context, cascade_log_level level, const char *line)
{
    test_ear *it = context;

    (void)level;
    it->lines++;
    if (strstr(line, MARKER) != NULL) {
        it->leaks++;
        fprintf(stderr, "in the log: %s\n", line);
    }
}

/* An error text of the library, wherever it comes up. */
static void
inspect(test_ear *ear)
{
    if (strstr(cascade_errmsg(), MARKER) == NULL)
        return;
    ear->leaks++;
    fprintf(stderr, "in an error: %s\n", cascade_errmsg());
}

/* ---- Nodes whose payloads carry the marker ------------------------------- */

static cascade_err
make_result(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = cJSON_CreateString(MARKER);
    return cascade_node_put(node, "step", cJSON_CreateString(MARKER));
}

static cascade_err
fail_step(cascade_node *node, void *arg, cJSON **result)
{
    (void)arg;
    *result = cJSON_CreateString(MARKER);
    return cascade_node_error(node, MARKER);
}

static cascade_err
work(cascade_node *node, void *user)
{
    const cascade_step_options twice = {
        .size = sizeof(twice), .attempts_max = 2, .backoff_ms = 1};
    cascade_err err = cascade_node_put_ui(node, "k", cJSON_CreateString(MARKER),
                                          cJSON_CreateString(MARKER));

    if (err == CASCADE_OK)
        err = cascade_node_put_text(node, "bad", "\"" MARKER, NULL);
    inspect(user);
    if (cascade_node_attempt(node) == 1)
        return cascade_node_error(node, MARKER);
    err = cascade_node_step(node, "s", make_result, NULL, NULL, NULL);
    if (err == CASCADE_OK)
        err = cascade_node_step(node, "f", fail_step, NULL, &twice, NULL);
    inspect(user);
    if (err == CASCADE_SUSPENDED)
        return err;
    err = cascade_node_spawn(node, "fail", cJSON_CreateString(MARKER), NULL);
    if (err == CASCADE_OK)
        err = cascade_node_output(node, cJSON_CreateString(MARKER));
    return err;
}

static cascade_err
give_up(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_fail(node, MARKER);

    inspect(user);
    return err;
}

/* ---- The scenario -------------------------------------------------------- */

static void
start_wrongly(cascade_store *store, test_ear *ear)
{
    const char *const bad[] = {"{\"" MARKER "\":", "\"" MARKER "\\u0000\"",
                               "[1e999999, \"" MARKER "\"]"};
    cascade_started started;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const cascade_first first = {
            .size = sizeof(first), .node = "work", .input_text = bad[i]};
        const cascade_start_spec spec = {
            .size = sizeof(spec), .first = &first, .first_count = 1};

        (void)cascade_start_many(store, &spec, 1, &started);
        inspect(ear);
    }
    (void)cascade_start(store, "no such node", cJSON_CreateString(MARKER), NULL,
                        &started);
    inspect(ear);
}

static cascade_err
run_nodes(cascade_store *store, test_ear *ear)
{
    const cascade_node_options options = {.size = sizeof(options),
                                          .backoff_ms = 1};
    const cascade_start_options keyed = {.size = sizeof(keyed), .key = "once"};
    cascade_engine *engine = NULL;
    cascade_started started = {.existed = false};
    cascade_err err = cascade_engine_open(store, NULL, &engine);

    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "work", work, ear, &options);
    if (err == CASCADE_OK)
        err = cascade_engine_register(engine, "fail", give_up, ear, &options);
    if (err == CASCADE_OK)
        err = cascade_engine_start(engine);
    for (int i = 0; i < 2 && err == CASCADE_OK; i++)
        err = cascade_start(store, "work", cJSON_CreateString(MARKER), &keyed,
                            &started);
    if (err == CASCADE_OK)
        err = cascade_start(store, "unknown", cJSON_CreateString(MARKER), NULL,
                            &(cascade_started){.existed = false});
    if (err == CASCADE_OK)
        err = cascade_wait(store, &started.id, LIMIT_MS, NULL);
    inspect(ear);
    if (err == CASCADE_OK)
        err = cascade_engine_stop(engine, LIMIT_MS);
    (void)cascade_engine_close(engine);
    return err;
}

/* Everything that a program may do wrong, and a cascade that fails. */
static cascade_err
run_scenario(const char *url, const char *schema, cascade_log_fn log,
             test_ear *ear)
{
    const cascade_store_options options = {.size = sizeof(options),
                                           .schema = schema,
                                           .log = log,
                                           .log_context = ear,
                                           .log_level = CASCADE_LOG_DEBUG};
    cascade_store *store = NULL;
    cascade_err err = CASCADE_OK;

    (void)cascade_store_open("nonsense:" MARKER, &options, &store);
    inspect(ear);
    err = cascade_store_open(url, &options, &store);
    inspect(ear);
    if (err != CASCADE_OK)
        return err;
    start_wrongly(store, ear);
    err = run_nodes(store, ear);
    (void)cascade_store_close(store);
    return err;
}

/* The URL with a password in it, where it can have one. */
static void
add_secret(const test_db *db, char *url, size_t size)
{
    bool server = strcmp(db->backend->name, "postgres") == 0;

    snprintf(url, size, "%s%s", db->url, server ? " password=" MARKER : "");
}

static void
neither_log_nor_errors_tell_secrets(test_db *db)
{
    char url[1200];
    test_ear ear = {.lines = 0};

    add_secret(db, url, sizeof(url));
    assert_ok(run_scenario(url, db->schema[0] != '\0' ? db->schema : NULL,
                           listen, &ear));
    assert_int_equal(0, ear.leaks);
    assert_true(ear.lines > 0);
}

/* A mistake in an address is told without the address, which has a password. */
static void
no_broken_address_is_repeated(test_db *db)
{
    static const char *const broken[] = {
        "postgresql://u:" MARKER "@[::1/db",
        "postgresql://u:%zz" MARKER "@h/db",
        "postgresql://u:" MARKER "@h/db?pasword=" MARKER,
        "postgresql://u:p@127.0.0.1:" MARKER "/db",
        "postgresql:/u:" MARKER "@h/db",
        "Postgres://u:" MARKER "@h/db",
        "//u:" MARKER "@h/db",
        "host=h pasword=" MARKER,
        "host=h password='" MARKER,
        "host=127.0.0.1 port=" MARKER,
        "password=" MARKER " = ",
        "sqlite:postgresql://u:" MARKER "@h/db",
        "memory" MARKER,
    };
    test_ear ear = {.lines = 0};
    const cascade_store_options options = {.size = sizeof(options),
                                           .log = listen,
                                           .log_context = &ear,
                                           .log_level = CASCADE_LOG_DEBUG};
    cascade_store *store = NULL;

    (void)db;
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        assert_int_not_equal(CASCADE_OK,
                             cascade_store_open(broken[i], &options, &store));
        assert_string_not_equal("", cascade_errmsg());
        inspect(&ear);
    }
    assert_int_equal(0, ear.leaks);
}

/* What a trigger, a constraint or the server itself says can hold values. */
static void
words_of_the_database_are_not_repeated(test_db *db)
{
    char url[1200];
    test_ear ear = {.lines = 0};

    add_secret(db, url, sizeof(url));
    db_store(db);
    if (strcmp(db->backend->name, "sqlite") == 0)
        raw_sql(db, "ALTER TABLE context_events ADD COLUMN no TEXT DEFAULT 'x' "
                    "CHECK (no = '" MARKER "')");
    else
        raw_sql(db, "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql "
                    "AS $$ BEGIN RAISE integrity_constraint_violation USING "
                    "MESSAGE = 'no ' || NEW.value, DETAIL = NEW.value, "
                    "HINT = NEW.value; END $$; CREATE TRIGGER refuse BEFORE "
                    "INSERT ON context_events FOR EACH ROW EXECUTE FUNCTION "
                    "refuse()");
    assert_ok(run_scenario(url, db->schema[0] != '\0' ? db->schema : NULL,
                           listen, &ear));
    assert_int_equal(0, ear.leaks);
    assert_true(ear.lines > 0);
}

/* ---- In a process of its own --------------------------------------------- */

/* The child, its output in the descriptor. */
static void
become_quiet(const test_db *db, const char *url, int output)
{
    char program[] = "/proc/self/exe";
    char verb[] = "quiet";
    char *const arguments[] = {program, verb, (char *)(uintptr_t)url,
                               (char *)(uintptr_t)db->schema, NULL};

    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    execv(program, arguments);
    _exit(127);
}

static void
nothing_is_printed(test_db *db)
{
    char url[1200];
    char name[] = "/tmp/cascade-quiet.XXXXXX";
    char printed[256] = "";
    int output = mkstemp(name);
    int status = 0;
    pid_t pid = -1;
    ssize_t length = 0;

    assert_true(output >= 0);
    unlink(name);
    add_secret(db, url, sizeof(url));
    fflush(NULL);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        become_quiet(db, url, output);
    assert_true(waitpid(pid, &status, 0) == pid);
    length = pread(output, printed, sizeof(printed) - 1, 0);
    close(output);
    assert_string_equal("", printed);
    assert_int_equal(0, length);
    assert_true(WIFEXITED(status));
    assert_int_equal(CASCADE_OK, WEXITSTATUS(status));
}

int
main(int argc, char **argv)
{
    static const stores_test tests[] = {
        {"neither_log_nor_errors_tell_secrets",
         neither_log_nor_errors_tell_secrets, STORES_ALL},
        {"no_broken_address_is_repeated", no_broken_address_is_repeated,
         STORES_ALL},
        {"words_of_the_database_are_not_repeated",
         words_of_the_database_are_not_repeated, STORES_FILES},
        {"nothing_is_printed", nothing_is_printed, STORES_ALL},
    };
    test_ear ear = {.lines = 0};

    if (argc == 4 && strcmp(argv[1], "quiet") == 0)
        return (int)run_scenario(argv[2], argv[3][0] != '\0' ? argv[3] : NULL,
                                 NULL, &ear);
    return stores_run("quiet", tests, sizeof(tests) / sizeof(tests[0]), argc,
                      argv);
}
