/* Differences between the versions 2 and 3 of oneDNN, and the parts that its users share. */
#ifndef MF_KERNELS_CPU_NET_DNNL_H
#define MF_KERNELS_CPU_NET_DNNL_H

#include <oneapi/dnnl/dnnl.h>

#include "src/base/err.h"
#include "src/base/type.h"

#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t mf_layout; /* ours to destroy */
typedef const_dnnl_memory_desc_t mf_layout_known;

static inline mf_layout_known mf_layout_of(const mf_layout *made) { return *made; }

static inline void mf_layout_free(mf_layout *made) { dnnl_memory_desc_destroy(*made); }

static inline dnnl_status_t mf_dnnl_append_relu(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_eltwise(operations, dnnl_eltwise_relu, 0, 0);
}

static inline dnnl_status_t mf_dnnl_append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1, 0, dnnl_data_type_undef);
}
#else
typedef dnnl_memory_desc_t mf_layout;
typedef const dnnl_memory_desc_t *mf_layout_known;

static inline mf_layout_known mf_layout_of(const mf_layout *made) { return made; }

static inline void mf_layout_free(mf_layout *made) { (void)made; }

static inline dnnl_status_t mf_dnnl_append_relu(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_eltwise(operations, 1, dnnl_eltwise_relu, 0, 0);
}

static inline dnnl_status_t mf_dnnl_append_sum(dnnl_post_ops_t operations)
{
    return dnnl_post_ops_append_sum(operations, 1);
}
#endif

static inline dnnl_data_type_t mf_dnnl_type(enum mf_type type) { return type == MF_BF16 ? dnnl_bf16 : dnnl_f32; }

/** A layout by its tag, or by numbers from one index of an axis to the next. mf_layout_free() frees. */
void mf_layout_tagged(mf_layout *made, int n, const dnnl_dims_t dims, enum mf_type type, dnnl_format_tag_t tag);
void mf_layout_strided(mf_layout *made, int n, const dnnl_dims_t dims, enum mf_type type, const dnnl_dims_t stride);

/** The one engine; NULL where it cannot be created. */
dnnl_engine_t mf_dnnl_engine(void);

/** Do these cores multiply bf16? */
int mf_dnnl_has_bf16(void);

/** Attributes of a primitive whose scratch memory is ours: y = relu(sum), y += sum. */
dnnl_status_t mf_dnnl_attr(dnnl_primitive_attr_t *attr, int relu, int add);

/** Layout that primitive @p desc takes as argument @p arg. */
mf_layout_known mf_dnnl_operand(const_dnnl_primitive_desc_t desc, int arg);

/** An argument without memory; mf_dnnl_put() gives it some. */
dnnl_status_t mf_dnnl_argument(dnnl_exec_arg_t *made, int arg, mf_layout_known of);
void mf_dnnl_put(const dnnl_exec_arg_t *arg, const void *at);

/** Executes a primitive and waits. */
void mf_dnnl_execute(dnnl_primitive_t primitive, dnnl_stream_t stream, int n, const dnnl_exec_arg_t *arg);

#endif
