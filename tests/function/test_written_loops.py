"""The loops for an optimizing compiler, as m.write() emits them, give the bits of the first tier.

Their variants are chosen by layout: contiguous, strided, reversed, broadcast, in place.
"""

from __future__ import annotations

import io
import random
from typing import Any

import numpy as np
import pytest
from helpers import INNER, OUTER, build_extension

import cwrapjit

FLAGS = ("-O3", "-fno-strict-aliasing", "-fwrapv", "-ffp-contract=off", "-std=gnu11")

SATURATE = "int x = item__a() * 3 + item__b() * 5; item__c() = x > 255 ? 255 : x; return true;"
PRODUCT = """
    item__c().real = item__a().real * item__b().real - item__a().imag * item__b().imag;
    item__c().imag = item__a().real * item__b().imag + item__a().imag * item__b().real;
    return true;"""
MATMUL = """
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            item__c(i, j) = 0;
            for (int k = 0; k < 3; k++)
                item__c(i, j) += item__a(i, k) * item__b(k, j);
        }
    return true;"""

# name: signature, types, body
CASES: dict[str, tuple[str, tuple[Any, ...], str]] = {
    "sum": ("a(), b(), d() -> c()", ("f8",) * 4, "item__c() = item__a() * item__b() + item__d(); return 1;"),
    "single": ("a(), b() -> c()", ("f4",) * 3, "item__c() = item__a() * *scale - item__b(); return true;"),
    "twice": ("a(), b() -> c()", ("f8",) * 3, "item__c() = item__b(); item__c() += item__a(); return true;"),
    "saturate": ("a(), b() -> c()", ("u1",) * 3, SATURATE),
    "less": ("a(), b() -> c()", ("f8", "f8", "?"), "item__c() = item__a() < item__b(); return true;"),
    "product": ("a(), b() -> c()", ("c16",) * 3, PRODUCT),
    "inner": ("a(n), b(n) -> output()", ("f8",) * 3, INNER),
    "outer": ("a(n), b(m) -> output(n, m)", ("f8",) * 3, OUTER),
    "matmul": ("a(3, 3), b(3, 3) -> c(3, 3)", ("f8",) * 3, MATMUL),
    "mixed": ("a(), b(n) -> c()", ("f4", "i4", "f8"), "item__c() = item__a() + dims_slice__b[0]; return 1;"),
}


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """The module in memory and the same one built from its written source."""
    m = cwrapjit.module("cwj_loops", "made by a test")
    for name, (signature, types, body) in CASES.items():
        code = {tuple(np.dtype(type) for type in types): body}
        extra = (("float", "scale", "3", "f"),) if "scale" in body else ()
        m.function(name, "", signature=signature, Ccode_slice_eval=code, extra_args=extra)
    text = io.StringIO()
    m.write(text)
    return m, build_extension(tmp_path_factory.mktemp("loops"), "cwj_loops", text.getvalue(), *FLAGS)


def filled(noise: random.Random, dtype: np.dtype, shape: tuple[int, ...]) -> Any:
    """Numbers in a layout of any kind: as they come, every other one, or backwards."""
    rng = np.random.default_rng(noise.randrange(1 << 30))
    wide = rng.uniform(-100, 100, tuple(3 * length + 1 for length in shape))
    wide = (abs(wide) if dtype.kind == "u" else wide).astype(dtype)
    step = noise.choice([1, 1, 2, -1])
    view = wide[tuple(slice(None, None, step) for _ in shape)][tuple(slice(length) for length in shape)]
    return view if noise.random() < 0.5 else np.ascontiguousarray(view).reshape(shape)


def core_of(f: Any, dims: dict[str, int]) -> list[tuple[int, ...]]:
    """The core shape of each operand, from the signature."""
    parts = [part.split(")")[0] for part in f.signature.split("(")[1:]]
    words = [[word.strip() for word in part.split(",") if word.strip()] for part in parts]
    return [tuple(dims[word] if word in dims else int(word) for word in list_) for list_ in words]


@pytest.mark.row("G08")
@pytest.mark.parametrize("name", CASES)
def test_same_bits_in_all_layouts(modules: tuple[Any, Any], name: str) -> None:
    first, written = (getattr(m, name) for m in modules)
    types = [np.dtype(type) for type in CASES[name][1]]
    noise = random.Random(name)
    for _ in range(150):
        rows = noise.choice([1, 2, 3, 7, 16, 33, 100])
        shapes = core_of(first, {"n": noise.choice([0, 1, 3, 9]), "m": noise.choice([1, 3, 5])})
        leads = [noise.choice([(rows,), (rows,), (1,), ()]) for _ in shapes[:-1]] + [(rows,)]
        *inputs, out = [filled(noise, t, lead + s) for t, lead, s in zip(types, leads, shapes, strict=True)]
        k = noise.randrange(len(inputs))
        if noise.random() < 0.3 and inputs[k].shape == out.shape and not shapes[k] and not shapes[-1]:
            if types[k] == types[-1]:
                inputs[k] = out  # in place
        before = out.copy()
        first(*inputs, out=out)
        wanted = out.copy()
        out[...] = before
        written(*inputs, out=out)
        assert out.tobytes() == wanted.tobytes()
