/* See product.cuh. The library's matrices are column by column, ours row by row: it computes C' = B' A'. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/net/product.cuh"
#include "kernels/cuda/net/tune.cuh"

enum { MOST_WORK = MF_TUNING_WORK }; /* bytes; the library's advice for GPUs of capability 9.0 */

/* Arrays begin at 16 bytes, so that all loads fit, or somewhere. */
enum { SOMEWHERE, ALIGNED, PLACES };
constexpr size_t ALIGNMENT = 16;

struct mf_product {
    struct mf_product_of of; /* its epilogue is what the library does */
    void *product, *a, *b, *c, *handle;
    struct mf_lt_found found[PLACES];
};

namespace
{

struct mf_lt lt;

#define MF_LT(call) check(call, __FILE__, __LINE__)
void check(int status, const char *file, int line)
{
    if (status != 0) mf_die(MF_DEVICE, file, line, "cuBLASLt: error %d", status);
}

/* The handle of a queue. */
int open(struct mf_queue *q, void **handle)
{
    static const char *const files[] = {"libcublasLt.so.13", "libcublasLt.so.12", nullptr};
    static const struct mf_library library = {"cuBLASLt", files, "MF_CUBLASLT_LIBRARY"};
    static const struct mf_symbol symbols[] = {
#define MF_LT_SYMBOL(member, name, arguments) {name, offsetof(struct mf_lt, member)},
        MF_LT_LIST(MF_LT_SYMBOL)
#undef MF_LT_SYMBOL
    };
    struct mf_cuda_queue *own = mf_cuda_of(q);

    if (!lt.run) MF_TRY(mf_library_open(&library, symbols, sizeof symbols / sizeof *symbols, &lt));
    if (!own->lt && lt.open(&own->lt) != 0)
        return mf_fail(MF_DEVICE, "--device: cuBLASLt does not start on GPU %d; try: --device cpu", own->device);
    *handle = own->lt;
    return MF_OK;
}

int type_of(enum mf_type type) { return type == MF_BF16 ? MF_LT_BF16 : type == MF_F16 ? MF_LT_F16 : MF_LT_F32; }

template <class T> void set(int (*setter)(void *, int, const void *, size_t), void *of, int attribute, T value)
{
    MF_LT(setter(of, attribute, &value, sizeof value));
}

/* A matrix of @p rows rows in our memory. */
void *layout(enum mf_type type, size_t rows, size_t columns, size_t batch)
{
    void *made;

    MF_LT(lt.layout_new(&made, type_of(type), columns, rows, int64_t(columns)));
    set(lt.layout_set, made, MF_LT_BATCH_COUNT, int32_t(batch));
    set(lt.layout_set, made, MF_LT_BATCH_OFFSET, int64_t(rows * columns));
    return made;
}

void describe(struct mf_product *p)
{
    const struct mf_product_of &of = p->of;

    MF_LT(lt.product_new(&p->product, MF_LT_COMPUTE_F32, MF_LT_F32));
    set(lt.product_set, p->product, MF_LT_OPERATION_A, int32_t(of.tb ? MF_LT_TRANSPOSED : MF_LT_AS_IT_IS));
    set(lt.product_set, p->product, MF_LT_OPERATION_B, int32_t(of.ta ? MF_LT_TRANSPOSED : MF_LT_AS_IT_IS));
    p->a = layout(of.type, of.ta ? of.k : of.m, of.ta ? of.m : of.k, of.batch);
    p->b = layout(of.type, of.tb ? of.n : of.k, of.tb ? of.k : of.n, of.batch);
    p->c = layout(of.result, of.m, of.n, of.batch);
}

/* The library reads the alignment of these pointers, too. */
void set_pointers(const struct mf_product *p, const void *bias, const void *aux)
{
    if (p->of.epilogue & (MF_LT_BIAS | MF_LT_BIAS_GRAD)) set(lt.product_set, p->product, MF_LT_BIAS_POINTER, bias);
    if (!(p->of.epilogue & MF_LT_AUX)) return;
    set(lt.product_set, p->product, MF_LT_AUX_POINTER, aux);
    set(lt.product_set, p->product, MF_LT_AUX_LD, int64_t(p->of.n));
}

/* Up to @p most algorithms, the library's first choice first. Returns how many there are. */
int find_for(struct mf_product *p, size_t alignment, int most, struct mf_lt_found *found)
{
    const void *place = reinterpret_cast<const void *>(alignment);
    void *wish;
    int count = 0, status;

    set_pointers(p, place, place);
    MF_LT(lt.wish_new(&wish));
    set(lt.wish_set, wish, MF_LT_MOST_WORK, uint64_t(MOST_WORK));
    for (int matrix = MF_LT_ALIGNMENT_A; matrix <= MF_LT_ALIGNMENT_D; ++matrix)
        set(lt.wish_set, wish, matrix, uint32_t(alignment));
    status = lt.find(p->handle, p->product, p->b, p->a, p->c, p->c, wish, most, found, &count);
    MF_LT(lt.wish_free(wish));
    return status == 0 ? count : 0;
}

/* Its status is 0 if there is an algorithm. */
struct mf_lt_found first_for(struct mf_product *p, size_t alignment)
{
    struct mf_lt_found found = {};

    if (find_for(p, alignment, 1, &found) == 0) found.status = MF_LT_NOT_SUPPORTED;
    return found;
}

/* Arrays of lists are aligned: an algorithm for others is a bonus. */
bool find(struct mf_product *p, int epilogue)
{
    p->of.epilogue = epilogue ? epilogue : int(MF_LT_DEFAULT);
    set(lt.product_set, p->product, MF_LT_EPILOGUE, uint32_t(p->of.epilogue));
    p->found[SOMEWHERE] = first_for(p, mf_type_bytes(p->of.type));
    p->found[ALIGNED] = first_for(p, ALIGNMENT);
    return p->found[ALIGNED].status == 0;
}

bool aligned(const void *at) { return reinterpret_cast<uintptr_t>(at) % ALIGNMENT == 0; }

int launch(struct mf_queue *q, const struct mf_product *p, const struct mf_lt_found *found, const void *a,
           const void *b, void *c, const struct mf_product_with &with, void *work)
{
    const float one = 1, before = p->of.add ? 1 : 0;

    set_pointers(p, with.bias, with.aux);
    return lt.run(p->handle, p->product, &one, b, p->b, a, p->a, &before, c, p->c, c, p->c, &found->algorithm, work,
                  found->work, mf_cuda_of(q)->stream);
}

/* -- trials -- */

struct candidates {
    const struct mf_product *product;
    struct mf_lt_found found[MF_TRIES];
};

/* Arrays of a product, one behind another; work memory is the last. */
enum { A, B, C, BIAS, AUX, WORK, ARRAYS };

void bytes_of(const struct mf_product_of &of, size_t bytes[ARRAYS])
{
    const size_t number = mf_type_bytes(of.type), result = mf_type_bytes(of.result);

    bytes[A] = mf_tune_place(of.batch * of.m * of.k * number);
    bytes[B] = mf_tune_place(of.batch * of.k * of.n * number);
    bytes[C] = mf_tune_place(of.batch * of.m * of.n * result);
    bytes[BIAS] = mf_tune_place((of.m > of.n ? of.m : of.n) * sizeof(float));
    bytes[AUX] = of.epilogue & MF_LT_AUX ? bytes[C] : 0;
    bytes[WORK] = 0;
}

int run_candidate(struct mf_queue *q, const void *context, size_t algorithm, char *memory)
{
    const struct candidates *s = static_cast<const struct candidates *>(context);
    size_t bytes[ARRAYS];
    char *at[ARRAYS];

    bytes_of(s->product->of, bytes);
    for (int i = 0; i < ARRAYS; memory += bytes[i++]) at[i] = memory;
    return launch(q, s->product, &s->found[algorithm], at[A], at[B], at[C], {at[BIAS], at[AUX]}, at[WORK]);
}

void key_of(const struct mf_queue *q, const struct mf_product_of &of, char key[MF_TUNE_TEXT])
{
    char words[MF_TUNE_TEXT / 2];

    snprintf(words, sizeof words, "product of %zu x %zu%s and %zu x %zu%s, %zu of %s to %s%s, epilogue %d", of.m, of.k,
             of.ta ? "'" : "", of.k, of.n, of.tb ? "'" : "", of.batch, mf_type_name(of.type), mf_type_name(of.result),
             of.add ? ", added" : "", of.epilogue);
    mf_tune_key(q, "cuBLASLt", lt.property, words, key);
}

/* Does the library still take what is remembered? */
bool recall(struct mf_product *p, const char *value)
{
    struct mf_lt_found found = {};
    uint64_t *data = found.algorithm.data;
    struct mf_lt_found seen = {};

    if (sscanf(value, "%lx %lx %lx %lx %lx %lx %lx %lx", &data[0], &data[1], &data[2], &data[3], &data[4], &data[5],
               &data[6], &data[7]) != 8)
        return false;
    if (lt.check(p->handle, p->product, p->b, p->a, p->c, p->c, &found.algorithm, &seen) != 0) return false;
    if (seen.status != 0 || seen.work > MOST_WORK) return false;
    found.work = seen.work;
    p->found[ALIGNED] = found;
    return true;
}

void keep(struct mf_queue *q, const char *key, const struct mf_lt_found &found)
{
    const uint64_t *data = found.algorithm.data;
    char value[MF_TUNE_TEXT];

    snprintf(value, sizeof value, "%lx %lx %lx %lx %lx %lx %lx %lx", data[0], data[1], data[2], data[3], data[4],
             data[5], data[6], data[7]);
    mf_algorithms_put(q->tuning, key, value);
}

void tune(struct mf_queue *q, struct mf_product *p)
{
    struct candidates s = {p, {}};
    size_t bytes[ARRAYS], best;
    struct mf_tries tries = {&s, 0, 0, run_candidate};
    char key[MF_TUNE_TEXT];
    const char *known;

    key_of(q, p->of, key);
    known = mf_algorithms_find(q->tuning, key);
    if (known && recall(p, known)) {
        ++q->tuning->remembered;
        return;
    }
    bytes_of(p->of, bytes);
    tries.count = size_t(find_for(p, ALIGNMENT, MF_TRIES, s.found));
    for (size_t i = 0; i < tries.count; ++i)
        if (s.found[i].work > bytes[WORK]) bytes[WORK] = s.found[i].work;
    for (size_t array : bytes) tries.bytes += array;
    best = mf_tune_fastest(q, &tries);
    if (best == tries.count) return;
    p->found[ALIGNED] = s.found[best];
    keep(q, key, s.found[best]);
}

} // namespace

int mf_product_new(struct mf_queue *q, const struct mf_product_of *of, struct mf_product **product)
{
    struct mf_product *p;
    void *handle = nullptr;

    MF_TRY(open(q, &handle));
    p = static_cast<struct mf_product *>(MF_MUST(calloc(1, sizeof *p), "a matrix product"));
    p->of = *of;
    p->handle = handle;
    describe(p);
    if (find(p, of->epilogue) || find(p, of->epilogue & MF_LT_BIAS) || find(p, 0)) {
        if (mf_tunes(q)) tune(q, p);
        *product = p;
        return MF_OK;
    }
    mf_product_free(p);
    return mf_fail(MF_DEVICE,
                   "--device: cuBLASLt has no product of %zu x %zu and %zu x %zu matrices of %s; try: "
                   "--device cpu",
                   of->m, of->k, of->k, of->n, mf_type_name(of->type));
}

void mf_product_free(struct mf_product *p)
{
    if (!p) return;
    MF_LT(lt.layout_free(p->a));
    MF_LT(lt.layout_free(p->b));
    MF_LT(lt.layout_free(p->c));
    MF_LT(lt.product_free(p->product));
    free(p);
}

size_t mf_product_work(const struct mf_product *p)
{
    if (!p) return 0;
    return p->found[0].work > p->found[1].work ? p->found[0].work : p->found[1].work;
}

int mf_product_epilogue(const struct mf_product *p) { return p->of.epilogue; }

void mf_product_run(struct mf_queue *q, const struct mf_product *p, const void *a, const void *b, void *c,
                    const struct mf_product_with &with, void *work)
{
    const bool all = aligned(a) && aligned(b) && aligned(c) && aligned(with.bias) && aligned(with.aux);
    const struct mf_lt_found *found = &p->found[all ? ALIGNED : SOMEWHERE];

    MF_LT(found->status);
    MF_LT(launch(q, p, found, a, b, c, with, work));
}

void mf_cuda_products_close(struct mf_cuda_queue *own)
{
    if (own->lt) MF_LT(lt.close(own->lt));
}
