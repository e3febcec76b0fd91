/* See hardware.h: writing. */
#include <stdio.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/plan/hardware.h"
#include "src/plan/hardware_priv.h"

static void put_fields(struct mf_json *json, const struct mf_key *keys, const char *from)
{
    for (; keys->key; ++keys) {
        const void *field = from + keys->offset;

        if (keys->kind == MF_KEY_TEXT && *(const char *)field)
            mf_json_text(json, keys->key, field);
        else if (keys->kind == MF_KEY_INT && *(const int64_t *)field != (int64_t)keys->standard)
            mf_json_int(json, keys->key, *(const int64_t *)field);
        else if (keys->kind == MF_KEY_REAL && *(const double *)field != keys->standard)
            mf_json_real(json, keys->key, *(const double *)field);
    }
}

/* GPUs @p g and those after it that are equal and have no id. */
static size_t run_of(const struct mf_host *host, size_t g)
{
    const struct mf_gpu *first = &host->gpu[g];
    size_t n = 1;

    if (*first->uuid || *first->pci) return 1;
    while (g + n < host->gpus && mf_gpu_same(first, &host->gpu[g + n])) ++n;
    return n;
}

static struct mf_json *gpus_json(const struct mf_host *host)
{
    struct mf_json *all = mf_json_array();

    for (size_t g = 0, n; g < host->gpus; g += n) {
        struct mf_json *one = mf_json_object();
        const struct mf_gpu *gpu = &host->gpu[g];
        char capability[48];

        n = run_of(host, g);
        if (n > 1) mf_json_int(one, "count", (long long)n);
        snprintf(capability, sizeof capability, "%lld.%lld", (long long)gpu->major, (long long)gpu->minor);
        mf_json_text(one, "compute_capability", capability);
        put_fields(one, mf_gpu_keys, (const char *)gpu);
        mf_json_put(all, NULL, one);
    }
    return all;
}

static struct mf_json *link_json(const struct mf_link *link)
{
    struct mf_json *one = mf_json_object();

    mf_json_text(one, "kind", mf_link_names[link->kind]);
    if (link->rate > 0) mf_json_real(one, "gb_per_s", link->rate);
    return one;
}

static int all_links_alike(const struct mf_host *host)
{
    const struct mf_link *first = &host->link[1];

    for (size_t i = 0; i < host->gpus * host->gpus; ++i)
        if (i / host->gpus != i % host->gpus &&
            (host->link[i].kind != first->kind || host->link[i].rate != first->rate))
            return 0;
    return 1;
}

static struct mf_json *links_json(const struct mf_host *host)
{
    struct mf_json *all;

    if (all_links_alike(host) && host->link[1].kind != MF_LINK_NONE) return link_json(&host->link[1]);
    all = mf_json_array();
    for (size_t a = 0; a < host->gpus; ++a)
        for (size_t b = a + 1; b < host->gpus; ++b) {
            const struct mf_link *link = &host->link[a * host->gpus + b];
            struct mf_json *one, *pair;

            if (link->kind == MF_LINK_NONE) continue;
            one = link_json(link);
            pair = mf_json_array();
            mf_json_int(pair, NULL, (long long)a);
            mf_json_int(pair, NULL, (long long)b);
            mf_json_put(one, "gpus", pair);
            mf_json_put(all, NULL, one);
        }
    return all;
}

struct mf_json *mf_hardware_json(const struct mf_hardware *hardware)
{
    struct mf_json *json = mf_json_object(), *nodes = mf_json_array();

    MF_JSON(json, "schema", "hardware", "schema_version", MF_HARDWARE_VERSION, "creator", "mesoforge " MF_VERSION);
    if (*hardware->note) mf_json_text(json, "note", hardware->note);
    for (size_t h = 0; h < hardware->hosts; ++h) {
        const struct mf_host *host = &hardware->host[h];
        struct mf_json *node = mf_json_object();

        put_fields(node, mf_host_keys, (const char *)host);
        mf_json_put(node, "gpus", gpus_json(host));
        if (host->gpus > 1) mf_json_put(node, "links", links_json(host));
        mf_json_put(nodes, NULL, node);
    }
    mf_json_put(json, "nodes", nodes);
    return json;
}

int mf_hardware_write(const struct mf_comm *comm, const char *path, const struct mf_json *json)
{
    struct mf_atomic file;
    int rc = MF_OK;

    MF_TRY(mf_atomic_open(comm, path, 0, &file));
    if (comm->rank == 0) rc = mf_json_save(json, file.temporary, path);
    return mf_atomic_close(comm, &file, rc);
}
