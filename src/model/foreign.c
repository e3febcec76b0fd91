/* See foreign.h. */
#include "src/model/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/model/denoise.h"
#include "src/model/registry.h"

enum { PATCH = 16 };

struct facts {
    size_t extent, channels, classes;
};

/* The name of the first layer has the extents of an image that it sees, and joined pixels are channels. */
static int find_facts(const struct mf_safetensors *file, size_t patch, struct facts *facts)
{
    const struct mf_safetensors_entry *labels = mf_safetensors_find(file, "model.map_label.weight"), *entry;
    size_t count;

    entry = mf_safetensors_list(file, &count);
    for (size_t k = 0; k < count; ++k) {
        size_t ny, nx;
        int end = 0;

        if (sscanf(entry[k].name, "model.enc.%zux%zu_conv.weight%n", &ny, &nx, &end) != 2 || !end) continue;
        if (entry[k].name[end] || entry[k].ndim != 4 || ny != nx || ny > 1 << 20) continue;
        *facts = (struct facts){ny * patch, entry[k].dims[1] / (patch * patch),
                                labels && labels->ndim == 2 ? labels->dims[1] : 0};
        if (facts->channels >= 1 && facts->channels <= MF_CHANNELS_MAX && facts->classes <= MF_CLASSES_MAX)
            return MF_OK;
        return mf_fail(MF_INPUT,
                       "'%.300s' is of images with %zu channels and %zu classes; 1 to %d and at most %d are read",
                       mf_safetensors_path(file), facts->channels, facts->classes, MF_CHANNELS_MAX, MF_CLASSES_MAX);
    }
    return mf_fail(MF_INPUT,
                   "'%.300s' has no array 'model.enc.NxN_conv.weight', so it holds no weights of a U-Net of ADM; its "
                   "names may have another prefix",
                   mf_safetensors_path(file));
}

/* The same number of each channel. */
static void put_channels(struct mf_json *to, const char *key, size_t channels, double value)
{
    struct mf_json *values = mf_json_array();

    for (size_t k = 0; k < channels; ++k) mf_json_real(values, NULL, value);
    mf_json_put(to, key, values);
}

static struct mf_json *input_json(const struct facts *f)
{
    const double dims[] = {1, (double)f->extent, (double)f->extent, (double)f->channels};
    struct mf_json *input = mf_json_object();

    mf_json_wholes(input, "extents", dims, 4);
    MF_JSON(input, "phases", 0, "type", "uint8");
    put_channels(input, "mean", f->channels, 127.5);
    put_channels(input, "deviation", f->channels, 63.75); /* so that (x / 0.5) 63.75 + 127.5 is (x + 1) 127.5 */
    put_channels(input, "min", f->channels, 0);
    put_channels(input, "max", f->channels, 255);
    return input;
}

static struct mf_json *denoise_json(const struct facts *f)
{
    struct mf_denoise d = {.mean = -1.2, .deviation = 1.2};
    struct mf_json *json;

    mf_denoise_take(&d, f->classes, 0, f->classes);
    for (size_t k = 0; k < f->classes; ++k) {
        snprintf(d.class_name[k], sizeof d.class_name[k], "%zu", k);
        d.label[k] = (int32_t)k;
    }
    json = mf_denoise_json(&d);
    mf_denoise_close(&d);
    return json;
}

int mf_foreign_card(const struct mf_safetensors *file, const char *word, struct mf_json **card)
{
    const struct mf_arch *arch;
    struct mf_arch_args args = {0};
    struct facts facts = {0};

    *card = NULL;
    MF_TRY(mf_arch_read(word, &arch, &args, NULL, NULL));
    if (!arch->denoise)
        return mf_fail(MF_USAGE, "--arch %s %s and makes no samples; try: --arch unet", arch->name, mf_arch_work(arch));
    MF_TRY(mf_arch_complete(arch, &args));
    if (args.patch > PATCH) return mf_fail(MF_USAGE, "--arch %.200s: a patch has at most %d pixels", word, PATCH);
    MF_TRY(find_facts(file, (size_t)args.patch, &facts));
    *card = mf_json_object();
    MF_JSON(*card, "version", 2, "arch", word);
    mf_json_put(*card, "input", input_json(&facts));
    mf_json_put(*card, "denoise", denoise_json(&facts));
    return MF_OK;
}

void mf_foreign_bytes(size_t count, const float *x, uint8_t *to)
{
    for (size_t i = 0; i < count; ++i) {
        const float v = (x[i] + 1.0F) * 127.5F;

        to[i] = v > 255 ? 255 : v > 0 ? (uint8_t)v : 0;
    }
}
