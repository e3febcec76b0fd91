/* See device.h. */
#include "src/session/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/plan/bind.h"

enum { DEVICES = 64, NAME = 16, HOST = 64 };

/* --device NAME[:NUMBER] */
struct wish {
    char name[NAME];
    long number;  /* -1: none */
    int is_asked; /* what stands in the way is a refusal, not a reason */
};

/* Record of a rank for the others. */
struct record {
    char host[HOST];
    int local_rank;
    size_t devices;
    struct mf_device_id id[DEVICES];
};

/* Devices of other programs. Apple's are a matter of the machine, as GPUs of NVIDIA are. */
static int check_foreign(const char *name)
{
    if (strcmp(name, "mps") == 0)
        return mf_fail(MF_DEVICE, "--device mps: this program does not compute on GPUs of Apple; try: --device cpu");
    if (strcmp(name, "hip") == 0 || strcmp(name, "rocm") == 0 || strcmp(name, "tpu") == 0)
        return mf_fail(MF_USAGE,
                       "--device %s: this program computes on CPUs and on GPUs of NVIDIA; try: --device auto, cpu or "
                       "cuda",
                       name);
    return MF_OK;
}

static int parse(const char *text, struct wish *wish)
{
    const char *colon = strchr(text, ':');
    const size_t n = colon ? (size_t)(colon - text) : strlen(text);
    char *end;

    wish->number = -1;
    wish->is_asked = 1;
    snprintf(wish->name, sizeof wish->name, "%.*s", n < NAME ? (int)n : NAME - 1, text);
    MF_TRY(check_foreign(wish->name));
    if (!colon && n < NAME) return MF_OK;
    if (!colon || strcmp(wish->name, "cuda") != 0)
        return mf_fail(MF_USAGE, "no back end '%s'; try: auto, cpu, cuda or cuda:N", text);
    wish->number = strtol(colon + 1, &end, 10);
    if (end == colon + 1 || *end || wish->number < 0 || wish->number > 1 << 20)
        return mf_fail(MF_USAGE, "--device '%s': behind the colon stands the number of a GPU", text);
    return MF_OK;
}

/* The ranks of a node have its name; nodes are numbered by their first rank. */
static void describe(const struct record *all, size_t ranks, struct mf_bind_rank *rank, const char **id)
{
    for (size_t r = 0; r < ranks; ++r) {
        size_t k = 0;

        while (strcmp(all[k].host, all[r].host) != 0) ++k;
        rank[r] = (struct mf_bind_rank){all[r].host, (int)k, all[r].local_rank, all[r].devices, id + r * DEVICES};
        for (size_t d = 0; d < all[r].devices; ++d) id[r * DEVICES + d] = all[r].id[d].text;
    }
}

static int check_number(const struct mf_session *session, const struct wish *wish, const struct mf_bind_rank *rank)
{
    if (wish->number < 0) return MF_OK;
    for (int r = 0; r < session->comm->size; ++r)
        if ((size_t)wish->number >= rank[r].gpus)
            return mf_fail(MF_DEVICE, "--device cuda:%ld: rank %d on '%s' sees %zu GPU%s, counted from 0", wish->number,
                           r, rank[r].host, rank[r].gpus, MF_S(rank[r].gpus));
    return MF_OK;
}

/* Bytes of this rank's GPU, by the ranks that take it. */
static size_t bytes_of(const struct mf_session *session, const struct mf_bind_rank *rank, const int *gpu,
                       const struct record *all)
{
    const int me = session->comm->rank;
    size_t sharers = 0;

    for (int r = 0; r < session->comm->size; ++r)
        sharers += rank[r].node == rank[me].node && strcmp(rank[r].gpu[gpu[r]], rank[me].gpu[gpu[me]]) == 0;
    return all[me].id[gpu[me]].bytes / sharers;
}

/* Which device each rank takes: the same on all ranks. */
static int bind_all(struct mf_session *session, const struct wish *wish, const struct record *all, int *device)
{
    const struct mf_settings *set = &session->settings;
    const size_t ranks = (size_t)session->comm->size;
    const struct mf_bind_options options = {wish->number < 0 ? set->gpu_ids.count : 1,
                                            wish->number < 0 ? set->gpu_ids.at : &wish->number, set->share_gpu};
    struct mf_bind_rank *rank = MF_MUST(calloc(ranks, sizeof *rank), "devices");
    const char **id = MF_MUST(calloc(ranks * DEVICES, sizeof *id), "devices");
    int *gpu = MF_MUST(calloc(ranks, sizeof *gpu), "devices"), rc;

    describe(all, ranks, rank, id);
    rc = check_number(session, wish, rank);
    if (rc == MF_OK) {
        rc = mf_bind(rank, ranks, &options, gpu);
        if (rc != MF_OK && wish->is_asked) mf_bind_say(rank, ranks, gpu);
    }
    *device = gpu[session->comm->rank];
    if (rc == MF_OK) session->gpu_bytes = bytes_of(session, rank, gpu, all);
    free(rank);
    free(id);
    free(gpu);
    return rc;
}

/* The ranks tell each other which devices they see. */
static int bind_devices(struct mf_session *session, const struct wish *wish, int *device)
{
    const struct mf_comm *comm = session->comm;
    struct record *own = MF_MUST(calloc(1, sizeof *own), "devices");
    void *all = NULL;
    int rc;

    if (gethostname(own->host, sizeof own->host - 1) != 0) snprintf(own->host, sizeof own->host, "node");
    own->local_rank = comm->local_rank;
    own->devices = session->backend->devices(DEVICES, own->id);
    if (own->devices > DEVICES) own->devices = DEVICES;
    rc = mf_comm_gather(comm, own, sizeof *own, &all, NULL);
    if (rc == MF_OK) rc = bind_all(session, wish, all, device);
    if (rc == MF_OK) session->gpu = own->id[*device];
    free(own);
    free(all);
    return rc;
}

/* A back end by name, and this rank's device. */
static int choose(struct mf_session *session, const struct wish *wish, int *device)
{
    *device = 0;
    MF_TRY(mf_agree(session->comm, mf_backend_find(&session->backend, wish->name)));
    return session->backend->devices ? bind_devices(session, wish, device) : MF_OK;
}

/* The GPUs if that goes without a refusal. */
static int choose_best(struct mf_session *session, int *device)
{
    struct wish wish = {"cuda", -1, 0};
    char why[MF_ERR_TEXT];

    if (session->work == MF_WORK_GPUS && choose(session, &wish, device) == MF_OK) {
        mf_info("device: cuda (auto: it is installed, and every rank has a GPU; rank 0 takes number %d)", *device);
        return MF_OK;
    }
    mf_err_take(why, sizeof why);
    snprintf(wish.name, sizeof wish.name, "cpu");
    MF_TRY(choose(session, &wish, device));
    if (session->work == MF_WORK_GPUS)
        mf_info("device: cpu (auto: %s)", strncmp(why, "--device: ", 10) == 0 ? why + 10 : why);
    return MF_OK;
}

static int choose_asked(struct mf_session *session, int *device)
{
    struct wish wish;

    MF_TRY(mf_agree(session->comm, parse(session->settings.device, &wish)));
    if (session->work == MF_WORK_NONE && strcmp(wish.name, "cuda") == 0) /* for a machine that may be elsewhere */
        snprintf(wish.name, sizeof wish.name, "cpu");
    if (strcmp(wish.name, "auto") == 0) return choose_best(session, device);
    return choose(session, &wish, device);
}

int mf_device_choose(struct mf_session *session, int *device)
{
    const struct wish cores = {"cpu", -1, 0};
    char why[MF_ERR_TEXT];
    const int rc = choose_asked(session, device);

    if (rc != MF_DEVICE || !session->settings.lenient) return rc;
    mf_err_take(why, sizeof why);
    if (session->comm->rank == 0) mf_warn("%s: the cores do the work (--lenient-devices)", why);
    return choose(session, &cores, device);
}

int mf_device_is_free(const struct mf_session *session)
{
    return session->backend->devices && strcmp(session->settings.device, "auto") == 0 &&
           session->settings.gpu_ids.count == 0;
}

int mf_device_may_leave(const struct mf_session *session)
{
    char why[MF_ERR_TEXT];

    if (!mf_device_is_free(session)) return 0;
    mf_err_take(why, sizeof why);
    mf_warn("device: cpu after all (auto: %s)", why);
    return 1;
}
