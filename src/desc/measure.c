/* See measure.h: the rows, and what all of them share. */
#include "src/desc/measure.h"

#include <string.h>

#include "mpi/pulse.h"
#include "src/base/err.h"
#include "src/desc/phases.h"

struct measure {
    const char *name;
    const char *summary; /* one line */
    const char *why;     /* nothing can aim at it; NULL: a descriptor of this name can */
    /** Puts its values into @p phase[p], p < micro->phases. Collective, agreed. */
    int (*run)(const struct mf_measure_job *job, struct mf_json *const *phase);
    /** Prints these results, in a line or few. */
    void (*text)(FILE *to, const struct mf_json *values);
    struct mf_measure_picture picture[MF_MEASURE_PICTURES];
};

#define ROW(name, summary, why, ...)                                                      \
    {                                                                                     \
#name, summary, why, mf_measure_##name, mf_measure_##name##_text, { __VA_ARGS__ } \
    }

#define BARS(path, title, value)       \
    {                                  \
        path, 0, title, NULL, value, 0 \
    }
#define CURVES(path, title, across, first, value) \
    {                                             \
        path, 1, title, across, value, first      \
    }
#define BY_LAG(value) CURVES("*", "", "lag [pixels]", 0, value)

#define HOLDS_IT "FFTCorrelations (S2) holds it; try: FFTCorrelations"

/* The last row has no name. */
static const struct measure rows[] = {
    ROW(surface, "interface per volume, of voxel faces and by crossings", "Variation holds it; try: Variation",
        BARS("*", "", "interface per volume")),
    ROW(euler, "Euler number, voxels joined by faces and by corners", NULL, BARS("*", "", "Euler number")),
    ROW(clusters, "clusters joined by faces, and those that span", NULL,
        CURVES("sizes", "sizes", "k, of 2^k to 2^(k+1) - 1 voxels", 0, "how many"),
        BARS("number|mean|largest", "number; mean and largest [voxels]", "how many"),
        BARS("spanning_fraction.*", "what spans", "share of the phase")),
    ROW(chords, "chord lengths along the axes", NULL, CURVES("*.counts", "", "length [pixels]", 1, "how many"),
        BARS("*.mean|*.longest", "mean and longest", "length [pixels]")),
    ROW(autocovariance, "two-point correlation less the square of the volume fraction, along the axes", HOLDS_IT,
        BY_LAG("autocovariance")),
    ROW(variogram, "half the mean square of differences, along the axes", HOLDS_IT, BY_LAG("variogram")),
    ROW(surface_correlation, "surface-surface and surface-void correlations along the axes", NULL,
        CURVES("surface_surface.*|surface_void.*", "", "lag [pixels]", 0, "share of the pairs")),
    ROW(local_fraction, "mean and variance of the volume fraction in windows", NULL,
        CURVES("@edge.mean|@edge.variance", "", "edge of the windows [pixels]", 0, "volume fraction")),
    ROW(boundaries, "where two and three phases meet, per volume", NULL,
        BARS("double.*.density", "with another phase", "area per volume"),
        BARS("triple.*.density", "with two others", "length per volume")),
    ROW(cluster_function, "two-point cluster function along the axes", NULL, BY_LAG("in one cluster")),
    ROW(tortuosity, "shortest paths through along the axes", NULL,
        BARS("*.mean|*.least", "mean and least", "length over extent"),
        BARS("*.reached", "reached", "share of the last plane")),
    {0}};

static size_t count(void) { return sizeof rows / sizeof *rows - 1; }

const char *mf_measure_name(size_t i) { return i < count() ? rows[i].name : NULL; }

const struct mf_measure_picture *mf_measure_pictures(size_t i) { return i < count() ? rows[i].picture : NULL; }

const char *mf_measure_why(const char *name)
{
    for (const struct measure *m = rows; m->name; ++m)
        if (strcmp(name, m->name) == 0) return m->why;
    return NULL;
}

/** "surface, euler, ..". */
static void list(char *text, size_t size)
{
    size_t at = 0;

    for (const struct measure *m = rows; m->name && at < size; ++m)
        at += (size_t)snprintf(text + at, size - at, "%s, ", m->name);
    if (at < size) snprintf(text + at, size - at, "all");
}

static int find(const char *name, unsigned *wanted)
{
    unsigned all = 0;
    char names[512];

    for (unsigned m = 0; rows[m].name; ++m) {
        all |= 1U << m;
        if (strcmp(name, rows[m].name) == 0) {
            *wanted |= 1U << m;
            return MF_OK;
        }
    }
    list(names, sizeof names);
    if (strchr(name, ',')) return mf_fail(MF_USAGE, "no measure '%s'; names stand apart: surface euler", name);
    if (strpbrk(name, "./"))
        return mf_fail(MF_USAGE, "no measure '%s'; a file stands before the options, not behind these names", name);
    if (strcmp(name, "all") != 0) return mf_fail(MF_USAGE, "no measure '%s'; there are: %s", name, names);
    *wanted |= all;
    return MF_OK;
}

int mf_measures_find(size_t count, const char *const *names, unsigned *wanted)
{
    unsigned found, all = 0;

    for (size_t i = 0; i < count; ++i) {
        found = 0;
        MF_TRY(find(names[i], &found));
        if (all & found)
            return mf_fail(MF_USAGE, "--measures %s: it is named twice, or beside all; once is enough", names[i]);
        all |= found;
    }
    *wanted = all;
    return MF_OK;
}

int mf_measures_run(const struct mf_measure_job *job, unsigned wanted, struct mf_json **out)
{
    struct mf_json *all, *phase[MF_PHASES_MAX];
    int rc = MF_OK;
    MF_PHASE(&mf_phase_counting);

    if (!job->micro->phase)
        return mf_fail(MF_INPUT, "--measures count phases, but the field is grey; try: --threshold");
    all = mf_json_array();
    for (int p = 0; p < job->micro->phases; ++p) {
        phase[p] = mf_json_object();
        mf_json_int(phase[p], "label", job->micro->label[p]);
        mf_json_put(all, NULL, phase[p]);
    }
    for (unsigned m = 0; rc == MF_OK && rows[m].name; ++m)
        if (wanted >> m & 1) {
            rc = mf_pulse_all(job->comm, rows[m].name);
            if (rc == MF_OK) rc = rows[m].run(job, phase);
            if (rc == MF_OK) rc = mf_pulse_all(job->comm, rows[m].name); /* a loop that was stopped broke off */
        }
    if (rc == MF_OK)
        *out = all;
    else
        mf_json_free(all);
    return rc;
}

void mf_measures_text(FILE *to, const struct mf_json *measures)
{
    for (size_t i = 0; i < mf_json_count(measures); ++i) {
        const struct mf_json *phase = mf_json_item(measures, i);

        fprintf(to, " label %lld\n", mf_json_get_int(phase, "label"));
        for (const struct measure *m = rows; m->name; ++m) {
            const struct mf_json *values = mf_json_get(phase, m->name);

            if (values) m->text(to, values);
        }
    }
}
