/* See doctor.h: what starts ranks, and where results go. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "io/micro.h"
#include "io/version.h"
#include "kernels/cores.h"
#include "slurm/launcher.h"
#include "src/base/child.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/stop.h"
#include "src/base/text.h"
#include "src/cmd/host/doctor.h"

static const double START_SECONDS = 30;

/* -- ranks -- */

/* Two ranks of this program that look at the machine; as mf_child_run(). */
static int start_two(void)
{
    char self[4096], two[] = "2", n[] = "-n", name[] = "mpiexec", verb[] = "probe", json[] = "--json";
    char *words[] = {name, n, two, self, verb, json, NULL};
    const struct mf_child child = {.words = words,
                                   .drops = mf_child_job,
                                   .more = "OMPI_MCA_rmaps_base_oversubscribe=1",
                                   .seconds = START_SECONDS,
                                   .quiet = 1};

    mf_child_self(self, sizeof self);
    mf_cores_release(); /* what is started has this thread's */
    return mf_child_run(&child, NULL);
}

static int is_one(const char *name)
{
    const char *value = getenv(name);

    return value && strcmp(value, "1") == 0;
}

/* Why mpiexec may have failed: what is most often the reason here. */
static const char *start_remedy(void)
{
    if (geteuid() == 0 && !(is_one("OMPI_ALLOW_RUN_AS_ROOT") && is_one("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM")))
        return "mpiexec -n 2 mesoforge probe; as root OMPI_ALLOW_RUN_AS_ROOT=1 and _CONFIRM=1";
    return "mpiexec -n 2 mesoforge probe says why; it must be the mpiexec of this MPI";
}

static void ranks(struct mf_findings *to)
{
    int size = to->session->comm->size, status;

    if (mf_comm_strays(to->session->comm) > 0) {
        mf_find(to, MF_FAILED, "MPI", "srun --mpi=pmix (srun --mpi=list: what it has), or mpirun inside the job",
                "the launcher started %ld tasks, and each believes to be alone: it does not speak to %.100s",
                mf_comm_strays(to->session->comm), mf_comm_version());
        return;
    }
    if (size > 1) {
        mf_find(to, MF_WELL, "MPI", "", "%d ranks are running: %.150s", size, mf_comm_version());
        return;
    }
    status = start_two();
    if (status == 0)
        mf_find(to, MF_WELL, "MPI", "", "mpiexec starts two ranks: %.150s", mf_comm_version());
    else if (status == -2)
        mf_find(to, MF_WARNED, "MPI", "put the mpiexec of the MPI that this was built with into PATH; srun does too",
                "no mpiexec (%s): %.120s", strerror(errno), mf_comm_version());
    else if (status == -1)
        mf_find(to, MF_WARNED, "MPI", "mpiexec -n 2 hostname", "mpiexec -n 2 does not end within %.0f s",
                START_SECONDS);
    else
        mf_find(to, MF_WARNED, "MPI", start_remedy(), "mpiexec -n 2 ends with status %d: %.120s", status,
                mf_comm_version());
}

void mf_doctor_launch(struct mf_findings *to)
{
    struct mf_launcher launcher = mf_launcher_find();

    if (launcher.job[0])
        mf_find(to, MF_WELL, "launcher", "", "%s in Slurm's job %s, started again %ld times", launcher.kind,
                launcher.job, launcher.restarts);
    else
        mf_find(to, MF_WELL, "launcher", "", "%s", launcher.kind);
    ranks(to);
}

/* -- folder -- */

/* The folder, or the nearest above it that is there: it will be made. */
static char *nearest(const char *folder)
{
    char *path = MF_MUST(strdup(folder), "a name");
    struct stat is;

    while (stat(path, &is) != 0) {
        char *slash = strrchr(path, '/');

        if (slash == path || !slash) {
            free(path);
            path = MF_MUST(strdup(slash ? "/" : "."), "a name");
            break;
        }
        *slash = '\0';
    }
    return path;
}

static void space(struct mf_findings *to, const char *folder)
{
    struct statvfs is;
    double gigabytes;

    if (statvfs(folder, &is) != 0) return; /* that it cannot be used is said by others */
    gigabytes = 1e-9 * (double)is.f_bavail * (double)is.f_frsize;
    if (gigabytes < 1)
        mf_find(to, MF_WARNED, "free space", "make room, or choose another --data_folder", "%.3f GB in %.180s",
                gigabytes, folder);
    else
        mf_find(to, MF_WELL, "free space", "", "%.1f GB in %.180s", gigabytes, folder);
}

/* 0, or what was wrong. */
static int use_file(int file, const char *from, const char *to, int *locks)
{
    int why = 0;

    *locks = flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (write(file, "x", 1) != 1 || fsync(file) != 0) why = errno;
    if (close(file) != 0 && !why) why = errno;
    if (!why && rename(from, to) != 0) why = errno;
    (void)unlink(why ? from : to);
    return why;
}

/* As outputs are written: a temporary file, renamed. */
static int rename_file(const char *folder, int *locks)
{
    char from[4200], to[4200];
    int file, why;

    snprintf(from, sizeof from, "%.4000s/.mesoforge-doctor-%ld.part", folder, (long)getpid());
    snprintf(to, sizeof to, "%.4000s/.mesoforge-doctor-%ld", folder, (long)getpid());
    mf_stop_register_file(from);
    mf_stop_register_file(to);
    file = mf_open(from, O_RDWR | O_CREAT | O_EXCL);
    why = file < 0 ? errno : use_file(file, from, to, locks);
    mf_stop_unregister_file(from);
    mf_stop_unregister_file(to);
    return why;
}

/* True when results can be written to @p folder, which is that of @p asked or above it. */
static int folder_works(struct mf_findings *to, const char *folder, const char *asked)
{
    int locks = 0, why = rename_file(folder, &locks);

    if (why) {
        mf_find(to, MF_FAILED, "data folder", "choose another with --data_folder", "cannot write in %.180s: %s", folder,
                strerror(why));
        return 0;
    }
    if (strcmp(folder, asked) == 0)
        mf_find(to, MF_WELL, "data folder", "", "%.180s: files can be written and renamed", folder);
    else
        mf_find(to, MF_WELL, "data folder", "",
                "%.100s is not there and would be made; in %.100s files can be written and renamed", asked, folder);
    space(to, folder);
    if (locks)
        mf_find(to, MF_WARNED, "file locks", "HDF5_USE_FILE_LOCKING=FALSE, or a file system with locks", "%.150s: %s",
                folder, strerror(locks));
    else
        mf_find(to, MF_WELL, "file locks", "", "they work");
    return 1;
}

/* A small volume, written by all ranks. */
static int write_small(const struct mf_findings *to, const char *folder)
{
    const size_t dims[3] = {4, 4, 4};
    struct mf_session *s = (struct mf_session *)(uintptr_t)to->session;
    struct mf_micro micro = {.ndim = 3, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}, .arena = s->arena};
    const struct mf_provenance from = {.command = "doctor", .options = "", .input_hash = ""};
    char path[4200];
    int64_t id = getpid();
    int rc, stem;

    mf_comm_bcast(s->comm, 0, &id, sizeof id);
    stem = snprintf(path, sizeof path, "%.4000s/.mesoforge-doctor-%lld", folder, (long long)id);
    snprintf(path + stem, sizeof path - (size_t)stem, ".h5");
    micro.slab = mf_slab_of(s->comm, dims, s->comm->rank);
    micro.phase = mf_arena_zeros(s->arena, mf_slab_voxels(&micro.slab), 1, "doctor");
    rc = mf_agree(s->comm, micro.phase ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) rc = mf_micro_write(s->comm, path, &micro, &from);
    mf_micro_free(&micro);
    if (s->comm->rank == 0) {
        (void)unlink(path);
        memcpy(path + stem, ".xdmf", sizeof ".xdmf");
        (void)unlink(path);
    }
    return rc;
}

/* As all HDF5 files of several ranks are written: rank 0 makes it, and each writes its own values. */
static void write_together(struct mf_findings *to, const char *folder)
{
    const int size = to->session->comm->size;

    if (write_small(to, folder) == MF_OK)
        mf_find(to, MF_WELL, "HDF5", "", "%s: %d rank%s wrote one file", mf_io_hdf5(), size, MF_S(size));
    else
        mf_find(to, MF_FAILED, "HDF5", ".npy files as --output, or another --data_folder", "%.250s", mf_err_text());
    mf_err_clear();
}

int mf_doctor_folder(struct mf_findings *to)
{
    const struct mf_session *s = to->session;
    const char *asked = *mf_common_of(s)->data_folder ? mf_common_of(s)->data_folder : ".";
    char *folder = nearest(asked);
    int works = s->comm->rank == 0 && folder_works(to, folder, asked);

    mf_comm_bcast(s->comm, 0, &works, sizeof works);
    works = works && mf_doctor_locks(to, folder);
    if (works) write_together(to, folder);
    free(folder);
    return MF_OK;
}
