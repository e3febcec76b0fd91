/* Euler number by cells of 2 x 2 (x 2) voxels. Along a row, vertices minus edges is the number of runs. So only runs
 * are counted: of rows, and of rows combined with their neighbours. "And" is for voxels joined by faces (6; images 4),
 * "or" for voxels joined by corners (26; images 8). */
#include <string.h>

#include "kernels/slices/bits.h"
#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/desc/measure.h"

struct field {
    uint64_t *bits;  /* [planes + 1][ny][words]; the last one follows the slab */
    uint64_t *empty; /* [words] */
    size_t nx, ny, words;
    int periodic;
};

/** Bits of w that begin a run; @p carry: the bit before, then the last one. */
static int64_t starts(uint64_t w, uint64_t *carry)
{
    int64_t count = __builtin_popcountll(w & ~(w << 1 | *carry));

    *carry = w >> 63;
    return count;
}

/** row[]: at (z, y), (z, y + 1), (z + 1, y), (z + 1, y + 1). */
static void add_rows(const struct field *f, const uint64_t *const row[4], int64_t euler[2])
{
    uint64_t c[8] = {0};
    size_t last = f->words - 1;
    const uint64_t *a = row[0], *b = row[1], *d = row[2], *e = row[3];

    for (int pass = !f->periodic; pass < 2; ++pass) /* the first one only to know the bit before */
        for (size_t i = pass ? 0 : last; i <= last; ++i) {
            uint64_t w[8] = {a[i], a[i] & b[i], a[i] & d[i], a[i] & b[i] & d[i] & e[i],
                             a[i], a[i] | b[i], a[i] | d[i], a[i] | b[i] | d[i] | e[i]};

            for (int k = 0; pass == 0 && k < 8; ++k) c[k] = w[k] >> (f->nx - 1) % 64 & 1;
            if (pass == 0) continue;
            euler[0] += starts(w[0], &c[0]) - starts(w[1], &c[1]) - starts(w[2], &c[2]) + starts(w[3], &c[3]);
            euler[1] += starts(w[4], &c[4]) - starts(w[5], &c[5]) - starts(w[6], &c[6]) + starts(w[7], &c[7]);
        }
}

/** Rows of two neighbouring planes; NULL: empty. */
static void add_planes(const struct field *f, const uint64_t *here, const uint64_t *next, int64_t euler[2])
{
    for (size_t i = f->periodic ? 1 : 0; i <= f->ny; ++i) { /* row i - 1 and row i */
        size_t y[2] = {i - 1, i % f->ny};
        const uint64_t *row[4];

        for (int k = 0; k < 4; ++k) {
            const uint64_t *plane = k < 2 ? here : next;
            int outside = k % 2 ? !f->periodic && i == f->ny : i == 0;

            row[k] = plane && !outside ? plane + y[k % 2] * f->words : f->empty;
        }
        add_rows(f, row, euler);
    }
}

static void add_slab(const struct mf_measure_job *job, const struct field *f, int ahead, int64_t euler[2])
{
    const struct mf_slab *slab = &job->micro->slab;
    size_t plane = f->ny * f->words;

    if (slab->first == 0 && slab->count && !(job->periodic && job->micro->ndim == 3))
        add_planes(f, NULL, f->bits, euler);
    for (size_t z = 0; z < slab->count && mf_pulse("corners") == MF_OK; ++z)
        add_planes(f, f->bits + z * plane, z + 1 < slab->count || ahead ? f->bits + (z + 1) * plane : NULL, euler);
}

static int count(const struct mf_measure_job *job, struct field *f, uint8_t *after, int64_t *euler)
{
    const struct mf_slab *slab = &job->micro->slab;
    size_t end = slab->first + slab->count;
    int wraps = job->periodic && job->micro->ndim == 3, ahead = slab->count && (wraps || end < slab->dims[0]);

    memset(f->empty, 0, f->words * sizeof *f->empty);
    MF_TRY(mf_slab_fetch(job->comm, slab, job->micro->phase, f->ny * f->nx, (ptrdiff_t)end, (size_t)ahead, after));
    for (int p = 0; p < job->micro->phases; ++p) {
        mf_bits_cpu.pack(job->queue, slab->count * f->ny, f->nx, job->micro->phase, (uint8_t)p, f->bits);
        if (ahead)
            mf_bits_cpu.pack(job->queue, f->ny, f->nx, after, (uint8_t)p, f->bits + slab->count * f->ny * f->words);
        add_slab(job, f, ahead, euler + 2 * (size_t)p);
    }
    mf_comm_sum_int(job->comm, 2 * (size_t)job->micro->phases, euler);
    return MF_OK;
}

int mf_measure_euler(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    const size_t *n = job->micro->slab.dims, words = (n[2] + 63) / 64;
    int64_t euler[2 * MF_PHASES_MAX] = {0};
    struct field f = {.nx = n[2], .ny = n[1], .words = words, .periodic = job->periodic};
    uint8_t *after = mf_arena_take(job->arena, n[1] * n[2], "plane");
    int rc = MF_OK;

    f.bits = mf_arena_take(job->arena, (job->micro->slab.count + 1) * n[1] * words * sizeof *f.bits, "bits");
    f.empty = mf_arena_take(job->arena, words * sizeof *f.empty, "bits");
    rc = mf_agree(job->comm, after && f.bits && f.empty ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) rc = count(job, &f, after, euler);
    for (int p = 0; rc == MF_OK && p < job->micro->phases; ++p) {
        struct mf_json *values = mf_json_object();

        MF_JSON(values, "faces", euler[2 * p], "corners", euler[2 * p + 1]);
        mf_json_put(phase[p], "euler", values);
    }
    mf_arena_give(job->arena, f.empty);
    mf_arena_give(job->arena, f.bits);
    mf_arena_give(job->arena, after);
    return rc;
}

void mf_measure_euler_text(FILE *to, const struct mf_json *values)
{
    fprintf(to, "  Euler number: %lld (joined by faces), %lld (by corners)\n", mf_json_get_int(values, "faces"),
            mf_json_get_int(values, "corners"));
}
