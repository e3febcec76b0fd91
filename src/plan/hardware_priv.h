/* Private to reading and writing hardware files. Rule: one row per key. */
#ifndef MF_PLAN_HARDWARE_PRIV_H
#define MF_PLAN_HARDWARE_PRIV_H

#include <stddef.h>

#include "src/plan/hardware.h"

enum mf_key_kind { MF_KEY_INT, MF_KEY_REAL, MF_KEY_TEXT };

/** A key of an object and the field it fills. No machine has a value outside [least, most]. */
struct mf_key {
    const char *key; /* NULL ends the rows */
    size_t offset;
    enum mf_key_kind kind;
    int required;
    double least, most; /* of a text: its length */
    double standard;    /* the value of a missing key; not written if the field has this value */
};

extern const struct mf_key mf_host_keys[], mf_gpu_keys[];

/** Equal in every field of the rows; of a GPU, in every field. */
int mf_fields_same(const struct mf_key *keys, const char *a, const char *b);
int mf_gpu_same(const struct mf_gpu *a, const struct mf_gpu *b);

/** Further keys without rows. */
extern const char *const mf_hardware_more[], *const mf_host_more[], *const mf_gpu_more[];

#endif
