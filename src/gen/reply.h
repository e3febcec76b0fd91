/* The text of an answer while its tokens come, and texts at which it ends. All functions are local. */
#ifndef MF_GEN_REPLY_H
#define MF_GEN_REPLY_H

#include "src/text/tokenizer.h"

struct mf_reply {
    struct mf_text_stream *stream;
    const char *const *stop; /* [stops], of valid UTF-8, not empty */
    size_t stops;
    struct mf_bytes text; /* in whole characters; it ends before a text of stop */
    size_t sure;          /* so many bytes of it stay, whatever comes */
    int stopped;          /* a text of stop came */
};

/** The tokenizer and the texts outlive it. */
void mf_reply_open(struct mf_reply *reply, const struct mf_tokenizer *tokenizer, size_t stops, const char *const *stop);
void mf_reply_close(struct mf_reply *reply);

/** One more token; no more tokens. A text of stop may begin in one token and end in another. The first that is complete
 * counts, and of two that end together the longer. Refuse as mf_text_stream_put(). */
int mf_reply_put(struct mf_reply *reply, uint32_t token);
int mf_reply_end(struct mf_reply *reply);

#endif
