/* Device memory of the shadow: see shadow.h. A block has its own pages and one page behind them. So an access beyond
 * its end is caught too. */
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/shadow/shadow.h"
#include "src/base/err.h"

enum { QUEUES_MAX = 64 };

struct block {
    char *at;
    size_t bytes; /* whole pages, with the one behind */
};

static struct block *blocks; /* by address */
static size_t count, room;
static long nested;
static const struct mf_arena *watched[QUEUES_MAX];
static struct sigaction before;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static size_t pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (bytes + page - 1) / page * page;
}

static void protect(char *at, size_t bytes, int how)
{
    if (mprotect(at, bytes, how) != 0)
        mf_die(MF_BROKEN, __FILE__, __LINE__, "cannot protect %zu bytes of device memory", bytes);
}

static int grow(void)
{
    struct block *more;

    if (count < room) return 1;
    more = realloc(blocks, (2 * room + 64) * sizeof *more);
    if (!more) return 0;
    blocks = more;
    room = 2 * room + 64;
    return 1;
}

static void insert(struct block b)
{
    size_t i = count++;

    for (; i > 0 && (uintptr_t)blocks[i - 1].at > (uintptr_t)b.at; --i) blocks[i] = blocks[i - 1];
    blocks[i] = b;
    if (nested) protect(b.at, b.bytes, PROT_READ | PROT_WRITE);
}

static void *take(void *context, size_t bytes)
{
    struct block b = {.at = NULL};

    (void)context;
    if (bytes > SIZE_MAX / 2) return NULL;
    b.bytes = pages(bytes) + pages(1);
    b.at = mmap(NULL, b.bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (b.at == MAP_FAILED) return NULL;
    pthread_mutex_lock(&lock);
    if (!grow()) {
        munmap(b.at, b.bytes);
        b.at = NULL;
    } else {
        insert(b);
    }
    pthread_mutex_unlock(&lock);
    return b.at;
}

static void release(void *context, void *memory, size_t bytes)
{
    (void)context;
    (void)bytes;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < count; ++i)
        if (blocks[i].at == memory) {
            munmap(memory, blocks[i].bytes);
            for (--count; i < count; ++i) blocks[i] = blocks[i + 1];
        }
    if (count == 0) {
        free(blocks);
        blocks = NULL;
        room = 0;
    }
    pthread_mutex_unlock(&lock);
}

const struct mf_mem mf_shadow_mem = {.alloc = take, .release = release};

/* Blocks that touch each other in one call: these calls are what the shadow costs. */
static void protect_all(int how)
{
    for (size_t i = 0, n; i < count; i += n) {
        size_t bytes = blocks[i].bytes;

        for (n = 1; i + n < count && blocks[i + n].at == blocks[i].at + bytes; ++n) bytes += blocks[i + n].bytes;
        protect(blocks[i].at, bytes, how);
    }
}

void mf_shadow_enter(void)
{
    pthread_mutex_lock(&lock);
    if (nested++ == 0) protect_all(PROT_READ | PROT_WRITE);
    pthread_mutex_unlock(&lock);
}

void mf_shadow_leave(void)
{
    pthread_mutex_lock(&lock);
    if (--nested == 0) protect_all(PROT_NONE);
    pthread_mutex_unlock(&lock);
}

/* Without the lock: a fault may come from anywhere. */
static int found(const void *address)
{
    const uintptr_t a = (uintptr_t)address;

    for (size_t i = 0; i < count; ++i)
        if (a >= (uintptr_t)blocks[i].at && a < (uintptr_t)blocks[i].at + blocks[i].bytes) return 1;
    return 0;
}

int mf_shadow_is_device(const void *address)
{
    int is;

    pthread_mutex_lock(&lock);
    is = found(address);
    pthread_mutex_unlock(&lock);
    return is;
}

static const char *name_of(const void *address)
{
    for (size_t i = 0; i < QUEUES_MAX; ++i) {
        const char *name = watched[i] ? mf_arena_name(watched[i], address) : NULL;

        if (name) return name;
    }
    return "past its end";
}

/* A fault in shadow memory ends the job with one line. Any other fault is repeated with the previous handler. */
static void fault(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    if (found(info->si_addr))
        mf_die(MF_BROKEN, __FILE__, __LINE__, "the host touched device memory: %s", name_of(info->si_addr));
    sigaction(SIGSEGV, &before, NULL);
}

void mf_shadow_watch(const struct mf_arena *arena)
{
    struct sigaction action = {.sa_sigaction = fault, .sa_flags = SA_SIGINFO | SA_NODEFER}, now;
    size_t i = 0;

    sigemptyset(&action.sa_mask);
    if (sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction != fault) sigaction(SIGSEGV, &action, &before);
    while (i < QUEUES_MAX && watched[i]) ++i;
    if (i < QUEUES_MAX) watched[i] = arena;
}

void mf_shadow_unwatch(const struct mf_arena *arena)
{
    for (size_t i = 0; i < QUEUES_MAX; ++i)
        if (watched[i] == arena) {
            watched[i] = NULL;
            return;
        }
}
