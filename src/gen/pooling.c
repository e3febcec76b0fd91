/* See pooling.h. */
#include "src/gen/pooling.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/text/read.h"

enum { FILE_MOST = 1 << 20, VALUES_MOST = 1 << 12, MODULES_MOST = 16, LONGEST = 1 << 28 };

/* Opens a file of the folder; *root is NULL where there is none. The caller frees *path and *root. */
static int open_file(const char *folder, const char *name, char **path, struct mf_json **root)
{
    *root = NULL;
    *path = mf_format("%s/%s", folder, name);
    return access(*path, F_OK) == 0 ? mf_json_load_foreign(*path, FILE_MOST, VALUES_MOST, root) : MF_OK;
}

/* -- the pool -- */

static const struct {
    const char *key, *name; /* a flag of older files; a value of newer ones */
    enum mf_pool pool;      /* MF_POOLS: it is not known here */
} pools[] = {{"pooling_mode_mean_tokens", "mean", MF_POOL_MEAN},
             {"pooling_mode_cls_token", "cls", MF_POOL_FIRST},
             {"pooling_mode_lasttoken", "lasttoken", MF_POOL_LAST},
             {"pooling_mode_max_tokens", "max", MF_POOLS},
             {"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", MF_POOLS},
             {"pooling_mode_weightedmean_tokens", "weightedmean", MF_POOLS}};

enum { KNOWN = sizeof pools / sizeof *pools };

static int take_pool(const struct mf_part *part, const char *name, enum mf_pool pool, enum mf_pool *to)
{
    if (pool != MF_POOLS) return *to = pool, MF_OK;
    return mf_part_fail(part, "the pool '%.60s' is not known here; try: --pool mean, first or last", name);
}

/* Several flags mean vectors one behind the other. */
static int read_flags(const struct mf_part *part, enum mf_pool *to)
{
    int found = 0;

    for (size_t k = 0; k < KNOWN; ++k) {
        int flag = 0;

        MF_TRY(mf_part_flag(part, pools[k].key, &flag));
        if (!flag) continue;
        if (found++) return mf_part_fail(part, "several pools at once are not known here; try: --pool mean");
        MF_TRY(take_pool(part, pools[k].key, pools[k].pool, to));
    }
    return found ? MF_OK : mf_part_fail(part, "it names no pool; try: --pool mean");
}

static int read_pool(const struct mf_part *part, enum mf_pool *to)
{
    const char *name = NULL;
    size_t k = 0;

    if (mf_json_kind(part->row) != MF_JSON_OBJECT)
        return mf_part_fail(part, "must be an object, and is %s", mf_json_kind_name(part->row));
    if (mf_json_kind(mf_json_get(part->row, "pooling_mode")) == MF_JSON_ARRAY)
        return mf_part_fail(part, "several pools at once are not known here; try: --pool mean");
    MF_TRY(mf_part_text(part, "pooling_mode", &name));
    if (!name) return read_flags(part, to);
    while (k < KNOWN && strcmp(name, pools[k].name) != 0) ++k;
    return take_pool(part, name, k < KNOWN ? pools[k].pool : MF_POOLS, to);
}

static int read_pool_file(const char *folder, const char *name, int wished, enum mf_pool *to)
{
    char *path;
    struct mf_json *root;
    int rc = open_file(folder, name, &path, &root);

    if (rc == MF_OK && root && !wished) rc = read_pool(&(const struct mf_part){path, "pooling", root}, to);
    mf_json_free(root);
    free(path);
    return rc;
}

/* -- modules -- */

/* The last word of "sentence_transformers.models.Pooling". */
static const char *last_word(const char *type)
{
    const char *dot = strrchr(type, '.');

    return dot ? dot + 1 : type;
}

/* A folder beside modules.json, and no other place. */
static int is_plain(const char *path) { return *path && *path != '.' && !strpbrk(path, "/\\"); }

static int read_pooling_module(const struct mf_part *part, const char *folder, int wished, struct mf_pooling *p)
{
    const char *path = "1_Pooling";
    char *name;
    int rc;

    MF_TRY(mf_part_text(part, "path", &path));
    if (!is_plain(path)) return mf_part_fail(part, "'%.60s' is no folder of the model", path);
    name = mf_format("%s/config.json", path);
    rc = read_pool_file(folder, name, wished, &p->pool);
    free(name);
    return rc;
}

/* The modules are a model, a pool and maybe the length 1, in this order. */
static int read_modules(const struct mf_part *all, const char *folder, int wished, struct mf_pooling *p)
{
    static const char *const order[] = {"Transformer", "Pooling", "Normalize"};
    const size_t count = mf_json_kind(all->row) == MF_JSON_ARRAY ? mf_json_count(all->row) : 0;

    if (count == 0 || count > MODULES_MOST) return mf_part_fail(all, "must be a list of modules");
    for (size_t i = 0; i < count; ++i) {
        const struct mf_part part = {all->file, all->place, mf_json_item(all->row, i)};
        const char *type = "";

        if (mf_json_kind(part.row) != MF_JSON_OBJECT) return mf_part_fail(&part, "a module must be an object");
        MF_TRY(mf_part_needs_text(&part, "type", &type));
        if (i > 2 || strcmp(last_word(type), order[i]) != 0)
            return mf_part_fail(&part, "the module '%.80s' in place %zu is not known; known are %s, %s, %s", type, i,
                                order[0], order[1], order[2]);
        if (i == 1) MF_TRY(read_pooling_module(&part, folder, wished, p));
        if (i == 2) p->normalises = 1;
    }
    return MF_OK;
}

/* -- texts -- */

static int read_lengths(const struct mf_part *part, struct mf_pooling *p)
{
    MF_TRY(mf_part_flag(part, "do_lower_case", &p->lowered));
    return mf_part_number(part, "max_seq_length", LONGEST, &p->longest);
}

static int read_prefix(const struct mf_part *part, struct mf_pooling *p)
{
    const char *name = NULL;

    MF_TRY(mf_part_text(part, "default_prompt_name", &name));
    p->prefixed = name != NULL;
    return MF_OK;
}

/* Reads a file with an object, where it is there. */
static int read_object(const char *folder, const char *name,
                       int (*read)(const struct mf_part *part, struct mf_pooling *p), struct mf_pooling *p)
{
    char *path;
    struct mf_json *root;
    int rc = open_file(folder, name, &path, &root);
    const struct mf_part part = {path, "texts", root};

    if (rc == MF_OK && root && mf_json_kind(root) != MF_JSON_OBJECT) rc = mf_part_fail(&part, "must be an object");
    if (rc == MF_OK && root) rc = read(&part, p);
    mf_json_free(root);
    free(path);
    return rc;
}

int mf_pooling_read(const char *folder, int wished, struct mf_pooling *p)
{
    char *path;
    struct mf_json *root;
    int rc;

    *p = (struct mf_pooling){.pool = MF_POOL_MEAN};
    rc = open_file(folder, "modules.json", &path, &root);
    if (rc == MF_OK && root) rc = read_modules(&(const struct mf_part){path, "modules", root}, folder, wished, p);
    if (rc == MF_OK && !root) rc = read_pool_file(folder, "1_Pooling/config.json", wished, &p->pool);
    mf_json_free(root);
    free(path);
    if (rc == MF_OK) rc = read_object(folder, "sentence_bert_config.json", read_lengths, p);
    return rc == MF_OK ? read_object(folder, "config_sentence_transformers.json", read_prefix, p) : rc;
}
