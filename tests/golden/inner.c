#line 2 "<cwrapjit innerlib.inner generated>"
/* innerlib.inner: a(n), b(n) -> output()
 *
 *   cwj_loop_K__inner     runs cwj_dims[0] slices of type set K
 *   cwj_slice_K__inner    one of them, where the loop calls it
 *   cwj_function__inner   describes the function to the call path
 *
 * A snippet gets the values that it names, here for an operand X:
 *
 *   data_slice__X       its slice; dims_slice__X in elements, strides_slice__X
 *                       in bytes; ..._full__X of the whole array
 *   item__X(i, ...)     one element, a ctype__X
 */

/* ---- header ---- */

#line 1 "<cwrapjit innerlib header>"
#include <stdint.h>
#line 20 "<cwrapjit innerlib.inner generated>"

/* ---- float64, float64 -> float64 ---- */

#define dims_slice__a ((const npy_intp *)cwj_dims_slice__a)
#define strides_slice__a ((const npy_intp *)cwj_strides_slice__a)
#define strides_slice__b ((const npy_intp *)cwj_strides_slice__b)

static int cwj_loop_0__inner(char **cwj_data, const npy_intp *cwj_dims,
    const npy_intp *cwj_steps, void *cwj_ctx)
{
    const cwj_call *cwj = cwj_ctx;
    npy_intp cwj_left = cwj_dims[0];
    char *cwj_at__a = cwj_data[0];
    const npy_intp cwj_step__a = cwj_steps[0];
    npy_intp cwj_dims_slice__a[1];
    cwj_dims_slice__a[0] = cwj->operands[0].dims_slice[0];
    npy_intp cwj_strides_slice__a[1];
    cwj_strides_slice__a[0] = cwj->operands[0].strides_slice[0];
    char *cwj_at__b = cwj_data[1];
    const npy_intp cwj_step__b = cwj_steps[1];
    npy_intp cwj_strides_slice__b[1];
    cwj_strides_slice__b[0] = cwj->operands[1].strides_slice[0];
    char *cwj_at__output = cwj_data[2];
    const npy_intp cwj_step__output = cwj_steps[2];

    if (cwj_left < 1)
        return 1;
    _Static_assert(true && !false, "true and false are changed");
#ifdef return
#error return is a macro
#endif
/* A macro's return would leave the loop: then the slice becomes a
   function. */
#define return cwj_hidden_return
cwj_next:;
    {
    const void *data_slice__a = cwj_at__a;
    const void *data_slice__b = cwj_at__b;
    void *data_slice__output = cwj_at__output;
#line 1 "<cwrapjit innerlib.inner float64>"

    double* out = (double*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = 0.0;

    for(int i=0; i<N; i++)
        *out += *(const double*)(data_slice__a + i*strides_slice__a[0]) *
                *(const double*)(data_slice__b + i*strides_slice__b[0]);
    
    }
#line 72 "<cwrapjit innerlib.inner generated>"
#undef return
    cwj_at__a += cwj_step__a;
    cwj_at__b += cwj_step__b;
    cwj_at__output += cwj_step__output;
    if (--cwj_left > 0)
        goto cwj_next;
    return 1;
}

#undef dims_slice__a
#undef strides_slice__a
#undef strides_slice__b

/* ---- float32, float32 -> float32 ---- */

#define dims_slice__a ((const npy_intp *)cwj_dims_slice__a)
#define strides_slice__a ((const npy_intp *)cwj_strides_slice__a)
#define strides_slice__b ((const npy_intp *)cwj_strides_slice__b)

static int cwj_loop_1__inner(char **cwj_data, const npy_intp *cwj_dims,
    const npy_intp *cwj_steps, void *cwj_ctx)
{
    const cwj_call *cwj = cwj_ctx;
    npy_intp cwj_left = cwj_dims[0];
    char *cwj_at__a = cwj_data[0];
    const npy_intp cwj_step__a = cwj_steps[0];
    npy_intp cwj_dims_slice__a[1];
    cwj_dims_slice__a[0] = cwj->operands[0].dims_slice[0];
    npy_intp cwj_strides_slice__a[1];
    cwj_strides_slice__a[0] = cwj->operands[0].strides_slice[0];
    char *cwj_at__b = cwj_data[1];
    const npy_intp cwj_step__b = cwj_steps[1];
    npy_intp cwj_strides_slice__b[1];
    cwj_strides_slice__b[0] = cwj->operands[1].strides_slice[0];
    char *cwj_at__output = cwj_data[2];
    const npy_intp cwj_step__output = cwj_steps[2];

    if (cwj_left < 1)
        return 1;
    _Static_assert(true && !false, "true and false are changed");
#ifdef return
#error return is a macro
#endif
/* A macro's return would leave the loop: then the slice becomes a
   function. */
#define return cwj_hidden_return
cwj_next:;
    {
    const void *data_slice__a = cwj_at__a;
    const void *data_slice__b = cwj_at__b;
    void *data_slice__output = cwj_at__output;
#line 1 "<cwrapjit innerlib.inner float32>"

    float* out = (float*)data_slice__output;
    const int N = dims_slice__a[0];

    *out = 0.0;

    for(int i=0; i<N; i++)
        *out += *(const float*)(data_slice__a + i*strides_slice__a[0]) *
                *(const float*)(data_slice__b + i*strides_slice__b[0]);
    
    }
#line 136 "<cwrapjit innerlib.inner generated>"
#undef return
    cwj_at__a += cwj_step__a;
    cwj_at__b += cwj_step__b;
    cwj_at__output += cwj_step__output;
    if (--cwj_left > 0)
        goto cwj_next;
    return 1;
}

#undef dims_slice__a
#undef strides_slice__a
#undef strides_slice__b

/* ---- float64, float64 -> int32 ---- */

#define ctype__a npy_float64
#define item__a(i) (*(const ctype__a *)(cwj_at__a + (i) * cwj_stride_0__a))
#define ctype__b npy_float64
#define item__b(i) (*(const ctype__b *)(cwj_at__b + (i) * cwj_stride_0__b))
#define ctype__output npy_int32
#define item__output() (*(ctype__output *)(cwj_at__output))
#define dims_slice__a ((const npy_intp *)cwj_dims_slice__a)

static int cwj_loop_2__inner(char **cwj_data, const npy_intp *cwj_dims,
    const npy_intp *cwj_steps, void *cwj_ctx)
{
    const cwj_call *cwj = cwj_ctx;
    npy_intp cwj_left = cwj_dims[0];
    char *cwj_at__a = cwj_data[0];
    const npy_intp cwj_step__a = cwj_steps[0];
    const npy_intp cwj_stride_0__a = cwj->operands[0].strides_slice[0];
    npy_intp cwj_dims_slice__a[1];
    cwj_dims_slice__a[0] = cwj->operands[0].dims_slice[0];
    char *cwj_at__b = cwj_data[1];
    const npy_intp cwj_step__b = cwj_steps[1];
    const npy_intp cwj_stride_0__b = cwj->operands[1].strides_slice[0];
    char *cwj_at__output = cwj_data[2];
    const npy_intp cwj_step__output = cwj_steps[2];

    if (cwj_left < 1)
        return 1;
    _Static_assert(true && !false, "true and false are changed");
#ifdef return
#error return is a macro
#endif
/* A macro's return would leave the loop: then the slice becomes a
   function. */
#define return cwj_hidden_return
cwj_next:;
    {
#line 1 "<cwrapjit innerlib.inner float64,float64,int32>"

    double out = 0.0;

    for(int i=0; i<dims_slice__a[0]; i++)
        out += item__a(i) * item__b(i);
    item__output() = (int32_t)round(out);
    
    }
#line 196 "<cwrapjit innerlib.inner generated>"
#undef return
    cwj_at__a += cwj_step__a;
    cwj_at__b += cwj_step__b;
    cwj_at__output += cwj_step__output;
    if (--cwj_left > 0)
        goto cwj_next;
    return 1;
}

#undef ctype__a
#undef item__a
#undef ctype__b
#undef item__b
#undef ctype__output
#undef item__output
#undef dims_slice__a

/* ---- what the call path knows of the function ---- */

static const char *const cwj_named__inner[] = {"n"};

static const cwj_operand_decl cwj_operands__inner[] = {
    {"a", CWJ_IN, 1, (const npy_intp[]){-1}, 0},
    {"b", CWJ_IN, 1, (const npy_intp[]){-1}, 0},
    {"output", CWJ_OUT, 0, 0, 0},
};

static const cwj_typeset cwj_typesets__inner[] = {
    {"float64, float64 -> float64",
     (const cwj_type[]){{12, 8, 0}, {12, 8, 0}, {12, 8, 0}}, cwj_loop_0__inner},
    {"float32, float32 -> float32",
     (const cwj_type[]){{11, 4, 0}, {11, 4, 0}, {11, 4, 0}}, cwj_loop_1__inner},
    {"float64, float64 -> int32",
     (const cwj_type[]){{12, 8, 0}, {12, 8, 0}, {5, 4, 0}}, cwj_loop_2__inner},
};

CWJ_DESCRIPTOR const cwj_function_decl cwj_function__inner = {
    /* names      */ "inner", "innerlib.inner", "a(n), b(n) -> output()",
    /* flags      */ CWJ_ONE_OUTPUT,
    /* threads    */ 1,
    /* operands   */ 2, 1, cwj_operands__inner,
    /* named dims */ 1, cwj_named__inner, 0, 0,
    /* type sets  */ 3, cwj_typesets__inner,
    /* extras     */ 0, 0, 0, 0,
    /* cookie     */ 0,
    /* validate   */ 0,
    /* cleanup    */ 0,
    /* windows    */ 0,
};
