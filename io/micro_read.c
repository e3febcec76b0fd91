/* Reading a microstructure: header, values, decision, slab. See micro.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/micro_priv.h"
#include "io/notes.h"
#include "io/phases.h"
#include "io/same_file.h"
#include "io/threshold.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { LIST_TEXT = 400 };

enum { COLOURS = 8 }; /* rows so long of three or four values are pixels of colours, not voxels */

/* "0, 2, 5" of the values found, at most so many characters. */
static const char *list(const struct mf_scan *scan, const char *between, char *text)
{
    size_t n = 0;

    text[0] = '\0';
    for (int64_t i = 0; i < scan->distinct && n < LIST_TEXT - 40; ++i)
        n += (size_t)snprintf(text + n, LIST_TEXT - n, "%s%lld", i ? between : "", (long long)scan->value[i]);
    return text;
}

static int check_labels(const struct mf_micro_read *read)
{
    if (read->of_sample) return MF_OK;
    for (size_t i = 0; i < read->label_count; ++i)
        for (size_t k = 0; k < i; ++k)
            if (read->labels[i] == read->labels[k])
                return mf_fail(MF_USAGE, "--labels names %ld twice", read->labels[i]);
    if (read->label_count > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "--labels names %zu phases; at most %d are possible", read->label_count,
                       MF_PHASES_MAX);
    if (read->label_count && read->threshold)
        return mf_fail(MF_USAGE, "--labels and --threshold exclude each other: an image is labelled or grey");
    return MF_OK;
}

static int check_request(const struct mf_micro_read *read)
{
    MF_TRY(check_labels(read));
    for (int i = 0; read->spacing && i < 3; ++i)
        if (!(read->spacing[i] > 0) || !isfinite(read->spacing[i]))
            return mf_fail(MF_USAGE, "--spacing must be positive, not %g", read->spacing[i]);
    return MF_OK;
}

static void use_labels(struct mf_micro *m, size_t count, const long *labels)
{
    m->phases = (int)count;
    for (size_t p = 0; p < count; ++p) m->label[p] = labels ? labels[p] : (long)p;
}

static int choose_threshold(struct mf_reading *r)
{
    r->binary = 1;
    use_labels(r->micro, 2, NULL);
    MF_TRY(mf_threshold_read(r->read->threshold, &r->threshold));
    if (isnan(r->threshold))
        return mf_scan_otsu(r->comm, &r->array, r->micro->mask ? &r->part : NULL, &r->scan, &r->threshold);
    if (r->threshold < r->scan.low || r->threshold >= r->scan.high)
        return mf_fail(MF_USAGE, "--threshold %g leaves one phase only: the values of '%s' lie from %g to %g",
                       r->threshold, r->array.path, r->scan.low, r->scan.high);
    return MF_OK;
}

/* Grey values, or labels of grains: of integers of 32 bits and more, which no camera has, only these. Collective. */
static int refuse_many(const struct mf_reading *r)
{
    const struct mf_array *a = &r->array;
    char hint[MF_HINT_TEXT];

    if (a->kind != 'f' && a->size >= 4)
        return mf_fail(MF_INPUT,
                       "'%s' holds more than %d labels, from %g to %g, and at most %d phases are possible; give an "
                       "array of phases (of grains: the phase of each)",
                       a->path, MF_PHASES_MAX, r->scan.low, r->scan.high, MF_PHASES_MAX);
    mf_reading_hint(r, 0, hint);
    return mf_fail(MF_INPUT,
                   "'%s' holds more than %d different values, from %g to %g: for a grey image give --threshold otsu or "
                   "--threshold VALUE (at most %d labels are possible)%s",
                   a->path, MF_PHASES_MAX, r->scan.low, r->scan.high, MF_PHASES_MAX, hint);
}

/* Collective. */
static int refuse_fractions(const struct mf_reading *r)
{
    char hint[MF_HINT_TEXT];

    mf_reading_hint(r, 0, hint);
    return mf_fail(
        MF_INPUT, "'%s' is grey: its values from %g to %g are not labels; give --threshold otsu or --threshold VALUE%s",
        r->array.path, r->scan.low, r->scan.high, hint);
}

/* Neither labels nor threshold were given: the values must be 0, 1, ..., or below the user's number. Collective. */
static int choose_plain(struct mf_reading *r)
{
    const struct mf_scan *s = &r->scan;
    char text[LIST_TEXT], given[LIST_TEXT], hint[MF_HINT_TEXT];
    int64_t most;

    if (s->fractions) return refuse_fractions(r);
    if (s->distinct > MF_PHASES_MAX) return refuse_many(r);
    most = s->value[s->distinct - 1];
    if (s->value[0] < 0 || (most != s->distinct - 1 && most >= (int64_t)r->read->label_span)) {
        mf_reading_hint(r, 1, hint);
        return mf_fail(MF_INPUT,
                       "'%s' holds the labels %s, which are not consecutive from 0; map them with --labels %s, or "
                       "binarise a grey image with --threshold otsu|VALUE%s",
                       r->array.path, list(s, ", ", text), list(s, ",", given), hint);
    }
    use_labels(r->micro, (size_t)most + 1, NULL);
    return MF_OK;
}

static int is_found(const struct mf_scan *scan, int64_t value)
{
    for (int64_t i = 0; i < scan->distinct; ++i)
        if (scan->value[i] == value) return 1;
    return 0;
}

/* The file's own labels; --labels then names these, in the order wanted. A phase that lies wholly under a mask is none.
 */
static int choose_own(struct mf_reading *r)
{
    struct mf_micro *m = r->micro;

    if (r->scan.fractions || r->scan.low < 0 || r->scan.high >= r->array.phases)
        return mf_fail(MF_INPUT, "'%s' is damaged: it holds values from %g to %g and names %d phases", r->array.path,
                       r->scan.low, r->scan.high, r->array.phases);
    for (int p = 0; p < r->array.phases; ++p) {
        if (m->mask && !is_found(&r->scan, p)) continue;
        m->label[m->phases] = (long)r->array.label[p];
        snprintf(m->name[m->phases++], MF_NAME_TEXT, "%.*s", MF_NAME_TEXT - 1, r->array.name[p]);
    }
    return MF_OK;
}

/* Phases need no threshold. */
static int is_parted(const struct mf_reading *r)
{
    const struct mf_scan *s = &r->scan;

    return r->read->of_sample && (r->array.own || (!s->fractions && s->low >= 0 && s->high <= 1));
}

static int choose_partial(struct mf_reading *r)
{
    const int least = is_found(&r->scan, -1), most = is_found(&r->scan, MF_PHASE_FREE);
    int named = 0;

    use_labels(r->micro, r->read->label_count, r->read->labels);
    for (int p = 0; p < r->micro->phases; ++p) named |= r->micro->label[p] == -1 || r->micro->label[p] == MF_PHASE_FREE;
    if (!least || !most || named) return MF_OK;
    return mf_fail(
        MF_INPUT,
        "'%s' holds -1 and 255, and neither is a label of the sample; write -1 alone where the result is free",
        r->array.path);
}

static int choose(struct mf_reading *r)
{
    if (!r->read->threshold) MF_TRY(mf_array_may_label(&r->array));
    if (r->read->partial) return choose_partial(r);
    if (r->read->is_mask) {
        use_labels(r->micro, 2, NULL);
        r->binary = 1;
        return MF_OK;
    }
    if (r->read->threshold && !is_parted(r)) return choose_threshold(r);
    if (r->read->label_count) {
        use_labels(r->micro, r->read->label_count, r->read->labels);
        return MF_OK;
    }
    return r->array.own ? choose_own(r) : choose_plain(r);
}

static int check_axes(const struct mf_reading *r)
{
    const struct mf_array *a = &r->array;
    const int ndim = mf_places_of(a, r->axis).ndim;

    if (r->axis == MF_PHASE_AXIS_NONE && a->ndim == 3 && a->format == MF_NPY && a->shape[2] >= 3 && a->shape[2] <= 4 &&
        a->shape[1] > COLOURS)
        mf_warn("'%s' is read as a volume of %zu x %zu x %zu voxels; if it is a colour image, convert it to grey",
                a->path, a->shape[0], a->shape[1], a->shape[2]);
    if (ndim == 2 || ndim == 3) return MF_OK;
    if (ndim == 4 && a->kind == 'f' && r->read->grey)
        return mf_fail(MF_INPUT,
                       "'%s' has four axes, but neither the first nor the last holds fractions of 2 to %d phases that "
                       "sum to 1 in every voxel",
                       a->path, MF_PHASES_MAX);
    return mf_fail(MF_INPUT, "'%s' has %d %s; a microstructure has two (an image) or three (a volume)", a->path, ndim,
                   ndim == 1 ? "axis" : "axes");
}

/* "[y][x][phase]" */
static const char *axes_of(const struct mf_reading *r, char text[LIST_TEXT])
{
    const char *places = mf_places_of(&r->array, r->axis).ndim == 3 ? "[z][y][x]" : "[y][x]";

    snprintf(text, LIST_TEXT, "%s%s%s", r->axis == MF_PHASE_AXIS_FIRST ? "[phase]" : "", places,
             r->axis == MF_PHASE_AXIS_LAST ? "[phase]" : "");
    return text;
}

/* Phases stand side by side: what of the request is nothing for them. */
static int check_onehot(const struct mf_reading *r, int whole)
{
    const char *path = r->array.path;
    char text[LIST_TEXT];

    if (r->read->is_mask)
        return mf_fail(MF_INPUT, "'%s' holds phases, %s; a mask has one value for each voxel", path, axes_of(r, text));
    if (!r->read->of_sample && (r->read->threshold || r->read->label_count))
        return mf_fail(MF_USAGE, "'%s' holds phases already, %s, which sum to 1 in every voxel; leave --%s out", path,
                       axes_of(r, text), r->read->threshold ? "threshold" : "labels");
    if (!whole && !r->read->grey)
        return mf_fail(
            MF_INPUT,
            "'%s' holds fractions of phases, %s, but every voxel needs one phase; use numpy.argmax(a, axis=%d)", path,
            axes_of(r, text), r->axis == MF_PHASE_AXIS_LAST ? -1 : 0);
    return MF_OK;
}

/* Arrays that do not say what their axes are, or say that the last one is of phases. */
static int may_be_onehot(const struct mf_array *a)
{
    if (a->ndim != 3 && a->ndim != 4) return 0;
    if (a->format == MF_NPY) return a->axes == MF_AXES_UNSAID || a->axes == MF_AXES_PHASES_LAST;
    return a->format == MF_HDF5 && !a->own && !a->cells;
}

/* An indicator field of real numbers may have any number of phases along the last axis. */
static int may_be_along(const struct mf_reading *r, enum mf_phase_axis axis)
{
    const struct mf_array *a = &r->array;

    if (axis == MF_PHASE_AXIS_FIRST && a->axes == MF_AXES_PHASES_LAST) return 0;
    return mf_onehot_is_few(a, axis) || (axis == MF_PHASE_AXIS_LAST && r->read->grey && a->kind == 'f');
}

/* Do the values say that phases stand side by side, along the last axis or the first? Collective. */
static int find_phases(struct mf_reading *r, int *whole)
{
    static const enum mf_phase_axis axes[] = {MF_PHASE_AXIS_LAST, MF_PHASE_AXIS_FIRST};
    int are = 0;

    if (!may_be_onehot(&r->array) || r->read->partial) return MF_OK;
    for (int i = 0; i < 2 && !are; ++i) {
        const struct mf_micro *mask = r->micro->mask;
        const struct mf_places p = mf_places_of(&r->array, axes[i]);
        const int fits = mask && memcmp(mask->slab.dims, p.dims, sizeof p.dims) == 0;

        if (!may_be_along(r, axes[i])) continue;
        MF_TRY(mf_onehot_look(r->comm, r->arena, &r->array, axes[i], fits ? r->part.covered : NULL, &are, whole));
        if (are) r->axis = axes[i];
    }
    return are ? check_onehot(r, *whole) : MF_OK;
}

/* 255 is white in a picture, and here no phase unless it is a label: who meant white sees it. */
static void describe_partial(const struct mf_reading *r, double all)
{
    const struct mf_micro *m = r->micro;
    int is_label = 0;

    for (int p = 0; p < m->phases; ++p) {
        is_label |= m->label[p] == MF_PHASE_FREE;
        if (r->count[p])
            mf_info("'%s': label %ld is phase %d, at %lld voxels", r->array.path, m->label[p], p,
                    (long long)r->count[p]);
        all -= (double)r->count[p];
    }
    mf_info("'%s': %.0f voxels are free%s", r->array.path, all,
            all <= 0                             ? ""
            : is_label || is_found(&r->scan, -1) ? " (-1)"
                                                 : " (255)");
}

/* Labels that no voxel has: wrong ones, or phases that this field lacks. */
static void describe_absent(const struct mf_reading *r)
{
    const struct mf_micro *m = r->micro;
    char text[2][LIST_TEXT] = {"", ""}; /* of voxels none, some */
    int empty = 0;

    for (int p = 0; p < m->phases; ++p) {
        const int some = r->count[p] > 0;

        empty += !some;
        mf_enumerate(text[some], LIST_TEXT, "%ld", m->label[p]);
    }
    if (empty)
        mf_warn("%s %s, of which '%s' has no voxel (it holds %s): %s",
                r->read->of_sample ? "the sample has" : "--labels names", text[0], r->array.path, text[1],
                empty == 1 ? "an empty phase" : "empty phases");
}

static double voxels_of(const struct mf_micro *m)
{
    return (double)m->slab.dims[0] * (double)m->slab.dims[1] * (double)m->slab.dims[2];
}

/* Fractions are those of one file. */
static void describe_phase(const struct mf_reading *r, int p, double all)
{
    const struct mf_micro *m = r->micro;
    char text[LIST_TEXT];
    const int n =
        snprintf(text, sizeof text, "label %ld%s%s is phase %d", m->label[p], m->name[p][0] ? " " : "", m->name[p], p);

    if (!mf_notes_gathered())
        snprintf(text + n, sizeof text - (size_t)n, ", volume fraction %.6f%s", (double)r->count[p] / all,
                 m->mask ? " of the voxels that count" : "");
    mf_note(r->array.path, 0, text);
}

static void describe_threshold(const struct mf_reading *r)
{
    char text[LIST_TEXT];

    snprintf(text, sizeof text, "values > %g are phase 1, the others phase 0", r->threshold);
    if (mf_notes_gathered() && strcmp(r->read->threshold ? r->read->threshold : "", "otsu") == 0)
        snprintf(text, sizeof text, "values > its threshold by Otsu are phase 1, the others phase 0");
    mf_note(r->array.path, 0, text);
}

static void describe(const struct mf_reading *r)
{
    const struct mf_micro *m = r->micro;
    const double all = voxels_of(m) - (double)r->left_out;

    mf_array_say(&r->array);
    if (r->read->is_mask) return;
    mf_array_say_declared(&r->array, r->scan.no_data, "try: --mask");
    if (r->binary) describe_threshold(r);
    if (r->read->partial) describe_partial(r, all);
    if (r->read->label_count && !r->read->partial && m->phase) describe_absent(r);
    for (int p = 0; m->phase && !r->read->partial && p < m->phases; ++p) describe_phase(r, p, all);
}

/* Collective. */
static int read_phases(struct mf_reading *r)
{
    MF_TRY(choose(r));
    MF_TRY(mf_reading_stray(r, mf_agree(r->comm, mf_reading_phases(r))));
    mf_comm_sum_int(r->comm, MF_PHASES_MAX, r->count);
    for (int *n = &r->micro->phases; r->read->partial && *n > 1 && r->count[*n - 1] == 0;) --*n;
    return MF_OK;
}

/* Is the seal to be looked at? Then what one pass over bytes reads need not be read for it again. */
static int check_seal(const struct mf_reading *r, const struct mf_seal_seen *seen)
{
    return r->array.format == MF_HDF5 ? mf_seal_warn(r->comm, r->array.path, r->array.ours, seen) : MF_OK;
}

/* Collective: what values there are. It reads those of one byte into memory. */
static int look_over(struct mf_reading *r)
{
    int rc;

    if (r->array.size != 1) {
        MF_TRY(check_seal(r, NULL));
        return mf_scan(r->comm, &r->array, r->micro->mask ? &r->part : NULL, &r->scan);
    }
    rc = mf_agree(r->comm, mf_reading_bytes(r));
    if (rc == MF_OK) rc = check_seal(r, r->seen.crc_of ? &r->seen : NULL);
    mf_seal_see_end(&r->seen);
    return rc == MF_OK ? mf_scan_bytes(r->comm, &r->array, r->bytes, &r->scan) : rc;
}

/* The mask has the extents of the input, and its slabs. */
static int check_mask(struct mf_reading *r)
{
    const struct mf_places p = mf_places_of(&r->array, r->axis);
    const size_t *is = r->micro->mask->slab.dims;

    if (p.ndim != r->micro->mask->ndim || memcmp(is, p.dims, sizeof p.dims) != 0)
        return mf_fail(MF_INPUT, "the mask has %zu x %zu x %zu voxels, the input %zu x %zu x %zu (z y x)", is[0], is[1],
                       is[2], p.dims[0], p.dims[1], p.dims[2]);
    mf_reading_lay(r);
    return MF_OK;
}

/* Collective. */
static int read_grey(struct mf_reading *r)
{
    MF_TRY(mf_agree(r->comm, mf_reading_grey(r)));
    use_labels(r->micro, r->micro->fields > 1 ? (size_t)r->micro->fields : 2, NULL);
    return MF_OK;
}

/* Collective. */
static int read_onehot(struct mf_reading *r)
{
    char text[LIST_TEXT];

    mf_info("'%s' is read as one-hot phases, %s: one value of each voxel is not 0", r->array.path, axes_of(r, text));
    use_labels(r->micro, mf_places_of(&r->array, r->axis).phases, NULL);
    MF_TRY(mf_agree(r->comm, mf_reading_onehot(r)));
    mf_comm_sum_int(r->comm, MF_PHASES_MAX, r->count);
    return MF_OK;
}

/* Collective. */
static int refuse_bad(struct mf_reading *r)
{
    const struct mf_array *a = &r->array;
    const long long bad = r->scan.bad;
    char at[LIST_TEXT] = "";
    size_t first, place[MF_ARRAY_DIMS], n = 0;

    MF_TRY(mf_scan_first_bad(r->comm, a, r->micro->mask ? &r->part : NULL, &first));
    for (int d = a->ndim - 1; d >= 0; --d) {
        place[d] = first % a->shape[d] + (a->cropped ? a->corner[d] : 0);
        first /= a->shape[d];
    }
    for (int d = 0; d < a->ndim; ++d) n += (size_t)snprintf(at + n, sizeof at - n, "[%zu]", place[d]);
    return mf_fail(MF_INPUT, "'%s' holds %lld value%s NaN or infinite, the first at %s; %s", a->path, bad,
                   bad == 1 ? " that is" : "s that are", at,
                   r->read->partial   ? "write -1 where the result is free"
                   : r->read->is_mask ? "write 0 where voxels count and 1 where not"
                                      : "try: --mask (of match and characterize)");
}

/* Collective: from an open header to the slab. */
static int read_values(struct mf_reading *r)
{
    int whole = 0;

    MF_TRY(find_phases(r, &whole));
    MF_TRY(check_axes(r));
    if (r->micro->mask) MF_TRY(check_mask(r));
    if (r->axis != MF_PHASE_AXIS_NONE) {
        MF_TRY(check_seal(r, NULL));
        return r->read->grey && r->array.kind == 'f' ? read_grey(r) : read_onehot(r);
    }
    MF_TRY(mf_reading_colours(r, look_over(r)));
    if (r->scan.bad) return refuse_bad(r);
    return mf_reading_is_indicator(r) ? read_grey(r) : read_phases(r);
}

/* The checksum is computed beside the work on the values; during reading it would have slowed the reading. Rank 0. */
static void start_hash(struct mf_reading *r)
{
    r->micro->hashing[0] = mf_hash_start(r->array.path);
    if (r->array.data[0]) r->micro->hashing[1] = mf_hash_start(r->array.data);
}

/* Two files get one hash of both. Rank 0. */
static int finish_hash(struct mf_micro *m)
{
    char other[MF_HASH_TEXT];
    int rc = m->hashing[0] ? mf_hash_finish(m->hashing[0], m->hash) : MF_OK;

    if (rc == MF_OK && m->hashing[1]) {
        rc = mf_hash_finish(m->hashing[1], other);
        m->hashing[1] = NULL;
        if (rc == MF_OK) mf_hash_join(2, (const char *[]){m->hash, other}, m->hash);
    }
    m->hashing[0] = NULL;
    return rc;
}

int mf_micro_hash(const struct mf_comm *comm, struct mf_micro *micro)
{
    MF_TRY(mf_agree(comm, comm->rank == 0 ? finish_hash(micro) : MF_OK));
    mf_comm_bcast(comm, 0, micro->hash, MF_HASH_TEXT);
    return MF_OK;
}

/* Memory of this rank that reading has filled. */
static struct mf_cost held(const struct mf_micro *m)
{
    double each = m->grey ? sizeof(float) * (double)m->fields : 1;

    return (struct mf_cost){each * (double)mf_slab_voxels(&m->slab), 0};
}

/* Local. Whether a name stands for a file and its array each rank asks its own file system. */
static int open_array(struct mf_reading *r, const char *given, const char *file, const char *array)
{
    if (array && r->read->dataset)
        return mf_fail(MF_USAGE, "'%s' names an array of its own; leave --dataset out", given);
    MF_TRY(mf_array_open(file, array ? array : r->read->dataset, &r->array));
    r->array.remedy = r->read->remedy;
    mf_array_squeeze(&r->array);
    return MF_OK;
}

/* Collective: the mask, before any value of the input is looked at. */
static int read_mask(struct mf_reading *r)
{
    const struct mf_micro_read how = {.is_mask = 1, .crop = r->array.cropped ? &r->crop : NULL};
    struct mf_micro *mask = MF_MUST(calloc(1, sizeof *mask), "a mask");
    int rc = mf_micro_read(r->comm, r->arena, r->read->mask, &how, mask);

    if (rc != MF_OK) {
        free(mask);
        return rc;
    }
    r->micro->mask = mask;
    r->part.covered = mask->phase;
    for (size_t i = 0; i < mf_slab_voxels(&mask->slab); ++i) r->left_out += mask->phase[i];
    mf_comm_sum_int(r->comm, 1, &r->left_out);
    if ((double)r->left_out == voxels_of(mask))
        return mf_fail(MF_INPUT, "the mask covers everything: nothing is left to count");
    mf_info("mask: %.4g %% of the voxels do not count", 100 * (double)r->left_out / voxels_of(mask));
    return MF_OK;
}

/* FILE, or FILE:ARRAY. */
static int read_named(struct mf_reading *r, const char *given)
{
    const char *array;
    char *file;
    int rc;

    mf_array_split(given, &file, &array);
    rc = mf_agree(r->comm, open_array(r, given, file, array));
    if (rc == MF_OK) rc = mf_same_file(r->comm, file);
    if (rc == MF_OK && r->array.data[0]) rc = mf_same_file(r->comm, r->array.data);
    if (rc == MF_OK) rc = mf_reading_crop(r);
    if (rc == MF_OK && r->read->mask) rc = read_mask(r);
    if (rc == MF_OK) rc = mf_array_explain(&r->array, read_values(r));
    if (rc == MF_OK) rc = mf_reading_scale(r);
    if (rc == MF_OK) {
        mf_reading_warn_bar(r);
        if (r->comm->rank == 0 && !r->read->unhashed && !r->array.lent) start_hash(r);
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
    struct mf_reading r = {.comm = comm, .arena = arena, .read = read ? read : &plain, .micro = &m};
    MF_PHASE(&mf_phase_read);
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
    for (int i = 0; i < 2; ++i)
        if (micro->hashing[i]) (void)mf_hash_finish(micro->hashing[i], NULL);
    micro->hashing[0] = micro->hashing[1] = NULL;
    mf_arena_give(micro->arena, micro->phase);
    mf_arena_give(micro->arena, micro->grey);
    micro->phase = NULL;
    micro->grey = NULL;
    mf_micro_free(micro->mask);
    free(micro->mask);
    micro->mask = NULL;
}

void mf_micro_shape(const size_t dims[3], struct mf_json *at)
{
    struct mf_json *shape = mf_json_array();

    for (int a = dims[0] > 1 ? 0 : 1; a < 3; ++a) mf_json_int(shape, NULL, (long long)dims[a]);
    mf_json_put(at, "shape", shape);
}
