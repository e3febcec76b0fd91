/* See hardware.h: reading. Every error message names the file and the place: "'x.json': nodes[0].cores is missing". */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/words.h"
#include "src/plan/hardware.h"
#include "src/plan/hardware_priv.h"

/* The capability's limit is as far beyond what is built as those of the rows. */
enum { FILE_MOST = 16 << 20, NODES_MOST = 65536, KEYS_MOST = 64, CAPABILITY_MOST = 20 };

/* Where in a file: "nodes[0].gpus[1]". */
struct place {
    const char *file;
    char at[128];
};

static struct place inside(const struct place *outer, const char *key, size_t i)
{
    struct place place = {.file = outer->file};

    snprintf(place.at, sizeof place.at, "%.80s%s%s[%zu]", outer->at, *outer->at ? "." : "", key, i);
    return place;
}

static const char *dot(const struct place *place) { return *place->at ? "." : ""; }

static int missing(const struct place *place, const char *key)
{
    return mf_fail(MF_INPUT, "'%.300s': %s%s%s is missing", place->file, place->at, dot(place), key);
}

static int wrong_kind(const struct place *place, const char *key, const struct mf_json *value, const char *wanted)
{
    return mf_fail(MF_INPUT, "'%.300s': %s%s%s must be %s, not %s", place->file, place->at, dot(place), key, wanted,
                   mf_json_kind_name(value));
}

/* An object whose keys are all among the rows and @p more. */
static int check_keys(const struct place *place, const struct mf_json *object, const struct mf_key *keys,
                      const char *const *more)
{
    const char *known[KEYS_MOST + 1], *stranger, *near;
    size_t n = 0;

    if (mf_json_kind(object) != MF_JSON_OBJECT)
        return mf_fail(MF_INPUT, "'%.300s': %s must be an object, not %s", place->file,
                       *place->at ? place->at : "the file", mf_json_kind_name(object));
    for (; keys && keys->key; ++keys) known[n++] = keys->key;
    for (; *more; ++more) known[n++] = *more;
    known[n] = NULL;
    stranger = mf_json_stranger(object, known);
    if (!stranger) return MF_OK;
    near = mf_nearest(stranger, known, n);
    return mf_fail(MF_INPUT, "'%.300s': unknown key %s%s%.80s%s%s", place->file, place->at, dot(place), stranger,
                   near ? "; did you mean " : "", near ? near : "");
}

static int read_number(const struct place *place, const struct mf_json *value, const struct mf_key *key, void *field)
{
    int is_int = mf_json_kind(value) == MF_JSON_INT;
    double number = mf_json_to_real(value);

    if (!is_int && (key->kind == MF_KEY_INT || mf_json_kind(value) != MF_JSON_REAL))
        return wrong_kind(place, key->key, value, key->kind == MF_KEY_INT ? "a whole number" : "a number");
    if (!(number >= key->least && number <= key->most))
        return mf_fail(MF_INPUT, "'%.300s': %s%s%s is %.6g, which no machine has (%.6g to %.6g)", place->file,
                       place->at, dot(place), key->key, number, key->least, key->most);
    if (key->kind == MF_KEY_INT)
        *(int64_t *)field = mf_json_to_int(value);
    else
        *(double *)field = number;
    return MF_OK;
}

static int read_text(const struct place *place, const struct mf_json *value, const struct mf_key *key, char *field)
{
    size_t length = strlen(mf_json_to_text(value));

    if (mf_json_kind(value) != MF_JSON_TEXT) return wrong_kind(place, key->key, value, "text");
    if (length < (size_t)key->least || length > (size_t)key->most)
        return mf_fail(MF_INPUT, "'%.300s': %s%s%s must be text of %.0f to %.0f bytes", place->file, place->at,
                       dot(place), key->key, key->least, key->most);
    memcpy(field, mf_json_to_text(value), length + 1);
    for (const char *c = field; *c; ++c)
        if (iscntrl((unsigned char)*c))
            return mf_fail(MF_INPUT, "'%.300s': %s%s%s has a control character", place->file, place->at, dot(place),
                           key->key);
    return MF_OK;
}

static void set_standard(const struct mf_key *key, char *field)
{
    if (key->kind == MF_KEY_TEXT)
        *field = '\0';
    else if (key->kind == MF_KEY_INT)
        *(int64_t *)(void *)field = (int64_t)key->standard;
    else
        *(double *)(void *)field = key->standard;
}

static int read_fields(const struct place *place, const struct mf_json *object, const struct mf_key *keys, char *into)
{
    for (; keys->key; ++keys) {
        const struct mf_json *value = mf_json_get(object, keys->key);
        char *field = into + keys->offset;

        set_standard(keys, field);
        if (!value && keys->required) return missing(place, keys->key);
        if (!value) continue;
        if (keys->kind == MF_KEY_TEXT)
            MF_TRY(read_text(place, value, keys, field));
        else
            MF_TRY(read_number(place, value, keys, field));
    }
    return MF_OK;
}

/* ---- GPUs ---- */

static int read_capability(const struct place *place, const struct mf_json *object, struct mf_gpu *gpu)
{
    const struct mf_json *value = mf_json_get(object, "compute_capability");
    int major = 0, minor = -1, length = 0;

    if (!value) return missing(place, "compute_capability");
    if (mf_json_kind(value) != MF_JSON_TEXT) return wrong_kind(place, "compute_capability", value, "text like \"9.0\"");
    /* NOLINTNEXTLINE(cert-err34-c): the range is checked below, and two digits cannot overflow */
    if (sscanf(mf_json_to_text(value), "%2d.%1d%n", &major, &minor, &length) != 2 || mf_json_to_text(value)[length] ||
        major < 1 || minor < 0)
        return mf_fail(MF_INPUT, "'%.300s': %s.compute_capability is '%.40s', it must be text like \"9.0\"",
                       place->file, place->at, mf_json_to_text(value));
    if (major > CAPABILITY_MOST)
        return mf_fail(MF_INPUT, "'%.300s': %s.compute_capability is %d.%d, which no machine has (1.0 to %d.9)",
                       place->file, place->at, major, minor, CAPABILITY_MOST);
    gpu->major = major;
    gpu->minor = minor;
    return MF_OK;
}

static int read_gpu(const struct place *place, const struct mf_json *object, struct mf_gpu *gpu, int64_t *count)
{
    static const struct mf_key row = {"count", 0, MF_KEY_INT, 0, 1, MF_HARDWARE_GPUS, 1};
    const struct mf_json *value = mf_json_get(object, "count");

    *count = 1;
    MF_TRY(check_keys(place, object, mf_gpu_keys, mf_gpu_more));
    if (value) MF_TRY(read_number(place, value, &row, count));
    MF_TRY(read_fields(place, object, mf_gpu_keys, (char *)gpu));
    MF_TRY(read_capability(place, object, gpu));
    if (gpu->memory_free_bytes < 0) gpu->memory_free_bytes = gpu->memory_bytes;
    if (gpu->memory_free_bytes > gpu->memory_bytes)
        return mf_fail(MF_INPUT, "'%.300s': %s has more free memory than memory", place->file, place->at);
    if (*count > 1 && (*gpu->uuid || *gpu->pci))
        return mf_fail(MF_INPUT, "'%.300s': %s: %lld GPUs cannot have one id", place->file, place->at,
                       (long long)*count);
    return MF_OK;
}

/* Every id once: a GPU that stands twice would be planned for twice. */
static int check_ids(const struct place *place, const struct mf_host *host)
{
    for (size_t g = 0; g < host->gpus; ++g)
        for (size_t k = 0; k < g; ++k)
            if (*host->gpu[g].uuid && strcmp(host->gpu[g].uuid, host->gpu[k].uuid) == 0)
                return mf_fail(MF_INPUT, "'%.300s': %s has GPU %s twice", place->file, place->at, host->gpu[g].uuid);
    return MF_OK;
}

static int read_gpus(const struct place *place, const struct mf_json *array, struct mf_host *host)
{
    struct mf_gpu *gpu = MF_MUST(malloc(MF_HARDWARE_GPUS * sizeof *gpu), "GPUs");
    size_t n = 0;
    int rc = MF_OK;

    if (array && mf_json_kind(array) != MF_JSON_ARRAY) rc = wrong_kind(place, "gpus", array, "an array");
    for (size_t i = 0; rc == MF_OK && i < mf_json_count(array); ++i) {
        struct place here = inside(place, "gpus", i);
        struct mf_gpu one;
        int64_t count = 1;

        memset(&one, 0, sizeof one);
        rc = read_gpu(&here, mf_json_item(array, i), &one, &count);
        if (rc == MF_OK && n + (size_t)count > MF_HARDWARE_GPUS)
            rc = mf_fail(MF_INPUT, "'%.300s': %s has more than %d GPUs", place->file, place->at, MF_HARDWARE_GPUS);
        for (int64_t k = 0; rc == MF_OK && k < count; ++k) gpu[n++] = one;
    }
    if (rc == MF_OK) mf_host_gpus(host, n);
    if (rc == MF_OK && n > 0) memcpy(host->gpu, gpu, n * sizeof *gpu);
    free(gpu);
    return rc == MF_OK ? check_ids(place, host) : rc;
}

/* Where it is said how many NUMA nodes there are, they are counted from 0. */
static int check_numa(const struct place *place, const struct mf_host *host)
{
    if (host->cores > 0 && host->numa_nodes > 16 && host->numa_nodes > host->cores)
        return mf_fail(MF_INPUT, "'%.300s': %s has %lld NUMA nodes for %lld cores, which no machine has", place->file,
                       place->at, (long long)host->numa_nodes, (long long)host->cores);
    for (size_t g = 0; g < host->gpus && host->numa_nodes > 0; ++g)
        if (host->gpu[g].numa_node >= host->numa_nodes)
            return mf_fail(MF_INPUT, "'%.300s': %s has a GPU at NUMA node %lld, and %lld NUMA node%s", place->file,
                           place->at, (long long)host->gpu[g].numa_node, (long long)host->numa_nodes,
                           MF_S(host->numa_nodes));
    return MF_OK;
}

/* ---- links ---- */

static int read_link(const struct place *place, const struct mf_json *object, int is_pair, struct mf_link *link)
{
    static const char *const of_all[] = {"kind", "gb_per_s", NULL}, *const of_pair[] = {"gpus", "kind", "gb_per_s",
                                                                                        NULL};
    static const struct mf_key row = {"gb_per_s", 0, MF_KEY_REAL, 0, 1e-3, 1e6, 0};
    const struct mf_json *kind, *rate;
    const char *name;

    MF_TRY(check_keys(place, object, NULL, is_pair ? of_pair : of_all));
    kind = mf_json_get(object, "kind");
    rate = mf_json_get(object, "gb_per_s");
    name = mf_json_to_text(kind);
    link->kind = MF_LINK_NVLINK;
    while (link->kind < MF_LINK_KINDS && strcmp(name, mf_link_names[link->kind]) != 0) ++link->kind;
    if (!kind) return missing(place, "kind");
    if (link->kind == MF_LINK_KINDS)
        return mf_fail(MF_INPUT, "'%.300s': %s.kind must be nvlink, switch, host or system", place->file, place->at);
    link->rate = 0;
    return rate ? read_number(place, rate, &row, &link->rate) : MF_OK;
}

static int read_pair(const struct place *place, const struct mf_json *object, struct mf_host *host)
{
    const struct mf_json *pair = mf_json_get(object, "gpus");
    struct mf_link link;
    size_t at[2];

    MF_TRY(read_link(place, object, 1, &link));
    for (size_t k = 0; k < 2; ++k) {
        const struct mf_json *number = mf_json_item(pair, k);
        long long g = mf_json_to_int(number);

        if (mf_json_count(pair) != 2 || mf_json_kind(number) != MF_JSON_INT || g < 0 || (size_t)g >= host->gpus)
            return mf_fail(MF_INPUT, "'%.300s': %s.gpus must be two of the %zu GPU%s, counted from 0", place->file,
                           place->at, host->gpus, MF_S(host->gpus));
        at[k] = (size_t)g;
    }
    if (at[0] == at[1] || host->link[at[0] * host->gpus + at[1]].kind != MF_LINK_NONE)
        return mf_fail(MF_INPUT, "'%.300s': %s: GPUs %zu and %zu are linked already", place->file, place->at, at[0],
                       at[1]);
    host->link[at[0] * host->gpus + at[1]] = host->link[at[1] * host->gpus + at[0]] = link;
    return MF_OK;
}

static int read_links(const struct place *place, const struct mf_json *links, struct mf_host *host)
{
    struct place here = *place;
    struct mf_link all;

    if (!links) return MF_OK;
    if (mf_json_kind(links) == MF_JSON_ARRAY) {
        for (size_t i = 0; i < mf_json_count(links); ++i) {
            here = inside(place, "links", i);
            MF_TRY(read_pair(&here, mf_json_item(links, i), host));
        }
        return MF_OK;
    }
    snprintf(here.at, sizeof here.at, "%.100s.links", place->at);
    MF_TRY(read_link(&here, links, 0, &all));
    for (size_t i = 0; i < host->gpus * host->gpus; ++i)
        if (i / host->gpus != i % host->gpus) host->link[i] = all;
    return MF_OK;
}

/* ---- the file ---- */

/* Work areas follow the vectors: a word that says nothing would be planned for as something. No word: the least. */
static int check_simd(const struct place *place, char simd[MF_HARDWARE_TEXT])
{
    static const char *const known[] = {"avx512", "avx2", "baseline"};

    if (!*simd) snprintf(simd, MF_HARDWARE_TEXT, "baseline");
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (strcmp(simd, known[i]) == 0) return MF_OK;
    return mf_fail(MF_INPUT, "'%.300s': %s.simd is '%.40s', it must be avx512, avx2 or baseline", place->file,
                   place->at, simd);
}

static int read_host(const struct place *place, const struct mf_json *object, struct mf_host *host)
{
    MF_TRY(check_keys(place, object, mf_host_keys, mf_host_more));
    MF_TRY(read_fields(place, object, mf_host_keys, (char *)host));
    MF_TRY(check_simd(place, host->simd));
    if (host->ram_available_bytes == 0) host->ram_available_bytes = host->ram_bytes;
    if (host->ram_available_bytes > host->ram_bytes)
        return mf_fail(MF_INPUT, "'%.300s': %s has more available memory than memory", place->file, place->at);
    MF_TRY(read_gpus(place, mf_json_get(object, "gpus"), host));
    MF_TRY(check_numa(place, host));
    return read_links(place, mf_json_get(object, "links"), host);
}

static int check_schema(const struct place *place, const struct mf_json *file)
{
    const struct mf_json *version;

    MF_TRY(check_keys(place, file, NULL, mf_hardware_more));
    if (strcmp(mf_json_get_text(file, "schema"), "hardware") != 0)
        return mf_fail(MF_INPUT, "'%.300s' is no hardware file: its schema is not \"hardware\"", place->file);
    version = mf_json_get(file, "schema_version");
    if (mf_json_kind(version) != MF_JSON_INT || mf_json_to_int(version) < 1)
        return mf_fail(MF_INPUT, "'%.300s': schema_version is missing or no number", place->file);
    if (mf_json_to_int(version) > MF_HARDWARE_VERSION)
        return mf_fail(MF_INPUT, "'%.300s' has schema version %lld, this program reads up to %d", place->file,
                       mf_json_to_int(version), MF_HARDWARE_VERSION);
    return MF_OK;
}

static int read_note(const struct place *place, const struct mf_json *file, char *note)
{
    static const struct mf_key row = {"note", 0, MF_KEY_TEXT, 0, 0, MF_HARDWARE_NOTE - 1, 0};
    const struct mf_json *value = mf_json_get(file, "note");

    return value ? read_text(place, value, &row, note) : MF_OK;
}

static int read_file(const struct place *place, const struct mf_json *file, struct mf_hardware *hardware)
{
    const struct mf_json *nodes;

    MF_TRY(check_schema(place, file));
    MF_TRY(read_note(place, file, hardware->note));
    nodes = mf_json_get(file, "nodes");
    if (!nodes) return missing(place, "nodes");
    if (mf_json_kind(nodes) != MF_JSON_ARRAY) return wrong_kind(place, "nodes", nodes, "an array");
    if (mf_json_count(nodes) < 1 || mf_json_count(nodes) > NODES_MOST)
        return mf_fail(MF_INPUT, "'%.300s': nodes must hold 1 to %d nodes, not %zu", place->file, NODES_MOST,
                       mf_json_count(nodes));
    hardware->host = MF_MUST(calloc(mf_json_count(nodes), sizeof *hardware->host), "nodes");
    for (size_t i = 0; i < mf_json_count(nodes); ++i) {
        struct place here = inside(place, "nodes", i);

        hardware->hosts = i + 1;
        MF_TRY(read_host(&here, mf_json_item(nodes, i), &hardware->host[i]));
    }
    return MF_OK;
}

int mf_hardware_read(const char *path, struct mf_hardware *hardware)
{
    struct place place = {.file = path};
    struct mf_json *file = NULL;
    int rc;

    memset(hardware, 0, sizeof *hardware);
    MF_TRY(mf_json_load(path, FILE_MOST, &file));
    rc = read_file(&place, file, hardware);
    mf_json_free(file);
    if (rc != MF_OK) mf_hardware_free(hardware);
    return rc;
}
