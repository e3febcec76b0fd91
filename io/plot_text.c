/* Text of figures: the one place that chooses a font. See plot_priv.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/plot_priv.h"

void mf_plot_text(cairo_t *page, double x, double y, const char *text, struct mf_text style)
{
    cairo_text_extents_t size;
    cairo_font_extents_t font;

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

    cairo_select_font_face(page, "sans-serif", CAIRO_FONT_SLANT_NORMAL, CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(page, size);
    cairo_text_extents(page, text, &extents);
    return extents.x_advance;
}

static int is_inside(char byte) { return ((unsigned char)byte & 0xC0) == 0x80; }

void mf_plot_text_cut(cairo_t *page, const char *text, double size, double room, char *to, size_t n)
{
    enum { LEAST = 8 };
    const size_t length = strlen(text);

    snprintf(to, n, "%s", text);
    for (size_t keep = length; keep > LEAST && mf_plot_text_width(page, to, size) > room; --keep) {
        size_t head = keep / 2, tail = length - (keep - keep / 2);

        while (head > 0 && is_inside(text[head])) --head;
        while (is_inside(text[tail])) ++tail;
        snprintf(to, n, "%.*s\xe2\x80\xa6%s", (int)head, text, text + tail);
    }
}
