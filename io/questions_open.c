/* Opening the questions of a dataset. A guarded child of rank 0 reads and sends them. See questions.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/guard.h"
#include "io/hash.h"
#include "io/phases.h"
#include "io/questions_priv.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/room.h"

struct opening {
    const struct mf_dataset *set;
    struct mf_questions *questions;
};

/* ---- the child ---- */

static int read_names(struct mf_h5 *file, int part, const char *word, size_t most, mf_name *names, uint64_t *count)
{
    size_t n = 0;

    MF_TRY(mf_h5_get_texts(file, mf_question_parts[part].path, word, most, MF_REAL_TEXT, (char *)names, &n));
    *count = n;
    return MF_OK;
}

static int read_numbers(struct mf_h5 *file, int part, const char *word, size_t want, int32_t *numbers)
{
    const char *object = mf_question_parts[part].path;
    int64_t wide[MF_QUESTION_TYPES];
    size_t count = 0;

    MF_TRY(mf_h5_get_ints(file, object, word, MF_QUESTION_TYPES, wide, &count));
    if (count != want)
        return mf_fail(MF_INPUT, "attribute %s of %s has %zu values, not %zu", word, object, count, want);
    for (size_t i = 0; i < count; ++i)
        numbers[i] = wide[i] < 0 || wide[i] > MF_QUESTION_ANSWERS ? -1 : (int32_t)wide[i];
    return MF_OK;
}

static int read_form(struct mf_h5 *file, struct mf_questions_form *f)
{
    uint64_t named = 0;
    size_t thresholds = 0;

    MF_TRY(read_names(file, MF_ASK_TYPE, "types", MF_QUESTION_TYPES, f->type, &f->types));
    MF_TRY(read_numbers(file, MF_ASK_TYPE, "heads", f->types, f->head_of));
    MF_TRY(read_names(file, MF_ASK_LABEL, "heads", MF_QUESTION_HEADS, f->head, &f->heads));
    MF_TRY(read_numbers(file, MF_ASK_LABEL, "answers", f->heads, f->answers));
    MF_TRY(read_names(file, MF_ASK_LABEL, "names", MF_QUESTION_ANSWERS, f->answer, &named));
    if (named != mf_questions_answer_at(f, f->heads))
        return mf_fail(MF_INPUT, "%s names %zu answers, not %zu", mf_question_parts[MF_ASK_LABEL].path, (size_t)named,
                       mf_questions_answer_at(f, f->heads));
    if (!mf_h5_has(file, mf_question_parts[MF_ASK_FINDING].path)) return MF_OK;
    MF_TRY(read_names(file, MF_ASK_FINDING, "names", MF_QUESTION_FINDINGS, f->finding, &f->findings));
    return mf_h5_get_reals(file, mf_question_parts[MF_ASK_FINDING].path, "thresholds", MF_QUESTION_FINDINGS,
                           f->threshold, &thresholds);
}

/* Extents that a part says, and whether it has its type. */
static int read_shape(struct mf_h5 *file, int part, struct mf_questions_form *f)
{
    const struct mf_question_part_kind *kind = &mf_question_parts[part];
    struct mf_h5_shape s;

    if (part >= MF_ASK_GRADE && !mf_h5_has(file, kind->path)) return MF_OK;
    MF_TRY(mf_h5_shape(file, kind->path, &s));
    if (s.kind != kind->kind || s.size != kind->size || s.ndim != kind->ndim)
        return mf_fail(MF_INPUT, "%s must have %d axes and hold %s%zu", kind->path, kind->ndim,
                       kind->kind == 'u'   ? "uint"
                       : kind->kind == 'i' ? "int"
                                           : "float",
                       8 * kind->size);
    if (part == MF_ASK_SAMPLE) f->rows = s.dims[0];
    if (part == MF_ASK_TEXT) f->text = s.dims[1];
    if (part == MF_ASK_GRADE) f->graded = 1;
    if (part == MF_ASK_OBJECT) f->objects = s.dims[1];
    return MF_OK;
}

static int check_shape(struct mf_h5 *file, int part, const struct mf_questions_form *f, size_t samples)
{
    const char *path = mf_question_parts[part].path;
    struct mf_h5_shape s;
    size_t columns = 1;

    if (!mf_questions_columns(f, part)) return MF_OK;
    MF_TRY(mf_h5_shape(file, path, &s));
    for (int a = 1; a < s.ndim; ++a) columns *= s.dims[a];
    if (s.dims[0] == mf_questions_rows(f, samples, part) && columns == mf_questions_columns(f, part)) return MF_OK;
    return mf_fail(MF_INPUT, "%s has %zu rows of %zu values, not %zu of %zu", path, s.dims[0], columns,
                   mf_questions_rows(f, samples, part), mf_questions_columns(f, part));
}

static int send_arrays(struct mf_h5 *file, const struct mf_questions_form *f, size_t samples, FILE *to)
{
    for (int p = 0; p < MF_ASK_PARTS; ++p) {
        const size_t rows = mf_questions_rows(f, samples, p), bytes = rows * mf_questions_row(f, p);
        void *values;
        int rc;

        if (!bytes) continue;
        values = mf_room(1, bytes, "%s", mf_question_parts[p].path);
        if (!values) return MF_MEMORY;
        rc = mf_h5_read_rows(file, mf_question_parts[p].path, mf_question_parts[p].type, 0, rows, values);
        if (rc == MF_OK) rc = mf_guard_send(to, values, bytes);
        free(values);
        MF_TRY(rc);
    }
    return MF_OK;
}

static int check_form(const struct mf_questions_form *f)
{
    int sound = f->rows < (uint64_t)1 << 32 && f->types > 0 && f->heads > 0 && f->text > 0 &&
                f->text <= MF_QUESTION_TEXT && f->objects <= MF_QUESTION_OBJECTS && f->types <= MF_QUESTION_TYPES &&
                f->heads <= MF_QUESTION_HEADS && f->findings <= MF_QUESTION_FINDINGS && f->graded <= 1 &&
                f->vocabulary <= MF_QUESTION_VOCABULARY;

    for (size_t h = 0; sound && h < f->heads; ++h) sound = f->answers[h] > 0;
    for (size_t t = 0; sound && t < f->types; ++t)
        if (f->head_of[t] < 0 || (uint64_t)f->head_of[t] >= f->heads)
            return mf_fail(MF_INPUT,
                           "no head answers questions of type '%.60s': attribute heads of %s has %d, not 0 to %zu",
                           f->type[t], mf_question_parts[MF_ASK_TYPE].path, f->head_of[t], (size_t)f->heads - 1);
    return sound && mf_questions_answer_at(f, f->heads) <= MF_QUESTION_ANSWERS
               ? MF_OK
               : mf_fail(MF_INPUT, "unusable numbers of questions, types, heads or answers");
}

static int send_all(struct mf_h5 *file, size_t samples, struct mf_questions_form *f, FILE *to)
{
    char *words = NULL;
    int rc = MF_OK;

    for (int p = 0; p < MF_ASK_PARTS; ++p) MF_TRY(read_shape(file, p, f));
    MF_TRY(read_form(file, f));
    for (int p = 0; p < MF_ASK_PARTS; ++p) MF_TRY(check_shape(file, p, f, samples));
    if (mf_h5_has(file, MF_QUESTION_WORDS))
        MF_TRY(mf_h5_read_text(file, MF_QUESTION_WORDS, MF_QUESTION_VOCABULARY, &words));
    f->vocabulary = words ? strlen(words) : 0;
    rc = check_form(f);
    if (rc == MF_OK) rc = mf_guard_send(to, f, sizeof *f);
    if (rc == MF_OK && f->vocabulary) rc = mf_guard_send(to, words, f->vocabulary);
    free(words);
    return rc == MF_OK ? send_arrays(file, f, samples, to) : rc;
}

static int work(void *context, FILE *to)
{
    const struct opening *o = context;
    struct mf_questions_form *form = MF_MUST(calloc(1, sizeof *form), "questions");
    char why[MF_ERR_TEXT];
    struct mf_h5 *file;
    int rc, end;

    MF_TRY(mf_h5_open(o->set->path, &file));
    rc = mf_h5_unread(file, send_all(file, o->set->samples, form, to));
    if (rc == MF_INPUT && !strstr(mf_err_text(), o->set->path)) {
        snprintf(why, sizeof why, "%s", mf_err_text());
        rc = mf_fail(MF_INPUT, "cannot use '%s': %.700s", o->set->path, why);
    }
    end = mf_h5_close(file);
    free(form);
    return rc == MF_OK ? end : rc;
}

/* ---- all ranks ---- */

/* Visits all that is sent after the form. */
static int each_array(struct mf_questions *q, size_t samples, int (*visit)(void *context, void *at, size_t bytes),
                      void *context)
{
    void **array[MF_ASK_PARTS];

    mf_questions_arrays(q, array);
    if (q->form.vocabulary) MF_TRY(visit(context, q->vocabulary, q->form.vocabulary));
    for (int p = 0; p < MF_ASK_PARTS; ++p) {
        const size_t bytes = mf_questions_rows(&q->form, samples, p) * mf_questions_row(&q->form, p);

        if (bytes) MF_TRY(visit(context, *array[p], bytes));
    }
    return MF_OK;
}

/* Local. */
static int make(const struct mf_questions_form *form, size_t samples, struct mf_questions **questions)
{
    struct mf_questions *q = mf_questions_new(form, samples);

    *questions = q;
    if (!q) return MF_MEMORY;
    return form->vocabulary ? MF_ROOM(q->vocabulary, form->vocabulary + 1, "a vocabulary") : MF_OK;
}

static int receive(void *from, void *at, size_t bytes) { return mf_guard_receive(from, at, bytes); }

static int share(void *comm, void *at, size_t bytes)
{
    mf_comm_bcast(comm, 0, at, bytes);
    return MF_OK;
}

static void end_names(size_t n, mf_name *names)
{
    for (size_t i = 0; i < n; ++i) mf_guard_sanitise(names[i], sizeof *names);
}

static int take(void *context, FILE *from)
{
    struct opening *o = context;
    struct mf_questions_form *f = MF_MUST(calloc(1, sizeof *f), "questions");
    int rc = mf_guard_receive(from, f, sizeof *f);

    if (rc == MF_OK) rc = check_form(f);
    end_names(MF_QUESTION_TYPES, f->type);
    end_names(MF_QUESTION_HEADS, f->head);
    end_names(MF_QUESTION_FINDINGS, f->finding);
    end_names(MF_QUESTION_ANSWERS, f->answer);
    if (rc == MF_OK) rc = make(f, o->set->samples, &o->questions);
    free(f);
    return rc == MF_OK ? each_array(o->questions, o->set->samples, receive, from) : rc;
}

/* The same texts have the same hash, whatever the longest of their set is. */
static int hash_texts(const struct mf_questions *q, char hash[MF_HASH_TEXT])
{
    char *all = mf_room(q->form.rows, q->form.text, "the texts of %zu questions", (size_t)q->form.rows);
    size_t used = 0;

    if (!all) return MF_MEMORY;
    for (size_t r = 0; r < q->form.rows; ++r) {
        const char *text = q->text + r * q->form.text;
        const size_t n = strnlen(text, q->form.text - 1) + 1;

        memcpy(all + used, text, n);
        used += n;
    }
    mf_hash_bytes(all, used, hash);
    free(all);
    return MF_OK;
}

/* Local. */
static int make_hash(struct mf_questions *q, size_t samples)
{
    char each[MF_ASK_PARTS + 1][MF_HASH_TEXT];
    const char *all[MF_ASK_PARTS + 1];
    void **array[MF_ASK_PARTS];

    mf_questions_arrays(q, array);
    for (int p = 0; p < MF_ASK_PARTS; ++p)
        if (p == MF_ASK_TEXT)
            MF_TRY(hash_texts(q, each[p]));
        else
            mf_hash_bytes(*array[p], mf_questions_rows(&q->form, samples, p) * mf_questions_row(&q->form, p), each[p]);
    mf_hash_bytes(q->vocabulary, q->form.vocabulary, each[MF_ASK_PARTS]);
    for (int p = 0; p <= MF_ASK_PARTS; ++p) all[p] = each[p];
    mf_hash_join(MF_ASK_PARTS + 1, all, q->hash);
    return MF_OK;
}

static int read_all(struct opening *o)
{
    struct stat is;
    const double seconds = stat(o->set->path, &is) == 0 ? MF_GUARD_DECODING(is.st_size) : MF_GUARD_SECONDS;

    if (!o->set->asks)
        return mf_fail(MF_INPUT, "'%s' has no questions; make some with: mesoforge synth --num-samples N --questions Q",
                       o->set->path);
    MF_TRY(mf_seal_explain(mf_guard(o->set->path, seconds, work, take, o), o->set->path));
    return mf_questions_check(o->set->path, o->questions, o->set->samples, 0);
}

/* Gives all ranks what rank 0 has read, and leaves it in o->questions. Collective. */
static int share_all(const struct mf_comm *comm, struct opening *o)
{
    struct mf_questions_form *form = MF_MUST(calloc(1, sizeof *form), "questions");
    int rc;

    if (comm->rank == 0) *form = o->questions->form;
    mf_comm_bcast(comm, 0, form, sizeof *form);
    rc = mf_agree(comm, comm->rank != 0 ? make(form, o->set->samples, &o->questions) : MF_OK);
    free(form);
    MF_TRY(rc);
    (void)each_array(o->questions, o->set->samples, share, (void *)(uintptr_t)comm);
    return mf_agree(comm, make_hash(o->questions, o->set->samples));
}

int mf_questions_open(const struct mf_comm *comm, const struct mf_dataset *set, struct mf_questions **questions)
{
    MF_PHASE(&mf_phase_read);
    struct opening o = {.set = set};
    int rc = mf_agree(comm, comm->rank == 0 ? read_all(&o) : MF_OK);

    if (rc == MF_OK) rc = share_all(comm, &o);
    if (rc == MF_OK)
        *questions = o.questions;
    else
        mf_questions_close(o.questions);
    return rc;
}
