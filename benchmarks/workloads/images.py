"""Pictures: an escape-time fractal, and arithmetic on uint8 pixels."""

import numpy as np

from workloads import Numba, Workload, count, definition

# ---- escape time ---------------------------------------------------------------------------------

LIMIT = 100


def plane(rng, quick):
    real = np.linspace(-2.0, 0.6, 100 if quick else 300)
    imaginary = np.linspace(-1.2, 1.2, 70 if quick else 200)
    return real[np.newaxis, :], imaginary[:, np.newaxis]


def escape_numpy(cr, ci, out):
    c = cr + 1j * ci
    z = np.zeros_like(c)
    inside = np.ones(c.shape, bool)
    out[...] = 0
    with np.errstate(all="ignore"):
        for _ in range(LIMIT):
            z = z * z + c
            inside &= z.real * z.real + z.imag * z.imag <= 4.0
            out += inside


def escape_point(cr, ci):
    zr = 0.0
    zi = 0.0
    steps = 0
    while steps < LIMIT:
        real = zr * zr - zi * zi + cr
        zi = 2.0 * zr * zi + ci
        zr = real
        if zr * zr + zi * zi > 4.0:
            break
        steps += 1
    return steps


ESCAPE_C = f"""
    double zr = 0, zi = 0;
    int steps = 0;
    while(steps < {LIMIT}) {{
        const double real = zr*zr - zi*zi + CR;
        zi = 2*zr*zi + CI;
        zr = real;
        if(zr*zr + zi*zi > 4)
            break;
        steps++;
    }}
"""


def escape_definition(cr, ci, steps):
    text = ESCAPE_C.replace("CR", cr).replace("CI", ci) + f"{steps} = steps; return true;"
    return definition({"cr": (), "ci": ()}, (), {(np.float64, np.float64, np.int32): text})


ESCAPE = Workload(
    name="escape",
    title=f"escape-time fractal, 200 x 300 points, {LIMIT} steps at most",
    inputs=plane,
    out=lambda cr, ci: np.empty(np.broadcast_shapes(cr.shape, ci.shape), np.int32),
    definition=escape_definition("item__cr()", "item__ci()", "item__output()"),
    loop=f"""
void escape(const double* restrict cr, const double* restrict ci, int* restrict out, ptrdiff_t n, ptrdiff_t m)
{{
    for(ptrdiff_t i = 0; i < n; i++)
        for(ptrdiff_t j = 0; j < m; j++) {{
            {ESCAPE_C.replace("CR", "cr[j]").replace("CI", "ci[i]")}
            out[i*m + j] = steps;
        }}
}}""",
    loop_arguments=lambda cr, ci, out: (cr, ci, out, *out.shape),
    numpy={"numpy": escape_numpy},
    numba=Numba(escape_point, "int32(float64, float64)"),
    # Its item__ has one type for all operands of a type set.
    pywrap=escape_definition(
        "*(const double*)data_slice__cr", "*(const double*)data_slice__ci", "*(int32_t*)data_slice__output"
    ),
    left_out={"numexpr": "has no loops"},
    may_differ=0.01,
)

# ---- uint8 ---------------------------------------------------------------------------------------

SHARE = 77  # of 256


def blend_numpy(a, b, out):
    total = np.multiply(b, np.uint16(SHARE), dtype=np.uint16)
    np.right_shift(total, 8, out=total)
    np.add(total, a, out=total)
    np.minimum(total, 255, out=out, casting="unsafe")


def blend_pixel(a, b):
    total = np.int32(a) + ((np.int32(b) * np.int32(SHARE)) >> np.int32(8))
    return min(total, np.int32(255))


BLEND = Workload(
    name="blend",
    title="saturating blend of pictures, 1080 x 1920 x 3 uint8",
    inputs=lambda rng, quick: tuple(
        rng.integers(0, 256, (count(quick, 1080 * 10) // 10, 1920, 3), dtype=np.uint8) for _ in range(2)
    ),
    out=lambda a, _b: np.empty_like(a),
    definition=definition(
        {"a": (), "b": ()},
        (),
        {
            np.uint8: f"""
                const int total = item__a() + ((item__b()*{SHARE}) >> 8);
                item__output() = total > 255 ? 255 : total;
                return true;"""
        },
    ),
    loop=f"""
void blend(const unsigned char* restrict a, const unsigned char* restrict b, unsigned char* restrict out,
           ptrdiff_t n)
{{
    for(ptrdiff_t i = 0; i < n; i++) {{
        const int total = a[i] + ((b[i]*{SHARE}) >> 8);
        out[i] = total > 255 ? 255 : total;
    }}
}}""",
    loop_arguments=lambda a, b, out: (a, b, out, a.size),
    numpy={"numpy": blend_numpy},
    numba=Numba(blend_pixel, "uint8(uint8, uint8)"),
    numexpr=f"where(a + ((b*{SHARE}) >> 8) > 255, 255, a + ((b*{SHARE}) >> 8))",
)

ALL = [ESCAPE, BLEND]
