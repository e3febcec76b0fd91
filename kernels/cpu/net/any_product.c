/* See any_product.h. */
#include "kernels/cpu/net/any_product.h"

#include <omp.h>
#include <stdlib.h>

#include "kernels/cpu/net/dnnl.h"

enum { A, B, C, OPERANDS };

struct mf_any_product {
    dnnl_primitive_t primitive;
    int threads;
    dnnl_stream_t *stream; /* [threads] */
};

static void matrix(mf_layout *made, dnnl_dim_t rows, dnnl_dim_t columns, dnnl_dim_t step, int transposed,
                   enum mf_type type)
{
    const dnnl_dims_t dims = {rows, columns}, stride = {transposed ? 1 : step, transposed ? step : 1};

    mf_layout_strided(made, 2, dims, type, stride);
}

/* The operands of a product, as the memory holds them. */
static void matrices(mf_layout made[OPERANDS], const struct mf_product_wish *w)
{
    const dnnl_dim_t m = (dnnl_dim_t)w->m, n = (dnnl_dim_t)w->n, k = (dnnl_dim_t)w->k;

    matrix(&made[A], m, k, (dnnl_dim_t)w->lda, w->ta, MF_BF16);
    matrix(&made[B], k, n, (dnnl_dim_t)w->ldb, w->tb, MF_BF16);
    matrix(&made[C], m, n, (dnnl_dim_t)w->ldc, 0, MF_F32);
}

static void free_matrices(mf_layout made[OPERANDS])
{
    for (int i = 0; i < OPERANDS; ++i) mf_layout_free(&made[i]);
}

static dnnl_status_t describe(dnnl_primitive_desc_t *made, const mf_layout of[], dnnl_primitive_attr_t attr)
{
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(made, mf_dnnl_engine(), mf_layout_of(&of[A]), mf_layout_of(&of[B]), NULL,
                                             mf_layout_of(&of[C]), attr);
#else
    dnnl_matmul_desc_t d;
    const dnnl_status_t rc =
        dnnl_matmul_desc_init(&d, mf_layout_of(&of[A]), mf_layout_of(&of[B]), NULL, mf_layout_of(&of[C]));

    return rc == dnnl_success ? dnnl_primitive_desc_create(made, &d, attr, mf_dnnl_engine(), NULL) : rc;
#endif
}

static dnnl_status_t make(struct mf_any_product *p, const struct mf_product_wish *wish)
{
    const size_t any = (size_t)DNNL_RUNTIME_DIM_VAL;
    const struct mf_product_wish open = {
        .ta = wish->ta, .tb = wish->tb, .m = any, .n = any, .k = any, .lda = any, .ldb = any, .ldc = any};
    mf_layout of[OPERANDS];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t rc = mf_dnnl_attr(&attr, 0, wish->add);

    matrices(of, &open);
    if (rc == dnnl_success) rc = describe(&desc, of, attr);
    if (rc == dnnl_success) rc = dnnl_primitive_create(&p->primitive, desc);
    for (int t = 0; rc == dnnl_success && t < p->threads; ++t)
        rc = dnnl_stream_create(&p->stream[t], mf_dnnl_engine(), dnnl_stream_default_flags);
    if (desc) dnnl_primitive_desc_destroy(desc);
    if (attr) dnnl_primitive_attr_destroy(attr);
    free_matrices(of);
    return rc;
}

int mf_any_product_open(struct mf_any_product **product, const struct mf_product_wish *wish, int threads)
{
    struct mf_any_product *p = MF_MUST(calloc(1, sizeof *p), "a product");
    const int before = omp_get_max_threads();
    dnnl_status_t rc;

    p->threads = threads;
    p->stream = MF_MUST(calloc((size_t)threads, sizeof *p->stream), "threads of a product");
    omp_set_num_threads(1); /* of the library */
    rc = make(p, wish);
    omp_set_num_threads(before);
    if (rc != dnnl_success) {
        mf_any_product_close(p);
        return mf_fail(MF_DEVICE, "oneDNN cannot multiply matrices of bf16 of any extents (status %d)", (int)rc);
    }
    *product = p;
    return MF_OK;
}

void mf_any_product_close(struct mf_any_product *p)
{
    if (!p) return;
    for (int t = 0; t < p->threads; ++t)
        if (p->stream[t]) dnnl_stream_destroy(p->stream[t]);
    if (p->primitive) dnnl_primitive_destroy(p->primitive);
    free(p->stream);
    free(p);
}

void mf_any_product_run(const struct mf_any_product *p, const struct mf_product_wish *wish, const void *a,
                        const void *b, float *c)
{
    static const int arg[OPERANDS] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    const void *const at[OPERANDS] = {a, b, c};
    const int before = omp_get_max_threads();
    dnnl_exec_arg_t operand[OPERANDS];
    mf_layout of[OPERANDS];

    matrices(of, wish);
    for (int i = 0; i < OPERANDS; ++i) {
        MF_ASSERT(mf_dnnl_argument(&operand[i], arg[i], mf_layout_of(&of[i])) == dnnl_success);
        mf_dnnl_put(&operand[i], at[i]);
    }
    omp_set_num_threads(1); /* of the library */
    mf_dnnl_execute(p->primitive, p->stream[omp_get_thread_num()], OPERANDS, operand);
    omp_set_num_threads(before);
    for (int i = 0; i < OPERANDS; ++i) dnnl_memory_destroy(operand[i].memory);
    free_matrices(of);
}
