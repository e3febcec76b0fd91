/* Counts on packed fields equal counting pairs one by one. Cases are any extents, periodic or not, one field and two,
 * sparse and dense, whole or cut into slabs with a halo, on one thread and several. */
#include "kernels/slices/bits.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "tests/check.h"
#include "tests/oracle/bits.h"

static unsigned next_random(void)
{
    static uint64_t state = 12345;

    state = state * 6364136223846793005U + 1442695040888963407U;
    return (unsigned)(state >> 33);
}

static uint64_t *packed(struct mf_queue *q, const size_t n[3], const uint8_t *label, size_t planes)
{
    size_t words = (n[2] + 63) / 64, plane = n[1] * words;
    uint64_t *bits = malloc(planes * plane * sizeof *bits);

    for (size_t z = 0; z < planes; ++z)
        mf_bits_cpu.pack(q, n[1], n[2], label + z % n[0] * n[1] * n[2], 1, bits + z * plane);
    return bits;
}

/** Counts the volume cut at @p cut: two slabs with a halo, or one without (cut = 0). */
static void count_slabs(struct mf_queue *q, const size_t n[3], uint8_t *const field[2], int same, size_t lag,
                        int periodic, size_t cut, int64_t *count)
{
    size_t words = (n[2] + 63) / 64, first[3] = {0, cut, n[0]}, halo = cut ? lag - 1 : 0;
    uint64_t *bits[2] = {packed(q, n, field[0], n[0] + lag), packed(q, n, field[1], n[0] + lag)};

    for (int part = cut ? 0 : 1; part < 2; ++part) {
        size_t start = cut ? first[part] : 0, planes = first[part + 1] - start;
        struct mf_bits view[2];

        for (int k = 0; k < 2; ++k)
            view[k] = (struct mf_bits){bits[k] + start * n[1] * words, planes, halo, n[1], n[2], words};
        CHECK(mf_bits_cpu.count(q, &view[0], same ? &view[0] : &view[1], lag, periodic, start, n[0], 7, count) == 0);
    }
    free(bits[0]);
    free(bits[1]);
}

static void check_volume(struct mf_queue *q, const size_t n[3], size_t lag)
{
    size_t voxels = n[0] * n[1] * n[2], window = (2 * lag - 1) * (2 * lag - 1);
    uint8_t *field[2] = {malloc(voxels), malloc(voxels)};
    int64_t *want = malloc(3 * window * sizeof *want), *got = malloc(3 * window * sizeof *got);

    for (size_t i = 0; i < voxels; ++i)
        for (int k = 0; k < 2; ++k) field[k][i] = (next_random() % 3 == 0) ^ (lag % 2);
    for (int mode = 0; mode < 4; ++mode) {
        int same = mode & 1, periodic = mode >> 1;

        for (int normal = 0; normal < 3; ++normal)
            oracle_window(n, field[0], field[same ? 0 : 1], lag, periodic, normal, want + (size_t)normal * window);
        for (size_t cut = 0; cut < n[0]; cut += n[0] / 3 + 1) {
            memset(got, 0, 3 * window * sizeof *got);
            count_slabs(q, n, field, same, lag, periodic, cut, got);
            CHECK(memcmp(got, want, 3 * window * sizeof *got) == 0);
        }
    }
    free(field[0]);
    free(field[1]);
    free(want);
    free(got);
}

int main(void)
{
    static const size_t extents[][4] = {{6, 5, 7, 3},   {4, 4, 4, 2},     {8, 9, 64, 4},   {5, 7, 65, 2},
                                        {6, 6, 63, 3},  {4, 8, 130, 2},   {1, 70, 30, 1},  {3, 2, 1, 1},
                                        {9, 3, 200, 1}, {16, 150, 18, 4}, {12, 20, 150, 5}};
    struct mf_arena *arena;

    CHECK(mf_arena_open(&arena, NULL, 0) == 0);
    for (int threads = 1; threads <= 3; threads += 2) {
        struct mf_queue q = {.host = arena, .threads = threads};

        for (size_t i = 0; i < sizeof extents / sizeof extents[0]; ++i) check_volume(&q, extents[i], extents[i][3]);
    }
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    return failures != 0;
}
