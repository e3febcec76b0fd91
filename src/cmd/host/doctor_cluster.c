/* See doctor.h: what goes wrong where there are several nodes. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/version.h"
#include "kernels/version.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/version.h"
#include "src/cmd/host/doctor.h"
#include "src/plan/nic.h"

/* ---- InfiniBand ---- */

static int is_installed(const char *library)
{
    void *opened = dlopen(library, RTLD_LAZY | RTLD_LOCAL);

    if (opened) (void)dlclose(opened);
    return opened != NULL;
}

/* A file tells Debian's Open MPI to leave InfiniBand aside; the environment wins. Sets @p why to the place that says
 * so. */
static int leaves_aside(const char *root, char *why, size_t n)
{
    const char *pml = getenv("OMPI_MCA_pml"), *at;
    char path[512], *text = NULL;
    size_t count;
    int found = 0;

    if (strncmp(mf_comm_version(), "Open MPI", 8) != 0) return 0;
    if (pml) {
        snprintf(why, n, "OMPI_MCA_pml=%.40s", pml);
        return *pml == '^' ? strstr(pml, "ucx") != NULL : strstr(pml, "ucx") == NULL && strstr(pml, "cm") == NULL;
    }
    snprintf(path, sizeof path, "%.400s/etc/openmpi/openmpi-mca-params.conf", root);
    if (mf_text_load(path, 1 << 20, &text, &count) != MF_OK) mf_err_clear();
    for (at = text; at && !found; at = strchr(at, '\n')) {
        char value[64] = "";

        at += strspn(at, "\n \t");
        found = sscanf(at, "pml = %63[^\n]", value) == 1 && *value == '^' && strstr(value, "ucx");
    }
    snprintf(why, n, "pml = ^ucx in %.100s", path);
    free(text);
    return found;
}

void mf_doctor_network(struct mf_findings *to, const char *root)
{
    static const char what[] = "InfiniBand";
    struct mf_fabric fabric;
    char why[160];

    mf_nic_fabric(root, &fabric);
    if (fabric.adapters == 0)
        mf_find(to, MF_WELL, what, "", "none here");
    else if (fabric.up == 0)
        mf_find(to, MF_WARNED, what, "ibstat says more; the administrator brings links up",
                "%s: no port of %d adapter%s is up", fabric.name, fabric.adapters, MF_S(fabric.adapters));
    else if (fabric.open == 0)
        mf_find(to, MF_WARNED, what, "docker run --device=/dev/infiniband; else the administrator loads ib_uverbs",
                "%s: none of /dev/infiniband/uverbs* may be opened: ranks of several nodes go by TCP", fabric.name);
    else if (!is_installed("libibverbs.so.1"))
        mf_find(to, MF_WARNED, what, "install libibverbs1 and ibverbs-providers (rdma-core), in the container too",
                "%s is up, but libibverbs.so.1 does not load: ranks of several nodes go by TCP", fabric.name);
    else if (!is_installed("libucp.so.0") && !is_installed("libfabric.so.1"))
        mf_find(to, MF_WARNED, what, "install libucx0 or libfabric1, as the MPI needs it",
                "%s is up, but neither UCX nor libfabric loads: ranks of several nodes go by TCP", fabric.name);
    else if (leaves_aside(root, why, sizeof why))
        mf_find(to, MF_WARNED, what, "export OMPI_MCA_pml=ucx (mpirun -x OMPI_MCA_pml)",
                "%s is up, but Open MPI leaves it aside (%s)", fabric.name, why);
    else
        mf_find(to, MF_WELL, what, "", "%s is up, %d adapter%s", fabric.name, fabric.adapters, MF_S(fabric.adapters));
}

/* ---- versions over ranks ---- */

enum { LIBRARIES = 5, VERSION_TEXT = 200 };

static const struct {
    const char *name;
    int is_needed; /* that all ranks have the same */
} libraries[LIBRARIES] = {{"MPI", 1}, {"HDF5", 1}, {"FFTW", 0}, {"NCCL", 0}, {"mesoforge", 1}};

struct versions {
    char node[72], of[LIBRARIES][VERSION_TEXT];
};

static void own_versions(struct versions *v)
{
    char id[48];
    const char *const of[] = {mf_comm_version(), mf_io_hdf5(), mf_kernels_fftw(),
                              mf_transport_version() ? mf_transport_version() : "none"};

    mf_err_clear();
    if (gethostname(v->node, sizeof v->node - 1) != 0) snprintf(v->node, sizeof v->node, "?");
    for (int i = 0; i < LIBRARIES - 1; ++i) snprintf(v->of[i], VERSION_TEXT, "%.190s", of[i]);
    mf_build_id(id, sizeof id);
    snprintf(v->of[LIBRARIES - 1], VERSION_TEXT, "%.60s %s", MF_VERSION, id);
}

/* The first rank that has another than rank 0; @p ranks where all have the same. */
static int stranger(const struct versions *all, int ranks, int library)
{
    int r = 1;

    while (r < ranks && strcmp(all[r].of[library], all[0].of[library]) == 0) ++r;
    return r;
}

static void compare(struct mf_findings *to, const struct versions *all, int ranks)
{
    int mixed = 0;

    for (int i = 0; i < LIBRARIES; ++i) {
        const int r = stranger(all, ranks, i);

        if (r == ranks) continue;
        ++mixed;
        mf_find(to, libraries[i].is_needed ? MF_FAILED : MF_WARNED, "mixed versions",
                i == LIBRARIES - 1 ? "install the program once, where all nodes see it"
                                   : "load the same modules on all nodes; mpirun -x LD_LIBRARY_PATH, srun --export=ALL",
                "%s '%.60s' on rank 0 (%.20s), '%.60s' on rank %d (%.20s)", libraries[i].name, all[0].of[i],
                all[0].node, all[r].of[i], r, all[r].node);
    }
    if (mixed == 0)
        mf_find(to, MF_WELL, "versions", "", "all %d ranks have the same program, MPI, HDF5, FFTW and NCCL", ranks);
}

int mf_doctor_versions(struct mf_findings *to)
{
    const struct mf_comm *comm = to->session->comm;
    struct versions *own = MF_MUST(calloc(1, sizeof *own), "versions");
    void *all = NULL;
    int rc;

    own_versions(own);
    rc = mf_comm_gather(comm, own, sizeof *own, &all, NULL);
    if (rc == MF_OK && comm->rank == 0 && comm->size > 1) compare(to, all, comm->size);
    free(all);
    free(own);
    return rc;
}

/* ---- locks ---- */

enum { HELD_OFF, GOT_IT, NO_FILE };

/* A lock on the whole file; 0, or why not. */
static int lock(int file, int how)
{
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    return fcntl(file, how, &all) == 0 ? 0 : errno;
}

/* Rank 0 makes the file and locks it. A process lock, as in MPI-IO, is released again on one rank: it would not exclude
 * this process itself. */
static int take(const char *path, int *file)
{
    struct flock none = {.l_type = F_UNLCK, .l_whence = SEEK_SET};
    int why;

    *file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*file < 0) return errno;
    why = lock(*file, F_SETLK);
    if (!why && fcntl(*file, F_SETLK, &none) != 0) why = errno;
    return why ? why : lock(*file, F_OFD_SETLK);
}

/* Every rank, rank 0 by a second descriptor. */
static int try(const char *path)
{
    int file = open(path, O_RDWR | O_CLOEXEC), got;

    if (file < 0) return NO_FILE;
    got = lock(file, F_OFD_SETLK) == 0 ? GOT_IT : HELD_OFF;
    close(file);
    return got;
}

static void say(struct mf_findings *to, const char *folder, int why, int64_t worst)
{
    static const char what[] = "fcntl locks",
                      remedy[] = "have it mounted with locks (Lustre: flock, NFS: no nolock), or another --data_folder";

    if (why)
        mf_find(to, MF_WARNED, what, remedy, "%.150s: %s", folder, strerror(why));
    else if (worst == NO_FILE)
        mf_find(to, MF_FAILED, "data folder", "a folder that all nodes share, by its whole path",
                "%.180s is not the same folder on all ranks", folder);
    else if (worst == GOT_IT)
        mf_find(to, MF_WARNED, what, remedy, "%.150s: what one locks another can lock as well", folder);
    else
        mf_find(to, MF_WELL, what, "", "they hold");
}

int mf_doctor_locks(struct mf_findings *to, const char *folder)
{
    const struct mf_comm *comm = to->session->comm;
    char path[4200];
    int64_t id = getpid(), got = HELD_OFF;
    int why = 0, file = -1;

    mf_comm_bcast(comm, 0, &id, sizeof id);
    snprintf(path, sizeof path, "%.4000s/.mesoforge-doctor-%lld.lock", folder, (long long)id);
    if (comm->rank == 0) why = take(path, &file);
    mf_comm_bcast(comm, 0, &why, sizeof why);
    if (!why) got = try(path);
    mf_comm_max_int(comm, 1, &got);
    if (comm->rank == 0) say(to, folder, why, got);
    if (file >= 0) close(file);
    if (file >= 0) (void)unlink(path);
    return got != NO_FILE;
}
