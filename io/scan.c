/* See scan.h. */
#include "io/scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/lent.h"
#include "src/base/err.h"

enum { SOME = 1024 };

/* Integers that a double still holds exactly. */
#define EXACT 9007199254740992.0

struct look {
    const struct mf_array *array;
    const uint8_t *covered;
    struct mf_scan *scan;
    int64_t *bins; /* of a histogram */
    double origin, width;
    size_t first; /* that is not finite, of this rank's */
};

static void note(struct mf_scan *s, int64_t v)
{
    int64_t i = s->distinct;

    while (i > 0 && s->value[i - 1] >= v) --i;
    if ((i < s->distinct && s->value[i] == v) || s->distinct == MF_SCAN_DISTINCT) return;
    memmove(s->value + i + 1, s->value + i, (size_t)(s->distinct - i) * sizeof v);
    s->value[i] = v;
    ++s->distinct;
}

static void range(struct mf_scan *s, double v)
{
    if (v < s->low) s->low = v;
    if (v > s->high) s->high = v;
}

static void look_ints(struct mf_scan *s, const int64_t *v, size_t n)
{
    int64_t low = INT64_MAX, high = INT64_MIN;

    for (size_t k = 0; k < n; ++k) {
        if (v[k] == MF_NO_LABEL) {
            ++s->fractions;
            continue;
        }
        if (v[k] < low) low = v[k];
        if (v[k] > high) high = v[k];
        if (k == 0 || v[k] != v[k - 1]) note(s, v[k]);
    }
    if (low > high) return; /* all are too large for labels */
    range(s, (double)low);
    range(s, (double)high);
}

/* Values that are no labels, but have a size. */
static void look_large(const struct look *l, const char *from, const int64_t *v, size_t n)
{
    double real;

    for (size_t k = 0; k < n; ++k) {
        if (v[k] != MF_NO_LABEL) continue;
        mf_array_reals(l->array, from + k * l->array->size, 1, &real);
        range(l->scan, real);
    }
}

static void look_reals(struct mf_scan *s, const double *v, size_t n)
{
    for (size_t k = 0; k < n; ++k) {
        if (!isfinite(v[k])) {
            ++s->bad;
            continue;
        }
        range(s, v[k]);
        if (fabs(v[k]) <= EXACT && v[k] == rint(v[k]))
            note(s, (int64_t)v[k]);
        else
            ++s->fractions;
    }
}

static void look_declared(struct mf_scan *s, const struct mf_array *a, const char *from, size_t n, int64_t each)
{
    double real;

    for (size_t k = 0; a->declared && k < n; ++k) {
        int i;

        mf_array_reals(a, from + k * a->size, 1, &real);
        i = mf_array_declared(a, real);
        if (i >= 0) s->no_data[i] += each;
    }
}

/* The next values, at most SOME. *n becomes the number that counts; these are then contiguous. */
static const void *next(const struct look *l, const void *from, size_t at, size_t stride, size_t *n, char *room)
{
    const size_t size = l->array->size;
    size_t kept = 0;

    if (*n > SOME) *n = SOME;
    if (!l->covered) return from;
    for (size_t k = 0; k < *n; ++k)
        if (!l->covered[at + k * stride]) memcpy(room + kept++ * size, (const char *)from + k * size, size);
    *n = kept;
    return room;
}

static int look_at(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct look *l = context;
    char room[SOME * sizeof(double)];
    int64_t ints[SOME];
    double reals[SOME];

    for (size_t k = 0; k < n; k += SOME) {
        size_t now = n - k;
        const char *from = next(l, (const char *)values + k * l->array->size, at + k * stride, stride, &now, room);

        look_declared(l->scan, l->array, from, now, 1);
        if (l->array->kind == 'f') {
            mf_array_reals(l->array, from, now, reals);
            look_reals(l->scan, reals, now);
        } else {
            mf_array_ints(l->array, from, now, ints);
            look_ints(l->scan, ints, now);
            look_large(l, from, ints, now);
        }
    }
    return MF_OK;
}

/* Vectors of bytes, and how many bytes of a block one lane counts, as a lane counts in a byte. The compiler maps 32
 * bytes to one register or to two. */
typedef uint8_t lanes __attribute__((vector_size(32)));
enum { LANES = sizeof(lanes), BLOCK = 255 * LANES, FEW = 4 };
#ifdef __x86_64__
#define FOR_EVERY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define FOR_EVERY_PROCESSOR
#endif

/* Bits that any byte of a block has; *ones: how many are 1, if none is more. */
FOR_EVERY_PROCESSOR static uint8_t any_bits(const uint8_t *at, int64_t *ones)
{
    lanes some, any = {0}, sum = {0};
    uint8_t all = 0;

    for (size_t i = 0; i < BLOCK; i += LANES) {
        memcpy(&some, at + i, LANES);
        any |= some;
        sum += some;
    }
    *ones = 0;
    for (size_t i = 0; i < LANES; ++i) {
        all |= any[i];
        *ones += sum[i];
    }
    return all;
}

FOR_EVERY_PROCESSOR static int64_t count_one(const uint8_t *at, uint8_t byte)
{
    const lanes wanted = byte - (lanes){0};
    lanes some, sum = {0};
    int64_t n = 0;

    for (size_t i = 0; i < BLOCK; i += LANES) {
        memcpy(&some, at + i, LANES);
        sum -= (lanes)(some == wanted);
    }
    for (size_t i = 0; i < LANES; ++i) n += sum[i];
    return n;
}

/* There are few labels. A separate pass for each is faster than a histogram, whose counters in memory wait for
 * themselves. Two labels are counted by their sum. */
void mf_scan_count(const uint8_t *at, size_t n, const struct mf_crc_look *look, int64_t seen[256])
{
    int64_t ones;
    uint8_t most;

    if (look && look->any < 2) {
        seen[0] += (int64_t)(n - look->sum);
        seen[1] += (int64_t)look->sum;
        return;
    }
    for (; n >= BLOCK; at += BLOCK, n -= BLOCK) {
        most = any_bits(at, &ones);
        if (most < 2) {
            seen[0] += BLOCK - ones;
            seen[1] += ones;
            continue;
        }
        for (unsigned b = 0; most < FEW && b <= most; ++b) seen[b] += count_one(at, (uint8_t)b);
        for (size_t k = 0; most >= FEW && k < BLOCK; ++k) ++seen[at[k]];
    }
    for (size_t k = 0; k < n; ++k) ++seen[at[k]];
}

static void merge(struct mf_scan *to, const struct mf_scan *from)
{
    for (int64_t i = 0; i < from->distinct; ++i) note(to, from->value[i]);
    to->fractions += from->fractions;
    to->bad += from->bad;
    for (int i = 0; i < MF_NO_DATA; ++i) to->no_data[i] += from->no_data[i];
    if (from->low > from->high) return; /* a rank without a share */
    range(to, from->low);
    range(to, from->high);
}

static const struct mf_scan nothing = {.low = INFINITY, .high = -INFINITY};

/* One answer for all ranks. */
static int combine(const struct mf_comm *comm, const struct mf_scan *mine, struct mf_scan *all)
{
    void *every = NULL;
    const int rc = mf_comm_gather(comm, mine, sizeof *mine, &every, NULL);

    *all = nothing;
    for (int r = 0; rc == MF_OK && r < comm->size; ++r) merge(all, (const struct mf_scan *)every + r);
    free(every);
    return rc;
}

static struct mf_span rows_of(const struct mf_comm *comm, const struct mf_scan_share *share, const struct mf_array *a)
{
    if (share) return share->rows;
    if (a->lent && a->lent->is_slab) return a->lent->planes;
    return mf_cut(a->ndim ? a->shape[0] : 1, (size_t)comm->size, (size_t)comm->rank);
}

static int visit_share(const struct mf_comm *comm, const struct mf_scan_share *share, struct look *l,
                       mf_array_take *take)
{
    const struct mf_span rows = rows_of(comm, share, l->array);

    l->covered = share ? share->covered : NULL;
    return mf_agree(comm, mf_array_visit(l->array, rows.first, rows.count, take, l));
}

int mf_scan(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
            struct mf_scan *scan)
{
    struct mf_scan mine = nothing;
    struct look l = {.array = array, .scan = &mine};

    MF_TRY(visit_share(comm, share, &l, look_at));
    return combine(comm, &mine, scan);
}

static int find_bad(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct look *l = context;

    for (size_t k = 0; k < n; ++k) {
        const size_t i = at + k * stride;
        double real;

        if (l->covered && l->covered[i]) continue;
        mf_array_reals(l->array, (const char *)values + k * l->array->size, 1, &real);
        if (!isfinite(real) && i < l->first) l->first = i;
    }
    return MF_OK;
}

int mf_scan_first_bad(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
                      size_t *first)
{
    struct look l = {.array = array, .first = SIZE_MAX};
    size_t before = rows_of(comm, share, array).first;
    int64_t most = -INT64_MAX; /* the least index, negated */

    MF_TRY(visit_share(comm, share, &l, find_bad));
    for (int d = 1; d < array->ndim; ++d) before *= array->shape[d];
    if (l.first != SIZE_MAX) most = -(int64_t)(before + l.first);
    mf_comm_max_int(comm, 1, &most);
    *first = (size_t)-most;
    return MF_OK;
}

int mf_scan_bytes(const struct mf_comm *comm, const struct mf_array *array, const int64_t seen[256],
                  struct mf_scan *scan)
{
    struct mf_scan mine = nothing;

    for (int b = 0; b < 256; ++b) {
        uint8_t byte = (uint8_t)b;
        int64_t v;

        if (!seen[b]) continue;
        mf_array_ints(array, &byte, 1, &v);
        look_ints(&mine, &v, 1);
        look_declared(&mine, array, (const char *)&byte, 1, seen[b]);
    }
    return combine(comm, &mine, scan);
}

static int count_at(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    const struct look *l = context;
    char room[SOME * sizeof(double)];
    double reals[SOME];

    for (size_t k = 0; k < n; k += SOME) {
        size_t now = n - k;
        const void *from = next(l, (const char *)values + k * l->array->size, at + k * stride, stride, &now, room);

        mf_array_reals(l->array, from, now, reals);
        for (size_t i = 0; i < now; ++i) {
            double bin = floor((reals[i] - l->origin) / l->width);

            ++l->bins[bin < 0 ? 0 : bin >= MF_SCAN_BINS ? MF_SCAN_BINS - 1 : (size_t)bin];
        }
    }
    return MF_OK;
}

/* The last bin of the lower class. */
static size_t best_split(const int64_t *bins)
{
    double total = 0, moment = 0, below = 0, below_moment = 0, best = -1;
    size_t split = 0;

    for (size_t b = 0; b < MF_SCAN_BINS; ++b) {
        total += (double)bins[b];
        moment += (double)b * (double)bins[b];
    }
    for (size_t b = 0; b + 1 < MF_SCAN_BINS; ++b) {
        double above, gap;

        if (bins[b] == 0) continue;
        below += (double)bins[b];
        below_moment += (double)b * (double)bins[b];
        above = total - below;
        if (above <= 0) break;
        gap = below_moment / below - (moment - below_moment) / above;
        if (below * above * gap * gap > best) {
            best = below * above * gap * gap;
            split = b;
        }
    }
    return split;
}

int mf_scan_otsu(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan_share *share,
                 const struct mf_scan *scan, double *threshold)
{
    int exact = !scan->fractions && scan->high - scan->low < MF_SCAN_BINS;
    struct look l = {.array = array, .origin = scan->low};
    int rc;

    if (scan->low == scan->high)
        return mf_fail(MF_INPUT, "'%s' holds only the value %g: no threshold separates it", array->path, scan->low);
    if (!isfinite(scan->high - scan->low))
        return mf_fail(MF_INPUT, "'%s' holds values from %g to %g: no histogram spans them", array->path, scan->low,
                       scan->high);
    l.width = exact ? 1 : (scan->high - scan->low) / MF_SCAN_BINS;
    l.bins = calloc(MF_SCAN_BINS, sizeof *l.bins);
    rc = mf_agree(comm, l.bins ? MF_OK : mf_fail(MF_MEMORY, "no memory for a histogram"));
    if (rc == MF_OK) rc = visit_share(comm, share, &l, count_at);
    if (rc == MF_OK) {
        mf_comm_sum_int(comm, MF_SCAN_BINS, l.bins);
        *threshold = l.origin + (double)(best_split(l.bins) + (exact ? 0 : 1)) * l.width;
    }
    free(l.bins);
    return rc;
}
