/* Asks a network of `mesoforge train classify` about a stack of images, again and again without reading it anew. Its
 * images have 32 x 32 pixels.
 *
 *     mesoforge train classify --data set.h5 --results-dir run
 *
 *     cc model.c $(pkg-config --cflags --libs mesoforge) -o model && ./model run/model.safetensors
 */
#include <mesoforge.h>
#include <stdio.h>

enum { IMAGES = 4, N = 32, CALLS = 3 };

static unsigned char stack[IMAGES][N][N];

/* Stripes that turn, a little further in each call. */
static void draw(int call)
{
    for (int k = 0; k < IMAGES; ++k)
        for (int y = 0; y < N; ++y)
            for (int x = 0; x < N; ++x) stack[k][y][x] = (x + k * y / 2 + call) % 16 < 5;
}

static int complain(void)
{
    const struct mesoforge_error *error = mesoforge_last_error();

    fprintf(stderr, "%s%s%s\n", error->sentence, *error->advice ? "; try: " : "", error->advice);
    return error->code;
}

/* "probabilities" [image][class] */
static void print(const mesoforge_result *result)
{
    struct mesoforge_array array;

    if (!mesoforge_result_array(result, 0, &array)) return;
    for (size_t k = 0; k < array.shape[0]; ++k) {
        const float *share = (const float *)array.data + k * array.shape[1];
        size_t best = 0;

        for (size_t c = 1; c < array.shape[1]; ++c)
            if (share[c] > share[best]) best = c;
        printf("image %zu: class %zu with %.3f\n", k, best, (double)share[best]);
    }
}

int main(int argc, char **argv)
{
    const struct mesoforge_array images = {
        .type = "u1", .ndim = 3, .shape = {IMAGES, N, N}, .stride = {N * N, N, 1}, .data = stack};
    mesoforge_session *session;
    mesoforge_field *field;
    mesoforge_model *model;

    if (mesoforge_open(&session, "threads=2") != MESOFORGE_OK) return complain();
    if (mesoforge_field_array(session, "stack", &images, &field) != MESOFORGE_OK) return complain();
    if (mesoforge_model_load(session, argc > 1 ? argv[1] : "", "batch-size=4", &model) != MESOFORGE_OK)
        return complain();
    printf("%s\n", mesoforge_model_json(model));
    for (int call = 0; call < CALLS; ++call) {
        mesoforge_result *result;

        draw(call);
        if (mesoforge_model_predict(session, model, "@stack", "labels=0,1", &result) != MESOFORGE_OK) return complain();
        print(result);
        mesoforge_result_free(result);
    }
    return mesoforge_close(session);
}
