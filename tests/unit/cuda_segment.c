/* A segment that comes back is the same work on the present content of its memory. Its calls may be made or not; on
 * cuda they are made twice at most. */
#include "kernels/segment.h"
#include "kernels/slices/slices.h"
#include "tests/unit/cuda_case.h"

enum { N = 4, VOXELS = N * N * N };

static struct side side[SIDES];

struct key {
    unsigned long name;
    float *x, *y;
};

struct state {
    struct side *s;
    struct key key;
    double *sum;
    int calls;
};

/* y += 2 x, and the sums of y. */
static void run(struct state *t)
{
    const struct mf_extent e = {1, N, N * N};

    if (mf_segment_begin(t->s->q, &t->key, sizeof t->key)) {
        ++t->calls;
        t->s->be->field->axpy(t->s->q, VOXELS, 2, t->key.x, t->key.y);
        t->s->be->field->sum(t->s->q, e, t->key.y, t->sum);
    }
    mf_segment_end(t->s->q);
}

static struct state state_new(struct side *s)
{
    struct state t = {s, {mf_segment_name(s->q), NULL, NULL}, sums_new(s, N), 0};

    t.key.x = mf_arena_take(s->device, VOXELS * sizeof(float), "test");
    t.key.y = mf_arena_take(s->device, VOXELS * sizeof(float), "test");
    s->be->field->fill(s->q, VOXELS, 0, t.key.y);
    return t;
}

static void state_free(struct state *t)
{
    mf_arena_give(t->s->device, t->key.x);
    mf_arena_give(t->s->device, t->key.y);
    mf_arena_give(t->s->host, t->sum);
}

static int replays(const struct side *s) { return s->be->segment_begin != NULL; }

static void check_contents(struct side *s)
{
    struct state t = state_new(s);
    float want = 0;

    for (int i = 0; i < 5; ++i) {
        s->be->field->fill(s->q, VOXELS, (float)(i + 1), t.key.x);
        want += 2 * (float)(i + 1);
        run(&t);
        s->be->sync(s->q);
        for (size_t z = 0; z < N; ++z) CHECK(t.sum[z] == want * N * N);
    }
    CHECK(t.calls == (replays(s) ? 2 : 5));
    state_free(&t);
}

/* Segments of other keys do not meet, also when there are more than are kept; the first ones are replayed. */
static void check_many(struct side *s)
{
    enum { MANY = 520 };
    static struct state t[MANY];
    int made = 0;

    for (int i = 0; i < MANY; ++i) {
        t[i] = state_new(s);
        s->be->field->fill(s->q, VOXELS, (float)i, t[i].key.x);
    }
    for (int round = 1; round <= 3; ++round)
        for (int i = 0; i < MANY; ++i) {
            run(&t[i]);
            s->be->sync(s->q);
            CHECK(t[i].sum[1] == 2.0 * i * round * N * N);
        }
    for (int i = 0; i < MANY; ++i) {
        made += t[i].calls;
        state_free(&t[i]);
    }
    CHECK_SAYS(!replays(s) || made < 2 * MANY + 64, "%d of %d were made", made, 3 * MANY);
}

/* Scales in host memory are read when the work is done. */
static void check_scale(struct side *s)
{
    const struct mf_slice_desc desc = {.nu = N, .nv = N, .lag = 2, .levels = 1, .count_max = N, .periodic = 1};
    const struct mf_slice_ops *const all[] = {s->be->slices->frac, s->be->slices->vari, s->be->slices->corr};
    float *x = random_floats(VOXELS, 4, 0, 1), zeros[9] = {0};

    for (size_t k = 0; k < 3; ++k) {
        const double one = 1;
        double *scale = sums_new(s, N), *sum = sums_new(s, N);
        float *dx = up(s, VOXELS, x), *g = up(s, VOXELS, x), *target = up(s, 9, zeros), *got, *first;
        const unsigned long name = mf_segment_name(s->q);
        struct mf_slice_plan *plan;
        const struct mf_slice_task task = {.x = {dx, N, N, N, N * N, N, 1},
                                           .g = {g, N, N, N, N * N, N, 1},
                                           .target = target,
                                           .weight = &one,
                                           .power = 2,
                                           .scale = scale,
                                           .sum = sum};

        CHECK(mf_slices_plan(all[k], s->q, &desc, &plan) == MF_OK);
        got = malloc(VOXELS * sizeof *got);
        first = malloc(VOXELS * sizeof *first);
        for (int i = 0; i < 4; ++i) {
            for (size_t z = 0; z < N; ++z) scale[z] = i + 1;
            s->be->field->fill(s->q, VOXELS, 0, g);
            if (mf_segment_begin(s->q, &name, sizeof name)) all[k]->eval(plan, &task);
            mf_segment_end(s->q);
            s->be->sync(s->q);
            s->be->get(s->q, i ? got : first, g, VOXELS * sizeof *g);
            CHECK(isfinite(sum[0]) && sum[N - 1] > 0);
            for (size_t v = 0; i && v < VOXELS; ++v) CHECK_NEAR(got[v], (double)(i + 1) * (double)first[v], 1e-5);
        }
        all[k]->free(plan);
        free(first);
        free(got);
        mf_arena_give(s->device, dx);
        mf_arena_give(s->device, g);
        mf_arena_give(s->device, target);
        mf_arena_give(s->host, scale);
        mf_arena_give(s->host, sum);
    }
    free(x);
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (int s = 0; s < SIDES; ++s) {
        check_contents(&side[s]);
        check_many(&side[s]);
        check_scale(&side[s]);
    }
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
