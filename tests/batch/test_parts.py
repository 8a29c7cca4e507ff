"""Finished parts: damaged, exchanged, foreign ones are done again; two runs of one output never mix; what is not ours
stays where it is."""

import os
import random
import signal
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest
from builders import sentence

import suffice
from suffice import DataError, PiecewiseLinear, Steps

arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")

from suffice.batch.arrow import ArrowExplainer  # noqa: E402
from suffice.batch.disk import locked  # noqa: E402
from suffice.batch.files import TableFile  # noqa: E402
from suffice.batch.parts import Parts  # noqa: E402
from suffice.batch.stream import explain_file  # noqa: E402

ROWS, PART = 1000, 100


def nothing(done):
    pass


def write_model(path):
    line = PiecewiseLinear([0, 1], [-1, 1])
    suffice.AdditiveModel([line, Steps([0.5], [-0.3, 0.3])], 0.1, features=["u", "v"]).save(path)


def rows_of(seed):
    rng = np.random.default_rng(seed)
    return arrow.table({"id": range(ROWS), "u": rng.normal(size=ROWS), "v": rng.normal(size=ROWS)})


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("parts")
    write_model(place / "model.safetensors")
    parquet.write_table(rows_of(0), place / "rows.parquet")
    explain(place, place / "whole.parquet")
    return place


def explain(place, output, *, radius=0.5, table="rows.parquet", progress=nothing, **options):
    ask = ArrowExplainer(place / "model.safetensors", radius, unit="raw", carry=["id"], threads=1)
    return explain_file(ask, TableFile(place / table), output, part_rows=PART, progress=progress, **options)


def stop_after(rows):
    def stop(done):
        if done >= rows:
            raise KeyboardInterrupt

    return stop


def interrupted(place, output, rows=600, **options):
    """Leave a run in the middle; return its folder of parts."""
    with pytest.raises(KeyboardInterrupt):
        explain(place, output, progress=stop_after(rows), **options)
    return output.with_name(output.name + ".parts")


def parts_of(folder):
    return sorted(folder.glob("part-*"))


def assert_done_well(place, output):
    explain(place, output)
    assert output.read_bytes() == (place / "whole.parquet").read_bytes()


def test_no_flipped_bit_of_a_finished_part_goes_unnoticed(place, tmp_path):
    description = {"work": "this"}
    parts = Parts.open(tmp_path / "p", description, 50)
    table = parquet.read_table(place / "whole.parquet").slice(0, 50)
    parts.add(0, table)
    (path,) = parts_of(tmp_path / "p")
    content, random_ = path.read_bytes(), random.Random(0)
    assert Parts.open(tmp_path / "p", description, 50).read(0).equals(table)
    for _ in range(300):
        damaged = bytearray(content)
        damaged[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
        path.write_bytes(damaged)
        assert parts.read(0) is None
    assert Parts.open(tmp_path / "p", description, 50).done == {}


def cut_short(parts, place, tmp_path):
    table = arrow.ipc.open_stream(parts[1].read_bytes()).read_all().slice(0, 50)
    with arrow.ipc.new_stream(parts[1], table.schema) as writer:
        writer.write_table(table)


def exchanged(parts, place, tmp_path):
    first, second = parts[1].read_bytes(), parts[2].read_bytes()
    parts[1].write_bytes(second)
    parts[2].write_bytes(first)


def of_another_question(parts, place, tmp_path):
    other = parts_of(interrupted(place, tmp_path / "other.parquet", radius=0.25))
    parts[1].write_bytes(other[1].read_bytes())


def a_part_too_many(parts, place, tmp_path):
    parts[1].with_name(parts[1].name.replace("00000001", "00000099")).write_bytes(parts[1].read_bytes())


def gone(parts, place, tmp_path):
    parts[0].unlink()
    parts[3].unlink()


def a_link(parts, place, tmp_path):
    (tmp_path / "target").write_bytes(b"a user's file")
    parts[1].unlink()
    parts[1].symlink_to(tmp_path / "target")


@pytest.mark.parametrize("damage", [cut_short, exchanged, of_another_question, a_part_too_many, gone, a_link])
def test_a_part_that_is_not_what_was_written_is_done_again(place, tmp_path, damage):
    output = tmp_path / "out.parquet"
    folder = interrupted(place, output)
    assert len(parts_of(folder)) == 6
    damage(parts_of(folder), place, tmp_path)
    assert_done_well(place, output)
    assert not folder.exists()
    if damage is a_link:
        assert (tmp_path / "target").read_bytes() == b"a user's file"


@pytest.mark.parametrize("when", ["before the last part", "at the last part"])
def test_a_part_damaged_while_the_run_goes_on_is_done_again(place, tmp_path, when):
    output = tmp_path / "out.parquet"
    told = []

    def damage(done):
        told.append(done)
        if done == (900 if when == "before the last part" else 1000) and told.count(done) == 1:
            part = parts_of(tmp_path / "out.parquet.parts")[4]
            part.write_bytes(part.read_bytes()[:-1])

    explain(place, output, progress=damage)
    assert output.read_bytes() == (place / "whole.parquet").read_bytes()
    assert told[-2:] == [900, 1000]


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_an_input_is_told_by_its_content_not_by_size_and_time(place, tmp_path, kind):
    table, path, output = rows_of(0), tmp_path / f"rows.{kind}", tmp_path / "out.parquet"
    write_model(tmp_path / "model.safetensors")

    def write(ids):
        if kind == "parquet":
            other = table.take(ids)
            parquet.write_table(other, path, compression="none", use_dictionary=False, write_statistics=False)
        else:
            rows = table.take(ids).to_pylist()
            path.write_text("id,u,v\n" + "".join(f"{r['id']:04d},{r['u']:+.6f},{r['v']:+.6f}\n" for r in rows))

    write(list(range(ROWS)))
    state = path.stat()
    interrupted(tmp_path, output, table=path.name)
    write(list(reversed(range(ROWS))))
    os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
    assert (path.stat().st_size, path.stat().st_mtime_ns) == (state.st_size, state.st_mtime_ns)
    explain(tmp_path, output, table=path.name)
    found = parquet.read_table(output)
    assert [int(one) for one in found["id"].to_pylist()] == list(reversed(range(ROWS)))


def test_an_input_that_changes_while_it_is_read_is_refused(place, tmp_path):
    write_model(tmp_path / "model.safetensors")
    lines = ["id,u,v", *(f"{k},{k % 7},{k % 3}" for k in range(ROWS))]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")

    def change(done):
        if done == 500:
            (tmp_path / "rows.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")

    with pytest.raises(DataError, match="was changed while it was read"):
        explain(tmp_path, tmp_path / "out.parquet", table="rows.csv", progress=change)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.safetensors", "rows.csv"]


# --- what is not ours -------------------------------------------------------------------------------------------------


def test_files_that_a_user_put_beside_the_parts_stay(place, tmp_path):
    output = tmp_path / "out.parquet"
    folder = interrupted(place, output)
    mine = ["part-00000003.arrow", "part-99.arrow", "notes.txt", "part-00000002-0123456789abcdef.arrow"]
    for name in mine:
        (folder / name).write_bytes(b"mine")
    assert_done_well(place, output)
    assert sorted(path.name for path in folder.iterdir()) == sorted(mine)
    explain_other = pytest.raises(DataError, match="contains files suffice did not write")
    with explain_other:
        explain(place, output)
    assert {path.read_bytes() for path in folder.iterdir()} == {b"mine"}
    assert output.read_bytes() == (place / "whole.parquet").read_bytes()


def test_another_question_leaves_a_users_files_too(place, tmp_path):
    output = tmp_path / "out.parquet"
    folder = interrupted(place, output, radius=0.25)
    (folder / "part-00000001.arrow").write_bytes(b"mine")
    assert_done_well(place, output)
    assert [path.name for path in folder.iterdir()] == ["part-00000001.arrow"]


@pytest.mark.parametrize(
    "note",
    [b"", b"\xff\xfe\x00\x80", os.urandom(500), b"[]", b"7", b"{}", b"null", b'{"sha256": 1}', b"[" * 100_000,
     b'{"format": "suffice parts 1", "work": [], "parts": 3, "sha256": ""}', None],
    ids=range(11),
)  # fmt: skip
def test_a_list_of_parts_that_is_none_is_foreign(place, tmp_path, note):
    output = tmp_path / "out.parquet"
    folder = interrupted(place, output)
    if note is None:
        (folder / "work.json").rename(tmp_path / "elsewhere")
        (folder / "work.json").symlink_to(tmp_path / "elsewhere")
    else:
        (folder / "work.json").write_bytes(note)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(DataError, match=r"or a damaged work\.json") as error:
        explain(place, output)
    sentence(error)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert not output.exists()


def test_a_flipped_bit_in_the_list_of_parts_is_noticed(place, tmp_path):
    output = tmp_path / "out.parquet"
    note = interrupted(place, output) / "work.json"
    content, random_ = note.read_bytes(), random.Random(1)
    for _ in range(40):
        damaged = bytearray(content)
        damaged[random_.randrange(len(content))] ^= 1 << random_.randrange(8)
        note.write_bytes(damaged)
        with pytest.raises(DataError, match="damaged"):
            Parts.open(note.parent, {}, PART)
    note.write_bytes(content)
    assert_done_well(place, output)


def test_links_are_not_followed(place, tmp_path):
    precious = tmp_path / "precious"
    precious.write_bytes(b"precious")
    output = tmp_path / "out.parquet"
    (tmp_path / "out.parquet.partial").symlink_to(precious)
    assert_done_well(place, output)
    output.unlink()
    for name, match in (("out.parquet", "symbolic link"), ("out.parquet.parts", "is not a folder"),
                        ("out.parquet.lock", "cannot be written")):  # fmt: skip
        for target in (precious, tmp_path / "nothing", tmp_path):
            (tmp_path / name).symlink_to(target)
            with pytest.raises(DataError, match=match) as error:
                explain(place, output)
            sentence(error)
            (tmp_path / name).unlink()
    assert precious.read_bytes() == b"precious"
    assert not (tmp_path / "nothing").exists()


# --- several runs -----------------------------------------------------------------------------------------------------


def test_a_second_run_of_the_same_output_is_refused(place, tmp_path):
    output = tmp_path / "out.parquet"
    refused = []

    def try_another(done):
        with pytest.raises(DataError, match="another run is writing it") as error:
            explain(place, output, radius=0.25)
        refused.append(sentence(error))

    explain(place, output, progress=try_another)
    assert len(refused) == 11
    assert output.read_bytes() == (place / "whole.parquet").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]


def test_a_lock_file_of_a_dead_run_holds_nothing_and_one_with_content_stays(tmp_path):
    lock = tmp_path / "out.parquet.lock"
    lock.touch()
    with locked(tmp_path / "out.parquet"):
        pass
    assert not lock.exists()
    lock.write_text("a user's")
    with locked(tmp_path / "out.parquet"):
        pass
    assert lock.read_text() == "a user's"


RUN = textwrap.dedent("""
    import sys, time
    from pathlib import Path
    from suffice.batch.arrow import ArrowExplainer
    from suffice.batch.files import TableFile
    from suffice.batch.stream import explain_file
    from suffice.errors import DataError

    place, output, radius = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
    ask = ArrowExplainer(place / "model.safetensors", radius, unit="raw", carry=["id"], threads=1)
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        explain_file(ask, TableFile(place / "rows.parquet"), output, part_rows=100,
                     progress=lambda done: time.sleep(0.01))
    except DataError as error:
        print(error)
        sys.exit(1)
""")


def start(place, output, radius):
    command = [sys.executable, "-c", RUN, str(place), str(output), str(radius)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def run_at_once(place, output, radii):
    """Let runs begin at the same moment; return their exit codes and last words."""
    runs = [start(place, output, radius) for radius in radii]
    for run in runs:
        assert run.stdout.readline() == "ready\n"
    for run in runs:
        run.stdin.write("\n")
        run.stdin.flush()
    said = [run.communicate()[0] for run in runs]
    return [(run.returncode, words) for run, words in zip(runs, said, strict=True)]


def wholes(place, radii):
    found = {}
    for radius in radii:
        path = place / f"whole-{radius}.parquet"
        if not path.exists():
            explain(place, path, radius=radius)
        found[radius] = path.read_bytes()
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="processes and signals of Unix")
@pytest.mark.parametrize("radii", [(0.5, 0.5), (0.5, 0.25)])
def test_two_runs_at_once_never_mix(place, tmp_path, radii):
    output = tmp_path / "out.parquet"
    assert_pair_is_whole(place, output, radii)


def assert_pair_is_whole(place, output, radii):
    expected = wholes(place, radii)
    ended = run_at_once(place, output, radii)
    winners = [radius for radius, (code, _) in zip(radii, ended, strict=True) if code == 0]
    assert winners
    assert output.read_bytes() in {expected[radius] for radius in winners}
    assert all(code == 0 or (code == 1 and "another run is writing it" in words) for code, words in ended)
    assert [path.name for path in output.parent.iterdir()] == [output.name]


@pytest.mark.skipif(sys.platform == "win32", reason="processes and signals of Unix")
@pytest.mark.parametrize("parts", [0, 1, 5, 10])
def test_a_run_killed_at_any_moment_goes_on(place, tmp_path, parts):
    assert_resumes(place, tmp_path / "out.parquet", parts)


def assert_resumes(place, output, parts):
    run = start(place, output, 0.5)
    assert run.stdout.readline() == "ready\n"
    run.stdin.write("\n")
    run.stdin.flush()
    folder = output.with_name(output.name + ".parts")
    while run.poll() is None and len(parts_of(folder)) < parts:
        time.sleep(0.001)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    earlier = output.read_bytes() if output.exists() else None
    whole = (place / "whole.parquet").read_bytes()
    assert earlier in (None, whole)
    explain(place, output)
    assert output.read_bytes() == whole
    assert [path.name for path in output.parent.iterdir()] == [output.name]


# --- engines ----------------------------------------------------------------------------------------------------------


def shuffled(ask, shares):
    """Do parts in an order of chance, as a cluster may."""
    todo = list(shares)
    random.Random(3).shuffle(todo)
    assert [k for k, _ in todo] != sorted(k for k, _ in todo)
    for k, rows in todo:
        yield k, ask(k, rows)


@pytest.mark.parametrize("reads_itself", [True, False])
@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_the_order_in_which_parts_arrive_means_nothing(place, tmp_path, reads_itself, kind):
    write_model(tmp_path / "model.safetensors")
    table = parquet.read_table(place / "rows.parquet")
    if kind == "parquet":
        parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
    else:
        lines = [",".join(map(str, row.values())) for row in table.to_pylist()]
        (tmp_path / "rows.csv").write_text("\n".join(["id,u,v", *lines]) + "\n")
    output = tmp_path / "out.parquet"
    explain(tmp_path, output, table=f"rows.{kind}", engine=shuffled, reads_itself=reads_itself)
    found, whole = parquet.read_table(output), parquet.read_table(place / "whole.parquet")
    assert found["row"].to_pylist() == [int(one) for one in found["id"].to_pylist()] == list(range(ROWS))
    assert found["features"].equals(whole["features"])


def losing(ask, shares):
    for k, rows in shares:
        if k != 4:
            yield k, ask(k, rows)


def doubling(ask, shares):
    for k, rows in shares:
        yield k, ask(k, rows)
        yield k, ask(k, rows)


def misnaming(ask, shares):
    for k, _ in shares:
        yield k, ask(k ^ 1, None)


def shortening(ask, shares):
    for k, rows in shares:
        yield k, ask(k, rows).slice(0, 99)


@pytest.mark.parametrize(
    ("engine", "words"),
    [(losing, "part 4 did not come back"), (doubling, "part 0 came back twice"), (misnaming, "not those of its rows"),
     (shortening, "keep changing")],
)  # fmt: skip
def test_an_engine_that_loses_doubles_or_exchanges_rows_is_refused(place, tmp_path, engine, words):
    with pytest.raises(DataError, match=words) as error:
        explain(place, tmp_path / "out.parquet", engine=engine)
    sentence(error)
    assert not (tmp_path / "out.parquet").exists()


def test_a_worker_that_sees_another_file_of_that_name_refuses(place, tmp_path):
    write_model(tmp_path / "model.safetensors")
    parquet.write_table(rows_of(0), tmp_path / "rows.parquet")

    def engine(ask, shares):
        parquet.write_table(rows_of(0).slice(0, 999), tmp_path / "rows.parquet")
        for k, rows in shares:
            yield k, ask(k, rows)

    with pytest.raises(DataError, match="is not the same file on every machine"):
        explain(tmp_path, tmp_path / "out.parquet", engine=engine, reads_itself=True)
