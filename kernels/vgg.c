/* See vgg.h. */
#include "kernels/vgg.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

enum { PANEL = 32, ALIGN = 64 };

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

int mf_vgg_new(enum mf_unit unit, int dry, struct mf_vgg **vgg)
{
    const size_t bytes = lay_out(NULL) * sizeof(float);
    struct mf_vgg *v = calloc(1, sizeof *v);

    if (v) v->unit = unit;
    if (v && !dry) v->memory = mf_fault("vgg.new") ? NULL : aligned_alloc(ALIGN, (bytes + ALIGN - 1) / ALIGN * ALIGN);
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
    MF_ASSERT(vgg->plans == 0);
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

int mf_vgg_hold(struct mf_vgg *vgg, struct mf_arena *arena)
{
    MF_ASSERT(vgg->plans == 0 || vgg->arena == arena);
    if (vgg->plans == 0) MF_TRY(mf_arena_book(arena, (ptrdiff_t)(lay_out(NULL) * sizeof(float)), "VGG-19 weights"));
    vgg->arena = arena;
    ++vgg->plans;
    return MF_OK;
}

void mf_vgg_let_go(struct mf_vgg *vgg)
{
    if (--vgg->plans == 0)
        (void)mf_arena_book(vgg->arena, -(ptrdiff_t)(lay_out(NULL) * sizeof(float)), "VGG-19 weights");
}
