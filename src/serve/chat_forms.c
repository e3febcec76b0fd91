/* See chat_forms.h. */
#include "src/serve/chat_forms.h"

#include <string.h>

#include "io/hash.h"

const char *const mf_chat_roles[MF_CHAT_ROLES] = {"system", "user", "assistant"};

#define CHATML                                                                                 \
    .role = {"<|im_start|>system\n{text}<|im_end|>\n", "<|im_start|>user\n{text}<|im_end|>\n", \
             "<|im_start|>assistant\n{text}<|im_end|>\n"},                                     \
    .answer = "<|im_start|>assistant\n"
#define LLAMA3(role) "<|start_header_id|>" role "<|end_header_id|>\n\n"

static const struct mf_chat_form chatml = {.name = "chatml", .begin = "", CHATML};
static const struct mf_chat_form llama2 = {
    .name = "llama2",
    .begin = "",
    .role = {NULL, "{bos}[INST] {text} [/INST]", " {text} {eos}"},
    .answer = "",
    .wrap = "<<SYS>>\n{text}\n<</SYS>>\n\n",
    .trims = 1,
    .alternates = 1,
};
static const struct mf_chat_form llama3 = {
    .name = "llama3",
    .begin = "{bos}",
    .role = {LLAMA3("system") "{text}<|eot_id|>", LLAMA3("user") "{text}<|eot_id|>",
             LLAMA3("assistant") "{text}<|eot_id|>"},
    .answer = LLAMA3("assistant"),
    .trims = 1,
};
static const struct mf_chat_form mistral = {
    .name = "mistral",
    .begin = "{bos}",
    .role = {NULL, "[INST] {text} [/INST]", "{text}{eos}"},
    .answer = "",
    .alternates = 1,
};
static const struct mf_chat_form zephyr = {
    .name = "zephyr",
    .begin = "",
    .role = {"<|system|>\n{text}{eos}\n", "<|user|>\n{text}{eos}\n", "<|assistant|>\n{text}{eos}\n"},
    .answer = "<|assistant|>\n",
};

static const struct mf_chat_form *const named[] = {&chatml, &llama2, &llama3, &mistral, &zephyr};

const struct mf_chat_form *mf_chat_form_named(const char *name)
{
    for (size_t i = 0; i < sizeof named / sizeof *named; ++i)
        if (strcmp(named[i]->name, name) == 0) return named[i];
    return NULL;
}

const struct mf_chat_form *mf_chat_form_written(const char *text, size_t bytes)
{
    char hex[65];

    if (bytes && text[bytes - 1] == '\n') --bytes; /* Jinja leaves one out */
    mf_hash_bytes(text, bytes, hex);
    return NULL;
}
