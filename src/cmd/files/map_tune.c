/* See map_tune.h. */
#include "src/cmd/files/map_tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/gen/engine.h"
#include "src/gen/workload.h"
#include "src/place/pipeline.h"

enum { PROMPT = 16, MADE = 24, TRIALS = 10 /* maps, at most */ };

static const double GAIN = 0.97; /* of the time that a map must not exceed to be better */

struct tuning {
    struct mf_session *session;
    struct mf_mapped *m;
    struct mf_device_map *best;
    double seconds;      /* of a step by it */
    size_t prompt, made; /* tokens of a request */
    char *tried[TRIALS];
    size_t trials;
};

/* -- a trial -- */

static int refuse_context(const struct mf_mapped *m)
{
    return mf_fail(MF_USAGE, "a context of %zu has too few steps to time them; try: --context %d", m->context,
                   PROMPT + MADE);
}

static int told(void *context, uint32_t token, double log_probability)
{
    (void)context, (void)token, (void)log_probability;
    return 1;
}

/* Seconds of a step behind the first tokens. Other programs may run, so it is the best time of as many steps as there
 * are stages. */
static int walk(struct tuning *t, struct mf_engine *engine, double *seconds)
{
    static const uint32_t prompt[PROMPT] = {0};
    const struct mf_request r = {.token = prompt, .tokens = t->prompt, .most = t->made, .told = told};
    const int stages = t->session->comm->size;
    int left = 0;

    for (size_t k = 0; k < t->m->requests; ++k)
        if (mf_engine_add(engine, &r) < 0) return MF_USAGE;
    for (size_t k = 0; k <= t->m->requests; ++k) left = mf_engine_step(engine);
    for (*seconds = INFINITY; left > 0;) {
        const double began = mf_now();
        int steps = 0;

        for (; left > 0 && steps < stages; ++steps) left = mf_engine_step(engine);
        if (steps == stages) *seconds = fmin(*seconds, (mf_now() - began) / stages);
    }
    if (left < 0) return -left;
    if (isfinite(*seconds)) return MF_OK;
    return refuse_context(t->m);
}

static int time_map(struct tuning *t, const char *map, double *seconds)
{
    const struct mf_comm *comm = t->session->comm;
    const struct mf_engine_wish wish = {.requests = t->m->requests,
                                        .context = t->prompt + t->made,
                                        .random = 1,
                                        .weights = t->m->language.weights,
                                        .kept = t->m->language.kept,
                                        .comm = comm,
                                        .stages = (size_t)comm->size,
                                        .map = map};
    struct mf_engine *engine;
    int rc = mf_engine_open(t->m->name, &wish, t->session->queue, &engine);

    if (rc == MF_OK) rc = walk(t, engine, seconds);
    rc = mf_agree(comm, rc);
    mf_engine_close(engine);
    if (rc == MF_OK) mf_comm_max(comm, 1, seconds);
    return rc;
}

/* Is the map new? It is remembered. */
static int is_new(struct tuning *t, char *text_take)
{
    size_t k = 0;

    while (k < t->trials && strcmp(t->tried[k], text_take) != 0) ++k;
    if (k == t->trials && k < TRIALS) {
        t->tried[t->trials++] = text_take;
        return 1;
    }
    free(text_take);
    return 0;
}

/* Times a map that was not tried, and keeps it if it is better. @p take is freed or kept. */
static int try_map(struct tuning *t, struct mf_device_map *take, int *better)
{
    char *text = mf_device_map_text(take, &t->m->parts, &t->m->devices);
    double seconds = 0;
    int rc;

    *better = 0;
    if (!is_new(t, text)) {
        mf_device_map_free(take);
        return MF_OK;
    }
    rc = time_map(t, text, &seconds);
    *better = rc == MF_OK && (t->seconds == 0 || seconds < GAIN * t->seconds);
    if (rc == MF_OK && t->session->comm->rank == 0)
        mf_info("map: %.3f ms a step%s: %s", 1e3 * seconds, *better ? ", the best" : "", text);
    if (*better) {
        const struct mf_device_map old = *t->best;

        *t->best = *take;
        *take = old;
        t->seconds = seconds;
    }
    mf_device_map_free(take);
    return rc;
}

/* -- moving boundaries -- */

/* The best map with its boundary in front of part @p part moved by one part. 0: a device would have none. */
static int moved(const struct tuning *t, size_t part, int forward, struct mf_device_map *to)
{
    const size_t *device = t->best->device, at = forward ? part : part - 1, other = forward ? part - 1 : part;
    size_t left = 0;

    for (size_t k = 0; k < t->best->parts; ++k) left += device[k] == device[at];
    if (left == 1) return 0;
    mf_device_map_new(to, t->best->parts);
    memcpy(to->device, device, t->best->parts * sizeof *device);
    to->device[at] = device[other];
    return 1;
}

/* Boundaries are moved both ways, one after the other, until none gains. */
static int move_all(struct tuning *t)
{
    int better = 1;

    while (better) {
        better = 0;
        for (size_t part = 1; part < t->best->parts; ++part)
            for (int forward = 0; forward < 2; ++forward) {
                struct mf_device_map next;
                int won = 0;

                if (t->best->device[part] == t->best->device[part - 1] || !moved(t, part, forward, &next)) continue;
                MF_TRY(try_map(t, &next, &won));
                better |= won;
            }
    }
    return MF_OK;
}

/* -- all -- */

static int try_first(struct tuning *t)
{
    struct mf_device_map first;
    int better;

    MF_TRY(
        mf_agree(t->session->comm, mf_place_stages(&t->m->parts, t->m->devices.count, NULL, &t->m->language, &first)));
    MF_TRY(try_map(t, &first, &better));
    mf_place_balanced(&t->m->parts, &t->m->devices, &first);
    if (mf_device_map_boundaries(&first) + 1 < t->m->devices.count) { /* a device has no block */
        mf_device_map_free(&first);
        return MF_OK;
    }
    return try_map(t, &first, &better);
}

int mf_map_tune(struct mf_session *session, struct mf_mapped *m, struct mf_device_map *best)
{
    struct tuning t = {.session = session, .m = m, .best = best, .prompt = PROMPT, .made = MADE};
    const size_t ranks = (size_t)session->comm->size;
    int rc;

    *best = (struct mf_device_map){.parts = 0};
    if (!m->is_language || m->language.family == MF_BERT)
        return mf_fail(MF_USAGE, "--measure is for language models that continue texts, and '%.200s' is none", m->name);
    if (ranks < 2) return mf_fail(MF_USAGE, "--measure needs a rank for each device; try: mpirun -n 2");
    if (ranks > m->parts.count)
        return mf_fail(MF_USAGE, "%zu ranks are more than the %zu parts of the model", ranks, m->parts.count);
    if (m->context < 2) return refuse_context(m);
    MF_TRY(mf_gen_tokens(m->context, 0, &t.prompt, &t.made));
    mf_mapped_take_ranks(m, ranks);
    MF_TRY(mf_session_to_device(session));
    rc = try_first(&t);
    if (rc == MF_OK) rc = move_all(&t);
    for (size_t k = 0; k < t.trials; ++k) free(t.tried[k]);
    return rc;
}
