/* See kernels/select.h. */
#include "kernels/select.h"

#include <string.h>

#include "kernels/cpu/cpu.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

/* Pieces of so many scores are dealt to threads. */
static size_t pieces(size_t n) { return (n + MF_CPU_SERIAL - 1) / MF_CPU_SERIAL; }

static size_t end_of(size_t n, size_t piece)
{
    return n - piece * MF_CPU_SERIAL < MF_CPU_SERIAL ? n : (piece + 1) * MF_CPU_SERIAL;
}

static void count_piece(size_t from, size_t to, const float *score, int digit, uint32_t prefix, uint32_t *bins)
{
    const int shift = mf_digit_shift(digit);
    const uint32_t mask = (1u << mf_digit_width(digit)) - 1;

    for (size_t i = from; i < to; ++i) {
        const uint32_t key = mf_key_of(score[i]);

        if (mf_key_takes_part(score[i]) && mf_digits_to(key, digit - 1) == prefix) ++bins[key >> shift & mask];
    }
}

static void count(struct mf_queue *q, size_t n, const float *score, int digit, uint32_t prefix, int64_t *bins)
{
    memset(bins, 0, MF_BINS * sizeof *bins);
#pragma omp parallel for num_threads(mf_cpu_threads(q, n)) schedule(static)
    for (size_t p = 0; p < pieces(n); ++p) {
        uint32_t mine[MF_BINS] = {0};

        mf_pulse_tell("cut");
        count_piece(p * MF_CPU_SERIAL, end_of(n, p), score, digit, prefix, mine);
        for (size_t b = 0; b < MF_BINS; ++b) {
            if (mine[b] == 0) continue;
#pragma omp atomic
            bins[b] += mine[b];
        }
    }
}

static int is_tie(float score, uint32_t key) { return mf_key_takes_part(score) && mf_key_of(score) == key; }

static void ties(struct mf_queue *q, size_t planes, size_t plane, const float *score, uint32_t key, int64_t *out)
{
#pragma omp parallel for num_threads(mf_cpu_threads(q, planes *plane)) schedule(static)
    for (size_t z = 0; z < planes; ++z) {
        int64_t found = 0;

        mf_pulse_tell("cut");
        for (size_t i = z * plane; i < (z + 1) * plane; ++i) found += is_tie(score[i], key);
        out[z] = found;
    }
}

static size_t nth(struct mf_queue *q, size_t n, const float *score, uint32_t key, size_t before)
{
    size_t i = 0;

    (void)q;
    for (; i < n; ++i)
        if (is_tie(score[i], key) && before-- == 0) break;
    MF_ASSERT(i < n);
    return i;
}

static void mark(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, uint8_t value,
                 uint8_t *label)
{
#pragma omp parallel for num_threads(mf_cpu_threads(q, n)) schedule(static)
    for (size_t p = 0; p < pieces(n); ++p) {
        const size_t end = end_of(n, p);

        mf_pulse_tell("cut");
        for (size_t i = p * MF_CPU_SERIAL; i < end; ++i)
            if (mf_key_chosen(choice, score[i], i)) label[i] = value;
    }
}

static size_t list(struct mf_queue *q, size_t n, const float *score, struct mf_choice choice, size_t most,
                   struct mf_pick *pick)
{
    size_t found = 0;

#pragma omp parallel for num_threads(mf_cpu_threads(q, n)) schedule(static)
    for (size_t p = 0; p < pieces(n); ++p) {
        const size_t end = end_of(n, p);

        mf_pulse_tell("cut");
        for (size_t i = p * MF_CPU_SERIAL; i < end; ++i) {
            size_t at;

            if (!mf_key_chosen(choice, score[i], i)) continue;
#pragma omp atomic capture
            at = found++;
            MF_ASSERT(at < most);
            pick[at] = (struct mf_pick){i, score[i]};
        }
    }
    return found;
}

const struct mf_select_ops mf_select_cpu = {.count = count, .ties = ties, .nth = nth, .mark = mark, .list = list};
