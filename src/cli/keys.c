/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include "input.h"
#include "text/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLANKS " \t\r\n"

/* Through a volatile pointer: nobody may leave out what is read no more. */
void
keys_free(struct keys *keys)
{
    volatile char *bytes = keys->text;

    for (size_t i = 0; i < keys->len; i++)
        bytes[i] = 0;
    free(keys->text);
    *keys = (struct keys){.count = 0};
}

static cascade_err
give(void *context, size_t number, cascade_secret *secret)
{
    const struct keys *keys = context;

    if (number >= keys->count)
        return CASCADE_ERR_NOT_FOUND;
    *secret = keys->secrets[number];
    return CASCADE_OK;
}

/* ---- Where they are ------------------------------------------------------ */

/* NULL: nobody has given any. `*file`: it is the name of one. */
static const char *
find_given(const struct settings *settings, bool *file)
{
    const char *given = settings->text[OPTION_SECRETS];

    *file = given != NULL;
    if (given != NULL)
        return given;
    given = getenv("CASCADE_SECRETS");
    if (given == NULL || *given == '\0')
        return NULL;
    *file = *given == '@';
    return *file ? given + 1 : given;
}

static int
read_mode(const struct settings *settings, bool has_keys,
          cascade_integrity_mode *mode)
{
    const char *choices = option_table[OPTION_INTEGRITY].value;
    const char *word = getenv("CASCADE_INTEGRITY");
    int64_t place = settings->number[OPTION_INTEGRITY];

    if (place == 0 && word != NULL && *word != '\0') {
        place = settings_place(choices, word);
        if (place == 0)
            return settings_refuse(settings,
                                   "CASCADE_INTEGRITY is %s, not '%s'", choices,
                                   text_shown(word));
    }
    if (place == 0)
        place = has_keys ? 3 : 1;
    *mode = (cascade_integrity_mode)(place - 1);
    return EXIT_DONE;
}

/* A key in the place of the file's name is not repeated. */
static int
read_text(const struct settings *settings, const char *given, bool file,
          char **text)
{
    if (!file) {
        *text = strdup(given);
        return *text != NULL ? EXIT_DONE : EXIT_FAILED;
    }
    if (strchr(given, ':') != NULL && access(given, F_OK) != 0)
        return settings_refuse(settings,
                               "--secrets names a file of keys; on a command "
                               "line anybody can read them");
    return input_file(given, text);
}

/* ---- What they are ------------------------------------------------------- */

static int
digit_of(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    if (digit >= 'a' && digit <= 'f')
        return digit - 'a' + 10;
    return digit >= 'A' && digit <= 'F' ? digit - 'A' + 10 : -1;
}

/* Where it stands; false: it is none. */
static bool
decode(char *hex, size_t *len)
{
    size_t count = strlen(hex) / 2;

    if (strlen(hex) % 2 != 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        int high = digit_of(hex[2 * i]);
        int low = digit_of(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        hex[i] = (char)(high << 4 | low);
    }
    *len = count;
    return true;
}

static int
add_key(const struct settings *settings, struct keys *keys, char *word)
{
    char *hex = strchr(word, ':');
    cascade_secret *secret = &keys->secrets[keys->count];

    if (keys->count == CASCADE_SECRETS_MAX)
        return settings_refuse(settings, "there are more than %d keys",
                               CASCADE_SECRETS_MAX);
    keys->count++;
    if (hex != NULL)
        *hex++ = '\0';
    secret->id = word;
    secret->bytes = hex;
    if (hex == NULL || !decode(hex, &secret->len))
        return settings_refuse(settings,
                               "key %zu of the secrets is not ID:HEX, as "
                               "`openssl rand -hex 32` makes the latter",
                               keys->count);
    return EXIT_DONE;
}

static void
blank_comments(char *text)
{
    while ((text = strchr(text, '#')) != NULL)
        memset(text, ' ', strcspn(text, "\n"));
}

static int
split(const struct settings *settings, struct keys *keys)
{
    char *rest = NULL;
    int code = EXIT_DONE;

    blank_comments(keys->text);
    for (char *word = strtok_r(keys->text, BLANKS, &rest);
         word != NULL && code == EXIT_DONE;
         word = strtok_r(NULL, BLANKS, &rest))
        code = add_key(settings, keys, word);
    return code;
}

static int
read_keys(const struct settings *settings, struct keys *keys, const char *given,
          bool file)
{
    int code = EXIT_DONE;

    if (given == NULL)
        return settings_refuse(settings, "hmac needs keys: give --secrets "
                                         "FILE, or set CASCADE_SECRETS");
    code = read_text(settings, given, file, &keys->text);
    if (code != EXIT_DONE)
        return code;
    keys->len = strlen(keys->text);
    code = split(settings, keys);
    if (code == EXIT_DONE && keys->count == 0)
        return settings_refuse(settings, "there is no key in the secrets");
    return code;
}

int
keys_read(const struct settings *settings, struct keys *keys)
{
    cascade_integrity *integrity = &keys->integrity;
    bool file = false;
    const char *given = find_given(settings, &file);
    int code = EXIT_DONE;

    *keys = (struct keys){.integrity = {.size = sizeof(*integrity)}};
    code = read_mode(settings, given != NULL, &integrity->mode);
    if (code != EXIT_DONE)
        return code;
    integrity->begin = CASCADE_INTEGRITY_BEGIN_NEVER;
    if (integrity->mode == CASCADE_INTEGRITY_HMAC) {
        integrity->secret = give;
        integrity->context = keys;
        return read_keys(settings, keys, given, file);
    }
    if (settings_has(settings, OPTION_SECRETS))
        return settings_refuse(settings, "--secrets is for --integrity hmac");
    return EXIT_DONE;
}
