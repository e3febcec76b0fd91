/* Makes of a set of samples one of questions. See questions.h. */
#include <stdlib.h>

#include "io/hash.h"
#include "io/questions.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/room.h"

/* Questions of a sample that has any, rounded up. */
static size_t mean_of(const struct mf_questions *q)
{
    size_t samples = 0;

    for (size_t i = 0; i < q->form.rows; ++i) samples += i == 0 || q->sample[i] != q->sample[i - 1];
    return samples ? (q->form.rows + samples - 1) / samples : 1;
}

/* Local. */
static int make_items(struct mf_dataset *set)
{
    struct mf_questions *q = set->questions;
    const size_t rows = q->form.rows;

    q->together = mf_min(mean_of(q), MF_QUESTIONS_TOGETHER);
    MF_TRY(MF_ROOM(q->item, rows + 1, "the questions of '%.300s'", set->path));
    MF_TRY(MF_ROOM(q->item_sample, rows + 1, "the questions of '%.300s'", set->path));
    MF_TRY(MF_ROOM(q->counts, rows + 1, "the questions of '%.300s'", set->path));
    set->items = 0;
    for (size_t i = 0; i < rows; ++i) {
        const size_t of_last = set->items ? i - q->item[set->items - 1] : 0;

        q->counts[i] = set->split[q->sample[i]] == MF_TEST || !q->held_out[i];
        if (of_last > 0 && of_last < q->together && q->sample[i] == q->sample[i - 1]) continue;
        q->item[set->items] = (uint32_t)i;
        q->item_sample[set->items++] = q->sample[i];
    }
    q->item[set->items] = (uint32_t)rows;
    set->sample_of = q->item_sample;
    return MF_OK;
}

static int any_counts(const struct mf_questions *q, size_t item)
{
    const struct mf_span rows = mf_item_rows(q, item);
    size_t k = 0;

    while (k < rows.count && !mf_row_counts(q, rows.first + k)) ++k;
    return k < rows.count;
}

/* Local. */
static int list_split(struct mf_dataset *set, enum mf_split split)
{
    uint32_t *id;
    size_t n = 0;

    MF_TRY(MF_ROOM(id, set->items + 1, "the splits of '%.300s'", set->path));
    for (size_t i = 0; i < set->items; ++i)
        if (set->split[mf_item_sample(set, i)] == split && any_counts(set->questions, i)) id[n++] = (uint32_t)i;
    free(set->id[split]);
    set->id[split] = id;
    set->count[split] = n;
    return MF_OK;
}

static int list_splits(struct mf_dataset *set)
{
    for (int k = 0; k < MF_SPLITS; ++k) MF_TRY(list_split(set, (enum mf_split)k));
    return MF_OK;
}

static int make_all(struct mf_dataset *set)
{
    MF_TRY(make_items(set));
    return list_splits(set);
}

int mf_dataset_ask(const struct mf_comm *comm, struct mf_dataset *set)
{
    const char *each[2] = {set->hash};

    MF_TRY(mf_questions_open(comm, set, &set->questions));
    MF_TRY(mf_agree(comm, make_all(set)));
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
    for (size_t i = 0; i < q->form.rows; ++i)
        if (!q->grade[i] || q->grade[i] > worst) q->counts[i] = 0;
    MF_TRY(list_splits(set));
    mf_hash_bytes(&worst, 1, grades);
    mf_hash_join(2, each, set->hash);
    if (set->count[MF_TRAIN]) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has no question of grade A%s%.1s in its train split", set->path,
                   worst > 'A' ? " to " : "", worst > 'A' ? &worst : "");
}
