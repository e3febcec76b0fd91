/* Libraries of NVIDIA, opened when a plan first wants them: a program that does not train runs without them. Their
 * interfaces are declared here (cublaslt_abi.h, cudnn_abi.h). The stand-ins of tests/emu read the same declarations. */
#ifndef MF_KERNELS_CUDA_NET_LIBRARY_H
#define MF_KERNELS_CUDA_NET_LIBRARY_H

#include <stddef.h>

struct mf_library {
    const char *name;         /* for people */
    const char *const *files; /* NULL ends them: the first that loads is taken */
    const char *hook;         /* a variable of the environment that names another file, for tests */
};

/** A function, and where its address goes. */
struct mf_symbol {
    const char *name;
    size_t offset;
};

/** Fills @p api with the addresses of functions. Refuses with MF_DEVICE where the library is not installed or lacks
 * one of them. */
int mf_library_open(const struct mf_library *library, const struct mf_symbol *symbols, size_t count, void *api);

/* An interface is a list of (member, "symbol", (arguments)). The functions return 0, or what went wrong. */
#define MF_LIBRARY_MEMBER(member, symbol, arguments) int(*member) arguments;

#endif
