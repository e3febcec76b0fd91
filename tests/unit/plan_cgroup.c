/* Limits of control groups of either version, of groups above, in containers and without; and of a machine made up. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "src/plan/cgroup.h"
#include "src/plan/host.h"
#include "tests/check.h"
#include "tests/scratch.h"

static int tree; /* each case has a root of its own */

static const char *root(void)
{
    static char path[300];

    snprintf(path, sizeof path, "%s/%d", scratch, tree);
    return path;
}

/* A file below the root, with the folders above it. */
static void put(const char *name, const char *text)
{
    char path[512];
    FILE *to;

    snprintf(path, sizeof path, "%s/%s", root(), name);
    for (char *at = path + strlen(scratch); (at = strchr(at + 1, '/'));) {
        *at = '\0';
        (void)mkdir(path, 0777);
        *at = '/';
    }
    to = fopen(path, "w");
    if (!to || fputs(text, to) == EOF || fclose(to) != 0) abort();
}

static struct mf_limits limits(void)
{
    struct mf_limits l;

    mf_cgroup_limits(root(), &l);
    ++tree;
    return l;
}

static void nothing(void)
{
    struct mf_limits l = limits();

    CHECK(l.cores == 0 && l.ram_bytes == 0 && l.ram_available_bytes == 0);
    put("proc/self/cgroup", "0::/x\n");
    put("proc/self/mountinfo", "garbage\n1 2 - cgroup2\n\n");
    l = limits();
    CHECK(l.cores == 0 && l.ram_bytes == 0);
}

static void version_2(void)
{
    struct mf_limits l;

    put("proc/self/cgroup", "0::/user.slice/job\n");
    put("proc/self/mountinfo",
        "20 1 0:5 / /proc rw - proc proc rw\n31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/user.slice/job/cpu.max", "max 100000\n");
    put("sys/fs/cgroup/user.slice/cpu.max", "150000 100000\n");
    put("sys/fs/cgroup/user.slice/job/memory.max", "4000000000\n");
    put("sys/fs/cgroup/user.slice/job/memory.current", "1500000000\n");
    put("sys/fs/cgroup/user.slice/job/memory.stat", "anon 5\ninactive_file 500000000\nactive_file 7\n");
    put("sys/fs/cgroup/user.slice/memory.max", "3500000000\n");
    put("sys/fs/cgroup/user.slice/memory.current", "100\n");
    put("sys/fs/cgroup/cpu.max", "1 100000\n"); /* the top counts as well */
    l = limits();
    CHECK_NEAR(l.cores, 1e-5, 1e-12);
    CHECK(l.ram_bytes == 3500000000 && l.ram_available_bytes == 3000000000);
    CHECK(strstr(l.ram_in, "cgroup/user.slice/memory.max") && strstr(l.cores_in, "sys/fs/cgroup/cpu.max"));
}

static void container(void)
{
    struct mf_limits l;

    put("proc/self/cgroup", "0::/docker/abc\n");
    put("proc/self/mountinfo", "31 23 0:28 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw,nsdelegate\n");
    put("sys/fs/cgroup/cpu.max", "50000 100000\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    l = limits();
    CHECK_NEAR(l.cores, 0.5, 1e-12);
    CHECK(l.ram_bytes == 0);
    put("proc/self/cgroup", "0::/../other\n"); /* a name space of its own */
    put("proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup ro - cgroup2 cgroup rw\n");
    put("sys/fs/cgroup/cpu.max", "400000 100000\n");
    l = limits();
    CHECK_NEAR(l.cores, 4, 1e-12);
}

static void version_1(void)
{
    struct mf_limits l;

    put("proc/self/cgroup", "12:memory:/slurm/job_7/step_0\n5:cpuset:/\n4:cpu,cpuacct:/slurm/job_7\n0::/\n");
    put("proc/self/mountinfo", "33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
                               "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
                               "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_quota_us", "-1\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/job_7/cpu.cfs_period_us", "100000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_quota_us", "600000\n");
    put("sys/fs/cgroup/cpu,cpuacct/slurm/cpu.cfs_period_us", "200000\n");
    put("sys/fs/cgroup/memory/slurm/job_7/step_0/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "2000000000\n");
    put("sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes",
        "2500000000\n"); /* over: nothing is left, but not less */
    l = limits();
    CHECK_NEAR(l.cores, 3, 1e-12);
    CHECK(strstr(l.ram_in, "job_7/memory.limit_in_bytes") && strstr(l.cores_in, "slurm/cpu.cfs_quota_us"));
    CHECK(l.ram_bytes == 2000000000 && l.ram_available_bytes == 1);
}

static void host(void)
{
    struct mf_limits none = {0}, some = {.ram_bytes = 1 << 30, .ram_available_bytes = 1 << 29};
    struct mf_host host;

    CHECK(mf_host_cores(root()) == 0);
    put("sys/devices/system/cpu/online", "0-2,5\n");
    CHECK(mf_host_cores(root()) == 4);
    put("sys/devices/system/cpu/online", "0-1791\n");
    CHECK(mf_host_cores(root()) == 1792);
    put("proc/meminfo", "MemTotal:       16384000 kB\nMemFree:  1 kB\nMemAvailable:    8192000 kB\n");
    put("proc/cpuinfo", "processor\t: 0\nmodel name\t: A Processor @ 2 GHz\nmodel name\t: Another\n");
    put("sys/devices/system/node/online", "0-3,6\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/level", "1\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/type", "Data\n");
    put("sys/devices/system/cpu/cpu0/cache/index0/size", "48K\n");
    put("sys/devices/system/cpu/cpu0/cache/index1/level", "1\n");
    put("sys/devices/system/cpu/cpu0/cache/index1/type", "Instruction\n");
    put("sys/devices/system/cpu/cpu0/cache/index1/size", "32K\n");
    put("sys/devices/system/cpu/cpu0/cache/index2/level", "3\n");
    put("sys/devices/system/cpu/cpu0/cache/index2/type", "Unified\n");
    put("sys/devices/system/cpu/cpu0/cache/index2/size", "32M\n");
    mf_host_look(root(), &none, &host);
    CHECK(host.ram_bytes == 16384000LL * 1024 && host.ram_available_bytes == 8192000LL * 1024);
    CHECK(strcmp(host.cpu, "A Processor @ 2 GHz") == 0 && host.numa_nodes == 5 && *host.name && *host.simd);
    CHECK(host.l1d_bytes == 49152 && host.l2_bytes == 0 && host.l3_bytes == 33554432 && host.count == 1);
    mf_host_look(root(), &some, &host);
    CHECK(host.ram_bytes == 1 << 30 && host.ram_available_bytes == 1 << 29);
    ++tree;
    mf_host_look(root(), &some, &host); /* a kernel that tells nothing */
    CHECK(host.ram_bytes == 0 && host.numa_nodes == 0);
}

/* Two caches of three cores each, as on processors of several dies. */
static void caches(void)
{
    const double size = 32 << 20;
    struct mf_cores all = {0}, left = {0}, one = {0};
    char path[128];

    for (size_t core = 0; core < 6; ++core) {
        static const char *const values[][2] = {{"level", "3\n"}, {"size", "32768K\n"}};

        mf_cores_add(&all, core);
        if (core < 3) mf_cores_add(&left, core);
        for (int i = 0; i < 2; ++i) {
            snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%zu/cache/index0/%s", core, values[i][0]);
            put(path, values[i][1]);
        }
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%zu/cache/index0/shared_cpu_list", core);
        put(path, core < 3 ? "0-2\n" : "3,4-5\n");
    }
    mf_cores_add(&one, 1);
    CHECK(mf_host_l3_share(root(), &all, &all, 1) == 2 * size);
    CHECK(mf_host_l3_share(root(), &left, &left, 1) == size);
    CHECK(mf_host_l3_share(root(), &all, (struct mf_cores[]){all, all, left}, 3) == size / 3 + size / 2);
    CHECK(mf_host_l3_share(root(), &one, (struct mf_cores[]){all, one}, 2) == size / 2);
    for (size_t core = 0; core < 3; ++core) { /* a virtual machine on a large chip */
        snprintf(path, sizeof path, "sys/devices/system/cpu/cpu%zu/cache/index0/size", core);
        put(path, "491520K\n");
    }
    CHECK(mf_host_l3_share(root(), &left, &left, 1) == 3 * (size / 2));
    ++tree;
    put("sys/devices/system/cpu/cpu0/cache/index0/level", "3\n"); /* who shares it is not told */
    put("sys/devices/system/cpu/cpu0/cache/index0/size", "32768K\n");
    CHECK(mf_host_l3_share(root(), &left, &left, 1) == size);
    ++tree;
    CHECK(mf_host_l3_share(root(), &left, &left, 1) == 0);
}

int main(void)
{
    struct mf_comm self;
    char command[320];

    mf_comm_self(&self);
    scratch_open(&self);
    nothing();
    version_2();
    container();
    version_1();
    host();
    ++tree;
    caches();
    snprintf(command, sizeof command, "rm -rf '%s'", scratch);
    CHECK(system(command) == 0);
    return failures != 0;
}
