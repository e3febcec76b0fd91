/* See hardware.h: the rows of the keys, memory, comparison. */
#include "src/plan/hardware.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/plan/hardware_priv.h"

#define HOST(key, field, kind, required, least, most, standard)                                                  \
    {                                                                                                            \
        key, offsetof(struct mf_host, field), MF_KEY_##kind, required, (double)(least), (double)(most), standard \
    }
#define GPU(key, field, kind, required, least, most, standard)                                                  \
    {                                                                                                           \
        key, offsetof(struct mf_gpu, field), MF_KEY_##kind, required, (double)(least), (double)(most), standard \
    }
#define KEYS_END                        \
    {                                   \
        NULL, 0, MF_KEY_INT, 0, 0, 0, 0 \
    }

enum { TEXT_MOST = MF_HARDWARE_TEXT - 1 };

/* Limits are far beyond what is built: 1 PiB of memory, 1 PB/s. */
#define PIB  1125899906842624.0
#define RATE 1e6

const struct mf_key mf_host_keys[] = {HOST("host", name, TEXT, 0, 0, TEXT_MOST, 0),
                                      HOST("count", count, INT, 0, 1, 1000000, 1),
                                      HOST("cpu", cpu, TEXT, 0, 0, TEXT_MOST, 0),
                                      HOST("simd", simd, TEXT, 0, 1, TEXT_MOST, 0),
                                      HOST("cores", cores, INT, 1, 1, 65536, 0),
                                      HOST("ram_bytes", ram_bytes, INT, 1, 16777216, PIB, 0),
                                      HOST("ram_available_bytes", ram_available_bytes, INT, 0, 1, PIB, 0),
                                      HOST("numa_nodes", numa_nodes, INT, 0, 1, 256, 0),
                                      HOST("l1d_bytes", l1d_bytes, INT, 0, 1024, 1 << 30, 0),
                                      HOST("l2_bytes", l2_bytes, INT, 0, 1024, 1 << 30, 0),
                                      HOST("l3_bytes", l3_bytes, INT, 0, 1024, 1099511627776.0, 0),
                                      HOST("memory_gb_per_s", memory_rate, REAL, 0, 0.01, RATE, 0),
                                      HOST("fp32_tflop_per_s", fp32_rate, REAL, 0, 1e-4, RATE, 0),
                                      HOST("network_gb_per_s", network_rate, REAL, 0, 1e-3, RATE, 0),
                                      KEYS_END};

const struct mf_key mf_gpu_keys[] = {GPU("name", name, TEXT, 1, 1, TEXT_MOST, 0),
                                     GPU("uuid", uuid, TEXT, 0, 0, TEXT_MOST, 0),
                                     GPU("pci", pci, TEXT, 0, 0, TEXT_MOST, 0),
                                     GPU("memory_bytes", memory_bytes, INT, 1, 67108864, PIB, 0),
                                     GPU("memory_free_bytes", memory_free_bytes, INT, 0, 0, PIB, -1),
                                     GPU("sms", sms, INT, 0, 1, 4096, 0),
                                     GPU("numa_node", numa_node, INT, 0, 0, 255, -1),
                                     GPU("hidden", hidden, INT, 0, 0, 1, 0),
                                     GPU("memory_gb_per_s", memory_rate, REAL, 0, 0.1, RATE, 0),
                                     GPU("fp32_tflop_per_s", fp32_rate, REAL, 0, 1e-3, RATE, 0),
                                     GPU("host_gb_per_s", host_rate, REAL, 0, 1e-3, RATE, 0),
                                     KEYS_END};

const char *const mf_hardware_more[] = {"schema",   "schema_version", "creator",  "note",    "nodes",   "ranks",
                                        "launcher", "versions",       "settings", "remarks", "refusal", NULL};
const char *const mf_host_more[] = {"gpus", "links", NULL};
const char *const mf_gpu_more[] = {"count", "compute_capability", NULL};

const char *const mf_link_names[MF_LINK_KINDS] = {"none", "nvlink", "switch", "host", "system"};

void mf_host_gpus(struct mf_host *host, size_t gpus)
{
    MF_ASSERT(host->gpus == 0 && gpus <= MF_HARDWARE_GPUS);
    if (gpus == 0) return;
    host->gpu = calloc(gpus, sizeof *host->gpu);
    host->link = calloc(gpus * gpus, sizeof *host->link);
    if (!host->gpu || !host->link) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %zu GPUs", gpus);
    host->gpus = gpus;
}

void mf_hardware_free(struct mf_hardware *hardware)
{
    for (size_t h = 0; h < hardware->hosts; ++h) {
        free(hardware->host[h].gpu);
        free(hardware->host[h].link);
    }
    free(hardware->host);
    *hardware = (struct mf_hardware){.hosts = 0};
}

int mf_fields_same(const struct mf_key *keys, const char *a, const char *b)
{
    int same = 1;

    for (; keys->key; ++keys) {
        const void *x = a + keys->offset, *y = b + keys->offset;

        if (keys->kind == MF_KEY_TEXT)
            same &= strcmp(x, y) == 0;
        else
            same &= memcmp(x, y, 8) == 0;
    }
    return same;
}

int mf_gpu_same(const struct mf_gpu *a, const struct mf_gpu *b)
{
    return mf_fields_same(mf_gpu_keys, (const char *)a, (const char *)b) && a->major == b->major &&
           a->minor == b->minor;
}
