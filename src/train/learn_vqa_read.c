/* See learn_vqa.h: the questions of a set in numbers of the network. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/order.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/train/learn_vqa_priv.h"

int mf_asked_words(struct mf_asked *own, const char *path)
{
    if (own->vocabulary && *own->vocabulary) return mf_tokenizer_of_words(path, own->vocabulary, &own->tokenizer);
    return mf_fail(MF_INPUT, "'%s' has no vocabulary, so its questions cannot be cut into tokens", path);
}

const char *mf_vqa_question(const struct mf_dataset *set, size_t row, char text[MF_QUESTION_TEXT + 1])
{
    const size_t bytes = set->questions->form.text;

    memcpy(text, set->questions->text + row * bytes, bytes);
    text[bytes] = '\0';
    return text;
}

/* ---- names ---- */

static size_t find(const char *name, size_t n, const mf_name *names)
{
    size_t i = 0;

    while (i < n && strcmp(names[i], name) != 0) ++i;
    return i;
}

/* Numbers of the network for those of the set. */
struct meaning {
    size_t type[MF_QUESTION_TYPES], head[MF_QUESTION_HEADS];
    int32_t answer[MF_QUESTION_ANSWERS];
};

static struct meaning *find_meaning(const struct mf_questions_form *own, const struct mf_questions_form *of)
{
    struct meaning *m = MF_MUST(calloc(1, sizeof *m), "questions");

    for (size_t h = 0; h < of->heads; ++h) {
        const size_t k = find(of->head[h], own->heads, own->head), at = mf_questions_answer_at(of, h);

        m->head[h] = k;
        for (size_t a = 0; a < (size_t)of->answers[h]; ++a) {
            const size_t n = k < own->heads ? (size_t)own->answers[k] : 0;
            const size_t found = n ? find(of->answer[at + a], n, own->answer + mf_questions_answer_at(own, k)) : 0;

            m->answer[at + a] = found < n ? (int32_t)found : MF_ANSWER_NONE;
        }
    }
    for (size_t t = 0; t < of->types; ++t) {
        const size_t k = find(of->type[t], own->types, own->type);

        m->type[t] = k < own->types && (size_t)own->head_of[k] == m->head[of->head_of[t]] ? k : own->types;
    }
    return m;
}

/* How many questions count, of all that have an answer. */
static size_t take_answers(struct mf_asked *own, const struct mf_questions *q, const struct meaning *m)
{
    const struct mf_questions_form *f = &q->form;
    size_t known = 0;

    for (size_t i = 0; i < f->rows; ++i) {
        const size_t type = m->type[q->type[i]], head = (size_t)f->head_of[q->type[i]];
        const int32_t label = q->label[i * f->heads + head];

        own->type[i] = (uint8_t)type;
        own->answer[i] = type < own->form.types && label >= 0 && mf_row_counts(q, i)
                             ? m->answer[mf_questions_answer_at(f, head) + (size_t)label]
                             : MF_ANSWER_NONE;
        known += own->answer[i] >= 0;
    }
    return known;
}

/* A type, or some answers, that the network does not know. */
static void say_unknown(const struct mf_asked *own, const struct mf_dataset *set)
{
    const struct mf_questions *q = set->questions;

    for (size_t t = 0; t < q->form.types; ++t) {
        size_t asked = 0, unknown = 0;

        for (size_t i = 0; i < q->form.rows; ++i) {
            if (q->type[i] != t || !mf_row_counts(q, i)) continue;
            ++asked;
            unknown += own->answer[i] < 0;
        }
        if (unknown)
            mf_warn("the model knows %s of the %zu question%s of type '%s' of '%s', so %zu do not count",
                    unknown == asked ? "none" : "not all answers", asked, MF_S(asked), q->form.type[t], set->path,
                    unknown);
    }
}

static int take_meaning(struct mf_asked *own, const struct mf_dataset *set)
{
    const struct mf_questions *q = set->questions;
    struct meaning *m = find_meaning(&own->form, &q->form);
    const size_t known = take_answers(own, q, m);

    free(m);
    for (size_t f = 0; f < own->form.findings; ++f) {
        const size_t at = find(own->form.finding[f], q->form.findings, q->form.finding);

        own->finding_of[f] = at < q->form.findings ? at : SIZE_MAX;
    }
    if (known == 0)
        return mf_fail(MF_INPUT,
                       "the model answers none of the types of questions of '%s' ('%s', ..); it answers '%s', ..",
                       set->path, q->form.type[0], own->form.type[0]);
    say_unknown(own, set);
    return MF_OK;
}

/* ---- texts ---- */

/* Tokens of all questions, one behind the other; end [questions]. */
static int cut_texts(struct mf_asked *own, const struct mf_dataset *set, struct mf_tokens *all, size_t *end)
{
    const struct mf_questions *q = set->questions;

    for (size_t i = 0; i < q->form.rows; ++i) {
        const char *text = q->text + i * q->form.text;

        MF_TRY(mf_tokenizer_encode(own->tokenizer, text, strnlen(text, q->form.text), MF_ENCODE_LITERAL, all));
        end[i] = all->count;
    }
    return MF_OK;
}

/* A text that is too long loses what stands before its last token, which ends every text. */
static void put_tokens(struct mf_asked *own, size_t item, const uint32_t *token, size_t n)
{
    const size_t count = n < own->most ? n : own->most;
    int32_t *to = own->token + item * own->length;

    for (size_t i = 0; i < own->length; ++i) to[i] = i < count ? (int32_t)token[i] : -1;
    if (count < n) to[count - 1] = (int32_t)token[n - 1];
    own->count[item] = (uint16_t)count;
}

static int take_tokens(struct mf_asked *own, const struct mf_dataset *set, const struct mf_tokens *all,
                       const size_t *end)
{
    enum { STEP = 8 };
    const size_t rows = set->questions->form.rows;
    size_t longest = 1;

    for (size_t i = 0; i < rows; ++i) {
        const size_t n = end[i] - (i ? end[i - 1] : 0);

        longest = n > longest ? n : longest;
    }
    own->length = ((longest < own->most ? longest : own->most) + STEP - 1) / STEP * STEP;
    MF_TRY(MF_ROOM(own->token, rows * own->length + 1, "the tokens of %zu questions", rows));
    for (size_t i = 0; i < rows; ++i) {
        const size_t first = i ? end[i - 1] : 0;

        put_tokens(own, i, all->at + first, end[i] - first);
    }
    if (longest > own->most)
        mf_warn("'%s': questions of more than %zu tokens are cut (the longest has %zu; --max-tokens of train vqa)",
                set->path, own->most, longest);
    return MF_OK;
}

void mf_asked_forget(struct mf_asked *own)
{
    free(own->token);
    free(own->count);
    free(own->answer);
    free(own->type);
    free(own->other);
    own->token = NULL;
    own->count = NULL;
    own->answer = NULL;
    own->type = NULL;
    own->other = NULL;
    own->set = NULL;
}

/* Questions that count in the split of the items @p id [n], into @p row. */
static size_t rows_of(const struct mf_dataset *set, size_t n, const uint32_t *id, uint32_t *row)
{
    size_t count = 0;

    for (size_t i = 0; i < n; ++i) {
        const struct mf_span rows = mf_item_rows(set->questions, id[i]);

        for (size_t r = rows.first; r < rows.first + rows.count; ++r) row[count++] = (uint32_t)r;
    }
    return count;
}

int mf_asked_shuffle(struct mf_asked *own)
{
    const struct mf_dataset *set = own->set;
    const size_t all = set->questions->form.rows;
    uint32_t *row;

    MF_TRY(own->other ? MF_OK : MF_ROOM(own->other, all + 1, "%zu questions", all));
    MF_TRY(MF_ROOM(row, all + 1, "%zu questions", all));
    for (size_t r = 0; r < all; ++r) own->other[r] = (uint32_t)r;
    for (int split = 0; split < MF_SPLITS; ++split) {
        const size_t n = rows_of(set, set->count[split], set->id[split], row);

        for (size_t k = 0; k < n; ++k) own->other[row[k]] = row[mf_order(1, (uint64_t)split, n, k)];
    }
    free(row);
    return MF_OK;
}

/* Tokens of a question without the special ones, which every text has: @p to [length]. */
static size_t words_of(const struct mf_asked *own, size_t row, int32_t *to)
{
    const int32_t *token = own->token + row * own->length;
    size_t n = 0;

    for (size_t i = 0; i < own->count[row]; ++i)
        if (!mf_tokenizer_is_special(own->tokenizer, (size_t)token[i])) to[n++] = token[i];
    return n;
}

int mf_asked_count(struct mf_asked *own, const struct mf_dataset *set)
{
    int32_t *word;

    mf_vqa_words_close(&own->words);
    MF_TRY(mf_vqa_words_new(own->form.types, mf_tokenizer_numbers(own->tokenizer), &own->words));
    MF_TRY(MF_ROOM(word, own->length + 1, "the tokens of a question"));
    for (size_t k = 0; k < set->count[MF_TRAIN]; ++k) {
        const struct mf_span rows = mf_item_rows(set->questions, set->id[MF_TRAIN][k]);

        for (size_t row = rows.first; row < rows.first + rows.count; ++row)
            if (own->answer[row] >= 0) mf_vqa_words_learn(&own->words, own->type[row], words_of(own, row, word), word);
    }
    free(word);
    return MF_OK;
}

struct mf_vqa_guess mf_vqa_guess_type(const struct mf_task *task, size_t row)
{
    const struct mf_asked *own = mf_asked_of(task);
    int32_t *word = MF_MUST(malloc((own->length + 1) * sizeof *word), "words");
    const struct mf_vqa_guess guess = mf_vqa_words_guess(&own->words, words_of(own, row, word), word);

    free(word);
    return guess;
}

static const char between[] = " \t\r\n!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"; /* what stands between words */

static int is_learnt(const struct mf_asked *own, const char *word, size_t n)
{
    struct mf_tokens token = {0};
    int known = 1;

    MF_ASSERT(mf_tokenizer_encode(own->tokenizer, word, n, MF_ENCODE_BARE | MF_ENCODE_LITERAL, &token) == MF_OK);
    for (size_t k = 0; k < token.count; ++k) known = known && mf_vqa_words_know(&own->words, token.at[k]);
    mf_tokens_free(&token);
    return known;
}

/* Is the word also before @p word in its text? */
static int is_again(const char *text, const char *word, size_t n)
{
    for (const char *at = text + strspn(text, between); at < word; at += strspn(at, between)) {
        const size_t length = strcspn(at, between);

        if (length == n && memcmp(at, word, n) == 0) return 1;
        at += length;
    }
    return 0;
}

struct mf_json *mf_vqa_unknown_words(const struct mf_task *task, const char *text)
{
    struct mf_json *all = mf_json_array();

    for (const char *at = text + strspn(text, between); *at; at += strspn(at, between)) {
        const size_t n = strcspn(at, between);

        if (!is_again(text, at, n) && !is_learnt(mf_asked_of(task), at, n)) mf_json_bytes(all, NULL, at, n);
        at += n;
    }
    return all;
}

struct mf_json *mf_vqa_learnt_words(const struct mf_task *task, size_t type)
{
    const struct mf_asked *own = mf_asked_of(task);
    struct mf_json *all = mf_json_array();

    for (size_t k = 0; k < own->words.tokens; ++k) {
        size_t n;
        const char *piece = mf_tokenizer_piece(own->tokenizer, k, &n);

        if (own->words.count[k * own->words.types + type] && piece && strspn(piece, between) == 0)
            mf_json_text(all, NULL, piece);
    }
    return all;
}

int mf_asked_read(struct mf_asked *own, const struct mf_dataset *set)
{
    const size_t rows = set->questions->form.rows;
    struct mf_tokens all = {0};
    size_t *end;
    int rc;

    mf_asked_forget(own);
    MF_TRY(MF_ROOM(own->count, rows + 1, "%zu questions", rows));
    MF_TRY(MF_ROOM(own->answer, rows + 1, "%zu questions", rows));
    MF_TRY(MF_ROOM(own->type, rows + 1, "%zu questions", rows));
    MF_TRY(MF_ROOM(end, rows + 1, "%zu questions", rows));
    own->set = set;
    own->together = set->questions->together ? set->questions->together : 1;
    rc = take_meaning(own, set);
    if (rc == MF_OK) rc = cut_texts(own, set, &all, end);
    if (rc == MF_OK) rc = take_tokens(own, set, &all, end);
    mf_tokens_free(&all);
    free(end);
    return rc;
}
