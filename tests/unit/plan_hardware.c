/* Hardware files that ship are read and come back as they are. Nonsense is refused, one sentence each, and so is every
 * file that was cut short. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/plan/hardware_priv.h"
#include "tests/check.h"
#include "tests/scratch.h"

static struct mf_comm self;

static int read_text(const char *text, struct mf_hardware *hardware)
{
    const char *path = scratch_file("x.json");

    scratch_write(path, text, strlen(text));
    return mf_hardware_read(path, hardware);
}

#define HEAD "{\"schema\":\"hardware\",\"schema_version\":1,\"nodes\":[{\"cores\":4,\"ram_bytes\":8000000000"
#define GPU  "\"name\":\"G\",\"compute_capability\":\"9.0\",\"memory_bytes\":16000000000"

struct refusal {
    const char *text, *sentence;
};

static const struct refusal refusals[] = {
    {"", "is not JSON"},
    {"[]", "must be an object, not an array"},
    {"{}", "no hardware file"},
    {"{\"schema\":\"plan\"}", "no hardware file"},
    {"{\"schema\":\"hardware\"}", "schema_version is missing"},
    {"{\"schema\":\"hardware\",\"schema_version\":\"1\"}", "schema_version"},
    {"{\"schema\":\"hardware\",\"schema_version\":2}", "schema version 2, this program reads up to 1"},
    {"{\"schema\":\"hardware\",\"schema_version\":1}", "nodes is missing"},
    {"{\"schema\":\"hardware\",\"schema_version\":1,\"nodez\":[]}", "unknown key nodez; did you mean nodes"},
    {"{\"schema\":\"hardware\",\"schema\":\"hardware\"}", "is not JSON"},
    {"{\"schema\":\"hardware\",\"schema_version\":1,\"nodes\":{}}", "nodes must be an array"},
    {"{\"schema\":\"hardware\",\"schema_version\":1,\"nodes\":[]}", "1 to 65536 nodes"},
    {"{\"schema\":\"hardware\",\"schema_version\":1,\"nodes\":[1]}", "nodes[0] must be an object"},
    {"{\"schema\":\"hardware\",\"schema_version\":1,\"nodes\":[{\"ram_bytes\":1000000000}]}",
     "nodes[0].cores is missing"},
    {"{\"schema\":\"hardware\",\"schema_version\":1,\"nodes\":[{\"cores\":1}]}", "nodes[0].ram_bytes is missing"},
    {HEAD ",\"count\":0}]}", "nodes[0].count is 0"},
    {HEAD ",\"count\":-3}]}", "nodes[0].count is -3"},
    {HEAD ",\"cores\":-4}]}", "is not JSON"}, /* twice */
    {HEAD ",\"simd\":7}]}", "nodes[0].simd must be text"},
    {HEAD ",\"l3_bytes\":1.5}]}", "nodes[0].l3_bytes must be a whole number, not a number"},
    {HEAD ",\"memory_gb_per_s\":0}]}", "which no machine has"},
    {HEAD ",\"memory_gb_per_s\":1e300}]}", "which no machine has"},
    {HEAD ",\"memory_gb_per_s\":1e999}]}", "is not JSON"},
    {HEAD ",\"memory_gb_per_s\":NaN}]}", "is not JSON"},
    {HEAD ",\"memory_gb_per_s\":true}]}", "must be a number, not true or false"},
    {HEAD ",\"ram_available_bytes\":9000000000}]}", "more available memory than memory"},
    {HEAD ",\"gpus\":3}]}", "gpus must be an array"},
    {HEAD ",\"gpus\":[3]}]}", "nodes[0].gpus[0] must be an object"},
    {HEAD ",\"gpus\":[{}]}]}", "nodes[0].gpus[0].name is missing"},
    {HEAD ",\"gpus\":[{" GPU ",\"memory\":1}]}]}", "unknown key nodes[0].gpus[0].memory"},
    {HEAD ",\"gpus\":[{" GPU ",\"sms\":0}]}]}", "nodes[0].gpus[0].sms is 0"},
    {HEAD ",\"gpus\":[{" GPU ",\"sms\":99999}]}]}", "which no machine has"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":0}]}]}", "count is 0"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":1000}]}]}", "count is 1000"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":200},{" GPU ",\"count\":200}]}]}", "more than 256 GPUs"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":2,\"uuid\":\"GPU-1\"}]}]}", "2 GPUs cannot have one id"},
    {HEAD ",\"gpus\":[{" GPU ",\"uuid\":\"GPU-1\"},{" GPU ",\"uuid\":\"GPU-1\"}]}]}", "GPU GPU-1 twice"},
    {HEAD ",\"gpus\":[{" GPU ",\"memory_free_bytes\":17000000000}]}]}", "more free memory than memory"},
    {HEAD ",\"gpus\":[{\"name\":\"G\",\"compute_capability\":\"9.0\",\"memory_bytes\":-1}]}]}", "memory_bytes is -1"},
    {HEAD ",\"gpus\":[{\"name\":\"G\",\"compute_capability\":\"9.0\",\"memory_bytes\":9000000000000000000}]}]}",
     "which no machine has"},
    {HEAD ",\"gpus\":[{\"name\":\"G\",\"compute_capability\":\"9.0\",\"memory_bytes\":99999999999999999999}]}]}",
     "is not JSON"},
    {HEAD ",\"gpus\":[{\"name\":\"G\",\"compute_capability\":9.0,\"memory_bytes\":16000000000}]}]}",
     "must be text like \"9.0\""},
    {HEAD ",\"gpus\":[{\"name\":\"G\",\"compute_capability\":\"9.0x\",\"memory_bytes\":16000000000}]}]}", "is '9.0x'"},
    {HEAD ",\"gpus\":[{\"name\":\"\",\"compute_capability\":\"9.0\",\"memory_bytes\":16000000000}]}]}",
     "name must be text of 1 to 95"},
    {HEAD ",\"numa_nodes\":500}]}", "numa_nodes is 500, which no machine has"},
    {HEAD ",\"numa_nodes\":200}]}", "200 NUMA nodes for"},
    {HEAD ",\"numa_nodes\":2,\"gpus\":[{" GPU ",\"numa_node\":77}]}]}", "a GPU at NUMA node 77, and 2 NUMA nodes"},
    {HEAD ",\"gpus\":[{" GPU ",\"numa_node\":777}]}]}", "numa_node is 777"},
    {HEAD ",\"cpu\":\"a\\u001b[31mb\"}]}", "cpu has a control character"},
    {HEAD ",\"gpus\":[{" GPU ",\"pci\":\"a\\nb\"}]}]}", "pci has a control character"},
    {HEAD ",\"gpus\":[{" GPU "}],\"links\":7}]}", "nodes[0].links must be an object"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":2}],\"links\":{\"kind\":\"rope\"}}]}", "nodes[0].links.kind must be nvlink"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":2}],\"links\":{}}]}", "links.kind is missing"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":2}],\"links\":{\"kind\":\"host\",\"gb_per_s\":-1}}]}", "gb_per_s is -1"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":2}],\"links\":[{\"kind\":\"host\"}]}]}", "nodes[0].links[0].gpus must be two"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":2}],\"links\":[{\"kind\":\"host\",\"gpus\":[0,2]}]}]}",
     "gpus must be two of the 2 GPUs"},
    {HEAD ",\"gpus\":[{" GPU ",\"count\":2}],\"links\":[{\"kind\":\"host\",\"gpus\":[1,1]}]}]}", "linked already"},
    {HEAD ",\"gpus\":[{" GPU
          ",\"count\":2}],\"links\":[{\"kind\":\"host\",\"gpus\":[0,1]},{\"kind\":\"host\",\"gpus\":[1,0]}]}]}",
     "linked already"},
};

static void refuses(void)
{
    struct mf_hardware hardware;

    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; ++i) {
        int rc = read_text(refusals[i].text, &hardware);

        if (rc == MF_INPUT && strstr(mf_err_text(), refusals[i].sentence) && hardware.hosts == 0) continue;
        ++failures;
        fprintf(stderr, "%s\n  gives %d: %s\n", refusals[i].text, rc, rc ? mf_err_text() : "");
        mf_hardware_free(&hardware);
    }
    CHECK(mf_hardware_read(scratch_file("none.json"), &hardware) == MF_INPUT && strstr(mf_err_text(), "cannot open"));
    CHECK(mf_hardware_read(scratch, &hardware) == MF_INPUT && strstr(mf_err_text(), "cannot read"));
}

static void accepts(void)
{
    struct mf_hardware h;

    CHECK(read_text(HEAD "}]}", &h) == MF_OK && h.hosts == 1 && h.host[0].gpus == 0);
    CHECK(h.host[0].count == 1 && h.host[0].ram_available_bytes == 8000000000 && h.host[0].network_rate == 0);
    mf_hardware_free(&h);
    CHECK(read_text(HEAD
                    ",\"memory_gb_per_s\":20,\"gpus\":[{" GPU ",\"count\":3},{" GPU ",\"sms\":7}],"
                    "\"links\":[{\"gpus\":[3,0],\"kind\":\"switch\",\"gb_per_s\":12}]}],\"ranks\":[],\"remarks\":[]}",
                    &h) == MF_OK);
    CHECK(h.host[0].gpus == 4 && h.host[0].gpu[2].memory_free_bytes == 16000000000 && h.host[0].gpu[3].sms == 7);
    CHECK(h.host[0].gpu[3].numa_node == -1 && h.host[0].memory_rate == 20 && h.host[0].gpu[0].major == 9);
    CHECK(h.host[0].link[3].kind == MF_LINK_SWITCH && h.host[0].link[12].rate == 12 &&
          h.host[0].link[1].kind == MF_LINK_NONE);
    mf_hardware_free(&h);
}

static int same_host(const struct mf_host *a, const struct mf_host *b)
{
    if (!mf_fields_same(mf_host_keys, (const char *)a, (const char *)b) || a->gpus != b->gpus) return 0;
    for (size_t g = 0; g < a->gpus; ++g)
        if (!mf_gpu_same(&a->gpu[g], &b->gpu[g])) return 0;
    for (size_t i = 0; i < a->gpus * a->gpus; ++i)
        if (a->link[i].kind != b->link[i].kind || a->link[i].rate != b->link[i].rate) return 0;
    return 1;
}

static int same(const struct mf_hardware *a, const struct mf_hardware *b)
{
    if (strcmp(a->note, b->note) != 0 || a->hosts != b->hosts) return 0;
    for (size_t h = 0; h < a->hosts; ++h)
        if (!same_host(&a->host[h], &b->host[h])) return 0;
    return 1;
}

/* Read, written, read. */
static void comes_back(const char *folder, const char *name, size_t hosts, size_t gpus)
{
    struct mf_hardware a, b;
    struct mf_json *json;
    char path[512];

    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    CHECK(mf_hardware_read(path, &a) == MF_OK);
    CHECK(a.hosts == hosts && a.host[0].gpus == gpus && strlen(a.note) > 100);
    json = mf_hardware_json(&a);
    CHECK(mf_hardware_write(&self, scratch_file("back.json"), json) == MF_OK);
    CHECK(mf_hardware_read(scratch_file("back.json"), &b) == MF_OK && same(&a, &b));
    if (b.hosts > 0) b.host[0].cores += 1;
    CHECK(!same(&a, &b));
    mf_json_free(json);
    mf_hardware_free(&a);
    mf_hardware_free(&b);
}

static void cut_short(const char *folder)
{
    static char text[65536];
    struct mf_hardware hardware;
    char path[512];
    FILE *from;
    size_t n = 0;

    snprintf(path, sizeof path, "%s/mixed.json", folder);
    from = fopen(path, "rb");
    if (from) n = fread(text, 1, sizeof text, from);
    if (!from || fclose(from) != 0) abort();
    CHECK(n > 1000);
    for (size_t length = 0; length + 2 < n; length += 7) {
        scratch_write(scratch_file("cut.json"), text, length);
        CHECK(mf_hardware_read(scratch_file("cut.json"), &hardware) == MF_INPUT);
    }
}

/* One file, for the test that makes it. */
static int read_only(const char *path)
{
    struct mf_hardware hardware;
    int rc = mf_hardware_read(path, &hardware);

    if (rc != MF_OK) fprintf(stderr, "%s\n", mf_err_text());
    mf_hardware_free(&hardware);
    return rc;
}

int main(int argc, char **argv)
{
    const char *folder = argv[1];

    NEEDS(1, "FOLDER | --read FILE");
    if (argc > 2 && strcmp(argv[1], "--read") == 0) return read_only(argv[2]);
    mf_comm_self(&self);
    scratch_open(&self);
    refuses();
    accepts();
    comes_back(folder, "laptop", 1, 1);
    comes_back(folder, "l4x4", 1, 4);
    comes_back(folder, "h100x8", 1, 8);
    comes_back(folder, "a100x4-64nodes", 1, 4);
    comes_back(folder, "mixed", 3, 2);
    cut_short(folder);
    scratch_close(&self);
    return failures != 0;
}
