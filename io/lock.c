/* See lock.h. Locks of open files (fcntl, Linux 3.15) end with the process. They hold on one host and, where the file
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
#include "src/base/file.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "src/base/text.h"

enum { TRIES = 100, OWNER = 400, HOST = 128, FILE_NAME = 256, TEXT = OWNER + FILE_NAME + 2 };

/* The lock of this process. */
static int held = -1;

/* FOLDER/.STEM.lock of FOLDER/STEM.ENDING: a run's checkpoints have the stem of its output. */
static char *name_of(const char *path)
{
    const char *base = mf_name_base(path), *dot = strrchr(base, '.');
    char stem[MF_NAME_SHORT];

    mf_name_short(base, dot && dot > base ? (size_t)(dot - base) : strlen(base), stem);
    return mf_format("%.*s.%s.lock", (int)(base - path), path, stem);
}

/* Is the file that is open still the one of that name? Another run may have removed it in between. */
static int is_there(int descriptor, const char *path)
{
    struct stat own, now;

    return fstat(descriptor, &own) == 0 && stat(path, &now) == 0 && own.st_dev == now.st_dev &&
           own.st_ino == now.st_ino;
}

/* Who has it; @p file [FILE_NAME]: the name of the output, "" where that is not said. */
static void owner_of(int descriptor, char owner[OWNER + 1], char *file)
{
    char text[TEXT + 1];
    ssize_t n = pread(descriptor, text, TEXT, 0);
    size_t end;

    text[n > 0 ? n : 0] = '\0';
    end = strcspn(text, "\n");
    snprintf(owner, OWNER + 1, "%.*s", (int)end, text);
    snprintf(file, FILE_NAME, "%.*s", text[end] ? (int)strcspn(text + end + 1, "\n") : 0, text + end + 1);
}

/* Is it the output itself, or what goes with it (.xdmf, .raw)? */
static int is_output(const char *path, const char *file)
{
    return !*file || strcmp(mf_name_base(path), file) == 0 || mf_ends_with(path, ".xdmf") || mf_ends_with(path, ".raw");
}

/* @p file: the output of the lock's owner, perhaps another one with the same stem. On shared file systems the lock of a
 * lost host stays, on some for ever. */
static int refuse(const char *owner, const char *file, const char *path, const char *name)
{
    const int same = is_output(path, file), folder = same ? 0 : (int)(mf_name_base(path) - path);
    const char *on = strstr(owner, " on "), *what = same ? path : file;
    const char *why = same ? "" : ", whose checkpoints would have the same names";
    char host[HOST] = "";

    (void)gethostname(host, sizeof host - 1);
    if (!on || strcmp(on + 4, host) == 0)
        return mf_fail(MF_OUTPUT, "another run writes '%.*s%s' now%s%s%s; wait for it, stop it, or give another output",
                       folder, path, what, why, *owner ? ": " : "", owner);
    return mf_fail(MF_OUTPUT,
                   "another run writes '%.*s%s' now%s: %s; wait for it, stop it, or give another output; or, if that "
                   "host is lost, remove '%s'",
                   folder, path, what, why, owner, name);
}

/* Was this job started again since? Then the owner is gone: Slurm has cleared its nodes away, or taken them for lost.
 */
static int is_own_past(const char *owner, const struct mf_lock_job *job)
{
    static const char begin[] = "job ", then[] = " (restarts: ";
    size_t n = strlen(job->name);
    const char *at = owner + strlen(begin) + n;

    if (n == 0 || strncmp(owner, begin, strlen(begin)) != 0 || strncmp(owner + strlen(begin), job->name, n) != 0)
        return 0;
    return strncmp(at, then, strlen(then)) == 0 && strtol(at + strlen(then), NULL, 10) < job->restarts;
}

static void sign(int descriptor, const char *path, const struct mf_lock_job *job)
{
    char text[TEXT] = "", host[HOST] = "?";
    int n = 0;

    (void)gethostname(host, sizeof host - 1);
    if (*job->name) n = snprintf(text, sizeof text, "job %.100s (restarts: %ld), ", job->name, job->restarts);
    n += snprintf(text + n, sizeof text - (size_t)n, "process %ld on %s\n%.255s\n", (long)getpid(), host,
                  mf_name_base(path));
    if (ftruncate(descriptor, 0) != 0 || pwrite(descriptor, text, (size_t)n, 0) != n)
        mf_debug("a lock without a name: %s", strerror(errno));
}

/* Somebody has it. A file that is removed locks nothing any more: the next try makes another. */
static int taken(int descriptor, const char *path, const struct mf_lock_job *job, const char *name)
{
    char owner[OWNER + 1], file[FILE_NAME];

    owner_of(descriptor, owner, file);
    if (!is_own_past(owner, job)) return refuse(owner, file, path, name);
    if (!is_there(descriptor, name)) return MF_OK; /* the name is another's by now: that one must not lose it */
    mf_info("'%s' was locked by this job before it was started again (%s): that run is gone", path, owner);
    if (unlink(name) == 0 || errno == ENOENT) return MF_OK;
    return mf_fail(MF_OUTPUT, "'%s' was left by a run that is gone and cannot be removed: %s", name, strerror(errno));
}

/* Rank 0. */
static int take(const char *path, const struct mf_lock_job *job, struct mf_lock *lock)
{
    for (int i = 0; i < TRIES; ++i) {
        struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int descriptor = mf_open(lock->path, O_RDWR | O_CREAT | O_NOFOLLOW), rc = MF_OK;

        if (descriptor < 0) {
            mf_debug("'%s' is not locked: %s", path, strerror(errno));
            return MF_OK;
        }
        if (fcntl(descriptor, F_OFD_SETLK, &whole) == 0) {
            if (is_there(descriptor, lock->path)) {
                sign(descriptor, path, job);
                lock->descriptor = held = descriptor;
                mf_stop_register_file(lock->path);
                return MF_OK;
            }
        } else if (errno == EAGAIN || errno == EACCES) {
            rc = taken(descriptor, path, job, lock->path);
        } else {
            mf_warn("'%s' cannot be locked (%s): make sure that no other run writes it", path, strerror(errno));
            i = TRIES;
        }
        close(descriptor);
        MF_TRY(rc);
    }
    return MF_OK;
}

/* Refuses a lock that somebody else has. */
static int refuse_other(int descriptor, const char *path, const char *name)
{
    char owner[OWNER + 1], file[FILE_NAME];

    owner_of(descriptor, owner, file);
    return is_output(path, file) ? refuse(owner, file, path, name) : MF_OK;
}

int mf_lock_free(const char *path)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char *name = name_of(path);
    int descriptor = mf_open(name, O_RDONLY | O_NOFOLLOW), rc = MF_OK;

    if (descriptor >= 0 && !(held >= 0 && is_there(held, name)) && fcntl(descriptor, F_OFD_GETLK, &whole) == 0 &&
        whole.l_type != F_UNLCK)
        rc = refuse_other(descriptor, path, name);
    if (descriptor >= 0) close(descriptor);
    free(name);
    return rc;
}

int mf_lock_held(const char *path)
{
    char *name = name_of(path);
    const int rc = held >= 0 && is_there(held, name);

    free(name);
    return rc;
}

int mf_lock_take(const struct mf_comm *comm, const char *path, const struct mf_lock_job *job, struct mf_lock *lock)
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
        mf_stop_unregister_file(lock->path);
        (void)unlink(lock->path); /* before the lock ends: nobody can have it by then */
        close(lock->descriptor);
        held = -1;
    }
    free(lock->path);
    *lock = (struct mf_lock){-1, NULL};
}
