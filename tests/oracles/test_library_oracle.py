"""Tests calls of functions with random signatures, built by the system's compiler; ctypes is the oracle."""

from __future__ import annotations

import ctypes
import random
from typing import Any

import pytest
from helpers import build_shared, compiler
from library_tools import INCLUDES

import cwrapjit

# C type, ctypes type, values that a double represents exactly
KINDS: list[tuple[str, Any, list[Any]]] = [
    ("int8_t", ctypes.c_int8, [-128, 127, 5]),
    ("uint8_t", ctypes.c_uint8, [0, 255]),
    ("int16_t", ctypes.c_int16, [-32768, 32767]),
    ("uint16_t", ctypes.c_uint16, [65535, 1]),
    ("int32_t", ctypes.c_int32, [-(2**31), 2**31 - 1]),
    ("uint32_t", ctypes.c_uint32, [2**32 - 1, 0]),
    ("int64_t", ctypes.c_int64, [-(2**50), 2**51 + 1]),
    ("uint64_t", ctypes.c_uint64, [2**52, 3]),
    ("int", ctypes.c_int, [-7, 2**31 - 1]),
    ("long", ctypes.c_long, [-(2**40)]),
    ("size_t", ctypes.c_size_t, [2**45]),
    ("bool", ctypes.c_bool, [True, False]),
    ("float", ctypes.c_float, [0.5, -3.25, 2.0**100]),
    ("double", ctypes.c_double, [0.5, -1e300, 2.0**-1000]),
]
PROGRAMS = 60


def signature(k: int) -> tuple[int, list[int]]:
    """Returns the kinds of the result and of up to 20 parameters, so that some are on the stack."""
    choose = random.Random(k)
    count = choose.choice([0, 1, 2, 3, 5, 7, 9, 14, 20])
    return choose.randrange(len(KINDS)), [choose.randrange(len(KINDS)) for _ in range(count)]


def prototype(k: int) -> str:
    result, parameters = signature(k)
    named = ", ".join(f"{KINDS[kind][0]} p{i}" for i, kind in enumerate(parameters))
    return f"{KINDS[result][0]} f{k}({named or 'void'})"


def body(k: int) -> str:
    """Stores the arguments where ctypes can read them, and returns the last one of the result's type."""
    result, parameters = signature(k)
    kept = " ".join(f"seen[{i}] = (double)p{i};" for i in range(len(parameters)))
    last = [i for i, kind in enumerate(parameters) if kind == result]
    return f"{prototype(k)} {{ {kept} return {f'p{last[-1]}' if last else 1}; }}\n"


@pytest.fixture(scope="module")
def built_library(tmp_path_factory):
    compiler()
    text = INCLUDES + "double seen[32];\n" + "".join(body(k) for k in range(PROGRAMS))
    return build_shared(tmp_path_factory.mktemp("oracle"), "liboracle.so", text)


def same_value(one: Any, other: Any) -> bool:
    return bool(one == other) or (one != one and other != other)


@pytest.mark.row("P19", "P20")
def test_random_signatures(built_library):
    oracle = ctypes.CDLL(str(built_library))
    seen = (ctypes.c_double * 32).in_dll(oracle, "seen")
    lib = cwrapjit.library("oracle", built_library)
    for k in range(PROGRAMS):
        result, parameters = signature(k)
        own = lib.function(prototype(k))
        reference = getattr(oracle, f"f{k}")
        reference.restype = KINDS[result][1]
        reference.argtypes = [KINDS[kind][1] for kind in parameters]
        choose = random.Random(1000 + k)
        for _ in range(5):
            given = [choose.choice(KINDS[kind][2]) for kind in parameters]
            wanted = reference(*given)
            ctypes.memset(seen, 0, ctypes.sizeof(seen))
            got = own(*given)
            assert list(seen)[: len(given)] == [float(value) for value in given], prototype(k)
            assert same_value(got, wanted), (prototype(k), given, got, wanted)
            names = {f"p{i}": value for i, value in reversed(list(enumerate(given)))}
            assert same_value(own(**names), wanted), prototype(k)
