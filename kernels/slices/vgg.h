/* The layers of VGG-19 that Gram matrices use (Simonyan & Zisserman 2015, configuration E). They are sixteen
 * convolutions of 3 x 3 pixels in five blocks. Between the blocks are means of 2 x 2 pixels (Gatys, Ecker & Bethge
 * 2016). A Gram matrix is taken after each block.
 * Rule: the weights are in host memory, in the order that kernels read. They do not change while a plan exists. Plans
 * on a GPU share one copy there. */
#ifndef MF_KERNELS_VGG_H
#define MF_KERNELS_VGG_H

#include "kernels/form/unit.h"
#include "src/base/arena.h"

enum {
    MF_VGG_LAYERS = 16,
    MF_VGG_BLOCKS = 5,
    MF_VGG_TAPS = 9,
    MF_VGG_COLOURS = 3,
    MF_VGG_LEAST = 1 << (MF_VGG_BLOCKS - 1), /* pixels along an edge that leave one to the last block */
    MF_VGG_WIDEST = 512,                     /* most channels */
    MF_VGG_PANEL = 32,                       /* channels that weights lie side by side for */
    MF_VGG_ARENAS = 4,                       /* most arenas that hold the weights at a time */
    MF_VGG_NAME = 48
};

struct mf_vgg_layer {
    const char *name;
    size_t in, out;
    size_t block;
    int last; /* of its block */
};

extern const struct mf_vgg_layer mf_vgg_layers[MF_VGG_LAYERS];

/** Numbers of all Gram matrices together. */
enum { MF_VGG_ENTRIES = 64 * 64 + 128 * 128 + 256 * 256 + 512 * 512 + 512 * 512 };

/* Plans that take their memory of an arena. */
struct mf_vgg_use {
    struct mf_arena *arena;
    float *copy; /* NULL: the weights themselves are counted there */
    int plans;
};

struct mf_vgg {
    enum mf_unit unit;
    char name[MF_VGG_NAME]; /* "relu 89abcdef": the unit, and a checksum of the weights */
    float mean[MF_VGG_COLOURS];
    float *bias[MF_VGG_LAYERS];    /* [out] */
    float *forward[MF_VGG_LAYERS]; /* [out / 32][taps][in][32] */
    float *back[MF_VGG_LAYERS];    /* [in / 32, rounded up][taps, the last first][out][32] */
    float *memory;                 /* all of them; NULL: to plan with, not to run */
    struct mf_vgg_use use[MF_VGG_ARENAS];
};

struct mf_slice_desc;

/** "relu", ...; the unit called @p name, MF_UNITS when there is none. */
const char *mf_unit_name(enum mf_unit unit);
enum mf_unit mf_unit_find(const char *name);

/** VGG-19 without weights. @p dry: plans can be made with it, and it never gets weights. MF_MEMORY. */
int mf_vgg_new(enum mf_unit unit, int dry, struct mf_vgg **vgg);
void mf_vgg_free(struct mf_vgg *vgg);

/** Stores the weights of a layer. @p weight: [out][in][3][3]; @p bias: [out]. */
void mf_vgg_put(struct mf_vgg *vgg, size_t layer, const float *weight, const float *bias);

/** Bytes of all stored weights. */
size_t mf_vgg_bytes(void);

/** Refuses with MF_USAGE slices that leave the last block no pixel, and with @p all more phases than colours. */
int mf_vgg_check(const struct mf_slice_desc *desc, int all);
/** Which phases are the colours when all phases make one image. Returns 3, or 1: one phase in all three colours. */
size_t mf_vgg_colours(size_t phases, size_t field[MF_VGG_COLOURS]);

/** A plan takes a share of the weights. All plans of an arena share one booking of their bytes. MF_MEMORY. */
int mf_vgg_hold(struct mf_vgg *vgg, struct mf_arena *arena);
/** The same, with a copy of the weights in the arena's memory. *fresh: the caller must fill the copy. MF_MEMORY. */
int mf_vgg_hold_copy(struct mf_vgg *vgg, struct mf_arena *arena, int *fresh);
/** That copy; laid out as vgg->memory. */
float *mf_vgg_copy(const struct mf_vgg *vgg, const struct mf_arena *arena);
/** A plan returns its share. The last one of an arena frees booking and copy. */
void mf_vgg_let_go(struct mf_vgg *vgg, struct mf_arena *arena);

#endif
