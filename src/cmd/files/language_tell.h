/* Text of info about the folder of a language model: its sizes, the names of its weights, and its tokenizer. */
#ifndef MF_CMD_FILES_LANGUAGE_TELL_H
#define MF_CMD_FILES_LANGUAGE_TELL_H

#include "src/base/json.h"

/** Is it a "config.json", or a folder with one? Or a folder with a tokenizer, or with weights of another program? */
int mf_language_seems(const char *file);

/** Tells the sizes of the model, how many weights there are, and the tokenizer beside it. A folder may lack each of
 * them. It prints a text, or puts values into @p json. Local; MF_INPUT. */
int mf_language_tell(const char *file, struct mf_json *json);

#endif
