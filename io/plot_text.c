/* Text of figures: the one place that chooses a font. See plot_priv.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/plot_priv.h"
#include "src/base/utf8.h"

enum { TEXT = 1024, LEAST = 8 /* bytes of a text that stay */ };

static int is_inside(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

/* cairo draws nothing any more after a text that is not UTF-8, as names of files need not be. */
static const char *sound(const char *text, char copy[TEXT])
{
    size_t to = 0;

    while (*text && to < TEXT - 5) {
        const size_t n = mf_utf8(text);

        memcpy(copy + to, n ? text : "?", n ? n : 1);
        text += n ? n : 1;
        to += n ? n : 1;
    }
    copy[to] = '\0';
    return copy;
}

void mf_plot_text(cairo_t *page, double x, double y, const char *text, struct mf_text style)
{
    cairo_text_extents_t size;
    cairo_font_extents_t font;
    char copy[TEXT];

    text = sound(text, copy);
    cairo_select_font_face(page, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           style.bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(page, style.size);
    cairo_text_extents(page, text, &size);
    cairo_font_extents(page, &font);
    cairo_save(page);
    cairo_translate(page, x, y);
    if (style.upright) cairo_rotate(page, -M_PI / 2);
    cairo_move_to(page, -style.across * size.x_advance, font.ascent - style.down * (font.ascent + font.descent));
    cairo_show_text(page, text);
    cairo_restore(page);
}

double mf_plot_text_width(cairo_t *page, const char *text, double size)
{
    cairo_text_extents_t extents;
    char copy[TEXT];

    cairo_select_font_face(page, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(page, size);
    cairo_text_extents(page, sound(text, copy), &extents);
    return extents.x_advance;
}

void mf_plot_text_cut(cairo_t *page, const char *text, double size, double room, char *to, size_t n)
{
    static const char dots[] = "\xe2\x80\xa6";
    const size_t length = strlen(text);
    size_t keep = length < n ? length : n - sizeof dots;

    if (keep == length) memcpy(to, text, length + 1);
    for (; length > LEAST && (keep < length || mf_plot_text_width(page, to, size) > room); --keep) {
        size_t head = keep / 2, tail = length - (keep - keep / 2);

        while (head > 0 && is_inside(text[head])) --head;
        while (is_inside(text[tail])) ++tail;
        snprintf(to, n, "%.*s%s%s", (int)head, text, dots, text + tail);
        if (keep <= LEAST || mf_plot_text_width(page, to, size) <= room) return;
    }
}
