/* Noise levels and conditions are what their definitions say; a card keeps them. Samples that are made of noise by the
 * denoiser of a normal distribution, which is known, have that distribution. */
#include "src/model/denoise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/model/foreign.h"
#include "src/model/sampler.h"
#include "tests/check.h"

static int near(double a, double b, double off) { return fabs(a - b) <= off * (1 + fabs(b)); }

/* The factors at sigma 80 that the published network prints. */
static void levels(void)
{
    const struct mf_noise_level l = mf_noise_level(80);
    double sigma[11];

    CHECK(near(l.skip, 3.906e-5, 1e-7) && near(l.out, 0.49999, 1e-5) && near(l.in, 0.0124998, 1e-6) &&
          near(l.embedded, 1.09551, 1e-5));
    mf_sample_levels(10, MF_NOISE_MOST, sigma);
    CHECK(near(sigma[0], 80, 1e-9) && near(sigma[1], 42.4152, 1e-4) && near(sigma[6], 0.4700, 1e-4) &&
          near(sigma[9], 0.0020, 1e-9) && sigma[10] == 0);
    mf_sample_levels(1, 2.5, sigma);
    CHECK(near(sigma[0], 2.5, 1e-9) && sigma[1] == 0);
}

static struct mf_denoise example(void)
{
    struct mf_denoise d = {.mean = -1.2, .deviation = 1.2, .dropped = 0.1};

    mf_denoise_take(&d, 2, 1, 3);
    snprintf(d.class_name[0], sizeof d.class_name[0], "round");
    snprintf(d.class_name[1], sizeof d.class_name[1], "flat");
    snprintf(d.column[0], sizeof d.column[0], "volume_fraction");
    d.column_mean[0] = 0.3;
    d.column_deviation[0] = 0.1;
    for (int r = 0; r < 3; ++r) {
        d.label[r] = r - 1;
        d.value[r] = 0.2F + 0.1F * (float)r;
    }
    return d;
}

static void conditions(void)
{
    struct mf_denoise d = example(), back;
    struct mf_json *json = mf_denoise_json(&d);
    const char *key = NULL;
    float row[4], value = 0.5F;

    CHECK(mf_denoise_width(&d) == 4);
    mf_denoise_condition(&d, 1, &value, row);
    CHECK(row[0] == 0 && row[1] == 1 && near((double)row[2], 2, 1e-6) && row[3] == 1);
    value = NAN;
    mf_denoise_condition(&d, -1, &value, row);
    CHECK(row[0] == 0 && row[1] == 0 && row[2] == 0 && row[3] == 0);
    mf_denoise_condition(&d, 0, NULL, row);
    CHECK(row[0] == 1 && row[2] == 0 && row[3] == 0);
    CHECK(mf_denoise_read(json, &back, &key) == MF_OK);
    CHECK(back.classes == 2 && back.rows == 3 && strcmp(back.class_name[1], "flat") == 0 && back.mean == d.mean &&
          memcmp(back.label, d.label, 3 * sizeof *d.label) == 0 &&
          memcmp(back.value, d.value, 3 * sizeof *d.value) == 0);
    mf_denoise_close(&back);
    mf_json_free(json);
    json = mf_json_parse("{\"classes\": [], \"columns\": [\"a\"], \"column_mean\": [1], \"column_deviation\": [0], "
                         "\"noise_mean\": 0, \"noise_deviation\": 1, \"dropped\": 0, \"conditions\": []}");
    CHECK(mf_denoise_read(json, &back, &key) == MF_INPUT && strcmp(key, "column_deviation") == 0);
    mf_denoise_close(&back);
    mf_json_free(json);
    mf_denoise_close(&d);
}

/* A card that is not as it is written. */
static void refuses(const char *was, const char *is, const char *where)
{
    struct mf_denoise d = example(), back;
    struct mf_json *json = mf_denoise_json(&d);
    char *text = mf_json_string(json), *at = strstr(text, was), *other = calloc(strlen(text) + strlen(is) + 1, 1);
    const char *key = "";

    CHECK_SAYS(at != NULL, "no %s in %s", was, text);
    if (at) sprintf(other, "%.*s%s%s", (int)(at - text), text, is, at + strlen(was));
    mf_json_free(json);
    json = mf_json_parse(other);
    CHECK(json != NULL);
    CHECK_SAYS(mf_denoise_read(json, &back, &key) == MF_INPUT && strcmp(key, where) == 0, "%s: '%s'", is, key);
    mf_denoise_close(&back);
    mf_denoise_close(&d);
    mf_json_free(json);
    free(text);
    free(other);
}

static void refuses_all(void)
{
    refuses("\"flat\"", "\"round\"", "classes");
    refuses("[-1,", "[0.5,", "conditions");
    refuses("[-1,", "[4294967297,", "conditions");
    refuses("[-1,", "[2,", "conditions");
    refuses("\"noise_mean\"", "\"noise\"", "noise_mean");
    refuses("\"dropped\":", "\"dropped\":2,\"other\":", "dropped");
}

static void samples(void)
{
    const float input[] = {0, 1, 1, 0, 0.2F, 0.9F};
    float x[6], grey[6];
    uint8_t phase[6];
    const double mean[] = {10, 20}, deviation[] = {2, 4};

    mf_denoise_scale(2, 6, input, x);
    CHECK(x[0] == -0.5F && x[1] == 0.5F);
    mf_denoise_phases(2, 0, 6, x, phase);
    CHECK(memcmp(phase, (uint8_t[]){0, 1, 1, 0, 0, 1}, 6) == 0);
    mf_denoise_phases(2, 1, 6, (const float[]){-0.4F, 0.1F, -0.1F, -0.1F, 0.3F, -0.5F}, phase); /* 2.4 voxels */
    CHECK(memcmp(phase, (uint8_t[]){0, 1, 0, 0, 1, 0}, 6) == 0);
    mf_denoise_phases(2, 1, 6, (const float[]){0, 0, 0, 0, 0, 0.1F}, phase); /* 3.1 voxels, of which equal ones */
    CHECK(memcmp(phase, (uint8_t[]){1, 1, 0, 0, 0, 1}, 6) == 0);
    mf_denoise_phases(2, 1, 6, (const float[]){-9, -9, -9, -9, -9, 1}, phase);
    CHECK(memcmp(phase, (uint8_t[]){0, 0, 0, 0, 0, 0}, 6) == 0);
    mf_denoise_phases(3, 0, 2, x, phase);
    CHECK(phase[0] == 1 && phase[1] == 2);
    mf_denoise_scale(0, 6, input, x);
    mf_denoise_values(3, 2, mean, deviation, x, grey);
    CHECK(near((double)grey[1], 24, 1e-6) && near((double)grey[4], 10.4, 1e-6));
}

/* -- samples of a known distribution -- */

enum { COUNT = 500, SAMPLES = 20 };
static const double MEAN = 0.3, DEVIATION = 0.2;
static size_t looks;

static int remove_noise(void *context, size_t n, double sigma, const float *x, float *clean)
{
    const double own = DEVIATION * DEVIATION, noise = sigma * sigma;

    (void)context;
    ++looks;
    for (size_t i = 0; i < n * COUNT; ++i) clean[i] = (float)((own * (double)x[i] + noise * MEAN) / (own + noise));
    return MF_OK;
}

/* The differential equation of the noise levels has a known solution. It scales x - mean by
 * sqrt(deviation^2 + sigma^2). */
static void sampler(void)
{
    const struct mf_denoiser by = {NULL, COUNT, remove_noise};
    const struct mf_sampling how = {40, 7, MF_NOISE_MOST};
    float *x = calloc((size_t)SAMPLES * COUNT, sizeof *x), *room = calloc((size_t)3 * SAMPLES * COUNT, sizeof *room),
          one[COUNT], small[3 * COUNT];
    double sum = 0, squares = 0;
    const double n = (double)SAMPLES * COUNT;

    CHECK(mf_sample(&by, &how, 100, SAMPLES, x, room) == MF_OK && looks == 2 * how.steps - 1);
    for (size_t i = 0; i < SAMPLES * COUNT; ++i) {
        sum += (double)x[i] / n;
        squares += ((double)x[i] - MEAN) * ((double)x[i] - MEAN) / n;
    }
    CHECK_SAYS(fabs(sum - MEAN) < 0.01 && fabs(sqrt(squares) - DEVIATION) < 0.01, "mean %g, deviation %g", sum,
               sqrt(squares));
    CHECK(mf_sample(&by, &how, 113, 1, one, small) == MF_OK);
    CHECK(memcmp(one, x + (size_t)13 * COUNT, sizeof one) == 0);
    free(x);
    free(room);
}

/* As a program in NumPy has it: ((x + 1) * 127.5).clip(0, 255).astype("uint8") */
static void bytes(void)
{
    static const float x[] = {-1.5F, -1, -0.999F, 0, 0.5F, 0.9999F, 1, 7};
    static const uint8_t expected[] = {0, 0, 0, 127, 191, 254, 255, 255};
    uint8_t to[8];

    mf_foreign_bytes(8, x, to);
    CHECK(memcmp(to, expected, sizeof to) == 0);
}

int main(void)
{
    levels();
    bytes();
    conditions();
    refuses_all();
    samples();
    sampler();
    return failures != 0;
}
