/* See layers.h. */
#include "src/cmd/files/layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset_writer.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/base/words.h"

static int find_all(const struct mf_model_card *card, struct mf_unet_tap **all, size_t *count)
{
    return mf_model_card_blame(card, mf_unet_taps(&card->args, card->dims[1], card->dims[2], all, count));
}

static int is_word(const struct mf_texts *words, const char *word)
{
    return words->count == 1 && strcmp(words->at[0], word) == 0;
}

int mf_layers_is_list(const struct mf_texts *words) { return is_word(words, "list"); }

/* -- layers of words -- */

/* All but two names are numbers behind a word: the last of each is named. */
static size_t blocks(const struct mf_unet_tap *all, size_t count, const char *word)
{
    size_t n = 0;

    for (size_t k = 0; k < count; ++k) n += strncmp(all[k].name, word, strlen(word)) == 0;
    return n;
}

static int refuse(const struct mf_model_card *card, const char *option, const char *name, const struct mf_unet_tap *all,
                  size_t count)
{
    return mf_fail(MF_USAGE,
                   "--%s %.100s: the model of '%.200s' has encoder_block_0 to %zu, encoder_bottleneck, midblock, "
                   "decoder_block_0 to %zu; --layers list shows them",
                   option, name, card->path, blocks(all, count, "encoder_block_") - 1,
                   blocks(all, count, "decoder_block_") - 1);
}

/* Marks the layer of a name. */
static int mark(const struct mf_model_card *card, const char *option, const char *name, const struct mf_unet_tap *all,
                size_t count, unsigned char *taken)
{
    size_t k = 0;

    while (k < count && strcmp(all[k].name, name) != 0) ++k;
    if (k == count) return refuse(card, option, name, all, count);
    for (size_t i = 0; i < count; ++i)
        if (taken[i] && strcmp(all[i].node, all[k].node) == 0)
            return mf_fail(MF_USAGE, "--%s: %s and %s are the same layer; leave out one of them", option, all[i].name,
                           name);
    taken[k] = 1;
    return MF_OK;
}

static int mark_all(const struct mf_model_card *card, const char *option, const struct mf_texts *words,
                    const struct mf_unet_tap *all, size_t count, unsigned char *taken)
{
    size_t n;
    const char **name = mf_words_names(words->count, words->at, NULL, NULL, &n);
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < n; ++k) rc = mark(card, option, name[k], all, count, taken);
    if (rc == MF_OK && n > MF_WRITER_ARRAYS)
        rc = mf_fail(MF_USAGE, "--%s names %zu layers, and a set has at most %d", option, n, MF_WRITER_ARRAYS);
    free(name);
    return rc;
}

int mf_layers_find(const struct mf_model_card *card, const char *option, const struct mf_texts *words,
                   struct mf_unet_tap **layer, size_t *count)
{
    unsigned char *taken;
    size_t all;
    int rc;

    *layer = NULL;
    *count = 0;
    MF_TRY(find_all(card, layer, &all)); /* a network that cannot be is refused before anything is made */
    if (words->count == 0 || is_word(words, "none")) return MF_OK;
    taken = MF_MUST(calloc(all + 1, 1), "marks");
    rc = mark_all(card, option, words, *layer, all, taken);
    for (size_t k = 0; rc == MF_OK && k < all; ++k)
        if (taken[k]) (*layer)[(*count)++] = (*layer)[k];
    free(taken);
    return rc;
}

/* -- the list -- */

/* The other name of a layer, which stands before it; "": it has none. */
static const char *other_name(const struct mf_unet_tap *all, size_t k)
{
    return k > 0 && strcmp(all[k - 1].node, all[k].node) == 0 ? all[k - 1].name : "";
}

static void print(const char *path, const struct mf_unet_tap *all, size_t count)
{
    printf("%s: layers, and the extents of activations of a sample\n", path);
    printf("  %-20s %8s %6s %6s\n", "", "channels", "y", "x");
    for (size_t k = 0; k < count; ++k) {
        const char *other = other_name(all, k);

        printf("  %-20s %8zu %6zu %6zu%s%s%s\n", all[k].name, all[k].channels, all[k].height, all[k].width,
               *other ? " (" : "", other, *other ? ")" : "");
    }
}

static int print_json(const char *path, const struct mf_unet_tap *all, size_t count)
{
    struct mf_json *json = mf_json_object(), *layers = mf_json_array();
    int rc;

    for (size_t k = 0; k < count; ++k) {
        struct mf_json *layer = mf_json_object(), *shape = mf_json_array();

        mf_json_int(shape, NULL, (long long)all[k].channels);
        mf_json_int(shape, NULL, (long long)all[k].height);
        mf_json_int(shape, NULL, (long long)all[k].width);
        MF_JSON(layer, "name", all[k].name, "shape", shape);
        if (*other_name(all, k)) mf_json_text(layer, "same_as", other_name(all, k));
        mf_json_put(layers, NULL, layer);
    }
    MF_JSON(json, "model", path, "layers", layers);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

int mf_layers_tell(const struct mf_model_card *card, int json)
{
    struct mf_unet_tap *all = NULL;
    size_t count = 0;
    int rc;

    MF_TRY(find_all(card, &all, &count));
    rc = json ? print_json(card->path, all, count) : MF_OK;
    if (!json) print(card->path, all, count);
    free(all);
    return rc;
}
