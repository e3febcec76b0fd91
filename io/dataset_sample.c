/* One sample: its bytes, and what a network reads. See dataset_priv.h. */
#include "io/dataset_priv.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include <zlib.h>

#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/log.h"

/* ---- axes ---- */

int mf_sample_axes(int ndim, const size_t *extent, int channels, size_t dims[4])
{
    const int last = channels < 0 ? ndim == 5 || (ndim == 4 && extent[3] <= MF_FEW) : channels, axes = ndim - 1 - last;

    if (axes != 2 && axes != 3) return 0;
    dims[0] = axes == 3 ? extent[1] : 1;
    dims[1] = extent[axes - 1];
    dims[2] = extent[axes];
    dims[3] = last ? extent[axes + 1] : 1;
    return channels < 0 && dims[0] == 1 ? 2 : axes;
}

void mf_sample_doubt_planes(const char *path, int ndim, const size_t dims[4])
{
    if (ndim == 3 && dims[0] <= MF_FEW && dims[0] < dims[1])
        mf_warn("'%s' is read as volumes of %zu planes ([sample][z][y][x]); if these are channels, which come last, "
                "save numpy.moveaxis(x, 1, -1)",
                path, dims[0]);
}

/* ---- bytes ---- */

static size_t largest_chunk(const struct mf_h5_chunks *c)
{
    size_t most = 0;

    for (size_t i = 0; i < c->count; ++i) most = c->place[i][1] > most ? (size_t)c->place[i][1] : most;
    return most;
}

size_t mf_sample_scratch(const struct mf_dataset *set)
{
    const struct mf_h5_chunks *c = set->where ? &set->where->chunks : NULL; /* facts alone have none */

    if (!c || !c->rows) return 0;
    return largest_chunk(c) + c->rows * set->bytes * (c->shuffle ? 2 : 1);
}

/* Local to a thread: no call of mf_comm_alive(), as only the main thread speaks for the rank. */
static int read_at(const struct mf_dataset *set, int file, size_t id, void *to, size_t bytes, uint64_t offset)
{
    for (size_t got = 0; got < bytes;) {
        const ssize_t n = pread(file, (char *)to + got, bytes - got, (off_t)(offset + got));

        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return mf_fail(MF_INPUT, "cannot read sample %zu of '%s': %s", id, set->path, strerror(errno));
        if (n == 0) return mf_fail(MF_INPUT, "'%s' is damaged: it ends before sample %zu does", set->path, id);
        got += (size_t)n;
    }
    return MF_OK;
}

/* Undoes the shuffle: byte 0 of every value comes first, then byte 1 of every value, and so on. */
static void unshuffle(size_t values, size_t size, const uint8_t *from, uint8_t *to)
{
    for (size_t k = 0; k < size; ++k)
        for (size_t i = 0; i < values; ++i) to[i * size + k] = from[k * values + i];
}

static int read_chunk(const struct mf_dataset *set, int file, uint8_t *scratch, size_t id, void *to)
{
    const struct mf_h5_chunks *c = &set->where->chunks;
    const uint64_t *place = c->place[id / c->rows];
    const size_t size = set->is_float ? sizeof(float) : 1, whole = c->rows * set->bytes;
    uint8_t *plain = scratch, *packed = scratch + whole * (c->shuffle ? 2 : 1);
    uLongf got = whole;

    MF_TRY(read_at(set, file, id, packed, place[1], place[0]));
    if (!c->deflate) {
        got = place[1] < whole ? place[1] : whole;
        memcpy(plain, packed, got);
    } else if (uncompress(plain, &got, packed, place[1]) != Z_OK)
        got = 0;
    if (got != whole)
        return mf_fail(MF_INPUT, "'%s' is damaged: sample %zu cannot be decompressed; try: mesoforge verify '%s'",
                       set->path, id, set->path);
    if (c->shuffle) {
        unshuffle(whole / size, size, plain, plain + whole);
        plain += whole;
    }
    memcpy(to, plain + id % c->rows * set->bytes, set->bytes);
    return MF_OK;
}

int mf_sample_read(const struct mf_dataset *set, int file, void *scratch, size_t id, void *to)
{
    const struct mf_dataset_places *w = set->where;

    if (w->offset)
        MF_TRY(read_at(set, file, id, to, set->bytes, w->offset + id * set->bytes));
    else
        MF_TRY(read_chunk(set, file, scratch, id, to));
    if (w->crc && mf_crc32c(0, to, set->bytes) != w->crc[id])
        return mf_fail(MF_INPUT,
                       "'%s' is damaged: sample %zu differs from its checksum; try: mesoforge verify '%s'; if you "
                       "changed it yourself, delete /index/crc32c, or import the samples again",
                       set->path, id, set->path);
    return MF_OK;
}

/* ---- input of networks ---- */

static int one_hot(size_t voxels, int phases, const uint8_t *x, float *input)
{
    int worst = 0;

    if (phases == 2) {
        for (size_t i = 0; i < voxels; ++i) {
            worst |= x[i];
            input[i] = (float)(x[i] & 1);
        }
        return worst <= 1;
    }
    memset(input, 0, voxels * (size_t)phases * sizeof *input);
    for (size_t i = 0; i < voxels; ++i)
        if (x[i] < phases)
            input[i * (size_t)phases + x[i]] = 1;
        else
            worst = 1;
    return !worst;
}

static void normalise_bytes(const struct mf_sample_form *form, const uint8_t *x, float *input)
{
    const size_t voxels = form->voxels, channels = form->channels;

    for (size_t c = 0; c < channels; ++c) {
        const float mean = (float)form->mean[c], by = (float)(1 / form->deviation[c]);

        for (size_t i = 0; i < voxels; ++i) input[i * channels + c] = ((float)x[i * channels + c] - mean) * by;
    }
}

static int normalise_floats(const struct mf_sample_form *form, const float *x, float *input)
{
    const size_t voxels = form->voxels, channels = form->channels;
    float nothing = 0; /* stays 0 while values are finite */

    for (size_t c = 0; c < channels; ++c) {
        const float mean = (float)form->mean[c], by = (float)(1 / form->deviation[c]);

        for (size_t i = 0; i < voxels; ++i) {
            nothing += x[i * channels + c] * 0;
            input[i * channels + c] = (x[i * channels + c] - mean) * by;
        }
    }
    return nothing == 0;
}

int mf_sample_convert(const struct mf_sample_form *form, const void *x, float *input)
{
    if (form->phases) return one_hot(form->voxels, form->phases, x, input);
    if (form->is_float) return normalise_floats(form, x, input);
    normalise_bytes(form, x, input);
    return 1;
}

int mf_sample_input(const struct mf_dataset *set, size_t id, const void *x, float *input)
{
    const struct mf_sample_form form = {.voxels = set->dims[0] * set->dims[1] * set->dims[2],
                                        .channels = set->dims[3],
                                        .phases = set->phases,
                                        .is_float = set->is_float,
                                        .mean = set->mean,
                                        .deviation = set->deviation};

    if (mf_sample_convert(&form, x, input)) return MF_OK;
    if (!set->phases)
        return mf_fail(MF_INPUT, "sample %zu of '%s' holds a value that is not a finite number", id, set->path);
    return mf_fail(MF_INPUT, "sample %zu of '%s' holds a value that is none of its %d phases", id, set->path,
                   set->phases);
}

/* The same of bytes: sums of whole numbers are exact, and quick. */
static void byte_moments(size_t voxels, size_t channels, const uint8_t *x, double moments[2], float range[2])
{
    uint64_t sum = 0, squares = 0;
    uint8_t least = UINT8_MAX, most = 0;

    for (size_t i = 0; i < voxels; ++i) {
        const uint8_t v = x[i * channels];

        sum += v;
        squares += (uint32_t)v * v;
        least = v < least ? v : least;
        most = v > most ? v : most;
    }
    moments[0] = (double)sum;
    moments[1] = (double)squares;
    range[0] = least;
    range[1] = most;
}

static void float_moments(size_t voxels, size_t channels, const float *x, double moments[2], float range[2])
{
    moments[0] = moments[1] = 0;
    for (size_t i = 0; i < voxels; ++i) {
        const float v = x[i * channels];

        moments[0] += (double)v;
        moments[1] += (double)v * (double)v;
        range[0] = i == 0 || v < range[0] ? v : range[0];
        range[1] = i == 0 || v > range[1] ? v : range[1];
    }
}

void mf_sample_moments(const size_t dims[4], int is_float, const void *x, double *moments, float *range)
{
    const size_t voxels = dims[0] * dims[1] * dims[2], channels = dims[3];

    for (size_t c = 0; c < channels; ++c)
        if (is_float)
            float_moments(voxels, channels, (const float *)x + c, moments + 2 * c, range + 2 * c);
        else
            byte_moments(voxels, channels, (const uint8_t *)x + c, moments + 2 * c, range + 2 * c);
}
