/* Arrays are read again to the bit and laid out as the reference implementation does. Halves are rounded to the
 * nearest, and split models are read through their index. A hostile file is refused with one sentence. */
#include "io/safetensors.h"

#include <math.h>
#include <stdint.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/half.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/scratch.h"

#define TEXT(text) text, sizeof(text) - 1

/* ---- halves ---- */

/* The half nearest to a value by looking at all of them: an oracle that knows no rounding. */
static double error_of(float value, uint16_t half, float (*to)(uint16_t)) { return fabs((double)to(half) - value); }

static void check_half(float value, uint16_t (*of)(float), float (*to)(uint16_t))
{
    const uint16_t half = of(value), below = (uint16_t)(half - 1), above = (uint16_t)(half + 1);
    const double error = error_of(value, half, to);

    for (int k = 0; k < 2; ++k) {
        const uint16_t other = k ? above : below;

        if (!isfinite(to(other)) || signbit(to(other)) != signbit(value)) continue;
        CHECK(error < error_of(value, other, to) || (error == error_of(value, other, to) && (half & 1) == 0));
    }
}

static void rounds_halves(void)
{
    uint32_t r[4];

    for (uint32_t h = 0; h < 65536; ++h) {
        const uint16_t half = (uint16_t)h;

        if (!isnan(mf_f16_to(half))) CHECK(mf_f16_of(mf_f16_to(half)) == half);
        if (!isnan(mf_bf16_to(half))) CHECK(mf_bf16_of(mf_bf16_to(half)) == half);
    }
    for (uint64_t i = 0; i < 20000; ++i) {
        mf_random4(7, 1, i, r);
        check_half(ldexpf((float)(int32_t)r[0], (int)(r[1] % 40) - 57), mf_f16_of, mf_f16_to);
        check_half(ldexpf((float)(int32_t)r[0], (int)(r[1] % 200) - 130), mf_bf16_of, mf_bf16_to);
        check_half(mf_f16_to((uint16_t)(r[2] % 0x7BFF)) / 2 + mf_f16_to((uint16_t)(r[2] % 0x7BFF + 1)) / 2, mf_f16_of,
                   mf_f16_to);
    }
    CHECK(mf_f16_to(0x3C00) == 1 && mf_f16_to(0x0001) == 0x1p-24F && mf_f16_to(0xC000) == -2);
    CHECK(mf_f16_of(65519) == 0x7BFF && mf_f16_of(65520) == 0x7C00 && mf_f16_of(-1e30F) == 0xFC00);
    CHECK(mf_bf16_to(0x3F80) == 1 && isinf(mf_bf16_to(mf_bf16_of(3.4e38F))));
    CHECK(isnan(mf_f16_to(mf_f16_of(NAN))) && isnan(mf_bf16_to(mf_bf16_of(NAN))));
    CHECK(isnan(mf_bf16_to(mf_bf16_of(mf_bits_float(0x7F800001)))));
}

/* ---- files ---- */

static const float values[6] = {1, -2.5F, 0x1p-20F, 3.14159F, 0, 1e5F};
static const int64_t wholes[2] = {-5, INT64_C(1) << 40};
static const char *const metadata[] = {"format", "pt", "mesoforge", "{\"arch\": \"mlp\"}", NULL};
static const struct mf_safetensors_entry entries[] = {
    {.name = "z.half", .type = MF_F16, .ndim = 1, .dims = {6}, .data = values},
    {.name = "b", .type = MF_F32, .ndim = 2, .dims = {2, 3}, .data = values},
    {.name = "steps", .type = MF_I64, .ndim = 1, .dims = {2}, .data = wholes},
    {.name = "a", .type = MF_F32, .data = values + 3},
    {.name = "brain", .type = MF_BF16, .ndim = 3, .dims = {1, 2, 3}, .data = values},
    {.name = "none", .type = MF_F32, .ndim = 2, .dims = {0, 3}, .data = values}};

enum { ENTRIES = sizeof entries / sizeof *entries };

static size_t load(const char *path, char *to, size_t most)
{
    FILE *from = fopen(path, "rb");
    const size_t n = from ? fread(to, 1, most, from) : 0;

    if (from) (void)fclose(from);
    return n;
}

/* The header that safetensors 0.8 of Python writes for these arrays. */
static void check_layout(const char *path)
{
    static const char header[] = "{\"__metadata__\":{\"format\":\"pt\",\"mesoforge\":\"{\\\"arch\\\": \\\"mlp\\\"}\"},"
                                 "\"steps\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                                 "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[16,20]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[20,44]},"
                                 "\"none\":{\"dtype\":\"F32\",\"shape\":[0,3],\"data_offsets\":[44,44]},"
                                 "\"brain\":{\"dtype\":\"BF16\",\"shape\":[1,2,3],\"data_offsets\":[44,56]},"
                                 "\"z.half\":{\"dtype\":\"F16\",\"shape\":[6],\"data_offsets\":[56,68]}}";
    char bytes[1024];
    const size_t n = load(path, bytes, sizeof bytes), length = (sizeof header - 1 + 7) / 8 * 8;

    CHECK(n == 8 + length + 68 && bytes[0] == (char)(length & 255) && bytes[1] == (char)(length >> 8));
    CHECK(memcmp(bytes + 8, header, sizeof header - 1) == 0);
    for (size_t i = sizeof header - 1; i < length; ++i) CHECK(bytes[8 + i] == ' ');
    CHECK(memcmp(bytes + 8 + length + 20, values, sizeof values) == 0);
}

static void check_values(struct mf_safetensors *file)
{
    float b[6], half[6], brain[6], part[2], a;
    int64_t steps[2];

    CHECK(mf_safetensors_read(file, "b", 2, (size_t[]){2, 3}, b) == MF_OK && memcmp(b, values, sizeof b) == 0);
    CHECK(mf_safetensors_read_block(file, mf_safetensors_find(file, "b"), (struct mf_span){1, 1},
                                    (struct mf_span){1, 2}, part) == MF_OK &&
          part[0] == values[4] && part[1] == values[5]);
    CHECK(mf_safetensors_read(file, "a", 0, NULL, &a) == MF_OK && a == values[3]);
    CHECK(mf_safetensors_read(file, "none", 2, (size_t[]){0, 3}, b) == MF_OK);
    CHECK(mf_safetensors_read(file, "z.half", 1, (size_t[]){6}, half) == MF_OK);
    CHECK(mf_safetensors_read(file, "brain", 3, (size_t[]){1, 2, 3}, brain) == MF_OK);
    CHECK(mf_safetensors_read_block(file, mf_safetensors_find(file, "brain"), (struct mf_span){0, 1},
                                    (struct mf_span){3, 2}, part) == MF_OK &&
          part[0] == brain[3] && part[1] == brain[4]);
    for (int i = 0; i < 6; ++i) CHECK(half[i] == mf_f16_to(mf_f16_of(values[i])));
    for (int i = 0; i < 6; ++i) CHECK(brain[i] == mf_bf16_to(mf_bf16_of(values[i])));
    CHECK(mf_safetensors_read_whole(file, "steps", 1, (size_t[]){2}, steps) == MF_OK);
    CHECK(steps[0] == wholes[0] && steps[1] == wholes[1]);
    CHECK(strcmp(mf_safetensors_metadata(file, "mesoforge"), metadata[3]) == 0);
    CHECK(!mf_safetensors_metadata(file, "other"));
}

static void refuses_requests(struct mf_safetensors *file)
{
    int64_t steps[2];
    float b[6], part[1];

    CHECK(mf_safetensors_read(file, "c", 1, (size_t[]){1}, b) == MF_INPUT);
    CHECK(mf_safetensors_read(file, "b", 2, (size_t[]){3, 2}, b) == MF_INPUT);
    CHECK(strstr(mf_err_text(), "has 2 x 3 numbers, not 3 x 2"));
    CHECK(mf_safetensors_read(file, "steps", 1, (size_t[]){2}, b) == MF_INPUT && strstr(mf_err_text(), "BF16"));
    CHECK(mf_safetensors_read_block(file, mf_safetensors_find(file, "steps"), (struct mf_span){0, 1},
                                    (struct mf_span){0, 1}, part) == MF_INPUT);
    CHECK(mf_safetensors_read_whole(file, "a", 0, NULL, steps) == MF_INPUT && strstr(mf_err_text(), "I64"));
}

static void writes_and_reads(void)
{
    const char *path = scratch_file("model.safetensors");
    const struct mf_safetensors_entry *list, *found;
    struct mf_safetensors *file = NULL;
    size_t count = 0;

    CHECK(mf_safetensors_write(path, metadata, ENTRIES, entries) == MF_OK);
    check_layout(path);
    if (mf_safetensors_open(path, &file) != MF_OK) exit(1);
    list = mf_safetensors_list(file, &count);
    found = mf_safetensors_find(file, "brain");
    CHECK(count == ENTRIES && strcmp(list[0].name, "a") == 0 && strcmp(list[5].name, "z.half") == 0);
    CHECK(found == &list[2] && found->type == MF_BF16 && found->ndim == 3 && found->dims[2] == 3);
    check_values(file);
    refuses_requests(file);
    mf_safetensors_close(file);
    CHECK(mf_safetensors_write(scratch_file("empty"), NULL, 0, NULL) == MF_OK);
    CHECK(mf_safetensors_open(scratch_file("empty"), &file) == MF_OK);
    mf_safetensors_close(file);
    CHECK(mf_safetensors_write(scratch_file("gone/x"), NULL, ENTRIES, entries) == MF_OUTPUT);
    CHECK(scratch_count(1) == 2);
}

/* ---- split models ---- */

static void splits(void)
{
    const char *path = scratch_file("model.safetensors");
    struct mf_safetensors *file;

    CHECK(mf_safetensors_write_split(path, metadata, ENTRIES, entries, 40) == MF_OK);
    CHECK(access(scratch_file("model-00001-of-00002.safetensors"), F_OK) == 0 && access(path, F_OK) != 0);
    for (int k = 0; k < 2; ++k) {
        if (mf_safetensors_open(k ? scratch : scratch_file("model.safetensors.index.json"), &file) != MF_OK) exit(1);
        check_values(file);
        refuses_requests(file);
        mf_safetensors_close(file);
    }
    CHECK(mf_safetensors_write_split(path, metadata, ENTRIES, entries, 1000) == MF_OK);
    CHECK(access(scratch_file("model.safetensors.index.json"), F_OK) != 0);
    CHECK(mf_safetensors_open(scratch, &file) == MF_OK);
    check_values(file);
    mf_safetensors_close(file);
    scratch_count(1);
    CHECK(mf_safetensors_open(scratch, &file) == MF_INPUT && strstr(mf_err_text(), "cannot open"));
}

static void refuses_indexes(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {{"{\"weight_map\": {\"b\": \"../part\"}}", "no plain name"},
                 {"{\"weight_map\": {\"b\": \"/etc/passwd\"}}", "no plain name"},
                 {"{\"weight_map\": {\"b\": \"\"}}", "no plain name"},
                 {"{\"weight_map\": {\"b\": \"gone\"}}", "cannot open"},
                 {"{\"weight_map\": {\"c\": \"part\"}}", "lack the array 'c'"},
                 {"{\"weight_map\": {\"b\": \"part\", \"b\": \"part\"}}", "twice the array 'b'"},
                 {"{\"weight_map\": {\"b\": 3}}", "no name of a file for 'b'"},
                 {"{\"weight_map\": [\"b\"]}", "no JSON object"},
                 {"{\"weight_map\": {}}", "no weight_map with arrays"},
                 {"{\"weight_map\": {\"b\": \"part\"}", "not JSON"},
                 {"[]", "not JSON"},
                 {"{}", "no weight_map"}};
    const char *path = scratch_file("model.safetensors.index.json");
    struct mf_safetensors *file;

    CHECK(mf_safetensors_write(scratch_file("part"), NULL, ENTRIES, entries) == MF_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        scratch_write(path, cases[i].text, strlen(cases[i].text));
        CHECK_SAYS(mf_safetensors_open(path, &file) == MF_INPUT && strstr(mf_err_text(), cases[i].says), "%s: %s",
                   cases[i].text, mf_err_text());
    }
    scratch_count(1);
}

/* ---- numbers that come in pieces ---- */

enum { MANY = (1 << 18) + 7 };

static float number(size_t i) { return (float)(i % 1999); }

static void get_numbers(const void *data, size_t first, size_t count, void *to)
{
    CHECK(data == values && first + count <= MANY);
    for (size_t i = 0; i < count; ++i) ((float *)to)[i] = number(first + i);
}

static void writes_pieces(void)
{
    static const struct mf_safetensors_entry pieces[] = {
        {.name = "full", .type = MF_F32, .ndim = 1, .dims = {MANY}, .data = values, .get = get_numbers},
        {.name = "half", .type = MF_F16, .ndim = 1, .dims = {MANY}, .data = values, .get = get_numbers}};
    static const size_t dims[] = {MANY};
    static float got[MANY];
    struct mf_safetensors *file;

    CHECK(mf_safetensors_write(scratch_file("pieces"), NULL, 2, pieces) == MF_OK);
    CHECK(mf_safetensors_open(scratch_file("pieces"), &file) == MF_OK);
    for (int k = 0; k < 2; ++k) {
        size_t same = 0;

        CHECK(mf_safetensors_read(file, pieces[k].name, 1, dims, got) == MF_OK);
        for (size_t i = 0; i < MANY; ++i) same += got[i] == number(i);
        CHECK(same == MANY);
    }
    mf_safetensors_close(file);
    scratch_count(1);
}

/* ---- hostile files ---- */

#define ARRAY(name, type, shape, offsets) \
    "\"" name "\":{\"dtype\":\"" type "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define GOOD   ARRAY("b", "F32", "[2,3]", "[0,24]")
#define TWO(b) "{" ARRAY("a", "F32", "[1]", "[0,4]") "," b "}"

static const struct {
    const char *header;
    size_t length, body; /* bytes that follow */
    const char *says;
} hostile[] = {
    {TEXT("{" GOOD "}"), 24, NULL},
    {TEXT("{" GOOD "}   "), 24, NULL},
    {TEXT("{\"__metadata__\":{\"a\":\"b\"}," GOOD "}"), 24, NULL},
    {TEXT("{}"), 0, NULL},
    {TEXT("{" GOOD "}"), 23, "the file ends before the array 'b'"},
    {TEXT("{" GOOD "}"), 25, "more in it"},
    {TEXT("{" GOOD), 24, "not JSON"},
    {TEXT("{" GOOD "}}"), 24, "not JSON"},
    {TEXT("{" GOOD ",}"), 24, "not JSON"},
    {TEXT("[" GOOD "]"), 24, "not JSON"},
    {TEXT("{" GOOD "}\0"), 24, "not JSON"},
    {TEXT("{" GOOD "}x"), 24, "not JSON"},
    {TEXT(""), 24, "not JSON"},
    {TEXT("{\"b\""), 24, "not JSON"},
    {TEXT("{\"b\":"), 24, "not JSON"},
    {TEXT("{\"b\\"), 24, "not JSON"},
    {TEXT("{b:1}"), 24, "not JSON"},
    {TEXT("{\"\xff\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}"), 24, "not JSON"},
    {TEXT("{\"b\":[1]}"), 24, "no JSON object for array 'b'"},
    {TEXT("{\"b\":{\"dtype\":\"F32\",\"shape\":[6,\"\xc3\"],\"data_offsets\":[0,24]}}"), 24, "no JSON object"},
    {TEXT("{\"b\":{\"dtype\":\"F32\",\"shape\":[6],\"shape\":[6],\"data_offsets\":[0,24]}}"), 24, "no JSON object"},
    {TEXT("{" ARRAY("b", "F31", "[6]", "[0,24]") "}"), 24, "no known dtype"},
    {TEXT("{" ARRAY("b", "F32", "[-6]", "[0,24]") "}"), 24, "no shape"},
    {TEXT("{" ARRAY("b", "F32", "[6.0]", "[0,24]") "}"), 24, "no shape"},
    {TEXT("{" ARRAY("b", "F32", "6", "[0,24]") "}"), 24, "no shape"},
    {TEXT("{" ARRAY("b", "F32", "[1,1,1,1,1,1,1,1,6]", "[0,24]") "}"), 24, "no shape"},
    {TEXT("{" ARRAY("b", "F32", "[4294967296,4294967296]", "[0,0]") "}"), 0, "one too large"},
    {TEXT("{" ARRAY("b", "I64", "[2305843009213693952]", "[0,0]") "}"), 0, "one too large"},
    {TEXT("{" ARRAY("b", "F32", "[99999999999999999999]", "[0,24]") "}"), 24, "no JSON object"},
    {TEXT("{" ARRAY("b", "F32", "[6]", "[24,0]") "}"), 24, "data_offsets"},
    {TEXT("{" ARRAY("b", "F32", "[6]", "[-24,0]") "}"), 24, "data_offsets"},
    {TEXT("{" ARRAY("b", "F32", "[6]", "[0,24,48]") "}"), 24, "data_offsets"},
    {TEXT("{" ARRAY("b", "F32", "[6]", "{}") "}"), 24, "data_offsets"},
    {TEXT("{" ARRAY("b", "F32", "[6]", "[0,9223372036854775807]") "}"), 24, "ends before"},
    {TEXT("{" ARRAY("b", "F16", "[6]", "[0,24]") "}"), 24, "do not fit"},
    {TEXT("{" ARRAY("b", "F32", "[7]", "[0,24]") "}"), 24, "do not fit"},
    {TEXT(TWO(ARRAY("b", "F32", "[1]", "[4,8]"))), 8, NULL},
    {TEXT(TWO(ARRAY("a", "F32", "[1]", "[4,8]"))), 8, "twice the array 'a'"},
    {TEXT(TWO(ARRAY("b", "F32", "[1]", "[0,4]"))), 4, "overlap"},
    {TEXT(TWO(ARRAY("b", "F32", "[1]", "[8,12]"))), 12, "gaps"},
    {TEXT("{\"__metadata__\":{\"a\":1}," GOOD "}"), 24, "no text"},
    {TEXT("{\"__metadata__\":[]," GOOD "}"), 24, "no JSON object of texts"},
    {TEXT("{\"__metadata__\":{},\"__metadata__\":{}," GOOD "}"), 24, "metadata twice"},
};

/* A file with that length of its header. */
static int open_with(const char *header, size_t n, uint64_t length, size_t body)
{
    struct mf_safetensors *file = NULL;
    const size_t all = 8 + n + body;
    char *bytes = calloc(1, all);
    int rc;

    memcpy(bytes, &length, 8);
    memcpy(bytes + 8, header, n);
    scratch_write(scratch_file("bad"), bytes, all);
    free(bytes);
    rc = mf_safetensors_open(scratch_file("bad"), &file);
    mf_safetensors_close(file);
    return rc;
}

/* Many brackets within each other: neither a crash nor more memory than the file has. */
static void refuses_depth(const char *before, const char *after)
{
    enum { DEPTH = 500000 };
    char *text = malloc(2 * DEPTH + 64);
    size_t n = (size_t)sprintf(text, "%s", before);

    memset(text + n, '[', DEPTH);
    memset(text + n + DEPTH, ']', DEPTH);
    n += 2 * DEPTH;
    n += (size_t)sprintf(text + n, "%s", after);
    CHECK(open_with(text, n, n, 0) == MF_INPUT);
    free(text);
}

/* A header cannot make the program take many times its own size. */
static void refuses_many_keys(void)
{
    enum { KEYS = 65537 };
    char *text = malloc(64 + 16 * (size_t)KEYS);
    size_t n = (size_t)sprintf(text, "{\"__metadata__\":{");

    for (int i = 0; i < KEYS; ++i) n += (size_t)sprintf(text + n, "%s\"%d\":\"\"", i ? "," : "", i);
    n += (size_t)sprintf(text + n, "}}");
    CHECK(open_with(text, n, n, 0) == MF_INPUT && strstr(mf_err_text(), "65536 keys"));
    free(text);
}

/* The length of a header may begin like a pickle, or like a ZIP archive. */
static void takes_any_length(void)
{
    static char header[1536];

    for (size_t length = 640; length <= 1408; length += 256) {
        memset(header, ' ', length);
        memcpy(header, "{" GOOD "}", sizeof "{" GOOD "}" - 1);
        CHECK_SAYS(open_with(header, length, length, 24) == MF_OK, "a header of %zu bytes: %s", length, mf_err_text());
    }
}

static void refuses_hostile_files(void)
{
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; ++i) {
        const int rc = open_with(hostile[i].header, hostile[i].length, hostile[i].length, hostile[i].body);
        const char *says = hostile[i].says;

        CHECK_SAYS(says ? rc == MF_INPUT && strstr(mf_err_text(), says) : rc == MF_OK, "%s: %d, %s", hostile[i].header,
                   rc, rc ? mf_err_text() : "taken");
    }
    CHECK(open_with(TEXT("{" GOOD "}"), UINT64_MAX, 24) == MF_INPUT && strstr(mf_err_text(), "100 MB"));
    CHECK(open_with(TEXT("{" GOOD "}"), 100000001, 24) == MF_INPUT && strstr(mf_err_text(), "100 MB"));
    CHECK(open_with(TEXT("{" GOOD "}"), 99999999, 24) == MF_INPUT && strstr(mf_err_text(), "within its header"));
    scratch_write(scratch_file("bad"), "1234567", 7);
    CHECK(mf_safetensors_open(scratch_file("bad"), &(struct mf_safetensors *){NULL}) == MF_INPUT);
    CHECK(open_with("", 0, 0x04034B50, 900) == MF_INPUT && strstr(mf_err_text(), "pickle"));
    CHECK(open_with("\x80\x02", 2, 0x0280, 900) == MF_INPUT && strstr(mf_err_text(), "pickle"));
    CHECK(open_with(TEXT("https://git-lfs.github.com/spec/v1\n"), UINT64_C(0x206E6F6973726576), 0) == MF_INPUT &&
          strstr(mf_err_text(), "git lfs pull"));
    refuses_many_keys();
    refuses_depth("{\"b\":", "}");
    refuses_depth("{\"__metadata__\":", "}");
    refuses_depth("{\"__metadata__\":{\"a\":", "}}");
}

int main(void)
{
    struct mf_comm self;

    mf_comm_self(&self);
    scratch_open(&self);
    rounds_halves();
    writes_and_reads();
    splits();
    writes_pieces();
    refuses_indexes();
    takes_any_length();
    refuses_hostile_files();
    scratch_close(&self);
    return failures != 0;
}
