/* SPDX-License-Identifier: MIT
 *
 * schedule preview: what a pattern means, and when it fires. It needs no store:
 * the calls of schedule.h answer all.
 */
#include "input.h"
#include "table.h"
#include "text/moment.h"

#include <cascade/schedule.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COUNT_DEFAULT 10
/* Lists that may come to nothing; and the time behind which none is begun. */
#define ASKED_MAX 100
#define ASKED_MS 1000

/* What is to be shown. */
struct preview {
    cascade_spec *spec;
    int64_t from_ms;
    size_t wanted;
    cascade_spec_fire *fires;
    size_t count;
    int64_t more_ms; /* where the last list ended; INT64_MAX: with all */
};

/* ---- The command line ---------------------------------------------------- */

/* Exactly one of a pattern, --every and --spec; the other options go with the
 * first two. */
static int
check_usage(const struct settings *settings)
{
    int sources = (settings->operand_count > 1) +
                  settings_has(settings, OPTION_EVERY) +
                  settings_has(settings, OPTION_SPEC);

    if (strcmp(settings->operands[0], "preview") != 0)
        return settings_refuse(settings,
                               "there is only `cascade schedule preview`");
    if (sources != 1)
        return settings_refuse(settings, "it needs a pattern like '0 9 * * *', "
                                         "--every or --spec, one of them");
    if (settings_has(settings, OPTION_EVERY) &&
        settings_has(settings, OPTION_DIALECT))
        return settings_refuse(settings, "a dialect is of patterns: --every "
                                         "has none");
    if (settings_has(settings, OPTION_SPEC) &&
        (settings_has(settings, OPTION_ZONE) ||
         settings_has(settings, OPTION_DIALECT)))
        return settings_refuse(settings, "with --spec the zone and the dialect "
                                         "stand in the spec");
    return EXIT_DONE;
}

static bool
add_text(cJSON *object, const char *name, const char *text)
{
    return text == NULL || cJSON_AddStringToObject(object, name, text) != NULL;
}

/* The pattern or the interval as the text of a spec; NULL: out of memory. */
static char *
write_spec(const struct settings *settings)
{
    cJSON *object = cJSON_CreateObject();
    const char *cron =
        settings->operand_count > 1 ? settings->operands[1] : NULL;
    char *text = NULL;

    if (object != NULL && add_text(object, "cron", cron) &&
        add_text(object, "every", settings->text[OPTION_EVERY]) &&
        add_text(object, "zone", settings->text[OPTION_ZONE]) &&
        add_text(object, "dialect", settings->text[OPTION_DIALECT]))
        text = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    return text;
}

/* A zone that is not there is a wrong input: "not found" says that nothing
 * fires. */
static int
end_open(cascade_err err)
{
    int code = session_end(NULL, err);

    return err == CASCADE_ERR_NOT_FOUND || err == CASCADE_ERR_UNSUPPORTED
               ? EXIT_USAGE
               : code;
}

static int
open_spec(const struct settings *settings, cascade_spec **spec)
{
    char *text = NULL;

    if (settings_has(settings, OPTION_SPEC)) {
        int code = input_file(settings->text[OPTION_SPEC], &text);
        if (code != EXIT_DONE)
            return code;
    } else {
        text = write_spec(settings);
        if (text == NULL)
            return session_fail(NULL, CASCADE_ERR_NO_MEMORY);
    }
    cascade_err err = cascade_spec_create(text, NULL, spec);
    free(text);
    return end_open(err);
}

/* As times in a spec are read. */
static cascade_err
read_time(const char *text, int64_t *at_ms)
{
    cJSON *object = cJSON_CreateObject();
    char *spec_text = NULL;
    cascade_spec *spec = NULL;
    cascade_spec_fire fire = {.at_ms = 0};
    cascade_err err = CASCADE_ERR_NO_MEMORY;

    if (object != NULL && add_text(object, "at", text))
        spec_text = cJSON_PrintUnformatted(object);
    if (spec_text != NULL)
        err = cascade_spec_create(spec_text, NULL, &spec);
    if (err == CASCADE_OK)
        err = cascade_spec_next(spec, INT64_MIN, &fire);
    if (err == CASCADE_OK)
        *at_ms = fire.at_ms;
    cascade_spec_free(spec);
    free(spec_text);
    cJSON_Delete(object);
    return err;
}

static int
find_from(const struct settings *settings, int64_t *from_ms)
{
    const char *given = settings->text[OPTION_FROM_TIME];
    struct timespec now;

    if (given != NULL) {
        cascade_err err = read_time(given, from_ms);
        if (err != CASCADE_ERR_INVALID && err != CASCADE_ERR_JSON)
            return session_end(NULL, err);
        return settings_refuse(settings,
                               "--from is a time with its offset such as "
                               "2026-03-08T00:00-05:00 or 2026-03-08T05:00Z, "
                               "of the years 1970 to 2199");
    }
    (void)clock_gettime(CLOCK_REALTIME, &now);
    *from_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    return EXIT_DONE;
}

/* ---- Fires --------------------------------------------------------------- */

static int64_t
passed_ms(const struct timespec *since)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(now.tv_sec - since->tv_sec) * 1000 +
           (now.tv_nsec - since->tv_nsec) / 1000000;
}

static cascade_err
find_fires(struct preview *preview)
{
    cascade_err err = CASCADE_OK;
    struct timespec began;

    (void)clock_gettime(CLOCK_MONOTONIC, &began);
    preview->more_ms = preview->from_ms;
    for (int asked = 0;
         err == CASCADE_OK && asked < ASKED_MAX &&
         preview->count < preview->wanted && preview->more_ms < INT64_MAX &&
         passed_ms(&began) < ASKED_MS;
         asked++) {
        size_t got = 0;
        err = cascade_spec_list(preview->spec, preview->more_ms, INT64_MAX,
                                preview->fires + preview->count,
                                preview->wanted - preview->count, &got,
                                &preview->more_ms);
        preview->count += got;
    }
    return err;
}

/* What to say of a change of clocks. */
static const char *
clock_mark(const cascade_spec_fire *fire, char *text, size_t size)
{
    switch (fire->clock) {
    case CASCADE_SPEC_CLOCK_ONCE:
        snprintf(text, size, "-");
        break;
    case CASCADE_SPEC_CLOCK_GAP:
        snprintf(text, size, "moved: clocks leave out %s", fire->nominal);
        break;
    case CASCADE_SPEC_CLOCK_FOLD:
        snprintf(text, size, "clocks show this more than once");
        break;
    }
    return text;
}

static bool
is_marked(const struct preview *preview)
{
    size_t i = 0;

    while (i < preview->count &&
           preview->fires[i].clock == CASCADE_SPEC_CLOCK_ONCE)
        i++;
    return i < preview->count;
}

static cascade_err
put_people(struct out *out, const struct preview *preview)
{
    static const struct table_column columns[] = {
        {"LOCAL", 0, false}, {"UTC", 20, false}, {"CLOCKS", 0, false}};
    struct table table;
    char mark[CASCADE_SPEC_FIRE_TEXT_SIZE + 40];
    char time[MOMENT_SIZE];

    bool marked = is_marked(preview);

    table_init(&table, columns, marked ? 3 : 2);
    for (size_t i = 0; i < preview->count; i++) {
        const cascade_spec_fire *fire = &preview->fires[i];
        /* The zone is told above. */
        table_add_format(&table, STYLE_NONE, "%.*s",
                         (int)strcspn(fire->local, "["), fire->local);
        table_add(&table, STYLE_FAINT, moment_text(fire->at_ms, time));
        if (marked)
            table_add(&table, STYLE_BUSY, clock_mark(fire, mark, sizeof(mark)));
    }
    cascade_err err = table_print(&table, out);
    table_free(&table);
    return err;
}

static cascade_err
put_json(struct out *out, const struct preview *preview)
{
    static const char *const clocks[] = {[CASCADE_SPEC_CLOCK_ONCE] = "once",
                                         [CASCADE_SPEC_CLOCK_GAP] = "gap",
                                         [CASCADE_SPEC_CLOCK_FOLD] = "fold"};
    static const char *const sources[] = {[CASCADE_SPEC_SOURCE_CRON] = "cron",
                                          [CASCADE_SPEC_SOURCE_EVERY] = "every",
                                          [CASCADE_SPEC_SOURCE_AT] = "at"};
    cascade_err err = CASCADE_OK;

    for (size_t i = 0; i < preview->count && err == CASCADE_OK; i++) {
        const cascade_spec_fire *fire = &preview->fires[i];
        struct object object;
        object_init(&object);
        object_time(&object, "at", fire->at_ms);
        object_text(&object, "local", fire->local);
        object_text(&object, "nominal", fire->nominal);
        object_text(&object, "clock", clocks[fire->clock]);
        object_text(&object, "source", sources[fire->source]);
        object_number(&object, "entry", (int64_t)fire->entry + 1);
        err = out_object(out, &object);
    }
    return err;
}

static cascade_err
put_spec(struct out *out, const cascade_spec *spec)
{
    char *told = NULL;
    struct object object;
    cascade_err err = cascade_spec_describe(spec, &told);

    if (err == CASCADE_OK && out->json) {
        object_init(&object);
        object_payload(&object, "spec", cascade_spec_text(spec));
        object_text(&object, "description", told);
        err = out_object(out, &object);
    } else if (err == CASCADE_OK) {
        out_plain(out, told);
        out_plain(out, "\n\n");
    }
    cascade_text_free(told);
    return err;
}

/* Nothing fires from --from on: that is final. Whether it ever did is another
 * question. */
static int
tell_none(const struct preview *preview)
{
    char time[MOMENT_SIZE];
    cascade_spec_fire fire;
    cascade_err err = cascade_spec_next(preview->spec, INT64_MIN, &fire);

    if (err != CASCADE_OK && err != CASCADE_ERR_AGAIN)
        return session_end(NULL, err);
    fprintf(stderr,
            "cascade: spec: it does not fire at or behind %s (--from)\n",
            moment_exact(preview->from_ms, time));
    return EXIT_NOT_FOUND;
}

/* Where there are fewer than were wanted: that these are all, or how far it was
 * looked. */
static int
tell_end(struct out *out, const struct preview *preview)
{
    char time[MOMENT_SIZE];

    if (preview->count == preview->wanted)
        return EXIT_DONE;
    if (preview->more_ms < INT64_MAX) {
        fprintf(stderr,
                "cascade: no more before %s, which is as far as was looked; "
                "--from goes on from there\n",
                moment_text(preview->more_ms, time));
        return preview->count > 0 ? EXIT_DONE : EXIT_NOT_YET;
    }
    if (preview->count == 0)
        return tell_none(preview);
    if (!out->json)
        out_plain(out, "It does not fire any more.\n");
    return EXIT_DONE;
}

static int
show(struct session *session, struct preview *preview)
{
    struct out *out = &session->out;
    cascade_err err = find_fires(preview);

    if (err == CASCADE_OK)
        err = put_spec(out, preview->spec);
    if (err == CASCADE_OK && out->json)
        err = put_json(out, preview);
    else if (err == CASCADE_OK && preview->count > 0)
        err = put_people(out, preview);
    return err == CASCADE_OK ? tell_end(out, preview) : session_fail(NULL, err);
}

int
run_schedule(struct session *session)
{
    const struct settings *settings = session->settings;
    struct preview preview = {.wanted = COUNT_DEFAULT};
    int code = check_usage(settings);

    if (settings_has(settings, OPTION_COUNT_FIRES))
        preview.wanted = (size_t)settings->number[OPTION_COUNT_FIRES];
    if (code == EXIT_DONE)
        code = find_from(settings, &preview.from_ms);
    if (code == EXIT_DONE)
        code = open_spec(settings, &preview.spec);
    if (code == EXIT_DONE) {
        preview.fires = calloc(preview.wanted, sizeof(*preview.fires));
        code = preview.fires != NULL
                   ? show(session, &preview)
                   : session_fail(NULL, CASCADE_ERR_NO_MEMORY);
    }
    free(preview.fires);
    cascade_spec_free(preview.spec);
    return code;
}
