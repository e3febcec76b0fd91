/* A checkerboard: phase = (sum of the cell's indices) mod P. The number of cells along every axis is a multiple of P,
 * so that the box is periodic. If the extent is no multiple of the cell, cells differ by one voxel. With exact
 * fractions (two phases) the value is the distance to the nearest edge, positive in phase 1. */
#include <math.h>

#include "src/synth/synth_priv.h"

struct board {
    const struct mf_synth *what;
    size_t cells[3];
};

static int too_large(const struct mf_synth *what)
{
    const size_t *n = what->dims, least = (size_t)what->phases;
    const size_t longest = n[0] > n[1] && n[0] > n[2] ? n[0] : n[1] > n[2] ? n[1] : n[2];

    if (longest < least)
        return mf_fail(MF_USAGE, "no %zu cells fit along any axis of %zu voxels or fewer; try: a larger --size", least,
                       longest);
    return mf_fail(MF_USAGE, "no %zu cells of %g voxels fit along any axis, the longest has %zu; try: --cell %zu",
                   least, what->cell[2], longest, longest / least);
}

int mf_synth_board_cells(const struct mf_synth *what, size_t cells[3])
{
    int varied = 0;

    if (what->exact && what->phases > 2)
        return mf_fail(MF_USAGE, "a checkerboard of %d phases has the fractions of its cells: leave --exact out",
                       what->phases);
    for (int a = 0; a < 3; ++a) {
        double n = (double)what->dims[a], many;

        if (!(what->cell[a] >= 1)) return mf_fail(MF_USAGE, "a cell must have 1 voxel or more, not %g", what->cell[a]);
        many = what->phases * floor(n / (what->phases * what->cell[a]) + 0.5);
        if (many > n) many -= what->phases;
        cells[a] = many < 1 ? 1 : (size_t)many;
        varied |= cells[a] > 1;
    }
    return varied ? MF_OK : too_large(what);
}

static void board_plane(const void *self, size_t z, double *value)
{
    const struct board *b = self;
    const size_t *dims = b->what->dims;
    size_t place[3] = {z, 0, 0};

    for (place[1] = 0; place[1] < dims[1]; ++place[1])
        for (place[2] = 0; place[2] < dims[2]; ++place[2]) {
            size_t sum = 0;
            double edge = HUGE_VAL;

            for (int a = 0; a < 3; ++a) {
                size_t at = (2 * place[a] + 1) * b->cells[a], whole = 2 * dims[a], within = at % whole;
                double distance =
                    (double)(within < whole - within ? within : whole - within) / (double)(2 * b->cells[a]);

                sum += at / whole;
                if (b->cells[a] > 1 && distance < edge) edge = distance;
            }
            sum %= (size_t)b->what->phases;
            *value++ = !b->what->exact ? (double)sum : sum ? edge : -edge;
        }
}

int mf_synth_board(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    struct board b = {.what = job->what};
    struct mf_synth_source source = {board_plane, &b};
    double cuts[MF_PHASES_MAX];
    int rc = mf_synth_board_cells(job->what, b.cells);

    for (int a = 0; a < 3; ++a) facts->cells[a] = b.cells[a];
    for (int p = 1; p < job->what->phases; ++p) cuts[p - 1] = p - 0.5;
    return mf_synth_label_either(job, &source, cuts, rc);
}
