/* Selection and labels on cpu and cuda: counts, ties, choices and windows are those of a plain look at every voxel.
 * Energies of moves agree. Slabs with halos, images, windows of one and two words, one field and several. */
#include "kernels/labels.h"
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

/* -- selection -- */

enum { PLANES = 5, PLANE = 700, N = PLANES * PLANE };

static float score[N];

static void make_scores(void)
{
    static const float odd[] = {0.0f, -0.0f, -INFINITY, NAN, 1e30f, -1e30f, 1e-40f};

    for (size_t i = 0; i < N; ++i) {
        const double u = mf_random_uniform(3, 0, i);

        score[i] = u < 0.3 ? (float)(int)(40 * mf_random_uniform(3, 1, i)) - 20 : (float)(2 * u - 1);
        if (u > 0.95) score[i] = odd[i % 7];
    }
}

static int is_before(size_t i, size_t j) { return score[i] > score[j] || (score[i] == score[j] && i < j); }

static void check_count(struct side *s, const float *device, int digit, uint32_t prefix)
{
    int64_t *bins = mf_arena_zeros(s->host, MF_BINS, sizeof *bins, "test"), want[MF_BINS] = {0};

    for (size_t i = 0; i < N; ++i) {
        const uint32_t key = mf_key_of(score[i]);

        if (!(score[i] >= -FLT_MAX) || mf_digits_to(key, digit - 1) != prefix) continue;
        ++want[mf_digits_to(key, digit) - (prefix << mf_digit_width(digit))];
    }
    s->be->select->count(s->q, N, device, digit, prefix, bins);
    s->be->sync(s->q);
    CHECK(memcmp(bins, want, sizeof want) == 0);
    mf_arena_give(s->host, bins);
}

static void check_ties(struct side *s, const float *device, float value)
{
    int64_t *ties = mf_arena_zeros(s->host, PLANES, sizeof *ties, "test");
    size_t seen = 0;

    s->be->select->ties(s->q, PLANES, PLANE, device, mf_key_of(value), ties);
    s->be->sync(s->q);
    for (size_t z = 0; z < PLANES; ++z) {
        int64_t want = 0;

        for (size_t i = 0; i < PLANE; ++i) want += score[z * PLANE + i] == value;
        CHECK(ties[z] == want && want > 0);
    }
    for (size_t i = 0; i < N; ++i)
        if (score[i] == value) CHECK(s->be->select->nth(s->q, N, device, mf_key_of(value), seen++) == i);
    mf_arena_give(s->host, ties);
}

/* The choice that ends with voxel @p last: as many as come before it, and itself. */
static void check_choice(struct side *s, const float *device, size_t last)
{
    const struct mf_choice c = {mf_key_of(score[last]), last + 1};
    struct mf_pick *pick;
    uint8_t *label = mf_arena_take(s->device, N, "test"), got[N], chosen[N];
    size_t want = 0, found;

    for (size_t i = 0; i < N; ++i) want += chosen[i] = i == last || is_before(i, last);
    pick = mf_arena_take(s->host, want * sizeof *pick, "test");
    s->be->label->fill(s->q, N, 9, label);
    s->be->select->mark(s->q, N, device, c, 4, label);
    found = s->be->select->list(s->q, N, device, c, want, pick);
    s->be->get(s->q, got, label, N);
    for (size_t i = 0; i < N; ++i) CHECK(got[i] == (chosen[i] ? 4 : 9));
    CHECK(found == want);
    for (size_t k = 0; k < found; ++k) {
        CHECK(pick[k].voxel < N && chosen[pick[k].voxel] && pick[k].score == score[pick[k].voxel]);
        chosen[pick[k].voxel] = 0; /* none comes twice */
    }
    mf_arena_give(s->host, pick);
    mf_arena_give(s->device, label);
}

static void check_selection(struct side *s)
{
    float *device = up(s, N, score);
    const uint32_t key = mf_key_of(3.0f);

    check_count(s, device, 0, 0);
    check_count(s, device, 1, mf_digits_to(key, 0));
    check_count(s, device, 2, mf_digits_to(key, 1));
    check_ties(s, device, 3.0f);
    check_ties(s, device, 0.0f);
    for (size_t i = 0; i < N; i += 501)
        if (score[i] >= -FLT_MAX) check_choice(s, device, i);
    mf_arena_give(s->device, device);
}

/* -- labels of a slab -- */

struct field {
    size_t nz, ny, nx, first, planes, lag, fields;
    int phases, periodic;
    uint8_t *label; /* of the whole volume */
};

static size_t voxels(const struct field *f) { return f->planes * f->ny * f->nx; }

static uint8_t at(const struct field *f, ptrdiff_t z, ptrdiff_t y, ptrdiff_t x)
{
    const ptrdiff_t nz = (ptrdiff_t)f->nz, ny = (ptrdiff_t)f->ny, nx = (ptrdiff_t)f->nx;

    if (!f->periodic && (z < 0 || z >= nz || y < 0 || y >= ny || x < 0 || x >= nx)) return 255;
    z += z < 0 ? nz : z >= nz ? -nz : 0;
    y += y < 0 ? ny : y >= ny ? -ny : 0;
    x += x < 0 ? nx : x >= nx ? -nx : 0;
    return f->label[(z * ny + y) * nx + x];
}

/* Blocks of 3 x 3 x 3 with a little salt, so that there are interfaces and insides. */
static void make_labels(struct field *f)
{
    f->label = malloc(f->nz * f->ny * f->nx);
    for (size_t i = 0; i < f->nz * f->ny * f->nx; ++i) {
        const size_t z = i / (f->ny * f->nx) / 3, y = i / f->nx % f->ny / 3, x = i % f->nx / 3;
        const int salt = mf_random_uniform(5, 0, i) < 0.02;

        f->label[i] = (uint8_t)(f->phases * mf_random_uniform(5, 1, salt ? 1000000 + i : (z * 50 + y) * 50 + x));
    }
}

/* Planes -deep .. 0 and planes .. planes + deep of the slab, wrapped. */
static uint8_t *halo_of(const struct field *f, size_t deep)
{
    const size_t plane = f->ny * f->nx;
    uint8_t *halo = malloc(2 * deep * plane + 1);

    for (size_t k = 0; k < 2 * deep; ++k) {
        const size_t z = k < deep ? f->first + f->nz * deep - deep + k : f->first + f->planes + k - deep;

        memcpy(halo + k * plane, f->label + z % f->nz * plane, plane);
    }
    return halo;
}

static int has_neighbour(const struct field *f, size_t v, uint8_t to)
{
    const ptrdiff_t z = (ptrdiff_t)(f->first + v / (f->ny * f->nx)), y = (ptrdiff_t)(v / f->nx % f->ny),
                    x = (ptrdiff_t)(v % f->nx);
    const int deep = f->nz > 1;

    return (deep && (at(f, z - 1, y, x) == to || at(f, z + 1, y, x) == to)) || at(f, z, y - 1, x) == to ||
           at(f, z, y + 1, x) == to || at(f, z, y, x - 1) == to || at(f, z, y, x + 1) == to;
}

/* Jumps of a phase's indicator between a voxel and its neighbours in the slice normal to d. The voxel has its own label
 * or another. */
static int jumps(const struct field *f, size_t d, const ptrdiff_t p[3], uint8_t phase, uint8_t own)
{
    int n = 0;

    for (size_t a = 0; a < 3; ++a)
        for (int k = -1; k < 2 && a != d && (a > 0 || f->nz > 1); k += 2) {
            const uint8_t l = at(f, p[0] + (a == 0 ? k : 0), p[1] + (a == 1 ? k : 0), p[2] + (a == 2 ? k : 0));

            n += l != 255 && (l == phase) != (own == phase);
        }
    return n;
}

/* Energy from its definition (kernels/form/near.h). */
static double energy(const struct field *f, const struct mf_moves *m, const float *g, const double *jump,
                     const double *self, size_t v, double *rest)
{
    const ptrdiff_t p[3] = {(ptrdiff_t)(f->first + v / (f->ny * f->nx)), (ptrdiff_t)(v / f->nx % f->ny),
                            (ptrdiff_t)(v % f->nx)};
    double variation = 0;

    *rest = 0;
    for (size_t k = 0; k < f->fields; ++k) {
        const uint8_t phase = f->fields == 1 ? 1 : (uint8_t)k;

        if (phase != m->from && phase != m->to) continue;
        *rest += (phase == m->to ? 1 : -1) * (double)g[k * voxels(f) + v];
        for (size_t d = 0; d < 3 && d < m->sides; ++d) {
            const size_t slice = k * 100 + (size_t)p[d];

            *rest += self[300 * d + slice];
            variation += jump[300 * d + slice] * (jumps(f, d, p, phase, m->to) - jumps(f, d, p, phase, m->from));
        }
    }
    return *rest + variation;
}

static void check_window(const struct field *f, const struct mf_window_shape *w, size_t d, size_t v, uint8_t phase,
                         const uint32_t *window)
{
    const ptrdiff_t c = (ptrdiff_t)(w->rows / 2), z = (ptrdiff_t)(f->first + v / (f->ny * f->nx)),
                    y = (ptrdiff_t)(v / f->nx % f->ny), x = (ptrdiff_t)(v % f->nx);
    int wrong = 0;

    for (size_t k = 0; k < w->rows; ++k)
        for (size_t b = 0; b < 32 * w->words; ++b) {
            const ptrdiff_t du = (ptrdiff_t)k - c, dv = (ptrdiff_t)b - c;
            const uint8_t l = b >= w->rows ? MF_LABEL_NONE /* bits that fill the word */
                              : d == 0     ? at(f, z, y + du, x + dv)
                              : d == 1     ? at(f, z + du, y, x + dv)
                                           : at(f, z + du, y + dv, x);
            const int want = (du || dv) && l == phase;

            wrong += (int)(window[k * w->words + b / 32] >> (b % 32) & 1) != want;
        }
    CHECK(wrong == 0);
}

/* Tables of sides, fields and slices: [3][3][100]. */
static void put_tables(struct side *s, const struct field *f, struct mf_moves *m, double *const host[2], double *device)
{
    double dense[3 * 100];
    const size_t n[3] = {f->nz, f->ny, f->nx};

    for (size_t which = 0; which < 2; ++which)
        for (size_t d = 0; d < m->sides; ++d) {
            double *to = device + (which * 3 + d) * 300;

            for (size_t k = 0; k < f->fields; ++k)
                memcpy(dense + k * n[d], host[which] + 300 * d + 100 * k, n[d] * sizeof *dense);
            s->be->put(s->q, to, dense, f->fields * n[d] * sizeof *dense);
            *(which ? &m->self[d] : &m->jump[d]) = to;
        }
}

/* Scores of all moves and a look at every third candidate, against the definitions. */
static void check_moves(struct side *s, const struct field *f, uint8_t from, uint8_t to, const float *g,
                        double *const table[2])
{
    const size_t n = voxels(f), deep = f->nz > 1 ? f->lag - 1 : 0, plane = f->ny * f->nx;
    const size_t phases = f->fields == 1 ? 1 : 2;
    struct mf_window_shape w = {2 * f->lag - 1, (2 * f->lag - 1 + 31) / 32, 0};
    struct mf_moves m = {from, to, f->fields, f->nz > 1 ? 3 : 1, NULL, {NULL}, {NULL}};
    uint8_t *halo = halo_of(f, deep), *own = mf_arena_take(s->device, n, "test"),
            *around = mf_arena_take(s->device, 2 * deep * plane, "test");
    struct mf_labels l = {own, around, f->planes, deep, f->ny, f->nx, f->first, f->nz, f->periodic};
    float *dg = up(s, f->fields * n, g), *dscore = mf_arena_take(s->device, n * sizeof *dscore, "test"), *got, *rest;
    double *dtable = mf_arena_take(s->device, 2 * 900 * sizeof *dtable, "test");
    struct mf_pick *pick = mf_arena_take(s->host, n * sizeof *pick, "test");
    uint32_t *window;
    size_t found = 0, candidates = 0;

    w.n = w.rows * w.words;
    s->be->put(s->q, own, f->label + f->first * plane, n);
    if (deep) s->be->put(s->q, around, halo, 2 * deep * plane);
    put_tables(s, f, &m, table, dtable);
    m.g = dg;
    s->be->label->rank(s->q, &l, &m, dscore);
    got = down(s, n, dscore);
    for (size_t v = 0; v < n; ++v) {
        const int is = f->label[f->first * plane + v] == from && has_neighbour(f, v, to);
        double part, e = energy(f, &m, g, table[0], table[1], v, &part);

        CHECK(is ? fabs(got[v] + e) < 1e-5 : got[v] == -INFINITY);
        if (is && candidates++ % 3 == 0) pick[found++] = (struct mf_pick){v, got[v]};
    }
    CHECK(found > 0);
    rest = mf_arena_take(s->host, found * sizeof *rest, "test");
    window = mf_arena_take(s->host, found * m.sides * phases * w.n * sizeof *window, "test");
    s->be->label->look(s->q, &l, &m, &w, found, pick, rest, window);
    s->be->sync(s->q);
    for (size_t i = 0; i < found; ++i) {
        double part;

        energy(f, &m, g, table[0], table[1], pick[i].voxel, &part);
        CHECK_NEAR(rest[i], part, 1e-5);
        for (size_t k = 0; k < m.sides * phases; ++k)
            check_window(f, &w, k / phases, pick[i].voxel,
                         phases == 1 ? 1
                         : k % 2     ? to
                                     : from,
                         window + (i * m.sides * phases + k) * w.n);
    }
    mf_arena_give(s->host, window);
    mf_arena_give(s->host, rest);
    mf_arena_give(s->host, pick);
    mf_arena_give(s->device, dtable);
    mf_arena_give(s->device, dg);
    mf_arena_give(s->device, around);
    mf_arena_give(s->device, own);
    free(got);
    free(halo);
}

static void check_field(struct field f)
{
    double *table[2] = {malloc(900 * sizeof(double)), malloc(900 * sizeof(double))};
    float *g;

    make_labels(&f);
    g = random_floats(f.fields * voxels(&f), 11, -1, 1);
    for (size_t i = 0; i < 1800; ++i) table[i / 900][i % 900] = mf_random_uniform(9, 0, i) - 0.5;
    for (int s = 0; s < SIDES; ++s)
        for (int from = 0; from < f.phases; ++from)
            check_moves(&side[s], &f, (uint8_t)from, (uint8_t)((from + 1) % f.phases), g, table);
    free(table[0]);
    free(table[1]);
    free(g);
    free(f.label);
}

/* -- all voxels -- */

static void check_lead(struct side *s)
{
    const struct mf_extent e = {3, 2, 50};
    float *x = random_floats(300, 21, 0, 1), *dx = up(s, 300, x), *dscore = up(s, 100, x), *got;
    uint8_t label[100], *dlabel = mf_arena_take(s->device, 100, "test");

    for (size_t i = 0; i < 100; ++i) label[i] = i % 4 ? MF_LABEL_OPEN : 2;
    s->be->put(s->q, dlabel, label, 100);
    s->be->label->lead(s->q, e, dx, 1, 1u << 0 | 1u << 2, dlabel, dscore);
    s->be->label->replace(s->q, 100, MF_LABEL_OPEN, 1, dlabel);
    s->be->get(s->q, label, dlabel, 100);
    got = down(s, 100, dscore);
    for (size_t i = 0; i < 100; ++i) {
        const float other = x[i] > x[200 + i] ? x[i] : x[200 + i];

        CHECK(got[i] == (i % 4 ? x[100 + i] - other : -INFINITY));
        CHECK(label[i] == (i % 4 ? 1 : 2));
    }
    free(got);
    free(x);
    mf_arena_give(s->device, dx);
    mf_arena_give(s->device, dlabel);
}

static void check_indicate(struct side *s, size_t fields)
{
    const struct mf_extent e = {fields, 2, 50};
    uint8_t label[100], *dlabel = mf_arena_take(s->device, 100, "test");
    float *x = mf_arena_take(s->device, fields * 100 * sizeof *x, "test"), *got;
    struct mf_change *change = mf_arena_take(s->host, 10 * sizeof *change, "test");

    for (size_t i = 0; i < 100; ++i) label[i] = (uint8_t)(i * i % 3);
    s->be->put(s->q, dlabel, label, 100);
    for (size_t i = 0; i < 10; ++i) {
        change[i] = (struct mf_change){9 * i + 3, (uint8_t)(i % 2)};
        label[9 * i + 3] = (uint8_t)(i % 2);
    }
    s->be->label->change(s->q, 10, change, dlabel);
    s->be->label->indicate(s->q, e, dlabel, x);
    got = down(s, fields * 100, x);
    for (size_t i = 0; i < fields * 100; ++i) CHECK(got[i] == (float)(label[i % 100] == (fields == 1 ? 1 : i / 100)));
    s->be->sync(s->q); /* change was read */
    free(got);
    mf_arena_give(s->host, change);
    mf_arena_give(s->device, dlabel);
}

static void check_hold(struct side *s)
{
    const struct mf_extent e = {3, 2, 50};
    float *x = random_floats(300, 41, 0, 1), *dx = up(s, 300, x), *got;
    uint8_t fixed[100], *dfixed = mf_arena_take(s->device, 100, "test");

    for (size_t i = 0; i < 100; ++i) fixed[i] = i % 3 ? MF_LABEL_OPEN : (uint8_t)(i % 2);
    s->be->put(s->q, dfixed, fixed, 100);
    s->be->label->hold(s->q, e, dfixed, -INFINITY, dx);
    got = down(s, 300, dx);
    for (size_t i = 0; i < 300; ++i) CHECK(got[i] == (i % 100 % 3 ? x[i] : -INFINITY));
    free(got);
    free(x);
    mf_arena_give(s->device, dfixed);
}

static void check_between(struct side *s)
{
    const struct mf_extent e = {2, 3, 40};
    float *x = random_floats(240, 31, 0, 1), *dx = up(s, 240, x);
    double *out = sums_new(s, 3);

    s->be->field->between(s->q, e, 0.05f, 0.3f, dx, out);
    s->be->sync(s->q);
    for (size_t z = 0; z < 3; ++z) {
        int want = 0;

        for (size_t i = 40 * z; i < 40 * z + 40; ++i)
            want += (x[i] > 0.05f && x[i] < 0.3f) || (x[120 + i] > 0.05f && x[120 + i] < 0.3f);
        CHECK(out[z] == want && want > 0);
    }
    free(x);
    mf_arena_give(s->device, dx);
    mf_arena_give(s->host, out);
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    make_scores();
    for (int s = 0; s < SIDES; ++s) {
        check_selection(&side[s]);
        check_lead(&side[s]);
        check_indicate(&side[s], 1);
        check_indicate(&side[s], 3);
        check_hold(&side[s]);
        check_between(&side[s]);
    }
    check_field((struct field){1, 14, 19, 0, 1, 5, 1, 2, 1, NULL});
    check_field((struct field){1, 14, 19, 0, 1, 5, 3, 3, 0, NULL});
    check_field((struct field){10, 11, 9, 0, 10, 4, 1, 2, 1, NULL});
    check_field((struct field){10, 11, 9, 4, 4, 4, 3, 3, 1, NULL});
    check_field((struct field){10, 11, 9, 0, 4, 4, 1, 2, 0, NULL});
    check_field((struct field){9, 10, 12, 8, 1, 4, 3, 3, 0, NULL});
    check_field((struct field){1, 38, 40, 0, 1, 18, 1, 2, 1, NULL});
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
