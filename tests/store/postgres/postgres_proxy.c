/* SPDX-License-Identifier: MIT
 *
 * One thread polls the listening socket and all pairs of sockets. Towards the
 * server the stream is cut into messages (length-prefixed; the first one has no
 * type, nor has a request for encryption before it), so that faults strike
 * between messages:
 *
 *   'P' name, text    Parse: a text that begins with COMMIT gives its name
 *   'B' portal, name  Bind: this is the COMMIT when it has that name
 *   'Z'               from the server: the exchange is over
 *
 * What is delayed stays in the buffer of its direction until its time has come;
 * what is frozen stays in the kernel's, as behind a network that is gone: the
 * one who wrote it may have left long since when it arrives.
 */
#include "store/postgres/postgres_proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libpq-fe.h>
#include <netdb.h>
#include <netinet/in.h>
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
#include <time.h>
#include <unistd.h>

#include "base/data/buf.h"
#include "base/mem.h"

#define PAIRS_MAX 128
#define BACKLOG 64
#define DELAY_FROM_MS 50
#define DELAY_TO_MS 200
#define NAME_SIZE 64
#define PORT "5432"
#define FAULT_BITS 8 /* of an order: which fault; above: how many came before */
#define FAULT_MASK ((1u << FAULT_BITS) - 1)

typedef struct pair {
    int client; /* -1: this place is free */
    int server;
    csc_buf out;       /* from the client, not yet forwarded */
    csc_buf in;        /* from the server, the same; while `mute` for good */
    int64_t out_at_ms; /* 0: at once; else when it is to be forwarded */
    int64_t in_at_ms;
    bool started;
    char commit_name[NAME_SIZE];
    bool commit_known;
    bool mute; /* what the server says is kept back */
    bool torn; /* half of what it says next arrives, then nothing */
    bool ends; /* the end of the connection follows that of the transaction */
    bool stalled; /* what the client says too, until the next fault is armed */
    bool lost;    /* so is its end, and whatever the server says */
    bool gone;    /* that end has come */
    unsigned order; /* under which it stalled */
} pair;

struct pg_proxy {
    pthread_t thread;
    int listener;
    int stop_pipe[2];
    char folder[64];  /* "": it listens on TCP */
    char listens[16]; /* the port of that */
    char conninfo[512];
    char host[256];
    char port[16];
    _Atomic unsigned order;
    _Atomic size_t struck;
    unsigned random;
    pair pairs[PAIRS_MAX];
};

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- Orders -------------------------------------------------------------- */

static pg_fault
fault_of(const pg_proxy *proxy)
{
    return (pg_fault)(atomic_load(&proxy->order) & FAULT_MASK);
}

static unsigned
number_of(unsigned order)
{
    return order >> FAULT_BITS;
}

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
    bool refused = fault_of(proxy) == PG_FAULT_REFUSE;
    int server = refused ? -1 : connect_server(proxy);

    if (refused)
        atomic_fetch_add(&proxy->struck, 1);
    for (int i = 0; i < PAIRS_MAX && client >= 0 && server >= 0; i++) {
        pair *it = &proxy->pairs[i];

        if (it->client >= 0)
            continue;
        it->client = client;
        it->server = server;
        return;
    }
    if (client >= 0)
        close(client);
    if (server >= 0)
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

/* Whether the first message asks for encryption: then it is not the first. */
static bool
is_request(const char *message, size_t size)
{
    uint32_t code;

    if (size != 8)
        return false;
    memcpy(&code, message + 4, sizeof(code));
    return ntohl(code) == 80877103 || ntohl(code) == 80877104;
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

/* Takes the fault that is armed, if it is to strike now, and not another that
 * is armed meanwhile. */
static pg_fault
take_fault(pg_proxy *proxy, pair *it)
{
    unsigned order = atomic_load(&proxy->order);
    pg_fault fault = (pg_fault)(order & FAULT_MASK);

    if (fault == PG_FAULT_NONE || fault >= PG_FAULT_SWALLOW ||
        !atomic_compare_exchange_strong(&proxy->order, &order,
                                        order & ~FAULT_MASK))
        return PG_FAULT_NONE;
    it->order = order;
    atomic_fetch_add(&proxy->struck, 1);
    return fault;
}

/* A COMMIT comes by, as a message of `size` bytes: false when the pair is to be
 * closed. */
static bool
meet_commit(pg_proxy *proxy, pair *it, size_t size)
{
    switch (take_fault(proxy, it)) {
    case PG_FAULT_CUT_BEFORE_COMMIT:
        return false;
    case PG_FAULT_CUT_BEFORE_REPLY:
        it->mute = true;
        return true;
    case PG_FAULT_TEAR_COMMIT:
        (void)send_all(it->server, it->out.data, size / 2);
        return false;
    case PG_FAULT_TEAR_REPLY:
        it->torn = true;
        return true;
    case PG_FAULT_END_AFTER_REPLY:
        it->ends = true;
        return true;
    case PG_FAULT_STALL_AT_COMMIT:
        it->stalled = true;
        return true;
    case PG_FAULT_LOSE_COMMIT:
        it->stalled = true;
        it->lost = true;
        return true;
    case PG_FAULT_LOSE_REPLY:
        it->lost = true;
        return true;
    case PG_FAULT_NONE:
    case PG_FAULT_SWALLOW:
    case PG_FAULT_FREEZE:
    case PG_FAULT_DELAY:
    case PG_FAULT_REFUSE:
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
            !meet_commit(proxy, it, size))
            return false;
        if (it->stalled)
            return true;
        if (!send_all(it->server, it->out.data, size))
            return false;
        it->started = it->started || !is_request(it->out.data, size);
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

/* When what comes now is to arrive: 0 for at once. It does not overtake what
 * came before. */
static int64_t
delay(pg_proxy *proxy, int64_t waits_until_ms)
{
    if (waits_until_ms != 0)
        return waits_until_ms;
    if (fault_of(proxy) != PG_FAULT_DELAY)
        return 0;
    atomic_fetch_add(&proxy->struck, 1);
    return now_ms() + DELAY_FROM_MS +
           rand_r(&proxy->random) % (DELAY_TO_MS - DELAY_FROM_MS);
}

/* What waits is sent: false when the pair is to be closed. */
static bool
send_out(pg_proxy *proxy, pair *it)
{
    it->out_at_ms = 0;
    return forward_messages(proxy, it);
}

/* Whether the last message says that the transaction is over. */
static bool
is_over(const csc_buf *buf)
{
    return buf->len >= 6 && buf->data[buf->len - 6] == 'Z' &&
           buf->data[buf->len - 1] == 'I';
}

/* As pg_terminate_backend() makes it say. */
static void
add_end(csc_buf *buf)
{
    static const char fields[] = "SFATAL\0VFATAL\0C57P01\0Mover\0";
    uint32_t wire = htonl(sizeof(wire) + sizeof(fields));

    csc_buf_add_char(buf, 'E');
    csc_buf_add(buf, (const char *)&wire, sizeof(wire));
    csc_buf_add(buf, fields, sizeof(fields));
}

static bool
send_in(pair *it)
{
    bool ends = it->ends && is_over(&it->in);
    bool good = true;

    if (ends)
        add_end(&it->in);
    good = send_all(it->client, it->in.data,
                    it->torn ? it->in.len / 2 : it->in.len) &&
           !it->torn && !ends;
    it->in_at_ms = 0;
    it->in.len = 0;
    return good;
}

static bool
pass_on(pg_proxy *proxy, pair *it, bool from_client)
{
    static char bytes[65536];
    int from = from_client ? it->client : it->server;
    ssize_t got = recv(from, bytes, sizeof(bytes), 0);

    if (got <= 0 && it->lost && from_client) {
        it->gone = true;
        return true;
    }
    if (got <= 0)
        return false;
    if (it->lost && !from_client)
        return true;
    if (fault_of(proxy) == PG_FAULT_SWALLOW) {
        atomic_fetch_add(&proxy->struck, 1);
        return true;
    }
    csc_buf_add(from_client ? &it->out : &it->in, bytes, (size_t)got);
    if (from_client) {
        it->out_at_ms = delay(proxy, it->out_at_ms);
        return it->out_at_ms != 0 || send_out(proxy, it);
    }
    if (it->mute)
        return hold_reply(it);
    it->in_at_ms = delay(proxy, it->in_at_ms);
    return it->in_at_ms != 0 || send_in(it);
}

/* ---- The thread ---------------------------------------------------------- */

static size_t
fill_fds(pg_proxy *proxy, struct pollfd *fds, pair **owners)
{
    size_t count = 2;

    fds[0] = (struct pollfd){.fd = proxy->stop_pipe[0], .events = POLLIN};
    fds[1] = (struct pollfd){.fd = proxy->listener, .events = POLLIN};
    if (fault_of(proxy) == PG_FAULT_FREEZE)
        return 1;
    for (int i = 0; i < PAIRS_MAX; i++) {
        pair *it = &proxy->pairs[i];

        if (it->client < 0)
            continue;
        fds[count] =
            (struct pollfd){.fd = it->gone ? -1 : it->client, .events = POLLIN};
        owners[count++] = it;
        fds[count] = (struct pollfd){.fd = it->server, .events = POLLIN};
        owners[count++] = it;
    }
    return count;
}

/* Another fault was armed. */
static void
change_fault(pg_proxy *proxy)
{
    unsigned order = atomic_load(&proxy->order);
    pg_fault fault = (pg_fault)(order & FAULT_MASK);

    for (int i = 0; i < PAIRS_MAX; i++) {
        pair *it = &proxy->pairs[i];

        if (it->client < 0)
            continue;
        if ((it->stalled || it->lost) &&
            number_of(it->order) != number_of(order)) {
            it->stalled = false;
            if (!forward_messages(proxy, it) || it->lost)
                close_pair(it);
        } else if (fault == PG_FAULT_REFUSE) {
            close_pair(it);
        }
    }
    if (fault == PG_FAULT_FREEZE)
        atomic_fetch_add(&proxy->struck, 1);
}

/* Sends what has waited long enough. Returns when the next is due: -1 for
 * never, else in how many milliseconds. */
static int
send_due(pg_proxy *proxy)
{
    int64_t now = now_ms();
    int64_t next_ms = INT64_MAX;

    for (int i = 0; i < PAIRS_MAX; i++) {
        pair *it = &proxy->pairs[i];
        bool good = true;

        if (it->client < 0)
            continue;
        if (it->out_at_ms != 0 && it->out_at_ms <= now)
            good = send_out(proxy, it);
        if (good && it->in_at_ms != 0 && it->in_at_ms <= now)
            good = send_in(it);
        if (!good)
            close_pair(it);
        if (it->out_at_ms != 0 && it->out_at_ms < next_ms)
            next_ms = it->out_at_ms;
        if (it->in_at_ms != 0 && it->in_at_ms < next_ms)
            next_ms = it->in_at_ms;
    }
    return next_ms == INT64_MAX ? -1 : (int)(next_ms - now);
}

static void *
run(void *context)
{
    pg_proxy *proxy = context;
    struct pollfd fds[2 + 2 * PAIRS_MAX];
    pair *owners[2 + 2 * PAIRS_MAX];

    for (;;) {
        size_t count = fill_fds(proxy, fds, owners);
        int wait_ms = count > 1 ? send_due(proxy) : -1;
        char command;

        if (poll(fds, count, wait_ms) < 0 && errno != EINTR)
            return NULL;
        if (fds[0].revents != 0) {
            if (read(proxy->stop_pipe[0], &command, 1) != 1 || command == 's')
                return NULL;
            change_fault(proxy);
            continue;
        }
        if (count > 1 && fds[1].revents != 0)
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

/* After listening: it names where. */
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
             "host=%s port=%s user=%s dbname=%s",
             proxy->folder[0] == '\0' ? "127.0.0.1" : proxy->folder,
             proxy->folder[0] == '\0' ? proxy->listens : PORT, user, database);
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
           listen(proxy->listener, BACKLOG) == 0;
}

static bool
listen_tcp(pg_proxy *proxy)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);

    proxy->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(proxy->listener, (struct sockaddr *)&address, size) != 0 ||
        listen(proxy->listener, BACKLOG) != 0 ||
        getsockname(proxy->listener, (struct sockaddr *)&address, &size) != 0)
        return false;
    snprintf(proxy->listens, sizeof(proxy->listens), "%u",
             (unsigned)ntohs(address.sin_port));
    return true;
}

static pg_proxy *
start_proxy(const char *server_conninfo, bool (*listen_on)(pg_proxy *))
{
    pg_proxy *proxy = calloc(1, sizeof(*proxy));

    if (proxy == NULL)
        return NULL;
    for (int i = 0; i < PAIRS_MAX; i++)
        proxy->pairs[i].client = -1;
    if (pipe(proxy->stop_pipe) != 0 || !listen_on(proxy) ||
        !read_conninfo(proxy, server_conninfo) ||
        pthread_create(&proxy->thread, NULL, run, proxy) != 0) {
        perror("the proxy could not be started");
        free(proxy);
        return NULL;
    }
    return proxy;
}

pg_proxy *
pg_proxy_start(const char *server_conninfo)
{
    return start_proxy(server_conninfo, listen_unix);
}

pg_proxy *
pg_proxy_start_tcp(const char *server_conninfo)
{
    return start_proxy(server_conninfo, listen_tcp);
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
    if (proxy->folder[0] != '\0') {
        unlink(path);
        rmdir(proxy->folder);
    }
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
    unsigned number = number_of(atomic_load(&proxy->order)) + 1;

    atomic_store(&proxy->order, number << FAULT_BITS | (unsigned)fault);
    command(proxy, 'r');
}

size_t
pg_proxy_struck(pg_proxy *proxy)
{
    return atomic_load(&proxy->struck);
}
