/* See synth_questions.h. */
#include "src/cmd/files/synth_questions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/cmd/files/synth_opts.h"

/* Kinds are those of the samples. */
static void name_answers(const struct mf_synth_mix *mix, struct mf_questions_form *form)
{
    size_t at = 0;

    for (size_t h = 0; h < MF_VQA_HEADS; ++h) {
        const size_t n = h == MF_VQA_KIND ? mix->kinds : mf_vqa_head_answers[h];

        snprintf(form->head[h], sizeof form->head[h], "%s", mf_vqa_head_names[h]);
        form->answers[h] = (int32_t)n;
        for (size_t k = 0; k < n; ++k) {
            char text[MF_VQA_TEXT];

            mf_vqa_answer((enum mf_vqa_head)h, k, text);
            snprintf(form->answer[at++], sizeof *form->answer, "%.63s",
                     h == MF_VQA_KIND ? mf_synth_kind_word(mix->kind[k]) : text);
        }
    }
}

static void describe(const struct mf_synth_questions *q, const struct mf_synth_mix *mix, struct mf_questions_form *form)
{
    form->rows = q->samples * q->each;
    form->text = MF_VQA_TEXT;
    form->types = MF_VQA_TYPES;
    form->heads = MF_VQA_HEADS;
    form->findings = MF_VQA_FINDINGS;
    form->objects = MF_VQA_OBJECTS;
    form->vocabulary = strlen(q->vocabulary);
    for (size_t t = 0; t < MF_VQA_TYPES; ++t) {
        snprintf(form->type[t], sizeof form->type[t], "%s", mf_vqa_type_names[t]);
        form->head_of[t] = (int32_t)mf_vqa_type_heads[t];
    }
    for (size_t f = 0; f < MF_VQA_FINDINGS; ++f) {
        form->threshold[f] = mf_vqa_findings[f].threshold;
        snprintf(form->finding[f], sizeof form->finding[f], "%s >= %g", mf_vqa_findings[f].name,
                 mf_vqa_findings[f].threshold);
    }
    name_answers(mix, form);
}

int mf_synth_questions_measure(struct mf_synth_questions *q, size_t id, struct mf_micro *micro, int kind)
{
    const struct mf_measure_job job = {
        .comm = &q->self, .queue = q->session->home, .arena = q->session->arena, .micro = micro, .lag = 1};

    return mf_vqa_find(&job, kind, &q->facts[id]);
}

/* ---- rows ---- */

static void put_row(const struct mf_synth_questions *q, size_t id, const struct mf_vqa_row *row, size_t r,
                    struct mf_questions *part)
{
    const enum mf_vqa_type type = mf_vqa_questions[row->question].type;
    int32_t *label = part->label + r * MF_VQA_HEADS;

    part->sample[r] = (uint32_t)id;
    part->type[r] = (uint8_t)type;
    part->held_out[r] = row->phrasing >= MF_VQA_TRAINED;
    for (size_t h = 0; h < MF_VQA_HEADS; ++h)
        label[h] = h == mf_vqa_type_heads[type] ? q->facts[id].answer[row->question] : MF_ANSWER_NONE;
    mf_vqa_text(row->question, row->phrasing, part->text + r * MF_VQA_TEXT);
}

static void put_rows(const struct mf_synth_questions *q, const struct mf_vqa_row *row, struct mf_span own,
                     struct mf_questions *part)
{
    for (size_t k = 0; k < own.count; ++k) {
        const size_t id = own.first + k;

        for (size_t i = 0; i < q->each; ++i) put_row(q, id, &row[id * q->each + i], k * q->each + i, part);
        memcpy(part->object + k * MF_VQA_OBJECTS * MF_VQA_OBJECT, q->facts[id].object, sizeof q->facts[id].object);
        memcpy(part->finding + k * MF_VQA_FINDINGS, q->facts[id].finding, sizeof q->facts[id].finding);
    }
}

/* Every rank deals all questions alike. */
static int make(void *context, const uint8_t *split, struct mf_span own, struct mf_questions *part)
{
    const struct mf_synth_questions *q = context;
    int8_t(*answer)[MF_VQA_QUESTIONS];
    struct mf_vqa_row *row = NULL;
    void *all = NULL;
    int rc = MF_ROOM(answer, own.count + 1, "the answers of %zu samples", own.count);

    if (rc == MF_OK) rc = MF_ROOM(row, q->samples * q->each, "the questions of %zu samples", q->samples);
    rc = mf_agree(q->session->comm, rc);
    for (size_t k = 0; rc == MF_OK && k < own.count; ++k)
        memcpy(answer[k], q->facts[own.first + k].answer, sizeof *answer);
    if (rc == MF_OK) rc = mf_comm_gather(q->session->comm, answer, own.count * sizeof *answer, &all, NULL);
    if (rc == MF_OK) rc = mf_agree(q->session->comm, mf_vqa_deal(q->samples, all, split, q->each, q->seed, row));
    if (rc == MF_OK) put_rows(q, row, own, part);
    free(all);
    free(row);
    free(answer);
    return rc;
}

int mf_synth_questions_begin(struct mf_session *session, size_t samples, size_t each, const struct mf_synth_mix *mix,
                             struct mf_synth_questions *q)
{
    *q = (struct mf_synth_questions){.session = session, .samples = samples, .each = each, .seed = mix->seed};
    mf_comm_self(&q->self);
    q->form = MF_MUST(calloc(1, sizeof *q->form), "questions");
    MF_TRY(MF_ROOM(q->facts, samples + 1, "the answers of %zu samples", samples));
    MF_TRY(mf_vqa_vocabulary(&q->vocabulary));
    describe(q, mix, q->form);
    q->wish = (struct mf_questions_wish){q->form, q->vocabulary, NULL, make, q};
    return MF_OK;
}

void mf_synth_questions_end(struct mf_synth_questions *q)
{
    free(q->facts);
    free(q->form);
    free(q->vocabulary);
    *q = (struct mf_synth_questions){0};
}
