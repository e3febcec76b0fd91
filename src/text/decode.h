/* Decoders: from texts of tokens back to a text. */
#ifndef MF_TEXT_DECODE_H
#define MF_TEXT_DECODE_H

#include "src/text/steps.h"

/** Reads the decoder of a file: MF_INPUT. Null: tokens are joined with blanks. The caller frees in every case. */
int mf_decode_read(const struct mf_part *part, struct mf_text_steps *chain);

/** How a text that grows can be told before it ends. */
enum mf_decode_way {
    MF_DECODE_BYTES, /* tokens are bytes: every whole character is final */
    MF_DECODE_RUNS,  /* a run of tokens of single bytes is final when it ends */
    MF_DECODE_TEXTS  /* every token is final */
};
enum mf_decode_way mf_decode_way(const struct mf_text_steps *chain);

/** The byte of a token "<0x41>"; -1: it is another one. */
int mf_decode_byte(const char *text, size_t n);

#endif
