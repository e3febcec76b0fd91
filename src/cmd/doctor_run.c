/* See doctor.h: what starts ranks, and where results go. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/micro.h"
#include "io/version.h"
#include "slurm/launcher.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/doctor.h"

static const double START_SECONDS = 30;

/* -- ranks -- */

/* What a launcher has left for its own ranks: another one starts without. */
static int is_launchers(const char *variable)
{
    static const char *const begins[] = {
        "OMPI_COMM",     "OMPI_UNI",     "OMPI_ARGV",        "OMPI_APP",      "OMPI_NUM", "OMPI_FIRST", "OMPI_FILE",
        "OMPI_MCA_orte", "OMPI_MCA_ess", "OMPI_MCA_initial", "OMPI_MCA_pmix", "PMIX_",    "PMI_",       "SLURM_"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; ++i)
        if (strncmp(variable, begins[i], strlen(begins[i])) == 0) return 1;
    return 0;
}

/* The environment for a launcher: pointers into this one's. Caller frees the list. */
static char **clean_environment(void)
{
    static char more[] = "OMPI_MCA_rmaps_base_oversubscribe=1";
    size_t n = 0, kept = 0;
    char **list;

    while (environ[n]) ++n;
    list = malloc((n + 2) * sizeof *list);
    if (!list) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for an environment");
    for (size_t i = 0; i < n; ++i)
        if (!is_launchers(environ[i])) list[kept++] = environ[i];
    list[kept++] = more;
    list[kept] = NULL;
    return list;
}

/* Its exit status; -1: it did not end in time. */
static int wait_for(pid_t child)
{
    const struct timespec moment = {0, 20000000};
    double end = mf_now() + START_SECONDS;
    int status;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (mf_now() > end) {
            kill(-child, SIGKILL);
            waitpid(child, &status, 0);
            return -1;
        }
        nanosleep(&moment, NULL);
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Two ranks of this program that look at the machine; its exit status, -1 out of time, -2 not started (*why). */
static int start_two(int *why)
{
    char self[4096], two[] = "2", n[] = "-n", name[] = "mpiexec", verb[] = "probe", json[] = "--json";
    char *words[] = {name, n, two, self, verb, json, NULL}, **list = clean_environment();
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t child = 0;

    self[length > 0 ? length : 0] = '\0';
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attributes);
    for (int f = 0; f < 3; ++f) posix_spawn_file_actions_addopen(&files, f, "/dev/null", f ? O_WRONLY : O_RDONLY, 0);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    *why = posix_spawnp(&child, name, &files, &attributes, words, list);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(list);
    return *why ? -2 : wait_for(child);
}

static void ranks(struct mf_findings *to)
{
    int size = to->session->comm->size, why = 0, status;

    if (size > 1) {
        mf_find(to, MF_WELL, "MPI", "", "%d ranks are running: %.150s", size, mf_comm_version());
        return;
    }
    status = start_two(&why);
    if (status == 0)
        mf_find(to, MF_WELL, "MPI", "", "mpiexec starts two ranks: %.150s", mf_comm_version());
    else if (status == -2)
        mf_find(to, MF_WARNED, "MPI", "put the mpiexec of the MPI that this was built with into PATH; srun does too",
                "no mpiexec (%s): %.120s", strerror(why), mf_comm_version());
    else if (status == -1)
        mf_find(to, MF_WARNED, "MPI", "try: mpiexec -n 2 hostname", "mpiexec -n 2 does not end within %.0f s",
                START_SECONDS);
    else
        mf_find(to, MF_WARNED, "MPI",
                geteuid() == 0 ? "try: mpiexec -n 2 mesoforge probe; as root OMPI_ALLOW_RUN_AS_ROOT=1 and _CONFIRM=1"
                               : "try: mpiexec -n 2 mesoforge probe; it must be the mpiexec of this MPI",
                "mpiexec -n 2 ends with status %d: %.120s", status, mf_comm_version());
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
    char *path = strdup(*folder ? folder : ".");
    struct stat is;

    if (!path) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    while (stat(path, &is) != 0) {
        char *slash = strrchr(path, '/');

        if (slash == path || !slash) {
            free(path);
            path = strdup(slash ? "/" : ".");
            if (!path) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
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

/* As outputs are written: a temporary file, renamed. */
static int rename_file(const char *folder, int *locks)
{
    char from[4200], to[4200];
    int file, why = 0;

    snprintf(from, sizeof from, "%.4000s/.mesoforge-doctor-%ld.part", folder, (long)getpid());
    snprintf(to, sizeof to, "%.4000s/.mesoforge-doctor-%ld", folder, (long)getpid());
    file = open(from, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file < 0) return errno;
    *locks = flock(file, LOCK_EX | LOCK_NB) == 0 ? 0 : errno;
    if (write(file, "x", 1) != 1 || fsync(file) != 0) why = errno;
    if (close(file) != 0 && !why) why = errno;
    if (!why && rename(from, to) != 0) why = errno;
    (void)unlink(why ? from : to);
    return why;
}

/* True when results can be written there. */
static int folder_works(struct mf_findings *to, const char *folder)
{
    int locks = 0, why = rename_file(folder, &locks);

    if (why) {
        mf_find(to, MF_FAILED, "data folder", "choose another with --data_folder", "cannot write in %.180s: %s", folder,
                strerror(why));
        return 0;
    }
    mf_find(to, MF_WELL, "data folder", "", "%.180s: files can be written and renamed", folder);
    space(to, folder);
    if (locks)
        mf_find(to, MF_WARNED, "file locks", "HDF5_USE_FILE_LOCKING=FALSE, or a file system with locks", "%.150s: %s",
                folder, strerror(locks));
    else
        mf_find(to, MF_WELL, "file locks", "", "they work");
    return 1;
}

/* A small volume of ours, written by all ranks. */
static int write_small(const struct mf_findings *to, const char *folder)
{
    const size_t dims[3] = {4, 4, 4};
    struct mf_session *s = (struct mf_session *)(uintptr_t)to->session;
    struct mf_micro micro = {.ndim = 3, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}, .arena = s->arena};
    const struct mf_provenance from = {.command = "doctor", .options = "", .input_hash = ""};
    char path[4200];
    int64_t id = getpid();
    int rc;

    mf_comm_bcast(s->comm, 0, &id, sizeof id);
    snprintf(path, sizeof path, "%.4000s/.mesoforge-doctor-%lld.h5", folder, (long long)id);
    micro.slab = mf_slab_of(s->comm, dims, s->comm->rank);
    micro.phase = mf_arena_zeros(s->arena, mf_slab_voxels(&micro.slab), 1, "doctor");
    rc = mf_agree(s->comm, micro.phase ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) rc = mf_micro_write(s->comm, path, &micro, &from);
    mf_micro_free(&micro);
    if (s->comm->rank == 0) {
        (void)unlink(path);
        memcpy(path + strlen(path) - 3, ".xdmf", sizeof ".xdmf");
        (void)unlink(path);
    }
    return rc;
}

int mf_doctor_folder(struct mf_findings *to)
{
    const struct mf_session *s = to->session;
    char *folder = nearest(s->common->data_folder);
    int works = s->comm->rank == 0 && folder_works(to, folder), rc = MF_OK;

    mf_comm_bcast(s->comm, 0, &works, sizeof works);
    if (works) rc = write_small(to, folder);
    free(folder);
    if (!works) return MF_OK;
    if (rc == MF_OK)
        mf_find(to, MF_WELL, "HDF5", "", "%s, parallel: %d rank%s wrote one file", mf_io_hdf5(), s->comm->size,
                MF_S(s->comm->size));
    else
        mf_find(to, MF_FAILED, "HDF5", "an MPI-IO file system for --data_folder, or .npy files as --output", "%.250s",
                mf_err_text());
    mf_err_clear();
    return MF_OK;
}
