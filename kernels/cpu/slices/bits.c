/* See kernels/slices/bits.h. The counter treats all three normals alike: a slice has nu packed rows of nv bits. Slices
 * normal to x get them from the transposed packed field. One half of every window of lags is counted in blocks of 16 x
 * 32 lags (bits_window.h). The other half is its mirror image. Where a is dense, its zeros are counted instead: #a(p)
 * b(p+r) = #b(p+r) - #(1 - a(p)) b(p+r). */
#include "kernels/slices/bits.h"

#include <omp.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/slices/bits_window.h"
#include "kernels/cpu/slices/pack.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

/** The slices with one normal: row u of slice s at row + s * slice + u * step, nv bits. */
struct stack {
    const uint64_t *row;
    size_t slice, step;
};

/** Shared by all threads. */
struct job {
    struct stack a, b;
    size_t slices, nu, nv;
    size_t rows, beyond; /* rows of b that are there, from u = 0; u >= beyond: none (outside a volume that ends) */
    size_t lag, pad;     /* L; words before and after a padded row */
    size_t du0, reach;   /* first lag of the block; L-1 */
    ptrdiff_t dv0;
    int periodic, zeros; /* zeros: those of a are counted */
};

/** One thread's. */
struct bench {
    struct mf_counters counters;
    struct mf_windows windows;
    int64_t ones[MF_WIN_ROWS]; /* set voxels b(p + r), per du: what counting zeros subtracts from */
    uint32_t mask[MF_WIN_TILE];
    uint64_t padded[]; /* [padded_words][MF_WIN_STRIDE], then one padded row */
};

static size_t padded_words(const struct job *j) { return (j->nv + 63) / 64 + 2 * j->pad + 2; }

/** Sets bits [to, to + n) of @p row, which are 0, to the bits [from, from + n) of @p source. */
static void copy_bits(const uint64_t *source, size_t words, size_t from, size_t n, uint64_t *row, size_t to)
{
    for (size_t i = 0; i < n; i += 64) {
        size_t word = (from + i) / 64, shift = (from + i) % 64, left = n - i;
        uint64_t bits = source[word] >> shift;

        if (shift && word + 1 < words) bits |= source[word + 1] << (64 - shift);
        if (left < 64) bits &= ((uint64_t)1 << left) - 1;
        row[(to + i) / 64] |= bits << (to + i) % 64;
        if ((to + i) % 64) row[(to + i) / 64 + 1] |= bits >> (64 - (to + i) % 64);
    }
}

/** Row @p u of a slice of b, extended by L-1 voxels on both sides: periodically, or by zeros. */
static void pad_row(const struct job *j, size_t slice, size_t u, uint64_t *padded)
{
    size_t words = (j->nv + 63) / 64;
    const uint64_t *row;

    memset(padded, 0, padded_words(j) * sizeof *padded);
    if (u >= j->beyond) return;
    row = j->b.row + slice * j->b.slice + u % j->rows * j->b.step;
    memcpy(padded + j->pad, row, words * sizeof *row);
    if (!j->periodic) return;
    copy_bits(row, words, j->nv - j->reach, j->reach, padded, 64 * j->pad - j->reach);
    copy_bits(row, words, 0, j->reach, padded, 64 * j->pad + j->nv);
}

/** All rows that a tile of @p rows rows from @p u0 on meets, word by word. */
static void pad_rows(const struct job *j, struct bench *w, size_t slice, size_t u0, size_t rows)
{
    size_t words = padded_words(j);
    uint64_t *line = w->padded + words * MF_WIN_STRIDE;

    for (size_t r = 0; r < rows + MF_WIN_ROWS - 1; ++r) {
        pad_row(j, slice, u0 + j->du0 + r, line);
        for (size_t i = 0; i < words; ++i) w->padded[i * MF_WIN_STRIDE + r] = line[i];
    }
}

/** The 64 bits of every padded row from bit @p at on. */
MF_CPU_FAST static void bits_at(struct bench *w, size_t at)
{
    const uint64_t *from = w->padded + at / 64 * MF_WIN_STRIDE;
    unsigned shift = at % 64;

    for (size_t r = 0; r < MF_WIN_STRIDE; ++r)
        w->windows.bits[r] = from[r] >> shift | from[r + MF_WIN_STRIDE] << 1 << (63 - shift);
}

/** Set voxels of the rows that voxels of this tile meet, per du. */
MF_CPU_FAST static void count_ones(const struct job *j, struct bench *w, size_t rows)
{
    size_t words = (j->nv + 63) / 64, spare = words * 64 - j->nv;
    int64_t ones[MF_WIN_STRIDE] = {0};

    for (size_t i = 0; i < words; ++i)
        for (size_t r = 0; r < rows + MF_WIN_ROWS - 1; ++r) {
            uint64_t bits = w->padded[(j->pad + i) * MF_WIN_STRIDE + r];

            ones[r] += __builtin_popcountll(i + 1 < words ? bits : bits << spare);
        }
    for (size_t du = 0; du < MF_WIN_ROWS; ++du)
        for (size_t r = 0; r < rows; ++r) w->ones[du] += ones[du + r];
}

/** Which voxels of the tile's 32 columns from @p x0 on are counted. */
static void mask_tile(const struct job *j, struct bench *w, size_t slice, size_t u0, size_t rows, size_t x0)
{
    const uint64_t *row = j->a.row + slice * j->a.slice + u0 * j->a.step + x0 / 64;
    uint32_t inside = j->nv - x0 < 32 ? ((uint32_t)1 << (j->nv - x0)) - 1 : ~(uint32_t)0;

    for (size_t r = 0; r < rows; ++r, row += j->a.step) {
        uint32_t bits = (uint32_t)(*row >> x0 % 64);

        w->mask[r] = (j->zeros ? ~bits : bits) & inside;
    }
}

/** Rows u0 .. u0 + rows - 1 of one slice. */
static void count_rows(const struct job *j, struct bench *w, size_t slice, size_t u0, size_t rows)
{
    int halves = j->lag > j->du0 + 8 ? 2 : 1;

    pad_rows(j, w, slice, u0, rows);
    if (j->zeros) count_ones(j, w, rows);
    for (size_t x0 = 0; x0 < j->nv; x0 += MF_WIN_BITS) {
        size_t at = (size_t)((ptrdiff_t)(64 * j->pad + x0) + j->dv0), count;

        mask_tile(j, w, slice, u0, rows, x0);
        bits_at(w, at);
        mf_windows_spread(&w->windows);
        count = mf_windows_list(&w->windows, rows, w->mask);
        mf_windows_add(&w->counters, &w->windows, count, halves);
    }
}

/** Adds a thread's counts of the block to the half window [L][2L-1]. */
static void gather(const struct job *j, struct bench *w, int64_t *half)
{
    int64_t count[MF_WIN_ROWS * MF_WIN_BITS] = {0};
    size_t width = 2 * j->lag - 1, column = (size_t)(j->dv0 + (ptrdiff_t)j->reach);

    mf_counters_flush(&w->counters, count);
    for (size_t k = 0; k < MF_WIN_ROWS && j->du0 + k < j->lag; ++k)
        for (size_t i = 0; i < MF_WIN_BITS && column + i < width; ++i) {
            int64_t n = count[k * MF_WIN_BITS + i];

            half[(j->du0 + k) * width + column + i] += j->zeros ? w->ones[k] - n : n;
        }
    memset(w->ones, 0, sizeof w->ones);
}

/** One block of lags. */
static void count_block(const struct job *j, int threads, char *memory, size_t each, int64_t *half)
{
    size_t tiles = (j->nu + MF_WIN_TILE - 1) / MF_WIN_TILE;

#pragma omp parallel num_threads(threads)
    {
        struct bench *w = (struct bench *)(void *)(memory + (size_t)omp_get_thread_num() * each);

        /* the same rows of neighbouring slices lie on the same pages */
#pragma omp for schedule(dynamic, 4)
        for (size_t i = 0; i < j->slices * tiles; ++i) {
            size_t u0 = i / j->slices * MF_WIN_TILE;

            mf_pulse_tell("counting");
            count_rows(j, w, i % j->slices, u0, j->nu - u0 < MF_WIN_TILE ? j->nu - u0 : MF_WIN_TILE);
        }
#pragma omp critical(mf_bits)
        gather(j, w, half);
    }
}

/** Are more than half of its voxels set? */
MF_CPU_FAST static int is_dense(const struct mf_bits *f)
{
    size_t n = f->planes * f->ny * f->words;
    uint64_t ones = 0;

    for (size_t i = 0; i < n; ++i) ones += (uint64_t)__builtin_popcountll(f->row[i]);
    return 2 * ones > f->planes * f->ny * f->nx;
}

static int threads_of(const struct mf_queue *q) { return q->threads > 0 ? q->threads : 1; }

static size_t bench_bytes(const struct job *j)
{
    return (sizeof(struct bench) + (MF_WIN_STRIDE + 1) * padded_words(j) * sizeof(uint64_t) + 63) / 64 * 64;
}

static size_t half_size(size_t lag) { return lag * (2 * lag - 1); }

/** The half window of one normal: blocks of lags one after another. */
static int count_half(struct mf_queue *q, struct job *j, int64_t *half)
{
    int threads = threads_of(q);
    size_t each = bench_bytes(j);
    char *memory = mf_arena_zeros(q->host, (size_t)threads, each, "bits");

    if (!memory) return MF_MEMORY;
    for (int t = 0; t < threads; ++t) mf_windows_open(&((struct bench *)(void *)(memory + (size_t)t * each))->windows);
    for (j->du0 = 0; j->du0 < j->lag; j->du0 += MF_WIN_ROWS)
        for (j->dv0 = -(ptrdiff_t)j->reach; j->dv0 <= (ptrdiff_t)j->reach; j->dv0 += MF_WIN_BITS)
            count_block(j, threads, memory, each, half);
    mf_arena_give(q->host, memory);
    return MF_OK;
}

/** Adds a half window to the whole one. It adds count(r) where @p sign is 1, count(-r) where it is -1; zero lag
 * once. */
static void spread(size_t lag, const int64_t *half, int sign, int64_t *count)
{
    ptrdiff_t reach = (ptrdiff_t)lag - 1, width = 2 * reach + 1;

    for (ptrdiff_t du = 0; du <= reach; ++du)
        for (ptrdiff_t dv = du ? -reach : sign < 0; dv <= reach; ++dv)
            count[(sign * du + reach) * width + sign * dv + reach] += half[du * width + dv + reach];
}

/** Transposes 64 x 64 bits: bit k of in[i] becomes bit i of out[k] (in place). */
static void transpose(uint64_t block[64])
{
    uint64_t mask = 0x00000000FFFFFFFFu;

    for (unsigned step = 32; step; step >>= 1, mask ^= mask << step)
        for (unsigned i = 0; i < 64; i = (i + step + 1) & ~step) {
            uint64_t swap = (block[i] >> step ^ block[i + step]) & mask;

            block[i] ^= swap << step;
            block[i + step] ^= swap;
        }
}

static size_t turned_bytes(const struct mf_bits *f)
{
    return (f->planes + f->halo) * f->nx * ((f->ny + 63) / 64) * sizeof(uint64_t);
}

/** The packed field [planes][ny][words] as [planes][nx][ceil(ny / 64)]. */
static uint64_t *turn(struct mf_queue *q, const struct mf_bits *f)
{
    size_t planes = f->planes + f->halo, across = (f->ny + 63) / 64, plane = f->nx * across;
    uint64_t *turned = mf_arena_take(q->host, turned_bytes(f), "bits turned");

    if (!turned) return NULL;
#pragma omp parallel for num_threads(q->threads > 0 ? q->threads : 1)
    for (size_t z = 0; z < planes; ++z)
        for (size_t y = 0; y < f->ny; y += 64)
            for (size_t w = 0; w < f->words; ++w) {
                uint64_t block[64] = {0};

                for (size_t i = 0; i < 64 && y + i < f->ny; ++i) block[i] = f->row[(z * f->ny + y + i) * f->words + w];
                transpose(block);
                for (size_t i = 0; i < 64 && w * 64 + i < f->nx; ++i)
                    turned[z * plane + (w * 64 + i) * across + y / 64] = block[i];
            }
    return turned;
}

/** The slices of @p f with one normal. */
static struct stack stack_of(const struct mf_bits *f, int normal, const uint64_t *turned)
{
    size_t across = (f->ny + 63) / 64;

    if (normal == 0) return (struct stack){f->row, f->ny * f->words, f->words};
    if (normal == 1) return (struct stack){f->row, f->words, f->ny * f->words};
    return (struct stack){turned, across, f->nx * across};
}

/** Counts with a first, then, unless b is a, with b first: a(p) b(p - r) = b(q) a(q + r). */
static int count_both(struct mf_queue *q, struct job *j, int same, const int zeros[2], int64_t *count)
{
    size_t size = half_size(j->lag);
    int64_t *half = mf_arena_zeros(q->host, size, sizeof *half, "bits");
    struct stack a = j->a;
    int rc;

    j->zeros = zeros[0];
    rc = half ? count_half(q, j, half) : MF_MEMORY;
    if (rc == MF_OK) spread(j->lag, half, 1, count);
    if (rc == MF_OK && !same) {
        memset(half, 0, size * sizeof *half);
        j->a = j->b;
        j->b = a;
        j->zeros = zeros[1];
        rc = count_half(q, j, half);
    }
    if (rc == MF_OK) spread(j->lag, half, -1, count);
    mf_arena_give(q->host, half);
    return rc;
}

/** Everything about slices with one normal but where they stand. */
static struct job job_of(const struct mf_bits *a, size_t lag, int periodic, size_t z0, size_t nz, int normal)
{
    struct job j = {.lag = lag, .periodic = periodic, .reach = lag - 1, .pad = (lag - 1 + 63) / 64};
    size_t there = a->planes + a->halo;

    j.slices = normal == 0 ? a->planes : normal == 1 ? a->ny : a->nx;
    j.nu = normal == 0 ? a->ny : a->planes;
    j.nv = normal == 2 ? a->ny : a->nx;
    j.rows = normal == 0 ? a->ny : there;
    j.beyond = periodic && (normal == 0 || a->halo == 0) ? SIZE_MAX : j.rows;
    if (normal > 0 && !periodic && nz - z0 < j.beyond) j.beyond = nz - z0;
    return j;
}

static size_t count_bytes(const struct mf_queue *q, const struct mf_bits *a, int same, size_t lag, int normals)
{
    size_t most = 0;

    for (int normal = 0; a->planes && normal < 3; ++normal) {
        struct job j = job_of(a, lag, 1, 0, a->planes, normal);
        size_t bytes = half_size(lag) * sizeof(int64_t) + (size_t)threads_of(q) * bench_bytes(&j);

        if (normals >> normal & 1 && bytes > most) most = bytes;
    }
    return most + (a->planes && normals & 4 ? (same ? 1 : 2) * turned_bytes(a) : 0);
}

static int count(struct mf_queue *q, const struct mf_bits *a, const struct mf_bits *b, size_t lag, int periodic,
                 size_t z0, size_t nz, int normals, int64_t *counts)
{
    size_t window = (2 * lag - 1) * (2 * lag - 1);
    uint64_t *turned[2] = {NULL, NULL};
    int rc = MF_OK, zeros[2] = {0};

    MF_ASSERT(lag >= 1 && lag <= a->nx && a->nx == b->nx && a->ny == b->ny && a->planes == b->planes);
    if (a->planes == 0) return MF_OK;
    if (periodic) zeros[0] = is_dense(a);
    if (periodic) zeros[1] = a == b ? zeros[0] : is_dense(b);
    if (normals & 4) {
        turned[0] = turn(q, a);
        if (turned[0] && a != b) turned[1] = turn(q, b);
        if (!turned[0] || (a != b && !turned[1])) rc = MF_MEMORY;
    }
    for (int normal = 0; rc == MF_OK && normal < 3; ++normal) {
        struct job j = job_of(a, lag, periodic, z0, nz, normal);

        if (!(normals >> normal & 1)) continue;
        j.a = stack_of(a, normal, turned[0]);
        j.b = stack_of(b, normal, a == b ? turned[0] : turned[1]);
        rc = count_both(q, &j, a == b, zeros, counts + (size_t)normal * window);
    }
    mf_arena_give(q->host, turned[1]);
    mf_arena_give(q->host, turned[0]);
    return rc;
}

/** 64 labels or fewer to a word. */
static uint64_t pack_word(const uint8_t *label, size_t n, uint8_t phase)
{
    uint64_t word = 0;

    for (size_t i = 0; i < n; ++i) word |= (uint64_t)(label[i] == phase) << i;
    return word;
}

static uint64_t pack_64(const uint8_t *label, uint8_t phase)
{
    uint64_t word = 0;

    for (unsigned i = 0; i < 64; i += 16) word |= (uint64_t)mf_pack16(label + i, phase) << i;
    return word;
}

static void pack(struct mf_queue *q, size_t rows, size_t nx, const uint8_t *label, uint8_t phase, uint64_t *bits)
{
    size_t words = (nx + 63) / 64, whole = nx / 64;

#pragma omp parallel for num_threads(q->threads > 0 ? q->threads : 1)
    for (size_t r = 0; r < rows; ++r) {
        const uint8_t *from = label + r * nx;
        uint64_t *to = bits + r * words;

        for (size_t w = 0; w < whole; ++w) to[w] = pack_64(from + w * 64, phase);
        if (whole < words) to[whole] = pack_word(from + whole * 64, nx % 64, phase);
    }
}

const struct mf_bits_ops mf_bits_cpu = {.pack = pack, .count = count, .count_bytes = count_bytes};
