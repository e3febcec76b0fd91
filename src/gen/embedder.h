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

struct mf_embedder;

/** A text. The arrays outlive the embedder. */
struct mf_embed_text {
    const uint32_t *token; /* [tokens] */
    const uint32_t *type;  /* [tokens]; NULL: all 0 */
    size_t tokens;
};

struct mf_embed_wish {
    enum mf_pool pool;
    int normalise;      /* vectors have length 1 */
    size_t ranks, rank; /* that share the texts, and this one among them; 0, 0: it is alone */
    /** States of the tokens of a text, [tokens][width]; NULL: nobody wants them. */
    void (*seen)(void *context, size_t text, const float *states);
    void *context;
};

/** Reads the configuration of a folder and plans @p texts texts for @p queue, which may be dry. Takes no memory for
 * weights. Refuses with MF_INPUT, MF_USAGE (tokens that the model lacks, no tokens, too many), MF_MEMORY, MF_DEVICE.
 * *embedder is then NULL. */
int mf_embedder_open(const char *folder, size_t texts, const struct mf_embed_text *text,
                     const struct mf_embed_wish *wish, struct mf_queue *queue, struct mf_embedder **embedder);

/** NULL is accepted. */
void mf_embedder_close(struct mf_embedder *embedder);

const struct mf_language *mf_embedder_says(const struct mf_embedder *embedder);

/** Bytes that mf_embedder_run() takes, exactly: of the device of its queue, and of the host. */
void mf_embedder_bytes(const struct mf_embedder *embedder, size_t *device, size_t *host);

/** Reads the weights, and writes the vectors of this rank's texts to @p vector [texts][width]. Other rows stay as they
 * are. Refuses with MF_INPUT, MF_NUMERIC, MF_MEMORY. */
int mf_embedder_run(struct mf_embedder *embedder, double *vector);

#endif
