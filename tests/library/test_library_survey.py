"""Real headers: how much of a library one declare() maps."""

from __future__ import annotations

import pathlib

import pytest

import cwrapjit

# header: the libraries of its functions, the Debian package, what has to be included before it
HEADERS = {
    "zlib.h": ("z", "zlib1g-dev", ""),
    "png.h": ("png16", "libpng-dev", ""),
    "jpeglib.h": ("jpeg", "libjpeg-dev", "#include <stdio.h>\n"),
    "sqlite3.h": ("sqlite3", "libsqlite3-dev", ""),
    "fftw3.h": ("fftw3 fftw3f fftw3l", "libfftw3-dev", ""),
    "proj.h": ("proj", "libproj-dev", ""),
    "fitsio.h": ("cfitsio", "libcfitsio-dev", ""),
    "nlopt.h": ("nlopt", "libnlopt-dev", ""),
    "geos_c.h": ("geos_c", "libgeos-dev", ""),
    "lapacke.h": ("lapacke", "liblapacke-dev", ""),
    "suitesparse/cholmod.h": ("cholmod", "libsuitesparse-dev", ""),
    "suitesparse/umfpack.h": ("umfpack", "libsuitesparse-dev", ""),
    "cvode/cvode.h": ("sundials_cvode", "libsundials-dev", ""),
    "gsl/gsl_sf.h": ("gsl gslcblas", "libgsl-dev", ""),
    "gsl/gsl_rng.h": ("gsl gslcblas", "libgsl-dev", ""),
    "gsl/gsl_statistics.h": ("gsl gslcblas", "libgsl-dev", ""),
}


def share(header: str) -> float:
    """What is mapped of all functions that the header declares, also those that the library lacks."""
    libraries, package, before = HEADERS[header]
    if not pathlib.Path("/usr/include", header).is_file():
        pytest.skip(f"{header} is not installed (apt install {package})")
    lib = cwrapjit.library(pathlib.Path(header).stem, libraries=libraries.split())
    lib.declare(f"{before}#include <{header}>")
    mapped = set(lib.mapped)
    assert not mapped & set(lib.unmapped) and len(mapped) > 10
    assert all(lib.unmapped.values())  # each with its reason
    assert mapped <= set(dir(lib))
    return len(mapped) / (len(mapped) + len(lib.unmapped))


def test_one_line_maps_real_headers() -> None:
    shares = {header: share(header) for header in HEADERS}
    shown = {header: f"{each:.1%}" for header, each in shares.items()}
    assert sum(shares.values()) / len(shares) > 0.85, shown
    assert min(shares.values()) > 0.6, shown  # FFTW: those of __float128 are in no library
