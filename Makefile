# What one does while working:
# make demo         builds in .venv and runs the examples
# make test         builds in .venv, with warnings as errors, and runs the tests
# make quick        those of them that together reach nearly all of the C code, and tinyjit's own in C: half a minute
# make test-peers   installs what cwrapjit works beside (numba, SciPy, pandas, Jupyter, ...: 1 GB) and runs tests/peers
# make lint         ruff and clang-format; `make format` applies both
# make docs         the documentation as a site, docs/_build/index.html
# make bench        side by side with NumPy, numba, numexpr, numpysane_pywrap, cffi and plain C: some minutes;
#                   BENCH_FLAGS=--quick runs everything once
# make clean        removes everything that these made
#
# Before a release:
# make release-check  all that follows, whole, with its times; writes docs/tested.md: hours
# make soak         tests that take long and reach no code of their own; 100,000 definitions and their like
# make test-all-pythons  the tests with every Python of the machine, NumPy 1.26 and 2
# make test-new-pythons  the same with CPython 3.14 and 3.15, gcc, clang and glibc of Debian unstable, in a
#                   tree of its own (.tree-unstable; needs mmdebstrap)
# make wheel        dist/: the source distribution, and of it a wheel for each CPython of the machine, for x86-64 and
#                   arm64; WHEEL_FLAGS="--python 3.12 --machine x86_64" for less
# make test-wheel   the wheels for PYTHON, in an empty environment and without a compiler
# make test-arm64   a cross build for arm64 and the tests that tests/arm64.txt chooses, emulated by qemu in a Debian
#                   tree of its own (.tree-arm64; needs mmdebstrap, qemu-user-static, gcc-aarch64-linux-gnu)
# make asan         builds in .venv-asan with AddressSanitizer and UBSan, runs the tests with it
# make tsan         builds with ThreadSanitizer, runs the tests of threads with it
# make fuzz         random input, FUZZ_SECONDS=60 for each C target (libFuzzer)
# make explore      EXPLORE=1 times the tests' number of new random cases in Python
# make maths-check  errors of the functions of <math.h>, against MPFR, and docs/accuracy.md: an hour (needs libmpfr-dev)
# make trust        what was tried and how much of it, as a table: an hour; TRUST_FLAGS=--quick some minutes
#
# PYTHON=python3.12 chooses the interpreter, VENV=dir the environment,
# TESTS="tests/test_x.py -k name" what `make test` runs, PYTEST_FLAGS what every run of the tests is told,
# WORKERS=1 the number of its processes.

PYTHON ?= python3
VENV ?= .venv
WHEEL_VENV ?= .venv-wheel
TESTS ?= tests --ignore=tests/peers -m "not soak"
PYTEST_FLAGS ?=
export PYTEST_FLAGS
# Each process would compile what it imports, and pytest all tests: a third of the time.
unexport PYTHONDONTWRITEBYTECODE
# Tests of one file share what they build.
WORKERS ?= $(shell nproc)
export SPREAD := -n $(WORKERS) --dist loadfile
CYCLES ?= 200
FUZZ_SECONDS ?= 60
EXPLORE ?= 1

PY := $(VENV)/bin/python
UV := sh tools/uv.sh $(PYTHON)
INSTALL := $(UV) pip install --quiet --python $(PY)
# The build writes to the output of the shell how far it is.
TOLD := CWRAPJIT_PROGRESS=/proc/$$$$/fd/1
PREREQUISITES := sh tools/prerequisites.sh
PYTEST = CWRAPJIT_WERROR=1 $(PY) -m pytest $(PYTEST_FLAGS)

# What the installed package is made of: a change to one of these builds it anew.
SOURCES := pyproject.toml setup.py $(shell find tinyjit csrc cwrapjit/include tools -type f \
	\( -name '*.[ch]' -o -name '*.py' \))
C_FILES = $(shell find tinyjit csrc tests/tinyjit/c tests/tinyjit/fuzz cwrapjit/include -type f -name '*.[ch]')
PYTHON_FILES = setup.py cwrapjit tests examples benchmarks tools docs/conf.py docs/pictures
EXAMPLES = $(filter-out examples/_%.py examples/cluster.py,$(sort $(wildcard examples/*.py)))

.PHONY: demo test quick test-peers docs test-all-pythons test-new-pythons test-arm64 bench asan tsan soak fuzz \
	explore maths-check trust wheel test-wheel release-check lint format clean

demo: $(VENV)/.built $(VENV)/.demo
	@for each in $(EXAMPLES); do \
		echo "== $$each"; $(PY) $$each || exit 1; \
	done

test: $(VENV)/.strict $(VENV)/.test
	@echo "== the tests (2 minutes on two processors)"
	@$(PYTEST) -q $(SPREAD) $(TESTS)

quick: $(VENV)/.strict $(VENV)/.test
	@echo "== the tests that reach nearly all of the C code (30 s)"
	@$(PYTEST) -q $(SPREAD) -m quick --ignore=tests/peers tests

test-peers: $(VENV)/.strict $(VENV)/.test $(VENV)/.peers
	@echo "== the tests beside other packages (2 minutes)"
	@$(PYTEST) -q $(SPREAD) tests/peers

soak: $(VENV)/.strict $(VENV)/.test
	@echo "== what takes long (some minutes), then 100,000 definitions and their like (10 minutes)"
	@$(PYTEST) -q $(SPREAD) -m soak --ignore=tests/peers tests
	@CWRAPJIT_CYCLES=$(CYCLES) $(PYTEST) -q tests/lifetime/test_life_cycles.py

test-all-pythons:
	@sh tools/test_pythons.sh

test-new-pythons:
	@sh tools/test_new_pythons.sh

test-arm64:
	@PYTHON=$(PYTHON) sh tools/test_arm64.sh

release-check:
	@PYTHON=$(PYTHON) bash tools/release_check.sh

bench: $(VENV)/.built $(VENV)/.bench
	@$(PY) benchmarks/run.py $(BENCH_FLAGS)

asan:
	@PYTHON=$(PYTHON) sh tools/sanitize.sh address $(SANITIZE_FLAGS)

# Queue, swap and pool in C alone: of what CPython's lock guards ThreadSanitizer would see nothing.
tsan: $(VENV)/.strict $(VENV)/.test
	@CC="gcc -fsanitize=thread" CWRAPJIT_SANITIZED=thread setarch $$(uname -m) -R \
		$(PY) -m pytest -q tests/tinyjit/test_tinyjit_c.py -k "test_optimize or test_state or test_library"

fuzz: $(VENV)/.strict
	@PYTHON=$(PY) sh tools/fuzz.sh $(FUZZ_SECONDS)

explore: $(VENV)/.strict $(VENV)/.test
	@CWRAPJIT_EXPLORE=$(EXPLORE) $(PYTEST) -q \
		$$(grep -rl --include="test_*.py" --exclude-dir=peers hypothesis tests)

maths-check: $(VENV)/.strict
	@$(PY) tools/maths_check.py $(MATHS_FLAGS)

trust: $(VENV)/.strict $(VENV)/.test
	@$(PY) tools/trust.py $(TRUST_FLAGS)

docs: $(VENV)/.built $(VENV)/.docs
	@$(PY) -m sphinx -W --keep-going -q -d docs/_build/.doctrees docs docs/_build
	@echo "docs/_build/index.html"

wheel: $(WHEEL_VENV)/.made
	@$(WHEEL_VENV)/bin/python tools/wheel.py $(WHEEL_FLAGS)

test-wheel: $(WHEEL_VENV)/.made
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])') && \
		$(WHEEL_VENV)/bin/python tools/wheel.py --python $$version $(WHEEL_FLAGS) && \
		sh tools/test_wheel.sh $$version

lint: $(VENV)/.lint
	@$(PY) -m ruff check $(PYTHON_FILES)
	@$(PY) -m ruff format --check $(PYTHON_FILES)
	@$(VENV)/bin/clang-format --dry-run --Werror $(C_FILES)
	@echo "lint: nothing to say"

format: $(VENV)/.lint
	@$(PY) -m ruff check --fix $(PYTHON_FILES)
	@$(PY) -m ruff format $(PYTHON_FILES)
	@$(VENV)/bin/clang-format -i $(C_FILES)

# Apart, because Zig would be a compiler of the other environment, too.
$(WHEEL_VENV)/.made:
	@$(PREREQUISITES) $(PYTHON)
	@$(UV) venv --quiet --clear --python $(PYTHON) $(WHEEL_VENV)
	@echo "== installing Zig, the compiler of wheels (90 MB, 10 s)"
	@$(UV) pip install --quiet --python $(WHEEL_VENV)/bin/python 'auditwheel>=6.5' ziglang
	@touch $@

# One environment for everything.
$(VENV)/.made: | prerequisites
	@$(UV) venv --quiet --clear --python $(PYTHON) $(VENV)
	@touch $@

.PHONY: prerequisites
prerequisites:
	@$(PREREQUISITES) $(PYTHON) $(PY)

# In place, so that the sources in the checkout are what runs. What was built with warnings as errors will do for both.
$(VENV)/.strict: $(SOURCES) $(VENV)/.made
	@echo "== building cwrapjit into $(VENV), with warnings as errors (half a minute on two processors)"
	@CWRAPJIT_WERROR=1 $(TOLD) $(INSTALL) --reinstall-package cwrapjit --editable .
	@touch $(VENV)/.built $@

$(VENV)/.built: $(SOURCES) $(VENV)/.made
	@echo "== building cwrapjit into $(VENV) (half a minute on two processors)"
	@$(TOLD) $(INSTALL) --reinstall-package cwrapjit --editable .
	@touch $@ $(if $(filter 1,$(CWRAPJIT_WERROR)),$(VENV)/.strict)

# The packages of an extra.
OF_test := pytest and hypothesis: 7 packages, 12 MB (2 s)
OF_demo := matplotlib and OpenBLAS: 50 MB (3 s)
OF_peers := numba, PyTensor, SciPy, pandas, dask, Jupyter and their like: 130 packages, 1 GB (20 s and more)
OF_bench := what is measured against: 500 MB (10 s)
OF_docs := Sphinx: 50 MB (3 s)
$(VENV)/.test $(VENV)/.demo $(VENV)/.peers $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: pyproject.toml $(VENV)/.made
	@echo "== installing $(OF_$*)"
	@$(INSTALL) --requirements pyproject.toml --extra $*
	@touch $@

$(VENV)/.lint: $(VENV)/.made
	@echo "== installing ruff and clang-format (3 s)"
	@$(INSTALL) ruff clang-format
	@touch $@

clean:
	rm -rf $(VENV) .venv-* .tree-* .results build dist *.egg-info cwrapjit/*.so
	rm -rf docs/_build examples/output benchmarks/results .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find cwrapjit csrc tinyjit tests examples benchmarks tools -name __pycache__ -type d -prune \
		-exec rm -rf {} +
