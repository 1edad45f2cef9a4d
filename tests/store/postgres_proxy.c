/* SPDX-License-Identifier: MIT
 *
 * One thread polls the listening socket and all pairs of sockets. Towards the
 * server the stream is cut into messages (length-prefixed; the first one has no
 * type), so that faults strike between messages:
 *
 *   'P' name, text    Parse: a text that begins with COMMIT gives its name
 *   'B' portal, name  Bind: this is the COMMIT when it has that name
 *   'Z'               from the server: the exchange is over
 */
#include "store/postgres_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libpq-fe.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"

#define PAIRS_MAX 32
#define NAME_SIZE 64
#define PORT "5432"

typedef struct pair {
    int client; /* -1: this place is free */
    int server;
    csc_buf out; /* from the client, not yet forwarded */
    csc_buf in;  /* from the server, only while `mute` */
    bool started;
    char commit_name[NAME_SIZE];
    bool commit_known;
    bool mute;    /* what the server says is kept back */
    bool stalled; /* what the client says too, until the next fault is armed */
    unsigned armed; /* which arming it stalled under */
} pair;

struct pg_proxy {
    pthread_t thread;
    int listener;
    int stop_pipe[2];
    char folder[64];
    char conninfo[512];
    char host[256];
    char port[16];
    _Atomic int fault;
    _Atomic unsigned armed;
    _Atomic size_t struck;
    pair pairs[PAIRS_MAX];
};

/* ---- Sockets ------------------------------------------------------------- */

static int
connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) < sizeof(address.sun_path))
        memcpy(address.sun_path, path, strlen(path));
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
        return fd;
    close(fd);
    return -1;
}

static int
connect_tcp(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int fd = -1;

    if (getaddrinfo(host, port, &hints, &found) != 0)
        return -1;
    for (struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next) {
        fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
            close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

static int
connect_server(const pg_proxy *proxy)
{
    char path[300];

    if (proxy->host[0] != '/')
        return connect_tcp(proxy->host, proxy->port);
    snprintf(path, sizeof(path), "%s/.s.PGSQL.%s", proxy->host, proxy->port);
    return connect_unix(path);
}

static bool
send_all(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);

        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static void
drop_front(csc_buf *buf, size_t len)
{
    memmove(buf->data, buf->data + len, buf->len - len);
    buf->len -= len;
}

static void
close_pair(pair *it)
{
    close(it->client);
    close(it->server);
    csc_buf_fini(&it->out);
    csc_buf_fini(&it->in);
    memset(it, 0, sizeof(*it));
    it->client = -1;
}

static void
accept_pair(pg_proxy *proxy)
{
    int client = accept4(proxy->listener, NULL, NULL, SOCK_CLOEXEC);
    int server = connect_server(proxy);

    for (int i = 0; i < PAIRS_MAX && client >= 0 && server >= 0; i++) {
        pair *it = &proxy->pairs[i];

        if (it->client >= 0)
            continue;
        it->client = client;
        it->server = server;
        return;
    }
    close(client);
    close(server);
}

/* ---- The protocol -------------------------------------------------------- */

/* The size of the first message, 0 when it has not arrived whole. */
static size_t
message_size(const csc_buf *buf, bool typed)
{
    size_t head = typed ? 1 : 0;
    uint32_t wire;
    size_t size;

    if (buf->len < head + sizeof(wire))
        return 0;
    memcpy(&wire, buf->data + head, sizeof(wire));
    size = head + ntohl(wire);
    return buf->len < size ? 0 : size;
}

/* Whether the message is the Bind of a COMMIT. */
static bool
is_commit(pair *it, const char *message)
{
    const char *first = message + 5;
    const char *second = first + strlen(first) + 1;

    if (message[0] == 'P') {
        if (strncmp(second, "COMMIT", 6) == 0) {
            snprintf(it->commit_name, sizeof(it->commit_name), "%s", first);
            it->commit_known = true;
        } else if (it->commit_known && strcmp(first, it->commit_name) == 0) {
            it->commit_known = false; /* the unnamed one was replaced */
        }
        return false;
    }
    return message[0] == 'B' && it->commit_known &&
           strcmp(second, it->commit_name) == 0;
}

/* Takes the fault that is armed, if it is to strike now. */
static pg_fault
take_fault(pg_proxy *proxy)
{
    int fault = atomic_load(&proxy->fault);

    if (fault == PG_FAULT_NONE || fault == PG_FAULT_SWALLOW)
        return PG_FAULT_NONE;
    atomic_store(&proxy->fault, PG_FAULT_NONE);
    atomic_fetch_add(&proxy->struck, 1);
    return (pg_fault)fault;
}

/* A COMMIT comes by: false when the pair is to be closed. */
static bool
meet_commit(pg_proxy *proxy, pair *it)
{
    switch (take_fault(proxy)) {
    case PG_FAULT_CUT_BEFORE_COMMIT:
        return false;
    case PG_FAULT_CUT_BEFORE_REPLY:
        it->mute = true;
        return true;
    case PG_FAULT_STALL_AT_COMMIT:
        it->stalled = true;
        it->armed = atomic_load(&proxy->armed);
        return true;
    case PG_FAULT_NONE:
    case PG_FAULT_SWALLOW:
        return true;
    }
    return true;
}

/* Forwards what has arrived whole. */
static bool
forward_messages(pg_proxy *proxy, pair *it)
{
    while (!it->stalled) {
        size_t size = message_size(&it->out, it->started);

        if (size == 0)
            return true;
        if (it->started && is_commit(it, it->out.data) &&
            !meet_commit(proxy, it))
            return false;
        if (it->stalled)
            return true;
        if (!send_all(it->server, it->out.data, size))
            return false;
        it->started = true;
        drop_front(&it->out, size);
    }
    return true;
}

/* While nobody is to hear the reply: false once it is there. */
static bool
hold_reply(pair *it)
{
    for (;;) {
        size_t size = message_size(&it->in, true);

        if (size == 0)
            return true;
        if (it->in.data[0] == 'Z')
            return false;
        drop_front(&it->in, size);
    }
}

static bool
pass_on(pg_proxy *proxy, pair *it, bool from_client)
{
    static char bytes[65536];
    int from = from_client ? it->client : it->server;
    ssize_t got = recv(from, bytes, sizeof(bytes), 0);

    if (got <= 0)
        return false;
    if (atomic_load(&proxy->fault) == PG_FAULT_SWALLOW) {
        atomic_fetch_add(&proxy->struck, 1);
        return true;
    }
    if (from_client) {
        csc_buf_add(&it->out, bytes, (size_t)got);
        return forward_messages(proxy, it);
    }
    if (!it->mute)
        return send_all(it->client, bytes, (size_t)got);
    csc_buf_add(&it->in, bytes, (size_t)got);
    return hold_reply(it);
}

/* ---- The thread ---------------------------------------------------------- */

static size_t
fill_fds(pg_proxy *proxy, struct pollfd *fds, pair **owners)
{
    size_t count = 2;

    fds[0] = (struct pollfd){.fd = proxy->stop_pipe[0], .events = POLLIN};
    fds[1] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
    for (int i = 0; i < PAIRS_MAX; i++) {
        pair *it = &proxy->pairs[i];

        if (it->client < 0)
            continue;
        fds[count] = (struct pollfd){.fd = it->client, .events = POLLIN};
        owners[count++] = it;
        fds[count] = (struct pollfd){.fd = it->server, .events = POLLIN};
        owners[count++] = it;
    }
    return count;
}

static void
release_stalled(pg_proxy *proxy)
{
    for (int i = 0; i < PAIRS_MAX; i++) {
        pair *it = &proxy->pairs[i];

        if (it->client < 0 || !it->stalled ||
            it->armed == atomic_load(&proxy->armed))
            continue;
        it->stalled = false;
        if (!forward_messages(proxy, it))
            close_pair(it);
    }
}

static void *
run(void *context)
{
    pg_proxy *proxy = context;
    struct pollfd fds[2 + 2 * PAIRS_MAX];
    pair *owners[2 + 2 * PAIRS_MAX];

    for (;;) {
        size_t count = fill_fds(proxy, fds, owners);
        char command;

        if (poll(fds, count, -1) < 0 && errno != EINTR)
            return NULL;
        if (fds[0].revents != 0) {
            if (read(proxy->stop_pipe[0], &command, 1) != 1 || command == 's')
                return NULL;
            release_stalled(proxy);
            continue;
        }
        if (fds[1].revents != 0)
            accept_pair(proxy);
        for (size_t i = 2; i < count; i++) {
            pair *it = owners[i];

            if (fds[i].revents != 0 && it->client >= 0 &&
                !pass_on(proxy, it, fds[i].fd == it->client))
                close_pair(it);
        }
    }
}

/* ---- Start and stop ------------------------------------------------------ */

static void
copy_option(const PQconninfoOption *options, const char *name, char *value,
            size_t size, const char *otherwise)
{
    snprintf(value, size, "%s", otherwise);
    for (; options->keyword != NULL; options++) {
        if (strcmp(options->keyword, name) == 0 && options->val != NULL)
            snprintf(value, size, "%s", options->val);
    }
}

static bool
read_conninfo(pg_proxy *proxy, const char *conninfo)
{
    PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
    char user[128];
    char database[128];

    if (options == NULL)
        return false;
    copy_option(options, "host", proxy->host, sizeof(proxy->host),
                "/var/run/postgresql");
    copy_option(options, "port", proxy->port, sizeof(proxy->port), PORT);
    copy_option(options, "user", user, sizeof(user), "postgres");
    copy_option(options, "dbname", database, sizeof(database), user);
    PQconninfoFree(options);
    snprintf(proxy->conninfo, sizeof(proxy->conninfo),
             "host=%s port=" PORT " user=%s dbname=%s", proxy->folder, user,
             database);
    return true;
}

static bool
listen_unix(pg_proxy *proxy)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    snprintf(proxy->folder, sizeof(proxy->folder), "/tmp/cascade-proxy.XXXXXX");
    if (mkdtemp(proxy->folder) == NULL)
        return false;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s/.s.PGSQL." PORT,
             proxy->folder);
    proxy->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    return bind(proxy->listener, (struct sockaddr *)&address,
                sizeof(address)) == 0 &&
           listen(proxy->listener, 16) == 0;
}

pg_proxy *
pg_proxy_start(const char *server_conninfo)
{
    pg_proxy *proxy = calloc(1, sizeof(*proxy));

    if (proxy == NULL)
        return NULL;
    for (int i = 0; i < PAIRS_MAX; i++)
        proxy->pairs[i].client = -1;
    if (pipe(proxy->stop_pipe) != 0 || !listen_unix(proxy) ||
        !read_conninfo(proxy, server_conninfo) ||
        pthread_create(&proxy->thread, NULL, run, proxy) != 0) {
        perror("the proxy could not be started");
        free(proxy);
        return NULL;
    }
    return proxy;
}

static void
command(pg_proxy *proxy, char what)
{
    if (write(proxy->stop_pipe[1], &what, 1) != 1)
        perror("the proxy cannot be told");
}

void
pg_proxy_stop(pg_proxy *proxy)
{
    char path[128];

    if (proxy == NULL)
        return;
    command(proxy, 's');
    pthread_join(proxy->thread, NULL);
    for (int i = 0; i < PAIRS_MAX; i++) {
        if (proxy->pairs[i].client >= 0)
            close_pair(&proxy->pairs[i]);
    }
    close(proxy->listener);
    close(proxy->stop_pipe[0]);
    close(proxy->stop_pipe[1]);
    snprintf(path, sizeof(path), "%s/.s.PGSQL." PORT, proxy->folder);
    unlink(path);
    rmdir(proxy->folder);
    free(proxy);
}

const char *
pg_proxy_conninfo(const pg_proxy *proxy)
{
    return proxy->conninfo;
}

void
pg_proxy_arm(pg_proxy *proxy, pg_fault fault)
{
    atomic_store(&proxy->fault, fault);
    atomic_fetch_add(&proxy->armed, 1);
    command(proxy, 'r');
}

size_t
pg_proxy_struck(pg_proxy *proxy)
{
    return atomic_load(&proxy->struck);
}
