/* Refusals and breakages. A refusal: something outside the program is wrong. Rule: the first function that knows the
 * cause records one sentence with mf_fail() and returns its code. All callers pass the code on unchanged. A breakage is
 * a bug or a broken machine: mf_die() prints one line and ends the job on every rank. */
#ifndef MF_BASE_ERR_H
#define MF_BASE_ERR_H

#include <stddef.h>

/** Exit codes of the program; the table of docs/ and of every man page. */
enum mf_code {
    MF_OK = 0,
    MF_USAGE = 2,   /* bad option, config key or value */
    MF_INPUT = 3,   /* input data or file format */
    MF_DEVICE = 4,  /* hardware or communicator: no GPU, lost rank, time-out of a collective */
    MF_MEMORY = 5,  /* out of memory after every fallback */
    MF_NUMERIC = 6, /* numerical: NaN, divergence */
    MF_OUTPUT = 7,  /* output or disk: no space, cannot write */
    MF_BROKEN = 70, /* a bug */
    MF_STOPPED = 75 /* stopped early with a valid checkpoint: please requeue */
};

enum { MF_ERR_TEXT = 1024 };

/** Records one sentence (printf format, no newline) and returns @p code. The last sentence recorded wins. */
int mf_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#ifdef __clang_analyzer__ /* it then knows that the code is returned */
#define mf_fail(code, ...) (mf_fail(code, __VA_ARGS__), (code))
#endif

/** The sentence of the last refusal on this rank; "" if there was none. */
const char *mf_err_text(void);

/** Forgets the sentence (a caller that handles a refusal itself). */
void mf_err_clear(void);

/** Forgets the sentence, and copies it without its advice to @p why. */
void mf_err_take(char *why, size_t size);

/** Prints one line "mesoforge: broken: <text>", for a bug (MF_BROKEN) with "(file:line)". Then calls the hook and exits
 * with @p code. Never returns. Any thread may call it; only the first prints. A guest (guest.h) hands the line over,
 * and aborts. */
void mf_die(int code, const char *file, int line, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));

/** Ends the job without a message: calls the hook and exits with @p code. Never returns. */
void mf_end(int code) __attribute__((noreturn));

/** Function that mf_die() calls last, so that a rank can end the whole job (mpi/comm.c installs MPI_Abort). NULL:
 * exit(code). */
void mf_die_hook(void (*hook)(int code));

/**
 * A fault site: a place that a test can make refuse. With MF_FAULT=site[:visit=N][:rank=R] the N-th visit (default 1)
 * of this site refuses on rank R (default all). Then it returns true. The environment is read once, because sites may
 * be in code where time matters.
 */
int mf_fault(const char *site);

/** Uses @p fault (kept by the caller; NULL: none) instead of MF_FAULT. Visits are counted from here. */
void mf_fault_set(const char *fault);

/** 1: sites neither refuse nor count their visits, because a rehearsal is not the test; 0: they do again. */
void mf_fault_hold(int hold);

/** States which rank this is (for MF_FAULT). */
void mf_err_rank(int rank);

/** Returns @p memory. If it is NULL, ends as a breakage "no memory for WHAT". */
#define MF_MUST(memory, what) mf_must(memory, __FILE__, __LINE__, what)
void *mf_must(void *memory, const char *file, int line, const char *what);

/** Passes a refusal on. */
#define MF_TRY(call)                              \
    do {                                          \
        int mf_try_rc = (call);                   \
        if (mf_try_rc != MF_OK) return mf_try_rc; \
    } while (0)

/** A broken invariant is a bug. */
#define MF_ASSERT(condition)                                                       \
    do {                                                                           \
        if (!(condition)) mf_die(MF_BROKEN, __FILE__, __LINE__, "%s", #condition); \
    } while (0)

#endif
