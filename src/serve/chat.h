/* Texts of a conversation. Templates of models are programs in Jinja, and this runs none: it knows some of them by
 * their words. All functions are local. */
#ifndef MF_SERVE_CHAT_H
#define MF_SERVE_CHAT_H

#include "src/text/buffer.h"

struct mf_chat;

struct mf_chat_message {
    const char *role; /* system, user, assistant */
    const char *text;
    size_t bytes;
};

/** @p name: chatml, llama2, llama3, mistral, zephyr, or a file with a line for each role; NULL: the template of a
 * model's @p folder, where it is one of these word for word. *chat is NULL where the folder has none, or another one.
 * Refuses with MF_USAGE, MF_INPUT. */
int mf_chat_open(const char *name, const char *folder, struct mf_chat **chat);
void mf_chat_close(struct mf_chat *chat);
const char *mf_chat_name(const struct mf_chat *chat);

/** Appends the prompt for the next answer of the assistant. Refuses with MF_USAGE roles that the template has not, or
 * in an order that it does not take. */
int mf_chat_write(const struct mf_chat *chat, size_t messages, const struct mf_chat_message *message,
                  struct mf_bytes *prompt);

#endif
