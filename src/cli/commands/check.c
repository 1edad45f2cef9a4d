/* SPDX-License-Identifier: MIT
 *
 * verify, adopt and reseal: each finding is a line, written as it comes; what
 * was done is told at the end, for people on standard error, so that standard
 * output is empty where all is well.
 */
#include "ask.h"
#include "counter.h"
#include "interrupt.h"
#include "which.h"

#include <inttypes.h>
#include <string.h>

typedef cascade_err (*check_fn)(cascade_store *store,
                                const cascade_check_options *options,
                                cascade_check_report *report);

typedef cascade_err (*report_fn)(struct session *session,
                                 const cascade_check_report *report);

/* Where findings go, and whether that has failed. */
struct findings {
    struct out *out;
    cascade_err err;
    struct counter counter;
};

/* That of a cascade may be what cannot be read. */
static bool
is_known(const cascade_uuid *id)
{
    static const cascade_uuid none;

    return memcmp(id, &none, sizeof(none)) != 0;
}

static bool
put_finding(void *context, const cascade_uuid *id, int32_t function_id,
            const char *rule, const char *text)
{
    struct findings *findings = context;
    struct out *out = findings->out;
    char id_text[CASCADE_UUID_TEXT_SIZE];
    struct object object;

    ask_progress_end();
    if (!out->json) {
        out_plain(out, is_known(id) ? cascade_uuid_format(id, id_text) : "-");
        if (function_id >= 0)
            out_format(out, " %d", (int)function_id);
        out_plain(out, "  ");
        out_text(out, rule);
        out_plain(out, "  ");
        out_text(out, text);
        out_plain(out, "\n");
        return true;
    }
    object_init(&object);
    object_text(&object, "kind", "finding");
    if (is_known(id))
        object_id(&object, "id", id);
    object_place(&object, "function_id", function_id);
    object_text(&object, "rule", rule);
    object_text(&object, "text", text);
    findings->err = out_object(out, &object);
    return findings->err == CASCADE_OK;
}

static bool
put_progress(void *context, const cascade_progress *progress)
{
    (void)context;
    return ask_progress(NULL, progress);
}

static bool
put_count(void *context, const cascade_seal_count *count)
{
    return counter_put(&((struct findings *)context)->counter, count);
}

static cascade_err
next_count(void *context, cascade_seal_count *count)
{
    return counter_next(&((struct findings *)context)->counter, count);
}

static cascade_err
put_report(struct session *session, const cascade_check_report *report,
           bool adopts)
{
    struct out *out = &session->out;
    bool dry = settings_has(session->settings, OPTION_DRY_RUN);
    bool compares = settings_has(session->settings, OPTION_AGAINST);
    struct object object;

    if (!out->json) {
        fprintf(stderr,
                "%" PRId64 " cascades, %" PRId64 " executions, %" PRId64
                " context events: %" PRId64 " found",
                report->cascades, report->executions, report->events,
                report->findings);
        if (adopts)
            fprintf(stderr,
                    ", %" PRId64 " cascades %s, %" PRId64 " not known, %" PRId64
                    " not readable",
                    report->repaired, dry ? "would be changed" : "changed",
                    report->unknown, report->unreadable);
        else if (report->unknown > 0)
            fprintf(stderr, ", %" PRId64 " not judged whole", report->unknown);
        if (compares)
            fprintf(stderr, ", %" PRId64 " compared with the counter",
                    report->compared);
        if (adopts && report->left > 0)
            fprintf(stderr, ", %" PRId64 " do not fit their seals",
                    report->left);
        fputc('\n', stderr);
        return CASCADE_OK;
    }
    object_init(&object);
    object_text(&object, "kind", "report");
    object_number(&object, "cascades", report->cascades);
    object_number(&object, "executions", report->executions);
    object_number(&object, "events", report->events);
    object_number(&object, "findings", report->findings);
    if (adopts)
        object_number(&object, "repaired", report->repaired);
    object_number(&object, "unknown", report->unknown);
    if (compares)
        object_number(&object, "compared", report->compared);
    if (adopts) {
        object_number(&object, "unreadable", report->unreadable);
        object_number(&object, "left", report->left);
        object_bool(&object, "dry_run", dry);
    }
    return out_object(out, &object);
}

static cascade_err
put_verified(struct session *session, const cascade_check_report *report)
{
    return put_report(session, report, false);
}

static cascade_err
put_adopted(struct session *session, const cascade_check_report *report)
{
    return put_report(session, report, true);
}

static cascade_err
put_resealed(struct session *session, const cascade_check_report *report)
{
    bool dry = settings_has(session->settings, OPTION_DRY_RUN);
    struct object object;

    if (!session->out.json) {
        fprintf(stderr,
                "%" PRId64 " cascades, %" PRId64 " %s: %" PRId64
                " found, %" PRId64 " left to engines, %" PRId64
                " messages with another key\n",
                report->cascades, report->repaired,
                dry ? "would be sealed" : "sealed", report->findings,
                report->left, report->messages);
        return CASCADE_OK;
    }
    object_init(&object);
    object_text(&object, "kind", "report");
    object_number(&object, "cascades", report->cascades);
    object_number(&object, "sealed", report->repaired);
    object_number(&object, "findings", report->findings);
    object_number(&object, "left", report->left);
    object_number(&object, "messages", report->messages);
    object_number(&object, "unreadable", report->unreadable);
    object_bool(&object, "dry_run", dry);
    return out_object(&session->out, &object);
}

/* Once all is open. */
static int
call_check(struct session *session, check_fn call,
           const cascade_check_options *options, cascade_check_report *report,
           struct findings *findings)
{
    struct counter *counter = &findings->counter;

    interrupt_hold();
    cascade_err err = call(session->store, options, report);
    ask_progress_end();
    int code = counter_close(counter, err == CASCADE_OK);
    if (code != EXIT_DONE || err == CASCADE_OK)
        return code;
    return findings->err != CASCADE_OK ? (int)exit_of(findings->err)
                                       : session_fail(NULL, err);
}

static int
check(struct session *session, check_fn call, cascade_check_report *report,
      report_fn put)
{
    struct findings findings = {.out = &session->out};
    cascade_check_options options = {
        .size = sizeof(options),
        .finding = put_finding,
        .progress = put_progress,
        .context = &findings,
        .dry_run = settings_has(session->settings, OPTION_DRY_RUN),
        .trust = settings_has(session->settings, OPTION_TRUST),
    };
    cascade_uuid id;
    int code = EXIT_DONE;

    if (session->settings->operand_count > 0) {
        code = which_one(session, &id, NULL);
        options.id = &id;
    }
    if (code == EXIT_DONE)
        code = counter_open(session->settings, &findings.counter);
    if (code != EXIT_DONE) {
        (void)counter_close(&findings.counter, false);
        return code;
    }
    options.counted = findings.counter.out != NULL ? put_count : NULL;
    options.known = findings.counter.in != NULL ? next_count : NULL;
    code = call_check(session, call, &options, report, &findings);
    if (code != EXIT_DONE)
        return code;
    return session_end(NULL, put(session, report));
}

int
run_verify(struct session *session)
{
    cascade_check_report report = {.size = sizeof(report)};
    int code = check(session, cascade_verify, &report, put_verified);

    return code == EXIT_DONE && report.findings > 0 ? EXIT_FINDINGS : code;
}

/* Trust is asked for. */
static bool
may_trust(struct session *session)
{
    return !settings_has(session->settings, OPTION_TRUST) ||
           settings_has(session->settings, OPTION_DRY_RUN) ||
           ask(session, "Seal what is there as it stands?");
}

int
run_adopt(struct session *session)
{
    cascade_check_report report = {.size = sizeof(report)};

    if (!may_trust(session))
        return EXIT_REFUSED;
    int code = check(session, cascade_adopt, &report, put_adopted);
    bool left = report.unreadable > 0 || report.left > 0;
    return code == EXIT_DONE && left ? EXIT_FINDINGS : code;
}

int
run_reseal(struct session *session)
{
    cascade_check_report report = {.size = sizeof(report)};

    if (!may_trust(session))
        return EXIT_REFUSED;
    int code = check(session, cascade_seal_renew, &report, put_resealed);
    return code == EXIT_DONE && report.findings > 0 ? EXIT_FINDINGS : code;
}
