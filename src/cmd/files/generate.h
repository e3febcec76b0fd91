/* The parts of generate share these names. generate.c has the options, generate_set.c the set and its memory,
 * generate_make.c the passes. */
#ifndef MF_CMD_FILES_GENERATE_H
#define MF_CMD_FILES_GENERATE_H

#include "io/dataset_writer.h"
#include "src/cmd/cmd.h"
#include "src/cmd/files/made_by.h"
#include "src/cmd/files/masks.h"
#include "src/cmd/files/properties.h"
#include "src/model/generator.h"

enum { MF_GENERATE_PASS_MOST = 1 << 16 }; /* samples of a pass */

struct generate {
    struct mf_common common;
    struct mf_made_by by;
    double sigma, guidance;
    long samples, first, steps, pass, per_class, mask_steps;
    struct mf_texts condition, layers, mask_layers, export;
    unsigned parts; /* of the tree of --export */
    const char *hours, *mask, *precision;
};

/** Passes and samples that all ranks have made, and seconds of this rank. */
struct mf_generate_times {
    size_t passes, samples;
    double all, network, measuring, writing;
};

struct generate_job {
    struct mf_session *session;
    const struct generate *o;
    int lists; /* it only prints the layers */
    struct mf_model_card card;
    struct mf_generator *generator;
    struct mf_generator_wish wish;
    struct mf_unet_tap *layer; /* [layers] whose activations are kept */
    size_t layers;
    struct mf_masks masks;
    struct mf_writer_array *array; /* [layers] of the set */
    char **path;                   /* [layers] their names */
    struct mf_properties properties;
    size_t columns;
    mf_name *column;   /* [columns]: properties, then wanted values */
    const char **name; /* [columns] the same */
    const char **class_name;
    char *settings;
    size_t bytes;      /* of a sample's x */
    size_t measuring;  /* bytes that measures of a sample take for a moment */
    size_t pass;       /* samples of a pass */
    int old;           /* the set is there, and has this pass: it cannot shrink */
    int placed;        /* masks of one row are in the network */
    double operations; /* of a pass */
    struct mf_generate_times times;
    /* of a pass: all in one array of the session's arena, which begins with x */
    uint8_t *x;
    int32_t *label;
    float *value, *real;
    uint64_t *seed;
    float **activation; /* [layers] to [pass][channels][y][x] each */
};

/** Opens the card of the model, reads wishes, and names columns and arrays of the set. Local but for what it says;
 * mf_generate_close() ends, also after a refusal. Collective; refuses (agreed) as the parts do. */
int mf_generate_open(struct generate_job *job);
void mf_generate_close(struct generate_job *job);

/** A generator of one step says its steps and its noise level itself. As struct mf_cmd.adopt. */
int mf_generate_adopt(struct mf_options *options, const void *into);

/** The same of an open card. */
int mf_generate_adopt_start(struct mf_options *options, const char *path, const struct mf_model_card *card);

/** Reads a wish for samples; guidance is that of the job. The caller frees wish->value, also after a refusal. Refuses
 * as mf_wanted_read(). Local. */
int mf_generate_wishes(const struct generate_job *job, const struct generate *options, struct mf_generator_wish *wish);

/** Returns @p rc of a pass. 16 bits have a remedy for numbers that are not finite, which the sentence then names. */
int mf_generate_overflow(const struct generate_job *job, int rc);

/** Refuses options that contradict each other: MF_USAGE. Local. */
int mf_generate_check(const struct mf_session *session, struct generate *options);

/** The rows of generate, which plan generate has too. */
extern const struct mf_opt mf_generate_rows[];

/** The form of a generator for passes of @p pass samples. Local. */
struct mf_generator_form mf_generate_form(const struct generate_job *job, size_t pass);

/** Looks of the network for a pass: steps but the last take two, and guidance doubles all. Local. */
static inline double mf_generate_looks(const struct generate *o)
{
    return (2 * (double)o->steps - 1) * (o->guidance != 1 ? 2 : 1);
}

/** The type that --mixed-precision names. Local. */
static inline enum mf_type mf_generate_type(const struct generate *o)
{
    return o->precision[0] == 'b' ? MF_BF16 : o->precision[0] == 'f' ? MF_F16 : MF_F32;
}

/** Samples of a pass where neither an option nor a set says it: 8 on cores, 64 on a GPU. */
static inline size_t mf_generate_pass(const struct generate *o, int device)
{
    return o->pass > 0 ? (size_t)o->pass : device ? 64 : 8;
}

/** Names columns and arrays of the set, by the open card. Local. */
void mf_generate_name(struct generate_job *job);
void mf_generate_unname(struct generate_job *job);

/** Writes job->settings: all that the samples follow from. Collective; refuses (agreed) with MF_INPUT. */
int mf_generate_settings(struct generate_job *job);

/** Places the arrays of @p pass samples from @p at on, and returns their bytes. NULL: it only counts. Local. */
size_t mf_generate_lay(struct generate_job *job, size_t pass, char *at);

/** Opens the generator and takes the memory of a pass; gives both back. The first is collective; refuses (agreed) as
 * mf_generator_open(). */
int mf_generate_take(struct generate_job *job);
void mf_generate_give(struct generate_job *job);

/** The set as its writer wants it, with pointers into the job. Local. */
struct mf_dataset_wish mf_generate_wish(const struct generate_job *job);

/** Numbers of a sample in layer @p k. Local. */
static inline size_t mf_generate_numbers(const struct generate_job *job, size_t k)
{
    return job->layer[k].channels * job->layer[k].height * job->layer[k].width;
}

/** Is column @p c a condition whose value is known? Local. */
int mf_generate_knows(const struct generate_job *job, size_t c);

/** Makes all samples that @p path has not, and writes them. Collective; refuses (agreed) as mf_writer_open(),
 * mf_writer_put() and mf_generator_make() do. */
int mf_generate_write(struct generate_job *job, const char *path);

#endif
