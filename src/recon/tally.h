/* Terms of the loss that are integer counts of slices: volume fractions, straight runs, surfaces, chords, Euler number,
 * windows, boundaries, clusters (docs/DESCRIPTORS.md). Swaps update them exactly, without accumulated error. Clusters
 * are recounted in the slices that a swap changes. Each such descriptor is a file (struct mf_counted, tally_impl.h). */
#ifndef MF_RECON_TALLY_H
#define MF_RECON_TALLY_H

#include "src/recon/mutable.h"

/** The counted descriptors, in the order of the entries. */
enum mf_tally_row {
#define MF_ROW(ID, ...) MF_TALLY_##ID,
    MF_TALLY_FRACTION,
    MF_LIST_COUNTED(MF_ROW)
#undef MF_ROW
        MF_TALLY_PARTS
};

enum { MF_TALLY_CHANGES = 18 /* slices and fields that a swap changes */ };

/** One direction. D = count * inverse, or what row->whole computes from the counts. The loss is the sum over slices of
 * weight (D - target)^2. */
struct mf_tally_side {
    size_t slices;
    int64_t *count;          /* [fields][slices][entries] */
    double *inverse;         /* [entries] 1 / largest possible count; 0: none, and D is 0 */
    double *weight, *target; /* [entries], [fields][entries] */
};

/** A descriptor among the entries of a slice. It has one block of numbers for each field. A descriptor of pairs has one
 * for each pair, all in field 0. Values, weights and targets of a block are at its beginning. */
struct mf_tally_part {
    const struct mf_counted *row;
    const struct mf_term *term; /* its term in the objective; borrowed */
    size_t first;               /* index of its first entry */
    size_t blocks, numbers;     /* numbers: in a block */
    size_t values;              /* in a block, at most `numbers` */
};

struct mf_tally {
    struct mf_arena *arena;
    struct mf_mutable *field;
    size_t lag, fields, sides;
    size_t entries, parts;
    struct mf_tally_part part[MF_TALLY_PARTS];
    struct mf_tally_side side[MF_SIDES];
    int pairs, recounts; /* is a part of pairs of phases? Is one recounted? */
    size_t work;         /* bytes to count one slice */
    int threads;         /* for which mf_tally_count() has memory: [threads][work] */
    char *memory;
};

/** Takes memory for the terms of @p polish->objective that are counts. Local; MF_MEMORY; mf_tally_close() accepts an
 * incomplete one. */
int mf_tally_open(struct mf_tally *tally, const struct mf_polish *polish, struct mf_mutable *field);
void mf_tally_close(struct mf_tally *tally);

/** Does a term change with swaps? */
int mf_tally_wanted(const struct mf_objective_opts *opts, int volume);

/** Sets targets and weights. @p m [sides]: entries of a slice's vector d (objective.h). */
void mf_tally_aim(struct mf_tally *tally, const struct mf_polish *polish, const size_t *m);

/** Counts the slices from their labels, with at most so many threads. */
void mf_tally_count(struct mf_tally *tally, int threads);

/** The changes of counts by a swap: two voxels, three slices each, two fields and, with pairs, the first field. */
struct mf_tally_change {
    size_t n;
    struct {
        size_t side, field, slice;
    } at[MF_TALLY_CHANGES];
    int64_t *count; /* [MF_TALLY_CHANGES][entries], of mf_tally_room() bytes; also used to count slices */
};
size_t mf_tally_room(const struct mf_tally *tally);

/** Change of the loss by swapping two voxels of two phases, and the changes of counts. Labels of these two voxels
 * change temporarily. */
double mf_tally_energy(const struct mf_tally *tally, const size_t voxel[2], const uint8_t phase[2],
                       struct mf_tally_change *change);

/** Applies the changes to the counts. Those of other slices are not touched. */
void mf_tally_apply(const struct mf_tally *tally, const struct mf_tally_change *change);

#endif
