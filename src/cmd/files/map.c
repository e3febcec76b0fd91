/* map: which device has which part of a model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/cmd/cmd.h"
#include "src/cmd/files/map_show.h"
#include "src/cmd/files/map_tune.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/map_advise.h"
#include "src/cmd/map_model.h"
#include "src/gen/lists.h"
#include "src/place/map.h"
#include "src/plan/hardware.h"

#define ROW(word, field, kind, standard, help) MF_OPT(mf_map_opts, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    MF_CHOICE_TEXT(
        mf_map_opts, "strategy", strategy, "auto", "auto|balanced|sequential|custom",
        "auto: least memory on the fullest device, then fewest boundaries; balanced: as many blocks on each; "
        "sequential: one after the other; custom: --map"),
    ROW("map", map, MF_TEXT, NULL,
        "devices of parts: \"layers.0-11=cuda:0,*=cuda:1\", or a file, also a device_map of transformers"),
    MF_CHOICE_TEXT(mf_map_opts, "map-algo", algo, "exact", "exact|greedy",
                   "of auto; greedy: the algorithm of ipfs_accelerate_py, which scatters layers"),
    ROW("devices", devices, MF_TEXTS, NULL,
        "cuda:0 cuda:1, or with commas; cuda: all GPUs; cpu: host memory; left out: all GPUs, else cpu"),
    MF_CHOICE_TEXT(mf_map_opts, "prefer", prefer, NULL, "cuda|rocm", "GPUs of which maker come first"),
    ROW("lenient-devices", lenient, MF_FLAG, NULL, "leave out devices that are not there"),
    ROW("hardware", wish.hardware, MF_TEXT, NULL, "map for the machine in this file; without: for this one"),
    ROW("context", context, MF_LONG, NULL, "positions of a request; left out: those of the model"),
    ROW("requests", requests, MF_LONG, "1", "requests at a time; of a network without caches: samples of a pass"),
    MF_DTYPE_ROWS(mf_map_opts),
    ROW("check", check, MF_FLAG, NULL, "say only if the map is complete and fits"),
    ROW("recommend", recommend, MF_FLAG, NULL, "say only which device, or devices, the model should have"),
    MF_CHOICE_TEXT(mf_map_opts, "policy", policy, "smallest", "smallest|largest",
                   "of --recommend; smallest: the smallest GPU that holds the model; largest: as ipfs_accelerate_py"),
    ROW("tp-config", tp_config, MF_FLAG, NULL, "print only the configuration for layers that GPUs share, as JSON"),
    ROW("measure", tune, MF_FLAG, NULL, "time maps on the ranks that run, one device each, and take the fastest"),
    MF_ALIAS("tune", "measure"),
    ROW("estimate", estimate, MF_TEXT, NULL,
        "a model that is not here: guess its sizes by this name, as ipfs_accelerate_py"),
    ROW("layers", layers, MF_LONG, "0", "of --estimate; 0: guessed, too"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int is(const char *a, const char *b) { return strcmp(a, b) == 0; }

/* -- placing -- */

/* A map of ranks (map --measure) is placed on ranks. A GPU of each has its memory, if there are as many. */
static int take_ranks(const struct mf_map *map, struct mf_mapped *m)
{
    struct mf_place_devices named;
    size_t k = 0;
    int rc;

    while (k < map->count && mf_place_device_rank(map->entry[k].device) < 0) ++k;
    if (k == map->count) return MF_OK;
    rc = mf_map_devices(map, &named);
    if (rc == MF_OK) {
        mf_mapped_take_ranks(m, named.count);
        for (k = 0; k < named.count; ++k) memcpy(m->devices.device[k].name, named.device[k].name, MF_DEVICE_NAME);
    }
    mf_place_devices_free(&named);
    return rc;
}

static int place_by_map(const struct mf_map_opts *o, struct mf_mapped *m, struct mf_device_map *p)
{
    struct mf_map map;
    int rc = mf_map_read(o->map, &map);

    if (rc == MF_OK) rc = take_ranks(&map, m);
    if (rc == MF_OK) rc = mf_map_place(&map, &m->parts, &m->devices, mf_mapped_language(m), p);
    mf_map_free(&map);
    return rc;
}

/* More devices than blocks: some have none. */
static void say_idle(const struct mf_mapped *m, const struct mf_device_map *p)
{
    size_t idle = 0;

    for (size_t d = 0; d < m->devices.count; ++d) {
        size_t k = 0;

        while (k < p->parts && p->device[k] != d) ++k;
        idle += k == p->parts;
    }
    if (idle > 0) mf_warn("%zu of %zu devices have no block", idle, m->devices.count);
}

static int place(const struct mf_map_opts *o, struct mf_mapped *m, struct mf_device_map *p)
{
    if (o->map) return place_by_map(o, m, p);
    if (is(o->algo, "greedy"))
        mf_place_greedy_parts(&m->parts, &m->devices, p);
    else if (is(o->strategy, "balanced"))
        mf_place_balanced(&m->parts, &m->devices, p);
    else if (is(o->strategy, "sequential"))
        mf_place_sequential(&m->parts, &m->devices, 0.9, p);
    else
        return mf_place_auto(&m->parts, &m->devices, p);
    if (is(o->strategy, "balanced")) say_idle(m, p);
    return MF_OK;
}

/* -- telling -- */

static const char *strategy_of(const struct mf_map_opts *o)
{
    return o->tune ? "tuned" : o->map ? "custom" : is(o->algo, "greedy") ? "greedy" : o->strategy;
}

static int write_map(const struct mf_session *s, const struct mf_mapped *m, const struct mf_device_map *p)
{
    struct mf_json *json;
    int rc;

    if (!mf_common_of(s)->output || s->settings.dry_run) return MF_OK;
    json = mf_map_json(p, &m->parts, &m->devices, mf_mapped_language(m));
    rc = mf_hardware_write(s->comm, mf_common_of(s)->output, json);
    mf_json_free(json);
    return rc;
}

/* A map that does not fit is told all the same, and then refused. */
static int tell(const struct mf_map_opts *o, const struct mf_session *s, const struct mf_mapped *m,
                const struct mf_device_map *p)
{
    struct mf_json *json;
    int rc = MF_OK;

    if (o->check) {
        MF_TRY(mf_place_fits(&m->parts, &m->devices, p));
        printf("%s: all %zu parts have a device, and each device holds what it has\n", m->name, m->parts.count);
        return MF_OK;
    }
    if (mf_common_of(s)->json) {
        json = mf_map_object(m, p, strategy_of(o));
        rc = mf_json_write(json, stdout);
        mf_json_free(json);
    } else {
        mf_map_print(m, p);
    }
    return rc == MF_OK ? mf_place_fits(&m->parts, &m->devices, p) : rc;
}

/* All ranks take part, and rank 0 tells. */
static int tune(struct mf_session *s, const struct mf_map_opts *o, struct mf_mapped *m)
{
    struct mf_device_map p;
    int rc = mf_map_tune(s, m, &p);

    if (rc == MF_OK && s->comm->rank == 0) rc = tell(o, s, m, &p);
    rc = mf_agree(s->comm, rc);
    if (rc == MF_OK) rc = write_map(s, m, &p);
    mf_device_map_free(&p);
    return rc;
}

static int work(struct mf_session *s, const struct mf_map_opts *o, struct mf_mapped *m)
{
    struct mf_device_map p = {.parts = 0};
    int rc;

    if (o->tune) return tune(s, o, m);
    if (o->recommend) return mf_map_recommend(m, o->policy, mf_common_of(s)->json);
    if (o->tp_config) return mf_map_tp_config(m);
    rc = place(o, m, &p);
    if (rc == MF_OK) rc = tell(o, s, m, &p);
    if (rc == MF_OK && !o->check) rc = write_map(s, m, &p);
    mf_device_map_free(&p);
    return rc;
}

/* -- the verb -- */

static int check_words(const struct mf_session *s, const struct mf_map_opts *o)
{
    const char *const *words;
    const size_t n = mf_arguments(s, &words);

    if (n == 0 && !o->estimate)
        return mf_fail(MF_USAGE, "no model; try: mesoforge map FOLDER, before --devices (their list goes on)");
    if (n > 0 && o->estimate) return mf_fail(MF_USAGE, "'%.200s' and --estimate contradict each other", words[0]);
    if (o->check + o->recommend + o->tp_config > 1)
        return mf_fail(MF_USAGE, "--check, --recommend and --tp-config contradict each other; leave all but one out");
    if ((o->recommend || o->tp_config || o->check) && mf_common_of(s)->output)
        return mf_fail(MF_USAGE, "--output is for a map; leave --check, --recommend and --tp-config out");
    if (o->tune && (o->map || o->estimate || o->wish.hardware || o->check || o->recommend || o->tp_config ||
                    mf_given(s, "strategy") || !is(o->algo, "exact")))
        return mf_fail(MF_USAGE,
                       "--measure finds the map of this machine by itself; leave --map, --strategy, --hardware, "
                       "--check and the like out");
    if (s->comm->size > 1 && !o->tune)
        return mf_fail(MF_USAGE, "one rank makes a map, and %d run; leave out the launcher", s->comm->size);
    return MF_OK;
}

static int check(const struct mf_session *s, void *options)
{
    const struct mf_map_opts *o = options;

    MF_TRY(check_words(s, o));
    if (o->map && mf_given(s, "strategy") && !is(o->strategy, "custom"))
        return mf_fail(MF_USAGE, "--map and --strategy %s contradict each other", o->strategy);
    if (!o->map && is(o->strategy, "custom"))
        return mf_fail(MF_USAGE, "--strategy custom needs a map; try: --map \"layers.0-11=cuda:0,*=cuda:1\"");
    if (is(o->algo, "greedy") && (o->map || !is(o->strategy, "auto")))
        return mf_fail(MF_USAGE, "--map-algo greedy is of --strategy auto");
    if (o->requests < 1 || o->requests > MF_GEN_REQUESTS)
        return mf_fail(MF_USAGE, "--requests must be 1 to %d, not %ld", MF_GEN_REQUESTS, o->requests);
    if (mf_given(s, "context") && o->context < 1)
        return mf_fail(MF_USAGE, "--context %ld: it must be at least 1", o->context);
    if (o->layers < 0 || o->layers > 100000)
        return mf_fail(MF_USAGE, "--layers must be 0 to 100000, not %ld", o->layers);
    if (mf_given(s, "layers") && !o->estimate) return mf_fail(MF_USAGE, "--layers is of --estimate");
    return MF_OK;
}

static int run(struct mf_session *s, void *options)
{
    struct mf_map_opts *o = options;
    const char *const *words;
    const char *const inputs[] = {o->wish.hardware, o->map};
    struct mf_mapped m;
    int rc;

    if (mf_common_of(s)->output) {
        MF_TRY(mf_session_may_write(s, mf_common_of(s)->output, ".json"));
        MF_TRY(mf_session_spares(s, mf_common_of(s)->output, sizeof inputs / sizeof *inputs, inputs));
    }
    rc = mf_agree(s->comm, mf_mapped_open(s, o, mf_arguments(s, &words) ? words[0] : o->estimate, &m));
    if (rc == MF_OK) rc = work(s, o, &m);
    mf_mapped_close(&m);
    return rc;
}

const struct mf_cmd mf_cmd_map = {
    .name = "map",
    .summary = "share the parts of a model among devices, and tell their bytes",
    .synopsis = "MODEL [--strategy auto|balanced|sequential] [--map MAP] [--devices cuda:0 cuda:1] [--output MAP.json]",
    .text =
        "Tells the exact bytes of every part of a model: weights, caches and work memory of embeddings, each block and "
        "the head. Then it gives each part a device, and tells what each device needs and what stays free. The model "
        "is "
        "the folder of a language model, of which config.json is enough, or a model file of this program. No memory is "
        "taken for weights.\n"
        "\n"
        "  mesoforge map llama --hardware examples/hardware/l4x4.json\n"
        "  mesoforge map gpt2 --context 256 --requests 8 --devices cuda:0,cpu\n"
        "  mesoforge map llama --map \"layers.0-11=cuda:0,*=cuda:1\" --check\n"
        "  mesoforge map llama --strategy balanced --output map.json\n"
        "  mesoforge map llama --recommend\n"
        "  mpirun -n 4 mesoforge map llama --measure --requests 8 --output map.json\n"
        "\n"
        "The file of --output is a device_map of transformers: from_pretrained(.., device_map=json.load(..)). "
        "On cores --measure writes rank:0, rank:1, ..: that file is for --map of infer, and not for transformers.\n",
    .tables = tables,
    .size = sizeof(struct mf_map_opts),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_NONE, /* --measure goes to its device by itself */
    .remedy = "a shorter --context, or fewer --requests",
    .in_library = 1,
};
