/* See peaks.h. */
#include "src/session/peaks.h"

#include <stdio.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/resident.h"

enum { PREDICTED, ARENA, RSS, DEVICE, USED, PREDICTED_DEVICE, NUMBERS };

static double *column(const double (*all)[NUMBERS], int ranks, int which)
{
    double *values = MF_MUST(malloc((size_t)ranks * sizeof *values), "peaks");

    for (int r = 0; r < ranks; ++r) values[r] = all[r][which];
    return values;
}

int mf_peaks_of(const struct mf_session *session, struct mf_peaks *peaks)
{
    int ranks = session->comm->size, known = 1;
    double mine[NUMBERS] = {session->predicted,
                            (double)mf_arena_peak(session->arena),
                            (double)mf_resident_peak(),
                            (double)mf_arena_peak(session->device),
                            session->backend->peak ? (double)session->backend->peak(session->queue) : 0,
                            session->predicted_device};
    const double(*all)[NUMBERS];
    void *memory = NULL;

    MF_TRY(mf_comm_gather(session->comm, mine, sizeof mine, &memory, NULL));
    all = memory;
    for (int r = 0; r < ranks; ++r) known = known && all[r][PREDICTED] > 0;
    *peaks = (struct mf_peaks){.ranks = ranks, .arena = column(all, ranks, ARENA), .rss = column(all, ranks, RSS)};
    if (session->device != session->arena) peaks->device = column(all, ranks, DEVICE);
    if (session->backend->peak) peaks->used = column(all, ranks, USED);
    if (known) peaks->predicted = column(all, ranks, PREDICTED);
    if (session->predicted_device > 0) peaks->predicted_device = column(all, ranks, PREDICTED_DEVICE);
    free(memory);
    return MF_OK;
}

void mf_peaks_free(struct mf_peaks *peaks)
{
    free(peaks->predicted);
    free(peaks->predicted_device);
    free(peaks->device);
    free(peaks->used);
    free(peaks->arena);
    free(peaks->rss);
    *peaks = (struct mf_peaks){.ranks = 0};
}

static void put(struct mf_json *at, const char *key, const double *values, size_t n)
{
    if (values)
        mf_json_wholes(at, key, values, n);
    else
        mf_json_null(at, key);
}

void mf_peaks_json(const struct mf_peaks *peaks, struct mf_json *at)
{
    struct mf_json *j = mf_json_object();
    size_t n = (size_t)peaks->ranks;

    put(j, "predicted", peaks->predicted, n);
    put(j, "arena", peaks->arena, n);
    put(j, "rss", peaks->rss, n);
    put(j, "device", peaks->device, n);
    if (peaks->used) mf_json_wholes(j, "device_used", peaks->used, n);
    if (peaks->predicted_device) mf_json_wholes(j, "predicted_device", peaks->predicted_device, n);
    mf_json_put(at, "peak_bytes", j);
}

int mf_peaks_put(const struct mf_session *session, struct mf_json *at)
{
    struct mf_peaks peaks;

    MF_TRY(mf_peaks_of(session, &peaks));
    mf_peaks_json(&peaks, at);
    mf_peaks_free(&peaks);
    return MF_OK;
}

int mf_peaks_unlimited(const struct mf_session *session, int rc)
{
    if (rc != MF_MEMORY || !session->settings.dry_run || session->settings.memory_limit == 0) return 0;
    mf_err_clear();
    mf_arena_unlimit(session->arena);
    mf_arena_unlimit(session->device);
    return 1;
}

int mf_peaks_over(const struct mf_session *session)
{
    const size_t limit = session->settings.memory_limit, host = mf_arena_peak(session->arena),
                 device = session->device != session->arena ? mf_arena_peak(session->device) : 0;
    const size_t most = device > host ? device : host;

    return mf_agree(session->comm, most <= limit
                                       ? MF_OK
                                       : mf_fail(MF_MEMORY, "the arrays need %zu bytes%s, --memory-limit is %zu", most,
                                                 device > host ? " of device memory" : "", limit));
}

static void say_tag(void *context, const char *tag, size_t live, size_t peak)
{
    (void)context;
    mf_debug("  %-24s %10.1f MiB at most, %.1f now", tag, (double)peak / (1 << 20), (double)live / (1 << 20));
}

void mf_peaks_say(const struct mf_session *session, const struct mf_peaks *peaks)
{
    int fullest = 0;
    char predicted[64] = "";

    for (int r = 1; r < peaks->ranks; ++r)
        if (peaks->rss[r] > peaks->rss[fullest]) fullest = r;
    if (peaks->predicted)
        snprintf(predicted, sizeof predicted, "predicted %.1f MiB, ", peaks->predicted[fullest] / (1 << 20));
    mf_info("memory of the fullest rank (%d): %sbooked %.1f MiB, measured %.1f MiB", fullest, predicted,
            peaks->arena[fullest] / (1 << 20), peaks->rss[fullest] / (1 << 20));
    mf_arena_tags(session->arena, say_tag, NULL);
}
