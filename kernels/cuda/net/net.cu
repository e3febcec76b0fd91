/* The table of the operations of networks on cuda. */
#include "kernels/cuda/net/net.cuh"

namespace
{

constexpr struct mf_op_table table()
{
    struct mf_op_table all = {};

#define MF_CUDA_OP(NAME, name) all.calls[MF_OP_##NAME] = &mf_op_##name##_cuda;
    MF_CUDA_OP_LIST(MF_CUDA_OP)
#undef MF_CUDA_OP
    return all;
}

} // namespace

const struct mf_op_table mf_net_cuda = table();
