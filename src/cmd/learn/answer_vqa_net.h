/* A network that answers questions about images, asked about samples which no dataset has. */
#ifndef MF_CMD_LEARN_ANSWER_VQA_NET_H
#define MF_CMD_LEARN_ANSWER_VQA_NET_H

#include "src/cmd/learn/crew.h"
#include "src/cmd/learn/infer.h"
#include "src/train/learn_vqa.h"
#include "src/train/train.h"

/** A question, and where its answers are among the numbers about a sample. */
struct mf_question {
    const char *text;        /* as it is asked: a long one is cut */
    size_t type;             /* of those that the model knows */
    size_t first, count;     /* probabilities of the head's answers */
    const mf_name *answer;   /* [count] */
    struct mf_json *unknown; /* its words that no learnt question has */
};

/** Questions, and the network. All samples get the same questions. */
struct mf_answerer {
    /* the caller sets: */
    const struct mf_session *session;
    size_t questions, batch; /* batch: samples that are asked about together, at most */
    struct mf_crew crew;     /* all ranks: whether they cut the weights, and parts in host memory */
    /* mf_answerer_open() sets: */
    struct mf_question *question;
    struct mf_model_card card;
    struct mf_task task;
    struct mf_scorer scorer;
    struct mf_dataset set; /* in memory: samples are those of a batch */
    struct mf_questions *asked;
    struct mf_questions *scenes; /* of a set whose samples are asked about: its objects count. NULL: none */
    size_t *id;                  /* [batch] of its samples */
    float *input, *row;          /* [batch] of samples, and of items that the network reads at a time */
    size_t numbers;              /* of a sample's input */
    float *output[MF_HEADS];
};

/** Refuses with MF_USAGE texts that are empty, no UTF-8, or names of files. Local. */
int mf_answerer_check(const struct mf_texts *questions);

/** Opens a model. @p type: that of all questions, or of each; none: the words tell it. Says a text that is cut. Refuses
 * (agreed) with MF_USAGE a model that reads no text. The same holds for a type that it does not know, and for words
 * that it never read. MF_INPUT, MF_MEMORY. Collective. The caller closes it in every case. */
int mf_answerer_open(const char *model, const struct mf_texts *questions, const struct mf_texts *type,
                     struct mf_answerer *answerer, struct mf_infer_net *net);
void mf_answerer_close(struct mf_answerer *answerer);

#endif
