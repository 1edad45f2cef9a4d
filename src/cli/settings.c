/* SPDX-License-Identifier: MIT
 *
 * getopt_long() finds options and operands; what it finds wrong is said here,
 * in the words of the table, and without repeating what may be an address with
 * a password.
 */
#include "settings.h"

#include "exit.h"
#include "text/moment.h"
#include "text/text.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* getopt's values of our options: above all characters. */
#define VALUE_BASE 256

bool
settings_has(const struct settings *settings, enum option_id option)
{
    return settings->text[option] != NULL;
}

const char *
settings_by(const struct settings *settings)
{
    const char *by = settings->text[OPTION_BY];
    const struct passwd *user;

    if (by == NULL)
        by = getenv("CASCADE_BY");
    if (by != NULL && *by != '\0')
        return by;
    user = getpwuid(geteuid());
    return user != NULL ? user->pw_name : NULL;
}

int
settings_refuse(const struct settings *settings, const char *format, ...)
{
    char *text = NULL;
    va_list arguments;

    va_start(arguments, format);
    int len = vasprintf(&text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "cascade %s: ", settings->command->name);
    text_write(stderr, len < 0 ? "out of memory" : text);
    fprintf(stderr, "\nSee `cascade help %s`.\n", settings->command->name);
    if (len >= 0)
        free(text);
    return EXIT_USAGE;
}

static bool
read_number(const struct option_spec *option, const char *text, int64_t *number)
{
    char *end = NULL;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    *number = value;
    return errno == 0 && (*text == '-' || (*text >= '0' && *text <= '9')) &&
           end != text && *end == '\0' && value >= option->min &&
           value <= option->max;
}

int64_t
settings_place(const char *choices, const char *text)
{
    size_t len = strlen(text);

    for (int64_t place = 1; *choices != '\0'; place++) {
        size_t word = strcspn(choices, "|");
        if (word == len && strncmp(choices, text, len) == 0)
            return place;
        choices += word + (choices[word] == '|');
    }
    return 0;
}

/* Reads the value of an option that was found; false when it is no good. */
static bool
read_value(struct settings *settings, enum option_id id, char *text)
{
    const struct option_spec *option = &option_table[id];
    int64_t *number = &settings->number[id];
    cascade_uuid unused;

    /* getopt_long() leaves none out but where it may be. */
    assert(text != NULL || option->kind == KIND_FLAG ||
           option->kind == KIND_WAIT);
    settings->text[id] = text != NULL ? text : "";
    switch (option->kind) {
    case KIND_FLAG:
    case KIND_TEXT:
    case KIND_JSON:
        return true;
    case KIND_NUMBER:
        return read_number(option, text, number);
    case KIND_DURATION:
        return moment_read_duration(text, number);
    case KIND_WAIT:
        *number = -1;
        return text == NULL || moment_read_duration(text, number);
    case KIND_CHOICE:
        *number = settings_place(option->value, text);
        return *number != 0;
    case KIND_UUID:
        return cascade_uuid_parse(text, &unused) == CASCADE_OK;
    case KIND_MANY:
        settings->many[settings->many_count++] = text;
        return true;
    }
    return false;
}

static void
refuse_value(const struct settings *settings, enum option_id id,
             const char *text)
{
    const struct option_spec *option = &option_table[id];

    if (option->kind == KIND_NUMBER)
        settings_refuse(
            settings,
            "--%s is a number from %" PRId64 " to %" PRId64 ", not '%s'",
            option->name, option->min, option->max, text_shown(text));
    else if (option->kind == KIND_UUID)
        settings_refuse(settings,
                        "--%s is an id such as "
                        "01234567-89ab-4cde-8f01-23456789abcd, "
                        "not '%s'",
                        option->name, text_shown(text));
    else if (option->kind == KIND_CHOICE)
        settings_refuse(settings, "--%s is %s, not '%s'", option->name,
                        option->value, text_shown(text));
    else
        settings_refuse(settings,
                        "--%s is a time such as 90s, 5m, 2h or 7d, "
                        "not '%s'",
                        option->name, text_shown(text));
}

/* getopt's form of the command's options, up to an empty one. */
static void
list_options(const struct command *command, struct option *list)
{
    size_t count = 0;

    for (;; count++) {
        enum option_id id = command_option(command, count);
        if (id == OPTION_COUNT)
            break;
        enum option_kind kind = option_table[id].kind;
        list[count] = (struct option){
            .name = option_table[id].name,
            .has_arg = kind == KIND_FLAG   ? no_argument
                       : kind == KIND_WAIT ? optional_argument
                                           : required_argument,
            .val = VALUE_BASE + (int)id,
        };
    }
    list[count] = (struct option){.name = NULL};
}

/* What getopt_long() found wrong with `word`; its `optopt` is a known option
 * where only the value is. What stands behind the name of an unknown one is not
 * repeated. */
static void
refuse_option(const struct settings *settings, int found, const char *word)
{
    size_t name_len = strcspn(word, ":@=");

    if (found == ':')
        settings_refuse(settings, "%s needs a value", text_shown(word));
    else if (optopt >= VALUE_BASE)
        settings_refuse(settings, "--%s takes no value",
                        option_table[optopt - VALUE_BASE].name);
    else if (word[name_len] == '=')
        settings_refuse(settings, "there is no option %.*s", (int)name_len,
                        word);
    else
        settings_refuse(settings, "there is no option %s", text_shown(word));
}

static bool
read_options(int argc, char **argv, struct settings *settings)
{
    struct option list[OPTION_COUNT + 1];
    int value = 0;

    list_options(settings->command, list);
    opterr = 0;
    while ((value = getopt_long(argc, argv, ":h", list, NULL)) != -1) {
        if (value == 'h')
            value = VALUE_BASE + OPTION_HELP;
        if (value < VALUE_BASE) {
            refuse_option(settings, value, argv[optind - 1]);
            return false;
        }
        enum option_id id = (enum option_id)(value - VALUE_BASE);
        if (!read_value(settings, id, optarg)) {
            refuse_value(settings, id, optarg);
            return false;
        }
    }
    return true;
}

static bool
check_operands(const struct settings *settings)
{
    const struct command *command = settings->command;

    if (settings->operand_count < command->operand_min) {
        settings_refuse(settings, "it needs %s", command->operands);
        return false;
    }
    if (command->operand_max < 0 ||
        settings->operand_count <= command->operand_max)
        return true;
    settings_refuse(settings, "'%s' is too much",
                    text_shown(settings->operands[command->operand_max]));
    return false;
}

bool
settings_read(int argc, char **argv, struct settings *settings)
{
    const struct command *command = settings->command;

    *settings = (struct settings){.command = command};
    settings->many = calloc((size_t)argc + 1, sizeof(*settings->many));
    if (settings->many == NULL) {
        fputs("cascade: out of memory\n", stderr);
        return false;
    }
    if (!read_options(argc, argv, settings))
        return false;
    settings->operands = argv + optind;
    settings->operand_count = argc - optind;
    return settings_has(settings, OPTION_HELP) || check_operands(settings);
}

void
settings_free(struct settings *settings)
{
    free(settings->many);
    settings->many = NULL;
}
