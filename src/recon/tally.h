/* Terms of the loss that are integer counts of slices: volume fractions, straight runs, surfaces, chords, Euler number,
 * windows, boundaries, clusters (docs/DESCRIPTORS.md). A swap updates them exactly, however many swaps came before.
 * Clusters are counted anew in the slices that a swap touches. Each such descriptor is a file (struct mf_counted,
 * tally_impl.h). */
#ifndef MF_RECON_TALLY_H
#define MF_RECON_TALLY_H

#include "src/recon/mutable.h"

/** What is counted, in the order of the entries. */
enum mf_tally_row {
#define MF_ROW(ID, ...) MF_TALLY_##ID,
    MF_TALLY_FRACTION,
    MF_LIST_COUNTED(MF_ROW)
#undef MF_ROW
        MF_TALLY_PARTS
};

enum { MF_TALLY_CHANGES = 18 /* slices and fields of a swap */ };

/** One direction: D = count * inverse, or of parts with row->whole what that makes of the counts; the loss is the sum
 * over slices of weight (D - target)^2. */
struct mf_tally_side {
    size_t slices;
    int64_t *count;          /* [fields][slices][entries] */
    double *inverse;         /* [entries] 1 / how many there could be; 0: none, and D is 0 */
    double *weight, *target; /* [entries], [fields][entries] */
};

/** A descriptor among the entries of a slice: blocks of numbers, one for its field, or, of pairs of phases, one for
 * each pair, all of them in field 0. Values, weights and targets of a block stand at its beginning. */
struct mf_tally_part {
    const struct mf_counted *row;
    const struct mf_term *term; /* that aims at it; borrowed */
    size_t first;               /* of its entries */
    size_t blocks, numbers;     /* of a block */
    size_t values;              /* of a block, no more than numbers */
};

struct mf_tally {
    struct mf_arena *arena;
    struct mf_mutable *field;
    size_t lag, fields, sides;
    size_t entries, parts;
    struct mf_tally_part part[MF_TALLY_PARTS];
    struct mf_tally_side side[MF_SIDES];
    int pairs, recounts; /* is a part of pairs of phases? Is one counted anew? */
    size_t work;         /* bytes to count a slice in */
    int threads;         /* that mf_tally_count() has memory for: [threads][work] */
    char *memory;
};

/** Takes memory for the terms of @p polish->objective that are counts. Local; MF_MEMORY; close accepts half a one. */
int mf_tally_open(struct mf_tally *tally, const struct mf_polish *polish, struct mf_mutable *field);
void mf_tally_close(struct mf_tally *tally);

/** Is there anything that swaps change? */
int mf_tally_wanted(const struct mf_objective_opts *opts, int volume);

/** Targets and weights: @p m [sides]: entries of a slice's vector d (objective.h). */
void mf_tally_aim(struct mf_tally *tally, const struct mf_polish *polish, const size_t *m);

/** The counts of the slices that are here, from their labels, by at most so many threads. */
void mf_tally_count(struct mf_tally *tally, int threads);

/** What a swap does to the counts: two voxels, three slices each, two fields and, where there are pairs, the first. */
struct mf_tally_change {
    size_t n;
    struct {
        size_t side, field, slice;
    } at[MF_TALLY_CHANGES];
    int64_t *count; /* [MF_TALLY_CHANGES][entries] of mf_tally_room() bytes, in which slices are counted too */
};
size_t mf_tally_room(const struct mf_tally *tally);

/** Change of the loss by swapping two voxels of two phases, and what it does to the counts. The labels change for a
 * moment: of these two voxels alone. */
double mf_tally_energy(const struct mf_tally *tally, const size_t voxel[2], const uint8_t phase[2],
                       struct mf_tally_change *change);

/** The counts follow. Those of other slices are not touched. */
void mf_tally_apply(const struct mf_tally *tally, const struct mf_tally_change *change);

#endif
