/* Shared by the files that read a microstructure. In micro_read.c the meaning of the values is decided; micro_load.c
 * puts them into the slab. */
#ifndef MF_IO_MICRO_PRIV_H
#define MF_IO_MICRO_PRIV_H

#include "io/array.h"
#include "io/crop.h"
#include "io/hash.h"
#include "io/micro.h"
#include "io/onehot.h"
#include "io/scan.h"
#include "io/seal.h"

/* The state of reading a file. */
struct mf_reading {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    const struct mf_micro_read *read;
    struct mf_array array;
    struct mf_crop crop; /* of array and mask, where array.cropped */
    struct mf_scan scan;
    struct mf_micro *micro;
    enum mf_phase_axis axis; /* the axis of phases in a one-hot array */
    int binary;              /* a threshold was given */
    double threshold;
    double stray; /* a value that is no label, if there is one */
    int64_t strays;
    int64_t left_out;             /* voxels under the mask */
    int64_t count[MF_PHASES_MAX]; /* voxels of every phase that count */
    int phase_of[256];            /* of one-byte elements; -1: none */
    int64_t bytes[256];           /* how often each occurs in this rank's slab */
    struct mf_scan_share part;    /* the slab: its rows in the file, and the mask over it */
    struct mf_seal_seen seen;     /* of a file of ours */
};

/** Collective: leaves the part of the array that is wanted. MF_INPUT (no data bar is found), MF_USAGE, MF_MEMORY. */
int mf_reading_crop(struct mf_reading *reading);

/** Collective: the remedy for values that are no labels, "" or "; try: COMMAND --threshold otsu --crop-bar". With
 * @p needs_bar it is "" for an image without a data bar. */
enum { MF_HINT_TEXT = 640 };
void mf_reading_hint(const struct mf_reading *reading, int needs_bar, char text[MF_HINT_TEXT]);

/** Collective: after a refusal (rc) of an image of colours, the same and where it has a data bar. Returns @p rc. */
int mf_reading_colours(const struct mf_reading *reading, int rc);

/** Collective, after a refusal (rc) of a value that --labels does not name. Adds to the refusal where there is a data
 * bar. Returns @p rc. */
int mf_reading_stray(const struct mf_reading *reading, int rc);

/** Collective: warns of a data bar that counts as material. */
void mf_reading_warn_bar(const struct mf_reading *reading);

/** Are the values those of an indicator field, and is one wanted? Not collective. */
int mf_reading_is_indicator(const struct mf_reading *reading);

/** Local: an indicator field of one phase, or of all phases along their axis. */
int mf_reading_grey(struct mf_reading *reading);

/** Local: converts a one-hot array to the phases of the slab. */
int mf_reading_onehot(struct mf_reading *reading);

/** Local: spacing and unit of the slab. Refuses (MF_INPUT) a bad spacing of a sample. Says what options replace, and
 * that a mask has pixels of another size. */
int mf_reading_scale(struct mf_reading *reading);

/** Local: divides the array among the ranks. */
void mf_reading_lay(struct mf_reading *reading);

/** Local: reads the slab of one-byte elements in a single pass. The same pass counts the values and computes the
 * checksums that the seal needs. It covers blocks up to the end of the array, whatever the file's length. */
int mf_reading_bytes(struct mf_reading *reading);

/** Local: converts the slab to phases, once the meaning of values is known. */
int mf_reading_phases(struct mf_reading *reading);

#endif
