/* Swap trials of the polish per second on one core, at lag 16, on candidates of a random binary field. A trial is two
 * exact flip energies and their interaction. It is in an image (one slice, shared) or in a volume (three slices each).
 *
 *     bench_swap [SECONDS]        prints rows: case, trials, seconds, trials per second
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/log.h"
#include "src/base/rng.h"
#include "src/recon/swap.h"

enum { N = 64, LAG = 16, ROWS = 2 * LAG - 1, SITES = 4096 };

static void *zeros(size_t n, size_t size)
{
    void *memory = calloc(n, size);

    if (!memory) abort();
    return memory;
}

/* Bits of a field of independent voxels: what the trial costs does not depend on where they are set. */
static void fill(struct mf_swap *w, int volume)
{
    struct mf_sites *s = &w->sites;

    s->sides = volume ? 3 : 1;
    s->planes = 1;
    s->shape = (struct mf_window_shape){ROWS, 1, ROWS};
    s->count = SITES;
    s->site = zeros(SITES, sizeof *s->site);
    s->window = zeros(SITES * s->sides * ROWS, sizeof *s->window);
    s->mirror = zeros(SITES * s->sides * ROWS, sizeof *s->mirror);
    for (size_t d = 0; d < s->sides; ++d) {
        w->side[d] = (struct mf_swap_side){.nu = N,
                                           .nv = N,
                                           .slices = volume ? N : 1,
                                           .pixels = N * N,
                                           .down = 1.0 / (N * N),
                                           .along = 1.0 / (N * N),
                                           .s2_weight = 1,
                                           .v_weight = 1};
        w->side[d].residual = zeros((volume ? N : 1) * ROWS * 32, sizeof(float));
        w->side[d].v = zeros(volume ? N : 1, sizeof(double));
        w->side[d].v_target = zeros(1, sizeof(double));
    }
    for (size_t i = 0; i < SITES; ++i) {
        uint32_t r[4];

        mf_random4(1, 0, i, r);
        s->site[i] = (struct mf_site){.at = {volume ? r[0] % N : 0, r[1] % N, r[2] % N}, .from = i % 2, .to = !(i % 2)};
        for (size_t k = 0; k < s->sides; ++k) {
            uint32_t *window = s->window + (i * s->sides + k) * ROWS;

            for (uint32_t row = 0; row < ROWS; ++row) {
                mf_random4(2, row, i * 3 + k, r);
                window[row] = r[0] & r[1] & 0x7fffffffu;
            }
            window[LAG - 1] &= ~(1u << (LAG - 1));
            mf_flip_cpu.turn(&s->shape, window, s->mirror + (i * s->sides + k) * ROWS);
        }
    }
}

static void run(const char *name, int volume, double seconds)
{
    struct mf_swap w = {.periodic = 1, .q2 = {1}};
    double start, sum = 0, now;
    long trials = 0;

    fill(&w, volume);
    start = mf_now();
    do {
        for (int k = 0; k < 1024; ++k, ++trials) {
            size_t i = (size_t)(trials * 2 + 1) * 37 % SITES, j = (size_t)(trials * 2) * 53 % SITES;

            sum += mf_swap_energy(&w, i) + mf_swap_energy(&w, j) + mf_swap_interaction(&w, i, j);
        }
        now = mf_now();
    } while (now - start < seconds);
    printf("%s\t%ld\t%.3f\t%.3g%s\n", name, trials, now - start, (double)trials / (now - start), sum == 1 ? " " : "");
}

int main(int argc, char **argv)
{
    double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;

    printf("case\ttrials\tseconds\ttrials_per_second\n");
    run("image", 0, seconds);
    run("volume", 1, seconds);
    return 0;
}
