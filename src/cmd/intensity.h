/* Do values resemble those from which a model of images learnt? A network is sure of itself on values of another scale,
 * and wrong. Rule: many files give one warning. */
#ifndef MF_CMD_RESEMBLE_H
#define MF_CMD_RESEMBLE_H

#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/train/saved.h"

/** Values that are looked at. */
struct mf_looked {
    const char *file, *type; /* type: "uint16" */
    int whole;               /* they are whole numbers */
    struct mf_channel channel[MF_CHANNELS_MAX];
};

/** What does not resemble, of this rank: how many files, and of the first of them its place among all and its values.
 */
struct mf_unlike {
    size_t files, place;
    char file[MF_ERR_TEXT / 2], text[MF_ERR_TEXT / 2];
};

/** Measures [n][channels] values into @p looked. Local. */
void mf_looked_measure(size_t n, size_t channels, const float *values, struct mf_looked *looked);

/**
 * Compares with what the model learnt from, in the order of places, and notes what does not resemble: a mean more than
 * three deviations away, values out of the range by more than a quarter of it, a deviation above four times its or
 * below a tenth (with the range below a tenth: a fifth), or two values alone. Refuses with MF_INPUT a few whole
 * numbers, phases, where the model read grey values. Local.
 */
int mf_unlike_note(const struct mf_saved *saved, size_t place, const struct mf_looked *looked,
                   struct mf_unlike *unlike);

/** The same of samples @p id [n] of a set. */
int mf_unlike_note_set(const struct mf_saved *saved, size_t place, const struct mf_dataset *set, size_t n,
                       const uint32_t *id, struct mf_unlike *unlike);

/** Warns of what all ranks noted. Collective; MF_MEMORY, agreed. */
int mf_unlike_tell(const struct mf_comm *comm, const struct mf_unlike *own);

#endif
