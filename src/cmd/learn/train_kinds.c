/* See train_opts.h: the kinds of tasks that train knows. A new one is a line here. */
#include <string.h>

#include "src/cmd/learn/train_verb.h"

static const struct mf_train_kind *const kinds[] = {
    &mf_train_vqa,
    &mf_train_diffuse,
    &mf_train_regress,
    &mf_train_classify,
};

enum { KINDS = sizeof kinds / sizeof *kinds };

const struct mf_train_kind *mf_train_kind_meant(const struct mf_train_cmd *o)
{
    size_t k = 0;

    while (k + 1 < KINDS && !(kinds[k]->meant && kinds[k]->meant(o))) ++k;
    return kinds[k];
}

const struct mf_train_kind *mf_train_kind_find(const char *name)
{
    for (size_t k = 0; k < KINDS; ++k)
        if (strcmp(kinds[k]->learn->name, name) == 0) return kinds[k];
    return NULL;
}
