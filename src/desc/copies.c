/* See copies.h. */
#include "src/desc/copies.h"

#include <stdlib.h>

#include "src/base/err.h"

uint8_t *mf_example_classes(const struct mf_target_side *side, int phase)
{
    size_t n = side->example_nu * side->example_nv;
    uint8_t *x = malloc(n + 1);

    for (size_t i = 0; x && i < n; ++i)
        x[i] = phase < 0 ? (uint8_t)(int)side->example[i] : (uint8_t)(side->example[i] == (double)phase);
    return x;
}

/* The examples of a side, as classes that both have. */
struct pair {
    uint8_t *mine, *theirs;
    struct mf_copy_image image, example;
};

static int pair_open(const struct mf_target *got, const struct mf_target *want, int d, struct pair *p)
{
    const struct mf_target_side *a = mf_target_for(got, (enum mf_normal)d), *b = mf_target_for(want, (enum mf_normal)d);
    const int same = got->phases == want->phases;

    p->mine = mf_example_classes(a, same ? -1 : 1);
    p->theirs = mf_example_classes(b, same ? -1 : want->phases > 1);
    p->image = (struct mf_copy_image){p->mine, a->example_nu, a->example_nv, mf_target_example_periodic(got, a)};
    p->example = (struct mf_copy_image){p->theirs, b->example_nu, b->example_nv, mf_target_example_periodic(want, b)};
    return p->mine && p->theirs ? MF_OK : mf_fail(MF_MEMORY, "no memory for windows");
}

static void pair_close(struct pair *p)
{
    free(p->mine);
    free(p->theirs);
}

static int holds_window(const struct mf_copy_image *image)
{
    return image->nu >= MF_COPY_LEAST && image->nv >= MF_COPY_LEAST;
}

/* Each side by its own windows: those of a wide one may not fit into a narrow one. */
static int copies(size_t sides, const struct pair *pair, struct mf_copied *copied)
{
    *copied = (struct mf_copied){.edge = MF_COPY_LEAST};
    for (size_t d = 0; d < sides; ++d) {
        double one, common;
        size_t edge;

        if (!holds_window(&pair[d].image) || !holds_window(&pair[d].example)) continue;
        MF_TRY(mf_copy_edge(&pair[d].image, &pair[d].example, &edge, &common));
        MF_TRY(mf_copy_share(&pair[d].image, &pair[d].example, edge, &one));
        if (edge > copied->edge) copied->edge = edge;
        copied->share += one;
        copied->common += common;
        ++copied->sides;
    }
    if (copied->sides) copied->share /= copied->sides;
    if (copied->sides) copied->common /= copied->sides;
    return MF_OK;
}

double mf_copied_by_chance(const struct mf_copied *c) { return 1 - (1 - c->common) * (1 - c->common); }

double mf_copied_beyond(const struct mf_copied *c)
{
    const double chance = mf_copied_by_chance(c);

    return c->share > chance ? (c->share - chance) / (1 - chance) : 0;
}

int mf_copies(const struct mf_target *got, const struct mf_target *want, struct mf_copied *copied)
{
    struct pair pair[MF_SIDES] = {{.mine = NULL}};
    int rc = MF_OK;

    for (int d = 0; rc == MF_OK && d < got->sides; ++d) rc = pair_open(got, want, d, &pair[d]);
    if (rc == MF_OK) rc = copies((size_t)got->sides, pair, copied);
    for (int d = 0; d < got->sides; ++d) pair_close(&pair[d]);
    return rc;
}
