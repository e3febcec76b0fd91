/* Questions about images are learnt, two of an image together. Any ranks, in every stage of ZeRO, come to the weights
 * of one rank. A flip moves image, boxes and places alike. The model's file knows the task, and scores as before. */
#include "io/questions.h"
#include "src/train/learn_vqa_priv.h"
#include "src/train/saved.h"
#include "src/vqa/vqa.h"
#include "tests/unit/train_case.h"

enum { SIDE = 10, IMAGES = 60, EACH = 2, ROWS = IMAGES * EACH, FINDINGS = 2, PLACE = 1, TEXT = 64, TOKENS = 7 };

/* -- a set: a light square in one of 25 places, whose questions ask where it is, and whether it is above -- */

static size_t cell_of(size_t id) { return id * 7 % (MF_VQA_GRID * MF_VQA_GRID); }

static int make_image(void *context, size_t id, struct mf_sample *sample)
{
    const size_t row = cell_of(id) / MF_VQA_GRID * 2, column = cell_of(id) % MF_VQA_GRID * 2;

    (void)context;
    memset(sample->x, 0, SIDE * SIDE);
    for (size_t i = 0; i < 4; ++i) ((uint8_t *)sample->x)[(row + i / 2) * SIDE + column + i % 2] = 1;
    return MF_OK;
}

static void make_question(size_t id, size_t k, struct mf_questions *q, size_t at)
{
    q->sample[at] = (uint32_t)id;
    q->type[at] = (uint8_t)k;
    q->label[2 * at] = k ? MF_ANSWER_NONE : cell_of(id) >= 10;
    q->label[2 * at + 1] = k ? (int32_t)cell_of(id) : MF_ANSWER_NONE;
    snprintf(q->text + at * TEXT, TEXT, k ? "where is the largest light component?" : "is there a light path?");
}

static int make_questions(void *context, const uint8_t *split, struct mf_span own, struct mf_questions *part)
{
    (void)context, (void)split;
    for (size_t k = 0; k < own.count; ++k) {
        const size_t id = own.first + k, cell = cell_of(id);
        const float y = (float)(cell / MF_VQA_GRID) / 5, x = (float)(cell % MF_VQA_GRID) / 5;

        for (size_t i = 0; i < EACH; ++i) make_question(id, i, part, k * EACH + i);
        memcpy(part->object + k * MF_OBJECT_VALUES, (float[]){y, x, y + 0.2F, x + 0.2F, 0.04F, 1},
               MF_OBJECT_VALUES * sizeof(float));
        part->finding[k * FINDINGS] = id % 3 == 2 ? MF_FINDING_NONE : (uint8_t)(id % 3);
        part->finding[k * FINDINGS + 1] = cell % 5 > 2;
    }
    return MF_OK;
}

static struct mf_questions_form *form_of_set(void)
{
    struct mf_questions_form *f = calloc(1, sizeof *f);
    char text[MF_VQA_TEXT];

    *f = (struct mf_questions_form){.rows = ROWS,
                                    .text = TEXT,
                                    .types = 2,
                                    .heads = 2,
                                    .findings = FINDINGS,
                                    .objects = 1,
                                    .head_of = {0, PLACE},
                                    .answers = {2, MF_VQA_SPANS + 1},
                                    .threshold = {1, 2},
                                    .type = {"percolates", "largest"},
                                    .head = {"yes_no", "place"},
                                    .finding = {"odd", "right"}};
    for (size_t a = 0; a < 2 + MF_VQA_SPANS + 1; ++a) {
        mf_vqa_answer(a < 2 ? MF_VQA_YES_NO : MF_VQA_PLACE, a < 2 ? a : a - 2, text);
        snprintf(f->answer[a], sizeof f->answer[a], "%.60s", text);
    }
    return f;
}

static struct mf_dataset *open_set(const struct bed *b, const char *name)
{
    struct mf_questions_form *form = form_of_set();
    struct mf_questions_wish asks = {.form = form, .make = make_questions};
    const struct mf_dataset_wish wish = {
        .samples = IMAGES, .ndim = 2, .dims = {1, SIDE, SIDE, 1}, .phases = 2, .part = {0.6, 0.2}, .questions = &asks};
    struct mf_dataset *set = NULL;
    char *words;

    CHECK(mf_vqa_vocabulary(&words) == MF_OK);
    asks.vocabulary = words;
    form->vocabulary = strlen(words);
    CHECK_SAYS(mf_dataset_write(&b->world, scratch_file(name), &wish, NULL, make_image, NULL) == MF_OK &&
                   mf_learn_open(&mf_learn_vqa, &b->world, scratch_file(name), &set) == MF_OK,
               "%s", mf_err_text());
    free(words);
    free(form);
    return set;
}

/* -- steps -- */

static struct mf_train_opts opts_of(const struct mf_task *task, size_t batch)
{
    struct mf_train_opts o = usual("cnn", OF_PLAIN, batch);

    o.task = task;
    o.arch = mf_arch_find("vqa");
    o.args =
        (struct mf_arch_args){.width = 8, .depth = 2, .heads = 2, .text_width = 16, .text_depth = 1, .dropout = 0.1};
    CHECK(mf_arch_complete(o.arch, &o.args) == MF_OK);
    return o;
}

static void same_weights(const struct bed *b, const struct mf_dataset *set, const struct mf_task *task)
{
    struct mf_train_opts o = opts_of(task, batch_for(&b->world, WINDOW, 2));
    struct mf_step last, step;
    float *want = reference(b, set, &o, STEPS, &last);

    for (o.stage = 0; o.stage <= 3; ++o.stage) {
        struct mf_trainer t;
        float *got;
        size_t n;

        trainer_open(b, &b->world, set, &o, &t);
        step = steps_until(&t, STEPS);
        got = weights_of(&t, &n);
        CHECK_NEAR(step.loss, last.loss, 1e-5);
        CHECK_SAYS(apart(n, got, want) < 1e-5, "stage %d: weights differ by %g", o.stage, apart(n, got, want));
        free(got);
        mf_trainer_close(&t);
    }
    free(want);
}

/* -- rows -- */

/* Where the light square of an image is. */
static size_t find_cell(const float *x)
{
    size_t at = 0;

    while (x[at] == 0) ++at;
    return at / SIDE / 2 * MF_VQA_GRID + at % SIDE / 2;
}

/* Input @p k of a batch, as a training has it. */
static void fill(const struct mf_task *task, const struct mf_dataset *set, const struct mf_batch *batch, size_t k,
                 void *to)
{
    struct mf_learn_input input[MF_LEARN_INPUTS];
    const struct mf_train_opts o = opts_of(task, 1);
    struct mf_fill of = {.set = set, .batch = batch, .seed = 9, .first = 100, .train = 1};

    task->learn->inputs(task, set->dims, batch->n, o.arch, &o.args, input);
    of.shape = &input[k].shape;
    task->learn->fill(task, &of, k, to);
}

enum { X, SEEN = 2, OBJECT = 4, REGION = 6, LABELS, CELLS = 9 /* 3 x 3 */ };

struct rows {
    const struct mf_task *task;
    const struct mf_dataset *set;
};

/* A row of bytes is whole words, and a question has no more tokens than were wished. */
static void check_tokens(const struct mf_task *task, const struct mf_dataset *set, const struct mf_batch *batch)
{
    struct mf_learn_input input[MF_LEARN_INPUTS];
    const struct mf_train_opts o = opts_of(task, 1);
    static uint8_t seen[ROWS * TEXT];
    size_t length;

    task->learn->inputs(task, set->dims, batch->n, o.arch, &o.args, input);
    length = input[SEEN].shape.d[1];
    CHECK(length % 4 == 0 && length <= TEXT);
    fill(task, set, batch, SEEN, seen);
    for (size_t r = 0; r < batch->n * EACH; ++r) {
        size_t tokens = 0;

        for (size_t i = 0; i < length; ++i) tokens += seen[r * length + i];
        CHECK(tokens > 2 && tokens <= TOKENS);
    }
}

/* Image, label and box of a row are moved alike. A tenth of the rows has no box. */
static void check_batch(void *context, const struct mf_batch *batch)
{
    const struct mf_task *task = ((const struct rows *)context)->task;
    const struct mf_dataset *set = ((const struct rows *)context)->set;
    static float x[IMAGES * SIDE * SIDE], object[IMAGES * MF_OBJECT_VALUES], region[IMAGES * CELLS];
    static int32_t label[ROWS];
    size_t moved = 0, boxes = 0;

    check_tokens(task, set, batch);
    fill(task, set, batch, X, x);
    fill(task, set, batch, OBJECT, object);
    fill(task, set, batch, REGION, region);
    fill(task, set, batch, LABELS + PLACE, label);
    for (size_t r = 0; r < batch->n; ++r) {
        const size_t cell = find_cell(x + r * SIDE * SIDE), was = cell_of(batch->id[r]);
        const float *box = object + r * MF_OBJECT_VALUES;
        double sum = 0;

        moved += cell != was;
        for (size_t k = 0; k < EACH; ++k) CHECK(label[r * EACH + k] == (k ? (int32_t)cell : -1));
        for (size_t k = 0; k < CELLS; ++k) sum += (double)region[r * CELLS + k];
        CHECK_NEAR(sum, box[2] > 0 ? 1 : 0, 1e-5);
        if (!(box[2] > 0)) continue;
        ++boxes;
        CHECK_NEAR(box[0], (double)(cell / MF_VQA_GRID) / 5, 1e-6);
        CHECK_NEAR(box[3], (double)(cell % MF_VQA_GRID + 1) / 5, 1e-6);
    }
    CHECK(moved > IMAGES / 3 && moved < IMAGES && boxes > IMAGES * 3 / 4 && boxes < IMAGES);
}

static void check_rows(const struct bed *b, const struct mf_dataset *set, const struct mf_task *task)
{
    const struct mf_reader_wish wish = {.ahead = 1, .batch = IMAGES, .input = 1};
    struct rows rows = {task, set};
    uint32_t id[IMAGES];

    CHECK(set->items == IMAGES && mf_vqa_together(task) == EACH);
    for (uint32_t i = 0; i < IMAGES; ++i) id[i] = i;
    CHECK(mf_samples_read(set, b->cores.host, &wish, IMAGES, id, check_batch, &rows) == MF_OK);
}

/* -- scores and files -- */

/* Right answers of a type, counted from the outputs. */
static void count_right(const struct mf_task *task, const struct mf_scores *s, const struct mf_dataset *set,
                        size_t type)
{
    const struct mf_vqa_right of = mf_vqa_right_type(task, s, type);
    const size_t n = task->head[type].outputs; /* type k has head k */
    size_t asked = 0, right = 0;

    for (size_t i = 0; i < s->samples; ++i) {
        const float *output = s->head[type].output + (i * EACH + type) * n; /* question k has type k */
        const size_t cell = cell_of(set->id[MF_TEST][i]), answer = type ? cell : cell >= 10;
        size_t best = 0;

        for (size_t k = 1; k < n; ++k)
            if (output[k] > output[best]) best = k;
        ++asked;
        right += best == answer;
    }
    CHECK(asked > 0 && of.asked == (double)asked && of.right == (double)right);
}

static void check_scores(const struct bed *b, const struct mf_dataset *set, const struct mf_task *task,
                         struct mf_trainer *t, struct mf_scores *s)
{
    CHECK_SAYS(mf_trainer_score(t, set->count[MF_TEST], set->id[MF_TEST], 1, s) == MF_OK, "%s", mf_err_text());
    if (b->world.rank > 0) return;
    for (size_t type = 0; type < 2; ++type) count_right(task, s, set, type);
    CHECK(mf_vqa_right_finding(task, s, 1).asked == (double)set->count[MF_TEST]);
    CHECK(mf_vqa_right_finding(task, s, 0).asked < (double)set->count[MF_TEST]);
}

/* A network that is blind to questions gets others of the same split, each once. */
static void check_others(const struct mf_task *task, const struct mf_dataset *set)
{
    const uint32_t *other = mf_asked_of(task)->other, *sample = set->questions->sample;
    uint8_t taken[ROWS] = {0};
    size_t moved = 0;

    for (size_t r = 0; r < ROWS; ++r) {
        CHECK(set->split[sample[other[r]]] == set->split[sample[r]] && !taken[other[r]]++);
        moved += other[r] != r;
    }
    CHECK(moved > ROWS / 2);
}

/* Scores of the file's network are those of the trainer, and others where it is blind. */
static void check_file(const struct bed *b, const char *path, struct mf_dataset *set, const struct mf_scores *want)
{
    struct mf_scorer m = {
        .comm = &b->world, .arena = b->device.host, .queue = b->device.q, .set = set, .batch = 7, .readers = 1};
    struct mf_model_card card;
    struct mf_task task;
    struct mf_scores s;

    CHECK_SAYS(mf_model_card_open(path, &card) == MF_OK && mf_task_load(&card, &task) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(mf_task_fit(&task, &card, set) == MF_OK, "%s", mf_err_text());
    m.task = &task;
    CHECK_SAYS(mf_scorer_open(&card, &m) == MF_OK, "%s", mf_err_text());
    for (int hidden = MF_HIDES_NOTHING; hidden < MF_HIDDEN; ++hidden) {
        task.learn->hide(&task, (enum mf_hidden)hidden);
        CHECK(mf_score(&m, set->count[MF_TEST], set->id[MF_TEST], 0, &s) == MF_OK);
        CHECK((fabs(s.loss - want->loss) < 1e-5) == (hidden == MF_HIDES_NOTHING));
        mf_scores_free(&s);
    }
    check_others(&task, set);
    mf_scorer_close(&m);
    mf_task_close(&task);
    mf_model_card_close(&card);
}

static void files(const struct bed *b, struct mf_dataset *set, const struct mf_task *task)
{
    const struct mf_train_opts o = opts_of(task, batch_for(&b->world, WINDOW, 2));
    struct mf_trainer t;
    struct mf_scores s;
    struct mf_json *card;

    trainer_open(b, &b->world, set, &o, &t);
    steps_until(&t, 4);
    check_scores(b, set, task, &t, &s);
    card = mf_saved_card(&t, NULL);
    CHECK(mf_saved_write(&t, scratch_file("m.safetensors"), card) == MF_OK);
    check_file(b, scratch_file("m.safetensors"), set, &s);
    mf_json_free(card);
    mf_scores_free(&s);
    mf_trainer_close(&t);
}

/* A type that is called as the head of another one: the merit is that of the type. */
static void shared_name(const struct mf_dataset *set)
{
    double all[] = {10, 10, 0, 0}, half[] = {0, 0, 10, 5};
    struct mf_scores s = {.heads = 2, .rows = 20, .loss = 1};
    struct mf_task task = {.learn = NULL};

    s.head[0].figure = all;
    s.head[PLACE].figure = half;
    snprintf(set->questions->form.type[1], 8, "yes_no");
    CHECK(mf_task_asked(set, &(struct mf_vqa_wish){.tokens = 8, .merit = "yes_no"}, &task) == MF_OK);
    CHECK_NEAR(task.learn->merit(&task, &s), 0.5, 1e-12);
    mf_task_close(&task);
}

/* A set does not permit all wishes. */
static void refusals(const struct mf_dataset *set)
{
    struct mf_task task = {.learn = NULL};

    CHECK(mf_task_asked(set, &(struct mf_vqa_wish){.tokens = 8, .merit = "colour"}, &task) == MF_USAGE);
    CHECK(strstr(mf_err_text(), "--merit colour: the questions have no such type or head"));
    mf_task_close(&task);
    shared_name(set);
    snprintf(set->questions->form.type[0], 8, "other");
    CHECK(mf_task_asked(set, &(struct mf_vqa_wish){.tokens = 8, .flips = 1}, &task) == MF_USAGE);
    mf_task_close(&task);
    snprintf(set->questions->form.head[0], 10, "findings");
    CHECK(mf_task_asked(set, &(struct mf_vqa_wish){.tokens = 8, .findings = 0.3}, &task) == MF_USAGE);
    CHECK(strstr(mf_err_text(), "is called findings"));
    mf_err_clear();
}

int main(int argc, char **argv)
{
    struct mf_task task = {.learn = NULL};
    struct mf_dataset *set;
    struct bed b;

    bed_open(&b, &argc, &argv);
    set = open_set(&b, "asked.h5");
    CHECK_SAYS(mf_task_asked(set, &(struct mf_vqa_wish){.tokens = TOKENS, .flips = 1, .findings = 0.3}, &task) == MF_OK,
               "%s", mf_err_text());
    check_rows(&b, set, &task);
    same_weights(&b, set, &task);
    files(&b, set, &task);
    mf_task_close(&task);
    refusals(set);
    mf_dataset_close(set);
    bed_close(&b);
    return failures != 0;
}
