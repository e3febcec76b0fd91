/* Types of the numbers in an array, as files and messages name them. */
#ifndef MF_BASE_TYPE_H
#define MF_BASE_TYPE_H

#include <assert.h>
#include <stddef.h>

enum mf_type { MF_F32, MF_F64, MF_U8, MF_I32, MF_I64, MF_F16, MF_BF16, MF_I8, MF_TYPES };

/** Bytes of one number. */
static inline size_t mf_type_bytes(enum mf_type type)
{
    static const unsigned char bytes[] = {
        [MF_F32] = 4, [MF_F64] = 8, [MF_U8] = 1, [MF_I32] = 4, [MF_I64] = 8, [MF_F16] = 2, [MF_BF16] = 2, [MF_I8] = 1};

    static_assert(sizeof bytes == MF_TYPES, "every type has its bytes");
    return bytes[type];
}

/** "f32", "bf16", ... */
static inline const char *mf_type_name(enum mf_type type)
{
    static const char *const name[] = {[MF_F32] = "f32", [MF_F64] = "f64", [MF_U8] = "u8",     [MF_I32] = "i32",
                                       [MF_I64] = "i64", [MF_F16] = "f16", [MF_BF16] = "bf16", [MF_I8] = "int8"};

    static_assert(sizeof name / sizeof *name == MF_TYPES, "every type has its name");
    return name[type];
}

#endif
