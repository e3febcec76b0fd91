/* Types of the numbers in an array, as files and messages name them. */
#ifndef MF_BASE_TYPE_H
#define MF_BASE_TYPE_H

#include <stddef.h>

enum mf_type { MF_F32, MF_F64, MF_U8, MF_I32, MF_I64, MF_F16, MF_BF16 };

/** Bytes of one number. */
static inline size_t mf_type_bytes(enum mf_type type)
{
    static const unsigned char bytes[] = {4, 8, 1, 4, 8, 2, 2};

    return bytes[type];
}

/** "f32", "bf16", ... */
static inline const char *mf_type_name(enum mf_type type)
{
    static const char *const name[] = {"f32", "f64", "u8", "i32", "i64", "f16", "bf16"};

    return name[type];
}

#endif
