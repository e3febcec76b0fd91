/* One pass of a convolution by cuDNN: forward, the gradient of the images, or that of the weights. */
#ifndef MF_KERNELS_CUDA_NET_CONVOLUTION_CUH
#define MF_KERNELS_CUDA_NET_CONVOLUTION_CUH

#include "kernels/cuda/queue.cuh"

/** x [n][height][width][c], w [o][kh][kw][c], y [n][height'][width'][o], all of the type of x. */
struct mf_convolution_of {
    enum { FORWARD, DATA, WEIGHTS };
    int kind;
    enum mf_type type;
    const size_t *x, *w, *y; /* extents; of w [o][c][kh][kw] */
    int stride, pad;
};

struct mf_convolution;

/** Refuses with MF_DEVICE where the library is not here or has no algorithm. */
int mf_convolution_new(struct mf_queue *q, const struct mf_convolution_of *of, struct mf_convolution **convolution);
void mf_convolution_free(struct mf_convolution *convolution);

/** Bytes of work memory. NULL: 0. */
size_t mf_convolution_work(const struct mf_convolution *convolution);

/** Computes y from x and w, x from w and y, or w from x and y. */
void mf_convolution_run(const struct mf_convolution *convolution, void *x, void *w, void *y, void *work);

#endif
