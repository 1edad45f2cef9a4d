/* SPDX-License-Identifier: MIT
 *
 * Looking never changes a schema: the store is opened with a check, and what is
 * not current is left to `cascade migrate`. A SQLite file that is not there is
 * not made by looking for it either, and no database gets a mode of integrity:
 * that is for `cascade migrate`, too.
 */
#include "session.h"

#include "keys.h"
#include "text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SQLITE "sqlite:"

int
session_fail(const char *what, cascade_err err)
{
    char *text = text_escaped(cascade_errmsg());

    fputs("cascade: ", stderr);
    if (what != NULL) {
        text_write(stderr, what);
        fputs(": ", stderr);
    }
    fputs(text != NULL && *text != '\0' ? text : cascade_err_text(err), stderr);
    fputc('\n', stderr);
    free(text);
    return (int)exit_of(err);
}

int
session_end(const char *what, cascade_err err)
{
    return err == CASCADE_OK ? EXIT_DONE : session_fail(what, err);
}

/* The path of a SQLite URL that names a plain file; NULL for any other. */
static const char *
sqlite_file(const char *url)
{
    if (strncmp(url, SQLITE, strlen(SQLITE)) != 0)
        return NULL;
    url += strlen(SQLITE);
    return *url == '\0' || *url == ':' || strncmp(url, "file:", 5) == 0 ? NULL
                                                                        : url;
}

static int
refuse_missing(const struct session *session, const char *file)
{
    fputs("cascade: there is no file ", stderr);
    text_write(stderr, text_shown(file));
    fputs(session->settings->command->store == STORE_NEVER
              ? "\n"
              : "; `cascade migrate` makes one\n",
          stderr);
    return EXIT_UNAVAILABLE;
}

/* What to do about it. */
static void
put_remedy(cascade_err err)
{
    if (err == CASCADE_ERR_SCHEMA)
        fputs("`cascade migrate --check` shows what is missing, `cascade "
              "migrate` applies it.\n",
              stderr);
    else if (strncmp(cascade_errmsg(), "integrity:", 10) == 0)
        fputs("--integrity and --secrets tell how a database is sealed; "
              "`cascade migrate` with them begins to seal an empty one.\n",
              stderr);
}

static cascade_store_options
make_options(const struct settings *settings)
{
    return (cascade_store_options){
        .size = sizeof(cascade_store_options),
        .migrate = CASCADE_MIGRATE_CHECK,
        .schema = settings->text[OPTION_SCHEMA],
        .application_name = "cascade",
        .pooler = settings_has(settings, OPTION_POOLER),
    };
}

static int
open_store(struct session *session, const char *url, const struct keys *keys)
{
    cascade_store_options options = make_options(session->settings);

    if (session->settings->command->store == STORE_NEVER)
        options.migrate = CASCADE_MIGRATE_NEVER;
    else
        options.integrity = &keys->integrity;
    cascade_err err = cascade_store_open(url, &options, &session->store);
    if (err == CASCADE_OK)
        return EXIT_DONE;
    int code = session_fail(NULL, err);
    put_remedy(err);
    return err == CASCADE_ERR_NOT_FOUND ? EXIT_UNAVAILABLE : code;
}

/* NULL, with a line on standard error: there is none. */
static const char *
find_url(const struct settings *settings)
{
    const char *url = settings->text[OPTION_STORE];

    if (url == NULL)
        url = getenv("CASCADE_STORE");
    if (url != NULL && *url != '\0')
        return url;
    settings_refuse(settings,
                    "which store? Give --store URL, or set CASCADE_STORE");
    return NULL;
}

int
session_open(struct session *session)
{
    const struct settings *settings = session->settings;
    const struct command *command = settings->command;
    struct keys keys = {.count = 0};

    if (command->store == STORE_NONE)
        return EXIT_DONE;
    const char *url = find_url(settings);
    if (url == NULL)
        return EXIT_USAGE;
    const char *file = sqlite_file(url);
    bool makes =
        command->store == STORE_NEVER && !settings_has(settings, OPTION_CHECK);
    if (file != NULL && !makes && access(file, F_OK) != 0 && errno == ENOENT)
        return refuse_missing(session, file);
    int code = keys_read(settings, &keys);
    if (code == EXIT_DONE)
        code = open_store(session, url, &keys);
    keys_free(&keys);
    return code;
}

int
session_begin_sealing(const struct session *session)
{
    cascade_store_options options = make_options(session->settings);
    struct keys keys = {.count = 0};
    cascade_store *store = NULL;
    int code = keys_read(session->settings, &keys);

    if (code == EXIT_DONE && keys.integrity.mode != CASCADE_INTEGRITY_NONE) {
        keys.integrity.begin = settings_has(session->settings, OPTION_TRUST)
                                   ? CASCADE_INTEGRITY_BEGIN_ANY
                                   : CASCADE_INTEGRITY_BEGIN_EMPTY;
        options.integrity = &keys.integrity;
        cascade_err err =
            cascade_store_open(find_url(session->settings), &options, &store);
        code = session_end(NULL, err);
        (void)cascade_store_close(store);
    }
    keys_free(&keys);
    return code;
}

void
session_close(struct session *session)
{
    (void)cascade_store_close(session->store);
    session->store = NULL;
}

int64_t
session_now(const struct session *session)
{
    int64_t now_ms = 0;
    struct timespec now;

    if (cascade_store_now(session->store, &now_ms) == CASCADE_OK)
        return now_ms;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
