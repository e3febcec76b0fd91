/* Sets of cores (hardware threads), and the cores that this process may use.
 * Rule: a set has room for every core that a Linux kernel can number. */
#ifndef MF_KERNELS_CORES_H
#define MF_KERNELS_CORES_H

#include <sched.h>
#include <stddef.h>

/* The most cores that a kernel can be built for. The C library's cpu_set_t ends at 1024, and the system call fails for
 * a set without room for every possible core. */
enum { MF_CORES_MOST = 8192 };

/** A set of cores; = {0}: the empty set. Also a set of NUMA nodes. */
struct mf_cores {
    cpu_set_t part[MF_CORES_MOST / CPU_SETSIZE]; /* the layout of the C library's macros for larger sets */
};

static inline int mf_cores_has(const struct mf_cores *set, size_t core)
{
    return CPU_ISSET_S(core, sizeof *set, set->part);
}

/** Adds a core; a number beyond MF_CORES_MOST is ignored. */
static inline void mf_cores_add(struct mf_cores *set, size_t core) { CPU_SET_S(core, sizeof *set, set->part); }

static inline int mf_cores_count(const struct mf_cores *set) { return CPU_COUNT_S(sizeof *set, set->part); }

/** Union, intersection, and whether the intersection is not empty. */
static inline void mf_cores_join(struct mf_cores *set, const struct mf_cores *more)
{
    CPU_OR_S(sizeof *set, set->part, set->part, more->part);
}

static inline struct mf_cores mf_cores_both(const struct mf_cores *a, const struct mf_cores *b)
{
    struct mf_cores both;

    CPU_AND_S(sizeof both, both.part, a->part, b->part);
    return both;
}

static inline int mf_cores_meet(const struct mf_cores *a, const struct mf_cores *b)
{
    const struct mf_cores both = mf_cores_both(a, b);

    return mf_cores_count(&both) > 0;
}

/**
 * The hardware threads that this process may use. OpenMP may bind the first thread to a part of them before main()
 * (OMP_PROC_BIND, OMP_PLACES). The cores of its other threads count too. If the system does not say which cores, all
 * that are online. Local. Never refuses.
 */
struct mf_cores mf_cores_own(void);

/** Binds the calling thread, and those that it starts, to @p set. 0: it failed. Local. */
int mf_cores_keep(const struct mf_cores *set);

/**
 * Binds the calling thread to all cores of the process. Call it before starting another program, which would otherwise
 * inherit only a part of the cores. Does nothing if the system does not say which cores. Local. Never refuses.
 */
void mf_cores_release(void);

#endif
