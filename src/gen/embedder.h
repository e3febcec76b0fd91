/* Turns texts into vectors by a language model that reads them whole (BERT). Texts of similar length go through
 * together. The length to which a text is padded follows from its own. So a vector has the same bits whatever other
 * texts there are, and on any number of threads and ranks. Rule: all functions are local, and are called by one
 * thread. */
#ifndef MF_GEN_EMBEDDER_H
#define MF_GEN_EMBEDDER_H

#include <stdint.h>

#include "kernels/backend.h"
#include "src/gen/pooling.h"
#include "src/model/language.h"
#include "src/text/tokenizer.h"

struct mf_embedder;

/** A text. */
struct mf_embed_text {
    const uint32_t *token; /* [tokens] */
    const uint32_t *type;  /* [tokens]; NULL: all 0 */
    size_t tokens;
    int normalise; /* its vector has length 1 */
};

/** Leaves a text @p longest of its tokens, which are more: the first ones. A special token at its end stays there.
 * @p tokenizer: that which cut the text; NULL: none did. */
void mf_embed_cut(struct mf_tokens *tokens, size_t longest, const struct mf_tokenizer *tokenizer);

struct mf_embed_wish {
    enum mf_pool pool;
    size_t ranks, rank; /* that share the texts, and this one among them; 0, 0: it is alone */
    /** States of the tokens of a text, [tokens][width]; NULL: nobody wants them. */
    void (*seen)(void *context, const struct mf_embed_text *text, const float *states);
    void *context;
};

/** Reads the configuration of a folder and plans @p texts texts for @p queue, which may be dry. Takes no memory for
 * weights. Refuses with MF_INPUT, MF_USAGE (tokens that the model lacks, no tokens, too many), MF_MEMORY, MF_DEVICE.
 * *embedder is then NULL. */
int mf_embedder_open(const char *folder, size_t texts, const struct mf_embed_text *text,
                     const struct mf_embed_wish *wish, struct mf_queue *queue, struct mf_embedder **embedder);

/** The same for any texts of at most @p longest tokens, at most the context of the model. */
int mf_embedder_open_any(const char *folder, size_t longest, const struct mf_embed_wish *wish, struct mf_queue *queue,
                         struct mf_embedder **embedder);

/** NULL is accepted. */
void mf_embedder_close(struct mf_embedder *embedder);

const struct mf_language *mf_embedder_says(const struct mf_embedder *embedder);

/** Bytes that mf_embedder_load() takes, exactly: of the device of its queue, and of the host. Later calls take none. */
void mf_embedder_bytes(const struct mf_embedder *embedder, size_t *device, size_t *host);

/** Reads the weights. Refuses with MF_INPUT, MF_NUMERIC, MF_MEMORY. */
int mf_embedder_load(struct mf_embedder *embedder);

/** Writes the vectors of this rank's texts to @p vector [texts][width]. Other rows stay as they are. The texts are
 * those that were planned, or any if these were. Refuses with MF_USAGE as above, and MF_NUMERIC. */
int mf_embedder_run(struct mf_embedder *embedder, size_t texts, const struct mf_embed_text *text, double *vector);

/* -- texts that come one after the other -- */

/** The length to which a text is padded. Texts of one length go through together. */
size_t mf_embedder_length(const struct mf_embedder *embedder, size_t tokens);

/** How many texts of a length, of @p waiting that wait, go through together now. Texts of any step, at most. */
size_t mf_embedder_count(const struct mf_embedder *embedder, size_t length, size_t waiting);
size_t mf_embedder_most(const struct mf_embedder *embedder);

/** Passes so many texts of one length. Each gets its vector [width], maybe with numbers that are not finite. Refuses
 * with MF_USAGE. */
int mf_embedder_step(struct mf_embedder *embedder, size_t count, const struct mf_embed_text *const *text,
                     double *const *vector);

#endif
