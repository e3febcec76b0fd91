/* LD_PRELOAD: the program asks for its environment in its first thread alone, as MPI changes that in its start. Another
 * thread of ours that asks ends the process with status 99. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int is_ours(const void *from)
{
    Dl_info is;
    const char *name;

    if (!dladdr(from, &is) || !is.dli_fname) return 0;
    name = strrchr(is.dli_fname, '/');
    return strcmp(name ? name + 1 : is.dli_fname, "mesoforge") == 0;
}

char *getenv(const char *name)
{
    static char *(*real)(const char *);

    if (!real) real = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv");
    if (!real) abort();
    if (syscall(SYS_gettid) != getpid() && is_ours(__builtin_return_address(0))) {
        fprintf(stderr, "a thread asks for %s\n", name);
        _exit(99);
    }
    return real(name);
}
