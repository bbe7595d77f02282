# make demo    build in .venv and run the examples
# make test    build in .venv with warnings as errors and run the test suite
# make bench   side by side with NumPy, numba, numexpr, numpysane_pywrap, cffi and plain C: some minutes;
#              BENCH_FLAGS=--quick runs everything once
# make asan    build in .venv-asan with AddressSanitizer and UBSan, run the test suite with it
# make tsan    build in .venv-tsan with ThreadSanitizer, run the tests of threads with it
# make soak    100,000 definitions and their like, with threads, forks, exits and signals: about ten minutes
# make fuzz    random input, FUZZ_SECONDS=60 for each C target (libFuzzer), and EXPLORE=1 times the test
#              suite's number of new random cases in Python
# make trust   what was tried and how much of it, as a table: hours; TRUST_FLAGS=--quick some minutes
# make test-all-pythons  the test suite with every Python of the machine, NumPy 1.26 and 2
# make test-new-pythons  the same with CPython 3.14 and 3.15, gcc, clang and glibc of Debian unstable, in a
#              tree of its own (.tree-unstable; needs mmdebstrap)
# make wheel   dist/: the source distribution, and of it a wheel for each CPython of the machine, for x86-64 and
#              arm64; WHEEL_FLAGS="--python 3.12 --machine x86_64" for less
# make test-wheel  the wheels for PYTHON, in an empty environment and without a compiler
# make test-arm64  a cross build for arm64 and the tests that tests/arm64.txt chooses, emulated by qemu in a Debian
#              tree of its own (.tree-arm64; needs mmdebstrap, qemu-user-static, gcc-aarch64-linux-gnu)
# make tested  what these runs came to, as the table of docs/tested.md
# make lint    ruff and clang-format; `make format` applies both
# make docs    the documentation as a site, docs/_build/index.html
# make clean   remove everything that these made, but what runs of the suite came to (.results)
#
# PYTHON=python3.12 chooses the interpreter, VENV=dir the environment,
# TESTS="tests/test_x.py -k name" what `make test` runs, PYTEST_FLAGS what every run of the suite is told,
# WORKERS=1 the number of its processes.

PYTHON ?= python3
VENV ?= .venv
WHEEL_VENV ?= .venv-wheel
TESTS ?= tests
PYTEST_FLAGS ?=
export PYTEST_FLAGS
# Tests of one file share what they build.
WORKERS ?= $(shell nproc)
export SPREAD := -n $(WORKERS) --dist loadfile
CYCLES ?= 200
FUZZ_SECONDS ?= 60
EXPLORE ?= 1

comma := ,
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check install --quiet
PREREQUISITES := sh tools/prerequisites.sh

# What the installed package is made of: a change to one of these reinstalls it.
SOURCES := pyproject.toml setup.py $(shell find tinyjit csrc cwrapjit/include tools -type f \
	\( -name '*.[ch]' -o -name '*.py' \))
C_FILES = $(shell find tinyjit csrc tests/tinyjit/c tests/tinyjit/fuzz cwrapjit/include -type f -name '*.[ch]')
PYTHON_FILES = setup.py cwrapjit tests examples benchmarks tools docs/conf.py docs/pictures

.PHONY: demo test docs test-all-pythons test-new-pythons test-arm64 tested bench asan tsan soak fuzz trust \
	wheel test-wheel lint format clean

demo: $(VENV)/.demo
	@echo "== examples/hillshade.py"
	@$(PY) examples/hillshade.py
	@echo "== examples/kernels.py"
	@$(PY) examples/kernels.py
	@echo "== examples/windows.py"
	@$(PY) examples/windows.py
	@echo "== examples/inner.py"
	@$(PY) examples/inner.py
	@echo "== examples/graph.py"
	@$(PY) examples/graph.py
	@echo "== examples/blas.py"
	@$(PY) examples/blas.py
	@echo "== examples/special.py"
	@$(PY) examples/special.py
	@echo "== examples/solvers.py"
	@$(PY) examples/solvers.py

test: $(VENV)/.test
	@CWRAPJIT_WERROR=1 CWRAPJIT_RESULTS=.results/runs $(PY) -m pytest $(SPREAD) $(PYTEST_FLAGS) $(TESTS)

test-all-pythons:
	@sh tools/test_pythons.sh

test-new-pythons:
	@sh tools/test_new_pythons.sh

test-arm64:
	@PYTHON=$(PYTHON) CWRAPJIT_RESULTS=.results/runs sh tools/test_arm64.sh

tested:
	@$(PYTHON) tools/tested.py

bench: $(VENV)/.bench
	@$(PY) benchmarks/run.py $(BENCH_FLAGS)

asan:
	@PYTHON=$(PYTHON) sh tools/sanitize.sh address $(SANITIZE_FLAGS)

# Queue, swap and pool in C alone: of what CPython's lock guards ThreadSanitizer would see nothing.
tsan: $(VENV)/.test
	@CC="gcc -fsanitize=thread" CWRAPJIT_SANITIZED=thread setarch $$(uname -m) -R \
		$(PY) -m pytest -q tests/tinyjit/test_tinyjit_c.py -k "test_optimize or test_state or test_library"

soak: $(VENV)/.test
	@CWRAPJIT_CYCLES=$(CYCLES) $(PY) -m pytest tests/lifetime/test_life_cycles.py

fuzz: $(VENV)/.test
	@PYTHON=$(PY) sh tools/fuzz.sh $(FUZZ_SECONDS)
	@CWRAPJIT_EXPLORE=$(EXPLORE) $(PY) -m pytest -q $$(grep -rl --include="test_*.py" hypothesis tests)

trust: $(VENV)/.test
	@$(PY) tools/trust.py $(TRUST_FLAGS)

docs: $(VENV)/.docs
	@$(PY) -m sphinx -W --keep-going -q -d docs/_build/.doctrees docs docs/_build
	@echo "docs/_build/index.html"

wheel: $(WHEEL_VENV)/.made
	@$(WHEEL_VENV)/bin/python tools/wheel.py $(WHEEL_FLAGS)

test-wheel: $(WHEEL_VENV)/.made
	@version=$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])') && \
		$(WHEEL_VENV)/bin/python tools/wheel.py --python $$version $(WHEEL_FLAGS) && \
		TESTS="$(TESTS)" sh tools/test_wheel.sh $$version

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
	@$(PYTHON) -m venv --clear $(WHEEL_VENV)
	@$(WHEEL_VENV)/bin/python -m pip --disable-pip-version-check install --quiet 'auditwheel>=6.5' ziglang
	@touch $@

# One environment for everything.
$(VENV)/.made: | prerequisites
	@echo "== setting up $(VENV)"
	@$(PYTHON) -m venv --clear $(VENV)
	@touch $@

.PHONY: prerequisites
prerequisites:
	@$(PREREQUISITES) $(PYTHON) $(PY)

# Each extra installs the package too: in place, so that the sources in the checkout are what runs.
$(VENV)/.demo $(VENV)/.test $(VENV)/.bench $(VENV)/.docs: $(VENV)/.%: $(SOURCES) $(VENV)/.made
	@echo "== building cwrapjit, with what the $* needs"
	@$(if $(filter test,$*),CWRAPJIT_WERROR=1) $(PIP) --editable '.[$*$(if $(filter test,$*),$(comma)once)]'
	@touch $@

$(VENV)/.lint: $(VENV)/.made
	@$(PIP) ruff clang-format
	@touch $@

clean:
	rm -rf $(VENV) .venv-* .tree-* build dist *.egg-info cwrapjit/*.so
	rm -rf docs/_build examples/output benchmarks/results .pytest_cache .hypothesis .ruff_cache .mypy_cache
	find cwrapjit csrc tinyjit tests examples benchmarks tools -name __pycache__ -type d -prune \
		-exec rm -rf {} +
