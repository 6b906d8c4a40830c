"""The command line from training to translation, and every mistake a user can make at it."""

import json
import shutil

import pytest

from xformer_lib.cli import main

SMALL = ["--set", "d_model=22", "num_heads=2", "d_ff=29", "num_encoder_layers=1", "num_decoder_layers=1",
         "max_steps=7", "validate_every=3", "max_tokens=301", "warmup_steps=2", "max_len=31"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A finished run, trained for seven steps through the command itself."""
    folder = tmp_path_factory.mktemp("runs") / "small"
    assert main(["train", "--preset", "fragment", "--out", str(folder), "--quiet", *SMALL]) == 0
    return folder


def fails(capsys, *arguments):
    """The single line that the command leaves on stderr."""
    assert main(list(arguments)) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err


def test_a_run_leaves_what_its_description_says(run):
    assert {path.name for path in run.iterdir()} == {
        "config.json", "tokenizer.json", "provenance.json", "checkpoint.safetensors", "model.safetensors"}
    config = json.loads((run / "config.json").read_text())
    assert (config["model"]["d_model"], config["max_steps"]) == (22, 7)
    assert set(json.loads((run / "provenance.json").read_text())) == {
        "command", "commit", "device", "threads", "versions"}


def test_evaluate_writes_a_record_that_scores_again(run, tmp_path, capsys):
    from xformer_lib.data.corpora import load_corpus
    from xformer_lib.evaluation import bleu, chrf

    path = tmp_path / "record.json"
    assert main(["evaluate", str(run), "--split", "val", "--json", str(path)]) == 0
    captured = capsys.readouterr()
    assert "BLEU" in captured.out and ", greedy:" in captured.out and "500/500" in captured.err
    record = json.loads(path.read_text())
    references = [target for _, target in load_corpus("fragment", "val")]
    assert record["bleu"] == vars(bleu(record["hypotheses"], references))
    assert record["chrf"] == vars(chrf(record["hypotheses"], references))
    assert [line["step"] for line in record["history"]] == [3, 6, 7]
    assert len(record["samples"]) == 12 and record["samples"][0]["reference"] == references[0]
    assert "run" not in record["config"] and record["cpu_minutes"] >= 0 and record["tokens_per_second"] > 0


def test_translate_keeps_order_and_reads_standard_input(run, capsys, monkeypatch):
    import io

    sentences = ["I am an engineer", "The big yellow cat"]
    assert main(["translate", "--model", str(run), *sentences]) == 0
    together = capsys.readouterr().out.splitlines()
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(sentences) + "\n"))
    assert main(["translate", "--model", str(run)]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == together and len(together) == 2
    assert "2/2" in captured.err  # the bar is on standard error
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(sentences)))
    assert main(["translate", "--model", str(run), "--quiet"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines() == together and captured.err == ""


def test_the_command_stores_matrices_as_a_translator_does(run, capsys, monkeypatch):
    from xformer_lib import decoding

    seen, translate = [], decoding.translate
    monkeypatch.setattr(decoding, "translate", lambda model, *rest, **options: seen.append(model) or translate(model, *rest, **options))
    assert main(["translate", "--model", str(run), "Hello world"]) == 0 and capsys.readouterr().out
    assert {value.stride() == (1, len(value)) for value in seen[0].parameters() if value.ndim == 2} == {True}


def test_a_file_is_translated_line_by_line_and_blank_lines_stay(run, tmp_path, capsys):
    """Line n of the output translates line n of the input, whatever the lengths; a byte order mark is no word."""
    sentences = ["The big yellow cat", "", "I am an engineer", "   ", "Hello world", "I am not an engineer", ""]
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(sentences) + "\n", encoding="utf-8-sig")
    options = ["translate", "--model", str(run), "--input", str(source), "--quiet", "--beam-size", "3"]
    assert main([*options, "--output", str(target)]) == 0
    assert capsys.readouterr().out == ""
    lines = target.read_text(encoding="utf-8").split("\n")
    assert len(lines) == 8 and [n for n in range(7) if lines[n]] == [0, 2, 4, 5]
    assert main(options) == 0
    assert capsys.readouterr().out == target.read_text(encoding="utf-8")
    for line, sentence in zip(lines, sentences):
        if sentence.strip():
            assert main(["translate", "--model", str(run), "--beam-size", "3", sentence]) == 0
            assert capsys.readouterr().out == line + "\n"
    source.write_text("")
    assert main([*options, "--output", str(target)]) == 0 and target.read_text() == ""


def test_the_beam_reaches_the_search(run, capsys, monkeypatch):
    from xformer_lib import decoding

    seen, search = [], decoding.beam_search
    monkeypatch.setattr(decoding, "beam_search", lambda *args, **options: (seen.append(options), search(*args, **options))[1])
    assert main(["translate", "--model", str(run), "--beam-size", "3", "--length-penalty", "0.5", "Hello world"]) == 0
    assert [(options["beam_size"], options["length_penalty"]) for options in seen] == [(3, 0.5)]


def test_evaluate_with_a_beam_says_so(run, tmp_path, capsys):
    path = tmp_path / "record.json"
    command = ["evaluate", str(run), "--split", "val", "--json", str(path), "--quiet"]
    assert main([*command, "--beam-size", "2", "--length-penalty", "0.7"]) == 0
    captured = capsys.readouterr()
    assert "beam 2, length penalty 0.7:" in captured.out and captured.err == ""
    record = json.loads(path.read_text())
    assert (record["decoding"], record["beam_size"], record["length_penalty"]) == ("beam", 2, 0.7)
    assert set(record["evaluation"]) == {"command", "commit", "device", "threads", "versions"}
    assert record["seed"] == 1 and record["history"]


def test_without_a_run_the_shipped_model_translates(tmp_path, capsys, monkeypatch):
    from xformer_lib import load_pretrained

    monkeypatch.chdir(tmp_path)
    assert main(["translate", "I am here."]) == 0
    assert capsys.readouterr().out == load_pretrained("en-fr").translate("I am here.") + "\n"
    assert main(["evaluate", "--corpus", "fragment", "--split", "val", "--json", "record.json", "--quiet"]) == 0
    record = json.loads((tmp_path / "record.json").read_text())
    assert record["corpus"] == "fragment" and record["config"]["corpus"] == "tatoeba" and record["decoding"] == "greedy"


def test_translate_takes_the_newest_run(run, tmp_path, capsys, monkeypatch):
    shutil.copytree(run, tmp_path / "runs" / "copy")
    monkeypatch.chdir(tmp_path)
    assert main(["translate", "Hello world"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_resume_of_a_finished_run_changes_nothing(run, tmp_path, capsys):
    folder = tmp_path / "copy"
    shutil.copytree(run, folder)
    assert main(["train", "--resume", str(folder), "--quiet"]) == 0
    assert "7 steps" in capsys.readouterr().out
    assert (folder / "model.safetensors").read_bytes() == (run / "model.safetensors").read_bytes()


def test_doctor_finds_everything_here(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XFORMER_DATA", str(tmp_path))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "everything the course needs is here" in out
    assert "multi30k    not in XFORMER_DATA; downloaded once when first used" in out


def test_doctor_names_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr("xformer_lib.cli.PACKAGES", ("numpy", "no_such_package"))
    assert main(["doctor"]) == 1
    assert "verdict     missing: no_such_package; pip install" in capsys.readouterr().out


@pytest.mark.errors
@pytest.mark.parametrize("arguments, message", [
    (["train", "--preset", "wmt14"], "preset: expected one of fragment, multi30k, tatoeba, got 'wmt14'"),
    (["train", "--preset", "fragment", "--set", "depth=3"], "--set: expected NAME=VALUE with a name of corpus"),
    (["train", "--preset", "fragment", "--set", "max_steps=many"],
     "--set max_steps: expected a value like "),
    (["train", "--preset", "fragment", "--set", "num_heads=7"],
     "d_model must be divisible by num_heads: got d_model=128, num_heads=7 (remainder 2)"),
    (["train", "--resume", "nowhere"], "run: no nowhere/config.json; name the folder that xformer train wrote to"),
    (["train", "--resume", "nowhere", "--set", "seed=2"], "--resume: expected no --set"),
    (["translate", "--model", "nowhere", "Hello world"], "run: no nowhere/config.json"),
    (["translate", "--input", "nowhere.txt"], "No such file or directory: 'nowhere.txt'"),
    (["translate", "--input", "nowhere.txt", "Hello world"], "--input: expected no sentences beside it, got both"),
    (["translate", "--output", "no/folder.txt", "Hello world"], "--output: no folder no; make it first"),
    (["evaluate", "nowhere"], "run: no nowhere/config.json"),
])
def test_mistakes_are_one_line_each(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert message in fails(capsys, *arguments)


@pytest.mark.errors
def test_a_new_run_does_not_replace_an_old_one(run, capsys):
    before = {path.name: path.read_bytes() for path in run.iterdir()}
    said = fails(capsys, "train", "--preset", "fragment", "--out", str(run), "--quiet", *SMALL)
    assert f"folder: expected one without a run, {run} holds a checkpoint; go on with xformer train --resume {run}, or" in said
    assert {path.name: path.read_bytes() for path in run.iterdir()} == before


@pytest.mark.errors
def test_sentences_that_cannot_be_translated(run, capsys):
    folder = str(run)
    assert "expected a sentence, got an empty one" in fails(capsys, "translate", "--model", folder, "Hello", "  ")
    assert "expected at most 30 tokens" in fails(capsys, "translate", "--model", folder, "cat " * 40)
    assert "beam_size: expected at least 1, got 0" in fails(capsys, "translate", "--model", folder, "Hello", "--beam-size", "0")


@pytest.mark.errors
def test_a_truncated_model_is_one_line(run, tmp_path, capsys):
    folder = tmp_path / "torn"
    shutil.copytree(run, folder)
    whole = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(whole[:len(whole) // 2])
    message = fails(capsys, "translate", "--model", str(folder), "Hello world")
    assert "model.safetensors is truncated, changed or not a checkpoint" in message


@pytest.mark.errors
def test_a_traceback_on_request(monkeypatch, tmp_path):
    monkeypatch.setenv("XFORMER_TRACEBACK", "1")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileNotFoundError):
        main(["translate", "--input", "nowhere.txt"])


@pytest.mark.errors
def test_a_setting_without_a_value_yet_takes_a_number():
    from xformer_lib.cli import with_settings
    from xformer_lib.training import preset

    assert with_settings(preset("fragment"), ["num_kv_heads=2"]).model.num_kv_heads == 2
    with pytest.raises(ValueError, match="^--set num_kv_heads: expected a value like None, got 'few'"):
        with_settings(preset("fragment"), ["num_kv_heads=few"])
