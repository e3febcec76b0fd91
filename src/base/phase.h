/* Phases: where a run spends its time, and what it moves and computes (--log-view). Users understand their names.
 * Rule: the folder that does the work defines the phase (io/phases.h, src/desc/phases.h, ...):
 *
 *     struct mf_phase mf_phase_step = {.name = "step", .kind = MF_WORK};
 *     {
 *         MF_PHASE(&mf_phase_step);        from here to the end of the block
 *         mf_phase_count(mf_cost_step(n)); what the innermost open phase moves and computes
 *     }
 *
 * Phases nest. One thread of a process opens them, never inside a parallel region. Without --log-view a phase costs one
 * branch, with it two readings of the clock. */
#ifndef MF_BASE_PHASE_H
#define MF_BASE_PHASE_H

#include <stddef.h>

/** Stages follow each other and make up the run. Work is inside a stage, and may repeat. */
enum mf_phase_kind { MF_STAGE, MF_WORK, MF_TALK /* work with other ranks */ };

/** Least bytes that a piece of work moves between memory and caches, and its additions and multiplications. */
struct mf_cost {
    double bytes, operations;
};

/** One phase on one rank. All members are doubles, so that MPI can send it. Inclusive numbers contain phases inside
 * it. */
struct mf_phase_sum {
    double count;
    double total, self;   /* seconds: inclusive; without phases inside it */
    double cores[2];      /* [s] processor time of all threads meanwhile: own, inclusive */
    double bytes[2];      /* moved: own, inclusive */
    double operations[2]; /* the same */
    double sent[2];       /* bytes sent to other ranks: own, inclusive */
};

/** Defined once, by the folder that does the work. */
struct mf_phase {
    const char *name; /* unique */
    enum mf_phase_kind kind;
    struct mf_phase_sum sum;
    int open;              /* nesting depth: a phase inside itself is not counted twice */
    int listed;            /* it is among mf_phases() */
    struct mf_phase *next; /* of those */
};

/** The first phase of every program; it ends when the command line is read. */
extern struct mf_phase mf_phase_start;

extern int mf_phases_on; /* read-only: someone listens */

/** Clears all sums; from now on phases are timed (@p on), or not. The start phase began at @p begun and ends here. */
void mf_phases_open(int on, double begun);

/** The phases that were opened since, in order of first use, as a list. */
const struct mf_phase *mf_phases(void);

/**
 * Calls @p push with the name where a phase begins and @p pop where it ends, timed or not. Used for the ranges of a
 * device's profiler. NULL stops this.
 */
void mf_phases_hook(void (*push)(const char *name), void (*pop)(void));

/** Are phases timed? */
int mf_phases_timed(void);

void mf_phase_push(struct mf_phase *phase);
void mf_phase_pop(void);
void mf_phase_add(double bytes, double operations, double sent);

static inline int mf_phase_enter(struct mf_phase *phase)
{
    if (__builtin_expect(mf_phases_on, 0)) {
        mf_phase_push(phase);
        return 1;
    }
    return 0;
}

static inline void mf_phase_leave(const int *entered)
{
    if (__builtin_expect(*entered, 0)) mf_phase_pop();
}

#define MF_PHASE_NAME(a, b) a##b
#define MF_PHASE_AT(line, phase) \
    const int MF_PHASE_NAME(mf_phase_, line) __attribute__((cleanup(mf_phase_leave), unused)) = mf_phase_enter(phase)

/** Opens a phase until the end of the block, however the block is left. */
#define MF_PHASE(phase) MF_PHASE_AT(__LINE__, phase)

/** Adds to the innermost open phase: a cost (computed only if phases are timed); bytes sent to other ranks. */
#define mf_phase_count(cost)                                                \
    do {                                                                    \
        if (__builtin_expect(mf_phases_on, 0)) {                            \
            const struct mf_cost mf_phase_cost = (cost);                    \
                                                                            \
            mf_phase_add(mf_phase_cost.bytes, mf_phase_cost.operations, 0); \
        }                                                                   \
    } while (0)

static inline void mf_phase_sent(size_t bytes)
{
    if (__builtin_expect(mf_phases_on, 0)) mf_phase_add(0, 0, (double)bytes);
}

#endif
