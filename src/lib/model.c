/* See include/mesoforge.h: models that stay loaded. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/adopt.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/lib/lib.h"

/* -- options -- */

int mf_lib_model_find(mesoforge_model *m)
{
    MF_TRY(mf_resident_find(m->path, &m->kind));
    m->verb = *m->kind->verb;
    m->verb.adopt = NULL;
    m->verb.check = NULL; /* that of the kind: see ask() */
    m->verb.positional_max = 4096;
    return MF_OK;
}

static int is_among(const char *const *list, const char *word)
{
    while (*list && strcmp(*list, word) != 0) ++list;
    return *list != NULL;
}

/* A word that was given. */
static int check_word(const mesoforge_model *m, const char *word)
{
    const struct mf_resident_kind *k = m->kind;
    const int loads = is_among(k->loading, word), asks = !loads && (!k->asking || is_among(k->asking, word));

    if (m->own ? asks : loads) return MF_OK;
    if (!loads && !asks)
        return mf_fail(MF_USAGE, "--%s is an option of the verb %s, and not of a loaded model", word, m->verb.name);
    if (m->own)
        return mf_fail(MF_USAGE, "--%s is an option of loading, and the model '%s' is loaded; load it again", word,
                       m->path);
    return mf_fail(MF_USAGE, "--%s is no option of loading a model; give it where the model is asked", word);
}

int mf_lib_model_words(const mesoforge_model *m, struct mf_options *options, void *into)
{
    for (const struct mf_opt *const *table = m->verb.tables; *table; ++table)
        for (const struct mf_opt *row = *table; row->word; ++row)
            if (!row->alias_of && mf_options_given(options, row->word)) MF_TRY(check_word(m, row->word));
    return m->own && m->kind->settle ? m->kind->settle(m->own, options, into) : MF_OK;
}

/* -- loading -- */

/* Bytes of arrays that loading took. */
static struct mf_json *bytes_of(const mesoforge_session *s, size_t host, size_t device)
{
    struct mf_json *bytes = mf_json_object();

    mf_json_size(bytes, "host", mf_arena_live(s->work.session.arena) - host);
    if (s->work.session.device != s->work.session.arena)
        mf_json_size(bytes, "device", mf_arena_live(s->work.session.device) - device);
    return bytes;
}

static char *facts_of(const mesoforge_session *s, const mesoforge_model *m, struct mf_json *bytes)
{
    struct mf_json *facts = mf_json_object();
    char *text;

    MF_JSON(facts, "model", (const char *)m->path, "verb", m->verb.name, "bytes", bytes, "ranks", s->comm.size);
    m->kind->facts(m->own, facts);
    text = mf_json_string(facts);
    mf_json_free(facts);
    return text;
}

static int load(mesoforge_session *s, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    mesoforge_model *m = s->asked;
    const size_t host = mf_arena_live(s->work.session.arena), device = mf_arena_live(s->work.session.device);
    void *own = NULL;
    int rc = mf_agree(&s->comm, m->kind->check(&s->work.session, options));

    (void)verb;
    if (rc == MF_OK) rc = mf_agree(&s->comm, m->kind->open(&s->work.session, m->kind, options, m->path, &own));
    if (rc != MF_OK) {
        m->kind->close(own);
        return rc;
    }
    m->own = own;
    m->options = (struct mf_options *)(uintptr_t)s->work.options;
    m->into = options;
    r->json = facts_of(s, m, bytes_of(s, host, device));
    m->number = ++s->loaded;
    m->next = s->models;
    s->models = m;
    return MF_OK;
}

static void end(mesoforge_model *m)
{
    if (m->own) m->kind->close(m->own);
    mf_options_free(m->options);
    free(m->into);
    mesoforge_result_free(m->facts);
    free(m->path);
    free(m);
}

int mesoforge_model_load(mesoforge_session *session, const char *path, const char *options, mesoforge_model **model)
{
    mesoforge_model *m;
    const struct mf_lib_verb verb = {NULL, load};
    int rc;

    if (!model || !path)
        return mf_lib_told(mf_fail(MF_USAGE, "there is no %s", model ? "path" : "place for the model"));
    *model = NULL;
    m = MF_MUST(calloc(1, sizeof *m), "a model");
    m->path = mf_format("%s", path);
    rc = mf_lib_call_model(session, &verb, m, MF_MODEL_LOADS, "", options, &m->facts);
    if (rc == MF_OK)
        *model = m;
    else
        end(m);
    return rc;
}

const char *mesoforge_model_json(const mesoforge_model *model)
{
    return model ? mesoforge_result_json(model->facts) : NULL;
}

int mf_lib_model_has(const mesoforge_session *session, const mesoforge_model *model)
{
    const mesoforge_model *at = session->models;

    while (at && at != model) at = at->next;
    return at != NULL;
}

/* Collective. */
static int free_model(mesoforge_session *session, mesoforge_model *model)
{
    const int is_ours = mf_lib_model_has(session, model);
    mesoforge_model **at = &session->models;
    char call[64];

    (void)snprintf(call, sizeof call, "free model %zu", is_ours ? model->number : 0);
    MF_TRY(mf_lib_meet(session, call));
    if (!is_ours) return mf_fail(MF_USAGE, "this is no model of the session");
    while (*at != model) at = &(*at)->next;
    *at = model->next;
    end(model);
    return MF_OK;
}

int mesoforge_model_free(mesoforge_session *session, mesoforge_model *model)
{
    int rc = model ? mf_lib_enter(session) : MF_OK;

    if (rc != MF_OK) return mf_lib_told(rc);
    return model ? mf_lib_leave(session, free_model(session, model)) : MF_OK;
}

int mf_lib_models_end(mesoforge_session *session)
{
    const int together = session->comm.size == 1 || mf_comm_goes_on(&session->comm),
              left = session->models && !together;

    for (mesoforge_model *m = session->models, *next; m; m = next) {
        next = m->next;
        if (!together) m->own = NULL;
        end(m);
    }
    session->models = NULL;
    return left;
}

/* -- questions -- */

/* Files, and the images of stacks. */
struct asked {
    const char **file; /* [count] */
    size_t count, images;
    struct mf_lent *image; /* [images] */
    char (*name)[MF_FIELD_NAME + 24];
};

/* Has a lent array one axis more than a sample? */
static const struct mf_lent *stack_of(const mesoforge_model *m, const char *word)
{
    const struct mf_lent *lent = m->kind->axes ? mf_lent_find(word) : NULL;

    return lent && !lent->target && !lent->is_slab && lent->ndim == m->kind->axes(m->own) + 1 ? lent : NULL;
}

/* Image @p k of a stack. */
static struct mf_lent image_of(const struct mf_lent *stack, size_t k, const char *name)
{
    struct mf_lent image = *stack;

    image.name = name;
    image.values = (const char *)stack->values + (ptrdiff_t)k * stack->stride[0];
    --image.ndim;
    for (int i = 0; i < image.ndim; ++i) {
        image.shape[i] = stack->shape[i + 1];
        image.stride[i] = stack->stride[i + 1];
    }
    return image;
}

static void add_stack(struct asked *a, const char *word, const struct mf_lent *stack)
{
    for (size_t k = 0; k < stack->shape[0]; ++k) {
        char *name = a->name[a->images];

        (void)snprintf(name, sizeof *a->name, "%s[%zu]", word, k);
        a->image[a->images] = image_of(stack, k, name);
        a->file[a->count++] = name;
        ++a->images;
    }
}

/* Local. */
static int spread(const mesoforge_session *s, const mesoforge_model *m, struct asked *a)
{
    const char *const *words;
    const size_t n = mf_options_positional(s->work.options, &words);
    const struct mf_lent *stack;
    size_t images = 0;

    for (size_t i = 0; i < n; ++i) images += (stack = stack_of(m, words[i])) ? stack->shape[0] : 0;
    a->file = calloc(n + images + 1, sizeof *a->file);
    a->image = calloc(images + 1, sizeof *a->image);
    a->name = calloc(images + 1, sizeof *a->name);
    if (!a->file || !a->image || !a->name) return mf_fail(MF_MEMORY, "no memory for %zu images", images);
    for (size_t i = 0; i < n; ++i) {
        stack = stack_of(m, words[i]);
        if (stack)
            add_stack(a, words[i], stack);
        else
            a->file[a->count++] = words[i];
    }
    for (size_t i = 0; i < a->images; ++i)
        a->image[i].next = i + 1 < a->images ? &a->image[i + 1] : s->fields ? &s->fields->lent : NULL;
    if (a->images) mf_lend(a->image);
    return a->count || !m->kind->axes ? MF_OK : mf_fail(MF_USAGE, "there is no image");
}

static void gather(const mesoforge_session *s, struct asked *a)
{
    mf_lend(s->fields ? &s->fields->lent : NULL);
    free(a->file);
    free(a->image);
    free(a->name);
}

static int put(void *result, const char *name, const char *type, size_t size, int ndim, const size_t *dims,
               const char *axes, const void *values)
{
    return mf_lib_result_copy(result, name, type, size, ndim, dims, axes, values);
}

int mf_lib_model_check(const mesoforge_model *m, enum mf_model_call what)
{
    if (!m) return mf_fail(MF_USAGE, "this is no model of the session");
    if (m->kind->makes == (what == MF_MODEL_MAKES)) return MF_OK;
    return m->kind->makes ? mf_fail(MF_USAGE, "the model '%s' predicts nothing; try: generate", m->path)
                          : mf_fail(MF_USAGE, "the model '%s' makes nothing; try: predict", m->path);
}

static int ask(mesoforge_session *s, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    const mesoforge_model *m = s->asked;
    const struct mf_resident_taker taker = {put, r};
    struct asked asked = {.count = 0};
    int rc = m->kind->check(&s->work.session, options);

    (void)verb;
    if (rc == MF_OK) rc = spread(s, m, &asked);
    rc = mf_agree(&s->comm, rc);
    if (rc == MF_OK) rc = mf_agree(&s->comm, m->kind->ask(m->own, options, asked.file, asked.count, &taker));
    gather(s, &asked);
    if (rc == MF_OK) mf_lib_result_printed(s, r);
    return rc;
}

static const struct mf_lib_verb asks = {NULL, ask};

int mesoforge_model_predict(mesoforge_session *session, mesoforge_model *model, const char *inputs, const char *options,
                            mesoforge_result **result)
{
    return mf_lib_call_model(session, &asks, model, MF_MODEL_PREDICTS, inputs ? inputs : "", options, result);
}

int mesoforge_model_generate(mesoforge_session *session, mesoforge_model *model, const char *prompts,
                             const char *options, mesoforge_result **result)
{
    return mf_lib_call_model(session, &asks, model, MF_MODEL_MAKES, prompts ? prompts : "", options, result);
}
