/* Reading a microstructure: header, values, decision, slab. See micro.h. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/hash.h"
#include "io/scan.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"

enum { SOME = 1024, LIST_TEXT = 400 };

/* Sums over phases and values of an indicator may be off by this much. */
#define SUM_SLACK   1e-3
#define RANGE_SLACK 1e-6

/* Everything known while a file is read. */
struct reading {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    const struct mf_micro_read *read;
    struct mf_array array;
    struct mf_scan scan;
    struct mf_micro *micro;
    int binary; /* a threshold was given */
    double threshold;
    double stray; /* a value that is no label, when there is one */
    int64_t strays;
    int64_t count[MF_PHASES_MAX]; /* voxels of every phase */
    int phase_of[256];            /* of one-byte elements; -1: none */
    int64_t bytes[256];           /* how often each occurs in this rank's slab */
    struct mf_span rows;          /* of the slab in the file */
    struct mf_seal_seen seen;     /* of a file of ours */
    struct mf_hashing *hashing[2];
};

/* "0, 2, 5" of the values found, at most so many characters. */
static const char *list(const struct mf_scan *scan, const char *between, char *text)
{
    size_t n = 0;

    text[0] = '\0';
    for (int64_t i = 0; i < scan->distinct && n < LIST_TEXT - 40; ++i)
        n += (size_t)snprintf(text + n, LIST_TEXT - n, "%s%lld", i ? between : "", (long long)scan->value[i]);
    return text;
}

/* All ranks must see the same file: node-local copies may differ in what decides which way they are read. */
static int same_everywhere(const struct mf_comm *comm, const struct mf_array *a)
{
    enum { BEFORE = 4, ALL = BEFORE + MF_ARRAY_DIMS };
    const int64_t kind = a->kind << 16 | (int64_t)a->size << 8 | (a->own ? a->phases + 1 : 0);
    const int64_t way = (int64_t)a->format << 16 | (int64_t)a->coding << 8 | (a->swap ? 1 : 0);
    const int64_t is[ALL] = {a->ndim, kind, way, (int64_t)a->offset};
    int64_t seen[2 * ALL];

    for (int i = 0; i < ALL; ++i) {
        const int axis = i - BEFORE;

        seen[2 * i] = axis >= 0 && axis < a->ndim ? (int64_t)a->shape[axis] : is[i];
        seen[2 * i + 1] = -seen[2 * i];
    }
    mf_comm_max_int(comm, 2 * ALL, seen);
    for (int i = 0; i < ALL; ++i)
        if (seen[2 * i] != -seen[2 * i + 1])
            return mf_fail(MF_INPUT, "'%s' is not the same file on all ranks", a->path);
    return MF_OK;
}

static int check_request(const struct mf_micro_read *read)
{
    for (size_t i = 0; i < read->label_count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (read->labels[i] == read->labels[k])
                return mf_fail(MF_USAGE, "--labels names %ld twice", read->labels[i]);
    if (read->label_count > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "--labels names %zu phases; at most %d are possible", read->label_count,
                       MF_PHASES_MAX);
    if (read->label_count && read->threshold)
        return mf_fail(MF_USAGE, "--labels and --threshold exclude each other: an image is labelled or grey");
    for (int i = 0; read->spacing && i < 3; ++i)
        if (!(read->spacing[i] > 0) || !isfinite(read->spacing[i]))
            return mf_fail(MF_USAGE, "--spacing must be positive, not %g", read->spacing[i]);
    return MF_OK;
}

static int is_indicator(const struct reading *r)
{
    return r->read->grey && r->array.kind == 'f' && !r->read->threshold && !r->read->label_count &&
           r->scan.low >= -RANGE_SLACK && r->scan.high <= 1 + RANGE_SLACK;
}

/* Lays the volume over the ranks: the last ndim axes of the shape before `fields`. */
static void lay_out(struct reading *r, int ndim)
{
    const size_t *shape = r->array.shape;
    size_t dims[3] = {ndim == 3 ? shape[0] : 1, shape[ndim - 2], shape[ndim - 1]};

    r->micro->ndim = ndim;
    r->micro->slab = mf_slab_of(r->comm, dims, r->comm->rank);
}

/* Which rows along axis 0 of the file this rank's slab is: of an image all or none. */
static struct mf_span rows_of(const struct reading *r)
{
    const struct mf_slab *s = &r->micro->slab;

    if (r->micro->ndim == 3) return (struct mf_span){s->first, s->count};
    return (struct mf_span){0, s->count ? s->dims[1] : 0};
}

static int take_grey(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct reading *r = context;
    size_t voxels = mf_slab_voxels(&r->micro->slab), fields = (size_t)r->micro->fields;
    double some[SOME];

    for (size_t k = 0; k < n; k += SOME) {
        size_t now = n - k < SOME ? n - k : SOME;

        mf_array_reals(&r->array, (const char *)values + k * r->array.size, now, some);
        for (size_t i = 0; i < now; ++i) {
            size_t element = at + (k + i) * stride;

            r->micro->grey[element % fields * voxels + element / fields] = (float)fmin(fmax(some[i], 0), 1);
        }
    }
    return MF_OK;
}

/* Local: reads the slab as `fields` indicator fields. */
static int load_grey(struct reading *r, int ndim, int fields)
{
    struct mf_micro *m = r->micro;
    struct mf_span rows;

    lay_out(r, ndim);
    m->fields = fields;
    rows = rows_of(r);
    m->grey = mf_arena_take(r->arena, mf_slab_voxels(&m->slab) * (size_t)fields * sizeof *m->grey, "field");
    if (!m->grey) return MF_MEMORY;
    return mf_array_visit(&r->array, rows.first, rows.count, take_grey, r);
}

/* Largest distance of the sum over phases from 1, over all ranks. Collective. */
static double worst_sum(const struct reading *r)
{
    size_t voxels = mf_slab_voxels(&r->micro->slab);
    double worst = 0;

    for (size_t v = 0; v < voxels; ++v) {
        double sum = -1;

        for (size_t f = 0; f < (size_t)r->micro->fields; ++f) sum += (double)r->micro->grey[f * voxels + v];
        worst = fmax(worst, fabs(sum));
    }
    mf_comm_max(r->comm, 1, &worst);
    return worst;
}

static void drop_grey(struct reading *r)
{
    mf_arena_give(r->arena, r->micro->grey);
    r->micro->grey = NULL;
    r->micro->fields = 0;
}

/* Collective: an indicator field of one phase, or of all phases along the last axis. */
static int read_grey(struct reading *r)
{
    const struct mf_array *a = &r->array;
    size_t last = a->shape[a->ndim - 1];
    int several = a->ndim > 2 && last >= 2 && last <= MF_PHASES_MAX;
    double worst;

    if (several) {
        MF_TRY(mf_agree(r->comm, load_grey(r, a->ndim - 1, (int)last)));
        worst = worst_sum(r);
        if (worst > SUM_SLACK && a->ndim == 4)
            return mf_fail(MF_INPUT, "'%s': the phases along its last axis do not sum to 1 (off by %.3g)", a->path,
                           worst);
        if (worst <= SUM_SLACK) return MF_OK;
        drop_grey(r);
    }
    if (a->ndim == 4)
        return mf_fail(MF_INPUT, "'%s' has four axes and %zu values along the last; want 2 to %d phases there", a->path,
                       last, MF_PHASES_MAX);
    return mf_agree(r->comm, load_grey(r, a->ndim, 1));
}

/* Phase of a value, -1: none. A volume of ours holds phases, and the user knows them by the file's labels. */
static int find_label(const struct reading *r, int64_t v)
{
    const struct mf_micro *m = r->micro;

    if (r->read->partial) return v == -1 || v == MF_PHASE_FREE ? MF_PHASE_FREE : v >= 0 && v < m->phases ? (int)v : -1;
    if (v == MF_NO_LABEL || (r->array.own && (v < 0 || v >= r->array.phases))) return -1;
    if (r->array.own) v = r->array.label[v];
    for (int p = 0; p < m->phases; ++p)
        if (m->label[p] == v) return p;
    return -1;
}

static int find_phase(const struct reading *r, double v)
{
    if (r->binary) return v > r->threshold;
    return fabs(v) < 0x1p63 && v == rint(v) ? find_label(r, (int64_t)v) : -1;
}

static void stray(struct reading *r, double v)
{
    ++r->strays;
    r->stray = v;
}

static void tally(struct reading *r, int p, int64_t voxels)
{
    if (p != MF_PHASE_FREE) r->count[p] += voxels;
}

static void put_phase(struct reading *r, int p, double v, size_t at)
{
    if (p < 0) {
        stray(r, v);
        return;
    }
    r->micro->phase[at] = (uint8_t)p;
    tally(r, p, 1);
}

/* Reals, and integers that a threshold parts. */
static int take_phase(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct reading *r = context;
    double some[SOME], last = NAN;
    int p = 0;

    for (size_t k = 0; k < n; k += SOME) {
        size_t now = n - k < SOME ? n - k : SOME;

        mf_array_reals(&r->array, (const char *)values + k * r->array.size, now, some);
        for (size_t i = 0; i < now; ++i) {
            if (some[i] != last) p = find_phase(r, some[i]);
            last = some[i];
            put_phase(r, p, some[i], at + (k + i) * stride);
        }
    }
    return MF_OK;
}

/* Integers that are labels, exact also where reals are not. */
static int take_labels(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct reading *r = context;
    const char *from = values;
    int64_t some[SOME];
    double value;
    int p = 0;

    for (size_t k = 0; k < n; k += SOME) {
        size_t now = n - k < SOME ? n - k : SOME;

        mf_array_ints(&r->array, from + k * r->array.size, now, some);
        for (size_t i = 0; i < now; ++i) {
            if (i == 0 || some[i] != some[i - 1]) p = find_label(r, some[i]);
            value = (double)some[i];
            if (p < 0) mf_array_reals(&r->array, from + (k + i) * r->array.size, 1, &value);
            put_phase(r, p, value, at + (k + i) * stride);
        }
    }
    return MF_OK;
}

/* One-byte elements as they are: what they mean is known when all have been counted. */
static int take_bytes(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct reading *r = context;
    const uint8_t *byte = values;

    for (size_t k = 0; stride != 1 && k < n; ++k) r->micro->phase[at + k * stride] = byte[k];
    if (stride == 1) memcpy(r->micro->phase + at, byte, n);
    mf_scan_count(byte, n, r->bytes);
    if (r->seen.crc_of) mf_seal_see(&r->seen, byte, n, r->array.offset + r->rows.first * mf_array_row(&r->array) + at);
    return MF_OK;
}

static void make_table(struct reading *r)
{
    for (int b = 0; b < 256; ++b) {
        uint8_t byte = (uint8_t)b;
        double v;

        mf_array_reals(&r->array, &byte, 1, &v);
        r->phase_of[b] = find_phase(r, v);
    }
}

static void count_table(struct reading *r)
{
    for (int b = 0; b < 256; ++b) {
        uint8_t byte = (uint8_t)b;
        double v;

        if (!r->bytes[b]) continue;
        mf_array_reals(&r->array, &byte, 1, &v);
        if (r->phase_of[b] < 0)
            stray(r, v);
        else
            tally(r, r->phase_of[b], r->bytes[b]);
    }
}

static int take_room(struct reading *r)
{
    lay_out(r, r->array.ndim);
    r->rows = rows_of(r);
    r->micro->phase = mf_arena_take(r->arena, mf_slab_voxels(&r->micro->slab), "phase");
    return r->micro->phase ? MF_OK : MF_MEMORY;
}

/* Local: the slab of one-byte elements, in the only pass over them. What a seal says of them needs no other; how long
 * a file is that has values of ours says nothing of how much there is to be seen. */
static int load_bytes(struct reading *r)
{
    const struct mf_array *a = &r->array;

    MF_TRY(take_room(r));
    if (a->format == MF_HDF5 && a->coding == MF_PLAIN)
        MF_TRY(mf_seal_see_begin(&r->seen, a->offset + a->shape[0] * mf_array_row(a)));
    return mf_array_visit(&r->array, r->rows.first, r->rows.count, take_bytes, r);
}

/* Bytes become phases, where they are not already. */
static void map_bytes(struct reading *r)
{
    size_t n = mf_slab_voxels(&r->micro->slab);
    uint8_t to[256];
    int moved = 0;

    make_table(r);
    count_table(r);
    for (int b = 0; b < 256; ++b) {
        to[b] = (uint8_t)r->phase_of[b];
        moved |= r->bytes[b] && to[b] != b;
    }
    for (size_t i = 0; moved && i < n; ++i) r->micro->phase[i] = to[r->micro->phase[i]];
}

static int load_words(struct reading *r)
{
    mf_array_take *take = r->array.kind == 'f' || r->binary ? take_phase : take_labels;

    MF_TRY(take_room(r));
    return mf_array_visit(&r->array, r->rows.first, r->rows.count, take, r);
}

/* Local: the slab as phases. */
static int load_phases(struct reading *r)
{
    if (r->array.size == 1)
        map_bytes(r);
    else
        MF_TRY(load_words(r));
    if (!r->strays) return MF_OK;
    if (r->read->partial)
        return mf_fail(MF_INPUT,
                       "'%s' holds the value %.15g; a phase is a whole number from 0 to %d, -1 or 255 is none",
                       r->array.path, r->stray, MF_PHASES_MAX - 1);
    if (r->stray >= 0x1p63)
        return mf_fail(MF_INPUT, "'%s' holds the value %.6g: no label is larger than 2^63 - 1", r->array.path,
                       r->stray);
    return mf_fail(MF_INPUT, "'%s' holds the value %.15g, which --labels does not name", r->array.path, r->stray);
}

static void use_labels(struct mf_micro *m, size_t count, const long *labels)
{
    m->phases = (int)count;
    for (size_t p = 0; p < count; ++p) m->label[p] = labels ? labels[p] : (long)p;
}

static int choose_threshold(struct reading *r)
{
    const char *text = r->read->threshold;
    char *end;

    r->binary = 1;
    use_labels(r->micro, 2, NULL);
    if (strcmp(text, "otsu") == 0) return mf_scan_otsu(r->comm, &r->array, &r->scan, &r->threshold);
    r->threshold = strtod(text, &end);
    if (end == text || *end || !isfinite(r->threshold))
        return mf_fail(MF_USAGE, "--threshold must be 'otsu' or a number, not '%s'", text);
    if (r->threshold < r->scan.low || r->threshold >= r->scan.high)
        return mf_fail(MF_USAGE, "--threshold %g leaves one phase only: the values of '%s' lie from %g to %g",
                       r->threshold, r->array.path, r->scan.low, r->scan.high);
    return MF_OK;
}

/* Neither labels nor threshold were given: the values must be 0, 1, ... */
static int choose_plain(struct reading *r)
{
    const struct mf_scan *s = &r->scan;
    char text[LIST_TEXT], given[LIST_TEXT];

    if (s->fractions || s->distinct > MF_PHASES_MAX)
        return mf_fail(
            MF_INPUT,
            "'%s' is grey: it holds %s from %g to %g and is neither labelled nor thresholded; give --threshold "
            "otsu, --threshold VALUE, or --labels with the values of its phases",
            r->array.path, s->fractions ? "values that are no labels" : "more than 32 different values", s->low,
            s->high);
    if (s->value[0] != 0 || s->value[s->distinct - 1] != s->distinct - 1)
        return mf_fail(MF_INPUT,
                       "'%s' holds the labels %s, which are not consecutive from 0; map them with --labels %s, or "
                       "binarise a grey image with --threshold otsu|VALUE",
                       r->array.path, list(s, ", ", text), list(s, ",", given));
    use_labels(r->micro, (size_t)s->distinct, NULL);
    return MF_OK;
}

/* The file's own labels; --labels then names these, in the order wanted. */
static int choose_own(struct reading *r)
{
    struct mf_micro *m = r->micro;

    m->phases = r->array.phases;
    for (int p = 0; p < m->phases; ++p) {
        m->label[p] = (long)r->array.label[p];
        snprintf(m->name[p], MF_NAME_TEXT, "%.*s", MF_NAME_TEXT - 1, r->array.name[p]);
    }
    if (r->scan.fractions || r->scan.low < 0 || r->scan.high >= m->phases)
        return mf_fail(MF_INPUT, "'%s' is damaged: it holds values from %g to %g and names %d phases", r->array.path,
                       r->scan.low, r->scan.high, m->phases);
    return MF_OK;
}

static int choose(struct reading *r)
{
    if (r->read->partial) {
        use_labels(r->micro, MF_PHASES_MAX, NULL);
        return MF_OK;
    }
    if (r->read->mask) {
        use_labels(r->micro, 2, NULL);
        r->binary = 1;
        return MF_OK;
    }
    if (r->read->threshold) return choose_threshold(r);
    if (r->read->label_count) {
        use_labels(r->micro, r->read->label_count, r->read->labels);
        return MF_OK;
    }
    return r->array.own ? choose_own(r) : choose_plain(r);
}

static int check_axes(const struct reading *r)
{
    const struct mf_array *a = &r->array;

    if (a->ndim == 2 || a->ndim == 3 || (a->ndim == 4 && r->read->grey && a->kind == 'f')) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has %d %s; a microstructure has two (an image) or three (a volume)", a->path,
                   a->ndim, a->ndim == 1 ? "axis" : "axes");
}

/* 255 is white in a picture, and no phase here: who meant white sees it. */
static void describe_partial(const struct reading *r, double all)
{
    for (int p = 0; p < r->micro->phases; ++p) {
        if (r->count[p]) mf_info("'%s': phase %d at %lld voxels", r->array.path, p, (long long)r->count[p]);
        all -= (double)r->count[p];
    }
    mf_info("'%s': %.0f voxels are free (-1 or 255)", r->array.path, all);
}

static void describe(const struct reading *r)
{
    const struct mf_micro *m = r->micro;
    double all = (double)m->slab.dims[0] * (double)m->slab.dims[1] * (double)m->slab.dims[2];

    if (r->array.opaque_alpha) mf_warn("'%s': its alpha channel is opaque everywhere and was left out", r->array.path);
    if (r->read->mask) return;
    if (r->binary) mf_info("'%s': values > %g are phase 1, the others phase 0", r->array.path, r->threshold);
    if (r->read->partial) describe_partial(r, all);
    for (int p = 0; m->phase && !r->read->partial && p < m->phases; ++p) {
        char fraction[64] = "";

        if (!r->read->masked) snprintf(fraction, sizeof fraction, ", volume fraction %.6f", (double)r->count[p] / all);
        mf_info("'%s': label %ld%s%s is phase %d%s", r->array.path, m->label[p], m->name[p][0] ? " " : "", m->name[p],
                p, fraction);
    }
}

/* Spacing and unit: the user's, else the file's, else 1. */
static void set_scale(struct reading *r)
{
    struct mf_micro *m = r->micro;

    for (int i = 0; i < 3; ++i)
        m->spacing[i] = r->read->spacing ? r->read->spacing[i] : r->array.scaled ? r->array.spacing[i] : 1;
    if (m->ndim == 2) m->spacing[0] = 1;
    snprintf(m->unit, sizeof m->unit, "%s", r->read->unit ? r->read->unit : r->array.scaled ? r->array.unit : "");
}

/* Collective. */
static int read_phases(struct reading *r)
{
    MF_TRY(choose(r));
    MF_TRY(mf_agree(r->comm, load_phases(r)));
    mf_comm_sum_int(r->comm, MF_PHASES_MAX, r->count);
    for (int *n = &r->micro->phases; r->read->partial && *n > 1 && r->count[*n - 1] == 0;) --*n;
    return MF_OK;
}

/* Is the seal to be looked at? Then what one pass over bytes reads need not be read for it again. */
static int check_seal(struct reading *r, const struct mf_seal_seen *seen)
{
    return r->array.format == MF_HDF5 ? mf_seal_doubt(r->comm, r->array.path, r->array.ours, seen) : MF_OK;
}

/* Collective: what values there are. Those of one byte are in memory then. */
static int look_over(struct reading *r)
{
    int rc;

    if (r->array.size != 1) {
        MF_TRY(check_seal(r, NULL));
        return mf_scan(r->comm, &r->array, &r->scan);
    }
    rc = mf_agree(r->comm, load_bytes(r));
    if (rc == MF_OK) rc = check_seal(r, r->seen.crc_of ? &r->seen : NULL);
    mf_seal_see_end(&r->seen);
    return rc == MF_OK ? mf_scan_bytes(r->comm, &r->array, r->bytes, &r->scan) : rc;
}

/* Collective: from an open header to the slab. */
static int read_values(struct reading *r)
{
    MF_TRY(same_everywhere(r->comm, &r->array));
    MF_TRY(check_axes(r));
    MF_TRY(look_over(r));
    if (r->scan.bad)
        return mf_fail(MF_INPUT, "'%s' holds %lld value%s NaN or infinite", r->array.path, (long long)r->scan.bad,
                       r->scan.bad == 1 ? " that is" : "s that are");
    if (is_indicator(r)) {
        r->micro->phases = 2;
        MF_TRY(read_grey(r));
        if (r->micro->fields > 1) r->micro->phases = r->micro->fields;
        use_labels(r->micro, (size_t)r->micro->phases, NULL);
        return MF_OK;
    }
    if (r->array.ndim == 4)
        return mf_fail(MF_INPUT, "'%s' has four axes: its values must lie in [0, 1], they go from %g to %g",
                       r->array.path, r->scan.low, r->scan.high);
    return read_phases(r);
}

/* The checksum is the longest of all that is done to a file, and one core's: it goes on beside the rest. Rank 0. */
static void start_hash(struct reading *r)
{
    r->hashing[0] = mf_hash_start(r->array.path);
    if (r->array.data[0]) r->hashing[1] = mf_hash_start(r->array.data);
}

/* Of two files: of both. */
static int finish_hash(struct reading *r, char hex[MF_HASH_TEXT])
{
    char other[MF_HASH_TEXT];
    int rc = mf_hash_finish(r->hashing[0], hex), second;

    if (!r->hashing[1]) return rc;
    second = mf_hash_finish(r->hashing[1], other);
    if (rc != MF_OK || second != MF_OK) return MF_INPUT;
    mf_hash_join(2, (const char *[]){hex, other}, hex);
    return MF_OK;
}

/* Of a file that is refused nobody wants it. */
static void drop_hash(struct reading *r)
{
    for (int i = 0; i < 2; ++i)
        if (r->hashing[i]) (void)mf_hash_finish(r->hashing[i], NULL);
}

static int share_hash(struct reading *r)
{
    MF_TRY(mf_agree(r->comm, r->comm->rank == 0 ? finish_hash(r, r->micro->hash) : MF_OK));
    mf_comm_bcast(r->comm, 0, r->micro->hash, MF_HASH_TEXT);
    return MF_OK;
}

/* What reading has put into this rank's memory. */
static struct mf_cost held(const struct mf_micro *m)
{
    double each = m->grey ? sizeof(float) * (double)m->fields : 1;

    return (struct mf_cost){each * (double)mf_slab_voxels(&m->slab), 0};
}

/* Local. Whether a name stands for a file and its array each rank asks its own file system. */
static int open_array(struct reading *r, const char *given, const char *file, const char *array)
{
    if (array && r->read->dataset)
        return mf_fail(MF_USAGE, "'%s' names an array of its own; leave --dataset out", given);
    return mf_array_open(file, array ? array : r->read->dataset, &r->array);
}

/* Collective: all of it, once it is open. */
static int read_file(struct reading *r)
{
    int rc;

    if (r->comm->rank == 0) start_hash(r);
    rc = read_values(r);
    if (rc == MF_OK) return share_hash(r);
    drop_hash(r);
    return rc;
}

/* FILE, or FILE:ARRAY. */
static int read_named(struct reading *r, const char *given)
{
    const char *array;
    char *file;
    int rc;

    mf_array_split(given, &file, &array);
    rc = mf_agree(r->comm, open_array(r, given, file, array));
    if (rc == MF_OK) rc = read_file(r);
    if (rc == MF_OK) {
        set_scale(r);
        describe(r);
    }
    free(file);
    return rc;
}

int mf_micro_read(const struct mf_comm *comm, struct mf_arena *arena, const char *path,
                  const struct mf_micro_read *read, struct mf_micro *micro)
{
    static const struct mf_micro_read plain;
    struct mf_micro m = {.arena = arena};
    struct reading r = {.comm = comm, .arena = arena, .read = read ? read : &plain, .micro = &m};
    MF_PHASE(MF_PHASE_READ);
    int rc = mf_agree(comm, check_request(r.read));

    if (rc == MF_OK) rc = read_named(&r, path);
    if (rc != MF_OK) {
        mf_micro_free(&m);
        return rc;
    }
    mf_phase_count(held(&m));
    *micro = m;
    return MF_OK;
}

void mf_micro_free(struct mf_micro *micro)
{
    if (!micro) return;
    mf_arena_give(micro->arena, micro->phase);
    mf_arena_give(micro->arena, micro->grey);
    micro->phase = NULL;
    micro->grey = NULL;
}
