/* See nccl_abi.h: opening the library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/nccl_abi.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"

#define LIBRARY "libnccl.so.2"

/* A function and where its address goes. */
struct symbol {
    const char *name;
    size_t offset;
};

static const struct symbol symbols[] = {
    {"ncclGetVersion", offsetof(struct nccl, version)},
    {"ncclGetUniqueId", offsetof(struct nccl, id)},
    {"ncclCommInitRankConfig", offsetof(struct nccl, init)},
    {"ncclCommFinalize", offsetof(struct nccl, finish)},
    {"ncclCommDestroy", offsetof(struct nccl, destroy)},
    {"ncclCommAbort", offsetof(struct nccl, abort)},
    {"ncclCommGetAsyncError", offsetof(struct nccl, async)},
    {"ncclGroupStart", offsetof(struct nccl, start)},
    {"ncclGroupEnd", offsetof(struct nccl, end)},
    {"ncclSend", offsetof(struct nccl, send)},
    {"ncclRecv", offsetof(struct nccl, receive)},
    {"ncclAllReduce", offsetof(struct nccl, all_reduce)},
    {"ncclReduceScatter", offsetof(struct nccl, reduce_scatter)},
    {"ncclAllGather", offsetof(struct nccl, all_gather)},
    {"ncclGetErrorString", offsetof(struct nccl, error)},
    {"ncclGetLastError", offsetof(struct nccl, last)},
};

/* "2.28.9" of 22809; versions before 2.9 had one digit less for the major number: 2708. */
static void set_number(struct nccl *api)
{
    const int unit = api->code < 10000 ? 1000 : 10000;

    snprintf(api->number, sizeof api->number, "%d.%d.%d", api->code / unit, api->code % unit / 100, api->code % 100);
}

static int check_version(struct nccl *api, const char *path)
{
    if (api->version(&api->code) != NCCL_OK) return mf_fail(MF_DEVICE, "'%s' does not say its version", path);
    set_number(api);
    if (api->code >= NCCL_OLDEST && api->number[0] == '2' && api->number[1] == '.') return MF_OK;
    return mf_fail(MF_DEVICE, "'%s' is NCCL %s; this program needs version 2, from 2.14 on", path, api->number);
}

static int find_all(struct nccl *api, void *library, const char *path)
{
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; ++i) {
        void *found = dlsym(library, symbols[i].name);

        memcpy((char *)api + symbols[i].offset, &found, sizeof found); /* a pointer to a function, as POSIX has it */
        if (!found)
            return mf_fail(MF_DEVICE, "'%s' has no %s: it is no NCCL, or one before 2.14", path, symbols[i].name);
    }
    return check_version(api, path);
}

int mf_nccl_open(const struct nccl **api)
{
    static struct nccl opened;
    static int is_open;
    const char *hook = getenv("MF_NCCL_LIBRARY"), *path = hook && *hook ? hook : LIBRARY;
    void *library;
    int rc;

    if (!is_open) {
        library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) return mf_fail(MF_DEVICE, "NCCL does not load: %s", dlerror());
        rc = find_all(&opened, library, path);
        if (rc != MF_OK) {
            (void)dlclose(library);
            return rc;
        }
        is_open = 1;
    }
    *api = &opened;
    return MF_OK;
}

const char *mf_transport_version(void)
{
    const struct nccl *api;

    return mf_nccl_open(&api) == MF_OK ? api->number : NULL;
}
