/* See recon_times.h. */
#include "src/cmd/recon/recon_times.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/bench_runs.h"

enum { MOST_JSON = 1 << 24, HISTORY = 2 /* the default */ };

/* Difference of a plan from the runs of bench reconstruct; NULL: none. */
static const char *otherwise(const struct mf_recon_work *w)
{
    const struct mf_objective_opts *e = &w->opts->objective;

    if (!w->s2 || !w->variation || e->terms != 2) return "descriptors";
    if (w->target->lag != MF_BENCH_LAG) return "lags";
    if (w->fields != 1) return "phases";
    if (strcmp(w->opts->method.method->name, "LBFGSB") != 0 || w->history != HISTORY) return "optimiser or history";
    if (e->norm != MF_MSE || e->mean || e->draw > 0) return "loss";
    if (!e->periodic || e->compat) return "borders";
    return e->levels_max || w->opts->coarse_to_fine ? "levels" : NULL;
}

static int is_of(const struct mf_json *row, const size_t dims[3])
{
    const struct mf_json *shape = mf_json_get(row, "shape");
    int same = mf_json_count(shape) == 3 && mf_json_get_real(row, "seconds") > 0;

    for (size_t a = 0; same && a < 3; ++a) same = mf_json_to_int(mf_json_item(shape, a)) == (long long)dims[a];
    return same;
}

/* The last of several times of one place counts. */
static void add(struct mf_recon_times *times, const struct mf_recon_time *time, const char *path)
{
    struct mf_recon_time *at = times->at, *end = at + times->count;

    while (at < end && (at->device != time->device || at->ranks != time->ranks || at->threads != time->threads)) ++at;
    if (at == times->at + MF_RECON_TIMES) {
        mf_warn("'%s' has more than %d times of this volume: that on %zu rank%s of %zu thread%s is left out", path,
                MF_RECON_TIMES, time->ranks, MF_S(time->ranks), time->threads, MF_S(time->threads));
        return;
    }
    if (at < end)
        mf_info("'%s': %g s on %zu rank%s of %zu thread%s replace %g s, which were read before", path, time->seconds,
                time->ranks, MF_S(time->ranks), time->threads, MF_S(time->threads), at->seconds);
    else
        ++times->count;
    *at = *time;
}

static size_t add_rows(const char *path, const struct mf_json *measured, int device, const size_t dims[3],
                       struct mf_recon_times *times)
{
    const struct mf_json *list = mf_json_get(measured, "rows");
    size_t found = 0;

    for (size_t i = 0; i < mf_json_count(list); ++i) {
        const struct mf_json *row = mf_json_item(list, i);

        if (!is_of(row, dims)) continue;
        add(times,
            &(struct mf_recon_time){device, (size_t)mf_json_get_int(row, "ranks"),
                                    (size_t)mf_json_get_int(measured, "threads"), mf_json_get_real(row, "seconds")},
            path);
        ++found;
    }
    return found;
}

static void add_file(const char *path, const struct mf_json *json, const size_t dims[3], struct mf_recon_times *times)
{
    const struct mf_json *list = mf_json_get(json, "measured");
    const char *name = mf_json_get_text(json, "device");
    const int device = strcmp(name, "cuda") == 0;
    size_t found = 0;

    if (!device && strcmp(name, "cpu") != 0) {
        mf_warn("'%s' is of the device '%s', and plans are for cpu and cuda: the model's times stay", path, name);
        return;
    }
    for (size_t i = 0; i < mf_json_count(list); ++i)
        if (strcmp(mf_json_get_text(mf_json_item(list, i), "what"), "reconstruct") == 0)
            found += add_rows(path, mf_json_item(list, i), device, dims, times);
    if (!found)
        mf_warn("'%s' has no evaluation of %zu x %zu x %zu voxels: the model's times stay", path, dims[0], dims[1],
                dims[2]);
}

int mf_recon_times_read(const struct mf_texts *files, const struct mf_recon_work *work, struct mf_recon_times *times)
{
    const char *other = files->count ? otherwise(work) : NULL;

    times->count = 0;
    for (size_t i = 0; i < files->count; ++i) {
        struct mf_json *json;

        MF_TRY(mf_json_load(files->at[i], MOST_JSON, &json));
        if (!other) add_file(files->at[i], json, work->dims, times);
        mf_json_free(json);
    }
    if (other)
        mf_warn("--measured: bench reconstruct compares S2 and Variation with the defaults, and this plan has other "
                "%s: the model's times stay",
                other);
    return MF_OK;
}
