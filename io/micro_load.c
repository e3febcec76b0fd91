/* See micro_priv.h: reads the values of a file into a rank's slab. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/decode.h"
#include "io/lent.h"
#include "io/micro_priv.h"
#include "src/base/cut.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/file.h"

enum { LABELS_TEXT = 400 }; /* bytes of a list of labels */

/* Elements at a time; bytes of a file before its values; bytes that fit into a core's cache; most parts of a rank's
 * bytes. Fewer than SHARED bytes are read before a second thread has started. */
enum { SOME = 1024, AHEAD = 1 << 14, STRAIGHT = 1 << 18, PARTS = 64, SHARED = 1 << 21 };

/* Values of an indicator may be off by this much. */
#define RANGE_SLACK 1e-6

/* Are all values labels that were named? */
static int holds_labels(const struct mf_reading *r)
{
    for (int64_t i = 0; i < r->scan.distinct; ++i) {
        size_t k = 0;

        while (k < r->read->label_count && r->read->labels[k] != r->scan.value[i]) ++k;
        if (k == r->read->label_count) return 0;
    }
    return !r->scan.fractions;
}

int mf_reading_is_indicator(const struct mf_reading *r)
{
    if (!r->read->grey || r->array.kind != 'f' || r->read->threshold) return 0;
    if (r->read->label_count && (!r->read->of_sample || holds_labels(r))) return 0;
    return r->scan.low >= -RANGE_SLACK && r->scan.high <= 1 + RANGE_SLACK;
}

void mf_reading_lay(struct mf_reading *r)
{
    const struct mf_places p = mf_places_of(&r->array, r->axis);

    r->micro->ndim = p.ndim;
    r->micro->slab = mf_slab_of(r->comm, p.dims, r->comm->rank);
    r->part.rows = mf_onehot_rows(&r->array, r->axis, &r->micro->slab);
}

/* Values along an axis of phases: fields, or where a voxel has its phase. */
static int take_fields(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct mf_reading *r = context;
    const struct mf_places p = mf_places_of(&r->array, r->axis);
    size_t voxels = mf_slab_voxels(&r->micro->slab), phase;
    double some[SOME];

    for (size_t k = 0; k < n; k += SOME) {
        size_t now = n - k < SOME ? n - k : SOME;

        mf_array_reals(&r->array, (const char *)values + k * r->array.size, now, some);
        for (size_t i = 0; i < now; ++i) {
            const long long v = mf_onehot_place(&p, r->axis, &r->micro->slab, at + (k + i) * stride, &phase);

            if (v < 0) continue;
            if (r->micro->grey)
                r->micro->grey[phase * voxels + (size_t)v] = (float)fmin(fmax(some[i], 0), 1);
            else if (some[i] > 0)
                r->micro->phase[v] = (uint8_t)phase;
        }
    }
    return MF_OK;
}

int mf_reading_grey(struct mf_reading *r)
{
    struct mf_micro *m = r->micro;

    mf_reading_lay(r);
    m->fields = (int)mf_places_of(&r->array, r->axis).phases;
    m->grey = mf_arena_take(r->arena, mf_slab_voxels(&m->slab) * (size_t)m->fields * sizeof *m->grey, "field");
    if (!m->grey) return MF_MEMORY;
    return mf_array_visit(&r->array, r->part.rows.first, r->part.rows.count, take_fields, r);
}

static int take_room(struct mf_reading *r)
{
    mf_reading_lay(r);
    r->micro->phase = mf_arena_take(r->arena, mf_slab_voxels(&r->micro->slab), "phase");
    return r->micro->phase ? MF_OK : MF_MEMORY;
}

int mf_reading_onehot(struct mf_reading *r)
{
    struct mf_micro *m = r->micro;

    MF_TRY(take_room(r));
    MF_TRY(mf_array_visit(&r->array, r->part.rows.first, r->part.rows.count, take_fields, r));
    for (size_t i = 0; i < mf_slab_voxels(&m->slab); ++i)
        if (r->part.covered && r->part.covered[i])
            m->phase[i] = 0;
        else
            ++r->count[m->phase[i]];
    return MF_OK;
}

/* A volume of ours holds phases, and the user knows them by the file's labels. */
static int has_label(const struct mf_reading *r, double v) { return r->array.own && v >= 0 && v < r->array.phases; }

/* Phase of a value, -1: none. */
static int find_label(const struct mf_reading *r, int64_t v)
{
    const int other = r->read->partial && (v == -1 || v == MF_PHASE_FREE) ? MF_PHASE_FREE : -1;
    const struct mf_micro *m = r->micro;

    if (v == MF_NO_LABEL || (r->array.own && !has_label(r, (double)v))) return other;
    if (r->array.own) v = r->array.label[v];
    for (int p = 0; p < m->phases; ++p)
        if (m->label[p] == v) return p;
    return other;
}

static int find_phase(const struct mf_reading *r, double v)
{
    if (r->read->is_mask && has_label(r, v)) return r->array.label[(int)v] > 0;
    if (r->binary) return v > r->threshold;
    return fabs(v) < 0x1p63 && v == rint(v) ? find_label(r, (int64_t)v) : -1;
}

static void stray(struct mf_reading *r, double v)
{
    ++r->strays;
    r->stray = has_label(r, v) ? (double)r->array.label[(int)v] : v;
}

static void tally(struct mf_reading *r, int p, int64_t voxels)
{
    if (p != MF_PHASE_FREE) r->count[p] += voxels;
}

static void put_phase(struct mf_reading *r, int p, double v, size_t at)
{
    if (r->part.covered && r->part.covered[at]) {
        r->micro->phase[at] = 0;
        return;
    }
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
    struct mf_reading *r = context;
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
    struct mf_reading *r = context;
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
    struct mf_reading *r = context;
    const uint8_t *byte = values;

    for (size_t k = 0; stride != 1 && k < n; ++k) r->micro->phase[at + k * stride] = byte[k];
    if (stride == 1) memcpy(r->micro->phase + at, byte, n);
    mf_scan_count(byte, n, NULL, r->bytes);
    return MF_OK;
}

static void make_table(struct mf_reading *r)
{
    for (int b = 0; b < 256; ++b) {
        uint8_t byte = (uint8_t)b;
        double v;

        mf_array_reals(&r->array, &byte, 1, &v);
        r->phase_of[b] = find_phase(r, v);
    }
}

static void count_table(struct mf_reading *r)
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

/* A part of this rank's bytes that lie together in the file, for one thread. */
struct part {
    uint64_t first, bytes; /* in the file */
    int64_t count[256];
    int rc;
    char text[MF_ERR_TEXT]; /* a thread has a sentence of its own */
};

/* Reads the bytes before the values in their first block, so that the block's checksum is complete. */
static int see_before(struct mf_seal_seen *seen, int file, const char *path, uint64_t first)
{
    uint8_t some[AHEAD];
    uint64_t at = first - first % MF_SEAL_BLOCK;

    for (size_t n; at < first; at += n) {
        n = first - at < AHEAD ? (size_t)(first - at) : AHEAD;
        MF_TRY(mf_read_at(file, path, some, n, at));
        mf_seal_see(seen, some, n, at, NULL);
    }
    return MF_OK;
}

/* Reads from the file, or copies from a lent array. */
static int read_at(const struct mf_array *a, int file, void *to, size_t n, uint64_t at)
{
    if (!a->lent) return mf_read_at(file, mf_array_file(a), to, n, at);
    memcpy(to, mf_lent_whole(a->lent) + (at - mf_lent_begin(a->lent)), n);
    return MF_OK;
}

/* Piece by piece, each read to its place, counted and summed up while the processor has it. */
static void read_part(const struct mf_reading *r, int file, uint64_t begin, struct part *p)
{
    struct mf_seal_seen seen = r->seen; /* the places of its checksums are those of all */
    const uint64_t end = p->first + p->bytes;
    struct mf_crc_look look;

    if (seen.crc_of && p->first / MF_SEAL_BLOCK < end / MF_SEAL_BLOCK)
        p->rc = see_before(&seen, file, mf_array_file(&r->array), p->first);
    for (uint64_t at = p->first; at < end && p->rc == MF_OK; at += STRAIGHT) {
        const size_t n = end - at < STRAIGHT ? (size_t)(end - at) : STRAIGHT;
        uint8_t *to = r->micro->phase + (at - begin);

        p->rc = read_at(&r->array, file, to, n, at);
        if (p->rc != MF_OK) break;
        look = (struct mf_crc_look){0};
        if (seen.crc_of) mf_seal_see(&seen, to, n, at, &look);
        mf_scan_count(to, n, seen.crc_of ? &look : NULL, p->count);
    }
    if (p->rc != MF_OK) snprintf(p->text, sizeof p->text, "%s", mf_err_text());
}

/* Parts meet where blocks of the seal do, which each has some of: how many there are. */
static size_t cut_parts(uint64_t begin, uint64_t bytes, struct part *part)
{
    const uint64_t first = begin / MF_SEAL_BLOCK, blocks = (begin + bytes + MF_SEAL_BLOCK - 1) / MF_SEAL_BLOCK - first;
    const size_t n = blocks < PARTS ? (size_t)blocks : PARTS;

    for (size_t i = 0; i < n; ++i) {
        const struct mf_span span = mf_cut((size_t)blocks, n, i);
        uint64_t from = (first + span.first) * MF_SEAL_BLOCK, to = from + (uint64_t)span.count * MF_SEAL_BLOCK;

        if (from < begin) from = begin;
        if (to > begin + bytes) to = begin + bytes;
        part[i] = (struct part){.first = from, .bytes = to - from};
    }
    return n;
}

/* Reads values that the file stores as in memory, with all threads. Each thread takes contiguous parts of decreasing
 * size. A thread clears a huge page of new memory just before it fills it. So the page is in its cache. */
static int read_straight(struct mf_reading *r)
{
    const size_t row = mf_array_row(&r->array);
    const uint64_t begin = r->array.offset + r->part.rows.first * row;
    const int file = r->array.lent ? -1 : mf_open(mf_array_file(&r->array), O_RDONLY);
    struct part *part;
    int rc = MF_OK;
    size_t n;

    if (file < 0 && !r->array.lent)
        return mf_fail(MF_INPUT, "cannot open '%s': %s", mf_array_file(&r->array), strerror(errno));
    part = MF_MUST(calloc(PARTS, sizeof *part), "parts of a file");
    n = cut_parts(begin, r->part.rows.count * row, part);
#pragma omp parallel for schedule(guided) if (r->part.rows.count * row >= SHARED)
    for (size_t i = 0; i < n; ++i) read_part(r, file, begin, &part[i]);
    for (size_t i = 0; i < n; ++i) {
        for (int b = 0; b < 256; ++b) r->bytes[b] += part[i].count[b];
        if (part[i].rc != MF_OK && rc == MF_OK) rc = mf_fail(part[i].rc, "%s", part[i].text);
    }
    free(part);
    if (file >= 0) close(file);
    return rc;
}

static int is_straight(const struct mf_array *a)
{
    if (a->lent) return !a->cropped && mf_lent_whole(a->lent);
    return a->coding == MF_PLAIN && !a->cropped && !(a->fortran && a->ndim > 1);
}

/* Local: the slab of one-byte elements. */
static int load_bytes(struct mf_reading *r)
{
    const struct mf_array *a = &r->array;

    MF_TRY(take_room(r));
    if (!is_straight(a)) return mf_array_visit(a, r->part.rows.first, r->part.rows.count, take_bytes, r);
    if (mf_fault("io.read")) return mf_fail(MF_INPUT, "cannot read '%s': injected fault", a->path);
    if (a->format == MF_HDF5) MF_TRY(mf_seal_see_begin(&r->seen, a->offset + a->shape[0] * mf_array_row(a)));
    return r->part.rows.count ? read_straight(r) : MF_OK;
}

int mf_reading_bytes(struct mf_reading *r)
{
    const size_t n = mf_slab_voxels(&r->micro->slab);

    MF_TRY(load_bytes(r));
    if (!r->part.covered) return MF_OK;
    memset(r->bytes, 0, sizeof r->bytes);
    for (size_t i = 0; i < n; ++i) r->bytes[r->micro->phase[i]] += !r->part.covered[i];
    return MF_OK;
}

/* Bytes become phases, where they are not already. */
static void map_bytes(struct mf_reading *r)
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
    for (size_t i = 0; r->part.covered && i < n; ++i)
        if (r->part.covered[i]) r->micro->phase[i] = 0;
}

static int load_words(struct mf_reading *r)
{
    mf_array_take *take = r->array.kind == 'f' || r->binary ? take_phase : take_labels;

    MF_TRY(take_room(r));
    return mf_array_visit(&r->array, r->part.rows.first, r->part.rows.count, take, r);
}

static int refuse_stray(const struct mf_reading *r)
{
    const struct mf_micro_read *read = r->read;
    char labels[LABELS_TEXT] = "";

    if (r->stray >= 0x1p63)
        return mf_fail(MF_INPUT, "'%s' holds the value %.6g: no label is larger than 2^63 - 1", r->array.path,
                       r->stray);
    if (!read->of_sample)
        return mf_fail(MF_INPUT, "'%s' holds the value %.15g, which --labels does not name%s", r->array.path, r->stray,
                       r->stray >= 0 && r->stray < (double)read->label_count
                           ? " (a result holds phases; written as .h5 it has the labels too)"
                           : "");
    for (size_t p = 0; p < read->label_count; ++p) mf_enumerate(labels, sizeof labels, "%ld", read->labels[p]);
    return mf_fail(MF_INPUT, "'%s' holds the value %.15g, which is no label of the sample (%s%s)%s", r->array.path,
                   r->stray, labels, read->threshold ? ", by --threshold" : "",
                   read->partial ? "; write -1 where the result is free" : "");
}

int mf_reading_phases(struct mf_reading *r)
{
    if (r->array.size == 1)
        map_bytes(r);
    else
        MF_TRY(load_words(r));
    if (!r->strays) return MF_OK;
    return refuse_stray(r);
}
