/* Boundaries between phases. Two of them meet at the faces of voxels, three at their edges (images: at edges, and at
 * corners). */
#include <string.h>

#include "src/base/err.h"
#include "src/base/pulse.h"
#include "src/desc/pairs.h"

enum { P = MF_PHASES_MAX };

struct meets {
    int64_t two[3][P][P];      /* faces normal to an axis between a < b */
    int64_t three[3][P][P][P]; /* edges along an axis whose voxels are of a < b < c and no others missing */
};

/** The phases of voxels, ascending, each once. Returns how many. */
static int sort_phases(const int *label, int count, int *phase)
{
    int n = 0;

    for (int i = 0; i < count; ++i) {
        int k = 0;

        while (k < n && phase[k] < label[i]) ++k;
        if (k < n && phase[k] == label[i]) continue;
        memmove(phase + k + 1, phase + k, (size_t)(n++ - k) * sizeof *phase);
        phase[k] = label[i];
    }
    return n;
}

/** The four voxels around an edge along @p axis, or (@p two) both sides of a face; 0: one is outside. */
static int gather(const struct mf_measure_job *job, const struct mf_reach *reach, const ptrdiff_t at[3], int axis,
                  int two, int label[4])
{
    const int b = two ? axis : (axis + 1) % 3, c = two ? axis : (axis + 2) % 3, count = two ? 2 : 4;

    for (int k = 0; k < count; ++k) {
        ptrdiff_t v[3] = {at[0], at[1], at[2]};

        v[b] += k % 2;
        v[c] += k / 2;
        label[k] = mf_reach_label(job, reach, v[0], v[1], v[2]);
        if (label[k] < 0) return 0;
    }
    return count;
}

static void count_voxel(const struct mf_measure_job *job, const struct mf_reach *reach, const ptrdiff_t at[3],
                        struct meets *meets)
{
    const int flat = job->micro->ndim == 2;
    int label[4], p[4];

    for (int axis = flat; axis < 3; ++axis)
        if (sort_phases(label, gather(job, reach, at, axis, 1, label), p) == 2) ++meets->two[axis][p[0]][p[1]];
    for (int axis = 0; axis < (flat ? 1 : 3); ++axis) {
        const int n = sort_phases(label, gather(job, reach, at, axis, 0, label), p);

        for (int i = 0; i < n; ++i)
            for (int j = i + 1; j < n; ++j)
                for (int k = j + 1; k < n; ++k) ++meets->three[axis][p[i]][p[j]][p[k]];
    }
}

static void count_all(const struct mf_measure_job *job, const struct mf_reach *reach, struct meets *meets)
{
    const size_t *n = job->micro->slab.dims;

    for (size_t z = 0; z < reach->own && mf_pulse("neighbours") == MF_OK; ++z)
        for (size_t y = 0; y < n[1]; ++y)
            for (size_t x = 0; x < n[2]; ++x)
                count_voxel(job, reach, (const ptrdiff_t[3]){(ptrdiff_t)z, (ptrdiff_t)y, (ptrdiff_t)x}, meets);
    mf_comm_sum_int(job->comm, sizeof *meets / sizeof(int64_t), (int64_t *)meets);
}

/** Per volume: area of faces normal to the axes, or length of edges along them. */
static double density(const struct mf_micro *m, const int64_t *count, size_t stride, int edges)
{
    const double voxels = (double)m->slab.dims[0] * (double)m->slab.dims[1] * (double)m->slab.dims[2];
    double sum = 0;

    for (int axis = 0; axis < 3; ++axis) {
        const double *s = m->spacing, across = s[(axis + 1) % 3] * s[(axis + 2) % 3];

        sum += (double)count[(size_t)axis * stride] / voxels / (edges ? across : s[axis]);
    }
    return sum;
}

static void put_two(const struct mf_micro *m, const struct meets *meets, int phase, struct mf_json *to)
{
    for (int q = 0; q < m->phases; ++q) {
        const int a = q < phase ? q : phase, b = q < phase ? phase : q;
        const double value = q == phase ? 0 : density(m, &meets->two[0][a][b], (size_t)P * P, 0);
        struct mf_json *one;

        if (value == 0) continue;
        one = mf_json_object();
        MF_JSON(one, "label", m->label[q], "density", value);
        mf_json_put(to, NULL, one);
    }
}

static void put_three(const struct mf_micro *m, const struct meets *meets, int phase, struct mf_json *to)
{
    for (int q = 0; q < m->phases; ++q)
        for (int r = q + 1; r < m->phases; ++r) {
            const int label[3] = {phase, q, r};
            int p[3];
            struct mf_json *one, *others;
            double value;

            if (sort_phases(label, 3, p) < 3) continue;
            value = density(m, &meets->three[0][p[0]][p[1]][p[2]], (size_t)P * P * P, 1);
            if (value == 0) continue;
            one = mf_json_object();
            others = mf_json_array();
            mf_json_int(others, NULL, m->label[q]);
            mf_json_int(others, NULL, m->label[r]);
            MF_JSON(one, "labels", others, "density", value);
            mf_json_put(to, NULL, one);
        }
}

int mf_measure_boundaries(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    struct meets *meets = mf_arena_zeros(job->arena, 1, sizeof *meets, "boundaries");
    struct mf_reach reach = {0};
    int rc = mf_agree(job->comm, meets ? MF_OK : MF_MEMORY);

    if (rc == MF_OK) rc = mf_reach_fetch(job, 0, 1, &reach);
    if (rc == MF_OK) count_all(job, &reach, meets);
    for (int p = 0; rc == MF_OK && p < job->micro->phases; ++p) {
        struct mf_json *values = mf_json_object(), *two = mf_json_array(), *three = mf_json_array();

        put_two(job->micro, meets, p, two);
        put_three(job->micro, meets, p, three);
        MF_JSON(values, "double", two, "triple", three);
        mf_json_put(phase[p], "boundaries", values);
    }
    mf_reach_free(job, &reach);
    mf_arena_give(job->arena, meets);
    return rc;
}

void mf_measure_boundaries_text(FILE *to, const struct mf_json *values)
{
    const struct mf_json *two = mf_json_get(values, "double"), *three = mf_json_get(values, "triple");

    for (size_t i = 0; i < mf_json_count(two); ++i)
        fprintf(to, "  boundary with label %lld: %.6g\n", mf_json_get_int(mf_json_item(two, i), "label"),
                mf_json_get_real(mf_json_item(two, i), "density"));
    for (size_t i = 0; i < mf_json_count(three); ++i) {
        const struct mf_json *labels = mf_json_get(mf_json_item(three, i), "labels");

        fprintf(to, "  triple boundary with labels %lld and %lld: %.6g\n", mf_json_to_int(mf_json_item(labels, 0)),
                mf_json_to_int(mf_json_item(labels, 1)), mf_json_get_real(mf_json_item(three, i), "density"));
    }
}
