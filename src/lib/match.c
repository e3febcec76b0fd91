/* See include/mesoforge.h: verbs that make structures. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/cmd/files/synth_opts.h"
#include "src/cmd/recon/recon_opts.h"
#include "src/lib/lib.h"

struct taken {
    const mesoforge_session *session;
    mesoforge_result *result;
};

/* A copy: of the whole, or of this rank's planes. */
static int get_phase(const mesoforge_session *session, const struct mf_slab *slab, const uint8_t *phase, void **got)
{
    const size_t n = mf_slab_voxels(slab);

    if (!session->slabs || slab->dims[0] == 1) return mf_comm_gather(&session->comm, phase, n, got, NULL);
    *got = malloc(n + 1);
    if (!*got) return mf_fail(MF_MEMORY, "no memory for a result of %zu bytes", n);
    memcpy(*got, phase, n);
    return MF_OK;
}

/* Takes the array itself, where it is all that this rank is to get. */
static int keeps(const struct taken *to, struct mf_micro *micro)
{
    const int own = to->session->comm.size == 1 || (to->session->slabs && micro->slab.dims[0] > 1);

    return own && mf_arena_keep(micro->arena, micro->phase, &to->result->kept);
}

/* The object of --json with the size of a voxel. The caller frees. */
static char *text_of(const struct mf_micro *micro, const struct mf_json *json)
{
    char *printed = mf_json_string(json), *text;
    struct mf_json *whole = mf_json_parse(printed);

    free(printed);
    mf_json_reals(whole, "spacing", micro->spacing + (3 - micro->ndim), (size_t)micro->ndim);
    mf_json_text(whole, "unit", micro->unit);
    text = mf_json_string(whole);
    mf_json_free(whole);
    return text;
}

/* @p phase is the result's. */
static int put(const struct taken *to, const struct mf_micro *micro, const struct mf_json *json, uint8_t *phase)
{
    mesoforge_result *r = to->result;
    const struct mf_slab *slab = &micro->slab;
    const size_t phases = (size_t)micro->phases;
    const int image = slab->dims[0] == 1, cut = to->session->slabs && !image;
    const size_t dims[] = {cut ? slab->count : slab->dims[0], slab->dims[1], slab->dims[2]};

    r->phase = phase;
    r->micro = *micro; /* its facts */
    r->micro.phase = NULL;
    r->micro.mask = NULL;
    r->micro.arena = NULL;
    r->cut = cut;
    for (int p = 0; p < micro->phases; ++p) r->label[p] = micro->label[p];
    mf_lib_result_add(r, "phase", "u1", 1, image ? 2 : 3, dims + image, image ? "y x" : "z y x", r->phase);
    if (cut) {
        r->array[0].first = slab->first;
        r->array[0].planes = slab->dims[0];
    }
    mf_lib_result_add(r, "labels", "i8", sizeof *r->label, 1, &phases, "phase", r->label);
    r->json = text_of(micro, json);
    return MF_OK;
}

static int take(void *context, struct mf_micro *micro, const struct mf_json *json)
{
    const struct taken *to = context;
    void *phase = micro->phase;

    if (keeps(to, micro))
        micro->phase = NULL;
    else
        MF_TRY(get_phase(to->session, &micro->slab, micro->phase, &phase));
    return put(to, micro, json, phase);
}

/* The verb's structure becomes the result. Collective. */
static int make(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    struct taken to = {session, r};
    const struct mf_taker taker = {take, &to};
    int rc;

    session->work.session.taker = &taker;
    rc = mf_agree(&session->comm, verb->run(&session->work.session, options));
    session->work.session.taker = NULL;
    return rc;
}

/* Collective. */
static int match(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    const struct mf_recon_cmd *o = options;

    if (o->match.max_iter == 0) return mf_fail(MF_USAGE, "--max_iter 0 makes no structure");
    MF_TRY(make(session, verb, options, r));
    if (r->arrays) return MF_OK;
    return mf_fail(MF_USAGE, "'%s' has the result of this run already; try: read it, or restart=no", o->common.output);
}

/* A dataset becomes a file. */
static int synthesise(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    const struct synth_opts *o = options;

    if (o->samples) return mf_lib_print(session, verb, options, r);
    return make(session, verb, options, r);
}

const struct mf_lib_verb mf_lib_read = {&mf_lib_reading, make}, mf_lib_smooth = {&mf_cmd_smooth, make};
const struct mf_lib_verb mf_lib_synth = {&mf_cmd_synth, synthesise};
const struct mf_lib_verb mf_lib_match = {&mf_cmd_match, match}, mf_lib_reconstruct = {&mf_cmd_reconstruct, match};

int mesoforge_match(mesoforge_session *session, const mesoforge_field *field, const char *options,
                    mesoforge_result **result)
{
    return mf_lib_call(session, &mf_lib_match, field, NULL, options, result);
}
