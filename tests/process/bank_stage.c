/* SPDX-License-Identifier: MIT */
#include "process/bank_stage.h"

#include "process/check.h"
#include "process/remains.h"

void
bank_stage_open(bank_stage *s, place_kind kind)
{
    *s = (bank_stage){.started = 0};
    place_create(&s->place, kind);
    s->store = place_open(&s->place);
    bank_create(&s->place);
}

void
bank_stage_start(bank_stage *s, size_t transfers)
{
    bank_start(s->store, transfers);
    s->started += transfers;
}

void
bank_stage_check(bank_stage *s)
{
    bank_look(&s->place, &s->books);
    if (bank_balances(&s->books))
        return;
    bank_print(&s->books);
    fail_msg("the books do not balance");
}

static bool
is_done(void *context)
{
    bank_stage *s = context;

    return remains_open(&s->place) == 0;
}

void
bank_stage_await(bank_stage *s)
{
    if (place_wait(is_done, s, BANK_LIMIT_MS))
        return;
    bank_look(&s->place, &s->books);
    bank_print(&s->books);
    fail_msg("not everything ends");
}

void
bank_stage_close(bank_stage *s)
{
    bank_stage_check(s);
    assert_int_equal(0, s->books.open);
    assert_int_equal(s->started, s->books.made);
    assert_ok(cascade_store_close(s->store));
    remains_check(&s->place);
    place_destroy(&s->place);
}
