/* See map_advise.h. */
#include "src/cmd/map_advise.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/model/decoder.h"

/* -- recommend -- */

static uint64_t bytes_of_all(const struct mf_mapped *m)
{
    return m->is_guess ? (uint64_t)(m->guess.total * (double)((size_t)1 << 30)) : mf_parts_bytes(&m->parts, NULL);
}

/* The GPU with the least (or most) free memory of those with so much; NULL: none has. */
static const struct mf_place_device *best_gpu(const struct mf_mapped *m, double bytes, int largest)
{
    const struct mf_place_device *best = NULL;

    for (size_t d = 0; d < m->devices.count; ++d) {
        const struct mf_place_device *now = &m->devices.device[d];

        if (now->is_cores || (double)now->free < bytes) continue;
        if (!best || (largest ? now->free > best->free : now->free < best->free)) best = now;
    }
    return best;
}

static size_t gpus_of(const struct mf_mapped *m, char text[200], double *free)
{
    size_t n = 0;

    *text = '\0';
    *free = 0;
    for (size_t d = 0; d < m->devices.count; ++d) {
        if (m->devices.device[d].is_cores) continue;
        mf_enumerate(text, 200, "%s", m->devices.device[d].name);
        *free += (double)m->devices.device[d].free;
        ++n;
    }
    return n;
}

static void advise_one(struct mf_map_advice *a, const struct mf_place_device *d, uint64_t bytes, const char *why)
{
    a->kind = "single";
    a->one = d;
    snprintf(a->devices, sizeof a->devices, "%s", d->name);
    snprintf(a->reason, sizeof a->reason, "%s is the %s: it has %" PRIu64 " bytes free, and the model needs %" PRIu64,
             d->name, why, d->free, bytes);
}

/* As ipfs_accelerate_py: several GPUs if all together have enough. */
static void advise_largest(const struct mf_mapped *m, uint64_t bytes, struct mf_map_advice *a)
{
    const struct mf_place_device *one = best_gpu(m, (double)bytes, 1);
    double sum;
    const size_t n = gpus_of(m, a->devices, &sum);

    if (n > 1 && sum >= (double)bytes) {
        a->kind = "multi";
        a->strategy = (double)bytes > 0.7 * sum ? "balanced" : "auto";
        snprintf(a->reason, sizeof a->reason, "%zu GPUs have %.0f bytes free, and the model needs %.0f %% of them", n,
                 sum, 100 * (double)bytes / sum);
    } else if (one) {
        advise_one(a, one, bytes, "largest GPU that holds the model");
    }
}

static void advise_smallest(const struct mf_mapped *m, uint64_t bytes, struct mf_map_advice *a)
{
    const struct mf_place_device *roomy = best_gpu(m, (double)bytes / 0.9, 0), *full = best_gpu(m, (double)bytes, 1);
    struct mf_device_map p = {.parts = 0};
    double sum;

    if (roomy) {
        advise_one(a, roomy, bytes, "smallest GPU that holds the model with a tenth to spare");
    } else if (full) {
        advise_one(a, full, bytes, "largest GPU that holds the model");
    } else if (gpus_of(m, a->devices, &sum) > 0 && mf_place_auto(&m->parts, &m->devices, &p) == MF_OK) {
        a->kind = "multi";
        a->strategy = "auto";
        snprintf(a->reason, sizeof a->reason, "no GPU has %" PRIu64 " bytes free, and together they hold the model",
                 bytes);
    }
    mf_err_clear();
    mf_device_map_free(&p);
}

/* The cores come last. */
static void advise_cores(const struct mf_mapped *m, uint64_t bytes, struct mf_map_advice *a)
{
    const struct mf_place_device *cpu = &m->all.device[m->all.count - 1];

    if (a->kind || cpu->free < bytes) return;
    a->kind = "cpu";
    snprintf(a->devices, sizeof a->devices, "cpu");
    snprintf(a->reason, sizeof a->reason, "%s, and host memory has %" PRIu64 " bytes free",
             m->all.count > 1 ? "the GPUs do not hold the model" : "there is no GPU", cpu->free);
}

int mf_map_advise(const struct mf_mapped *m, const char *policy, struct mf_map_advice *advice)
{
    const uint64_t bytes = bytes_of_all(m);
    struct mf_map_advice a = {.needed = bytes};
    struct mf_device_map p;
    int rc;

    (strcmp(policy, "largest") == 0 ? advise_largest : advise_smallest)(m, bytes, &a);
    advise_cores(m, bytes, &a);
    *advice = a;
    if (a.kind) return MF_OK;
    rc = mf_place_auto(&m->parts, &m->all, &p);
    mf_device_map_free(&p);
    return rc == MF_OK ? mf_fail(MF_MEMORY, "the model needs %" PRIu64 " bytes; try: --devices cuda cpu", bytes) : rc;
}

int mf_map_recommend(const struct mf_mapped *m, const char *policy, int as_json)
{
    struct mf_map_advice a;
    struct mf_json *json;
    int rc;

    MF_TRY(mf_map_advise(m, policy, &a));
    if (!as_json) {
        printf("%s: %s%s%s\n  %s\n", m->name, a.devices, a.strategy ? ", --strategy " : "",
               a.strategy ? a.strategy : "", a.reason);
        return MF_OK;
    }
    json = mf_json_object();
    MF_JSON(json, "model", m->name, "needed", (size_t)a.needed, "kind", a.kind, "devices", (const char *)a.devices,
            "policy", policy, "reason", (const char *)a.reason);
    mf_json_some(json, "strategy", a.strategy);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

/* -- ways to cut layers -- */

/* Can every layer be cut for so many GPUs? */
static int check_ways(const struct mf_mapped *m, size_t n)
{
    if (!m->is_language || n == 1) return MF_OK;
    if (m->language.family == MF_BERT)
        return mf_fail(MF_USAGE, "GPUs do not share layers of a model of type bert; try: one of --devices");
    return mf_decoder_can_split(&m->language, n);
}

int mf_map_tp_config(const struct mf_mapped *m)
{
    struct mf_json *json, *ids;
    size_t n = 0;
    int rc;

    for (size_t d = 0; d < m->devices.count; ++d) n += (size_t)!m->devices.device[d].is_cores;
    if (n == 0) return mf_fail(MF_DEVICE, "--tp-config is of GPUs, and none is chosen; try: --hardware FILE");
    MF_TRY(check_ways(m, n));
    json = mf_json_object();
    ids = mf_json_array();
    for (size_t d = 0; d < m->devices.count; ++d)
        if (!m->devices.device[d].is_cores) mf_json_int(ids, NULL, strtol(m->devices.device[d].name + 5, NULL, 10));
    MF_JSON(json, "tensor_parallel_size", n, "gpu_ids", ids, "max_parallel_loading_workers", mf_min(8, 2 * n));
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}
