/* The words of questions and answers. See vqa.h. In a phrasing '@' stands for the phase, and '#' for the direction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/vqa/vocabulary.h"
#include "src/vqa/vqa.h"

const struct mf_vqa_question mf_vqa_questions[MF_VQA_QUESTIONS] = {
    {MF_VQA_PERCOLATES, 0, 2}, {MF_VQA_PERCOLATES, 0, 1},   {MF_VQA_PERCOLATES, 1, 2}, {MF_VQA_PERCOLATES, 1, 1},
    {MF_VQA_LARGER, 0, -1},    {MF_VQA_LARGER, 1, -1},      {MF_VQA_ALIGNED, -1, -1},  {MF_VQA_CONNECTED, 0, -1},
    {MF_VQA_CONNECTED, 1, -1}, {MF_VQA_MORPHOLOGY, -1, -1}, {MF_VQA_LARGEST, 0, -1},   {MF_VQA_LARGEST, 1, -1},
    {MF_VQA_FRACTION, 0, -1},  {MF_VQA_FRACTION, 1, -1}};

const char *const mf_vqa_type_names[MF_VQA_TYPES] = {"percolates", "larger_phase", "aligned", "connected",
                                                     "morphology", "largest",      "fraction"};
const enum mf_vqa_head mf_vqa_type_heads[MF_VQA_TYPES] = {MF_VQA_YES_NO, MF_VQA_YES_NO, MF_VQA_YES_NO,  MF_VQA_YES_NO,
                                                          MF_VQA_KIND,   MF_VQA_PLACE,  MF_VQA_SEVERITY};
const char *const mf_vqa_head_names[MF_VQA_HEADS] = {"yes_no", "kind", "place", "severity"};
const size_t mf_vqa_head_answers[MF_VQA_HEADS] = {2, 0, MF_VQA_SPANS + 1, 4};

static const char *const phrasings[MF_VQA_TYPES][MF_VQA_PHRASINGS] = {
    [MF_VQA_PERCOLATES] = {"does the @ phase percolate #?", "is there a path of the @ phase #?",
                           "can one walk # on the @ phase?", "does the @ phase percolate the image #?",
                           "is the @ phase continuous #?", "does a @ path lead #?",
                           "does the @ phase join both edges #?", "is there a connected @ path #?",
                           "does a component of the @ phase span the image #?",
                           /* tests alone */
                           "does the @ phase span the image #?", "can one walk on a @ path #?",
                           "does a component of the @ phase percolate #?"},
    [MF_VQA_LARGER] = {"is the @ phase the larger one?", "is there more of the @ phase than of the other?",
                       "does the @ phase fill more than half of the image?", "is most of the image @?",
                       "are more than half of the pixels @?", "is the @ phase the major phase?",
                       "does the @ phase have most of the area?", "is the area of the @ phase larger?",
                       "is @ the phase with more pixels?",
                       /* tests alone */
                       "are most of the pixels @?", "does the @ phase have the larger area?",
                       "is more than half of the image @?"},
    [MF_VQA_ALIGNED] = {"is the structure aligned?", "are the interfaces aligned?",
                        "do most interfaces have one direction?", "is there a preferred direction?",
                        "does the image have a preferred direction?", "are the phases aligned along one direction?",
                        "is the texture aligned?", "do the interfaces follow one direction?",
                        "is one direction preferred in the structure?",
                        /* tests alone */
                        "does the structure have a preferred direction?", "are most interfaces aligned?",
                        "do the phases follow one direction?"},
    [MF_VQA_CONNECTED] = {"is the @ phase connected?", "is the @ phase one component?",
                          "does the @ phase have one single component?", "are all @ pixels connected?",
                          "is all of the @ phase joined?", "do all @ pixels belong to one component?",
                          "is the @ phase in one piece?", "are all parts of the @ phase joined?",
                          "does the @ phase form one piece?",
                          /* tests alone */
                          "do all parts of the @ phase belong to one piece?", "is the @ phase one single piece?",
                          "are all @ pixels in one component?"},
    [MF_VQA_MORPHOLOGY] = {"what kind of structure is this?", "which kind of structure does the image have?",
                           "what is the morphology?", "which morphology is this?",
                           "what morphology does the image show?", "which structure is this?",
                           "what does the image show?", "name the morphology.", "of which kind is the structure?",
                           /* tests alone */
                           "what kind of morphology is this?", "which structure does the image show?",
                           "name the kind of structure."},
    [MF_VQA_LARGEST] = {"where is the largest component of the @ phase?", "where is the largest @ component?",
                        "in which part of the image is the largest @ component?",
                        "where is the largest piece of the @ phase?", "which cell has the largest @ component?",
                        "where does the largest @ component lie?", "at which place is the largest @ piece?",
                        "what is the place of the largest @ component?",
                        "which part of the image has the largest @ piece?",
                        /* tests alone */
                        "where does the largest piece of the @ phase lie?", "in which cell is the largest @ component?",
                        "what is the place of the largest @ piece?"},
    [MF_VQA_FRACTION] = {"how much of the image is @?", "what is the fraction of the @ phase?",
                         "how large is the fraction of the @ phase?", "which quarter does the @ fraction lie in?",
                         "what share of the image is @?", "how much @ phase is there?",
                         "how large is the share of the @ phase?", "what part of the area is @?",
                         "how many of the pixels are @?",
                         /* tests alone */
                         "what share of the pixels is @?", "how much of the area is @?",
                         "how large is the @ part of the image?"},
};

static const char *const phases[] = {"dark", "light"};
static const char *const directions[] = {NULL, "from top to bottom", "from left to right"};
static const char *const quarters[] = {"below a quarter", "a quarter to a half", "a half to three quarters",
                                       "three quarters or more"};

void mf_vqa_text(size_t q, size_t phrasing, char text[MF_VQA_TEXT])
{
    const struct mf_vqa_question *what = &mf_vqa_questions[q];
    size_t n = 0;

    for (const char *at = phrasings[what->type][phrasing]; *at; ++at) {
        const char letter[2] = {*at, '\0'};
        const char *part = *at == '@' ? phases[what->phase] : *at == '#' ? directions[what->axis] : letter;

        n += (size_t)snprintf(text + n, MF_VQA_TEXT - n, "%s", part);
        MF_ASSERT(n < MF_VQA_TEXT);
    }
}

void mf_vqa_answer(enum mf_vqa_head head, size_t k, char text[MF_VQA_TEXT])
{
    switch (head) {
    case MF_VQA_YES_NO: snprintf(text, MF_VQA_TEXT, "%s", k ? "yes" : "no"); break;
    case MF_VQA_SEVERITY: snprintf(text, MF_VQA_TEXT, "%s", quarters[k]); break;
    case MF_VQA_PLACE:
        if (k == MF_VQA_SPANS)
            snprintf(text, MF_VQA_TEXT, "from edge to edge");
        else
            snprintf(text, MF_VQA_TEXT, "row %zu of %d, column %zu", k / MF_VQA_GRID + 1, MF_VQA_GRID,
                     k % MF_VQA_GRID + 1);
        break;
    default: *text = '\0';
    }
}

/* ---- vocabulary ---- */

int mf_vqa_vocabulary(char **lines)
{
    struct mf_vqa_words *words = mf_vqa_words_begin();
    char text[MF_VQA_TEXT];
    int rc = MF_OK;

    for (size_t p = 0; p < MF_VQA_TRAINED; ++p)
        for (size_t q = 0; q < MF_VQA_QUESTIONS && rc == MF_OK; ++q) {
            mf_vqa_text(q, p, text);
            rc = mf_vqa_words_add(words, text);
        }
    return mf_vqa_words_end(words, rc, lines);
}
