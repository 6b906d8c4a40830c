"""A run that begins with a trained model: its weights and tokenizer, a new optimiser, another corpus."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from tests.training.test_folder import CONFIG as SHORT
from tests.training.test_folder import PAIRS
from xformer_lib.cli import build_parser, main
from xformer_lib.cli.provenance import run_record
from xformer_lib.data import load_corpus, read_pairs, split_pairs
from xformer_lib.data.pairs import load_pairs
from xformer_lib.decoding import translate
from xformer_lib.training import preset, preset_for, resume, train
from xformer_lib.training.checkpoint import load_model, load_settings
from xformer_lib.training.config import fine_tuned
from xformer_lib.training.rehearsal import known_sentences
from xformer_lib.training.validation import out_of_patience

CONFIG = replace(SHORT, max_tokens=307, model=replace(SHORT.model, max_len=211))
FIRST = {"train": PAIRS[:31], "val": PAIRS[31:]}
OTHER = {"train": PAIRS[23:41], "val": PAIRS[:5]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trained") / "run"
    train(CONFIG, folder, corpus=FIRST, device="cpu", progress=False)
    return folder


def tuned_run(trained, folder, steps=2, rate=1e-2, **changes):
    there = load_settings(trained)[0].model
    config = replace(CONFIG, max_steps=steps, warmup_steps=1, peak_rate=rate, seed=5, model=replace(there, **changes))
    return train(config, folder, corpus=OTHER, device="cpu", progress=False, start=trained)


def test_it_begins_where_the_other_run_ended(trained, tmp_path):
    run = tuned_run(trained, tmp_path / "run", rate=1e-12, dropout=0.0)
    model, tokenizer = load_model(trained)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(run.model.state_dict()[name], weight, rtol=0, atol=1e-9)
    assert run.tokenizer.fingerprint == tokenizer.fingerprint
    assert (run.step, run.config.model.dropout) == (2, 0.0)


def test_the_settings_that_trained_a_model_begin_with_it(trained, tmp_path):
    """They ask for a vocabulary; the tokenizer of the folder has learned a smaller one."""
    asked = replace(CONFIG, model=replace(CONFIG.model, vocab_size=1009))
    assert load_settings(trained)[0].model.vocab_size < 1009
    run = train(asked, tmp_path / "run", corpus=OTHER, device="cpu", progress=False, start=trained)
    assert run.config.model == load_settings(trained)[0].model


def test_the_first_model_is_left_alone(trained, tmp_path):
    before = {path.name: path.read_bytes() for path in trained.iterdir()}
    tuned_run(trained, tmp_path / "run")
    assert {path.name: path.read_bytes() for path in trained.iterdir()} == before


@pytest.mark.parametrize("changes", [{"d_model": 14}, {"norm": "post"}, {"max_len": 23}])
def test_another_model_is_refused_before_anything_is_written(trained, tmp_path, changes):
    (name, value), there = next(iter(changes.items())), load_settings(trained)[0].model
    with pytest.raises(ValueError, match=f"that folder, with {name}={getattr(there, name)}, got {name}={value};"):
        tuned_run(trained, tmp_path / "run", **changes)
    assert not (tmp_path / "run").exists()


def test_the_command_takes_the_sizes_of_the_model(trained, tmp_path, capsys):
    settings = ["--set", "max_steps=3", "warmup_steps=1", "dropout=0.3"]
    assert main(["train", "--preset", "fragment", "--start-from", str(trained), "--out", str(tmp_path / "run"), "--quiet", *settings]) == 0
    model = load_settings(tmp_path / "run")[0].model
    assert model == replace(load_settings(trained)[0].model, dropout=0.3)


def test_the_shipped_model_is_known_by_its_name(trained, tmp_path, monkeypatch):
    monkeypatch.setattr("xformer_lib._shipped.SHIPPED", trained.parent)
    monkeypatch.chdir(tmp_path)
    settings = ["--set", "max_steps=3", "warmup_steps=1"]
    assert main(["train", "--preset", "fragment", "--start-from", trained.name, "--out", "tuned", "--quiet", *settings]) == 0
    assert load_settings(tmp_path / "tuned")[0].model == replace(load_settings(trained)[0].model, dropout=0.0)


def test_a_run_goes_on_from_its_own_weights(trained, capsys):
    assert main(["train", "--resume", str(trained), "--start-from", str(trained)]) == 2
    assert "--resume: expected no --start-from and --out" in capsys.readouterr().err


def test_a_folder_without_a_model(tmp_path, capsys):
    assert main(["train", "--preset", "fragment", "--start-from", str(tmp_path / "none"), "--out", str(tmp_path / "run"), "--quiet"]) == 2
    assert "name the folder that xformer train wrote to" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()


def test_torchrun_leaves_every_option_of_training_alone():
    """It takes an option that abbreviates two of its own for a mistake, even behind the name of our module."""
    from torch.distributed.run import get_args_parser

    (commands,) = (action.choices for action in build_parser()._actions if action.dest == "command")
    options = [option for action in commands["train"]._actions for option in action.option_strings if option != "-h"]
    assert {"--preset", "--start-from", "--resume"} <= set(options)
    for option in options:
        words = ["xformer_lib.cli", "train", option, "x"]
        found = get_args_parser().parse_args(["--nproc-per-node", "2", "-m", *words])
        assert [found.training_script, *found.training_script_args] == words


def test_quotes_and_spaces_of_a_corpus_are_made_plain(tmp_path):
    """By the tokenizer and in the pairs; as a sentence is that is translated."""
    typed = [(source.replace(" ", "\u00a0 "), f"l\u2019{target} ") for source, target in PAIRS]
    plain = [(source, f"l'{target}") for source, target in PAIRS]
    runs = [
        train(CONFIG, tmp_path / name, corpus={"train": pairs[:31], "val": pairs[31:]}, device="cpu", progress=False)
        for name, pairs in (("typed", typed), ("plain", plain))
    ]
    assert runs[0].tokenizer.fingerprint == runs[1].tokenizer.fingerprint
    for one, other in zip(runs[0].model.parameters(), runs[1].model.parameters(), strict=True):
        assert torch.equal(one, other)


KITCHEN = [(f"The pan number {n} is hot.", f"La poêle numéro {n} est chaude.") for n in range(31)]


def test_few_pairs_take_small_steps_and_few(trained, monkeypatch):
    """Not the 1,500 large ones that a model begins with, which leave nothing of a trained one; by a path and by a name."""
    monkeypatch.setattr("xformer_lib._shipped.SHIPPED", trained.parent)
    fresh = preset_for(KITCHEN)
    for start in (trained, str(trained), trained.name):
        gentle = preset_for(KITCHEN, start=start)
        assert gentle.peak_rate <= 2e-4 < fresh.peak_rate and gentle.max_steps <= 100 < fresh.max_steps
        assert gentle.model == replace(load_settings(trained)[0].model, dropout=0.0) and gentle.patience and gentle.rehearsal
    assert preset_for(KITCHEN * 10, start=trained).max_steps == 155 and preset_for(KITCHEN * 600, start=trained).max_steps == 1000
    assert fine_tuned(preset("multi30k"), trained).peak_rate <= 2e-4


def test_old_sentences_are_rehearsed_and_others_compared(trained, tmp_path, capsys):
    """Both are what the old model makes of sentences of its own; the run goes on with them, and the command says what became of them."""
    file = tmp_path / "kitchen.tsv"
    file.write_text("".join(f"{source}\t{target}\n" for source, target in KITCHEN), encoding="utf-8")
    parts = split_pairs(read_pairs(file))
    again = trained.parent / "again"  # a run with pairs of its own, of which one is in the new ones, too
    train(
        replace(CONFIG, max_steps=2, warmup_steps=1),
        again,
        corpus={"train": [*PAIRS[:31], KITCHEN[0]], "val": PAIRS[31:]},
        device="cpu",
        progress=False,
    )
    folder, command = tmp_path / "run", ["train", "--pairs", str(file), "--start-from", str(again), "--quiet"]
    assert main([*command, "--out", str(folder), "--set", "max_steps=3", "warmup_steps=1", "max_tokens=307", "rehearsal=0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    rehearse, compared = known_sentences(again)
    assert len(compared) == (len(rehearse) + len(compared)) // 2 > 5 and not set(rehearse) & set(compared)
    old = [text for text in rehearse if text != KITCHEN[0][0]][: round(len(parts["train"]) / 2)]
    said = list(zip(old, translate(*load_model(again), old)))
    assert load_pairs(folder) == {**parts, "train": parts["train"] + [pair for pair in said if pair[1]]}
    kept = json.loads((folder / "kept.json").read_text(encoding="utf-8"))
    assert kept["sources"] == compared and kept["before"] == translate(*load_model(again), compared)
    assert kept["after"] == translate(*load_model(folder), compared)
    assert kept["same"] == sum(a == b for a, b in zip(kept["before"], kept["after"]))
    assert lines[1].startswith(f"{kept['same']} of {len(compared)} other sentences are translated as again did")
    assert resume(folder, device="cpu", progress=False).kept == kept == run_record(folder)["kept"]


def test_what_a_model_knows(trained, tmp_path):
    """Of a shipped one the everyday sentences and the fragment's, in the language that it reads."""
    for corpus, first, second in (
        ("tatoeba", "Where is the hotel?", "Hello world"),
        ("tatoeba-fr-en", "Où est l'hôtel ?", "Bonjour le monde"),
    ):
        config = json.loads((trained / "config.json").read_text()) | {"corpus": corpus}
        (tmp_path / "config.json").write_text(json.dumps(config))
        rehearse, compared = known_sentences(tmp_path)
        assert rehearse[:2] == [first, second] and len(set(rehearse)) == len(rehearse) > 1000 and len(compared) == 20
        assert not set(compared) & set(rehearse)
    (tmp_path / "config.json").write_text(json.dumps(config | {"corpus": "fragment-fr-en"}))
    texts = {target for _, target in load_corpus("fragment", "train")}
    assert set(sum(known_sentences(tmp_path), [])) <= texts


@pytest.mark.parametrize(
    "losses, patience, ends",
    [
        ([], 1, False),
        ([3.0, 2.0], 1, False),
        ([2.0, 3.0], 1, True),
        ([2.0, 3.0], 2, False),
        ([2.0, 3.0, 2.5], 2, True),
        ([2.0, 3.0, 1.0], 2, False),
    ]
    + [([2.0, 3.0, 4.0], 0, False)],
)
def test_patience_ends(losses, patience, ends):
    history = [{"validation_loss": loss} for loss in losses]
    assert out_of_patience(SimpleNamespace(history=history, config=SimpleNamespace(patience=patience))) is ends


def test_a_run_out_of_patience_stays_ended_until_it_is_prolonged(trained, tmp_path):
    config = replace(CONFIG, max_steps=9, validate_every=1, peak_rate=1.0, warmup_steps=1, patience=2)
    run = train(config, tmp_path / "run", corpus=FIRST, device="cpu", progress=False)
    assert 3 <= run.step < 9 and len(run.history) == run.step
    assert resume(tmp_path / "run", device="cpu", progress=False).step == run.step
    assert resume(tmp_path / "run", device="cpu", progress=False, max_steps=11).step == 11
