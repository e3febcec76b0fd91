/* A tokenizer's file may not say everything. Unknown types and keys, numbers out of range and merges of tokens that are
 * not there are refused with MF_INPUT. Each has one sentence, before memory is taken. And texts for pairs have types.
 */
#include "tests/check.h"

#include <string.h>
#include <sys/resource.h>

#include "src/base/err.h"
#include "src/text/tokenizer.h"
#include "tests/unit/text_case.h"

#define BPE(more) \
    "\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1, \"ab\": 2}, \"merges\": [[\"a\", \"b\"]]" more "}"

static const struct {
    const char *text, *says;
} cases[] = {
    {"{}", "model: must be an object"},
    {"[1]", "tokenizer: must be an object"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\"", "is not JSON"},
    {"{" BPE() "} {" BPE() "}", "is not JSON"},
    {"{" BPE() ", " BPE() "}", "duplicate"},
    {"{" BPE() ", \"modell\": 1}", "the key 'modell' is not known"},
    {"{" BPE(", \"beam\": 1") "}", "the key 'beam' is not known"},
    {"{" BPE(", \"dropout\": 0.1") "}", "by chance"},
    {"{" BPE(", \"end_of_word_suffix\": \"</w>\"") "}", "'end_of_word_suffix' is not known"},
    {"{" BPE(", \"fuse_unk\": 1") "}", "'fuse_unk' must be true or false"},
    {"{" BPE() ", \"normalizer\": {\"type\": \"Precompiled\"}}", "'Precompiled' is not known; known are"},
    {"{" BPE() ", \"normalizer\": {\"type\": \"NFC\", \"form\": 1}}", "the key 'form' is not known"},
    {"{" BPE() ", \"normalizer\": {\"type\": \"Sequence\", \"normalizers\": [null]}}",
     "step 0 of the sequence is null"},
    {"{" BPE() ", \"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"(a\"}, \"content\": \"\"}}",
     "the pattern '(a' is not known here"},
    {"{" BPE() ", \"normalizer\": {\"type\": \"Replace\", \"pattern\": {\"Regex\": \"[a&&b]\"}, \"content\": \"\"}}",
     "which is not known here"},
    {"{" BPE() ", \"pre_tokenizer\": {\"type\": \"UnicodeScripts\"}}", "'UnicodeScripts' is not known"},
    {"{" BPE() ", \"pre_tokenizer\": {\"type\": \"Split\", \"pattern\": {\"String\": \" \"}, \"behavior\": \"Odd\"}}",
     "the behavior 'Odd' is not known"},
    {"{" BPE() ", \"pre_tokenizer\": {\"type\": \"Sequence\", \"pretokenizers\": [{\"type\": \"ByteLevel\"}, "
               "{\"type\": \"Digits\"}]}}",
     "it must be the last one"},
    {"{" BPE() ", \"decoder\": {\"type\": \"CTC\"}}", "'CTC' is not known"},
    {"{" BPE() ", \"decoder\": {\"type\": \"Strip\", \"content\": \" \", \"start\": 1e9}}", "no whole number of 0 to"},
    {"{" BPE() ", \"post_processor\": {\"type\": \"Odd\"}}", "the type 'Odd' is not known"},
    {"{" BPE() ", \"post_processor\": {\"type\": \"BertProcessing\", \"sep\": [\"b\", 9], \"cls\": [\"a\", 0]}}",
     "9 is no whole number of 0 to 2"},
    {"{" BPE() ", \"added_tokens\": [{\"id\": 7, \"content\": \"a\"}]}", "'a' has number 7, and 0 in the vocabulary"},
    {"{" BPE() ", \"added_tokens\": [{\"id\": 1000000000, \"content\": \"c\"}]}", "no whole number"},
    {"{" BPE() ", \"added_tokens\": [{\"id\": 3, \"content\": \"c\"}, {\"id\": 3, \"content\": \"d\"}]}",
     "have the same number 3"},
    {"{\"model\": {\"type\": \"Unigram\", \"vocab\": []}}",
     "the type 'Unigram' is not known; known are BPE, WordPiece"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {}, \"merges\": []}}", "'vocab' is empty"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 1000000000}, \"merges\": []}}", "no whole number of 0 to"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 1e300}, \"merges\": []}}", "no whole number of 0 to"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 1.5}, \"merges\": []}}", "1.5 is no whole number"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": -1}, \"merges\": []}}", "-1 is no whole number"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 0}, \"merges\": []}}", "have the same number 0"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [[\"a\", \"b\"]]}}",
     "which the vocabulary lacks"},
    {"{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": [\"ab\"]}}", "is no pair of tokens"},
    {"{\"model\": {\"type\": \"WordPiece\", \"vocab\": {\"a\": 0}}}", "its token for unknown words"},
};

static void check_refused(const char *text, const char *says)
{
    struct mf_tokenizer *t = NULL;

    CHECK_SAYS(mf_tokenizer_open(text_file(text, strlen(text)), &t) == MF_INPUT && !t, "it was not refused: %s", text);
    CHECK_SAYS(strstr(mf_err_text(), says), "'%s' lacks '%s': %s", mf_err_text(), says, text);
    mf_tokenizer_close(t);
}

/* Brackets within brackets; a file that seems to be long; a file whose values take more memory than it. */
static void check_deep(void)
{
    enum { MANY = 10 << 20 };
    struct mf_tokenizer *t = NULL;
    char *deep = malloc(100001);

    memset(deep, '[', 100000);
    deep[100000] = '\0';
    check_refused(deep, "is not JSON");
    free(deep);
    CHECK(truncate(text_file("{}", 2), (off_t)1 << 40) == 0);
    CHECK(mf_tokenizer_open(text_path(), &t) == MF_INPUT && strstr(mf_err_text(), "too many for a tokenizer"));
    if (SANITIZED) return;
    deep = malloc(MANY);
    memset(deep, ',', MANY - 1);
    deep[0] = '[';
    deep[MANY - 1] = '\0';
    check_refused(deep, "too many for its kind");
    free(deep);
}

/* Special tokens that touch a part of a user are text; those between parts count. */
static void check_parts(struct mf_tokenizer *t)
{
    static const char text[] = "<s>a<s>b<s><s>";
    static const struct mf_span part[] = {{4, 3}, {10, 2}}; /* the second one, and parts of the third and the fourth */
    struct mf_tokens got = {0};

    CHECK(mf_tokenizer_encode_parts(t, text, sizeof text - 1, 0, 0, NULL, &got) == MF_OK && got.lost == 0);
    CHECK(got.count == 6);
    got.count = 0;
    CHECK(mf_tokenizer_encode_parts(t, text, sizeof text - 1, 0, 1, part, &got) == MF_OK && got.lost == 3);
    CHECK(got.count == 4 && got.at[0] == 3 && got.at[3] == 3);
    got.count = got.lost = 0;
    CHECK(mf_tokenizer_encode_parts(t, text, sizeof text - 1, 0, 2, part, &got) == MF_OK && got.lost == 9);
    CHECK(got.count == 2 && got.at[0] == 3);
    mf_tokens_free(&got);
}

/* A frame for two texts, and the types of its tokens. */
static void check_pair(void)
{
    static const char frame[] =
        "{" BPE() ", \"added_tokens\": [{\"id\": 3, \"content\": \"<s>\", \"special\": true}], \"post_processor\": "
                  "{\"type\": \"TemplateProcessing\", \"special_tokens\": {\"<s>\": {\"id\": \"<s>\", \"ids\": [3], "
                  "\"tokens\": [\"<s>\"]}}, \"single\": [{\"Sequence\": {\"id\": \"A\", \"type_id\": 0}}], \"pair\": "
                  "[{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}, {\"Sequence\": {\"id\": \"A\", \"type_id\": "
                  "0}}, {\"Sequence\": {\"id\": \"B\", \"type_id\": 1}}]}}";
    static const uint32_t want[] = {3, 2, 1, 2}, types[] = {0, 0, 0, 1}, literal[] = {2, 0};
    const char *const text[] = {"abb", "ab"};
    const size_t n[] = {3, 2};
    struct mf_tokenizer *t = NULL;
    struct mf_tokens got = {0}, type = {0};

    CHECK(mf_tokenizer_open(text_file(frame, strlen(frame)), &t) == MF_OK);
    if (!t) return;
    CHECK(mf_tokenizer_encode_two(t, text, n, 0, &got, &type) == MF_OK);
    CHECK(got.count == 4 && memcmp(got.at, want, sizeof want) == 0);
    CHECK(type.count == 4 && memcmp(type.at, types, sizeof types) == 0);
    got.count = 0;
    CHECK(mf_tokenizer_encode(t, "<s>b", 4, 0, &got) == MF_OK && got.count == 2 && got.at[0] == 3);
    got.count = 0; /* the model has no token for three of the characters, and merges what is left */
    CHECK(mf_tokenizer_encode(t, "a<s>ba", 6, MF_ENCODE_LITERAL, &got) == MF_OK && got.lost == 3);
    CHECK(got.count == 2 && memcmp(got.at, literal, sizeof literal) == 0);
    check_parts(t);
    mf_tokens_free(&got);
    mf_tokens_free(&type);
    mf_tokenizer_close(t);
}

/* A vocabulary in memory. It is cut in small letters. */
static void check_words(void)
{
    static const uint32_t want[] = {2, 4, 5, 1, 3};
    struct mf_tokenizer *t = NULL;
    struct mf_tokens got = {0};

    CHECK(mf_tokenizer_of_words("a set", "[PAD]\n[UNK]\n[CLS]\n[SEP]\nphase\n##s\n", &t) == MF_OK);
    if (t) CHECK(mf_tokenizer_encode(t, "Phases ?", 8, 0, &got) == MF_OK);
    CHECK(got.count == 5 && memcmp(got.at, want, sizeof want) == 0);
    mf_tokens_free(&got);
    mf_tokenizer_close(t);
    CHECK(mf_tokenizer_of_words("a set", "phase\n", &t) == MF_INPUT && !t);
    CHECK(strstr(mf_err_text(), "'a set' lacks the special token '[UNK]'"));
    mf_err_clear();
}

int main(void)
{
    struct rusage used;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) check_refused(cases[i].text, cases[i].says);
    check_deep();
    check_pair();
    check_words();
    getrusage(RUSAGE_SELF, &used);
    CHECK(SANITIZED || used.ru_maxrss < 64 << 10);
    return failures != 0;
}
