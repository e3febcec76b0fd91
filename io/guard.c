/* See guard.h. Two pipes: one carries the result, one the child's code and sentence. */
#include "io/guard.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/lent.h"
#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/stop.h"

enum { PIPE_BYTES = 1 << 20 };

/* Bytes that the child may map beyond those of this process; seconds that children of a file share. */
static rlim_t mapped = (rlim_t)4 << 30;
static double shared = MF_GUARD_SECONDS;

struct verdict {
    int code;
    char text[MF_ERR_TEXT];
};

int mf_guard_send(FILE *to, const void *what, size_t bytes)
{
    if (bytes && fwrite(what, 1, bytes, to) != bytes) return mf_fail(MF_INPUT, "the reader went away");
    mf_comm_alive();
    return MF_OK;
}

int mf_guard_receive(FILE *from, void *what, size_t bytes)
{
    if (bytes && fread(what, 1, bytes, from) != bytes) return mf_fail(MF_INPUT, "the file ended early");
    return MF_OK;
}

void mf_guard_sanitise(char *text, size_t room)
{
    text[room - 1] = '\0';
    for (; *text; ++text)
        if (iscntrl((unsigned char)*text) && *text != '\n') *text = '?';
}

/* Sanitizers map terabytes of address space, so they cannot live under a limit of it. */
static void limit_memory(void)
{
#ifndef __SANITIZE_ADDRESS__
    FILE *pages = fopen("/proc/self/statm", "r");
    char text[64];

    if (pages && fgets(text, sizeof text, pages)) {
        struct rlimit most = {(rlim_t)strtoull(text, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE) + mapped, RLIM_INFINITY};

        (void)setrlimit(RLIMIT_AS, &most);
    }
    if (pages) (void)fclose(pages);
#endif
}

/* Schedulers, launchers and terminals send these to all processes of a run: only the parent heeds them. */
static const int SAID[] = {SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGINT, SIGHUP};
enum { SAYINGS = sizeof SAID / sizeof *SAID };

static int is_said(int number)
{
    int is = 0;

    for (int i = 0; i < SAYINGS; ++i) is |= SAID[i] == number;
    return is;
}

/* Blocks signals around fork(). A handler of the parent must not run in the child. No signal may end the child before
 * it ignores them. */
static void hold(sigset_t *before)
{
    sigset_t said;

    sigemptyset(&said);
    for (int i = 0; i < SAYINGS; ++i) sigaddset(&said, SAID[i]);
    (void)pthread_sigmask(SIG_BLOCK, &said, before);
}

/* The system's own is of RLIMIT_CPU and ends the child; that of a scheduler is the parent's. */
static void tell_limit(int number, siginfo_t *from, void *context)
{
    (void)context;
    if (from->si_code != SI_KERNEL) return;
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* comes when this handler returns */
}

/* Signals that end the parent have their default action in the child. Signals that only notify the parent, which it
 * handles or ignores, are ignored in the child. */
static void set_signals(const sigset_t *before)
{
    struct sigaction limit = {.sa_sigaction = tell_limit, .sa_flags = SA_SIGINFO | SA_RESTART}, is;

    for (int s = 1; s < SIGSYS; ++s) {
        if (s == SIGKILL || s == SIGSTOP || sigaction(s, NULL, &is) != 0) continue;
        if (!is_said(s) || mf_stop_is_end(s))
            (void)signal(s, SIG_DFL);
        else if (is.sa_handler != SIG_DFL)
            (void)signal(s, SIG_IGN);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    if (sigaction(SIGXCPU, NULL, &is) == 0 && is.sa_handler == SIG_IGN) (void)sigaction(SIGXCPU, &limit, NULL);
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

/* Core files of a hostile input help nobody. */
static void limit(double seconds)
{
    struct rlimit cpu = {(rlim_t)ceil(seconds), (rlim_t)ceil(seconds) + 1}, none = {0, 0};

    limit_memory();
    (void)setrlimit(RLIMIT_CPU, &cpu);
    (void)setrlimit(RLIMIT_CORE, &none);
}

static _Noreturn void child(double seconds, int (*work)(void *, FILE *), void *context, const int *ends,
                            const sigset_t *before)
{
    struct verdict v = {MF_OK, ""};
    FILE *to = fdopen(ends[1], "wb");
    int quiet = open("/dev/null", O_WRONLY);

    close(ends[0]);
    close(ends[2]);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* before signals are ignored that end the parent */
    set_signals(before);
    limit(seconds);
    if (quiet >= 0) (void)dup2(quiet, STDERR_FILENO);
    if (!to) _exit(1);
    v.code = work(context, to);
    if (fflush(to) != 0 && v.code == MF_OK) v.code = mf_fail(MF_INPUT, "the reader went away");
    snprintf(v.text, sizeof v.text, "%s", mf_err_text());
    if (write(ends[3], &v, sizeof v) != (ssize_t)sizeof v) _exit(1);
    _exit(0);
}

/* All openings of one file share a budget of time. This is the time spent so far for the file that was opened last. */
static struct {
    char path[4096];
    double spent;
} account;

void mf_guard_limit(double seconds, size_t bytes)
{
    shared = seconds;
    mapped = bytes;
    account.path[0] = '\0';
}

static double left_of(const char *path, double seconds)
{
    if (strncmp(account.path, path, sizeof account.path - 1) != 0) {
        account.spent = MF_GUARD_SECONDS - shared;
        snprintf(account.path, sizeof account.path, "%s", path);
    }
    return fmax(1, seconds - account.spent);
}

static void charge(double seconds, double used)
{
    const double own = fmax(1, seconds - MF_GUARD_SECONDS);

    if (used > own) account.spent = fmin(MF_GUARD_SECONDS, account.spent + used - own);
}

/* Its status; *used: processor time [s]. */
static int reap(pid_t pid, double *used)
{
    struct rusage is = {0};
    int status = 0;

    while (wait4(pid, &status, 0, &is) < 0 && errno == EINTR) {}
    *used =
        (double)(is.ru_utime.tv_sec + is.ru_stime.tv_sec) + 1e-6 * (double)(is.ru_utime.tv_usec + is.ru_stime.tv_usec);
    return status;
}

/* The child's word, or what its end means. */
static int judge(const char *path, int end, const struct verdict *v, ssize_t got)
{
    if (got == (ssize_t)sizeof *v && v->code != MF_OK) return mf_fail(v->code, "%.1000s", v->text);
    if (got == (ssize_t)sizeof *v) return MF_OK;
    if (WIFSIGNALED(end) && WTERMSIG(end) == SIGXCPU)
        return mf_fail(MF_INPUT, "cannot read '%s': it takes too long to decode; the file is damaged", path);
    if (WIFSIGNALED(end) && (is_said(WTERMSIG(end)) || WTERMSIG(end) == SIGKILL))
        return mf_fail(MF_INPUT, "cannot read '%s': the process that decodes it was ended by signal %d (%s)", path,
                       WTERMSIG(end), strsignal(WTERMSIG(end)));
    return mf_fail(MF_INPUT, "cannot read '%s': the library that decodes it failed; the file is damaged", path);
}

static int parent(const char *path, double seconds, pid_t pid, int (*take)(void *, FILE *), void *context, int data,
                  int status)
{
    FILE *from = fdopen(data, "rb");
    struct verdict v = {0};
    char own[MF_ERR_TEXT];
    double used;
    int rc = from && take ? take(context, from) : MF_OK, word;
    ssize_t got;

    snprintf(own, sizeof own, "%s", mf_err_text());
    if (from) (void)fclose(from); /* a child that still writes is stopped by EPIPE */
    while ((got = read(status, &v, sizeof v)) < 0 && errno == EINTR) {}
    close(status);
    v.text[sizeof v.text - 1] = '\0';
    word = judge(path, reap(pid, &used), &v, got);
    charge(seconds, used);
    if (word != MF_OK && (rc == MF_OK || strcmp(own, "the file ended early") == 0)) return word;
    return rc == MF_OK ? MF_OK : mf_fail(rc, "%.1000s", own);
}

/* Here the bytes for the pipe stay in memory until they are read. */
static int in_process(const char *path, int (*work)(void *, FILE *), int (*take)(void *, FILE *), void *context)
{
    char *bytes = NULL;
    size_t count = 0;
    FILE *to = open_memstream(&bytes, &count), *from = NULL;
    int rc = to ? work(context, to) : mf_fail(MF_MEMORY, "no memory to read '%s'", path);

    if (to && fclose(to) != 0 && rc == MF_OK) rc = mf_fail(MF_MEMORY, "no memory to read '%s'", path);
    if (rc == MF_OK && count > 0) from = fmemopen(bytes, count, "rb");
    if (from && take) rc = take(context, from);
    if (from) (void)fclose(from);
    free(bytes);
    return rc;
}

/* A guest starts no child. */
static int as_guest(const char *path, int (*work)(void *, FILE *), int (*take)(void *, FILE *), void *context)
{
    if (mf_lent_find(path)) return mf_fail(MF_INPUT, "'%s' is in memory, and a file is needed in its place", path);
    if (mf_guest_trusts()) return in_process(path, work, take, context);
    return mf_fail(
        MF_INPUT,
        "cannot read '%s': a library decodes no file of this kind in the process of its host; try: a session "
        "with trust-files, or read it there and give the array",
        path);
}

int mf_guard(const char *path, double seconds, int (*work)(void *context, FILE *to),
             int (*take)(void *context, FILE *from), void *context)
{
    int data[2], status[2];
    const double left = left_of(path, seconds);
    sigset_t before;
    pid_t pid;

    if (mf_is_guest()) return as_guest(path, work, take, context);
    if (pipe2(data, O_CLOEXEC) != 0) return mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
    if (pipe2(status, O_CLOEXEC) != 0) {
        close(data[0]);
        close(data[1]);
        return mf_fail(MF_INPUT, "cannot read '%s': %s", path, strerror(errno));
    }
    (void)fcntl(data[1], F_SETPIPE_SZ, PIPE_BYTES);
    fflush(NULL);
    hold(&before);
    pid = fork();
    if (pid == 0) child(left, work, context, (int[4]){data[0], data[1], status[0], status[1]}, &before);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(data[1]);
    close(status[1]);
    if (pid < 0) {
        close(data[0]);
        close(status[0]);
        return mf_fail(MF_INPUT, "cannot read '%s': no process to decode it in: %s", path, strerror(errno));
    }
    return parent(path, seconds, pid, take, context, data[0], status[0]);
}
