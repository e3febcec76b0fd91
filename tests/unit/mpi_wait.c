/* A rank that waits beside a process that keeps its core sleeps; libraries wait the same way. */
#include <dlfcn.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/wait.h"
#include "tests/check.h"

/* How often this process has slept. */
static long slept(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return u.ru_nvcsw;
}

static pid_t start_busy(void)
{
    const pid_t child = fork();

    if (child != 0) return child;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (volatile unsigned long n = 0;; ++n) continue;
}

static void sleeps_beside_a_busy_process(void)
{
    cpu_set_t one;
    const int core = sched_getcpu();
    const long before = slept();
    pid_t busy;

    CPU_ZERO(&one);
    CPU_SET((size_t)core, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0);
    busy = start_busy();
    CHECK(busy > 0);
    for (long turn = 0; slept() - before < 100 && turn < 100000; ++turn) mf_wait_turn(turn, 16);
    CHECK_SAYS(slept() - before >= 100, "it slept %ld times", slept() - before);
    kill(busy, SIGKILL);
    (void)waitpid(busy, NULL, 0);
}

int main(void)
{
    alarm(50);
    mf_wait_open(1);
    CHECK(dlsym(RTLD_DEFAULT, "sched_yield") != dlsym(RTLD_NEXT, "sched_yield"));
    sleeps_beside_a_busy_process();
    return failures != 0;
}
