/* A workload that the planner can plan, such as a reconstruction or a training. It lists its settings in the order to
 * try them. It says how many bytes a rank takes and how many seconds a step costs. The planner knows the machine.
 * Rule: its functions are pure: the same arguments give the same answer on every rank. */
#ifndef MF_PLAN_WORKLOAD_H
#define MF_PLAN_WORKLOAD_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/arena.h"
#include "src/plan/rates.h"

enum { MF_PLAN_TAGS = 40, MF_PLAN_NUMBERS = 16, MF_PLAN_FACTS = 16, MF_PLAN_PARTS = 8, MF_PLAN_TRIALS = 3 };

/** Lines "key: value", none at first. */
struct mf_plan_lines {
    size_t count;
    struct mf_plan_line {
        char *key, *value;
    } * at;
};

/** Appends a line (printf format). */
void mf_plan_say(struct mf_plan_lines *lines, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void mf_plan_lines_free(struct mf_plan_lines *lines);

/** Named whole numbers, in the order in which they were set. */
struct mf_plan_numbers {
    size_t count;
    struct {
        char name[24]; /* a longer one is a bug */
        size_t value;
    } at[MF_PLAN_NUMBERS];
};

/** Adds a number, or replaces the one of that name. */
void mf_plan_set(struct mf_plan_numbers *numbers, const char *name, size_t value);

/** The number of a name, or NULL; its value, or 0. */
const size_t *mf_plan_find(const struct mf_plan_numbers *numbers, const char *name);
size_t mf_plan_get(const struct mf_plan_numbers *numbers, const char *name);

/** "batch 8, history 2". */
const char *mf_plan_numbers_text(const struct mf_plan_numbers *numbers, size_t size, char *text);

/** A rank whose bytes are asked for. */
struct mf_plan_rank {
    size_t ranks, rank, local_size, threads;
    const char *simd; /* of its node */
    int apart;        /* 1: the state is in separate memory */
    int capability;   /* of its GPU, 10 major + minor; 0: on cores */
    int nccl;         /* 1: NCCL moves device memory */
    size_t in_use;    /* bytes of arrays that it already holds */
};

enum { MF_PLAN_STATE, MF_PLAN_HOST, MF_PLAN_MEMORIES };

/** Bytes of arrays of one memory at its peak, and their parts, which add up to the total. */
struct mf_plan_bytes {
    double fact[MF_PLAN_FACTS]; /* numbers that the workload found besides bytes, for its price() (of MF_PLAN_STATE) */
    size_t total, tags;
    struct {
        char name[40];
        size_t bytes;
    } tag[MF_PLAN_TAGS];
};

/** Sets total and parts to those of an arena at its high-water mark. */
void mf_plan_bytes_of(const struct mf_arena *arena, struct mf_plan_bytes *bytes);

/** Adds bytes to the total and to the part of this name. Without bytes there is no part. */
void mf_plan_bytes_add(struct mf_plan_bytes *bytes, const char *name, size_t more);

/** Seconds of one step, or of a run, by named parts. */
struct mf_plan_cost {
    double total, tried; /* tried: the part of the total that a trial of this step measures */
    size_t parts;
    struct {
        const char *name;
        double seconds;
    } part[MF_PLAN_PARTS];
};

/** Adds a part to the total. */
void mf_plan_pay(struct mf_plan_cost *cost, const char *name, double seconds);

/** Operations per second of products in lists of a network on a rank. @p half: their factors have 16 bits. */
double mf_plan_flops(const struct mf_placement *place, const struct mf_rates *rates, int half);

/** Adds "memory" and "arithmetic" of lists of a network on a rank. They have @p traffic bytes and @p operations. @p
 * half: products have factors of 16 bits. */
void mf_plan_pay_lists(struct mf_plan_cost *cost, const struct mf_placement *place, const struct mf_rates *rates,
                       int half, double operations, double traffic);

/** Seconds in which @p bytes of weights come to a rank: from host memory, or with @p zero from others. */
double mf_plan_coming(const struct mf_placement *place, const struct mf_rates *rates, double bytes, int zero);

/** Multiplies the total, what a trial measures, and all parts. */
void mf_plan_scale(struct mf_plan_cost *cost, double factor);

/** The seconds of a part; 0 if there is none. */
double mf_plan_paid(const struct mf_plan_cost *cost, const char *name);

struct mf_plan;

/* More ranks, the other kind of device, or another way must save this fraction of the time. */
#define MF_PLAN_WORTH 0.10

struct mf_plan_workload {
    const char *step; /* the step that has the price: "evaluation" */
    /** A change that needs less memory on any machine: "a smaller volume". */
    const char *(*smaller)(const void *context);

    /** Describes the workload. When a plan is used again, these lines are compared. */
    void (*describe)(const void *context, struct mf_plan_lines *problem);

    /** With more ranks some would have no work. */
    size_t (*most_ranks)(const void *context);

    /** Useful number of threads of a rank on cores: 1 to @p most. NULL: @p most. */
    size_t (*threads)(const void *context, size_t ranks, size_t most);

    /** Levels of settings, the least intrusive first. A level is tried only if the one before fits on no layout. NULL:
     * there is one. */
    size_t (*levels)(const void *context, int apart);

    /** Ways in which ranks can divide the work, with the plain one. Where that fits on these ranks, another must save
     * MF_PLAN_WORTH of its time. Then @p settings and @p cost are those of its step, else NULL. NULL: there is one way.
     */
    size_t (*ways)(const void *context, const struct mf_placement *place, const struct mf_plan_numbers *settings,
                   const struct mf_plan_cost *cost);

    /**
     * A setting of a level. With N levels, those of way k begin at k N. Trial 0 needs least memory; if it does not fit,
     * none does. From 1 on come the preferred settings, tried until one fits. Returns 0: there is none, on these ranks.
     */
    int (*settings)(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *settings);

    /** A setting between trial 0, or a larger one that fits, and one that does not. The larger it is, the better. Its
     * bytes are about @p share [0 to 1] of the way. Returns 0: there is none. NULL: never. */
    int (*between)(const void *context, const struct mf_plan_numbers *fits, const struct mf_plan_numbers *too_large,
                   double share, struct mf_plan_numbers *settings);

    /** A key of the rank. With these settings ranks with equal keys take equal bytes. On the same node and GPU, a step
     * also costs them the same. */
    uint64_t (*share)(const void *context, const struct mf_plan_numbers *settings, size_t ranks, size_t rank);

    /** Bytes of a rank where its state is (a GPU, or its node). Also those of a GPU's rank on its node. Refuses as the
     * run would. */
    int (*bytes)(const void *context, const struct mf_plan_rank *rank, const struct mf_plan_numbers *settings,
                 struct mf_plan_bytes bytes[MF_PLAN_MEMORIES]);

    /** The cost of a step on a rank. @p fact: of this rank's bytes. */
    void (*price)(const void *context, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost);

    /** The cost of a whole run, from that of a step; none are added where nobody knows. The others as of price(). NULL:
     * never. */
    void (*run)(const void *context, const struct mf_placement *place, const struct mf_rates *rates,
                const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                const struct mf_plan_cost *step, struct mf_plan_cost *run);

    /** Does a step with @p a make less progress than one with @p b? Then it is not preferred for its speed. NULL: all
     * steps make the same. */
    int (*worse)(const struct mf_plan_numbers *a, const struct mf_plan_numbers *b);

    /** Completes a plan: its exchange, derived numbers and notes. @p fact: of the last rank's bytes. */
    void (*finish)(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *plan);

    /** Lines about a plan, for people. */
    void (*show)(const struct mf_plan *plan, struct mf_plan_lines *lines);

    /* Trials by real steps; NULL: none. */

    /** Settings to try: those of the plan first. At most 1: nothing to compare. */
    size_t (*rivals)(const void *context, const struct mf_plan *plan, struct mf_plan_numbers rival[MF_PLAN_TRIALS]);

    /** Seconds of a step with each of @p n settings, on the slowest rank. Collective; refuses (agreed). */
    int (*steps)(void *context, size_t n, const struct mf_plan_numbers *settings, double *seconds);

    /** From now on only these settings are tried. */
    void (*fix)(void *context, const struct mf_plan_numbers *settings);
};

#endif
