/* Files and samples of an import. See import.h. */
#include "src/base/room.h"
#include "src/vqa/import_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/names.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/text/tokenizer.h"
#include "src/vqa/vocabulary.h"
#include "src/vqa/vqa.h"

int mf_placing_fail(const struct mf_question_rows *rows, size_t line, const char *format, ...)
{
    char why[MF_ERR_TEXT / 2];
    va_list list;

    va_start(list, format);
    vsnprintf(why, sizeof why, format, list);
    va_end(list);
    return mf_fail(MF_INPUT, "%s %zu of '%.200s' %s", rows->unit, line, rows->path, why);
}

/* ---- texts with numbers ---- */

int mf_numbered_put(struct mf_numbered *t, const char *text, size_t number, size_t *found)
{
    const size_t n = strlen(text), at = t->vocab.numbers;
    const int32_t there = mf_vocab_find(&t->vocab, text, n);

    if (there < 0) {
        if (at > MF_TOKEN_MOST) return mf_fail(MF_INPUT, "more than %d different texts are too many", MF_TOKEN_MOST);
        MF_TRY(MF_ROOM_NEXT(t->number, at, "%zu different texts", at));
        MF_TRY(mf_vocab_add(&t->vocab, text, n, at));
        t->number[at] = number;
    }
    *found = t->number[there < 0 ? at : (size_t)there];
    return MF_OK;
}

size_t *mf_numbered_find(const struct mf_numbered *t, const char *text)
{
    const int32_t there = mf_vocab_find(&t->vocab, text, strlen(text));

    return there < 0 ? NULL : &t->number[there];
}

void mf_numbered_free(struct mf_numbered *t)
{
    mf_vocab_free(&t->vocab);
    free(t->number);
    *t = (struct mf_numbered){0};
}

/* ---- files ---- */

static int load_vocabulary(const char *path, char **text)
{
    struct mf_tokenizer *tokenizer;
    size_t bytes;
    int rc = MF_OK;

    MF_TRY(mf_text_load(path, MF_QUESTION_VOCABULARY, text, &bytes));
    if (bytes > MF_QUESTION_VOCABULARY)
        rc = mf_fail(MF_INPUT, "'%s' is longer than %d bytes, too long for a vocabulary", path, MF_QUESTION_VOCABULARY);
    else if (bytes == 0 || strlen(*text) != bytes || mf_utf8_wrong(*text))
        rc = mf_fail(MF_INPUT, "'%s' is no vocabulary: a text in UTF-8 with a token in each line", path);
    if (rc == MF_OK) rc = mf_tokenizer_of_words(path, *text, &tokenizer);
    if (rc == MF_OK) mf_tokenizer_close(tokenizer);
    return rc;
}

static int load(const struct mf_vqa_import_wish *w, struct mf_vqa_import *import)
{
    MF_TRY(mf_vqa_types_load(w->types, &import->types));
    if (w->vocabulary) MF_TRY(load_vocabulary(w->vocabulary, &import->vocabulary));
    MF_TRY(mf_question_rows_load(w->questions, &import->asked));
    if (!import->asked->count)
        return mf_fail(MF_INPUT, "'%s' has no questions; if it is about images, give it to --scenes", w->questions);
    if (!w->scenes) return MF_OK;
    MF_TRY(mf_question_rows_load(w->scenes, &import->seen));
    return import->seen->count
               ? mf_fail(MF_INPUT, "'%s' has questions; --scenes is about images, and --questions has them", w->scenes)
               : MF_OK;
}

int mf_vqa_import_open(const struct mf_vqa_import_wish *wish, struct mf_vqa_import **import)
{
    struct mf_vqa_import *m = MF_MUST(calloc(1, sizeof *m), "questions");
    const int rc = load(wish, m);

    if (rc != MF_OK)
        mf_vqa_import_close(m);
    else
        *import = m;
    return rc;
}

void mf_vqa_import_close(struct mf_vqa_import *m)
{
    if (!m) return;
    mf_question_rows_close(m->asked);
    mf_question_rows_close(m->seen);
    mf_vqa_types_free(&m->types);
    mf_questions_close(m->all);
    free(m->vocabulary);
    free(m->first);
    free(m->split);
    free(m->boxed);
    free(m);
}

/* ---- pictures ---- */

/* The name without its ending. */
static void without_ending(const char *name, size_t room, char *to)
{
    const char *dot = strrchr(mf_name_base(name), '.');

    snprintf(to, room, "%.*s", dot ? (int)(dot - name) : (int)strlen(name), name);
}

enum { STEM = 1024 };

static int is_there(const char *folder, const char *name)
{
    char *path = mf_format("%s/%s", folder, name);
    const int is = access(path, R_OK) == 0;

    free(path);
    return is;
}

/* The name of the picture that is there; NULL: none is. JPEG is often converted, and then has another ending. */
static char *picture_of(const char *folder, const char *image)
{
    static const char *const ending[] = {".png", ".tif", ".tiff"};
    char stem[STEM];
    const char *const begin[] = {image, stem};

    without_ending(image, sizeof stem, stem);
    if (mf_name_is_picture(image) && is_there(folder, image)) return mf_format("%s", image);
    for (size_t k = 0; k < 6; ++k) {
        char *name = mf_format("%s%s", begin[k / 3], ending[k % 3]);

        if (is_there(folder, name)) return name;
        free(name);
    }
    return is_there(folder, image) ? mf_format("%s", image) : NULL;
}

struct listing {
    const struct mf_question_rows *rows;
    const char *folder;
    struct mf_numbered seen, names; /* as they are asked about; as they are called */
    size_t count, missing, line;
    char **file;
    const char *first; /* of the missing ones */
};

static int list(struct listing *l, const char *image, size_t line)
{
    size_t at, before = l->seen.vocab.count;
    char *name;
    int rc;

    MF_TRY(mf_numbered_put(&l->seen, image, 0, &at));
    if (l->seen.vocab.count == before) return MF_OK;
    name = picture_of(l->folder, image);
    if (!name && !l->missing++) l->first = image, l->line = line;
    if (!name) return MF_OK;
    before = l->names.vocab.count;
    rc = mf_numbered_put(&l->names, name, 0, &at);
    if (rc != MF_OK || l->names.vocab.count == before) {
        free(name);
        return rc;
    }
    if (MF_ROOM_NEXT(l->file, l->count, "the names of %zu pictures", l->count) != MF_OK) {
        free(name);
        return MF_MEMORY;
    }
    l->file[l->count++] = name;
    return MF_OK;
}

int mf_vqa_import_files(const struct mf_vqa_import *m, const char *folder, size_t *count, char ***file)
{
    struct listing l = {.rows = m->asked, .folder = folder};
    int rc = MF_OK;

    for (size_t r = 0; rc == MF_OK && r < m->asked->count; ++r)
        rc = list(&l, m->asked->row[r].image, m->asked->row[r].line);
    if (rc == MF_OK && l.missing)
        rc = mf_placing_fail(m->asked, l.line, "is about '%.200s', which is not in '%.200s'; %zu picture%s missing",
                             l.first, folder, l.missing, l.missing == 1 ? " is" : "s are");
    mf_numbered_free(&l.seen);
    mf_numbered_free(&l.names);
    *count = l.count;
    *file = l.file;
    return rc;
}

/* ---- samples ---- */

/* Two pictures that others may call so have no such name. */
static int add_stem(struct mf_placing *p, const char *stem, size_t sample)
{
    size_t found;

    MF_TRY(mf_numbered_put(&p->stem, stem, sample, &found));
    if (found != sample) *mf_numbered_find(&p->stem, stem) = SIZE_MAX;
    return MF_OK;
}

/* A picture may be called without its ending, and then without its folder. */
static int name_samples(struct mf_placing *p)
{
    for (size_t i = 0; p->samples->file && i < p->samples->count; ++i) {
        char stem[STEM];
        size_t first;

        MF_TRY(mf_numbered_put(&p->name, p->samples->file[i], i, &first));
        without_ending(p->samples->file[i], sizeof stem, stem);
        MF_TRY(add_stem(p, stem, first));
        MF_TRY(add_stem(p, mf_name_base(stem), first));
    }
    return MF_OK;
}

static size_t by_name(const struct mf_placing *p, const char *image)
{
    char stem[STEM];
    const size_t *at = mf_numbered_find(&p->name, image);

    if (!at) at = mf_numbered_find(&p->stem, image);
    without_ending(image, sizeof stem, stem);
    if (!at) at = mf_numbered_find(&p->stem, stem);
    return at ? *at : SIZE_MAX;
}

size_t mf_placing_sample(const struct mf_placing *p, const char *image)
{
    unsigned long long number;
    char *end;

    if (p->samples->file) return by_name(p, image);
    number = strtoull(image, &end, 10);
    return *image >= '0' && *image <= '9' && !*end && number < p->samples->count ? (size_t)number : SIZE_MAX;
}

static int find_samples(struct mf_placing *p)
{
    const struct mf_question_rows *asked = p->import->asked;

    MF_TRY(name_samples(p));
    for (size_t r = 0; r < asked->count; ++r) {
        const struct mf_question_row *row = &asked->row[r];

        p->sample[r] = mf_placing_sample(p, row->image);
        if (p->sample[r] < p->samples->count) continue;
        if (p->samples->file)
            return mf_placing_fail(asked, row->line, "is about '%.200s', which '%.200s' does not name", row->image,
                                   p->samples->from);
        return mf_placing_fail(asked, row->line, "is about '%.80s'; samples of '%.200s' are called 0 to %zu",
                               row->image, p->samples->from, p->samples->count - 1);
    }
    return MF_OK;
}

/* Rows of each sample, and their order. */
static void order_rows(struct mf_placing *p)
{
    const size_t samples = p->samples->count, rows = p->import->asked->count;
    uint64_t *first = p->import->first;

    for (size_t r = 0; r < rows; ++r) ++first[p->sample[r] + 1];
    for (size_t i = 0; i < samples; ++i) first[i + 1] += first[i];
    for (size_t r = 0; r < rows; ++r) p->row[first[p->sample[r]]++] = r;
    for (size_t i = samples; i > 0; --i) first[i] = first[i - 1];
    first[0] = 0;
}

/* ---- splits ---- */

enum { UNSAID = MF_SPLITS, UNKNOWN };

static int split_of(const char *word)
{
    static const char *const validation[] = {"val", "valid", "validate", "dev"};

    if (!*word) return UNSAID;
    for (int k = 0; k < MF_SPLITS; ++k)
        if (strcmp(word, mf_split_names[k]) == 0) return k;
    for (size_t k = 0; k < sizeof validation / sizeof *validation; ++k)
        if (strcmp(word, validation[k]) == 0) return MF_VALIDATION;
    return strcmp(word, "none") == 0 ? MF_SPLIT_NONE : UNKNOWN;
}

static const char *name_of(int split) { return split < MF_SPLITS ? mf_split_names[split] : "none"; }

/* The splits that the questions say, into split. Sets *said where one does. */
static int read_splits(struct mf_placing *p, uint8_t *split, int *said)
{
    const struct mf_question_rows *asked = p->import->asked;
    uint8_t *known;
    int rc = MF_OK;

    MF_TRY(MF_ROOM(known, p->samples->count + 1, "the splits of %zu samples", p->samples->count));
    for (size_t i = 0; p->samples->split && i < p->samples->count; ++i) known[i] = 1;
    for (size_t r = 0; rc == MF_OK && r < asked->count; ++r) {
        const int is = split_of(asked->row[r].split);
        const size_t i = p->sample[r];

        if (is == UNKNOWN)
            rc = mf_placing_fail(asked, asked->row[r].line,
                                 "has the split '%.60s'; write train, validation, test or none", asked->row[r].split);
        if (is == UNSAID || rc != MF_OK) continue;
        if (known[i] && split[i] != is)
            rc = mf_placing_fail(asked, asked->row[r].line, "puts '%.200s' into the split %s, and it is in %s",
                                 asked->row[r].image, name_of(is), name_of(split[i]));
        split[i] = (uint8_t)is;
        *said = known[i] = 1;
    }
    free(known);
    return rc;
}

static int divide(struct mf_placing *p)
{
    const struct mf_vqa_samples *s = p->samples;
    uint8_t *split = p->import->split;
    int said = 0;

    if (s->split)
        memcpy(split, s->split, s->count);
    else
        memset(split, MF_SPLIT_NONE, s->count);
    MF_TRY(read_splits(p, split, &said));
    if (s->split || said) return MF_OK;
    return mf_split_make(s->count, s->label, s->label ? s->classes : 0, s->part, s->seed, split);
}

/* ---- all of it ---- */

/* Words of the questions that may be learnt from, each text once. */
static int make_vocabulary(struct mf_placing *p)
{
    const struct mf_question_rows *asked = p->import->asked;
    struct mf_vqa_words *words;
    uint8_t *done;
    int rc = MF_OK;

    MF_TRY(MF_ROOM(done, asked->count, "the vocabulary of %zu questions", asked->count));
    words = mf_vqa_words_begin();
    for (size_t r = 0; rc == MF_OK && r < asked->count; ++r) {
        uint8_t held_out = 0;

        if (p->import->split[p->sample[r]] != MF_TRAIN || done[p->text_of[r]]) continue;
        rc = mf_placing_held_out(p, r, &held_out);
        if (rc != MF_OK || held_out) continue;
        done[p->text_of[r]] = 1;
        rc = mf_vqa_words_add(words, asked->row[r].text);
    }
    free(done);
    return mf_vqa_words_end(words, rc, &p->import->vocabulary);
}

/* Numbers the texts, and finds which are in other splits than test. */
static int number_texts(struct mf_placing *p)
{
    const struct mf_question_rows *asked = p->import->asked;

    for (size_t r = 0; r < asked->count; ++r) {
        MF_TRY(mf_numbered_put(&p->text, asked->row[r].text, p->text.vocab.numbers, &p->text_of[r]));
        p->elsewhere[p->text_of[r]] |= p->import->split[p->sample[r]] != MF_TEST;
    }
    return MF_OK;
}

static int make(void *context, const uint8_t *split, struct mf_span own, struct mf_questions *part)
{
    const struct mf_vqa_import *m = context;
    const size_t first = m->first[own.first], rows = m->first[own.first + own.count] - first;
    const struct mf_questions_form *f = &m->all->form;
    const struct mf_questions *all = m->all;

    (void)split;
    memcpy(part->sample, all->sample + first, rows * sizeof *part->sample);
    memcpy(part->type, all->type + first, rows);
    memcpy(part->held_out, all->held_out + first, rows);
    memcpy(part->grade, all->grade + first * f->graded, rows * f->graded);
    memcpy(part->label, all->label + first * f->heads, rows * f->heads * sizeof *part->label);
    memcpy(part->text, all->text + first * f->text, rows * f->text);
    memcpy(part->object, all->object + own.first * f->objects * MF_OBJECT_VALUES,
           own.count * f->objects * MF_OBJECT_VALUES * sizeof *part->object);
    memcpy(part->finding, all->finding + own.first * f->findings, own.count * f->findings);
    return MF_OK;
}

static int place(struct mf_placing *p)
{
    struct mf_vqa_import *m = p->import;

    MF_TRY(find_samples(p));
    order_rows(p);
    MF_TRY(divide(p));
    MF_TRY(number_texts(p));
    if (!m->vocabulary) MF_TRY(make_vocabulary(p));
    p->form->vocabulary = strlen(m->vocabulary);
    MF_TRY(mf_placing_form(p));
    MF_TRY(mf_placing_heads(p));
    MF_TRY(mf_placing_findings(p));
    m->all = mf_questions_new(p->form, p->samples->count);
    if (!m->all) return MF_MEMORY;
    MF_TRY(mf_placing_rows(p));
    MF_TRY(mf_placing_scenes(p));
    m->all->vocabulary = m->vocabulary;
    m->vocabulary = NULL;
    m->wish = (struct mf_questions_wish){&m->all->form, m->all->vocabulary, m->first, make, m};
    return MF_OK;
}

static int take_memory(struct mf_placing *p)
{
    const size_t rows = p->import->asked->count, samples = p->samples->count;
    struct mf_vqa_import *m = p->import;

    MF_TRY(MF_ROOM(m->first, samples + 1, "the questions of %zu samples", samples));
    MF_TRY(MF_ROOM(m->split, samples + 1, "the splits of %zu samples", samples));
    MF_TRY(MF_ROOM(m->boxed, samples + 1, "the objects of %zu samples", samples));
    MF_TRY(MF_ROOM(p->sample, rows, "%zu questions", rows));
    MF_TRY(MF_ROOM(p->text_of, rows, "%zu questions", rows));
    MF_TRY(MF_ROOM(p->elsewhere, rows, "%zu questions", rows));
    return MF_ROOM(p->row, rows, "%zu questions", rows);
}

int mf_vqa_import_place(struct mf_vqa_import *m, const struct mf_vqa_samples *samples)
{
    struct mf_placing p = {.import = m, .samples = samples};
    int rc;

    m->ny = samples->ny, m->nx = samples->nx;
    p.form = MF_MUST(calloc(1, sizeof *p.form), "questions");
    rc = take_memory(&p);
    if (rc == MF_OK) rc = place(&p);
    mf_numbered_free(&p.name);
    mf_numbered_free(&p.stem);
    mf_numbered_free(&p.text);
    free(p.form);
    free(p.sample);
    free(p.text_of);
    free(p.elsewhere);
    free(p.row);
    return rc;
}

int mf_vqa_import_measure(struct mf_vqa_import *m, const struct mf_measure_job *job, size_t id, uint8_t *x)
{
    const size_t values = m->all->form.objects * MF_OBJECT_VALUES, dims[3] = {1, m->ny, m->nx};
    struct mf_micro micro = {.ndim = 2, .phases = 2, .spacing = {1, 1, 1}, .phase = x};
    struct mf_measure_job own = *job;
    struct mf_vqa_facts *facts;
    int rc;

    if (!values || m->boxed[id]) return MF_OK;
    facts = MF_MUST(calloc(1, sizeof *facts), "objects");
    micro.slab = mf_slab_of(job->comm, dims, 0);
    own.micro = &micro;
    rc = mf_vqa_find(&own, -1, facts);
    if (rc == MF_OK) memcpy(m->all->object + id * values, facts->object, values * sizeof(float));
    free(facts);
    return rc;
}
