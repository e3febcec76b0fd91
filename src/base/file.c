/* See file.h. */
#include "src/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int mf_open(const char *path, int flags)
{
    int descriptor;

    while ((descriptor = open(path, flags | O_CLOEXEC, 0666)) < 0 && errno == EINTR) {}
    return descriptor;
}

int mf_flush(int descriptor)
{
    int rc;

    while ((rc = fsync(descriptor)) != 0 && errno == EINTR) {}
    return rc;
}
