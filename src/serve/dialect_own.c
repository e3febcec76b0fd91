/* The dialect of this program, for its own networks: an image in, what infer prints out. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/serve/image.h"
#include "src/serve/routes.h"
#include "src/serve/say.h"

/* NAME: bytes of an image's name. VALUES: numbers in a body of JSON, each of which takes some fifty bytes. */
enum { NAME = 255, VALUES = 1 << 20 };

static void add_images(struct mf_ask *ask, size_t n)
{
    ask->kind = MF_ASK_ANSWER;
    ask->prompt = MF_MUST(calloc(n, sizeof *ask->prompt), "images");
    ask->prompts = n;
}

/* -- reading -- */

static int is_json(const char *body, size_t bytes)
{
    size_t at = 0;

    while (at < bytes && strchr(" \t\r\n", body[at]) && body[at]) ++at;
    return at < bytes && body[at] == '{';
}

/* The file of an image; 1. 0: it is JSON. Or a status. */
static int take(const char *body, size_t bytes, struct mf_ask *ask)
{
    size_t values = 0;

    if (bytes == 0) return mf_fail(400, "the body of the request is empty; it must be an image, or JSON");
    if (is_json(body, bytes)) {
        for (size_t i = 0; i < bytes; ++i) values += body[i] == ',' || body[i] == '[';
        if (values <= VALUES) return 0;
        return mf_fail(413, "the request holds more than %d numbers as text; send the file of the image", VALUES);
    }
    add_images(ask, 1);
    mf_bytes_put(&ask->prompt->image, body, bytes);
    ask->prompt->name = mf_format("image");
    return 1;
}

static void read_name(struct mf_body *b, const char *key, const struct mf_json *value, char **name)
{
    const size_t n = mf_json_length(value);

    if (mf_json_kind(value) != MF_JSON_TEXT)
        mf_body_refuse(b, "'%s' is %s; it must be text", key, mf_json_kind_name(value));
    else if (n == 0 || n > NAME || strlen(mf_json_to_text(value)) != n)
        mf_body_refuse(b, "'%s' must have 1 to %d bytes, and no NUL", key, NAME);
    else
        *name = mf_format("%s", mf_json_to_text(value));
}

static void read_one(struct mf_body *b, struct mf_ask *ask)
{
    const struct mf_json *name = mf_body_get(b, "name");

    add_images(ask, 1);
    mf_image_read(b, "image", mf_body_get(b, "image"), &ask->prompt->image);
    if (name)
        read_name(b, "name", name, &ask->prompt->name);
    else
        ask->prompt->name = mf_format("image");
    if (mf_body_get(b, "names")) mf_body_refuse(b, "'names' belongs to 'images'; that of 'image' is 'name'");
}

static void read_many(struct mf_body *b, size_t most, struct mf_ask *ask)
{
    const struct mf_json *images = mf_body_get(b, "images"), *names = mf_body_get(b, "names");
    const size_t n = mf_json_count(images);
    char key[40];

    if (mf_json_kind(images) != MF_JSON_ARRAY || n == 0 || n > most) {
        mf_body_refuse(b, "'images' must be an array of 1 to %zu images", most);
        return;
    }
    if (names && mf_json_count(names) != n)
        mf_body_refuse(b, "'names' must be an array of as many texts as there are images, %zu", n);
    if (mf_body_get(b, "name")) mf_body_refuse(b, "'name' belongs to 'image'; those of 'images' are 'names'");
    add_images(ask, n);
    for (size_t k = 0; k < n && !b->rc; ++k) {
        snprintf(key, sizeof key, "images[%zu]", k);
        mf_image_read(b, key, mf_json_item(images, k), &ask->prompt[k].image);
        snprintf(key, sizeof key, "names[%zu]", k);
        if (names)
            read_name(b, key, mf_json_item(names, k), &ask->prompt[k].name);
        else
            ask->prompt[k].name = mf_format("image %zu", k);
    }
}

static int read(const struct mf_served *served, const struct mf_json *json, struct mf_ask *ask)
{
    static const char *const known[] = {"image", "name", "images", "names", NULL};
    struct mf_body b = {.json = json, .refuses = 422, .empty = 422};
    const int one = mf_body_get(&b, "image") != NULL, many = mf_body_get(&b, "images") != NULL;
    const char *stranger = mf_json_stranger(json, known);

    if (stranger)
        mf_body_refuse(&b, "'%.100s' is not supported; a request has 'image' and 'name', or 'images' and 'names'",
                       stranger);
    else if (one == many)
        mf_body_refuse(&b, "the request must have 'image' or 'images'%s", one ? ", and has both" : "");
    else if (one)
        read_one(&b, ask);
    else
        read_many(&b, served->batch, ask);
    return b.rc;
}

/* -- writing -- */

static void add_notes(struct mf_json *to, const struct mf_json *notes)
{
    for (size_t i = 0; i < mf_json_count(notes); ++i) mf_json_put(to, NULL, mf_json_copy(mf_json_item(notes, i)));
}

static void whole(const struct mf_served *served, const struct mf_ask *ask, const struct mf_ask_name *name,
                  const struct mf_said *said, struct mf_bytes *to)
{
    struct mf_json *all = mf_json_array(), *notes = mf_json_array(), *body = mf_json_object();

    (void)name;
    for (size_t k = 0; k < ask->prompts; ++k) {
        mf_json_put(all, NULL, mf_json_copy(said[k].answer));
        add_notes(notes, said[k].notes);
    }
    MF_JSON(body, "model", served->model, "predictions", all, "warnings", notes);
    mf_say_json(body, to);
}

static void info(const struct mf_served *served, struct mf_bytes *to)
{
    struct mf_json *body = mf_json_copy(served->facts);

    MF_JSON(body, "model_id", served->model, "max_concurrent_requests", served->requests, "max_client_batch_size",
            served->batch, "version", served->version);
    mf_say_json(body, to);
}

static const struct mf_route routes[] = {
    {.method = "POST",
     .path = "/predict",
     .refuses = 422,
     .take = take,
     .read = read,
     .whole = whole,
     .error = mf_error_plain},
    {.method = "GET", .path = "/info", .does = MF_ROUTE_FACTS, .facts = info, .error = mf_error_plain},
};
const struct mf_routes mf_routes_predict = {MF_DIALECT_OWN, MF_ASK_IS(MF_ASK_ANSWER), routes,
                                            sizeof routes / sizeof *routes};
