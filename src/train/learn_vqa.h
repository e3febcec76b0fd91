/* The task to answer questions about images. An item of the set is a group of questions about one image
 * (mf_dataset_ask()). The network reads the image, the tokens of each question, and the objects of the image. Every
 * head of the questions gives one answer to each. The head of a question's type counts, and the others learn nothing
 * from it. A last head says the findings of the image, each yes or no.
 *
 * A tenth of what is learnt comes without objects, so that the network also answers where nobody finds any. */
#ifndef MF_TRAIN_LEARN_VQA_H
#define MF_TRAIN_LEARN_VQA_H

#include "io/questions.h"
#include "src/train/learn_show.h"
#include "src/vqa/guess.h"

extern const struct mf_learn mf_learn_vqa;
extern const struct mf_learn_show mf_show_vqa;

enum { MF_VQA_TOKENS_MOST = 512 }; /* of a question */

struct mf_vqa_wish {
    size_t tokens;     /* that the network reads of a question, at most */
    int flips;         /* images are flipped at random in training. Refused where an answer may depend on it */
    double findings;   /* weight of their loss; 0: they are not learnt */
    const char *merit; /* by what networks are compared: a type, a head, or "findings"; NULL: the mean of all types */
};

/** Are all types and answers those of src/vqa, so that it is known what a flip does to them? */
int mf_vqa_may_flip(const struct mf_questions_form *form);

/** The task on a set of questions. Refuses with MF_USAGE a wish that the set does not permit. Refuses with MF_INPUT a
 * set without a vocabulary, and more heads than a network has. mf_task_close() frees in every case. */
int mf_task_asked(const struct mf_dataset *set, const struct mf_vqa_wish *wish, struct mf_task *task);

/** Names of heads, answers, types and findings that the network knows. Rows and objects are those of no set. */
const struct mf_questions_form *mf_vqa_form(const struct mf_task *task);

/** Questions of a type, or images with an answer to a finding, and how many of them are answered rightly. */
struct mf_vqa_right {
    double asked, right;
};
struct mf_vqa_right mf_vqa_right_type(const struct mf_task *task, const struct mf_scores *scores, size_t type);
struct mf_vqa_right mf_vqa_right_finding(const struct mf_task *task, const struct mf_scores *scores, size_t finding);

/** The mean share of right answers of all types that were asked; NAN: none. */
double mf_vqa_accuracy(const struct mf_task *task, const struct mf_scores *scores);

/** Head, type and answer of a question, in numbers of the network. The head is form->heads where it knows no such
 * question, or where that does not count. Row @p row is of the set that the task was made for, or was fitted to. */
struct mf_vqa_label {
    size_t head, type;
    int32_t answer;
};
struct mf_vqa_label mf_vqa_label(const struct mf_task *task, size_t row);

/** Outputs of an item in a head are rows, one for each question: so many. */
size_t mf_vqa_together(const struct mf_task *task);

/** The type that the words of a question have, by the questions that were learnt. */
struct mf_vqa_guess mf_vqa_guess_type(const struct mf_task *task, size_t row);

/** Words of a text that no learnt question has, each once; and words of the learnt questions of a type. They are arrays
 * of texts, which the caller frees. A word is unknown if one of its tokens stood in no learnt question. */
struct mf_json *mf_vqa_unknown_words(const struct mf_task *task, const char *text);
struct mf_json *mf_vqa_learnt_words(const struct mf_task *task, size_t type);

/** The text of a question, with a zero behind it. */
const char *mf_vqa_question(const struct mf_dataset *set, size_t row, char text[MF_QUESTION_TEXT + 1]);

#endif
