/* Interface density of slices equals plain loops in double, its gradient finite differences, in every direction. A
 * slice's bits depend on nothing but its pixels. */
#include "tests/unit/slices_case.h"

#include "tests/oracle/micrographs.h"

static void check_against_oracle(void)
{
    static const size_t sizes[][3] = {{1, 64, 64}, {2, 17, 23}, {3, 9, 40}, {17, 19, 21}, {13, 37, 43}};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int mode = 0; mode < 16; ++mode)
            for (int normal = 0; normal < (sizes[i][0] > 8 ? 3 : 1); ++normal) {
                struct slices_case k = {
                    {sizes[i][0], sizes[i][1], sizes[i][2]}, normal, mode & 1 ? 3 : 1, 0, 0, 0, 1, 0, 0, 0};

                k.periodic = !(mode & 2);
                k.seam = k.periodic && mode & 4;
                k.smooth = mode & 4 && !(mode & 2) ? 0.05 : mode & 8 ? 0.1 : 0;
                k.power = mode & 8 ? 1 : 2;
                check_case(&k, mf_backend_cpu.slices->vari, 0);
                check_first(&k, mf_backend_cpu.slices->vari);
            }
}

/* The same slice read as rows and as lanes gives the same bits. */
static void check_directions_agree(void)
{
    enum { N = 45 };
    float *x = random_field(N * N * N), *turned = malloc(sizeof(float[N * N * N]));
    struct slices_case along_z = {{N, N, N}, 0, 2, 1, 1, 2, 1, 0.1, 0, 0}, along_x = along_z;
    struct slices_result a, b;

    along_x.normal = 2;
    for (size_t s = 0; s < N; ++s)
        for (size_t i = 0; i < N * N; ++i) turned[i * N + s] = x[s * N * N + i];
    a = run_case(&along_z, mf_backend_cpu.slices->vari, x, 0, N);
    b = run_case(&along_x, mf_backend_cpu.slices->vari, turned, 0, N);
    CHECK(memcmp(a.sum, b.sum, N * sizeof(double)) == 0);
    for (size_t s = 0; s < N; ++s)
        for (size_t i = 0; i < N * N; ++i) CHECK(a.g[s * N * N + i] == b.g[i * N + s]);
    result_free(&a);
    result_free(&b);
    free(x);
    free(turned);
}

static void check_bits(void)
{
    for (int normal = 0; normal < 3; ++normal) {
        struct slices_case k = {{33, 42, 47}, normal, 1, 1, 0, 2, 1, 0, 0, 0};

        check_same_bits(&k, mf_backend_cpu.slices->vari);
        k.levels = 3;
        k.smooth = 0.1;
        check_same_bits(&k, mf_backend_cpu.slices->vari);
        check_none(&k, mf_backend_cpu.slices->vari);
    }
}

/* Values of MCRpy 0.2.0 (Variation, L = 8), which counts the seam twice, and of NumPy, which does not. */
static void check_published(const uint64_t rows[64], const double mcrpy[3], const double numpy[3])
{
    struct slices_case k = {{1, 64, 64}, 0, 3, 1, 1, 2, 1, 0, 0, 0};
    struct slices_result r;
    float x[64 * 64];

    for (size_t i = 0; i < 64 * 64; ++i) x[i] = (float)(rows[i / 64] >> i % 64 & 1);
    r = run_case(&k, mf_backend_cpu.slices->vari, x, 0, 1);
    for (size_t l = 0; l < 3; ++l) CHECK((double)r.values[l] == mcrpy[l]);
    result_free(&r);
    k.seam = 0;
    r = run_case(&k, mf_backend_cpu.slices->vari, x, 0, 1);
    for (size_t l = 0; l < 3; ++l) CHECK((double)r.values[l] == numpy[l]);
    result_free(&r);
}

static void check_refusal(void)
{
    struct slices_case k = {{1, 12, 12}, 0, 5, 1, 0, 2, 1, 0, 0, 0};
    struct mf_view v = view_of(&k, NULL);
    struct mf_slice_desc desc = desc_of(&k, &v);
    struct mf_slice_plan *plan;
    struct mf_arena *arena;
    struct mf_queue *q;

    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 100) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 1, 1, arena, arena) == MF_OK);
    CHECK(mf_slices_plan(mf_backend_cpu.slices->vari, q, &desc, &plan) == MF_USAGE);
    desc.levels = 1;
    CHECK(mf_slices_plan(mf_backend_cpu.slices->vari, q, &desc, &plan) == MF_MEMORY);
    mf_backend_cpu.queue_close(q);
    mf_arena_close(arena);
}

int main(void)
{
    check_against_oracle();
    check_directions_agree();
    check_bits();
    check_published(micrograph_pymks, (double[]){0.24267578125, 0.44482421875, 0.61279296875},
                    (double[]){0.23876953125, 0.431640625, 0.57470703125});
    check_published(micrograph_copolymer, (double[]){0.73876953125, 0.7646484375, 0.25439453125},
                    (double[]){0.72607421875, 0.7373046875, 0.23974609375});
    check_refusal();
    check_areas(mf_backend_cpu.slices->vari, 1);
    return failures != 0;
}
