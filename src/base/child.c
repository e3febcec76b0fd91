/* See child.h. */
#include "src/base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"

const char *const mf_child_job[] = {"SLURM_",           "OMPI_COMM",     "OMPI_UNI",  "OMPI_ARGV",     "OMPI_APP",
                                    "OMPI_NUM",         "OMPI_FIRST",    "OMPI_FILE", "OMPI_MCA_orte", "OMPI_MCA_ess",
                                    "OMPI_MCA_initial", "OMPI_MCA_pmix", "PMIX_",     "PMI_",          NULL};
const char *const *const mf_child_ranks = mf_child_job + 1;

static int is_dropped(const struct mf_child *c, const char *variable)
{
    for (size_t i = 0; c->drops && c->drops[i]; ++i)
        if (strncmp(variable, c->drops[i], strlen(c->drops[i])) == 0) return 1;
    return 0;
}

/* Pointers into this program's environment; the caller frees the list. */
static char **environment_of(const struct mf_child *c)
{
    size_t n = 0, kept = 0;
    char **list;

    while (environ[n]) ++n;
    list = MF_MUST(malloc((n + 2) * sizeof *list), "an environment");
    for (size_t i = 0; i < n; ++i)
        if (!is_dropped(c, environ[i])) list[kept++] = environ[i];
    if (c->more) list[kept++] = (char *)(uintptr_t)c->more;
    list[kept] = NULL;
    return list;
}

/* -1: not started, errno. */
static pid_t start(const struct mf_child *c, int out)
{
    char **list = environment_of(c);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t ours;
    pid_t pid = -1;
    int why;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (out >= 0)
        posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    else
        posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (c->quiet || c->errors)
        posix_spawn_file_actions_addopen(&files, STDERR_FILENO, c->quiet ? "/dev/null" : c->errors,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGQUIT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGXFSZ); /* main() ignores it */
    sigaddset(&ours, SIGPIPE); /* of several ranks mpi/comm.c does */
    posix_spawnattr_setsigdefault(&attributes, &ours);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    why = posix_spawnp(&pid, c->words[0], &files, &attributes, c->words, list);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(list);
    errno = why;
    return why ? -1 : pid;
}

/* Its exit status; -1: it did not end in time; -2: that is lost. */
static int wait_for(pid_t pid, double end)
{
    const struct timespec moment = {0, 5000000};
    int status = 0;
    pid_t ended;

    while ((ended = waitpid(pid, &status, end > 0 ? WNOHANG : 0)) != pid) {
        if (ended < 0 && errno == EINTR) continue;
        if (ended < 0) return -2;
        if (mf_now() > end) {
            kill(-pid, SIGKILL);
            waitpid(pid, &status, 0);
            return -1;
        }
        nanosleep(&moment, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Until it is closed at the other end, or the time is over. */
static char *drain(int from, double end)
{
    size_t used = 0, room = 1 << 16;
    char *text = MF_MUST(malloc(room), "what a program prints");
    struct pollfd one = {.fd = from, .events = POLLIN};
    ssize_t got;

    for (;;) {
        int left = end > 0 ? (int)(1e3 * (end - mf_now())) : -1;

        if (end > 0 && left <= 0) break;
        if (poll(&one, 1, left) <= 0) continue;
        if (used + 1 == room) text = MF_MUST(realloc(text, room *= 2), "what a program prints");
        got = read(from, text + used, room - used - 1);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        used += (size_t)got;
    }
    text[used] = '\0';
    return text;
}

static const int held[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
enum { HELD = sizeof held / sizeof *held };

static struct sigaction before[HELD];
/* A handler runs in any thread, so these are atomic. */
static atomic_int heard, told; /* told: the child knows */
static _Atomic pid_t running;

static void note(int number)
{
    const int error = errno;

    heard = number;
    told = running > 0;
    if (told) (void)kill(-running, number);
    errno = error;
}

void mf_child_hold(void)
{
    const struct sigaction action = {.sa_handler = note, .sa_flags = SA_RESTART};

    for (int i = 0; i < HELD; ++i) {
        (void)sigaction(held[i], NULL, &before[i]);
        if (before[i].sa_handler != SIG_IGN) (void)sigaction(held[i], &action, NULL);
    }
}

void mf_child_let(void)
{
    for (int i = 0; i < HELD; ++i) (void)sigaction(held[i], &before[i], NULL);
}

int mf_child_heard(void) { return heard; }

int mf_child_stopped(void)
{
    return heard ? mf_fail(MF_DEVICE, "stopped by '%s': unsaved work is lost", strsignal(heard)) : MF_OK;
}

int mf_child_run(const struct mf_child *child, char **output)
{
    double end = child->seconds > 0 ? mf_now() + child->seconds : 0;
    int ends[2] = {-1, -1}, status;
    pid_t pid;

    if (output) *output = NULL;
    if (heard) return 128 + heard;
    if (output && pipe2(ends, O_CLOEXEC) != 0) return -2;
    running = pid = start(child, ends[1]);
    if (pid > 0 && heard && !told) (void)kill(-pid, heard); /* it came while this one started */
    if (output) {
        close(ends[1]);
        *output = pid < 0 ? NULL : drain(ends[0], end);
        close(ends[0]);
    }
    status = pid < 0 ? -2 : wait_for(pid, end);
    running = 0;
    return status;
}

void mf_child_self(char *path, size_t room)
{
    ssize_t length = readlink("/proc/self/exe", path, room - 1);

    path[length > 0 ? length : 0] = '\0';
}
