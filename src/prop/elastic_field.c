/* See elastic_field.h: memory, borders, and the response of the reference medium. */
#include "src/prop/elastic_field.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/pulse.h"

/* -- the problem -- */

/* Moduli in units of the largest, and the reference medium. */
static void set_moduli(const struct mf_micro *m, const struct mf_elastic_opts *opts, double *unit,
                       struct mf_elastic_field *f)
{
    double lateral = 0, shear = 0;

    *unit = 0;
    for (int p = 0; p < m->phases; ++p) *unit = fmax(*unit, fmax(opts->phase[p].c11, opts->phase[p].c44));
    for (int p = 0; p < m->phases; ++p) {
        const struct mf_elastic_phase *c = &opts->phase[p];

        f->grid.lateral[p] = (float)(c->c12 / *unit);
        f->grid.excess[p] = (float)((c->c11 - c->c12) / *unit);
        f->grid.shear[p] = (float)(c->c44 / *unit);
        lateral = fmax(lateral, c->c12);
        shear = fmax(shear, c->c44);
        f->most[0] = fmax(f->most[0], c->c11 / *unit);
        f->most[1] = fmax(f->most[1], c->c44 / *unit);
    }
    f->ratio = (float)((lateral + shear) / (lateral + 2 * shear));
}

static void set_planes(const struct mf_comm *comm, const struct mf_micro *m, struct mf_elastic_field *f)
{
    const size_t *n = m->slab.dims, first = m->slab.first, count = m->slab.count;

    memcpy(f->grid.n, n, sizeof f->grid.n);
    f->grid.pitch = mf_fft_pitch(n[2]);
    for (int a = 0; a < 3; ++a) f->grid.per[a] = (float)(m->spacing[2] / m->spacing[a]);
    f->plane = mf_elastic_plane(&f->grid);
    f->voxels = (double)n[0] * (double)n[1] * (double)n[2];
    f->first = first;
    f->count = count;
    f->below = f->above = comm->rank;
    if (count == 0) return;
    f->below = mf_slab_owner(comm, n, (first + n[0] - 1) % n[0]);
    f->above = mf_slab_owner(comm, n, (first + count) % n[0]);
}

/* -- memory -- */

/* A vector field with @p beside planes on either side, and room before its first row. */
static int take_vector(struct mf_elastic_field *f, size_t beside, const char *tag, float **memory, float **x)
{
    const size_t planes = f->count ? f->count + 2 * beside : 0, margin = beside ? MF_ELASTIC_MARGIN : 0;

    *memory = mf_arena_take(f->arena, (planes * f->plane + margin) * sizeof **memory, tag);
    if (!*memory) return MF_MEMORY;
    *x = *memory + margin + beside * f->plane;
    return MF_OK;
}

static int take_fields(struct mf_elastic_field *f)
{
    for (size_t i = 0; i < 6; ++i) MF_TRY(take_vector(f, 1, "displacements", &f->memory[i], &f->u[i]));
    MF_TRY(take_vector(f, 1, "conjugate gradients", &f->memory[6], &f->p));
    MF_TRY(take_vector(f, 0, "conjugate gradients", &f->memory[7], &f->r));
    MF_TRY(take_vector(f, 0, "conjugate gradients", &f->memory[8], &f->z));
    if (f->comm->size > 1) MF_TRY(take_vector(f, 0, "conjugate gradients", &f->memory[9], &f->s));
    return MF_OK;
}

/* A thread works with planes of stresses, or with a slice of three spectra. */
static int take_small(struct mf_elastic_field *f)
{
    const size_t *n = f->grid.n, threads = (size_t)f->queue->threads, slice = 3 * n[0] * f->grid.pitch;
    const size_t waves = n[0] + n[1] + n[2] / 2 + 1, planes = f->count ? f->count : 1;

    f->each = mf_elastic_work(&f->grid) > slice ? mf_elastic_work(&f->grid) : slice;
    f->codes = mf_arena_take(f->arena, f->count ? (f->count + 2) * n[1] * n[2] : 0, "codes of voxels");
    f->work = f->codes ? mf_arena_take(f->arena, threads * f->each * sizeof *f->work, "stresses") : NULL;
    f->tables = f->work ? mf_arena_take(f->arena, 4 * waves * sizeof *f->tables, "waves") : NULL;
    f->sums = f->tables ? mf_arena_take(f->arena, planes * MF_ELASTIC_SUMS * sizeof *f->sums, "sums") : NULL;
    f->all = f->sums ? mf_arena_take(f->arena, n[0] * MF_ELASTIC_SUMS * sizeof *f->all, "sums") : NULL;
    if (!f->all) return MF_MEMORY;
    f->code = f->codes + n[1] * n[2];
    for (size_t a = 0, at = 0; a < 3; at += n[a++]) {
        f->waves.difference[a] = f->tables + 4 * at;
        f->waves.mean[a] = f->tables + 4 * at + 2 * (a == 2 ? n[2] / 2 + 1 : n[a]);
    }
    return mf_fft_open(f->arena, n, 3, f->queue->threads, f->work, &f->fft);
}

static int take_slices(struct mf_elastic_field *f)
{
    const struct mf_slab slab = {{f->grid.n[0], f->grid.n[1], 3 * f->grid.pitch}, f->first, f->count};

    return mf_redistribute_new(f->comm, &slab, MF_Y, MF_OUT_AND_BACK, 0, f->queue, &f->turned);
}

static int read_codes(const struct mf_elastic_field *f, const struct mf_micro *m)
{
    const size_t plane = f->grid.n[1] * f->grid.n[2];

    return mf_slab_fetch(f->comm, &m->slab, m->phase, plane, (ptrdiff_t)f->first - 1, f->count ? f->count + 2 : 0,
                         f->codes);
}

/* Rows have columns that nobody writes and nothing depends on, but they are read. */
static void clear(const struct mf_elastic_field *f)
{
    for (size_t i = 0; i < 10; ++i)
        for (size_t z = 0; f->memory[i] && f->count && z < f->count + (i < 7 ? 2 : 0); ++z) {
            mf_pulse_tell("stiffness");
            memset(f->memory[i] + z * f->plane, 0, f->plane * sizeof **f->memory);
        }
}

int mf_elastic_open(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                    const struct mf_micro *micro, const struct mf_elastic_opts *opts, int dry, double *unit,
                    struct mf_elastic_field *f)
{
    *f = (struct mf_elastic_field){.comm = comm, .queue = queue, .arena = arena};
    f->grid.rotated = opts->scheme == MF_ELASTIC_ROTATED;
    set_moduli(micro, opts, unit, f);
    set_planes(comm, micro, f);
    MF_TRY(mf_agree(comm, take_fields(f)));
    MF_TRY(mf_agree(comm, take_small(f)));
    MF_TRY(take_slices(f));
    if (dry) return MF_OK;
    clear(f);
    mf_elastic_waves(&f->grid, &f->waves);
    return read_codes(f, micro);
}

void mf_elastic_close(struct mf_elastic_field *f)
{
    mf_redistribute_free(f->turned);
    mf_fft_close(f->fft);
    mf_arena_give(f->arena, f->all);
    mf_arena_give(f->arena, f->sums);
    mf_arena_give(f->arena, f->tables);
    mf_arena_give(f->arena, f->work);
    mf_arena_give(f->arena, f->codes);
    for (size_t i = 10; i-- > 0;) mf_arena_give(f->arena, f->memory[i]);
}

/* -- borders -- */

/* The plane beside one end from the rank there, whose other end gets ours. */
static void exchange(const struct mf_elastic_field *f, float *x)
{
    const size_t plane = f->plane, bytes = plane * sizeof *x;
    float *const low = x, *const high = x + (f->count - 1) * plane;

    if (f->below == f->comm->rank && f->above == f->comm->rank) {
        memcpy(low - plane, high, bytes);
        memcpy(high + plane, low, bytes);
        return;
    }
    mf_comm_send_receive(f->comm, f->above, high, bytes, f->below, low - plane, bytes);
    mf_comm_send_receive(f->comm, f->below, low, bytes, f->above, high + plane, bytes);
}

void mf_elastic_border(const struct mf_elastic_field *f, float *x)
{
    if (f->count == 0) return;
    exchange(f, x);
    mf_elastic_wrap(&f->grid, 3 * (f->count + 2) * f->grid.n[1], x - f->plane);
}

/* -- the reference medium -- */

/* Planes of r become spectra in z; or spectra in z become planes. */
static void transform(const struct mf_elastic_field *f, int way)
{
#pragma omp parallel for num_threads(f->queue->threads) if (f->queue->threads > 1)
    for (size_t i = 0; i < f->count; ++i) {
        float *z = f->z + i * f->plane;

        mf_pulse_tell("stiffness");
        if (way == MF_FFT_FORWARD) memcpy(z, f->r + i * f->plane, f->plane * sizeof *z);
        mf_fft_plane(f->fft, way, z);
    }
}

/* A slice between a view and a thread's memory. */
static void get_slice(const struct mf_view *v, size_t s, float *to)
{
    for (size_t u = 0; u < v->nu; ++u, to += v->nv) memcpy(to, v->base + s * v->ss + u * v->su, v->nv * sizeof *to);
}

static void put_slice(const struct mf_view *v, size_t s, const float *from)
{
    for (size_t u = 0; u < v->nu; ++u, from += v->nv)
        memcpy(v->base + s * v->ss + u * v->su, from, v->nv * sizeof *from);
}

/* A round's slices, which threads share: along z there and back, with the medium's response in between. */
static void respond(const struct mf_elastic_field *f, struct mf_span span, const struct mf_view *from,
                    const struct mf_view *to)
{
    const int threads = f->queue->threads;

#pragma omp parallel for num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; ++t) {
        const struct mf_span own = mf_cut(span.count, (size_t)threads, (size_t)t);
        float *slice = f->work + (size_t)t * f->each;

        for (size_t s = own.first; s < own.first + own.count; ++s) {
            mf_pulse_tell("stiffness");
            get_slice(from, s, slice);
            mf_fft_lines(f->fft, MF_FFT_FORWARD, slice);
            mf_elastic_respond(&f->grid, &f->waves, span.first + s, f->ratio, (float)(1 / f->voxels), slice);
            mf_fft_lines(f->fft, MF_FFT_INVERSE, slice);
            put_slice(to, s, slice);
        }
    }
}

void mf_elastic_precondition(const struct mf_elastic_field *f)
{
    const size_t bytes = f->count * f->plane * sizeof *f->z;
    float *to = f->comm->size > 1 ? f->s : f->z;

    transform(f, MF_FFT_FORWARD);
    if (to != f->z) memset(to, 0, bytes);
    for (size_t round = 0; round < mf_redistribute_rounds(f->turned); ++round) {
        struct mf_view x, y;

        mf_redistribute_fetch(f->turned, round, f->z, &x);
        mf_redistribute_open(f->turned, round, to, &y);
        respond(f, mf_redistribute_span(f->turned, round), &x, &y);
        mf_redistribute_add(f->turned, round, to);
    }
    if (to != f->z) memcpy(f->z, to, bytes);
    transform(f, MF_FFT_INVERSE);
}
