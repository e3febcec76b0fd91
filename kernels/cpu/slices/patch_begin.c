/* See patch_near.h. Patches are taken row by row: matches of neighbours are mostly neighbours, so their coordinates are
 * in a cache. No fused operations, so all instruction sets give the same bits. */
#include "kernels/cpu/slices/patch_near.h"

#define ALWAYS static inline __attribute__((always_inline))

enum { PARTS = MF_PATCH_PARTS, EIGHT = 8, AHEAD = 4 /* patches whose matches are brought into a cache */ };

static const float MOVED = 1.1f; /* a match has moved away if its squared distance grew by more than this factor */

typedef float eight __attribute__((vector_size(4 * EIGHT), aligned(4), may_alias));

ALWAYS float square_of(const float *a, const float *b)
{
    eight sum = {0};

#pragma GCC unroll 3
    for (size_t c = 0; c < PARTS; c += EIGHT) {
        const eight d = *(const eight *)(a + c) - *(const eight *)(b + c);

        sum += d * d;
    }
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

MF_CPU_FAST float mf_patch_apart(const struct mf_patch_side *own, int32_t slot, const struct mf_patch_side *other,
                                 int32_t match)
{
    return square_of(own->tree->row + (size_t)slot * PARTS, other->tree->row + (size_t)match * PARTS);
}

/* The slot above (du = -1) or below (1); -1: there is no patch. */
ALWAYS int32_t in_column(const struct mf_patch_image *image, int32_t slot, int32_t du)
{
    const int32_t to = slot + du * (int32_t)image->row, slots = (int32_t)image->slots;

    if (to >= 0 && to < slots) return to;
    return image->periodic ? to - du * slots : -1;
}

/* The slot on the left (dv = -1) or on the right (1); -1: there is no patch. */
ALWAYS int32_t in_row(const struct mf_patch_image *image, int32_t slot, int32_t dv)
{
    const int32_t pv = (int32_t)image->pv, v = (int32_t)((uint32_t)slot % (uint32_t)image->row) + dv;

    if (v >= 0 && v < pv) return slot + dv;
    return image->periodic ? slot + dv - dv * pv : -1;
}

/* The last match and the shifted matches of four neighbours, without those that do not exist: their number. */
ALWAYS int candidates(const struct mf_patch_side *own, const struct mf_patch_image *other, int32_t slot, int32_t *to)
{
    const int32_t *match = own->match;
    const int32_t right = in_row(own->image, slot, 1), left = in_row(own->image, slot, -1);
    const int32_t below = in_column(own->image, slot, 1), above = in_column(own->image, slot, -1);
    const int32_t beside[4] = {
        right < 0 ? -1 : in_row(other, match[right], -1), below < 0 ? -1 : in_column(other, match[below], -1),
        left < 0 ? -1 : in_row(other, match[left], 1), above < 0 ? -1 : in_column(other, match[above], 1)};
    int n = 1;

    to[0] = match[slot];
    for (int k = 0; k < 4; ++k) {
        int new = beside[k] >= 0;

        for (int i = 0; i < n; ++i) new &= to[i] != beside[k];
        to[n] = beside[k];
        n += new;
    }
    return n;
}

ALWAYS void begin_at(const struct mf_patch_side *own, const struct mf_patch_side *other, int32_t slot)
{
    const float *point = own->tree->row + (size_t)slot * PARTS;
    int32_t to[5], match;
    const int n = candidates(own, other->image, slot, to);
    float least = square_of(point, other->tree->row + (size_t)to[0] * PARTS);

    match = to[0];
    for (int k = 1; k < n; ++k) {
        const float distance = square_of(point, other->tree->row + (size_t)to[k] * PARTS);

        if (distance < least || (distance == least && to[k] < match)) {
            least = distance;
            match = to[k];
        }
    }
    own->found[slot] = match;
    own->far[slot] = least > MOVED * own->far[slot] ? -least : least;
}

/* Brings a patch into a cache, if there is one. */
ALWAYS void bring(const struct mf_patch_side *side, int32_t slot)
{
    const float *at = side->tree->row + (size_t)slot * PARTS;

    if (slot < 0 || (size_t)slot >= side->image->slots) return;
    __builtin_prefetch(at);
    __builtin_prefetch(at + PARTS - 1);
}

/* The same of all that a patch will be compared with; nearly so at borders. */
ALWAYS void bring_all(const struct mf_patch_side *own, const struct mf_patch_side *other, size_t slot)
{
    const size_t row = own->image->row;

    bring(other, own->match[slot]);
    bring(other, own->match[slot] - 1); /* what neighbours in the row see */
    bring(other, own->match[slot] + 1);
    if (slot >= row) bring(other, own->match[slot - row] + (int32_t)other->image->row);
    if (slot + row < own->image->slots) bring(other, own->match[slot + row] - (int32_t)other->image->row);
}

MF_CPU_FAST static void begin_row(const struct mf_patch_side *own, const struct mf_patch_side *other, size_t u)
{
    const size_t first = u * own->image->row, pv = own->image->pv;

    for (size_t v = 0; v < pv; ++v) {
        if (v + AHEAD < pv) bring_all(own, other, first + v + AHEAD);
        begin_at(own, other, (int32_t)(first + v));
    }
}

void mf_patch_begin(int threads, const struct mf_team *team, const struct mf_patch_side *own,
                    const struct mf_patch_side *other)
{
    const struct mf_patch_image *image = own->image;
    const struct mf_span rows = mf_team_cut(team, image->pu);

#pragma omp parallel for num_threads(threads)
    for (size_t u = rows.first; u < rows.first + rows.count; ++u) begin_row(own, other, u);
    mf_team_share(team, image->pu, image->row * sizeof *own->found, own->found);
    mf_team_share(team, image->pu, image->row * sizeof *own->far, own->far);
}
