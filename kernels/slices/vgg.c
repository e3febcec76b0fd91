/* See vgg.h. */
#include "kernels/slices/vgg.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kernels/slices/slices.h"
#include "src/base/err.h"

enum { PANEL = MF_VGG_PANEL, HUGE_PAGE = 1 << 21 };

static const char tag[] = "VGG-19 weights";

const struct mf_vgg_layer mf_vgg_layers[MF_VGG_LAYERS] = {
    {"conv1_1", 3, 64, 0, 0},    {"conv1_2", 64, 64, 0, 1},   {"conv2_1", 64, 128, 1, 0},  {"conv2_2", 128, 128, 1, 1},
    {"conv3_1", 128, 256, 2, 0}, {"conv3_2", 256, 256, 2, 0}, {"conv3_3", 256, 256, 2, 0}, {"conv3_4", 256, 256, 2, 1},
    {"conv4_1", 256, 512, 3, 0}, {"conv4_2", 512, 512, 3, 0}, {"conv4_3", 512, 512, 3, 0}, {"conv4_4", 512, 512, 3, 1},
    {"conv5_1", 512, 512, 4, 0}, {"conv5_2", 512, 512, 4, 0}, {"conv5_3", 512, 512, 4, 0}, {"conv5_4", 512, 512, 4, 1}};

static const char *const unit_names[MF_UNITS] = {"relu", "elu", "leaky_relu", "silu", "gelu"};

const char *mf_unit_name(enum mf_unit unit) { return unit_names[unit]; }

enum mf_unit mf_unit_find(const char *name)
{
    int unit = 0;

    while (unit < MF_UNITS && strcmp(name, unit_names[unit]) != 0) ++unit;
    return (enum mf_unit)unit;
}

static size_t panels(size_t channels) { return (channels + PANEL - 1) / PANEL * PANEL; }

/* Floats of all layers; with @p vgg their places in its memory as well. */
static size_t lay_out(struct mf_vgg *vgg)
{
    size_t at = 0;

    for (size_t i = 0; i < MF_VGG_LAYERS; ++i) {
        const struct mf_vgg_layer *l = &mf_vgg_layers[i];
        const size_t forward = MF_VGG_TAPS * l->in * l->out, back = MF_VGG_TAPS * l->out * panels(l->in);

        if (vgg) {
            vgg->forward[i] = vgg->memory + at;
            vgg->back[i] = vgg->memory + at + forward;
            vgg->bias[i] = vgg->memory + at + forward + back;
        }
        at += forward + back + l->out;
    }
    return at;
}

size_t mf_vgg_bytes(void) { return lay_out(NULL) * sizeof(float); }

/* On huge pages where the system has them: all of it is read twice in every evaluation. */
static float *take(size_t bytes)
{
    float *memory = aligned_alloc(HUGE_PAGE, (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE);

    if (memory) (void)madvise(memory, bytes, MADV_HUGEPAGE);
    return memory;
}

int mf_vgg_new(enum mf_unit unit, int dry, struct mf_vgg **vgg)
{
    const size_t bytes = mf_vgg_bytes();
    struct mf_vgg *v = calloc(1, sizeof *v);

    if (v) v->unit = unit;
    if (v && !dry) v->memory = mf_fault("vgg.new") ? NULL : take(bytes);
    if (!v || (!dry && !v->memory)) {
        free(v);
        return mf_fail(MF_MEMORY, "no memory for the weights of VGG-19 (%zu bytes)", bytes);
    }
    if (v->memory) (void)lay_out(v);
    *vgg = v;
    return MF_OK;
}

void mf_vgg_free(struct mf_vgg *vgg)
{
    if (!vgg) return;
    for (int u = 0; u < MF_VGG_ARENAS; ++u) MF_ASSERT(vgg->use[u].plans == 0);
    free(vgg->memory);
    free(vgg);
}

void mf_vgg_put(struct mf_vgg *vgg, size_t layer, const float *weight, const float *bias)
{
    const size_t in = mf_vgg_layers[layer].in, out = mf_vgg_layers[layer].out;
    float *to = vgg->forward[layer];

    memcpy(vgg->bias[layer], bias, out * sizeof *bias);
    for (size_t o = 0; o < out; o += PANEL)
        for (size_t t = 0; t < MF_VGG_TAPS; ++t)
            for (size_t i = 0; i < in; ++i)
                for (size_t k = 0; k < PANEL; ++k) *to++ = weight[((o + k) * in + i) * MF_VGG_TAPS + t];
    to = vgg->back[layer];
    for (size_t i = 0; i < in; i += PANEL)
        for (size_t t = MF_VGG_TAPS; t-- > 0;)
            for (size_t o = 0; o < out; ++o)
                for (size_t k = 0; k < PANEL; ++k) *to++ = i + k < in ? weight[(o * in + i + k) * MF_VGG_TAPS + t] : 0;
}

int mf_vgg_check(const struct mf_slice_desc *desc, int all)
{
    const size_t nu = desc->nu >> (desc->levels - 1), nv = desc->nv >> (desc->levels - 1);

    MF_ASSERT(desc->vgg);
    if (nu < MF_VGG_LEAST || nv < MF_VGG_LEAST)
        return mf_fail(
            MF_USAGE,
            "Gram matrices of VGG-19 need slices of %d x %d pixels on every level, level %zu has %zu x %zu; "
            "try: a larger --limit_to or --no_multigrid_descriptor, which leave fewer levels, or larger slices",
            MF_VGG_LEAST, MF_VGG_LEAST, desc->levels - 1, nu, nv);
    if (all && desc->phases > MF_VGG_COLOURS + 1)
        return mf_fail(MF_USAGE,
                       "Gram matrices of VGG-19 take phases for colours, at most %d of them, not %zu; try: "
                       "GramMatrices, of every phase by itself",
                       MF_VGG_COLOURS + 1, desc->phases);
    return MF_OK;
}

size_t mf_vgg_colours(size_t phases, size_t field[MF_VGG_COLOURS])
{
    const size_t fields = phases >= MF_VGG_COLOURS ? MF_VGG_COLOURS : 1;

    for (size_t k = 0; k < MF_VGG_COLOURS; ++k) field[k] = fields > 1 ? phases - MF_VGG_COLOURS + k : phases - 1;
    return fields;
}

/* Finds the use of plans in @p arena; NULL: there are none. */
static const struct mf_vgg_use *use_of(const struct mf_vgg *vgg, const struct mf_arena *arena)
{
    for (int u = 0; u < MF_VGG_ARENAS; ++u)
        if (vgg->use[u].plans > 0 && vgg->use[u].arena == arena) return &vgg->use[u];
    return NULL;
}

/* One that is there, or a free one. */
static struct mf_vgg_use *use_for(struct mf_vgg *vgg, const struct mf_arena *arena)
{
    const struct mf_vgg_use *is = use_of(vgg, arena);
    int u = 0;

    if (is) return &vgg->use[is - vgg->use];
    while (u < MF_VGG_ARENAS && vgg->use[u].plans > 0) ++u;
    MF_ASSERT(u < MF_VGG_ARENAS);
    return &vgg->use[u];
}

int mf_vgg_hold(struct mf_vgg *vgg, struct mf_arena *arena)
{
    struct mf_vgg_use *use = use_for(vgg, arena);

    if (use->plans == 0) {
        MF_TRY(mf_arena_book(arena, (ptrdiff_t)mf_vgg_bytes(), tag));
        *use = (struct mf_vgg_use){.arena = arena};
    }
    MF_ASSERT(!use->copy);
    ++use->plans;
    return MF_OK;
}

int mf_vgg_hold_copy(struct mf_vgg *vgg, struct mf_arena *arena, int *fresh)
{
    struct mf_vgg_use *use = use_for(vgg, arena);

    *fresh = use->plans == 0;
    if (*fresh) {
        float *copy = mf_arena_take(arena, mf_vgg_bytes(), tag);

        if (!copy) return MF_MEMORY;
        *use = (struct mf_vgg_use){.arena = arena, .copy = copy};
    }
    MF_ASSERT(use->copy);
    ++use->plans;
    return MF_OK;
}

float *mf_vgg_copy(const struct mf_vgg *vgg, const struct mf_arena *arena)
{
    const struct mf_vgg_use *use = use_of(vgg, arena);

    MF_ASSERT(use);
    return use->copy;
}

void mf_vgg_let_go(struct mf_vgg *vgg, struct mf_arena *arena)
{
    struct mf_vgg_use *use = use_for(vgg, arena);

    MF_ASSERT(use->plans > 0);
    if (--use->plans > 0) return;
    if (use->copy)
        mf_arena_give(arena, use->copy);
    else
        (void)mf_arena_book(arena, -(ptrdiff_t)mf_vgg_bytes(), tag);
}
