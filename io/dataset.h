/* Datasets of samples for training, in one HDF5 file (docs/FILES.md has the layout). Samples are microstructures or
 * images, with labels, real values and a split. Opening a set brings its facts into the memory of every rank. Readers
 * fetch batches of samples in threads of their own.
 *
 * Rule: only the open and the writer call HDF5. Readers know where every sample lies, and read and inflate it
 * themselves. */
#ifndef MF_IO_DATASET_H
#define MF_IO_DATASET_H

#include "io/micro.h"
#include "src/base/arena.h"

#define MF_SCHEMA_DATASET "dataset" /* attribute schema of a dataset */

enum mf_split { MF_TRAIN, MF_VALIDATION, MF_TEST, MF_SPLITS };
enum { MF_SPLIT_NONE = 255 }; /* of a sample that is in no split */
enum { MF_CHANNELS_MAX = 64, MF_CLASSES_MAX = 1 << 16, MF_REALS_MAX = 4096, MF_REAL_TEXT = 64 };

/** "train", "validation", "test". */
extern const char *const mf_split_names[MF_SPLITS];

typedef char mf_name[MF_REAL_TEXT];

struct mf_questions;

/** Facts of a set. Arrays belong to it; those of which the file has none are NULL. Splits, orders and batches count
 * items. An item is a sample, or after mf_dataset_ask() (io/questions.h) some questions about one. */
struct mf_dataset {
    char *path;
    size_t samples;
    size_t items;
    const uint32_t *sample_of;      /* [items]; NULL: item i is sample i */
    struct mf_questions *questions; /* NULL: items are samples */
    int ndim;                       /* of one sample: 2 (nz is 1) or 3 */
    size_t dims[4];                 /* {nz, ny, nx, channels} of one sample in the file */
    int is_float;                   /* samples/x is float, else uint8 */
    int phases;          /* values of x are phases 0 .. phases-1; 0: x is an image of grey or coloured channels */
    size_t bytes;        /* of one sample's x */
    size_t inputs;       /* channels of a network's input: see mf_batch.input */
    size_t classes;      /* 0: there are no labels */
    mf_name *class_name; /* [classes] */
    int32_t *label;      /* [samples], 0 .. classes-1, or -1: not known */
    size_t reals;        /* columns of real values: descriptors and properties */
    mf_name *real_name;  /* [reals] */
    float *real;         /* [samples][reals], finite */
    uint64_t *seed;      /* [samples] of synthetic samples */
    uint8_t *status;     /* [samples] 1: complete */
    uint8_t *split;      /* [samples] enum mf_split, MF_SPLIT_NONE */
    int compressed;      /* x is deflated */
    int asks;            /* the file has questions about its samples (io/questions.h) */
    int overlaps;        /* samples have pixels in common, so only who cut them may divide them */
    int ours;            /* mesoforge wrote the file */
    int split_given;     /* the file has it; else 80/10/10 by mf_split_make() */
    size_t count[MF_SPLITS];
    uint32_t *id[MF_SPLITS];      /* [count] items of a split, ascending */
    double mean[MF_CHANNELS_MAX]; /* of an image's channels over the train split: (v - mean) / deviation is input */
    double deviation[MF_CHANNELS_MAX];
    char hash[MF_HASH_TEXT];         /* of the contents, splits included: the same for the same samples */
    struct mf_dataset_places *where; /* private: io/dataset_priv.h */
};

/** The sample of an item. */
static inline size_t mf_item_sample(const struct mf_dataset *set, size_t item)
{
    return set->sample_of ? set->sample_of[item] : item;
}

/** Range of values in a channel of images. If least > most, it is not known. */
struct mf_channel {
    double mean, deviation, least, most;
};

/**
 * Reads all facts of a set, and no samples. Images without moments are read once, for mean and deviation; ranks share
 * that work. Memory: about 40 bytes + 4 reals per sample, on every rank.
 *
 * Collective. Refuses (agreed) with MF_INPUT a file that is no dataset, and a storage that only HDF5 can read. The same
 * holds for labels out of range and values that are not finite. It holds for arrays without one row for each sample,
 * too. MF_MEMORY.
 */
int mf_dataset_open(const struct mf_comm *comm, const char *path, struct mf_dataset **set);
void mf_dataset_close(struct mf_dataset *set); /* NULL is accepted */

/** Returns the range of channel @p c in the items @p id [n], at least one. Local. */
struct mf_channel mf_dataset_channel(const struct mf_dataset *set, size_t c, size_t n, const uint32_t *id);

/** The column of real values with this name; set->reals: there is none. Local. */
size_t mf_dataset_column(const struct mf_dataset *set, const char *name);

/** Refuses with MF_INPUT a set without a sample in @p split. Local. */
int mf_dataset_needs(const struct mf_dataset *set, enum mf_split split);

/** Keeps at most @p most samples of the train split. It keeps a tenth as many of the others, and at least one. They are
 * evenly spaced, in their order. Then the hash is another one. Local. */
void mf_dataset_limit(struct mf_dataset *set, size_t most);

/**
 * Fills split [n] at random. @p part {train, validation} are shares; the rest is the test split. Error diffusion over
 * the classes in turn divides every class, and the whole set. Each is within one sample of these shares. A class of two
 * samples or more has one to learn from, unless that share is 0. With a small share and many such classes the train
 * split becomes larger by that. NULL as @p label: one class. Local. MF_MEMORY.
 */
int mf_split_make(size_t n, const int32_t *label, size_t classes, const double part[2], uint64_t seed, uint8_t *split);

/** Sorts the axes of an array, (sample, [z,] y, x[, channel]), into @p dims {nz, ny, nx, channels}. The last axis holds
 * channels if @p channels is 1, and does not if it is 0. With -1 a fifth axis does, or a fourth one of up to MF_FEW
 * values; then one plane is an image. Returns the axes of a sample, 2 or 3; 0: the array holds no samples. Local. */
enum { MF_FEW = 4 };
int mf_sample_axes(int ndim, const size_t *extent, int channels, size_t dims[4]);

/** How x of a sample becomes input of a network [voxels][inputs] (struct mf_batch). */
struct mf_sample_form {
    size_t voxels, channels;        /* of x; phases have one channel in the file */
    int phases, is_float;           /* as in struct mf_dataset */
    const double *mean, *deviation; /* [channels] of images */
};

/** Converts it. 0: a value is no phase, or not finite. Local. */
int mf_sample_convert(const struct mf_sample_form *form, const void *x, float *input);

/** The same of sample @p id of a set, as in its file. MF_INPUT. Local. */
int mf_sample_input(const struct mf_dataset *set, size_t id, const void *x, float *input);

/* ---- readers ---- */

struct mf_reader_wish {
    int threads;  /* that read; 0: mf_reader_take() reads */
    size_t ahead; /* batches that are wanted and not given back, at most: 1 or more */
    size_t batch; /* items of a batch, at most */
    int raw;      /* fill mf_batch.x */
    int input;    /* fill mf_batch.input */
};

/** Items in the order in which they were wanted, each with the arrays of its sample. Its arrays stay until
 * mf_reader_give(). */
struct mf_batch {
    size_t n;
    const size_t *id;     /* [n] items */
    const uint8_t *x;     /* [n][set->bytes] as in the file; NULL: not wished */
    const float *input;   /* [n][nz][ny][nx][inputs]; NULL: not wished. Two phases: 0 or 1 in one channel. More phases:
                             one channel per phase. An image: its channels, (v - mean) / deviation */
    const int32_t *label; /* [n]; NULL: none */
    const float *real;    /* [n][set->reals]; NULL: none */
    void *slot;           /* private */
};

struct mf_reader;

/** Bytes that a reader takes from its arena. Local. */
size_t mf_reader_bytes(const struct mf_dataset *set, const struct mf_reader_wish *wish);

/** Opens the file, takes the memory and starts the threads. Both @p set and @p arena outlive the reader. Several
 * readers of a set may be open. Local; MF_INPUT, MF_MEMORY. */
int mf_reader_open(const struct mf_dataset *set, struct mf_arena *arena, const struct mf_reader_wish *wish,
                   struct mf_reader **reader);
void mf_reader_close(struct mf_reader *reader); /* NULL is accepted; batches may be under way */

/** How many batches can still be wanted. Local. */
size_t mf_reader_room(const struct mf_reader *reader);

/** Queues a batch of @p n items, whose samples are read from now on; @p id is copied. A sample of several items is read
 * and converted once. There must be room. Local. */
void mf_reader_want(struct mf_reader *reader, size_t n, const size_t *id);

/**
 * Waits for the oldest batch that was wanted and not taken. Refuses with MF_INPUT naming file and sample. The file
 * ends, does not inflate, or differs from its checksum. Or it holds a value that is no phase or not finite. If several
 * samples are bad, it names the first one of the batch. Such a batch is given back too. Local.
 */
int mf_reader_take(struct mf_reader *reader, struct mf_batch *batch);

/** Gives back a batch, so another can be wanted. Batches go back in the order in which they were taken. Local. */
void mf_reader_give(struct mf_reader *reader, struct mf_batch *batch);

/** Reads the items @p id [n] of a set in this order by a reader of its own. It gives them to @p take batch by batch.
 * Refuses as mf_reader_open() and mf_reader_take(). Local. */
int mf_samples_read(const struct mf_dataset *set, struct mf_arena *arena, const struct mf_reader_wish *wish, size_t n,
                    const uint32_t *id, void (*take)(void *context, const struct mf_batch *batch), void *context);

/** Seconds for which mf_reader_take() has waited so far. Local. */
double mf_reader_waited(const struct mf_reader *reader);

/* ---- writing ---- */

/** Request for a set: its contents. */
struct mf_dataset_wish {
    size_t samples;
    int ndim;
    size_t dims[4]; /* {nz, ny, nx, channels} */
    int is_float, phases;
    size_t classes;                /* 0: no labels */
    const char *const *class_name; /* [classes] */
    size_t reals;
    const char *const *real_name; /* [reals] */
    const char *const *real_said; /* [reals] what each follows from, "": nothing is said; NULL: of none */
    int seeded;                   /* there is a seed of every sample */
    int compress;                 /* 0, or the level of deflate, 1 to 9 */
    double part[2];               /* shares of train and validation, for mf_split_make() */
    uint64_t split_seed;
    int filled;                                /* refuse an empty split, unless its share is 0 */
    const uint8_t *split;                      /* [samples] instead; NULL: none */
    int overlaps;                              /* samples have pixels in common */
    const struct mf_questions_wish *questions; /* about samples; NULL: none */
};

/** One sample that is being made. */
struct mf_sample {
    void *x; /* [bytes] */
    int32_t label;
    float *real; /* [reals] */
    uint64_t seed;
};

/** Makes or loads sample @p id. It may refuse, and makes no collective call. */
typedef int mf_sample_make(void *context, size_t id, struct mf_sample *sample);

/**
 * Writes a set. Every rank makes a contiguous run of samples by @p make and writes them. The arrays have the same bytes
 * on any number of ranks. The file is PATH.partial until it is complete and sealed, and PATH is locked meanwhile.
 * Collective. Refuses (agreed) with the code of @p make, MF_OUTPUT and MF_MEMORY. MF_INPUT: a value that a set may not
 * hold (see mf_dataset_open()). MF_USAGE: PATH or PATH.partial has samples of a writer (io/dataset_writer.h), which
 * stay.
 */
int mf_dataset_write(const struct mf_comm *comm, const char *path, const struct mf_dataset_wish *wish,
                     const struct mf_provenance *provenance, mf_sample_make *make, void *context);

#endif
