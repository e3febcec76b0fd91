/* A model that runs: no trainer and no dataset. Ranks may run it together.
 *
 *     MF_TRY(mf_model_open("model.safetensors", 64, queue, &model));   a file, or mf_model_make()
 *     for (size_t r = 0; r < n; ++r) MF_TRY(mf_model_feed(model, r, sample[r]));
 *     mf_model_walk(model, n);
 *     rc = mf_model_output(model, n, answer);                          [n][mf_model_says(model)->outputs.count]
 *     mf_model_close(model);
 *
 * Memory is taken by opening, and given back by closing. The answers to the same rows of a walk have the same bits,
 * on any number of threads. Rule: all functions are local. They print nothing; a refusal is a code and a sentence
 * (src/base/err.h). Where ranks run a model together (struct mf_model_cut), opening, walks and answers are
 * collective. */
#ifndef MF_MODEL_MODEL_H
#define MF_MODEL_MODEL_H

#include "kernels/backend.h"
#include "src/model/card.h"
#include "src/net/pass.h"

struct mf_model;

/** Opens the model of a file (also of earlier versions) for @p batch samples of a walk, at most. @p queue: of the
 * device that computes; it outlives the model. Refuses with MF_INPUT, MF_NUMERIC (weights), MF_MEMORY, MF_DEVICE;
 * *model is then NULL. */
int mf_model_open(const char *path, size_t batch, struct mf_queue *queue, struct mf_model **model);

/** Ranks that run a model together, as stages of a pipeline. All of them call the same functions with the same rows,
 * and all get the answers. */
struct mf_model_cut {
    const struct mf_comm *comm; /* their number is that of the stages */
    /** Puts the stage of each node of the model's list into @p stage [nodes]. It answers alike on all ranks. */
    void (*place)(void *context, const struct mf_list *list, int *stage);
    void *context;
};

/** Weights that are not on the device. They come while the network is walked (mf_pass_stream()). */
struct mf_model_stream {
    /* Ranks that cut every weight. Each feeds rows of its own, and all walk as often. NULL: weights stand in host
     * memory, where that is another one */
    const struct mf_comm *comm;
    size_t parts; /* of this rank's; more than there are: all; 0: every weight stays */
    /** Says whose weights leave, as mf_parts_leave(). */
    size_t (*leave)(const struct mf_list *list, size_t parts, int *number);
};

/** Takes these weights from the device, for a net whose only list is @p list, behind pass fuse. Sets @p layout, which
 * the caller frees; nothing where all weights stay. Local. */
void mf_model_stream(const struct mf_model_stream *stream, struct mf_list *list, const struct mf_queue *queue,
                     struct mf_layout *layout);

/** How a model is opened. Values of its network have names (mf_value_find()), and are read as float [batch][..]. */
struct mf_model_wish {
    const char *word;  /* as of mf_model_card_open_as(); NULL: the file says it */
    size_t batch;      /* samples of a walk, at most */
    enum mf_type type; /* of activations and of factors of products: MF_F32, MF_BF16, MF_F16 */
    /* values that can be read after a walk, in memory of their own; answers have the same bits */
    size_t layers;
    const char *const *layer;
    /* values that others may replace, sample by sample. mf_model_layer() reads what was there before */
    size_t masks;
    const char *const *mask;
    const struct mf_model_cut *cut; /* NULL: this rank has the model alone; else there are no layers and masks */
    struct mf_model_stream stream;  /* with cut: in host memory */
};

/** The same as mf_model_open(), as wished. Refuses also with MF_USAGE a name that no value has. */
int mf_model_open_as(const char *path, const struct mf_model_wish *wish, struct mf_queue *queue,
                     struct mf_model **model);

/** The same of a request: @p card has arch and args (of a word: mf_arch_read(); mf_arch_complete() completes them),
 * dims, phases, and outputs with count and, unless they are classes, units. Names of outputs are for saving. Images may
 * have type and channel. It outlives the model. Weights are at their start, which @p seed decides. Refuses with
 * MF_USAGE, MF_MEMORY, MF_DEVICE. */
int mf_model_make(const struct mf_model_card *card, uint64_t seed, size_t batch, struct mf_queue *queue,
                  struct mf_model **model);

/** A walk of a model takes bytes of arrays on the device and in host memory. On cpu both are one. */
struct mf_model_needs {
    size_t device, host, weights, away, exchange; /* of device: weights, exchange; of host: away, weights too */
    double operations, traffic, nodes;            /* of a walk; traffic: bytes (mf_list_traffic()) */
    double brought;                               /* as well: mf_list_brought() */
};

/** Finds the needs of mf_model_open_as(), which takes exactly these bytes from the queue's arenas. Nothing is taken,
 * and no weight is read, so @p queue may be dry (kernels/dry.h). With other ranks it is, and so is their communicator.
 * Refuses as that, but not for want of memory. */
int mf_model_foresee(const struct mf_model_card *card, const struct mf_model_wish *wish, struct mf_queue *queue,
                     struct mf_model_needs *needs);

/** Shows the list of such a model to @p see, planned and placed (mf_pass_live()), as mf_model_foresee() does with
 * memory. */
int mf_model_draft(const struct mf_model_card *card, const struct mf_model_wish *wish, struct mf_queue *queue,
                   void (*see)(void *context, const struct mf_list *list), void *context);

/** NULL is accepted. */
void mf_model_close(struct mf_model *model);

/** What it reads and returns. */
const struct mf_model_card *mf_model_says(const struct mf_model *model);

/** Gives row @p row of the next walk a sample: phases [nz][ny][nx] of one byte, or values of an image
 * [nz][ny][nx][channels], float. Refuses with MF_INPUT a value that is no phase of the model, or not finite. */
int mf_model_feed(struct mf_model *model, size_t row, const void *sample);

/** The same in the network's own terms: float [nz][ny][nx][channels], as in struct mf_batch. */
void mf_model_feed_input(struct mf_model *model, size_t row, const float *input);

/** The same of an input by its name.
 * A network that removes noise reads "x" (scaled, mf_denoise_scale()), "level" (mf_unet_noise()) and, if it has one,
 * "condition" (mf_denoise_condition()). All others read "x" alone. */
void mf_model_feed_named(struct mf_model *model, const char *name, size_t row, const float *input);

/** The first gives what may stand in the place of mask @p k, in the layout of the network. The second says whether it
 * does, in all masks of row @p row. Before, it does not. */
void mf_model_feed_mask(struct mf_model *model, size_t k, size_t row, const float *values);
void mf_model_put_masks(struct mf_model *model, size_t row, int put);

/** Computes the first @p n rows, which were all given. */
void mf_model_walk(struct mf_model *model, size_t n);

/** Copies the answers of the first @p n rows to @p answer [n][outputs]: probabilities of classes, or values in units of
 * the training. Refuses with MF_NUMERIC where one of them is not finite. Such a row has NAN, and other rows stay. */
int mf_model_output(struct mf_model *model, size_t n, float *answer);

/** The same as the network has it, of a network that removes noise: [n][nz][ny][nx][channels]. */
int mf_model_raw(struct mf_model *model, size_t n, float *answer);

/** Copies value number @p k of mf_model_open_as() of the first @p n rows to @p to. The layout is the network's: an
 * image has [n][y][x][channels]. */
void mf_model_layer(struct mf_model *model, size_t k, size_t n, float *to);

/** Writes it to a file, with its card. Refuses with MF_USAGE outputs without names; MF_OUTPUT. */
int mf_model_save(const struct mf_model *model, const char *path);

#endif
