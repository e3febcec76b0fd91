/* A request to the server and what has been said to it, in no dialect. Dialects (dialect.h) read the first from JSON
 * and write the second as JSON. All functions are local, and take no memory but that of the request. */
#ifndef MF_SERVE_ASK_H
#define MF_SERVE_ASK_H

#include "src/base/json.h"
#include "src/gen/engine.h"
#include "src/text/buffer.h"

enum mf_ask_kind { MF_ASK_TEXT /* text that goes on */, MF_ASK_VECTOR, MF_ASK_ANSWER /* of a network of ours */ };

/** A prompt: text of valid UTF-8, tokens, or an image. */
struct mf_ask_prompt {
    struct mf_bytes text;
    struct mf_bytes image; /* bytes of its file */
    char *name;            /* of the image, for answers and sentences */
    struct mf_span *user;  /* [users] parts of the text in which special tokens are text */
    size_t users;
    struct mf_tokens tokens; /* also those of the text, once it is cut */
    int is_tokens;
};

struct mf_ask {
    enum mf_ask_kind kind;
    struct mf_ask_prompt *prompt; /* [prompts], at least one */
    size_t prompts;
    int bare;    /* no special tokens around a text: a chat template has put its own */
    size_t last; /* only so many tokens at the end of a prompt count; 0: all */

    /* text */
    size_t most; /* new tokens of each prompt; 0: as many as the server allows */
    struct mf_choice choice;
    char **stop; /* [stops] */
    size_t stops;
    int ignores_end; /* goes on behind the token by which the model ends a text */
    int likely;      /* log-probabilities are wanted */
    int streams;     /* token by token */

    /* vectors */
    int normalizes; /* vectors have length 1: 1, 0; -1: as the model's files say */
    int truncates;  /* texts of more tokens than the model reads */

    /* for the dialect that writes the answer */
    int chats, echoes, counts, details, base64;
};

void mf_ask_free(struct mf_ask *ask);

enum mf_ended { MF_ENDED_NOT, MF_ENDED_BY_LENGTH, MF_ENDED_BY_TOKEN, MF_ENDED_BY_STOP };

struct mf_said_token {
    uint32_t token;
    int is_special;
    double log_probability; /* natural; NAN: it was not wanted */
    size_t sure;            /* bytes of the text that were sure behind it; of the last one: all of them */
};

/** Says what has been said to a prompt. */
struct mf_said {
    const struct mf_ask_prompt *prompt;
    struct mf_bytes text; /* whole characters; it ends before a stop */
    struct mf_said_token *token;
    size_t tokens;
    enum mf_ended ended;
    const float *vector; /* [width] of a text's vector */
    size_t width;
    const struct mf_json *answer; /* an object: that about an image */
    const struct mf_json *notes;  /* an array: warnings about it */
};

/** Facts of a server. */
struct mf_served {
    const char *model;         /* its name: the last part of its folder, or --served-model-name */
    const char *version;       /* of the program */
    const char *family, *type; /* llama, bf16 */
    enum mf_ask_kind kind;
    size_t vocabulary;            /* tokens that the model knows */
    size_t context, input, total; /* tokens: of the model, of a prompt, of a prompt and its answer */
    size_t requests, queue;       /* at a time; that wait */
    size_t batch;                 /* prompts of a request */
    size_t width;                 /* of a vector */
    const char *pool;             /* of a vector */
    long long started;            /* seconds since 1970 */
    const struct mf_chat *chat;   /* chat.h; NULL: no template is known */
    const struct mf_json *facts;  /* of a network of ours; NULL: it is none */
};

#endif
