/* A checksum beside other work gives a sign of life only while somebody waits for it. Else the watch would take a stuck
 * rank for one at work until its file is read. The file is a pipe, so that the test says how far it is. */
#include "io/hash.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"
#include "tests/check.h"

/* More than a pipe holds: when all of it is written, much of it was read. */
enum { BYTES = 1 << 20 };

static const char path[] = "io_hash.pipe";
static atomic_int signs;
static int feeder;

/* In place of the watch's (the linker sees to it). */
void __wrap_mf_comm_alive(void);
void __wrap_mf_comm_alive(void) { ++signs; }

static int feed(void)
{
    static const char zeros[1 << 12];

    for (size_t i = 0; i < BYTES; i += sizeof zeros)
        if (write(feeder, zeros, sizeof zeros) != sizeof zeros) return 0;
    return 1;
}

/* Until there is a sign, 20 s at most. */
static void *feed_on(void *fed)
{
    const struct timespec moment = {0, 10000000};

    for (int i = 0; i < 2000 && !signs && *(int *)fed; ++i) {
        *(int *)fed = feed();
        (void)nanosleep(&moment, NULL);
    }
    close(feeder);
    return NULL;
}

static struct mf_hashing *begin(void)
{
    struct mf_hashing *h;

    signs = 0;
    h = mf_hash_start(path);
    feeder = open(path, O_WRONLY | O_CLOEXEC);
    CHECK(feeder >= 0 && feed());
    CHECK(signs == 0);
    return h;
}

int main(void)
{
    char hex[65] = "";
    struct mf_hashing *h;
    pthread_t thread;
    int fed = 1;

    (void)unlink(path);
    CHECK(mkfifo(path, 0600) == 0);
    h = begin();
    CHECK(pthread_create(&thread, NULL, feed_on, &fed) == 0);
    CHECK(mf_hash_finish(h, hex) == MF_OK && strlen(hex) == 64);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(fed && signs > 0);
    h = begin();
    close(feeder);
    CHECK(mf_hash_finish(h, NULL) == MF_OK && signs == 0); /* that nobody wants it needs no sign either */
    CHECK(unlink(path) == 0);
    return failures != 0;
}
