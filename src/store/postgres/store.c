/* SPDX-License-Identifier: MIT
 *
 * The PostgreSQL store: its driver table, opening and closing. How the parts
 * fit together is told in internal.h; the fence and the crash argument in
 * commit.c; why the statements look as they do in
 * sql/postgres/statements/README.md.
 *
 * The clock of this store is the server's, for leases and for what is due.
 */
#include "store/postgres/internal.h"

#include <stdio.h>
#include <string.h>

#include "base/data/buf.h"
#include "base/digest/sha256.h"
#include "base/error.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cascade/cascade.h"
#include "cascade/store.h"
#include "store/store.h"

#define SCHEMA_NAME_MAX 63
#define LANE_MAX 16

/* ---- Opening ------------------------------------------------------------- */

static bool
is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static cascade_err
check_schema_name(const char *name)
{
    size_t len = strlen(name);
    bool good = len >= 1 && len <= SCHEMA_NAME_MAX && is_letter(name[0]);

    for (size_t i = 0; i < len && good; i++)
        good = is_letter(name[i]) || (name[i] >= '0' && name[i] <= '9') ||
               name[i] == '$';
    if (good)
        return CASCADE_OK;
    return csc_fail(CASCADE_ERR_INVALID,
                    "the schema name must be 1-%d bytes of [A-Za-z0-9_$] and "
                    "not begin with a digit or $",
                    SCHEMA_NAME_MAX);
}

static bool
has_comma(const char *text)
{
    return text != NULL && strchr(text, ',') != NULL;
}

/* Whether the user named several hosts and left it open which of them to take:
 * then it must be one that can be written. */
static cascade_err
check_url(csc_postgres *store)
{
    char *ignored = NULL; /* echoes the string */
    PQconninfoOption *options = PQconninfoParse(store->url, &ignored);
    bool several = false;
    bool chosen = false;

    PQfreemem(ignored);
    if (options == NULL)
        return csc_fail(CASCADE_ERR_INVALID,
                        "the PostgreSQL connection string is malformed, or "
                        "has an option that libpq does not know");
    for (PQconninfoOption *at = options; at->keyword != NULL; at++) {
        if (strcmp(at->keyword, "host") == 0 ||
            strcmp(at->keyword, "hostaddr") == 0)
            several = several || has_comma(at->val);
        if (strcmp(at->keyword, "target_session_attrs") == 0)
            chosen = at->val != NULL;
    }
    PQconninfoFree(options);
    store->several_hosts = several && !chosen;
    return CASCADE_OK;
}

/* Each schema has a channel of its own; a hash, because an identifier has only
 * 63 bytes. */
static void
name_channel(csc_postgres *store)
{
    unsigned char digest[CSC_SHA256_SIZE];
    csc_sha256 hash;
    int len;

    csc_sha256_init(&hash);
    csc_sha256_add(&hash, store->config->schema, strlen(store->config->schema));
    csc_sha256_end(&hash, digest);
    len = snprintf(store->channel, sizeof(store->channel), "cascade_");
    for (int i = 0; i < 8; i++)
        len +=
            snprintf(store->channel + len, sizeof(store->channel) - (size_t)len,
                     "%02x", (unsigned)digest[i]);
}

static cascade_err
build_texts(csc_postgres *store)
{
    csc_buf schema;

    name_channel(store);
    csc_buf_init(&schema);
    csc_buf_add_format(&schema, "\"%s\"", store->config->schema);
    store->schema = csc_buf_take(&schema);
    if (store->schema == NULL ||
        !csc_postgres_sql_build(store->schema, store->channel, store->sql))
        return csc_fail_memory();
    return CASCADE_OK;
}

static void
free_store(csc_postgres *store)
{
    csc_postgres_sql_free(store->sql);
    csc_turn_fini(&store->turns);
    csc_mem_free(store->schema);
    csc_mem_free(store->sequence);
    csc_mem_free(store->attached);
    csc_mem_free(store->url);
    csc_mem_free(store);
}

/* One attempt: who opens a store wants to hear at once that the address is
 * wrong. */
static cascade_err
connect_first(csc_postgres *store)
{
    return csc_postgres_conn_open(
        store, csc_postgres_now_ms() + store->config->deadline_ms, -1,
        &store->idle);
}

static cascade_err
keep_url(csc_postgres *store, const char *url)
{
    if (url == NULL)
        return CASCADE_OK;
    store->url = csc_mem_strdup(url);
    return store->url == NULL ? csc_fail_memory() : check_url(store);
}

cascade_err
csc_postgres_create(const char *url, const cascade_store_config *config,
                    csc_postgres **created)
{
    csc_postgres *store;
    cascade_err err = check_schema_name(config->schema);

    if (err != CASCADE_OK)
        return err;
    store = csc_mem_zalloc(1, sizeof(*store));
    if (store == NULL)
        return csc_fail_memory();
    store->config = config;
    store->log = (csc_log){.fn = config->log,
                           .context = config->log_context,
                           .level = config->log_level};
    err = keep_url(store, url);
    if (err == CASCADE_OK)
        err = build_texts(store);
    if (err == CASCADE_OK)
        err = csc_postgres_pool_init(store);
    if (err != CASCADE_OK) {
        free_store(store);
        return err;
    }
    *created = store;
    return CASCADE_OK;
}

static cascade_err
open_store(const char *url, const cascade_store_config *config, void **self)
{
    csc_postgres *store = NULL;
    cascade_err err = csc_postgres_create(url, config, &store);

    if (err != CASCADE_OK)
        return err;
    err = connect_first(store);
    if (err != CASCADE_OK) {
        csc_postgres_pool_fini(store);
        free_store(store);
        return err;
    }
    store->open_count = 1;
    *self = store;
    return CASCADE_OK;
}

void
csc_postgres_close(void *self)
{
    csc_postgres *store = self;

    csc_assert(csc_lock_is_none_held());
    csc_postgres_conn_close(store->listener);
    csc_postgres_conn_close(store->guest);
    csc_postgres_pool_fini(store);
    free_store(store);
}

/* ---- Small moves --------------------------------------------------------- */

static cascade_err
read_now(csc_postgres_conn *conn, void *context)
{
    csc_postgres_call call = {.statement = CSC_POSTGRES_NOW};
    cascade_err err = csc_postgres_conn_read(conn, "now", &call, 1);

    csc_assert(csc_lock_is_none_held());
    if (err == CASCADE_OK)
        *(int64_t *)context = csc_postgres_result_i64(call.result, 0, 0);
    csc_postgres_conn_clear(&call, 1);
    return err;
}

cascade_err
csc_postgres_now(void *self, int64_t *now_ms)
{
    csc_assert(csc_lock_is_none_held());
    return csc_postgres_pool_run(self, CSC_POSTGRES_ALWAYS, read_now, now_ms);
}

/* ---- The driver ---------------------------------------------------------- */

const cascade_store_chain csc_postgres_chain = {
    .size = sizeof(csc_postgres_chain),
    .key = csc_postgres_messages_key,
    .find = csc_postgres_links_find,
    .link = csc_postgres_links_write,
    .sweep = csc_postgres_links_sweep,
};

const cascade_store_manage csc_postgres_manage = {
    .size = sizeof(csc_postgres_manage),
    .pause = csc_postgres_queues_pause,
    .queues = csc_postgres_queues_list,
    .totals = csc_postgres_read_totals,
    .schema = csc_postgres_schema_list,
    .repair = csc_postgres_mend_repair,
    .purge = csc_postgres_mend_purge,
    .erase = csc_postgres_delete_erase,
    .strays = csc_postgres_strays_list,
};

const cascade_store_integrity csc_postgres_integrity = {
    .size = sizeof(csc_postgres_integrity),
    .seal = csc_postgres_seals_change,
    .seals = csc_postgres_seals_list,
};

const cascade_store_limits csc_postgres_limits = {
    .size = sizeof(csc_postgres_limits),
    .set = csc_postgres_limits_set,
    .list = csc_postgres_limits_list,
    .drop = csc_postgres_limits_drop,
    .slots = csc_postgres_limits_slots,
};

static const cascade_store_node_txn node_txn = {
    .size = sizeof(node_txn),
    .native = CASCADE_NATIVE_POSTGRES,
    .native_max = CSC_POSTGRES_NATIVE_MAX,
    .begin = csc_postgres_native_begin,
    .finish = csc_postgres_native_finish,
    .abandon = csc_postgres_native_abandon,
};

static const cascade_store_driver driver = {
    .abi = CASCADE_STORE_ABI,
    .size = sizeof(cascade_store_driver),
    .name = "postgres",
    .lane_max = LANE_MAX,
    .server_clock = true,
    .open = open_store,
    .migrate = csc_postgres_schema_migrate,
    .now = csc_postgres_now,
    .attach = csc_postgres_engine_attach,
    .renew = csc_postgres_engine_renew,
    .detach = csc_postgres_engine_detach,
    .engines = csc_postgres_engine_list,
    .remove = csc_postgres_remove_dead,
    .claim = csc_postgres_claim_runs,
    .load = csc_postgres_read_load,
    .receive = csc_postgres_messages_receive,
    .scan = csc_postgres_read_scan,
    .list = csc_postgres_read_list,
    .commit = csc_postgres_commit_batch,
    .submit = csc_postgres_commit_submit,
    .settle = csc_postgres_native_settle,
    .wait = csc_postgres_wait_for,
    .wake = csc_postgres_wait_wake,
    .close = csc_postgres_close,
    .chain = &csc_postgres_chain,
    .manage = &csc_postgres_manage,
    .integrity = &csc_postgres_integrity,
    .node_txn = &node_txn,
    .limits = &csc_postgres_limits,
};

const cascade_store_driver *
csc_store_postgres_driver(void)
{
    return &driver;
}
