/* Shared by the generators. Private to src/synth. */
#ifndef MF_SYNTH_PRIV_H
#define MF_SYNTH_PRIV_H

#include <stdatomic.h>

#include "src/base/err.h"
#include "src/base/streams.h"
#include "src/synth/synth.h"

/** The value, below all others, of voxels outside of every object. */
#define MF_SYNTH_OUTSIDE (-1e300)

/** A generator at work: parameters, ranks, and results. */
struct mf_synth_job {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    int threads;
    const struct mf_synth *what;
    struct mf_slab slab;
    uint8_t *phase;   /* [slab.count][ny][nx] */
    atomic_int *stop; /* the host of a library asks for the end: what is made is left unfinished */
};

/** Is there more to make? Between planes; the calling thread asks its host, and the others of its team hear of it. */
int mf_synth_goes_on(const struct mf_synth_job *job);

/** The same on all ranks, for work that is not cut in planes: MF_STOPPED, agreed. Collective. */
int mf_synth_heed(const struct mf_synth_job *job);

/** Computes the values of plane @p z of the whole volume into value [ny][nx]; called from several threads. */
struct mf_synth_source {
    void (*plane)(const void *self, size_t z, double *value);
    const void *self;
};

/** A cut over all ranks. Below it are the smaller values, and on this rank the first `ties_below` of those equal to
 * it. */
struct mf_synth_level {
    uint64_t key;       /* of the value, in the order of the values */
    int64_t ties_below; /* on this rank */
};

/** A double as an integer with the same order. */
uint64_t mf_synth_key(double value);

/**
 * The level with exactly @p below voxels of all ranks below it. Array @p value [n] is this rank's; ranks are in the
 * order of their planes. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_synth_level_at(const struct mf_comm *comm, size_t n, const double *value, int64_t below,
                      struct mf_synth_level *level);

/** Number of voxels of every phase from the fractions, with the sum @p voxels. The largest remainders are rounded
 * up. */
void mf_synth_counts(const struct mf_synth *what, int64_t voxels, int64_t count[MF_PHASES_MAX]);

/** Fills value [slab.count][ny][nx] from a source, planes over threads. */
void mf_synth_fill(const struct mf_synth_job *job, const struct mf_synth_source *source, double *value);

/** Labels by levels: phase p begins at the p-th of the @p cuts values, plane by plane. Refuses with MF_MEMORY,
 * agreed. */
int mf_synth_label(const struct mf_synth_job *job, const struct mf_synth_source *source, const double *cuts);

/** Labels by exact counts of the slab's values. Collective. */
int mf_synth_label_exact(const struct mf_synth_job *job, const double *value);

/** Calls one or the other, by job->what->exact. @p rc: this rank's code so far. Collective; refuses (agreed). */
int mf_synth_label_either(const struct mf_synth_job *job, const struct mf_synth_source *source, const double *cuts,
                          int rc);

/* The kinds: each labels the whole slab. Collective; refuse (agreed) with MF_USAGE, MF_MEMORY. */
int mf_synth_gauss(const struct mf_synth_job *job);
int mf_synth_objects(const struct mf_synth_job *job, struct mf_synth_facts *facts);
int mf_synth_voronoi(const struct mf_synth_job *job, struct mf_synth_facts *facts);
int mf_synth_lamellae(const struct mf_synth_job *job, struct mf_synth_facts *facts);
int mf_synth_board(const struct mf_synth_job *job, struct mf_synth_facts *facts);

/** Does the axis count in distances? Not if it has one voxel, nor along fibres that run through the volume. */
int mf_synth_active(const struct mf_synth *what, int axis);
int mf_synth_axes(const struct mf_synth *what);

/** Volume of the box along those axes; are objects finite; do they keep a distance; how many are needed. */
double mf_synth_box(const struct mf_synth *what);
int mf_synth_sticks(const struct mf_synth *what);
int mf_synth_hard(const struct mf_synth *what);
double mf_synth_number(const struct mf_synth *what);

/** How many pieces a crack has, and the volume of all. */
size_t mf_synth_crack_pieces(const struct mf_synth *what);
double mf_synth_crack_volume(const struct mf_synth *what);
/** Places the pieces of cracks, object [n]. */
void mf_synth_crack_place(const struct mf_synth *what, size_t n, struct mf_synth_object *object);

/** Places the objects of a kind: the same list on every rank. Refuses with MF_USAGE, MF_MEMORY. Not collective. */
int mf_synth_place(const struct mf_synth_job *job, struct mf_synth_facts *facts);

/** Fits waves, or cells, into the box. Refuses with MF_USAGE if no structure would remain. */
int mf_synth_lamella_waves(const struct mf_synth *what, long waves[3], double *period);
int mf_synth_board_cells(const struct mf_synth *what, size_t cells[3]);

#endif
