/* Figures: the page, its panels, images and the file. See plot.h. Curves are plot_curve.c. */
#include "io/plot.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/plot_curve.h"
#include "io/plot_priv.h"
#include "src/base/err.h"
#include "src/base/file.h"

/* Size of a panel's cell, margins around its picture, and height of a figure's title, in points. Beside a bar there is
 * space for a square as high as the panels of curves. */
static const double cell_width = 402, cell_height = 340, left_margin = 64, right_margin = 18, bar_margin = 84;
static const double top_margin = 36, bottom_margin = 50, title_height = 34, title_size = 15, head_size = 17;
static const double label_size = 12.5, tick_labels = 19;

/* Most pixels of a page's width or height (cairo ends at 32767), and of a drawn image's. */
enum { PAGE_MAX = 30000, IMAGE_MAX = 4096, INK = 0x202020 };

/* And it has at most so many pixels: 256 MB. */
static const double pixels_max = 64e6;

/* ---- images ---- */

/* One value has the middle of the colours. */
static void around(double range[2])
{
    const double value = range[0], reach = value != 0 ? 0.1 * fabs(value) : 0.5;

    range[0] = value - reach;
    range[1] = value + reach;
}

static void value_range(const struct mf_panel *p, double range[2])
{
    range[0] = p->range[0];
    range[1] = p->range[1];
    if (range[0] != 0 || range[1] != 0) return;
    range[0] = HUGE_VAL;
    range[1] = -HUGE_VAL;
    for (size_t i = 0; i < p->rows * p->columns * (p->channels == 3 ? 3 : 1); ++i) {
        if (!isfinite(p->image[i])) continue;
        range[0] = fmin(range[0], p->image[i]);
        range[1] = fmax(range[1], p->image[i]);
    }
    if (!(range[1] >= range[0])) range[0] = range[1] = 0;
    if (range[1] - range[0] < 1e-12 * (fabs(range[0]) + 1e-300)) around(range);
}

/* Red, green and blue, or white where one of them is not finite. */
static uint32_t mixed_at(const double *value, const double range[2])
{
    uint32_t colour = 0;

    for (int c = 0; c < 3; ++c) {
        const double share = (value[c] - range[0]) / (range[1] - range[0]);

        if (!isfinite(value[c])) return 0xffffff;
        colour = colour << 8 | (uint32_t)rint(255 * fmin(1, fmax(0, share)));
    }
    return colour;
}

static uint32_t colour_at(const struct mf_panel *p, size_t i, const double range[2])
{
    if (p->kind == MF_PANEL_PHASES) return mf_plot_phase(p->colours, p->phases[i], p->phase_count);
    if (p->channels == 3) return mixed_at(p->image + 3 * i, range);
    if (!isfinite(p->image[i])) return p->names ? 0xdcdcdc : 0xffffff;
    return mf_plot_map(p->colours, (p->image[i] - range[0]) / (range[1] - range[0]));
}

/* The picture as pixels, every step-th where it is very large. */
static cairo_surface_t *pixels_of(const struct mf_panel *p, const double range[2])
{
    size_t most = p->rows > p->columns ? p->rows : p->columns, step = (most + IMAGE_MAX - 1) / IMAGE_MAX;
    size_t rows = (p->rows + step - 1) / step, columns = (p->columns + step - 1) / step;
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)columns, (int)rows);
    unsigned char *data = cairo_image_surface_get_data(image);
    size_t stride = (size_t)cairo_image_surface_get_stride(image);

    for (size_t i = 0; data && i < rows; ++i)
        for (size_t j = 0; j < columns; ++j) {
            uint32_t colour = colour_at(p, i * step * p->columns + j * step, range);

            memcpy(data + i * stride + 4 * j, &colour, sizeof colour);
        }
    cairo_surface_mark_dirty(image);
    return image;
}

static void draw_pixels(cairo_t *page, struct mf_box box, const struct mf_panel *p, const double range[2])
{
    cairo_surface_t *image = pixels_of(p, range);
    double width = cairo_image_surface_get_width(image), height = cairo_image_surface_get_height(image);
    double shown = box.width, wide = 1, tall = 1;

    cairo_user_to_device_distance(page, &wide, &tall);
    cairo_save(page);
    cairo_rectangle(page, box.x, box.y, box.width, box.height);
    cairo_clip(page);
    cairo_translate(page, box.x, box.y);
    cairo_scale(page, box.width / width, box.height / height);
    cairo_set_source_surface(page, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(page), shown * wide >= width ? CAIRO_FILTER_NEAREST : CAIRO_FILTER_GOOD);
    cairo_pattern_set_extend(cairo_get_source(page), CAIRO_EXTEND_PAD);
    cairo_paint(page);
    cairo_restore(page);
    cairo_surface_destroy(image);
}

static void draw_bar(cairo_t *page, struct mf_box box, const char *map, const double range[2])
{
    struct mf_box bar = {box.x + box.width + 10, box.y, 13, box.height};
    struct mf_axis axis = {range[0], range[1], bar.y + bar.height, bar.y, 0, 0};
    enum { SHADES = 256 };

    for (int i = 0; i < SHADES; ++i) {
        mf_plot_ink(page, mf_plot_map(map, (i + 0.5) / SHADES));
        cairo_rectangle(page, bar.x, bar.y + bar.height * (SHADES - 1 - i) / SHADES, bar.width,
                        bar.height / SHADES + 0.5);
        cairo_fill(page);
    }
    mf_plot_ink(page, 0x404040);
    cairo_set_line_width(page, 0.9);
    cairo_rectangle(page, bar.x, bar.y, bar.width, bar.height);
    cairo_stroke(page);
    mf_axis_draw_right(page, bar.x + bar.width, &axis);
}

/* One square per phase and its name, below each other at the right of the picture. */
static void draw_phase_names(cairo_t *page, struct mf_box box, const struct mf_panel *p)
{
    double x = box.x + box.width + 9, y = box.y;

    for (int k = 0; k < p->phase_count && y + 12 <= box.y + box.height; ++k, y += 18) {
        mf_plot_ink(page, mf_plot_phase(p->colours, k, p->phase_count));
        cairo_rectangle(page, x, y, 11, 11);
        cairo_fill_preserve(page);
        mf_plot_ink(page, 0x404040);
        cairo_set_line_width(page, 0.7);
        cairo_stroke(page);
        mf_plot_ink(page, INK);
        mf_plot_text(page, x + 16, y + 5.5, p->phase_names[k], (struct mf_text){10.5, 0, 0.5, 0, 0});
    }
}

/* The largest box of the picture's shape in the middle of the room, or one at another picture's scale. */
static struct mf_box fit(struct mf_box room, const double extent[4], const double share[2])
{
    double width = fabs(extent[1] - extent[0]), height = fabs(extent[3] - extent[2]);
    double scale = fmin(room.width / fmax(width, share[0]), room.height / fmax(height, share[1]));
    struct mf_box box = {room.x, room.y, fmax(width * scale, 4), fmax(height * scale, 4)};

    box.x += (room.width - box.width) / 2;
    box.y += (room.height - box.height) / 2;
    return box;
}

/* Is an image as large as its room, whatever its extents? */
static int fills(const struct mf_panel *p) { return p->column_names || (p->names && !p->written); }

/* @p out: how far labels reach out at the left, and below. Returns where the picture lies. */
static struct mf_box draw_image(cairo_t *page, struct mf_box room, const struct mf_panel *p, double out[2])
{
    double range[2] = {0, 1}, extent[4] = {0, (double)p->columns, 0, (double)p->rows};
    int given = p->extent[0] != p->extent[1] && p->extent[2] != p->extent[3];
    struct mf_axis x, y;
    struct mf_box box;

    if (given) memcpy(extent, p->extent, sizeof extent);
    box = fills(p) ? room : fit(room, extent, p->share);
    if (p->kind == MF_PANEL_IMAGE) value_range(p, range);
    draw_pixels(page, box, p, range);
    x = (struct mf_axis){extent[0], extent[1], box.x, box.x + box.width, 0, 0};
    y = (struct mf_axis){extent[2], extent[3], box.y, box.y + box.height, 0, 0};
    if (p->bare) return box;
    if (p->written) {
        mf_plot_table(page, box, p, out);
        return box;
    }
    if (p->names)
        out[0] = mf_course_draw(page, box, p, &x);
    else
        out[0] = mf_axes_draw(page, box, &x, &y, 0);
    if (p->kind == MF_PANEL_IMAGE && p->channels != 3) draw_bar(page, box, p->colours, range);
    if (p->kind == MF_PANEL_PHASES && p->phase_names) draw_phase_names(page, box, p);
    return box;
}

/* ---- panels and the page ---- */

/* A page in points, its cells, and how many pixels a point has. */
struct page {
    double width, height, scale, cell[2];
};

static struct page page_of(size_t count, size_t columns, int has_title, double zoom)
{
    const char *hook = getenv("MF_COARSE"); /* of tests: drawing takes most of the time of a short run */
    const size_t wide = columns < count ? columns : count, rows = (count + columns - 1) / columns;
    struct page p = {.scale = hook && *hook == '1' ? 0.25 : 2, .cell = {zoom * cell_width, zoom * cell_height}};

    p.width = p.cell[0] * (double)wide;
    p.height = p.cell[1] * (double)rows + (has_title ? title_height : 0);
    p.scale = fmin(p.scale, PAGE_MAX / fmax(p.width, p.height));
    p.scale = fmin(p.scale, sqrt(pixels_max / (p.width * p.height)));
    return p;
}

static struct mf_box cell_of(const struct page *p, size_t columns, int has_title, size_t i)
{
    const size_t row = i / columns, column = i % columns;

    return (struct mf_box){p->cell[0] * (double)column, p->cell[1] * (double)row + (has_title ? title_height : 0),
                           p->cell[0], p->cell[1]};
}

void mf_plot_cell(size_t count, size_t columns, int has_title, size_t i, double cell[4])
{
    const struct page page = page_of(count, columns, has_title, 1);
    const struct mf_box box = cell_of(&page, columns, has_title, i);

    cell[0] = box.x * page.scale;
    cell[1] = box.y * page.scale;
    cell[2] = box.width * page.scale;
    cell[3] = box.height * page.scale;
}

static int is_picture(const struct mf_panel *p) { return p->kind == MF_PANEL_IMAGE || p->kind == MF_PANEL_PHASES; }

/* Space at the right of every picture. So pictures with and without a bar or names have the same size. */
static double beside_pictures(const struct mf_panel *panels, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (is_picture(&panels[i]) && !panels[i].bare && !panels[i].written &&
            (panels[i].kind == MF_PANEL_IMAGE || panels[i].phase_names))
            return bar_margin;
    return right_margin;
}

enum { BOLD = 112 /* percent of the width of plain text, at most */ };

/* Above the picture and its legend, smaller where it would reach into the next panel. */
static void draw_title(cairo_t *page, struct mf_box cell, struct mf_box box, double legend, const char *title)
{
    const double room = cell.width - 12, wide = mf_plot_text_width(page, title, title_size - 1) * BOLD / 100;
    const double size = (title_size - 1) * fmin(1, room / wide), half = fmin(wide, room) / 2;
    const double middle = fmax(cell.x + 6 + half, fmin(box.x + box.width / 2, cell.x + cell.width - 6 - half));

    mf_plot_text(page, middle, box.y - legend - 9, title, (struct mf_text){size, 0.5, 1, 1, 0});
}

/* A bare picture may have a caption and a rim. */
static void draw_around(cairo_t *page, struct mf_box cell, struct mf_box box, const struct mf_panel *p)
{
    if (p->caption) {
        const double wide = mf_plot_text_width(page, p->caption, label_size), room = cell.width - 12;

        mf_plot_text(page, box.x + box.width / 2, box.y + box.height + 8, p->caption,
                     (struct mf_text){label_size * fmin(1, room / wide), 0.5, 0, 0, 0});
    }
    if (p->rim) {
        mf_plot_ink(page, p->rim);
        cairo_set_line_width(page, 4);
        cairo_rectangle(page, box.x - 2, box.y - 2, box.width + 4, box.height + 4);
        cairo_stroke(page);
    }
}

static void draw_panel(cairo_t *page, struct mf_box cell, const struct mf_panel *p, double beside)
{
    const double right = is_picture(p) ? beside : right_margin, names = p->written ? MF_TABLE_NAMES : 0;
    const double legend = p->mark_kinds ? MF_MARKS_LEGEND : 0;
    struct mf_box room = {cell.x + left_margin, cell.y + top_margin + legend, cell.width - left_margin - right,
                          cell.height - top_margin - legend - bottom_margin - names};
    struct mf_box box = room;
    double out[2] = {0, tick_labels};

    if (p->kind == MF_PANEL_EMPTY) return;
    if (p->kind == MF_PANEL_CURVES)
        out[0] = mf_curves_draw(page, room, p);
    else if (p->kind == MF_PANEL_BARS)
        out[0] = mf_bars_draw(page, room, p);
    else if (p->kind == MF_PANEL_GRAPH)
        mf_graph_draw(page, room, p->graph);
    else
        box = draw_image(page, room, p, out);
    mf_plot_ink(page, INK);
    if (p->title) draw_title(page, cell, box, legend, p->title);
    if (p->bare && is_picture(p)) {
        draw_around(page, cell, box, p);
        return;
    }
    if (p->xlabel)
        mf_plot_text(page, box.x + box.width / 2, box.y + box.height + out[1] + 6, p->xlabel,
                     (struct mf_text){label_size, 0.5, 0, 0, 0});
    if (p->ylabel)
        mf_plot_text(page, fmax(cell.x + 3, box.x - out[0] - 22), box.y + box.height / 2, p->ylabel,
                     (struct mf_text){label_size, 0.5, 0, 0, 1});
}

/* Above all panels; a long one, which begins or ends with a path, without its middle. */
static void draw_head(cairo_t *page, double width, const char *title)
{
    char text[512];

    mf_plot_text_cut(page, title, head_size, (width - 12) * 100 / BOLD, text, sizeof text);
    mf_plot_text(page, width / 2, 10, text, (struct mf_text){head_size, 0.5, 0, 1, 0});
}

static void draw_page(cairo_t *page, const struct page *sheet, const char *title, const struct mf_panel *panels,
                      size_t count, size_t columns)
{
    const double beside = beside_pictures(panels, count);

    mf_plot_ink(page, 0xffffff);
    cairo_paint(page);
    mf_plot_ink(page, INK);
    if (title) draw_head(page, sheet->width, title);
    for (size_t i = 0; i < count; ++i) draw_panel(page, cell_of(sheet, columns, title != NULL, i), &panels[i], beside);
}

static int save(cairo_surface_t *surface, const struct mf_atomic *file)
{
    const struct mf_page page = {
        (size_t)cairo_image_surface_get_height(surface), (size_t)cairo_image_surface_get_width(surface),
        (size_t)cairo_image_surface_get_stride(surface), cairo_image_surface_get_data(surface)};
    int descriptor, rc;

    if (cairo_surface_status(surface) != CAIRO_STATUS_SUCCESS)
        return mf_fail(MF_OUTPUT, "cannot draw '%s': %s", file->path,
                       cairo_status_to_string(cairo_surface_status(surface)));
    descriptor = mf_open(file->temporary, O_WRONLY);
    if (descriptor < 0) return mf_fail(MF_OUTPUT, "cannot write '%s'", file->path);
    rc = mf_plot_png(descriptor, file->path, &page);
    close(descriptor);
    return rc;
}

/* More pixels for a table with many columns, so that its numbers can be read. */
static double detail_of(const struct mf_panel *panels, size_t count)
{
    const double columns = count == 1 && panels->written ? (double)panels->columns : 0;

    return fmax(1, fmin(columns / 10, 3));
}

static double zoom_of(const struct mf_panel *panels, size_t count)
{
    double zoom = 1;

    for (size_t i = 0; i < count; ++i) zoom = fmax(zoom, panels[i].zoom);
    return zoom;
}

int mf_plot_write(const char *path, const char *title, const struct mf_panel *panels, size_t count, size_t columns)
{
    struct page sheet = page_of(count, columns, title != NULL, zoom_of(panels, count));
    cairo_surface_t *surface;
    struct mf_atomic file;
    struct mf_comm self;
    cairo_t *page;
    int rc;

    mf_comm_self(&self);
    MF_TRY(mf_atomic_open(&self, path, 0, &file));
    sheet.scale *= detail_of(panels, count);
    surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, (int)(sheet.width * sheet.scale),
                                         (int)(sheet.height * sheet.scale));
    page = cairo_create(surface);
    cairo_scale(page, sheet.scale, sheet.scale);
    draw_page(page, &sheet, title, panels, count, columns);
    cairo_destroy(page);
    cairo_surface_flush(surface);
    rc = mf_atomic_close(&self, &file, save(surface, &file));
    cairo_surface_destroy(surface);
    return rc;
}
