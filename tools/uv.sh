#!/bin/sh
# usage: uv.sh PYTHON ARGUMENTS...
#
# Runs uv, which makes environments in seconds: the one on PATH, or one that this Python's pip installs from PyPI into
# .venv-uv the first time. The latter uses pip's settings of indexes and certificates (pip.conf, PIP_...).
#
# VENVS=folder: the folder of .venv-uv, by default the checkout.

set -eu
python=$1
shift
export UV_PYTHON_DOWNLOADS=never
if command -v uv >/dev/null; then
    exec uv "$@"
fi

own=${VENVS:-$(dirname "$0")/..}/.venv-uv
if ! [ -x "$own/bin/uv" ] || ! [ -x "$own/bin/python" ]; then
    echo "== getting uv, which installs the rest (5 s)" >&2
    "$python" -m venv --clear "$own"
    "$own/bin/python" -m pip --disable-pip-version-check install --quiet --quiet uv ||
        { echo "uv.sh: pip could not install uv: is PyPI within reach?" >&2; exit 1; }
fi

# pip lists the settings of the environment first, then those of files.
settings=$("$own/bin/python" -m pip --disable-pip-version-check config list)
told() # setting
{
    echo "$settings" | sed -n "s/^[^=]*\.$1='\(.*\)'\$/\1/p" | head -n 1
}

take() # variable of uv, setting of pip
{
    value=$(told "$2")
    eval "[ -n \"\${$1:-}\" ]" || [ -z "$value" ] || export "$1=$value"
}

take UV_DEFAULT_INDEX index-url
take UV_INDEX extra-index-url
take UV_FIND_LINKS find-links
take UV_INSECURE_HOST trusted-host
take SSL_CERT_FILE cert
export UV_INDEX_STRATEGY="${UV_INDEX_STRATEGY:-unsafe-best-match}" # treats all indexes as one, as pip does
exec "$own/bin/uv" "$@"
