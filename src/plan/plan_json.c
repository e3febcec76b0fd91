/* See plan.h: plans as JSON, and back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/plan/plan.h"

enum { FILE_MOST = 64 << 20 };

/* Four digits: what a model says holds no more, and the text is the same on every machine. */
static void put_seconds(struct mf_json *at, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.3e", value);
    mf_json_real(at, key, strtod(text, NULL));
}

static struct mf_json *lines_json(const struct mf_plan_lines *lines)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < lines->count; ++i) {
        char *text = mf_format("%s: %s", lines->at[i].key, lines->at[i].value);

        mf_json_text(all, NULL, text);
        free(text);
    }
    return all;
}

static struct mf_json *numbers_json(const struct mf_plan_numbers *numbers)
{
    struct mf_json *all = mf_json_object();

    for (size_t i = 0; i < numbers->count; ++i) mf_json_int(all, numbers->at[i].name, (long long)numbers->at[i].value);
    return all;
}

static void put_sizes(struct mf_json *at, const char *key, const size_t *values, size_t count)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < count; ++i) mf_json_int(all, NULL, (long long)values[i]);
    mf_json_put(at, key, all);
}

static struct mf_json *bytes_json(const struct mf_plan *p, int memory)
{
    struct mf_json *bytes = mf_json_object(), *arrays = mf_json_object();
    const struct mf_plan_bytes *b = &p->memory[memory].arrays;

    put_sizes(bytes, "per_rank", p->bytes[memory], p->ranks);
    mf_json_int(bytes, "fullest_rank", (long long)p->fullest);
    for (size_t i = 0; i < b->tags; ++i) mf_json_int(arrays, b->tag[i].name, (long long)b->tag[i].bytes);
    MF_JSON(bytes, "arrays", arrays, "total", b->total, "context", p->memory[memory].context, "reserve",
            p->memory[memory].reserve, "free", p->memory[memory].room);
    return bytes;
}

static struct mf_json *cost_json(const struct mf_plan_cost *c)
{
    struct mf_json *cost = mf_json_object();

    for (size_t i = 0; i < c->parts; ++i) put_seconds(cost, c->part[i].name, c->part[i].seconds);
    put_seconds(cost, "total", c->total);
    return cost;
}

/* "seconds_per_evaluation". */
static const char *seconds_key(const struct mf_plan *p, char key[64])
{
    snprintf(key, 64, "seconds_per_%s", p->workload->step);
    return key;
}

/* cpu with its state in a memory of its own is shadow. */
const char *mf_plan_device(int device, int apart) { return device ? "cuda" : apart ? "shadow" : "cpu"; }

static struct mf_json *candidate_json(const struct mf_plan *p, const struct mf_plan_candidate *c)
{
    struct mf_json *one = mf_json_object();
    char seconds[64];

    MF_JSON(one, "device", mf_plan_device(c->device, c->apart), "nodes", c->nodes, "ranks", c->ranks, "threads",
            c->threads, "settings", numbers_json(&c->settings), "bytes", c->bytes, "free", c->free);
    if (c->fits)
        put_seconds(one, seconds_key(p, seconds), c->seconds);
    else
        mf_json_null(one, seconds_key(p, seconds));
    mf_json_bool(one, "fits", c->fits);
    mf_json_text(one, "reason", c->reason);
    return one;
}

static void put_chosen(struct mf_json *json, const struct mf_plan *p)
{
    char seconds[64];

    MF_JSON(json, "device", mf_plan_device(p->device, p->apart), "nodes", p->nodes, "ranks", p->ranks, "ranks_per_node",
            p->per_node, "ranks_per_gpu", p->ranks_per_gpu, "threads", p->threads, "exchange", p->exchange, "settings",
            numbers_json(&p->settings), "derived", numbers_json(&p->derived), "bytes", bytes_json(p, MF_PLAN_STATE));
    if (p->apart) mf_json_put(json, "host_bytes", bytes_json(p, MF_PLAN_HOST));
    mf_json_put(json, seconds_key(p, seconds), cost_json(&p->cost));
    if (p->run.parts) mf_json_put(json, "seconds_of_run", cost_json(&p->run));
}

static struct mf_json *least_json(const struct mf_plan *p)
{
    struct mf_json *least = candidate_json(p, p->least);

    mf_json_int(least, "rank", (long long)p->least->rank);
    return least;
}

/* All but the hash. */
static struct mf_json *body(const struct mf_plan *p)
{
    struct mf_json *json = mf_json_object(), *candidates = mf_json_array(), *notes = mf_json_array();

    MF_JSON(json, "schema", "plan", "schema_version", MF_PLAN_VERSION, "creator", "mesoforge " MF_VERSION, "problem",
            lines_json(&p->problem), "machine", lines_json(&p->machine));
    if (p->ranks > 0)
        put_chosen(json, p);
    else if (p->least)
        mf_json_put(json, "least", least_json(p));
    for (size_t i = 0; i < p->candidates; ++i) mf_json_put(candidates, NULL, candidate_json(p, &p->candidate[i]));
    mf_json_put(json, "candidates", candidates);
    for (size_t i = 0; i < p->notes; ++i) mf_json_text(notes, NULL, p->note[i]);
    mf_json_put(json, "notes", notes);
    return json;
}

/* First digits of the SHA-256 of the text on one line. */
static void hash_of(const struct mf_json *json, char hash[MF_PLAN_HASH])
{
    char *text = mf_json_string(json), hex[65];

    mf_hash_bytes(text, strlen(text), hex);
    free(text);
    memcpy(hash, hex, MF_PLAN_HASH - 1);
    hash[MF_PLAN_HASH - 1] = '\0';
}

void mf_plan_seal(struct mf_plan *plan)
{
    struct mf_json *json = body(plan);

    hash_of(json, plan->hash);
    mf_json_free(json);
}

/* Taken by a clock: beside the plan, not part of it. */
static struct mf_json *trials_json(const struct mf_plan *p)
{
    struct mf_json *all = mf_json_array();

    for (size_t i = 0; i < p->trials; ++i) {
        struct mf_json *one = mf_json_object();

        mf_json_put(one, "settings", numbers_json(&p->trial[i].settings));
        put_seconds(one, "predicted", p->trial[i].predicted);
        put_seconds(one, "measured", p->trial[i].measured);
        mf_json_put(all, NULL, one);
    }
    return all;
}

struct mf_json *mf_plan_json(const struct mf_plan *plan)
{
    struct mf_json *json = body(plan);

    if (plan->ranks > 0) mf_json_text(json, "hash", plan->hash);
    if (plan->trials > 0) mf_json_put(json, "verified", trials_json(plan));
    return json;
}

/* ---- reading ---- */

static int read_lines(const char *path, const struct mf_json *all, const char *key, struct mf_plan_lines *lines)
{
    if (mf_json_count(all) == 0) return mf_fail(MF_INPUT, "'%.300s': %s must be an array of lines", path, key);
    for (size_t i = 0; i < mf_json_count(all); ++i) {
        const char *text = mf_json_to_text(mf_json_item(all, i)), *colon = strstr(text, ": ");
        char *name;

        if (!colon) return mf_fail(MF_INPUT, "'%.300s': %s[%zu] must be \"key: value\"", path, key, i);
        name = MF_MUST(strndup(text, (size_t)(colon - text)), "a plan");
        mf_plan_say(lines, name, "%s", colon + 2);
        free(name);
    }
    return MF_OK;
}

static int read_size(const char *path, const struct mf_json *file, const char *key, size_t least, size_t *size)
{
    const struct mf_json *value = mf_json_get(file, key);
    long long number = mf_json_to_int(value);

    if (mf_json_kind(value) != MF_JSON_INT || number < (long long)least || number > 1 << 30)
        return mf_fail(MF_INPUT, "'%.300s': %s must be a whole number of at least %zu", path, key, least);
    *size = (size_t)number;
    return MF_OK;
}

struct reading {
    struct mf_plan_numbers *numbers;
    int bad;
};

static void read_number(void *context, const char *name, const struct mf_json *value)
{
    struct reading *r = context;

    if (mf_json_kind(value) != MF_JSON_INT || mf_json_to_int(value) < 0 || r->numbers->count == MF_PLAN_NUMBERS ||
        strlen(name) >= sizeof r->numbers->at[0].name)
        r->bad = 1;
    else
        mf_plan_set(r->numbers, name, (size_t)mf_json_to_int(value));
}

int mf_plan_numbers_read(const struct mf_json *json, struct mf_plan_numbers *numbers)
{
    struct reading r = {numbers, mf_json_kind(json) != MF_JSON_OBJECT};

    numbers->count = 0;
    if (!r.bad) mf_json_each(json, read_number, &r);
    return !r.bad;
}

static int read_schema(const char *path, const struct mf_json *file)
{
    const long long version = mf_json_get_int(file, "schema_version");

    if (strcmp(mf_json_get_text(file, "schema"), "plan") != 0)
        return mf_fail(MF_INPUT, "'%.300s' is no plan: its schema is not \"plan\"", path);
    if (version == MF_PLAN_VERSION) return MF_OK;
    return mf_fail(MF_INPUT, "'%.300s' is a plan of schema version %lld, this program reads %d; try: make it again",
                   path, version, MF_PLAN_VERSION);
}

static int read_body(const char *path, const struct mf_json *file, struct mf_plan *plan)
{
    const char *device = mf_json_get_text(file, "device");

    MF_TRY(read_schema(path, file));
    MF_TRY(read_lines(path, mf_json_get(file, "problem"), "problem", &plan->problem));
    MF_TRY(read_lines(path, mf_json_get(file, "machine"), "machine", &plan->machine));
    if (strcmp(device, "cpu") != 0 && strcmp(device, "cuda") != 0 && strcmp(device, "shadow") != 0)
        return mf_fail(MF_INPUT, "'%.300s': device must be \"cpu\", \"cuda\" or \"shadow\"", path);
    plan->device = strcmp(device, "cuda") == 0;
    plan->apart = strcmp(device, "cpu") != 0;
    MF_TRY(read_size(path, file, "nodes", 1, &plan->nodes));
    MF_TRY(read_size(path, file, "ranks", 1, &plan->ranks));
    MF_TRY(read_size(path, file, "ranks_per_node", 1, &plan->per_node));
    MF_TRY(read_size(path, file, "ranks_per_gpu", 0, &plan->ranks_per_gpu));
    MF_TRY(read_size(path, file, "threads", 1, &plan->threads));
    if (mf_plan_numbers_read(mf_json_get(file, "settings"), &plan->settings)) return MF_OK;
    return mf_fail(MF_INPUT, "'%.300s': settings must be an object of whole numbers", path);
}

int mf_plan_is_whole(const struct mf_json *json)
{
    struct mf_json *body = mf_json_copy(json);
    char hash[MF_PLAN_HASH];

    mf_json_drop(body, "hash");
    mf_json_drop(body, "verified");
    hash_of(body, hash);
    mf_json_free(body);
    return strcmp(hash, mf_json_get_text(json, "hash")) == 0;
}

int mf_plan_read(const char *path, struct mf_plan *plan)
{
    struct mf_json *file = NULL;
    int rc;

    memset(plan, 0, sizeof *plan);
    MF_TRY(mf_json_load(path, FILE_MOST, &file));
    rc = read_body(path, file, plan);
    if (rc == MF_OK && !mf_plan_is_whole(file))
        rc = mf_fail(MF_INPUT, "'%.300s' is not as it was written: its hash is of another text", path);
    if (rc == MF_OK) snprintf(plan->hash, sizeof plan->hash, "%s", mf_json_get_text(file, "hash"));
    mf_json_free(file);
    return rc;
}
