/* Signals are noted, and one that comes again in a moment is the same wish. After a second it ends the process, and the
 * files that were being written are gone. A start that hangs ends by the first. */
#include "src/base/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/check.h"

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000};

    while (nanosleep(&t, &t) != 0) {}
}

static void touch(const char *name)
{
    FILE *file = fopen(name, "w");

    CHECK(file && fclose(file) == 0);
}

/* Ends with the number of the signal that it saw, unless one ends it. With 0 times it saves nothing, and the first
 * does. */
static void child(int number, int times, long between, const char *half, const char *whole)
{
    (times ? mf_stop_on_signals : mf_stop_ends)();
    mf_stop_register_file(half);
    mf_stop_register_file(whole);
    mf_stop_unregister_file(whole);
    for (int i = 0; i < times; ++i) {
        sleep_ms(i ? between : 0);
        (void)raise(number);
    }
    if (times == 0) (void)raise(number);
    _exit(mf_stop_signal());
}

static int status_of(int number, int times, long between, const char *half, const char *whole)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) child(number, times, between, half, whole);
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

/* A start that nobody comes out of, or comes out of in time. */
static int start_of(int number, int in_time)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        mf_stop_ahead(1);
        (void)raise(number);
        if (in_time) mf_stop_on_signals();
        sleep_ms(1200);
        _exit(mf_stop_signal());
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    return status;
}

static void test_start(void)
{
    static const int stops[] = {SIGTERM, SIGXCPU};
    int status;

    for (size_t i = 0; i < sizeof stops / sizeof *stops; ++i) {
        status = start_of(stops[i], 0);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == stops[i]);
        status = start_of(stops[i], 1);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == stops[i]);
    }
}

static void test_ends(void)
{
    char folder[] = "mesoforge-test-XXXXXX", half[64], whole[64];
    int status;

    CHECK(mkdtemp(folder));
    snprintf(half, sizeof half, "%s/half", folder);
    snprintf(whole, sizeof whole, "%s/whole", folder);
    touch(half);
    touch(whole);
    status = status_of(SIGINT, 2, 20, half, whole);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == SIGINT && access(half, F_OK) == 0);
    status = status_of(SIGINT, 2, 1050, half, whole);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    CHECK(access(half, F_OK) != 0 && access(whole, F_OK) == 0);
    status = status_of(SIGXCPU, 3, 600, half, whole);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == SIGXCPU);
    touch(half);
    status = status_of(SIGHUP, 0, 0, half, whole);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGHUP);
    CHECK(access(half, F_OK) != 0 && access(whole, F_OK) == 0);
    CHECK(unlink(whole) == 0 && rmdir(folder) == 0);
}

static void *take(void *nothing)
{
    (void)raise(SIGTERM);
    return nothing;
}

/* The system may give a signal to any thread, and the first one sees it. */
static void test_elsewhere(void)
{
    pthread_t other;
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        mf_stop_on_signals();
        if (pthread_create(&other, NULL, take, NULL) != 0) _exit(1);
        while (mf_stop_signal() == 0) sleep_ms(1);
        (void)pthread_join(other, NULL);
        exit(mf_stop_signal()); /* or with the status of the thread sanitizer */
    }
    CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == SIGTERM);
}

int main(void)
{
    static const int stops[] = {SIGTERM, SIGUSR1, SIGINT, SIGXCPU, SIGHUP};
    struct sigaction action;

    test_ends();
    test_start();
    test_elsewhere();
    mf_stop_ahead(60);
    CHECK(sigaction(SIGINT, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
    CHECK(sigaction(SIGTERM, NULL, &action) == 0 && action.sa_handler != SIG_DFL);
    (void)signal(SIGHUP, SIG_IGN); /* as under nohup */
    mf_stop_on_signals();
    CHECK(sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_IGN);
    (void)signal(SIGHUP, SIG_DFL);
    mf_stop_on_signals();
    CHECK(mf_stop_signal() == 0 && mf_stop_saves() == 0);
    (void)raise(SIGUSR2);
    (void)raise(SIGUSR2);
    CHECK(mf_stop_signal() == 0 && mf_stop_saves() == 2);
    for (size_t i = 0; i < sizeof stops / sizeof *stops; ++i) {
        (void)raise(stops[i]);
        CHECK(mf_stop_signal() == stops[i]);
    }
    return failures != 0;
}
