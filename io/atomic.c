/* See atomic.h. */
#include "io/atomic.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/lock.h"
#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/stop.h"
#include "src/base/text.h"

enum { TRIES = 100 };

/* Bytes that are sent to disk while the program prepares the next ones. So the final flush waits for less. */
enum { PIECE = 4 << 20 };

/* The folder of a path; the caller frees. */
static char *folder_of(const char *path)
{
    char *copy = strdup(path), *folder = copy ? strdup(dirname(copy)) : NULL;

    free(copy);
    return folder;
}

/* @p folder: of @p path, which may be the one that is missing. */
static int cannot_write(const char *path, const char *folder, int why)
{
    if (why == EACCES || why == EROFS)
        return mf_fail(MF_OUTPUT, "cannot write '%s': %s; try: another folder (--output, --data_folder)", path,
                       strerror(why));
    if (why != ENOENT || access(folder, F_OK) == 0)
        return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(why));
    return mf_fail(MF_OUTPUT, "cannot write '%s': there is no folder '%.300s'; try: mkdir -p '%.300s'", path, folder,
                   folder);
}

/* Refuses a name that the folder does not accept before the work, not at the final rename. */
static int check_length(const char *path, const char *folder)
{
    const long most = pathconf(folder, _PC_NAME_MAX);
    const size_t length = strlen(mf_name_base(path));

    if (most <= 0 || length <= (size_t)most) return MF_OK;
    return mf_fail(MF_OUTPUT,
                   "cannot write '%s': its name has %zu bytes, at most %ld are possible; choose a shorter one", path,
                   length, most);
}

static int check_space(const char *path, const char *folder, size_t bytes)
{
    struct statvfs disk;
    unsigned long long room;

    if (statvfs(folder, &disk) != 0) return cannot_write(path, folder, errno);
    room = (unsigned long long)disk.f_bavail * disk.f_frsize;
    if (bytes > room)
        return mf_fail(MF_OUTPUT, "cannot write '%s': it needs %zu bytes and %llu are free on its disk", path, bytes,
                       room);
    return MF_OK;
}

/* Checks the limit of this process. Every rank writes a part of the file, so each checks before any of them begins. */
static int check_limit(const char *path, size_t bytes)
{
    struct rlimit most;

    if (getrlimit(RLIMIT_FSIZE, &most) != 0 || most.rlim_cur == RLIM_INFINITY || bytes <= most.rlim_cur) return MF_OK;
    return mf_fail(MF_OUTPUT, "cannot write '%s': it needs %zu bytes and a file may have %llu here (ulimit -f)", path,
                   bytes, (unsigned long long)most.rlim_cur);
}

int mf_atomic_room(const char *path, size_t bytes)
{
    char *folder = folder_of(path);
    int rc = check_limit(path, bytes);

    if (rc == MF_OK) rc = folder ? check_space(path, folder, bytes) : mf_fail(MF_MEMORY, "no memory for a file name");
    free(folder);
    return rc;
}

/* A file may replace the present owner of the name. */
static int check_old(const char *path)
{
    struct stat old;

    if (stat(path, &old) != 0 || S_ISREG(old.st_mode)) return MF_OK;
    return mf_fail(MF_OUTPUT, "cannot write '%s': it is %s", path,
                   S_ISDIR(old.st_mode) ? "a folder" : "not a plain file");
}

int mf_atomic_reaches(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("."); /* with its slash: a file is none */
    int rc;

    if (!folder) return mf_fail(MF_MEMORY, "no memory for a file name");
    rc = access(folder, W_OK | X_OK) != 0 ? cannot_write(path, folder, errno) : check_length(path, folder);
    free(folder);
    MF_TRY(rc);
    return check_old(path);
}

int mf_atomic_may(const char *path)
{
    MF_TRY(mf_atomic_reaches(path));
    return mf_lock_free(path);
}

int mf_atomic_same(const char *one, const char *other)
{
    char *folder = folder_of(one), *second = folder_of(other);
    struct stat a, b;
    int same = strcmp(mf_name_base(one), mf_name_base(other)) == 0 && folder && second && stat(folder, &a) == 0 &&
               stat(second, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;

    free(folder);
    free(second);
    return same;
}

static int check_place(const char *path, const char *folder, size_t bytes)
{
    if (mf_fault("io.create")) return mf_fail(MF_OUTPUT, "cannot write '%s': injected fault", path);
    if (!path[0]) return mf_fail(MF_OUTPUT, "the name of the output is empty");
    if (path[strlen(path) - 1] == '/') return mf_fail(MF_OUTPUT, "cannot write '%s': it names a folder", path);
    MF_TRY(check_old(path));
    MF_TRY(check_length(path, folder));
    MF_TRY(mf_lock_free(path));
    return bytes ? check_space(path, folder, bytes) : MF_OK;
}

/* A new empty file, which goes if a signal ends the process; false: see errno. */
static int create(const char *name)
{
    int descriptor, error;

    mf_stop_register_file(name);
    descriptor = mf_open(name, O_RDWR | O_CREAT | O_EXCL);
    error = errno;
    if (descriptor < 0)
        mf_stop_unregister_file(name);
    else
        close(descriptor);
    errno = error;
    return descriptor >= 0;
}

/* A new empty file ".NAME.PID-N.tmp" beside path; its name is the caller's to free. */
static int make_temporary(const char *path, const char *folder, char **name)
{
    int made = 0;
    char shown[MF_NAME_SHORT];

    mf_name_short(mf_name_base(path), strlen(mf_name_base(path)), shown);
    for (int n = 0; n < TRIES && !made; ++n) {
        if (asprintf(name, "%s/.%s.%ld-%d.tmp", folder, shown, (long)getpid(), n) < 0)
            return mf_fail(MF_MEMORY, "no memory for a file name");
        made = create(*name);
        if (!made) free(*name);
        if (!made && errno != EEXIST) break;
    }
    return made ? MF_OK : cannot_write(path, folder, errno);
}

/* How a temporary file is called: a new name, ".NAME.tmp", or "NAME.partial". */
enum called { OWN_NAME, HIDDEN, PARTIAL };

/* A file of that name, anew if it is there. Its old content counts as free space, so it goes first. Where it does not
 * go, a name of its own. */
static int retake_temporary(const char *path, const char *folder, size_t bytes, enum called called, char **name)
{
    int made, rc, error;
    char shown[MF_NAME_SHORT];

    mf_name_short(mf_name_base(path), strlen(mf_name_base(path)), shown);
    if ((called == PARTIAL ? asprintf(name, "%s.partial", path) : asprintf(name, "%s/.%s.tmp", folder, shown)) < 0)
        return mf_fail(MF_MEMORY, "no memory for a file name");
    (void)unlink(*name);
    rc = check_place(path, folder, bytes);
    made = rc == MF_OK && create(*name);
    error = errno;
    if (made) return rc;
    free(*name);
    if (rc != MF_OK) return rc;
    return error == EEXIST ? make_temporary(path, folder, name) : cannot_write(path, folder, error);
}

static int prepare(const char *path, size_t bytes, enum called called, char **temporary)
{
    char *folder = folder_of(path);
    int rc = folder ? MF_OK : mf_fail(MF_MEMORY, "no memory for a file name");

    if (rc == MF_OK && (called != OWN_NAME || mf_lock_held(path))) {
        rc = retake_temporary(path, folder, bytes, called, temporary);
    } else if (rc == MF_OK) {
        rc = check_place(path, folder, bytes);
        if (rc == MF_OK) rc = make_temporary(path, folder, temporary);
    }
    free(folder);
    return rc;
}

static int open_one(const struct mf_comm *comm, const char *path, size_t bytes, enum called called,
                    struct mf_atomic *file)
{
    char *temporary = NULL, *told;

    MF_TRY(mf_agree(comm, check_limit(path, bytes)));
    MF_TRY(mf_agree(comm, comm->rank == 0 ? prepare(path, bytes, called, &temporary) : MF_OK));
    told = mf_comm_text(comm, temporary);
    file->temporary = temporary ? temporary : told;
    if (temporary) /* which create() has registered */
        free(told);
    else
        mf_stop_register_file(told); /* rank 0 may be killed while the disk keeps it from heeding a signal */
    file->path = MF_MUST(strdup(path), "a file name");
    return MF_OK;
}

int mf_atomic_open(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file)
{
    return open_one(comm, path, bytes, OWN_NAME, file);
}

int mf_atomic_open_alone(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file)
{
    return open_one(comm, path, bytes, HIDDEN, file);
}

int mf_atomic_open_partial(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file)
{
    return open_one(comm, path, bytes, PARTIAL, file);
}

int mf_atomic_reserve(const struct mf_atomic *file, size_t bytes)
{
    int descriptor = mf_open(file->temporary, O_WRONLY), error = 0;

    if (descriptor < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    do error = bytes && fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) != 0 ? errno : 0;
    while (error == EINTR);
    close(descriptor);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return mf_fail(MF_OUTPUT, "cannot write '%s': no room for its %zu bytes: %s", file->path, bytes,
                       strerror(error));
    return MF_OK;
}

/* 0, or what was wrong; a file system that flushes nothing is not. */
static int sync_name(const char *name, int flags)
{
    int descriptor = mf_open(name, flags), error = descriptor < 0 ? errno : 0;

    if (descriptor < 0) return error;
    if (mf_flush(descriptor) != 0 && errno != EINVAL) error = errno;
    close(descriptor);
    return error;
}

/* The file stands under its name: what is not known is whether that would outlast the power. */
static int sync_folder(const char *path)
{
    char *folder = folder_of(path);
    int error = folder ? sync_name(folder, O_RDONLY | O_DIRECTORY) : 0;

    free(folder);
    if (error == 0) return MF_OK;
    return mf_fail(MF_OUTPUT,
                   "'%s' is complete, but the disk did not confirm its name (%s): a power failure may lose it", path,
                   strerror(error));
}

/* To the disk, and to its name. */
static int settle(const struct mf_atomic *file)
{
    int error;

    if (mf_fault("io.rename")) return mf_fail(MF_OUTPUT, "cannot write '%s': injected fault", file->path);
    error = sync_name(file->temporary, O_RDONLY);
    if (error) return mf_fail(MF_OUTPUT, "cannot write '%s' to disk: %s", file->path, strerror(error));
    do error = rename(file->temporary, file->path) != 0 ? errno : 0;
    while (error == EINTR);
    if (error)
        return mf_fail(MF_OUTPUT, "cannot rename '%s' to '%s': %s", file->temporary, file->path, strerror(error));
    return MF_OK;
}

static int finish(const struct mf_atomic *file)
{
    MF_TRY(settle(file));
    return sync_folder(file->path);
}

int mf_atomic_settle(const char *temporary, const char *path)
{
    const struct mf_atomic file = {(char *)(uintptr_t)path, (char *)(uintptr_t)temporary};

    return finish(&file);
}

/* Data that the disk already has needs no turn of the journal when another file is flushed. */
static void send_ahead(const struct mf_atomic *file)
{
    const unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    const int descriptor = mf_open(file->temporary, O_RDONLY);

    if (descriptor < 0) return; /* settle() says so */
    (void)sync_file_range(descriptor, 0, 0, all);
    close(descriptor);
}

/* A name that is there is confirmed, whatever became of the other one. */
static int finish_both(const struct mf_atomic *file, const struct mf_atomic *other, int64_t *stands)
{
    int rc, named;

    send_ahead(other);
    MF_TRY(settle(file));
    rc = settle(other);
    named = sync_folder(file->path);
    *stands = named == MF_OK;
    return named == MF_OK ? rc : named;
}

static void end(const struct mf_comm *comm, struct mf_atomic *file, int rc)
{
    if (rc != MF_OK && comm->rank == 0 && file->temporary) (void)unlink(file->temporary);
    mf_stop_unregister_file(file->temporary);
    free(file->temporary);
    free(file->path);
    *file = (struct mf_atomic){NULL, NULL};
}

int mf_atomic_close(const struct mf_comm *comm, struct mf_atomic *file, int code)
{
    int rc = mf_agree(comm, code);

    if (rc == MF_OK) rc = mf_agree(comm, comm->rank == 0 ? finish(file) : MF_OK);
    end(comm, file, rc);
    return rc;
}

/* The other one is not to be made: the file alone. */
static int close_without(const struct mf_comm *comm, struct mf_atomic *file, struct mf_atomic *other, int beside,
                         int *stands)
{
    char why[MF_ERR_TEXT];

    snprintf(why, sizeof why, "%s", mf_err_text());
    end(comm, other, beside);
    MF_TRY(mf_atomic_close(comm, file, MF_OK));
    *stands = 1;
    return mf_fail(beside, "%s", why);
}

int mf_atomic_close_both(const struct mf_comm *comm, struct mf_atomic *file, int code, struct mf_atomic *other,
                         int beside, int *stands)
{
    int64_t there = 0;
    int rc = mf_agree(comm, code);

    *stands = 0;
    if (rc == MF_OK) beside = mf_agree(comm, beside);
    if (rc == MF_OK && beside != MF_OK) return close_without(comm, file, other, beside, stands);
    if (rc == MF_OK) rc = mf_agree(comm, comm->rank == 0 ? finish_both(file, other, &there) : MF_OK);
    mf_comm_bcast(comm, 0, &there, sizeof there);
    *stands = rc != MF_OK && there;
    end(comm, other, rc);
    end(comm, file, *stands ? MF_OK : rc);
    return rc;
}

/* Opens without waiting for a pipe. Waits only for a file on tape, or one on which another process has a lease. */
int mf_open_plain(const char *path, int flags, int *file)
{
    struct stat is;
    int rc = MF_OK;

    *file = mf_open(path, flags | O_NONBLOCK);
    if (*file < 0 && errno == EWOULDBLOCK) *file = mf_open(path, flags); /* a lease: no pipe has one */
    if (*file < 0) return mf_fail(MF_INPUT, "cannot open '%s': %s", path, strerror(errno));
    if (fstat(*file, &is) != 0) rc = mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
    if (rc == MF_OK && !S_ISREG(is.st_mode)) rc = mf_fail(MF_INPUT, "cannot open '%s': it is not a plain file", path);
    if (rc == MF_OK) (void)fcntl(*file, F_SETFL, flags);
    if (rc == MF_OK) return MF_OK;
    close(*file);
    *file = -1;
    return rc;
}

int mf_read_some(int descriptor, const char *path, void *to, size_t bytes, uint64_t offset, size_t *got)
{
    for (*got = 0; *got < bytes;) {
        ssize_t n = pread(descriptor, (char *)to + *got, bytes - *got, (off_t)(offset + *got));

        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
        if (n == 0) break;
        *got += (size_t)n;
        mf_comm_alive();
    }
    return MF_OK;
}

int mf_read_at(int descriptor, const char *path, void *to, size_t bytes, uint64_t offset)
{
    size_t got;

    MF_TRY(mf_read_some(descriptor, path, to, bytes, offset, &got));
    return got == bytes ? MF_OK : mf_fail(MF_INPUT, "'%s' ended while it was read", path);
}

int mf_write_at(int descriptor, const char *path, const void *from, size_t bytes, size_t offset)
{
    const char *at = from;

    if (mf_fault("io.write")) return mf_fail(MF_OUTPUT, "cannot write '%s': injected fault", path);
    while (bytes) {
        size_t piece = bytes < PIECE ? bytes : PIECE;
        ssize_t n = pwrite(descriptor, at, piece, (off_t)offset);

        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, n < 0 ? strerror(errno) : "disk full");
        if (n == PIECE) (void)sync_file_range(descriptor, (off_t)offset, n, SYNC_FILE_RANGE_WRITE);
        at += n;
        offset += (size_t)n;
        bytes -= (size_t)n;
        mf_comm_alive();
    }
    return MF_OK;
}
