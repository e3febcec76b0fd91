/* The watches of many nodes tell each other their states. The boards are of nodes that never were, all on this
 * machine. */
#include "mpi/heartbeat.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/check.h"

enum { BOARDS = 121, EACH = 13, RANKS = BOARDS * EACH, PARTS = 20, KEY = 7 };

static struct mf_board *board;
static struct mf_post post[RANKS];

static void hear(void) { mf_heartbeat_receive(&(struct mf_heartbeat){board, post, 0, RANKS}); }

static struct mf_board *empty_board(void)
{
    size_t bytes = sizeof *board + RANKS * sizeof board->record[0];

    return memset(aligned_alloc(64, bytes), 0, bytes);
}

/* Boards of EACH ranks; all datagrams to the first find this process, those to others nobody. */
static void set_up(void)
{
    struct mf_post own = {.head = 0};

    board = empty_board();
    mf_heartbeat_open(&own);
    CHECK(own.port > 0 && own.address[0]);
    for (int r = 0; r < RANKS; ++r) post[r] = (struct mf_post){.head = r / EACH * EACH};
    post[0] = own;
    post[0].key = KEY;
    hear(); /* it makes room */
}

static void forget(void)
{
    for (int r = 0; r < RANKS; ++r) atomic_store(&board->record[r].place, 0);
}

/* As many others as are known to be at @p place. */
static int known(uint64_t place)
{
    int n = 0;

    for (int r = EACH; r < RANKS; ++r) n += atomic_load(&board->record[r].place) == place;
    return n;
}

/* In a process of its own, all other boards, one after the other, tell the first their state. Their ranks are at @p
 * place. */
static void others_tell(uint64_t place, unsigned part, unsigned parts)
{
    pid_t child = fork();
    int status = -1;

    if (child == 0) {
        for (int r = 0; r < RANKS; ++r) {
            atomic_store(&board->record[r].place, place);
            atomic_store(&board->record[r].looks, place);
        }
        for (int head = EACH; head < RANKS; head += EACH) {
            const struct mf_heartbeat heartbeat = {board, post, head, RANKS};

            mf_heartbeat_close();
            mf_heartbeat_compose(&heartbeat);
            mf_heartbeat_send(&heartbeat, part, parts);
        }
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* All at once, more than the system keeps where nobody asks for room, and nobody listens until all have spoken. */
static void a_burst_arrives_whole(void)
{
    others_tell(3, 0, 1);
    hear();
    CHECK(known(3) == RANKS - EACH);
    forget();
}

/* No part has more datagrams than its share, and after the last everybody was told. */
static void parts_are_alike(void)
{
    int before = 0, now, most = (BOARDS - 1) / PARTS + 1;

    for (unsigned part = 0; part < PARTS; ++part) {
        others_tell(5, part, PARTS);
        hear();
        now = known(5) / EACH;
        CHECK(now - before > 0 && now - before <= most);
        before = now;
    }
    CHECK(known(5) == RANKS - EACH);
    forget();
}

/* A datagram of before does not replace one of later. */
static void the_latest_counts(void)
{
    others_tell(9, 0, 1);
    hear();
    others_tell(7, 0, 1);
    hear();
    CHECK(known(9) == RANKS - EACH);
}

/* The longest entries, one of which fills a datagram, and short ones between them. */
static void names_and_groups_arrive_whole(void)
{
    char name[MF_WATCH_TEXT], title[MF_GROUP_TEXT];
    struct mf_board *said = board, *heard = empty_board();

    for (int r = EACH; r < RANKS; r += 2) {
        struct mf_record *record = &board->record[r];

        mf_words_put(record->doing.name, MF_WATCH_WORDS, "forty-seven characters of the name of a collective");
        mf_words_put(record->doing.title, MF_GROUP_WORDS, "expert group 1");
        atomic_store(&record->doing.group, 5);
        atomic_store(&record->doing.peer, -r);
        atomic_store(&record->standings, MF_GROUPS_MOST);
        for (size_t i = 0; i < MF_GROUPS_MOST; ++i) atomic_store(&record->standing[i].count, (uint64_t)r + i);
    }
    for (unsigned part = 0; part < PARTS; ++part) {
        board = said;
        others_tell(11, part, PARTS);
        board = heard;
        hear();
    }
    free(said);
    CHECK(known(11) == RANKS - EACH);
    for (int r = EACH; r < RANKS; ++r) {
        const struct mf_record *record = &board->record[r];
        int is_long = (r - EACH) % 2 == 0;

        mf_words_get(record->doing.name, MF_WATCH_WORDS, name);
        mf_words_get(record->doing.title, MF_GROUP_WORDS, title);
        CHECK(strcmp(name, is_long ? "forty-seven characters of the name of a collect" : "") == 0);
        CHECK(strcmp(title, is_long ? "expert group 1" : "") == 0);
        CHECK(atomic_load(&record->doing.group) == (is_long ? 5 : 0));
        CHECK(atomic_load(&record->doing.peer) == (is_long ? -r : 0));
        CHECK(atomic_load(&record->standings) == (is_long ? MF_GROUPS_MOST : 0));
        for (size_t i = 0; is_long && i < MF_GROUPS_MOST; ++i)
            CHECK(atomic_load(&record->standing[i].count) == (uint64_t)r + i);
    }
    forget();
}

/* Letters of this run whose inside is noise: nothing of them is believed, and nothing is read or written elsewhere. */
static void noise_is_no_news(void)
{
    struct {
        uint64_t key;
        int64_t head, spoken;
        int32_t entries, bytes;
        unsigned char noise[400];
    } datagram = {.key = KEY, .head = EACH, .entries = 1};
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)post[0].port)};
    int out = socket(AF_INET, SOCK_DGRAM, 0);

    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    for (unsigned i = 0, seed = 1; i < 3000; ++i) {
        for (size_t b = 0; b < sizeof datagram.noise; ++b) {
            seed = seed * 1103515245u + 12345u;
            datagram.noise[b] = (unsigned char)(seed >> 24);
        }
        memcpy(datagram.noise, &(int32_t){EACH}, sizeof(int32_t)); /* of a rank that may stand there */
        if (i % 2) memset(datagram.noise + 4, 0, 60);              /* with no names, no groups */
        datagram.bytes = (int32_t)(i % sizeof datagram.noise);
        (void)sendto(out, &datagram, 32 + (size_t)datagram.bytes, 0, (struct sockaddr *)&to, sizeof to);
        if (i % 100 == 0) hear();
    }
    hear();
    close(out);
    CHECK(known(0) == RANKS - EACH);
}

int main(void)
{
    set_up();
    a_burst_arrives_whole();
    parts_are_alike();
    the_latest_counts();
    names_and_groups_arrive_whole();
    noise_is_no_news();
    mf_heartbeat_close();
    free(board);
    return failures != 0;
}
