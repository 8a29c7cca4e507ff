# Sourced by the other scripts: makes an environment if it is missing and installs suffice with the given extras into it;
# $venv is its folder. Nothing is installed again while pyproject.toml, the constraints and the packages stay as they are.
# PYTHON names another interpreter, which gets folders of its own: PYTHON=python3.13 scripts/test works in .venv-3.13.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
suffix=${PYTHON:+-$("$PYTHON" -c 'import sys; print("%d.%d" % sys.version_info[:2])')}

# Modules are compiled when they are first imported, and kept: pip would compile all of them, most of which no test imports.
export PYTHONDONTWRITEBYTECODE=

# prepare EXTRAS: into .venv, by scripts/constraints.txt.
prepare() {
    environment "" scripts/constraints.txt ".${1:+[$1]}"
}

# environment NAME CONSTRAINTS OURS PACKAGE...: into .venv-NAME; OURS is suffice itself with its extras, such as .[dev].
environment() {
    local constraints=$2 ours=$3 stamp
    venv=.venv${1:+-$1}$suffix
    shift 3
    [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
    stamp="$venv/.installed-$( (echo "$ours" "$@" && cat pyproject.toml "$constraints") | cksum | tr ' ' '-')"
    if [ ! -e "$stamp" ]; then
        "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
            --constraint "$constraints" --editable "$ours" "$@"
        touch "$stamp"
    fi
}

# run_pytest ARGUMENTS: with the plugins in scripts/. The settings are named, for pytest looks for them beside every file that its
# arguments name, and the list of what passed may be anywhere.
run_pytest() {
    PYTHONPATH="$PWD/scripts" "$venv/bin/python" -m pytest -c pyproject.toml -p passed_tests "$@"
}
