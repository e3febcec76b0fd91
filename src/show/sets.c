/* See sets.h: reading and measuring. */
#include "src/base/room.h"
#include "src/show/sets_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/look.h"
#include "src/base/cut.h"
#include "src/base/err.h"

/* ---- files ---- */

static int is_set(const char *file, int *is)
{
    struct mf_look *look;
    int rc;

    MF_TRY(mf_look_is_h5(file, is));
    if (!*is) return MF_OK;
    look = MF_MUST(calloc(1, sizeof *look), "a look at a file");
    rc = mf_look(file, look);
    *is = rc == MF_OK && mf_look_is_dataset(look);
    if (rc == MF_OK) mf_look_free(look);
    free(look);
    return rc;
}

static int count_sets(size_t count, const char *const *files, size_t *sets)
{
    for (size_t i = 0; i < count; ++i) {
        int is;

        MF_TRY(is_set(files[i], &is));
        *sets += is != 0;
    }
    return MF_OK;
}

int mf_sets_count(const struct mf_show *show, size_t count, const char *const *files, size_t *sets)
{
    *sets = 0;
    MF_TRY(mf_agree(show->comm, show->comm->rank == 0 ? count_sets(count, files, sets) : MF_OK));
    mf_comm_bcast(show->comm, 0, sets, sizeof *sets);
    return MF_OK;
}

/* ---- which samples ---- */

static int choose(struct mf_sets *s, int which, const char *split)
{
    const struct mf_dataset *set = s->set[which];
    int all;

    if (!split) split = set->count[MF_VALIDATION] ? mf_split_names[MF_VALIDATION] : "all";
    all = strcmp(split, "all") == 0;
    s->split[which] = split;
    MF_TRY(MF_ROOM(s->id[which], set->samples, "the samples of '%.300s'", set->path));
    for (size_t i = 0; i < set->samples; ++i)
        if (all ? !set->status || set->status[i] == 1
                : set->split[i] < MF_SPLITS && strcmp(mf_split_names[set->split[i]], split) == 0)
            s->id[which][s->n[which]++] = (uint32_t)i;
    if (s->n[which]) return MF_OK;
    if (all) return mf_fail(MF_INPUT, "'%s' has no complete sample", set->path);
    return mf_fail(MF_INPUT, "'%s' has no sample in its %s split; try: --%s all", set->path, split,
                   which == MF_SETS_REAL ? "split" : "made_split");
}

/* ---- one form ---- */

static void extents(const struct mf_dataset *set, char text[80])
{
    if (set->ndim == 3)
        snprintf(text, 80, "%zu x %zu x %zu", set->dims[0], set->dims[1], set->dims[2]);
    else
        snprintf(text, 80, "%zu x %zu", set->dims[1], set->dims[2]);
}

static void contents(const struct mf_dataset *set, char text[80])
{
    if (set->phases)
        snprintf(text, 80, "%d phases", set->phases);
    else
        snprintf(text, 80, "values of %zu channel%s", set->dims[3], set->dims[3] > 1 ? "s" : "");
}

static int check_alike(const struct mf_dataset *a, const struct mf_dataset *b)
{
    char one[80], two[80];

    extents(a, one);
    extents(b, two);
    if (strcmp(one, two) != 0)
        return mf_fail(MF_INPUT, "sets are compared whose samples have the same extents: '%s' has %s, '%s' %s", a->path,
                       one, b->path, two);
    contents(a, one);
    contents(b, two);
    if (strcmp(one, two) == 0) return MF_OK;
    return mf_fail(MF_INPUT, "sets are compared whose samples hold the same phases: '%s' has %s, '%s' %s", a->path, one,
                   b->path, two);
}

/* The range of a channel in both sets; bytes have one bin each. */
static void find_range(struct mf_sets *s, size_t c)
{
    enum { WIDE = 6 }; /* deviations, where nobody knows the range */

    s->low[c] = s->set[0]->is_float || s->set[1]->is_float ? INFINITY : 0;
    s->high[c] = s->low[c] > 0 ? -INFINITY : 255;
    for (int k = 0; s->low[c] > 0 && k < MF_SETS; ++k) {
        const struct mf_channel v = mf_dataset_channel(s->set[k], c, s->n[k], s->id[k]);
        const int known = v.least <= v.most;

        s->low[c] = fmin(s->low[c], known ? v.least : v.mean - WIDE * v.deviation);
        s->high[c] = fmax(s->high[c], known ? v.most : v.mean + WIDE * v.deviation);
    }
}

static int find_shape(struct mf_sets *s, const struct mf_sets_opts *o)
{
    const struct mf_dataset *set = s->set[MF_SETS_REAL];
    const size_t most = mf_set_lag_max(set->ndim, set->dims);

    MF_TRY(check_alike(set, s->set[MF_SETS_MADE]));
    if (most < 1)
        return mf_fail(MF_INPUT, "samples of '%s' are one pixel wide: nothing can be measured along it", set->path);
    if (o->lag_given && (size_t)o->lag > most)
        return mf_fail(MF_USAGE, "--limit_to %ld: distances must be below half of a sample; the largest is %zu", o->lag,
                       most);
    s->shape = (struct mf_set_shape){.ndim = set->ndim,
                                     .dims = {set->dims[0], set->dims[1], set->dims[2]},
                                     .phases = set->phases,
                                     .lag = (size_t)o->lag < most ? (size_t)o->lag : most,
                                     .periodic = o->periodic,
                                     .channels = set->dims[3],
                                     .low = s->low,
                                     .high = s->high};
    for (size_t c = 0; !set->phases && c < set->dims[3]; ++c) find_range(s, c);
    return MF_OK;
}

/* ---- measuring ---- */

/* One set that is being read. */
struct reading {
    struct mf_sets *sets;
    int which;
    struct mf_set_measures *to[2]; /* by the half of a sample */
    const uint8_t *half;           /* [n]; NULL: all go to the first */
    double *fraction;              /* [n][parts]; NULL: not wanted */
    size_t at;                     /* the next sample's place in id */
    int rc;
};

static void add(void *context, const struct mf_batch *batch)
{
    struct reading *r = context;
    const struct mf_dataset *set = r->sets->set[r->which];

    mf_comm_alive();
    for (size_t i = 0; r->rc == MF_OK && i < batch->n; ++i, ++r->at) {
        struct mf_set_measures *to = r->to[r->half ? r->half[r->at] : 0];
        const size_t parts = mf_set_measures_parts(to);
        char why[MF_ERR_TEXT];

        r->rc = mf_set_measures_add(to, batch->x + i * set->bytes);
        for (size_t p = 0; r->rc == MF_OK && r->fraction && p < parts; ++p)
            r->fraction[r->at * parts + p] = mf_set_measures_last(to, p, MF_SET_FRACTION);
        if (r->rc != MF_INPUT) continue;
        mf_err_take(why, sizeof why);
        r->rc = mf_fail(MF_INPUT, "sample %zu of '%s': %s", batch->id[i], set->path, why);
    }
}

struct mf_reader_wish mf_sets_reading(const struct mf_dataset *set)
{
    enum { BATCH = 64, BYTES = 1 << 22 };
    const size_t fit = BYTES / set->bytes;

    return (struct mf_reader_wish){.threads = 1,
                                   .ahead = 2,
                                   .batch = fit < 1       ? 1
                                            : fit < BATCH ? fit
                                                          : BATCH,
                                   .raw = 1};
}

/* Reads this rank's part of a set. Local. */
static int read_own(const struct mf_show *show, struct reading *r)
{
    const struct mf_dataset *set = r->sets->set[r->which];
    const struct mf_reader_wish wish = mf_sets_reading(set);
    const struct mf_span own = mf_cut(r->sets->n[r->which], (size_t)show->comm->size, (size_t)show->comm->rank);

    r->at = own.first;
    MF_TRY(mf_samples_read(set, show->arena, &wish, own.count, r->sets->id[r->which] + own.first, add, r));
    return r->rc;
}

static int begin(const struct mf_show *show, struct mf_sets *s, int which, struct mf_set_measures **measures)
{
    s->shape.is_float = s->set[which]->is_float;
    return mf_set_measures_begin(show->home, &s->shape, measures);
}

/* Halves of the real samples, the same on every rank. */
static int halve(const struct mf_sets *s, uint8_t *half)
{
    static const double part[2] = {0.5, 0.5};
    const struct mf_dataset *set = s->set[MF_SETS_REAL];
    const size_t n = s->n[MF_SETS_REAL];
    int32_t *label;
    int rc;

    for (size_t i = 0; i < n; ++i) half[i] = i >= (n + 1) / 2;
    if (set->overlaps) return MF_OK;
    MF_TRY(MF_ROOM(label, n, "the labels of %zu samples", n));
    for (size_t i = 0; set->label && i < n; ++i) label[i] = set->label[s->id[MF_SETS_REAL][i]];
    rc = mf_split_make(n, set->label ? label : NULL, set->classes, part, 0, half);
    for (size_t i = 0; i < n; ++i) half[i] = half[i] != MF_TRAIN;
    free(label);
    return rc;
}

static int measure_real(const struct mf_show *show, struct mf_sets *s)
{
    uint8_t *half = mf_room(s->n[MF_SETS_REAL], 1, "the halves of %zu samples", s->n[MF_SETS_REAL]);
    struct reading r = {.sets = s, .which = MF_SETS_REAL, .half = half};
    int rc = half ? begin(show, s, MF_SETS_REAL, &s->of[MF_SETS_REAL]) : MF_MEMORY;

    for (int k = 0; rc == MF_OK && k < 2; ++k) rc = begin(show, s, MF_SETS_REAL, &s->half[k]);
    if (rc == MF_OK) rc = halve(s, half);
    r.to[0] = s->half[0];
    r.to[1] = s->half[1];
    if (rc == MF_OK) rc = read_own(show, &r);
    free(half);
    MF_TRY(mf_agree(show->comm, rc));
    for (int k = 0; k < 2; ++k) {
        mf_set_measures_sum(show->comm, s->half[k]);
        mf_set_measures_join(s->of[MF_SETS_REAL], s->half[k]);
    }
    return MF_OK;
}

/* The column of wanted volume fractions of a phase; reals: there is none. */
static size_t wanted_column(const struct mf_dataset *set, size_t phase)
{
    char name[MF_REAL_TEXT];

    snprintf(name, sizeof name, set->phases == 2 ? "wanted_volume_fraction" : "wanted_volume_fraction_%zu", phase);
    return mf_dataset_column(set, name);
}

/* Compares fraction [n][parts] with what was wanted of phase @p part. */
static void find_wanted(struct mf_sets *s, size_t part, size_t parts, const double *fraction)
{
    const struct mf_dataset *set = s->set[MF_SETS_MADE];
    const size_t n = s->n[MF_SETS_MADE];
    const size_t column = wanted_column(set, part + mf_set_measures_first(s->of[MF_SETS_MADE]));
    double first, mean = 0, error = 0, off = 0, spread = 0;

    if (column == set->reals) return;
    first = (double)set->real[s->id[MF_SETS_MADE][0] * set->reals + column]; /* equal values have no spread at all */
    for (size_t i = 0; i < n; ++i)
        mean += ((double)set->real[s->id[MF_SETS_MADE][i] * set->reals + column] - first) / (double)n;
    for (size_t i = 0; i < n; ++i) {
        const double wanted = (double)set->real[s->id[MF_SETS_MADE][i] * set->reals + column];
        const double made = fraction[i * parts + part];

        error += fabs(made - wanted);
        off += (made - wanted) * (made - wanted);
        spread += (wanted - first - mean) * (wanted - first - mean);
    }
    s->wanted[part] = (struct mf_sets_wanted){1, spread > 0 ? 1 - off / spread : NAN, error / (double)n};
}

static int measure_made(const struct mf_show *show, struct mf_sets *s)
{
    struct reading r = {.sets = s, .which = MF_SETS_MADE};
    int rc = begin(show, s, MF_SETS_MADE, &s->of[MF_SETS_MADE]);
    size_t parts;

    MF_TRY(mf_agree(show->comm, rc));
    r.to[0] = s->of[MF_SETS_MADE];
    parts = mf_set_measures_parts(r.to[0]);
    if (s->shape.phases)
        rc = MF_ROOM(r.fraction, s->n[MF_SETS_MADE] * parts, "the fractions of %zu samples", s->n[MF_SETS_MADE]);
    rc = mf_agree(show->comm, rc == MF_OK ? read_own(show, &r) : rc);
    if (rc == MF_OK) mf_set_measures_sum(show->comm, r.to[0]);
    if (rc == MF_OK && r.fraction) { /* each is a number of one rank, and 0 of the others */
        mf_comm_sum(show->comm, s->n[MF_SETS_MADE] * parts, r.fraction);
        for (size_t p = 0; p < parts; ++p) find_wanted(s, p, parts, r.fraction);
    }
    free(r.fraction);
    return rc;
}

/* ---- all of it ---- */

static int compare(struct mf_sets *s)
{
    const size_t halves[2] = {mf_set_measures_samples(s->half[0]), mf_set_measures_samples(s->half[1])};

    s->rows = mf_set_measures_rows(s->of[MF_SETS_REAL]);
    s->row = MF_MUST(calloc(s->rows, sizeof *s->row), "rows");
    mf_set_compare(s->of[MF_SETS_REAL], s->of[MF_SETS_MADE], s->row);
    if (!halves[0] || !halves[1]) return MF_OK;
    s->chance = MF_MUST(calloc(s->rows, sizeof *s->chance), "rows");
    mf_set_compare(s->half[0], s->half[1], s->chance);
    return MF_OK;
}

int mf_sets_compare(const struct mf_show *show, const struct mf_sets_opts *o, const char *const files[MF_SETS],
                    struct mf_sets *s)
{
    *s = (struct mf_sets){.rows = 0};
    for (int k = 0; k < MF_SETS; ++k) {
        MF_TRY(mf_dataset_open(show->comm, files[k], &s->set[k]));
        MF_TRY(mf_agree(show->comm, choose(s, k, o->split[k])));
    }
    MF_TRY(mf_agree(show->comm, find_shape(s, o)));
    MF_TRY(measure_real(show, s));
    MF_TRY(measure_made(show, s));
    MF_TRY(compare(s));
    return mf_sets_count_copies(show, o->copies, s);
}

void mf_sets_free(struct mf_sets *s)
{
    for (int k = 0; k < MF_SETS; ++k) {
        mf_set_measures_end(s->of[k]);
        mf_set_measures_end(s->half[k]);
        mf_dataset_close(s->set[k]);
        free(s->id[k]);
        free(s->copies.id[k]);
        free(s->copies.near[k]);
    }
    free(s->row);
    free(s->chance);
    *s = (struct mf_sets){.rows = 0};
}

size_t mf_sets_part(const struct mf_sets *s, const struct mf_set_row *row)
{
    return row->part + mf_set_measures_first(s->of[MF_SETS_REAL]);
}
