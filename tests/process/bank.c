/* SPDX-License-Identifier: MIT
 *
 * The side of the director: the tables, the starts and the books.
 */
#include "process/bank.h"

#include <stdio.h>
#include <string.h>

#include "process/bank_link.h"
#include "process/check.h"

#define STARTS_MAX 500
#define AMOUNT_MAX 20
#define NOTICE_EVERY 4 /* one transfer of so many tells somebody */

static void
run(bank_link *link, const char *sql, int64_t *values, int count)
{
    if (!bank_link_run(link, sql, values, count))
        fail_msg("%s: %s", sql, link->error);
}

static void
open_link(bank_link *link, const test_place *place)
{
    if (!bank_link_open(link, place))
        fail_msg("no connection: %s", link->error);
}

/* ---- Tables -------------------------------------------------------------- */

void
bank_create(const test_place *place)
{
    bank_link link;
    char sql[256];

    open_link(&link, place);
    run(&link,
        "CREATE TABLE {}bank_accounts (id INTEGER PRIMARY KEY, "
        "balance INTEGER NOT NULL)",
        NULL, 0);
    snprintf(sql, sizeof(sql),
             "CREATE TABLE {}bank_moves (cascade %s, payer INTEGER NOT NULL, "
             "payee INTEGER NOT NULL, amount INTEGER NOT NULL, "
             "notices INTEGER NOT NULL)",
             place->kind == PLACE_SQLITE ? "TEXT" : "uuid");
    run(&link, sql, NULL, 0);
    /* Not unique. */
    snprintf(sql, sizeof(sql), "CREATE INDEX %sON {}bank_moves (cascade)",
             place->kind == PLACE_SQLITE ? "bank_moves_cascade " : "");
    run(&link, sql, NULL, 0);
    for (int i = 0; i < BANK_ACCOUNTS; i++) {
        snprintf(sql, sizeof(sql),
                 "INSERT INTO {}bank_accounts (id, balance) VALUES (%d, %d)", i,
                 BANK_EACH);
        run(&link, sql, NULL, 0);
    }
    bank_link_close(&link);
}

/* ---- Starts -------------------------------------------------------------- */

static void
write_input(char input[64])
{
    int payer = (int)place_random(BANK_ACCOUNTS);
    int further = 1 + (int)place_random(BANK_ACCOUNTS - 1);

    snprintf(input, 64, "[%d,%d,%d,%d]", payer,
             (payer + further) % BANK_ACCOUNTS,
             1 + (int)place_random(AMOUNT_MAX),
             place_random(NOTICE_EVERY) == 0 ? 1 : 0);
}

void
bank_start(cascade_store *store, size_t count)
{
    static char inputs[STARTS_MAX][64];
    static cascade_first firsts[STARTS_MAX];
    static cascade_start_spec specs[STARTS_MAX];
    static cascade_started started[STARTS_MAX];

    assert_true(count <= STARTS_MAX);
    for (size_t i = 0; i < count; i++) {
        write_input(inputs[i]);
        firsts[i] = (cascade_first){.size = sizeof(cascade_first),
                                    .node = "transfer",
                                    .input_text = inputs[i]};
        specs[i] = (cascade_start_spec){.size = sizeof(cascade_start_spec),
                                        .first = &firsts[i],
                                        .first_count = 1};
    }
    assert_ok(cascade_start_many(store, specs, count, started));
}

/* ---- Books --------------------------------------------------------------- */

#define TEXT(number) #number
#define TEXT_OF(number) TEXT(number)
#define EACH TEXT_OF(BANK_EACH)
#define DONE "e.node_name = 'transfer' AND e.status = 'COMPLETED'"

static const char look[] =
    "SELECT\n"
    "  (SELECT sum(balance) FROM {}bank_accounts),\n"
    "  (SELECT count(*) FROM {}bank_accounts AS a\n"
    "    WHERE a.balance <> " EACH "\n"
    "    - coalesce((SELECT sum(m.amount) FROM {}bank_moves AS m\n"
    "      WHERE m.payer = a.id), 0)\n"
    "    + coalesce((SELECT sum(m.amount) FROM {}bank_moves AS m\n"
    "      WHERE m.payee = a.id), 0)),\n"
    "  (SELECT count(*) FROM (\n"
    "    SELECT m.cascade FROM {}bank_moves AS m\n"
    "    WHERE m.cascade IS NOT NULL\n"
    "    GROUP BY m.cascade HAVING count(*) > 1) AS d),\n"
    "  (SELECT count(*) FROM {}node_executions AS e WHERE " DONE "\n"
    "    AND NOT EXISTS (SELECT 1 FROM {}bank_moves AS m\n"
    "      WHERE m.cascade = e.cascade_id)),\n"
    "  (SELECT count(*) FROM {}bank_moves AS m\n"
    "    WHERE m.cascade IS NOT NULL\n"
    "    AND NOT EXISTS (SELECT 1 FROM {}node_executions AS e\n"
    "      WHERE e.cascade_id = m.cascade AND " DONE ")),\n"
    "  (SELECT count(*) FROM {}node_executions AS e\n"
    "    WHERE e.node_name = 'receipt'),\n"
    "  (SELECT count(*) FROM {}node_executions AS e\n"
    "    WHERE e.node_name = 'notice'),\n"
    "  (SELECT coalesce(sum(m.notices), 0)\n"
    "    FROM {}bank_moves AS m),\n"
    "  (SELECT count(*) FROM {}bank_moves AS m\n"
    "    WHERE m.cascade IS NOT NULL),\n"
    "  (SELECT count(*) FROM {}bank_moves AS m\n"
    "    WHERE m.cascade IS NULL),\n"
    "  (SELECT count(*) FROM {}cascades AS c\n"
    "    WHERE c.status <> 'COMPLETED')";

enum {
    SUM,
    ACCOUNTS,
    TWICE,
    UNMADE,
    UNKNOWN,
    RECEIPTS,
    NOTICES,
    NOTICES_DUE,
    MADE,
    OUTSIDE,
    OPEN,
    FIGURES
};

void
bank_look(const test_place *place, bank_books *books)
{
    int64_t value[FIGURES];
    bank_link link;

    open_link(&link, place);
    run(&link, look, value, FIGURES);
    bank_link_close(&link);
    *books = (bank_books){
        .lost = (int64_t)BANK_ACCOUNTS * BANK_EACH - value[SUM],
        .accounts = value[ACCOUNTS],
        .twice = value[TWICE],
        .unmade = value[UNMADE],
        .unknown = value[UNKNOWN],
        .receipts = value[RECEIPTS] - value[MADE],
        .notices = value[NOTICES] - value[NOTICES_DUE],
        .made = value[MADE],
        .outside = value[OUTSIDE],
        .open = value[OPEN],
    };
}

bool
bank_balances(const bank_books *books)
{
    return books->lost == 0 && books->accounts == 0 && books->twice == 0 &&
           books->unmade == 0 && books->unknown == 0 && books->receipts == 0 &&
           books->notices == 0;
}

void
bank_print(const bank_books *books)
{
    print_error("lost %lld, wrong accounts %lld, made twice %lld, recorded and "
                "not made %lld, made and not recorded %lld, receipts %+lld, "
                "notices %+lld; made %lld, outside %lld, open %lld\n",
                (long long)books->lost, (long long)books->accounts,
                (long long)books->twice, (long long)books->unmade,
                (long long)books->unknown, (long long)books->receipts,
                (long long)books->notices, (long long)books->made,
                (long long)books->outside, (long long)books->open);
}
