/* A model runs alone: made from a word, saved, opened again, with the same answers. Opening and closing
 * leave no memory. Words say networks, and bad ones are refused. */
#include <malloc.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/model/model.h"
#include "src/model/weights.h"
#include "src/net/build.h"
#include "tests/device.h"
#include "tests/scratch.h"

enum { EDGE = 8, VOXELS = EDGE * EDGE, SAMPLES = 5, BATCH = 3, OUTPUTS = 3, TIMES = 1000 };

static mf_name names[OUTPUTS] = {"a", "b", "c"};
static double mean[OUTPUTS] = {1, -2, 3}, deviation[OUTPUTS] = {0.5, 2, 4};
static uint8_t sample[SAMPLES][VOXELS];

static struct mf_model_card request(const char *word, int classes)
{
    struct mf_model_card c = {.dims = {1, EDGE, EDGE, 1},
                              .phases = 2,
                              .outputs = {OUTPUTS, names, classes, classes ? NULL : mean, classes ? NULL : deviation}};

    CHECK_SAYS(mf_arch_read(word, &c.arch, &c.args, NULL, NULL) == MF_OK, "%s", mf_err_text());
    CHECK(mf_arch_complete(c.arch, &c.args) == MF_OK);
    return c;
}

/* Answers of all samples, in walks of @p each. */
static void answers(struct mf_model *m, size_t each, float answer[SAMPLES][OUTPUTS])
{
    for (size_t k = 0; k < SAMPLES; k += each) {
        const size_t n = SAMPLES - k < each ? SAMPLES - k : each;

        for (size_t r = 0; r < n; ++r) CHECK(mf_model_feed(m, r, sample[k + r]) == MF_OK);
        mf_model_walk(m, n);
        CHECK(mf_model_output(m, n, answer[k]) == MF_OK);
    }
}

static void runs(const struct device *d, const char *word, int classes)
{
    const char *path = scratch_file("model.safetensors");
    struct mf_model_card c = request(word, classes);
    struct mf_experts first;
    float made[SAMPLES][OUTPUTS], opened[SAMPLES][OUTPUTS];
    struct mf_model *m;
    char *same;

    if (c.args.experts > 0) {
        mf_experts_first(&first, (size_t)c.args.experts);
        c.args.list = &first;
    }
    CHECK_SAYS(mf_model_make(&c, 7, BATCH, d->q, &m) == MF_OK, "%s: %s", word, mf_err_text());
    answers(m, BATCH, made);
    CHECK_SAYS(mf_model_save(m, path) == MF_OK, "%s", mf_err_text());
    mf_model_close(m);
    CHECK_SAYS(mf_model_open(path, BATCH, d->q, &m) == MF_OK, "%s: %s", word, mf_err_text());
    answers(m, 1, opened);
    for (size_t i = 0; i < SAMPLES * OUTPUTS; ++i)
        CHECK_NEAR((double)opened[i / OUTPUTS][i % OUTPUTS], (double)made[i / OUTPUTS][i % OUTPUTS], 1e-5);
    answers(m, BATCH, opened);
    CHECK_SAYS(memcmp(made, opened, sizeof made) == 0, "%s: the file answers otherwise", word);
    same = mf_arch_word(mf_model_says(m)->arch, &mf_model_says(m)->args);
    CHECK_SAYS(strcmp(same, word) == 0, "%s, not %s", same, word);
    for (size_t k = 0; classes && k < SAMPLES; ++k) CHECK_NEAR((double)(made[k][0] + made[k][1] + made[k][2]), 1, 1e-5);
    for (size_t k = 0; !classes && k < SAMPLES; ++k) CHECK(fabs((double)made[k][2] - mean[2]) < 8 * deviation[2]);
    sample[0][0] = 2;
    CHECK(mf_model_feed(m, 0, sample[0]) == MF_INPUT);
    sample[0][0] = 0;
    mf_model_close(m);
    free(same);
}

/* Of images a request may say their extents alone; outputs need names in a file, and in no walk. */
static void says_little(const struct device *d)
{
    const char *path = scratch_file("little.safetensors");
    struct mf_model_card c = request("mlp:width=8,depth=2", 1);
    float image[VOXELS], made[OUTPUTS], opened[OUTPUTS];
    struct mf_model *m;

    for (size_t i = 0; i < VOXELS; ++i) image[i] = (float)(i % 5);
    c.phases = 0;
    c.outputs.name = NULL;
    CHECK_SAYS(mf_model_make(&c, 7, 1, d->q, &m) == MF_OK, "%s", mf_err_text());
    CHECK(mf_model_save(m, path) == MF_USAGE && strstr(mf_err_text(), "its outputs have no names"));
    c.outputs.name = names;
    CHECK_SAYS(mf_model_save(m, path) == MF_OK, "%s", mf_err_text());
    for (int k = 0; k < 2; ++k) {
        CHECK(mf_model_feed(m, 0, image) == MF_OK);
        mf_model_walk(m, 1);
        CHECK(mf_model_output(m, 1, k ? opened : made) == MF_OK);
        mf_model_close(m);
        m = NULL;
        if (k == 0) CHECK_SAYS(mf_model_open(path, 1, d->q, &m) == MF_OK, "%s", mf_err_text());
    }
    CHECK(memcmp(made, opened, sizeof made) == 0);
}

/* A part of a layer that ranks cut has a start. Without the other ranks it goes into no file as the whole. */
static void saves_no_part(const struct device *d)
{
    static const struct mf_layout layout = {0};
    static const char *const nothing[] = {NULL};
    const char *path = scratch_file("part.safetensors");
    struct mf_net *net = mf_net_new();
    struct mf_build b = {.list = mf_list_new(net, "part"), .split = &(struct mf_partners){MF_GROUP_ALL, 2, 0}};
    const int x = mf_build_input(&b, "x", (struct mf_shape){.type = MF_F32, .n = 2, .d = {2, 4}});
    const int y = mf_build_linear_first(&b, "fc1", x, 1, 6);
    struct mf_weights w = {.net = net, .list = b.list, .queue = d->q, .layout = &layout, .ways = 1};
    struct mf_walk *walk = NULL;
    int status = 0;
    pid_t child;

    net->value[y].kept = 1;
    CHECK(mf_pass_plan(b.list, d->q) == MF_OK);
    mf_pass_live(net);
    CHECK(mf_walk_open(&walk, net, d->q, MF_WALK_PLANNED, NULL) == MF_OK);
    w.walk = walk;
    mf_weights_start(&w, 7);
    child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(0);
        _exit(mf_weights_save(&w, path, nothing));
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == MF_BROKEN);
    mf_walk_close(walk);
    mf_list_release(b.list, d->q);
    mf_net_free(net);
}

/* Opens the file that is there. The test runs without the caches of malloc, whose free pieces count as used. */
static void leaves_nothing(const struct device *d)
{
    const char *path = scratch_file("model.safetensors");
    const struct mf_model_wish wrong = {.batch = BATCH, .layers = 1, .layer = &(const char *){"none"}};
    size_t before = 0;
    struct mf_model *m;

    for (int k = 0; k < TIMES; ++k) {
        CHECK(mf_model_open(path, BATCH, d->q, &m) == MF_OK);
        mf_model_close(m);
        CHECK(mf_model_open("/nowhere", BATCH, d->q, &m) == MF_INPUT && !m);
        CHECK(mf_model_open_as(path, &wrong, d->q, &m) == MF_USAGE && !m);
        if (k == 9) before = mallinfo2().uordblks;
    }
    CHECK(mf_arena_live(d->arena) == 0 && mf_arena_live(d->host) == 0);
    CHECK_SAYS(mallinfo2().uordblks <= before, "%zu bytes remain", mallinfo2().uordblks - before);
}

static void words(void)
{
    static const char *const bad[][2] = {{"cnm:width=4", "there is no network 'cnm'; there are mlp, cnn, vit, moe"},
                                         {"cnn:colour=4", "--arch cnn:colour=4 has 'colour', which no network has"},
                                         {"cnn:width=4x", "width=4x must be a whole, positive number"},
                                         {"cnn:width=0", "must be a whole, positive number"},
                                         {"cnn:width=", "must be a whole, positive number"},
                                         {"cnn:width", "'width' is no size; try: cnn:width=64"},
                                         {"cnn:width=4,", "'' is no size"},
                                         {"cnn:width=4,depth=2,width=8", "says width twice"},
                                         {"moe:features=vgg", "features must be one of none, cnn"}};
    struct mf_arch_args args;
    const struct mf_arch *arch;

    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        CHECK(mf_arch_read(bad[k][0], &arch, &args, NULL, NULL) == MF_USAGE);
        CHECK_SAYS(strstr(mf_err_text(), bad[k][1]), "%s: %s", bad[k][0], mf_err_text());
    }
    args = (struct mf_arch_args){.depth = 5};
    CHECK(mf_arch_read("vit", &arch, &args, NULL, NULL) == MF_OK && strcmp(arch->name, "vit") == 0 && args.depth == 5);
}

int main(void)
{
    struct device d = device_open(1, 1, 0);
    struct mf_comm self;

    mf_comm_self(&self);
    scratch_open(&self);
    for (size_t i = 0; i < sizeof sample; ++i) sample[i / VOXELS][i % VOXELS] = i * i % 7 < 3;
    runs(&d, "mlp:width=8,depth=2", 0);
    runs(&d, "vit:width=8,depth=2,heads=2,patch=4,experts=4,top-k=2,temperature=0.8,balance=0.1", 1);
    runs(&d, "moe:width=8,depth=1,experts=3,top-k=1,temperature=0.7,features=cnn", 0);
    runs(&d, "convnext:width=4,depth=2,patch=1,blocks=2,deep=1", 1);
    runs(&d, "cnn:width=4,depth=2,dropout=0.1", 1);
    says_little(&d);
    saves_no_part(&d);
    leaves_nothing(&d);
    words();
    scratch_close(&self);
    device_close(&d);
    return failures != 0;
}
