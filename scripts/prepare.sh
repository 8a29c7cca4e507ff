# Sourced by the other scripts: makes an environment if it is missing and installs suffice with the given extras into it.
# Nothing is installed again while pyproject.toml, the constraints and the packages stay as they are.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# prepare EXTRAS: into .venv, by scripts/constraints.txt.
prepare() {
    environment .venv scripts/constraints.txt ".${1:+[$1]}"
}

# environment FOLDER CONSTRAINTS OURS PACKAGE...: OURS is suffice itself with its extras, such as .[dev].
environment() {
    local folder=$1 constraints=$2 ours=$3 stamp
    shift 3
    [ -x "$folder/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder"
    stamp="$folder/.installed-$( (echo "$ours" "$@" && cat pyproject.toml "$constraints") | cksum | tr ' ' '-')"
    if [ ! -e "$stamp" ]; then
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check \
            --constraint "$constraints" --editable "$ours" "$@"
        touch "$stamp"
    fi
}
