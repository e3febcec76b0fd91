/* Patches in trees: every patch stands in one leaf, on its side of all cuts. A search finds nearly what all pairs give,
 * also while the slice changes. Equal images match without distance. Nothing depends on threads, or on how many workers
 * a team has. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slices/patch_near.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { NU = 64, NV = 52, MU = 60, MV = 71, PARTS = MF_PATCH_PARTS, LEAF = MF_PATCH_LEAF };

/* An image, its patches in a tree, and what a search finds of them. */
struct half {
    struct mf_patch_image image;
    struct mf_patch_tree tree;
    void *memory;
    struct mf_patch_side side;
};

static _Thread_local float axes[(MF_PATCH_PIXELS + 1) * PARTS];

static void smooth(size_t nu, size_t nv, float *x)
{
    float *y = malloc(nu * nv * sizeof *y);

    for (int pass = 0; pass < 6; ++pass) {
        memcpy(y, x, nu * nv * sizeof *y);
        for (size_t u = 0; u < nu; ++u)
            for (size_t v = 0; v < nv; ++v)
                x[u * nv + v] = 0.25f * (y[(u + 1) % nu * nv + v] + y[(u + nu - 1) % nu * nv + v] +
                                         y[u * nv + (v + 1) % nv] + y[u * nv + (v + nv - 1) % nv]);
    }
    free(y);
}

/* Blobs of two phases, or grey. */
static float *field(size_t nu, size_t nv, uint32_t stream, int grey)
{
    float *x = malloc(nu * nv * sizeof *x);

    for (size_t i = 0; i < nu * nv; ++i) x[i] = (float)mf_random_normal(7, stream, i);
    smooth(nu, nv, x);
    for (size_t i = 0; i < nu * nv; ++i) x[i] = grey ? 0.5f + x[i] : (float)(x[i] > 0);
    return x;
}

static struct half half_of(size_t nu, size_t nv, int periodic, const float *x)
{
    const struct mf_slice_desc desc = {
        .nu = nu, .nv = nv, .levels = 1, .count_max = 1, .periodic = periodic, .example = {NULL, nu, nv, periodic}};
    struct mf_patch_level level[MF_PYRAMID_MAX];
    struct half h;

    mf_patch_shape(&desc, level);
    h.image = level->slice;
    h.image.x = malloc(mf_patch_image_floats(&h.image) * sizeof(float));
    mf_patch_image_fill(&h.image, x, nu * nv);
    h.memory = aligned_alloc(64, mf_patch_tree_bytes(&h.image));
    mf_patch_tree_lay(&h.image, h.memory, &h.tree);
    return h;
}

/* Where a search begins: anywhere. */
static void join(struct half *h)
{
    h->side = (struct mf_patch_side){&h->image, &h->tree, calloc(h->image.slots, sizeof(int32_t)),
                                     calloc(h->image.slots, sizeof(float)), calloc(h->image.slots, sizeof(int32_t))};
}

static void close_half(struct half *h)
{
    free(h->image.x);
    free(h->memory);
    free(h->side.match);
    free(h->side.far);
    free(h->side.found);
}

static double apart(const float *a, const float *b)
{
    double sum = 0;

    for (size_t c = 0; c < PARTS; ++c) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

static int is_patch(const struct mf_patch_image *image, size_t slot) { return slot % image->row < image->pv; }

static void check_tree(const struct mf_patch_image *image, const struct mf_patch_tree *t)
{
    int *seen = calloc(t->slots, sizeof *seen);

    for (size_t p = 0; p < t->leaves * LEAF; ++p) {
        const int32_t slot = t->slot[p];

        if (slot < 0) continue;
        ++seen[slot];
        for (size_t c = 0; c < PARTS; ++c)
            CHECK(t->at[(p / LEAF * PARTS + c) * LEAF + p % LEAF] == t->row[(size_t)slot * PARTS + c]);
        for (size_t node = t->leaves + p / LEAF; node > 1; node /= 2) {
            const float x = t->row[(size_t)slot * PARTS + t->node[node / 2].axis], cut = t->node[node / 2].cut;

            CHECK(node % 2 ? x >= cut : x <= cut);
        }
    }
    for (size_t s = 0; s < t->slots; ++s) CHECK(seen[s] == is_patch(image, s));
    free(seen);
}

/* The sum of distances over that of the nearest patches of all; never below 1. */
static double excess(const struct half *own, const struct half *other)
{
    double got = 0, least = 0;

    for (size_t s = 0; s < own->image.slots; ++s) {
        double best = 1e30;

        if (!is_patch(&own->image, s)) continue;
        for (size_t q = 0; q < other->image.slots; ++q)
            if (is_patch(&other->image, q))
                best = fmin(best, apart(own->tree.row + s * PARTS, other->tree.row + q * PARTS));
        CHECK(is_patch(&other->image, (size_t)own->side.match[s]));
        got += apart(own->tree.row + s * PARTS, other->tree.row + (size_t)own->side.match[s] * PARTS);
        least += best;
    }
    return got / least;
}

static void check_search(int periodic, int threads, const struct mf_team *team, double *sum)
{
    float *x = field(NU, NV, 1, 1), *y = field(MU, MV, 2, 0), *toward = field(NU, NV, 3, 0);
    struct half slice = half_of(NU, NV, periodic, x), example = half_of(MU, MV, 0, y);
    double *work = malloc(mf_patch_axes_room(1) * sizeof *work);

    mf_patch_axes(&example.image, work, axes);
    mf_patch_tree_make(threads, team, &example.image, axes, &example.tree);
    check_tree(&example.image, &example.tree);
    join(&slice);
    join(&example);
    for (size_t number = 0; number < 6; ++number) {
        mf_patch_image_fill(&slice.image, x, NU * NV);
        mf_patch_tree_make(threads, team, &slice.image, axes, &slice.tree);
        mf_patch_near(threads, team, number, &slice.side, &example.side);
        for (size_t i = 0; i < NU * NV; ++i) x[i] += 0.2f * (toward[i] - x[i]);
        if (number % 5) continue;
        check_tree(&slice.image, &slice.tree);
        if (threads > 1 || team) continue;
        CHECK_NEAR(excess(&slice, &example), 1.02, 0.020001);
        CHECK_NEAR(excess(&example, &slice), 1.02, 0.020001);
    }
    *sum = 0;
    for (size_t s = 0; s < slice.image.slots; ++s)
        if (is_patch(&slice.image, s))
            *sum += (double)slice.side.match[s] * (double)(s % 97) + (double)slice.side.far[s];
    close_half(&slice);
    close_half(&example);
    free(work);
    free(x);
    free(y);
    free(toward);
}

/* -- a team of threads: each with memory of its own -- */

enum { WORKERS = 5 };

static struct worker {
    struct mf_team team;
    pthread_t thread;
    char *shown;
    int periodic;
    double sum;
} workers[WORKERS];

static pthread_barrier_t all_here;

static void share(void *context, void *data, const size_t *offset)
{
    struct worker *own = context;

    own->shown = data;
    pthread_barrier_wait(&all_here);
    for (int k = 0; k < own->team.parts; ++k)
        if (k != own->team.part)
            memcpy((char *)data + offset[k], workers[k].shown + offset[k], offset[k + 1] - offset[k]);
    pthread_barrier_wait(&all_here);
}

static void *work(void *context)
{
    struct worker *own = context;

    check_search(own->periodic, 1, &own->team, &own->sum);
    return NULL;
}

static void check_team(int periodic, int parts, double wanted)
{
    pthread_barrier_init(&all_here, NULL, (unsigned)parts);
    for (int k = 0; k < parts; ++k) {
        workers[k] = (struct worker){.team = {k, parts, &workers[k], share}, .periodic = periodic};
        CHECK(pthread_create(&workers[k].thread, NULL, work, &workers[k]) == 0);
    }
    for (int k = 0; k < parts; ++k) {
        pthread_join(workers[k].thread, NULL);
        CHECK(workers[k].sum == wanted);
    }
    pthread_barrier_destroy(&all_here);
}

/* Patches of which many are equal: of one phase, and of an image and itself. */
static void check_equal(int blank)
{
    float *y = field(MU, MV, 2, 0);
    struct half a, b;

    if (blank) memset(y, 0, MU * MV * sizeof *y);
    a = half_of(MU, MV, 0, y);
    b = half_of(MU, MV, 0, y);
    mf_patch_tree_make(2, NULL, &a.image, axes, &a.tree);
    mf_patch_tree_make(1, NULL, &b.image, axes, &b.tree);
    check_tree(&a.image, &a.tree);
    join(&a);
    join(&b);
    mf_patch_near(2, NULL, 0, &a.side, &b.side);
    for (size_t s = 0; s < a.image.slots; ++s)
        if (is_patch(&a.image, s)) CHECK(a.side.far[s] < 1e-6f && b.side.far[s] < 1e-6f);
    close_half(&a);
    close_half(&b);
    free(y);
}

int main(void)
{
    for (int periodic = 0; periodic < 2; ++periodic) {
        double one, several;

        check_search(periodic, 1, NULL, &one);
        for (int threads = 2; threads < 4; ++threads) {
            check_search(periodic, threads, NULL, &several);
            CHECK(one == several);
        }
        for (int parts = 2 + periodic; parts <= WORKERS; parts += 2) check_team(periodic, parts, one);
    }
    check_equal(0);
    check_equal(1);
    return failures != 0;
}
