/* Matrices of a warp: the instructions ldmatrix and mma.m16n8k16, by the tables of the PTX ISA (sections "Matrix
 * fragments for mma.m16n8k16" and "ldmatrix"). Lanes give each other their registers. Sums are in float, in order. */
#include <cstdio>
#include <cstdlib>

#include "tests/emu/cuda_runtime.h"
#include "tests/emu/number.h"

namespace
{

constexpr unsigned ALL = 0xffffffffu;

struct numbers {
    float a[8], b[4];
};
static_assert(sizeof(numbers) <= MF_EMU_BOX, "a lane gives all of them");

} // namespace

void mf_emu_ldmatrix(uint32_t (&r)[4], const void *row, bool turned)
{
    const int group = mf_emu_lane() / 4, place = mf_emu_lane() % 4;

    if (reinterpret_cast<uintptr_t>(row) % 16) {
        fprintf(stderr, "emulator: a row of ldmatrix does not begin at a multiple of 16 bytes\n");
        abort();
    }
    const mf_emu_box *rows = mf_emu_all(ALL, &row, sizeof row);

    for (int i = 0; i < 4; ++i) {
        uint16_t half[2];

        for (int j = 0; j < 2; ++j) {
            const int line = turned ? 2 * place + j : group, column = turned ? group : 2 * place + j;
            const uint16_t *from;

            memcpy(&from, rows[8 * i + line], sizeof from);
            half[j] = from[column];
        }
        r[i] = uint32_t(half[1]) << 16 | half[0];
    }
}

void mf_emu_mma(float (&c)[4], const uint32_t *a, const uint32_t *b, const char *type)
{
    const kind of = type[0] == 'b' ? BFLOAT : HALF;
    const int group = mf_emu_lane() / 4, place = mf_emu_lane() % 4;
    numbers own;
    float row[2][16], column[2][16];

    for (int i = 0; i < 8; ++i) own.a[i] = float(number_at(of, a, size_t(i)));
    for (int i = 0; i < 4; ++i) own.b[i] = float(number_at(of, b, size_t(i)));

    const mf_emu_box *all = mf_emu_all(ALL, &own, sizeof own);

    for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 2; ++j) {
            numbers left, right;

            memcpy(&left, all[4 * group + i], sizeof left);
            memcpy(&right, all[4 * (2 * place + j) + i], sizeof right);
            for (int high = 0; high < 2; ++high)
                for (int k = 0; k < 2; ++k) {
                    row[j][2 * i + 8 * high + k] = left.a[2 * (j + 2 * high) + k];
                    column[j][2 * i + 8 * high + k] = right.b[2 * high + k];
                }
        }
    for (int j = 0; j < 4; ++j)
        for (int k = 0; k < 16; ++k) c[j] += row[j / 2][k] * column[j % 2][k];
}
