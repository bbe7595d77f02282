"""Random C statements compute the same bits in both tiers: loops, branches, switches, arrays, side effects.

CWRAPJIT_EXPLORE=N: new programs each time, N times as many.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from helpers import compiler, figure, wrap_signature
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

PROGRAMS = 4  # in one function
EXAMPLES = 4 * int(os.environ.get("CWRAPJIT_EXPLORE", "1"))

DOUBLES, INTS, BYTES = ("x", "y", "z"), ("i", "j", "k"), ("u", "v")
names_of = {"double": DOUBLES, "int64_t": INTS, "uint8_t": BYTES}


def constant(kind: str) -> st.SearchStrategy[str]:
    if kind == "double":
        return st.sampled_from(["0.5", "-1.25", "3.0", "1e10", "7e-3", "-2.0"])
    return st.sampled_from(["1", "2", "-3", "7", "100", "255", "(int64_t)1 << 40"]).map(lambda c: f"({c})")


@st.composite
def expression(draw: Any, kind: str, depth: int = 3) -> str:
    """Of C whose result is defined; what libtcc computes of constants alone is not (docs/speed.md)."""
    variable = draw(st.sampled_from(names_of[kind]))
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        return (
            draw(st.sampled_from([variable, f"d[{draw(st.sampled_from(INTS))} & 7]"]))
            if kind == "double"
            else variable
        )
    left = draw(expression(kind, depth - 1))
    right = draw(st.one_of(constant(kind), expression(kind, depth - 1)))
    forms = [f"({left} + {right})", f"({left} - {right})", f"({left} * {right})"]
    if kind == "double":
        whole = draw(expression("int64_t", depth - 1))
        forms += [
            f"({left} / {right})",
            f"sqrt(fabs({left}))",
            f"({left} + (double){whole})",
            f"floor({left})",
        ]
        forms += [f"({left} < {right} ? {left} : {right})", f"(double)(float){left}"]
    else:
        other = draw(expression("uint8_t" if kind == "int64_t" else "int64_t", depth - 1))
        forms += [
            f"({left} / (({right} & 7) + 1))",
            f"({left} % (({right} & 15) + 1))",
            f"(~{left})",
            f"(-{left})",
        ]
        forms += [f"({left} ^ {right})", f"({left} & {other})", f"({left} | {right})", f"(int32_t){left}"]
        forms += [
            f"({left} << ({other} & 5))",
            f"({left} >> ({right} & 6))",
            f"({left} < {other})",
            f"(!{left})",
        ]
        forms += [f"({left} && {other})", f"({left} ? {right} : {other})"]
    return draw(st.sampled_from(forms))


@st.composite
def statement(draw: Any, depth: int = 2) -> str:
    kind = draw(st.sampled_from(["double", "double", "int64_t", "uint8_t"]))
    name, value = draw(st.sampled_from(names_of[kind])), draw(expression(kind, 2))
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        assignments = [
            f"{name} = {value};",
            f"{name} += {value};",
            f"{name} -= {value};",
            f"{name} *= {value};",
        ]
        if kind == "double":
            assignments.append(f"d[{draw(st.sampled_from(INTS))} & 7] = {value};")
        else:
            assignments += [f"{name}++;", f"--{name};", f"{name} ^= {value};"]
        return draw(st.sampled_from(assignments))
    body = draw(block(depth - 1))
    count = draw(st.sampled_from(["7", "(i & 15)", "(u & 3) + 1"]))
    loop = f"n{depth}"
    test = draw(st.one_of(expression("int64_t", 1), expression("double", 1).map(lambda e: f"{e} > 0")))
    return draw(
        st.sampled_from(
            [
                f"if ({test}) {{ {body} }}",
                f"if ({test}) {{ {body} }} else {{ {draw(block(depth - 1))} }}",
                f"for (int {loop} = 0; {loop} < {count}; {loop}++) {{ {body} }}",
                f"for (int {loop} = 0; {loop} < 20; {loop}++) {{ if ({test}) break; {body} }}",
                f"{{ int {loop} = 0; do {{ if ({test}) continue; {body} }} while (++{loop} < 5); }}",
                f"switch ({draw(expression('int64_t', 1))} & 3) {{ case 0: {body} break;"
                f" case 2: {name} = {value}; default: {draw(block(depth - 1))} }}",
            ]
        )
    )


def block(depth: int) -> st.SearchStrategy[str]:
    return st.lists(statement(depth), min_size=1, max_size=3).map(" ".join)


def text_of(programs: list[str]) -> str:
    begin = "double x = item__a(), y = item__b(), z = 1.5, d[8] = {x, y, 2, 3, 4, 5, 6, 7};"
    begin += " int64_t i = item__m(), j = item__n(), k = 5; uint8_t u = (uint8_t)i, v = 200;"
    texts = []
    for at, program in enumerate(programs):
        ends = "".join(f" item__r({at}, {e}) = {name};" for e, name in enumerate([*DOUBLES, "d[3]"]))
        ends += "".join(f" item__s({at}, {e}) = {name};" for e, name in enumerate([*INTS, *BYTES]))
        texts.append(f"{{ {begin}\n {program}\n {ends} }}\n")
    return "".join(texts) + "return true;"


def numbers() -> tuple[Any, ...]:
    chance = np.random.default_rng(5)
    a = np.concatenate(
        [[0.0, -0.0, 1.0, np.inf, -np.inf, np.nan, 1e300, 5e-324], chance.normal(size=56) * 100]
    )
    m = np.concatenate([[0, 1, -1, 2**62, -(2**63), 2**31, 255, 256], chance.integers(-(2**40), 2**40, 56)])
    return a, a[::-1].copy(), m, chance.permutation(m)


SIGNATURE = f"a(), b(), m(), n() -> r({PROGRAMS}, 4), s({PROGRAMS}, 5)"
TYPES = (np.float64, np.float64, np.int64, np.int64, np.float64, np.int64)


def outcome(results: Any) -> list[bytes]:
    """All bits, but those inside of NaNs."""
    r, s = results
    return [np.where(np.isnan(r), 0.0, r).tobytes(), np.isnan(r).tobytes(), s.tobytes()]


@pytest.mark.row("G08")
@settings(
    max_examples=EXAMPLES, phases=[Phase.reuse, Phase.generate], suppress_health_check=list(HealthCheck)
)
@given(st.lists(block(2), min_size=PROGRAMS, max_size=PROGRAMS))
def test_both_tiers_agree(programs: list[str]) -> None:
    compiler()
    f = wrap_signature(SIGNATURE, {TYPES: text_of(programs)})
    first = outcome(f(*numbers()))
    assert f.wait(), "the optimizing tier"
    assert f.tier == "cc"
    assert outcome(f(*numbers())) == first
    figure("differential programs", len(programs))
