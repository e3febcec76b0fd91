/* See product.h. */
#include "kernels/cpu/net/product.h"

#include <omp.h>
#include <stdlib.h>

#include "kernels/cpu/net/dnnl.h"
#include "kernels/cpu/net/net.h"

enum { TILE_ROWS = 256, TILE_COLUMNS = 512, SHAPES = 4 }; /* SHAPES: inner tiles, right, lower, the corner */
enum { A, B, C, SCRATCH, BIAS, OPERANDS };

struct mf_product {
    struct mf_product_wish wish;
    size_t count, rows, columns; /* tiles of a product */
    size_t scratch;              /* bytes of a thread, a multiple of 64 */
    int threads;
    dnnl_primitive_t primitive[SHAPES];
    struct lane {
        dnnl_stream_t stream;
        dnnl_exec_arg_t arg[SHAPES][OPERANDS];
    } * lane; /* [threads] */
};

static int operands(const struct mf_product *p) { return p->wish.bias ? OPERANDS : BIAS; }

/* -- opening and closing -- */

static void matrix(mf_layout *made, size_t rows, size_t columns, size_t step, int transposed, enum mf_type type)
{
    const dnnl_dims_t dims = {(dnnl_dim_t)rows, (dnnl_dim_t)columns};
    const dnnl_dims_t stride = {transposed ? 1 : (dnnl_dim_t)step, transposed ? (dnnl_dim_t)step : 1};

    mf_layout_strided(made, 2, dims, type, stride);
}

static dnnl_status_t describe(dnnl_primitive_desc_t *made, const mf_layout of[], int bias, dnnl_primitive_attr_t attr)
{
    const mf_layout_known with = bias ? mf_layout_of(&of[BIAS]) : NULL;
#if DNNL_VERSION_MAJOR >= 3
    return dnnl_matmul_primitive_desc_create(made, mf_dnnl_engine(), mf_layout_of(&of[A]), mf_layout_of(&of[B]), with,
                                             mf_layout_of(&of[C]), attr);
#else
    dnnl_matmul_desc_t d;
    const dnnl_status_t rc =
        dnnl_matmul_desc_init(&d, mf_layout_of(&of[A]), mf_layout_of(&of[B]), with, mf_layout_of(&of[C]));

    return rc == dnnl_success ? dnnl_primitive_desc_create(made, &d, attr, mf_dnnl_engine(), NULL) : rc;
#endif
}

static dnnl_status_t make_lanes(struct mf_product *p, int shape, dnnl_primitive_desc_t desc)
{
    static const int arg[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD, DNNL_ARG_BIAS};
    const size_t scratch = mf_whole_lines(dnnl_memory_desc_get_size(mf_dnnl_operand(desc, DNNL_ARG_SCRATCHPAD)));
    dnnl_status_t rc = dnnl_primitive_create(&p->primitive[shape], desc);

    if (scratch > p->scratch) p->scratch = scratch;
    for (int t = 0; t < p->threads; ++t)
        for (int i = 0; rc == dnnl_success && i < operands(p); ++i)
            rc = mf_dnnl_argument(&p->lane[t].arg[shape][i], arg[i], mf_dnnl_operand(desc, arg[i]));
    return rc;
}

/* The handles of one shape of tiles. */
static dnnl_status_t make(struct mf_product *p, int shape, size_t rows, size_t columns)
{
    const struct mf_product_wish *w = &p->wish;
    mf_layout of[OPERANDS];
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t rc = mf_dnnl_attr(&attr, w->relu, w->add);

    matrix(&of[A], rows, w->k, w->lda, w->ta, MF_BF16);
    matrix(&of[B], w->k, columns, w->ldb, w->tb, MF_BF16);
    matrix(&of[C], rows, columns, w->ldc, 0, w->type);
    matrix(&of[BIAS], 1, columns, columns, 0, MF_F32);
    if (rc == dnnl_success) rc = describe(&desc, of, w->bias, attr);
    if (rc == dnnl_success) rc = make_lanes(p, shape, desc);
    if (desc) dnnl_primitive_desc_destroy(desc);
    if (attr) dnnl_primitive_attr_destroy(attr);
    for (int i = A; i <= C; ++i) mf_layout_free(&of[i]);
    mf_layout_free(&of[BIAS]);
    return rc;
}

static size_t tiles(size_t extent, size_t tile) { return (extent + tile - 1) / tile; }

/* Extent of the tile with number @p i. */
static size_t extent_of(size_t extent, size_t tile, size_t i)
{
    return (i + 1) * tile <= extent ? tile : extent - i * tile;
}

static int shape_of(const struct mf_product *p, size_t row, size_t column)
{
    return (extent_of(p->wish.m, TILE_ROWS, row) < TILE_ROWS) * 2 +
           (extent_of(p->wish.n, TILE_COLUMNS, column) < TILE_COLUMNS);
}

static dnnl_status_t make_all(struct mf_product *p)
{
    dnnl_status_t rc = dnnl_success;

    for (size_t i = 0; i < p->rows; i += i + 1 < p->rows && p->rows > 2 ? p->rows - 1 : 1)
        for (size_t j = 0; j < p->columns; j += j + 1 < p->columns && p->columns > 2 ? p->columns - 1 : 1)
            if (rc == dnnl_success && !p->primitive[shape_of(p, i, j)])
                rc = make(p, shape_of(p, i, j), extent_of(p->wish.m, TILE_ROWS, i),
                          extent_of(p->wish.n, TILE_COLUMNS, j));
    return rc;
}

int mf_product_open(struct mf_product **product, const struct mf_product_wish *wish, size_t count, int threads)
{
    struct mf_product *p = MF_MUST(calloc(1, sizeof *p), "a product");
    const int before = omp_get_max_threads();
    dnnl_status_t rc = dnnl_success;

    p->wish = *wish;
    p->count = count;
    p->rows = tiles(wish->m, TILE_ROWS);
    p->columns = tiles(wish->n, TILE_COLUMNS);
    p->threads = threads;
    p->lane = MF_MUST(calloc((size_t)threads, sizeof *p->lane), "threads of a product");
    omp_set_num_threads(1); /* of the library */
    for (int t = 0; rc == dnnl_success && t < threads; ++t)
        rc = dnnl_stream_create(&p->lane[t].stream, mf_dnnl_engine(), dnnl_stream_default_flags);
    if (rc == dnnl_success) rc = make_all(p);
    omp_set_num_threads(before);
    if (rc != dnnl_success) {
        mf_product_close(p);
        return mf_fail(MF_DEVICE, "oneDNN cannot multiply matrices of bf16 (status %d)", (int)rc);
    }
    *product = p;
    return MF_OK;
}

void mf_product_close(struct mf_product *p)
{
    if (!p) return;
    for (int t = 0; t < p->threads; ++t) {
        for (int s = 0; s < SHAPES; ++s)
            for (int i = 0; i < OPERANDS; ++i)
                if (p->lane[t].arg[s][i].memory) dnnl_memory_destroy(p->lane[t].arg[s][i].memory);
        if (p->lane[t].stream) dnnl_stream_destroy(p->lane[t].stream);
    }
    for (int s = 0; s < SHAPES; ++s)
        if (p->primitive[s]) dnnl_primitive_destroy(p->primitive[s]);
    free(p->lane);
    free(p);
}

/* -- running -- */

size_t mf_product_work(const struct mf_product *p) { return (size_t)p->threads * p->scratch; }

/* Where row @p row and column @p column of a matrix stand. */
static const char *at(const void *from, size_t row, size_t column, size_t step, int transposed, enum mf_type type)
{
    return (const char *)from + (transposed ? column * step + row : row * step + column) * mf_type_bytes(type);
}

static void tile(const struct mf_product *p, const struct lane *lane, size_t i, const void *a, const void *b, void *c,
                 const float *bias, void *scratch)
{
    const struct mf_product_wish *w = &p->wish;
    const size_t each = p->rows * p->columns, k = i / each, row = i % each / p->columns, column = i % p->columns;
    const size_t r = row * TILE_ROWS, s = column * TILE_COLUMNS;
    const int shape = shape_of(p, row, column);
    const dnnl_exec_arg_t *arg = lane->arg[shape];

    a = (const char *)a + k * w->m * w->k * mf_type_bytes(MF_BF16);
    b = (const char *)b + k * w->k * w->n * mf_type_bytes(MF_BF16);
    c = (char *)c + k * w->m * w->n * mf_type_bytes(w->type);
    mf_dnnl_put(&arg[A], at(a, r, 0, w->lda, w->ta, MF_BF16));
    mf_dnnl_put(&arg[B], at(b, 0, s, w->ldb, w->tb, MF_BF16));
    mf_dnnl_put(&arg[C], at(c, r, s, w->ldc, 0, w->type));
    mf_dnnl_put(&arg[SCRATCH], scratch);
    if (w->bias) mf_dnnl_put(&arg[BIAS], bias + s);
    mf_dnnl_execute(p->primitive[shape], lane->stream, operands(p), arg);
}

void mf_product_run(const struct mf_product *p, const void *a, const void *b, void *c, const float *bias, void *work)
{
    const size_t n = p->count * p->rows * p->columns;
    const int before = omp_get_max_threads(), threads = (size_t)p->threads < n ? p->threads : (int)n;

    omp_set_num_threads(1); /* of the library */
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1)
    for (size_t i = 0; i < n; ++i) {
        const int t = omp_get_thread_num();

        tile(p, &p->lane[t], i, a, b, c, bias, (char *)work + (size_t)t * p->scratch);
    }
    omp_set_num_threads(before);
}
