/* Memory of questions, their datasets in a file, and which of them are sound. See questions_priv.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/questions_priv.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/base/utf8.h"

size_t mf_questions_rows(const struct mf_questions_form *f, size_t samples, int part)
{
    return part < MF_ASK_OBJECT ? f->rows : samples;
}

size_t mf_questions_columns(const struct mf_questions_form *f, int part)
{
    switch (part) {
    case MF_ASK_LABEL: return f->heads;
    case MF_ASK_TEXT: return f->text;
    case MF_ASK_GRADE: return f->graded;
    case MF_ASK_OBJECT: return f->objects * MF_OBJECT_VALUES;
    case MF_ASK_FINDING: return f->findings;
    default: return 1;
    }
}

size_t mf_questions_row(const struct mf_questions_form *f, int part)
{
    return mf_questions_columns(f, part) * mf_question_parts[part].size;
}

size_t mf_questions_bytes(const struct mf_questions_form *f, size_t samples)
{
    size_t bytes = f->vocabulary;

    for (int p = 0; p < MF_ASK_PARTS; ++p) bytes += mf_questions_rows(f, samples, p) * mf_questions_row(f, p);
    return bytes;
}

void mf_questions_arrays(struct mf_questions *q, void **array[MF_ASK_PARTS])
{
    array[MF_ASK_SAMPLE] = (void **)&q->sample;
    array[MF_ASK_TYPE] = (void **)&q->type;
    array[MF_ASK_HELD_OUT] = (void **)&q->held_out;
    array[MF_ASK_LABEL] = (void **)&q->label;
    array[MF_ASK_TEXT] = (void **)&q->text;
    array[MF_ASK_GRADE] = (void **)&q->grade;
    array[MF_ASK_OBJECT] = (void **)&q->object;
    array[MF_ASK_FINDING] = (void **)&q->finding;
}

struct mf_questions *mf_questions_new(const struct mf_questions_form *form, size_t samples)
{
    struct mf_questions *q = MF_MUST(calloc(1, sizeof *q), "questions");
    void **array[MF_ASK_PARTS];
    int has = 1;

    q->form = *form;
    mf_questions_arrays(q, array);
    for (int p = 0; has && p < MF_ASK_PARTS; ++p) {
        const size_t rows = mf_questions_rows(form, samples, p);

        *array[p] = mf_room(rows + 1, mf_questions_row(form, p) + 1, "%s of %zu rows", mf_question_parts[p].path, rows);
        has = *array[p] != NULL;
    }
    if (has) return q;
    mf_questions_close(q);
    return NULL;
}

void mf_questions_close(struct mf_questions *q)
{
    void **array[MF_ASK_PARTS];

    if (!q) return;
    mf_questions_arrays(q, array);
    for (int p = 0; p < MF_ASK_PARTS; ++p) free(*array[p]);
    free(q->vocabulary);
    free(q->item);
    free(q->item_sample);
    free(q->counts);
    free(q);
}

size_t mf_questions_answer_at(const struct mf_questions_form *form, size_t head)
{
    size_t at = 0;

    for (size_t h = 0; h < head; ++h) at += (size_t)form->answers[h];
    return at;
}

size_t mf_questions_first(const struct mf_questions *q, size_t sample)
{
    size_t low = 0, high = q->form.rows;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (q->sample[middle] < sample)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- datasets ---- */

static int put_names(struct mf_h5 *file, int part, const char *word, size_t n, const mf_name *names)
{
    const char **all = MF_MUST(calloc(n + 1, sizeof *all), "names");
    int rc;

    for (size_t i = 0; i < n; ++i) all[i] = names[i];
    rc = mf_h5_put_texts(file, mf_question_parts[part].path, word, n, all);
    free(all);
    return rc;
}

static int put_numbers(struct mf_h5 *file, int part, const char *word, size_t n, const int32_t *numbers)
{
    int64_t wide[MF_QUESTION_TYPES];

    for (size_t i = 0; i < n; ++i) wide[i] = numbers[i];
    return mf_h5_put_ints(file, mf_question_parts[part].path, word, n, wide);
}

static int put_form(struct mf_h5 *file, const struct mf_questions_form *f)
{
    MF_TRY(put_names(file, MF_ASK_TYPE, "types", f->types, f->type));
    MF_TRY(put_numbers(file, MF_ASK_TYPE, "heads", f->types, f->head_of));
    MF_TRY(put_names(file, MF_ASK_LABEL, "heads", f->heads, f->head));
    MF_TRY(put_numbers(file, MF_ASK_LABEL, "answers", f->heads, f->answers));
    MF_TRY(put_names(file, MF_ASK_LABEL, "names", mf_questions_answer_at(f, f->heads), f->answer));
    if (!f->findings) return MF_OK;
    MF_TRY(put_names(file, MF_ASK_FINDING, "names", f->findings, f->finding));
    return mf_h5_put_reals(file, mf_question_parts[MF_ASK_FINDING].path, "thresholds", f->findings, f->threshold);
}

int mf_questions_lay(struct mf_h5 *file, const struct mf_questions_wish *wish, size_t samples, uint64_t *at)
{
    const struct mf_questions_form *f = wish->form;

    for (int p = 0; p < MF_ASK_PARTS; ++p) {
        const struct mf_question_part_kind *kind = &mf_question_parts[p];
        size_t extent[3] = {mf_questions_rows(f, samples, p), mf_questions_columns(f, p), MF_OBJECT_VALUES};

        if (!extent[1]) continue;
        if (p == MF_ASK_OBJECT) extent[1] = f->objects;
        MF_TRY(mf_h5_dataset(file, kind->path, kind->type, kind->ndim, extent));
        at[p] = mf_h5_place(file, kind->path);
    }
    MF_TRY(put_form(file, f));
    return f->vocabulary ? mf_h5_write_text(file, MF_QUESTION_WORDS, wish->vocabulary) : MF_OK;
}

/* ---- what sound questions are ---- */

/* One answer, of the head of its type. */
static int check_label(const char *path, const struct mf_questions *q, size_t row)
{
    const struct mf_questions_form *f = &q->form;
    const int32_t *label = q->label + row * f->heads;

    for (size_t h = 0; h < f->heads; ++h) {
        const int own = f->head_of[q->type[row]] == (int32_t)h;

        if (own ? label[h] >= 0 && label[h] < f->answers[h] : label[h] == MF_ANSWER_NONE) continue;
        return mf_fail(MF_INPUT, "cannot use '%s': question %zu, of type %s, has the answer %d in head %s, not %s",
                       path, row, f->type[q->type[row]], label[h], f->head[h],
                       own ? "one of its answers" : "-1, as its head is another one");
    }
    return MF_OK;
}

static int check_text(const char *path, const struct mf_questions *q, size_t row)
{
    char *text = q->text + row * q->form.text;
    const unsigned char *wrong;

    if (text[q->form.text - 1])
        return mf_fail(MF_INPUT, "cannot use '%s': the text of question %zu does not end with a zero", path, row);
    if (!*text) return mf_fail(MF_INPUT, "cannot use '%s': question %zu has no text", path, row);
    wrong = (const unsigned char *)mf_utf8_wrong(text);
    if (!wrong) return MF_OK;
    return mf_fail(MF_INPUT, "cannot use '%s': the text of question %zu is not UTF-8 (byte 0x%02X)", path, row, *wrong);
}

static int check_row(const char *path, const struct mf_questions *q, size_t samples, size_t first, size_t row)
{
    const uint32_t sample = q->sample[row];

    if (sample < first || sample - first >= samples)
        return mf_fail(MF_INPUT, "cannot use '%s': question %zu is about sample %u, and there are %zu", path, row,
                       sample, samples);
    if (row && sample < q->sample[row - 1])
        return mf_fail(MF_INPUT, "cannot use '%s': question %zu is not in the order of the samples", path, row);
    if (q->type[row] >= q->form.types || q->held_out[row] > 1)
        return mf_fail(MF_INPUT, "cannot use '%s': question %zu has type %d and held_out %d, not 0 to %zu and 0 or 1",
                       path, row, q->type[row], q->held_out[row], (size_t)q->form.types - 1);
    if (q->form.graded && q->grade[row] && (q->grade[row] < 'A' || q->grade[row] > 'Z'))
        return mf_fail(MF_INPUT, "cannot use '%s': question %zu has grade %d, not A to Z (%d to %d) or 0", path, row,
                       q->grade[row], 'A', 'Z');
    MF_TRY(check_label(path, q, row));
    return check_text(path, q, row);
}

/* Zeros, or a box in the image. */
static int is_object(const float *v)
{
    int none = 1, sound = 1;

    for (int k = 0; k < MF_OBJECT_VALUES; ++k) {
        none &= v[k] == 0;
        sound &= isfinite(v[k]) && v[k] >= 0 && (k == MF_OBJECT_VALUES - 1 || v[k] <= 1);
    }
    return none || (sound && v[0] < v[2] && v[1] < v[3]);
}

static int check_object(const char *path, const struct mf_questions *q, size_t i, size_t first)
{
    const float *v = q->object + i * MF_OBJECT_VALUES;
    const size_t objects = q->form.objects;

    if (is_object(v)) return MF_OK;
    return mf_fail(
        MF_INPUT,
        "cannot use '%s': object %zu of sample %zu is no box in the image: y %g to %g, x %g to %g, which must "
        "rise and be 0 to 1",
        path, i % objects, first + i / objects, (double)v[0], (double)v[2], (double)v[1], (double)v[3]);
}

int mf_questions_check(const char *path, const struct mf_questions *q, size_t samples, size_t first)
{
    const struct mf_questions_form *f = &q->form;

    for (size_t r = 0; r < f->rows; ++r) MF_TRY(check_row(path, q, samples, first, r));
    for (size_t i = 0; i < samples * f->objects; ++i) MF_TRY(check_object(path, q, i, first));
    for (size_t i = 0; i < samples * f->findings; ++i)
        if (q->finding[i] > 1 && q->finding[i] != MF_FINDING_NONE)
            return mf_fail(MF_INPUT, "cannot use '%s': finding %zu of sample %zu is %d, not 0, 1, or %d", path,
                           i % (size_t)f->findings, first + i / (size_t)f->findings, q->finding[i], MF_FINDING_NONE);
    return MF_OK;
}
