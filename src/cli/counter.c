/* SPDX-License-Identifier: MIT */
#include "counter.h"

#include "exit.h"
#include "input.h"
#include "text/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LINE "cascade-counter 1"

/* ---- Writing ------------------------------------------------------------- */

static void put(struct counter *counter, const char *format, ...)
    CASCADE_PRINTF(2, 3);

static void
put(struct counter *counter, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    if (counter->error == 0 && vfprintf(counter->out, format, arguments) < 0)
        counter->error = errno;
    va_end(arguments);
}

static int
open_out(struct counter *counter)
{
    int fd = open(counter->out_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                  S_IRUSR | S_IWUSR);

    if (fd >= 0)
        counter->out = fdopen(fd, "w");
    if (counter->out == NULL)
        return input_refuse(counter->out_path,
                            errno == EEXIST
                                ? "it is there already; name another file"
                                : strerror(errno));
    put(counter, FIRST_LINE "\n");
    return EXIT_DONE;
}

bool
counter_put(struct counter *counter, const cascade_seal_count *count)
{
    char id[CASCADE_UUID_TEXT_SIZE];

    if (counter->out == NULL)
        return true;
    put(counter, "%s %" PRId64 " %s\n", cascade_uuid_format(&count->id, id),
        count->number, count->seal);
    counter->written++;
    return counter->error == 0;
}

static int
close_out(struct counter *counter, bool whole)
{
    if (whole)
        put(counter, "end %" PRId64 "\n", counter->written);
    if (whole && counter->error == 0 &&
        (fflush(counter->out) != 0 || fsync(fileno(counter->out)) != 0))
        counter->error = errno;
    if (fclose(counter->out) != 0 && counter->error == 0)
        counter->error = errno;
    counter->out = NULL;
    if (!whole || counter->error != 0)
        (void)unlink(counter->out_path);
    if (counter->error == 0)
        return EXIT_DONE;
    input_refuse(counter->out_path, strerror(counter->error));
    return EXIT_FAILED;
}

/* ---- Reading ------------------------------------------------------------- */

/* Without its line break; false: there is none, or it is too long. */
static bool
read_line(struct counter *counter, FILE *in)
{
    size_t len = 0;

    counter->lines++;
    if (fgets(counter->line, sizeof(counter->line), in) == NULL)
        return false;
    len = strlen(counter->line);
    if (len == 0 || counter->line[len - 1] != '\n')
        return false;
    counter->line[len - 1] = '\0';
    return true;
}

static int
open_in(struct counter *counter)
{
    FILE *in = fopen(counter->in_path, "re");

    if (in == NULL)
        return input_refuse(counter->in_path, strerror(errno));
    if (!read_line(counter, in) || strcmp(counter->line, FIRST_LINE) != 0) {
        (void)fclose(in);
        return input_refuse(counter->in_path,
                            "it is no counter, which `cascade "
                            "verify --counter` writes");
    }
    counter->in = in;
    return EXIT_DONE;
}

/* Digits, up to what stands behind; 0: there is no such number. */
static int64_t
read_number(const char *text, char behind)
{
    char *end = NULL;

    errno = 0;
    long long number = strtoll(text, &end, 10);
    return *text >= '1' && *text <= '9' && errno == 0 && *end == behind ? number
                                                                        : 0;
}

static cascade_err
find_wrong(struct counter *counter, const char *what)
{
    counter->wrong = what;
    return CASCADE_ERR_INVALID;
}

static cascade_err
read_end(struct counter *counter)
{
    char wanted[32];

    (void)snprintf(wanted, sizeof(wanted), "end %" PRId64, counter->lines - 2);
    if (strcmp(counter->line, wanted) != 0)
        return find_wrong(counter, "it tells of another count than there is");
    if (fgetc(counter->in) != EOF)
        return find_wrong(counter, "something stands behind its end");
    return CASCADE_ERR_NOT_FOUND;
}

cascade_err
counter_next(struct counter *counter, cascade_seal_count *count)
{
    char *number = NULL;

    if (!read_line(counter, counter->in))
        return find_wrong(counter, ferror(counter->in) != 0
                                       ? "it cannot be read"
                                       : "it ends before its end, or the line "
                                         "is none of a counter");
    if (strncmp(counter->line, "end ", 4) == 0)
        return read_end(counter);
    number = strchr(counter->line, ' ');
    if (number != NULL)
        *number++ = '\0';
    count->seal = number != NULL ? strchr(number, ' ') : NULL;
    if (count->seal == NULL || count->seal[1] == '\0' ||
        cascade_uuid_parse(counter->line, &count->id) != CASCADE_OK)
        return find_wrong(counter, "the line is none of a counter");
    count->number = read_number(number, ' ');
    count->seal++;
    if (count->number == 0)
        return find_wrong(counter, "the line is none of a counter");
    if (memcmp(&counter->last, &count->id, sizeof(count->id)) >= 0)
        return find_wrong(counter, "the ids do not ascend");
    counter->last = count->id;
    return CASCADE_OK;
}

static int
close_in(struct counter *counter)
{
    (void)fclose(counter->in);
    counter->in = NULL;
    if (counter->wrong == NULL)
        return EXIT_DONE;
    fputs("cascade: ", stderr);
    text_write(stderr, counter->in_path);
    fprintf(stderr, ", line %" PRId64 ": %s\n", counter->lines, counter->wrong);
    return EXIT_USAGE;
}

/* ---- Both ---------------------------------------------------------------- */

int
counter_open(const struct settings *settings, struct counter *counter)
{
    int code = EXIT_DONE;

    *counter = (struct counter){
        .in_path = settings->text[OPTION_AGAINST],
        .out_path = settings->text[OPTION_COUNTER],
    };
    if (counter->in_path != NULL)
        code = open_in(counter);
    if (code == EXIT_DONE && counter->out_path != NULL)
        code = open_out(counter);
    return code;
}

int
counter_close(struct counter *counter, bool whole)
{
    int code = EXIT_DONE;

    if (counter->in != NULL)
        code = close_in(counter);
    if (counter->out != NULL) {
        int out_code = close_out(counter, whole);
        code = code == EXIT_DONE ? out_code : code;
    }
    return code;
}
