/* See learn_vqa.h. */
#include "src/train/learn_vqa.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_vqa_priv.h"
#include "src/vqa/vqa.h"

/* -- tasks -- */

const struct mf_questions_form *mf_vqa_form(const struct mf_task *task) { return &mf_asked_of(task)->form; }

static int hide(struct mf_task *task, enum mf_hidden what)
{
    struct mf_asked *own = mf_asked_of(task);

    own->hidden = what;
    return what == MF_HIDES_QUESTION && !own->other ? mf_asked_shuffle(own) : MF_OK;
}

static void close_own(void *context)
{
    struct mf_asked *own = context;

    if (!own) return;
    mf_asked_forget(own);
    mf_tokenizer_close(own->tokenizer);
    mf_vqa_words_close(&own->words);
    free(own->vocabulary);
    free(own);
}

/* The head of our places. */
static int is_place(const struct mf_questions_form *f, size_t head)
{
    return strcmp(f->head[head], mf_vqa_head_names[MF_VQA_PLACE]) == 0 && f->answers[head] == MF_VQA_SPANS + 1;
}

/* Is head @p head one of ours, with our answers? Kinds of structure have names of their own. */
static int is_own_head(const struct mf_questions_form *f, size_t head)
{
    const size_t at = mf_questions_answer_at(f, head);
    char text[MF_VQA_TEXT];
    int k = 0;

    while (k < MF_VQA_HEADS && strcmp(f->head[head], mf_vqa_head_names[k]) != 0) ++k;
    if (k == MF_VQA_KIND) return 1;
    if (k == MF_VQA_HEADS || (size_t)f->answers[head] != mf_vqa_head_answers[k]) return 0;
    for (size_t a = 0; a < mf_vqa_head_answers[k]; ++a) {
        mf_vqa_answer((enum mf_vqa_head)k, a, text);
        if (strcmp(text, f->answer[at + a]) != 0) return 0;
    }
    return 1;
}

static int is_own_type(const char *name)
{
    int k = 0;

    while (k < MF_VQA_TYPES && strcmp(name, mf_vqa_type_names[k]) != 0) ++k;
    return k < MF_VQA_TYPES;
}

int mf_vqa_may_flip(const struct mf_questions_form *f)
{
    for (size_t t = 0; t < f->types; ++t)
        if (!is_own_type(f->type[t]) || !is_own_head(f, (size_t)f->head_of[t])) return 0;
    return 1;
}

void mf_asked_heads(struct mf_task *task, struct mf_asked *own)
{
    const struct mf_questions_form *f = &own->form;
    const size_t answers = mf_questions_answer_at(f, f->heads);

    *task = mf_task_named(&mf_learn_vqa, answers + f->findings, NULL);
    memcpy(task->name, f->answer, answers * sizeof *f->answer);
    memcpy(task->name + answers, f->finding, f->findings * sizeof *f->finding);
    task->own = own;
    task->heads = f->heads + (f->findings > 0);
    own->place = f->heads;
    for (size_t h = 0; h < f->heads; ++h) {
        task->head[h] =
            (struct mf_head){.name = f->head[h], .outputs = (size_t)f->answers[h], .weight = 1, .counts = 2 * f->types};
        task->head[h].figures = task->head[h].counts;
        snprintf(own->label[h], sizeof own->label[h], "label.%s", f->head[h]);
        if (is_place(f, h)) own->place = h;
    }
    if (f->findings)
        task->head[f->heads] = (struct mf_head){.name = "findings",
                                                .outputs = f->findings,
                                                .weight = own->findings,
                                                .counts = 2 * f->findings,
                                                .figures = 2 * f->findings};
}

static int is_name(const char *name, size_t n, const mf_name *names)
{
    for (size_t i = 0; i < n; ++i)
        if (strcmp(names[i], name) == 0) return 1;
    return 0;
}

static int check_wish(const struct mf_dataset *set, const struct mf_vqa_wish *wish)
{
    const struct mf_questions_form *f = &set->questions->form;
    const int findings = f->findings > 0 && wish->findings > 0;

    if (f->heads + (size_t)findings > MF_HEADS)
        return mf_fail(MF_INPUT, "the questions of '%s' have %zu heads, and a network has at most %d with findings",
                       set->path, (size_t)f->heads, MF_HEADS);
    if (findings && is_name("findings", f->heads, f->head))
        return mf_fail(MF_USAGE, "a head of '%s' is called findings, as that of the images; try: --findings-weight 0",
                       set->path);
    if (wish->flips && !mf_vqa_may_flip(f))
        return mf_fail(MF_USAGE, "--augment flip: answers of '%s' may depend on left and right; try: --augment none",
                       set->path);
    return MF_OK;
}

/* Is it a type or a head? */
static int check_merit(const struct mf_task *task)
{
    const struct mf_questions_form *f = mf_vqa_form(task);
    const char *name = mf_asked_of(task)->merit;
    char all[200] = "";

    if (!*name) return MF_OK;
    if (is_name(name, f->types, f->type)) return MF_OK;
    for (size_t h = 0; h < task->heads; ++h)
        if (strcmp(task->head[h].name, name) == 0) return MF_OK;
    for (size_t t = 0; t < f->types; ++t) mf_enumerate(all, sizeof all, "%s", f->type[t]);
    for (size_t h = 0; h < task->heads; ++h) mf_enumerate(all, sizeof all, "%s", task->head[h].name);
    return mf_fail(MF_USAGE, "--merit %.60s: the questions have no such type or head; there are %s", name, all);
}

int mf_task_asked(const struct mf_dataset *set, const struct mf_vqa_wish *wish, struct mf_task *task)
{
    const struct mf_questions *q = set->questions;
    struct mf_asked *own;

    MF_TRY(check_wish(set, wish));
    own = MF_MUST(calloc(1, sizeof *own), "a task");
    own->form = q->form;
    if (!(wish->findings > 0)) own->form.findings = 0;
    own->vocabulary = MF_MUST(strdup(q->vocabulary ? q->vocabulary : ""), "a vocabulary");
    own->most = wish->tokens;
    own->flips = wish->flips;
    own->findings = wish->findings;
    snprintf(own->merit, sizeof own->merit, "%s", wish->merit ? wish->merit : "");
    mf_asked_heads(task, own);
    MF_TRY(check_merit(task));
    MF_TRY(mf_asked_words(own, set->path));
    MF_TRY(mf_asked_read(own, set));
    return mf_asked_count(own, set);
}

/* -- network -- */

static struct mf_learn_input reals(const char *name, struct mf_shape shape)
{
    shape.type = MF_F32;
    return (struct mf_learn_input){.name = name, .shape = shape};
}

static size_t inputs(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[])
{
    const struct mf_asked *own = mf_asked_of(task);
    const size_t n = own->length, objects = own->form.objects ? own->form.objects : 1, heads = own->form.heads;
    const size_t questions = batch * own->together;
    size_t cells[2];

    mf_arch_cells(arch, args, dims, cells);
    input[MF_ASKED_X] = mf_learn_samples(dims, batch);
    input[MF_ASKED_X].plain = 0;
    input[MF_ASKED_TOKENS] = mf_learn_labels("tokens", batch, 1);
    input[MF_ASKED_TOKENS].shape = (struct mf_shape){.type = MF_I32, .n = 2, .d = {questions, n}};
    input[MF_ASKED_SEEN] =
        (struct mf_learn_input){.name = "seen", .shape = {.type = MF_U8, .n = 2, .d = {questions, n}}};
    input[MF_ASKED_WORD_SHARE] = reals("word_share", (struct mf_shape){.n = 3, .d = {questions, 1, n}});
    input[MF_ASKED_OBJECT] = reals("object", (struct mf_shape){.n = 3, .d = {batch, objects, MF_OBJECT_VALUES}});
    input[MF_ASKED_OBJECT_SHARE] = reals("object_share", (struct mf_shape){.n = 3, .d = {batch, 1, objects}});
    input[MF_ASKED_REGION] = reals("region", (struct mf_shape){.n = 4, .d = {batch, objects, cells[0], cells[1]}});
    for (size_t h = 0; h < heads; ++h) input[MF_ASKED_LABEL + h] = mf_learn_labels(own->label[h], batch, own->together);
    if (own->form.findings) input[MF_ASKED_LABEL + heads] = mf_learn_reals("findings", batch, own->form.findings);
    return MF_ASKED_LABEL + task->heads;
}

static void forward(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                    const struct mf_arch_args *args, const int input[], int train, int output[])
{
    const struct mf_asked *own = mf_asked_of(task);
    const struct mf_shape region = mf_build_shape(build, input[MF_ASKED_REGION]);
    size_t outputs[MF_HEADS + 1] = {0};
    struct mf_arch_ask in = {.x = input[MF_ASKED_X],
                             .tokens = input[MF_ASKED_TOKENS],
                             .seen = input[MF_ASKED_SEEN],
                             .word_share = input[MF_ASKED_WORD_SHARE],
                             .object = input[MF_ASKED_OBJECT],
                             .object_share = input[MF_ASKED_OBJECT_SHARE],
                             .each = own->together,
                             .words = mf_tokenizer_numbers(own->tokenizer),
                             .length = own->length,
                             .objects = own->form.objects,
                             .heads = own->form.heads + 1,
                             .outputs = outputs};

    (void)train;
    in.region = mf_build_reshape(build, input[MF_ASKED_REGION],
                                 (struct mf_shape){.n = 3, .d = {region.d[0], region.d[1], region.d[2] * region.d[3]}});
    for (size_t h = 0; h < task->heads; ++h) outputs[h] = task->head[h].outputs;
    arch->ask(build, &in, args, output);
}

/* Each finding is a row of its own, so that their mean is over those that count. */
static int findings_loss(const struct mf_asked *own, const struct mf_learn_loss *of)
{
    const struct mf_attr attr = {.head = of->head};
    struct mf_shape rows = {.n = 2, .d = {0, 1}};
    int in[2] = {of->output, of->input[MF_ASKED_LABEL + own->form.heads]};

    rows.d[0] = mf_build_shape(of->build, of->output).d[0] * own->form.findings;
    for (int i = 0; i < 2; ++i) in[i] = mf_build_reshape(of->build, in[i], rows);
    return mf_build_node(of->build, MF_OP_LOGISTIC_LOSS, attr, of->name, 2, in);
}

static int loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    const size_t head = (size_t)of->head;
    const struct mf_asked *own = mf_asked_of(task);

    if (head == own->form.heads) return findings_loss(own, of);
    return mf_learn_softmax(of, task->head[head].outputs, of->input[MF_ASKED_LABEL + head], 0);
}

/* -- rows -- */

int mf_asked_finding(const struct mf_task *task, const struct mf_dataset *set, size_t item, size_t f)
{
    const size_t column = mf_asked_of(task)->finding_of[f];

    return column == SIZE_MAX
               ? MF_FINDING_NONE
               : set->questions->finding[mf_item_sample(set, item) * set->questions->form.findings + column];
}

size_t mf_vqa_together(const struct mf_task *task) { return mf_asked_of(task)->together; }

struct mf_vqa_label mf_vqa_label(const struct mf_task *task, size_t row)
{
    const struct mf_asked *own = mf_asked_of(task);
    const size_t type = own->type[row];
    const int known = own->answer[row] >= 0;

    return (struct mf_vqa_label){known ? (size_t)own->form.head_of[type] : own->form.heads, type, own->answer[row]};
}

static size_t rows(const struct mf_task *task, const struct mf_dataset *set, size_t head, size_t item)
{
    const struct mf_questions_form *f = mf_vqa_form(task);
    const struct mf_span asked = mf_item_rows(set->questions, item);
    size_t n = 0;

    for (size_t k = 0; head < f->heads && k < asked.count; ++k) n += mf_vqa_label(task, asked.first + k).head == head;
    for (size_t k = 0; head == f->heads && k < f->findings; ++k)
        n += mf_asked_finding(task, set, item, k) != MF_FINDING_NONE;
    return n;
}

/* -- scores: of each type, and of each finding, how many count and how many are right -- */

static void count(double *of, size_t k, int right)
{
    of[2 * k] += 1;
    of[2 * k + 1] += right;
}

static void tally(const struct mf_task *task, const struct mf_dataset *set, size_t head, const struct mf_batch *batch,
                  size_t r, const float *output, double *counts, double *sum)
{
    const struct mf_questions_form *f = mf_vqa_form(task);
    const struct mf_span asked = mf_item_rows(set->questions, batch->id[r]);
    const size_t n = task->head[head].outputs;

    (void)sum;
    for (size_t k = 0; head < f->heads && k < asked.count; ++k) {
        const struct mf_vqa_label label = mf_vqa_label(task, asked.first + k);

        if (label.head == head) count(counts, label.type, mf_classify_best(n, output + k * n) == (size_t)label.answer);
    }
    for (size_t k = 0; head == f->heads && k < f->findings; ++k) {
        const int value = mf_asked_finding(task, set, batch->id[r], k);

        if (value != MF_FINDING_NONE) count(counts, k, isfinite(output[k]) && (output[k] > 0) == value);
    }
}

static void finish(const struct mf_task *task, size_t head, const struct mf_head_scores *s, double *figure)
{
    memcpy(figure, s->count, task->head[head].counts * sizeof *figure);
}

struct mf_vqa_right mf_vqa_right_type(const struct mf_task *task, const struct mf_scores *s, size_t type)
{
    const double *figure = s->head[mf_vqa_form(task)->head_of[type]].figure + 2 * type;

    return (struct mf_vqa_right){figure[0], figure[1]};
}

struct mf_vqa_right mf_vqa_right_finding(const struct mf_task *task, const struct mf_scores *s, size_t finding)
{
    const double *figure = s->head[mf_vqa_form(task)->heads].figure + 2 * finding;

    return (struct mf_vqa_right){figure[0], figure[1]};
}

/* A mean of shares. */
struct mean {
    double sum;
    size_t n;
};

static void add(struct mean *m, struct mf_vqa_right of)
{
    if (of.asked == 0) return;
    m->sum += of.right / of.asked;
    ++m->n;
}

static double value_of(struct mean m) { return m.n ? m.sum / (double)m.n : NAN; }

/* It is of all types, of one, or of those of a head. A type counts before a head of its name. */
static double mean_of(const struct mf_task *task, const struct mf_scores *s, const char *name)
{
    const struct mf_questions_form *f = mf_vqa_form(task);
    const int is_type = is_name(name, f->types, f->type);
    struct mean m = {0, 0};

    for (size_t t = 0; t < f->types; ++t)
        if (!*name || strcmp(is_type ? f->type[t] : f->head[f->head_of[t]], name) == 0)
            add(&m, mf_vqa_right_type(task, s, t));
    return value_of(m);
}

double mf_vqa_accuracy(const struct mf_task *task, const struct mf_scores *s) { return mean_of(task, s, ""); }

static double findings_accuracy(const struct mf_task *task, const struct mf_scores *s)
{
    struct mean m = {0, 0};

    for (size_t k = 0; k < mf_vqa_form(task)->findings; ++k) add(&m, mf_vqa_right_finding(task, s, k));
    return value_of(m);
}

static double merit(const struct mf_task *task, const struct mf_scores *s)
{
    const struct mf_questions_form *f = mf_vqa_form(task);
    const char *name = mf_asked_of(task)->merit;
    const int is_question = is_name(name, f->types, f->type) || is_name(name, f->heads, f->head);

    if (!isfinite(s->loss)) return NAN;
    return strcmp(name, "findings") == 0 && !is_question ? findings_accuracy(task, s) : mean_of(task, s, name);
}

static void tell(const struct mf_task *task, double value, FILE *to)
{
    const char *name = mf_asked_of(task)->merit;
    char text[MF_LOSS_TEXT];

    fprintf(to, "accuracy%s%s %s", *name ? " of " : "", name, mf_accuracy_text(value, text));
}

static void put(const struct mf_task *task, const struct mf_scores *s, struct mf_json *to)
{
    const struct mf_questions_form *f = mf_vqa_form(task);
    struct mf_json *types = mf_json_object();

    mf_json_finite(to, "accuracy", mf_vqa_accuracy(task, s));
    for (size_t t = 0; t < f->types; ++t) {
        const struct mf_vqa_right of = mf_vqa_right_type(task, s, t);

        mf_json_finite(types, f->type[t], of.asked > 0 ? of.right / of.asked : NAN);
    }
    mf_json_put(to, "types", types);
    if (f->findings) mf_json_finite(to, "findings", findings_accuracy(task, s));
}

/* -- files -- */

static void problem(const struct mf_task *task, FILE *to)
{
    const struct mf_asked *own = mf_asked_of(task);

    fprintf(to, "task: vqa\n--max-tokens: %zu\n--augment: %d\n--findings-weight: %.17g\n--merit: %s\n", own->most,
            own->flips, own->findings, own->merit);
}

static int fit(struct mf_task *task, const char *path, struct mf_dataset *set)
{
    (void)path;
    return mf_asked_read(mf_asked_of(task), set);
}

/* The words that weights stand for, and the types that heads answer. */
static int same(const struct mf_task *a, const struct mf_task *b)
{
    const struct mf_asked *one = mf_asked_of(a), *other = mf_asked_of(b);
    const struct mf_questions_form *f = &one->form, *g = &other->form;

    if (f->types != g->types || strcmp(one->vocabulary, other->vocabulary) != 0) return 0;
    for (size_t t = 0; t < f->types; ++t)
        if (strcmp(f->type[t], g->type[t]) != 0 || f->head_of[t] != g->head_of[t]) return 0;
    return 1;
}

/* Rows of a type to learn from, the first answer, and how many have another one. */
struct variety {
    size_t asked, others;
    int32_t first;
};

static struct variety variety_of(const struct mf_task *task, const struct mf_dataset *set, size_t type)
{
    struct variety v = {.first = MF_ANSWER_NONE};

    for (size_t i = 0; i < set->count[MF_TRAIN]; ++i) {
        const struct mf_span asked = mf_item_rows(set->questions, set->id[MF_TRAIN][i]);

        for (size_t k = 0; k < asked.count; ++k) {
            const struct mf_vqa_label label = mf_vqa_label(task, asked.first + k);

            if (label.answer < 0 || label.type != type) continue;
            if (v.asked++ == 0) v.first = label.answer;
            v.others += label.answer != v.first;
        }
    }
    return v;
}

/* A type with one answer teaches nothing. */
static void doubt(const struct mf_task *task, const struct mf_dataset *set)
{
    const struct mf_questions_form *f = mf_vqa_form(task);

    for (size_t t = 0; t < f->types; ++t) {
        const struct variety v = variety_of(task, set, t);

        if (v.asked && !v.others)
            mf_warn("'%s': all %zu questions of type '%s' to learn from have one answer, '%s': nothing is learnt from "
                    "them",
                    set->path, v.asked, f->type[t],
                    f->answer[mf_questions_answer_at(f, (size_t)f->head_of[t]) + (size_t)v.first]);
    }
}

const struct mf_learn mf_learn_vqa = {.name = "vqa",
                                      .key = MF_ASKED_KEY,
                                      .reads = MF_READS_INPUT | MF_READS_QUESTIONS,
                                      .show = &mf_show_vqa,
                                      .inputs = inputs,
                                      .forward = forward,
                                      .loss = loss,
                                      .fill = mf_asked_fill,
                                      .hide = hide,
                                      .rows = rows,
                                      .tally = tally,
                                      .finish = finish,
                                      .merit = merit,
                                      .merit_key = "val_accuracy",
                                      .tell = tell,
                                      .put = put,
                                      .problem = problem,
                                      .save = mf_asked_save,
                                      .load = mf_asked_load,
                                      .fit = fit,
                                      .same = same,
                                      .doubt = doubt,
                                      .close = close_own};
