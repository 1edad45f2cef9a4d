/* SPDX-License-Identifier: MIT
 *
 * Reads the text of a table or index, as the schema of a database keeps it, for
 * what it would have SQLite run when a row is written.
 *
 * A file may come from anybody. An expression in a CHECK, a DEFAULT or the
 * WHERE of an index runs inside our statements, and one call of one function
 * may build hundreds of megabytes, or take minutes, between two looks at the
 * deadline. So such an expression may only use what takes no longer, and gives
 * no more, than what it is given: see `harmless`. A DEFAULT sees no data, only
 * what stands in the text, so it may put texts together, and call what the
 * tables of the library call.
 *
 *   depth 0   CREATE TABLE name (         INDEX name ON table (   ) WHERE ...
 *   depth 1       column type(9) CHECK (  names only
 *   depth 2           an expression
 *
 * At depth 0 and 1 a "(" behind a word is that of a type, a key or a list of
 * columns: SQLite's grammar has no call there. This is no parser: SQLite has
 * read the text before, so it is well-formed where it counts.
 */
#include "store/sqlite/internal.h"

#include <string.h>

#include "cascade/cascade.h"

#define WORD_SIZE 40

typedef enum token_kind {
    TOKEN_END,
    TOKEN_WORD,   /* a name, a keyword or a number */
    TOKEN_QUOTED, /* a name or text in quotes */
    TOKEN_SIGN    /* one character, or "||" or "->" */
} token_kind;

typedef struct ddl_token {
    token_kind kind;
    char text[WORD_SIZE]; /* cut: what is longer equals nothing we look for */
} ddl_token;

typedef enum region {
    REGION_NONE,
    REGION_CHECK,  /* runs over the data of a row */
    REGION_DEFAULT /* runs over what stands in the text */
} region;

typedef struct reader {
    const char *at;
    ddl_token before; /* the last token */
    ddl_token now;
    int depth;
    int region_depth; /* where its "(" stands */
    region region;
} reader;

/* ---- Tokens -------------------------------------------------------------- */

static bool
is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* As SQLite has it: every byte above ASCII belongs to a name. */
static bool
is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static const char *
skip_blanks(const char *at)
{
    for (;;) {
        const char *end;

        if (at[0] == '-' && at[1] == '-') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            end = strstr(at + 2, "*/");
            at = end == NULL ? at + strlen(at) : end + 2;
        } else if (is_space(*at)) {
            at++;
        } else {
            return at;
        }
    }
}

/* Behind the quote that ends it; a doubled one is part of it. */
static const char *
skip_quoted(const char *at)
{
    char quote = *at == '[' ? ']' : *at;

    for (at++; *at != '\0'; at++) {
        if (*at != quote)
            continue;
        if (quote == ']' || at[1] != quote)
            return at + 1;
        at++;
    }
    return at;
}

static void
set_token(ddl_token *token, token_kind kind, const char *text, size_t len)
{
    if (len >= WORD_SIZE)
        len = WORD_SIZE - 1;
    token->kind = kind;
    memcpy(token->text, text, len);
    token->text[len] = '\0';
}

static void
read_next(reader *it)
{
    const char *from = skip_blanks(it->at);
    const char *end = from;

    it->before = it->now;
    if (*from == '\0') {
        set_token(&it->now, TOKEN_END, "", 0);
    } else if (strchr("'\"`[", *from) != NULL) {
        end = skip_quoted(from);
        set_token(&it->now, TOKEN_QUOTED, from + 1,
                  end > from + 2 ? (size_t)(end - from) - 2 : 0);
    } else if (is_word(*from)) {
        while (is_word(*end))
            end++;
        set_token(&it->now, TOKEN_WORD, from, (size_t)(end - from));
    } else {
        end++;
        if ((from[0] == '|' && from[1] == '|') ||
            (from[0] == '-' && from[1] == '>'))
            end++;
        set_token(&it->now, TOKEN_SIGN, from, (size_t)(end - from));
    }
    it->at = end;
}

static bool
is(const ddl_token *token, token_kind kind, const char *text)
{
    return token->kind == kind && sqlite3_stricmp(token->text, text) == 0;
}

static bool
is_one_of(const ddl_token *token, const char *const *words)
{
    while (*words != NULL && sqlite3_stricmp(token->text, *words) != 0)
        words++;
    return *words != NULL;
}

/* ---- Expressions --------------------------------------------------------- */

/* What may stand before a "(" in any expression. */
static const char *const harmless[] = {
    "length",    "lower",    "upper",  "typeof", "substr",     "abs",
    "coalesce",  "ifnull",   "nullif", "iif",    "json_valid", "min",
    "max",       "strftime", "date",   "time",   "datetime",   "julianday",
    "unixepoch", "in",       "and",    "or",     "not",        "between",
    "case",      "when",     "then",   "else",   "is",         NULL};

/* What takes far longer than its operands are long, or gives more. */
static const char *const slow[] = {"like",  "glob",   "regexp", "match",
                                   "over",  "filter", "select", "exists",
                                   "raise", NULL};

static const char WHY_CALL[] =
    "a CHECK, DEFAULT or WHERE of it calls a function that it may not call "
    "(see SECURITY.md)";
static const char WHY_SIGN[] =
    "a CHECK or WHERE of it uses ||, ->, LIKE, GLOB, REGEXP or MATCH, which "
    "may take very long";

/* hex(randomblob(N)) with few bytes: the ids that the library's tables give. */
static bool
is_small_call(reader *it)
{
    reader ahead = *it;

    read_next(&ahead);
    if (is(&it->before, TOKEN_WORD, "hex"))
        return is(&ahead.now, TOKEN_WORD, "randomblob");
    if (!is(&it->before, TOKEN_WORD, "randomblob") ||
        ahead.now.kind != TOKEN_WORD ||
        strspn(ahead.now.text, "0123456789") != strlen(ahead.now.text) ||
        strlen(ahead.now.text) > 2)
        return false;
    read_next(&ahead);
    return is(&ahead.now, TOKEN_SIGN, ")");
}

/* NULL, or what is wrong with the token within an expression. */
static const char *
check_expression(reader *it)
{
    bool check = it->region == REGION_CHECK;

    if (it->now.kind == TOKEN_WORD && is_one_of(&it->now, slow))
        return WHY_SIGN;
    if (check &&
        (is(&it->now, TOKEN_SIGN, "||") || is(&it->now, TOKEN_SIGN, "->")))
        return WHY_SIGN;
    if (!is(&it->now, TOKEN_SIGN, "("))
        return NULL;
    if (it->before.kind == TOKEN_QUOTED)
        return WHY_CALL;
    if (it->before.kind == TOKEN_WORD && !is_one_of(&it->before, harmless) &&
        (check || !is_small_call(it)))
        return WHY_CALL;
    return NULL;
}

/* ---- The text ------------------------------------------------------------ */

static void
open_paren(reader *it)
{
    it->depth++;
    if (it->region != REGION_NONE)
        return;
    if (is(&it->before, TOKEN_WORD, "check"))
        it->region = REGION_CHECK;
    else if (is(&it->before, TOKEN_WORD, "default"))
        it->region = REGION_DEFAULT;
    it->region_depth = it->depth;
}

static void
close_paren(reader *it)
{
    if (it->region != REGION_NONE && it->depth == it->region_depth)
        it->region = REGION_NONE;
    it->depth--;
}

static const char *
check_rest(reader *it)
{
    const char *why = NULL;

    while (why == NULL && it->now.kind != TOKEN_END) {
        if (it->region != REGION_NONE)
            why = check_expression(it);
        if (is(&it->now, TOKEN_SIGN, "("))
            open_paren(it);
        else if (is(&it->now, TOKEN_SIGN, ")"))
            close_paren(it);
        else if (it->depth == 0 && is(&it->now, TOKEN_WORD, "where")) {
            it->region = REGION_CHECK; /* to the end */
            it->region_depth = 0;
        }
        read_next(it);
    }
    return why;
}

const char *
csc_sqlite_ddl_check_table(const char *sql, const char *table)
{
    static const char *const begin[] = {"create", "table"};
    reader it = {.at = sql};

    for (size_t i = 0; i < 2; i++) {
        read_next(&it);
        if (!is(&it.now, TOKEN_WORD, begin[i]))
            return "it is not an ordinary table";
    }
    read_next(&it);
    if (sqlite3_stricmp(it.now.text, table) != 0)
        return "the schema has it under another name";
    read_next(&it);
    return check_rest(&it);
}

const char *
csc_sqlite_ddl_check_index(const char *sql)
{
    reader it = {.at = sql};

    read_next(&it);
    return check_rest(&it);
}
