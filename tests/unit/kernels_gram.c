/* Products of matrices on the cpu against sums in double. It has every tile that this machine can run, and products in
 * whole numbers. The gradients of Correlations that are made of them are tested, too. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slices/tile.h"
#include "kernels/cpu/slices/whole.h"
#include "kernels/form/gram.h"
#include "kernels/slices/slices.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/dirty.h"

static double uniform(size_t i) { return mf_random_uniform(7, 2, i); }

static double away(size_t n, const float *got, const double *want)
{
    double off = 0, all = 0;

    for (size_t i = 0; i < n; ++i) {
        off += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        all += want[i] * want[i];
    }
    return sqrt(off / all);
}

/* -- tiles -- */

static void tile(mf_cpu_tile *run, size_t groups, size_t depth, int across)
{
    enum { MOST = 50 };
    const size_t rows = MF_TILE_ROWS, columns = MF_TILE_COLUMNS, row = across ? 1 : MOST, step = across ? rows : 1;
    static float a[MF_TILE_ROWS * MOST], b[MOST * MF_TILE_COLUMNS], c[MF_TILE_ROWS * MF_TILE_COLUMNS];
    static double want[MF_TILE_ROWS * MF_TILE_COLUMNS];
    const float *const group[MF_TILE_GROUPS] = {a, a + MF_TILE_GROUP * row, a + 2 * MF_TILE_GROUP * row};

    for (size_t i = 0; i < rows * MOST; ++i) a[i] = (float)uniform(i);
    for (size_t i = 0; i < MOST * columns; ++i) b[i] = (float)uniform(1000 + i);
    for (size_t i = 0; i < rows * columns; ++i) {
        want[i] = c[i] = (float)uniform(5000 + i);
        for (size_t k = 0; k < depth && i / columns < MF_TILE_GROUP * groups; ++k)
            want[i] += (double)a[i / columns * row + k * step] * (double)b[k * columns + i % columns];
    }
    run(groups, depth, group, row, step, b, columns, c);
    CHECK_NEAR(away(rows * columns, c, want), 0, 3e-7);
}

static void tiles(void)
{
    CHECK(mf_cpu_tile_of(0) != NULL);
    for (size_t i = 0; mf_cpu_tile_of(i); ++i)
        for (size_t groups = 1; groups <= MF_TILE_GROUPS; ++groups)
            for (int across = 0; across < 2; ++across) {
                tile(mf_cpu_tile_of(i), groups, 50, across);
                tile(mf_cpu_tile_of(i), groups, 3, across);
            }
}

/* -- whole numbers -- */

enum { CHANNELS = 221, WIDTH = 240 };

struct whole {
    struct mf_cpu_whole w;
    float *memory, x[MF_TILE_ROWS * WIDTH], s[WIDTH * WIDTH];
    int16_t rows[MF_TILE_ROWS * WIDTH];
};

/* A tile from column @p first on, by its definition: bits, not numbers, must agree. */
static void by_pairs(const struct whole *p, size_t first, float *c)
{
    const size_t all = (CHANNELS + 1) / 2;
    const int32_t *b = p->w.pairs + first * all;

    for (size_t i = 0; i < MF_TILE_ROWS * MF_TILE_COLUMNS; ++i) {
        const size_t r = i / MF_TILE_COLUMNS, j = i % MF_TILE_COLUMNS;
        int64_t sum = 0;

        for (size_t k = 0; k < all; ++k) {
            const uint32_t pair = (uint32_t)b[k * MF_TILE_COLUMNS + j];
            const int16_t *x = p->rows + r * WIDTH + 2 * k;

            sum += (int64_t)x[0] * (int16_t)(pair & 0xffffU) + (int64_t)x[1] * (int16_t)(pair >> 16);
            CHECK(sum >= INT32_MIN && sum <= INT32_MAX);
            if ((k + 1) % MF_WHOLE_PAIRS != 0 && k + 1 < all) continue;
            c[r * WIDTH + j] = (k < MF_WHOLE_PAIRS ? 0 : c[r * WIDTH + j]) + (float)sum;
            sum = 0;
        }
    }
}

/* Whether all ways have the same bits in a tile c, by its definition. */
static int agree(const struct whole *p, size_t first, const float *c)
{
    static float other[MF_TILE_ROWS * WIDTH];
    int same = 1;

    for (size_t i = 0; mf_cpu_whole_of(i); ++i) {
        mf_cpu_whole_of(i)(&p->w, p->rows, first, other + first);
        for (size_t r = 0; r < MF_TILE_ROWS; ++r)
            same &= memcmp(c + r * WIDTH + first, other + r * WIDTH + first, MF_TILE_COLUMNS * sizeof *c) == 0;
    }
    return same;
}

/* The matrix and the rows in whole numbers. */
static void round_all(struct whole *p)
{
    for (size_t j = 0; j < CHANNELS; j += 16) mf_cpu_whole_columns(&p->w, 1, j, p->s);
    for (size_t k = 0; k < (CHANNELS + 1) / 2; ++k) mf_cpu_whole_pack(&p->w, p->s, k);
    for (size_t r = 0; r < MF_TILE_ROWS; ++r) mf_cpu_whole_row(&p->w, r, p->x + r * WIDTH, p->rows + r * WIDTH);
}

/* How far a tile of x S from column 64 on is from the product in double. It checks the tiles beside it, the first and
 * the last, too. */
static double product(struct whole *p)
{
    static float c[MF_TILE_ROWS * WIDTH], got[MF_TILE_ROWS * MF_TILE_COLUMNS];
    static double want[MF_TILE_ROWS * MF_TILE_COLUMNS];
    const size_t first = 64, panels[3] = {0, (CHANNELS - 1) / MF_TILE_COLUMNS * MF_TILE_COLUMNS, first};

    for (size_t i = 0; i < MF_TILE_ROWS * MF_TILE_COLUMNS; ++i) {
        want[i] = 0;
        for (size_t k = 0; k < CHANNELS; ++k)
            want[i] +=
                (double)p->x[i / MF_TILE_COLUMNS * WIDTH + k] * (double)p->s[k * WIDTH + first + i % MF_TILE_COLUMNS];
    }
    round_all(p);
    for (size_t k = 0; k < 3; ++k) {
        by_pairs(p, panels[k], c + panels[k]);
        CHECK(agree(p, panels[k], c));
    }
    for (size_t i = 0; i < MF_TILE_ROWS * MF_TILE_COLUMNS; ++i) {
        const size_t r = i / MF_TILE_COLUMNS * WIDTH, j = first + i % MF_TILE_COLUMNS;

        got[i] = p->w.inverse[j] * c[r + j] + p->w.half[j] + p->w.diagonal[j] * p->x[r + j];
    }
    return away(MF_TILE_ROWS * MF_TILE_COLUMNS, got, want);
}

/* Columns that have no scale count as 0, numbers of a row beyond 0 or 1 as these. */
static void beyond(struct whole *p)
{
    enum { BELOW = 5, ABOVE = 6, HUGE_SUMS = 70, TINY = 71 };
    const float columns[2] = {1e26F, 1e-26F};
    int16_t ends[2];

    for (size_t k = 0; k < CHANNELS; ++k)
        for (size_t c = 0; c < 2; ++c) p->s[k * WIDTH + HUGE_SUMS + c] = columns[c];
    for (size_t r = 0; r < MF_TILE_ROWS; ++r) {
        p->x[r * WIDTH + BELOW] = -0.02F;
        p->x[r * WIDTH + ABOVE] = 1.02F;
    }
    round_all(p);
    for (size_t j = HUGE_SUMS; j <= TINY; ++j) CHECK(p->w.scale[j] == 0 && p->w.inverse[j] == 0 && p->w.half[j] == 0);
    ends[0] = (int16_t)(-p->w.steps / 2);
    ends[1] = (int16_t)(p->w.steps / 2);
    for (size_t r = 0; r < MF_TILE_ROWS; ++r)
        CHECK(p->rows[r * WIDTH + BELOW] == ends[0] && p->rows[r * WIDTH + ABOVE] == ends[1]);
}

/* x: 0, often or 1, or between them; S: +-1 or 2, or between, a hundredfold on the diagonal. */
static void fill(struct whole *p, int steps, int signs, float often)
{
    for (size_t i = 0; i < MF_TILE_ROWS * WIDTH; ++i) {
        const double u = uniform(i);

        p->x[i] = i % WIDTH >= CHANNELS ? 0 : !steps ? (float)u : u < 0.3 ? 0 : u < 0.5 ? often : 1;
    }
    for (size_t i = 0; i < WIDTH; ++i)
        for (size_t j = i; j < WIDTH; ++j) {
            const double u = uniform(9000 + i * WIDTH + j) - 0.5, sign = u < 0 ? -1 : 1;
            const double x = signs ? sign * (fabs(u) > 0.3 ? 2 : 1) : u;

            p->s[i * WIDTH + j] = p->s[j * WIDTH + i] = j >= CHANNELS ? 0 : (float)(i == j ? 100 * x : x);
        }
}

static void whole(void)
{
    const float often = 0.0763F;
    struct whole *p = calloc(1, sizeof *p);
    size_t floats;

    if (!p) abort();
    p->w = (struct mf_cpu_whole){.n = CHANNELS, .width = WIDTH, .steps = mf_cpu_whole_steps(often)};
    CHECK(fmod((double)p->w.steps, 2) == 0);
    CHECK_NEAR(remainder((double)(often * p->w.steps), 1), 0, 0.02);
    floats = mf_cpu_whole_place(&p->w, NULL);
    p->memory = malloc(floats * sizeof *p->memory);
    if (!p->memory) abort();
    (void)mf_cpu_whole_place(&p->w, p->memory);
    for (int k = 0; k < 4; ++k) {
        fill(p, k % 2, k / 2, often);
        CHECK_NEAR(product(p), 0, k == 3 ? 2e-7 : 1e-5);
    }
    for (size_t i = 0; i < MF_TILE_ROWS * WIDTH; ++i) p->x[i] = i % WIDTH < CHANNELS ? 1 : 0;
    for (size_t i = 0; i < WIDTH * WIDTH; ++i) p->s[i] = i % WIDTH < CHANNELS && i / WIDTH < CHANNELS ? 1 : 0;
    CHECK_NEAR(product(p), 0, 2e-7); /* as large as sums become */
    beyond(p);
    free(p->memory);
    free(p);
}

/* -- gradients -- */

/* Lag 11 gives 221 channels, lag 16 one more than whole tiles. */
enum { SIDE = 20, PIXELS = SIDE * SIDE, LAG = 11, LAG_MOST = 16, MOST = 481, ENTRIES = MOST * MOST };

struct slice {
    size_t lag, channels;
    float x[PIXELS], g[PIXELS], target[ENTRIES];
    double f[PIXELS][MOST], slope[ENTRIES], want[PIXELS];
    double steepness, a, b;
    int power;
};

static const double threshold = 0.75;

static size_t partner(size_t p, struct mf_gram_lag r)
{
    return (p / SIDE + (size_t)r.du) % SIDE * SIDE + (p % SIDE + SIDE + (size_t)r.dv) % SIDE;
}

/* The gradient of sum |D - T|^power by its definition. */
static void by_definition(struct slice *s)
{
    const size_t n = s->channels;

    for (size_t p = 0; p < PIXELS; ++p)
        for (size_t c = 0; c < n; ++c) {
            const double y = (double)s->x[partner(p, mf_gram_lag_of(MF_GRAM_HALF, s->lag, c))],
                         z = ((double)s->x[p] + y) / 2;

            s->f[p][c] = s->a / (1 + exp(-s->steepness * (z - threshold))) + s->b;
        }
    memset(s->slope, 0, sizeof s->slope);
    for (size_t p = 0; p < PIXELS; ++p)
        for (size_t i = 0; i < n; ++i)
            for (size_t k = 0; k < n; ++k) s->slope[i * n + k] += s->f[p][i] * s->f[p][k] / PIXELS;
    for (size_t i = 0; i < n * n; ++i) {
        const double d = s->slope[i] - (double)s->target[i];

        s->slope[i] = (s->power == 2 ? 2 * d : d > 0 ? 1 : -1) / PIXELS;
    }
    for (size_t i = 0; i < n; ++i) /* and the transpose, for F (S + S^T) */
        for (size_t k = 0; k <= i; ++k) {
            const double both = s->slope[i * n + k] + s->slope[k * n + i];

            s->slope[i * n + k] = s->slope[k * n + i] = both;
        }
    memset(s->want, 0, sizeof s->want);
    for (size_t p = 0; p < PIXELS; ++p)
        for (size_t c = 0; c < n; ++c) {
            const double up = s->f[p][c] - s->b;
            double h = 0;

            for (size_t k = 0; k < n; ++k) h += s->f[p][k] * s->slope[c * n + k];
            h *= 0.5 * s->steepness * up * (1 - up / s->a);
            s->want[p] += h;
            s->want[partner(p, mf_gram_lag_of(MF_GRAM_HALF, s->lag, c))] += h;
        }
}

static void by_program(struct slice *s)
{
    const struct mf_slice_desc desc = {.nu = SIDE,
                                       .nv = SIDE,
                                       .lag = s->lag,
                                       .levels = 1,
                                       .count_max = 1,
                                       .periodic = 1,
                                       .threshold = threshold,
                                       .steepness = s->steepness};
    const double weight = 1;
    double sum = 0;
    struct mf_slice_task task = {.x = {s->x, 1, SIDE, SIDE, PIXELS, SIDE, 1},
                                 .g = {s->g, 1, SIDE, SIDE, PIXELS, SIDE, 1},
                                 .target = s->target,
                                 .weight = &weight,
                                 .power = s->power,
                                 .sum = &sum};
    struct mf_slice_plan *plan = NULL;
    struct mf_arena *arena;
    struct mf_queue *q;

    memset(s->g, 0, sizeof s->g);
    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 2, 1, arena, arena) == MF_OK);
    CHECK(mf_slices_plan(mf_backend_cpu.slices->gram, q, &desc, &plan) == MF_OK);
    mf_backend_cpu.slices->gram->eval(plan, &task);
    mf_backend_cpu.slices->gram->free(plan);
    mf_backend_cpu.queue_close(q);
    mf_arena_close(arena);
}

/* Pixels: random, around a half, nearly 0 or 1, these rounded; and one beyond 1, for which all is in float. */
static float pixel(int kind, size_t i)
{
    const double u = uniform(20000 + i), grain = uniform(30000 + i), near = u < 0.4 ? 0.03 * grain : 1 - 0.03 * grain;

    if (kind == 4 && i == 7) return 1.01F;
    return (float)(kind == 0 ? u : kind == 1 ? 0.4 + 0.2 * u : kind == 3 ? nearbyint(near) : near);
}

static void set(struct slice *s, size_t lag, double steepness)
{
    const double low = 1 / (1 + exp(steepness * threshold)), high = 1 / (1 + exp(-steepness * (1 - threshold)));

    s->lag = lag;
    s->channels = mf_gram_channels(MF_GRAM_HALF, lag);
    s->steepness = steepness;
    s->a = 1 / (high - low);
    s->b = -s->a * low;
    for (size_t i = 0; i < s->channels * s->channels; ++i) s->target[i] = (float)(0.25 + 0.2 * uniform(40000 + i));
}

/* How far the program is from the definition for pixels of this kind. */
static double off(struct slice *s, int kind, int power)
{
    s->power = power;
    for (size_t i = 0; i < PIXELS; ++i) s->x[i] = pixel(kind, i);
    by_definition(s);
    by_program(s);
    return away(PIXELS, s->g, s->want);
}

static void gradients(void)
{
    struct slice *s = calloc(1, sizeof *s);

    if (!s) abort();
    set(s, LAG, 10);
    for (int kind = 0; kind < 5; ++kind)
        for (int power = kind == 2 ? 1 : 2; power <= 2; ++power)
            CHECK_NEAR(off(s, kind, power), 0, kind == 4 ? 2e-6 : 1e-5);
    set(s, LAG_MOST, 10);
    CHECK_NEAR(off(s, 0, 2), 0, 1e-5);
    set(s, LAG, 1e-5); /* channels are off by a hundredth in float already */
    CHECK(off(s, 2, 2) < 1.5 * off(s, 4, 2));
    free(s);
}

int main(void)
{
    tiles();
    whole();
    gradients();
    return failures != 0;
}
