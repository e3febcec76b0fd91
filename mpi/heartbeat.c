/* See heartbeat.h. */
#include "mpi/heartbeat.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <limits.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"

/* A datagram fits into one Ethernet packet, so it arrives completely or not at all. PACKET: bytes that the receiver's
 * kernel counts for one. ENTRIES: ranks in four groups that fit into one datagram. */
enum {
    DATAGRAM = 1384,
    ENTRIES = 7,
    PACKET = 2304,
    TOGETHER = 4 /* boards that are told in one part, where parts are left */
};
static const double HEARD = 5; /* seconds for which the address that a board was heard from is the one to use */

/* A rank's record in a datagram. Numbers have the byte order of memory, because all ranks run the same build. It is
 * followed by `text` bytes, the two names with their zeros, and by `standings` pairs of group and count. */
struct entry {
    int32_t rank;
    uint16_t text, standings;
    uint64_t place, lives, looks, count, group;
    int64_t peer;
    uint32_t quiet, stopped;
};

struct pair {
    uint64_t group, count;
};

struct datagram {
    uint64_t key;
    int64_t head, spoken;
    int32_t entries, bytes;
    char entry[DATAGRAM - 32];
};

_Static_assert(sizeof(struct datagram) == DATAGRAM, "a datagram has no gaps");
_Static_assert(sizeof(struct entry) + MF_WATCH_TEXT + MF_GROUP_TEXT + MF_GROUPS_MOST * sizeof(struct pair) <=
                   sizeof((struct datagram *)0)->entry,
               "the longest entry fits into a datagram");

/* Another board. */
struct peer {
    int head;
    unsigned number;     /* among all boards */
    uint32_t heard_from; /* address; 0: never */
    double heard;        /* mf_now() */
};

static struct {
    int socket;            /* -1: none */
    unsigned turn, number; /* of this board among all */
    struct peer *peer;
    int peers; /* -1: not looked up yet */
    struct datagram *datagram;
    size_t datagrams;
} n = {.socket = -1, .peers = -1};

/* This machine's addresses; those that lead nowhere else only where there are no others. */
static void own_addresses(struct mf_post *own)
{
    struct ifaddrs *all = NULL;
    size_t count = 0;

    if (getifaddrs(&all) != 0) return;
    for (int loop = 0; loop < 2 && count == 0; ++loop)
        for (const struct ifaddrs *i = all; i && count < MF_WATCH_ADDRESSES; i = i->ifa_next) {
            if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || !(i->ifa_flags & IFF_UP)) continue;
            if (((i->ifa_flags & IFF_LOOPBACK) != 0) != loop) continue;
            own->address[count++] = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr.s_addr;
        }
    freeifaddrs(all);
}

void mf_heartbeat_open(struct mf_post *own)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {.s_addr = htonl(INADDR_ANY)}};
    socklen_t length = sizeof at;

    n.turn = 0;
    n.peers = -1;
    n.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (n.socket < 0) return;
    if (bind(n.socket, (struct sockaddr *)&at, sizeof at) != 0 ||
        getsockname(n.socket, (struct sockaddr *)&at, &length) != 0 ||
        getrandom(&own->key, sizeof own->key, 0) != (ssize_t)sizeof own->key)
        return;
    own->port = ntohs(at.sin_port);
    own_addresses(own);
}

void mf_heartbeat_close(void)
{
    if (n.socket >= 0) close(n.socket);
    free(n.peer);
    free(n.datagram);
    n.socket = -1;
    n.peer = NULL;
    n.datagram = NULL;
    n.datagrams = 0;
    n.peers = -1;
}

/* Data that come within a second have space until they are taken, as far as the system allows (net.core.rmem_max). */
static void make_room(const struct mf_heartbeat *heartbeat)
{
    size_t datagrams = (size_t)n.peers + (size_t)heartbeat->size / ENTRIES, bytes = datagrams * PACKET;
    int room = bytes < INT_MAX / 2 ? (int)bytes : INT_MAX / 2, now = 0; /* the system doubles what it is told */
    socklen_t length = sizeof now;

    if (n.socket < 0 || getsockopt(n.socket, SOL_SOCKET, SO_RCVBUF, &now, &length) != 0 || now / 2 >= room) return;
    (void)setsockopt(n.socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
}

/* All boards but the own one. */
static void find_peers(const struct mf_heartbeat *heartbeat)
{
    const int64_t own = heartbeat->post[heartbeat->rank].head;
    unsigned number = 0;

    n.peer = calloc((size_t)heartbeat->size, sizeof *n.peer);
    n.datagram =
        calloc((size_t)heartbeat->size, sizeof *n.datagram); /* pages that no datagram needs are never touched */
    if (!n.peer || !n.datagram) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", heartbeat->size);
    n.peers = 0;
    for (int r = 0; r < heartbeat->size; ++r) {
        if (heartbeat->post[r].head != r) continue;
        if (r == own) n.number = number;
        if (r != own) n.peer[n.peers++] = (struct peer){.head = r, .number = number};
        ++number;
    }
    make_room(heartbeat);
}

static struct peer *peer_of(int64_t head)
{
    for (int i = 0; i < n.peers; ++i)
        if (n.peer[i].head == head) return &n.peer[i];
    return NULL;
}

/* -- in -- */

/* Bytes of an entry. */
static size_t length(const struct entry *e) { return sizeof *e + e->text + e->standings * sizeof(struct pair); }

static void take_names(struct mf_doing *doing, const char *text)
{
    mf_words_put(doing->name, MF_WATCH_WORDS, text);
    mf_words_put(doing->title, MF_GROUP_WORDS, text + strlen(text) + 1);
}

static void take_standings(struct mf_record *r, const char *from, size_t standings)
{
    struct pair pair;

    for (size_t i = 0; i < standings; ++i) {
        memcpy(&pair, from + i * sizeof pair, sizeof pair);
        mf_word_set(&r->standing[i].count, pair.count);
        mf_word_set(&r->standing[i].group, pair.group);
    }
    mf_word_set(&r->standings, standings);
}

/* Letters may overtake each other: an older look does not replace a newer one. @p at: behind the entry. */
static void take(struct mf_record *r, const struct entry *e, const char *at)
{
    if (e->looks < mf_word_get(&r->looks)) return;
    take_names(&r->doing, at);
    take_standings(r, at + e->text, e->standings);
    mf_word_set(&r->doing.count, e->count);
    mf_word_set(&r->doing.group, e->group);
    atomic_store_explicit(&r->doing.peer, e->peer, memory_order_relaxed);
    mf_word_set(&r->quiet, e->quiet);
    mf_word_set(&r->stopped, e->stopped);
    mf_word_set(&r->lives, e->lives);
    mf_word_set(&r->looks, e->looks);
    atomic_store_explicit(&r->place, e->place, memory_order_release);
}

/* Are there two texts in so many bytes? */
static int is_text(const char *text, size_t bytes)
{
    const char *first = memchr(text, 0, bytes);

    return first && memchr(first + 1, 0, bytes - (size_t)(first + 1 - text));
}

/* The entry at @p at, in the remaining @p left bytes of a datagram; 0: there is no valid one. */
static int next_entry(const struct mf_heartbeat *heartbeat, const struct datagram *l, size_t at, struct entry *e)
{
    const size_t left = (size_t)l->bytes - at;

    if (left < sizeof *e) return 0;
    memcpy(e, l->entry + at, sizeof *e);
    if (length(e) > left || e->standings > MF_GROUPS_MOST || !is_text(l->entry + at + sizeof *e, e->text)) return 0;
    if (e->rank < 0 || e->rank >= heartbeat->size || heartbeat->post[e->rank].head != l->head) return 0;
    return e->peer >= -(int64_t)heartbeat->size && e->peer <= (int64_t)heartbeat->size;
}

/* Anybody can send anything to a port. */
static int is_sound(const struct mf_heartbeat *heartbeat, const struct datagram *l, size_t bytes)
{
    const size_t head = offsetof(struct datagram, entry);
    struct entry e;
    size_t at = 0;

    if (bytes < head || l->key != heartbeat->post[0].key || l->bytes < 0 || bytes != head + (size_t)l->bytes) return 0;
    if (!peer_of(l->head)) return 0;
    for (int32_t i = 0; i < l->entries; ++i, at += length(&e))
        if (!next_entry(heartbeat, l, at, &e)) return 0;
    return at == (size_t)l->bytes;
}

static void take_all(const struct mf_heartbeat *heartbeat, const struct datagram *l)
{
    struct entry e;

    for (size_t at = 0; at < (size_t)l->bytes; at += length(&e)) {
        memcpy(&e, l->entry + at, sizeof e);
        take(&heartbeat->board->record[e.rank], &e, l->entry + at + sizeof e);
    }
}

void mf_heartbeat_receive(const struct mf_heartbeat *heartbeat)
{
    struct datagram l = {0};
    struct sockaddr_in from = {0};
    ssize_t bytes;

    if (n.peers < 0) find_peers(heartbeat);
    for (int i = 0; n.socket >= 0 && i < 8 * heartbeat->size; ++i) {
        socklen_t length = sizeof from;
        int64_t nobody = 0; /* a failed exchange overwrites it */

        bytes = recvfrom(n.socket, &l, sizeof l, 0, (struct sockaddr *)&from, &length);
        if (bytes < 0) return;
        if (!is_sound(heartbeat, &l, (size_t)bytes)) continue;
        take_all(heartbeat, &l);
        if (l.spoken && atomic_compare_exchange_strong(&heartbeat->board->spoken, &nobody, l.spoken))
            atomic_store(&heartbeat->board->wanted, (l.spoken & MF_WATCH_SPOKE) != 0);
        peer_of(l.head)->heard_from = from.sin_addr.s_addr;
        peer_of(l.head)->heard = mf_now();
    }
}

/* -- out -- */

static uint32_t least(uint64_t a) { return a < UINT32_MAX ? (uint32_t)a : UINT32_MAX; }

static struct entry entry_of(const struct mf_record *r, int rank)
{
    struct entry e = {.rank = rank, .place = atomic_load_explicit(&r->place, memory_order_acquire)};

    e.lives = mf_word_get(&r->lives);
    e.looks = mf_word_get(&r->looks);
    e.quiet = least(mf_word_get(&r->quiet));
    e.stopped = least(mf_word_get(&r->stopped));
    e.count = mf_word_get(&r->doing.count);
    e.group = mf_word_get(&r->doing.group);
    e.peer = atomic_load_explicit(&r->doing.peer, memory_order_relaxed);
    e.standings = (uint16_t)mf_word_get(&r->standings);
    return e;
}

/* Writes @p rank's record to @p to, where its longest has room; the bytes that it takes. */
static size_t write_entry(const struct mf_record *r, int rank, char *to)
{
    struct entry e = entry_of(r, rank);
    char *text = to + sizeof e, *title;

    mf_words_get(r->doing.name, MF_WATCH_WORDS, text);
    title = text + strlen(text) + 1;
    mf_words_get(r->doing.title, MF_GROUP_WORDS, title);
    e.text = (uint16_t)(title + strlen(title) + 1 - text);
    for (size_t i = 0; i < e.standings; ++i) {
        const struct pair pair = {mf_word_get(&r->standing[i].group), mf_word_get(&r->standing[i].count)};

        memcpy(text + e.text + i * sizeof pair, &pair, sizeof pair);
    }
    memcpy(to, &e, sizeof e);
    return length(&e);
}

/* The address a board was heard from, else one after the other of those it has. */
static uint32_t address_of(const struct mf_post *post, const struct peer *peer, double now)
{
    size_t count = 0;

    if (peer->heard_from && now - peer->heard < HEARD) return peer->heard_from;
    while (count < MF_WATCH_ADDRESSES && post->address[count]) ++count;
    return count ? post->address[n.turn % count] : 0;
}

static void send_to(const struct mf_heartbeat *heartbeat, const struct peer *peer, double now)
{
    const struct mf_post *post = &heartbeat->post[peer->head];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)post->port)};

    to.sin_addr.s_addr = address_of(post, peer, now);
    if (!post->port || !to.sin_addr.s_addr) return;
    for (size_t i = 0; i < n.datagrams; ++i) {
        size_t bytes = offsetof(struct datagram, entry) + (size_t)n.datagram[i].bytes;

        /* A datagram that is lost now is replaced in a second, or the others notice. */
        (void)sendto(n.socket, &n.datagram[i], bytes, 0, (struct sockaddr *)&to, sizeof to);
    }
}

void mf_heartbeat_compose(const struct mf_heartbeat *heartbeat)
{
    const struct datagram empty = {.key = heartbeat->post[0].key,
                                   .head = heartbeat->post[heartbeat->rank].head,
                                   .spoken = atomic_load(&heartbeat->board->spoken)};
    char entry[sizeof(struct datagram)];
    struct datagram *l;
    size_t bytes;

    if (n.peers < 0) find_peers(heartbeat);
    ++n.turn;
    if (n.peers == 0) return;
    l = n.datagram;
    *l = empty;
    for (int r = 0; r < heartbeat->size; ++r) {
        if (heartbeat->post[r].head != empty.head) continue;
        bytes = write_entry(&heartbeat->board->record[r], r, entry);
        if ((size_t)l->bytes + bytes > sizeof l->entry) *++l = empty;
        memcpy(l->entry + l->bytes, entry, bytes);
        l->bytes += (int32_t)bytes;
        ++l->entries;
    }
    n.datagrams = (size_t)(l - n.datagram) + 1;
}

/* Both boards count: what comes to one is spread over the parts as what leaves it. */
void mf_heartbeat_send(const struct mf_heartbeat *heartbeat, unsigned part, unsigned parts)
{
    const unsigned wanted = (unsigned)n.peers / TOGETHER + 1, used = wanted < parts ? wanted : parts;
    const double now = mf_now();

    if (n.datagrams == 0) return;
    if (n.socket < 0) n.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    for (int i = 0; n.socket >= 0 && i < n.peers; ++i)
        if ((n.peer[i].number + n.number) % used == part) send_to(heartbeat, &n.peer[i], now);
}
