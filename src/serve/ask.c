/* See ask.h. */
#include "src/serve/ask.h"

#include <stdlib.h>

void mf_ask_free(struct mf_ask *ask)
{
    for (size_t k = 0; k < ask->prompts; ++k) {
        mf_bytes_free(&ask->prompt[k].text);
        mf_bytes_free(&ask->prompt[k].image);
        free(ask->prompt[k].name);
        free(ask->prompt[k].user);
        mf_tokens_free(&ask->prompt[k].tokens);
    }
    for (size_t k = 0; k < ask->stops; ++k) free(ask->stop[k]);
    free(ask->prompt);
    free(ask->stop);
    *ask = (struct mf_ask){.prompt = NULL};
}
