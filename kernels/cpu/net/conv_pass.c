/* See conv_pass.h. The code is for the versions 2 and 3 of the library. */
#include "kernels/cpu/net/conv_pass.h"

#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/net/dnnl.h"
#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

/* Operands of a primitive. */
enum { X, W, Y, SCRATCH, BIAS, OPERANDS };

/* Channels of a block in the library's own layout of images. */
enum { BLOCK = 8 };

/* Memory of one thread. */
struct lane {
    dnnl_stream_t stream;
    dnnl_exec_arg_t arg[OPERANDS];
    dnnl_exec_arg_t from[Y + 1], to[Y + 1]; /* of the reorders of images */
};

struct mf_conv_pass {
    enum mf_conv_kind kind;
    int threads, operands;
    size_t pieces, x_step, y_step; /* bytes from piece to piece */
    size_t weights, scratch;       /* bytes, multiples of 64 */
    dnnl_primitive_t convolution, reorder;
    dnnl_exec_arg_t from, to;       /* of the reorder, of weights */
    dnnl_primitive_t images[Y + 1]; /* X, Y: between our layout and the library's, NULL: they are the same */
    size_t blocked[Y + 1];          /* then: bytes of a piece in the library's */
    struct lane *lane;              /* [threads] */
};

/* -- versions of the library -- */

#if DNNL_VERSION_MAJOR >= 3
static dnnl_status_t describe(dnnl_primitive_desc_t *made, enum mf_conv_kind kind, const mf_layout_known of[],
                              const dnnl_dims_t stride, const dnnl_dims_t pad, dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t forward)
{
    static const dnnl_dims_t none = {0, 0};

    if (kind == MF_CONV_FORWARD)
        return dnnl_convolution_forward_primitive_desc_create(made, mf_dnnl_engine(), dnnl_forward_training,
                                                              dnnl_convolution_direct, of[X], of[W], of[BIAS], of[Y],
                                                              stride, none, pad, pad, attr);
    if (kind == MF_CONV_DATA)
        return dnnl_convolution_backward_data_primitive_desc_create(made, mf_dnnl_engine(), dnnl_convolution_direct,
                                                                    of[X], of[W], of[Y], stride, none, pad, pad,
                                                                    forward, attr);
    return dnnl_convolution_backward_weights_primitive_desc_create(made, mf_dnnl_engine(), dnnl_convolution_direct,
                                                                   of[X], of[W], NULL, of[Y], stride, none, pad, pad,
                                                                   forward, attr);
}
#else
static dnnl_status_t describe(dnnl_primitive_desc_t *made, enum mf_conv_kind kind, const mf_layout_known of[],
                              const dnnl_dims_t stride, const dnnl_dims_t pad, dnnl_primitive_attr_t attr,
                              dnnl_primitive_desc_t forward)
{
    dnnl_convolution_desc_t d;
    dnnl_status_t rc;

    if (kind == MF_CONV_FORWARD)
        rc = dnnl_convolution_forward_desc_init(&d, dnnl_forward_training, dnnl_convolution_direct, of[X], of[W],
                                                of[BIAS], of[Y], stride, pad, pad);
    else if (kind == MF_CONV_DATA)
        rc = dnnl_convolution_backward_data_desc_init(&d, dnnl_convolution_direct, of[X], of[W], of[Y], stride, pad,
                                                      pad);
    else
        rc = dnnl_convolution_backward_weights_desc_init(&d, dnnl_convolution_direct, of[X], of[W], NULL, of[Y], stride,
                                                         pad, pad);
    return rc == dnnl_success ? dnnl_primitive_desc_create(made, &d, attr, mf_dnnl_engine(), forward) : rc;
}
#endif

/* -- opening and closing -- */

/* Images of a piece: few enough for many threads, enough to use weights, or their sums, while they are near. */
static size_t piece_of(size_t images, enum mf_conv_kind kind)
{
    const size_t least = kind == MF_CONV_WEIGHTS ? 4 : 2;
    size_t piece = images / 8 < 8 ? images / 8 : 8;

    if (piece < least) piece = least < images ? least : images;
    while (images % piece) --piece;
    return piece;
}

/* Returns how many bytes the library writes behind its scratch memory. Version 2.6.3 does so for the gradient of
 * weights of 1 x 1 pixels with a stride. It packs images as if they had the channels of a whole vector. */
static size_t overrun(enum mf_conv_kind kind, const struct mf_shape *x, const struct mf_shape *w,
                      const struct mf_shape *y)
{
    enum { VECTOR = 16 }; /* channels, at most */

    if (kind != MF_CONV_WEIGHTS || w->d[2] * w->d[3] > 1 || x->d[3] >= VECTOR) return 0;
    return mf_whole_lines(y->d[1] * y->d[2] * VECTOR * sizeof(float));
}

/* The primitive and what threads hand to it. */
static dnnl_status_t make_lanes(struct mf_conv_pass *p, dnnl_primitive_desc_t desc)
{
    static const int arg[][OPERANDS] = {
        {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD, DNNL_ARG_BIAS},
        {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD},
        {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST, DNNL_ARG_SCRATCHPAD}};
    dnnl_status_t rc = dnnl_primitive_create(&p->convolution, desc);

    p->weights = mf_whole_lines(dnnl_memory_desc_get_size(mf_dnnl_operand(desc, arg[p->kind][W])));
    p->scratch = mf_whole_lines(dnnl_memory_desc_get_size(mf_dnnl_operand(desc, DNNL_ARG_SCRATCHPAD)));
    for (int t = 0; rc == dnnl_success && t < p->threads; ++t) {
        rc = dnnl_stream_create(&p->lane[t].stream, mf_dnnl_engine(), dnnl_stream_default_flags);
        for (int i = 0; rc == dnnl_success && i < p->operands; ++i)
            rc = mf_dnnl_argument(&p->lane[t].arg[i], arg[p->kind][i], mf_dnnl_operand(desc, arg[p->kind][i]));
    }
    return rc;
}

/* Does the pass write this operand? */
static int writes(const struct mf_conv_pass *p, int operand)
{
    return p->kind == MF_CONV_FORWARD ? operand == Y : p->kind == MF_CONV_DATA && operand == X;
}

/* The reorder of images between layouts. */
static dnnl_status_t make_images(struct mf_conv_pass *p, int operand, mf_layout_known plain, mf_layout_known own)
{
    const mf_layout_known from = writes(p, operand) ? own : plain, to = writes(p, operand) ? plain : own;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_status_t rc = dnnl_reorder_primitive_desc_create(&desc, from, mf_dnnl_engine(), to, mf_dnnl_engine(), NULL);

    if (rc == dnnl_success) rc = dnnl_primitive_create(&p->images[operand], desc);
    if (desc) dnnl_primitive_desc_destroy(desc);
    p->blocked[operand] = mf_whole_lines(dnnl_memory_desc_get_size(own));
    for (int t = 0; rc == dnnl_success && t < p->threads; ++t) {
        rc = mf_dnnl_argument(&p->lane[t].from[operand], DNNL_ARG_FROM, from);
        if (rc == dnnl_success) rc = mf_dnnl_argument(&p->lane[t].to[operand], DNNL_ARG_TO, to);
    }
    return rc;
}

/* Weights from the master's order to the library's, or back. */
static dnnl_status_t make_reorder(struct mf_conv_pass *p, mf_layout_known master, mf_layout_known own, int add)
{
    const int back = p->kind == MF_CONV_WEIGHTS;
    const mf_layout_known from = back ? own : master, to = back ? master : own;
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_attr_t attr = NULL;
    dnnl_post_ops_t operations = NULL;
    dnnl_status_t rc = dnnl_primitive_attr_create(&attr);

    if (rc == dnnl_success) rc = dnnl_post_ops_create(&operations);
    if (rc == dnnl_success && back && add) rc = mf_dnnl_append_sum(operations);
    if (rc == dnnl_success) rc = dnnl_primitive_attr_set_post_ops(attr, operations);
    if (rc == dnnl_success)
        rc = dnnl_reorder_primitive_desc_create(&desc, from, mf_dnnl_engine(), to, mf_dnnl_engine(), attr);
    if (rc == dnnl_success) rc = dnnl_primitive_create(&p->reorder, desc);
    if (rc == dnnl_success) rc = mf_dnnl_argument(&p->from, DNNL_ARG_FROM, from);
    if (rc == dnnl_success) rc = mf_dnnl_argument(&p->to, DNNL_ARG_TO, to);
    if (desc) dnnl_primitive_desc_destroy(desc);
    if (operations) dnnl_post_ops_destroy(operations);
    if (attr) dnnl_primitive_attr_destroy(attr);
    return rc;
}

static void set(dnnl_dims_t dims, size_t a, size_t b, size_t c, size_t d)
{
    dims[0] = (dnnl_dim_t)a;
    dims[1] = (dnnl_dim_t)b;
    dims[2] = (dnnl_dim_t)c;
    dims[3] = (dnnl_dim_t)d;
}

/* On large images its kernel for AVX2 is half as fast where channels come last as with its own layout. */
static int wants_blocks(const_dnnl_primitive_desc_t desc, const struct mf_shape *x, const struct mf_shape *y)
{
    const char *name = NULL;

    if (x->type != MF_F32 || x->d[3] % BLOCK || y->d[3] % BLOCK) return 0;
    if (dnnl_primitive_desc_query(desc, dnnl_query_impl_info_str, 0, &name) != dnnl_success) return 0;
    return strcmp(name, "jit:avx2") == 0;
}

/* Layouts of the operands. Weights may be as the library likes, and computed ones are f32. */
struct layouts {
    mf_layout plain[Y + 1], blocked[Y + 1]; /* X, Y */
    mf_layout weights, sums, master, bias;
};

static void layouts_make(struct layouts *l, const struct mf_shape *x, const struct mf_shape *w,
                         const struct mf_shape *y, size_t piece)
{
    const struct mf_shape *image[] = {[X] = x, [Y] = y};
    dnnl_dims_t dims;

    for (int i = X; i <= Y; i += Y - X) {
        set(dims, piece, image[i]->d[3], image[i]->d[1], image[i]->d[2]);
        mf_layout_tagged(&l->plain[i], 4, dims, image[i]->type, dnnl_nhwc);
        mf_layout_tagged(&l->blocked[i], 4, dims, image[i]->type, dnnl_nChw8c);
    }
    set(dims, w->d[0], w->d[1], w->d[2], w->d[3]);
    mf_layout_tagged(&l->weights, 4, dims, x->type, dnnl_format_tag_any);
    mf_layout_tagged(&l->sums, 4, dims, MF_F32, dnnl_format_tag_any);
    mf_layout_tagged(&l->master, 4, dims, w->type, dnnl_oihw);
    mf_layout_tagged(&l->bias, 1, dims, MF_F32, dnnl_x);
}

static void layouts_free(struct layouts *l)
{
    for (int i = X; i <= Y; i += Y - X) {
        mf_layout_free(&l->plain[i]);
        mf_layout_free(&l->blocked[i]);
    }
    mf_layout_free(&l->weights);
    mf_layout_free(&l->sums);
    mf_layout_free(&l->master);
    mf_layout_free(&l->bias);
}

/* Images in the library's layout, and the reorders. */
static dnnl_status_t use_blocks(struct mf_conv_pass *p, const struct layouts *l, mf_layout_known of[])
{
    dnnl_status_t rc = dnnl_success;

    for (int i = X; rc == dnnl_success && i <= Y; i += Y - X) {
        of[i] = mf_layout_of(&l->blocked[i]);
        rc = make_images(p, i, mf_layout_of(&l->plain[i]), of[i]);
    }
    return rc;
}

/* All handles, for one thread of the library. */
static dnnl_status_t make(struct mf_conv_pass *p, const struct mf_call *call, const struct mf_shape *x,
                          const struct mf_shape *w, const struct mf_shape *y)
{
    const dnnl_dims_t stride = {call->attr->stride, call->attr->stride}, pad = {call->attr->pad, call->attr->pad};
    struct layouts l;
    mf_layout_known of[OPERANDS] = {0};
    dnnl_primitive_attr_t attr = NULL;
    dnnl_primitive_desc_t forward = NULL, desc = NULL;
    dnnl_status_t rc = mf_dnnl_attr(&attr, p->kind == MF_CONV_FORWARD && call->attr->act == MF_ACT_RELU, 0);

    layouts_make(&l, x, w, y, x->d[0] / p->pieces);
    of[X] = mf_layout_of(&l.plain[X]);
    of[Y] = mf_layout_of(&l.plain[Y]);
    of[W] = mf_layout_of(&l.weights);
    if (p->operands > BIAS) of[BIAS] = mf_layout_of(&l.bias);
    if (rc == dnnl_success) rc = describe(&forward, MF_CONV_FORWARD, of, stride, pad, attr, NULL);
    if (rc == dnnl_success && wants_blocks(forward, x, y)) {
        dnnl_primitive_desc_destroy(forward);
        forward = NULL;
        rc = use_blocks(p, &l, of);
        if (rc == dnnl_success) rc = describe(&forward, MF_CONV_FORWARD, of, stride, pad, attr, NULL);
    }
    if (p->kind == MF_CONV_WEIGHTS) of[W] = mf_layout_of(&l.sums);
    if (rc == dnnl_success && p->kind != MF_CONV_FORWARD) rc = describe(&desc, p->kind, of, stride, pad, attr, forward);
    if (rc == dnnl_success) rc = make_lanes(p, desc ? desc : forward);
    p->scratch += overrun(p->kind, x, w, y);
    if (rc == dnnl_success)
        rc = make_reorder(p, mf_layout_of(&l.master), mf_dnnl_operand(desc ? desc : forward, p->lane->arg[W].arg),
                          call->add >> 1 & 1);
    if (desc) dnnl_primitive_desc_destroy(desc);
    if (forward) dnnl_primitive_desc_destroy(forward);
    if (attr) dnnl_primitive_attr_destroy(attr);
    layouts_free(&l);
    return rc;
}

int mf_conv_pass_open(struct mf_conv_pass **pass, enum mf_conv_kind kind, const struct mf_call *call, int threads)
{
    const struct mf_shape *x = call->in[0].shape.n ? &call->in[0].shape : &call->din[0].shape;
    const struct mf_shape *w = kind == MF_CONV_WEIGHTS ? &call->din[1].shape : &call->in[1].shape;
    const struct mf_shape *y = kind == MF_CONV_FORWARD ? &call->out[0].shape : &call->dout.shape;
    struct mf_conv_pass *p = MF_MUST(calloc(1, sizeof *p), "a convolution");
    const int before = omp_get_max_threads();
    dnnl_status_t rc = dnnl_success;

    p->kind = kind;
    p->operands = kind == MF_CONV_FORWARD && call->in[2].shape.n ? OPERANDS : BIAS;
    p->pieces = x->d[0] / piece_of(x->d[0], kind);
    p->threads = (size_t)threads < p->pieces ? threads : (int)p->pieces;
    p->lane = MF_MUST(calloc((size_t)p->threads, sizeof *p->lane), "threads of a convolution");
    p->x_step = mf_shape_bytes(x) / p->pieces;
    p->y_step = mf_shape_bytes(y) / p->pieces;
    omp_set_num_threads(1);
    rc = make(p, call, x, w, y);
    omp_set_num_threads(before);
    if (rc != dnnl_success) {
        mf_conv_pass_close(p);
        return mf_fail(MF_DEVICE, "oneDNN cannot compute a convolution (status %d)", (int)rc);
    }
    *pass = p;
    return MF_OK;
}

void mf_conv_pass_close(struct mf_conv_pass *p)
{
    if (!p) return;
    for (int t = 0; t < p->threads; ++t) {
        for (int i = 0; i < p->operands; ++i)
            if (p->lane[t].arg[i].memory) dnnl_memory_destroy(p->lane[t].arg[i].memory);
        for (int i = 0; i <= Y; ++i) {
            if (p->lane[t].from[i].memory) dnnl_memory_destroy(p->lane[t].from[i].memory);
            if (p->lane[t].to[i].memory) dnnl_memory_destroy(p->lane[t].to[i].memory);
        }
        if (p->lane[t].stream) dnnl_stream_destroy(p->lane[t].stream);
    }
    if (p->from.memory) dnnl_memory_destroy(p->from.memory);
    if (p->to.memory) dnnl_memory_destroy(p->to.memory);
    for (int i = 0; i <= Y; ++i)
        if (p->images[i]) dnnl_primitive_destroy(p->images[i]);
    if (p->convolution) dnnl_primitive_destroy(p->convolution);
    if (p->reorder) dnnl_primitive_destroy(p->reorder);
    free(p->lane);
    free(p);
}

/* -- running -- */

/* Work memory: the weights in the library's order, and for every thread scratch memory. If weights are computed, it has
 * partial sums. Then come images in the library's layout. */
static size_t each(const struct mf_conv_pass *p)
{
    return p->scratch + (p->kind == MF_CONV_WEIGHTS && p->pieces > 1 ? p->weights : 0) + p->blocked[X] + p->blocked[Y];
}

size_t mf_conv_pass_work(const struct mf_conv_pass *p) { return p->weights + (size_t)p->threads * each(p); }

static void turn(const struct mf_conv_pass *p, void *from, void *to)
{
    const dnnl_exec_arg_t both[] = {p->from, p->to};

    mf_dnnl_put(&both[0], from);
    mf_dnnl_put(&both[1], to);
    mf_dnnl_execute(p->reorder, p->lane->stream, 2, both);
}

static void reorder(const struct mf_conv_pass *p, const struct lane *lane, int operand, const void *from, void *to)
{
    const dnnl_exec_arg_t both[] = {lane->from[operand], lane->to[operand]};

    mf_dnnl_put(&both[0], from);
    mf_dnnl_put(&both[1], to);
    mf_dnnl_execute(p->images[operand], lane->stream, 2, both);
}

/* Images of a piece, as the library wants them. @p room: for those in its layout. */
static void bring(const struct mf_conv_pass *p, const struct lane *lane, int operand, void *at, void *room)
{
    if (p->images[operand] && !writes(p, operand)) reorder(p, lane, operand, at, room);
    mf_dnnl_put(&lane->arg[operand], p->images[operand] ? room : at);
}

static void compute(const struct mf_conv_pass *p, const struct lane *lane, char *x, char *y, char *images)
{
    bring(p, lane, X, x, images);
    bring(p, lane, Y, y, images + p->blocked[X]);
    mf_dnnl_execute(p->convolution, lane->stream, p->operands, lane->arg);
    if (p->images[X] && writes(p, X)) reorder(p, lane, X, images, x);
    if (p->images[Y] && writes(p, Y)) reorder(p, lane, Y, images + p->blocked[X], y);
}

void mf_conv_pass_run(struct mf_conv_pass *p, void *x, void *w, void *y, const float *bias, void *work)
{
    const int sums = p->kind == MF_CONV_WEIGHTS, before = omp_get_max_threads();
    char *const room = (char *)work + p->weights;

    omp_set_num_threads(1); /* of the library */
    if (!sums) turn(p, w, work);
#pragma omp parallel for ordered num_threads(p->threads) schedule(static, 1)
    for (size_t i = 0; i < p->pieces; ++i) {
        const int t = omp_get_thread_num();
        const struct lane *lane = &p->lane[t];
        char *const own = room + (size_t)t * each(p);
        char *const part = sums && p->pieces > 1 ? own + p->scratch : work;

        mf_dnnl_put(&lane->arg[W], part);
        mf_dnnl_put(&lane->arg[SCRATCH], own);
        if (p->operands > BIAS) mf_dnnl_put(&lane->arg[BIAS], bias);
        compute(p, lane, (char *)x + i * p->x_step, (char *)y + i * p->y_step,
                own + each(p) - p->blocked[X] - p->blocked[Y]);
        /* sums of pieces add in the order of the pieces */
#pragma omp ordered
        if (part != work) mf_cpu_move((const float *)part, work, p->weights / sizeof(float), i > 0);
    }
    if (sums) turn(p, work, w);
    omp_set_num_threads(before);
}
