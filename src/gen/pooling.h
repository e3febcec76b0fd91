/* How a model's states become the vector of a text, as the files of sentence-transformers in its folder say. All
 * functions are local. */
#ifndef MF_GEN_POOLING_H
#define MF_GEN_POOLING_H

#include <stddef.h>

enum mf_pool {
    MF_POOL_MEAN,  /* of all tokens that count */
    MF_POOL_FIRST, /* the first token */
    MF_POOL_LAST,
    MF_POOL_POOLER, /* tanh of a product of the first token */
    MF_POOLS
};

/** "mean|first|last|pooler", in this order. */
#define MF_POOL_NAMES "mean|first|last|pooler"

struct mf_pooling {
    enum mf_pool pool;
    int normalises; /* vectors have length 1 */
    size_t longest; /* tokens of a text that the model reads; 0: the files do not say */
    int prefixed;   /* sentence-transformers puts a text in front of each one, and we do not */
    int lowered;    /* it makes texts lower case before the tokenizer, and we do not */
};

/** Reads modules.json, the configuration of its pooling (else 1_Pooling/config.json), sentence_bert_config.json and
 * config_sentence_transformers.json. Without them: the mean, not normalised, as sentence-transformers does. With
 * @p wished the caller has a pool, and that of the files does not matter. Refuses with MF_INPUT files that cannot be
 * read, and modules and pools that are not known. */
int mf_pooling_read(const char *folder, int wished, struct mf_pooling *pooling);

#endif
