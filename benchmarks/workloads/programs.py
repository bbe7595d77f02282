"""Array programs of <math.h>'s functions, each with fastmath and without."""

from collections.abc import Callable
from typing import Any

import numpy as np

from workloads import Numba, Workload, count, definition

Ranges = dict[str, tuple[float, float]]


def with_and_without_fastmath(
    name: str,
    title: str,
    ranges: Ranges,
    text: str,
    numpy: Callable[..., Any],
    numba: Callable[..., Any],
    numexpr: str,
) -> list[Workload]:
    """ranges: of each argument's random numbers. text: C statements, the last of which sets `result`."""
    arguments = [f"const double {x} = item__{x}();" for x in ranges]
    pointers = [f"const double* restrict all_{x}" for x in ranges]
    elements = [f"const double {x} = all_{x}[i];" for x in ranges]
    types = ", ".join(["float64"] * len(ranges))

    def inputs(rng: np.random.Generator, quick: bool) -> tuple[np.ndarray, ...]:
        return tuple(rng.uniform(low, high, count(quick, 10**6)) for low, high in ranges.values())

    def made(fastmath: bool) -> Workload:
        full_name = f"{name}{'_fast' if fastmath else ''}"
        body = "\n".join([*arguments, "double result;", text, "item__output() = result;", "return true;"])
        return Workload(
            name=full_name,
            title=f"{title}, 1e6 float64{', fastmath' if fastmath else ''}",
            inputs=inputs,
            out=lambda first, *_: np.empty_like(first),
            definition=definition(dict.fromkeys(ranges, ()), (), {np.float64: body}),
            loop=f"""
void {full_name}({", ".join(pointers)}, double* restrict out, ptrdiff_t n)
{{
    for(ptrdiff_t i = 0; i < n; i++) {{
        {" ".join(elements)}
        double result;
        {text}
        out[i] = result;
    }}
}}""",
            loop_arguments=lambda *arrays: (*arrays, arrays[-1].size),
            numpy={"numpy": numpy},
            numba=Numba(numba, f"float64({types})"),
            numexpr=numexpr,
            fastmath=fastmath,
        )

    return [made(False), made(True)]


# ---- a wave under a bell ---------------------------------------------------------------------------


def waves_numpy(x, y, out):
    np.multiply(x, x, out=out)
    np.negative(out, out=out)
    np.exp(out, out=out)
    np.multiply(out, np.sin(y), out=out)


WAVES = with_and_without_fastmath(
    "waves",
    "exp(-x*x)*sin(y)",
    {"x": (-2, 2), "y": (-2, 2)},
    "result = exp(-x*x) * sin(y);",
    waves_numpy,
    lambda x, y: np.exp(-x * x) * np.sin(y),
    "exp(-x*x) * sin(y)",
)

# ---- terms of a logistic likelihood ----------------------------------------------------------------


def likelihood_numpy(x, y, out):
    np.multiply(x, 2.0, out=out)
    out += 0.5
    out *= y
    np.negative(out, out=out)
    np.exp(out, out=out)
    np.log1p(out, out=out)


LIKELIHOOD = with_and_without_fastmath(
    "likelihood",
    "logistic likelihood",
    {"x": (-3, 3), "y": (-1, 1)},
    "result = log1p(exp(-y * (0.5 + 2*x)));",
    likelihood_numpy,
    lambda x, y: np.log1p(np.exp(-y * (0.5 + 2 * x))),
    "log1p(exp(-y * (0.5 + 2*x)))",
)

# ---- distances on a sphere -------------------------------------------------------------------------


def haversine_numpy(a, b, c, d, out):
    half = np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2
    np.multiply(12742, np.arcsin(np.sqrt(half)), out=out)


HAVERSINE = with_and_without_fastmath(
    "haversine",
    "haversine",
    {"a": (-1.5, 1.5), "b": (-3, 3), "c": (-1.5, 1.5), "d": (-3, 3)},
    """const double p = sin((c - a) / 2), q = sin((d - b) / 2);
        result = 12742 * asin(sqrt(p*p + cos(a) * cos(c) * q*q));""",
    haversine_numpy,
    lambda a, b, c, d: (
        12742
        * np.arcsin(np.sqrt(np.sin((c - a) / 2) ** 2 + np.cos(a) * np.cos(c) * np.sin((d - b) / 2) ** 2))
    ),
    "12742 * arcsin(sqrt(sin((c - a) / 2)**2 + cos(a) * cos(c) * sin((d - b) / 2)**2))",
)

# ---- prices of options -----------------------------------------------------------------------------
# The normal distribution by tanh(), as NumPy and numexpr have no erf().


def black_scholes_numpy(s, k, t, out):
    root = 0.2 * np.sqrt(t)
    d = (np.log(s / k) + 0.07 * t) / root
    e = d - root
    out[...] = s * (0.5 + 0.5 * np.tanh(0.7978845608 * (d + 0.044715 * d * d * d))) - k * np.exp(
        -0.05 * t
    ) * (0.5 + 0.5 * np.tanh(0.7978845608 * (e + 0.044715 * e * e * e)))


def black_scholes_numba(s, k, t):
    root = 0.2 * np.sqrt(t)
    d = (np.log(s / k) + 0.07 * t) / root
    e = d - root
    return s * (0.5 + 0.5 * np.tanh(0.7978845608 * (d + 0.044715 * d * d * d))) - k * np.exp(-0.05 * t) * (
        0.5 + 0.5 * np.tanh(0.7978845608 * (e + 0.044715 * e * e * e))
    )


_D = "((log(s/k) + 0.07*t) / (0.2*sqrt(t)))"
_E = "((log(s/k) + 0.03*t) / (0.2*sqrt(t)))"
_SHARE = "(0.5 + 0.5 * tanh(0.7978845608 * ({0} + 0.044715 * {0}*{0}*{0})))"

BLACK_SCHOLES = with_and_without_fastmath(
    "black_scholes",
    "Black-Scholes prices",
    {"s": (50, 150), "k": (50, 150), "t": (0.1, 2)},
    """const double root = 0.2 * sqrt(t), d = (log(s / k) + 0.07*t) / root, e = d - root;
        result = s * (0.5 + 0.5 * tanh(0.7978845608 * (d + 0.044715 * d*d*d)))
            - k * exp(-0.05 * t) * (0.5 + 0.5 * tanh(0.7978845608 * (e + 0.044715 * e*e*e)));""",
    black_scholes_numpy,
    black_scholes_numba,
    f"s * {_SHARE.format(_D)} - k * exp(-0.05*t) * {_SHARE.format(_E)}",
)

ALL = [*WAVES, *LIKELIHOOD, *HAVERSINE, *BLACK_SCHOLES]
