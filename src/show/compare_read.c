/* See compare.h: one of those that are compared. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/lent.h"
#include "io/look.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/desc/characterize.h"
#include "src/desc/copies.h"
#include "src/desc/measure.h"
#include "src/desc/registry.h"
#include "src/prop/sample.h"
#include "src/show/compare.h"

/* L as requested or from the target's descriptors, which may be refused; else the default, limited by the slices. */
static size_t lag_of(const struct mf_compare_opts *o, const struct mf_compared *one, const struct mf_compared *want)
{
    const size_t *n = one->micro.slab.dims;
    size_t least = n[1] < n[2] ? n[1] : n[2];

    if (one->micro.ndim == 3 && n[0] < least) least = n[0];
    if (o->lag_given) return (size_t)o->lag;
    if (want && want->described) return want->target.lag;
    return least / 2 > (size_t)o->lag || least < 2 ? (size_t)o->lag : least / 2;
}

/* Measures the whole field, whatever a pixel's edge is; beside a descriptor file nothing is compared with them. */
static int count_measures(const struct mf_show *s, const struct mf_compare_opts *o, const struct mf_compared *want,
                          struct mf_compared *one)
{
    struct mf_micro plain = one->micro;
    const struct mf_measure_job job = {s->comm, s->home, s->arena, &plain, o->periodic, one->target.lag};
    const int alone = want && (want->described || want->micro.ndim != one->micro.ndim);

    for (int axis = 0; axis < 3; ++axis) plain.spacing[axis] = 1;
    return mf_measures_run(&job, mf_compare_counted() | (alone ? 0 : mf_compare_measures(o)), &one->measures);
}

/* Descriptors of volumes to measure: those of the target. For the target itself they are S2_3D, and pairs of phases if
 * there are more than two. */
static unsigned wholes_of(const struct mf_compared *want, int is_there)
{
    unsigned bits = 0;

    if (want->micro.ndim == 2) return 0;
    if (!is_there) return 1u << MF_WHOLE_S2 | (want->micro.phases > 2 ? 1u << MF_WHOLE_CROSS : 0);
    for (int k = 0; k < MF_WHOLE_SPANS; ++k) bits |= want->target.whole[k] ? 1u << k : 0;
    return bits;
}

/* Conductivities between plates, as properties finds them. */
static int conduct(const struct mf_show *s, const struct mf_compare_opts *o, struct mf_compared *one)
{
    struct mf_conduct_columns c = mf_conduct_columns(one->micro.ndim, o->conductivity.count, o->conductivity.at);
    float value[3], *next = value;

    for (int a = 0; a < 3; ++a) one->conductivity[a] = NAN;
    if (!o->conductivity.count) return MF_OK;
    if (o->conductivity.count != (size_t)one->micro.phases)
        return mf_fail(MF_INPUT, "'%s' has %d label%s, but --conductivity has %zu values", one->file, one->micro.phases,
                       MF_S(one->micro.phases), o->conductivity.count);
    for (int a = 0; a < 3; ++a) c.wanted[a] &= one->micro.slab.dims[a] > 1;
    MF_TRY(mf_conduct_columns_of(&c, s->comm, s->queue, s->arena, &one->micro, value));
    for (int a = 0; a < 3; ++a)
        if (c.wanted[a]) one->conductivity[a] = *next++;
    return MF_OK;
}

int mf_compare_describe(const struct mf_show *s, const struct mf_compare_opts *o, const struct mf_compared *want,
                        struct mf_compared *one)
{
    struct mf_characterize_opts opts = {.lag = lag_of(o, one, want),
                                        .levels = 1,
                                        .periodic = o->periodic,
                                        .threshold = 0.75,
                                        .steepness = 10,
                                        .example = 1};
    unsigned more = mf_compare_more(o, s->backend, want, &one->micro);

    if (one->described) return MF_OK;
    opts.whole = wholes_of(want ? want : one, want != NULL);
    if (want && want->described) {
        opts.periodic = want->target.periodic;
        opts.seam = want->target.seam;
        if (want->target.steepness > 0) {
            opts.threshold = want->target.threshold;
            opts.steepness = want->target.steepness;
        }
    }
    for (int m = 0; m < MF_MORE && !o->vgg; ++m)
        if (mf_more_is(m, MF_OF_VGG)) more &= ~(1u << m);
    opts.vgg = o->vgg;
    opts.more = more & MF_WANTS_MORE;
    opts.cross = (more & MF_WANTS_CROSS) != 0;
    MF_TRY(conduct(s, o, one));
    MF_TRY(mf_characterize(s->comm, s->backend, s->queue, s->arena, &one->micro, &opts, &one->target));
    MF_TRY(count_measures(s, o, want, one));
    return mf_texture_measure(s->comm, s->arena, &one->micro, o->periodic, (size_t)o->slices, one->texture, one->taken);
}

void mf_compared_free(struct mf_compared *one)
{
    mf_json_free(one->measures);
    mf_target_free(&one->target);
    mf_micro_free(&one->micro);
}

/* ---- reading ---- */

enum kind { IMAGE, PHASES, DESCRIPTORS };

/* Rank 0: what a file holds. */
static int look_at(const char *file, int *kind)
{
    struct mf_look *look;
    int rc, is_h5;

    *kind = mf_lent_target(file) ? DESCRIPTORS : IMAGE;
    MF_TRY(mf_look_is_h5(file, &is_h5));
    if (!is_h5) return MF_OK;
    look = MF_MUST(calloc(1, sizeof *look), "a look at a file");
    rc = mf_look(file, look);
    if (rc == MF_OK) *kind = strcmp(look->schema, MF_SCHEMA_TARGET) == 0 ? DESCRIPTORS : PHASES;
    if (rc == MF_OK) mf_look_free(look);
    free(look);
    return rc;
}

/* Looks at the slice that a side shows. */
static int look_at_example(const struct mf_target *t, int side, int periodic, struct mf_compared *one)
{
    const struct mf_target_side *from = &t->side[side];
    uint8_t *x = mf_example_classes(from, -1);
    const size_t n = from->example_nu * from->example_nv;
    int rc = x ? MF_OK : mf_fail(MF_MEMORY, "no memory for an example"), all = from->example != NULL;

    for (size_t i = 0; rc == MF_OK && i < n; ++i) all = all && x[i] < t->phases;
    if (rc == MF_OK && all) {
        rc = mf_texture_add(x, from->example_nu, from->example_nv, t->phases,
                            periodic && mf_target_example_periodic(t, from), one->texture[side]);
        one->taken[side] = 1;
    }
    free(x);
    return rc;
}

/* Local: the shape and the phases of what was described. */
static int from_target(int periodic, struct mf_compared *one)
{
    const struct mf_target *t = &one->target;
    struct mf_micro *m = &one->micro;

    one->described = 1;
    m->ndim = t->sides == 3 ? 3 : 2;
    m->phases = t->phases;
    memcpy(m->label, t->label, sizeof m->label);
    memcpy(m->spacing, t->spacing, sizeof m->spacing);
    memcpy(m->unit, t->unit, sizeof m->unit);
    m->slab.dims[0] = t->sides == 3 ? t->side[1].nu : 1;
    m->slab.dims[1] = t->side[0].nu;
    m->slab.dims[2] = t->side[0].nv;
    for (int d = 0; d < t->sides; ++d) MF_TRY(look_at_example(t, d, periodic, one));
    return MF_OK;
}

int mf_compare_read(const struct mf_show *s, const struct mf_compare_opts *o, const char *file, int first,
                    struct mf_compared *one)
{
    struct mf_micro_read read = {.label_count = o->labels.count, .labels = o->labels.at, .unhashed = 1};
    int kind = IMAGE;

    one->file = file;
    MF_TRY(mf_agree(s->comm, s->comm->rank == 0 ? look_at(file, &kind) : MF_OK));
    mf_comm_bcast(s->comm, 0, &kind, sizeof kind);
    if (kind == DESCRIPTORS && !first)
        return mf_fail(MF_INPUT, "'%s' holds descriptors, which only the first file may; try: a microstructure", file);
    if (kind == DESCRIPTORS) {
        MF_TRY(mf_target_load(s->comm, file, &one->target));
        return mf_agree(s->comm, from_target(o->periodic, one));
    }
    if (kind == IMAGE) read.threshold = o->threshold;
    read.of_sample = !first && read.threshold;
    read.crop = first ? o->crop : NULL;
    read.crop_bar = first && o->crop_bar;
    read.command = first ? o->command : NULL;
    return mf_micro_read(s->comm, s->arena, file, &read, &one->micro);
}
