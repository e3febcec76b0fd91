/* Architectures, by name. They make classes or properties of images and volumes, remove noise, or answer questions
 * about images.
 * Rule: names of parameters are those that a PyTorch module of the same structure has. */
#ifndef MF_MODEL_REGISTRY_H
#define MF_MODEL_REGISTRY_H

#include "src/net/experts.h"

enum mf_features { MF_FEATURES_NONE, MF_FEATURES_CNN, MF_FEATURES };

/** [MF_FEATURES] */
extern const char *const mf_features_names[];

/** Networks that find features of images for one that answers questions. */
enum mf_image { MF_IMAGE_CNN, MF_IMAGE_CONVNEXT, MF_IMAGES };

/** [MF_IMAGES] */
extern const char *const mf_image_names[];

/** Sizes of a network. An architecture ignores those that it does not have. */
struct mf_arch_args {
    long width, depth, heads, patch;
    long blocks;                 /* of a level (unet), of a stage (convnext) */
    long deep;                   /* convnext: blocks of the last stage but one */
    long attention;              /* unet: where images have at most so many pixels at a side */
    long text_width, text_depth; /* vqa: columns of all that reads text; layers of the text encoder */
    int image;                   /* enum mf_image: what reads the image (vqa) */
    double dropout;
    long experts, top; /* of a mixture, and those of a row; 0 experts: none */
    double temperature, noise, capacity,
        balance;                   /* as in struct mf_mixture; an evaluation has no noise and no capacity */
    int features;                  /* enum mf_features: what stands in front of a mixture */
    const struct mf_experts *list; /* which experts; NULL: the first ones. It outlives the lists */
};

/** Values that a network reads which removes noise. */
struct mf_arch_denoise {
    int x;         /* [n][1][ny][nx][c] noisy samples, scaled */
    int noise;     /* [n][mf_arch_noise_width()] mf_unet_noise() of each sample */
    int condition; /* [n][k] one-hot class and columns, side by side; -1: none */
};

/** Values that a network reads which answers questions about images, and what it gives. There are n images, and @p each
 * questions about every one: m = n each. A token or object that is not there has zeros in every share. */
struct mf_arch_ask {
    int x;            /* [n][1][ny][nx][c] f32 */
    int tokens;       /* [m][length] i32; a number outside the vocabulary is a token of zeros */
    int seen;         /* [m][length] u8: the token is there */
    int word_share;   /* [m][1][length] f32: 1 / tokens of the text where it is there, else 0 */
    int object;       /* [n][objects][6] f32: box {y0, x0, y1, x1}, share of the pixels, phase */
    int object_share; /* [n][1][objects] f32: 1 / objects of the image where it is there, else 0 */
    int region;       /* [n][objects][cells] f32: share of each cell (mf_arch_cells()) in the box of an object */
    size_t each;      /* at most MF_INS */
    size_t words, length, objects; /* words: of the vocabulary */
    size_t heads;
    const size_t *outputs; /* [heads]; the last head has findings, which the question does not change; 0: there are none
                            */
};

struct mf_arch {
    const char *name, *summary;
    struct mf_arch_args standard; /* 0: it does not have this size */
    int mixes;                    /* it may have a mixture of experts */
    int splits;                   /* ranks may share the layers of its blocks (mf_build.split) */
    const char *head;             /* the layer that knows the outputs; NULL: each expert has one */
    double rate;                  /* a good learning rate of adamw */
    /** Builds x [n][nz][ny][nx][channels] -> [n][outputs]. @p args: all that it has are set. Refuses, by the
     * builder, with MF_USAGE. NULL: it has another work. */
    int (*forward)(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs);
    /** Builds what removes noise (unet.h): [n][1][ny][nx][c], the shape of in->x. Refuses as forward. NULL: it removes
     * none. */
    int (*denoise)(struct mf_build *build, const struct mf_arch_denoise *in, const struct mf_arch_args *args);
    /** Builds the outputs of all heads, [m][in->outputs[h]], into output [in->heads]; the last one is [n][..]. Refuses
     * as forward. NULL: it answers no questions. */
    void (*ask)(struct mf_build *build, const struct mf_arch_ask *in, const struct mf_arch_args *args, int output[]);
};

/** All architectures, NULL-terminated. */
extern const struct mf_arch *const mf_archs[];

/** The one of a name, or of a word (see below); NULL: there is none. */
const struct mf_arch *mf_arch_find(const char *word);

/** Sets every size that is 0 to the architecture's own. Refuses with MF_USAGE a size that it does not have, and one
 * that is negative. */
int mf_arch_complete(const struct mf_arch *arch, struct mf_arch_args *args);

/** "predicts classes or properties", "removes noise" or "answers questions". */
const char *mf_arch_work(const struct mf_arch *arch);

/** Refuses with MF_USAGE a network that gives no classes or properties. */
int mf_arch_answers(const struct mf_arch *arch);

/** Refuses with MF_USAGE a network whose layers @p ranks ranks cannot share. @p args are complete. */
int mf_arch_can_split(const struct mf_arch *arch, const struct mf_arch_args *args, size_t ranks);

/** Finds the rows and columns of the last feature map of images [1][ny][nx][c], in a network with ask(). Returns their
 * product. @p args are complete. */
size_t mf_arch_cells(const struct mf_arch *arch, const struct mf_arch_args *args, const size_t dims[4],
                     size_t cells[2]);

/** Numbers that say the noise level of a sample. */
size_t mf_arch_noise_width(const struct mf_arch_args *args);

/** The same without what training draws and drops, so that what is said of a sample does not depend on others. */
struct mf_arch_args mf_arch_settled(const struct mf_arch_args *args);

/** Words: an architecture and sizes, as "cnn:width=64,depth=4". Files, options and tests have the same ones. */
enum { MF_ARCH_WORD = 400 /* bytes, at most */ };

/** The word of a network, without sizes that it does not have. The caller frees. */
char *mf_arch_word(const struct mf_arch *arch, const struct mf_arch_args *args);

/** Reads a word. Sizes that it does not name stay as they are. Calls @p see (NULL: nothing) with each that it names,
 * and its value. Refuses with MF_USAGE, and as @p see does. */
int mf_arch_read(const char *word, const struct mf_arch **arch, struct mf_arch_args *args,
                 int (*see)(void *context, const char *key, const char *value), void *context);

/** The mixture that the arguments mean, from @p width to @p columns columns. @p first: room for the ids of the first
 * experts, which the result may refer to. */
struct mf_mixture mf_arch_mixture(const struct mf_arch_args *args, struct mf_experts *first, size_t width, size_t depth,
                                  size_t columns);

#endif
