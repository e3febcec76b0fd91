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
#define MISTRAL(eos)                                                                                          \
    .name = "mistral", .begin = "{bos}", .role = {NULL, "[INST] {text} [/INST]", "{text}" eos}, .answer = "", \
    .alternates = 1

static const struct mf_chat_form chatml = {.name = "chatml", .begin = "", CHATML};
static const struct mf_chat_form chatml_bos = {.name = "chatml", .begin = "{bos}", CHATML};
static const struct mf_chat_form chatml_smollm = {
    .name = "chatml",
    .begin = "",
    CHATML,
    .usual = "You are a helpful AI assistant named SmolLM, trained by Hugging Face",
};
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
static const struct mf_chat_form mistral = {MISTRAL("{eos}")};
static const struct mf_chat_form mistral_first = {MISTRAL("{eos} ")};
static const struct mf_chat_form zephyr = {
    .name = "zephyr",
    .begin = "",
    .role = {"<|system|>\n{text}{eos}\n", "<|user|>\n{text}{eos}\n", "<|assistant|>\n{text}{eos}\n"},
    .answer = "<|assistant|>\n",
};

static const struct mf_chat_form *const named[] = {&chatml, &llama2, &llama3, &mistral, &zephyr};

/* Templates that Jinja compared with their forms. The first of each form is in tests/fixtures/chat, the others are
 * published with models. */
static const struct {
    const char *hex; /* SHA-256, without a new line at the end */
    const struct mf_chat_form *form;
} known[] = {
    {"724010d9da142ffac27b71a7c8172687f9a2d979bd591d3cba0f5159e7bd3353", &chatml},
    {"58c1a1f04baa7adaeaba1f90267c3d57d9396f0c1f0129bdde9e76d3c6784af7", &chatml},
    {"153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3", &chatml},
    {"e6f6e5c192657d1631c2cdf89cd8402518e7bf3f44dce4c4a7d9be74bfaa946a", &chatml},
    {"fcf7a096fe99a48fd9ad2b250bf9237e96e8f48bffec1c7ea4d3f225176cd40e", &chatml}, /* OpenHermes 2.5 */
    {"d7b5b8c7b58f7a6bf868aa46a5f73ee976d7292f40fcb9c3e7a1defd8d235cfb", &chatml}, /* dolphin 2.5 of Mixtral */
    {"a805e50fed68938a076b07e2e602639611b50b1ced0e50f11eb92f1ba25be4dc", &chatml_bos},
    {"f42d04ffb2e487fa9c501ab886afe8fce0822f9874a9ca4284ba57e2a686a56a", &chatml_bos},
    {"872be49dbb638044ad01b60388f48d469ff2980e5f0dccdc22ec907db54d0788", &chatml_smollm}, /* SmolLM2 Instruct */
    {"eb511155a00bf599949d09299730219e4e781659fe687b932992b2104fe696aa", &llama2},
    {"ea2472f29dbd93c3eb696795f6403228fcc4b775518869c771f83fbae5c11dbf", &llama2},
    {"e8d5b5a546d3f19df16a5320c614fab05bdc4edd50e850f1afd947b503ea41cf", &llama2},
    {"42b4c8511677b45c4e300647dd373ef28fb9b35ff4fe4577d6d6e63c82ca4ad7", &llama3},
    {"ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122", &llama3},
    {"b48c47f6443892716176eb200bf4ef108f64e06ca26ed0fa8ebc0a4b3992fcb2", &llama3},
    {"f9cad1239cb25b9526c8047a600d73322648e0bf0024724370bcdbd66d338367", &mistral},
    {"26a59556925c987317ce5291811ba3b7f32ec4c647c400c6cc7e3a9993007ba7", &mistral},       /* Mixtral 8x7B Instruct */
    {"7e995b379ec01747807246483647cd99030abf331653f1119e16d7ac041a3495", &mistral_first}, /* Mistral 7B Instruct 0.1 */
    {"27d1c5879fcef6b2ed2204737c7547c690cd73ccb677e890efbeddbbffa28512", &zephyr},
    {"66291cf0045c2425a3a667cf3cbb7af2b11f09e025c02f97245323ab79119362", &zephyr},
    {"4f39e3a4b9e3d369b42fd00d93a78f171914bb4e58ec84fc420433d7a153288a", &zephyr}, /* zephyr 7B beta */
};

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
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (strcmp(known[i].hex, hex) == 0) return known[i].form;
    return NULL;
}
