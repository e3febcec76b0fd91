/* Seven numbers that describe the texture of slices, for every phase. With them a result is compared with its target,
 * as a person would. All counts are integers and add up over slices, so they are equal on any number of ranks. */
#ifndef MF_DESC_TEXTURE_H
#define MF_DESC_TEXTURE_H

#include "io/micro.h"

enum {
    MF_TEXTURE_DIRECTIONS = 4,
    MF_TEXTURE_RUNS = 3,
    MF_TEXTURE_EDGE = 15 /* edge from which slices have all values */
};

/** Counts of one phase. All members are int64_t, so that MPI can send them. */
struct mf_texture {
    int64_t pixels;                        /* examined pixels, of all phases */
    int64_t chords[MF_TEXTURE_DIRECTIONS]; /* along x, y, (1, 1), (1, -1): runs that do not end at the border */
    int64_t chord_pixels[MF_TEXTURE_DIRECTIONS];
    int64_t runs[MF_TEXTURE_RUNS];   /* straight runs of 5, 10, 15 pixels along x and y inside the phase .. */
    int64_t places[MF_TEXTURE_RUNS]; /* .. among so many positions */
    int64_t euler;                   /* 12 times the mean of both Euler numbers (joined by edges, by corners) */
    int64_t components;              /* connected by edges */
    int64_t speck_pixels;            /* of components of at most 3 pixels */
    int64_t pairs, pair_places;      /* pixels 10 apart along x or y in one component, and number of positions */
};

/** Values of one phase; NAN if slices are too small. */
enum mf_texture_value {
    MF_TEXTURE_CHORD, /* mean length along each direction [pixels]; none: 0 */
    MF_TEXTURE_LINEAL = MF_TEXTURE_CHORD + MF_TEXTURE_DIRECTIONS, /* fraction of positions */
    MF_TEXTURE_EULER = MF_TEXTURE_LINEAL + MF_TEXTURE_RUNS,       /* per pixel */
    MF_TEXTURE_COMPONENTS,                                        /* per pixel */
    MF_TEXTURE_CLUSTER,                                           /* fraction of positions */
    MF_TEXTURE_SPECKS,                                            /* fraction of the pixels of all phases */
    MF_TEXTURE_VALUES
};

/** One of the seven errors: the mean over its values and all phases. */
struct mf_texture_error {
    const char *name, *summary;
    int first, count;
};

enum { MF_TEXTURE_ERRORS = 7 };

extern const struct mf_texture_error mf_texture_errors[MF_TEXTURE_ERRORS];

/** Names of the values, such as "chord_x". */
extern const char *const mf_texture_names[MF_TEXTURE_VALUES];

/** The distance of two textures. NAN if slices are too small. */
struct mf_texture_off {
    double error[MF_TEXTURE_ERRORS];
    double specks; /* difference of specks of all phases [percent of the pixels] */
    double score;  /* mean of the seven + 0.1 specks */
};

/** Adds one image x [nu][nv] of phases 0 .. @p phases - 1 to add [phases]. Not collective; MF_MEMORY. */
int mf_texture_add(const uint8_t *x, size_t nu, size_t nv, int phases, int periodic, struct mf_texture *add);

/**
 * Counts a labelled image into texture[0], or a volume into texture[normal] [MF_PHASES_MAX]. A volume uses at most @p
 * most slices per normal, the middles of so many equal parts (0: all). Their number is taken[normal]. Collective;
 * refuses (agreed) with MF_MEMORY.
 */
int mf_texture_measure(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro, int periodic,
                       size_t most, struct mf_texture (*texture)[MF_PHASES_MAX], size_t taken[3]);

/** The values in the order of mf_texture_names; NAN: slices were too small. */
void mf_texture_values(const struct mf_texture *texture, double value[MF_TEXTURE_VALUES]);

/** |got - want| / |want|, at most 2; 2 where only @p want is 0. NAN where one is. */
double mf_relative_error(double got, double want);

/** The distance of @p got [phases] from @p want [phases], as means over phases. */
void mf_texture_compare(int phases, const struct mf_texture *got, const struct mf_texture *want,
                        struct mf_texture_off *off);

#endif
