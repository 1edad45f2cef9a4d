/* SPDX-License-Identifier: MIT */
#include "engine/support/chain.h"

#include "cascade/manage.h"

cascade_err
chain_answer_and_go_on(cascade_node *node, void *user)
{
    const char *ticket = NULL;
    cJSON *request = NULL;
    cascade_err err =
        cascade_node_await_update(node, "double", -1, &request, &ticket);

    (void)user;
    if (err == CASCADE_OK)
        err = cascade_node_answer(node, ticket,
                                  play_number(2 * play_read_number(request)));
    cJSON_Delete(request);
    if (err == CASCADE_OK)
        err = cascade_node_await(node, "go", -1, NULL);
    return err == CASCADE_OK
               ? cascade_node_continue_as_new(node, "answers", NULL)
               : err;
}

cascade_err
chain_go_on(cascade_node *node, void *user)
{
    cascade_err err = cascade_node_await(node, "go", -1, NULL);

    (void)user;
    return err == CASCADE_OK ? cascade_node_continue_as_new(node, "goes", NULL)
                             : err;
}

cascade_uuid
chain_turn(play *p)
{
    cascade_snapshot *snapshot = NULL;

    assert_ok(cascade_signal(p->store, &p->id, "go", NULL, NULL));
    play_await(p, &p->id, CASCADE_COMPLETED);
    snapshot = play_snapshot(p);
    p->id = *cascade_snapshot_continued_as(snapshot);
    cascade_snapshot_free(snapshot);
    return p->id;
}

cascade_err
chain_send_news(const play *p, const cascade_uuid *id, const char *request_id)
{
    const cascade_signal_options options = {.size = sizeof(options),
                                            .request_id = request_id};

    return cascade_signal(p->store, id, "news", NULL, &options);
}

void
chain_expect_news(play *p, size_t count)
{
    play_until(p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED, count);
    assert_int_equal(
        play_count(p, "cascade.signal:news", CASCADE_EXECUTION_COMPLETED),
        count);
}

void
chain_purge(const play *p, int64_t wanted)
{
    const cascade_purge_options all = {.size = sizeof(all)};
    cascade_progress total;

    assert_ok(cascade_purge(p->store, &all, &total));
    assert_int_equal(total.done, wanted);
    assert_int_equal(total.failed, 0);
}
