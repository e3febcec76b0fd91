/* See exchange.h. */
#include "src/cmd/recon/exchange.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/atomic.h"
#include "io/hash.h"
#include "io/lent.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/desc/masked.h"
#include "src/desc/registry.h"

enum { NAME = 64, AXES = 6 };

static const char SIDES[3] = {'z', 'y', 'x'};
static const double LARGEST = 1e12; /* of what no bound is known of */

/* -- names and shapes -- */

/* The descriptor of "NAME=FILE", and where FILE begins. */
static int split(const char *option, const char *text, int mcrpy, const struct mf_descriptor **row, const char **file)
{
    const char *equals = strchr(text, '=');
    char name[NAME];

    if (!equals || equals == text || !equals[1] || equals - text >= NAME)
        return mf_fail(MF_USAGE,
                       "--%s '%s': write NAME=FILE.npy, as S2=target.npy; files of the verb come before the options",
                       option, text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    MF_TRY(mf_descriptor_find(row, name));
    if (mcrpy) {
        MF_TRY(mf_descriptor_mcrpy_check(*row));
        *row = mf_descriptor_mcrpy(*row);
    }
    *file = equals + 1;
    if (mf_descriptor_is(*row, MF_BY_EXAMPLE))
        return mf_fail(MF_USAGE, "--%s: %s has no values of its own", option, (*row)->name);
    if (!mf_ends_with(*file, ".npy")) return mf_fail(MF_USAGE, "--%s: '%s' must end with .npy", option, *file);
    return MF_OK;
}

int mf_exchange_check(const char *option, const struct mf_texts *what, int mcrpy)
{
    const struct mf_descriptor *row;
    const char *file = NULL;

    for (size_t i = 0; i < what->count; ++i) MF_TRY(split(option, what->at[i], mcrpy, &row, &file));
    return MF_OK;
}

size_t mf_exchange_names(const struct mf_texts *what, size_t most, const char **names)
{
    const struct mf_descriptor *row;
    const char *file = NULL;
    size_t n = 0, k;

    for (size_t i = 0; i < what->count; ++i) {
        if (split("target", what->at[i], 0, &row, &file) != MF_OK) continue; /* was checked */
        for (k = 0; k < n && strcmp(names[k], row->name) != 0; ++k) {}
        if (k == n && n < most) names[n++] = row->name;
    }
    return n;
}

unsigned mf_exchange_wants(const struct mf_texts *what, int mcrpy)
{
    const struct mf_descriptor *row;
    const char *file = NULL;
    unsigned wants = 0;

    for (size_t i = 0; i < what->count; ++i)
        if (split("export", what->at[i], mcrpy, &row, &file) == MF_OK) wants |= mf_descriptor_wants(row);
    return wants;
}

static size_t root_of(size_t n)
{
    const size_t r = (size_t)(sqrt((double)n) + 0.5);

    return r * r == n ? r : 0;
}

/* Axes of the values of one phase on one level. */
static int axes_of(const struct mf_descriptor *row, size_t lag, int mcrpy, size_t axes[AXES])
{
    const size_t entries = mf_descriptor_entries(row, lag), root = root_of(entries);
    const int lines = row->kind == MF_LINEAL_SOFT || row->kind == MF_LINE_SOFT;
    int n = 0;

    if (mf_descriptor_square(row) && root) {
        axes[n++] = root;
        axes[n++] = root;
    } else if (entries > 1 || (mcrpy && row->kind == MF_VARIATION)) {
        while (mcrpy && lines && n < 3) axes[n++] = 1;
        axes[n++] = entries;
    }
    return n;
}

/* MCRpy's cross-correlations have the pairs of phases below each other: [1][levels][pairs C][C]. */
static int stacked(const struct mf_descriptor *row, int mcrpy) { return mcrpy && row->kind == MF_GRAM_CROSS; }

/* Meaning of its own axes; with @p others MCRpy has others there, which nobody says. */
static enum mf_axes said_axes(const struct mf_descriptor *row, int others)
{
    const int pairs = mf_descriptor_is(row, MF_OF_PAIRS);

    if (others) return MF_AXES_UNSAID;
    if (mf_descriptor_is(row, MF_IN_SPACE)) return pairs ? MF_AXES_PAIR_LAG : MF_AXES_PHASE_LAG;
    return pairs ? MF_AXES_PAIR_LEVEL : MF_AXES_PHASE_LEVEL;
}

/* Where the values of a part on a level stand in a file. MCRpy has phases a < b at the place of (1,0) (2,0) (2,1)
 * (3,0) .. */
static size_t place(int is_stacked, size_t parts, size_t levels, size_t part, size_t level)
{
    size_t phases = 2, a, b;

    if (!is_stacked) return part * levels + level;
    while (phases * (phases - 1) / 2 < parts) ++phases;
    mf_descriptor_pair(phases, part, &a, &b);
    return level * parts + b * (b - 1) / 2 + a;
}

/* -- out -- */

static int lacks(const struct mf_descriptor *row)
{
    return mf_fail(MF_USAGE, "--export: there is no %s of this input", row->name);
}

/* All values in the order of the file; heap. */
static double *in_order(const double *values, int is_stacked, size_t parts, size_t levels, size_t entries)
{
    double *out = MF_MUST(malloc((parts * levels * entries + 1) * sizeof *out), "a copy of a descriptor");

    for (size_t p = 0; p < parts; ++p)
        for (size_t l = 0; l < levels; ++l)
            memcpy(out + place(is_stacked, parts, levels, p, l) * entries, values + (p * levels + l) * entries,
                   entries * sizeof *out);
    return out;
}

static int export_side(const struct mf_session *s, const struct mf_descriptor *row, int mcrpy,
                       const struct mf_target *t, const struct mf_target_side *side, const char *path)
{
    const double *values = mf_descriptor_values(row, side, t->lag, 0);
    const size_t parts = mf_descriptor_parts(row, (size_t)t->phases), entries = mf_descriptor_entries(row, t->lag);
    size_t shape[2 + AXES] = {parts, side->levels}, own[AXES];
    const int n = 2 + axes_of(row, t->lag, mcrpy, shape + 2), below = stacked(row, mcrpy);
    const int others = below || n != 2 + axes_of(row, t->lag, 0, own);
    double *ordered;
    int rc;

    if (!values || parts == 0) return lacks(row);
    if (below) {
        shape[0] = 1;
        shape[2] *= parts;
    }
    ordered = in_order(values, below, parts, side->levels, entries);
    rc = mf_reals_write(s->comm, path, n, shape, said_axes(row, others), ordered);
    free(ordered);
    if (rc == MF_OK) mf_info("wrote %s: %s", path, row->name);
    return rc;
}

static int export_space(const struct mf_session *s, const struct mf_descriptor *row, const struct mf_target *t,
                        const char *path)
{
    const enum mf_whole which = mf_descriptor_whole(row);
    const size_t w = 2 * t->lag - 1, parts = mf_descriptor_parts(row, (size_t)t->phases);
    const size_t shape[4] = {parts, mf_descriptor_entries(row, t->lag) / (w * w), w, w};

    if (!t->whole[which] || parts == 0) return lacks(row);
    MF_TRY(mf_reals_write(s->comm, path, 4, shape, said_axes(row, 0), t->whole[which]));
    mf_info("wrote %s: %s", path, row->name);
    return MF_OK;
}

/* "FILE.npy"; of a side 0, 1, 2 "FILE_z.npy" and so on; heap. */
static char *name_of(const char *file, int side)
{
    const char between[3] = {side < 0 ? '\0' : '_', side < 0 ? '\0' : SIDES[side], '\0'};

    return mf_format("%.*s%s.npy", (int)strlen(file) - 4, file, between);
}

static int export_one(const struct mf_session *s, const char *text, int mcrpy, const struct mf_target *t)
{
    const struct mf_descriptor *row;
    const char *file = NULL;
    int rc = MF_OK;

    MF_TRY(split("export", text, mcrpy, &row, &file));
    if (mf_descriptor_is(row, MF_IN_SPACE)) return export_space(s, row, t, file);
    if (t->sides == 1) return export_side(s, row, mcrpy, t, &t->side[0], file);
    for (int d = 0; rc == MF_OK && d < 3; ++d) {
        char *path = name_of(file, d);

        rc = export_side(s, row, mcrpy, t, &t->side[d], path);
        free(path);
    }
    return rc;
}

int mf_export(const struct mf_session *s, const struct mf_texts *what, int mcrpy, const struct mf_target *t)
{
    for (size_t i = 0; i < what->count; ++i) MF_TRY(export_one(s, what->at[i], mcrpy, t));
    return MF_OK;
}

/* -- before -- */

int mf_exports_masked(const struct mf_texts *what)
{
    const struct mf_descriptor *row;
    const char *file = NULL;

    for (size_t i = 0; i < what->count; ++i) {
        MF_TRY(split("export", what->at[i], 0, &row, &file));
        MF_TRY(mf_mask_known(1, &row->name));
    }
    return MF_OK;
}

/* Do any two of the names of these go to one file? */
static int meet(const char *one, const char *other)
{
    int same = 0;

    for (int a = -1; a < 3; ++a)
        for (int b = -1; b < 3; ++b) {
            char *p = name_of(one, a), *q = name_of(other, b);

            same |= mf_atomic_same(p, q);
            free(p);
            free(q);
        }
    return same;
}

/* Rank 0. */
static int check_names(const struct mf_texts *what)
{
    for (size_t i = 0; i < what->count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (meet(strchr(what->at[i], '=') + 1, strchr(what->at[k], '=') + 1))
                return mf_fail(MF_USAGE, "--export: '%s' and '%s' go to one file", what->at[k], what->at[i]);
    return MF_OK;
}

int mf_exports_may(const struct mf_session *s, const struct mf_texts *what, size_t n, const char *const *inputs)
{
    int rc = mf_agree(s->comm, s->comm->rank == 0 ? check_names(what) : MF_OK);

    for (size_t i = 0; rc == MF_OK && i < what->count; ++i)
        for (int side = -1; rc == MF_OK && side < 3; ++side) {
            char *path = name_of(strchr(what->at[i], '=') + 1, side);

            rc = mf_session_spares(s, path, n, inputs);
            if (rc == MF_OK) rc = mf_session_may_write(s, path, ".npy");
            free(path);
        }
    return rc;
}

/* -- in -- */

struct import {
    const struct mf_texts *what;
    const struct mf_import_opts *opts;
    struct mf_target *t;
};

/* The next file with a descriptor of this kind behind *i. */
static const char *next(const struct import *in, const struct mf_descriptor *row, size_t *i)
{
    const struct mf_descriptor *is;
    const char *file = NULL;

    while (*i < in->what->count)
        if (split("target", in->what->at[(*i)++], in->opts->mcrpy, &is, &file) == MF_OK && is == row) return file;
    return NULL;
}

static size_t files_of(const struct import *in, const struct mf_descriptor *row)
{
    size_t n = 0, i = 0;

    while (next(in, row, &i)) ++n;
    return n;
}

static int open_array(const char *file, struct mf_array *a)
{
    MF_TRY(mf_array_open(file, NULL, a));
    return a->format == MF_NPY ? MF_OK : mf_fail(MF_INPUT, "'%s' is no .npy", file);
}

/* [2L-1][2L-1], [P] of them, or [P][levels]. */
static int head_of(const struct import *in, const struct mf_array *a, struct mf_target *t, size_t *levels)
{
    const size_t *shape = a->shape, w = a->ndim > 1 ? shape[a->ndim - 1] : 0;

    if (a->ndim < 2 || a->ndim > 4 || shape[a->ndim - 2] != w || w % 2 == 0)
        return mf_fail(MF_INPUT,
                       "'%s' is no S2: it must be [phases][levels][2L-1][2L-1], zero lag in the middle; statistics "
                       "with zero lag at [H/2][W/2] are read by --descriptor_filename",
                       a->path);
    if (in->opts->lag && 2 * in->opts->lag - 1 != w)
        return mf_fail(MF_USAGE, "--limit_to is %zu, the windows of '%s' have L = %zu", in->opts->lag, a->path,
                       (w + 1) / 2);
    t->lag = (w + 1) / 2;
    *levels = a->ndim == 4 ? shape[1] : 1;
    if ((a->ndim > 2 && shape[0] > MF_PHASES_MAX) || *levels > MF_LEVELS_MAX)
        return mf_fail(MF_INPUT, "'%s' has %zu phases and %zu levels, at most %d and %d are possible", a->path,
                       a->ndim > 2 ? shape[0] : 1, *levels, MF_PHASES_MAX, MF_LEVELS_MAX);
    t->phases = a->ndim > 2 ? (int)shape[0] : 1;
    return MF_OK;
}

/* Checks the range of its values. */
static int check_values(const struct mf_descriptor *row, const char *file, size_t n, const double *values)
{
    const int is_free = isinf(mf_descriptor_most(row));
    const double slack = row->kind < MF_FURTHER ? 1e-6 : 1e-2; /* others are rounded by formulas of their own */
    const double most = is_free ? LARGEST : mf_descriptor_most(row) + slack, least = is_free ? -LARGEST : -slack;

    for (size_t i = 0; i < n; ++i)
        if (!(values[i] >= least && values[i] <= most))
            return mf_fail(MF_INPUT, "'%s' is no %s: it holds %g", file, row->name, values[i]);
    return MF_OK;
}

/* So many values, in any shape that begins as ours does; into @p to in our order. */
static int load(const struct mf_descriptor *row, const char *file, int is_stacked, size_t parts, size_t levels,
                size_t entries, double *to)
{
    const size_t n = parts * levels * entries;
    double *values = NULL;
    struct mf_array a;
    size_t all;
    int rc;

    MF_TRY(open_array(file, &a));
    all = (a.ndim ? a.shape[0] : 1) * mf_array_row(&a);
    if (all != n || (a.ndim > 1 && !is_stacked && all > 1 && row->kind != MF_S2 && a.shape[0] != parts))
        return mf_fail(MF_INPUT,
                       "'%s' is no %s of this target: it has %zu values, not %zu x %zu x %zu (%s, levels, entries)",
                       file, row->name, all, parts, levels, entries,
                       parts == mf_descriptor_parts(row, parts) ? "phases" : "pairs of phases");
    MF_TRY(mf_array_load(&a, n, &values));
    rc = check_values(row, file, n, values);
    for (size_t p = 0; rc == MF_OK && p < parts; ++p)
        for (size_t l = 0; l < levels; ++l)
            memcpy(to + (p * levels + l) * entries, values + place(is_stacked, parts, levels, p, l) * entries,
                   entries * sizeof *to);
    free(values);
    return rc;
}

/* Room for a descriptor in a side. */
static int make_room(const struct mf_descriptor *row, const struct mf_target *t, struct mf_target_side *side)
{
    if (row->kind < MF_FURTHER || side->more[row->kind - MF_FURTHER]) return MF_OK;
    return mf_target_side_more(side, t->phases, t->lag, (enum mf_more)(row->kind - MF_FURTHER));
}

static int one_phase(const struct mf_descriptor *row)
{
    return mf_fail(MF_USAGE, "--target: %s is of pairs of phases, S2 is of one", row->name);
}

static int load_side(const struct import *in, const struct mf_descriptor *row, const char *file,
                     struct mf_target_side *side)
{
    const size_t parts = mf_descriptor_parts(row, (size_t)in->t->phases);

    if (parts == 0) return one_phase(row);
    MF_TRY(make_room(row, in->t, side));
    return load(row, file, stacked(row, in->opts->mcrpy), parts, side->levels, mf_descriptor_entries(row, in->t->lag),
                mf_descriptor_values(row, side, in->t->lag, 0));
}

static int load_space(const struct import *in, const struct mf_descriptor *row, const char *file)
{
    const enum mf_whole which = mf_descriptor_whole(row);
    const size_t parts = mf_descriptor_parts(row, (size_t)in->t->phases);

    if (parts == 0) return one_phase(row);
    MF_TRY(mf_target_whole_new(in->t, which));
    return load(row, file, 0, parts, 1, mf_descriptor_entries(row, in->t->lag), in->t->whole[which]);
}

/* Every side with the levels of its S2. */
static int open_sides(const struct import *in)
{
    const struct mf_descriptor *s2 = &mf_descriptors[MF_S2];
    const int cross = files_of(in, &mf_descriptors[MF_CROSS]) > 0;
    struct mf_target *t = in->t;
    size_t at = 0;

    for (int d = 0; d < t->sides; ++d) {
        const int phases = t->phases;
        struct mf_target_side *side = &t->side[d];
        const size_t lag = t->lag;
        struct mf_array a;
        size_t levels = 0;

        MF_TRY(open_array(next(in, s2, &at), &a));
        MF_TRY(head_of(in, &a, t, &levels));
        if (d && (t->phases != phases || t->lag != lag))
            return mf_fail(MF_INPUT, "'%s' has other phases or lags than the S2 before it", a.path);
        MF_TRY(mf_target_side_new(side, t->phases, levels, t->lag, cross));
        side->nu = side->nv = (2 * t->lag) << (levels - 1); /* the least that has these levels */
        side->slices = 1;
    }
    return MF_OK;
}

/* Fills what was not given: it is not known, but volume fractions are S2 at zero lag. */
static void fill_gaps(const struct import *in)
{
    const size_t w = 2 * in->t->lag - 1;

    for (int d = 0; d < in->t->sides; ++d) {
        struct mf_target_side *side = &in->t->side[d];

        if (!files_of(in, &mf_descriptors[MF_VARIATION])) {
            free(side->variation);
            side->variation = NULL;
        }
        for (size_t i = 0; !files_of(in, &mf_descriptors[MF_FRACTION]) && i < (size_t)in->t->phases * side->levels; ++i)
            side->fraction[i] = side->s2[i / side->levels * side->levels * w * w + w * w / 2];
    }
}

/* " of phase 1", where there are several. */
static const char *of_phase(const struct mf_target *t, int phase, char *text, size_t size)
{
    text[0] = '\0';
    if (t->phases > 1) snprintf(text, size, " of phase %d", phase);
    return text;
}

/* As near as two files that were made by other programs are. */
static const double SAME = 1e-4;

/* The S2 of one phase on one level is as much at a lag as at its opposite. It is largest in the middle. */
static int check_window(const struct mf_target *t, int p, const double *s2)
{
    const size_t w = 2 * t->lag - 1, n = w * w;
    char text[32];

    for (size_t i = 0; t->periodic && i < n; ++i)
        if (s2[i] > s2[n / 2] + 1e-6)
            return mf_fail(MF_INPUT, "the S2%s is %g in the middle, where zero lag must be, and %g at [%zu][%zu]",
                           of_phase(t, p, text, sizeof text), s2[n / 2], s2[i], i / w, i % w);
    for (size_t i = 0; i < n; ++i)
        if (fabs(s2[i] - s2[n - 1 - i]) > SAME)
            return mf_fail(MF_INPUT, "the S2%s is %g at [%zu][%zu] and %g at the opposite lag",
                           of_phase(t, p, text, sizeof text), s2[i], i / w, i % w, s2[n - 1 - i]);
    if (s2[n / 2] > 0) return MF_OK;
    return mf_fail(MF_INPUT, "the S2%s is 0 in the middle: there is none of it, and nothing to aim at",
                   of_phase(t, p, text, sizeof text));
}

/* S2 in the middle, volume fractions, and those of all phases together. */
static int check_fractions(const struct mf_target *t, const struct mf_target_side *side)
{
    const size_t w = 2 * t->lag - 1;
    double sum = 0;
    char text[32];

    for (size_t p = 0; p < (size_t)t->phases; ++p) {
        const double centre = side->s2[p * side->levels * w * w + w * w / 2], is = side->fraction[p * side->levels];

        if (fabs(centre - is) > SAME)
            return mf_fail(MF_INPUT, "the S2%s is %g in the middle, and its volume fraction %g",
                           of_phase(t, (int)p, text, sizeof text), centre, is);
        sum += is;
    }
    if (t->phases == 1 || fabs(sum - 1) < SAME * t->phases) return MF_OK;
    return mf_fail(MF_INPUT, "the volume fractions of the %d phases, S2 in the middle, add up to %g, not to 1",
                   t->phases, sum);
}

static int check_side(const struct mf_target *t, const struct mf_target_side *side)
{
    const size_t n = (2 * t->lag - 1) * (2 * t->lag - 1);

    for (size_t i = 0; i < (size_t)t->phases * side->levels; ++i)
        MF_TRY(check_window(t, (int)(i / side->levels), side->s2 + i * n));
    return check_fractions(t, side);
}

/* All files of one descriptor. */
static int load_all(const struct import *in, const struct mf_descriptor *row)
{
    const size_t n = files_of(in, row);
    size_t at = 0;

    if (n != (mf_descriptor_is(row, MF_IN_SPACE) ? 1 : (size_t)in->t->sides))
        return mf_fail(MF_USAGE, "--target names %s %zu times, and S2 %d: once, or for the normals z, y, x", row->name,
                       n, in->t->sides);
    if (mf_descriptor_is(row, MF_IN_SPACE)) return load_space(in, row, next(in, row, &at));
    for (int d = 0; d < in->t->sides; ++d) MF_TRY(load_side(in, row, next(in, row, &at), &in->t->side[d]));
    return MF_OK;
}

/* Its soft threshold, where one of them is soft; the checksum of all files. */
static int describe(const struct import *in)
{
    struct mf_target *t = in->t;
    const size_t n = in->what->count;
    char(*hash)[MF_HASH_TEXT] = MF_MUST(calloc(n, sizeof *hash), "checksums");
    const char **each = MF_MUST(calloc(n, sizeof *each), "checksums");
    const struct mf_descriptor *row;
    const char *file = NULL;
    int rc = MF_OK;

    for (size_t i = 0; rc == MF_OK && i < n; ++i) {
        each[i] = hash[i];
        rc = split("target", in->what->at[i], in->opts->mcrpy, &row, &file);
        if (rc == MF_OK && !mf_lent_find(file)) rc = mf_hash_file(file, hash[i]);
        if (rc == MF_OK && mf_descriptor_is(row, MF_IS_SOFT)) {
            t->threshold = in->opts->threshold;
            t->steepness = in->opts->steepness;
        }
    }
    if (rc == MF_OK) mf_hash_join(n, each, t->hash);
    free(each);
    free(hash);
    return rc;
}

/* Rank 0. */
static int read_all(const struct import *in)
{
    const size_t sides = files_of(in, &mf_descriptors[MF_S2]);
    struct mf_target *t = in->t;

    if (sides != 1 && sides != 3)
        return mf_fail(MF_USAGE, "--target names S2 %zu times: once, or for the normals z, y, x", sides);
    t->sides = (int)sides;
    MF_TRY(open_sides(in));
    for (size_t k = 0; k < MF_DESCRIPTORS; ++k)
        if (files_of(in, &mf_descriptors[k])) MF_TRY(load_all(in, &mf_descriptors[k]));
    fill_gaps(in);
    for (int d = 0; d < t->sides; ++d) MF_TRY(check_side(t, &t->side[d]));
    for (int p = 0; p < t->phases; ++p) t->label[p] = t->phases == 1 ? 1 : p;
    snprintf(t->source, sizeof t->source, "%.255s", strchr(in->what->at[0], '=') + 1);
    return describe(in);
}

int mf_import(const struct mf_session *s, const struct mf_texts *what, const struct mf_import_opts *opts,
              struct mf_target *target)
{
    struct mf_target t = {.periodic = opts->periodic, .seam = opts->mcrpy, .spacing = {1, 1, 1}};
    const struct import in = {what, opts, &t};
    int rc = mf_agree(s->comm, s->comm->rank == 0 ? read_all(&in) : MF_OK);

    if (rc == MF_OK) rc = mf_target_share(s->comm, &t);
    if (rc == MF_OK)
        *target = t;
    else
        mf_target_free(&t);
    return rc;
}
