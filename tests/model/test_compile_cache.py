"""Compiled models in a folder: what is read is what was compiled, and a damaged or foreign file is not used."""

import hashlib
import warnings
from itertools import pairwise

import numpy as np
import pytest

from suffice import (
    MISSING,
    AdditiveModel,
    Explainer,
    Feature,
    ModelError,
    OptionError,
    PiecewiseLinear,
    ReluNetwork,
    Smooth,
    SmoothFunction,
    Steps,
    Table,
)
from suffice.model import compile_cache
from suffice.model.compile_cache import CompileCache
from suffice.shapes.lazy import Lazy


def network(seed, outputs=1, widths=(6, 5)):
    draw = np.random.default_rng(seed).normal
    sizes = (1, *widths, outputs)
    weights = [draw(size=(after, before)).astype(np.float32) for before, after in pairwise(sizes)]
    return ReluNetwork(weights, [draw(size=after).astype(np.float32) for after in sizes[1:]])


def binary():
    features = [Feature("a", center="1/3", scale="7/5"), "b", Feature("c", scale=-2), "d"]
    jumps = Table({MISSING: 3, "(unseen)": -1, 4: 5}, otherwise=Steps([0, 1], [1, -1, "2/3"]))
    return AdditiveModel([network(0), jumps, PiecewiseLinear([0, 1], [0, "1/7"]), Steps([], [2])], features=features)


def several():
    shapes = [network(1, outputs=3), network(2, outputs=3)]
    return AdditiveModel(shapes, [0, 0, 0], task="multiclass", classes=["x", "y", "z"])


def smooth():
    return AdditiveModel([network(3), Smooth(SmoothFunction("tanh"))])


def functions(explainer):
    return tuple(explainer.compiled.pieces)


@pytest.fixture
def uncompiled(monkeypatch):
    """After this is called, networks cannot be compiled."""

    def refuse(*_, **__):
        raise AssertionError("compiled again")

    return lambda: monkeypatch.setattr(ReluNetwork, "compile", refuse)


@pytest.mark.parametrize("make", [binary, several])
def test_what_is_read_is_what_was_compiled(make, tmp_path, uncompiled):
    plain = functions(Explainer(make()))
    assert functions(Explainer(make(), cache=tmp_path)) == plain
    uncompiled()
    read = Explainer(make(), cache=tmp_path)
    assert functions(read) == plain
    assert [dict(one.labels) for some in functions(read) for one in some] == [
        dict(one.labels) for some in plain for one in some
    ]
    assert len(list(tmp_path.iterdir())) == 1


def test_the_same_model_gives_the_same_file(tmp_path):
    for folder in ("one", "two"):
        Explainer(binary(), cache=tmp_path / folder)
    (one,), (two,) = ((*(tmp_path / folder).iterdir(),) for folder in ("one", "two"))
    assert (one.name, one.read_bytes()) == (two.name, two.read_bytes())


def test_smooth_shapes_are_compiled_beside_what_is_read(tmp_path, uncompiled):
    Explainer(smooth(), cache=tmp_path)
    uncompiled()
    read, plain = functions(Explainer(smooth(), cache=tmp_path)), Smooth(SmoothFunction("tanh"))
    assert type(read[1][0]) is type(plain.compile()[0])


def test_a_network_past_the_budget_is_not_tried_again(tmp_path, monkeypatch):
    why = Explainer(binary(), max_pieces=3, cache=tmp_path).explain([0.3, 1, 0, 0], 1, unit="raw")
    (name,) = (path.name for path in tmp_path.iterdir())
    with monkeypatch.context() as now:
        now.setattr(ReluNetwork, "compile", None)
        read = Explainer(binary(), max_pieces=3, cache=tmp_path)
    assert isinstance(functions(read)[0][0], Lazy)
    assert read.explain([0.3, 1, 0, 0], 1, unit="raw").document() == why.document()
    Explainer(binary(), cache=tmp_path)
    assert len({name, *(path.name for path in tmp_path.iterdir())}) == 2  # another budget, another file


def test_another_model_another_file(tmp_path):
    Explainer(binary(), cache=tmp_path)
    changed = AdditiveModel([network(0), *(term.shape for term in binary().mains[1:])], features=["a", "b", "c", "d"])
    assert functions(Explainer(changed, cache=tmp_path)) == functions(Explainer(changed))
    assert len(list(tmp_path.iterdir())) == 2


# --- damage -----------------------------------------------------------------------------------------------------------


def read_anew(tmp_path):
    """Return the functions of the model, whatever is in the folder, and the warnings."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = functions(Explainer(binary(), cache=tmp_path))
    return found, [str(one.message) for one in told]


def damaged(content):
    """Ways in which a file may not be as it was written."""
    yield b""
    yield b"not a safetensors file"
    yield content[: len(content) // 2]
    yield content[:-1]
    yield content + b"\0"
    for place in range(0, len(content), 31):
        yield content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def test_a_damaged_file_is_never_used_and_replaced(tmp_path):
    plain = functions(Explainer(binary(), cache=tmp_path))
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    for other in damaged(content):
        path.write_bytes(other)
        found, told = read_anew(tmp_path)
        assert found == plain
        assert len(told) == 1, other
        assert "compiled anew" in told[0]
        assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_of_another_model_under_this_name_is_not_used(tmp_path):
    plain = functions(Explainer(binary(), cache=tmp_path))
    (path,) = tmp_path.iterdir()
    Explainer(several(), cache=tmp_path / "other")
    (other,) = (tmp_path / "other").iterdir()
    path.write_bytes(other.read_bytes())
    found, told = read_anew(tmp_path)
    assert found == plain
    assert "another model" in told[0]


def test_a_model_file_under_this_name_is_not_used(tmp_path):
    plain = functions(Explainer(binary(), cache=tmp_path))
    (path,) = tmp_path.iterdir()
    binary().save(path)
    assert read_anew(tmp_path)[0] == plain


def test_what_cannot_be_written_is_told_and_answered(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(compile_cache, "write_whole", full)
    with pytest.warns(UserWarning, match="cannot be written .No space left"):
        assert functions(Explainer(binary(), cache=tmp_path)) == functions(Explainer(binary()))


# --- folders ----------------------------------------------------------------------------------------------------------


def test_the_folder_is_made_for_its_owner_alone(tmp_path):
    CompileCache(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_a_folder_that_every_user_may_write_to_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(OptionError, match="every user"):
        Explainer(binary(), cache=tmp_path)


@pytest.mark.parametrize("bad", ["file", 7, "\0"])
def test_what_is_no_folder_is_refused(tmp_path, bad):
    (tmp_path / "file").touch()
    with pytest.raises(OptionError, match="cache must be a folder"):
        Explainer(binary(), cache=tmp_path / bad if bad == "file" else bad)


def test_a_budget_that_is_none_is_refused(tmp_path):
    with pytest.raises(ModelError, match="max_pieces"):
        Explainer(binary(), cache=tmp_path, max_pieces=0.5)


# --- the format -------------------------------------------------------------------------------------------------------


def test_the_format_is_raised_when_compiling_gives_something_else():
    # A file that was written before would go on to be used. If this fails: raise FORMAT, and write the new hash here.
    told = repr(
        [(one.knots, one.slopes, one.offsets, one.values) for some in functions(Explainer(binary())) for one in some]
    )
    assert (compile_cache.FORMAT, hashlib.sha256(told.encode()).hexdigest()[:16]) == (1, "d77913c6239547b8")
