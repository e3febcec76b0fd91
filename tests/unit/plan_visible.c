/* CUDA_VISIBLE_DEVICES means to us what it means to CUDA: numbers, ids, beginnings of ids, parts, nothing, nonsense. */
#include <stdio.h>
#include <string.h>

#include "src/plan/visible.h"
#include "tests/check.h"

static struct mf_seen_gpu gpu[8];
static struct mf_nvml seen = {.gpu = gpu};

static void add(const char *uuid, int64_t index, int is_part, int has_parts, int lost)
{
    struct mf_seen_gpu *one = &gpu[seen.gpus++];

    memset(one, 0, sizeof *one);
    snprintf(one->gpu.uuid, sizeof one->gpu.uuid, "%s", uuid);
    one->index = index;
    one->is_part = is_part > 0;
    one->has_parts = has_parts;
    one->lost = lost;
    one->gpu_instance = is_part ? 6 + is_part : 0;
}

/* Is @p value the places in @p want, written as digits, and remarked on if @p remarked? */
static int is(const char *value, const char *want, int remarked)
{
    size_t place[8], n;
    char got[16] = "", remark[MF_NVML_TEXT];

    n = mf_visible(value, &seen, place, remark);
    for (size_t i = 0; i < n; ++i) got[i] = (char)('0' + place[i]);
    if (strcmp(got, want) == 0 && (*remark != '\0') == remarked) return 1;
    fprintf(stderr, "'%s': got '%s', want '%s', remark '%s'\n", value ? value : "(not set)", got, want, remark);
    return 0;
}

static void whole_ones(void)
{
    seen.gpus = 0;
    add("GPU-aa11", 0, 0, 0, 0);
    add("GPU-aa22", 1, 0, 0, 0);
    add("GPU-bb33", 2, 0, 0, 0);
    CHECK(is(NULL, "012", 0));
    CHECK(is("", "", 0));
    CHECK(is("-1", "", 0));
    CHECK(is("2,0", "20", 0));
    CHECK(is(" 1 , 2 ", "12", 0));
    CHECK(is("0,-1,2", "0", 0));
    CHECK(is("0,7,2", "0", 1));
    CHECK(is("1gpu,2nd", "12", 0));
    CHECK(is("none", "", 1));
    CHECK(is("NoDevFiles", "", 1));
    CHECK(is("0,,2", "0", 0));
    CHECK(is("1,0,1", "", 1));
    CHECK(is("GPU-bb33,GPU-aa11", "20", 0));
    CHECK(is("GPU-b", "2", 0));
    CHECK(is("GPU-aa", "", 1)); /* two begin so */
    CHECK(is("GPU-aa2,GPU-zz,GPU-b", "1", 1));
    CHECK(is("GPU-bb33,GPU-b", "", 1));
    CHECK(is("GPU-bb33,0", "2", 1));
    CHECK(is("0,GPU-bb33", "0", 1));
    CHECK(is("MIG-1", "", 1));
    CHECK(is("99999999999999999999", "", 1));
}

static void with_parts(void)
{
    seen.gpus = 0;
    add("GPU-aa11", 0, 0, 0, 0);
    add("GPU-bb22", 1, 0, 1, 0);
    add("MIG-c1", 1, 1, 0, 0);
    add("MIG-c2", 1, 2, 0, 0);
    CHECK(is(NULL, "2", 0)); /* a part hides whole ones */
    CHECK(is("0", "0", 0));
    CHECK(is("1", "2", 0));
    CHECK(is("0,1", "2", 0));
    CHECK(is("GPU-bb22", "2", 0));
    CHECK(is("MIG-c2", "3", 0));
    CHECK(is("MIG-c2,MIG-c1", "3", 0));
    CHECK(is("MIG-c", "", 1));
    CHECK(is("MIG-GPU-bb22/8/0", "3", 0));
    CHECK(is("MIG-GPU-bb22/9/0", "", 1));
    CHECK(is("MIG-GPU-bb2/8/0", "", 1));
    CHECK(is("MIG-GPU-bb22/8", "", 1));
    seen.gpus = 2; /* a GPU in MIG mode without parts is of no use */
    CHECK(is(NULL, "0", 0));
    CHECK(is("1", "", 1));
}

static void lost_one(void)
{
    seen.gpus = 0;
    add("GPU-aa11", 0, 0, 0, 0);
    add("", 1, 0, 0, 1);
    add("GPU-cc33", 2, 0, 0, 0);
    CHECK(is(NULL, "02", 0));
    CHECK(is("2", "2", 0));
    CHECK(is("1,2", "", 1));
    seen.gpus = 0;
    CHECK(is(NULL, "", 0));
    CHECK(is("0", "", 0));
}

int main(void)
{
    whole_ones();
    with_parts();
    lost_one();
    return failures != 0;
}
