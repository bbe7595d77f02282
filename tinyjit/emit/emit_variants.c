/* emit_variants.c: computes the constants in a variant of a loop: dims and strides.
 *
 * They are those of a profile, or follow from each other if slices are contiguous. Of a window, only the stride of the
 * last axis is constant: the others change with the image size, and vector code does not need them. */
#include "emit/emit.h"

const tj_profile *tj_profile_of(const tj_emitter *emitter, int t)
{
    const tj_profile *profile = emitter->profiles ? &emitter->profiles[t] : NULL;
    return profile && profile->known ? profile : NULL;
}

/* Returns the profile's stride of axis i of operand k's slice; i = -1: its step. */
static ptrdiff_t steady_stride(const tj_emitter *emitter, int t, int k, int i)
{
    int at = i < 0 ? k : emitter->spec->noperands + i;
    for (int other = 0; i >= 0 && other < k; other++)
        at += emitter->spec->operands[other].ndims;
    return tj_profile_of(emitter, t)->strides[at];
}

ptrdiff_t tj_constant_dim(const tj_emitter *emitter, const tj_variant *variant, int t,
                          const tj_dim *dim)
{
    const tj_profile *profile = variant->fixed ? tj_profile_of(emitter, t) : NULL;
    if (!dim->name)
        return dim->size;
    return profile ? profile->named[tj_named_dim(emitter, dim->name)] : -1;
}

/* Emits a constant, or the local that holds it. */
static void emit_dim(tj_emitter *emitter, const tj_variant *variant, int t, const tj_dim *dim)
{
    ptrdiff_t size = tj_constant_dim(emitter, variant, t, dim);
    if (size >= 0)
        tj_text_printf(emitter->out, "%td", size);
    else
        tj_text_printf(emitter->out, "cwj_dim_%d", tj_named_dim(emitter, dim->name));
}

bool tj_is_window(const tj_emitter *emitter, int k)
{
    return emitter->spec->windows && emitter->spec->windows[k].axes;
}

bool tj_is_free_stride(const tj_emitter *emitter, int k, int i)
{
    return tj_is_window(emitter, k) && i >= 0 && i + 1 < emitter->spec->operands[k].ndims;
}

void tj_emit_variant_stride(tj_emitter *emitter, const tj_variant *variant, int t, int k, int i)
{
    const tj_operand *operand = &emitter->spec->operands[k];
    if (tj_is_free_stride(emitter, k, i)) {
        tj_text_printf(emitter->out, "cwj->operands[%d].strides_slice[%d]", k, i);
        return;
    }
    if (variant->steady) {
        tj_text_printf(emitter->out, "%td", steady_stride(emitter, t, k, i));
        return;
    }
    bool window = tj_is_window(emitter, k);
    tj_text_printf(emitter->out, "%zu", emitter->spec->typesets[t].types[k].itemsize);
    if (window && i < 0) /* windows overlap, so the step does not depend on the size of a window */
        tj_text_printf(emitter->out, " * %td", emitter->spec->windows[k].steps[operand->ndims - 1]);
    for (int axis = i + 1; axis < operand->ndims && !window; axis++) {
        tj_text_puts(emitter->out, " * ");
        emit_dim(emitter, variant, t, &operand->dims[axis]);
    }
}

ptrdiff_t tj_variant_stride(const tj_emitter *emitter, const tj_variant *variant, int t, int k,
                            int i, const ptrdiff_t *named)
{
    const tj_operand *operand = &emitter->spec->operands[k];
    if (variant->steady)
        return steady_stride(emitter, t, k, i);
    ptrdiff_t stride = (ptrdiff_t)emitter->spec->typesets[t].types[k].itemsize;
    if (tj_is_window(emitter, k))
        return i < 0 ? stride * emitter->spec->windows[k].steps[operand->ndims - 1] : stride;
    for (int axis = i + 1; axis < operand->ndims; axis++) {
        ptrdiff_t size = tj_constant_dim(emitter, variant, t, &operand->dims[axis]);
        stride *= size >= 0 ? size : named[tj_named_dim(emitter, operand->dims[axis].name)];
    }
    return stride;
}

void tj_emit_variant_geometry(tj_emitter *emitter, int k, bool strides)
{
    const tj_operand *operand = &emitter->spec->operands[k];
    const tj_variant *variant = emitter->variant;
    const char *member = strides ? "strides_slice" : "dims_slice";
    tj_text_printf(emitter->out, "const npy_intp cwj_%s__%s[] = {", member, operand->name);
    for (int i = 0; i < operand->ndims; i++) {
        tj_text_puts(emitter->out, i ? ", " : "");
        if (!strides)
            emit_dim(emitter, variant, emitter->typeset, &operand->dims[i]);
        else if (variant->contiguous || variant->steady)
            tj_emit_variant_stride(emitter, variant, emitter->typeset, k, i);
        else
            tj_text_printf(emitter->out, "cwj->operands[%d].strides_slice[%d]", k, i);
    }
    tj_text_printf(emitter->out, "};\n    const npy_intp *%s__%s = cwj_%s__%s;\n", member,
                   operand->name, member, operand->name);
}
