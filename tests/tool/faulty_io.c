/* LD_PRELOAD: what goes wrong between a program and its files, for files below the folder FAULTY_DIR. Calls that change
 * files are counted (open for writing, write, pwrite, ftruncate, fallocate, fsync, rename, unlink), or, with
 * FAULTY_READS, those that read them (open for reading, read, pread, fread, getline) and these alone, over the process,
 * of ranks those of rank FAULTY_RANK (each on its own; all); at call FAULTY_CALL
 *
 *   FAULTY_HOW=EIO, ENOSPC, EROFS, EACCES   it and all that follow fail so (a disk that is gone, full, or taken away)
 *             =once          it fails with EIO, what follows works   (a hiccup)
 *             =short         it does half of what it should          (lawful: the program must go on)
 *             =EINTR         it is interrupted                       (lawful where we call: HDF5 does not try again)
 *             =kill          the process is gone before it           (what was not flushed to the disk, see below)
 *
 * FAULTY_DISK, a folder: holds the files that a disk would hold if the power went. Contents are those of the last fsync
 * of a file, names those of the last fsync of their folder. FAULTY_COUNT, a file: gets the number of calls at the end.
 * FAULTY_CALLER, a file: gets a line for each process, the program or library that made its call FAULTY_CALL. Files are
 * told by their names; maps of memory and direct system calls are not seen. */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define REAL(type, name, ...) ((type(*)(__VA_ARGS__))real(#name))

static long calls;

static void *real(const char *name)
{
    void *at = dlsym(RTLD_NEXT, name);

    if (!at) abort();
    return at;
}

static const char *folder(void)
{
    const char *name = getenv("FAULTY_DIR");

    return name ? name : "";
}

static int is_below(const char *path)
{
    char absolute[8192];
    size_t n = strlen(folder()), used;

    if (!n || !path) return 0;
    if (path[0] == '/') return strncmp(path, folder(), n) == 0;
    if (!getcwd(absolute, 4096)) return 0;
    used = strlen(absolute);
    snprintf(absolute + used, sizeof absolute - used, "/%s", path);
    return strncmp(absolute, folder(), n) == 0;
}

static int is_file(int descriptor, char path[4096])
{
    char link[64];
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    n = readlink(link, path, 4095);
    path[n > 0 ? n : 0] = '\0';
    return path[0] == '/' && is_below(path); /* a pipe is no file */
}

enum { GOES_ON, FAILS, SHORT };

static void tell_caller(const void *from)
{
    const char *path = getenv("FAULTY_CALLER");
    int to = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND, 0666) : -1;
    Dl_info is;

    if (to < 0) return;
    if (!dladdr(from, &is) || dprintf(to, "%s\n", is.dli_fname) < 0) abort();
    close(to);
}

enum { READS = 0, CHANGES = 1 };
#define TURN(kind) turn(kind, __builtin_return_address(0))

static int is_meant(void)
{
    const char *rank = getenv("FAULTY_RANK"), *own = getenv("OMPI_COMM_WORLD_RANK");

    return !rank || !*rank || (own && strcmp(own, rank) == 0);
}

/* Task of this call of a kind, made by code at @p from. */
static int turn(int kind, const void *from)
{
    static const struct {
        const char *name;
        int number;
    } for_good[] = {{"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EROFS", EROFS}, {"EACCES", EACCES}};
    const char *how = getenv("FAULTY_HOW"), *at = getenv("FAULTY_CALL");
    int counts = is_meant() && kind == (getenv("FAULTY_READS") ? READS : CHANGES);
    long now = counts ? __sync_add_and_fetch(&calls, 1) : 0, when = at ? strtol(at, NULL, 10) : 0;

    if (!how || !when || now < when) return GOES_ON;
    if (now == when) tell_caller(from);
    for (size_t i = 0; i < sizeof for_good / sizeof *for_good; ++i) {
        if (strcmp(how, for_good[i].name) != 0) continue;
        errno = for_good[i].number;
        return FAILS;
    }
    if (now > when) return GOES_ON;
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "short") == 0) return SHORT;
    errno = strcmp(how, "EINTR") == 0 ? EINTR : EIO;
    return FAILS;
}

/* ---- what the disk holds ---- */

static void on_disk(const char *path, char to[8192])
{
    snprintf(to, 8192, "%s%s", getenv("FAULTY_DISK"), path + strlen(folder()));
}

static void copy(const char *from, const char *to)
{
    char piece[65536];
    int in = (int)syscall(SYS_openat, AT_FDCWD, from, O_RDONLY), out;
    ssize_t n;

    if (in < 0) return;
    out = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    while (out >= 0 && (n = syscall(SYS_read, in, piece, sizeof piece)) > 0)
        if (syscall(SYS_write, out, piece, n) != n) abort();
    if (out >= 0) close(out);
    close(in);
}

/* Contents reach the disk under the number of their file, wherever names go. */
static void content_name(const struct stat *is, char to[8192])
{
    snprintf(to, 8192, "%s/.content-%llu", getenv("FAULTY_DISK"), (unsigned long long)is->st_ino);
}

static void flushed_file(const char *path)
{
    char to[8192];
    struct stat is;

    if (stat(path, &is) != 0) return;
    content_name(&is, to);
    copy(path, to);
}

/* Every name of the folder with the last flushed content of its file. */
static void flushed_folder(const char *path)
{
    char from[8192], to[8192], content[8192];
    struct dirent *entry;
    struct stat is;
    DIR *list;

    on_disk(path, to);
    for (list = opendir(to); list && (entry = readdir(list));) {
        snprintf(from, sizeof from, "%.4000s/%.255s", to, entry->d_name);
        if (strncmp(entry->d_name, ".content-", 9) != 0) (void)syscall(SYS_unlinkat, AT_FDCWD, from, 0);
    }
    if (list) closedir(list);
    for (list = opendir(path); list && (entry = readdir(list));) {
        snprintf(from, sizeof from, "%.4000s/%.255s", path, entry->d_name);
        if (stat(from, &is) != 0 || !S_ISREG(is.st_mode)) continue;
        content_name(&is, content);
        snprintf(from, sizeof from, "%.4000s/%.255s", to, entry->d_name);
        copy(content, from);
    }
    if (list) closedir(list);
}

/* ---- the calls ---- */

static int changes(int flags) { return (flags & (O_WRONLY | O_RDWR | O_CREAT)) != 0; }

#define OPEN(name)                                                         \
    int name(const char *path, int flags, ...)                             \
    {                                                                      \
        va_list args;                                                      \
        unsigned mode;                                                     \
        va_start(args, flags);                                             \
        mode = flags & O_CREAT ? va_arg(args, unsigned) : 0;               \
        va_end(args);                                                      \
        if (is_below(path) && TURN(changes(flags)) == FAILS) return -1;    \
        return REAL(int, name, const char *, int, ...)(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

ssize_t write(int descriptor, const void *from, size_t n)
{
    char path[4096];
    int what = is_file(descriptor, path) ? TURN(CHANGES) : GOES_ON;

    if (what == FAILS) return -1;
    return REAL(ssize_t, write, int, const void *, size_t)(descriptor, from, what == SHORT ? (n + 1) / 2 : n);
}

#define PWRITE(name)                                                                                       \
    ssize_t name(int descriptor, const void *from, size_t n, off_t at)                                     \
    {                                                                                                      \
        char path[4096];                                                                                   \
        int what = is_file(descriptor, path) ? TURN(CHANGES) : GOES_ON;                                    \
        if (what == FAILS) return -1;                                                                      \
        return REAL(ssize_t, name, int, const void *, size_t, off_t)(descriptor, from,                     \
                                                                     what == SHORT ? (n + 1) / 2 : n, at); \
    }
PWRITE(pwrite)
PWRITE(pwrite64)

ssize_t read(int descriptor, void *to, size_t n)
{
    char path[4096];
    int what = is_file(descriptor, path) ? TURN(READS) : GOES_ON;

    if (what == FAILS) return -1;
    return REAL(ssize_t, read, int, void *, size_t)(descriptor, to, what == SHORT ? (n + 1) / 2 : n);
}

#define PREAD(name)                                                                                                  \
    ssize_t name(int descriptor, void *to, size_t n, off_t at)                                                       \
    {                                                                                                                \
        char path[4096];                                                                                             \
        int what = is_file(descriptor, path) ? TURN(READS) : GOES_ON;                                                \
        if (what == FAILS) return -1;                                                                                \
        return REAL(ssize_t, name, int, void *, size_t, off_t)(descriptor, to, what == SHORT ? (n + 1) / 2 : n, at); \
    }
PREAD(pread)
PREAD(pread64)

/* Within the C library, where nobody stands between. */
#define FOPEN(name)                                                              \
    FILE *name(const char *path, const char *mode)                               \
    {                                                                            \
        if (*mode == 'r' && is_below(path) && TURN(READS) == FAILS) return NULL; \
        return REAL(FILE *, name, const char *, const char *)(path, mode);       \
    }
FOPEN(fopen)
FOPEN(fopen64)

/* Never short, but at the end of a file: the C library goes on by itself. */
static int fail_stream(FILE *from)
{
    from->_flags |= 0x20; /* glibc's sign of an error, which ferror() sees */
    return -1;
}

size_t fread(void *to, size_t size, size_t n, FILE *from)
{
    char path[4096];

    if (is_file(fileno(from), path) && TURN(READS) == FAILS) return (void)fail_stream(from), 0;
    return REAL(size_t, fread, void *, size_t, size_t, FILE *)(to, size, n, from);
}

#define LINE(name)                                                                         \
    ssize_t name(char **line, size_t *room, int end, FILE *from)                           \
    {                                                                                      \
        char path[4096];                                                                   \
        if (is_file(fileno(from), path) && TURN(READS) == FAILS) return fail_stream(from); \
        return REAL(ssize_t, name, char **, size_t *, int, FILE *)(line, room, end, from); \
    }
LINE(getdelim)
LINE(__getdelim) /* what the compiler makes of getline() */

ssize_t getline(char **line, size_t *room, FILE *from)
{
    char path[4096];

    if (is_file(fileno(from), path) && TURN(READS) == FAILS) return fail_stream(from);
    return REAL(ssize_t, getline, char **, size_t *, FILE *)(line, room, from);
}

int ftruncate(int descriptor, off_t length)
{
    char path[4096];

    if (is_file(descriptor, path) && TURN(CHANGES) == FAILS) return -1;
    return REAL(int, ftruncate, int, off_t)(descriptor, length);
}

int fallocate(int descriptor, int mode, off_t offset, off_t length)
{
    char path[4096];

    if (is_file(descriptor, path) && TURN(CHANGES) == FAILS) return -1;
    return REAL(int, fallocate, int, int, off_t, off_t)(descriptor, mode, offset, length);
}

int fsync(int descriptor)
{
    char path[4096];
    struct stat is;

    if (!is_file(descriptor, path)) return REAL(int, fsync, int)(descriptor);
    if (TURN(CHANGES) == FAILS) return -1;
    if (!getenv("FAULTY_DISK") || fstat(descriptor, &is) != 0) return 0; /* nobody looks at the real disk */
    if (S_ISDIR(is.st_mode))
        flushed_folder(path);
    else
        flushed_file(path);
    return 0;
}

int rename(const char *from, const char *to)
{
    if (is_below(to) && TURN(CHANGES) == FAILS) return -1;
    return REAL(int, rename, const char *, const char *)(from, to);
}

int unlink(const char *path)
{
    if (is_below(path) && TURN(CHANGES) == FAILS) return -1;
    return REAL(int, unlink, const char *)(path);
}

__attribute__((destructor)) static void tell(void)
{
    const char *path = getenv("FAULTY_COUNT");
    FILE *to = path && calls > 0 ? fopen(path, "a") : NULL;

    if (to) fprintf(to, "%ld\n", calls);
    if (to) fclose(to);
}
