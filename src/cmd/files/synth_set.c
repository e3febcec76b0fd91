/* See synth_set.h. The properties of a sample are what our measures find in it. */
#include "src/cmd/files/synth_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/properties.h"
#include "src/cmd/files/synth_questions.h"
#include "src/cmd/output.h"
#include "src/prop/conduct.h"

/* ---- options ---- */

/* The kinds that the words name, separated by blanks or commas. */
static int read_kinds(const struct mf_texts *texts, struct mf_synth_mix *mix)
{
    mix->kinds = 0;
    for (int k = 0; texts->count == 0 && k < MF_SYNTH_KINDS; ++k) mix->kind[mix->kinds++] = (enum mf_synth_kind)k;
    for (size_t i = 0; i < texts->count; ++i)
        for (const char *at = texts->at[i], *end; *at; at = *end ? end + 1 : end) {
            enum mf_synth_kind kind;
            char word[64];

            end = strchrnul(at, ',');
            snprintf(word, sizeof word, "%.*s", (int)(end - at), at);
            MF_TRY(mf_synth_kind_of(strcmp(word, "grains") == 0 ? "voronoi" : word, &kind));
            for (size_t k = 0; k < mix->kinds; ++k)
                if (mix->kind[k] == kind) return mf_fail(MF_USAGE, "--kinds names %s twice", word);
            mix->kind[mix->kinds++] = kind;
        }
    return MF_OK;
}

static int read_range(const char *word, const struct mf_reals *list, double range[2])
{
    if (list->count == 0) return MF_OK;
    if (list->count != 2) return mf_fail(MF_USAGE, "--%s must be two numbers, not %zu", word, list->count);
    range[0] = list->at[0];
    range[1] = list->at[1];
    return MF_OK;
}

static int check_questions(const struct synth_opts *opts, int ndim)
{
    if (opts->questions < 1 || opts->questions > MF_SYNTH_QUESTIONS_MAX)
        return mf_fail(MF_USAGE, "--questions must be 1 to %d, not %ld", MF_SYNTH_QUESTIONS_MAX, opts->questions);
    if (ndim != 2) return mf_fail(MF_USAGE, "--questions is for images: --size must be two numbers");
    if (opts->samples * opts->questions < (long)1 << 32) return MF_OK;
    return mf_fail(MF_USAGE, "--num-samples %ld with --questions %ld makes more than 2^32 questions", opts->samples,
                   opts->questions);
}

int mf_synth_set_wish(const struct synth_opts *opts, const struct mf_options *options, struct mf_synth_mix *mix)
{
    const char *other = mf_synth_of_one(options);
    struct mf_synth size = {0};
    const int asks = mf_options_given(options, "questions");

    if (opts->samples < 1 || opts->samples > 1 << 28)
        return mf_fail(MF_USAGE, "--num-samples must be 1 to %d, not %ld", 1 << 28, opts->samples);
    if (opts->compress < 0 || opts->compress > 9)
        return mf_fail(MF_USAGE, "--compress must be 0 to 9, not %ld", opts->compress);
    if (other)
        return mf_fail(MF_USAGE,
                       "--%s is for one microstructure; with --num-samples there are --kinds, --fraction-range and "
                       "--length-range",
                       other);
    if (opts->conductivity.count && opts->conductivity.count != 2)
        return mf_fail(MF_USAGE, "--conductivity: of phases 0 and 1, not %zu values", opts->conductivity.count);
    if (opts->conductivity.count) MF_TRY(mf_conduct_check(2, opts->conductivity.at));
    MF_TRY(mf_synth_size(opts, options, &size));
    if (asks) MF_TRY(check_questions(opts, size.ndim));
    *mix = (struct mf_synth_mix){.ndim = size.ndim, .seed = (uint64_t)opts->common.seed, .varied = asks};
    mix->fraction[0] = asks ? 0.15 : 0.12;
    mix->fraction[1] = asks ? 0.49 : 0.32;
    memcpy(mix->dims, size.dims, sizeof mix->dims);
    mf_synth_mix_lengths(mix->dims, mix->length);
    MF_TRY(read_kinds(&opts->kinds, mix));
    MF_TRY(read_range("fraction-range", &opts->fractions, mix->fraction));
    MF_TRY(read_range("length-range", &opts->lengths, mix->length));
    return mf_synth_mix_check(mix);
}

/* ---- samples ---- */

struct set {
    struct mf_session *session;
    struct mf_synth_mix mix;
    struct mf_properties properties;
    struct mf_synth_questions questions; /* each 0: none */
    int threads;                         /* of one sample: small ones are made faster by one */
};

/* Moves the field around the periodic box. */
static void shift(const struct mf_synth_mix *mix, const size_t by[3], const uint8_t *from, uint8_t *to)
{
    const size_t *n = mix->dims;

    for (size_t z = 0; z < n[0]; ++z)
        for (size_t y = 0; y < n[1]; ++y) {
            const uint8_t *row = from + ((z + by[0]) % n[0] * n[1] + (y + by[1]) % n[1]) * n[2];

            memcpy(to, row + by[2], n[2] - by[2]);
            memcpy(to + n[2] - by[2], row, by[2]);
            to += n[2];
        }
}

/* Dark becomes light, and light dark. */
static void change(const struct mf_synth_mix *mix, uint8_t *x)
{
    for (size_t i = 0; i < mix->dims[0] * mix->dims[1] * mix->dims[2]; ++i) x[i] ^= 1;
}

enum { TRIES = 100 };

/* Spheres that may not overlap are thrown at random. Where the last of them finds no room, all are thrown again. */
static int make_field(const struct set *set, struct mf_synth *what, struct mf_micro *micro)
{
    const int tries = what->kind == MF_SYNTH_HARD_SPHERES ? TRIES : 1;
    struct mf_synth_facts facts;
    int rc = MF_USAGE;

    for (int k = 0; k < tries && rc == MF_USAGE; ++k, what->seed += rc == MF_USAGE) {
        if (k) mf_err_clear();
        rc = mf_synth_make(&set->properties.self, set->session->arena, set->threads, what, micro, &facts);
        if (rc == MF_OK) mf_synth_facts_free(&facts);
    }
    return rc;
}

static int make(void *context, size_t id, struct mf_sample *sample)
{
    struct set *set = context;
    struct mf_arena *arena = set->session->arena;
    struct mf_synth_drawn drawn;
    struct mf_micro micro;
    uint8_t *made;
    int rc;

    mf_synth_draw(&set->mix, id, &drawn);
    MF_TRY(make_field(set, &drawn.what, &micro));
    made = micro.phase;
    shift(&set->mix, drawn.shift, made, sample->x);
    micro.phase = sample->x;
    if (drawn.changed) change(&set->mix, micro.phase);
    rc = mf_properties_measure(&set->properties, &micro, drawn.length, sample->real);
    if (rc == MF_OK && set->questions.each)
        rc = mf_synth_questions_measure(&set->questions, id, &micro, (int)drawn.kind);
    sample->label = (int32_t)drawn.kind;
    sample->seed = drawn.what.seed;
    mf_arena_give(arena, made);
    return rc;
}

/* ---- the set ---- */

enum { PROPERTIES = 9 + MF_PROPERTY_LAGS };

static void describe_properties(const struct mf_properties *p, const char *names[], const char *said[],
                                struct mf_dataset_wish *wish)
{
    for (size_t r = 0; r < p->columns; ++r) {
        names[r] = p->name[r];
        said[r] = p->said && r + p->conducts >= p->columns ? p->said : "";
    }
    wish->reals = p->columns;
    wish->real_name = names;
    if (p->said) wish->real_said = said;
}

static void describe(const struct set *set, const struct synth_opts *opts, const char *classes[],
                     struct mf_dataset_wish *wish)
{
    const struct mf_synth_mix *mix = &set->mix;

    *wish = (struct mf_dataset_wish){.samples = (size_t)opts->samples, .ndim = mix->ndim, .phases = 2, .seeded = 1};
    memcpy(wish->dims, mix->dims, sizeof mix->dims);
    wish->dims[3] = 1;
    wish->compress = (int)opts->compress;
    wish->part[0] = 0.8;
    wish->part[1] = 0.1;
    wish->split_seed = mix->seed;
    for (size_t k = 0; k < mix->kinds; ++k) classes[k] = mf_synth_kind_word(mix->kind[k]);
    wish->classes = mix->kinds;
    wish->class_name = classes;
    wish->questions = set->questions.each ? &set->questions.wish : NULL;
}

static int write_set(struct set *set, const struct synth_opts *opts, const char *path,
                     const struct mf_dataset_wish *wish)
{
    char *options = mf_options_yaml(mf_options_of(set->session));
    const struct mf_provenance from = {
        .command = "synth", .options = options, .input_hash = "", .seed = opts->common.seed};
    const int rc = mf_dataset_write(set->session->comm, path, wish, &from, make, set);

    free(options);
    return rc;
}

int mf_synth_set_run(struct mf_session *session, const struct synth_opts *opts)
{
    struct set set = {.session = session};
    struct mf_dataset_wish wish;
    const char *classes[MF_SYNTH_KINDS], *names[PROPERTIES], *said[PROPERTIES];
    char *path;
    int rc;

    MF_TRY(mf_agree(session->comm, mf_synth_set_wish(opts, mf_options_of(session), &set.mix)));
    set.threads = set.mix.dims[0] * set.mix.dims[1] * set.mix.dims[2] < 1 << 16 ? 1 : session->threads;
    MF_TRY(mf_session_may_write(session, opts->common.output, ".h5"));
    MF_TRY(mf_session_path(session, "synth_dataset", ".h5", &path));
    mf_properties_begin(session, set.mix.ndim, set.mix.dims, 2, 1, 1, &set.properties);
    if (opts->conductivity.count) mf_properties_conduct(&set.properties, 2, opts->conductivity.at);
    rc = opts->questions ? mf_synth_questions_begin(session, (size_t)opts->samples, (size_t)opts->questions, &set.mix,
                                                    &set.questions)
                         : MF_OK;
    rc = mf_agree(session->comm, rc);
    describe(&set, opts, classes, &wish);
    describe_properties(&set.properties, names, said, &wish);
    if (rc == MF_OK && opts->common.dry_run)
        rc = mf_agree(session->comm, session->comm->rank == 0 ? mf_data_counted(session, path, wish.samples) : MF_OK);
    else if (rc == MF_OK)
        rc = write_set(&set, opts, path, &wish);
    if (rc == MF_OK && !opts->common.dry_run) rc = mf_data_report(session, path, NULL);
    mf_synth_questions_end(&set.questions);
    mf_properties_end(&set.properties);
    free(path);
    return rc;
}
