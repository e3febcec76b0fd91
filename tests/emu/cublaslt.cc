/* A stand-in for libcublasLt.so where there is no GPU: products by plain loops in double, on the emulator's streams.
 * Declarations are written here anew and not taken from the program: a test that shares a mistake finds none.
 *
 * What it is strict about: an algorithm serves the product, the shapes and the alignment that it was found for; work
 * memory is as large as the algorithm says, and gets NaN; the bias has the type of D, and what gelu keeps an ld of
 * whole eights.
 *
 * There are four algorithms: the first takes 3 ms on the stand-in's clock, the second 1 ms, the third 2 ms, and the
 * last does not run.
 *
 * Environment: FAKE_LT_PLAIN=1: no epilogue is found. */
#include <cstdlib>
#include <vector>

#include "tests/emu/cuda_runtime.h"
#include "tests/emu/number.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

enum { OK = 0, BAD = 7, NOT_SUPPORTED = 15 };
enum { ALGORITHMS = 4, OF_NUMBER = 10000 };
const float takes[ALGORITHMS] = {3, 1, 2, 0};
enum { DEFAULT = 1, RELU = 2, BIAS = 4, GELU = 32, AUX = 128, BGRADB = 512 };

struct product {
    int compute, scale, turned[2] = {0, 0};
    uint32_t epilogue = DEFAULT;
    void *bias = nullptr, *aux = nullptr;
    int64_t aux_ld = 0;
};

struct layout {
    int type;
    uint64_t rows, columns;
    int64_t ld;
    int32_t batch = 1;
    int64_t offset = 0;
};

struct wish {
    uint64_t work = 0;
    uint32_t alignment[4] = {256, 256, 256, 256}; /* of A, B, C, D */
};

struct algorithm {
    uint64_t alignment, epilogue, m, n, k, work, turned, types; /* types: also its number */
};

struct found {
    struct algorithm algorithm;
    size_t work;
    int status;
    float waves;
    int reserved[4];
};

namespace
{

kind kind_of(const layout *l) { return l->type == 14 ? BFLOAT : l->type == 2 ? HALF : FLOAT; }

template <class T> int take(T *to, const void *value, size_t bytes)
{
    if (bytes != sizeof *to) return BAD;
    memcpy(to, value, bytes);
    return OK;
}

uint64_t types_of(const layout *a, const layout *d) { return uint64_t(a->type * 100 + d->type); }

algorithm algorithm_for(const product *p, const layout *a, const layout *b, const layout *d, uint64_t alignment,
                        uint64_t number)
{
    const uint64_t k = p->turned[0] ? a->rows : a->columns, turned = uint64_t(2 * p->turned[0] + p->turned[1]);

    (void)b;
    return {alignment, p->epilogue,
            d->rows,   d->columns,
            k,         64 * (1 + k % 3 + number),
            turned,    types_of(a, d) + OF_NUMBER * number};
}

bool fits(const layout *l, uint64_t rows, uint64_t columns, int turned)
{
    return l->rows == (turned ? columns : rows) && l->columns == (turned ? rows : columns) && l->ld >= int64_t(l->rows);
}

bool known(const product *p, const layout *a, const layout *b, const layout *c, const layout *d)
{
    const uint64_t k = p->turned[0] ? a->rows : a->columns;
    const char *plain = getenv("FAKE_LT_PLAIN");

    if (p->compute != 68 || p->scale != 0 || a->type != b->type || c->type != d->type) return false;
    if (d->type != 0 && d->type != a->type) return false;
    if (!fits(a, d->rows, k, p->turned[0]) || !fits(b, k, d->columns, p->turned[1])) return false;
    if (a->batch != b->batch || a->batch != d->batch || (d->batch > 1 && p->epilogue != DEFAULT)) return false;
    if (p->epilogue & AUX && (p->aux_ld % 8 || p->aux_ld < int64_t(d->rows) || !(p->epilogue & GELU))) return false;
    if (p->epilogue & BGRADB && p->epilogue != BGRADB) return false;
    return !(plain && *plain == '1' && p->epilogue != DEFAULT);
}

struct work {
    product p;
    layout a, b, d;
    const void *at_a, *at_b, *at_c;
    void *at_d;
    float alpha, beta;
};

/* op(X) at (i, j) of matrix number @p n. */
double element(const layout &l, const void *at, int turned, uint64_t i, uint64_t j, int n)
{
    const uint64_t row = turned ? j : i, column = turned ? i : j;

    return number_at(kind_of(&l), at, size_t(n * l.offset) + row + column * uint64_t(l.ld));
}

double activated(const work &w, double x)
{
    if (w.p.epilogue & RELU) return x > 0 ? x : 0;
    if (w.p.epilogue & GELU) return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    return x;
}

void column(const work &w, int n, uint64_t j)
{
    const uint64_t k = w.p.turned[0] ? w.a.rows : w.a.columns;
    const kind type = kind_of(&w.d);
    double grad = 0;

    for (uint64_t l = 0; l < k; ++l) grad += element(w.b, w.at_b, w.p.turned[1], l, j, n);
    if (w.p.epilogue & BGRADB) put_number(type, w.p.bias, j, grad);
    for (uint64_t i = 0; i < w.d.rows; ++i) {
        const size_t place = size_t(n * w.d.offset) + i + j * uint64_t(w.d.ld);
        double sum = 0;

        for (uint64_t l = 0; l < k; ++l)
            sum += element(w.a, w.at_a, w.p.turned[0], i, l, n) * element(w.b, w.at_b, w.p.turned[1], l, j, n);
        sum *= double(w.alpha);
        if (w.beta != 0) sum += double(w.beta) * number_at(type, w.at_c, place);
        if (w.p.epilogue & BIAS) sum += number_at(type, w.p.bias, i);
        if (w.p.epilogue & AUX) put_number(type, w.p.aux, i + j * uint64_t(w.p.aux_ld), sum);
        put_number(type, w.at_d, place, activated(w, sum));
    }
}

void multiply(const work &w)
{
    for (int n = 0; n < w.d.batch; ++n)
        for (uint64_t j = 0; j < w.d.columns; ++j) column(w, n, j);
}

bool aligned(uint64_t alignment, std::initializer_list<const void *> places)
{
    for (const void *at : places)
        if (reinterpret_cast<uintptr_t>(at) % alignment) return false;
    return true;
}

} // namespace

EXPORT int cublasLtCreate(void **handle)
{
    *handle = new int(1);
    return OK;
}
EXPORT int cublasLtDestroy(void *handle)
{
    delete static_cast<int *>(handle);
    return OK;
}

EXPORT int cublasLtMatmulDescCreate(product **p, int compute, int scale)
{
    *p = new product{compute, scale};
    return OK;
}
EXPORT int cublasLtMatmulDescSetAttribute(product *p, int attribute, const void *value, size_t bytes)
{
    switch (attribute) {
    case 3: return take(&p->turned[0], value, bytes);
    case 4: return take(&p->turned[1], value, bytes);
    case 7: return take(&p->epilogue, value, bytes);
    case 8: return take(&p->bias, value, bytes);
    case 11: return take(&p->aux, value, bytes);
    case 12: return take(&p->aux_ld, value, bytes);
    default: return BAD;
    }
}
EXPORT int cublasLtMatmulDescDestroy(product *p)
{
    delete p;
    return OK;
}

EXPORT int cublasLtMatrixLayoutCreate(layout **l, int type, uint64_t rows, uint64_t columns, int64_t ld)
{
    *l = new layout{type, rows, columns, ld};
    return OK;
}
EXPORT int cublasLtMatrixLayoutSetAttribute(layout *l, int attribute, const void *value, size_t bytes)
{
    return attribute == 5 ? take(&l->batch, value, bytes) : attribute == 6 ? take(&l->offset, value, bytes) : BAD;
}
EXPORT int cublasLtMatrixLayoutDestroy(layout *l)
{
    delete l;
    return OK;
}

EXPORT int cublasLtMatmulPreferenceCreate(wish **w)
{
    *w = new wish;
    return OK;
}
EXPORT int cublasLtMatmulPreferenceSetAttribute(wish *w, int attribute, const void *value, size_t bytes)
{
    if (attribute == 1) return take(&w->work, value, bytes);
    return attribute >= 5 && attribute <= 8 ? take(&w->alignment[attribute - 5], value, bytes) : BAD;
}
EXPORT int cublasLtMatmulPreferenceDestroy(wish *w)
{
    delete w;
    return OK;
}

EXPORT int cublasLtMatmulAlgoGetHeuristic(void *handle, product *p, layout *a, layout *b, layout *c, layout *d, wish *w,
                                          int most, found *to, int *count)
{
    uint64_t alignment = 256;

    if (!handle || most < 1) return BAD;
    *count = 0;
    if (!known(p, a, b, c, d)) return NOT_SUPPORTED;
    for (uint32_t given : w->alignment) alignment = given < alignment ? given : alignment;
    for (; *count < most && *count < ALGORITHMS; ++*count) {
        to[*count] = {};
        to[*count].algorithm = algorithm_for(p, a, b, d, alignment, uint64_t(*count));
        to[*count].work = to[*count].algorithm.work;
        if (to[*count].work > w->work) break;
    }
    return OK;
}

EXPORT int cublasLtMatmulAlgoCheck(void *handle, product *p, layout *a, layout *b, layout *c, layout *d,
                                   const algorithm *with, found *to)
{
    const algorithm want = algorithm_for(p, a, b, d, with->alignment, with->types / OF_NUMBER);

    if (!handle || !known(p, a, b, c, d)) return BAD;
    if (memcmp(&want, with, sizeof want) != 0) return NOT_SUPPORTED;
    *to = {};
    to->work = with->work;
    return OK;
}

/* Version 13.0.2. */
EXPORT int cublasLtGetProperty(int part, int *value)
{
    *value = part == 0 ? 13 : part == 1 ? 0 : 2;
    return OK;
}

EXPORT int cublasLtMatmul(void *handle, product *p, const float *alpha, const void *a, layout *la, const void *b,
                          layout *lb, const float *beta, const void *c, layout *lc, void *d, layout *ld,
                          const algorithm *with, void *room, size_t bytes, cudaStream_t stream)
{
    const algorithm want = algorithm_for(p, la, lb, ld, with->alignment, with->types / OF_NUMBER);
    const uint64_t number = with->types / OF_NUMBER;
    const work w = {*p, *la, *lb, *ld, a, b, c, d, *alpha, *beta};

    if (!handle || !known(p, la, lb, lc, ld)) return BAD;
    if (memcmp(&want, with, sizeof want) != 0 || bytes < with->work || !room) return NOT_SUPPORTED;
    if (number + 1 >= ALGORITHMS) return NOT_SUPPORTED;
    if (!aligned(with->alignment, {a, b, c, d})) return NOT_SUPPORTED;
    if (p->epilogue & (BIAS | BGRADB) && (!p->bias || !aligned(with->alignment, {p->bias}))) return BAD;
    if (p->epilogue & AUX && (!p->aux || !aligned(with->alignment, {p->aux}))) return BAD;
    mf_emu_enqueue(stream, [=]() {
        memset(room, 255, bytes);
        multiply(w);
    });
    mf_emu_takes(stream, takes[number]);
    return OK;
}
