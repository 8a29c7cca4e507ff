# Sourced by the other scripts: makes .venv if it is missing and installs suffice with the given extras into it.
# Nothing is installed again while pyproject.toml and the constraints stay as they are.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

prepare() {
    local extras=$1 stamp
    [ -x .venv/bin/python ] || "${PYTHON:-python3}" -m venv .venv
    stamp=".venv/.installed-${extras:-none}-$(cat pyproject.toml scripts/constraints.txt | cksum | tr ' ' '-')"
    if [ ! -e "$stamp" ]; then
        .venv/bin/python -m pip install --quiet --disable-pip-version-check \
            --constraint scripts/constraints.txt --editable ".${extras:+[$extras]}"
        touch "$stamp"
    fi
}
