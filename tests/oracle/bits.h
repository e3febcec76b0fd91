/* Oracle of counting on binary fields: pairs of voxels, one by one. */
#ifndef MF_TESTS_ORACLE_BITS_H
#define MF_TESTS_ORACLE_BITS_H

#include <stddef.h>
#include <stdint.h>

/** #{p : a(p) and b(p + r)} of the volume [nz][ny][nx]; r = {dz, dy, dx}. */
static inline int64_t oracle_pairs(const size_t n[3], const uint8_t *a, const uint8_t *b, const ptrdiff_t r[3],
                                   int periodic)
{
    int64_t count = 0;

    for (size_t p = 0; p < n[0] * n[1] * n[2]; ++p) {
        size_t at[3] = {p / (n[1] * n[2]), p / n[2] % n[1], p % n[2]};
        int inside = 1;

        for (int k = 0; k < 3; ++k) {
            ptrdiff_t to = (ptrdiff_t)at[k] + r[k], extent = (ptrdiff_t)n[k];

            if (to < 0 || to >= extent) inside = periodic;
            if (!inside) break;
            at[k] = (size_t)((to % extent + extent) % extent);
        }
        if (inside) count += a[p] && b[(at[0] * n[1] + at[1]) * n[2] + at[2]];
    }
    return count;
}

/** The window [2L-1][2L-1] of the slices with one normal (0 z, 1 y, 2 x). */
static inline void oracle_window(const size_t n[3], const uint8_t *a, const uint8_t *b, size_t lag, int periodic,
                                 int normal, int64_t *count)
{
    static const int axes[3][2] = {{1, 2}, {0, 2}, {0, 1}};
    ptrdiff_t reach = (ptrdiff_t)lag - 1;

    for (ptrdiff_t du = -reach; du <= reach; ++du)
        for (ptrdiff_t dv = -reach; dv <= reach; ++dv) {
            ptrdiff_t r[3] = {0, 0, 0};

            r[axes[normal][0]] = du;
            r[axes[normal][1]] = dv;
            *count++ = oracle_pairs(n, a, b, r, periodic);
        }
}

#endif
