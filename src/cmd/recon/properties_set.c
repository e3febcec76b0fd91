/* See properties_set.h. */
#include "src/cmd/recon/properties_set.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset_columns.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/desc/measure.h"

enum { AHEAD = 2 };

struct solving {
    struct mf_session *session;
    const struct mf_properties_of_set *of;
    struct mf_dataset *set;
    struct mf_conduct_columns columns;
    struct mf_comm self;
    mf_name name[3];
    const char *names[3];
    char *said;
    struct mf_columns_wish wish;
    struct mf_columns *rows;
    size_t *missing, count; /* samples of this rank without a row */
};

/* ---- conductivities of phases ---- */

static int check_set(const struct solving *s)
{
    const struct mf_dataset *set = s->set;
    const size_t least = s->columns.opts.boundary == MF_CONDUCT_CENTRES ? 3 : 2;

    if (!set->phases)
        return mf_fail(MF_INPUT,
                       "the samples of '%s' are images of grey values, not phases; try: mesoforge data import "
                       "--labels, or properties of single files with --threshold",
                       set->path);
    if (set->ndim == 2 && s->of->axes && s->columns.wanted[0])
        return mf_fail(MF_INPUT, "'%s' has images: they have no axis z", set->path);
    for (int a = 3 - set->ndim; a < 3; ++a)
        if (s->columns.wanted[a] && set->dims[a] < least)
            return mf_fail(MF_INPUT,
                           "the samples of '%s' have %zu voxel%s along %s, but --boundary %s needs %zu; try: --axes",
                           set->path, set->dims[a], MF_S(set->dims[a]), mf_axis_name(a), s->of->boundary, least);
    return MF_OK;
}

static int set_conductivities(const struct solving *s, double *k)
{
    const struct mf_properties_of_set *of = s->of;
    const int phases = s->set->phases;

    if (of->conductivity.count && of->conductivity.count != (size_t)phases)
        return mf_fail(MF_INPUT, "'%s' has %d phases, but --conductivity has %zu values", s->set->path, phases,
                       of->conductivity.count);
    for (size_t i = 0; i < of->conductivity.count; ++i) k[i] = of->conductivity.at[i];
    for (size_t i = 0; i < of->conducting.count; ++i) {
        if (of->conducting.at[i] < 0 || of->conducting.at[i] >= phases)
            return mf_fail(MF_INPUT, "'%s' has phases 0 to %d, but --conducting names %ld", s->set->path, phases - 1,
                           of->conducting.at[i]);
        k[of->conducting.at[i]] = 1;
    }
    return MF_OK;
}

static int prepare(struct solving *s)
{
    double k[MF_PHASES_MAX] = {0};
    struct mf_conduct_columns all;

    s->columns = s->of->columns;
    if (s->set->ndim == 2 && !s->of->axes) s->columns.wanted[0] = 0;
    MF_TRY(check_set(s));
    MF_TRY(set_conductivities(s, k));
    all = mf_conduct_columns(s->set->ndim, (size_t)s->set->phases, k);
    s->columns.most = all.most;
    memcpy(s->columns.opts.k, all.opts.k, sizeof all.opts.k);
    s->wish.columns = mf_conduct_columns_name(&s->columns, s->name);
    for (size_t i = 0; i < s->wish.columns; ++i) s->names[i] = s->name[i];
    s->wish.name = s->names;
    s->wish.said = s->said = mf_conduct_columns_said(&s->columns, (size_t)s->set->phases, k);
    return MF_OK;
}

/* ---- samples ---- */

/* This rank's part of the samples without a row. */
static void share(struct solving *s)
{
    const uint8_t *status = mf_columns_status(s->rows);
    const struct mf_comm *comm = s->session->comm;
    size_t *all = MF_MUST(calloc(s->set->samples + 1, sizeof *all), "a list"), n = 0;
    struct mf_span own;

    for (size_t i = 0; i < s->set->samples; ++i)
        if (!status[i]) all[n++] = i;
    own = mf_cut(n, (size_t)comm->size, (size_t)comm->rank);
    memmove(all, all + own.first, own.count * sizeof *all);
    s->missing = all;
    s->count = own.count;
    if (n < s->set->samples)
        mf_info("'%s': %zu of %zu samples have their numbers already", s->set->path, s->set->samples - n,
                s->set->samples);
}

static int solve_sample(const struct solving *s, const struct mf_batch *batch)
{
    const struct mf_session *session = s->session;
    struct mf_micro micro = {.ndim = s->set->ndim, .phases = s->set->phases, .spacing = {1, 1, 1}};
    float value[3];

    micro.slab = mf_slab_of(&s->self, s->set->dims, 0);
    micro.phase = (uint8_t *)(uintptr_t)batch->x; /* only read */
    for (int p = 0; p < micro.phases; ++p) micro.label[p] = p;
    for (size_t i = 0; i < s->set->bytes; ++i)
        if (micro.phase[i] >= micro.phases)
            return mf_fail(MF_INPUT, "sample %zu of '%s' holds %d, which is none of its phases", *batch->id,
                           s->set->path, micro.phase[i]);
    MF_TRY(mf_conduct_columns_of(&s->columns, &s->self, session->queue, session->arena, &micro, value));
    return mf_columns_put(s->rows, *batch->id, value);
}

static int solve_own(const struct solving *s)
{
    const struct mf_reader_wish reading = {.ahead = AHEAD, .batch = 1, .raw = 1};
    struct mf_reader *reader;
    int rc = mf_reader_open(s->set, s->session->arena, &reading, &reader);
    size_t asked = 0;

    for (size_t i = 0; rc == MF_OK && i < s->count; ++i) {
        struct mf_batch batch;

        for (; asked < s->count && mf_reader_room(reader); ++asked) mf_reader_want(reader, 1, &s->missing[asked]);
        rc = mf_reader_take(reader, &batch);
        if (rc == MF_OK) rc = solve_sample(s, &batch);
        mf_reader_give(reader, &batch);
        mf_progress("properties", (long)i + 1, (long)s->count, s->set->path);
        mf_comm_alive();
    }
    mf_reader_close(reader);
    return rc;
}

/* ---- output ---- */

static struct mf_json *column_json(const struct solving *s, const float *value, size_t column)
{
    const size_t n = s->set->samples, columns = s->wish.columns;
    double mean = 0, square = 0, least = INFINITY, most = 0;
    struct mf_json *json = mf_json_object();
    size_t none = 0;

    for (size_t i = 0; i < n; ++i) {
        const double k = value[i * columns + column];

        mean += k / (double)n;
        least = fmin(least, k);
        most = fmax(most, k);
        if (!(k > 0)) ++none;
    }
    for (size_t i = 0; i < n; ++i) square += pow(value[i * columns + column] - mean, 2);
    MF_JSON(json, "mean", mean, "deviation", n > 1 ? sqrt(square / (double)(n - 1)) : 0, "least", least, "largest",
            most, "no_way_through", none);
    return json;
}

/* Rank 0. */
static int tell(const struct solving *s, const char *path, const float *value)
{
    const int json = mf_common_of(s->session)->json;
    struct mf_json *all = mf_json_object(), *columns = mf_json_object();
    int rc = MF_OK;

    if (!json) printf("%s: %zu sample%s; %s\n", path, s->set->samples, MF_S(s->set->samples), s->said);
    for (size_t i = 0; i < s->wish.columns; ++i) {
        struct mf_json *one = column_json(s, value, i);

        if (!json)
            printf("  %s: mean %.6g, deviation %.3g, %.6g to %.6g; no way through in %lld\n", s->names[i],
                   mf_json_get_real(one, "mean"), mf_json_get_real(one, "deviation"), mf_json_get_real(one, "least"),
                   mf_json_get_real(one, "largest"), mf_json_get_int(one, "no_way_through"));
        mf_json_put(columns, s->names[i], one);
    }
    MF_JSON(all, "file", path, "samples", s->set->samples, "settings", s->said, "columns", columns);
    if (json) rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc;
}

/* ---- all of it ---- */

/* The columns are open. Collective. */
static int fill(struct solving *s, const char *path)
{
    float *value = calloc(s->set->samples * s->wish.columns, sizeof *value);
    int rc = mf_agree(s->session->comm,
                      value ? MF_OK : mf_fail(MF_MEMORY, "no memory for columns of %zu samples", s->set->samples));

    if (rc == MF_OK) share(s);
    if (rc == MF_OK) rc = mf_agree(s->session->comm, solve_own(s));
    if (rc == MF_OK) rc = mf_columns_finish(s->rows, value);
    if (rc == MF_OK) rc = mf_agree(s->session->comm, s->session->comm->rank == 0 ? tell(s, path, value) : MF_OK);
    free(s->missing);
    free(value);
    return rc;
}

int mf_properties_set_run(struct mf_session *session, const struct mf_properties_of_set *of)
{
    const char *path = mf_common_of(session)->output ? mf_common_of(session)->output : of->file;
    struct solving s = {.session = session, .of = of};
    int rc;

    mf_comm_self(&s.self);
    MF_TRY(mf_session_may_write(session, mf_common_of(session)->output, ".h5"));
    MF_TRY(mf_dataset_open(session->comm, of->file, &s.set));
    rc = mf_agree(session->comm, prepare(&s));
    if (rc == MF_OK) rc = mf_columns_open(session->comm, s.set, path, &s.wish, &s.rows);
    if (rc == MF_OK) rc = fill(&s, path);
    mf_columns_close(s.rows);
    free(s.said);
    mf_dataset_close(s.set);
    return rc;
}
