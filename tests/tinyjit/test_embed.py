"""How the extension is built: tools/embed.py, which turns the prelude and the call path into C strings, and
what setup.py takes for finished."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import runpy
import subprocess
from types import ModuleType

import pytest
from helpers import compiler

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture
def embed() -> ModuleType:
    path = ROOT / "tools" / "embed.py"
    if not path.is_file():
        pytest.skip("this is no checkout")
    spec = importlib.util.spec_from_file_location("embed", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.row("N05")
def test_embed_inlines_local_headers_once(embed: ModuleType, tmp_path: pathlib.Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "far" / "b.h").write_text("int b;\n")
    (tmp_path / "a.h").write_text('#include <b.h>\n  #  include "far/b.h"\nint a;\n')
    (tmp_path / "main.c").write_text('#include <stdio.h>\n#include "a.h"\n#include "a.h"\nint main;\n')
    assert (
        embed.flatten(tmp_path / "main.c", [tmp_path / "far"])
        == "#include <stdio.h>\nint b;\nint a;\nint main;\n"
    )
    names = [pathlib.Path(path).name for path in embed.dependencies(tmp_path / "main.c", [tmp_path / "far"])]
    assert sorted(names) == ["a.h", "b.h", "main.c"]
    with pytest.raises(SystemExit, match=r"stdio\.h"):
        embed.embed(tmp_path / "main.c", tmp_path / "out.c", "text", line_name="<x>")


@pytest.mark.row("N05")
def test_embedded_text_comes_back_byte_for_byte(embed: ModuleType, tmp_path: pathlib.Path) -> None:
    text = (
        'a "b" \\n ??= %s\t\u00e9\n// c\nchar *s = "/* kept */ // too"; /* gone\n*/ int x; // gone\n\'"\'\n'
    )
    literal = embed.to_c_file("text", text)
    (tmp_path / "text.c").write_text(
        literal + "#include <stdio.h>\nint main(void) { fputs(text, stdout); return 0; }\n"
    )
    program = tmp_path / "text"
    subprocess.run([compiler(), "-std=c11", "-o", str(program), str(tmp_path / "text.c")], check=True)
    assert subprocess.run([str(program)], capture_output=True, check=True).stdout.decode() == text
    stripped = embed.strip(text)
    assert "/* kept */ // too" in stripped and "gone" not in stripped and "int x;" in stripped


@pytest.mark.row("N83")
def test_a_build_with_other_flags_is_not_taken_for_finished(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """setuptools compares times alone: the wheel behind `make asan` had its sanitizers, too."""
    if not (ROOT / "setup.py").is_file():
        pytest.skip("this is no checkout")
    pytest.importorskip("setuptools")
    settings = tmp_path / "settings.txt"
    extensions = []
    monkeypatch.setattr("setuptools.setup", lambda **given: extensions.extend(given["ext_modules"]))

    def build(**environment: str) -> int:
        for name in ("CWRAPJIT_SANITIZE", "CWRAPJIT_WERROR", "CC"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        if settings.exists():
            os.utime(settings, ns=(0, 0))
        runpy.run_path(str(ROOT / "setup.py"))["write_settings"](settings)
        return settings.stat().st_mtime_ns

    build()
    assert build() == 0
    for environment in ({"CWRAPJIT_SANITIZE": "address"}, {"CC": "clang"}, {"CWRAPJIT_WERROR": "1"}):
        assert build(**environment) != 0
        assert build(**environment) == 0
        assert build() != 0
    assert extensions and extensions[0].name == "cwrapjit._cwrapjit"
