/* Sets of cores (hardware threads), and those that this process has. */
#ifndef MF_KERNELS_CORES_H
#define MF_KERNELS_CORES_H

#include <sched.h>
#include <stddef.h>

/* As many as a kernel can be built for. The C library's cpu_set_t ends at 1024, and the system gives none at all into a
 * set that has no room for every core that the machine could have. */
enum { MF_CORES_MOST = 8192 };

/** A set; = {0}: none. Also of NUMA nodes. */
struct mf_cores {
    cpu_set_t part[MF_CORES_MOST / CPU_SETSIZE]; /* as the C library's macros for larger sets take it */
};

static inline int mf_cores_has(const struct mf_cores *set, size_t core)
{
    return CPU_ISSET_S(core, sizeof *set, set->part);
}

/** One that is larger than all can be is left out. */
static inline void mf_cores_add(struct mf_cores *set, size_t core) { CPU_SET_S(core, sizeof *set, set->part); }

static inline int mf_cores_count(const struct mf_cores *set) { return CPU_COUNT_S(sizeof *set, set->part); }

/** What is in @p more as well; what is in both; is there such? */
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
 * The hardware threads that this process may use: what OpenMP has shared out among its threads counts too, as it binds
 * the first of them to a part of it before main() (OMP_PROC_BIND, OMP_PLACES). As many as are online where the system
 * does not say which. Not collective. Never refuses.
 */
struct mf_cores mf_cores_own(void);

/** The thread that calls it, and those that it starts, keep to @p set: 0 where that cannot be. Not collective. */
int mf_cores_keep(const struct mf_cores *set);

/**
 * Gives them all back to the thread that calls it, which goes on as another program: that would take the part for the
 * whole. Nothing where the system does not say which they are. Not collective. Never refuses.
 */
void mf_cores_release(void);

#endif
