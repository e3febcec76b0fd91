/* Makes of a set of samples one of questions. See questions.h. */
#include <stdlib.h>

#include "io/hash.h"
#include "io/questions.h"
#include "src/base/err.h"

static int is_in(const struct mf_dataset *set, size_t item, enum mf_split split)
{
    return set->split[mf_item_sample(set, item)] == split && (split == MF_TEST || !set->questions->held_out[item]);
}

static void list_split(struct mf_dataset *set, enum mf_split split)
{
    uint32_t *id = MF_MUST(calloc(set->items + 1, sizeof *id), "the splits of a dataset");
    size_t n = 0;

    for (size_t i = 0; i < set->items; ++i)
        if (is_in(set, i, split)) id[n++] = (uint32_t)i;
    free(set->id[split]);
    set->id[split] = id;
    set->count[split] = n;
}

int mf_dataset_ask(const struct mf_comm *comm, struct mf_dataset *set)
{
    const char *each[2] = {set->hash};

    MF_TRY(mf_questions_open(comm, set, &set->questions));
    set->items = set->questions->form.rows;
    set->sample_of = set->questions->sample;
    for (int k = 0; k < MF_SPLITS; ++k) list_split(set, (enum mf_split)k);
    each[1] = set->questions->hash;
    mf_hash_join(2, each, set->hash);
    return MF_OK;
}

int mf_dataset_grades(struct mf_dataset *set, char worst)
{
    const struct mf_questions *q = set->questions;
    char grades[MF_HASH_TEXT];
    const char *each[2] = {set->hash, grades};

    if (!q->form.graded)
        return mf_fail(MF_INPUT, "'%s': questions have no grades, so none can be chosen by them", set->path);
    for (int k = 0; k < MF_SPLITS; ++k) {
        size_t n = 0;

        for (size_t i = 0; i < set->count[k]; ++i) {
            const uint8_t grade = q->grade[set->id[k][i]];

            if (grade && grade <= worst) set->id[k][n++] = set->id[k][i];
        }
        set->count[k] = n;
    }
    mf_hash_bytes(&worst, 1, grades);
    mf_hash_join(2, each, set->hash);
    if (set->count[MF_TRAIN]) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has no question of grade A%s%.1s in its train split", set->path,
                   worst > 'A' ? " to " : "", worst > 'A' ? &worst : "");
}
