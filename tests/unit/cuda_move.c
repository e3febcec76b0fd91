/* Blocks of rows between slabs and host memory are the same on cpu and cuda, also beyond the size of a transfer. */
#include "kernels/move.h"
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

static void check(struct mf_block b)
{
    const size_t n = b.first + b.rows * b.pitch, m = b.rows * b.run;
    float *x = random_floats(n, 1, -1, 1), *y = random_floats(m, 2, -1, 1), *packed[SIDES], *slab[SIDES];

    for (int s = 0; s < SIDES; ++s) {
        float *dx = up(&side[s], n, x), *from = malloc(m * sizeof *from);

        packed[s] = malloc(m * sizeof *packed[s]);
        memcpy(from, y, m * sizeof *from);
        side[s].be->move->add(side[s].q, &b, from, dx);
        memset(from, 0, m * sizeof *from); /* it was read */
        side[s].be->move->pack(side[s].q, &b, dx, packed[s]);
        slab[s] = down(&side[s], n, dx);
        free(from);
    }
    CHECK(memcmp(packed[0], packed[1], m * sizeof **packed) == 0);
    CHECK(memcmp(slab[0], slab[1], n * sizeof **slab) == 0);
    for (int s = 0; s < SIDES; ++s) {
        free(packed[s]);
        free(slab[s]);
    }
    free(x);
    free(y);
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    check((struct mf_block){7, 3, 11, 5});
    check((struct mf_block){1, 1, 1, 0});
    check((struct mf_block){5, 64, 64, 64});
    check((struct mf_block){3, 400000, 400007, 13});
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
