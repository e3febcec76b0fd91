/* Tokenizers of language models: texts to numbers and back, as the files of a model say. */
#ifndef MF_TEXT_TOKENIZER_H
#define MF_TEXT_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include "src/text/buffer.h"

/** A tokenizer keeps the tokens of words that it saw, so one thread at a time may use it. */
struct mf_tokenizer;

/**
 * Opens the tokenizer of a folder. That is tokenizer.json, else vocab.json with merges.txt (GPT-2, OPT), else vocab.txt
 * (BERT). The last two are read with tokenizer_config.json. @p path may also be a file of the form of tokenizer.json.
 * Refuses with MF_INPUT whatever is not known. So what opens is what the model was trained with. Local. The caller
 * closes.
 */
int mf_tokenizer_open(const char *path, struct mf_tokenizer **tokenizer);

/** The same of a vocabulary in memory: @p lines has a token in each, as a vocab.txt. It is cut as BERT's is, in small
 * letters. It needs [UNK], [CLS] and [SEP]. @p name: whose it is, for sentences. */
int mf_tokenizer_of_words(const char *name, const char *lines, struct mf_tokenizer **tokenizer);
void mf_tokenizer_close(struct mf_tokenizer *tokenizer);

/** How texts become numbers. */
enum mf_encode {
    MF_ENCODE_BARE = 1,   /* no special tokens around the text */
    MF_ENCODE_LITERAL = 2 /* special tokens that stand in the text are text (of users, who should write none) */
};

/**
 * Appends the numbers of a text of @p n bytes of valid UTF-8 (see mf_utf8_repair()). NUL is a character in it.
 * tokens->lost counts characters that have no token, and vanish. The second form takes two texts, as models for pairs
 * read them. If @p types is not NULL, it gets the type (segment) of each token. Both refuse with MF_INPUT a text that
 * the tokenizer cannot cut. Local.
 */
int mf_tokenizer_encode(struct mf_tokenizer *tokenizer, const char *text, size_t n, unsigned how,
                        struct mf_tokens *tokens);
int mf_tokenizer_encode_two(struct mf_tokenizer *tokenizer, const char *const text[2], const size_t n[2], unsigned how,
                            struct mf_tokens *tokens, struct mf_tokens *types);

/** The same of a text with @p parts parts, in order, that users wrote: special tokens in them are text. Others count.
 * This holds for special tokens that are looked for before the text is normalised, as nearly all are. */
int mf_tokenizer_encode_parts(struct mf_tokenizer *tokenizer, const char *text, size_t n, unsigned how, size_t parts,
                              const struct mf_span *part, struct mf_tokens *tokens);

/** Appends the text of numbers. @p special: special tokens are part of the text. Bytes that make no character become
 * U+FFFD. A number that no token has gives no text: tables of models may be longer. Local. */
int mf_tokenizer_decode(const struct mf_tokenizer *tokenizer, const uint32_t *number, size_t count, int special,
                        struct mf_bytes *text);

/** The text of a token as it stands in the file, and its length; NULL: no token has this number. */
const char *mf_tokenizer_piece(const struct mf_tokenizer *tokenizer, size_t number, size_t *n);

/** Is it a special token, such as the end of a text? */
int mf_tokenizer_is_special(const struct mf_tokenizer *tokenizer, size_t number);

/** The largest number of a token + 1. */
size_t mf_tokenizer_numbers(const struct mf_tokenizer *tokenizer);

/** "BPE" or "WordPiece". */
const char *mf_tokenizer_kind(const struct mf_tokenizer *tokenizer);

/** A text that grows by tokens, told in whole characters. All that it told is what mf_tokenizer_decode() makes of all
 * tokens. The tokenizer stays open meanwhile; the caller frees. */
struct mf_text_stream;
struct mf_text_stream *mf_text_stream_new(const struct mf_tokenizer *tokenizer, int special);
void mf_text_stream_free(struct mf_text_stream *stream);

/** Appends what is certain after one more token (maybe nothing); after the last token. Refuse as
 * mf_tokenizer_decode(). */
int mf_text_stream_put(struct mf_text_stream *stream, uint32_t number, struct mf_bytes *text);
int mf_text_stream_end(struct mf_text_stream *stream, struct mf_bytes *text);

#endif
