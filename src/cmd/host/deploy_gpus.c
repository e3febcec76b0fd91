/* See deploy.h: which GPUs a container gets, what they are called outside, and how they share a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/host/deploy.h"
#include "src/cmd/map_advise.h"
#include "src/model/decoder.h"
#include "src/plan/nvml.h"

/* -- what they are called -- */

/* The GPU of cuda:N on the first node, and its place there. NULL: it is on another node. */
static const struct mf_gpu *gpu_of(const struct mf_hardware *hardware, const char *name, size_t *place)
{
    const struct mf_host *host = hardware->host;
    long number = strtol(name + strlen("cuda:"), NULL, 10);

    for (size_t g = 0; g < host->gpus; ++g) {
        if (host->gpu[g].hidden || number-- > 0) continue;
        *place = g;
        return &host->gpu[g];
    }
    return NULL;
}

/* The driver's number of a whole GPU; @p place where it has none. */
static size_t number_of(const struct mf_nvml *seen, const struct mf_gpu *gpu, size_t place)
{
    for (size_t i = 0; i < seen->gpus; ++i)
        if (*gpu->uuid && strcmp(seen->gpu[i].gpu.uuid, gpu->uuid) == 0) return (size_t)seen->gpu[i].index;
    return place;
}

static void add_name(struct mf_deploy_gpus *to, const char *name)
{
    char *list = to->count > 0 ? mf_format("%s,%s", to->list, name) : mf_format("%s", name);

    free(to->list);
    to->list = list;
    ++to->count;
}

static int add_gpu(const struct mf_hardware *hardware, const struct mf_nvml *seen, const struct mf_place_device *device,
                   struct mf_deploy_gpus *to)
{
    size_t place = 0;
    const struct mf_gpu *gpu = gpu_of(hardware, device->name, &place);
    char number[24];

    if (!gpu)
        return mf_fail(MF_USAGE, "%s is on another node, and a container gets GPUs of one; try: --devices cuda:0",
                       device->name);
    snprintf(number, sizeof number, "%zu", number_of(seen, gpu, place));
    if (to->count == 0) to->capability = device->capability;
    add_name(to, strncmp(gpu->uuid, "MIG-", 4) == 0 ? gpu->uuid : number);
    return MF_OK;
}

/* A GPU or cores, not both. */
static int add_all(const struct mf_hardware *hardware, int is_here, const struct mf_place_devices *chosen,
                   struct mf_deploy_gpus *to)
{
    struct mf_nvml seen = {.gpus = 0};
    int rc = MF_OK, cores = 0;

    if (is_here) mf_nvml_look(&seen);
    for (size_t d = 0; d < chosen->count && rc == MF_OK; ++d)
        if (chosen->device[d].is_cores)
            cores = 1;
        else
            rc = add_gpu(hardware, &seen, &chosen->device[d], to);
    if (rc == MF_OK && cores && to->count > 0)
        rc = mf_fail(MF_USAGE, "--devices: a server computes on GPUs or on the cores; leave cpu out, or the GPUs");
    mf_nvml_free(&seen);
    if (rc == MF_OK && to->count > 1 && strstr(to->list, "MIG-"))
        mf_warn("a process of CUDA sees one part of a GPU: servers of one process use the first");
    return rc;
}

/* -- those that are asked for -- */

/* The name outside of "cuda:2", or of a UUID; NULL: it is neither. */
static const char *outer_name(const char *word)
{
    const char *number = strncmp(word, "cuda:", 5) == 0 ? word + 5 : "";

    if (*number && strspn(number, "0123456789") == strlen(number)) return number;
    return strncmp(word, "GPU-", 4) == 0 || strncmp(word, "MIG-", 4) == 0 ? word : NULL;
}

static int has_name(const struct mf_deploy_gpus *gpus, const char *name)
{
    const size_t n = strlen(name);

    for (const char *at = gpus->list; *at; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, ",") == n && strncmp(at, name, n) == 0) return 1;
    return 0;
}

/* GPUs that are not here are named as they are asked for, in a line that is run elsewhere. */
static int take_absent(const struct mf_texts *words, struct mf_deploy_gpus *to)
{
    int rc = MF_OK;

    for (size_t k = 0; k < words->count && rc == MF_OK; ++k) {
        char *text = mf_format("%s", words->at[k]), *rest = text, *word;

        while (rc == MF_OK && (word = strsep(&rest, ","))) {
            const char *name = outer_name(word);

            if (name && !mf_box_is_gpus(name)) name = NULL;
            if (*word && !name)
                rc = mf_fail(MF_USAGE, "--devices '%.60s' beside GPUs that are not here: name each as cuda:N", word);
            else if (*word && !has_name(to, name))
                add_name(to, name);
        }
        free(text);
    }
    to->capability = -1;
    return rc;
}

static int choose(const struct mf_deploy_opts *o, const struct mf_hardware *hardware, struct mf_deploy_gpus *to)
{
    const struct mf_place_wish wish = {.words = &o->devices};
    struct mf_place_devices all, chosen = {.count = 0};
    int rc;

    mf_place_devices_find(hardware, &all);
    rc = mf_place_devices_choose(hardware, &all, &wish, &chosen);
    if (rc == MF_OK)
        rc = add_all(hardware, !o->hardware, &chosen, to);
    else if (rc == MF_DEVICE && o->common.dry_run && !o->hardware) {
        mf_warn("%s; the line names what was asked for", mf_err_text());
        mf_err_clear();
        rc = take_absent(&o->devices, to);
    }
    mf_place_devices_free(&chosen);
    mf_place_devices_free(&all);
    return rc;
}

static int find(const struct mf_session *s, const struct mf_deploy_opts *o, struct mf_deploy_gpus *to)
{
    struct mf_plan_wish wish = {.hardware = o->hardware};
    struct mf_common common = *mf_common_of(s);
    struct mf_hardware hardware;
    int rc;

    common.device = "auto";
    rc = mf_plan_machine_of(s, &common, &wish, &hardware);
    if (rc == MF_OK) rc = choose(o, &hardware, to);
    mf_hardware_free(&hardware);
    return rc;
}

/* -- those that map recommends -- */

static int take_advice(const struct mf_deploy_opts *o, const struct mf_mapped *m, struct mf_deploy_gpus *to)
{
    struct mf_map_advice advice;
    struct mf_place_devices one = {.count = 1};

    MF_TRY(mf_map_advise(m, "smallest", &advice));
    snprintf(to->why, sizeof to->why, "%s%s", advice.reason, m->is_guess ? " (its size is a guess by its name)" : "");
    if (strcmp(advice.kind, "cpu") == 0) {
        mf_warn("--auto-select takes the cores: %s", to->why);
        return MF_OK;
    }
    (m->is_guess ? mf_warn : mf_info)("--auto-select takes %s: %s", advice.devices, to->why);
    if (strcmp(advice.kind, "multi") == 0) return add_all(&m->hardware, !o->hardware, &m->devices, to);
    one.device = (struct mf_place_device *)(uintptr_t)advice.one;
    return add_all(&m->hardware, !o->hardware, &one, to);
}

static int select_by_size(const struct mf_session *s, const struct mf_deploy_opts *o,
                          const struct mf_deploy_model *model, struct mf_deploy_gpus *to)
{
    struct mf_map_opts map = {.common = *mf_common_of(s),
                              .wish = {.hardware = o->hardware},
                              .dtype = "auto",
                              .devices = o->devices,
                              .requests = 1};
    struct mf_mapped m;
    int rc;

    if (!model->mount || !model->is_language) map.estimate = o->model;
    rc = mf_mapped_open(s, &map, o->model, &m);
    if (rc == MF_OK) rc = take_advice(o, &m, to);
    mf_mapped_close(&m);
    return rc;
}

int mf_deploy_gpus_find(const struct mf_session *session, const struct mf_deploy_opts *o,
                        const struct mf_server_kind *kind, const struct mf_deploy_model *model,
                        struct mf_deploy_gpus *gpus)
{
    *gpus = (struct mf_deploy_gpus){.list = MF_MUST(strdup(""), "GPUs")};
    MF_TRY(o->auto_select ? select_by_size(session, o, model, gpus) : find(session, o, gpus));
    if (kind->gpus == 0 || gpus->count <= kind->gpus) return MF_OK;
    if (o->devices.count > 0)
        return mf_fail(MF_USAGE, "%s computes on one GPU, and %ld are given; start a container for each", kind->name,
                       gpus->count);
    gpus->list[strcspn(gpus->list, ",")] = '\0';
    mf_info("%s computes on one GPU: the first is taken", kind->name);
    gpus->count = 1;
    return MF_OK;
}

void mf_deploy_gpus_free(struct mf_deploy_gpus *gpus) { free(gpus->list); }

/* -- how they share a model -- */

static int can_split(const struct mf_deploy_model *m, long gpus)
{
    if (!m->is_language) return MF_OK;
    if (m->language.family == MF_BERT)
        return mf_fail(MF_USAGE, "GPUs do not share layers of a model of type bert; try: one of --devices");
    return mf_decoder_can_split(&m->language, (size_t)gpus);
}

static int refuse_way(const char *what, const struct mf_server_kind *kind)
{
    return mf_fail(MF_USAGE, "--strategy %s: %s has no such way to share a model%s", what, kind->name,
                   kind->tensors || kind->pipeline ? "; try: --strategy auto" : "");
}

int mf_deploy_share(const struct mf_deploy_opts *o, const struct mf_server_kind *kind,
                    const struct mf_deploy_model *model, long gpus, int *is_pipeline)
{
    const int wants_tensors = strcmp(o->strategy, "tensor-parallel") == 0;

    *is_pipeline = strcmp(o->strategy, "pipeline-parallel") == 0;
    if (wants_tensors && !kind->tensors) return refuse_way(o->strategy, kind);
    if (*is_pipeline && !kind->pipeline) return refuse_way(o->strategy, kind);
    if (gpus < 2) return MF_OK;
    if (*is_pipeline && model->is_language && (size_t)gpus > model->language.layers)
        return mf_fail(MF_USAGE, "%ld GPUs are more than the model has layers (%zu)", gpus, model->language.layers);
    if (*is_pipeline || !kind->tensors) return MF_OK;
    if (can_split(model, gpus) == MF_OK) return MF_OK;
    if (wants_tensors || !kind->pipeline || model->language.family == MF_BERT) return MF_USAGE;
    mf_err_clear();
    mf_info("each of the %ld GPUs gets some of the layers, since their heads do not divide by %ld", gpus, gpus);
    *is_pipeline = 1;
    return MF_OK;
}
