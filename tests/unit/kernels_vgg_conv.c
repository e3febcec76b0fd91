/* Convolutions of 3 x 3 pixels are those of the definition, in 64 bits. They go by the points of 2 x 2 and of 4 x 4
 * pixels and by the definition. Cases are every instruction set, several maps together, odd extents, parts of a panel,
 * a unit and its sum. Bits are the same on any number of threads. Rows of a product are what they are whatever the
 * tile. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slices/vgg_conv.h"
#include "kernels/cpu/slices/winograd.h"
#include "tests/check.h"

enum { PANEL = MF_TILE_COLUMNS, GUARD = 7, MOST = 4 };

struct conv_case {
    size_t in, out, maps, extent[MOST][2];
    int back; /* no bias and no unit, to pixels without a frame */
};

static uint64_t state = 3;

static float random_float(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(state >> 11) * 0x1p-52 - 1);
}

static float *randoms(size_t n)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; ++i) x[i] = random_float();
    return x;
}

static size_t framed(const struct mf_cpu_map *m) { return (m->nu + 2) * (m->nv + 2) * m->channels; }

/* Weights (out, in, tap) in panels. */
static float weight(const float *w, size_t in, size_t o, size_t i, size_t tap)
{
    return w[((o / PANEL * 9 + tap) * in + i) * PANEL + o % PANEL];
}

static double sum_of(const struct mf_cpu_vgg_conv *k, const struct mf_cpu_map *x, size_t u, size_t v, size_t o)
{
    double sum = k->bias ? (double)k->bias[o] : 0;

    for (size_t tap = 0; tap < 9; ++tap)
        for (size_t i = 0; i < x->channels; ++i)
            sum += (double)x->at[((u + tap / 3) * (x->nv + 2) + v + tap % 3) * x->channels + i] *
                   (double)weight(k->w, x->channels, o, i, tap);
    return sum;
}

/* Largest error of map m, of the mean square's root. */
static double away(const struct mf_cpu_vgg_conv *k, size_t m)
{
    const struct mf_cpu_map *x = &k->x[m], *to = &k->to[m];
    double worst = 0, square = 0;

    for (size_t p = 0; p < x->nu * x->nv; ++p)
        for (size_t o = 0; o < to->channels; ++o) {
            const double want = sum_of(k, x, p / x->nv, p % x->nv, o);
            const float *got = mf_cpu_map_pixel(to, k->origin, p) + o;
            double off = fabs((double)*got - (k->bias ? (want > 0 ? want : 0) : want));

            if (k->sum[m]) off = fmax(off, fabs((double)k->sum[m][got - to->at] - want));
            square += want * want;
            worst = fmax(worst, off);
        }
    return worst / sqrt(square / (double)(x->nu * x->nv * to->channels));
}

/* Nothing is written but the pixels: the frame stays as it was. */
static void check_frame(const struct mf_cpu_map *m, size_t origin)
{
    for (size_t u = 0; m->framed && u < m->nu + 2; ++u)
        for (size_t v = 0; v < m->nv + 2; ++v)
            if (u < origin || u >= origin + m->nu || v < origin || v >= origin + m->nv)
                for (size_t c = 0; c < m->channels; ++c)
                    CHECK(m->at[(u * (m->nv + 2) + v) * m->channels + c] == (float)GUARD);
}

static void fill(float *to, size_t n)
{
    for (size_t i = 0; i < n; ++i) to[i] = (float)GUARD;
}

static void check_case(const struct conv_case *c, mf_cpu_rows *rows)
{
    const size_t panels = (c->out + PANEL - 1) / PANEL;
    float *w = randoms(panels * 9 * c->in * PANEL), *bias = randoms(c->out), *first[MOST];
    struct mf_cpu_vgg_conv k = {.rows = rows,
                                .unit = MF_UNIT_RELU,
                                .maps = c->maps,
                                .w = w,
                                .bias = c->back ? NULL : bias,
                                .origin = c->back ? 0 : 1,
                                .work = malloc(3 * mf_cpu_vgg_conv_floats() * sizeof(float))};

    for (size_t m = 0; m < c->maps; ++m) {
        k.x[m] = (struct mf_cpu_map){c->extent[m][0], c->extent[m][1], c->in, 1, NULL};
        k.to[m] = (struct mf_cpu_map){c->extent[m][0], c->extent[m][1], c->out, !c->back, NULL};
        k.x[m].at = randoms(framed(&k.x[m]));
        k.to[m].at = malloc(framed(&k.to[m]) * sizeof(float));
        first[m] = malloc(framed(&k.to[m]) * sizeof(float));
    }
    for (k.threads = 1; k.threads < 4; k.threads += 2) {
        for (size_t m = 0; m < c->maps; ++m) fill(k.to[m].at, framed(&k.to[m]));
        mf_cpu_vgg_convolve(&k);
        for (size_t m = 0; m < c->maps; ++m) {
            CHECK_NEAR(away(&k, m), 0, 1e-5);
            check_frame(&k.to[m], k.origin);
            if (k.threads == 1) memcpy(first[m], k.to[m].at, framed(&k.to[m]) * sizeof(float));
            CHECK(memcmp(first[m], k.to[m].at, framed(&k.to[m]) * sizeof(float)) == 0);
        }
    }
    for (size_t m = 0; m < c->maps; ++m) {
        free(k.x[m].at);
        free(k.to[m].at);
        free(first[m]);
    }
    free(k.work);
    free(w);
    free(bias);
}

/* A unit whose slope asks for its sum. */
static void check_sum(mf_cpu_rows *rows)
{
    enum { N = 6, C = 32 };
    const size_t floats = (N + 2) * (N + 2) * C;
    float *x = randoms(floats), *w = randoms(9 * C * C), *bias = randoms(C), *y = malloc(floats * sizeof *y);
    float *sum = malloc(floats * sizeof *sum);
    struct mf_cpu_vgg_conv k = {.rows = rows,
                                .unit = MF_UNIT_SILU,
                                .maps = 1,
                                .x = {{N, N, C, 1, x}},
                                .to = {{N, N, C, 1, y}},
                                .w = w,
                                .bias = bias,
                                .sum = {sum},
                                .threads = 1,
                                .work = malloc(mf_cpu_vgg_conv_floats() * sizeof(float))};

    mf_cpu_vgg_convolve(&k);
    for (size_t p = 0; p < N * N; ++p)
        for (size_t o = 0; o < C; ++o) {
            const float *got = mf_cpu_map_pixel(&k.to[0], 0, p) + o;
            const double want = sum_of(&k, &k.x[0], p / N, p % N, o);

            CHECK_NEAR((double)sum[got - y], want, 1e-4);
            CHECK_NEAR((double)*got, want / (1 + exp(-want)), 1e-4);
        }
    free(k.work);
    free(x);
    free(w);
    free(bias);
    free(y);
    free(sum);
}

/* c = or += a b, of one to twelve rows. */
static void check_rows(mf_cpu_rows *rows, size_t count, size_t depth)
{
    const size_t row = depth + 3;
    float *a = randoms(MF_TILE_ROWS * row), *b = randoms(depth * PANEL), c[MF_TILE_ROWS * PANEL];

    for (int add = 0; add < 2; ++add) {
        fill(c, MF_TILE_ROWS * PANEL);
        rows(count, depth, a, row, b, add, c, b);
        for (size_t i = 0; i < MF_TILE_ROWS * PANEL; ++i) {
            double want = add || i >= count * PANEL ? GUARD : 0;

            for (size_t j = 0; i < count * PANEL && j < depth; ++j)
                want += (double)a[i / PANEL * row + j] * (double)b[j * PANEL + i % PANEL];
            CHECK_NEAR((double)c[i], want, 2e-6 * (double)(depth + 8));
        }
    }
    free(a);
    free(b);
}

int main(void)
{
    static const struct conv_case cases[] = {{64, 64, 2, {{9, 11}, {4, 5}}, 0},
                                             {64, 3, 2, {{17, 16}, {8, 8}}, 1},
                                             {3, 64, 3, {{7, 6}, {3, 3}, {1, 1}}, 0},
                                             {128, 96, 2, {{4, 4}, {2, 2}}, 0},
                                             {96, 32, 1, {{1, 1}}, 1},
                                             {160, 64, 4, {{24, 23}, {12, 11}, {6, 5}, {3, 2}}, 0},
                                             {512, 32, 2, {{8, 8}, {4, 4}}, 1}};
    const size_t some = SANITIZED ? 5 : sizeof cases / sizeof *cases;

    CHECK(mf_cpu_rows_of(0) != NULL);
    for (size_t i = 0; mf_cpu_rows_of(i); ++i) {
        for (size_t count = 1; count <= MF_TILE_ROWS; ++count) {
            check_rows(mf_cpu_rows_of(i), count, 1);
            check_rows(mf_cpu_rows_of(i), count, 64);
        }
        for (size_t c = 0; c < some; ++c) check_case(&cases[c], mf_cpu_rows_of(i));
        check_sum(mf_cpu_rows_of(i));
    }
    return failures != 0;
}
