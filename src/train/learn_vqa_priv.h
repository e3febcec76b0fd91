/* Shared by learn_vqa.c, vqa_read.c and vqa_fill.c. All functions are local. */
#ifndef MF_TRAIN_LEARN_VQA_PRIV_H
#define MF_TRAIN_LEARN_VQA_PRIV_H

#include "src/text/tokenizer.h"
#include "src/train/learn_vqa.h"

/** Facts of the task. */
struct mf_asked {
    struct mf_questions_form form; /* what the network knows; form.objects: those that it reads of an image */
    char *vocabulary;
    struct mf_tokenizer *tokenizer;
    struct mf_vqa_words words; /* by which the type of a question is told */
    size_t most;               /* tokens of a question that it may read */
    size_t length;             /* tokens of the longest question of the set that are read, in whole steps of 8 */
    int flips;
    double findings;                                 /* weight of their loss */
    char merit[MF_REAL_TEXT];                        /* empty: the mean of all types */
    size_t place;                                    /* the head whose answers a flip changes; form.heads: none */
    char label[MF_QUESTION_HEADS][MF_REAL_TEXT + 8]; /* names of inputs */
    enum mf_hidden hidden;
    /* of the set, in numbers of the network */
    const struct mf_dataset *set;
    size_t together;                         /* questions of an item, at most */
    int32_t *token;                          /* [questions][length] */
    uint16_t *count;                         /* [questions] tokens that are there */
    int32_t *answer;                         /* [questions] -1: none that the network has, or it does not count */
    uint8_t *type;                           /* [questions] form.types: none that the network knows */
    uint32_t *other;                         /* [questions] a question of the same split; NULL: until one is hidden */
    size_t finding_of[MF_QUESTION_FINDINGS]; /* column of the set; SIZE_MAX: it has none */
};

static inline struct mf_asked *mf_asked_of(const struct mf_task *task) { return task->own; }

/** Inputs, and heads: labels of head h are input MF_ASKED_LABEL + h. */
enum {
    MF_ASKED_X,
    MF_ASKED_TOKENS,
    MF_ASKED_SEEN,
    MF_ASKED_WORD_SHARE,
    MF_ASKED_OBJECT,
    MF_ASKED_OBJECT_SHARE,
    MF_ASKED_REGION,
    MF_ASKED_LABEL
};

/** Opens the tokenizer of own->vocabulary. MF_INPUT, for a vocabulary of @p path. */
int mf_asked_words(struct mf_asked *own, const char *path);

/** Takes the questions of a set by the names of types, answers and findings, and cuts their texts. Says what the
 * network does not know. Refuses with MF_INPUT. The second frees what it took. */
int mf_asked_read(struct mf_asked *own, const struct mf_dataset *set);
void mf_asked_forget(struct mf_asked *own);

/** Draws own->other: in each split the questions that count, in another order. */
int mf_asked_shuffle(struct mf_asked *own);

/** Counts the tokens of the questions to learn from, by their types. */
int mf_asked_count(struct mf_asked *own, const struct mf_dataset *set);

/** A finding of an item's image: 0, 1, MF_FINDING_NONE. */
int mf_asked_finding(const struct mf_task *task, const struct mf_dataset *set, size_t item, size_t finding);

/** The heads, and what of the task follows from own->form. */
void mf_asked_heads(struct mf_task *task, struct mf_asked *own);

/** The task in a model's card: struct mf_learn.save and load. */
#define MF_ASKED_KEY "questions"
void mf_asked_save(const struct mf_task *task, struct mf_json *card);
int mf_asked_load(const struct mf_model_card *card, struct mf_task *task);

/** struct mf_learn.fill */
void mf_asked_fill(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to);

#endif
