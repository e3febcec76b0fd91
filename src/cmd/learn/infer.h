/* Predictions of a trained model for files and datasets: infer KIND, a verb for each kind of task. */
#ifndef MF_CMD_LEARN_INFER_H
#define MF_CMD_LEARN_INFER_H

#include "src/cmd/cmd.h"
#include "src/train/learn.h"

struct mf_infer_cmd {
    struct mf_common common;
    const char *threshold, *dataset, *map;
    int offload; /* weights are in host memory */
    struct mf_longs labels;
    long batch, stages, zero;
};

extern const struct mf_opt mf_infer_file_rows[], mf_infer_stream_rows[]; /* of files; of weights elsewhere */
extern const struct mf_opt *const mf_infer_tables[];

#define MF_INFER_TEXT                                                                                                  \
    "Reads what characterize reads (.npy, PNG, TIFF, our HDF5, VTK, NRRD, DREAM.3D), and datasets, of which every "    \
    "sample is predicted. A file that is larger than the samples of the training is cut into tiles of their size. "    \
    "The last tile of a row ends with the file, so it may overlap the one before. The mean over the tiles is "         \
    "printed. A smaller file is refused. A model of images reads .npy, PNG and TIFF of grey values; of "               \
    "several channels .npy [y][x][channel]. One line warns of images of another scale than those of the training, as " \
    "16 bits for 8. --output writes a table. Ranks share files and samples. A file that is refused is named and left " \
    "out; the others are predicted, and the exit status is 3.\n\n"                                                     \
    "A model that is too large for a rank is cut: --pp 2 makes two ranks a pipeline, and --map says which has which "  \
    "part. With --zero 3 ranks cut every weight, and share the samples. With --offload-weights host weights that do "  \
    "not fit a GPU stand in host memory. Answers are those of one rank.\n\n"

/** Refuses options (MF_USAGE) of verb @p verb. Local. */
int mf_infer_check(const struct mf_session *session, const void *options, const char *verb);

/** The same of options of the model alone. */
int mf_infer_check_loading(const struct mf_session *session, const void *options);

/** A network that is asked about samples, a batch at a time. @p of: what it is. */
struct mf_infer_net {
    void *of;
    const struct mf_model_card *card;
    size_t outputs; /* numbers about a sample */
    /** Give row @p row of the next batch a sample, as mf_model_feed() and mf_model_feed_input(). */
    int (*feed)(void *of, size_t row, const void *sample);
    void (*feed_input)(void *of, size_t row, const float *input);
    /** Answers about the first @p n rows: [n][outputs]. MF_NUMERIC: a row of which one is not finite has NAN. */
    int (*answer)(void *of, size_t n, float *output);
    /** For ranks that walk together, each with its own samples; else NULL. Walks along until the others are ready. */
    void (*stay)(void *of);
    /** For a network that reads more of a set than its samples; else NULL. Takes that from an open set, before samples
     * are given (collective; refuses, agreed). NULL: files follow. Says whose sample row @p row is. */
    int (*open_set)(void *of, const struct mf_comm *comm, const struct mf_dataset *set);
    void (*feed_id)(void *of, size_t row, size_t id);
};

struct mf_predictions;

/** How a verb makes a network of its own, and shows what that says. */
struct mf_infer_maker {
    void *context;
    /** Collective; refuses (agreed). */
    int (*open)(const struct mf_session *session, const struct mf_infer_cmd *options, const char *model, void *context,
                struct mf_infer_net *net);
    /** As mf_predictions_print() and mf_predictions_put(). Numbers are means over the tiles of a file. */
    int (*print)(const struct mf_predictions *predictions);
    void (*put)(const void *predictions, FILE *to);
};

/** Refuses with MF_USAGE a task of another kind than @p learn: a user wants another verb. Local. */
int mf_infer_check_kind(const char *model, const struct mf_task *task, const struct mf_learn *learn);

/** Predicts for files and sets: by a model of kind @p learn, or by the network of a maker. Collective; refuses
 * (agreed). */
int mf_infer_run(struct mf_session *session, const void *options, const struct mf_learn *learn,
                 const struct mf_infer_maker *maker);

#endif
