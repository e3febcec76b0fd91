/* Normalisers: they change a text before it is cut. Each piece of the result is the changed piece. */
#include <string.h>

#include "src/base/err.h"
#include "src/text/steps.h"
#include "src/text/unicode.h"

#define KEYS(...) ((const char *const[]){"type", __VA_ARGS__, NULL})
#define NO_KEYS   ((const char *const[]){"type", NULL})

/* Writes what a step makes of one piece. */
typedef int change(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to);

/* Is there still something of the first character? */
static int keeps_begin(const struct mf_text_step *step, const char *text, size_t n, change *make)
{
    struct mf_bytes first = {0};
    size_t bytes;
    int keeps;

    if (n == 0) return 1;
    (void)mf_point(text, &bytes);
    keeps = make(step, text, bytes, &first) != MF_OK || first.count > 0;
    mf_bytes_free(&first);
    return keeps;
}

static int each(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to, change *make)
{
    for (size_t i = 0; i < from->count; ++i) {
        const size_t at = to->text.count;

        if (i == 0 && from->begins)
            to->begins = keeps_begin(step, from->text.at + from->span[i].first, from->span[i].count, make);
        MF_TRY(make(step, from->text.at + from->span[i].first, from->span[i].count, &to->text));
        mf_pieces_end(to, at);
    }
    return MF_OK;
}

static int read_content(const struct mf_part *part, const char *key, struct mf_text_step *step)
{
    const char *content;

    MF_TRY(mf_part_needs_text(part, key, &content));
    mf_bytes_put(&step->text, content, strlen(content));
    return MF_OK;
}

/* ---- Prepend: a text in front, unless there is nothing ---- */

static int read_prepend(const struct mf_part *part, struct mf_text_step *step)
{
    return read_content(part, "prepend", step);
}

static int make_prepended(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    if (n) mf_bytes_put(to, step->text.at, step->text.count);
    mf_bytes_put(to, text, n);
    return MF_OK;
}

static int prepend(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return each(step, from, to, make_prepended);
}

/* ---- Replace ---- */

static int read_replace(const struct mf_part *part, struct mf_text_step *step)
{
    MF_TRY(mf_part_pattern(part, &step->pattern));
    return read_content(part, "content", step);
}

static int make_replaced(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    size_t last = 0, begin, end;
    int found;

    while ((found = mf_pattern_next(step->pattern, text, n, last, &begin, &end)) > 0) {
        mf_bytes_put(to, text + last, begin - last);
        mf_bytes_put(to, step->text.at, step->text.count);
        last = end;
    }
    mf_bytes_put(to, text + last, n - last);
    return found < 0 ? MF_INPUT : MF_OK;
}

static int replace(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return each(step, from, to, make_replaced);
}

/* ---- forms of Unicode ---- */

static int read_form(const struct mf_part *part, struct mf_text_step *step)
{
    const char *type = mf_json_get_text(part->row, "type");

    step->number[0] = (size_t)(type[2] == 'K' ? MF_NFKC : MF_NFC) + (type[strlen(type) - 1] == 'D');
    return MF_OK;
}

static int make_form(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    return mf_utf8_form((enum mf_form)step->number[0], text, n, to);
}

static int form(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return each(step, from, to, make_form);
}

/* ---- by code points ---- */

static int make_lower(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    (void)step;
    for (size_t i = 0, bytes; i < n; i += bytes) mf_point_lower(mf_point(text + i, &bytes), to);
    return MF_OK;
}

static int lower(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return each(step, from, to, make_lower);
}

static int make_plain(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    (void)step;
    for (size_t i = 0, bytes; i < n; i += bytes)
        if (!mf_point_is_mark(mf_point(text + i, &bytes))) mf_bytes_put(to, text + i, bytes);
    return MF_OK;
}

static int strip_accents(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return each(step, from, to, make_plain);
}

/* ---- Strip: white space at the ends ---- */

static int read_strip(const struct mf_part *part, struct mf_text_step *step)
{
    step->flag[0] = step->flag[1] = 1;
    MF_TRY(mf_part_flag(part, "strip_left", &step->flag[0]));
    return mf_part_flag(part, "strip_right", &step->flag[1]);
}

static int make_stripped(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    const char *begin = text, *end = text + n;
    char utf8[4];
    size_t bytes;

    while (step->flag[0] && begin < end && mf_point_is_space(mf_point(begin, &bytes))) begin += bytes;
    while (step->flag[1] && begin < end) {
        const uint32_t last = mf_point_before(begin, end);

        if (!mf_point_is_space(last)) break;
        end -= mf_point_write(last, utf8);
    }
    mf_bytes_put(to, begin, (size_t)(end - begin));
    return MF_OK;
}

static int strip(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return each(step, from, to, make_stripped);
}

/* ---- BertNormalizer ---- */

enum { CLEAN, CHINESE, ACCENTS, LOWER };

static int read_bert(const struct mf_part *part, struct mf_text_step *step)
{
    step->flag[CLEAN] = step->flag[CHINESE] = step->flag[LOWER] = 1;
    MF_TRY(mf_part_flag(part, "clean_text", &step->flag[CLEAN]));
    MF_TRY(mf_part_flag(part, "handle_chinese_chars", &step->flag[CHINESE]));
    MF_TRY(mf_part_flag(part, "lowercase", &step->flag[LOWER]));
    step->flag[ACCENTS] = step->flag[LOWER];
    return mf_part_flag(part, "strip_accents", &step->flag[ACCENTS]);
}

/* The blocks of Chinese characters as BERT's first program has them: one begins at 2B920, where 2B820 was meant. */
static int is_chinese(uint32_t p)
{
    return (p >= 0x4E00 && p <= 0x9FFF) || (p >= 0x3400 && p <= 0x4DBF) || (p >= 0x20000 && p <= 0x2A6DF) ||
           (p >= 0x2A700 && p <= 0x2B73F) || (p >= 0x2B740 && p <= 0x2B81F) || (p >= 0x2B920 && p <= 0x2CEAF) ||
           (p >= 0xF900 && p <= 0xFAFF) || (p >= 0x2F800 && p <= 0x2FA1F);
}

static int vanishes(uint32_t p)
{
    if (p == '\t' || p == '\n' || p == '\r') return 0;
    return p == 0 || p == MF_POINT_LOST || mf_point_is_other(p);
}

/* Cleans, and puts blanks around Chinese characters. */
static void put_clean(const struct mf_text_step *step, const char *at, size_t bytes, uint32_t p, struct mf_bytes *to)
{
    if (step->flag[CLEAN] && vanishes(p)) return;
    if (step->flag[CLEAN] && mf_point_is_space(p))
        mf_bytes_put(to, " ", 1);
    else if (step->flag[CHINESE] && is_chinese(p)) {
        mf_bytes_put(to, " ", 1);
        mf_bytes_put(to, at, bytes);
        mf_bytes_put(to, " ", 1);
    } else
        mf_bytes_put(to, at, bytes);
}

static int is_ascii(const char *text, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        if ((unsigned char)text[i] >= 0x80) return 0;
    return 1;
}

/* The same of ASCII, of which most texts are. */
static void make_bert_ascii(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    for (size_t i = 0; i < n; ++i) {
        char c = text[i];
        const int space = c == ' ' || (c >= '\t' && c <= '\r');

        if (step->flag[CLEAN] && (c == 0x7F || (c < ' ' && c != '\t' && c != '\n' && c != '\r'))) continue;
        if (step->flag[CLEAN] && space) c = ' ';
        if (step->flag[LOWER] && c >= 'A' && c <= 'Z') c = (char)(c + ('a' - 'A'));
        mf_bytes_put(to, &c, 1);
    }
}

static int make_bert(const struct mf_text_step *step, const char *text, size_t n, struct mf_bytes *to)
{
    struct mf_bytes clean = {0}, apart = {0};
    const struct mf_bytes *from = &clean;
    int rc = MF_OK;

    if (is_ascii(text, n)) return make_bert_ascii(step, text, n, to), MF_OK;
    for (size_t i = 0, bytes; i < n; i += bytes) {
        const uint32_t p = mf_point(text + i, &bytes);

        put_clean(step, text + i, bytes, p, &clean);
    }
    if (step->flag[ACCENTS]) {
        rc = mf_utf8_form(MF_NFD, clean.at, clean.count, &apart);
        from = &apart;
    }
    for (size_t i = 0, bytes; rc == MF_OK && i < from->count; i += bytes) {
        const uint32_t p = mf_point(from->at + i, &bytes);

        if (step->flag[ACCENTS] && mf_point_is_accent(p)) continue;
        if (step->flag[LOWER])
            mf_point_lower(p, to);
        else
            mf_bytes_put(to, from->at + i, bytes);
    }
    mf_bytes_free(&clean);
    mf_bytes_free(&apart);
    return rc;
}

static int bert(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return each(step, from, to, make_bert);
}

const struct mf_text_step_kind mf_normalisers[] = {
    {"BertNormalizer", KEYS("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), read_bert, bert},
    {"Lowercase", NO_KEYS, NULL, lower},
    {"NFC", NO_KEYS, read_form, form},
    {"NFD", NO_KEYS, read_form, form},
    {"NFKC", NO_KEYS, read_form, form},
    {"NFKD", NO_KEYS, read_form, form},
    {"Prepend", KEYS("prepend"), read_prepend, prepend},
    {"Replace", KEYS("pattern", "content"), read_replace, replace},
    {"Strip", KEYS("strip_left", "strip_right"), read_strip, strip},
    {"StripAccents", NO_KEYS, NULL, strip_accents},
    {NULL, NULL, NULL, NULL},
};
