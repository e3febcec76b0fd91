/* See news.h. */
#include "mpi/news.h"

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

/* A letter fits into a packet of Ethernet, which is lost as a whole or not. PACKET: what the kernel of a receiver
 * counts for one. */
enum { ENTRIES_MOST = 13, PACKET = 2304, TOGETHER = 4 /* boards that are told in one part, where parts are left */ };
static const double HEARD = 5; /* seconds for which the address that a board was heard from is the one to use */

/* A rank's record, and a letter of them; numbers as they stand in memory: the ranks run the same build. */
struct entry {
    int64_t rank;
    uint64_t place, lives, looks, count, quiet, stopped, name[MF_WATCH_WORDS];
};

struct letter {
    uint64_t key;
    int64_t head, spoken, entries;
    struct entry entry[ENTRIES_MOST];
};

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
    struct letter *letter;
    size_t letters;
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

void mf_news_open(struct mf_post *own)
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

void mf_news_close(void)
{
    if (n.socket >= 0) close(n.socket);
    free(n.peer);
    free(n.letter);
    n.socket = -1;
    n.peer = NULL;
    n.letter = NULL;
    n.letters = 0;
    n.peers = -1;
}

/* What comes within a second has room until it is taken, as far as the system allows (net.core.rmem_max). */
static void make_room(const struct mf_news *news)
{
    size_t letters = (size_t)n.peers + (size_t)news->size / ENTRIES_MOST, bytes = letters * PACKET;
    int room = bytes < INT_MAX / 2 ? (int)bytes : INT_MAX / 2, now = 0; /* the system doubles what it is told */
    socklen_t length = sizeof now;

    if (n.socket < 0 || getsockopt(n.socket, SOL_SOCKET, SO_RCVBUF, &now, &length) != 0 || now / 2 >= room) return;
    (void)setsockopt(n.socket, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
}

/* All boards but the own one. */
static void find_peers(const struct mf_news *news)
{
    const int64_t own = news->post[news->rank].head;
    unsigned number = 0;

    n.peer = calloc((size_t)news->size, sizeof *n.peer);
    n.letter = calloc((size_t)news->size / ENTRIES_MOST + 1, sizeof *n.letter);
    if (!n.peer || !n.letter) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", news->size);
    n.peers = 0;
    for (int r = 0; r < news->size; ++r) {
        if (news->post[r].head != r) continue;
        if (r == own) n.number = number;
        if (r != own) n.peer[n.peers++] = (struct peer){.head = r, .number = number};
        ++number;
    }
    make_room(news);
}

static struct peer *peer_of(int64_t head)
{
    for (int i = 0; i < n.peers; ++i)
        if (n.peer[i].head == head) return &n.peer[i];
    return NULL;
}

/* -- in -- */

/* Letters may overtake each other: an older look does not replace a newer one. */
static void take(struct mf_record *r, const struct entry *e)
{
    if (e->looks < atomic_load_explicit(&r->looks, memory_order_relaxed)) return;
    for (size_t i = 0; i < MF_WATCH_WORDS; ++i) atomic_store_explicit(&r->name[i], e->name[i], memory_order_relaxed);
    atomic_store_explicit(&r->count, e->count, memory_order_relaxed);
    atomic_store_explicit(&r->quiet, e->quiet, memory_order_relaxed);
    atomic_store_explicit(&r->stopped, e->stopped, memory_order_relaxed);
    atomic_store_explicit(&r->lives, e->lives, memory_order_relaxed);
    atomic_store_explicit(&r->looks, e->looks, memory_order_relaxed);
    atomic_store_explicit(&r->place, e->place, memory_order_release);
}

/* Anybody can send anything to a port. */
static int is_sound(const struct mf_news *news, const struct letter *l, size_t bytes)
{
    size_t head = offsetof(struct letter, entry);

    if (bytes < head || l->key != news->post[0].key || l->entries < 0 || l->entries > ENTRIES_MOST) return 0;
    if (bytes != head + (size_t)l->entries * sizeof *l->entry || !peer_of(l->head)) return 0;
    for (int64_t i = 0; i < l->entries; ++i) {
        int64_t rank = l->entry[i].rank;

        if (rank < 0 || rank >= news->size || news->post[rank].head != l->head) return 0;
    }
    return 1;
}

void mf_news_hear(const struct mf_news *news)
{
    struct letter l = {0};
    struct sockaddr_in from = {0};
    ssize_t bytes;

    if (n.peers < 0) find_peers(news);
    for (int i = 0; n.socket >= 0 && i < 8 * news->size; ++i) {
        socklen_t length = sizeof from;
        int64_t nobody = 0; /* a failed exchange overwrites it */

        bytes = recvfrom(n.socket, &l, sizeof l, 0, (struct sockaddr *)&from, &length);
        if (bytes < 0) return;
        if (!is_sound(news, &l, (size_t)bytes)) continue;
        for (int64_t e = 0; e < l.entries; ++e) take(&news->board->record[l.entry[e].rank], &l.entry[e]);
        if (l.spoken && atomic_compare_exchange_strong(&news->board->spoken, &nobody, l.spoken))
            atomic_store(&news->board->wanted, (l.spoken & MF_WATCH_SPOKE) != 0);
        peer_of(l.head)->heard_from = from.sin_addr.s_addr;
        peer_of(l.head)->heard = mf_now();
    }
}

/* -- out -- */

static struct entry entry_of(struct mf_board *board, int rank)
{
    struct mf_record *r = &board->record[rank];
    struct entry e = {.rank = rank};

    e.place = atomic_load_explicit(&r->place, memory_order_acquire);
    e.lives = atomic_load_explicit(&r->lives, memory_order_relaxed);
    e.looks = atomic_load_explicit(&r->looks, memory_order_relaxed);
    e.quiet = atomic_load_explicit(&r->quiet, memory_order_relaxed);
    e.stopped = atomic_load_explicit(&r->stopped, memory_order_relaxed);
    e.count = atomic_load_explicit(&r->count, memory_order_relaxed);
    for (size_t i = 0; i < MF_WATCH_WORDS; ++i) e.name[i] = atomic_load_explicit(&r->name[i], memory_order_relaxed);
    return e;
}

/* The address a board was heard from, else one after the other of those it has. */
static uint32_t address_of(const struct mf_post *post, const struct peer *peer, double now)
{
    size_t count = 0;

    if (peer->heard_from && now - peer->heard < HEARD) return peer->heard_from;
    while (count < MF_WATCH_ADDRESSES && post->address[count]) ++count;
    return count ? post->address[n.turn % count] : 0;
}

static void send_to(const struct mf_news *news, const struct peer *peer, double now)
{
    const struct mf_post *post = &news->post[peer->head];
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)post->port)};

    to.sin_addr.s_addr = address_of(post, peer, now);
    if (!post->port || !to.sin_addr.s_addr) return;
    for (size_t i = 0; i < n.letters; ++i) {
        size_t bytes = offsetof(struct letter, entry) + (size_t)n.letter[i].entries * sizeof *n.letter[i].entry;

        /* What does not get through now does so in a second, or the others notice. */
        (void)sendto(n.socket, &n.letter[i], bytes, 0, (struct sockaddr *)&to, sizeof to);
    }
}

void mf_news_write(const struct mf_news *news)
{
    const struct letter empty = {
        .key = news->post[0].key, .head = news->post[news->rank].head, .spoken = atomic_load(&news->board->spoken)};
    struct letter *l;

    if (n.peers < 0) find_peers(news);
    ++n.turn;
    if (n.peers == 0) return;
    l = n.letter;
    *l = empty;
    for (int r = 0; r < news->size; ++r) {
        if (news->post[r].head != empty.head) continue;
        if (l->entries == ENTRIES_MOST) *++l = empty;
        l->entry[l->entries++] = entry_of(news->board, r);
    }
    n.letters = (size_t)(l - n.letter) + 1;
}

/* Both boards count: what comes to one is spread over the parts as what leaves it. */
void mf_news_send(const struct mf_news *news, unsigned part, unsigned parts)
{
    const unsigned wanted = (unsigned)n.peers / TOGETHER + 1, used = wanted < parts ? wanted : parts;
    const double now = mf_now();

    if (n.letters == 0) return;
    if (n.socket < 0) n.socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    for (int i = 0; n.socket >= 0 && i < n.peers; ++i)
        if ((n.peer[i].number + n.number) % used == part) send_to(news, &n.peer[i], now);
}
