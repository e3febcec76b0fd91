/* See hash.h. */
#include "io/hash.h"

#include <openssl/evp.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/comm.h"
#include "src/base/err.h"

enum { PIECE = 1 << 20 };

static int digest(int descriptor, const char *path, EVP_MD_CTX *context, unsigned char *piece)
{
    ssize_t n;

    while ((n = read(descriptor, piece, PIECE)) != 0) {
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
        EVP_DigestUpdate(context, piece, (size_t)n);
        mf_comm_alive();
    }
    return MF_OK;
}

int mf_hash_file(const char *path, char hex[65])
{
    int descriptor = open(path, O_RDONLY | O_CLOEXEC), rc;
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    unsigned char *piece = malloc(PIECE), sum[EVP_MAX_MD_SIZE];

    if (!context || !piece || EVP_DigestInit_ex(context, EVP_sha256(), NULL) != 1)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a checksum");
    rc = descriptor < 0 ? mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno))
                        : digest(descriptor, path, context, piece);
    if (rc == MF_OK && EVP_DigestFinal_ex(context, sum, NULL) == 1)
        for (int i = 0; i < 32; ++i) snprintf(hex + 2 * i, 3, "%02x", sum[i]);
    if (descriptor >= 0) close(descriptor);
    free(piece);
    EVP_MD_CTX_free(context);
    return rc;
}

void mf_hash_bytes(const void *bytes, size_t count, char hex[65])
{
    unsigned char sum[EVP_MAX_MD_SIZE];

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
