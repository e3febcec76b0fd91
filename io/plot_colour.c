/* Colours. The maps viridis, magma (S. van der Walt, N. Smith, CC0) and cividis (J. Nunez, C. Anderton, R. Renslow,
 * PLoS ONE 13 (2018) e0199239, CC0) have 17 points. "blue" begins at white, for tables. Curves and phases use the
 * palette of M. Okabe and K. Ito, which people with any colour vision can distinguish. */
#include <math.h>
#include <string.h>

#include "io/plot_priv.h"

enum { PLACES = 17 };

static const struct map {
    const char *name;
    uint32_t at[PLACES];
} maps[] = {
    {"cividis",
     {0x00224e, 0x002e6a, 0x1a386f, 0x32436d, 0x434e6c, 0x535a6d, 0x61656f, 0x6f7073, 0x7d7c78, 0x8c8878, 0x9b9476,
      0xaba072, 0xbcae6c, 0xcdbb63, 0xdec958, 0xf0d846, 0xfee838}},
    {"viridis",
     {0x440154, 0x48186a, 0x472d7b, 0x424086, 0x3b528b, 0x33638d, 0x2c728e, 0x26828e, 0x21918c, 0x1fa088, 0x28ae80,
      0x3fbc73, 0x5ec962, 0x84d44b, 0xaddc30, 0xd8e219, 0xfde725}},
    {"magma",
     {0x000004, 0x0a0822, 0x1d1147, 0x36106b, 0x51127c, 0x6a1c81, 0x832681, 0x9c2e7f, 0xb73779, 0xd0416f, 0xe75263,
      0xf56b5c, 0xfc8961, 0xfea772, 0xfec488, 0xfde2a3, 0xfcfdbf}},
    {"gray",
     {0x000000, 0x101010, 0x202020, 0x303030, 0x404040, 0x505050, 0x606060, 0x707070, 0x808080, 0x8f8f8f, 0x9f9f9f,
      0xafafaf, 0xbfbfbf, 0xcfcfcf, 0xdfdfdf, 0xefefef, 0xffffff}},
    {"blue",
     {0xffffff, 0xeef5fb, 0xdcecf6, 0xcbe2f2, 0xbad8ed, 0xa8cfe9, 0x94c4e3, 0x7bb6db, 0x63a8d2, 0x4a9bca, 0x318dc2,
      0x1980ba, 0x0072b2, 0x006099, 0x004e80, 0x003d66, 0x002b4d}},
};

static const uint32_t lines[] = {0x0072b2, 0xd55e00, 0x009e73, 0xcc79a7, 0x56b4e9, 0xe69f00, 0x7a4fa0, 0x8c564b};
static const uint32_t phase_colours[] = {0xf4ecd8, 0x1f3a5f, 0xd55e00, 0x56b4e9,
                                         0x009e73, 0xe69f00, 0xcc79a7, 0x0072b2};

void mf_plot_ink(cairo_t *page, uint32_t colour)
{
    cairo_set_source_rgb(page, (colour >> 16 & 255) / 255., (colour >> 8 & 255) / 255., (colour & 255) / 255.);
}

static uint32_t blend(uint32_t a, uint32_t b, double t)
{
    uint32_t out = 0;

    for (int shift = 0; shift <= 16; shift += 8) {
        double from = a >> shift & 255, to = b >> shift & 255;

        out |= (uint32_t)lround(from + (to - from) * t) << shift;
    }
    return out;
}

uint32_t mf_plot_map(const char *map, double t)
{
    const struct map *m = &maps[0];
    double place = fmin(fmax(t, 0), 1) * (PLACES - 1);
    int k = (int)place;

    for (size_t i = 0; map && i < sizeof maps / sizeof *maps; ++i)
        if (strcmp(maps[i].name, map) == 0) m = &maps[i];
    if (k > PLACES - 2) k = PLACES - 2;
    return blend(m->at[k], m->at[k + 1], place - k);
}

uint32_t mf_plot_phase(const char *map, int p, int count)
{
    const int own = (int)(sizeof phase_colours / sizeof *phase_colours);

    if (!map && count <= own) return phase_colours[p];
    return mf_plot_map(map ? map : "viridis", count > 1 ? (double)p / (count - 1) : 0);
}

uint32_t mf_plot_line(size_t k) { return lines[k % (sizeof lines / sizeof *lines)]; }

uint32_t mf_plot_many(size_t k)
{
    enum { LINES = sizeof lines / sizeof *lines };
    static const struct {
        uint32_t with;
        double share;
    } shade[] = {{0, 0}, {0xffffff, 0.55}, {0, 0.45}, {0xffffff, 0.8}};

    return blend(lines[k % LINES], shade[k / LINES % 4].with, shade[k / LINES % 4].share);
}

uint32_t mf_plot_ink_on(uint32_t colour)
{
    const double light = 0.299 * (colour >> 16 & 255) + 0.587 * (colour >> 8 & 255) + 0.114 * (colour & 255);

    return light < 140 ? 0xffffff : 0x202020;
}
