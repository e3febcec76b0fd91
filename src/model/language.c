/* See language.h: how many numbers a model has, and their type. */
#include "src/model/language.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/pattern.h"

/* A product of so many inputs and outputs. */
static uint64_t product(uint64_t inputs, uint64_t outputs, int bias) { return inputs * outputs + (bias ? outputs : 0); }

/* A norm over the width: a scale, and a shift where it takes the mean away. */
static uint64_t norm(const struct mf_language *m) { return m->width * (m->rope.kind == MF_ROPE_NONE ? 2 : 1); }

static uint64_t attention(const struct mf_language *m)
{
    const uint64_t query = m->heads * m->head_width, key = m->key_heads * m->head_width;

    return product(m->width, query, m->attention_bias) + 2 * product(m->width, key, m->attention_bias) +
           product(query, m->width, m->attention_bias);
}

/* Two products, or three with a gate; of every expert, and the router. */
static uint64_t inner(const struct mf_language *m)
{
    const uint64_t first = product(m->width, m->inner, m->inner_bias),
                   last = product(m->inner, m->width, m->inner_bias);
    const uint64_t one = (m->rope.kind == MF_ROPE_NONE ? 1 : 2) * first + last;

    return m->experts ? m->experts * one + product(m->width, m->experts, 0) : one;
}

static uint64_t tables(const struct mf_language *m)
{
    const uint64_t positions = m->rope.kind == MF_ROPE_NONE ? m->context + m->shift : 0;
    uint64_t n = (uint64_t)m->vocabulary * m->embedding + (positions + m->segments) * m->width;

    if (m->embedding != m->width) n += 2 * product(m->embedding, m->width, 0);
    if (!m->tied) n += (uint64_t)m->vocabulary * m->embedding;
    return n;
}

uint64_t mf_language_parameters(const struct mf_language *m)
{
    uint64_t n = tables(m) + m->layers * (attention(m) + inner(m) + 2 * norm(m));

    if (m->last_norm) n += norm(m);
    if (m->family == MF_BERT) n += norm(m) + product(m->width, m->width, 1); /* behind the tables; the pooler */
    return n;
}

static int find_type(const char *word, enum mf_type *type)
{
    static const enum mf_type types[] = {MF_F32, MF_BF16, MF_F16, MF_I8};

    for (size_t k = 0; k < sizeof types / sizeof *types; ++k)
        if (strcmp(word, mf_type_name(types[k])) == 0) {
            *type = types[k];
            return MF_OK;
        }
    return mf_fail(MF_USAGE, "--dtype '%.40s' is not known; there are auto, f32, bf16, f16, int8", word);
}

int mf_language_weigh(struct mf_language *m, const char *word, const struct mf_texts *kept)
{
    const int halves = m->type == MF_BF16 || m->type == MF_F16;

    m->weights = halves ? m->type : MF_F32;
    if (strcmp(word, "auto") != 0) MF_TRY(find_type(word, &m->weights));
    m->kept = (struct mf_kept_type){halves ? m->type : MF_BF16, kept && kept->count ? kept : NULL};
    if (!m->kept.names || m->weights == MF_I8) return MF_OK;
    return mf_fail(MF_USAGE, "--keep names what has 16 bits among weights of 8; add --dtype int8, or leave it out");
}

enum mf_type mf_language_type(const struct mf_language *m, const char *name)
{
    for (size_t k = 0; m->kept.names && k < m->kept.names->count; ++k)
        if (mf_pattern_meets(m->kept.names->at[k], name) >= 0) return m->kept.type;
    return m->weights;
}
