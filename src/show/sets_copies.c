/* See sets.h: how near samples are to those of the real train split. */
#include <stdlib.h>
#include <string.h>

#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/show/sets_impl.h"

/* Without an option, as many samples are searched as a core compares in about half a minute. */
enum { MOST = 200, LEAST = 20 };
#define PIXEL_PAIRS 0x1p32

/* Samples of one set that are being read, as a network reads them. */
struct reading {
    struct mf_sample_form form;
    const uint32_t *id; /* queries: [n]; NULL: samples to compare with */
    size_t query;       /* number of the next one */
    float *x;           /* [voxels][channels] */
    size_t bytes;
    struct mf_set_copies *copies;
    const char *path;
    int rc;
};

static void read_batch(void *context, const struct mf_batch *batch)
{
    struct reading *r = context;

    mf_comm_alive();
    for (size_t i = 0; r->rc == MF_OK && i < batch->n; ++i) {
        if (!mf_sample_convert(&r->form, batch->x + i * r->bytes, r->x))
            r->rc = mf_fail(MF_INPUT, "sample %zu of '%s' holds a value that it may not", batch->id[i], r->path);
        else if (r->id)
            mf_set_copies_query(r->copies, r->query++, r->x);
        else
            mf_set_copies_against(r->copies, (uint32_t)batch->id[i], r->x);
    }
}

/* Values of both sets are scaled as those of the real one. Local. */
static int read_samples(const struct mf_show *show, const struct mf_sets *s, struct reading *r, int which, size_t n,
                        const uint32_t *id)
{
    const struct mf_dataset *set = s->set[which], *real = s->set[MF_SETS_REAL];
    const struct mf_reader_wish wish = mf_sets_reading(set);

    r->form = (struct mf_sample_form){.voxels = set->dims[0] * set->dims[1] * set->dims[2],
                                      .channels = set->dims[3],
                                      .phases = set->phases,
                                      .is_float = set->is_float,
                                      .mean = real->mean,
                                      .deviation = real->deviation};
    r->bytes = set->bytes;
    r->path = set->path;
    MF_TRY(mf_samples_read(set, show->arena, &wish, n, id, read_batch, r));
    return r->rc;
}

/* @p most samples of [n], evenly spread; all if there are fewer. */
static size_t spread(size_t n, const uint32_t *from, size_t most, uint32_t *id)
{
    const size_t count = n < most ? n : most;

    for (size_t i = 0; i < count; ++i) id[i] = from[i * n / count];
    return count;
}

static size_t most_of(const struct mf_sets *s, long wanted)
{
    const struct mf_dataset *real = s->set[MF_SETS_REAL];
    const double pairs =
        (double)real->count[MF_TRAIN] * (double)real->dims[0] * (double)real->dims[1] * (double)real->dims[2];
    const double fit = PIXEL_PAIRS / pairs;

    if (wanted >= 0) return (size_t)wanted;
    return fit > MOST ? MOST : fit < LEAST ? LEAST : (size_t)fit;
}

/* Local: reads all queries, and this rank's part of the train split. */
static int compare(const struct mf_show *show, struct mf_sets *s, struct reading *r)
{
    const struct mf_dataset *real = s->set[MF_SETS_REAL];
    const struct mf_span own = mf_cut(real->count[MF_TRAIN], (size_t)show->comm->size, (size_t)show->comm->rank);
    struct mf_sets_copies *c = &s->copies;

    for (int k = 0; k < MF_SETS; ++k) {
        r->id = c->id[k];
        MF_TRY(read_samples(show, s, r, k == 0 ? MF_SETS_REAL : MF_SETS_MADE, c->n[k], c->id[k]));
    }
    r->id = NULL;
    return read_samples(show, s, r, MF_SETS_REAL, own.count, real->id[MF_TRAIN] + own.first);
}

static int count(const struct mf_show *show, struct mf_sets *s, struct reading *r)
{
    const struct mf_dataset *real = s->set[MF_SETS_REAL];
    const size_t queries = s->copies.n[0] + s->copies.n[1];
    struct mf_set_nearest *near;
    int rc = MF_ROOM(near, queries + 1, "%zu samples that may be copies", queries);

    if (rc == MF_OK) rc = mf_set_copies_begin(show->home, real->dims, real->phases, real->inputs, queries, &r->copies);
    if (rc == MF_OK) rc = compare(show, s, r);
    rc = mf_agree(show->comm, rc);
    if (rc == MF_OK) rc = mf_set_copies_finish(show->comm, r->copies, near);
    for (int k = 0; rc == MF_OK && k < MF_SETS; ++k)
        memcpy(s->copies.near[k], near + (k ? s->copies.n[0] : 0), s->copies.n[k] * sizeof *near);
    mf_set_copies_end(r->copies);
    free(near);
    return rc;
}

static void count_nearer(struct mf_sets_copies *c)
{
    const double least = c->n[MF_SETS_REAL] ? mf_set_copies_quantile(c->n[MF_SETS_REAL], c->near[MF_SETS_REAL], 0) : 0;

    for (size_t i = 0; i < c->n[MF_SETS_MADE]; ++i) c->nearer += c->near[MF_SETS_MADE][i].off < least;
}

size_t mf_sets_closest(const struct mf_sets *s, size_t k, size_t *place)
{
    const struct mf_set_nearest *near = s->copies.near[MF_SETS_MADE];
    size_t found = 0;

    for (size_t i = 0; i < s->copies.n[MF_SETS_MADE]; ++i) {
        size_t at = found;

        while (at > 0 && near[i].off < near[place[at - 1]].off) --at;
        if (at == k) continue;
        found += found < k;
        for (size_t j = found - 1; j > at; --j) place[j] = place[j - 1];
        place[at] = i;
    }
    return found;
}

/* For @p most samples of each set, and for one. Local. */
static int take_memory(struct mf_sets *s, size_t most, struct reading *r)
{
    const struct mf_dataset *real = s->set[MF_SETS_REAL];

    for (int k = 0; k < MF_SETS; ++k) {
        const size_t all = k == MF_SETS_REAL ? real->count[MF_VALIDATION] : s->n[MF_SETS_MADE];
        const size_t n = most < all ? most : all;

        MF_TRY(MF_ROOM(s->copies.id[k], n + 1, "%zu samples that may be copies", n));
        MF_TRY(MF_ROOM(s->copies.near[k], n + 1, "%zu samples that may be copies", n));
    }
    return MF_ROOM(r->x, real->dims[0] * real->dims[1] * real->dims[2] * real->inputs, "a sample");
}

int mf_sets_count_copies(const struct mf_show *show, long wanted, struct mf_sets *s)
{
    const struct mf_dataset *real = s->set[MF_SETS_REAL];
    const size_t most = real->count[MF_TRAIN] ? most_of(s, wanted) : 0;
    struct reading r = {.rc = MF_OK};
    int rc;

    rc = mf_agree(show->comm, take_memory(s, most, &r));
    if (rc != MF_OK || !most) {
        free(r.x);
        return rc;
    }
    s->copies.n[MF_SETS_REAL] =
        spread(real->count[MF_VALIDATION], real->id[MF_VALIDATION], most, s->copies.id[MF_SETS_REAL]);
    s->copies.n[MF_SETS_MADE] = spread(s->n[MF_SETS_MADE], s->id[MF_SETS_MADE], most, s->copies.id[MF_SETS_MADE]);
    rc = count(show, s, &r);
    if (rc == MF_OK) count_nearer(&s->copies);
    free(r.x);
    return rc;
}
