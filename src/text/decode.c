/* See decode.h. The pieces are the texts of tokens. */
#include "src/text/decode.h"

#include <string.h>

#include "src/base/err.h"
#include "src/text/byte_letters.h"
#include "src/text/unicode.h"

#define KEYS(...) ((const char *const[]){"type", __VA_ARGS__, NULL})
#define NO_KEYS   ((const char *const[]){"type", NULL})

static const char *text_of(const struct mf_pieces *from, size_t i) { return from->text.at + from->span[i].first; }

static int starts_with(const char *text, size_t n, const struct mf_bytes *with)
{
    return n >= with->count && memcmp(text, with->at, with->count) == 0;
}

static int read_texts(const struct mf_part *part, const char *key, const char *standard, struct mf_text_step *step)
{
    MF_TRY(mf_part_text(part, key, &standard));
    mf_bytes_put(&step->text, standard, strlen(standard));
    return MF_OK;
}

/* ---- ByteLevel ---- */

static int byte_level(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    struct mf_bytes bytes = {0};

    (void)step;
    for (size_t i = 0; i < from->count; ++i) mf_letters_bytes(text_of(from, i), from->span[i].count, &bytes);
    (void)mf_utf8_repair(bytes.at, bytes.count, 0, &to->text, NULL);
    mf_pieces_end(to, 0);
    mf_bytes_free(&bytes);
    return MF_OK;
}

/* ---- ByteFallback ---- */

int mf_decode_byte(const char *text, size_t n)
{
    int byte = 0;

    if (n != 6 || memcmp(text, "<0x", 3) != 0 || text[5] != '>') return -1;
    for (int i = 3; i < 5; ++i) {
        const char c = text[i];
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;

        if (digit < 0) return -1;
        byte = 16 * byte + digit;
    }
    return byte;
}

/* A run of bytes ends: it is text, or every byte is lost. */
static void end_run(struct mf_bytes *run, struct mf_pieces *to)
{
    const size_t at = to->text.count;
    size_t lost;

    if (run->count == 0) return;
    (void)mf_utf8_repair(run->at, run->count, 0, &to->text, &lost);
    if (lost) {
        to->text.count = at;
        for (size_t i = 0; i < run->count; ++i) mf_bytes_point(&to->text, MF_POINT_LOST);
    }
    mf_pieces_end(to, at);
    run->count = 0;
}

static int byte_fallback(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    struct mf_bytes run = {0};

    (void)step;
    for (size_t i = 0; i < from->count; ++i) {
        const int byte = mf_decode_byte(text_of(from, i), from->span[i].count);
        const char c = (char)byte;

        if (byte >= 0)
            mf_bytes_put(&run, &c, 1);
        else {
            end_run(&run, to);
            mf_pieces_put(to, text_of(from, i), from->span[i].count);
        }
    }
    end_run(&run, to);
    mf_bytes_free(&run);
    return MF_OK;
}

/* ---- Fuse: one piece ---- */

static int fuse(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    (void)step;
    for (size_t i = 0; i < from->count; ++i) mf_bytes_put(&to->text, text_of(from, i), from->span[i].count);
    mf_pieces_end(to, 0);
    return MF_OK;
}

/* ---- Replace ---- */

static int read_replace(const struct mf_part *part, struct mf_text_step *step)
{
    const char *content;

    MF_TRY(mf_part_pattern(part, &step->pattern));
    MF_TRY(mf_part_needs_text(part, "content", &content));
    mf_bytes_put(&step->text, content, strlen(content));
    return MF_OK;
}

static int replace(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    for (size_t i = 0; i < from->count; ++i) {
        const char *text = text_of(from, i);
        const size_t n = from->span[i].count, at = to->text.count;
        size_t last = 0, begin, end;
        int found;

        while ((found = mf_pattern_next(step->pattern, text, n, last, &begin, &end)) > 0) {
            mf_bytes_put(&to->text, text + last, begin - last);
            mf_bytes_put(&to->text, step->text.at, step->text.count);
            last = end;
        }
        if (found < 0) return MF_INPUT;
        mf_bytes_put(&to->text, text + last, n - last);
        mf_pieces_end(to, at);
    }
    return MF_OK;
}

/* ---- Strip: up to so many of a character at the ends of each piece ---- */

enum { STRIP_MOST = 1 << 20 };

static int read_strip(const struct mf_part *part, struct mf_text_step *step)
{
    MF_TRY(read_texts(part, "content", " ", step));
    if (mf_point_count(step->text.at, step->text.count) != 1)
        return mf_part_fail(part, "'content' must be one character");
    MF_TRY(mf_part_number(part, "start", STRIP_MOST, &step->number[0]));
    return mf_part_number(part, "stop", STRIP_MOST, &step->number[1]);
}

static int strip(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    const struct mf_bytes *c = &step->text;

    for (size_t i = 0; i < from->count; ++i) {
        const char *text = text_of(from, i);
        size_t n = from->span[i].count;

        for (size_t k = 0; k < step->number[0] && starts_with(text, n, c); ++k) text += c->count, n -= c->count;
        for (size_t k = 0; k < step->number[1] && n >= c->count && starts_with(text + n - c->count, c->count, c); ++k)
            n -= c->count;
        mf_pieces_put(to, text, n);
    }
    return MF_OK;
}

/* ---- Metaspace ---- */

static int read_metaspace(const struct mf_part *part, struct mf_text_step *step)
{
    const char *scheme = NULL;
    int adds = 1, ignored = 1;

    MF_TRY(read_texts(part, "replacement", "\xE2\x96\x81", step));
    MF_TRY(mf_part_text(part, "prepend_scheme", &scheme));
    MF_TRY(mf_part_flag(part, "add_prefix_space", &adds));
    MF_TRY(mf_part_flag(part, "split", &ignored)); /* of pieces, which are tokens here */
    if (step->text.count == 0) return mf_part_fail(part, "'replacement' must be one character");
    step->flag[0] = scheme ? strcmp(scheme, "never") != 0 : adds;
    return MF_OK;
}

static int metaspace(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    for (size_t i = 0; i < from->count; ++i) {
        const char *text = text_of(from, i);
        const size_t n = from->span[i].count, at = to->text.count;

        for (size_t k = 0, size; k < n; k += size) {
            const int is_mark = starts_with(text + k, n - k, &step->text);

            (void)mf_point(text + k, &size);
            if (is_mark && i == 0 && step->flag[0]) continue;
            mf_bytes_put(&to->text, is_mark ? " " : text + k, is_mark ? 1 : size);
        }
        mf_pieces_end(to, at);
    }
    return MF_OK;
}

/* ---- WordPiece ---- */

static int read_wordpiece(const struct mf_part *part, struct mf_text_step *step)
{
    step->flag[0] = 1;
    MF_TRY(mf_part_flag(part, "cleanup", &step->flag[0]));
    return read_texts(part, "prefix", "##", step);
}

/* Replaces @p old in text[from..] by @p new, which is not longer. */
static void put_instead(struct mf_bytes *text, size_t from, const char *old, const char *new)
{
    const size_t n = strlen(old), by = strlen(new);
    char *to = text->at + from, *at = to, *end = text->at + text->count, *found;

    while (at < end && (found = memmem(at, (size_t)(end - at), old, n))) {
        memmove(to, at, (size_t)(found - at));
        to += found - at;
        memcpy(to, new, by);
        to += by;
        at = found + n;
    }
    memmove(to, at, (size_t)(end - at));
    text->count = (size_t)(to - text->at) + (size_t)(end - at);
}

/* Blanks that English does not write, in this order. */
static void clean_up(struct mf_bytes *text, size_t from)
{
    static const char *const pair[][2] = {{" .", "."},   {" ?", "?"},     {" !", "!"},    {" ,", ","},
                                          {" ' ", "'"},  {" n't", "n't"}, {" 'm", "'m"},  {" do not", " don't"},
                                          {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};

    for (size_t i = 0; text->count > from && i < sizeof pair / sizeof *pair; ++i)
        put_instead(text, from, pair[i][0], pair[i][1]);
}

static int wordpiece(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    for (size_t i = 0; i < from->count; ++i) {
        const char *text = text_of(from, i);
        const size_t at = to->text.count;
        size_t n = from->span[i].count;

        if (i > 0 && starts_with(text, n, &step->text)) {
            text += step->text.count;
            n -= step->text.count;
        } else if (i > 0)
            mf_bytes_put(&to->text, " ", 1);
        mf_bytes_put(&to->text, text, n);
        if (step->flag[0]) clean_up(&to->text, at);
        mf_pieces_end(to, at);
    }
    return MF_OK;
}

static const struct mf_text_step_kind decoders[] = {
    {"ByteFallback", NO_KEYS, NULL, byte_fallback},
    {"ByteLevel", KEYS("add_prefix_space", "trim_offsets", "use_regex"), NULL, byte_level},
    {"Fuse", NO_KEYS, NULL, fuse},
    {"Metaspace", KEYS("replacement", "add_prefix_space", "prepend_scheme", "split"), read_metaspace, metaspace},
    {"Replace", KEYS("pattern", "content"), read_replace, replace},
    {"Strip", KEYS("content", "start", "stop"), read_strip, strip},
    {"WordPiece", KEYS("prefix", "cleanup"), read_wordpiece, wordpiece},
    {NULL, NULL, NULL, NULL},
};

/* ---- without a decoder ---- */

static int join(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    (void)step;
    for (size_t i = 0; i < from->count; ++i) {
        if (i) mf_bytes_put(&to->text, " ", 1);
        mf_bytes_put(&to->text, text_of(from, i), from->span[i].count);
    }
    mf_pieces_end(to, 0);
    return MF_OK;
}

static const struct mf_text_step_kind joined = {"", NO_KEYS, NULL, join};

int mf_decode_read(const struct mf_part *part, struct mf_text_steps *chain)
{
    if (mf_json_kind(part->row) == MF_JSON_NULL) {
        chain->count = 1;
        chain->step[0] = (struct mf_text_step){.kind = &joined};
        return MF_OK;
    }
    return mf_text_steps_read(part, "decoders", decoders, chain);
}

enum mf_decode_way mf_decode_way(const struct mf_text_steps *chain)
{
    if (chain->count == 1 && chain->step[0].kind->apply == byte_level) return MF_DECODE_BYTES;
    for (size_t i = 0; i < chain->count; ++i)
        if (chain->step[i].kind->apply == byte_fallback || chain->step[i].kind->apply == byte_level)
            return MF_DECODE_RUNS;
    return MF_DECODE_TEXTS;
}
