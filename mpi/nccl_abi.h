/* The part of NCCL's interface that this program uses, declared here because the library is opened at run time. Names,
 * argument types and numbers follow NCCL's documentation ("NCCL API", "NCCL Types"). They are the same in every version
 * 2 since 2.14, the first whose start need not block. Inner header of this folder. */
#ifndef MF_MPI_NCCL_ABI_H
#define MF_MPI_NCCL_ABI_H

#include <stddef.h>

typedef void *nccl_comm; /* ncclComm_t, a pointer to an opaque struct */

enum { NCCL_OK = 0, NCCL_IN_PROGRESS = 7 }; /* ncclResult_t */
enum {
    NCCL_BYTE = 0,
    NCCL_HALF = 6,
    NCCL_FLOAT = 7,
    NCCL_BFLOAT = 9
};                            /* ncclDataType_t: ncclInt8, ncclBfloat16, ... */
enum { NCCL_SUM = 0 };        /* ncclRedOp_t */
enum { NCCL_OLDEST = 21400 }; /* 2.14.0 */

struct nccl_id { /* ncclUniqueId, passed by value */
    char text[128];
};

_Static_assert(sizeof(struct nccl_id) == 128, "NCCL's layout");

struct nccl_config { /* ncclConfig_t of 2.14; later versions append members */
    size_t size;
    unsigned magic, version; /* NCCL_MAGIC, and the version of this layout */
    int blocking;            /* 0: calls return before they are complete, and async() reports progress */
};

enum { NCCL_MAGIC = (int)0xcafebeef };

struct nccl {
    int (*version)(int *code);     /* ncclGetVersion */
    int (*id)(struct nccl_id *id); /* ncclGetUniqueId */
    int (*init)(nccl_comm *comm, int ranks, struct nccl_id id, int rank,
                struct nccl_config *how);                                          /* ncclCommInitRankConfig */
    int (*finish)(nccl_comm comm);                                                 /* ncclCommFinalize */
    int (*destroy)(nccl_comm comm);                                                /* ncclCommDestroy */
    int (*abort)(nccl_comm comm);                                                  /* ncclCommAbort */
    int (*async)(nccl_comm comm, int *rc);                                         /* ncclCommGetAsyncError */
    int (*start)(void);                                                            /* ncclGroupStart */
    int (*end)(void);                                                              /* ncclGroupEnd */
    int (*send)(const void *, size_t n, int type, int to, nccl_comm, void *queue); /* ncclSend */
    int (*receive)(void *, size_t n, int type, int from, nccl_comm, void *queue);  /* ncclRecv */
    int (*all_reduce)(const void *, void *, size_t n, int type, int op, nccl_comm, void *queue); /* ncclAllReduce */
    int (*reduce_scatter)(const void *, void *, size_t each, int type, int op, nccl_comm,
                          void *queue);                                                     /* ncclReduceScatter */
    int (*all_gather)(const void *, void *, size_t each, int type, nccl_comm, void *queue); /* ncclAllGather */
    const char *(*error)(int rc);                                                           /* ncclGetErrorString */
    const char *(*last)(nccl_comm comm);                                                    /* ncclGetLastError */
    int code;                                                                               /* what version() returns */
    char number[24];                                                                        /* "2.28.9" */
};

/** Opens the library, once: libnccl.so.2, or MF_NCCL_LIBRARY (an absolute path, for tests). Refuses with MF_DEVICE
 * where the library is not installed, does not load, is not NCCL or is too old. Not collective. */
int mf_nccl_open(const struct nccl **api);

#endif
