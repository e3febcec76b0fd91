/* See split.h. A step finds matches, and a behaviour says to which piece each match belongs. */
#include "src/text/split.h"

#include <string.h>

#include "src/base/err.h"
#include "src/text/unicode.h"

#define KEYS(...) ((const char *const[]){"type", __VA_ARGS__, NULL})
#define NO_KEYS   ((const char *const[]){"type", NULL})

enum behaviour { REMOVED, ISOLATED, MERGED_WITH_PREVIOUS, MERGED_WITH_NEXT, CONTIGUOUS };

static const char *const behaviours[] = {"Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous"};

static int read_behaviour(const struct mf_part *part, struct mf_text_step *step)
{
    const char *word = behaviours[step->number[0]];

    MF_TRY(mf_part_text(part, "behavior", &word));
    for (size_t i = 0; i < sizeof behaviours / sizeof *behaviours; ++i)
        if (strcmp(word, behaviours[i]) == 0) return step->number[0] = i, MF_OK;
    return mf_part_fail(part, "the behavior '%.60s' is not known", word);
}

/* Cuts of one piece, made from left to right. */
struct cutter {
    struct mf_pieces *to;
    enum behaviour behaviour;
    int was_match; /* the last part was one */
    int open;      /* a match waits for the part behind it (MERGED_WITH_NEXT) */
};

/* A further part of the piece, directly behind the last: a match, or what is between matches. */
static void part(struct cutter *c, size_t begin, size_t end, int is_match)
{
    struct mf_span *last = c->to->count ? &c->to->span[c->to->count - 1] : NULL;
    int joins = 0;

    if (begin == end) return;
    if (c->behaviour == REMOVED && is_match) return;
    /* of several matches in a row, the first goes to the left, or the last to the right */
    if (c->behaviour == MERGED_WITH_PREVIOUS) joins = is_match && !c->was_match && c->open;
    if (c->behaviour == MERGED_WITH_NEXT) joins = !is_match && c->was_match;
    if (c->behaviour == CONTIGUOUS) joins = is_match == c->was_match && c->open;
    if (joins && last)
        last->count += end - begin;
    else
        mf_pieces_span(c->to, begin, end - begin);
    c->was_match = is_match;
    c->open = 1;
}

/* ---- by a pattern ---- */

static int cut_by_pattern(struct mf_pattern *pattern, enum behaviour behaviour, int invert,
                          const struct mf_pieces *from, struct mf_pieces *to)
{
    mf_bytes_put(&to->text, from->text.at, from->text.count);
    for (size_t i = 0; i < from->count; ++i) {
        struct cutter c = {.to = to, .behaviour = behaviour};
        const size_t at = from->span[i].first, n = from->span[i].count;
        size_t last = 0, begin, end;
        int found;

        while ((found = mf_pattern_next(pattern, to->text.at + at, n, last, &begin, &end)) > 0) {
            part(&c, at + last, at + begin, invert);
            part(&c, at + begin, at + end, !invert);
            last = end;
        }
        if (found < 0) return MF_INPUT;
        part(&c, at + last, at + n, invert);
    }
    return MF_OK;
}

static int read_split(const struct mf_part *part, struct mf_text_step *step)
{
    const char *behaviour;

    MF_TRY(mf_part_pattern(part, &step->pattern));
    MF_TRY(mf_part_needs_text(part, "behavior", &behaviour));
    MF_TRY(read_behaviour(part, step));
    return mf_part_flag(part, "invert", &step->flag[0]);
}

static int split(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    return cut_by_pattern(step->pattern, (enum behaviour)step->number[0], step->flag[0], from, to);
}

/* ---- by classes of code points ---- */

typedef int in_class(uint32_t point);

static void cut_by_class(in_class *is_in, enum behaviour behaviour, const struct mf_pieces *from, struct mf_pieces *to)
{
    mf_bytes_put(&to->text, from->text.at, from->text.count);
    for (size_t i = 0; i < from->count; ++i) {
        struct cutter c = {.to = to, .behaviour = behaviour};
        const size_t end = from->span[i].first + from->span[i].count;
        size_t last = from->span[i].first;

        for (size_t at = last, bytes; at < end; at += bytes) {
            if (!is_in(mf_point(to->text.at + at, &bytes))) continue;
            part(&c, last, at, 0);
            part(&c, at, at + bytes, 1);
            last = at + bytes;
        }
        part(&c, last, end, 0);
    }
}

static int white_space(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    (void)step;
    cut_by_class(mf_point_is_space, REMOVED, from, to);
    return MF_OK;
}

static int read_punctuation(const struct mf_part *part, struct mf_text_step *step)
{
    step->number[0] = ISOLATED;
    return read_behaviour(part, step);
}

static int punctuation(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    cut_by_class(mf_point_is_punctuation, (enum behaviour)step->number[0], from, to);
    return MF_OK;
}

static int read_digits(const struct mf_part *part, struct mf_text_step *step)
{
    return mf_part_flag(part, "individual_digits", &step->flag[0]);
}

static int digits(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    cut_by_class(mf_point_is_number, step->flag[0] ? ISOLATED : CONTIGUOUS, from, to);
    return MF_OK;
}

enum point_class { SPACE, MARK, WORD };

/* Cuts where the class changes. White space belongs to no piece; every point of @p mark is a piece, or a run of them.
 */
static void cut_words(in_class *is_mark, int runs, const struct mf_pieces *from, struct mf_pieces *to)
{
    mf_bytes_put(&to->text, from->text.at, from->text.count);
    for (size_t i = 0; i < from->count; ++i) {
        const size_t end = from->span[i].first + from->span[i].count;
        enum point_class last = SPACE;

        for (size_t at = from->span[i].first, bytes; at < end; at += bytes) {
            const uint32_t p = mf_point(to->text.at + at, &bytes);
            const enum point_class now = mf_point_is_space(p) ? SPACE : is_mark(p) ? MARK : WORD;

            if (now == last && (now == WORD || runs) && now != SPACE)
                to->span[to->count - 1].count += bytes;
            else if (now != SPACE)
                mf_pieces_span(to, at, bytes);
            last = now;
        }
    }
}

static int bert(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    (void)step;
    cut_words(mf_point_is_punctuation, 0, from, to);
    return MF_OK;
}

static int is_no_word(uint32_t p) { return !mf_point_is_word(p); }

static int words(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    (void)step;
    cut_words(is_no_word, 1, from, to);
    return MF_OK;
}

/* ---- Metaspace: a mark instead of every blank, and one in front ---- */

enum { FIRST, ALWAYS, NEVER };
enum { SPLITS = 0, SCHEME = 0 };

static int read_metaspace(const struct mf_part *part, struct mf_text_step *step)
{
    const char *mark = "\xE2\x96\x81", *scheme = NULL;
    int adds = 1;

    MF_TRY(mf_part_text(part, "replacement", &mark));
    MF_TRY(mf_part_text(part, "prepend_scheme", &scheme));
    MF_TRY(mf_part_flag(part, "add_prefix_space", &adds)); /* of older files */
    if (!scheme) scheme = adds ? "always" : "never";
    step->flag[SPLITS] = 1;
    MF_TRY(mf_part_flag(part, "split", &step->flag[SPLITS]));
    if (mf_point_count(mark, strlen(mark)) != 1) return mf_part_fail(part, "'replacement' must be one character");
    mf_bytes_put(&step->text, mark, strlen(mark));
    step->pattern = mf_pattern_plain(mark, strlen(mark));
    step->number[SCHEME] = strcmp(scheme, "first") == 0 ? FIRST : strcmp(scheme, "always") == 0 ? ALWAYS : NEVER;
    if (step->number[SCHEME] == NEVER && strcmp(scheme, "never") != 0)
        return mf_part_fail(part, "the prepend_scheme '%.60s' is not known", scheme);
    return MF_OK;
}

static void put_marked(const struct mf_text_step *step, const char *text, size_t n, int prepends, struct mf_bytes *to)
{
    const struct mf_bytes *mark = &step->text;
    const int has = n > 0 && (*text == ' ' || (n >= mark->count && memcmp(text, mark->at, mark->count) == 0));

    if (prepends && !has) mf_bytes_put(to, mark->at, mark->count);
    for (size_t i = 0; i < n; ++i)
        if (text[i] == ' ')
            mf_bytes_put(to, mark->at, mark->count);
        else
            mf_bytes_put(to, text + i, 1);
}

static int metaspace(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    struct mf_pieces marked = {0};
    int rc;

    for (size_t i = 0; i < from->count; ++i) {
        const size_t at = marked.text.count;
        const int prepends =
            step->number[SCHEME] == ALWAYS || (step->number[SCHEME] == FIRST && i == 0 && from->begins);

        put_marked(step, from->text.at + from->span[i].first, from->span[i].count, prepends, &marked.text);
        mf_pieces_end(&marked, at);
    }
    if (step->flag[SPLITS])
        rc = cut_by_pattern(step->pattern, MERGED_WITH_NEXT, 0, &marked, to);
    else {
        struct mf_pieces spare = *to;

        *to = marked;
        to->begins = spare.begins;
        marked = spare;
        rc = MF_OK;
    }
    mf_pieces_free(&marked);
    return rc;
}

/* ---- ByteLevel: GPT-2's pattern; the model reads bytes ---- */

#define GPT2 "'(?:[sdmt]|ll|ve|re)| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"

static int read_byte_level(const struct mf_part *part, struct mf_text_step *step)
{
    int ignored = 1, cuts = 1;

    step->flag[0] = 1;
    MF_TRY(mf_part_flag(part, "add_prefix_space", &step->flag[0]));
    MF_TRY(mf_part_flag(part, "trim_offsets", &ignored)); /* of places in the text, which nobody asks for */
    MF_TRY(mf_part_flag(part, "use_regex", &cuts));
    return cuts ? mf_pattern_regex(GPT2, &step->pattern) : MF_OK;
}

static int byte_level(const struct mf_text_step *step, const struct mf_pieces *from, struct mf_pieces *to)
{
    struct mf_pieces spaced = {0};
    int rc = MF_OK;

    for (size_t i = 0; step->flag[0] && i < from->count; ++i) {
        const char *text = from->text.at + from->span[i].first;
        const size_t at = spaced.text.count;

        if (from->span[i].count && *text != ' ') mf_bytes_put(&spaced.text, " ", 1);
        mf_bytes_put(&spaced.text, text, from->span[i].count);
        mf_pieces_end(&spaced, at);
    }
    if (step->flag[0]) from = &spaced;
    if (step->pattern)
        rc = cut_by_pattern(step->pattern, ISOLATED, 0, from, to);
    else {
        mf_bytes_put(&to->text, from->text.at, from->text.count);
        for (size_t i = 0; i < from->count; ++i) mf_pieces_span(to, from->span[i].first, from->span[i].count);
    }
    mf_pieces_free(&spaced);
    return rc;
}

const struct mf_text_step_kind mf_splitters[] = {
    {"BertPreTokenizer", NO_KEYS, NULL, bert},
    {"ByteLevel", KEYS("add_prefix_space", "trim_offsets", "use_regex"), read_byte_level, byte_level},
    {"Digits", KEYS("individual_digits"), read_digits, digits},
    {"Metaspace", KEYS("replacement", "add_prefix_space", "prepend_scheme", "split"), read_metaspace, metaspace},
    {"Punctuation", KEYS("behavior"), read_punctuation, punctuation},
    {"Split", KEYS("pattern", "behavior", "invert"), read_split, split},
    {"Whitespace", NO_KEYS, NULL, words},
    {"WhitespaceSplit", NO_KEYS, NULL, white_space},
    {NULL, NULL, NULL, NULL},
};

int mf_split_read(const struct mf_part *part, struct mf_text_steps *chain, int *bytes)
{
    MF_TRY(mf_text_steps_read(part, "pretokenizers", mf_splitters, chain));
    *bytes = 0;
    for (size_t i = 0; i < chain->count; ++i) {
        if (chain->step[i].kind->apply != byte_level) continue;
        if (i + 1 < chain->count)
            return mf_part_fail(part, "steps behind ByteLevel are not known here; it must be the last one");
        *bytes = 1;
    }
    return MF_OK;
}
