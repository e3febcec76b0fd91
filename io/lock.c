/* See lock.h. Locks of open files (fcntl, Linux 3.15): they end with the process, on one host and, where the file
 * system knows locks, between hosts. */
#include "io/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"

enum { TRIES = 100, OWNER = 400 };

static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
    char *name = NULL;

    if (asprintf(&name, "%.*s.%.200s.lock", (int)(base - path), path, base) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return name;
}

/* Is the file that is open still the one of that name? Another run may have removed it in between. */
static int is_there(int descriptor, const char *path)
{
    struct stat own, now;

    return fstat(descriptor, &own) == 0 && stat(path, &now) == 0 && own.st_dev == now.st_dev &&
           own.st_ino == now.st_ino;
}

static int refuse(int descriptor, const char *path)
{
    char owner[OWNER + 1];
    ssize_t n = pread(descriptor, owner, OWNER, 0);

    owner[n > 0 ? n : 0] = '\0';
    owner[strcspn(owner, "\n")] = '\0';
    return mf_fail(MF_OUTPUT, "another run writes '%s' now%s%s; wait for it, stop it, or give another --output", path,
                   *owner ? ": " : "", owner);
}

static void sign(int descriptor, const char *job)
{
    char text[OWNER], host[128] = "?";
    int n;

    (void)gethostname(host, sizeof host - 1);
    n = snprintf(text, sizeof text, "%s%sprocess %ld on %s\n", job, *job ? ", " : "", (long)getpid(), host);
    if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text, (size_t)n, 0) != n)
        mf_debug("a lock without a name: %s", strerror(errno));
}

/* Rank 0. */
static int take(const char *path, const char *job, struct mf_lock *lock)
{
    for (int i = 0; i < TRIES; ++i) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int descriptor = open(lock->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666), rc = MF_OK;

        if (descriptor < 0) {
            mf_debug("'%s' is not locked: %s", path, strerror(errno));
            return MF_OK;
        }
        if (fcntl(descriptor, F_OFD_SETLK, &whole) == 0) {
            if (is_there(descriptor, lock->path)) {
                sign(descriptor, job);
                lock->descriptor = descriptor;
                return MF_OK;
            }
        } else if (errno == EAGAIN || errno == EACCES) {
            rc = refuse(descriptor, path);
        } else {
            mf_warn("'%s' cannot be locked (%s): see to it that no other run writes it", path, strerror(errno));
            i = TRIES;
        }
        close(descriptor);
        MF_TRY(rc);
    }
    return MF_OK;
}

int mf_lock_take(const struct mf_comm *comm, const char *path, const char *job, struct mf_lock *lock)
{
    int rc;

    *lock = (struct mf_lock){-1, name_of(path)};
    rc = mf_agree(comm, comm->rank == 0 ? take(path, job, lock) : MF_OK);
    if (rc != MF_OK) mf_lock_give(lock);
    return rc;
}

void mf_lock_give(struct mf_lock *lock)
{
    if (lock->path && lock->descriptor >= 0) {
        (void)unlink(lock->path); /* before the lock ends: nobody can have it by then */
        close(lock->descriptor);
    }
    free(lock->path);
    *lock = (struct mf_lock){-1, NULL};
}
