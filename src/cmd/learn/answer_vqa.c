/* infer answer: answers to questions about micrographs, by a network that train vqa made. */
#include <stdint.h>
#include <stdlib.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/utf8.h"
#include "src/cmd/learn/answer_vqa_net.h"
#include "src/cmd/learn/infer_model.h"
#include "src/cmd/learn/infer_resident.h"
#include "src/cmd/learn/infer_show.h"
#include "src/cmd/log_view.h"

enum { SHOWN = 160 /* bytes of a question in a line; JSON and tables have all of it */ };

struct answer {
    struct mf_infer_cmd infer; /* the first member: rows of files are of it */
    struct mf_texts question, type;
};

static const struct mf_opt rows[] = {
    MF_OPT(answer, "question", question, MF_TEXTS, NULL, "questions, each in quotes; they stand behind the files"),
    MF_OPT(answer, "type", type, MF_TEXTS, NULL, "type of all questions, or that of each; left out: the words tell it"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {
    rows, mf_infer_file_rows, mf_infer_stream_rows, mf_log_view_rows, mf_common_opts, NULL};

/* The verb: its options, and the network that answers. */
struct asking {
    const struct answer *o;
    struct mf_answerer answerer;
};

static int open(const struct mf_session *session, const struct mf_infer_cmd *options, const char *model, void *context,
                struct mf_infer_net *net)
{
    struct asking *asking = context;

    asking->answerer = (struct mf_answerer){.session = session,
                                            .questions = asking->o->question.count,
                                            .batch = (size_t)options->batch,
                                            .crew = {.wish.zero = (int)options->zero, .sharers = session->comm}};
    if (options->offload) asking->answerer.crew.streamed = SIZE_MAX;
    return mf_answerer_open(model, &asking->o->question, &asking->o->type, &asking->answerer, net);
}

/* ---- what is printed ---- */

/* The most probable answer. */
static size_t best_of(const struct mf_question *q, const float *output)
{
    size_t best = 0;

    for (size_t k = 1; k < q->count; ++k)
        if (output[q->first + k] > output[q->first + best]) best = k;
    return best;
}

static const char *type_of(const struct mf_answerer *a, const struct mf_question *q)
{
    return mf_vqa_form(&a->task)->type[q->type];
}

static void print_line(const struct mf_answerer *a, const struct mf_question *q, const struct mf_predicted *said)
{
    const size_t best = best_of(q, said->output), shown = mf_utf8_cut(q->text, SHOWN);

    printf("%s", said->file);
    if (said->sample >= 0) printf(", sample %ld", said->sample);
    printf(": %.*s%s %s %.4f (%s)", (int)shown, q->text, q->text[shown] ? " .." : "", q->answer[best],
           (double)said->output[q->first + best], type_of(a, q));
    if (said->tiles > 1) printf(" (mean of %.0f tiles)", said->tiles);
    printf("\n");
}

static struct mf_json *json_of(const struct mf_answerer *a, const struct mf_question *q,
                               const struct mf_predicted *said)
{
    const size_t best = best_of(q, said->output);
    struct mf_json *j = mf_json_object(), *all = mf_json_object();

    mf_json_text(j, "file", said->file);
    if (said->sample >= 0) mf_json_int(j, "sample", said->sample);
    for (size_t k = 0; k < q->count; ++k) mf_json_real(all, q->answer[k], (double)said->output[q->first + k]);
    MF_JSON(j, "tiles", (long long)said->tiles, "question", q->text, "answer", (const char *)q->answer[best],
            "probability", (double)said->output[q->first + best], "type", type_of(a, q), "probabilities", all,
            "unknown_words", mf_json_copy(q->unknown));
    return j;
}

/* A path through a tile need not cross the file. */
static void say_tiles(const struct mf_predictions *s, const struct mf_answerer *a)
{
    for (size_t i = 0; i < s->lines; ++i)
        if (s->said[i].tiles > 1) {
            mf_warn(
                "the model reads %zu x %zu pixels: an answer about '%s' is the mean over its tiles, which are asked "
                "one by one",
                a->card.dims[1], a->card.dims[2], s->said[i].file);
            return;
        }
}

static int print(const struct mf_predictions *s)
{
    const struct mf_answerer *a = &((const struct asking *)s->context)->answerer;
    struct mf_json *all = mf_json_array();
    int rc = MF_OK;

    say_tiles(s, a);
    for (size_t i = 0; i < s->lines; ++i)
        for (size_t q = 0; q < a->questions; ++q)
            if (mf_common_of(s->session)->json)
                mf_json_put(all, NULL, json_of(a, &a->question[q], &s->said[i]));
            else
                print_line(a, &a->question[q], &s->said[i]);
    if (mf_common_of(s->session)->json)
        rc = mf_predictions_json(s, "answers", all);
    else
        mf_json_free(all);
    return rc;
}

static void put(const void *predictions, FILE *to)
{
    const struct mf_predictions *s = predictions;
    const struct mf_answerer *a = &((const struct asking *)s->context)->answerer;

    fprintf(to, "file,sample,question,type,answer,probability\n");
    for (size_t i = 0; i < s->lines; ++i)
        for (size_t k = 0; k < a->questions; ++k) {
            const struct mf_question *q = &a->question[k];
            const size_t best = best_of(q, s->said[i].output);
            const char *const text[] = {q->text, type_of(a, q), q->answer[best]};

            mf_table_put(to, s->said[i].file);
            fprintf(to, ",");
            if (s->said[i].sample >= 0) fprintf(to, "%ld", s->said[i].sample);
            for (int t = 0; t < 3; ++t) {
                fprintf(to, ",");
                mf_table_put(to, text[t]);
            }
            fprintf(to, ",%.6f\n", (double)s->said[i].output[q->first + best]);
        }
}

/* ---- the verb ---- */

static int check(const struct mf_session *session, void *options)
{
    const struct answer *o = options;

    MF_TRY(mf_answerer_check(&o->question));
    return mf_infer_check(session, options, "infer answer");
}

static int run(struct mf_session *session, void *options)
{
    struct asking asking = {.o = options};
    const struct mf_infer_maker maker = {&asking, open, print, put};
    const int rc = mf_infer_run(session, &asking.o->infer, &mf_learn_vqa, &maker);

    mf_answerer_close(&asking.answerer);
    return rc;
}

const struct mf_cmd mf_cmd_infer_answer = {
    .name = "infer answer",
    .summary = "answer questions about microstructures by a trained model",
    .synopsis = "MODEL.safetensors FILE ... --question TEXT ... [--type TYPE] [--threshold otsu] [--json]",
    .text =
        "Asks a model of train vqa about images. Every question is asked of every file, and of every sample of a "
        "dataset. The type of a question decides among which answers the model chooses. Nobody says it here, so "
        "the words tell it: the model's file counts in which questions they stood when it learnt. A question of "
        "other words is refused, as is one whose words fit several types; --type names its type. In questions of "
        "synth, dark is phase 0 (the first of --labels) and light is phase 1. A line names words that the model "
        "does not know; then the answer may be to another question. The most probable answer is printed, with its "
        "probability. Objects of a dataset are shown to it; in other images of two phases the program finds the "
        "largest components, as in synth. A text that is longer than those of the training is cut, and a line "
        "says so.\n\n"
        "A file that is larger than the samples of the training is cut into tiles of their size, and the answer "
        "is the mean over these. Ask about a crop where the whole image matters. Files are read as those of infer "
        "classify. With --zero 3 ranks cut the weights, and with --offload-weights host these stand in host memory. "
        "Images unlike those that were learnt may get wrong answers; characterize --measures clusters "
        "measures percolation.\n\n"
        "  mesoforge infer answer run/model.safetensors steel.png --threshold otsu \\\n"
        "      --question \"does the dark phase percolate from left to right?\"\n"
        "  mesoforge infer answer run/model.safetensors asked.h5 --output answers.csv \\\n"
        "      --question \"what is the morphology?\" \"is the light phase connected?\"\n",
    .tables = tables,
    .size = sizeof(struct answer),
    .positional_max = 4096,
    .check = check,
    .run = run,
    .work = MF_WORK_CORES,
    .remedy = "a smaller --batch-size",
    .in_library = 1,
};

/* ---- a model that stays loaded, with its questions ---- */

struct resident {
    struct asking asking;
    struct mf_infer_maker maker;
    struct mf_infer_model model;
};

static int load(struct mf_session *session, const struct mf_resident_kind *kind, void *options, const char *path,
                void **model)
{
    struct resident *r = MF_MUST(calloc(1, sizeof *r), "a model");

    r->asking.o = options;
    r->maker = (struct mf_infer_maker){&r->asking, open, print, put};
    r->model = (struct mf_infer_model){.session = session, .o = options, .path = path, .maker = &r->maker};
    *model = r;
    MF_TRY(mf_agree(session->comm, mf_answerer_check(&r->asking.o->question)));
    MF_TRY(mf_infer_model_begin(&r->model, kind->learn));
    return mf_infer_model_load(&r->model, 0);
}

static void unload(void *model)
{
    struct resident *r = model;

    if (!r) return;
    mf_infer_model_close(&r->model);
    mf_answerer_close(&r->asking.answerer);
    free(r);
}

static void facts(const void *model, struct mf_json *to)
{
    const struct resident *r = model;
    const struct mf_answerer *a = &r->asking.answerer;
    struct mf_json *asked = mf_json_array(), *outputs = mf_json_array(), *map = mf_json_object();

    for (size_t q = 0; q < a->questions; ++q) {
        mf_json_text(asked, NULL, a->question[q].text);
        for (size_t k = 0; k < a->question[q].count; ++k) mf_json_text(outputs, NULL, a->question[q].answer[k]);
    }
    mf_predictor_facts(&a->card, &a->task, to);
    mf_json_text(map, "", r->model.session->backend->name); /* all of it */
    MF_JSON(to, "questions", asked, "outputs", outputs, "map", map);
}

static int axes(const void *model) { return mf_infer_resident_axes(&((const struct resident *)model)->model); }

static int ask(void *model, void *options, const char *const *files, size_t count,
               const struct mf_resident_taker *taker)
{
    return mf_infer_resident_ask(&((struct resident *)model)->model, options, files, count, taker);
}

static const char *const loading[] = {"question", "type", "batch-size", "zero", "offload-weights", NULL};

const struct mf_resident_kind mf_resident_answer = {.verb = &mf_cmd_infer_answer,
                                                    .learn = &mf_learn_vqa,
                                                    .loading = loading,
                                                    .check = mf_infer_check_loading,
                                                    .open = load,
                                                    .facts = facts,
                                                    .axes = axes,
                                                    .ask = ask,
                                                    .close = unload};
