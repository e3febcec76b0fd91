/* See stop.h. */
#include "src/base/stop.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/guest.h"

enum { TEMPORARIES = 16 };

static const double SAME = 1; /* seconds: launchers, terminals and schedulers send one wish twice */

/* A handler runs in any thread, so these are atomic. */
static atomic_int seen, saves;
static atomic_uint patience; /* seconds; 0: it is no more the start, or never was */
static _Atomic double first[NSIG];
static const char *_Atomic temporary[TEMPORARIES];
static pthread_t maker; /* the thread that mf_stop_ends() was called by */

static double now(void)
{
    struct timespec t;

    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void note_save(int number)
{
    (void)number;
    ++saves;
}

/* The system repeats this signal with every second of processor time, until its hard limit ends the process. */
static void note_limit(int number)
{
    if (!seen && patience) (void)alarm(patience);
    seen = number;
}

static void end_by(int number)
{
    for (int i = 0; i < TEMPORARIES; ++i)
        if (temporary[i]) (void)unlink(temporary[i]);
    (void)signal(number, SIG_DFL);
    (void)raise(number); /* comes when the handler returns */
}

/* The system may deliver a signal to any thread. The thread that writes files must not continue with a file while it is
 * removed. */
static void end_first(int number)
{
    if (pthread_equal(pthread_self(), maker))
        end_by(number);
    else
        (void)pthread_kill(maker, number);
}

/* A signal that comes again when the first could have been heeded means: now. */
static void note_stop(int number)
{
    const double at = now();
    double before = 0;

    note_limit(number);
    if (!atomic_compare_exchange_strong(&first[number], &before, at) && at - before >= SAME) end_by(number);
}

/* Nobody has asked for the signal that was noted. */
static void note_late(int number)
{
    (void)number;
    end_by(seen);
}

static void take(int number, void (*handler)(int))
{
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = handler;
    action.sa_flags = SA_RESTART;
    (void)sigaction(number, &action, NULL);
}

/* nohup has it ignored: the run is to outlive its terminal. */
static int is_ignored(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static void take_scheduler(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    take(SIGTERM, note_stop);
    take(SIGUSR1, note_stop);
    take(SIGXCPU, note_limit);
    take(SIGUSR2, note_save);
}

void mf_stop_ahead(unsigned seconds)
{
    if (mf_is_guest()) return;
    patience = seconds;
    take(SIGALRM, note_late);
    take_scheduler();
}

void mf_stop_on_signals(void)
{
    if (mf_is_guest()) return;
    patience = 0;
    (void)alarm(0);
    take_scheduler();
    take(SIGINT, note_stop);
    if (!is_ignored(SIGHUP)) take(SIGHUP, note_stop);
}

void mf_stop_ends(void)
{
    static const int number[] = {SIGTERM, SIGINT, SIGHUP};

    maker = pthread_self();
    for (size_t i = 0; i < sizeof number / sizeof *number; ++i)
        if (!is_ignored(number[i])) take(number[i], end_first);
}

int mf_stop_is_end(int number)
{
    struct sigaction action;

    return sigaction(number, NULL, &action) == 0 && action.sa_handler == end_first;
}

void mf_stop_end(int number) { end_by(number); }

int mf_stop_signal(void) { return seen; }

long mf_stop_saves(void) { return saves; }

void mf_stop_register_file(const char *name)
{
    for (int i = 0; i < TEMPORARIES; ++i)
        if (!temporary[i]) {
            temporary[i] = name;
            return;
        }
    mf_die(MF_BROKEN, __FILE__, __LINE__, "more than %d files are being written at once", TEMPORARIES);
}

void mf_stop_unregister_file(const char *name)
{
    for (int i = 0; i < TEMPORARIES; ++i)
        if (temporary[i] == name) temporary[i] = NULL;
}
