/* See unicode.h. */
#include "src/text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "src/base/err.h"

uint32_t mf_point(const char *at, size_t *bytes)
{
    const unsigned char *c = (const unsigned char *)at;

    if (c[0] < 0x80) return *bytes = 1, c[0];
    if (c[0] < 0xE0) return *bytes = 2, (c[0] & 0x1Fu) << 6 | (c[1] & 0x3Fu);
    if (c[0] < 0xF0) return *bytes = 3, (c[0] & 0x0Fu) << 12 | (c[1] & 0x3Fu) << 6 | (c[2] & 0x3Fu);
    return *bytes = 4, (c[0] & 0x07u) << 18 | (c[1] & 0x3Fu) << 12 | (c[2] & 0x3Fu) << 6 | (c[3] & 0x3Fu);
}

size_t mf_point_write(uint32_t point, char utf8[4])
{
    return (size_t)utf8proc_encode_char((utf8proc_int32_t)point, (utf8proc_uint8_t *)utf8);
}

uint32_t mf_point_before(const char *begin, const char *end)
{
    size_t bytes;

    do --end;
    while (end > begin && ((unsigned char)*end & 0xC0) == 0x80);
    return mf_point(end, &bytes);
}

size_t mf_point_count(const char *text, size_t n)
{
    size_t count = 0;

    for (size_t i = 0; i < n; ++i) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    return count;
}

/* Bytes of the character that begins here (*whole), or of the longest part that could begin one. */
static size_t part_of(const unsigned char *c, size_t n, int *whole)
{
    const size_t want = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    const unsigned char least = c[0] == 0xE0 ? 0xA0 : c[0] == 0xF0 ? 0x90 : 0x80;
    const unsigned char most = c[0] == 0xED ? 0x9F : c[0] == 0xF4 ? 0x8F : 0xBF;
    size_t i = 1;

    *whole = want == 1;
    if (want < 2) return 1;
    if (n > 1 && (c[1] < least || c[1] > most)) return 1;
    while (i < want && i < n && (c[i] & 0xC0) == 0x80) ++i;
    *whole = i == want;
    return i;
}

/* Could more bytes make a character of the last @p n bytes? */
static int may_go_on(const unsigned char *c, size_t n)
{
    return c[0] >= 0xC2 && c[0] < 0xF5 && n < (c[0] < 0xE0 ? 2u : c[0] < 0xF0 ? 3u : 4u);
}

size_t mf_utf8_repair(const char *text, size_t n, int more, struct mf_bytes *to, size_t *lost)
{
    size_t i = 0, sound = 0, replaced = 0;

    while (i < n) {
        const unsigned char *c = (const unsigned char *)text + i;
        int whole;
        const size_t bytes = part_of(c, n - i, &whole);

        if (!whole) {
            mf_bytes_put(to, text + sound, i - sound);
            sound = i;
            if (more && i + bytes == n && may_go_on(c, bytes)) break;
            mf_bytes_point(to, MF_POINT_LOST);
            sound += bytes;
            ++replaced;
        }
        i += bytes;
    }
    mf_bytes_put(to, text + sound, i - sound);
    if (lost) *lost = replaced;
    return i;
}

int mf_point_is_space(uint32_t p)
{
    if (p < 0x80) return p == ' ' || (p >= '\t' && p <= '\r');
    return p == 0x85 || p == 0xA0 || p == 0x1680 || (p >= 0x2000 && p <= 0x200A) || p == 0x2028 || p == 0x2029 ||
           p == 0x202F || p == 0x205F || p == 0x3000;
}

static utf8proc_category_t category(uint32_t p) { return utf8proc_category((utf8proc_int32_t)p); }

int mf_point_is_word(uint32_t p)
{
    switch (category(p)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC: return 1;
    default: /* joiners, and letters in circles and squares, which are symbols */
        return p == 0x200C || p == 0x200D || (p >= 0x24B6 && p <= 0x24E9) || (p >= 0x1F130 && p <= 0x1F149) ||
               (p >= 0x1F150 && p <= 0x1F169) || (p >= 0x1F170 && p <= 0x1F189);
    }
}

int mf_point_is_number(uint32_t p)
{
    const utf8proc_category_t c = category(p);

    return c == UTF8PROC_CATEGORY_ND || c == UTF8PROC_CATEGORY_NL || c == UTF8PROC_CATEGORY_NO;
}

int mf_point_is_punctuation(uint32_t p)
{
    const utf8proc_category_t c = category(p);

    if (p < 0x80) return (p > ' ' && p < '0') || (p > '9' && p < 'A') || (p > 'Z' && p < 'a') || (p > 'z' && p < 0x7F);
    return c >= UTF8PROC_CATEGORY_PC && c <= UTF8PROC_CATEGORY_PO;
}

int mf_point_is_accent(uint32_t p) { return category(p) == UTF8PROC_CATEGORY_MN; }

int mf_point_is_mark(uint32_t p)
{
    const utf8proc_category_t c = category(p);

    return c == UTF8PROC_CATEGORY_MN || c == UTF8PROC_CATEGORY_MC || c == UTF8PROC_CATEGORY_ME;
}

/* Formats that are younger than version 8. */
static int is_young(uint32_t p)
{
    return p == 0x890 || p == 0x891 || p == 0x8E2 || p == 0x110CD || (p >= 0x13430 && p <= 0x1343F);
}

int mf_point_is_other(uint32_t p) { return category(p) >= UTF8PROC_CATEGORY_CC && !is_young(p); }

void mf_point_lower(uint32_t p, struct mf_bytes *to)
{
    if (p == 0x130) { /* the only one whose lower case is two code points: i and a dot above */
        mf_bytes_put(to, "i\xCC\x87", 3);
        return;
    }
    mf_bytes_point(to, (uint32_t)utf8proc_tolower((utf8proc_int32_t)p));
}

int mf_utf8_form(enum mf_form form, const char *text, size_t n, struct mf_bytes *to)
{
    static const utf8proc_option_t how[] = {UTF8PROC_COMPOSE, UTF8PROC_DECOMPOSE, UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
                                            UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
    utf8proc_uint8_t *made = NULL;
    const utf8proc_ssize_t bytes =
        utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, &made, UTF8PROC_STABLE | how[form]);

    if (bytes < 0) return mf_fail(MF_INPUT, "a text has no normal form of Unicode: %s", utf8proc_errmsg(bytes));
    mf_bytes_put(to, made, (size_t)bytes);
    free(made);
    return MF_OK;
}

const char *mf_unicode_library(void) { return utf8proc_version(); }

const char *mf_unicode_version(void) { return utf8proc_unicode_version(); }
