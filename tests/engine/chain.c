/* SPDX-License-Identifier: MIT */
#include "engine/chain.h"

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
