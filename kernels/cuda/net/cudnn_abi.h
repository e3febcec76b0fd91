/* The part of cuDNN's interface that the cuda back end uses: its plain calls of convolutions. Names, argument types and
 * numbers follow cudnn_ops.h and cudnn_cnn.h of version 9. */
#ifndef MF_KERNELS_CUDA_NET_CUDNN_ABI_H
#define MF_KERNELS_CUDA_NET_CUDNN_ABI_H

#include "kernels/cuda/net/library.h"

enum { MF_DNN_F32 = 0, MF_DNN_F16 = 2, MF_DNN_BF16 = 9 }; /* cudnnDataType_t */
enum { MF_DNN_NHWC = 1 };                                 /* cudnnTensorFormat_t: channels last, also of weights */
enum { MF_DNN_CORRELATION = 1 };                          /* cudnnConvolutionMode_t: windows are not turned */
enum { MF_DNN_TENSOR_OP_MATH = 1, MF_DNN_FMA_MATH = 3 };  /* cudnnMathType_t; FMA: f32 in full */

/* Algorithms 0 and 1 know channels last. Algorithm 0 gives gradients other bits in every run; algorithm 3 does so for
 * those of weights. */
enum { MF_DNN_ALGORITHM_0 = 0, MF_DNN_ALGORITHM_1 = 1, MF_DNN_ALGORITHM_3 = 3, MF_DNN_ALGORITHMS = 8 };

/* Descriptors and handles are pointers to what the library knows. */
/* clang-format off */
#define MF_DNN_LIST(X) \
    X(open, "cudnnCreate", (void **handle)) \
    X(close, "cudnnDestroy", (void *handle)) \
    X(follow, "cudnnSetStream", (void *handle, void *stream)) \
    X(property, "cudnnGetProperty", (int part, int *value)) \
    X(tensor_new, "cudnnCreateTensorDescriptor", (void **tensor)) \
    X(tensor_set, "cudnnSetTensor4dDescriptor", (void *tensor, int format, int type, int n, int c, int h, int w)) \
    X(tensor_free, "cudnnDestroyTensorDescriptor", (void *tensor)) \
    X(filter_new, "cudnnCreateFilterDescriptor", (void **filter)) \
    X(filter_set, "cudnnSetFilter4dDescriptor", (void *filter, int type, int format, int k, int c, int h, int w)) \
    X(filter_free, "cudnnDestroyFilterDescriptor", (void *filter)) \
    X(window_new, "cudnnCreateConvolutionDescriptor", (void **window)) \
    X(window_set, "cudnnSetConvolution2dDescriptor", (void *window, int pad_h, int pad_w, int stride_h, int stride_w, \
                                                      int dilation_h, int dilation_w, int mode, int compute)) \
    X(window_math, "cudnnSetConvolutionMathType", (void *window, int math)) \
    X(window_free, "cudnnDestroyConvolutionDescriptor", (void *window)) \
    X(forward_work, "cudnnGetConvolutionForwardWorkspaceSize", (void *handle, void *x, void *w, void *window, void *y, \
                                                                int algorithm, size_t *bytes)) \
    X(data_work, "cudnnGetConvolutionBackwardDataWorkspaceSize", (void *handle, void *w, void *dy, void *window, \
                                                                  void *dx, int algorithm, size_t *bytes)) \
    X(weights_work, "cudnnGetConvolutionBackwardFilterWorkspaceSize", (void *handle, void *x, void *dy, void *window, \
                                                                       void *dw, int algorithm, size_t *bytes)) \
    X(forward, "cudnnConvolutionForward", (void *handle, const void *alpha, void *lx, const void *x, void *lw, \
                                           const void *w, void *window, int algorithm, void *work, size_t bytes, \
                                           const void *beta, void *ly, void *y)) \
    X(data, "cudnnConvolutionBackwardData", (void *handle, const void *alpha, void *lw, const void *w, void *ly, \
                                             const void *dy, void *window, int algorithm, void *work, size_t bytes, \
                                             const void *beta, void *lx, void *dx)) \
    X(weights, "cudnnConvolutionBackwardFilter", (void *handle, const void *alpha, void *lx, const void *x, void *ly, \
                                                  const void *dy, void *window, int algorithm, void *work, \
                                                  size_t bytes, const void *beta, void *lw, void *dw))
/* clang-format on */

struct mf_dnn {
    MF_DNN_LIST(MF_LIBRARY_MEMBER)
};

#endif
