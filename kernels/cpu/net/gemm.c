/* Matrix products by oneDNN. A product is cut into tiles of the output, each computed by one thread. The library splits
 * sums where it shares them out, so its bits would depend on the number of threads. */
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>

#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

enum { TILE_ROWS = 256, TILE_COLUMNS = 512 };

/* On this thread, where the library's own loops have one thread. */
static void product(const struct mf_gemm *g)
{
    MF_ASSERT(dnnl_sgemm(g->ta ? 'T' : 'N', g->tb ? 'T' : 'N', (dnnl_dim_t)g->m, (dnnl_dim_t)g->n, (dnnl_dim_t)g->k, 1,
                         g->a, (dnnl_dim_t)g->lda, g->b, (dnnl_dim_t)g->ldb, g->add ? 1 : 0, g->c,
                         (dnnl_dim_t)g->ldc) == dnnl_success);
}

static void tile(const struct mf_gemm *g, size_t row, size_t column)
{
    struct mf_gemm part = *g;

    part.m = row + TILE_ROWS < g->m ? TILE_ROWS : g->m - row;
    part.n = column + TILE_COLUMNS < g->n ? TILE_COLUMNS : g->n - column;
    part.a += g->ta ? row : row * g->lda;
    part.b += g->tb ? column * g->ldb : column;
    part.c += row * g->ldc + column;
    product(&part);
}

void mf_cpu_gemm(const struct mf_queue *queue, const struct mf_gemm *g)
{
    const size_t rows = (g->m + TILE_ROWS - 1) / TILE_ROWS, columns = (g->n + TILE_COLUMNS - 1) / TILE_COLUMNS;
    const int threads = mf_cpu_threads(queue, g->m * g->n);
    const int before = omp_get_max_threads();

    omp_set_num_threads(1); /* the library's own loops, where the tiles are not in parallel */
#pragma omp parallel for num_threads(threads) schedule(dynamic) if (threads > 1 && rows * columns > 1)
    for (size_t i = 0; i < rows * columns; ++i) tile(g, i / columns * TILE_ROWS, i % columns * TILE_COLUMNS);
    omp_set_num_threads(before);
}

void mf_cpu_gemm_alone(const struct mf_gemm *g)
{
    const int before = omp_get_max_threads();

    omp_set_num_threads(1);
    product(g);
    omp_set_num_threads(before);
}
