/* S2 of slices is the same on cpu and cuda: values, losses, gradients, totals, cross-correlations. Cases are every
 * direction, extents of every kind of factor, levels, periodic or not, odd numbers of slices. */
#include "tests/unit/cuda_slices.h"

static struct side side[SIDES];

static const struct {
    size_t nu, nv, lag, levels;
} sizes[] = {{8, 8, 4, 1},      {16, 16, 4, 2}, {30, 42, 7, 2},    {33, 17, 4, 2},    {64, 64, 16, 2},
             {31, 37, 8, 1},    {48, 50, 6, 3}, {128, 64, 8, 2},   {23, 20, 5, 1},    {15, 45, 7, 1},
             {128, 128, 16, 1}, {11, 9, 5, 1},  {130, 129, 65, 1}, {140, 130, 129, 1}};

/* A volume whose slices normal to `normal` have these extents. */
static struct slices_case case_of(size_t i, int normal, size_t count)
{
    const size_t nu = sizes[i].nu, nv = sizes[i].nv;
    struct slices_case k = {{count, nu, nv}, normal, 2, {.lag = sizes[i].lag, .levels = sizes[i].levels}};

    if (normal == 1) k.n[0] = nu, k.n[1] = count, k.n[2] = nv;
    if (normal == 2) k.n[0] = nu, k.n[1] = nv, k.n[2] = count;
    return k;
}

int main(void)
{
    const char *order = getenv("MF_EMU_ORDER");
    const size_t step = SANITIZED || (order && strcmp(order, "forward") != 0) ? 5 : 1;
    size_t run = 0;

    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int periodic = 0; periodic < 2; ++periodic)
            for (int normal = 0; normal < 3; ++normal, ++run) {
                struct slices_case k = case_of(i, normal, 1 + run % 3);

                if (run % step || (periodic && 2 * sizes[i].lag > sizes[i].nu + 1)) continue;
                k.desc.periodic = periodic;
                k.power = 1 + (int)(run % 2);
                slices_check(side, "S2", &k, 1e-5);
                if (k.desc.levels == 1) continue;
                k.desc.first = 1 + run % (k.desc.levels - 1);
                slices_check(side, "S2", &k, 1e-5);
            }
    for (int normal = 0; normal < 3; ++normal) {
        struct slices_case k = case_of(1, normal, 7);

        k.desc.periodic = normal % 2;
        slices_same_bits(&side[1], "S2", &k);
    }
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
