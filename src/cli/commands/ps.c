/* SPDX-License-Identifier: MIT
 *
 * ps: pages through cascade_list(). For people a page after another becomes one
 * table, of which --limit bounds the rows; for programs each line is written as
 * it is read.
 */
#include "ask.h"
#include "interrupt.h"
#include "table.h"
#include "text/moment.h"
#include "text/words.h"
#include "which.h"

#include <sys/ioctl.h>
#include <unistd.h>

#define LIMIT 100
#define PAGE_MAX 1000
#define WATCH_MS 2000
/* Lines of a watched table that hold no cascade: its time and its heads. */
#define WATCH_LINES 3

static const struct table_column columns[] = {
    {"ID", 36, false},      {"STATUS", 9, false}, {"USER", 0, false},
    {"CREATED", 20, false}, {"AGE", 6, true},     {"FN", 3, true},
    {"QUEUE", 0, false},    {"STATE", 0, false},
};

/* Takes one cascade of the list, for people or for programs. */
static cascade_err
take(struct session *session, struct table *table, const cascade_info *info,
     int64_t now_ms)
{
    char id[CASCADE_UUID_TEXT_SIZE];
    char time[MOMENT_SIZE];
    char age[MOMENT_SIZE];
    char state[WORDS_STATE_SIZE];
    struct object object;

    if (session->out.json) {
        object_init(&object);
        words_info(&object, info);
        return out_object(&session->out, &object);
    }
    table_add(table, STYLE_NONE, cascade_uuid_format(&info->id, id));
    table_add(table, words_status_style(info->status),
              words_status(info->status));
    table_add(table, STYLE_NONE, info->user_id);
    table_add(table, STYLE_NONE, moment_text(info->created_at_ms, time));
    table_add(table, STYLE_NONE,
              moment_duration(now_ms - info->created_at_ms, age));
    table_add_format(table, STYLE_NONE, "%d", (int)info->fn_id);
    table_add(table, STYLE_NONE, info->has_run ? info->queue : "-");
    table_add(table, STYLE_NONE, words_state(info, now_ms, state));
    return CASCADE_OK;
}

/* What the pages have had. */
struct taken {
    size_t got; /* by the last one */
    cascade_uuid last;
    size_t unreadable;
};

/* Takes one page. */
static cascade_err
take_page(struct session *session, struct table *table,
          const cascade_list_options *options, struct taken *taken)
{
    cascade_page *page = NULL;
    int64_t now_ms = session_now(session);
    cascade_err err = cascade_list(session->store, options, &page);

    if (err != CASCADE_OK)
        return err;
    taken->got = cascade_page_count(page);
    taken->unreadable += cascade_page_unreadable(page);
    for (size_t i = 0; i < taken->got && err == CASCADE_OK; i++) {
        const cascade_info *info = cascade_page_get(page, i);
        err = take(session, table, info, now_ms);
        taken->last = info->id;
    }
    cascade_page_free(page);
    return err;
}

/* `*more` tells whether the limit has ended the list. */
static cascade_err
take_all(struct session *session, struct table *table, size_t limit,
         struct taken *taken, bool *more)
{
    cascade_list_options options;
    cascade_err err = CASCADE_OK;
    const char *after = session->settings->text[OPTION_AFTER];

    which_filters(session, &options);
    if (after != NULL) {
        (void)cascade_uuid_parse(after, &taken->last); /* was checked */
        options.after = &taken->last;
    }
    do {
        options.limit = limit < PAGE_MAX ? limit : PAGE_MAX;
        err = take_page(session, table, &options, taken);
        options.after = &taken->last;
        limit -= taken->got;
    } while (err == CASCADE_OK && taken->got == options.limit && limit > 0);
    *more = limit == 0;
    return err;
}

static int
list(struct session *session, size_t limit)
{
    struct table table;
    struct taken taken = {.got = 0};
    bool more = false;

    table_init(&table, columns, sizeof(columns) / sizeof(columns[0]));
    cascade_err err = take_all(session, &table, limit, &taken, &more);
    if (err == CASCADE_OK && !session->out.json)
        err = table_print(&table, &session->out);
    table_free(&table);
    int code = session_end(NULL, err);
    if (code == EXIT_DONE && more && session->out.terminal)
        fputs("There may be more: see --limit and --after.\n", stderr);
    if (code == EXIT_DONE && taken.unreadable > 0)
        fprintf(stderr,
                "%zu cascades are left out, as their rows cannot be read: see "
                "`cascade verify`.\n",
                taken.unreadable);
    return code;
}

/* How many cascades a terminal has room for; `limit` where it is none. */
static size_t
fitting(const struct out *out, size_t limit)
{
    struct winsize size;

    if (!out->terminal || ioctl(fileno(out->stream), TIOCGWINSZ, &size) != 0 ||
        size.ws_row <= WATCH_LINES)
        return limit;
    size_t rows = size.ws_row - (size_t)WATCH_LINES;
    return rows < limit ? rows : limit;
}

/* One look. On a terminal it stands in the place of the last one, and what is
 * too wide is cut instead of wrapped; only meanwhile, whatever ends us. */
static int
look(struct session *session, size_t limit)
{
    struct out *out = &session->out;
    char time[MOMENT_SIZE];

    if (out->terminal)
        out_plain(out, "\033[?7l\033[H\033[2J");
    if (!out->json)
        out_format(out, "%s\n", moment_text(session_now(session), time));
    int code = list(session, out->json ? limit : fitting(out, limit));
    if (out->terminal)
        out_plain(out, "\033[?7h");
    return out_flush(out) ? code : EXIT_FAILED;
}

static int
watch(struct session *session, size_t limit)
{
    int64_t every_ms = session->settings->number[OPTION_WATCH];
    int code = EXIT_DONE;

    interrupt_hold();
    do {
        code = look(session, limit);
    } while (code == EXIT_DONE &&
             !interrupt_wait(every_ms > 0 ? every_ms : WATCH_MS));
    if (session->out.terminal)
        out_plain(&session->out, "\n"); /* behind the ^C */
    return code == EXIT_DONE ? EXIT_INTERRUPTED : code;
}

int
run_ps(struct session *session)
{
    const struct settings *settings = session->settings;
    size_t limit = settings_has(settings, OPTION_LIMIT)
                       ? (size_t)settings->number[OPTION_LIMIT]
                       : LIMIT;

    if (settings_has(settings, OPTION_WATCH))
        return watch(session, limit);
    return list(session, limit);
}
