/* Whatever is done to the files of sentence-transformers, they are read, or refused with MF_INPUT and a sentence.
 * Argument: changes of each file. */
#include "src/gen/pooling.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "tests/check.h"
#include "tests/scratch.h"
#include "tests/unit/mutate.h"

enum { FILES = 5, MOST = 1024 };

static const char *const names[FILES] = {"modules.json", "1_Pooling/config.json", "1_Pooling/config.json",
                                         "sentence_bert_config.json", "config_sentence_transformers.json"};
static const char *const sound[FILES] = {
    "[{\"idx\": 0, \"name\": \"0\", \"path\": \"\", \"type\": \"sentence_transformers.models.Transformer\"},\n"
    " {\"idx\": 1, \"name\": \"1\", \"path\": \"1_Pooling\", \"type\": \"sentence_transformers.models.Pooling\"},\n"
    " {\"idx\": 2, \"name\": \"2\", \"path\": \"2_Normalize\", \"type\": \"sentence_transformers.models.Normalize\"}]",
    "{\"word_embedding_dimension\": 384, \"pooling_mode_cls_token\": false, \"pooling_mode_mean_tokens\": true,\n"
    " \"pooling_mode_max_tokens\": false, \"pooling_mode_mean_sqrt_len_tokens\": false}",
    "{\"embedding_dimension\": 16, \"pooling_mode\": \"lasttoken\", \"include_prompt\": true}",
    "{\"max_seq_length\": 256, \"do_lower_case\": true}",
    "{\"prompts\": {\"query\": \"query: \"}, \"default_prompt_name\": \"query\", \"similarity_fn_name\": \"cosine\"}"};

static void put(int k, const char *text, size_t n)
{
    char *path = mf_format("%s/%s", scratch, names[k]);
    FILE *file = fopen(path, "wb");

    CHECK(file && fwrite(text, 1, n, file) == n && fclose(file) == 0);
    free(path);
}

static int try_all(struct mf_pooling *p)
{
    const int rc = mf_pooling_read(scratch, 0, p);

    CHECK_SAYS(rc == MF_OK || (rc == MF_INPUT && *mf_err_text()), "status %d: %s", rc, mf_err_text());
    CHECK(rc != MF_OK || ((int)p->pool >= 0 && p->pool < MF_POOLS));
    mf_err_clear();
    return rc;
}

/* Returns how many changed files are still read. */
static long fuzz(int k, long times)
{
    char text[MOST + MUTATE_EXTRA];
    const size_t n = strlen(sound[k]);
    struct mf_pooling p;
    long read = 0;

    for (long i = 0; i < times; ++i) {
        memcpy(text, sound[k], n);
        put(k, text, mutate(text, n));
        read += try_all(&p) == MF_OK;
    }
    put(k, sound[k], n);
    return read;
}

int main(int argc, char **argv)
{
    struct mf_pooling p;
    struct mf_comm self;
    char *folder;

    NEEDS(1, "CHANGES");
    mf_comm_self(&self);
    scratch_open(&self);
    CHECK(try_all(&p) == MF_OK && p.pool == MF_POOL_MEAN && !p.normalises && p.longest == 0);
    folder = mf_format("%s/1_Pooling", scratch);
    CHECK(mkdir(folder, 0700) == 0);
    for (int k = 0; k < FILES; ++k) put(k, sound[k], strlen(sound[k]));
    CHECK(try_all(&p) == MF_OK && p.pool == MF_POOL_LAST && p.normalises && p.longest == 256 && p.prefixed &&
          p.lowered);
    for (int k = 0; k < FILES; ++k) CHECK(fuzz(k, strtol(argv[1], NULL, 10)) > 0);
    CHECK(remove(scratch_file(names[1])) == 0 && rmdir(folder) == 0);
    scratch_close(&self);
    free(folder);
    return argc < 1 || failures != 0;
}
