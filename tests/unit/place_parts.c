/* Every network is cut into embeddings, blocks and head, in the order of its list. The parts together hold what the net
 * takes. One device with all of them needs that. A tied table is in two parts and counts once. */
#include "src/place/device_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/model/decoder.h"
#include "src/model/registry.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "tests/device.h"

/* -- nets -- */

static void plan_all(struct mf_net *net, struct mf_queue *queue)
{
    for (size_t k = 0; k < net->lists; ++k) {
        mf_pass_fuse(net->list[k], MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
        CHECK_SAYS(mf_pass_plan(net->list[k], queue) == MF_OK, "%s", mf_err_text());
    }
    mf_pass_live(net);
}

static void give(struct mf_net *net, struct mf_queue *queue)
{
    for (size_t k = 0; k < net->lists; ++k) mf_list_release(net->list[k], queue);
    mf_net_free(net);
}

static size_t is_in(const struct mf_parts *parts, size_t array, size_t part)
{
    size_t n = 0;

    for (size_t k = 0; k < parts->array[array].parts; ++k) n += parts->array[array].part[k] == part;
    return n;
}

/* Everything on one device is what the net takes; each part alone has what stands in its row. */
static void check_bytes(const struct mf_net *net, const struct mf_parts *parts)
{
    size_t lasting = 0, floor = 0, *bytes = malloc(parts->count * sizeof *bytes);
    struct mf_device_map p;

    for (size_t a = 0; a < parts->arrays; ++a) lasting += parts->array[a].bytes;
    for (size_t k = 0; k < net->lists; ++k)
        if (net->list[k]->floor[MF_PLACE_DEVICE] > floor) floor = net->list[k]->floor[MF_PLACE_DEVICE];
    CHECK(lasting == net->lasting[MF_PLACE_DEVICE]);
    mf_device_map_new(&p, parts->count);
    mf_device_map_bytes(&p, parts, 1, bytes);
    CHECK_SAYS(bytes[0] == lasting + floor, "%zu is not %zu and %zu", bytes[0], lasting, floor);
    CHECK(mf_device_map_boundaries(&p) == 0);
    for (size_t k = 0; k < parts->count; ++k) p.device[k] = k;
    mf_device_map_bytes(&p, parts, parts->count, bytes);
    for (size_t k = 0; k < parts->count; ++k) {
        const struct mf_part *part = &parts->part[k];
        unsigned char *member = calloc(parts->count, 1);
        size_t holds = 0;

        for (size_t a = 0; a < parts->arrays; ++a) holds += is_in(parts, a, k) * parts->array[a].bytes;
        CHECK(holds == part->weights + part->caches && bytes[k] == holds + part->work);
        member[k] = 1;
        CHECK(mf_parts_bytes(parts, member) == bytes[k]);
        free(member);
    }
    CHECK(mf_device_map_boundaries(&p) == parts->count - 1);
    mf_device_map_free(&p);
    free(bytes);
}

/* The names in order, divided by blanks. */
static void check_names(const char *what, const struct mf_parts *parts, const char *want)
{
    char text[4000] = "";

    for (size_t k = 0; k < parts->count; ++k) {
        strcat(text, k ? " " : "");
        strcat(text, parts->part[k].name);
    }
    CHECK_SAYS(strcmp(text, want) == 0, "%s has the parts %s", what, text);
}

/* -- language models -- */

/* One weight is elsewhere than its part, and so is the node that reads it. */
static void move_a_weight(const struct mf_parts *parts, const struct mf_list *list)
{
    struct mf_device_map p;
    struct mf_placed_array other = {0, 1};
    size_t bytes[2], moved = 0, *device;

    mf_device_map_new(&p, parts->count);
    while (strcmp(parts->array[other.array].name, "layers.1.in.weight") != 0) ++other.array;
    p.exceptions = 1;
    p.exception = malloc(sizeof *p.exception);
    p.exception[0] = other;
    device = malloc(list->nodes * sizeof *device);
    mf_device_map_nodes(&p, parts, list, device);
    for (size_t i = 0; i < list->nodes; ++i) {
        moved += device[i];
        CHECK(device[i] == (strcmp(list->node[i].name, "layers.1.in") == 0));
    }
    CHECK(moved == 1);
    mf_device_map_bytes(&p, parts, 2, bytes);
    CHECK(bytes[1] == parts->array[other.array].bytes + parts->part[2].work);
    free(device);
    mf_device_map_free(&p);
}

static void language(struct mf_queue *queue, int tied)
{
    const struct mf_language m = {.family = MF_LLAMA,
                                  .vocabulary = 50,
                                  .context = 64,
                                  .layers = 3,
                                  .width = 32,
                                  .embedding = 32,
                                  .heads = 4,
                                  .key_heads = 2,
                                  .head_width = 8,
                                  .inner = 48,
                                  .act = MF_ACT_SILU,
                                  .epsilon = 1e-5,
                                  .tied = tied,
                                  .last_norm = 1,
                                  .rope = {.kind = MF_ROPE_PLAIN, .base = 10000}};
    const struct mf_decoder_room room = {2, 4, 8};
    struct mf_decoder_list prompt, step;
    struct mf_net *net = mf_net_new();
    struct mf_parts parts;
    size_t numbers = 0;

    CHECK(mf_decoder_build(&m, &room, NULL, net, "prompt", 16, 1, &prompt) == MF_OK);
    CHECK(mf_decoder_build(&m, &room, NULL, net, "step", 2, 2, &step) == MF_OK);
    plan_all(net, queue);
    mf_parts_find(net, prompt.list, &parts);
    check_names("a decoder", &parts, "embeddings layers.0 layers.1 layers.2 head");
    check_bytes(net, &parts);
    for (size_t a = 0; a < parts.arrays; ++a)
        if (!parts.array[a].is_cache) numbers += parts.array[a].bytes / sizeof(float);
    CHECK(numbers >= mf_language_parameters(&m) && numbers < mf_language_parameters(&m) + 16 * parts.arrays);
    CHECK(parts.part[0].caches == 0 && parts.part[1].caches == 2 * room.pages * MF_KEPT_PAGE * 16 * sizeof(float));
    for (size_t k = 0; k + 1 < parts.count; ++k)
        CHECK_SAYS(parts.part[k].leaves == 16 * m.width * sizeof(float), "part %zu gives %zu bytes", k,
                   parts.part[k].leaves);
    CHECK(parts.part[4].leaves == 0 && parts.part[1].operations > 0 &&
          parts.part[1].operations == parts.part[3].operations);
    CHECK(mf_parts_sharing(&parts, 0, parts.count) == (tied ? 4 : parts.count));
    CHECK(mf_parts_sharing(&parts, 4, parts.count) == (tied ? 0 : parts.count));
    CHECK(mf_parts_sharing(&parts, 4, 0) == parts.count && mf_parts_sharing(&parts, 1, parts.count) == parts.count);
    CHECK((parts.part[4].numbers == 50 * 32 + 32) && parts.part[0].numbers == 50 * 32);

    move_a_weight(&parts, step.list);
    mf_parts_free(&parts);
    give(net, queue);
}

/* -- networks of images -- */

static void network(struct mf_queue *queue, const char *word, size_t edge, const char *want)
{
    const struct mf_arch *arch;
    struct mf_arch_args args = {0};
    struct mf_net *net = mf_net_new();
    struct mf_build b = {.list = mf_list_new(net, "answer")};
    const struct mf_shape shape = {.type = MF_F32, .n = 5, .d = {2, 1, edge, edge, 1}};
    struct mf_arch_denoise in = {.condition = -1};
    struct mf_parts parts;
    double operations = 0;
    size_t before = 0;
    int y;

    CHECK_SAYS(mf_arch_read(word, &arch, &args, NULL, NULL) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(mf_arch_complete(arch, &args) == MF_OK, "%s", mf_err_text());
    in.x = mf_build_input(&b, "x", shape);
    if (arch->forward) {
        y = arch->forward(&b, in.x, &args, 3);
    } else {
        in.noise = mf_build_input(&b, "level", (struct mf_shape){MF_F32, 2, {2, mf_arch_noise_width(&args)}});
        y = arch->denoise(&b, &in, &args);
    }
    CHECK_SAYS(mf_build_end(&b) == MF_OK, "%s", mf_err_text());
    net->value[y].kept = 1;
    plan_all(net, queue);
    mf_parts_find(net, b.list, &parts);
    check_names(word, &parts, want);
    check_bytes(net, &parts);
    for (size_t i = 0; i < b.list->nodes; ++i) operations += mf_node_operations(net, &b.list->node[i]);
    for (size_t k = 0; k < parts.count; ++k) {
        operations -= parts.part[k].operations;
        before += parts.part[k].leaves == 0;
        CHECK(mf_parts_sharing(&parts, k, parts.count) == parts.count);
    }
    CHECK(fabs(operations) < 1e-3 && before == 1);
    mf_parts_free(&parts);
    give(net, queue);
}

int main(void)
{
    struct device d = device_open(1, 0, 0);

    language(d.q, 0);
    language(d.q, 1);
    network(d.q, "mlp:width=8,depth=2", 8, "layers.0 layers.1 head");
    network(d.q, "cnn:width=8,depth=2", 16, "embeddings stages.0 stages.1 head");
    network(d.q, "vit:width=16,depth=2,heads=2,patch=4", 8, "embeddings blocks.0 blocks.1 head");
    network(d.q, "convnext:width=8,depth=2,blocks=1,deep=2,patch=2", 8,
            "embeddings stages.0.blocks.0 stages.0.blocks.1 stages.1.downsample stages.1.blocks.0 head");
    network(d.q, "moe:width=8,experts=2", 8, "model");
    network(
        d.q, "unet:width=16,depth=2,blocks=1,patch=1", 16,
        "embeddings model.enc.16x16_block0 model.enc.8x8_down model.enc.8x8_block0 model.dec.8x8_in0 model.dec.8x8_in1 "
        "model.dec.8x8_block0 model.dec.8x8_block1 model.dec.16x16_up model.dec.16x16_block0 "
        "model.dec.16x16_block1 head");
    device_close(&d);
    return failures != 0;
}
