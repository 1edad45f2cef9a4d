/* SPDX-License-Identifier: MIT
 *
 * The outside world. A request travels there, takes effect, and the answer
 * travels back; the log line stands for the moment in the middle. So a kill can
 * hit before the effect (nothing happened), or after it while the answer is
 * under way or the answer is not yet recorded: then the effect is repeated
 * after the restart, under the same request id. Telling the repetition from a
 * new request by that id is the outside world's part of the bargain.
 *
 * How long it takes and whether it declines follows from the seed, the order,
 * the place in the cascade and the attempt: two runs with one seed differ in
 * what the scheduler and the kills do, and in nothing else.
 */
#include "effects.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_LEN 1024
#define UUID_LEN (CASCADE_UUID_TEXT_SIZE - 1)
#define NS_PER_MS 1000000
#define NS_PER_SECOND 1000000000

/* A killed process may leave its last line cut short: the next one begins on a
 * line of its own. */
static bool
end_last_line(int fd)
{
    char last = '\n';
    off_t len = lseek(fd, 0, SEEK_END);
    if (len < 0)
        return false;
    if (len > 0 && pread(fd, &last, 1, len - 1) != 1)
        return false;
    return last == '\n' || write(fd, "\n", 1) == 1;
}

bool
effects_open(const char *path, uint64_t seed, int permits_fd,
             struct effects *effects)
{
    effects->seed = seed;
    effects->permits_fd = permits_fd;
    effects->fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (effects->fd >= 0 && end_last_line(effects->fd))
        return true;
    fprintf(stderr, "orders: cannot open %s: %s\n", path, strerror(errno));
    effects_close(effects);
    return false;
}

void
effects_close(struct effects *effects)
{
    if (effects->fd >= 0)
        close(effects->fd);
    effects->fd = -1;
}

/* FNV-1a, over the text with its NUL. */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
    size_t len = strlen(text) + 1;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

/* The last step of splitmix64: every bit depends on every bit. */
static uint64_t
mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* The dice for one attempt. Of the request id only the path inside the cascade
 * counts: the cascade's id depends on the name of the run. */
static uint64_t
dice(const struct effects *effects, cascade_node *node, const char *order)
{
    const char *request = cascade_node_request_id(node);
    uint64_t hash = 0xcbf29ce484222325u ^ effects->seed;
    hash = hash_text(hash, order);
    hash = hash_text(hash, request + strnlen(request, UUID_LEN));
    return mix(hash ^ mix((uint64_t)cascade_node_attempt(node)));
}

static int64_t
now_ns(clockid_t clock)
{
    struct timespec now = {0};
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * NS_PER_SECOND + now.tv_nsec;
}

static bool
take_permit(const struct effects *effects)
{
    ssize_t got = 1;
    char permit;
    if (effects->permits_fd == 0)
        return true;
    do
        got = read(effects->permits_fd, &permit, 1);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

static void
travel(int64_t ns)
{
    struct timespec left = {.tv_sec = 0, .tv_nsec = (long)ns};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
        continue;
}

static bool
append(const struct effects *effects, cascade_node *node,
       const struct effect *effect, const char *outcome)
{
    char cascade[CASCADE_UUID_TEXT_SIZE];
    char line[LINE_MAX_LEN];
    int len = snprintf(
        line, sizeof(line), "%lld %lld %d %s %s %s %lld %d %d %s %s .\n",
        (long long)(now_ns(CLOCK_REALTIME) / NS_PER_MS),
        (long long)now_ns(CLOCK_MONOTONIC), (int)getpid(), effect->order,
        effect->action, outcome, (long long)effect->value,
        cascade_node_attempt(node), (int)cascade_node_function_id(node),
        cascade_uuid_format(cascade_node_cascade_id(node), cascade),
        cascade_node_request_id(node));
    /* One write at the end of the file: lines of parallel threads never mix. */
    return len < LINE_MAX_LEN &&
           write(effects->fd, line, (size_t)len) == (ssize_t)len;
}

cascade_err
effects_act(const struct effects *effects, cascade_node *node,
            const struct effect *effect)
{
    uint64_t roll = dice(effects, node, effect->order);
    bool declined = (roll >> 40) % 100 < effect->decline_percent;
    int64_t half_ns = (2000 + (int64_t)(roll % 18001)) * 1000 / 2;

    if (!take_permit(effects))
        return cascade_node_error(node, "the outside world is gone");
    travel(half_ns);
    if (!append(effects, node, effect, declined ? "declined" : "done"))
        return cascade_node_error(node, "cannot write the log of effects");
    travel(half_ns);
    if (declined)
        return cascade_node_error(node, "%s was declined", effect->action);
    return CASCADE_OK;
}
