/* See pmix.h. The declarations are those of the PMIx standard, version 4. Only a value's type and the beginning of its
 * union are read. */
#include "slurm/pmix.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct proc {
    char space[256];
    uint32_t rank;
};

struct value {
    uint16_t type;
    union {
        _Bool flag;
        char *text;
        size_t size;
        int number;
        uint16_t u16;
        uint32_t u32;
        uint64_t u64;
        uint64_t room[16]; /* more than any of its members */
    } is;
};

struct info {
    char key[512];
    uint32_t flags;
    struct value value;
};

enum { FLAG = 1, TEXT = 3, SIZE = 4, INT = 6, INT32 = 9, UINT = 11, UINT16 = 13, UINT32 = 14, UINT64 = 15, RANK = 40 };
#define WILDCARD (UINT32_MAX - 1) /* the job as a whole */

typedef int get_call(const struct proc *of, const char *key, const struct info *info, size_t infos,
                     struct value **value);

static long number_of(const struct value *v)
{
    switch (v->type) {
    case SIZE: return (long)v->is.size;
    case UINT64: return (long)v->is.u64;
    case INT:
    case INT32: return v->is.number;
    case UINT:
    case UINT32:
    case RANK: return (long)v->is.u32;
    case UINT16: return v->is.u16;
    default: return -1;
    }
}

struct asked {
    get_call *get;
    struct proc self, job;
};

/* A number, or a text of @p n bytes. */
static void ask(const struct asked *a, int of_job, const char *key, long *number, char *text, size_t n)
{
    /* what the launcher gave at the start, without a question to it */
    const struct info here = {.key = "pmix.optional", .value = {.type = FLAG, .is = {.flag = 1}}};
    struct value *v = NULL;

    if (a->get(of_job ? &a->job : &a->self, key, &here, 1, &v) != 0 || !v) return;
    if (number) *number = number_of(v);
    if (text && v->type == TEXT && v->is.text) snprintf(text, n, "%s", v->is.text);
    if (v->type == TEXT) free(v->is.text);
    free(v);
}

static void ask_all(const struct asked *a, struct mf_pmix *to)
{
    ask(a, 0, "pmix.lrank", &to->local_rank, NULL, 0);
    ask(a, 0, "pmix.nodeid", &to->node, NULL, 0);
    ask(a, 1, "pmix.local.size", &to->local_size, NULL, 0);
    ask(a, 1, "pmix.num.nodes", &to->nodes, NULL, 0);
    ask(a, 0, "pmix.hname", NULL, to->host, sizeof to->host);
    ask(a, 1, "pmix.nlist", NULL, to->list, sizeof to->list);
    ask(a, 0, "pmix.cpuset", NULL, to->set, sizeof to->set);
}

struct mf_pmix mf_pmix_ask(const struct mf_launcher *launcher)
{
    struct mf_pmix to = {.local_rank = -1, .local_size = -1, .node = -1, .nodes = -1};
    void *library = strcmp(launcher->kind, "none") != 0 ? dlopen("libpmix.so.2", RTLD_NOW | RTLD_NOLOAD) : NULL;
    int (*begin)(struct proc *, const void *, size_t), (*end)(const void *, size_t);
    const char *(*version)(void);
    struct asked a;

    if (!library) return to;
    *(void **)&begin = dlsym(library, "PMIx_Init");
    *(void **)&end = dlsym(library, "PMIx_Finalize");
    *(void **)&version = dlsym(library, "PMIx_Get_version");
    *(void **)&a.get = dlsym(library, "PMIx_Get");
    if (begin && end && version && a.get && begin(&a.self, NULL, 0) == 0) { /* counted: MPI has begun already */
        snprintf(to.version, sizeof to.version, "%s", version());
        a.job = a.self;
        a.job.rank = WILDCARD;
        ask_all(&a, &to);
        (void)end(NULL, 0);
    }
    (void)dlclose(library);
    return to;
}
