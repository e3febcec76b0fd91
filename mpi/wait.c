/* See wait.h. */
#include "mpi/wait.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "mpi/comm_priv.h"

enum {
    PAUSES = 16,  /* a microsecond: longer than a rank that is there takes, and little beside a turn of a core */
    LONG = 1000,  /* [us] that another program keeps the core */
    SLEEPS = 200, /* after that, before the core is yielded again: some 15 ms */
    SLEEP = 20000 /* [ns] of each; Linux adds 50000 */
};

static int sleeps_too; /* beside other programs */

static int more_than_cores(int ranks) { return ranks > sysconf(_SC_NPROCESSORS_ONLN); }

void mf_wait_open(int ranks)
{
    sleeps_too = !more_than_cores(ranks) || getenv("MF_CROWD"); /* of tests: other programs run, too */
}

static double now(void) /* [us] */
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return 1e6 * (double)at.tv_sec + 1e-3 * (double)at.tv_nsec;
}

void mf_wait_yield(void)
{
    static _Thread_local int sleeps;
    double before;

    if (sleeps > 0) {
        --sleeps;
        (void)nanosleep(&(struct timespec){.tv_nsec = SLEEP}, NULL);
        return;
    }
    before = now();
    (void)syscall(SYS_sched_yield);
    if (sleeps_too && now() - before > LONG) sleeps = SLEEPS;
}

long mf_wait_pauses(const struct mf_comm *comm) { return more_than_cores(comm->impl->node_ranks) ? 0 : PAUSES; }

void mf_wait_turn(long turn, long pauses)
{
    if (turn >= pauses) {
        mf_wait_yield();
        return;
    }
#if defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ volatile("yield");
#endif
}
