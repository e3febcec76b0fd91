/* See history.h. */
#include "src/moe/history.h"

#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/moe/kept.h"

static void time_free(struct mf_history_time *t)
{
    free(t->id);
    free(t->rows);
    *t = (struct mf_history_time){0};
}

void mf_history_free(struct mf_history *h)
{
    for (size_t i = 0; i < h->times; ++i) time_free(&h->time[i]);
    free(h->event);
    *h = (struct mf_history){.times = 0};
}

/* ---- times ---- */

/* The place of an expert in a time, which is added if it is new. */
static size_t place_of(struct mf_history_time *t, long id)
{
    size_t at = 0;

    while (at < t->count && t->id[at] < id) ++at;
    if (at < t->count && t->id[at] == id) return at;
    t->id = MF_MUST(realloc(t->id, (t->count + 1) * sizeof *t->id), "a history");
    t->rows = MF_MUST(realloc(t->rows, (t->count + 1) * sizeof *t->rows), "a history");
    memmove(t->id + at + 1, t->id + at, (t->count - at) * sizeof *t->id);
    memmove(t->rows + at + 1, t->rows + at, (t->count - at) * sizeof *t->rows);
    t->id[at] = id;
    t->rows[at] = 0;
    ++t->count;
    return at;
}

static void add_row(struct mf_history_time *t, long id, double rows)
{
    const size_t at = place_of(t, id);

    t->rows[at] += rows;
}

static void add_rows(struct mf_history_time *t, long step, size_t count, const long *id, const double *rows)
{
    for (size_t i = 0; i < count; ++i) add_row(t, id[i], rows[i]);
    t->step = step;
}

/* Joins neighbours, so that a time has twice as many steps. All times are full. */
static void halve(struct mf_history *h)
{
    for (size_t i = 0; i < h->times / 2; ++i) {
        struct mf_history_time first = h->time[2 * i], second = h->time[2 * i + 1];

        add_rows(&first, second.step, second.count, second.id, second.rows);
        time_free(&second);
        h->time[i] = first;
    }
    h->times /= 2;
    h->each *= 2;
}

void mf_history_step(struct mf_history *h, long step, size_t count, const long *id, const double *rows)
{
    if (h->each == 0) h->each = 1;
    if (h->times == 0 || h->steps == h->each) {
        if (h->times == MF_HISTORY_TIMES) halve(h);
        h->time[h->times++] = (struct mf_history_time){0};
        h->steps = 0;
    }
    add_rows(&h->time[h->times - 1], step, count, id, rows);
    ++h->steps;
}

void mf_history_event(struct mf_history *h, long step, long id, enum mf_change kind)
{
    h->event = MF_MUST(realloc(h->event, (h->events + 1) * sizeof *h->event), "a history");
    h->event[h->events++] = (struct mf_history_event){step, id, kind};
}

/* ---- JSON ---- */

static struct mf_json *json_of(const struct mf_history_time *t)
{
    struct mf_json *one = mf_json_object(), *ids = mf_json_array();

    for (size_t i = 0; i < t->count; ++i) mf_json_int(ids, NULL, t->id[i]);
    mf_json_int(one, "step", t->step);
    mf_json_put(one, "experts", ids);
    mf_json_reals(one, "rows", t->rows, t->count);
    return one;
}

struct mf_json *mf_history_json(const struct mf_history *h)
{
    struct mf_json *json = mf_json_object(), *times = mf_json_array(), *events = mf_json_array();

    for (size_t i = 0; i < h->times; ++i) mf_json_put(times, NULL, json_of(&h->time[i]));
    for (size_t i = 0; i < h->events; ++i) {
        struct mf_json *one = mf_json_object();

        MF_JSON(one, "step", h->event[i].step, "kind", mf_change_names[h->event[i].kind]);
        if (h->event[i].id >= 0) mf_json_int(one, "expert", h->event[i].id);
        mf_json_put(events, NULL, one);
    }
    MF_JSON(json, "steps_of_a_time", h->each, "steps_of_the_last", h->steps, "times", times, "events", events);
    return json;
}

static int wrong(const char *name, const char *list, size_t i, const char *what)
{
    return mf_fail(MF_INPUT, "'%.300s': %s[%zu] %s", name, list, i, what);
}

static int whole(const struct mf_json *value, long long least)
{
    return mf_json_kind(value) == MF_JSON_INT && mf_json_to_int(value) >= least;
}

static int read_time(const struct mf_json *one, const char *name, struct mf_history *h)
{
    const struct mf_json *step = mf_json_get(one, "step"), *ids = mf_json_get(one, "experts");
    const struct mf_json *rows = mf_json_get(one, "rows");
    struct mf_history_time *t = &h->time[h->times++];
    const long before = h->times > 1 ? t[-1].step : -1;

    *t = (struct mf_history_time){.step = (long)mf_json_to_int(step)};
    if (!whole(step, before + 1)) return wrong(name, "times", h->times - 1, "has no 'step' behind the one before");
    if (mf_json_count(ids) != mf_json_count(rows))
        return wrong(name, "times", h->times - 1, "has not as many 'rows' as 'experts'");
    for (size_t i = 0; i < mf_json_count(ids); ++i) {
        const struct mf_json *id = mf_json_item(ids, i);
        const double value = mf_json_to_real(mf_json_item(rows, i));

        if (!whole(id, i ? t->id[i - 1] + 1 : 0)) return wrong(name, "times", h->times - 1, "has 'experts' that fall");
        if (!(value >= 0)) return wrong(name, "times", h->times - 1, "has 'rows' below 0");
        add_row(t, (long)mf_json_to_int(id), value);
    }
    return MF_OK;
}

static int read_event(const struct mf_json *one, const char *name, struct mf_history *h)
{
    const struct mf_json *step = mf_json_get(one, "step"), *id = mf_json_get(one, "expert");
    int kind = 0;

    while (kind < MF_CHANGES && strcmp(mf_change_names[kind], mf_json_get_text(one, "kind")) != 0) ++kind;
    if (kind == MF_CHANGES || !whole(step, 0) || (id && !whole(id, 0)))
        return wrong(name, "events", h->events, "is no event");
    mf_history_event(h, (long)mf_json_to_int(step), id ? (long)mf_json_to_int(id) : -1, (enum mf_change)kind);
    return MF_OK;
}

static int read_all(const struct mf_json *json, const char *name, struct mf_history *h)
{
    const struct mf_json *times = mf_json_get(json, "times"), *events = mf_json_get(json, "events");

    if (mf_json_kind(times) != MF_JSON_ARRAY || mf_json_kind(events) != MF_JSON_ARRAY ||
        mf_json_count(times) > MF_HISTORY_TIMES || !whole(mf_json_get(json, "steps_of_a_time"), 0) ||
        !whole(mf_json_get(json, "steps_of_the_last"), 0))
        return mf_fail(MF_INPUT, "'%.300s' is no history of experts", name);
    h->each = (long)mf_json_get_int(json, "steps_of_a_time");
    h->steps = (long)mf_json_get_int(json, "steps_of_the_last");
    if (h->steps > h->each || (h->steps > 0) != (mf_json_count(times) > 0))
        return mf_fail(MF_INPUT, "'%.300s' says two things of the steps of its times", name);
    for (size_t i = 0; i < mf_json_count(times); ++i) MF_TRY(read_time(mf_json_item(times, i), name, h));
    for (size_t i = 0; i < mf_json_count(events); ++i) MF_TRY(read_event(mf_json_item(events, i), name, h));
    return MF_OK;
}

int mf_history_from(const struct mf_json *json, const char *name, struct mf_history *history)
{
    struct mf_history *fresh = MF_MUST(calloc(1, sizeof *fresh), "a history");
    const int rc = read_all(json, name, fresh);

    if (rc == MF_OK) {
        mf_history_free(history);
        *history = *fresh;
    } else {
        mf_history_free(fresh);
    }
    free(fresh);
    return rc;
}

int mf_history_save(const struct mf_history *history, const char *path)
{
    struct mf_json *json;
    struct mf_atomic file;
    struct mf_comm self;
    int rc;

    mf_comm_self(&self);
    MF_TRY(mf_atomic_open(&self, path, 0, &file));
    json = mf_history_json(history);
    rc = mf_atomic_close(&self, &file, mf_json_save(json, file.temporary, path));
    mf_json_free(json);
    return rc;
}

int mf_history_checkpoint(struct mf_history *history, struct mf_checkpoint *checkpoint, char **text)
{
    const int loads = mf_checkpoint_loads(checkpoint);
    struct mf_json *json = loads ? NULL : mf_history_json(history);
    int rc = mf_kept_json(checkpoint, "history", &json, text);

    if (loads && rc == MF_OK) rc = mf_history_from(json, "checkpoint", history);
    mf_json_free(json);
    return rc;
}
