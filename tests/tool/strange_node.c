/* Before a program: a node that differs from the others. STRANGE_LOCKS=refused: no locks on files (as Lustre without
 * flock). =ignored: everybody gets them (as local locks of a file system that nodes share). STRANGE_VERSIONS: other
 * libraries than elsewhere. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int is(const char *variable, const char *value)
{
    const char *is = getenv(variable);

    return is && strcmp(is, value) == 0;
}

static int control(const char *name, int file, int command, void *argument)
{
    int (*next)(int, int, ...);
    const int locks = command == F_SETLK || command == F_OFD_SETLK;

    *(void **)&next = dlsym(RTLD_NEXT, name);
    if (locks && is("STRANGE_LOCKS", "refused")) {
        errno = ENOSYS;
        return -1;
    }
    if (locks && is("STRANGE_LOCKS", "ignored")) return 0;
    return next(file, command, argument);
}

#define CONTROL(name)                                   \
    int name(int file, int command, ...)                \
    {                                                   \
        va_list more;                                   \
        void *argument;                                 \
                                                        \
        va_start(more, command);                        \
        argument = va_arg(more, void *);                \
        va_end(more);                                   \
        return control(#name, file, command, argument); \
    }
CONTROL(fcntl)
CONTROL(fcntl64)

int H5get_libversion(unsigned *major, unsigned *minor, unsigned *release)
{
    int (*next)(unsigned *, unsigned *, unsigned *);

    *(void **)&next = dlsym(RTLD_NEXT, "H5get_libversion");
    if (!getenv("STRANGE_VERSIONS")) return next(major, minor, release);
    *major = 1;
    *minor = 8;
    *release = 99;
    return 0;
}

int MPI_Get_library_version(char *text, int *length)
{
    int (*next)(char *, int *);

    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Get_library_version");
    if (!getenv("STRANGE_VERSIONS")) return next(text, length);
    strcpy(text, "Open MPI v9.9.9");
    *length = (int)strlen(text);
    return 0;
}
