/* Counts pairs of voxels, one of each of two sets, at every distance along the axes. Private to src/desc. */
#ifndef MF_DESC_PAIRS_H
#define MF_DESC_PAIRS_H

#include "src/desc/measure.h"

/** Labels of a rank's planes and of the planes around them; without periodicity only those that exist. */
struct mf_reach {
    uint8_t *label; /* [before + own + after][ny][nx] */
    size_t before, own, after;
};

/** Fetches them. Collective; refuses (agreed) with MF_MEMORY. An image has no planes around it. */
int mf_reach_fetch(const struct mf_measure_job *job, size_t before, size_t after, struct mf_reach *reach);
void mf_reach_free(const struct mf_measure_job *job, struct mf_reach *reach);

/** The label of a voxel @p z planes from the first own one; -1: outside. */
int mf_reach_label(const struct mf_measure_job *job, const struct mf_reach *reach, ptrdiff_t z, ptrdiff_t y,
                   ptrdiff_t x);

/** The set that a voxel belongs to. */
enum { MF_PAIRS_NONE, MF_PAIRS_ONE, MF_PAIRS_OTHER };

/** The voxels of the own planes, and of the planes within job->lag. */
struct mf_pairs {
    const struct mf_measure_job *job;
    struct mf_reach reach; /* labels with a margin around the voxels */
    size_t planes;
    uint8_t *kind;  /* [planes][ny][nx] */
    int64_t *count; /* [3][lag] */
};

/** @p margin: planes around them that are needed to assign sets. Collective; refuses (agreed) with MF_MEMORY. */
int mf_pairs_open(struct mf_pairs *pairs, const struct mf_measure_job *job, size_t margin);
void mf_pairs_close(struct mf_pairs *pairs);

/** ONE: the voxels of a phase; OTHER: the rest. */
void mf_pairs_phase(struct mf_pairs *pairs, int phase);

enum mf_meet {
    MF_MEET_ALIKE, /* both voxels are ONE */
    MF_MEET_UNLIKE /* one voxel is ONE, the other OTHER, in either order */
};

/** count[axis][r], r < job->lag: number of pairs of voxels v and v + r e of this kind. It counts on all ranks.
 * Collective. */
void mf_pairs_count(struct mf_pairs *pairs, enum mf_meet meet);

/** Fraction of voxels that are ONE. Call mf_pairs_count() with MF_MEET_ALIKE before. */
double mf_pairs_share(const struct mf_pairs *pairs);

/** {"z": [..], "y", "x"}: for every existing axis, factor count[(axis lag + r) stride] / places - offset. */
struct mf_json *mf_pairs_json(const struct mf_measure_job *job, const int64_t *count, size_t stride, double factor,
                              double offset);

/** Visits all pairs of own voxels with voxels at distance r e among @p planes own and following planes. Pairs come in
 * rows of @p n: voxels a, a + 1, .. and b, b + 1, ..; slot: axis lag + r. Breaks off where a host asks for the end, as
 * other loops of measures do. Then mf_measures_run() refuses. */
void mf_pairs_walk(const struct mf_measure_job *job, size_t planes,
                   void (*visit)(void *context, size_t slot, size_t a, size_t b, size_t n), void *context);

/** "  WHAT along x: 0.25 0.2 ..": the first lags of curves by axis. */
void mf_pairs_text(FILE *to, const char *what, const struct mf_json *curves);

#endif
