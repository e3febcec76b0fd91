/* Text of info about a language model: its sizes and its tokenizer, and no weights. */
#ifndef MF_CMD_FILES_LANGUAGE_TELL_H
#define MF_CMD_FILES_LANGUAGE_TELL_H

#include "src/base/json.h"

/** Tells the sizes of the model, the bytes of its weights, and the tokenizer beside it. It prints a text, or puts
 * values into @p json. Local; MF_INPUT. */
int mf_language_tell(const char *file, struct mf_json *json);

#endif
