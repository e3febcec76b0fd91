/* The library as a host sees it: fields, options, and what characterize makes of them. It prints nothing where all is
 * well. */
#include <stdlib.h>

#include "tests/unit/lib_host.h"

static void measures_an_image(void)
{
    struct host h = start(NULL);
    mesoforge_result *r = measure(&h, "limit-to=8 measures=surface measures=euler");
    struct mesoforge_array a;
    double ones = 0;
    int found = 0;

    for (int y = 0; y < N; ++y)
        for (int x = 0; x < N; ++x) ones += image[y][x];
    for (size_t i = 0; mesoforge_result_array(r, i, &a); ++i) {
        if (strcmp(a.name, "all/fraction") != 0) continue;
        found = 1;
        CHECK(a.ndim == 2 && a.shape[0] == 2 && strcmp(a.axes, "phase level") == 0);
        CHECK(((const double *)a.data)[a.shape[1]] == ones / (N * N));
    }
    CHECK(found);
    CHECK(strstr(mesoforge_result_json(r), "\"euler"));
    CHECK(mesoforge_close(h.session) == MESOFORGE_OK);
    CHECK(strstr(mesoforge_result_json(r), "\"@image\"")); /* a result outlives its session */
    mesoforge_result_free(r);
}

/* The same values laid out otherwise give the same bits. */
static void lays_do_not_matter(void)
{
    static const char *const types[] = {"b1", "u1", "i1", "<u2", ">u2", "i4", ">i8", "f4", ">f8", "u8"};
    static char memory[2 * N][3 * N][8];
    const char options[] = "limit-to=6 descriptor_types=FFTCorrelations descriptor_types=LinealPath";
    struct host h = start(NULL);
    mesoforge_result *want = measure(&h, options);

    for (size_t t = 0; t < sizeof types / sizeof *types; ++t)
        for (int way = 0; way < 4; ++way) { /* C, Fortran, strided, backwards */
            const char *type = types[t], kind = *type == '<' || *type == '>' ? type[1] : type[0];
            const size_t size = (size_t)(type[strlen(type) - 1] - '0');
            const ptrdiff_t s = (ptrdiff_t)size;
            const ptrdiff_t down[] = {N * s, s, 2 * N * s, -N * s}, along[] = {s, N * s, 2 * s, -s};
            char *begin = (char *)memory + (way == 3 ? (N * N - 1) * s : 0);
            struct mesoforge_array a = of(begin, type, down[way], along[way]);
            mesoforge_field *field;
            mesoforge_result *got = NULL;

            memset(memory, 0x5a, sizeof memory);
            for (int y = 0; y < N; ++y)
                for (int x = 0; x < N; ++x) {
                    const uint8_t v = image[y][x];
                    const float f = v;
                    const double d = v;
                    uint64_t bits = v;
                    char *to = begin + y * down[way] + x * along[way];

                    if (kind == 'f') memcpy(&bits, size == 4 ? (const void *)&f : (const void *)&d, size);
                    memcpy(to, &bits, size);
                    for (size_t b = 0; *type == '>' && b < size; ++b) to[b] = ((char *)&bits)[size - 1 - b];
                }
            CHECK(mesoforge_field_array(h.session, "other", &a, &field) == MESOFORGE_OK);
            CHECK(mesoforge_characterize(h.session, field, options, &got) == MESOFORGE_OK);
            CHECK_SAYS(got && same_arrays(want, got), "%s, way %d", type, way);
            mesoforge_result_free(got);
            CHECK(mesoforge_field_free(h.session, field) == MESOFORGE_OK);
        }
    mesoforge_result_free(want);
    mesoforge_close(h.session);
}

static void refuses(const struct host *h, const char *options, int code, const char *part, const char *advice)
{
    mesoforge_result *r = (mesoforge_result *)h;
    int rc = mesoforge_characterize(h->session, h->field, options, &r);
    const struct mesoforge_error *e = mesoforge_last_error();

    CHECK_SAYS(rc == code && e->code == code && !r, "%s: code %d", options, rc);
    CHECK_SAYS(strstr(e->sentence, part) && !strstr(e->sentence, "; try: "), "%s: '%s'", options, e->sentence);
    CHECK_SAYS(strcmp(e->advice, advice) == 0, "%s: advice '%s'", options, e->advice);
}

static void refuses_options(void)
{
    struct host h = start(NULL);

    refuses(&h, "limt-to=8", MESOFORGE_USAGE, "no option '--limt-to'", "--limit_to");
    refuses(&h, "limit-to=none", MESOFORGE_USAGE, "must be an integer", "");
    refuses(&h, "limit-to=8 limit-to=9", MESOFORGE_USAGE, "given twice", "");
    refuses(&h, "limit-to=0", MESOFORGE_USAGE, "at least 1", "");
    refuses(&h, "limit-to", MESOFORGE_USAGE, "needs a value", "");
    refuses(&h, "unit='um", MESOFORGE_USAGE, "has no end", "");
    refuses(&h, "measures=--json", MESOFORGE_USAGE, "no value of 'measures'", "");
    refuses(&h, "json", MESOFORGE_USAGE, "an option of the program", "");
    refuses(&h, "output=a.h5", MESOFORGE_USAGE, "an option of the program", "");
    refuses(&h, "export=S2=a.npy", MESOFORGE_USAGE, "an option of the program", "");
    refuses(&h, "threads=2", MESOFORGE_USAGE, "an option of a session", "another session");
    refuses(&h, "mask=@cover", MESOFORGE_INPUT, "cannot open '@cover'", "");
    refuses(&h, "labels=0,255", MESOFORGE_INPUT, "holds the value 1", "");
    refuses(&h, "iterations=3", MESOFORGE_USAGE, "no option '--iterations'", "");
    mesoforge_result_free(measure(&h, " \n unit='nano metre'\tspacing=2 isotropic=false "));
    mesoforge_close(h.session);
}

static void refuses_field(const struct host *h, const struct mesoforge_array *array, int code, const char *part)
{
    mesoforge_field *field = NULL;
    mesoforge_result *r = NULL;
    int rc = mesoforge_field_array(h->session, "bad", array, &field);

    if (rc == MESOFORGE_OK) rc = mesoforge_characterize(h->session, field, NULL, &r);
    CHECK_SAYS(rc == code && strstr(mesoforge_last_error()->sentence, part), "%d: '%s', not '%s'", rc,
               mesoforge_last_error()->sentence, part);
    mesoforge_field_free(h->session, field);
}

static void refuses_arrays(void)
{
    static double values[N][N];
    struct mesoforge_array a = of(values, "f8", N * 8, 8);
    struct host h = start(NULL);

    values[3][4] = NAN;
    refuses_field(&h, &a, MESOFORGE_INPUT, "NaN or infinite, the first at [3][4]");
    values[3][4] = 0.5;
    refuses_field(&h, &a, MESOFORGE_INPUT, "is grey");
    a.type = "c16";
    refuses_field(&h, &a, MESOFORGE_USAGE, "type 'c16'");
    a.type = NULL;
    refuses_field(&h, &a, MESOFORGE_USAGE, "type ''");
    a = of(NULL, "f8", N * 8, 8);
    refuses_field(&h, &a, MESOFORGE_USAGE, "data is NULL");
    a = of(values, "f8", N * 8, 8);
    a.shape[1] = 0;
    refuses_field(&h, &a, MESOFORGE_INPUT, "is empty");
    a.ndim = 1;
    refuses_field(&h, &a, MESOFORGE_INPUT, "has 1 axis");
    a.ndim = 9;
    refuses_field(&h, &a, MESOFORGE_USAGE, "has 9 axes");
    a = (struct mesoforge_array){.type = "u1", .ndim = 2, .shape = {(size_t)1 << 40, (size_t)1 << 40}, .data = values};
    refuses_field(&h, &a, MESOFORGE_INPUT, "more values than can be counted");
    refuses_field(&h, NULL, MESOFORGE_USAGE, "no array");
    mesoforge_close(h.session);
}

/* A volume with a strange number of voxels, its mask, and the names of fields. */
static void fields_have_names(void)
{
    static uint8_t cover[N][N];
    const struct mesoforge_array array = of(cover, "u1", N, 1);
    struct host h = start(NULL);
    mesoforge_field *field = NULL, *again = NULL;

    cover[5][5] = 1;
    CHECK(mesoforge_field_array(h.session, "cover", &array, &field) == MESOFORGE_OK);
    CHECK(mesoforge_field_array(h.session, "cover", &array, &again) == MESOFORGE_USAGE && !again);
    CHECK(mesoforge_field_array(h.session, "a b", &array, &again) == MESOFORGE_USAGE && !again);
    CHECK(mesoforge_field_array(h.session, "", &array, &again) == MESOFORGE_USAGE);
    CHECK(mesoforge_field_array(h.session, NULL, &array, &again) == MESOFORGE_USAGE);
    mesoforge_result_free(measure(&h, "mask=@cover limit-to=5"));
    CHECK(mesoforge_field_free(h.session, field) == MESOFORGE_OK);
    CHECK(mesoforge_field_free(h.session, field) == MESOFORGE_USAGE);
    refuses(&h, "mask=@cover", MESOFORGE_INPUT, "cannot open '@cover'", "");
    mesoforge_close(h.session);
}

static void refuses_little_memory(void)
{
    static uint8_t large[64][128][128];
    const struct mesoforge_array a = {
        .type = "u1", .ndim = 3, .shape = {64, 128, 128}, .stride = {128 * 128, 128, 1}, .data = large};
    mesoforge_session *session;
    mesoforge_field *field;
    mesoforge_result *r;

    large[0][0][0] = 1;
    CHECK(mesoforge_open(&session, "memory-limit=1 threads=1") == MESOFORGE_OK);
    CHECK(mesoforge_field_array(session, "large", &a, &field) == MESOFORGE_OK);
    CHECK(mesoforge_characterize(session, field, NULL, &r) == MESOFORGE_MEMORY);
    CHECK(*mesoforge_last_error()->advice);
    mesoforge_close(session);
}

int main(void)
{
    draw();
    measures_an_image();
    lays_do_not_matter();
    refuses_options();
    refuses_arrays();
    fields_have_names();
    refuses_little_memory();
    return failures != 0;
}
