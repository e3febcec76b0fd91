/* See log.h. */
#include "src/base/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/log_divert.h"
#include "src/base/pulse.h"

static const double PULSE = 0.2; /* seconds */

static int own_rank, ranks = 1;
static enum mf_log_level level = MF_INFO;
static int hushed;
static FILE *copy;
static atomic_int cut_by; /* errno of the first line that the copy did not take */
static _Thread_local struct {
    void (*take)(void *context, enum mf_log_level level, const char *line);
    void *context;
} divert;
static _Thread_local struct {
    void (*take)(void *context, const char *what, double share);
    void *context;
    double told; /* mf_now() of the last one */
} steps;
static atomic_int bar_open; /* a bar stands on the terminal and its line has not ended */

double mf_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void mf_log_open(int rank, int size, enum mf_log_level new_level)
{
    own_rank = rank;
    ranks = size;
    level = new_level;
    if (!mf_is_guest()) setvbuf(stderr, NULL, _IOLBF, 0);
}

int mf_log_copy(const char *path)
{
    FILE *old = copy;

    copy = NULL;
    if (old && fclose(old) != 0 && !cut_by) cut_by = errno;
    if (cut_by) mf_warn("the log file is not complete: %s", strerror(cut_by));
    cut_by = 0;
    if (!path || own_rank != 0) return MF_OK;
    copy = fopen(path, "a");
    if (!copy) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    setvbuf(copy, NULL, _IOLBF, 0);
    return MF_OK;
}

void mf_log_divert(void (*take)(void *context, enum mf_log_level level, const char *line), void *context)
{
    divert.take = take;
    divert.context = context;
}

void mf_progress_divert(void (*take)(void *context, const char *what, double share), void *context)
{
    steps.take = take;
    steps.context = context;
}

void mf_log_hush(int hush) { hushed = hush; }

/* Results that were printed before a line stand before it, where both go to one file too. */
static void results_first(void) { (void)fflush(stdout); }

/* A full disk is asked why at once: later, the reason is that of another call. */
static void say_to_copy(const char *prefix, const char *line)
{
    errno = 0;
    if (copy && fprintf(copy, "%s%s\n", prefix, line) < 0 && !cut_by) cut_by = errno;
}

static void say(enum mf_log_level at, const char *prefix, const char *format, va_list args)
{
    char line[2048];

    if (divert.take) {
        vsnprintf(line, sizeof line, format, args);
        divert.take(divert.context, at, line);
        return;
    }
    if (mf_is_guest()) return;
    if (at > level || (hushed && at > MF_WARN) || (own_rank != 0 && level < MF_DEBUG)) return;
    vsnprintf(line, sizeof line, format, args);
    results_first();
    if (atomic_exchange(&bar_open, 0)) fputc('\n', stderr);
    if (own_rank != 0)
        fprintf(stderr, "[%d/%d] %s%s\n", own_rank, ranks, prefix, line);
    else
        fprintf(stderr, "%s%s\n", prefix, line);
    say_to_copy(prefix, line);
}

void mf_info(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(MF_INFO, "", format, args);
    va_end(args);
}

void mf_warn(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(MF_WARN, "warning: ", format, args);
    va_end(args);
}

void mf_debug(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    say(MF_DEBUG, "", format, args);
    va_end(args);
}

/* Without an end in sight: what was done, in what time. */
static void progress_count(const char *what, long done, const char *text, double seconds, int terminal)
{
    fprintf(stderr, terminal ? "\r%s %ld, %.0f s  %s\033[K" : "%s %ld, %.0f s: %s\n", what, done, seconds, text);
    fflush(stderr);
    bar_open = terminal;
}

static void progress_bar(const char *what, long done, long total, const char *text, double left)
{
    char bar[31];
    long full = total > 0 ? 30 * done / total : 0;

    memset(bar, '.', 30);
    memset(bar, '#', (size_t)(full < 30 ? full : 30));
    bar[30] = '\0';
    fprintf(stderr, "\r%s [%s] %ld/%ld %.0f s left  %s\033[K%s", what, bar, done, total, left, text,
            done >= total ? "\n" : "");
    fflush(stderr);
    bar_open = done < total;
}

static void tell(const char *what, double share)
{
    steps.told = mf_now();
    steps.take(steps.context, what, share);
}

void mf_pulse_tell(const char *what)
{
    if (steps.take && mf_now() - steps.told >= PULSE) tell(what, -1);
}

int mf_pulse(const char *what)
{
    mf_pulse_tell(what);
    return mf_guest_stops() ? mf_fail(MF_STOPPED, "stopped when it was asked to") : MF_OK;
}

static _Thread_local int may_break;

void mf_pulse_open(void) { may_break = 1; }

void mf_pulse_close(void) { may_break = 0; }

int mf_pulse_breaks(const char *what)
{
    mf_pulse_tell(what);
    return may_break && mf_guest_stops();
}

void mf_progress(const char *what, long done, long total, const char *text)
{
    mf_progress_of(what, done, total, (double)done, (double)total, text);
}

void mf_progress_of(const char *what, long done, long total, double work, double all, const char *text)
{
    static double start, next, every, first; /* first: work at the first call */
    static long last = -1;                   /* done at the last call */
    static char of[32];                      /* what the last call was about */
    double now = mf_now(), left;
    int terminal = isatty(STDERR_FILENO), ended = total > 0 && done >= total;

    if (steps.take) tell(what, all > 0 ? work / all : -1);
    if (level < MF_INFO || own_rank != 0 || mf_is_guest()) return;
    if (last < 0 || done < last || strncmp(of, what, sizeof of - 1) != 0) {
        snprintf(of, sizeof of, "%s", what);
        start = now;
        first = work;
        next = now + (terminal ? 0.1 : 1.0);
        every = terminal ? 0.1 : 30.0;
    }
    last = ended ? -1 : done;
    if (now < next && !ended) return;
    next = now + every;
    results_first();
    left = work > first ? (now - start) * (all - work) / (work - first) : 0;
    if (total == 0)
        progress_count(what, done, text, now - start, terminal);
    else if (terminal)
        progress_bar(what, done, total, text, left);
    else
        fprintf(stderr, "%s %ld/%ld, %.0f s, %.0f s left: %s\n", what, done, total, now - start, left, text);
}
