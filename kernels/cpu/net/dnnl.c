/* See dnnl.h. */
#include "kernels/cpu/net/dnnl.h"

dnnl_engine_t mf_dnnl_engine(void)
{
    static dnnl_engine_t engine;

    if (!engine && dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success) engine = NULL;
    return engine;
}

int mf_dnnl_has_bf16(void)
{
    const unsigned isa = (unsigned)dnnl_get_effective_cpu_isa(), wanted = dnnl_cpu_isa_avx512_core_bf16;

    return (isa & wanted) == wanted;
}

#if DNNL_VERSION_MAJOR >= 3
void mf_layout_tagged(mf_layout *made, int n, const dnnl_dims_t dims, enum mf_type type, dnnl_format_tag_t tag)
{
    MF_ASSERT(dnnl_memory_desc_create_with_tag(made, n, dims, mf_dnnl_type(type), tag) == dnnl_success);
}

void mf_layout_strided(mf_layout *made, int n, const dnnl_dims_t dims, enum mf_type type, const dnnl_dims_t stride)
{
    MF_ASSERT(dnnl_memory_desc_create_with_strides(made, n, dims, mf_dnnl_type(type), stride) == dnnl_success);
}
#else
void mf_layout_tagged(mf_layout *made, int n, const dnnl_dims_t dims, enum mf_type type, dnnl_format_tag_t tag)
{
    MF_ASSERT(dnnl_memory_desc_init_by_tag(made, n, dims, mf_dnnl_type(type), tag) == dnnl_success);
}

void mf_layout_strided(mf_layout *made, int n, const dnnl_dims_t dims, enum mf_type type, const dnnl_dims_t stride)
{
    MF_ASSERT(dnnl_memory_desc_init_by_strides(made, n, dims, mf_dnnl_type(type), stride) == dnnl_success);
}
#endif

dnnl_status_t mf_dnnl_attr(dnnl_primitive_attr_t *attr, int relu, int add)
{
    dnnl_post_ops_t operations = NULL;
    dnnl_status_t rc = dnnl_primitive_attr_create(attr);

    if (rc == dnnl_success) rc = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
    if (rc == dnnl_success) rc = dnnl_post_ops_create(&operations);
    if (rc == dnnl_success && add) rc = mf_dnnl_append_sum(operations);
    if (rc == dnnl_success && relu) rc = mf_dnnl_append_relu(operations);
    if (rc == dnnl_success) rc = dnnl_primitive_attr_set_post_ops(*attr, operations);
    if (operations) dnnl_post_ops_destroy(operations);
    return rc;
}

mf_layout_known mf_dnnl_operand(const_dnnl_primitive_desc_t desc, int arg)
{
    return arg == DNNL_ARG_SCRATCHPAD ? dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0)
                                      : dnnl_primitive_desc_query_md(desc, dnnl_query_exec_arg_md, arg);
}

dnnl_status_t mf_dnnl_argument(dnnl_exec_arg_t *made, int arg, mf_layout_known of)
{
    made->arg = arg;
    return dnnl_memory_create(&made->memory, of, mf_dnnl_engine(), DNNL_MEMORY_NONE);
}

void mf_dnnl_put(const dnnl_exec_arg_t *arg, const void *at)
{
    MF_ASSERT(dnnl_memory_set_data_handle(arg->memory, (void *)at) == dnnl_success);
}

void mf_dnnl_execute(dnnl_primitive_t primitive, dnnl_stream_t stream, int n, const dnnl_exec_arg_t *arg)
{
    MF_ASSERT(dnnl_primitive_execute(primitive, stream, n, arg) == dnnl_success);
    MF_ASSERT(dnnl_stream_wait(stream) == dnnl_success);
}
