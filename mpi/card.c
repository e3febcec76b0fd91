/* See card.h. A rank makes an anonymous file in memory, and others open it through /proc. Unlike /dev/shm (64 MB in
 * many containers) it is limited only by memory. It needs no name, and leaves nothing behind when a process dies.
 * Device and inode numbers prove that the opened file is the right one. */
#include "mpi/card.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static char *map(int file, size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);

    return at == MAP_FAILED ? NULL : at;
}

/* Own memory; its pages are touched here, so they lie near this rank's cores. */
struct mf_card mf_card_new(size_t bytes, char **own)
{
    struct mf_card none = {.descriptor = -1};
    struct stat is;
    int file;

    *own = NULL;
    file = memfd_create("mesoforge", MFD_CLOEXEC);
    if (file < 0) return none;
    if (ftruncate(file, (off_t)bytes) == 0 && fstat(file, &is) == 0) *own = map(file, bytes);
    if (*own) return (struct mf_card){getpid(), file, (int64_t)is.st_dev, (int64_t)is.st_ino, (int64_t)bytes};
    close(file);
    return none;
}

char *mf_card_open(const struct mf_card *card)
{
    char name[64], *at = NULL;
    struct stat is;
    int file;

    if (card->descriptor < 0) return NULL;
    snprintf(name, sizeof name, "/proc/%lld/fd/%lld", (long long)card->process, (long long)card->descriptor);
    file = open(name, O_RDWR | O_CLOEXEC);
    if (file < 0) return NULL;
    if (fstat(file, &is) == 0 && (int64_t)is.st_dev == card->device && (int64_t)is.st_ino == card->inode)
        at = map(file, (size_t)card->bytes);
    close(file);
    return at;
}
