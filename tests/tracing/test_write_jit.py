"""Tests f.write(): C files that a C program compiles and calls. Its results are compared with NumPy's."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cwrapjit import grad, jit, scan, value_and_grad, vmap

RNG = np.random.default_rng(9)
X = RNG.normal(size=(6, 5))
V = RNG.normal(size=6)
I32 = RNG.integers(-50, 50, (6, 5)).astype(np.int32)
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1"]
C_NAMES = {"float64": "double", "float32": "float", "bool": "bool"}

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="gcc is not installed")


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (tuple, list)):
        return [leaf for each in tree for leaf in leaves(each)]
    return [tree]


def in_c(dtype: Any) -> str:
    return C_NAMES.get(np.dtype(dtype).name, f"{np.dtype(dtype).name}_t")


def lengths(examples: tuple[Any, ...], header: str) -> list[int]:
    """Returns the lengths that the header asks for, in the order of axes of the examples."""
    found = [n for x in examples for n in np.shape(x) if n > 1]
    return list(dict.fromkeys(found))[: header.count("size_t len")]


def run_in_c(folder: Path, header: str, args: tuple[Any, ...], results: list[Any]) -> list[Any]:
    """Writes, compiles and runs a C program that calls the function with these arguments."""
    lines, names = [], []
    for k, x in enumerate(args):
        values = ", ".join(v.hex() if isinstance(v, float) else str(int(v)) for v in np.ravel(x).tolist())
        kind = in_c(np.asarray(x).dtype)
        lines.append(f"static {kind} x{k}[] = {{{values}}};")
        names.append(f"x{k}" if np.ndim(x) else f"x{k}[0]")
    names += [str(n) for n in lengths(args, header)]
    for k, y in enumerate(results):
        lines.append(f"static {in_c(np.asarray(y).dtype)} y{k}[{max(np.size(y), 1)}];")
        names.append(f"y{k}")
    writes = "".join(f"fwrite(y{k}, sizeof y{k}[0], {np.size(y)}, stdout);\n" for k, y in enumerate(results))
    call = f"code({', '.join(names)})"
    checked = f"if ({call} != 0) return 1;" if "int code(" in header else f"{call};"
    (folder / "main.c").write_text(
        '#include "code.h"\n#include <stdio.h>\n'
        + "\n".join(lines)
        + f"\nint main(void)\n{{\n{checked}\n{writes}return 0;\n}}\n"
    )
    built = subprocess.run(
        ["gcc", *STRICT, "-o", "main", "main.c", "code.c", "-lm"], cwd=folder, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr + (folder / "code.c").read_text()
    data = subprocess.run([folder / "main"], capture_output=True, check=True).stdout
    made, at = [], 0
    for y in results:
        dtype = np.asarray(y).dtype
        made.append(np.frombuffer(data, dtype, np.size(y), at).reshape(np.shape(y)))
        at += np.size(y) * dtype.itemsize
    assert at == len(data)
    return made


def loglik(w: Any, x: Any, y: Any) -> Any:
    p = 1 / (1 + np.exp(-(x @ w)))
    return -np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)), (p - y) @ x


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def blocks(x: Any) -> Any:
    e, t = np.exp(x), np.tanh(x)
    return ((e / e.sum(axis=1, keepdims=True)) > (t / t.sum(axis=1, keepdims=True))).sum(axis=1)


def integers(a: Any, b: Any) -> Any:
    return (
        a // b,
        a % b,
        (a << 2) | (b & 7),
        np.maximum(a, b).sum(axis=1),
        np.sign(a) * np.abs(b),
        a.max(),
        a > b,
        -a,
    )


def step(x: Any) -> Any:
    inner = x[1:-1, 1:-1]
    return inner + 0.1 * (x[1:-1, :-2] + x[1:-1, 2:] + x[:-2, 1:-1] + x[2:, 1:-1] - 4 * inner)


def views(x: Any) -> Any:
    y = x[::-1].T[:, None, 2:]
    return y, y.reshape(-1) * 2, x[0] + x[-1, ::2].sum(), x.ravel()[3], np.stack([x[0], x[1]], 1)


def smooth(x: Any, k: Any) -> Any:
    last, ys = scan(
        lambda c, v: ((np.minimum(c[0], v), c[1] * k + v), (c[1], v > c[0])), (np.inf, 0.0), x * 2
    )
    return last, ys


def rows(x: Any) -> Any:
    return scan(lambda c, v: (0.5 * c + v, c), np.ones(5), x)


CASES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "loglik": (loglik, (RNG.normal(size=5), X, (V > 0).astype(float))),
    "softmax": (softmax, (X,)),
    "softmax of a vector": (softmax, (V,)),
    "blocks": (blocks, (X,)),
    "broadcast": (lambda a, b: (a * b, a + 1, (a - b).sum(axis=0)), (V[:, None], X[0])),
    "reductions": (
        lambda x: (
            x.sum(axis=0),
            x.max(),
            np.mean(x, axis=0),
            x.min(axis=0, keepdims=True),
            x.mean(),
            x.prod(axis=-1),
        ),
        (X,),
    ),
    "integers": (integers, (I32, I32[::-1] // 7 * 2 + 1)),
    "unsigned": (lambda a: (a * 3 - 1, a >> 1, a.min(axis=0), np.sign(a), a % 3), (I32.astype(np.uint8),)),
    "bools": (lambda a: (~(a > 0), (a > 0).any(axis=0), (a > 0).all(), np.where(a > 0, a, 1.5)), (X,)),
    "single": (lambda a: (np.sqrt(np.abs(a)) * 2, a.sum(axis=-1), a.T @ a), (X.astype(np.float32),)),
    "numbers": (lambda a, k, n: (a * k + n, k * 2 - n, k * k), (V, 1.5, 4)),
    "step": (step, (X,)),
    "views": (views, (X,)),
    "constants": (lambda x: (x + np.arange(5.0), np.zeros_like(x), np.full_like(x, 2.5) * x, 3, x), (X,)),
    "scan": (smooth, (V, 0.5)),
    "scan of rows": (rows, (X,)),
    "cumsum": (lambda x: (np.cumsum(x, axis=0), np.cumprod(x, axis=1), x.cumsum(axis=0)[-1] * 2), (X,)),
    "products": (
        lambda a, b: (a @ b, a @ b[:, 0], b[:, 0] @ b, np.concatenate([a, b.T], axis=0)),
        (X[:5], X[:5].T @ X[:5]),
    ),
    "gradient": (value_and_grad(lambda w, x, y: loglik(w, x, y)[0]), (RNG.normal(size=5), X, 1.0 * (V > 0))),
    "gradients": (vmap(grad(lambda w, x: np.tanh(x @ w)), (None, 0)), (RNG.normal(size=5), X)),
    "gradient of slices": (grad(lambda x: (x[1:] * x[:-1, ::-1]).sum()), (X,)),
    "batches": (lambda a, b: a @ b, (RNG.normal(size=(3, 2, 4)), RNG.normal(size=(4, 5)))),
}


@pytest.mark.row("J09")
@pytest.mark.compiler("compiles C programs")
@needs_gcc
@pytest.mark.parametrize("case", CASES)
def test_a_c_program_computes_the_same(case: str, tmp_path: Path) -> None:
    f, examples = CASES[case]
    jit(f).write("code", *examples, folder=tmp_path)
    header = (tmp_path / "code.h").read_text()
    expected = (
        [np.asarray(y) for y in leaves(f(*examples))] if "scan" not in case else leaves(jit(f)(*examples))
    )
    for one, other in zip(run_in_c(tmp_path, header, examples, expected), expected, strict=True):
        exact = np.asarray(other).dtype.kind != "f"
        tolerance = 0 if exact else 1e-5 if np.asarray(other).dtype == np.float32 else 1e-12
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.row("J09")
@pytest.mark.compiler("compiles C programs")
@needs_gcc
def test_other_lengths(tmp_path: Path) -> None:
    """The C function takes arrays of other lengths than the examples had."""
    for f, examples, args in (
        (loglik, CASES["loglik"][1], (np.ones(3), RNG.normal(size=(40, 3)), np.ones(40))),
        (softmax, (X,), (RNG.normal(size=(2, 5000)),)),
        (blocks, (X,), (RNG.normal(size=(2, 700)),)),
        (smooth, (V, 0.5), (RNG.normal(size=99), 0.25)),
    ):
        g = jit(f)
        g.write("code", *examples, folder=tmp_path)
        expected = leaves(g(*args))
        for one, other in zip(
            run_in_c(tmp_path, (tmp_path / "code.h").read_text(), args, expected), expected, strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.row("J09")
@pytest.mark.compiler("compiles C programs")
@needs_gcc
def test_the_header(tmp_path: Path) -> None:
    jit(loglik).write("loglik", *CASES["loglik"][1], folder=str(tmp_path))
    text = (tmp_path / "loglik.h").read_text()
    for line in (
        "in0: w, shape (len0,)",
        "in1: x, shape (len1, len0)",
        "in2: y, shape (len1,)",
        "out1: a result, shape (len0,)",
    ):
        assert line in text
    assert "double *out0" in text and "Python" not in text.partition("#ifndef")[2]
    (tmp_path / "a.cc").write_text('#include "loglik.h"\nint (*f)(...) = 0;\n')
    if shutil.which("g++") is not None:
        subprocess.run(["g++", "-Wall", "-Werror", "-fsyntax-only", "a.cc"], cwd=tmp_path, check=True)
    assert 'extern "C"' in text
    jit(lambda x: x * 2).write("plain", X, folder=tmp_path)
    assert "void plain(" in (tmp_path / "plain.h").read_text()
    assert ctypes.sizeof(ctypes.c_size_t) == 8


@pytest.mark.row("J09")
def test_what_has_no_c(tmp_path: Path) -> None:
    for f, args, what in (
        (lambda x: x.argmax(axis=0), (X,), "argmax"),
        (lambda x: np.sin(x), (X * 1j,), "complex128"),
        (lambda x: np.std(x, axis=0), (X,), "std"),
        (lambda x: np.spacing(x), (X,), "spacing"),
        (lambda x: scan(lambda c, v: (c + v, c.sum()), np.zeros(5), x), (X,), "scan"),
        (lambda x: x * 2, (X[:0],), "without elements"),
    ):
        with pytest.raises(TypeError, match=rf"jit: <lambda>\(\): write\(\): .*{what}"):
            jit(f).write("code", *args, folder=tmp_path)
    with pytest.raises(TypeError, match=r"argmax.*test_write_jit\.py, line \d+"):
        jit(lambda x: x.argmax(axis=0)).write("code", X, folder=tmp_path)
    for name in ("1a", "a b", "for", "", "../a"):
        with pytest.raises(ValueError, match=r"write\(\): name: .* is no name of a C function"):
            jit(softmax).write(name, X, folder=tmp_path)
    with pytest.raises(FileNotFoundError):
        jit(softmax).write("code", X, folder=tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
