/* Cuts a request into tokens, and sees whether they fit. */
#ifndef MF_SERVE_FIT_H
#define MF_SERVE_FIT_H

#include "src/serve/ask.h"
#include "src/text/tokenizer.h"

/** Sets ask->prompt[].tokens. Refuses with MF_USAGE no tokens, unknown ones, and too many for the server.
 * Local. */
int mf_ask_fit(const struct mf_served *served, struct mf_tokenizer *tokenizer, struct mf_ask *ask);

#endif
