/* See hash.h. */
#include "io/hash.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/file.h"

/* Bytes read at a time; bytes hashed at a time. A caller that cancels waits for at most one of each. */
enum { PIECE = 1 << 16, SUM = 1 << 12 };

/* Initialises OpenSSL first, so that exit() does not free what a running thread still uses. */
static void ready(void) { (void)OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL); }

struct mf_hashing {
    char *path;
    pthread_t thread;
    int runs, rc;
    atomic_int stop, awaited; /* the program's own word: nobody wants it any more; it does nothing but wait for it */
    char hex[65], text[MF_ERR_TEXT]; /* a thread has a sentence of its own */
};

static int wanted(const struct mf_hashing *beside) { return !beside || !beside->stop; }

/* @p beside: NULL where the caller waits. A sign of life beside other work would hide from the watch that this is
 * stuck. */
static int digest(int descriptor, const char *path, EVP_MD_CTX *context, unsigned char *piece,
                  const struct mf_hashing *beside)
{
    ssize_t n;

    while (wanted(beside) && (n = read(descriptor, piece, PIECE)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
        for (size_t k = 0; k < (size_t)n && wanted(beside); k += SUM)
            EVP_DigestUpdate(context, piece + k, (size_t)n - k < SUM ? (size_t)n - k : SUM);
        if (!beside || beside->awaited) mf_comm_alive();
    }
    return MF_OK;
}

static int hash_file(const char *path, const struct mf_hashing *beside, char hex[65])
{
    int descriptor = mf_open(path, O_RDONLY), rc;
    EVP_MD_CTX *context;
    unsigned char *piece = malloc(PIECE), sum[EVP_MAX_MD_SIZE];

    ready();
    context = EVP_MD_CTX_new();
    if (!context || !piece || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a checksum");
    rc = descriptor < 0 ? mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno))
                        : digest(descriptor, path, context, piece, beside);
    if (rc == MF_OK && EVP_DigestFinal_ex(context, sum, NULL) == 1)
        for (int i = 0; i < 32; ++i) snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    if (descriptor >= 0) close(descriptor);
    free(piece);
    EVP_MD_CTX_free(context);
    return rc;
}

int mf_hash_file(const char *path, char hex[65]) { return hash_file(path, NULL, hex); }

static void *work(void *context)
{
    struct mf_hashing *h = context;

    h->rc = hash_file(h->path, h, h->hex);
    if (h->rc != MF_OK) snprintf(h->text, sizeof h->text, "%s", mf_err_text());
    return NULL;
}

/* Signals are for the program's own thread. */
struct mf_hashing *mf_hash_start(const char *path)
{
    struct mf_hashing *h = MF_MUST(calloc(1, sizeof *h), "a checksum");
    sigset_t all, before;

    h->path = MF_MUST(strdup(path), "a file name");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    h->runs = pthread_create(&h->thread, NULL, work, h) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return h;
}

int mf_hash_finish(struct mf_hashing *h, char hex[65])
{
    int rc;

    h->stop = !hex;
    h->awaited = hex != NULL;
    if (h->runs)
        (void)pthread_join(h->thread, NULL);
    else if (hex)
        (void)work(h);
    rc = !hex || h->rc == MF_OK ? MF_OK : mf_fail(h->rc, "%s", h->text);
    if (hex) memcpy(hex, h->hex, sizeof h->hex);
    free(h->path);
    free(h);
    return rc;
}

void mf_hash_bytes(const void *bytes, size_t count, char hex[65])
{
    unsigned char sum[EVP_MAX_MD_SIZE];

    ready();
    if (EVP_Digest(bytes, count, sum, NULL, EVP_sha256(), NULL) != 1)
        mf_die(MF_BROKEN, __FILE__, __LINE__, "no checksum");
    for (int i = 0; i < 32; ++i) snprintf(hex + 2 * i, 3, "%02x", sum[i]);
}

void mf_hash_join(size_t count, const char *const *each, char hex[65])
{
    char *lines = MF_MUST(malloc(count * 65 + 1), "checksums");

    for (size_t i = 0; i < count; ++i) sprintf(lines + i * 65, "%.64s\n", each[i]);
    mf_hash_bytes(lines, count * 65, hex);
    free(lines);
}
