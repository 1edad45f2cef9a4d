/* SPDX-License-Identifier: MIT
 *
 * A text of SQL with its parts and for its schema: src/store/statement.h.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/mem.h"
#include "store/statement.h"

static void
expect(const char *expected, const char *sql, unsigned parts, unsigned more)
{
    const csc_statement statement = {.sql = sql, .parts = parts};
    char *text = csc_statement_build(&statement, more, "\"s\"", "ch");

    assert_non_null(text);
    assert_string_equal(expected, text);
    csc_mem_free(text);
}

static void
the_schema_and_the_channel_are_put_in(void **state)
{
    (void)state;
    expect("SELECT \"s\".t, ch", "SELECT @.t, #", 0, 0);
    expect("", "", 0, 0);
}

static void
a_part_is_there_only_where_it_is_asked_for(void **state)
{
    (void)state;
    expect("a d", "a `ab `.`bc `.d", 0, 0);
    expect("a b d", "a `ab `.`bc `.d", 1, 0);
    expect("a c d", "a `ab `.`bc `.d", 0, 2);
    expect("a b c d", "a `ab `.`bc `.d", 1, 2);
    expect("x", "`ax`.`Ay`.", 1, 0);
    expect("y", "`ax`.`Ay`.", 0, 0);
}

static void
parameters_are_numbered_without_gaps(void **state)
{
    (void)state;
    expect("$1 $2 $1", "$1 $2 $1", 0, 0);
    expect("$1 $2", "$1`a $2`. $3", 0, 0);
    expect("$1 $2 $3", "$1`a $2`. $3", 0, 1);
    expect("$2 $3 $1", "`a$1`.$13 $22 $4", 0, 0);
}

static void
other_signs_stay(void **state)
{
    (void)state;
    expect("'$' $x $0 '[1;2]{}'", "'$' $x $0 '[1;2]{}'", 0, 0);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_schema_and_the_channel_are_put_in),
        cmocka_unit_test(a_part_is_there_only_where_it_is_asked_for),
        cmocka_unit_test(parameters_are_numbered_without_gaps),
        cmocka_unit_test(other_signs_stay),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
