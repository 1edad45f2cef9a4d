/* SPDX-License-Identifier: MIT
 *
 * What is read is not judged here: the library refuses what is no JSON.
 */
#include "input.h"

#include "text/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX ((size_t)256 << 20)
#define PORTION 65536

int
input_refuse(const char *path, const char *why)
{
    fputs("cascade: ", stderr);
    text_write(stderr, path);
    fprintf(stderr, ": %s\n", why);
    return EXIT_USAGE;
}

static const char *
read_all(FILE *file, char **text)
{
    size_t len = 0;
    size_t room = 0;
    char *all = NULL;

    for (;;) {
        if (len + PORTION + 1 > room) {
            room = 2 * room + PORTION + 1;
            char *grown = room > INPUT_MAX ? NULL : realloc(all, room);
            if (grown == NULL) {
                free(all);
                return room > INPUT_MAX ? "it is too large" : "out of memory";
            }
            all = grown;
        }
        size_t got = fread(all + len, 1, PORTION, file);
        len += got;
        if (got == 0)
            break;
    }
    all[len] = '\0';
    *text = all;
    if (ferror(file) != 0)
        return strerror(errno);
    return strlen(all) == len ? NULL : "it holds a NUL byte";
}

int
input_file(const char *path, char **text)
{
    bool standard = strcmp(path, "-") == 0;
    FILE *file = standard ? stdin : fopen(path, "re");
    char *all = NULL;

    if (file == NULL)
        return input_refuse(path, strerror(errno));
    const char *wrong = read_all(file, &all);
    if (!standard)
        (void)fclose(file);
    if (wrong == NULL) {
        *text = all;
        return EXIT_DONE;
    }
    free(all);
    return input_refuse(standard ? "standard input" : path, wrong);
}

/* The text itself, of @FILE, or of - standard input. */
static int
read_given(const char *given, char **text)
{
    if (strcmp(given, "-") == 0)
        return input_file(given, text);
    if (*given == '@')
        return input_file(given + 1, text);
    *text = strdup(given);
    if (*text != NULL)
        return EXIT_DONE;
    fputs("cascade: out of memory\n", stderr);
    return EXIT_FAILED;
}

int
input_read(const struct session *session, enum option_id option, char **text)
{
    const char *given = session->settings->text[option];

    *text = NULL;
    return given != NULL ? read_given(given, text) : EXIT_DONE;
}

int
input_secret(const char *given, char **text)
{
    static const char blanks[] = " \t\r\n";
    int code = read_given(given, text);

    if (code != EXIT_DONE)
        return code;
    size_t begin = strspn(*text, blanks);
    size_t len = strlen(*text + begin);
    while (len > 0 && strchr(blanks, (*text)[begin + len - 1]) != NULL)
        len--;
    memmove(*text, *text + begin, len);
    (*text)[len] = '\0';
    return EXIT_DONE;
}
