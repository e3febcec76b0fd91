/* A network that makes samples, and stays loaded. See src/cmd/resident.h. */
#include <stdlib.h>
#include <string.h>

#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/pulse.h"
#include "src/cmd/files/generate.h"
#include "src/cmd/files/wanted.h"
#include "src/cmd/resident.h"

/* Samples of a question. */
struct made {
    uint8_t *x;
    int32_t *label;
    float *value;
};

static void made_free(struct made *m)
{
    free(m->x);
    free(m->label);
    free(m->value);
}

static int take(struct made *m, size_t samples, size_t bytes, size_t columns)
{
    m->x = malloc(samples * bytes + 1);
    m->label = calloc(samples + 1, sizeof *m->label);
    m->value = calloc(samples * columns + 1, sizeof *m->value);
    return m->x && m->label && m->value ? MF_OK : mf_fail(MF_MEMORY, "no memory for %zu samples", samples);
}

static int open(struct mf_session *session, const struct mf_resident_kind *kind, void *options, const char *path,
                void **model)
{
    struct generate_job *job = MF_MUST(calloc(1, sizeof *job), "a model");
    struct generate *o = options;

    (void)kind;
    o->by.model = path;
    *job = (struct generate_job){.session = session, .o = o};
    *model = job;
    job->pass = mf_generate_pass(o, session->backend->devices != NULL);
    MF_TRY(mf_generate_open(job));
    return mf_generate_take(job);
}

static void close_job(void *model)
{
    struct generate_job *job = model;

    if (!job) return;
    mf_generate_give(job);
    mf_generate_close(job);
    free(job);
}

static void facts(const void *model, struct mf_json *to)
{
    const struct generate_job *job = model;
    const struct mf_model_card *c = &job->card;
    const struct mf_denoise *d = c->denoise;
    struct mf_json *map = mf_json_object(), *shape = mf_json_array(), *classes = mf_json_array(),
                   *columns = mf_json_array();

    mf_json_text(map, "", job->session->backend->name); /* all of it */
    for (size_t i = 0; i < 4; ++i) mf_json_size(shape, NULL, c->dims[i]);
    for (size_t i = 0; i < d->classes; ++i) mf_json_text(classes, NULL, d->class_name[i]);
    for (size_t i = 0; i < d->columns; ++i) mf_json_text(columns, NULL, d->column[i]);
    MF_JSON(to, "arch", c->arch->name, "shape", shape, "phases", c->phases, "classes", classes, "columns", columns,
            "pass_size", job->pass, "map", map);
}

static int settle(const void *model, struct mf_options *options, void *into)
{
    const struct generate_job *job = model;
    struct generate *o = into;

    o->by.model = job->o->by.model;
    return mf_generate_adopt_start(options, o->by.model, &job->card);
}

/* Local. */
static int check(const struct mf_session *session, const void *options)
{
    struct generate o = *(const struct generate *)options;

    if (!o.by.model) o.by.model = "the model"; /* it is being loaded */
    return mf_generate_check(session, &o);
}

/* Passes [first, first + count) of the set, and the samples that are wanted of them. */
struct work {
    struct mf_span passes, samples;
};

static struct work work_of(const struct generate_job *job, const struct generate *o, size_t ranks, size_t rank)
{
    const size_t first = (size_t)o->first, end = first + (size_t)o->samples, begin = first / job->pass;
    struct mf_span own = mf_cut((end + job->pass - 1) / job->pass - begin, ranks, rank);
    size_t from, to;

    own.first += begin;
    from = own.first * job->pass < first ? first : own.first * job->pass;
    to = (own.first + own.count) * job->pass < end ? (own.first + own.count) * job->pass : end;
    return (struct work){own, {from, own.count ? to - from : 0}};
}

/* Copies the samples of a pass that are wanted. */
static void keep(const struct generate_job *job, const struct work *w, size_t pass, struct made *to)
{
    const size_t columns = job->card.denoise->columns, at = pass * job->pass, end = w->samples.first + w->samples.count;

    for (size_t r = 0; r < job->pass; ++r) {
        const size_t k = at + r - w->samples.first;

        if (at + r < w->samples.first || at + r >= end) continue;
        memcpy(to->x + k * job->bytes, job->x + r * job->bytes, job->bytes);
        to->label[k] = job->label[r];
        memcpy(to->value + k * columns, job->value + r * columns, columns * sizeof *to->value);
    }
}

/* Ranks make passes at the same time, so all end alike. */
static int make(struct generate_job *job, const struct mf_generator_wish *wish, const struct work *w, size_t rounds,
                struct made *to)
{
    const struct mf_comm *comm = job->session->comm;

    for (size_t k = 0; k < rounds; ++k) {
        int rc = mf_pulse("samples");

        if (rc == MF_OK && k < w->passes.count)
            rc = mf_generator_make(job->generator, wish, w->passes.first + k, job->x, job->label, job->value);
        MF_TRY(mf_agree(comm, mf_generate_overflow(job, rc)));
        if (k < w->passes.count) keep(job, w, w->passes.first + k, to);
        mf_progress("samples", (long)k + 1, (long)rounds, "");
    }
    return MF_OK;
}

/* All samples on all ranks. */
static int share(const struct generate_job *job, const struct work *w, const struct made *own, struct made *all)
{
    const struct mf_comm *comm = job->session->comm;
    const size_t n = w->samples.count, columns = job->card.denoise->columns;

    MF_TRY(mf_comm_gather(comm, own->x, n * job->bytes, (void **)&all->x, NULL));
    MF_TRY(mf_comm_gather(comm, own->label, n * sizeof *own->label, (void **)&all->label, NULL));
    return mf_comm_gather(comm, own->value, n * columns * sizeof *own->value, (void **)&all->value, NULL);
}

/* Local. */
static int give(const struct generate_job *job, size_t samples, const struct made *all,
                const struct mf_resident_taker *t)
{
    const struct mf_model_card *c = &job->card;
    const int image = c->dims[0] == 1, channels = !c->phases && c->dims[3] > 1,
              floats = !c->phases && !mf_model_card_bytes(c);
    const size_t dims[] = {samples, c->dims[0], c->dims[1], c->dims[2], c->dims[3]};
    const size_t flat[] = {samples, dims[2], dims[3], dims[4]}, rows[] = {samples, c->denoise->columns};
    static const char *const axes[] = {"sample z y x", "sample y x", "sample z y x channel", "sample y x channel"};

    MF_TRY(t->put(t->context, "samples", floats ? "f4" : "u1", floats ? sizeof(float) : 1, 4 - image + channels,
                  image ? flat : dims, axes[image + 2 * channels], all->x));
    if (c->denoise->classes)
        MF_TRY(t->put(t->context, "class", "i4", sizeof *all->label, 1, dims, "sample", all->label));
    if (!c->denoise->columns) return MF_OK;
    return t->put(t->context, "condition", "f4", sizeof *all->value, 2, rows, "sample column", all->value);
}

static int print(const struct generate_job *job, const struct generate *o)
{
    struct mf_json *json = mf_json_object();
    int rc;

    MF_JSON(json, "model", o->by.model, "samples", o->samples, "first", o->first, "pass_size", job->pass, "seconds",
            mf_now() - job->session->start, "ranks", job->session->comm->size);
    rc = job->session->comm->rank == 0 ? mf_json_write(json, stdout) : MF_OK;
    mf_json_free(json);
    return rc;
}

static int answer(struct generate_job *job, const struct generate *o, const struct mf_generator_wish *wish,
                  const struct mf_resident_taker *taker)
{
    const struct mf_comm *comm = job->session->comm;
    const struct work w = work_of(job, o, (size_t)comm->size, (size_t)comm->rank);
    const size_t rounds = work_of(job, o, (size_t)comm->size, 0).passes.count;
    struct made own = {NULL, NULL, NULL}, all = {NULL, NULL, NULL};
    int rc = mf_agree(comm, take(&own, w.samples.count, job->bytes, job->card.denoise->columns));

    if (rc == MF_OK) rc = make(job, wish, &w, rounds, &own);
    if (rc == MF_OK) rc = share(job, &w, &own, &all);
    if (rc == MF_OK) rc = mf_agree(comm, give(job, (size_t)o->samples, &all, taker));
    if (rc == MF_OK) rc = print(job, o);
    made_free(&own);
    made_free(&all);
    return rc;
}

static int ask(void *model, void *options, const char *const *files, size_t count,
               const struct mf_resident_taker *taker)
{
    struct generate_job *job = model;
    const struct generate *o = options;
    struct mf_generator_wish wish;
    int rc;

    if (count)
        return mf_fail(MF_USAGE, "the model '%s' makes samples of noise, and reads no '%s'", o->by.model, files[0]);
    rc = mf_agree(job->session->comm, mf_generate_wishes(job, o, &wish));
    if (rc == MF_OK) rc = answer(job, o, &wish, taker);
    free(wish.value);
    return rc;
}

static const char *const loading[] = {"arch", "pass-size", "guidance-scale", "mixed-precision", NULL};
static const char *const asking[] = {"num-samples",       "first",     "steps", "conditioning-sigma",
                                     "samples-per-class", "condition", "seed",  NULL};

const struct mf_resident_kind mf_resident_generate = {.verb = &mf_cmd_generate,
                                                      .loading = loading,
                                                      .asking = asking,
                                                      .makes = 1,
                                                      .check = check,
                                                      .open = open,
                                                      .facts = facts,
                                                      .settle = settle,
                                                      .ask = ask,
                                                      .close = close_job};
