/* See added.h. */
#include "src/text/added.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/text/unicode.h"

/* Texts of one stage: a vocabulary whose numbers are rows of mf_added.row. */
struct looked {
    struct mf_vocab text;
    char begins[256]; /* does one begin with this byte? */
    size_t *length;   /* different lengths, the longest first */
    size_t lengths;
};

struct mf_added {
    struct mf_vocab vocab; /* by their own numbers */
    struct row {
        uint32_t number;
        int special, single_word, left, right, normalised;
    } * row;
    size_t count;
    uint32_t *row_of; /* [numbers of vocab] */
    struct looked looked[MF_ADDED_STAGES];
};

static int read_row(const struct mf_part *part, const struct mf_vocab *model, struct mf_added *a)
{
    static const char *const keys[] = {"id",     "content",    "single_word", "lstrip",
                                       "rstrip", "normalized", "special",     NULL};
    struct row *r = &a->row[a->count];
    const char *content;
    size_t number = SIZE_MAX;
    int32_t known;

    MF_TRY(mf_part_keys(part, keys));
    MF_TRY(mf_part_needs_text(part, "content", &content));
    MF_TRY(mf_part_number(part, "id", MF_TOKEN_MOST, &number));
    if (number == SIZE_MAX) return mf_part_fail(part, "'id' of '%.60s' is missing", content);
    MF_TRY(mf_part_flag(part, "special", &r->special));
    r->normalised = !r->special;
    MF_TRY(mf_part_flag(part, "normalized", &r->normalised));
    MF_TRY(mf_part_flag(part, "single_word", &r->single_word));
    MF_TRY(mf_part_flag(part, "lstrip", &r->left));
    MF_TRY(mf_part_flag(part, "rstrip", &r->right));
    known = mf_vocab_find(model, content, strlen(content));
    if (known >= 0 && (size_t)known != number)
        return mf_part_fail(part, "'%.60s' has number %zu, and %d in the vocabulary", content, number, known);
    r->number = (uint32_t)number;
    MF_TRY(mf_vocab_add(&a->vocab, content, strlen(content), number));
    ++a->count;
    return MF_OK;
}

static int is_longer(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x < y) - (x > y);
}

static void note_length(struct looked *l, size_t n)
{
    for (size_t i = 0; i < l->lengths; ++i)
        if (l->length[i] == n) return;
    l->length = MF_MUST(realloc(l->length, (l->lengths + 1) * sizeof *l->length), "tokens");
    l->length[l->lengths++] = n;
    qsort(l->length, l->lengths, sizeof *l->length, is_longer);
}

/* Where a row is looked for. The first one counts if two have the same text after the change. */
static int look_for(struct mf_added *a, size_t i, const struct mf_text_steps *normaliser)
{
    struct looked *l = &a->looked[a->row[i].normalised ? MF_ADDED_NORMALISED : MF_ADDED_AS_WRITTEN];
    struct mf_pieces text = {0}, spare = {0};
    size_t n;
    const char *content = mf_vocab_text(&a->vocab, a->row[i].number, &n);
    int rc = MF_OK;

    mf_pieces_put(&text, content, n);
    if (a->row[i].normalised) rc = mf_text_steps_run(normaliser, &text, &spare);
    if (rc == MF_OK && text.text.count > 0 && mf_vocab_find(&l->text, text.text.at, text.text.count) < 0) {
        rc = mf_vocab_add(&l->text, text.text.at, text.text.count, i);
        l->begins[(unsigned char)*text.text.at] = 1;
        note_length(l, text.text.count);
    }
    mf_pieces_free(&text);
    mf_pieces_free(&spare);
    return rc;
}

static int read_all(const struct mf_part *part, const struct mf_vocab *model, const struct mf_text_steps *normaliser,
                    struct mf_added *a)
{
    const size_t count = mf_json_count(part->row);

    if (mf_json_kind(part->row) == MF_JSON_NULL) return MF_OK;
    if (mf_json_kind(part->row) != MF_JSON_ARRAY)
        return mf_part_fail(part, "must be an array, and is %s", mf_json_kind_name(part->row));
    a->row = MF_MUST(calloc(count + 1, sizeof *a->row), "tokens");
    for (size_t i = 0; i < count; ++i) {
        const struct mf_part inner = {part->file, part->place, mf_json_item(part->row, i)};

        MF_TRY(read_row(&inner, model, a));
    }
    a->row_of = MF_MUST(calloc(a->vocab.numbers + 1, sizeof *a->row_of), "tokens");
    for (size_t i = 0; i < count; ++i) {
        a->row_of[a->row[i].number] = (uint32_t)i;
        MF_TRY(look_for(a, i, normaliser));
    }
    return MF_OK;
}

int mf_added_read(const struct mf_part *part, const struct mf_vocab *vocab, const struct mf_text_steps *normaliser,
                  struct mf_added **added)
{
    int rc;

    *added = MF_MUST(calloc(1, sizeof **added), "tokens");
    rc = read_all(part, vocab, normaliser, *added);
    if (rc == MF_OK) return rc;
    mf_added_free(*added);
    *added = NULL;
    return rc;
}

void mf_added_free(struct mf_added *a)
{
    if (!a) return;
    for (int s = 0; s < MF_ADDED_STAGES; ++s) {
        mf_vocab_free(&a->looked[s].text);
        free(a->looked[s].length);
    }
    mf_vocab_free(&a->vocab);
    free(a->row);
    free(a->row_of);
    free(a);
}

const char *mf_added_text(const struct mf_added *a, size_t number, size_t *n, int *is_special)
{
    const char *text = mf_vocab_text(&a->vocab, number, n), *changed;
    size_t row, length;

    if (!text) return NULL;
    row = a->row_of[number];
    *is_special = a->row[row].special;
    changed = a->row[row].normalised ? mf_vocab_text(&a->looked[MF_ADDED_NORMALISED].text, row, &length) : NULL;
    if (!changed) return text;
    *n = length;
    return changed;
}

size_t mf_added_numbers(const struct mf_added *a) { return a->vocab.numbers; }

/* The row of the longest token that begins here; NULL: none. */
static const struct row *begins_here(const struct mf_added *a, const struct looked *l, const char *at, size_t left,
                                     size_t *length)
{
    for (size_t i = 0; i < l->lengths; ++i) {
        const int32_t row = l->length[i] <= left ? mf_vocab_find(&l->text, at, l->length[i]) : MF_TOKEN_NONE;

        *length = l->length[i];
        if (row >= 0) return &a->row[row];
    }
    return NULL;
}

/* Is it a word by itself, where it must be one? */
static int may_stand(const struct row *r, const char *text, size_t n, size_t at, size_t end)
{
    size_t size;

    if (!r->single_word) return 1;
    if (at > 0 && mf_point_is_word(mf_point_before(text, text + at))) return 0;
    return end == n || !mf_point_is_word(mf_point(text + end, &size));
}

/* Takes the white space beside it, if the token wants it. */
static struct mf_span widen(const struct row *r, const char *text, size_t n, size_t from, size_t at, size_t end)
{
    char utf8[4];
    size_t size;

    while (r->left && at > from) {
        const uint32_t before = mf_point_before(text + from, text + at);

        if (!mf_point_is_space(before)) break;
        at -= mf_point_write(before, utf8);
    }
    while (r->right && end < n && mf_point_is_space(mf_point(text + end, &size))) end += size;
    return (struct mf_span){at, end - at};
}

/* Is any of these bytes one of a literal text? A conversation may have very many. */
static int is_literal(const struct mf_literal *l, size_t at, size_t length)
{
    size_t first = 0, end = l->spans;

    if (l->all) return 1;
    if (l->at == SIZE_MAX) return 0;
    at += l->at;
    while (first < end) { /* the first span that ends behind `at` */
        const size_t middle = first + (end - first) / 2;

        if (l->span[middle].first + l->span[middle].count <= at)
            first = middle + 1;
        else
            end = middle;
    }
    return first < l->spans && l->span[first].first < at + length;
}

int mf_added_next(const struct mf_added *a, enum mf_added_stage stage, const struct mf_literal *literal,
                  const char *text, size_t n, size_t from, struct mf_span *span, uint32_t *number)
{
    const struct looked *l = &a->looked[stage];
    size_t at = from, length;

    if (l->lengths == 0) return 0;
    while (at < n) {
        const struct row *r;

        if (!l->begins[(unsigned char)text[at]] || !(r = begins_here(a, l, text + at, n - at, &length))) {
            ++at;
            continue;
        }
        if (!(r->special && is_literal(literal, at, length)) && may_stand(r, text, n, at, at + length)) {
            *span = widen(r, text, n, from, at, at + length);
            *number = r->number;
            return 1;
        }
        at += length; /* as if it had been found: what it covers is not looked at again */
    }
    return 0;
}
