/* Where a run spends its time: phases with names that users understand, what they move and compute (--log-view).
 *
 *     {
 *         MF_PHASE(MF_PHASE_STEP);         from here to the end of the block
 *         mf_phase_count(mf_cost_step(n)); what the innermost open phase moves and computes
 *     }
 *
 * Phases nest; one thread of a process opens them (never inside a parallel region). Without --log-view a phase costs
 * one branch, with it two looks at the clock. */
#ifndef MF_BASE_PHASE_H
#define MF_BASE_PHASE_H

#include <stddef.h>

/** Stages follow each other and make up the run; kinds of work happen inside them, and again and again. */
enum mf_phase {
    MF_PHASE_START,
    MF_PHASE_READ,
    MF_PHASE_CHARACTERISE,
    MF_PHASE_PREPARE,
    MF_PHASE_DESCENT,
    MF_PHASE_CONTINUATION,
    MF_PHASE_CUT,
    MF_PHASE_POLISH,
    MF_PHASE_DESCRIBE,
    MF_PHASE_WRITE,
    MF_STAGES, /* what follows is work */
    MF_PHASE_S2 = MF_STAGES,
    MF_PHASE_VARIATION,
    MF_PHASE_FRACTION,
    MF_PHASE_LINEAL,
    MF_PHASE_TWO_POINT,
    MF_PHASE_TENSOR,
    MF_PHASE_VGG,
    MF_PHASE_PATCHES,
    MF_PHASE_SEARCH,
    MF_PHASE_COUNTS,
    MF_PHASE_EXCHANGE,
    MF_PHASE_WAITING,
    MF_PHASE_REDUCTION,
    MF_PHASE_MESSAGES,
    MF_PHASE_DIRECTION,
    MF_PHASE_STEP,
    MF_PHASE_PAIR,
    MF_PHASE_ADAPT,
    MF_PHASE_FIELD,
    MF_PHASE_RANK,
    MF_PHASE_GATHER,
    MF_PHASE_SWAPS,
    MF_PHASE_CHECKPOINT,
    MF_PHASES
};

/** "read", "characterise", ... */
const char *mf_phase_name(enum mf_phase phase);

/** What a piece of work moves between memory and caches at least, and how many numbers it adds or multiplies. */
struct mf_cost {
    double bytes, operations;
};

/** One phase of one rank: all doubles, so that it travels as such. Inclusive numbers hold those of phases inside it. */
struct mf_phase_sum {
    double count;
    double total, self;   /* seconds: inclusive; without phases inside it */
    double cores[2];      /* seconds of cores that its process has had meanwhile, all threads: own, inclusive */
    double bytes[2];      /* moved: own, inclusive */
    double operations[2]; /* the same */
    double sent[2];       /* bytes that this rank gave to others: the same */
};

extern int mf_phases_on; /* read-only: someone listens */

/** Clears all sums; from now on phases are timed (@p on), or not. The first of them began at @p begun and ends here. */
void mf_phases_open(int on, double begun);

/** The sums so far [MF_PHASES]. */
const struct mf_phase_sum *mf_phases_sums(void);

/**
 * Calls @p push with a phase's name where it begins and @p pop where it ends, timed or not: for the ranges of a
 * device's profiler. NULL ends it.
 */
void mf_phases_hook(void (*push)(const char *name), void (*pop)(void));

/** Are phases timed? */
int mf_phases_timed(void);

void mf_phase_push(enum mf_phase phase);
void mf_phase_pop(void);
void mf_phase_add(double bytes, double operations, double sent);

static inline int mf_phase_enter(enum mf_phase phase)
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

/** Opens a phase until the end of the block, whichever way that is left. */
#define MF_PHASE(phase) MF_PHASE_AT(__LINE__, phase)

/** Adds to the innermost open phase: a cost (computed only when someone listens), bytes given to other ranks. */
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
