"""The folder of a run: what may be written there, what is never touched, who may train in it, and which files belong together."""

import errno
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from tests.ci import continuous, posix
from xformer_lib.data import Tokenizer
from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training import TrainConfig, loop, validation
from xformer_lib.training.checkpoint import load_model, load_setup, load_tensors, save_setup
from xformer_lib.training.config import load_settings

ROOT = Path(__file__).parents[2]
WORDS = ["le", "chat", "dort", "ici", "gros", "jaune", "jardin"]
PAIRS = [
    (" ".join(WORDS[(n * k + 3) % 7] for k in range(2 + n % 4)), " ".join(WORDS[(n * k + 5) % 7] for k in range(2 + n % 3)))
    for n in range(41)
]
CORPUS = {"train": PAIRS[:31], "val": PAIRS[31:]}
CONFIG = TrainConfig(
    "own",
    TransformerConfig(
        vocab_size=271, d_model=10, num_heads=2, d_ff=13, num_encoder_layers=1, num_decoder_layers=1, dropout=0.2, max_len=19
    ),
    max_steps=7,
    max_tokens=47,
    warmup_steps=2,
    peak_rate=1e-2,
    validate_every=3,
    seed=2,
)
OURS = {"config.json", "tokenizer.json", "pairs.tsv", "checkpoint.safetensors", "model.safetensors"}
STRANGERS = (
    "model.py model.ipynb big.part checkpoint.pt checkpoint.safetensors.part notes.txt.4711.part "
    "checkpoint.safetensors.4711.part.txt checkpoint.safetensors.x4711.part model.safetensors.bak model.bin "
    "my-model.safetensors checkpoint.d/inner.part model.d/weights model.safetensors.12.part/kept"
).split()
PARTS = (
    "checkpoint.safetensors.4711.part model.safetensors.3.part config.json.12345.part tokenizer.json.7.part provenance.json.7.part"
).split()


def begin(folder, config=CONFIG, corpus=CORPUS, **options):
    return loop.train(config, folder, **{"corpus": corpus, "device": "cpu", "progress": False, **options})


def go_on(folder, **options):
    return loop.resume(folder, **{"corpus": CORPUS, "device": "cpu", "progress": False, **options})


def fill(folder, names):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"the content of {name}")


def holds(folder):
    """Every file below a folder, with its bytes."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    begin(folder)
    return folder


@pytest.fixture
def run(finished, tmp_path):
    """A copy of a finished run."""
    return Path(shutil.copytree(finished, tmp_path / "run"))


# ---------------------------------------------------------------- what is never touched


@pytest.mark.parametrize("what", ["train", "resume"])
def test_only_our_own_leftovers_are_removed(finished, tmp_path, what):
    """Names that merely look like ours stay; what a killed run half wrote goes."""
    if what == "resume":
        shutil.copytree(finished, tmp_path, dirs_exist_ok=True)
    fill(tmp_path, STRANGERS + PARTS)
    before = {name: data for name, data in holds(tmp_path).items() if name in STRANGERS}
    begin(tmp_path) if what == "train" else go_on(tmp_path)
    after = holds(tmp_path)
    assert len(before) == len(STRANGERS) and {name: after.get(name) for name in STRANGERS} == before
    assert set(after) == OURS | set(STRANGERS)


def broken_build(config):
    raise ValueError("build: it does not want to")


MISTAKES = {
    "no corpus of that name": dict(corpus=None),
    "no training pairs": dict(corpus={"train": [], "val": PAIRS}),
    "no validation pairs": dict(corpus={"train": PAIRS, "val": []}),
    "every pair too long": dict(config=replace(CONFIG, model=replace(CONFIG.model, max_len=2))),
    "a pair over the budget": dict(config=replace(CONFIG, max_tokens=3)),
    "too small a vocabulary": dict(config=replace(CONFIG, model=replace(CONFIG.model, vocab_size=17))),
    "no such device": dict(device="tpu"),
    "a model that cannot be built": dict(build=broken_build),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_run_that_is_refused_changes_nothing(tmp_path, mistake):
    """Neither where it was to begin again, nor where nothing was."""
    half = tmp_path / "half"
    save_setup(half, CONFIG, Tokenizer.train(WORDS * 2, vocab_size=263))
    fill(half, STRANGERS + PARTS)
    before = holds(half)
    for folder in (half, tmp_path / "new"):
        with pytest.raises(ValueError) as error:
            begin(folder, **MISTAKES[mistake])
        assert "\n" not in str(error.value)
    assert holds(half) == before and not (tmp_path / "new").exists()


def refused(folder, message):
    """`train` leaves the folder as it is, and says so in one line, before it has learned a tokenizer."""
    before = holds(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Tokenizer, "train", None)
        with pytest.raises(ValueError, match=message) as error:
            begin(folder)
    assert "\n" not in str(error.value) and str(folder) in str(error.value) and holds(folder) == before


def test_the_command_that_goes_on_can_be_copied(run, tmp_path):
    """As into Colab's "My Drive"."""
    shutil.copytree(run, tmp_path / "my drive")
    refused(tmp_path / "my drive", f"; go on with xformer train --resume '{tmp_path}/my drive', or name another folder$")


def test_a_run_is_not_begun_over_another(run):
    refused(
        run, "^folder: expected one without a run, .* holds a checkpoint; go on with xformer train --resume .*, or name another folder$"
    )


@pytest.mark.parametrize("beside", [(), ("config.json", "tokenizer.json")])
def test_weights_without_a_checkpoint_are_never_removed(run, beside):
    """A model that somebody copied, alone or with its settings."""
    for path in run.iterdir():
        if path.name not in ("model.safetensors", *beside):
            path.unlink()
    refused(
        run,
        "^folder: expected one without a model, .* holds model.safetensors and no checkpoint; move it elsewhere, or name another folder$",
    )


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "provenance.json"])
@pytest.mark.parametrize("content", ['{"model_type": "bert"}', "not JSON", "[" * 100_000])
def test_settings_of_another_program_are_not_replaced(tmp_path, name, content):
    (tmp_path / name).write_text(content)
    refused(
        tmp_path, f"^folder: expected one without settings of something else, .* holds a {name} that no run wrote; name another folder$"
    )


def test_a_run_without_a_checkpoint_begins_again(tmp_path):
    """It was killed before it had one: there is nothing to lose, and its settings may change."""
    save_setup(tmp_path, CONFIG, Tokenizer.train(WORDS * 2, vocab_size=263))
    (tmp_path / "provenance.json").write_text("{}")
    run = begin(tmp_path, replace(CONFIG, seed=3))
    assert run.step == 7 and load_setup(tmp_path)[0].seed == 3 and set(holds(tmp_path)) == OURS | {"provenance.json"}


@pytest.mark.parametrize("inside", ["", "run"])
def test_a_file_is_no_folder(tmp_path, inside):
    (tmp_path / "file").write_text("")
    refused_path = tmp_path / "file" / inside
    with pytest.raises(ValueError, match="^folder: expected a folder, got .*, but .*file is none; name another folder$"):
        begin(refused_path)


def test_a_folder_that_cannot_be_made(tmp_path, monkeypatch):
    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(OSError, match=r"run: the folder could not be made \(Permission denied\); name another folder$") as error:
        begin(tmp_path / "run")
    assert str(error.value).startswith(str(tmp_path)) and "\n" not in str(error.value)


@continuous
def test_python_without_asserts_and_docstrings_refuses_the_same(finished, tmp_path):
    """`python -OO`: no check of what a user gives is an assert, and nothing needs a docstring."""
    program = """
import sys, runpy
from pathlib import Path
if __debug__ or sys.flags.optimize != 2:
    sys.exit("asserts are on")
here, run, new = runpy.run_path(sys.argv[1]), *map(Path, sys.argv[2:])
for what in (lambda: here["begin"](run), lambda: here["begin"](new, corpus={"train": [], "val": []}),
             lambda: here["begin"](new, corpus=None), lambda: here["begin"](new, device="tpu")):
    try:
        what()
    except ValueError as error:
        print(str(error).split(":")[0])
print(here["begin"](new).step, here["go_on"](new).step)
"""
    ended = subprocess.run(
        [sys.executable, "-OO", "-c", program, __file__, finished, tmp_path / "new"],
        text=True,
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    assert ended.stdout.splitlines() == ["folder", "corpus", "name", "device", "7 7"], ended.stderr


# ---------------------------------------------------------------- one at a time


PROGRAM = """
import sys, time, runpy
from pathlib import Path
from xformer_lib.training import loop

here = runpy.run_path(sys.argv[1])
what, folder, stop = sys.argv[2], Path(sys.argv[3]), int(sys.argv[4])
step = loop.train_step

def slow(run, batch):
    if run.step == stop:
        print("here", flush=True)
        time.sleep(600)
    return step(run, batch)

loop.train_step = slow
here["begin" if what == "train" else "go_on"](folder)
"""


def start(what, folder, stop):
    """A process that trains up to a step and stands still there."""
    threads = str(torch.get_num_threads())  # other numbers of threads add up in another order
    environment = {**os.environ, "OMP_NUM_THREADS": threads, "PYTHONPATH": str(ROOT), "CUDA_VISIBLE_DEVICES": ""}
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, __file__, what, folder, str(stop)], env=environment, text=True, stdout=subprocess.PIPE
    )
    assert process.stdout.readline() == "here\n"
    return process


BUSY = (
    r"^folder: expected one in which nothing trains, .* is in use by process {pid} on \S+ since \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d; "
    r"wait until it ends, or name another folder$"
)


@continuous
@posix
def test_two_processes_do_not_train_in_one_folder(tmp_path, monkeypatch):
    """The second is told who is there. A kill frees the folder by itself, and the run goes on to the bits it would have had."""
    begin(tmp_path / "alone")
    folder = tmp_path / "run"
    first = start("train", folder, 1)
    try:  # before its first checkpoint
        monkeypatch.setattr(loop, "train_step", None)
        with pytest.raises(ValueError, match=BUSY.format(pid=first.pid)):
            begin(folder, replace(CONFIG, seed=5))
    finally:
        first.kill()
        first.wait()
    first = start("train", folder, 4)
    try:  # after it
        before = holds(folder)
        with pytest.raises(ValueError, match=BUSY.format(pid=first.pid)):
            go_on(folder)
        assert holds(folder) == before and "xformer.lock" in before
    finally:
        first.kill()
        first.wait()
    monkeypatch.undo()
    assert go_on(folder).step == 7 and set(holds(folder)) == OURS
    one, other = (load_tensors(path / "checkpoint.safetensors")[0] for path in (folder, tmp_path / "alone"))
    assert all(torch.equal(value, other[name]) for name, value in one.items())


def test_the_folder_is_free_after_a_run_however_it_ends(tmp_path, monkeypatch):
    def fails(run, batch):
        assert (tmp_path / "xformer.lock").exists()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(loop, "train_step", fails)
        with pytest.raises(KeyboardInterrupt):
            begin(tmp_path)
    assert set(holds(tmp_path)) == {"config.json", "tokenizer.json", "pairs.tsv"}
    begin(tmp_path)
    assert set(holds(tmp_path)) == OURS


def test_a_lock_of_the_dead_does_not_count(run):
    (run / "xformer.lock").write_text("process 1 on nowhere since 1970-01-01 00:00:00")
    assert go_on(run).step == 7 and set(holds(run)) == OURS


def test_two_trainings_in_one_process(tmp_path, monkeypatch):
    """As two threads, or a callback, would begin them."""
    seen = []

    def again(run, batch, step=loop.train_step):
        with pytest.raises(ValueError, match=BUSY.format(pid=os.getpid())):
            begin(tmp_path) if run.step < 3 else go_on(tmp_path)  # there is a checkpoint after step 3
        seen.append(run.step)
        return step(run, batch)

    monkeypatch.setattr(loop, "train_step", again)
    begin(tmp_path)
    assert seen == list(range(7))


def test_the_lock_is_never_held_twice(tmp_path):
    """Six that want it again and again, each of which removes the file when it is done."""
    from xformer_lib.training import _folder

    inside, seen, wrong, begun = threading.Lock(), [], [], time.monotonic()

    def goes_on():
        """For two seconds; on a busy machine until both have happened often."""
        past = time.monotonic() - begun
        return past < 2 or past < 60 and min(map(seen.count, ("held", "busy"))) <= 50

    def contend():
        try:
            while goes_on():
                try:
                    with _folder.locked(tmp_path / "xformer.lock"):
                        alone = inside.acquire(blocking=False)
                        if not alone:
                            raise AssertionError("two hold it")
                        time.sleep(0.001)
                        inside.release()
                        seen.append("held")
                except ValueError as error:
                    seen.append("busy")
                    if "is in use by" not in str(error):
                        raise
        except BaseException as error:  # a thread's own would be lost
            wrong.append(error)

    threads = [threading.Thread(target=contend) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == [] and list(tmp_path.iterdir()) == []
    assert seen.count("held") > 50 and seen.count("busy") > 50


@posix
@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_a_file_system_without_such_locks_is_trained_on_all_the_same(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr("fcntl.flock", refuse)
    begin(tmp_path)
    assert go_on(tmp_path).step == 7 and set(holds(tmp_path)) == OURS


# ---------------------------------------------------------------- which files belong together


@pytest.fixture(scope="module")
def twin(tmp_path_factory):
    """The same settings, another seed: every shape fits, every setting too, and so does the tokenizer."""
    folder = tmp_path_factory.mktemp("twin")
    begin(folder, replace(CONFIG, seed=3))
    return folder


OTHER = r"^checkpoint: .*{name} was written by another run than config.json \(run [0-9a-f]{{16}}, not [0-9a-f]{{16}}\); restore both"


def test_a_checkpoint_of_a_twin_is_refused(run, twin):
    shutil.copy(twin / "checkpoint.safetensors", run)
    before = holds(run)
    with pytest.raises(ValueError, match=OTHER.format(name="checkpoint.safetensors")) as error:
        go_on(run)
    assert "\n" not in str(error.value) and holds(run) == before
    load_model(run)  # which asks for no checkpoint


@pytest.mark.parametrize("read", [load_model, go_on])
def test_a_model_of_a_twin_is_refused(run, twin, read):
    shutil.copy(twin / "model.safetensors", run)
    with pytest.raises(ValueError, match=OTHER.format(name="model.safetensors")):
        read(run)


@pytest.mark.parametrize("other", [{"val": PAIRS[30:]}, {"train": PAIRS[30::-1]}], ids=["one pair more", "another order"])
def test_other_pairs_are_refused(run, other):
    """They would be trained on in silence; what they are is seen before anything is changed."""
    before = holds(run)
    said = "checkpoint.safetensors was written by a run with other pairs; leave corpus out where its folder has pairs.tsv, or give"
    with pytest.raises(ValueError, match=said):
        go_on(run, corpus={**CORPUS, **other})
    assert holds(run) == before and go_on(run).step == CONFIG.max_steps


def test_every_file_of_weights_and_the_settings_hold_the_same_id(run, twin):
    ids = {json.loads((folder / "config.json").read_text())["run"] for folder in (run, twin)}
    assert len(ids) == 2 and all(re.fullmatch("[0-9a-f]{16}", one) for one in ids)
    for name in ("checkpoint.safetensors", "model.safetensors"):
        assert {load_tensors(folder / name)[1]["run"] for folder in (run, twin)} == ids


def test_changed_settings_keep_the_id(run):
    """`save_setup` over a run, as one does to train it longer."""
    config, tokenizer = load_setup(run)
    save_setup(run, replace(config, max_steps=9), tokenizer)
    assert go_on(run).step == 9
    load_model(run)


def test_a_run_of_before_ids_goes_on_and_loads(run):
    """No file has one: nothing to compare."""
    from xformer_lib.training.checkpoint import save_tensors

    config = json.loads((run / "config.json").read_text())
    config.pop("run")
    (run / "config.json").write_text(json.dumps({**config, "max_steps": 9}))
    for name in ("checkpoint.safetensors", "model.safetensors"):
        tensors, state = load_tensors(run / name)
        state.pop("run")
        save_tensors(run / name, tensors, state)
    load_model(run)
    assert go_on(run).step == 9 and load_tensors(run / "checkpoint.safetensors")[1]["run"] is None
    load_model(run)


# ---------------------------------------------------------------- checkpoint and best model


def test_a_model_is_never_without_its_checkpoint(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(os, "replace", lambda part, path, move=os.replace: (order.append(Path(path).name), move(part, path)))
    begin(tmp_path)
    assert order[:5] == ["config.json", "tokenizer.json", "pairs.tsv", "checkpoint.safetensors", "model.safetensors"]


def test_one_that_is_not_the_best_replaces_no_model(tmp_path, monkeypatch):
    """Losses 2, 1, 3: the model of the second validation stays, also through a resume."""
    losses = iter([2.0, 1.0, 3.0])

    def summed(model, data, device):
        count = sum(int((batch.target_out != 0).sum()) for batch in data)
        return next(losses) * count, count

    monkeypatch.setattr(validation, "summed_loss", summed)
    run = begin(tmp_path)
    assert [line["validation_loss"] for line in run.history] == [2.0, 1.0, 3.0]
    before = (tmp_path / "model.safetensors").read_bytes()
    go_on(tmp_path)
    assert load_tensors(tmp_path / "model.safetensors")[1]["step"] == 6
    assert (tmp_path / "model.safetensors").read_bytes() == before


def test_the_bar_names_its_loss_and_counts_the_tokens_of_its_own_time(tmp_path, monkeypatch, capsys):
    """Smoothed labels make the training loss a multiple of the validation loss; a resumed run's past had a clock of its own."""
    said, real, step = [], loop.progress_bar, loop.train_step

    def spied(*given, **options):
        bar = real(*given, **options)
        bar.set_postfix_str = said.append
        return bar

    def dies(run, batch):
        if run.step == 5:
            raise RuntimeError
        return step(run, batch)

    def restored(run, restore=loop.restore):
        restore(run)
        run.seconds += 1e9

    monkeypatch.setattr(loop, "READ_EVERY", 1)
    monkeypatch.setattr(loop, "progress_bar", spied)
    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(loop, "train_step", dies)
        begin(tmp_path / "run", progress=True)
    monkeypatch.setattr(loop, "restore", restored)
    go_on(tmp_path / "run", progress=True)
    found = [re.fullmatch(r"training loss \d\.\d{3} with smoothed labels, ([\d,]+) tokens/s", one) for one in said]
    assert len(said) == 5 + 4 and all(found) and all(int(one[1].replace(",", "")) > 0 for one in found)
    begin(tmp_path / "plain", replace(CONFIG, label_smoothing=0.0), progress=True)
    assert re.fullmatch(r"training loss \d\.\d{3}, [\d,]+ tokens/s", said[-1])


def test_a_program_without_a_console_trains(tmp_path, monkeypatch):
    """pythonw has no standard error at all."""
    monkeypatch.setattr("sys.stderr", None)
    assert begin(tmp_path / "run", progress=True).step == CONFIG.max_steps


@posix
def test_what_cannot_be_written_is_found_before_the_first_step(tmp_path, monkeypatch):
    """The weights of a run to go on with are for reading only; a new folder's parent takes nothing."""
    step = loop.train_step

    def dies(run, batch):
        if run.step == 5:
            raise RuntimeError
        return step(run, batch)

    with monkeypatch.context() as patch, pytest.raises(RuntimeError):
        patch.setattr(loop, "train_step", dies)
        begin(tmp_path / "run")
    monkeypatch.setattr(loop, "train_step", None)
    (tmp_path / "run" / "model.safetensors").chmod(0o444)
    with pytest.raises(OSError, match=r"model\.safetensors cannot be written \(it is read-only\); name another"):
        go_on(tmp_path / "run")
    monkeypatch.setattr("tempfile.TemporaryFile", lambda dir: (_ for _ in ()).throw(OSError(30, "Read-only file system")))
    monkeypatch.setattr(loop, "new_run", None)
    with pytest.raises(OSError, match=rf"{tmp_path} cannot be written \(Read-only file system\); name one in another folder"):
        begin(tmp_path / "new" / "run")
    assert not (tmp_path / "new").exists()


def test_settings_without_a_model_are_named(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="model: expected the sizes of one, got none"):
        load_settings(tmp_path)
