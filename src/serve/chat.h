/* Texts of a conversation. Templates of models are programs in Jinja, and this runs none. It knows some of them by the
 * SHA-256 of their words. All functions are local. */
#ifndef MF_SERVE_CHAT_H
#define MF_SERVE_CHAT_H

#include "src/text/buffer.h"

struct mf_chat;

struct mf_chat_message {
    const char *role; /* system, user, assistant */
    const char *text;
    size_t bytes;
};

/**
 * Opens a template. @p name: chatml, llama2, llama3, mistral, zephyr, or a file. NULL: that of a model's @p folder.
 * It must be one of these word for word; else *chat is NULL. The folder also says the tokens that begin and end a text.
 *
 * A line of a file is a word, a blank, and a text. The word "begin" stands before all, "answer" before the next answer.
 * The words "system", "user" and "assistant" are for messages. Only "user" and "answer" must be there.
 *
 * The text of a message is {text}. Tokens of the model are {bos} and {eos}. A new line is \n, a backslash \\. A line
 * that begins with # is a comment.
 *
 * Refuses with MF_USAGE, MF_INPUT.
 */
int mf_chat_open(const char *name, const char *folder, struct mf_chat **chat);
void mf_chat_close(struct mf_chat *chat);
const char *mf_chat_name(const struct mf_chat *chat);

/** Appends the prompt for the next answer of the assistant, with the tokens that begin a text. Its pieces are the texts
 * of messages, which users wrote. Refuses with MF_USAGE roles that the template has not, or in an order that it does
 * not take. */
int mf_chat_write(const struct mf_chat *chat, size_t messages, const struct mf_chat_message *message,
                  struct mf_pieces *prompt);

#endif
