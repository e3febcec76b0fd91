/* See doctor.h: what a process finds on its machine. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kernels/version.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/host/doctor.h"
#include "src/plan/cgroup.h"
#include "src/plan/host.h"
#include "src/plan/nvml.h"
#include "src/plan/toolkit.h"
#include "src/session/cores.h"

static const double GIB = 1 << 30;

static void processor(struct mf_findings *to, const struct mf_host *host)
{
    const char *simd = mf_kernels_simd(), *name = host->cpu[0] ? host->cpu : "processor of unknown name";

    if (strcmp(simd, "baseline") == 0)
        mf_find(to, MF_WARNED, "processor", "a processor with AVX2 or AVX-512 does S2 several times as fast",
                "%s without AVX2", name);
    else
        mf_find(to, MF_WELL, "processor", "", "%s, %s", name, simd);
}

static void threads(struct mf_findings *to, const struct mf_limits *limits)
{
    int cores = mf_session_cores(to->session->comm), used = to->session->threads;
    const char *because = limits->cores > 0 ? "affinity and control group" : "affinity";

    if (used > cores)
        mf_find(to, MF_WARNED, "threads", "leave --threads and OMP_NUM_THREADS out, or set them to the cores",
                "%d threads per rank on %d core%s (by %s): they wait for each other", used, cores, MF_S(cores),
                because);
    else
        mf_find(to, MF_WELL, "threads", "", "%d per rank on %d core%s (by %s)", used, cores, MF_S(cores), because);
}

static void memory(struct mf_findings *to, const struct mf_host *host, const struct mf_limits *limits)
{
    double free_bytes = (double)host->ram_available_bytes, all = (double)host->ram_bytes;
    const char *of = limits->ram_bytes > 0 ? "of the control group" : "of the machine";

    if (free_bytes < GIB)
        mf_find(to, MF_WARNED, "memory", "ask for more (sbatch --mem, docker run --memory), or end other programs",
                "%.2f GiB free of %.2f GiB %s", free_bytes / GIB, all / GIB, of);
    else
        mf_find(to, MF_WELL, "memory", "", "%.1f GiB free of %.1f GiB %s", free_bytes / GIB, all / GIB, of);
}

/* A limit below what the node has is often meant, and as often forgotten. */
static void group(struct mf_findings *to, const char *root, const struct mf_limits *limits)
{
    const struct mf_limits none = {0};
    const int cores = mf_host_cores(root);
    struct mf_host node;
    double all;

    mf_host_look(root, &none, &node);
    all = (double)node.ram_bytes;
    if (limits->cores > 0 && limits->cores < cores)
        mf_find(to, MF_WARNED, "cores' limit", "if not meant: docker run --cpus, sbatch --cpus-per-task, CPUQuota=",
                "%.4g of the node's %d cores (%s)", limits->cores, cores, limits->cores_in);
    if (limits->ram_bytes > 0 && (double)limits->ram_bytes < all)
        mf_find(to, MF_WARNED, "memory's limit",
                "if not meant: sbatch --mem=0, docker run --memory, MemoryMax=", "%.1f of the node's %.1f GiB (%s)",
                (double)limits->ram_bytes / GIB, all / GIB, limits->ram_in);
    if (!(limits->cores > 0 && limits->cores < cores) && !(limits->ram_bytes > 0 && (double)limits->ram_bytes < all))
        mf_find(to, MF_WELL, "control group", "", "no limit below the node's %d cores and %.1f GiB", cores, all / GIB);
}

/* As the exchange of slices does it: a file in memory, opened by another name. 0, or why not. */
static int share(void)
{
    int file = memfd_create("mesoforge", MFD_CLOEXEC), again, why = 0;
    char name[64];

    if (file < 0) return errno;
    snprintf(name, sizeof name, "/proc/%ld/fd/%d", (long)getpid(), file);
    if (ftruncate(file, 4096) != 0) why = errno;
    again = open(name, O_RDWR | O_CLOEXEC);
    if (again < 0 && why == 0) why = errno;
    if (again >= 0) close(again);
    close(file);
    return why;
}

/* MPI keeps files there. */
static void room(struct mf_findings *to, const char *name, const char *folder, const char *missing, const char *full)
{
    struct statvfs is;
    double mebibytes;

    if (statvfs(folder, &is) != 0) {
        mf_find(to, MF_WARNED, name, missing, "%.180s: %s", folder, strerror(errno));
        return;
    }
    mebibytes = (double)is.f_bavail * (double)is.f_frsize / (1 << 20);
    if (mebibytes < 32)
        mf_find(to, MF_WARNED, name, full, "%.180s has %.1f MiB free: MPI may not start", folder, mebibytes);
    else
        mf_find(to, MF_WELL, name, "", "%.180s has %.0f MiB free", folder, mebibytes);
}

static void shared(struct mf_findings *to)
{
    const char *hook = getenv("MF_SHM"), *temporary = getenv("TMPDIR");
    int why = share();

    if (why)
        mf_find(to, MF_WARNED, "shared memory", "mount /proc, and allow memfd_create",
                "ranks of a node exchange slices by messages (%s): slower", strerror(why));
    else
        mf_find(to, MF_WELL, "shared memory", "", "ranks of a node exchange slices without messages");
    room(to, "MPI's memory", hook ? hook : "/dev/shm", "mount a tmpfs at /dev/shm",
         "docker run --shm-size=1g, or remove what lies there");
    room(to, "MPI's folder", temporary && *temporary ? temporary : "/tmp", "mkdir it, or export TMPDIR=/tmp",
         "make room there, or export TMPDIR with a folder that has some");
}

/* mpirun keeps some for each rank that it starts, and where they run out it waits for ever. */
static void open_files(struct mf_findings *to)
{
    static const unsigned long long enough = 1024, ample = 4096;
    char remedy[64] = "the administrator raises it (nofile in limits.conf)";
    struct rlimit of;

    if (getrlimit(RLIMIT_NOFILE, &of) != 0) return;
    if (of.rlim_max >= enough)
        snprintf(remedy, sizeof remedy, "ulimit -S -n %llu",
                 of.rlim_max < ample ? (unsigned long long)of.rlim_max : ample);
    if (of.rlim_cur == RLIM_INFINITY)
        mf_find(to, MF_WELL, "open files", "", "a process may have any number");
    else if (of.rlim_cur >= enough)
        mf_find(to, MF_WELL, "open files", "", "a process may have %llu", (unsigned long long)of.rlim_cur);
    else
        mf_find(to, MF_WARNED, "open files", remedy,
                "a process may have %llu: where mpirun has too few it may fail or wait for ever",
                (unsigned long long)of.rlim_cur);
}

/* MPI copies from process to process where the kernel allows it. */
static void copies(struct mf_findings *to)
{
    char from[8] = "copied", into[8] = "";
    struct iovec a = {into, sizeof into}, b = {from, sizeof from};

    if (process_vm_readv(getpid(), &a, 1, &b, 1, 0) == (ssize_t)sizeof from)
        mf_find(to, MF_WELL, "copies", "", "a process may read another's memory (CMA)");
    else
        mf_find(to, MF_WARNED, "copies",
                "docker run --cap-add SYS_PTRACE; or OMPI_MCA_btl_vader_single_copy_mechanism=none keeps MPI quiet",
                "no process may read another's memory (CMA: %s): large messages are copied twice", strerror(errno));
}

static void driver(struct mf_findings *to, const struct mf_nvml *seen)
{
    int there = access("/dev/nvidiactl", F_OK) == 0;

    if (seen->gpus > 0 && !seen->remark[0])
        mf_find(to, MF_WELL, "GPU driver", "", "%zu GPU%s (%s%s), driver %s, CUDA %lld.%lld", seen->gpus,
                MF_S(seen->gpus), seen->gpu[0].gpu.name, seen->gpus > 1 ? " ..." : "", seen->driver,
                (long long)seen->cuda / 1000, (long long)seen->cuda % 1000 / 10);
    else if (seen->gpus > 0)
        mf_find(to, MF_WARNED, "GPU driver", "nvidia-smi says more; the administrator resets a GPU",
                "%zu GPU%s; %.200s", seen->gpus, MF_S(seen->gpus), seen->remark);
    else if (there)
        mf_find(to, MF_WARNED, "GPU driver", "docker run --gpus all, or install the driver's libraries",
                "a driver is loaded, but no GPU answers: %.150s", seen->remark);
    else
        mf_find(to, MF_WELL, "GPU driver", "", "no GPU here: %.200s", seen->remark);
}

static void back_end(struct mf_findings *to, size_t gpus)
{
    const struct mf_backend *backend;

    const int wanted = strncmp(mf_common_of(to->session)->device, "cuda", 4) == 0;

    if (mf_backend_find(&backend, "cuda") == MF_OK)
        mf_find(to, MF_WELL, "CUDA library", "", "the cuda back end runs here");
    else if (gpus > 0 || wanted)
        mf_find(to, wanted ? MF_FAILED : MF_WARNED, "CUDA library",
                "build with -DMF_CUDA=ON and install libmesoforge_cuda.so", "%.250s", mf_err_text());
    else
        mf_find(to, MF_WELL, "CUDA library", "", "not needed without a GPU: --device cpu computes");
    mf_err_clear();
}

static void nccl(struct mf_findings *to, size_t gpus)
{
    const char *version = mf_transport_version();

    if (version)
        mf_find(to, MF_WELL, "NCCL", "",
                gpus > 1 ? "%s: ranks exchange from GPU to GPU" : "%s; not needed with fewer than two GPUs", version);
    else if (gpus > 1)
        mf_find(to, MF_WARNED, "NCCL", "install libnccl.so.2, or leave it: ranks exchange through the host's memory",
                "%.250s", mf_err_text());
    else
        mf_find(to, MF_WELL, "NCCL", "", "not needed with fewer than two GPUs");
    mf_err_clear();
}

static void container(struct mf_findings *to, enum mf_box box, const char *path, const struct mf_toolkit *toolkit,
                      size_t gpus)
{
    const char *remedy = box == MF_BOX_PODMAN ? "nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml"
                                              : "install nvidia-container-toolkit, nvidia-ctk runtime configure";
    char why[MF_TOOLKIT_TEXT];
    enum mf_gpu_flag flag;
    const int works = mf_toolkit_flag(toolkit, box, &flag, why);

    if (gpus == 0)
        mf_find(to, MF_WELL, mf_box_names[box], "", "%.200s", path);
    else if (works)
        mf_find(to, MF_WELL, mf_box_names[box], "", "gives GPUs to containers by %s: %s", mf_gpu_flag_words[flag], why);
    else
        mf_find(to, MF_WARNED, mf_box_names[box], remedy, "gives no GPUs to containers: %s", why);
}

static void containers(struct mf_findings *to, const char *root, size_t gpus)
{
    static const enum mf_box boxes[] = {MF_BOX_DOCKER, MF_BOX_PODMAN, MF_BOX_APPTAINER};
    struct mf_toolkit toolkit;
    char path[4096];
    int here = 0;

    mf_toolkit_look(root, &toolkit);
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; ++i) {
        if (!mf_program_find(mf_box_names[boxes[i]], path, sizeof path)) continue;
        container(to, boxes[i], path, &toolkit, gpus);
        here = 1;
    }
    if (!here) mf_find(to, MF_WELL, "containers", "", "none of docker, podman and apptainer is in PATH");
}

void mf_doctor_machine(struct mf_findings *to)
{
    struct mf_limits limits;
    struct mf_host host;
    struct mf_nvml seen;
    const char *hook = getenv("MF_ROOT"), *root = hook ? hook : ""; /* tests: where proc/, sys/, dev/ and etc/ are */

    mf_cgroup_limits(root, &limits);
    mf_host_look(root, &limits, &host);
    mf_nvml_look(&seen);
    processor(to, &host);
    threads(to, &limits);
    memory(to, &host, &limits);
    group(to, root, &limits);
    shared(to);
    copies(to);
    open_files(to);
    mf_doctor_network(to, root);
    driver(to, &seen);
    back_end(to, seen.gpus);
    nccl(to, seen.gpus);
    containers(to, root, seen.gpus);
    mf_nvml_free(&seen);
}
