/* See utf8.h. */
#include "src/base/utf8.h"

static int is_inside(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

size_t mf_utf8(const char *text)
{
    const unsigned char first = (unsigned char)*text, second = first ? (unsigned char)text[1] : 0;
    const size_t n = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;

    for (size_t i = 1; i < n; ++i)
        if (!is_inside(text[i])) return 0;
    return (first == 0xE0 && second < 0xA0) || (first == 0xED && second >= 0xA0) || (first == 0xF0 && second < 0x90) ||
                   (first == 0xF4 && second >= 0x90)
               ? 0
               : n;
}

size_t mf_utf8_cut(const char *text, size_t most)
{
    size_t n = 0;

    for (size_t one; text[n]; n += one) {
        one = mf_utf8(text + n);
        if (!one || n + one > most) return n;
    }
    return n;
}

const char *mf_utf8_wrong(const char *text)
{
    for (size_t n; *text; text += n) {
        n = mf_utf8(text);
        if (!n) return text;
    }
    return NULL;
}
