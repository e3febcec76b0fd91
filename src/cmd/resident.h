/* Models that stay loaded between questions, for a library. Each kind of model has a table of functions, as a verb has.
 * Rule: a question gives what the verb gives, with the same bits. */
#ifndef MF_CMD_RESIDENT_H
#define MF_CMD_RESIDENT_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/train/learn.h"

/** Gets the arrays of an answer, in C order. Elements have @p size bytes, and NumPy's @p type. Name, type and axes are
 * constants. Values stay until put() returns. Local; MF_MEMORY. */
struct mf_resident_taker {
    int (*put)(void *context, const char *name, const char *type, size_t size, int ndim, const size_t *dims,
               const char *axes, const void *values);
    void *context;
};

/** A kind of model. Functions are collective, and refuse (agreed), unless they say otherwise. */
struct mf_resident_kind {
    const struct mf_cmd *verb;    /* its options are those of loading and of questions together */
    const struct mf_learn *learn; /* of our networks; else NULL */
    const char *const *loading;   /* words of loading, NULL at the end */
    const char *const *asking;    /* of questions; what is neither is of the verb alone. NULL: all others */
    int makes;                    /* it makes samples or texts; else it predicts of inputs */
    /** Refuses options of loading, or of a question: MF_USAGE. Local. */
    int (*check)(const struct mf_session *session, const void *options);
    /** Reads the weights. Session, options and path outlive the model. */
    int (*open)(struct mf_session *session, const struct mf_resident_kind *kind, void *options, const char *path,
                void **model);
    /** Puts facts: what it reads, what it returns, where its parts are. Local. */
    void (*facts)(const void *model, struct mf_json *to);
    /** Completes the options of a question: MF_USAGE. NULL: they are complete. Local. */
    int (*settle)(const void *model, struct mf_options *options, void *into);
    /** Axes of a sample. NULL: it reads none. Local. */
    int (*axes)(const void *model);
    /** Asks about files, and prints what the verb does. */
    int (*ask)(void *model, void *options, const char *const *files, size_t count,
               const struct mf_resident_taker *taker);
    /** NULL is accepted. */
    void (*close)(void *model);
};

extern const struct mf_resident_kind mf_resident_classify, mf_resident_regress, mf_resident_generate, mf_resident_text,
    mf_resident_answer;

/** The kind of the model at @p path. Refuses with MF_INPUT, and with MF_USAGE a model that no table has. Local. */
int mf_resident_find(const char *path, const struct mf_resident_kind **kind);

#endif
