/* See resident.h. */
#include "src/cmd/resident.h"

#include "src/base/err.h"
#include "src/model/language_files.h"
#include "src/train/learn_show.h"
#include "src/train/saved.h"

static const struct mf_resident_kind *const kinds[] = {&mf_resident_classify, &mf_resident_regress, &mf_resident_answer,
                                                       NULL};

static int of_task(const char *path, const struct mf_task *task, const struct mf_resident_kind **kind)
{
    for (const struct mf_resident_kind *const *k = kinds; *k; ++k)
        if ((*k)->learn == task->learn) {
            *kind = *k;
            return MF_OK;
        }
    return mf_fail(MF_USAGE, "'%s' is a model of train %s, which is not kept loaded; try: the verb", path,
                   task->learn->name);
}

static int of_language(const char *path, const struct mf_resident_kind **kind)
{
    struct mf_language model;

    MF_TRY(mf_language_read(path, &model));
    *kind = &mf_resident_text;
    if (model.family != MF_BERT) return MF_OK;
    return mf_fail(MF_USAGE, "'%s' turns texts into vectors, and is not kept loaded; try: the verb infer embed", path);
}

int mf_resident_find(const char *path, const struct mf_resident_kind **kind)
{
    struct mf_model_card card;
    struct mf_task task = {.learn = NULL};
    int rc;

    if (mf_language_named(path)) return of_language(path, kind);
    rc = mf_model_card_open(path, &card);

    *kind = &mf_resident_generate;
    if (rc == MF_OK && !card.denoise) rc = mf_task_load(&card, &task);
    if (rc == MF_OK && !card.denoise) rc = of_task(path, &task, kind);
    mf_task_close(&task);
    mf_model_card_close(&card);
    return rc;
}
