/* Language models as their config.json describes them: sizes, and what their parts do. No weights. */
#ifndef MF_MODEL_LANGUAGE_H
#define MF_MODEL_LANGUAGE_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/op.h"
#include "src/base/lists.h"
#include "src/base/type.h"

enum mf_language_family { MF_BERT, MF_GPT2, MF_LLAMA, MF_MISTRAL, MF_MIXTRAL, MF_OPT, MF_LANGUAGE_FAMILIES };

/** Rotation of queries and keys by their positions. MF_ROPE_NONE: positions have a table. */
enum mf_rope_kind { MF_ROPE_NONE, MF_ROPE_PLAIN, MF_ROPE_LINEAR, MF_ROPE_LLAMA3 };

struct mf_rope {
    enum mf_rope_kind kind;
    double base;      /* [-] */
    double factor;    /* LINEAR: positions are divided by it. LLAMA3: low frequencies are */
    double low, high; /* LLAMA3: waves that fit so often into the first context are low, high */
    size_t original;  /* LLAMA3: positions of the first context */
};

/** Tables of tokens and products that have another type than the others. */
struct mf_kept_type {
    enum mf_type type;
    const struct mf_texts *names; /* patterns of their names (src/base/pattern.h); NULL: there are none */
};

struct mf_language {
    enum mf_language_family family;
    size_t vocabulary; /* rows of the table of tokens */
    size_t context;    /* positions that the model was made for */
    size_t shift;      /* position 0 has this row of the table of positions */
    size_t segments;   /* types of tokens; 0: none */
    size_t layers, width;
    size_t embedding; /* width of the table of tokens; two products join it to another width */
    size_t heads, key_heads, head_width;
    size_t inner;           /* width between the two products of a block */
    size_t experts, chosen; /* of a layer, and of them for each token; 0: no experts */
    size_t window;          /* positions that a token sees, itself among them; 0: all before it */
    enum mf_act act;
    double epsilon;                 /* of norms */
    int tied;                       /* the last product takes the table of tokens, where the file has no other */
    int norms_behind;               /* norms stand behind the sums, not in front of the blocks */
    int last_norm;                  /* a norm behind the last layer */
    int attention_bias, inner_bias; /* products of attention, of the inner part have biases */
    struct mf_rope rope;
    enum mf_type type;    /* of the weights by the configuration, or by their file; MF_TYPES: they do not say */
    enum mf_type weights; /* of tables of tokens and of products in memory: f32, bf16, f16 or i8. All others are f32 */
    struct mf_kept_type kept;
};

/**
 * Reads config.json (or a folder with one), as transformers 4 and 5 write it. The first sizes must be there. A value
 * that is missing is that of the model's class in transformers. Refuses with MF_INPUT an unknown model_type, naming the
 * known ones. It also refuses sizes out of range, and whatever this program would compute in another way. Local.
 */
int mf_language_read(const char *path, struct mf_language *model);

/** Is it a "config.json", or a folder with one? */
int mf_language_named(const char *path);

/** Numbers in all weights, exactly: each table once. BERT's has its pooler. At most 2^53. */
uint64_t mf_language_parameters(const struct mf_language *model);

/** Sets the type of weights in memory by a word: "f32", "bf16", "f16", "int8", or "auto". Then it is that of the file
 * where it has 16 bits, else f32. With "int8" the weights of the names @p kept have 16 bits: the type of the file, or
 * bf16. The names outlive the model; NULL: there are none. Refuses with MF_USAGE. */
int mf_language_weigh(struct mf_language *model, const char *word, const struct mf_texts *kept);

/** The type of a table of tokens or of a product by its name: "layers.3.qkv.weight". */
enum mf_type mf_language_type(const struct mf_language *model, const char *name);

/** Its model_type: "gpt2". */
const char *mf_language_name(enum mf_language_family family);

#endif
