"""Parameter lists of kernels: what they say, where they are wrong, and what their letters stand for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from cwrapjit.kernels.parameters import check_names, parse, resolve


def shown(text: str) -> list[tuple[str, str, bool]]:
    return [(p.name, p.word, p.raw) for p in parse(text, "f()", "in_params")]


def test_lists() -> None:
    assert shown("T x, raw T y ,float32  z") == [("x", "T", False), ("y", "T", True), ("z", "float32", False)]
    assert shown("") == shown("  \n ") == []
    assert shown("raw\tint32\nidx,d x") == [("idx", "int32", True), ("x", "d", False)], (
        "one letter is a letter"
    )
    assert [p.position for p in parse("T x, raw T yy", "f()", "in_params")] == [2, 11]
    assert parse("f4 x", "f()", "a")[0].dtype == np.float32
    assert not parse("f4 x", "f()", "a")[0].placeholder and parse("f x", "f()", "a")[0].placeholder


@pytest.mark.parametrize(
    ("text", "position", "why"),
    [
        ("T", 0, "'T' is alone"),
        ("T x, float32", 5, "'float32' is alone"),
        ("raw", 0, "'raw' is alone"),
        ("T x,, T y", 4, "nothing is between two commas"),
        ("T x,", 4, "nothing is between two commas"),
        (",T x", 0, "nothing is between two commas"),
        ("const T x", 0, "'const' is not known"),
        ("raw unsigned int x", 4, "'unsigned' is not known"),
        ("raw raw T x", 4, "'raw' is there twice"),
        ("T x, flot32 y", 5, "'flot32' is no dtype"),
        ("T x, object y", 5, "'object' is no number to C"),
        ("T x, >f8 y", 5, "'>f8' is no number to C"),
        ("T x, U8 y", 5, "'U8' is no number to C"),
        ("T 3x", 2, "'3x' is no name"),
        ("T *x", 2, r"'*x' is no name"),
        ("T x-y", 2, "'x-y' is no name"),
        ("é x", 0, "'é' is no type"),
        ("* x", 0, "'*' is no type"),
        ("T x,\nwrong y", 5, "'wrong' is no dtype"),
    ],
)
def test_faults_give_the_position(text: str, position: int, why: str) -> None:
    with pytest.raises(ValueError, match="in_params") as caught:
        parse(text, "f()", "in_params")
    first, line, caret = str(caught.value).split("\n")
    assert first.startswith(f"f(): in_params: {why}"), first
    assert first.endswith(f" at position {position}")
    assert line.strip() in text and caret.strip() == "^"
    assert text[position:].startswith(line[len(caret) - 1 :].split(" ")[0])


def test_a_list_is_a_text() -> None:
    with pytest.raises(TypeError, match=r"f\(\): in_params must be a str, not list"):
        parse(["T x"], "f()", "in_params")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("T i", "'i' is reserved"),
        ("T n", "'n' is reserved"),
        ("T _x", "'_x' is reserved"),
        ("T x, U x", "'x' is there twice"),
        ("T double", "'double' is a word of C"),
        ("T a__b", "'a__b' is reserved"),
        ("T cwj_x", "'cwj_x' is reserved"),
        ("x x", "'x' is the letter of a type"),
    ],
)
def test_names(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"the name {why}"):
        check_names(parse(text, "f()", "in_params"), "f()")


def types(inputs: str, outputs: str, given: list[Any], **chosen: Any) -> dict[str, str]:
    dtypes = [None if g is None else np.dtype(g) for g in given]
    found = resolve("f()", parse(inputs, "f()", "a"), parse(outputs, "f()", "b"), dtypes, chosen or None)
    return {letter: str(dtype) for letter, dtype in found.items()}


def test_letters() -> None:
    assert types("T x, T y", "T z", ["f4", None, None]) == {"T": "float32"}
    assert types("T x, U y", "T z", [None, "i4", "f8"]) == {"T": "float64", "U": "int32"}
    assert types("T x, float32 y", "int8 z", ["f8", "f4", "i1"]) == {"T": "float64"}
    assert types("T x", "U z", ["f8", None], U="i8") == {"T": "float64", "U": "int64"}
    assert types("", "", []) == {}


@pytest.mark.parametrize(
    ("inputs", "outputs", "given", "why"),
    [
        ("T x, T y", "T z", ["f4", "f8", None], r"'y' is float64, but T is float32 by 'x'; .* T = float32"),
        ("T x, T y", "T z", ["f4", "f4", "f8"], r"'x' is float32, but T is float64 by 'z'"),
        (
            "T x, U k, T y, T q",
            "T z",
            ["f4", "i4", "f4", "f8", None],
            r"'q' .* T = float32 \('x', 'y'\), U = int32 \('k'\)",
        ),
        ("T x, float32 y", "T z", ["f4", "f8", None], "'y' is float64, but it is declared as float32"),
        ("T x", "T z", [None, None], "nothing says what T is: no array is given for 'x', 'z'"),
        ("T x", "Z z", ["f4", None], r"nothing says what Z is.*dtype=\{\"Z\": .*; deduced: T = float32"),
        ("T x", "T z", ["U3", None], "'x' is <U3; wanted numbers"),
        ("T x", "T z", [">f8", None], "other byte order"),
    ],
)  # fmt: skip
def test_contradictions(inputs: str, outputs: str, given: list[Any], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        types(inputs, outputs, given)


def test_a_choice_of_nothing() -> None:
    with pytest.raises(TypeError, match="no parameter is of a type 'Q'"):
        types("T x", "T z", ["f4", None], Q="f4")
    with pytest.raises(TypeError, match="'x' is float32, but T is float64 by dtype="):
        types("T x", "T z", ["f4", None], T="f8")
