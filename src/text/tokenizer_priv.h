/* The parts of a tokenizer. */
#ifndef MF_TEXT_TOKENIZER_PRIV_H
#define MF_TEXT_TOKENIZER_PRIV_H

#include "src/base/json.h"
#include "src/text/added.h"
#include "src/text/bpe.h"
#include "src/text/frame.h"
#include "src/text/steps.h"
#include "src/text/tokenizer.h"
#include "src/text/vocab.h"
#include "src/text/wordpiece.h"

struct mf_tokenizer {
    struct mf_vocab vocab; /* of the model */
    struct mf_added *added;
    struct mf_text_steps normaliser, splitter, decoder;
    struct mf_bpe *bpe; /* either of the two */
    struct mf_wordpiece *wordpiece;
    struct mf_frames frames;
    int bytes; /* the model reads bytes */
    /* room for work */
    struct mf_pieces piece, spare;
    struct mf_bytes normal;
};

/** The content of tokenizer.json, made of other files of a folder (plain.c). *value NULL: there are none. The caller
 * frees. Refuses with MF_INPUT. */
int mf_plain_load(const char *folder, struct mf_json **value);

/** The same of a vocabulary for WordPiece, a line each, of which @p name is the name in sentences. */
int mf_plain_words(const char *name, const char *lines, struct mf_json **value);

/** The bytes that a file may have: what it has, at most MF_TOKENIZER_FILE_MOST. Refuses a longer one with MF_INPUT. */
enum { MF_TOKENIZER_FILE_MOST = 128 << 20, MF_TOKENIZER_VALUES_MOST = 8 << 20 };
int mf_tokenizer_file_room(const char *path, size_t *most);

/** Loads a file of JSON. Refuses with MF_INPUT a file that is too long, or has too many values. */
int mf_tokenizer_file_load(const char *path, struct mf_json **value);

#endif
