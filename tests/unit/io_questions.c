/* Questions of a dataset: every rank reads what all ranks wrote. A window of samples has a window of rows. As items of
 * the set they are read with their samples, each once an epoch. */
#include "io/questions.h"

#include <string.h>

#include "io/h5.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/order.h"
#include "tests/check.h"
#include "tests/scratch.h"

enum { SAMPLES = 11, EACH = 3, TEXT = 8, OBJECTS = 2, FINDINGS = 3, PIXELS = 12 };

/* Rows before a sample: as many of each, or of some none. */
static uint64_t before[SAMPLES + 1];
static int uneven;

static void count_rows(void)
{
    static const uint64_t rows[] = {0, 5, 3, 0, 1};

    for (size_t i = 0; i < SAMPLES; ++i) before[i + 1] = before[i] + (uneven ? rows[i % 5] : EACH);
}

static struct mf_questions_form form = {.rows = SAMPLES * EACH,
                                        .text = TEXT,
                                        .types = 2,
                                        .heads = 2,
                                        .findings = FINDINGS,
                                        .objects = OBJECTS,
                                        .graded = 1,
                                        .vocabulary = 4,
                                        .head_of = {1, 0},
                                        .answers = {2, 5},
                                        .threshold = {0.5, 1, 2},
                                        .type = {"where", "whether"},
                                        .head = {"yes_no", "place"},
                                        .finding = {"a", "b", "c"},
                                        .answer = {"no", "yes", "1", "2", "3", "4", "5"}};

static int make_sample(void *context, size_t id, struct mf_sample *sample)
{
    uint8_t *x = sample->x;

    (void)context;
    for (size_t i = 0; i < PIXELS; ++i) x[i] = id >> i & 1;
    return MF_OK;
}

/* Row @p row of the set, which asks about sample @p id, and what belongs to that sample. */
static void make_row(size_t id, size_t row, struct mf_questions *q, size_t at)
{
    const int type = (int)(row * 7 % 3 == 0);

    q->sample[at] = (uint32_t)id;
    q->grade[at] = row % 4 ? (uint8_t)('A' + row % 4) : 0;
    q->type[at] = (uint8_t)type;
    q->held_out[at] = row % 5 == 0;
    q->label[2 * at] = type ? (int32_t)(row % 2) : MF_ANSWER_NONE;
    q->label[2 * at + 1] = type ? MF_ANSWER_NONE : (int32_t)(row % 5);
    snprintf(q->text + at * TEXT, TEXT, "why %zu?", row);
}

static void make_beside(size_t id, struct mf_questions *q, size_t at)
{
    const float box[MF_OBJECT_VALUES] = {0, 0.25F, 0.5F, 1, 1 / ((float)id + 1), (float)(id % 2)};

    memset(q->object + at * OBJECTS * MF_OBJECT_VALUES, 0, OBJECTS * sizeof box);
    memcpy(q->object + at * OBJECTS * MF_OBJECT_VALUES, box, sizeof box);
    for (size_t f = 0; f < FINDINGS; ++f)
        q->finding[at * FINDINGS + f] = (id + f) % 3 == 2 ? MF_FINDING_NONE : (uint8_t)((id + f) % 3);
}

static int make_questions(void *context, const uint8_t *split, struct mf_span own, struct mf_questions *part)
{
    const int wrong = *(const int *)context;

    CHECK(part->form.rows == before[own.first + own.count] - before[own.first]);
    for (size_t i = 0; i < SAMPLES; ++i) CHECK(split[i] < MF_SPLITS);
    for (size_t k = 0; k < own.count; ++k) {
        make_beside(own.first + k, part, k);
        for (size_t r = before[own.first + k]; r < before[own.first + k + 1]; ++r)
            make_row(own.first + k, r, part, r - before[own.first]);
        if (wrong && own.first + k == SAMPLES - 1) part->label[2 * k * EACH] = 7;
    }
    return MF_OK;
}

static int write_set(const struct mf_comm *comm, const char *path, int wrong)
{
    const struct mf_questions_wish asks = {&form, "a\nb\n", uneven ? before : NULL, make_questions, &wrong};
    const struct mf_dataset_wish wish = {
        .samples = SAMPLES, .ndim = 2, .dims = {1, 3, 4, 1}, .phases = 2, .part = {0.5, 0.25}, .questions = &asks};

    return mf_dataset_write(comm, path, &wish, NULL, make_sample, NULL);
}

static void check_rows(const struct mf_questions *q, struct mf_questions *want)
{
    const size_t rows = form.rows;

    for (size_t i = 0; i < SAMPLES; ++i) {
        for (size_t r = before[i]; r < before[i + 1]; ++r) make_row(i, r, want, r);
        make_beside(i, want, i);
    }
    CHECK(memcmp(q->sample, want->sample, rows * sizeof *q->sample) == 0);
    CHECK(memcmp(q->type, want->type, rows) == 0);
    CHECK(memcmp(q->held_out, want->held_out, rows) == 0);
    CHECK(memcmp(q->label, want->label, rows * 2 * sizeof *q->label) == 0);
    CHECK(memcmp(q->text, want->text, rows * TEXT) == 0);
    CHECK(memcmp(q->grade, want->grade, rows) == 0);
    CHECK(memcmp(q->object, want->object, SAMPLES * OBJECTS * MF_OBJECT_VALUES * sizeof *q->object) == 0);
    CHECK(memcmp(q->finding, want->finding, SAMPLES * FINDINGS) == 0);
}

static void check_open(const struct mf_comm *comm, const char *path, struct mf_questions *want)
{
    struct mf_dataset *set = NULL;
    struct mf_questions *q = NULL;

    CHECK(mf_dataset_open(comm, path, &set) == MF_OK && set->asks);
    CHECK(mf_questions_open(comm, set, &q) == MF_OK);
    CHECK(memcmp(&q->form, &form, sizeof form) == 0 && strcmp(q->vocabulary, "a\nb\n") == 0);
    CHECK(mf_questions_answer_at(&q->form, 1) == 2 && strlen(q->hash) > 0);
    check_rows(q, want);
    for (size_t i = 0; i <= SAMPLES; ++i) CHECK(mf_questions_first(q, i) == before[i]);
    mf_questions_close(q);
    mf_dataset_close(set);
}

/* ---- items ---- */

/* Items are runs of rows about one sample, with at most as many as are together. */
static void check_runs(const struct mf_dataset *set)
{
    const struct mf_questions *q = set->questions;
    size_t next = 0;

    CHECK(q->together == 3); /* the mean, rounded up */
    for (size_t i = 0; i < set->items; ++i) {
        const struct mf_span rows = mf_item_rows(q, i);

        CHECK(rows.first == next && rows.count > 0 && rows.count <= q->together);
        for (size_t k = 0; k < rows.count; ++k) CHECK(q->sample[rows.first + k] == mf_item_sample(set, i));
        next += rows.count;
    }
    CHECK(next == q->form.rows);
}

/* A question is in the split of its sample. Phrasings that are held out are for tests. */
static void check_splits(const struct mf_dataset *set, const struct mf_dataset *plain)
{
    const struct mf_questions *q = set->questions;
    size_t in[SAMPLES * EACH] = {0};

    for (int s = 0; s < MF_SPLITS; ++s)
        for (size_t k = 0; k < set->count[s]; ++k) {
            const size_t item = set->id[s][k];
            const struct mf_span rows = mf_item_rows(q, item);
            size_t count = 0;

            CHECK(k == 0 || item > set->id[s][k - 1]);
            CHECK(plain->split[mf_item_sample(set, item)] == s);
            for (size_t row = rows.first; row < rows.first + rows.count; ++row)
                if (mf_row_counts(q, row)) ++in[row], ++count;
            CHECK(count > 0);
        }
    for (size_t row = 0; row < q->form.rows; ++row)
        CHECK(in[row] == (plain->split[q->sample[row]] == MF_TEST || row % 5 != 0));
}

struct reading {
    const struct mf_dataset *set;
    double seen[SAMPLES * EACH];
};

static void take_batch(void *context, const struct mf_batch *batch)
{
    struct reading *r = context;

    for (size_t k = 0; k < batch->n; ++k) {
        ++r->seen[batch->id[k]];
        for (size_t i = 0; i < PIXELS; ++i) {
            CHECK(batch->x[k * PIXELS + i] == (mf_item_sample(r->set, batch->id[k]) >> i & 1));
            CHECK(batch->input[k * PIXELS + i] == (float)batch->x[k * PIXELS + i]);
        }
    }
}

/* Ranks share an epoch, in whose batches several items may have one image. */
static void check_epoch(const struct mf_comm *comm, const struct mf_dataset *set, int threads)
{
    const size_t n = set->count[MF_TRAIN];
    const struct mf_span own = mf_cut(n, (size_t)comm->size, (size_t)comm->rank);
    const struct mf_reader_wish wish = {.threads = threads, .ahead = 2, .batch = 7, .raw = 1, .input = 1};
    struct mf_arena *arena = NULL;
    struct reading r = {.set = set};
    uint32_t id[SAMPLES * EACH];

    CHECK(mf_arena_open(&arena, NULL, 0) == MF_OK);
    for (size_t k = 0; k < own.count; ++k) id[k] = set->id[MF_TRAIN][mf_order(5, 1, n, own.first + k)];
    CHECK(mf_samples_read(set, arena, &wish, own.count, id, take_batch, &r) == MF_OK);
    mf_comm_sum(comm, set->items, r.seen);
    for (size_t k = 0; k < n; ++k) CHECK(r.seen[set->id[MF_TRAIN][k]] == 1);
    mf_arena_close(arena);
}

static void check_items(const struct mf_comm *comm, const char *path)
{
    struct mf_dataset *set = NULL, *plain = NULL;

    CHECK(mf_dataset_open(comm, path, &plain) == MF_OK && plain->items == SAMPLES && !plain->questions);
    CHECK(mf_dataset_open(comm, path, &set) == MF_OK && mf_dataset_ask(comm, set) == MF_OK);
    CHECK(set->samples == SAMPLES && (uneven || set->items == SAMPLES) && strcmp(set->hash, plain->hash) != 0);
    check_runs(set);
    check_splits(set, plain);
    for (int threads = 0; threads < 3; ++threads) check_epoch(comm, set, threads);
    mf_dataset_close(set);
    mf_dataset_close(plain);
}

int main(int argc, char **argv)
{
    struct mf_questions want = {0};
    static uint32_t sample[SAMPLES * EACH];
    static uint8_t type[SAMPLES * EACH], held[SAMPLES * EACH], grade[SAMPLES * EACH], finding[SAMPLES * FINDINGS];
    static int32_t label[SAMPLES * EACH * 2];
    static char text[SAMPLES * EACH * TEXT];
    static float object[SAMPLES * OBJECTS * MF_OBJECT_VALUES];
    struct mf_comm comm;

    mf_h5_begin();
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    scratch_open(&comm);
    want.sample = sample, want.type = type, want.held_out = held, want.label = label;
    want.grade = grade, want.text = text, want.object = object, want.finding = finding;
    for (uneven = 0; uneven < 2; ++uneven) {
        count_rows();
        form.rows = before[SAMPLES];
        CHECK(write_set(&comm, scratch_file("set.h5"), 0) == MF_OK);
        check_open(&comm, scratch_file("set.h5"), &want);
        check_items(&comm, scratch_file("set.h5"));
    }
    uneven = 0;
    count_rows();
    form.rows = before[SAMPLES];
    CHECK(write_set(&comm, scratch_file("wrong.h5"), 1) == MF_INPUT);
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
