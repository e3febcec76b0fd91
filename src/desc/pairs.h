/* Counts pairs of voxels, one of each of two sets, at every distance along the axes. Private to src/desc. */
#ifndef MF_DESC_PAIRS_H
#define MF_DESC_PAIRS_H

#include "src/desc/measure.h"

/** Labels of a rank's planes and of those around them; where nothing repeats, of as many as there are. */
struct mf_reach {
    uint8_t *label; /* [before + own + after][ny][nx] */
    size_t before, own, after;
};

/** Collective; refuses (agreed) with MF_MEMORY. An image has no planes around it. */
int mf_reach_fetch(const struct mf_measure_job *job, size_t before, size_t after, struct mf_reach *reach);
void mf_reach_free(const struct mf_measure_job *job, struct mf_reach *reach);

/** The label of a voxel @p z planes from the first own one; -1: there is none. */
int mf_reach_label(const struct mf_measure_job *job, const struct mf_reach *reach, ptrdiff_t z, ptrdiff_t y,
                   ptrdiff_t x);

/** What a voxel is to a count. */
enum { MF_PAIRS_NONE, MF_PAIRS_ONE, MF_PAIRS_OTHER };

/** Voxels of the own planes and of those that lags below job->lag reach. */
struct mf_pairs {
    const struct mf_measure_job *job;
    struct mf_reach reach; /* labels with a margin around the voxels */
    size_t planes;
    uint8_t *kind;  /* [planes][ny][nx] */
    int64_t *count; /* [3][lag] */
};

/** @p margin: planes around that the makers of kinds look at. Collective; refuses (agreed) with MF_MEMORY. */
int mf_pairs_open(struct mf_pairs *pairs, const struct mf_measure_job *job, size_t margin);
void mf_pairs_close(struct mf_pairs *pairs);

/** ONE: the voxels of a phase; OTHER: the rest. */
void mf_pairs_phase(struct mf_pairs *pairs, int phase);

enum mf_meet {
    MF_MEET_ALIKE, /* both are ONE */
    MF_MEET_UNLIKE /* one is ONE and the other OTHER, in either order */
};

/** count[axis][r], r < job->lag: pairs of voxels v and v + r e that meet so, on all ranks. Collective. */
void mf_pairs_count(struct mf_pairs *pairs, enum mf_meet meet);

/** Share of voxels that are ONE; mf_pairs_count() has counted those that are alike. */
double mf_pairs_share(const struct mf_pairs *pairs);

/** {"z": [..], "y", "x"}: of every axis that there is, factor count[(axis lag + r) stride] / places - offset. */
struct mf_json *mf_pairs_json(const struct mf_measure_job *job, const int64_t *count, size_t stride, double factor,
                              double offset);

/** Visits all pairs of own voxels and such at r e of @p planes own and following planes, in rows of @p n of them:
 * voxels a, a + 1, .. and b, b + 1, ..; slot: axis lag + r. */
void mf_pairs_walk(const struct mf_measure_job *job, size_t planes,
                   void (*visit)(void *context, size_t slot, size_t a, size_t b, size_t n), void *context);

/** "  WHAT along x: 0.25 0.2 ..": the first lags of curves by axis. */
void mf_pairs_text(FILE *to, const char *what, const struct mf_json *curves);

#endif
