/* Private to the bits of the cpu back end: adds windows of bits, each bit to its own counter.
 *
 * A window is the 16 x 32 neighbourhood of a voxel in its slice, one bit per lag. Row k, bit j is the lag
 * (du0 + k, dv0 + j). Adding the windows of b at every voxel of a counts all 512 lags at once. Counters are bit-sliced:
 * one word per binary digit. So an addition is a few logical operations on whole windows (carry-save adders, Harley and
 * Seal). */
#ifndef MF_KERNELS_CPU_BITS_WINDOW_H
#define MF_KERNELS_CPU_BITS_WINDOW_H

#include <stddef.h>
#include <stdint.h>

enum {
    MF_WIN_ROWS = 16,   /* of a window: lags du */
    MF_WIN_BITS = 32,   /* of a row: lags dv */
    MF_WIN_TILE = 64,   /* rows of voxels worked on at a time; columns: MF_WIN_BITS */
    MF_WIN_STRIDE = 80, /* window rows of a column: tile and overlap */
    MF_WIN_DIGITS = 24  /* binary digits above the fourth */
};

/** Half a window, 8 rows. */
typedef uint64_t mf_half __attribute__((vector_size(32)));

/** The binary counters of a thread: low digits, and above them a sum and a pending carry per digit. */
struct mf_counters {
    mf_half low[2][4], sum[2][MF_WIN_DIGITS], carry[2][MF_WIN_DIGITS];
    uint64_t groups; /* of 16 windows added so far */
};

/** The windows of a tile, row window[column][row], and the list of windows to add. */
struct mf_windows {
    uint32_t row[MF_WIN_BITS * MF_WIN_STRIDE + MF_WIN_ROWS]; /* behind them a window without bits */
    uint16_t list[MF_WIN_TILE * MF_WIN_BITS + 16];
    uint64_t bits[MF_WIN_STRIDE];
    uint16_t columns[256][8]; /* for a byte: the columns of its set bits, where their windows begin; then undefined */
    uint8_t count[256];       /* bits set in a byte */
};

/** Fills the tables; once, before anything else. */
void mf_windows_open(struct mf_windows *w);

/** Spreads w->bits to the rows of all columns. Each row has 64 bits in it, from the first column's first lag on. */
void mf_windows_spread(struct mf_windows *w);

/** Lists the windows of the voxels set in mask[rows]; returns their number, rounded up to 16 by empty windows. */
size_t mf_windows_list(struct mf_windows *w, size_t rows, const uint32_t *mask);

/** Adds the first @p count windows of the list. halves: 1, or 2 if lags du of the second half are wanted. */
void mf_windows_add(struct mf_counters *c, const struct mf_windows *w, size_t count, int halves);

/** Adds the counters to count[16][32] and clears them. */
void mf_counters_flush(struct mf_counters *c, int64_t *count);

#endif
