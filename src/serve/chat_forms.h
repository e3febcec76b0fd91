/* Forms of conversations, and templates of models that write them. */
#ifndef MF_SERVE_CHAT_FORMS_H
#define MF_SERVE_CHAT_FORMS_H

#include <stddef.h>

enum mf_chat_role { MF_CHAT_SYSTEM, MF_CHAT_USER, MF_CHAT_ASSISTANT, MF_CHAT_ROLES };
extern const char *const mf_chat_roles[MF_CHAT_ROLES]; /* system, user, assistant */

/** {text}: that of a message; {bos}, {eos}: tokens of the model. */
struct mf_chat_form {
    const char *name;
    const char *begin, *answer;      /* of all; of the next answer */
    const char *role[MF_CHAT_ROLES]; /* NULL: there is no such role */
    const char *wrap;  /* a first message of the system goes in this form in front of the text of the next; NULL: not */
    const char *usual; /* what the system says where no message of it is first; NULL: nothing */
    int trims;         /* no white space around a text */
    int alternates;    /* behind a first message of the system user and assistant take turns */
};

/** The form of a name, or of a template's text of @p bytes bytes; NULL: none. */
const struct mf_chat_form *mf_chat_form_named(const char *name);
const struct mf_chat_form *mf_chat_form_written(const char *text, size_t bytes);

#endif
