/* See recon_plan.h: what --dry-run says of a reconstruction. */
#include <math.h>
#include <stdio.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/recon/recon_plan.h"
#include "src/session/peaks.h"

static void add_option(void *json, const char *word, const char *value, enum mf_origin origin)
{
    (void)origin;
    mf_json_text(json, word, value);
}

/* By the model of a plan; NULL: nobody knows. */
static const struct mf_json *seconds_of(const struct mf_run_plan *plan)
{
    return plan->json ? mf_json_get(plan->json, "seconds_of_run") : NULL;
}

static int print_json(const struct mf_session *s, const size_t dims[3], size_t fields, const struct mf_peaks *peak,
                      const struct mf_json *seconds)
{
    struct mf_json *j = mf_json_object(), *options = mf_json_object(), *bytes = mf_json_object();
    int rc;

    mf_json_bool(j, "dry_run", 1);
    mf_micro_shape(dims, j);
    mf_json_int(j, "fields", (long long)fields);
    mf_options_each(mf_options_of(s), add_option, options);
    mf_json_put(j, "options", options);
    mf_json_wholes(bytes, "arena", peak->arena, (size_t)s->comm->size);
    if (peak->device) mf_json_wholes(bytes, "device", peak->device, (size_t)s->comm->size);
    if (seconds) mf_json_put(j, "seconds_of_run", mf_json_copy(seconds));
    MF_JSON(j, "bytes", bytes, "device", s->backend->name, "ranks", s->comm->size, "threads", s->queue->threads);
    rc = mf_json_write(j, stdout);
    mf_json_free(j);
    return rc;
}

static void print_bytes(const size_t dims[3], size_t fields, const char *what, int ranks, const double *bytes)
{
    double sum = 0, most = 0;

    for (int r = 0; r < ranks; ++r) {
        sum += bytes[r];
        most = fmax(most, bytes[r]);
    }
    printf("# volume %zu x %zu x %zu, %zu field%s: %.0f bytes%s over %d rank%s, %.0f on the fullest\n", dims[0],
           dims[1], dims[2], fields, MF_S(fields), sum, what, ranks, MF_S(ranks), most);
}

/* "about 26 s: evaluations 22 s, cut 0.4 s, .." */
static void print_seconds(const struct mf_json *run)
{
    static const char *const parts[] = {"evaluations", "cut", "polish", "describe"};
    char text[MF_DURATION_TEXT];

    printf("# time: about %s", mf_duration_text(mf_json_to_real(mf_json_get(run, "total")), text));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i)
        printf("%s %s %s", i ? "," : ":", parts[i],
               mf_duration_text(mf_json_to_real(mf_json_get(run, parts[i])), text));
    printf("\n");
}

static void print_text(const struct mf_session *s, const size_t dims[3], size_t fields, const struct mf_peaks *peak,
                       const struct mf_json *seconds)
{
    mf_options_print(mf_options_of(s));
    if (peak->device) print_bytes(dims, fields, " of device memory", s->comm->size, peak->device);
    print_bytes(dims, fields, peak->device ? " of host memory" : "", s->comm->size, peak->arena);
    if (seconds) print_seconds(seconds);
}

/* Measures the smallest batch, if the batch is free. */
static int measure_without_limit(const struct mf_session *s, const size_t dims[3], const struct mf_target *target,
                                 const struct mf_solve_opts *solve)
{
    struct mf_solve_opts least = *solve;

    if (least.objective.batch == 0) least.objective.batch = 2;
    MF_TRY(mf_solve_measure(s->comm, s->home->backend, s->home, dims, target, &least, NULL));
    return mf_peaks_over(s);
}

/* The memory of the run is taken and given back; its high-water mark is what the run needs. */
int mf_recon_dry(const struct mf_session *s, const size_t dims[3], const struct mf_target *target,
                 const struct mf_solve_opts *solve, const struct mf_run_plan *plan)
{
    const size_t fields = mf_solve_fields(target, solve);
    struct mf_peaks peaks;
    int rc = mf_solve_measure(s->comm, s->home->backend, s->home, dims, target, solve, NULL);

    if (mf_peaks_unlimited(s, rc)) rc = measure_without_limit(s, dims, target, solve);
    MF_TRY(rc);
    MF_TRY(mf_peaks_of(s, &peaks));
    if (s->comm->rank == 0 && mf_common_of(s)->json) rc = print_json(s, dims, fields, &peaks, seconds_of(plan));
    if (s->comm->rank == 0 && !mf_common_of(s)->json) print_text(s, dims, fields, &peaks, seconds_of(plan));
    mf_peaks_free(&peaks);
    return mf_agree(s->comm, rc);
}
