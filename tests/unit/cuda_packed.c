/* Descriptors of packed slices are the same on cpu and cuda: values, losses, gradients, totals. Cases are every
 * direction, odd extents, levels, periodic or not. */
#include "tests/unit/cuda_slices.h"

static struct side side[SIDES];

static const struct {
    const char *name;
    size_t most; /* L */
} families[] = {{"lineal", 5}, {"lineal_exact", 5}, {"lineal_soft", 4}, {"line_soft", 5},        {"two_point", 4},
                {"gram", 3},   {"gram_axes", 5},    {"gram_cross", 3},  {"structure_tensor", 5}, {"cross", 5}};

static const struct {
    size_t n[3], lag, levels;
} sizes[] = {{{5, 18, 23}, 4, 2}, {{16, 17, 19}, 3, 2}, {{13, 12, 14}, 5, 1}, {{1, 37, 41}, 4, 3}, {{2, 64, 33}, 5, 2}};

static void check_family(size_t f)
{
    const char *order = getenv("MF_EMU_ORDER");
    const size_t step = SANITIZED ? 7 : order && strcmp(order, "forward") != 0 ? 5 : 1;
    size_t run = f;

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int normal = 0; normal < (sizes[i].n[0] > 12 ? 3 : 1); ++normal)
            for (int periodic = 0; periodic < 2; ++periodic, ++run) {
                struct slices_case k = {{sizes[i].n[0], sizes[i].n[1], sizes[i].n[2]},
                                        normal,
                                        1 + (int)(run % 2),
                                        {.lag = sizes[i].lag < families[f].most ? sizes[i].lag : families[f].most,
                                         .levels = sizes[i].levels,
                                         .periodic = periodic,
                                         .seam = run % 4 == 3,
                                         .threshold = 0.75,
                                         .steepness = 10}};

                if (run % step) continue;
                slices_check(side, families[f].name, &k, 1e-5);
                if (k.desc.levels == 1) continue;
                k.desc.first = 1;
                slices_check(side, families[f].name, &k, 1e-5);
            }
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
        const struct slices_case k = {{7, 13, 14},
                                      (int)(f % 3),
                                      2,
                                      {.lag = 2, .levels = 2, .periodic = f % 2, .threshold = 0.75, .steepness = 10}};

        check_family(f);
        slices_same_bits(&side[1], families[f].name, &k);
    }
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
