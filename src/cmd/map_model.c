/* See map_model.h. */
#include "src/cmd/map_model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dry.h"
#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/gen/lists.h"
#include "src/model/encoder.h"
#include "src/model/language_files.h"
#include "src/net/pass.h"

/* A queue of the machine that the devices are of. */
struct dry {
    struct mf_backend_dry backend;
    struct mf_arena *arena;
    struct mf_queue *queue;
};

static int open_dry(const struct mf_session *s, const struct mf_mapped *m, struct dry *d)
{
    struct mf_dry_kind kind = {.simd = m->hardware.host[0].simd};

    for (size_t k = 0; k < m->devices.count && !kind.apart; ++k) {
        kind.apart = !m->devices.device[k].is_cores;
        kind.capability = m->devices.device[k].capability;
    }
    *d = (struct dry){.queue = NULL};
    mf_backend_dry(&kind, &d->backend);
    MF_TRY(mf_arena_open(&d->arena, &mf_mem_dry, 0));
    return mf_queue_dry(&d->queue, &d->backend, s->threads, s->settings.deterministic, d->arena, d->arena);
}

static void close_dry(struct dry *d)
{
    if (d->queue) d->backend.backend.queue_close(d->queue);
    mf_arena_close(d->arena);
}

/* -- language models -- */

/* A model that continues texts: a pass is a chunk of a prompt. */
static int read_decoder(const struct mf_map_opts *o, struct mf_mapped *m, struct mf_queue *queue)
{
    const struct mf_gen_size size = {.requests = m->requests, .context = m->context};
    struct mf_gen_lists lists;
    int rc, weights;

    MF_TRY(mf_decoder_read(m->name, &m->language, &weights));
    MF_TRY(mf_language_weigh(&m->language, o->dtype, &o->keep));
    MF_TRY(mf_gen_check_context(&m->language, m->name, m->context));
    if (m->context > MF_GEN_POSITIONS / m->requests)
        return mf_fail(MF_USAGE,
                       "%zu requests of a context of %zu have more than %d positions; try: a shorter --context",
                       m->requests, m->context, MF_GEN_POSITIONS);
    rc = mf_gen_lists_make(&m->language, &size, NULL, queue, &lists);
    if (rc == MF_OK) {
        const struct mf_decoder_list *chunk = &lists.prompt[MF_GEN_PROMPTS - 1];

        m->rows = chunk->rows;
        mf_parts_find(lists.net, chunk->list, &m->parts);
        if (!mf_apart(queue)) /* else logits are in the memory of the host, and not in that of a device */
            mf_parts_add(&m->parts, m->parts.count - 1, "logits", MF_F32, mf_gen_lists_host(&m->language, &lists));
    }
    mf_gen_lists_free(&lists, queue);
    return rc;
}

/* A model that reads whole texts: a pass takes all of them. */
static int read_encoder(struct mf_mapped *m, struct mf_queue *queue)
{
    struct mf_encoder_list texts;
    struct mf_net *net = mf_net_new();
    int rc;

    m->rows = m->requests * m->context;
    rc = mf_encoder_build(&m->language, net, "texts", m->requests, m->context, 1, &texts);
    if (rc == MF_OK) {
        mf_pass_fuse(texts.list, MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
        rc = mf_pass_plan(texts.list, queue);
    }
    if (rc == MF_OK) {
        mf_pass_live(net);
        mf_parts_find(net, texts.list, &m->parts);
    }
    mf_list_release(texts.list, queue);
    mf_net_free(net);
    return rc;
}

static int read_language(const struct mf_map_opts *o, struct mf_mapped *m, struct mf_queue *queue)
{
    m->is_language = 1;
    MF_TRY(mf_language_read(m->name, &m->language));
    m->context = o->context ? (size_t)o->context : m->language.context;
    if (m->language.family != MF_BERT) return read_decoder(o, m, queue);
    if (m->context > m->language.context)
        return mf_fail(MF_USAGE, "--context %zu: the model of '%.200s' has %zu positions", m->context, m->name,
                       m->language.context);
    if (strcmp(o->dtype, "auto") != 0 && strcmp(o->dtype, "f32") != 0)
        return mf_fail(MF_USAGE, "--dtype %s: models of type bert run with weights of f32 alone", o->dtype);
    return read_encoder(m, queue);
}

/* -- models of this program -- */

static void see(void *context, const struct mf_list *list)
{
    struct mf_mapped *m = context;

    mf_parts_find(list->net, list, &m->parts);
}

static int read_card(struct mf_mapped *m, struct mf_queue *queue)
{
    const struct mf_model_wish wish = {.batch = m->requests};

    MF_TRY(mf_model_card_open(m->name, &m->card));
    if (m->card.outputs.count == 0 && !m->card.denoise) return mf_model_card_refuse(&m->card, "classes");
    m->rows = m->requests;
    return mf_model_draft(&m->card, &wish, queue, see, m);
}

/* -- all -- */

/* --memory-limit and --gpu-memory-fraction leave less of what is free. */
static void limit(const struct mf_common *c, struct mf_place_devices *all)
{
    for (size_t k = 0; k < all->count; ++k) {
        struct mf_place_device *d = &all->device[k];
        const uint64_t most = d->is_cores ? d->memory : (uint64_t)(c->gpu_fraction * (double)d->memory);

        if (d->free > most) d->free = most;
        if (c->memory_limit && d->free > (uint64_t)c->memory_limit << 20) d->free = (uint64_t)c->memory_limit << 20;
    }
}

static int read_model(const struct mf_session *s, const struct mf_map_opts *o, struct mf_mapped *m)
{
    struct dry d;
    int rc = open_dry(s, m, &d);

    mf_fault_hold(1);
    if (rc == MF_OK) rc = mf_language_named(m->name) ? read_language(o, m, d.queue) : read_card(m, d.queue);
    mf_fault_hold(0);
    close_dry(&d);
    return rc;
}

static int check_kept(const struct mf_map_opts *o, const struct mf_mapped *m)
{
    if (o->keep.count == 0 || (m->is_language && m->language.family != MF_BERT)) return MF_OK;
    return mf_fail(MF_USAGE, "--keep is for models that continue texts; leave it out");
}

int mf_mapped_open(const struct mf_session *s, struct mf_map_opts *o, const char *name, struct mf_mapped *m)
{
    const char *device = mf_common_of(s)->device;
    const struct mf_texts one = {1, &device};
    const int by_device = o->devices.count == 0 && strcmp(device, "auto") != 0;
    const struct mf_place_wish wish = {by_device ? &one : &o->devices, o->lenient, o->prefer};
    struct mf_common common = *mf_common_of(s);

    *m = (struct mf_mapped){.name = name, .requests = (size_t)o->requests};
    MF_TRY(mf_plan_machine_of(s, &common, &o->wish, &m->hardware));
    mf_place_devices_find(&m->hardware, &m->all);
    limit(mf_common_of(s), &m->all);
    MF_TRY(mf_place_devices_choose(&m->hardware, &m->all, &wish, &m->devices));
    m->is_guess = o->estimate != NULL;
    if (m->is_guess) {
        mf_guess_find(name, (size_t)o->layers, &m->guess);
        mf_guess_parts(&m->guess, &m->parts);
    } else {
        MF_TRY(read_model(s, o, m));
    }
    return check_kept(o, m);
}

void mf_mapped_take_ranks(struct mf_mapped *m, size_t ranks)
{
    const struct mf_place_device cpu = m->all.device[m->all.count - 1];

    if (m->devices.count == ranks && !m->devices.device[0].is_cores) return;
    mf_place_devices_free(&m->devices);
    m->devices.count = ranks;
    m->devices.device = MF_MUST(calloc(ranks, sizeof *m->devices.device), "devices");
    m->devices.linked = MF_MUST(calloc(ranks, ranks), "links");
    for (size_t k = 0; k < ranks; ++k) {
        m->devices.device[k] = (struct mf_place_device){.memory = cpu.memory / ranks, .free = cpu.free / ranks};
        snprintf(m->devices.device[k].name, sizeof m->devices.device[k].name, "rank:%u", (unsigned)k);
    }
}

void mf_mapped_close(struct mf_mapped *m)
{
    mf_parts_free(&m->parts);
    mf_model_card_close(&m->card);
    mf_place_devices_free(&m->all);
    mf_place_devices_free(&m->devices);
    mf_hardware_free(&m->hardware);
}
