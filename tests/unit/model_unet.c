/* The U-Net against PyTorch: outputs, layers, loss and gradients, node by node, joined, and computed again. It has as
 * many parameters as published weights, and their names; constants of their files are accepted. A new one finds no
 * noise. Other images are refused. The file was made by tests/data/net/make_unet.py. */
#include "src/model/unet.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/model/weights.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "tests/device.h"
#include "tests/scratch.h"

struct unet_case {
    const char *name, *word;
    size_t n, dims[3], conditions; /* dims: height, width, channels */
};

static const struct unet_case cases[] = {
    {"small", "unet:width=8", 3, {16, 24, 2}, 3},
    {"deep", "unet:width=4,depth=3,patch=1,blocks=2", 2, {8, 16, 1}, 0},
    {"wide", "unet:width=64,patch=1", 2, {8, 8, 3}, 5},
};
static const struct unet_case whole = {"adm", "adm-imagenet64", 1, {64, 64, 3}, 1000};

struct choice {
    int fuse, forward; /* forward alone */
    enum mf_recompute recompute;
    enum mf_walk_mode mode;
};

struct model {
    const struct device *d;
    const struct unet_case *c;
    struct mf_safetensors *file;
    struct mf_arch_args args;
    struct mf_net *net;
    struct mf_list *list;
    struct mf_walk *walk;
    int x, noise, condition, target, y, loss;
};

/* -- numbers of names, between -1 and 1 -- */

static void numbers_of(const char *name, size_t n, double factor, double shift, float *to)
{
    uint32_t hash = (uint32_t)mf_fnv(MF_FNV, name, strlen(name));

    for (size_t i = 0; i < n; ++i, hash += 0x9E3779B9U) {
        uint32_t x = (hash ^ hash >> 16) * 0x85EBCA6BU;

        x = (x ^ x >> 13) * 0xC2B2AE35U;
        to[i] = (float)(factor * ((double)((x ^ x >> 16) >> 8) / 8388608 - 1) + shift);
    }
}

static size_t count_of(const struct model *m, int v) { return mf_shape_count(&m->net->value[v].shape); }

static void put(const struct model *m, int v, const float *numbers)
{
    m->d->be->put(m->d->q, mf_walk_at(m->walk, m->list, v), numbers, count_of(m, v) * sizeof *numbers);
    m->d->be->sync(m->d->q);
}

static float *get(const struct model *m, int v)
{
    float *numbers = MF_MUST(malloc(count_of(m, v) * sizeof *numbers), "numbers");

    m->d->be->get(m->d->q, numbers, mf_walk_at(m->walk, m->list, v), count_of(m, v) * sizeof *numbers);
    m->d->be->sync(m->d->q);
    return numbers;
}

static void put_named(const struct model *m, int v, const char *name, double factor, double shift)
{
    float *numbers = MF_MUST(malloc(count_of(m, v) * sizeof *numbers), "numbers");

    numbers_of(name, count_of(m, v), factor, shift, numbers);
    put(m, v, numbers);
    free(numbers);
}

static void put_weight(const struct model *m, int v)
{
    const struct mf_value *value = &m->net->value[v];
    const size_t length = strlen(value->name);
    const int is_scale = length > 6 && strcmp(value->name + length - 6, "weight") == 0;

    if (value->shape.n > 1)
        put_named(m, v, value->name, sqrt(3 / (double)(count_of(m, v) / value->shape.d[0])), 0);
    else
        put_named(m, v, value->name, 0.3, is_scale);
}

/* -- a model -- */

static int build(struct model *m, struct mf_build *b)
{
    const struct unet_case *c = m->c;
    const struct mf_shape x = {.type = MF_F32, .n = 5, .d = {c->n, 1, c->dims[0], c->dims[1], c->dims[2]}};
    const struct mf_arch *arch;

    CHECK_SAYS(mf_arch_read(c->word, &arch, &m->args, NULL, NULL) == MF_OK, "%s", mf_err_text());
    CHECK(mf_arch_complete(arch, &m->args) == MF_OK);
    m->x = mf_build_input(b, "x", x);
    m->noise = mf_build_input(b, "noise", (struct mf_shape){MF_F32, 2, {c->n, mf_arch_noise_width(&m->args)}});
    m->condition = -1;
    if (c->conditions)
        m->condition = mf_build_input(b, "condition", (struct mf_shape){MF_F32, 2, {c->n, c->conditions}});
    m->y = arch->denoise(b, &(struct mf_arch_denoise){m->x, m->noise, m->condition}, &m->args);
    return mf_build_end(b);
}

static struct model list_of(const struct device *d, const struct unet_case *c)
{
    struct model m = {.d = d, .c = c, .net = mf_net_new()};
    struct mf_build b;

    m.list = mf_list_new(m.net, "unet");
    b = (struct mf_build){.list = m.list};
    CHECK_SAYS(build(&m, &b) == MF_OK, "%s", mf_err_text());
    m.target = mf_build_input(&b, "target", m.net->value[m.x].shape);
    m.loss = mf_build_squared_loss(&b, "loss", m.y, m.target, -1);
    CHECK_SAYS(mf_build_end(&b) == MF_OK, "%s", mf_err_text());
    return m;
}

static void keep_taps(const struct model *m)
{
    struct mf_unet_tap *tap;
    size_t count;

    CHECK(mf_unet_taps(&m->args, m->c->dims[0], m->c->dims[1], &tap, &count) == MF_OK);
    for (size_t k = 0; k < count; ++k) {
        const int v = mf_value_find(m->net, tap[k].node);

        CHECK_SAYS(v >= 0, "%s: there is no '%s'", m->c->name, tap[k].node);
        if (v < 0) continue;
        CHECK(count_of(m, v) == m->c->n * tap[k].height * tap[k].width * tap[k].channels);
        m->net->value[v].kept = 1;
    }
    free(tap);
}

static void open_walk(struct model *m, const struct choice *choice)
{
    m->net->value[m->y].kept = m->net->value[m->loss].kept = 1;
    keep_taps(m);
    if (choice->fuse) mf_pass_fuse(m->list, choice->recompute, MF_SCOPE_ALL);
    if (!choice->forward) mf_pass_grad(m->list, 1, &m->loss, 1 << MF_SET_TRAINED);
    if (choice->recompute) mf_pass_recompute(m->list, choice->recompute, 0);
    mf_pass_fold(m->list);
    for (size_t v = 0; v < m->net->values; ++v) m->net->value[v].kept |= m->net->value[v].role == MF_ROLE_GRADIENT;
    CHECK_SAYS(mf_pass_plan(m->list, m->d->q) == MF_OK, "%s", mf_err_text());
    mf_pass_live(m->net);
    if (mf_walk_open(&m->walk, m->net, m->d->q, choice->mode, NULL) != MF_OK) abort();
    mf_walk_numbers(m->walk)[MF_NUMBER_ROWS] = mf_walk_numbers(m->walk)[MF_NUMBER_SAMPLES] = (double)m->c->n;
}

static void close_model(struct model *m)
{
    if (m->walk) mf_walk_close(m->walk);
    mf_list_release(m->list, m->d->q);
    mf_net_free(m->net);
}

static void feed(const struct model *m)
{
    const size_t width = mf_arch_noise_width(&m->args);
    float *level = MF_MUST(malloc(m->c->n * sizeof *level), "levels");
    float *noise = MF_MUST(malloc(m->c->n * width * sizeof *noise), "levels");

    numbers_of("c_noise", m->c->n, 1, 0, level);
    for (size_t k = 0; k < m->c->n; ++k) mf_unet_noise(level[k], width, noise + k * width);
    put(m, m->noise, noise);
    put_named(m, m->x, "x", 1, 0);
    put_named(m, m->target, "target", 1, 0);
    if (m->condition >= 0) put_named(m, m->condition, "condition", 1, 0);
    free(level);
    free(noise);
}

/* -- comparing -- */

static void read_array(const struct model *m, const char *kind, const char *name, size_t ndim, const size_t *dims,
                       float *to)
{
    char *text = mf_format("%s.%s%s", m->c->name, kind, name);

    CHECK_SAYS(mf_safetensors_read(m->file, text, ndim, dims, to) == MF_OK, "%s", mf_err_text());
    free(text);
}

/* The norm, and products with three arrays of numbers; the products tell what is in the wrong place. */
static void compare(const struct model *m, const char *kind, const char *name, int v)
{
    const size_t n = count_of(m, v);
    float want[4] = {0}, *got = get(m, v), *other = MF_MUST(malloc(n * sizeof *other), "numbers");
    double sum[4] = {0};

    read_array(m, kind, name, 1, (const size_t[]){4}, want);
    for (size_t i = 0; i < n; ++i) sum[0] += (double)got[i] * (double)got[i];
    sum[0] = sqrt(sum[0]);
    for (int k = 0; k < 3; ++k) {
        char *text = mf_format("%s.%d", name, k);

        numbers_of(text, n, 1, 0, other);
        for (size_t i = 0; i < n; ++i) sum[k + 1] += (double)got[i] * (double)other[i];
        free(text);
    }
    for (int k = 0; k < 4; ++k)
        CHECK_SAYS(fabs(sum[k] - (double)want[k]) <= 1e-5 * fmax((double)want[0], 1e-3), "%s, %s%s: %d is %g, not %g",
                   m->c->name, kind, name, k, sum[k], (double)want[k]);
    free(got);
    free(other);
}

static void compare_output(const struct model *m)
{
    const size_t *d = m->c->dims, dims[] = {m->c->n, d[0], d[1], d[2]};
    float *want = MF_MUST(malloc(count_of(m, m->y) * sizeof *want), "numbers"), *got = get(m, m->y);
    double most = 0, off = 0;

    read_array(m, "", "y", 4, dims, want);
    for (size_t i = 0; i < count_of(m, m->y); ++i) {
        most = fmax(most, fabs((double)want[i]));
        off = fmax(off, fabs((double)want[i] - (double)got[i]));
        if (isnan(got[i])) off = INFINITY;
    }
    CHECK_SAYS(off < 1e-5 * most, "%s: y is off by %g of %g", m->c->name, off, most);
    free(want);
    free(got);
}

static void compare_all(const struct model *m)
{
    struct mf_unet_tap *tap;
    size_t count;

    if (m->c == &whole)
        compare(m, "", "y", m->y);
    else
        compare_output(m), compare(m, "", "loss", m->loss);
    CHECK(mf_unet_taps(&m->args, m->c->dims[0], m->c->dims[1], &tap, &count) == MF_OK);
    for (size_t k = 0; k < count; ++k) compare(m, "tap.", tap[k].name, mf_value_find(m->net, tap[k].node));
    free(tap);
    for (size_t v = 0; v < m->net->values; ++v)
        if (mf_value_is_weight(&m->net->value[v]) && mf_value_gradient(&m->net->value[v]) >= 0)
            compare(m, "grad.", m->net->value[v].name, mf_value_gradient(&m->net->value[v]));
}

static void like_pytorch(const struct device *d, const char *path, const struct unet_case *c,
                         const struct choice *choice)
{
    struct model m = list_of(d, c);

    if (mf_safetensors_open(path, &m.file) != MF_OK) abort();
    open_walk(&m, choice);
    feed(&m);
    for (size_t v = 0; v < m.net->values; ++v)
        if (mf_value_is_weight(&m.net->value[v])) put_weight(&m, (int)v);
    mf_walk_run(m.walk, m.list);
    compare_all(&m);
    mf_safetensors_close(m.file);
    close_model(&m);
}

/* The last layer starts with 0. */
static void finds_nothing(const struct device *d)
{
    static const struct mf_layout layout = {0};
    struct model m = list_of(d, &cases[0]);
    struct mf_weights w = {.net = m.net, .list = m.list, .queue = d->q, .layout = &layout, .ways = 1};
    float *y;

    open_walk(&m, &(struct choice){1, 0, MF_RECOMPUTE_NONE, MF_WALK_PLANNED});
    w.walk = m.walk;
    feed(&m);
    mf_weights_start(&w, 7);
    mf_walk_run(m.walk, m.list);
    y = get(&m, m.y);
    for (size_t i = 0; i < count_of(&m, m.y); ++i) CHECK(y[i] == 0);
    free(y);
    close_model(&m);
}

/* Rows [n][height][width c] of images, each moved around by @p by rows and columns. */
static void move(const struct unet_case *c, size_t by, const float *from, float *to)
{
    for (size_t k = 0; k < c->n; ++k, from += c->dims[0] * c->dims[1] * c->dims[2])
        for (size_t y = 0; y < c->dims[0]; ++y)
            for (size_t x = 0; x < c->dims[1]; ++x, to += c->dims[2])
                memcpy(to, from + ((y + by) % c->dims[0] * c->dims[1] + (x + by) % c->dims[1]) * c->dims[2],
                       c->dims[2] * sizeof *to);
}

/* A periodic network of a moved image gives the moved output; another one does not. */
static void is_periodic(const struct device *d, const char *word, int periodic)
{
    const struct unet_case c = {"moved", word, 2, {16, 24, 2}, 0};
    struct model m = list_of(d, &c);
    float *x, *y, *want, *moved, off = 0;
    size_t n;

    open_walk(&m, &(struct choice){1, 0, MF_RECOMPUTE_NONE, MF_WALK_PLANNED});
    for (size_t v = 0; v < m.net->values; ++v)
        if (mf_value_is_weight(&m.net->value[v])) put_weight(&m, (int)v);
    feed(&m);
    x = get(&m, m.x);
    n = count_of(&m, m.y);
    moved = MF_MUST(calloc(n, sizeof *moved), "numbers");
    want = MF_MUST(calloc(n, sizeof *want), "numbers");
    mf_walk_run(m.walk, m.list);
    y = get(&m, m.y);
    move(&c, 4, y, want);
    move(&c, 4, x, moved);
    free(y);
    put(&m, m.x, moved);
    mf_walk_run(m.walk, m.list);
    y = get(&m, m.y);
    for (size_t i = 0; i < n; ++i) off = fmaxf(off, fabsf(y[i] - want[i]));
    CHECK_SAYS((off < 1e-4F) == periodic, "%s: off by %g", word, (double)off);
    free(x);
    free(y);
    free(want);
    free(moved);
    close_model(&m);
}

/* -- parameters -- */

/* @p hashes: the sum over their names with extents. No memory is taken for weights. */
static void counts(const struct device *d, const char *word, const size_t dims[3], size_t conditions, size_t numbers,
                   size_t arrays, uint64_t hashes)
{
    const struct unet_case c = {word, word, 1, {dims[0], dims[1], dims[2]}, conditions};
    struct model m = list_of(d, &c);

    CHECK_SAYS(mf_weights_count(m.net, 0) == numbers, "%s: %zu numbers", word, mf_weights_count(m.net, 0));
    for (size_t v = 0; v < m.net->values; ++v) {
        const struct mf_value *value = &m.net->value[v];
        uint64_t hash = mf_fnv(MF_FNV, value->name, strlen(value->name));

        if (!mf_value_is_weight(value)) continue;
        --arrays;
        for (int i = 0; i < value->shape.n; ++i) {
            char *text = mf_format(" %zu", value->shape.d[i]);

            hash = mf_fnv(hash, text, strlen(text));
            free(text);
        }
        hashes -= hash;
    }
    CHECK_SAYS(arrays == 0 && hashes == 0, "%s: other names or extents", word);
    close_model(&m);
}

/* -- files -- */

/* A file with an array @p name beside its own. */
static int loads(const struct device *d, const char *name, size_t ndim, const float *numbers)
{
    static const struct mf_layout layout = {0};
    const char *path = scratch_file("unet.safetensors");
    struct model m = list_of(d, &cases[0]);
    struct mf_weights w = {.net = m.net, .list = m.list, .queue = d->q, .layout = &layout, .ways = 1};
    struct mf_safetensors_entry *entry = MF_MUST(calloc(m.net->values + 1, sizeof *entry), "arrays");
    size_t n = 1;
    int rc;

    open_walk(&m, &(struct choice){1, 1, MF_RECOMPUTE_NONE, MF_WALK_PLANNED});
    w.walk = m.walk;
    entry[0] = (struct mf_safetensors_entry){name, MF_F32, ndim, {1, 1, 2, 2}, numbers, NULL};
    for (size_t v = 0; v < m.net->values; ++v) {
        const struct mf_value *value = &m.net->value[v];

        if (!mf_value_is_weight(value)) continue;
        entry[n] =
            (struct mf_safetensors_entry){value->name, MF_F32, (size_t)value->shape.n, {0}, get(&m, (int)v), NULL};
        memcpy(entry[n++].dims, value->shape.d, sizeof value->shape.d);
    }
    CHECK(mf_safetensors_write(path, NULL, n, entry) == MF_OK);
    CHECK(mf_safetensors_open(path, &m.file) == MF_OK);
    rc = mf_weights_load(&w, m.file, NULL);
    mf_safetensors_close(m.file);
    while (n-- > 1) free((void *)(uintptr_t)entry[n].data);
    free(entry);
    close_model(&m);
    return rc;
}

/* Published files have these, and they say nothing new. */
static void loads_filters(const struct device *d)
{
    const float quarters[] = {0.25F, 0.25F, 0.25F, 0.25F}, other[] = {0.25F, 0.25F, 0.25F, 0.3F};

    CHECK_SAYS(loads(d, "model.enc.4x6_down.conv0.resample_filter", 4, quarters) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(loads(d, "model.dec.8x12_up.skip.resample_filter", 4, quarters) == MF_OK, "%s", mf_err_text());
    CHECK(loads(d, "model.dec.8x12_up.skip.resample_filter", 4, other) == MF_INPUT);
    CHECK(loads(d, "model.dec.8x12_up.skip.resample_filter", 3, quarters) == MF_INPUT);
    CHECK(loads(d, "model.dec.9x12_up.skip.resample_filter", 4, quarters) == MF_INPUT);
    CHECK(strstr(mf_err_text(), "the model has no 'model.dec.9x12_up.skip.resample_filter'"));
}

/* -- refusals -- */

static void refuses(const struct device *d, const char *word, size_t n, const size_t dims[3], size_t conditions,
                    const char *says)
{
    const struct unet_case c = {word, word, n, {dims[0], dims[1], dims[2]}, conditions};
    struct model m = {.d = d, .c = &c, .net = mf_net_new()};
    struct mf_build b = {.list = m.list = mf_list_new(m.net, "unet")};

    CHECK(build(&m, &b) == MF_USAGE);
    CHECK_SAYS(strstr(mf_err_text(), says), "%s: %s", word, mf_err_text());
    close_model(&m);
}

static void refuses_all(const struct device *d)
{
    const size_t odd[] = {30, 33, 1}, even[] = {32, 32, 1}, tiny[] = {1, 2, 1};

    refuses(d, "unet", 1, odd, 0, "images of 30 x 33 pixels: a unet with --patch 2 and --depth 2 wants multiples of 4");
    refuses(d, "unet", 1, odd, 0, "the nearest are 32 x 32");
    refuses(d, "unet:depth=3", 1, tiny, 0, "the nearest are 8 x 8");
    refuses(d, "unet:width=30", 1, even, 0, "--width 30: some layers have channels that norms cannot divide");
    refuses(d, "unet:width=30", 1, even, 0, "try: --width 28");
    refuses(d, "unet:depth=9", 1, even, 0, "at most 8 levels of 16 blocks");
    refuses(d, "adm-imagenet64", 1, even, 1000, "makes images of 64 x 64 pixels with 3 channels, of 1000 classes");
    refuses(d, "adm-imagenet64:width=64", 1, even, 1000, "has the sizes of its published weights");
}

static void refuses_volumes(void)
{
    struct mf_net *net = mf_net_new();
    struct mf_build b = {.list = mf_list_new(net, "unet")};
    const int x = mf_build_input(&b, "x", (struct mf_shape){MF_F32, 5, {1, 8, 8, 8, 1}});
    const int noise = mf_build_input(&b, "noise", (struct mf_shape){MF_F32, 2, {1, 24}});
    const struct mf_arch *arch = mf_arch_find("unet");

    CHECK(arch->denoise(&b, &(struct mf_arch_denoise){x, noise, -1}, &arch->standard) < 0);
    CHECK(mf_build_end(&b) == MF_USAGE && strstr(mf_err_text(), "a unet reads images, and the samples are volumes"));
    CHECK(mf_arch_answers(arch) == MF_USAGE && strstr(mf_err_text(), "--arch unet removes noise"));
    mf_net_free(net);
}

/* @p argv[1]: the file. A further word: the network of published weights, forward alone. */
int main(int argc, char **argv)
{
    static const struct choice choices[] = {{0, 0, MF_RECOMPUTE_NONE, MF_WALK_PLANNED},
                                            {1, 0, MF_RECOMPUTE_NONE, MF_WALK_PLANNED},
                                            {1, 0, MF_RECOMPUTE_CHEAP, MF_WALK_PLANNED},
                                            {1, 0, MF_RECOMPUTE_BLOCKS, MF_WALK_CHECKED}};
    struct device d = device_open(1, 1, 0);
    struct mf_comm self;

    NEEDS(1, "FILE");
    if (argc > 2) {
        like_pytorch(&d, argv[1], &whole, &(struct choice){1, 1, MF_RECOMPUTE_NONE, MF_WALK_PLANNED});
        device_close(&d);
        return failures != 0;
    }
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k)
        for (size_t i = 0; i < sizeof choices / sizeof *choices; ++i)
            if (choices[i].mode == MF_WALK_PLANNED || !d.be->host_mem)
                like_pytorch(&d, argv[1], &cases[k], &choices[i]);
    finds_nothing(&d);
    is_periodic(&d, "unet-periodic:width=8", 1);
    is_periodic(&d, "unet:width=8", 0);
    mf_comm_self(&self);
    scratch_open(&self);
    loads_filters(&d);
    scratch_close(&self);
    counts(&d, "unet", (const size_t[]){32, 32, 1}, 1, 467548, 145, 0x99598edab7d99c7e);
    counts(&d, "adm-imagenet64", (const size_t[]){64, 64, 3}, 1000, 295899267, 541, 0x138a86ebe53a2091);
    refuses_all(&d);
    refuses_volumes();
    device_close(&d);
    return failures != 0;
}
