/* See resident.h. */
#include "src/cmd/resident.h"

#include "src/base/err.h"
#include "src/train/learn_show.h"
#include "src/train/saved.h"

static const struct mf_resident_kind *const kinds[] = {&mf_resident_classify, &mf_resident_regress, NULL};

static int of_task(const char *path, const struct mf_task *task, const struct mf_resident_kind **kind)
{
    for (const struct mf_resident_kind *const *k = kinds; *k; ++k)
        if ((*k)->learn == task->learn) {
            *kind = *k;
            return MF_OK;
        }
    return mf_fail(MF_USAGE, "'%s' is a model of train %s, which a library does not keep loaded; try: mesoforge_run()",
                   path, task->learn->name);
}

int mf_resident_find(const char *path, const struct mf_resident_kind **kind)
{
    struct mf_model_card card;
    struct mf_task task = {.learn = NULL};
    int rc = mf_model_card_open(path, &card);

    *kind = &mf_resident_generate;
    if (rc == MF_OK && !card.denoise) rc = mf_task_load(&card, &task);
    if (rc == MF_OK && !card.denoise) rc = of_task(path, &task, kind);
    mf_task_close(&task);
    mf_model_card_close(&card);
    return rc;
}
