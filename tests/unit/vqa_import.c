/* Questions of other programs: tables, JSON lines and a file of types become questions of samples. Whatever is done to
 * a file, reading it succeeds or is refused with MF_INPUT; then all questions are sound. */
#include "src/vqa/import.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "tests/check.h"
#include "tests/scratch.h"
#include "tests/unit/mutate.h"

enum { FILES = 4, SAMPLES = 3, NY = 8, NX = 10 };

static const char *const names[FILES] = {"asked.csv", "asked.jsonl", "seen.jsonl", "types.yaml"};
static const char *const texts[FILES] = {
    "image,question,answer,question_type,split,grade\n"
    "2,\"is it, so?\",Yes,is_normal,train,A\n"
    "0,where?,left,where_is_finding,train,\n"
    "2,where now?,left,where_is_finding,train,B+\n"
    "1,what?,iron,metal,test,C\n",
    "{\"image\": 2, \"split\": \"train\", \"questions\": [{\"question\": \"is it, so?\", \"answer\": [true], \"type\": "
    "\"is_normal\", \"grade\": \"A\"}, {\"question\": \"where now?\", \"answer\": {\"text\": \"left\"}, \"type\": "
    "\"where_is_finding\", \"grade\": \"B+\"}]}\n"
    "{\"sample\": \"0\", \"question\": \" where? \", \"answer\": \"left\", \"type\": \"where_is_finding\", \"split\": "
    "\"train\"}\n\n"
    "{\"image\": 1, \"question\": \"what?\", \"answer\": \"iron\", \"type\": \"metal\", \"split\": \"test\", "
    "\"grade\": "
    "\"c\"}\n",
    "{\"image\": 0, \"objects\": [[0, 1, 5, 4], {\"box\": [0, 0, 10, 8], \"area\": 20, \"phase\": 1}], \"findings\": "
    "{\"pore\": 1, \"crack\": null}}\n"
    "{\"image\": 1, \"observations\": {\"a\": {\"localization\": {\"1\": {\"bboxes\": [[1, 2, 3, 4]]}}}}}\n",
    "question_types: {metal: category}\nheads:\n  kind: [lead, iron]\nfindings: {crack: 0.25}\n"};

static char *text[FILES];
static size_t bytes[FILES];

static void write_file(int k)
{
    FILE *to;

    (void)unlink(scratch_file(names[k])); /* a file system may flush what is written over */
    to = fopen(scratch_file(names[k]), "wb");
    CHECK(to && fwrite(text[k], 1, bytes[k], to) == bytes[k]);
    if (to) fclose(to);
}

static void restore(int k)
{
    bytes[k] = strlen(texts[k]);
    memcpy(text[k], texts[k], bytes[k]);
    write_file(k);
}

static int import(int asked, struct mf_vqa_import **import)
{
    const struct mf_vqa_import_wish wish = {
        .questions = scratch_file(names[asked]), .scenes = scratch_file(names[2]), .types = scratch_file(names[3])};
    const struct mf_vqa_samples samples = {
        .from = "x.npy", .count = SAMPLES, .ny = NY, .nx = NX, .part = {0.5, 0.25}, .seed = 1};
    int rc;

    *import = NULL;
    rc = mf_vqa_import_open(&wish, import);
    if (rc == MF_OK) rc = mf_vqa_import_place(*import, &samples);
    return rc;
}

/* ---- what the files say ---- */

static void check_rows(const struct mf_vqa_import *m)
{
    static const char *const question[] = {"where?", "what?", "is it, so?", "where now?"};
    static const int32_t label[] = {-1, -1, 0, 1, -1, -1, -1, 1, -1, -1, -1, 0};
    static const uint32_t sample[] = {0, 1, 2, 2};
    static const uint8_t grade[] = {0, 'C', 'A', 'B'}, held_out[] = {0, 1, 0, 0};
    static const uint64_t first[] = {0, 1, 2, 4};
    const struct mf_questions *q = m->all;

    CHECK(q->form.rows == 4 && q->form.types == 3 && q->form.heads == 3 && q->form.graded == 1);
    CHECK(strcmp(q->form.type[0], "metal") == 0 && strcmp(q->form.type[2], "where_is_finding") == 0);
    CHECK(strcmp(q->form.head[0], "kind") == 0 && strcmp(q->form.head[1], "yes_no") == 0);
    CHECK(memcmp(q->sample, sample, sizeof sample) == 0 && memcmp(q->grade, grade, sizeof grade) == 0);
    CHECK(memcmp(q->held_out, held_out, sizeof held_out) == 0 && memcmp(m->first, first, sizeof first) == 0);
    for (size_t r = 0; r < 4; ++r) CHECK(strcmp(q->text + r * q->form.text, question[r]) == 0);
    for (size_t r = 0; r < 4; ++r)
        for (size_t h = 0; h < 3; ++h)
            CHECK_SAYS(q->label[3 * r + h] == label[3 * r + h], "row %zu, head %zu: %d", r, h, q->label[3 * r + h]);
    CHECK(m->split[0] == MF_TRAIN && m->split[1] == MF_TEST && m->split[2] == MF_TRAIN);
    CHECK(strstr(q->vocabulary, "\nwhere\n") && !strstr(q->vocabulary, "\nwhat\n"));
}

static void check_scenes(const struct mf_vqa_import *m)
{
    static const float object[2][MF_OBJECT_VALUES] = {{0, 0, 1, 1, 0.25F, 1}, {0.125F, 0, 0.5F, 0.5F, 15 / 80.0F, 0}};
    static const uint8_t finding[] = {MF_FINDING_NONE, 1, MF_FINDING_NONE, MF_FINDING_NONE};
    const struct mf_questions *q = m->all;

    CHECK(q->form.objects == 8 && q->form.findings == 2 && q->form.threshold[0] == 0.25);
    CHECK(memcmp(q->object, object[1], sizeof object[1]) != 0 && memcmp(q->object, object, sizeof object[0]) == 0);
    for (int k = 0; k < MF_OBJECT_VALUES; ++k) CHECK_NEAR(q->object[MF_OBJECT_VALUES + k], object[1][k], 1e-7);
    CHECK(memcmp(q->finding, finding, sizeof finding) == 0);
    CHECK(m->boxed[0] && m->boxed[1] && !m->boxed[2]);
}

static void check_all(int asked)
{
    struct mf_vqa_import *m;

    CHECK(import(asked, &m) == MF_OK);
    if (m) check_rows(m);
    if (m) check_scenes(m);
    mf_vqa_import_close(m);
}

static void write_text(const char *name, const char *said)
{
    FILE *to = fopen(scratch_file(name), "wb");

    CHECK(to && fputs(said, to) >= 0 && fclose(to) == 0);
}

/* Words of a question that is held out are not learnt, and have no tokens of their own. */
static void check_held_out(void)
{
    struct mf_vqa_import *m;

    write_text(names[0], "image,question,answer,type,split,held_out\n0,is it?,yes,is_normal,train,\n"
                         "0,so secret?,no,is_normal,train,1\n");
    CHECK(import(0, &m) == MF_OK);
    if (m) CHECK(strstr(m->all->vocabulary, "\nit\n") && !strstr(m->all->vocabulary, "secret"));
    mf_vqa_import_close(m);
    restore(0);
}

static int import_of(const char *asked, const char *seen, struct mf_vqa_import **import)
{
    const struct mf_vqa_import_wish wish = {.questions = scratch_file(asked), .scenes = scratch_file(seen)};
    const struct mf_vqa_samples samples = {
        .from = "x.npy", .count = SAMPLES, .ny = NY, .nx = NX, .part = {0.5, 0.25}, .seed = 1};
    int rc;

    *import = NULL;
    rc = mf_vqa_import_open(&wish, import);
    return rc == MF_OK ? mf_vqa_import_place(*import, &samples) : rc;
}

/* Findings of a study are those of its images; the patient beside it is no finding. */
static void check_studies(void)
{
    static const char head[] = "image,study_id,question,answer,type,split\n", seen[] =
                                                                                  "subject_id,study_id,pore,crack\n"
                                                                                  "10,7,1,\n10,8,-1,0\n11,9,1,1\n";
    static const uint8_t finding[] = {1, MF_FINDING_NONE, MF_FINDING_NONE, 0, 1, MF_FINDING_NONE};
    struct mf_vqa_import *m;
    char asked[400];

    snprintf(asked, sizeof asked, "%s0,s7,is it?,yes,is_normal,train\n1,s8,is it?,no,is_normal,train\n%s", head,
             "2,s7,is it?,no,is_normal,train\n0,s7,so?,no,is_normal,train\n");
    write_text("study.csv", asked);
    write_text("seen.csv", seen);
    write_text("study.jsonl", "{\"study\": 7, \"findings\": {\"pore\": 1, \"crack\": null}}\n"
                              "{\"study\": \"s8\", \"findings\": {\"pore\": -1, \"crack\": false}}\n");
    for (int k = 0; k < 2; ++k) {
        CHECK_SAYS(import_of("study.csv", k ? "study.jsonl" : "seen.csv", &m) == MF_OK, "%s", mf_err_text());
        if (m) CHECK(m->all->form.findings == 2 && memcmp(m->all->finding, finding, sizeof finding) == 0);
        mf_vqa_import_close(m);
    }
    snprintf(asked, sizeof asked, "%s0,s7,is it?,yes,is_normal,train\n0,s8,so?,no,is_normal,train\n", head);
    write_text("study.csv", asked);
    CHECK(import_of("study.csv", "seen.csv", &m) == MF_INPUT);
    CHECK(strstr(mf_err_text(), "puts '0' into the study '8', and it is in '7'"));
    mf_vqa_import_close(m);
    write_text("seen.csv", "study_id,pore\n,1\n");
    CHECK(import_of("study.csv", "seen.csv", &m) == MF_INPUT);
    CHECK_SAYS(strstr(mf_err_text(), "seen.csv' names no study"), "%s", mf_err_text());
    mf_vqa_import_close(m);
}

/* ---- what is refused ---- */

static void check_refusals(void)
{
    static const struct refusal {
        int file;
        const char *text, *says;
    } all[] = {
        {0, "image,question,answer,type\n0,,yes,is_normal\n", "line 2 of '%s' has an empty question"},
        {0, "image,question,answer,type\n3,is it?,yes,is_normal\n", "line 2 of '%s' is about '3'"},
        {0, "image,question,answer,type\n0,is it?,maybe,is_normal\n",
         "line 2 of '%s' has the answer 'maybe', which the head 'yes_no' does not have; its answers are no, yes"},
        {0, "image,question,answer,type\n0,is it?,yes,is_odd\n", "line 2 of '%s' has the question type 'is_odd'"},
        {0, "image,question,answer,type\n0,is it?,yes,yes_no\n",
         "line 2 of '%s' has the question type 'yes_no', which is the name of a head"},
        {0, "image,question,answer,type\n0,is \xff,yes,is_normal\n", "line 2 of '%s' has letters that are not UTF-8"},
        {2, "{\"image\": 0, \"objects\": [[1, 2, 3, 9]]}\n", "which leaves the image of 10 x 8 pixels"},
        {2, "{\"image\": 0, \"objects\": [[-1, 2, 3, 4]]}\n", "which leaves the image of 10 x 8 pixels"},
        {2, "\n{\"image\": 0, \"objects\": [[1, 4, 3, 2]]}\n",
         "line 2 of '%s' has the box [1, 4, 3, 2] of '0', which is empty "},
        {3, "question_types: {metal: kind}\nhead: {}\n", "unknown key 'head'; did you mean heads"},
        {3, "question_types: {metal: kind}\nheads: {kind: [lead]}\n",
         "has the answer 'iron', which the head 'kind' does "}};

    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        struct mf_vqa_import *m;
        char says[600];

        free(text[all[i].file]);
        text[all[i].file] = strdup(all[i].text);
        bytes[all[i].file] = strlen(all[i].text);
        write_file(all[i].file);
        (void)snprintf(says, sizeof says, all[i].says, scratch_file(names[all[i].file]));
        CHECK(import(0, &m) == MF_INPUT);
        CHECK_SAYS(strstr(mf_err_text(), says), "'%s' is not in '%s'", says, mf_err_text());
        mf_vqa_import_close(m);
        text[all[i].file] = realloc(text[all[i].file], strlen(texts[all[i].file]) + 1);
        restore(all[i].file);
    }
}

/* ---- whatever is done to them ---- */

static int is_sound(const struct mf_questions *q)
{
    const struct mf_questions_form *f = &q->form;
    int sound = 1;

    for (size_t r = 0; r < f->rows; ++r) {
        const size_t head = (size_t)f->head_of[q->type[r]];

        sound &= q->sample[r] < SAMPLES && (r == 0 || q->sample[r] >= q->sample[r - 1]);
        sound &= q->label[r * f->heads + head] >= 0 && q->label[r * f->heads + head] < f->answers[head];
        sound &= q->text[r * f->text] && !q->text[(r + 1) * f->text - 1];
    }
    for (size_t i = 0; i < SAMPLES * f->objects; ++i) {
        const float *v = q->object + i * MF_OBJECT_VALUES;

        sound &= v[0] >= 0 && v[1] >= 0 && v[2] <= 1 && v[3] <= 1 && (v[2] == 0 || (v[0] < v[2] && v[1] < v[3]));
    }
    return sound;
}

static void fuzz(int k, int asked, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        struct mf_vqa_import *m;
        int rc;

        restore(k);
        bytes[k] = mutate(text[k], bytes[k]);
        write_file(k);
        rc = import(asked, &m);
        CHECK_SAYS(rc == MF_OK || rc == MF_INPUT, "mutation %zu of %s: %d, %s", i, names[k], rc, mf_err_text());
        if (rc == MF_OK) CHECK_SAYS(is_sound(m->all), "mutation %zu of %s", i, names[k]);
        mf_vqa_import_close(m);
    }
    restore(k);
}

int main(int argc, char **argv)
{
    const size_t count = SANITIZED ? 100 : 500;
    struct mf_comm comm;

    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    scratch_open(&comm);
    mf_log_hush(1);
    for (int k = 0; k < FILES; ++k) {
        text[k] = malloc(strlen(texts[k]) + 1);
        if (!text[k]) return 1;
        restore(k);
    }
    check_all(0);
    check_all(1);
    check_held_out();
    check_studies();
    check_refusals();
    for (int k = 0; k < FILES; ++k) fuzz(k, k == 1, count);
    for (int k = 0; k < FILES; ++k) free(text[k]);
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
