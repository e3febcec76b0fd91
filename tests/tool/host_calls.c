/* Stands before a program that uses libmesoforge. It ends the program where the library itself calls what is its host's
 * alone: ending, signals, the environment, children. */
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/* Is the caller in the library? */
static void look(const void *caller, const char *function)
{
    Dl_info info;

    if (!dladdr(caller, &info) || !info.dli_fname || !strstr(info.dli_fname, "libmesoforge.so")) return;
    dprintf(STDERR_FILENO, "libmesoforge calls %s\n", function);
    syscall(SYS_exit_group, 99);
}

#define REAL(name) ((__typeof__(name) *)dlsym(RTLD_NEXT, #name))
#define LOOK(name) look(__builtin_return_address(0), #name)

void exit(int status)
{
    LOOK(exit);
    REAL(exit)(status);
    __builtin_unreachable();
}

void _exit(int status)
{
    LOOK(_exit);
    syscall(SYS_exit_group, status);
    __builtin_unreachable();
}

int atexit(void (*handler)(void));
int atexit(void (*handler)(void))
{
    LOOK(atexit);
    (void)handler;
    return -1;
}

pid_t fork(void)
{
    LOOK(fork);
    return REAL(fork)();
}

__sighandler_t signal(int number, __sighandler_t handler)
{
    LOOK(signal);
    return REAL(signal)(number, handler);
}

int sigaction(int number, const struct sigaction *restrict new, struct sigaction *restrict old)
{
    LOOK(sigaction);
    return REAL(sigaction)(number, new, old);
}

int setenv(const char *name, const char *value, int replace)
{
    LOOK(setenv);
    return REAL(setenv)(name, value, replace);
}

unsigned alarm(unsigned seconds)
{
    LOOK(alarm);
    return REAL(alarm)(seconds);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    if (file == STDOUT_FILENO || file == STDERR_FILENO) LOOK(write);
    return syscall(SYS_write, file, bytes, count);
}

int fflush(FILE *stream)
{
    if (stream == stdout || stream == stderr || !stream) LOOK(fflush);
    return REAL(fflush)(stream);
}
