/* Maps by patterns: names of parts, weights, blocks by number and modules of transformers, with ranges and signs. The
 * longest counts. A file as transformers writes it is read, and written again. Guessed sizes and the greedy algorithm
 * are those of their source. Devices are chosen by words. */
#include "src/place/map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/place/devices.h"
#include "src/place/guess.h"
#include "src/place/strategy.h"
#include "tests/check.h"
#include "tests/scratch.h"

enum { LAYERS = 12 };

static const struct mf_language gpt2 = {.family = MF_GPT2, .layers = LAYERS, .tied = 1};

/* -- the parts of a GPT-2, without bytes -- */

static void add(struct mf_parts *parts, const char *name, size_t first, size_t second)
{
    struct mf_part_array *a = &parts->array[parts->arrays++];

    *a = (struct mf_part_array){.name = mf_format("%s", name), .bytes = 64, .parts = 1 + (second > 0)};
    a->part = malloc(2 * sizeof *a->part);
    a->part[0] = first;
    a->part[1] = second;
}

static struct mf_parts make_parts(void)
{
    static const char *const weights[] = {"first.weight", "qkv.weight", "out.weight", "in.weight", "inner.weight"};
    struct mf_parts parts = {.count = LAYERS + 2};

    parts.part = calloc(parts.count, sizeof *parts.part);
    parts.array = calloc(6 * LAYERS + 4, sizeof *parts.array);
    parts.part[0].name = mf_format("embeddings");
    parts.part[LAYERS + 1].name = mf_format("head");
    add(&parts, "tokens.weight", 0, LAYERS + 1);
    add(&parts, "positions.weight", 0, 0);
    for (size_t p = 1; p <= LAYERS; ++p) {
        char name[60];

        parts.part[p].name = mf_format("layers.%zu", p - 1);
        for (size_t k = 0; k < 5; ++k) {
            snprintf(name, sizeof name, "layers.%zu.%s", p - 1, weights[k]);
            add(&parts, name, p, 0);
        }
        snprintf(name, sizeof name, "cache.keys.%zu", p - 1);
        add(&parts, name, p, 0);
        parts.array[parts.arrays - 1].is_cache = 1;
    }
    add(&parts, "last.weight", LAYERS + 1, 0);
    return parts;
}

static struct mf_place_devices make_devices(void)
{
    static const char *const names[] = {"cuda:0", "cuda:1", "cpu"};
    struct mf_place_devices d = {.count = 3};

    d.device = calloc(3, sizeof *d.device);
    for (size_t k = 0; k < 3; ++k) {
        snprintf(d.device[k].name, sizeof d.device[k].name, "%s", names[k]);
        d.device[k].free = 1 << 20;
    }
    d.device[2].is_cores = 1;
    return d;
}

/* -- maps -- */

static const struct {
    const char *map, *becomes;
} lawful[] = {
    {"*=cuda:1", "embeddings=cuda:1,layers.0-11=cuda:1,head=cuda:1"},
    {"layers.0-5=cuda:0,*=cuda:1", "embeddings=cuda:1,layers.0-5=cuda:0,layers.6-11=cuda:1,head=cuda:1"},
    {"embeddings=0,layer.0=cuda:0,layer.1-11=cuda:1,head=cuda:1",
     "embeddings=cuda:0,layers.0=cuda:0,layers.1-11=cuda:1,head=cuda:1"},
    {"layers.*=cuda,layers.1?=cuda:1,head=cuda:1,embeddings=cpu",
     "embeddings=cpu,layers.0-9=cuda:0,layers.10-11=cuda:1,head=cuda:1"},
    {"*=cuda:0,layers.3=cuda:1,layers.*=cpu",
     "embeddings=cuda:0,layers.0-2=cpu,layers.3=cuda:1,layers.4-11=cpu,head=cuda:0"},
    {"*=cuda:0,layers.2.in.weight=cpu", "embeddings=cuda:0,layers.0-11=cuda:0,head=cuda:0,layers.2.in.weight=cpu"},
    {"*=cuda:0,layers.10-11.inner=cpu",
     "embeddings=cuda:0,layers.0-11=cuda:0,head=cuda:0,layers.10.inner.weight=cpu,layers.11.inner.weight=cpu"},
    {"*=cuda:0,*.qkv.*=cuda:1,layers.1-11.qkv=cuda:0",
     "embeddings=cuda:0,layers.0-11=cuda:0,head=cuda:0,layers.0.qkv.weight=cuda:1"},
    {"transformer=cuda:0,transformer.h.11.mlp=cuda:1,lm_head=cuda:1,transformer.ln_f=cuda:1",
     "embeddings=cuda:0,layers.0-11=cuda:0,head=cuda:1,layers.11.in.weight=cuda:1,layers.11.inner.weight=cuda:1"},
    {"h.0-3=cuda:1,=cuda:0", "embeddings=cuda:0,layers.0-3=cuda:1,layers.4-11=cuda:0,head=cuda:0"},
};

static const struct {
    const char *map;
    int code;
    const char *says;
} refused[] = {
    {"layers.*=cuda:0", MF_USAGE, "gives no device to embeddings, head; try: '*=cuda:0' for all others"},
    {"*=cuda:0,layers.12=cuda:1", MF_USAGE, "'layers.12' meets no part and no weight; parts are embeddings .. head"},
    {"*=cuda:0,hed=cuda:1", MF_USAGE, "did you mean 'head'?"},
    {"*=cuda:7", MF_DEVICE, "device 'cuda:7' is not there; there are cuda:0, cuda:1, cpu"},
    {"*=disk", MF_USAGE, "'disk' is no device"},
    {"*=cuda:0,head", MF_USAGE, "'head' names no device"},
    {"layers.*=0,head=0,transformer.wte=0", MF_USAGE, "gives no device to positions.weight"},
    {"no-such-file", MF_INPUT, "no-such-file"},
};

static int place(const char *text, const struct mf_parts *parts, const struct mf_place_devices *devices,
                 struct mf_device_map *p)
{
    struct mf_map map;
    int rc = mf_map_read(text, &map);

    *p = (struct mf_device_map){.parts = 0};
    if (rc == MF_OK) rc = mf_map_place(&map, parts, devices, &gpt2, p);
    mf_map_free(&map);
    return rc;
}

/* Ranks stand in their order, and words that are no device are refused. */
static void names_of_runs(void)
{
    static const struct {
        const char *map, *says;
    } wrong[] = {{"*=foo", "'foo' is no device"},
                 {"*=cuda:01", "'cuda:01' is no device"},
                 {"*=rank:1", "names rank:1, and 1 device;"},
                 {"head=cpu,*=rank:0", "name ranks alone"}};
    struct mf_place_devices named;
    struct mf_map map;

    CHECK(mf_map_read("head=rank:1,*=rank:0", &map) == MF_OK && mf_map_devices(&map, &named) == MF_OK);
    CHECK(named.count == 2 && strcmp(named.device[0].name, "rank:0") == 0);
    mf_place_devices_free(&named);
    mf_map_free(&map);
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        CHECK(mf_map_read(wrong[k].map, &map) == MF_OK && mf_map_devices(&map, &named) == MF_USAGE);
        CHECK_SAYS(strstr(mf_err_text(), wrong[k].says), "%s: %s", wrong[k].map, mf_err_text());
        mf_place_devices_free(&named);
        mf_map_free(&map);
    }
}

static void patterns(const struct mf_parts *parts, const struct mf_place_devices *devices)
{
    struct mf_device_map p;

    for (size_t k = 0; k < sizeof lawful / sizeof *lawful; ++k) {
        char *text;

        CHECK_SAYS(place(lawful[k].map, parts, devices, &p) == MF_OK, "%s: %s", lawful[k].map, mf_err_text());
        if (p.parts == 0) continue;
        text = mf_device_map_text(&p, parts, devices);
        CHECK_SAYS(strcmp(text, lawful[k].becomes) == 0, "%s becomes %s", lawful[k].map, text);
        mf_device_map_free(&p);
        CHECK_SAYS(place(text, parts, devices, &p) == MF_OK, "%s: %s", text, mf_err_text());
        free(text);
        text = mf_device_map_text(&p, parts, devices);
        CHECK_SAYS(strcmp(text, lawful[k].becomes) == 0, "%s, read again, becomes %s", lawful[k].becomes, text);
        free(text);
        mf_device_map_free(&p);
    }
    {
        struct mf_place_devices named;
        struct mf_map map;

        CHECK(mf_map_read("head=cuda:3,layers.*=cpu,*=cuda:3", &map) == MF_OK);
        CHECK(mf_map_devices(&map, &named) == MF_OK);
        CHECK(named.count == 2 && strcmp(named.device[0].name, "cuda:3") == 0 && named.device[1].is_cores);
        CHECK(mf_map_place(&map, parts, &named, &gpt2, &p) == MF_OK && p.device[0] == 0 && p.device[1] == 1);
        mf_device_map_free(&p);
        mf_place_devices_free(&named);
        mf_map_free(&map);
    }
    names_of_runs();
    for (size_t k = 0; k < sizeof refused / sizeof *refused; ++k) {
        const int rc = place(refused[k].map, parts, devices, &p);

        CHECK_SAYS(rc == refused[k].code && strstr(mf_err_text(), refused[k].says), "%s: %d, %s", refused[k].map, rc,
                   mf_err_text());
        mf_device_map_free(&p);
    }
}

/* -- files -- */

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    if (!f || fputs(text, f) < 0 || fclose(f) != 0) abort();
}

static void files(const struct mf_parts *parts, const struct mf_place_devices *devices)
{
    static const char lines[] =
        "# a map\nembeddings cuda:0\nlayer.0-5: cuda:0\n\nlayer.6-11 = cuda:1 # others\nhead\tcuda:1\n";
    static const char json[] = "{\"transformer.wte\": 0, \"transformer.wpe\": 0, \"transformer.drop\": 0, "
                               "\"transformer.h\": 1, \"transformer.h.0\": \"cpu\", \"transformer.ln_f\": 1, "
                               "\"lm_head\": 1, \"transformer.h.3.attn\": 0}";
    const char *path = scratch_file("map");
    char *text;
    struct mf_device_map p;
    struct mf_json *out;
    struct mf_json *in;

    write_file(path, lines);
    CHECK_SAYS(place(path, parts, devices, &p) == MF_OK, "%s", mf_err_text());
    text = mf_device_map_text(&p, parts, devices);
    CHECK_SAYS(strcmp(text, "embeddings=cuda:0,layers.0-5=cuda:0,layers.6-11=cuda:1,head=cuda:1") == 0, "%s", text);
    free(text);
    mf_device_map_free(&p);
    write_file(path, json);
    CHECK_SAYS(place(path, parts, devices, &p) == MF_OK, "%s", mf_err_text());
    text = mf_device_map_text(&p, parts, devices);
    CHECK_SAYS(strcmp(text, "embeddings=cuda:0,layers.0=cpu,layers.1-11=cuda:1,head=cuda:1,layers.3.qkv.weight=cuda:0,"
                            "layers.3.out.weight=cuda:0") == 0,
               "%s", text);
    out = mf_map_json(&p, parts, devices, &gpt2);
    CHECK(strcmp(mf_json_get_text(out, "transformer.h.0"), "cpu") == 0 && !mf_json_get(out, "transformer.h.3"));
    CHECK(strcmp(mf_json_get_text(out, "transformer.h.3.attn.c_attn"), "cuda:0") == 0);
    CHECK(strcmp(mf_json_get_text(out, "transformer.h.3.mlp.c_fc"), "cuda:1") == 0);
    CHECK(strcmp(mf_json_get_text(out, "lm_head"), "cuda:1") == 0);
    CHECK(strcmp(mf_json_get_text(out, "transformer.wte"), "cuda:0") == 0);
    CHECK(strcmp(mf_json_get_text(out, "transformer.drop"), "cuda:0") == 0);
    mf_device_map_free(&p);
    CHECK(mf_json_save(out, path, path) == MF_OK);
    CHECK_SAYS(place(path, parts, devices, &p) == MF_OK, "%s", mf_err_text());
    in = mf_map_json(&p, parts, devices, &gpt2);
    free(text);
    text = mf_json_string(in);
    {
        char *first = mf_json_string(out);

        CHECK_SAYS(strcmp(first, text) == 0, "%s is read as %s", first, text);
        free(first);
    }
    mf_json_free(in);
    mf_json_free(out);
    free(text);
    mf_device_map_free(&p);
    write_file(path, "{\"transformer\": [0]}");
    CHECK(place(path, parts, devices, &p) == MF_INPUT && strstr(mf_err_text(), "must be a name or a number"));
    write_file(path, "{\"transformer\": 0, \"lm_head\": 0, \"model.layers\": 1}");
    CHECK(place(path, parts, devices, &p) == MF_INPUT && strstr(mf_err_text(), "'model.layers' meets no part"));
    mf_device_map_free(&p);
}

/* Files with changed bytes are read or refused, and nothing else happens. */
static void broken_files(const struct mf_parts *parts, const struct mf_place_devices *devices)
{
    static const char *const whole[] = {"{\"transformer\": 0, \"transformer.h.0\": \"cpu\", \"lm_head\": 1}",
                                        "layers.0-5 cuda:0\n*.qkv.* = cpu\n* cuda:1\n"};
    const char *path = scratch_file("broken");
    unsigned state = 3;
    size_t read = 0;

    for (int k = 0; k < 400; ++k) {
        char text[80];
        struct mf_device_map p;
        int rc;

        snprintf(text, sizeof text, "%s", whole[k % 2]);
        for (int i = 0; i < k % 4; ++i) {
            state = state * 1664525u + 1013904223u;
            text[(state >> 8) % strlen(whole[k % 2])] = (char)(1 + (state >> 20) % 255);
        }
        write_file(path, text);
        rc = place(path, parts, devices, &p);
        CHECK_SAYS(rc == MF_OK || rc == MF_INPUT || rc == MF_DEVICE || rc == MF_USAGE, "%s: %d", text, rc);
        read += rc == MF_OK;
        mf_device_map_free(&p);
    }
    CHECK(read > 0);
}

/* -- the source of the feature -- */

static void guesses(void)
{
    static const struct {
        const char *name;
        size_t layers;
        double total, embeddings, layer;
    } known[] = {{"gpt2", 12, 1.7, 0.15, 0.08},
                 {"facebook/opt-1.3b", 12, 1.7, 0.15, 0.08},
                 {"facebook/opt-6.7b", 12, 1.7, 0.15, 0.08},
                 {"bert-base-uncased", 12, 1.0, 0.12, 0.04},
                 {"bert-large", 24, 1.6, 0.12, 0.04},
                 {"google/t5-small", 6, 1.7, 0.24, 0.12},
                 {"flan-t5-xxl", 36, 6.2, 0.24, 0.12},
                 {"GPT2-XL", 36, 4.1, 0.15, 0.08},
                 {"meta-llama/Llama-2-7b", 12, 4.2, 0.36, 0.2},
                 {"mistral-7b", 12, 4.2, 0.36, 0.2}};
    struct mf_guess g;
    struct mf_parts parts;

    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        mf_guess_find(known[k].name, 0, &g);
        CHECK_SAYS(g.layers == known[k].layers && fabs(g.total - known[k].total) < 1e-9 &&
                       fabs(g.embeddings - known[k].embeddings) < 1e-9 && fabs(g.layer - known[k].layer) < 1e-9,
                   "%s: %zu layers, %g GB", known[k].name, g.layers, g.total);
    }
    mf_guess_find("opt", 3, &g);
    CHECK(g.layers == 3 && fabs(g.total - 0.8) < 1e-9 && fabs(g.head - 0.1) < 1e-9);
    mf_guess_parts(&g, &parts);
    CHECK(parts.count == 5 && strcmp(parts.part[2].name, "layer.1") == 0 &&
          parts.part[4].weights == (size_t)(0.1 * 1073741824.0));
    mf_parts_free(&parts);
}

/* Python's answers to the pseudo-code: capacities, the size of embeddings and of each layer, the device of each. */
static void greedy(void)
{
    static const struct {
        size_t layers, devices;
        double embeddings, layer, capacity[3];
        const char *want;
    } known[] = {
        {6, 2, 0.15, 0.08, {8, 8}, "01101011"},
        {6, 3, 0.15, 0.08, {8, 16, 8}, "10210210"},
        {4, 2, 1, 1, {INFINITY, 8}, "000000"},
        {3, 1, 1, 1, {8}, "00000"},
    };

    for (size_t c = 0; c < sizeof known / sizeof *known; ++c) {
        double layer[8];
        const struct mf_place_sizes sizes = {known[c].layers, known[c].embeddings, layer};
        size_t device[10];
        char text[12];

        for (size_t k = 0; k < known[c].layers; ++k) layer[k] = known[c].layer;
        mf_place_greedy(&sizes, known[c].devices, known[c].capacity, device);
        for (size_t k = 0; k < known[c].layers + 2; ++k) text[k] = (char)('0' + device[k]);
        text[known[c].layers + 2] = '\0';
        CHECK_SAYS(strcmp(text, known[c].want) == 0, "greedy %zu: %s", c, text);
    }
}

/* -- devices -- */

static void devices_by_words(const char *folder)
{
    char *path = mf_format("%s/h100x8.json", folder);
    const char *words[] = {"cuda:3,cuda:1", "cpu", "cuda:3"};
    struct mf_texts texts = {3, words};
    struct mf_place_wish wish = {.words = &texts};
    struct mf_place_devices all, some;
    struct mf_hardware h;

    CHECK_SAYS(mf_hardware_read(path, &h) == MF_OK, "%s", mf_err_text());
    mf_place_devices_find(&h, &all);
    CHECK(all.count == 9 && strcmp(all.device[7].name, "cuda:7") == 0 && all.device[8].is_cores &&
          all.device[0].capability == 90 && all.linked[1] && !all.linked[0] && !all.linked[8]);
    CHECK(mf_place_devices_choose(&h, &all, &wish, &some) == MF_OK);
    CHECK(some.count == 3 && strcmp(some.device[0].name, "cuda:3") == 0 && some.linked[1] && !some.linked[2]);
    mf_place_devices_free(&some);
    words[0] = "cuda:9";
    CHECK(mf_place_devices_choose(&h, &all, &wish, &some) == MF_DEVICE &&
          strstr(mf_err_text(), "'cuda:9' is not there"));
    mf_place_devices_free(&some);
    wish.lenient = 1;
    CHECK(mf_place_devices_choose(&h, &all, &wish, &some) == MF_OK && some.count == 2);
    mf_place_devices_free(&some);
    words[0] = "gpu";
    CHECK(mf_place_devices_choose(&h, &all, &wish, &some) == MF_USAGE && strstr(mf_err_text(), "'gpu' is no device"));
    mf_place_devices_free(&some);
    texts.count = 0;
    CHECK(mf_place_devices_choose(&h, &all, &wish, &some) == MF_OK && some.count == 8);
    mf_place_devices_free(&some);
    mf_place_devices_free(&all);
    mf_hardware_free(&h);
    free(path);
}

int main(int argc, char **argv)
{
    struct mf_parts parts = make_parts();
    struct mf_place_devices devices = make_devices();
    struct mf_comm self;

    mf_comm_self(&self);
    scratch_open(&self);
    patterns(&parts, &devices);
    files(&parts, &devices);
    broken_files(&parts, &devices);
    guesses();
    greedy();
    if (argc > 1) devices_by_words(argv[1]);
    scratch_close(&self);
    mf_parts_free(&parts);
    mf_place_devices_free(&devices);
    return failures != 0;
}
