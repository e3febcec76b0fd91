/* See begin.h and, of mf_comm_patience(), comm.h. */
#include "mpi/begin.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mpi/comm.h"
#include "mpi/flight.h"
#include "mpi/launched.h"
#include "src/base/err.h"
#include "src/base/log.h"

/* Seconds. A start takes its time where many begin at once, whatever --timeout says; rank 0 has the first word. */
static const double LEAST = 60, STANDARD = 600, OTHERS_LATER = 4;

/* After so many seconds, or --timeout if that is less, rank 0 says that it waits. */
static const double SAID = 30;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    double seconds; /* 0: for ever */
    double said;
    char rank[24]; /* as the launcher says it; "": it does not */
    int given, runs, over;
} b = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

void mf_comm_patience(double seconds)
{
    b.seconds = seconds > 0 && seconds < LEAST ? LEAST : seconds;
    b.said = seconds > 0 && seconds < SAID ? seconds : SAID;
    b.given = 1;
}

/* No rank has done anything yet, but the record tells scripts of launch to start the job again. */
static _Noreturn void late(void)
{
    char host[64] = "?", line[MF_ERR_TEXT];

    if (gethostname(host, sizeof host - 1) != 0) strcpy(host, "?");
    snprintf(line, sizeof line,
             "rank %.20s on %s has waited %g s (--timeout) for all ranks to start: one did not start, runs version, "
             "help or launch, or a link is lost; try: mesoforge doctor, or MESOFORGE_MPI=0 if only one rank calls "
             "mesoforge",
             *b.rank ? b.rank : "?", host, b.seconds);
    (void)mf_flight_write(NULL, line);
    mf_die(MF_DEVICE, __FILE__, __LINE__, "%s", line);
}

/* Waits until @p seconds from @p from, or until the start is over: 1. */
static int over_within(const struct timespec *from, double seconds)
{
    struct timespec until = *from;
    int ended = 0, over;

    until.tv_sec += (time_t)seconds;
    pthread_mutex_lock(&b.lock);
    while (!b.over && ended == 0) ended = pthread_cond_clockwait(&b.wake, &b.lock, CLOCK_MONOTONIC, &until);
    over = b.over;
    pthread_mutex_unlock(&b.lock);
    return over;
}

/* Where a script calls the program on one rank of its own, only this line says why nothing happens. */
static void say(void)
{
    mf_warn("rank %.20s waits for all ranks to start; if only one rank calls mesoforge, set MESOFORGE_MPI=0",
            *b.rank ? b.rank : "?");
}

/* It does not ask for the environment: MPI changes that meanwhile. */
static void *wait_for_all(void *nothing)
{
    const int first = !*b.rank || strcmp(b.rank, "0") == 0;
    struct timespec begin;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (over_within(&begin, b.said)) return nothing;
    if (first && b.said != b.seconds) say();
    if (b.seconds > 0 && !over_within(&begin, b.seconds + (first ? 0 : OTHERS_LATER))) late();
    return nothing;
}

/* Signals are the business of the main thread. Without a thread it starts unwatched, as it does for --timeout 0. */
void mf_begin_open(void)
{
    const char *rank = mf_launched_rank(), *hook = getenv("MF_BEGIN"); /* of tests: seconds */
    sigset_t all, before;

    if (!b.given) mf_comm_patience(STANDARD);
    if (hook) b.said = b.seconds = strtod(hook, NULL);
    b.over = 0;
    mf_flight_open();
    snprintf(b.rank, sizeof b.rank, "%s", rank ? rank : "");
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    b.runs = pthread_create(&b.thread, NULL, wait_for_all, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void mf_begin_close(void)
{
    if (!b.runs) return;
    pthread_mutex_lock(&b.lock);
    b.over = 1;
    pthread_cond_signal(&b.wake);
    pthread_mutex_unlock(&b.lock);
    pthread_join(b.thread, NULL);
    b.runs = 0;
}
