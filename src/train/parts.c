/* See parts.h. */
#include "src/train/parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/words.h"
#include "src/net/build.h"

/* Bytes of a part's name; sets of parameters that are trained. */
enum { PART_TEXT = 128, TRAINED = 1 << MF_SET_TRAINED | 1 << MF_SET_SPLIT | 1 << MF_SET_EXPERTS };

/* -- names -- */

/* The first parts of the parameters' names, each once. */
static void first_parts(const struct mf_net *net, char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t v = 0; v < net->values && used + PART_TEXT < room; ++v) {
        const char *name = net->value[v].name;
        char part[PART_TEXT];

        if (!mf_value_is_weight(&net->value[v])) continue;
        snprintf(part, sizeof part, "%.*s", (int)strcspn(name, "."), name);
        if (!mf_name_in(part, text)) used += (size_t)snprintf(text + used, room - used, "%s%s", used ? "," : "", part);
    }
}

/* The name of a part or parameter that is like @p part; empty: none is. */
static void nearest_part(const struct mf_net *net, const char *part, char near[PART_TEXT])
{
    near[0] = '\0';
    for (size_t v = 0; v < net->values; ++v) {
        const char *name = net->value[v].name;

        for (size_t n = 0; mf_value_is_weight(&net->value[v]) && name[n] && n + 1 < PART_TEXT; ++n) {
            char text[PART_TEXT];
            const char *two[] = {near, text}, *best;

            n += strcspn(name + n, ".");
            snprintf(text, sizeof text, "%.*s", (int)n, name);
            best = mf_nearest(part, near[0] ? two : two + 1, near[0] ? 2 : 1);
            if (best == text) memcpy(near, text, sizeof text);
            if (!name[n]) break;
        }
    }
}

static int refuse_part(const struct mf_net *net, const char *option, const char *part)
{
    char parts[400], near[PART_TEXT];

    first_parts(net, parts, sizeof parts);
    nearest_part(net, part, near);
    return mf_fail(MF_USAGE, "%s: the network has no part '%s'; it has %s%s%s%s", option, part, parts,
                   near[0] ? "; did you mean '" : "", near, near[0] ? "'?" : "");
}

/* How many parameters of a part are in @p sets. */
static size_t count_of(const struct mf_net *net, const char *part, unsigned sets)
{
    size_t n = 0;

    for (size_t v = 0; v < net->values; ++v)
        n += mf_value_is_weight(&net->value[v]) && mf_value_in(&net->value[v], sets) &&
             mf_name_in(net->value[v].name, part);
    return n;
}

/* The next of the words that commas divide, and how long it is with its comma. */
static size_t next_word(const char *words, char word[PART_TEXT])
{
    const size_t n = strcspn(words, ",");

    snprintf(word, PART_TEXT, "%.*s", (int)n, words);
    return n + (words[n] == ',');
}

/* -- parts that are not trained -- */

int mf_parts_frozen(const struct mf_net *net, const char *freeze)
{
    size_t trained = 0;
    char part[PART_TEXT];

    for (size_t v = 0; v < net->values; ++v)
        trained += mf_value_is_weight(&net->value[v]) && mf_value_in(&net->value[v], TRAINED);
    if (freeze && trained == 0) return mf_fail(MF_USAGE, "--freeze %.200s: nothing is left to train", freeze);
    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_in(&net->value[v], 1 << MF_SET_FROZEN) && mf_value_is_away(&net->value[v]))
            return mf_fail(MF_USAGE,
                           "--freeze %.200s: ranks share '%s' and the other experts; leave out --freeze, --tp "
                           "or --parallel-strategy",
                           freeze, net->value[v].name);
    while (freeze && *freeze) {
        freeze += next_word(freeze, part);
        if (count_of(net, part, ~0u) == 0) return refuse_part(net, "--freeze", part);
    }
    return MF_OK;
}

/* -- rates -- */

/* Cuts NAME=FACTOR. */
static int read_factor(char word[PART_TEXT], double *factor)
{
    char *at = strchr(word, '='), *end = NULL;

    *factor = at ? strtod(at + 1, &end) : 0;
    if (!at || at == word || end == at + 1 || *end || !isfinite(*factor) || *factor < 0)
        return mf_fail(MF_USAGE, "--rate-of '%s': it must be NAME=FACTOR; try: --rate-of text=0.1", word);
    *at = '\0';
    if (!(*factor > 0)) return mf_fail(MF_USAGE, "--rate-of %s=0: these would not learn; try: --freeze %s", word, word);
    return MF_OK;
}

/* Gives a part its factor, unless a longer name gave one. Then @p length [values] has the length of that name. */
static int set_factor(const struct mf_net *net, const char *part, double factor, size_t *length)
{
    for (size_t v = 0; v < net->values; ++v) {
        struct mf_weight *weight = net->value[v].weight;

        if (!weight || net->value[v].role != MF_ROLE_PARAMETER || !mf_name_in(net->value[v].name, part)) continue;
        if (length[v] == strlen(part)) return mf_fail(MF_USAGE, "--rate-of names '%s' twice", part);
        if (length[v] > strlen(part)) continue;
        weight->factor = factor;
        length[v] = strlen(part);
    }
    return MF_OK;
}

static int set_factors(const struct mf_net *net, const char *rate_of, size_t *length)
{
    char word[PART_TEXT];
    double factor;

    while (*rate_of) {
        rate_of += next_word(rate_of, word);
        MF_TRY(read_factor(word, &factor));
        if (count_of(net, word, ~0u) == 0) return refuse_part(net, "--rate-of", word);
        if (count_of(net, word, TRAINED) == 0)
            return mf_fail(MF_USAGE, "--rate-of: nothing of '%s' is trained; leave it out", word);
        MF_TRY(set_factor(net, word, factor, length));
    }
    return MF_OK;
}

/* The optimiser moves an array of several parameters as a whole: query, key and value; experts. */
static int check_stacks(const struct mf_net *net)
{
    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_value *part = &net->value[v], *stack = part->base < 0 ? part : &net->value[part->base];

        if (part->role == MF_ROLE_PARAMETER && part->weight && stack->weight &&
            part->weight->factor != stack->weight->factor)
            return mf_fail(MF_USAGE, "--rate-of: '%s' has one learning rate with what stands beside it in '%s'",
                           part->name, stack->name);
    }
    return MF_OK;
}

int mf_parts_rates(const struct mf_net *net, const char *rate_of)
{
    size_t *length;
    int rc;

    if (!rate_of) return MF_OK;
    length = MF_MUST(calloc(net->values, sizeof *length), "lengths of names");
    rc = set_factors(net, rate_of, length);
    free(length);
    return rc == MF_OK ? check_stacks(net) : rc;
}

/* -- weight decay -- */

static int is_product(enum mf_op_id op)
{
    return op == MF_OP_LINEAR || op == MF_OP_CONV2D || op == MF_OP_CONV_DEPTHWISE || op == MF_OP_GROUPED_LINEAR ||
           op == MF_OP_MATMUL;
}

void mf_parts_plain(const struct mf_list *list)
{
    struct mf_value *value = list->net->value;

    for (size_t v = 0; v < list->net->values; ++v)
        if (value[v].weight) value[v].weight->plain = 1;
    for (size_t i = 0; i < list->nodes; ++i) {
        const int weights = is_product(list->node[i].op) ? mf_value_root(list->net, list->node[i].in[1], NULL) : -1;

        if (weights >= 0 && value[weights].weight) value[weights].weight->plain = 0;
    }
}
