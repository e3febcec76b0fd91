/* See dialect.h. */
#include "src/serve/dialect.h"

#include <string.h>

#include "src/base/err.h"
#include "src/serve/routes.h"
#include "src/serve/say.h"

/* -- errors -- */

struct named {
    int status;
    const char *name;
};

/* The name of a status; that of the last row, if it has none. */
static const char *name_of(int status, const struct named *rows)
{
    while (rows->status && rows->status != status) ++rows;
    return rows->name;
}

void mf_error_plain(int status, const char *sentence, int streams, struct mf_bytes *to)
{
    static const struct named types[] = {
        {400, "validation"}, {401, "unauthorized"}, {404, "not_found"},  {405, "method_not_allowed"},
        {408, "timeout"},    {413, "validation"},   {422, "validation"}, {429, "overloaded"},
        {503, "unhealthy"},  {0, "generation"}};
    struct mf_json *error = mf_json_object();

    MF_JSON(error, "error", sentence, "error_type", name_of(status, types));
    (streams ? mf_say_event : mf_say_json)(error, to);
}

void mf_error_openai(int status, const char *sentence, int streams, struct mf_bytes *to)
{
    static const struct named types[] = {{401, "authentication_error"},
                                         {429, "rate_limit_error"},
                                         {503, "service_unavailable"},
                                         {500, "server_error"},
                                         {0, "invalid_request_error"}};
    struct mf_json *error = mf_json_object(), *body = mf_json_object();

    MF_JSON(error, "message", sentence, "type", name_of(status, types));
    mf_json_null(error, "param");
    mf_json_int(error, "code", status);
    mf_json_put(body, "error", error);
    (streams ? mf_say_event : mf_say_json)(body, to);
    if (streams) mf_bytes_put(to, "data: [DONE]\n\n", 14);
}

/* -- routes -- */

static const struct mf_route own[] = {
    {.method = "GET", .path = "/", .does = MF_ROUTE_HEALTH, .error = mf_error_plain},
    {.method = "GET", .path = "/health", .does = MF_ROUTE_HEALTH, .error = mf_error_plain},
    {.method = "GET", .path = "/metrics", .does = MF_ROUTE_METRICS, .error = mf_error_plain},
};
static const struct mf_routes routes_own = {~0u, MF_ASK_ANY, own, sizeof own / sizeof *own};

static const struct mf_routes *const tables[] = {&routes_own,
                                                 &mf_routes_tgi,
                                                 &mf_routes_tei,
                                                 &mf_routes_openai_facts,
                                                 &mf_routes_openai_text,
                                                 &mf_routes_openai_vectors,
                                                 &mf_routes_predict};
enum { TABLES = sizeof tables / sizeof *tables };

/* How far a table fits to a request. */
enum fits { FITS_NOT, FITS_DIALECT_NOT, FITS_MODEL_NOT, FITS_METHOD_NOT, FITS };

struct search {
    const struct mf_served *served;
    unsigned dialects;
    const char *method, *path;
    const struct mf_route *route;
    enum fits fits;
    unsigned gets, posts; /* the path has these methods */
};

/* A path of a route that ends with '/' goes on with the name of the model. */
static int is_path(const struct mf_served *served, const char *route, const char *path)
{
    const size_t n = strlen(route);

    if (n < 2 || route[n - 1] != '/') return strcmp(route, path) == 0;
    return strncmp(route, path, n) == 0 && strcmp(path + n, served->model) == 0;
}

static enum fits fits(const struct search *s, const struct mf_routes *table, const struct mf_route *route)
{
    const char *method = strcmp(s->method, "HEAD") == 0 ? "GET" : s->method; /* HTTP leaves the body out */

    if (!is_path(s->served, route->path, s->path)) return FITS_NOT;
    if (!(table->dialects & s->dialects)) return FITS_DIALECT_NOT;
    if (!(table->kinds & MF_ASK_IS(s->served->kind))) return FITS_MODEL_NOT;
    return strcmp(route->method, method) == 0 ? FITS : FITS_METHOD_NOT;
}

static void look(struct search *s, const struct mf_routes *table)
{
    for (size_t i = 0; i < table->count; ++i) {
        const struct mf_route *route = &table->route[i];
        const enum fits found = fits(s, table, route);

        if (found >= FITS_METHOD_NOT) *(strcmp(route->method, "GET") == 0 ? &s->gets : &s->posts) = 1;
        if (found <= s->fits) continue;
        s->fits = found;
        s->route = route;
    }
}

static int refuse(const struct search *s, const char **allowed)
{
    switch (s->fits) {
    case FITS_METHOD_NOT:
        *allowed = s->gets && s->posts ? "GET, POST" : s->gets ? "GET" : "POST";
        return mf_fail(405, "'%s' takes %s, not %.20s", s->path, *allowed, s->method);
    case FITS_MODEL_NOT: return mf_fail(404, "'%s' is for another kind of model than '%s'", s->path, s->served->model);
    case FITS_DIALECT_NOT: return mf_fail(404, "'%s' is of a dialect that this server does not serve", s->path);
    default: return mf_fail(404, "there is no '%.200s' here", s->path);
    }
}

const struct mf_route *mf_route_find(const struct mf_served *served, unsigned dialects, const char *method,
                                     const char *path, int *status, const char **allowed,
                                     void (**error)(int status, const char *sentence, int streams, struct mf_bytes *to))
{
    struct search s = {.served = served, .dialects = dialects, .method = method, .path = path};

    *status = 0;
    *allowed = NULL;
    *error = strncmp(path, "/v1/", 4) == 0 ? mf_error_openai : mf_error_plain;
    for (size_t i = 0; i < TABLES; ++i) look(&s, tables[i]);
    if (s.fits == FITS) return s.route;
    *status = refuse(&s, allowed);
    return NULL;
}

int mf_route_read(const struct mf_route *route, const struct mf_served *served, const char *body, size_t bytes,
                  struct mf_ask *ask)
{
    char why[256] = "it is empty";
    struct mf_json *json;
    int rc;

    *ask = (struct mf_ask){.prompt = NULL};
    rc = route->take ? route->take(body, bytes, ask) : 0;
    if (rc) return rc == 1 ? 0 : rc;
    json = bytes ? mf_json_parse_foreign(body, bytes, why, sizeof why) : NULL;
    if (bytes && !json && !*why) return mf_fail(503, "there is no memory for the body of the request");
    if (!json) return mf_fail(400, "the body of the request is not JSON: %s", why);
    if (mf_json_kind(json) == MF_JSON_OBJECT)
        rc = route->read(served, json, ask);
    else
        rc = mf_fail(route->refuses, "the body of the request is %s; it must be an object", mf_json_kind_name(json));
    mf_json_free(json);
    return rc;
}

unsigned mf_dialect_of(const char *name)
{
    static const struct {
        const char *name;
        unsigned dialect;
    } all[] = {
        {"tgi", MF_DIALECT_TGI}, {"tei", MF_DIALECT_TEI}, {"openai", MF_DIALECT_OPENAI}, {"vllm", MF_DIALECT_OPENAI}};

    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (strcmp(all[i].name, name) == 0) return all[i].dialect;
    return 0;
}
