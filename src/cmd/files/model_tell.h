/* Text of info about a trained model. */
#ifndef MF_CMD_FILES_MODEL_TELL_H
#define MF_CMD_FILES_MODEL_TELL_H

#include "src/base/json.h"

/** Does the name end as that of a model does, or is it a folder with one? */
int mf_model_named(const char *file);

/** Tells the inputs and outputs of the model, its experts, and its scores. With @p json NULL it prints text; else the
 * object of the file's metadata goes there. Local; MF_INPUT. */
int mf_model_tell(const char *file, struct mf_json *json);

#endif
