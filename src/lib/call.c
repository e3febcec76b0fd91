/* See lib.h: the call of a verb. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/same.h"
#include "src/lib/lib.h"

/* A call: options as text, and parsed. */
struct call {
    struct mf_lib_verb verb;
    const mesoforge_field *field; /* NULL: inputs has what the verb reads */
    mesoforge_model *model;       /* NULL: none; or it is none of the session */
    int asks;                     /* a model */
    enum mf_model_call what;
    const char *inputs, *text;
    struct mf_options *options;
    void *into;
};

/* Verbs that describe machines have no use for the session's, and take words of another. */
static int describes(const struct mf_cmd *verb) { return verb->work == MF_WORK_NONE; }

/* Local. */
static int check_words(const struct call *call)
{
    const struct mf_cmd *verb = call->verb.verb;
    const struct mf_options *options = call->options;
    const struct mf_common *common = call->into;

    MF_TRY(mf_lib_check_words(options));
    if (!describes(verb)) MF_TRY(mf_lib_check_session(options));
    if (common->output && verb == &mf_cmd_characterize)
        return mf_fail(MF_USAGE, "--output is an option of the program; the host of a library gets arrays");
    if (call->model) MF_TRY(mf_lib_model_words(call->model, call->options, call->into));
    return common->output ? MF_OK : mf_lib_check_runs(options);
}

/* Local. */
static int parse(struct call *call)
{
    const struct mf_cmd *verb = call->verb.verb;
    char **argv;
    int argc, rc;

    MF_TRY(mf_lib_words(call->text, call->inputs, verb->tables, &argc, &argv));
    rc = mf_options_parse(&call->options, verb->name, verb->tables, verb->keys, call->into, verb->size, argc, argv,
                          verb->positional_max);
    mf_lib_words_free(argv);
    if (rc == MF_OK && verb->adopt) rc = verb->adopt(call->options, call->into);
    return rc == MF_OK ? check_words(call) : rc;
}

/* Options of the session are those of every verb, except for what a call alone says. */
static void share(const mesoforge_session *session, const struct mf_cmd *verb, struct mf_common *common)
{
    const long seed = common->seed;
    const char *output = common->output;

    if (!describes(verb)) *common = session->common;
    common->seed = seed;
    common->output = output;
    common->data_folder = "";
    common->information = NULL;
    common->unbound = 1;
    common->json = 1;
}

/* Element k in C order. */
static const char *element(const struct mf_lent *lent, size_t k)
{
    const char *at = lent->values;

    for (int i = lent->ndim - 1; i >= 0; k /= lent->shape[i--]) at += (ptrdiff_t)(k % lent->shape[i]) * lent->stride[i];
    return at;
}

/* A checksum of at most 1024 elements, evenly apart: cheap, and all but certain to differ where arrays do. */
static uint32_t checksum(const struct mf_lent *lent)
{
    size_t all = 1;
    uint32_t crc = 0;

    for (int i = 0; i < lent->ndim; ++i) all *= lent->shape[i];
    for (size_t k = 0; k < all; k += all / 1024 + 1) crc = mf_crc32c(crc, element(lent, k), lent->size);
    return crc;
}

/* "@image u1 64x64 (checksum 0a1b2c3d)": what is the same on all ranks. */
static void describe(char *to, size_t room, const mesoforge_field *field, int ranks)
{
    int n =
        snprintf(to, room, " %s %c%zu ", field->name, field->lent.target ? 't' : field->lent.kind, field->lent.size);

    for (int i = 0; i < field->lent.ndim; ++i)
        n += snprintf(to + n, room - (size_t)n, "%s%zu", i ? "x" : "", field->lent.shape[i]);
    if (field->lent.is_slab)
        snprintf(to + n, room - (size_t)n, " in slabs");
    else if (ranks > 1 && !field->lent.target)
        snprintf(to + n, room - (size_t)n, " (checksum %08x)", (unsigned)checksum(&field->lent));
}

/* Does the call read it? */
static int is_used(const struct call *call, const mesoforge_field *field)
{
    return field == call->field || (call->inputs && strstr(call->inputs, field->name)) ||
           (call->text && strstr(call->text, field->name));
}

/* The name of a call, which tells a model from others. The caller frees. */
static char *named(const struct call *call)
{
    if (call->model && !call->asks) return mf_format("load %s", call->model->path);
    if (call->asks && !call->model) return mf_format("no model");
    return call->asks ? mf_format("%s of model %zu", call->verb.verb->name, call->model->number)
                      : mf_format("%s", call->verb.verb->name);
}

/* Do all ranks call this, with arrays of the same shapes and values? Collective. */
static int meet(const mesoforge_session *session, const struct call *call)
{
    enum { EACH = MF_FIELD_NAME + 24 * (MESOFORGE_AXES + 3) };
    char *name = named(call), *said;
    size_t n = strlen(name) + EACH;
    int rc;

    for (const mesoforge_field *f = session->fields; f; f = f->next) n += EACH;
    said = MF_MUST(malloc(n), "a call");
    snprintf(said, n, "%s", name);
    free(name);
    for (const mesoforge_field *f = session->fields; f; f = f->next)
        if (is_used(call, f)) describe(said + strlen(said), EACH, f, session->comm.size);
    rc = mf_lib_meet(session, said);
    free(said);
    return rc;
}

/* Local. */
static int check(const mesoforge_session *session, struct call *call, mesoforge_result *const *result)
{
    if (!result) return mf_fail(MF_USAGE, "there is no place for the result");
    if (call->asks) MF_TRY(mf_lib_model_check(call->model, call->what));
    if (call->inputs) return MF_OK;
    if (!mf_lib_has(session, call->field)) return mf_fail(MF_USAGE, "this is no field of the session");
    call->inputs = call->field->name;
    return MF_OK;
}

/* Gathers the planes of slabs. Collective. */
static int gather(mesoforge_session *session, const struct call *call)
{
    for (mesoforge_field *f = session->fields; f; f = f->next)
        if (is_used(call, f)) MF_TRY(mf_lib_slab_begin(session, f));
    return MF_OK;
}

/* The verb sees the options of its call. */
static void show(mesoforge_session *session, const struct mf_common *common, const struct mf_options *options)
{
    session->work.session.settings = mf_common_settings(common);
    session->work.common = common;
    session->work.options = options;
}

/* Reads the options, and shows the session to the verb as the verb wants it. Collective. */
static int begin(mesoforge_session *session, struct call *call)
{
    const struct mf_cmd *verb = call->verb.verb;

    MF_TRY(mf_agree(&session->comm, parse(call)));
    MF_TRY(mf_same_options(&session->comm, call->options));
    MF_TRY(gather(session, call));
    share(session, verb, call->into);
    show(session, call->into, call->options);
    session->work.session.remedy = verb->remedy;
    session->work.session.start = mf_now();
    return mf_agree(&session->comm, verb->check ? verb->check(&session->work.session, call->into) : MF_OK);
}

static void end(mesoforge_session *session, struct call *call)
{
    const int kept = call->into && call->model && call->model->into == call->into; /* by the model that is loaded */

    for (mesoforge_field *f = session->fields; f; f = f->next) mf_lib_slab_end(session, f);
    show(session, &session->common, session->options);
    session->asked = NULL;
    if (kept) return;
    mf_options_free(call->options);
    free(call->into);
}

/* The name of the first input. */
static const char *name_of(const struct call *call)
{
    const char *const *words;

    return mf_options_positional(call->options, &words) ? words[0] : "";
}

/* Collective. */
static int find_model(mesoforge_session *session, struct call *call)
{
    session->asked = call->model;
    if (call->model && !call->asks) MF_TRY(mf_agree(&session->comm, mf_lib_model_find(call->model)));
    if (call->model) call->verb.verb = &call->model->verb;
    return MF_OK;
}

static int work(mesoforge_session *session, struct call *call, mesoforge_result **result)
{
    int rc;

    MF_TRY(find_model(session, call));
    call->into = MF_MUST(calloc(1, call->verb.verb->size), "options");
    MF_TRY(begin(session, call));
    MF_TRY(mf_lib_result_new(session, name_of(call), result));
    mf_json_divert(&(*result)->printed);
    rc = call->verb.work(session, call->verb.verb, call->into, *result);
    mf_json_divert(NULL);
    return rc;
}

static int run(mesoforge_session *session, struct call *call, mesoforge_result **result)
{
    mesoforge_result *r = NULL;
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    if (call->asks && !mf_lib_model_has(session, call->model)) call->model = NULL;
    if (call->asks && call->model) call->verb.verb = &call->model->verb;
    rc = meet(session, call);
    if (rc == MF_OK) rc = mf_agree(&session->comm, check(session, call, result));
    if (rc == MF_OK) rc = work(session, call, &r);
    end(session, call);
    if (rc != MF_OK && !(rc == MF_STOPPED && r && r->phase)) {
        mesoforge_result_free(r);
        r = NULL;
    }
    if (result) *result = r;
    return mf_lib_leave(session, rc);
}

int mf_lib_call(mesoforge_session *session, const struct mf_lib_verb *verb, const mesoforge_field *field,
                const char *inputs, const char *text, mesoforge_result **result)
{
    struct call call = {.verb = *verb, .field = inputs ? NULL : field, .inputs = inputs, .text = text};

    return run(session, &call, result);
}

int mf_lib_call_model(mesoforge_session *session, const struct mf_lib_verb *verb, mesoforge_model *model,
                      enum mf_model_call what, const char *inputs, const char *text, mesoforge_result **result)
{
    struct call call = {
        .verb = *verb, .model = model, .asks = what != MF_MODEL_LOADS, .what = what, .inputs = inputs, .text = text};

    return run(session, &call, result);
}
