/* See lent.h. */
#include "io/lent.h"

#include <string.h>

#include "io/decode.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { PIECE = 1 << 16 /* bytes */, FEW = 1 << 20 /* values */ };

static _Thread_local const struct mf_lent *lent_now, *lent_last; /* last: where a name was found */

void mf_lend(const struct mf_lent *list) { lent_now = lent_last = list; }

static const struct mf_lent *find_from(const struct mf_lent *at, const char *name)
{
    while (at && strcmp(at->name, name) != 0) at = at->next;
    return at;
}

/* Long lists are read in their order. */
const struct mf_lent *mf_lent_find(const char *name)
{
    const struct mf_lent *at = *name == '@' ? find_from(lent_last, name) : NULL;

    if (*name == '@' && !at) at = find_from(lent_now, name);
    if (at) lent_last = at;
    return at;
}

const struct mf_target *mf_lent_target(const char *name)
{
    const struct mf_lent *lent = mf_lent_find(name);

    return lent ? lent->target : NULL;
}

/* As the header of a volume of this program. */
static void take_facts(const struct mf_micro *m, struct mf_array *a)
{
    a->own = a->scaled = 1;
    a->phases = m->phases;
    for (int p = 0; p < m->phases; ++p) a->label[p] = m->label[p];
    memcpy(a->name, m->name, sizeof a->name);
    memcpy(a->spacing, m->spacing, sizeof a->spacing);
    memcpy(a->unit, m->unit, sizeof a->unit);
}

int mf_lent_open(struct mf_array *a)
{
    a->lent = mf_lent_find(a->path);
    if (!a->lent || a->lent->target) return 0;
    a->format = MF_NPY;
    a->coding = MF_LENT;
    a->kind = a->lent->kind;
    a->size = a->lent->size;
    a->ndim = a->lent->ndim;
    memcpy(a->shape, a->lent->shape, sizeof a->shape);
    if (a->lent->is_slab) a->axes = a->ndim == 4 ? MF_AXES_PHASES_LAST : MF_AXES_PLACES;
    if (a->lent->micro) take_facts(a->lent->micro, a);
    a->bytes = SIZE_MAX; /* there is no file that may be too short */
    return 1;
}

const char *mf_lent_whole(const struct mf_lent *lent)
{
    size_t step = lent->size;

    if (lent->swap && lent->size > 1) return NULL;
    for (int i = lent->ndim - 1; i >= 0; step *= lent->shape[i--])
        if (lent->shape[i] > 1 && lent->stride[i] != (ptrdiff_t)step) return NULL;
    return lent->values;
}

/* Address of element @p at in C order, and *run: how many follow it along the last axis. */
static const char *find(const struct mf_lent *l, size_t at, size_t *run)
{
    const char *from = l->values;

    *run = l->ndim ? l->shape[l->ndim - 1] - at % l->shape[l->ndim - 1] : 1;
    for (int i = l->ndim - 1; i >= 0; --i) {
        from += (ptrdiff_t)(at % l->shape[i]) * l->stride[i];
        at /= l->shape[i];
    }
    return from;
}

static void copy(const struct mf_lent *l, const char *from, size_t n, char *to)
{
    const ptrdiff_t step = l->ndim ? l->stride[l->ndim - 1] : 0;

    if (step == (ptrdiff_t)l->size)
        memcpy(to, from, n * l->size);
    else
        for (size_t k = 0; k < n; ++k) memcpy(to + k * l->size, from + (ptrdiff_t)k * step, l->size);
}

void mf_lent_copy(const struct mf_lent *l, size_t at, size_t n, void *memory)
{
    char *to = memory;

    for (size_t done = 0, run; done < n; done += run) {
        const char *from = find(l, at + done, &run);

        run = mf_min(run, n - done);
        copy(l, from, run, to + done * l->size);
    }
    if (l->swap) mf_swap_bytes(to, n, l->size);
}

static size_t begin_of(const struct mf_lent *l)
{
    size_t row = 1;

    for (int i = 1; i < l->ndim; ++i) row *= l->shape[i];
    return l->is_slab ? l->planes.first * row : 0;
}

size_t mf_lent_begin(const struct mf_lent *l) { return begin_of(l) * l->size; }

static int is_here(const struct mf_lent *l, size_t first, size_t count)
{
    return !l->is_slab || (first >= l->planes.first && first + count <= l->planes.first + l->planes.count);
}

/* The array may have lost axes of length 1, which leaves the order of its elements. */
int mf_lent_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context)
{
    const struct mf_lent *l = array->lent;
    const char *whole = mf_lent_whole(l);
    const size_t row = mf_array_row(array), most = whole ? FEW : PIECE / l->size, begin = first * row - begin_of(l);
    const size_t n = count * row;
    char piece[PIECE];

    if (!is_here(l, first, count))
        return mf_fail(MF_USAGE, "'%s' is lent in slabs, and is read here as a whole", l->name);
    for (size_t at = 0; at < n; at += most) {
        const size_t now = mf_min(most, n - at);

        MF_TRY(mf_pulse("reading"));
        if (!whole) mf_lent_copy(l, begin + at, now, piece);
        MF_TRY(take(context, whole ? whole + (begin + at) * l->size : piece, now, at, 1));
    }
    return MF_OK;
}
