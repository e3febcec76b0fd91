/* Arrays that grow: bytes of texts, texts cut to pieces, numbers of tokens. */
#ifndef MF_TEXT_BUFFER_H
#define MF_TEXT_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/cut.h"

struct mf_bytes {
    char *at;
    size_t count, room;
};

/** Appends @p n bytes; the UTF-8 of a code point. */
void mf_bytes_put(struct mf_bytes *bytes, const void *from, size_t n);
void mf_bytes_point(struct mf_bytes *bytes, uint32_t point);
/** Makes room for so many bytes in all. */
void mf_bytes_room(struct mf_bytes *bytes, size_t count);
/** Appends a text by the rules of printf. */
void mf_bytes_say(struct mf_bytes *bytes, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mf_bytes_free(struct mf_bytes *bytes);

/** A text and the pieces that it was cut to, in order. Bytes between pieces belong to none. */
struct mf_pieces {
    struct mf_bytes text;
    struct mf_span *span;
    size_t count, room;
    int begins; /* the first piece begins with the first character that the user wrote */
};

/** The first empties it. The second ends the piece that began at byte @p at of the text. The third appends bytes of the
 * text as a piece. */
void mf_pieces_clear(struct mf_pieces *pieces);
void mf_pieces_end(struct mf_pieces *pieces, size_t at);
void mf_pieces_span(struct mf_pieces *pieces, size_t at, size_t count);
/** Appends a piece and its bytes. */
void mf_pieces_put(struct mf_pieces *pieces, const char *from, size_t n);
void mf_pieces_free(struct mf_pieces *pieces);

/** Numbers of tokens. */
struct mf_tokens {
    uint32_t *at;
    size_t count, room;
    size_t lost; /* characters that have no token, and vanished */
};

void mf_tokens_put(struct mf_tokens *tokens, uint32_t number);
void mf_tokens_add(struct mf_tokens *tokens, const uint32_t *numbers, size_t n);
void mf_tokens_free(struct mf_tokens *tokens);

#endif
