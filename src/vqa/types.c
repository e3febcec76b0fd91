/* See types.h. */
#include "src/vqa/types.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/words.h"
#include "src/base/yaml.h"
#include "src/vqa/vqa.h"

enum { FILE_MOST = 1 << 20, WORDS = 256 };

static const struct known {
    const char *type;
    enum mf_vqa_head head;
} knowns[] = {
    {"B10_is_abnormal_subcat", MF_VQA_YES_NO},
    {"B11_is_normal_subcat", MF_VQA_YES_NO},
    {"B13_has_devices", MF_VQA_YES_NO},
    {"C03_is_abnormal_region", MF_VQA_YES_NO},
    {"C04_is_normal_region", MF_VQA_YES_NO},
    {"C08_has_region_device", MF_VQA_YES_NO},
    {"D02_has_finding", MF_VQA_YES_NO},
    {"D06_has_device", MF_VQA_YES_NO},
    {"C01_describe_region", MF_VQA_PLACE},
    {"C02_describe_abnormal_region", MF_VQA_PLACE},
    {"D03_where_is_finding", MF_VQA_PLACE},
    {"D07_where_is_device", MF_VQA_PLACE},
    {"D04_how_severe_is_finding", MF_VQA_SEVERITY},
    {"A_indication", MF_VQA_KIND},
    {"B08_describe_subcat", MF_VQA_KIND},
    {"B09_describe_abnormal_subcat", MF_VQA_KIND},
    {"B12_describe_device", MF_VQA_KIND},
    {"C07_describe_region_device", MF_VQA_KIND},
    {"D01_describe_finding", MF_VQA_KIND},
    {"D05_describe_device", MF_VQA_KIND},
    /* the same in short */
    {"is_abnormal", MF_VQA_YES_NO},
    {"is_normal", MF_VQA_YES_NO},
    {"has_finding", MF_VQA_YES_NO},
    {"has_device", MF_VQA_YES_NO},
    {"where_is_finding", MF_VQA_PLACE},
    {"where_is_device", MF_VQA_PLACE},
    {"describe_region", MF_VQA_PLACE},
    {"how_severe", MF_VQA_SEVERITY},
    {"describe_finding", MF_VQA_KIND},
    {"describe_device", MF_VQA_KIND},
    {"indication", MF_VQA_KIND},
};

enum { KNOWNS = sizeof knowns / sizeof *knowns };

/* Names that others have for our heads. */
static const struct other {
    const char *name;
    enum mf_vqa_head head;
} others[] = {{"binary", MF_VQA_YES_NO}, {"category", MF_VQA_KIND}, {"region", MF_VQA_PLACE}};

/* ---- the file ---- */

struct checking {
    const char *path, *section;
    int rc;
};

static int refuse(const struct checking *c, const char *key, const char *wanted)
{
    return mf_fail(MF_INPUT, "'%s': '%.60s' of %s must be %s", c->path, key, c->section, wanted);
}

static void see_type(void *context, const char *key, const struct mf_json *value)
{
    struct checking *c = context;

    if (c->rc == MF_OK && !*mf_json_to_text(value)) c->rc = refuse(c, key, "the name of a head");
}

static void see_head(void *context, const char *key, const struct mf_json *value)
{
    struct checking *c = context;
    int sound = mf_json_kind(value) == MF_JSON_NULL || mf_json_count(value) > 0;

    for (size_t i = 0; i < mf_json_count(value); ++i) sound &= *mf_json_to_text(mf_json_item(value, i)) != '\0';
    if (c->rc == MF_OK && !sound) c->rc = refuse(c, key, "a list of answers");
}

static void see_finding(void *context, const char *key, const struct mf_json *value)
{
    struct checking *c = context;
    const char *text = mf_json_to_text(value);
    char *end;

    (void)strtod(text, &end);
    if (c->rc == MF_OK && (end == text || *end)) c->rc = refuse(c, key, "a number, the threshold of that finding");
}

static int check_section(const struct mf_vqa_types *t, const char *section,
                         void (*see)(void *context, const char *key, const struct mf_json *value))
{
    const struct mf_json *value = mf_json_get(t->value, section);
    struct checking c = {t->path, section, MF_OK};

    if (mf_json_kind(value) == MF_JSON_NULL) return MF_OK;
    if (mf_json_kind(value) != MF_JSON_OBJECT)
        return mf_fail(MF_INPUT, "'%s': %s must be a mapping, with lines 'name: value'", t->path, section);
    mf_json_each(value, see, &c);
    return c.rc;
}

static int check(const struct mf_vqa_types *t)
{
    static const char *const keys[] = {"question_types", "heads", "findings", NULL};
    const char *stranger = mf_json_stranger(t->value, keys), *near = stranger ? mf_nearest(stranger, keys, 3) : NULL;

    if (stranger)
        return mf_fail(MF_INPUT, "'%s' has an unknown key '%.60s'; %s %s", t->path, stranger,
                       near ? "did you mean" : "known are", near ? near : "question_types, heads, findings");
    MF_TRY(check_section(t, keys[0], see_type));
    MF_TRY(check_section(t, keys[1], see_head));
    return check_section(t, keys[2], see_finding);
}

int mf_vqa_types_load(const char *path, struct mf_vqa_types *types)
{
    int rc;

    *types = (struct mf_vqa_types){0};
    if (!path) return MF_OK;
    types->path = path;
    MF_TRY(mf_yaml_load(path, FILE_MOST, &types->value));
    rc = check(types);
    if (rc != MF_OK) mf_vqa_types_free(types);
    return rc;
}

void mf_vqa_types_free(struct mf_vqa_types *types)
{
    mf_json_free(types->value);
    *types = (struct mf_vqa_types){0};
}

/* ---- heads ---- */

const char *mf_vqa_head_ours(const char *head)
{
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k)
        if (strcmp(head, others[k].name) == 0) return mf_vqa_head_names[others[k].head];
    return head;
}

const char *mf_vqa_types_head(const struct mf_vqa_types *types, const char *type)
{
    const char *own = mf_json_get_text(mf_json_get(types->value, "question_types"), type);

    if (*own) return mf_vqa_head_ours(own);
    for (size_t k = 0; k < MF_VQA_TYPES; ++k)
        if (strcmp(type, mf_vqa_type_names[k]) == 0) return mf_vqa_head_names[mf_vqa_type_heads[k]];
    for (size_t k = 0; k < KNOWNS; ++k)
        if (strcmp(type, knowns[k].type) == 0) return mf_vqa_head_names[knowns[k].head];
    return NULL;
}

struct words {
    const char *at[WORDS];
    size_t count;
};

static void add_word(void *context, const char *key, const struct mf_json *value)
{
    struct words *w = context;

    (void)value;
    if (w->count < WORDS) w->at[w->count++] = key;
}

const char *mf_vqa_types_near(const struct mf_vqa_types *types, const char *word)
{
    struct words w = {.count = 0};

    for (size_t k = 0; k < MF_VQA_TYPES; ++k) add_word(&w, mf_vqa_type_names[k], NULL);
    for (size_t k = 0; k < KNOWNS; ++k) add_word(&w, knowns[k].type, NULL);
    mf_json_each(mf_json_get(types->value, "question_types"), add_word, &w);
    return mf_nearest(word, w.at, w.count);
}
