/* Files of chat templates. Refuse with MF_INPUT. All functions are local. */
#ifndef MF_SERVE_CHAT_READ_H
#define MF_SERVE_CHAT_READ_H

#include "src/serve/chat_forms.h"

/** Tokens that begin and end a text, as tokenizer_config.json or special_tokens_map.json of a folder say; NULL: they
 * say none. The caller frees. */
int mf_chat_tokens(const char *folder, char **bos, char **eos);

/** The form of a folder's template (chat_template.jinja, tokenizer_config.json, or chat_template.json); NULL: it has
 * none, or one that is not known. */
int mf_chat_form_of(const char *folder, const struct mf_chat_form **form);

/** A form from a file with a line for each role (chat.h). It points into *text, which the caller frees. Refuses with
 * MF_USAGE a name that is neither a form's nor a file's. */
int mf_chat_form_read(const char *path, char **text, struct mf_chat_form *form);

#endif
