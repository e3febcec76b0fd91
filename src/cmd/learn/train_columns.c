/* See train_opts.h: the columns that train regress predicts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/words.h"
#include "src/cmd/learn/train_opts.h"

enum { ALL = 500 /* letters of all columns */ };

static int find_column(const struct mf_dataset *set, const char *name, size_t *column)
{
    const char *known[MF_REALS_MAX], *near;
    char all[ALL] = "";
    size_t used = 0;

    *column = mf_dataset_column(set, name);
    if (*column < set->reals) return MF_OK;
    for (size_t c = 0; c < set->reals; ++c) known[c] = set->real_name[c];
    near = mf_nearest(name, known, set->reals);
    for (size_t c = 0; c < set->reals && used < sizeof all; ++c)
        used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", c ? ", " : "", known[c]);
    return mf_fail(MF_USAGE, "--target %.100s: '%s' has no such column%s%s; it has: %s", name, set->path,
                   near ? "; did you mean " : "", near ? near : "", all);
}

static int is_column(const void *set, const char *name)
{
    return mf_dataset_column(set, name) < ((const struct mf_dataset *)set)->reals;
}

int mf_train_columns(const struct mf_train_cmd *o, const struct mf_dataset *set, size_t *columns, size_t *column)
{
    size_t n;
    const char **name, *twice;
    int rc;

    name = mf_words_names(o->columns.count, o->columns.at, is_column, set, &n);
    twice = mf_text_twice(n, name);
    rc = twice ? mf_fail(MF_USAGE, "--target names '%.100s' twice", twice) : MF_OK;

    if (rc == MF_OK && n > set->reals)
        rc = mf_fail(MF_USAGE, "--target has %zu columns, '%s' has %zu", n, set->path, set->reals);
    *columns = n ? n : set->reals;
    for (size_t c = 0; c < set->reals; ++c) column[c] = c;
    for (size_t c = 0; rc == MF_OK && c < n; ++c) rc = find_column(set, name[c], &column[c]);
    free(name);
    return rc;
}
