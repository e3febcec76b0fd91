/* Figures of every kind are drawn, whole or not at all. With an argument: the folder they go to, to be looked at. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/plot.h"
#include "io/plot_priv.h"
#include "src/base/err.h"
#include "tests/check.h"

enum { N = 61 };

static double map[N * N], lag[N], s2[N], also[N], steps[400], loss[400];
static uint8_t phases[N * 2 * N];

static void fill(void)
{
    for (int i = 0; i < N; ++i) {
        lag[i] = i;
        s2[i] = 0.25 + 0.25 * exp(-i / 6.) * cos(i / 3.);
        also[i] = 0.25 + 0.25 * exp(-i / 5.) * cos(i / 3.3);
        for (int j = 0; j < N; ++j) map[i * N + j] = exp(-hypot(i - 30, 2 * j - 60) / 9) * 0.3 + 0.2;
        for (int j = 0; j < 2 * N; ++j)
            phases[i * 2 * N + j] = (uint8_t)(sin(i * 0.5 + 3 * sin(j * 0.11)) > 0.1 ? 1 + (sin(j * 0.2) > 0.5) : 0);
    }
    for (int i = 0; i < 400; ++i) {
        steps[i] = i;
        loss[i] = 0.03 * exp(-i / 40.) * (1.2 + sin(i)) + 2e-7;
    }
}

/* The number of bytes of a PNG, 0 where it is none. */
static long png_size(const char *path)
{
    unsigned char head[8] = {0};
    struct stat info;
    FILE *from = fopen(path, "rb");
    size_t n = from ? fread(head, 1, 8, from) : 0;

    if (from) (void)fclose(from);
    return n == 8 && memcmp(head, "\x89PNG\r\n\x1a\n", 8) == 0 && stat(path, &info) == 0 ? (long)info.st_size : 0;
}

static void figure(const char *path)
{
    const char *names[] = {"matrix", "fibre", "pore"};
    struct mf_curve curves[] = {
        {"result", N, lag, s2, 0, 0, 1}, {"target", N, lag, also, 0, 1, -1}, {"x", N, lag, also, 1, 0, 0}};
    struct mf_curve convergence = {NULL, 400, steps, loss, 0, 0, 0};
    struct mf_panel panels[] = {
        {.kind = MF_PANEL_PHASES,
         .title = "Phases",
         .xlabel = "x [\302\265m]",
         .ylabel = "y [\302\265m]",
         .rows = N,
         .columns = 2 * N,
         .phases = phases,
         .phase_count = 3,
         .phase_names = names,
         .extent = {0, 122 * 0.35, 0, 61 * 0.35}},
        {.kind = MF_PANEL_IMAGE,
         .title = "S\342\202\202 of phase 1",
         .xlabel = "dx [pixels]",
         .ylabel = "dy [pixels]",
         .rows = N,
         .columns = N,
         .image = map,
         .extent = {-30.5, 30.5, -30.5, 30.5}},
        {.kind = MF_PANEL_CURVES,
         .title = "Two-point correlation",
         .xlabel = "lag [pixels]",
         .ylabel = "S\342\202\202",
         .curve_count = 3,
         .curves = curves},
        {.kind = MF_PANEL_CURVES,
         .title = "Convergence",
         .xlabel = "evaluation",
         .ylabel = "loss",
         .curve_count = 1,
         .curves = &convergence,
         .log_y = 1},
        {.kind = MF_PANEL_PHASES,
         .title = "bare",
         .rows = N,
         .columns = 2 * N,
         .phases = phases,
         .phase_count = 3,
         .bare = 1,
         .colours = "cividis"},
    };

    CHECK(mf_plot_write(path, "A figure of every panel", panels, 5, 3) == MF_OK);
    CHECK(png_size(path) > 20000);
}

static void odd_values(void)
{
    double bad[4] = {NAN, INFINITY, -1, 0}, same[4] = {1e-30, 1e-30, 1e-30, 1e-30};
    struct mf_curve curve = {"none", 4, bad, bad, 0, 0, 0}, flat = {"flat", 4, lag, same, 0, 1, 0};
    uint8_t one = 0;
    struct mf_panel panels[] = {
        {.kind = MF_PANEL_CURVES, .curve_count = 1, .curves = &curve, .log_y = 1},
        {.kind = MF_PANEL_CURVES, .curve_count = 1, .curves = &flat},
        {.kind = MF_PANEL_CURVES, .curve_count = 1, .curves = &flat, .log_y = 1},
        {.kind = MF_PANEL_CURVES},
        {.kind = MF_PANEL_IMAGE, .rows = 2, .columns = 2, .image = bad},
        {.kind = MF_PANEL_IMAGE, .rows = 1, .columns = 4, .image = same},
        {.kind = MF_PANEL_PHASES, .rows = 1, .columns = 1, .phases = &one, .phase_count = 1},
    };

    CHECK(mf_plot_write("odd.png", NULL, panels, 7, 3) == MF_OK);
    CHECK(png_size("odd.png") > 5000);
    CHECK(mf_plot_write("/nowhere/odd.png", NULL, panels, 7, 3) == MF_OUTPUT);
    mf_fault_set("io.write");
    CHECK(unlink("odd2.png") == 0 || 1);
    CHECK(mf_plot_write("odd2.png", NULL, panels, 7, 3) == MF_OUTPUT);
    mf_fault_set(NULL);
    CHECK(access("odd2.png", F_OK) != 0);
}

/* A table of few and of many columns, with any names, is drawn; dots are. */
static void tables(void)
{
    static double shares[900], numbers[900];
    const char *names[30];
    struct mf_curve dots = {NULL, N, lag, s2, 0, MF_MARK_DOTS, 0};
    struct mf_panel panel = {.kind = MF_PANEL_IMAGE,
                             .image = shares,
                             .range = {0, 1},
                             .colours = "blue",
                             .written = numbers,
                             .names = names};
    const struct mf_panel scatter = {.kind = MF_PANEL_CURVES, .curve_count = 1, .curves = &dots};

    for (int i = 0; i < 900; ++i) shares[i] = (numbers[i] = i % 31 == 0) ? 1 : 0;
    for (int i = 0; i < 30; ++i) names[i] = i % 2 ? "a very long name of a class \xff" : "";
    for (size_t n = 1; n <= 30; n += n < 3 ? 1 : 27) {
        panel.rows = panel.columns = n;
        CHECK(mf_plot_write("table.png", "A table", &panel, 1, 1) == MF_OK && png_size("table.png") > 3000);
    }
    CHECK(mf_plot_write("table.png", NULL, &scatter, 1, 1) == MF_OK && png_size("table.png") > 3000);
}

/* Graphs: without nodes, with more colours than fit into the legend, with links of one pair; a larger page. */
static void graphs(void)
{
    static const struct mf_plot_node nodes[] = {{{0.1, 0.2}, 0.1, -1, 1, "1"},
                                                {{0.7, 0.2}, 0.001, 57, 0, "a long name"}};
    static const struct mf_plot_link links[] = {{{0, 1}, 0, 0}, {{0, 1}, 1, 7}};
    static const char *names[90];
    struct mf_plot_graph graph = {.colour_title = "Colours", .kind_title = "Kinds", .size_title = "Size"};
    struct mf_panel panel = {.kind = MF_PANEL_GRAPH, .graph = &graph, .zoom = 0.5};
    long small;

    for (int i = 0; i < 90; ++i) names[i] = "a colour with quite a long name \xff";
    CHECK(mf_plot_write("graph.png", NULL, &panel, 1, 1) == MF_OK);
    small = png_size("graph.png");
    graph = (struct mf_plot_graph){2, 2, 90, 8, nodes, links, "Colours", names, "Kinds", names, "Size", "1 %", 0.05};
    panel.zoom = 2;
    CHECK(mf_plot_write("graph.png", "A graph", &panel, 1, 1) == MF_OK && png_size("graph.png") > 4 * small);
}

/* The bytes of a picture of one panel. */
static size_t drawn(const struct mf_panel *panel, char bytes[1 << 16])
{
    FILE *from;
    size_t n = 0;

    CHECK(mf_plot_write("drawn.png", NULL, panel, 1, 1) == MF_OK);
    from = fopen("drawn.png", "rb");
    if (from) n = fread(bytes, 1, 1 << 16, from);
    if (from) (void)fclose(from);
    return n;
}

/* A point that no line leads to is seen. */
static void point_alone(void)
{
    static char without[1 << 16], with[1 << 16];
    const double x = 5, y = 2;
    struct mf_curve curves[] = {{NULL, 9, lag, lag, 0, 0, 1}, {NULL, 1, &x, &y, 0, 0, 1}};
    struct mf_panel panel = {.kind = MF_PANEL_CURVES, .curve_count = 1, .curves = curves};
    const size_t n = drawn(&panel, without);

    panel.curve_count = 2;
    CHECK(drawn(&panel, with) != n || memcmp(without, with, n) != 0);
}

/* One value everywhere has the middle of the colours, on a scale about it. */
static void flat_map(void)
{
    static char flat[1 << 16], scaled[1 << 16];
    const double half[4] = {0.5, 0.5, 0.5, 0.5}, reach = 0.1 * 0.5;
    struct mf_panel panel = {.kind = MF_PANEL_IMAGE, .rows = 2, .columns = 2, .image = half};
    const size_t n = drawn(&panel, flat);

    panel.range[0] = 0.5 - reach;
    panel.range[1] = 0.5 + reach;
    CHECK(n > 1000 && n == drawn(&panel, scaled) && memcmp(flat, scaled, n) == 0);
}

/* The bytes of the picture of a line up and along the top, with a legend. It has a point on its way there, or none. */
static size_t rising(size_t points, char bytes[1 << 16])
{
    const double x[2][4] = {{0, 0, 8}, {0, 0, 7, 8}}, y[4] = {0, 8, 8, 8};
    struct mf_curve line = {"rising", points, x[points - 3], y, 0, 0, 0};
    struct mf_panel panel = {.kind = MF_PANEL_CURVES, .curve_count = 1, .curves = &line};

    return drawn(&panel, bytes);
}

/* A legend lies beside a line, wherever the points of that are: the same place. */
static void legend_beside_lines(void)
{
    static char three[1 << 16], four[1 << 16];
    const size_t n = rising(3, three);

    CHECK(n > 1000 && n == rising(4, four) && memcmp(three, four, n) == 0);
}

static void titled(const char *path, const char *title, const char *name)
{
    struct mf_curve curve = {name, N, lag, s2, 0, 0, 0};
    struct mf_panel panel = {
        .kind = MF_PANEL_CURVES, .xlabel = "lag", .ylabel = "S2", .curve_count = 1, .curves = &curve};

    CHECK(mf_plot_write(path, title, &panel, 1, 1) == MF_OK);
}

/* Do two files have the same bytes? */
static int same(const char *one, const char *other)
{
    FILE *a = fopen(one, "rb"), *b = fopen(other, "rb");
    int x = 0, y = 0;

    while (a && b && x == y && x != EOF) {
        x = getc(a);
        y = getc(b);
    }
    if (a) (void)fclose(a);
    if (b) (void)fclose(b);
    return a && b && x == y;
}

/* Names of files are longer than a figure is wide, cut between any two bytes, and need not be UTF-8. */
static void long_names(void)
{
    static const char *const wrong[] = {"\xff", "\x80", "\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80"};
    char text[900] = "a";

    titled("plain.png", "?", "curve");
    for (size_t i = 0; i < 3; ++i) {
        titled("wrong.png", wrong[i], "curve");
        CHECK(same("plain.png", "wrong.png"));
    }
    titled("none.png", NULL, NULL);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) titled("wrong.png", wrong[i], wrong[i]);
    CHECK(png_size("wrong.png") > png_size("none.png"));
    for (size_t shift = 0; shift < 3; ++shift) {
        memset(text, 'a', 3);
        for (size_t i = shift; i + 3 < sizeof text; i += 2) memcpy(text + i, "\xc3\xbc", 3);
        titled("wrong.png", text, text);
        CHECK(png_size("wrong.png") > png_size("none.png"));
    }
    unlink("plain.png");
    unlink("wrong.png");
    unlink("none.png");
}

/* Labels are short and all different, whatever the size of the values. */
static void tick_labels(void)
{
    static const double ranges[][2] = {{0, 1},     {-1e9, 2e9}, {1.9e11, 1.95e11}, {1e-10, 3e-10},
                                       {-1e30, 0}, {0, 999999}, {0.001, 0.002},    {-1e7, -9.9e6}};

    for (size_t k = 0; k < sizeof ranges / sizeof *ranges; ++k) {
        const struct mf_axis axis = {.lo = ranges[k][0], .hi = ranges[k][1], .to = 300};
        char text[MF_TICK_TEXT], power[MF_TICK_TEXT], before[MF_TICK_TEXT] = "";
        struct mf_ticks ticks;

        mf_axis_ticks(&axis, 6, &ticks);
        CHECK(ticks.count > 2);
        for (int i = 0; i < ticks.count; ++i) {
            mf_tick_text(&ticks, i, text, power);
            CHECK(strlen(text) < 9 && !*power && strcmp(text, before) != 0);
            if (ticks.at[i] != 0)
                CHECK_NEAR(fabs(atof(text + 3 * (*text == '\342'))) * pow(10, ticks.power), fabs(ticks.at[i]),
                           1e-3 * fabs(ticks.at[i]));
            snprintf(before, sizeof before, "%s", text);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) CHECK(chdir(argv[1]) == 0);
    fill();
    figure("figure.png");
    odd_values();
    tick_labels();
    tables();
    graphs();
    legend_beside_lines();
    point_alone();
    flat_map();
    long_names();
    return failures != 0;
}
