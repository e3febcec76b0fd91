/* Clusters of each phase, voxels joined by faces (clusters.h): their number, sizes, and the spanning ones. A cluster
 * spans if it touches both faces without connections across a periodic border. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/clusters.h"
#include "src/desc/clusters_impl.h"

enum { BINS = 48 };

/** Per phase; all but largest adds up over the ranks. */
struct tally {
    int64_t number, voxels, largest, spanning[3], spanning_voxels[3], bins[BINS];
};

static void tally_one(struct tally *t, int64_t size, int touch)
{
    ++t->number;
    t->voxels += size;
    if (size > t->largest) t->largest = size;
    ++t->bins[63 - __builtin_clzll((unsigned long long)size)];
    for (int a = 0; a < 3; ++a)
        if (mf_touch_spans(touch, a)) {
            ++t->spanning[a];
            t->spanning_voxels[a] += size;
        }
}

/** Rank 0 counts the clusters that meet. */
static int tally_joined(struct mf_forest *f, struct mf_joined *j, struct tally *tally)
{
    int64_t *known = NULL;
    int rc = mf_forest_merge(f, j, &known);

    for (size_t i = 0; rc == MF_OK && f->job->comm->rank == 0 && i < j->count; ++i) {
        const int64_t *c = known + MF_KNOWN * i;

        if (j->parent[i] == i) tally_one(&tally[c[MF_KNOWN_PHASE]], c[MF_KNOWN_SIZE], (int)c[MF_KNOWN_TOUCH]);
    }
    mf_arena_give(f->job->arena, known);
    return rc;
}

static void add_up(const struct mf_comm *comm, int phases, struct tally *tally)
{
    int64_t largest[MF_PHASES_MAX];

    for (int p = 0; p < phases; ++p) largest[p] = tally[p].largest;
    mf_comm_max_int(comm, (size_t)phases, largest);
    mf_comm_sum_int(comm, (size_t)phases * sizeof *tally / sizeof(int64_t), (int64_t *)tally);
    for (int p = 0; p < phases; ++p) tally[p].largest = largest[p];
}

/** All clusters, with or without the joins of a periodic border. */
static int tally_all(struct mf_forest *f, int periodic, struct tally *tally)
{
    struct mf_joined joined;
    int rc = mf_forest_find(f, periodic, &joined);

    memset(tally, 0, MF_PHASES_MAX * sizeof *tally);
    if (rc == MF_OK) rc = tally_joined(f, &joined, tally);
    for (size_t i = 0; rc == MF_OK && i < f->clusters; ++i)
        if (f->cluster[i].size) tally_one(&tally[f->cluster[i].phase], f->cluster[i].size, f->cluster[i].touch);
    if (rc == MF_OK) add_up(f->job->comm, f->job->micro->phases, tally);
    mf_forest_release(f, &joined);
    return rc;
}

static void put(const struct mf_measure_job *job, const struct tally *t, const struct tally *open,
                struct mf_json *phase)
{
    struct mf_json *values = mf_json_object(), *number = mf_json_object(), *share = mf_json_object();
    struct mf_json *sizes = mf_json_array();
    int bins = BINS;

    MF_JSON(values, "number", t->number, "largest", t->largest, "mean",
            t->number ? (double)t->voxels / (double)t->number : 0);
    while (bins > 0 && t->bins[bins - 1] == 0) --bins;
    for (int b = 0; b < bins; ++b) mf_json_int(sizes, NULL, t->bins[b]);
    mf_json_put(values, "sizes", sizes);
    for (int a = mf_axis_first(job->micro); a < 3; ++a) {
        mf_json_int(number, mf_axis_name(a), open->spanning[a]);
        mf_json_real(share, mf_axis_name(a), t->voxels ? (double)open->spanning_voxels[a] / (double)t->voxels : 0);
    }
    MF_JSON(values, "spanning", number, "spanning_fraction", share);
    mf_json_put(phase, "clusters", values);
}

int mf_measure_clusters(const struct mf_measure_job *job, struct mf_json *const *phase)
{
    struct mf_forest f = {.job = job, .heeds = 1};
    struct tally open[MF_PHASES_MAX], wrapped[MF_PHASES_MAX];
    int rc = mf_agree(job->comm, mf_forest_open(&f));

    if (rc == MF_OK) rc = tally_all(&f, 0, open);
    if (rc == MF_OK && job->periodic) rc = tally_all(&f, 1, wrapped);
    for (int p = 0; rc == MF_OK && p < job->micro->phases; ++p)
        put(job, job->periodic ? &wrapped[p] : &open[p], &open[p], phase[p]);
    mf_forest_close(&f);
    return rc;
}

int mf_clusters_share(const struct mf_measure_job *job, double (*share)[3])
{
    struct mf_forest f = {.job = job, .heeds = 1};
    struct tally tally[MF_PHASES_MAX];
    int rc = mf_agree(job->comm, mf_forest_open(&f));

    for (int p = 0; rc == MF_OK && p < job->micro->phases; ++p) {
        f.wanted = p + 1; /* in turn: less memory */
        rc = tally_all(&f, 0, tally);
        for (int a = 0; rc == MF_OK && a < 3; ++a)
            share[p][a] = tally[p].voxels ? (double)tally[p].spanning_voxels[a] / (double)tally[p].voxels : 0;
    }
    mf_forest_close(&f);
    return rc;
}

void mf_measure_clusters_text(FILE *to, const struct mf_json *values)
{
    fprintf(to, "  clusters: %lld, mean %.6g, largest %lld voxels; spanning", mf_json_get_int(values, "number"),
            mf_json_get_real(values, "mean"), mf_json_get_int(values, "largest"));
    for (int a = 0; a < 3; ++a) {
        const struct mf_json *number = mf_json_get(mf_json_get(values, "spanning"), mf_axis_name(a));

        if (number)
            fprintf(to, " %s: %lld (%.4f of the phase)", mf_axis_name(a), mf_json_to_int(number),
                    mf_json_get_real(mf_json_get(values, "spanning_fraction"), mf_axis_name(a)));
    }
    fputc('\n', to);
}
