"""The command line from training to translation, and every mistake a user can make at it."""

import io
import json
import os
import re
import shutil
import subprocess
import sys

import pytest

from tests.ci import posix
from xformer_lib._shell import quoted
from xformer_lib.cli import main
from xformer_lib.cli.provenance import git_commit
from xformer_lib.cli.settings import with_settings
from xformer_lib.data._download import CorpusUnavailable, corpus_bytes
from xformer_lib.data.corpora import load_corpus
from xformer_lib.training.checkpoint import load_tensors, save_tensors
from xformer_lib.translation import Translation

SMALL = (
    "--set d_model=22 num_heads=2 d_ff=29 num_encoder_layers=1 num_decoder_layers=1 max_steps=7 "
    "validate_every=3 max_tokens=301 warmup_steps=2 max_len=31"
).split()


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
        "config.json",
        "tokenizer.json",
        "provenance.json",
        "checkpoint.safetensors",
        "model.safetensors",
    }
    config = json.loads((run / "config.json").read_text())
    assert (config["model"]["d_model"], config["max_steps"]) == (22, 7)
    assert set(json.loads((run / "provenance.json").read_text())) == {"command", "commit", "device", "threads", "versions"}


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
    assert captured.out.splitlines() == together and captured.err.endswith(f"xformer translate: model {run}\n")


def test_a_translation_reads_its_model_once(capsys, monkeypatch):
    """One set of settings, one tokenizer, one model: none is built to recognise the first, and no vocabulary is scanned."""
    from xformer_lib.data.tokenizer import Tokenizer
    from xformer_lib.engine import decode
    from xformer_lib.nn.transformer import Transformer
    from xformer_lib.training import checkpoint

    monkeypatch.setattr(decode, "PARTS", {})
    calls = []

    def watch(owner, name):
        real = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *given, **options: calls.append(name) or real(*given, **options))

    for owner, name in ((Transformer, "__init__"), (Tokenizer, "pieces"), (Tokenizer, "encode_batch"), (checkpoint, "load_settings")):
        watch(owner, name)
    assert main(["translate", "Where is the station?", "Good night."]) == 0 and capsys.readouterr().out.count("\n") == 2
    assert sorted(calls) == ["__init__", "encode_batch", "load_settings"]


def test_a_file_is_translated_line_by_line_and_blank_lines_stay(run, tmp_path, capsys):
    """Line n of the output translates line n of the input, whatever the lengths; a byte order mark is no word."""
    sentences = ["The big yellow cat", "", "I am an engineer", "   ", "Hello world", "I am not an engineer", ""]
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("\n".join(sentences) + "\n", encoding="utf-8-sig")
    options = ["translate", "--model", str(run), "--input", str(source), "--quiet", "--beam-size", "3"]
    assert main([*options, "--output", str(target)]) == 0
    assert capsys.readouterr().out == ""
    lines = target.read_text(encoding="utf-8").split("\n")
    assert len(lines) == 8 and [n for n in range(7) if lines[n].strip()] == [0, 2, 4, 5]
    assert main(options) == 0
    assert capsys.readouterr().out == target.read_text(encoding="utf-8")
    for line, sentence in zip(lines, sentences):
        if sentence.strip():
            assert main(["translate", "--model", str(run), "--beam-size", "3", sentence]) == 0
            assert capsys.readouterr().out == line + "\n"
    source.write_text("")
    assert main([*options, "--output", str(target)]) == 0 and target.read_text() == ""


def test_evaluate_with_a_beam_says_so(run, tmp_path, capsys):
    path = tmp_path / "record.json"
    command = ["evaluate", str(run), "--split", "val", "--json", str(path), "--quiet"]
    assert main([*command, "--beam-size", "2", "--length-penalty", "0.7"]) == 0
    captured = capsys.readouterr()
    assert "beam 2, length penalty 0.7:" in captured.out and captured.err == f"xformer evaluate: model {run}\n"
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


def test_a_run_is_used_when_it_is_named_and_never_otherwise(run, tmp_path, capsys, monkeypatch):
    """A toy run that lies in runs/ is not taken for the translator; which model spoke stands on standard error."""
    from xformer_lib import load_pretrained

    shutil.copytree(run, tmp_path / "runs" / "toy run")
    monkeypatch.chdir(tmp_path)
    assert main(["translate", "Where is the station?"]) == 0
    captured = capsys.readouterr()
    assert captured.out == load_pretrained("en-fr").translate("Where is the station?") + "\n"
    assert captured.err == "xformer translate: model en-fr, which comes with the library\n"
    assert main(["translate", "--model", "en-fr", "Where is the station?"]) == 0
    assert capsys.readouterr() == captured
    assert main(["translate", "--model", "fr-en", "Où est la gare ?"]) == 0
    assert capsys.readouterr() == ("Where's the station?\n", "xformer translate: model fr-en, which comes with the library\n")
    assert main(["translate", "--model", "runs/toy run", "Where is the station?"]) == 0
    captured = capsys.readouterr()
    assert captured.out != "Où est la gare ?\n" and captured.err.endswith("xformer translate: model 'runs/toy run'\n")


def test_a_run_is_prolonged_and_keeps_its_other_settings(run, tmp_path, capsys):
    folder = tmp_path / "copy"
    shutil.copytree(run, folder)
    before = json.loads((folder / "config.json").read_text())
    assert main(["train", "--resume", str(folder), "--quiet", "--set", "max_steps=9"]) == 0
    assert "9 steps" in capsys.readouterr().out
    assert json.loads((folder / "config.json").read_text()) == before | {"max_steps": 9}
    assert main(["train", "--resume", str(folder), "--quiet"]) == 0  # and stays so
    assert "9 steps" in capsys.readouterr().out
    assert "max_steps: expected at least 9, which the run" in fails(capsys, "train", "--resume", str(folder), "--set", "max_steps=8")
    assert "expected no --set but max_steps" in fails(capsys, "train", "--resume", str(folder), "--set", "max_steps=10", "seed=3")


def test_threads_are_those_asked_for(run, tmp_path, capsys, monkeypatch):
    import torch

    monkeypatch.setenv("OMP_NUM_THREADS", "2")  # both are put back
    monkeypatch.setenv("OMP_WAIT_POLICY", "PASSIVE")
    before = torch.get_num_threads()
    try:
        assert main(["train", "--preset", "fragment", "--out", str(tmp_path / "run"), "--quiet", "--threads", "3", *SMALL]) == 0
        assert json.loads((tmp_path / "run" / "provenance.json").read_text())["threads"] == 3
        for command in (["translate", "--model", str(run), "Hello world"], ["evaluate", str(run), "--split", "val"]):
            assert main([*command, "--threads", "1", "--quiet"]) == 0 and torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    capsys.readouterr()
    assert "--threads: expected a whole number from 1 to 256, got 0" in fails(capsys, "translate", "--threads", "0", "Hello")


@pytest.mark.parametrize("policy", [None, "ACTIVE"])
def test_threads_that_wait_sleep_unless_the_environment_says_otherwise(policy):
    """Both are settled before torch is loaded, which reads them once."""
    code = "import os, sys; from xformer_lib.cli import main; main(['translate', '--threads', '1', '--quiet', 'No.']); import torch; "
    code += "print(torch.get_num_threads(), os.environ['OMP_WAIT_POLICY'])"
    environment = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "OMP_NUM_THREADS")}
    environment |= {} if policy is None else {"OMP_WAIT_POLICY": policy}
    said = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
    assert said.splitlines()[-1] == f"1 {policy or 'PASSIVE'}"


def test_doctor_finds_everything_here(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XFORMER_DATA", str(tmp_path))
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "everything the course needs is here" in out
    assert f"multi30k       not in XFORMER_DATA ({tmp_path}); 1.3 MB are downloaded once, when first used" in out
    for name in ("scikit-learn", "git", "cache", "tokenizers", "xformer-lib", "onnx", "onnxruntime", "onnxscript", "ctranslate2"):
        assert re.search(rf"(?m)^{name} +\S", out), name


def test_doctor_says_that_the_cache_cannot_be_made(capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert main(["doctor"]) == 0
    assert "cannot be written; set XDG_CACHE_HOME to a folder that can" in capsys.readouterr().out


@posix
@pytest.mark.parametrize("name", ["XDG_CACHE_HOME", "XFORMER_DATA"])
def test_a_folder_that_cannot_be_searched_is_named_with_what_to_set(capsys, monkeypatch, tmp_path, name):
    """As a HOME that belongs to somebody else: the system refuses to say what is in it."""
    closed, real = str(tmp_path / "closed"), os.stat
    (tmp_path / "closed").mkdir()

    def stat(path, *rest, **more):
        if os.fspath(path).startswith(closed + "/"):
            raise PermissionError(13, "Permission denied", os.fspath(path))
        return real(path, *rest, **more)

    def refuse(path, *_, **__):
        raise PermissionError(13, "Permission denied", os.fspath(path))

    monkeypatch.delenv("XFORMER_DATA", raising=False)
    monkeypatch.setenv(name, closed)
    monkeypatch.setattr(os, "stat", stat)
    monkeypatch.setattr(os, "makedirs", refuse)
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    monkeypatch.setattr("zipfile.ZipFile", refuse)
    assert main(["doctor"]) == 0
    assert "verdict        everything" in capsys.readouterr().out
    with pytest.raises(CorpusUnavailable, match=r"cannot be (read|stored in .*) \(Permission denied\); .*(set|unset) (XDG|XFORMER)"):
        corpus_bytes("tatoeba/fra-eng.zip")


@posix
def test_a_user_without_a_home_is_told_what_to_set(capsys, monkeypatch):
    """As in a container that runs under a number which the system does not know."""
    import pwd

    def nobody(number):
        raise KeyError(number)

    for name in ("HOME", "XDG_CACHE_HOME", "XFORMER_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    said = (
        "cache: expected a home folder, got none (HOME is not set); set XDG_CACHE_HOME to a folder that can be written, or XFORMER_DATA to"
    )
    with pytest.raises(OSError) as error:
        corpus_bytes("tatoeba/fra-eng.zip")
    assert said in str(error.value)
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert said in out and "tatoeba        not here; 3.4 MB are downloaded once, when first used" in out
    assert load_corpus("fragment", "val")


@pytest.mark.parametrize(
    ("word", "posix_form", "windows_form"),
    [
        ("runs/small", "runs/small", "runs/small"),
        ("my runs", "'my runs'", '"my runs"'),
        ("my runs\\", "'my runs\\'", '"my runs\\\\"'),
        ("it's", "'it'\"'\"'s'", '"it\'s"'),
    ],
)
def test_a_name_in_a_command_is_quoted_for_the_systems_shell(monkeypatch, word, posix_form, windows_form):
    for windows, form in ((False, posix_form), (True, windows_form)):
        monkeypatch.setattr("xformer_lib._shell.WINDOWS", windows)
        assert quoted(word) == form


def test_doctor_names_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr("xformer_lib._needs.is_missing", lambda package: package in ("tqdm", "scikit-learn"))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert re.search(r"(?m)^tqdm +missing$", out)
    assert out.splitlines()[-1] == "verdict        missing: tqdm, scikit-learn; pip install tqdm scikit-learn"
    monkeypatch.setattr("xformer_lib._needs.is_missing", lambda package: package in ("torch", "psutil"))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == ("verdict        missing: torch; pip install torch --index-url https://download.pytorch.org/whl/cpu")
    assert "6.0 GB and 9 minutes" in out and "psutil         missing, for xformer grade alone; pip install psutil" in out


def test_a_command_names_all_that_it_lacks(capsys, monkeypatch):
    monkeypatch.setattr("xformer_lib._needs.is_missing", lambda package: package in ("torch", "tqdm", "psutil"))
    torch = "pip install torch --index-url https://download.pytorch.org/whl/cpu && pip install tqdm"
    assert fails(capsys, "translate", "Hello") == f"xformer translate: torch, tqdm: not installed here; {torch}\n"
    assert fails(capsys, "train", "--preset", "fragment") == f"xformer train: torch, tqdm: not installed here; {torch}\n"
    assert fails(capsys, "grade", "x.ipynb") == "xformer grade: psutil: not installed here; pip install psutil\n"


# ---------------------------------------------------------------- provenance


def git(folder, *arguments):
    done = subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *arguments], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.skipif(shutil.which("git") is None, reason="this machine has no git")
def test_a_commit_is_that_of_the_library_or_unknown(tmp_path, monkeypatch):
    """In a clone its commit; in an environment inside another repository not that one's; without git unknown."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert git_commit(tmp_path) == "unknown"
    git(tmp_path, "init", "-q", "clone")
    clone = tmp_path / "clone"
    (clone / "__init__.py").write_text("")
    git(clone, "add", ".")
    git(clone, "commit", "-qm", "One")
    assert git_commit(clone) == git(clone, "rev-parse", "--short=12", "HEAD")
    (clone / "lib").mkdir()
    (clone / "lib" / "__init__.py").write_text("")
    assert git_commit(clone / "lib") == "unknown"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_commit(clone) == "unknown"


# ---------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    "line, name, advice",
    [
        ("train --preset wmt14", "preset: ", "fragment, multi30k, tatoeba"),
        ("train --preset fragment --set depth=3", "--set: ", "for example max_steps=2000"),
        ("train --preset fragment --set max_steps=many", "--set max_steps: ", "for example max_steps=800"),
        ("train --preset fragment --set peak_rate=inf", "--set peak_rate: ", "for example peak_rate="),
        ("train --preset fragment --set num_kv_heads=abc", "--set num_kv_heads: expected a whole number or None", "for example"),
        ("train --preset fragment --set seed=x --set d_model=16", "--set seed: ", "for example"),
        ("train --preset fragment --set num_heads=7", "d_model must be divisible by num_heads", "(remainder 2)"),
        ("train --preset fragment --set d_model=1000000", "model: expected one that this machine's ", ""),
        ("train --preset fragment --set num_encoder_layers=1000000000", "model: expected one that this machine's ", ""),
        ("train --preset fragment --out deep/config.json", "folder: ", "name another folder"),
        ("train --resume nowhere", "run: no nowhere/config.json", "name the folder that xformer train wrote to"),
        ("train --resume nowhere --set seed=2", "--resume: expected no --set", "leave them out"),
        ("train --preset fragment --device cpu:x", "RuntimeError: Invalid device string", "XFORMER_TRACEBACK=1"),
        ("translate --model nowhere Hi", "run: no nowhere/config.json", "name the folder"),
        ("translate --model deep Hi", "run: deep/config.json cannot be read", "restore it"),
        ("translate --input nowhere.txt", "No such file or directory", "nowhere.txt"),
        ("translate --input in.txt Hi", "--input: expected no sentences beside it", "leave one out"),
        ("translate --input in.txt --output ./in.txt", "--input, --output: ", "name another"),
        ("translate --output no/folder.txt Hi", "--output: no folder no", "make it first"),
        ("translate --output folder Hi", "--output: expected a file", "name a file in it"),
        ("translate --beam-size 0 Hi", "--beam-size: ", "1 is greedy"),
        ("translate --beam-size 1000000000 Hi", "--beam-size: ", "4 is usual"),
        ("translate --length-penalty nan Hi", "--length-penalty: ", "0 compares probabilities"),
        ("translate --int8 --device mps Hi", "--int8: ", "leave one of the two out"),
        ("evaluate nowhere", "run: no nowhere/config.json", "name the folder"),
        ("evaluate --beam-size -3", "--beam-size: ", "1 is greedy"),
        ("evaluate --json folder", "--json: expected a file", "name a file in it"),
        ("export --format pdf --out new", "format: ", "onnx is for ONNX Runtime"),
        ("export --format onnx --out deep", "out: expected a new folder or an empty one", "name another"),
        ("export nowhere --format torch --out new", "run: no nowhere/config.json", "name the folder"),
        ("grade x.ipynb --csv folder", "--csv: expected a file", "name a file in it"),
    ],
)
def test_mistakes_are_one_line_each(line, name, advice, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("xformer_lib.decoding.translator.decode_sentences", None)  # nothing is decoded before
    (tmp_path / "folder").mkdir()
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "config.json").write_text("[" * 100_000)
    said = fails(capsys, *line.split())
    assert name in said and advice in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "folder"]


@pytest.mark.parametrize(
    "line, words",
    [
        ("--quiet The cat", "The cat"),
        ("The --quiet cat", "The cat"),
        ("The --beam-size 1 cat --quiet", "The cat"),
        ("The --quiet -- cat --beam-size", "The cat --beam-size"),
        ("-5", "-5"),
        ("-", "from standard input"),
        ("--quiet --input -", "from standard input"),
        ("The cat --output -", "The cat"),
    ],
)
def test_words_may_stand_between_options_and_a_line_is_standard_input(run, capsys, monkeypatch, tmp_path, line, words):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", io.StringIO("from standard input\n"))
    monkeypatch.setattr("xformer_lib.decoding.translator.translate_texts", lambda *given, **_: [Translation(f"<{given[2][0]}>", ())])
    assert main(["translate", "--model", str(run), *line.split()]) == 0
    assert capsys.readouterr().out == f"<{words}>\n" and not list(tmp_path.iterdir())


@posix
def test_bytes_that_are_no_utf8(run, capfd, monkeypatch, tmp_path):
    """Among the words one line, without a codec's; in the names of files they are taken as they are."""
    assert fails(capfd, "translate", "caf\udce9") == (
        "xformer translate: text: expected letters in UTF-8, got other bytes (sentence 1); set the terminal to UTF-8, or use --input\n"
    )
    monkeypatch.setattr("xformer_lib.decoding.translator.translate_texts", lambda *given, **_: [Translation(given[2][0], ())])
    assert main(["translate", "--model", str(run), "caf\udcc3\udca9"]) == 0  # what a locale without UTF-8 makes of it
    assert capfd.readouterr().out == "café\n"
    try:
        shutil.copytree(run, tmp_path / "r\udce9")
    except OSError:
        pytest.skip("this file system takes names in UTF-8 alone")
    record = tmp_path / "r\udce9.json"
    monkeypatch.setattr("sys.argv", ["xformer", "evaluate", str(record)])
    command = ["evaluate", str(tmp_path / "r\udce9"), "--corpus", "fragment", "--split", "val", "--quiet", "--json", str(record)]
    monkeypatch.setattr("xformer_lib.decoding.sentences.decode_sentences", lambda *given, **_: [("Le chat", True)] * len(given[2]))
    assert main(command) == 0
    assert "r\\udce9.json" in json.loads(record.read_text(encoding="utf-8"))["evaluation"]["command"]


def test_a_byte_order_mark_in_the_settings(run, tmp_path, capsys, monkeypatch):
    """As Windows Notepad saved them."""
    shutil.copytree(run, tmp_path / "run")
    for name in ("config.json", "provenance.json"):
        path = tmp_path / "run" / name
        path.write_text(path.read_text(encoding="utf-8"), encoding="utf-8-sig")
    monkeypatch.setattr("xformer_lib.decoding.sentences.decode_sentences", lambda *given, **_: [("Le chat", True)] * len(given[2]))
    record = tmp_path / "record.json"
    assert main(["evaluate", str(tmp_path / "run"), "--split", "val", "--quiet", "--json", str(record)]) == 0
    assert json.loads(record.read_text(encoding="utf-8"))["config"]["model"]["d_model"] == 22


def test_weights_that_are_no_numbers_are_one_line(run, tmp_path, capsys):
    shutil.copytree(run, tmp_path / "run")
    path = tmp_path / "run" / "model.safetensors"
    tensors, state = load_tensors(path)
    tensors["decoder.norm.weight"][:] = float("nan")
    save_tensors(path, tensors, state)
    name, line = str(tmp_path / "run"), "model: expected finite weights, got nan or inf in decoder.norm.weight; "
    for command in (["translate", "--model", name, "Hi"], ["translate", "--model", name, "--beam-size", "2", "Hi"]):
        assert line in fails(capsys, *command, "--quiet")


def test_what_was_typed_is_kept_and_what_a_reader_should_know_is_said(run, tmp_path, capsys):
    """An overlong line is read in parts, marks and emoji stay, single words are one sentence, a limit that was reached is named."""
    file = tmp_path / "in.txt"
    file.write_text("Hello world\n...\n" + "cat " * 40 + "\n\u2600\n", encoding="utf-8")
    assert main(["translate", "--model", str(run), "--quiet", "--input", str(file)]) == 0
    captured = capsys.readouterr()
    lines = captured.out.splitlines()
    assert len(lines) == 4 and (lines[1], lines[3]) == ("...", "\u2600")
    assert "read in parts: 1 sentence" in captured.err and "carried through unchanged: \u2600" in captured.err
    assert "no end within the limit, so it may be cut off: the translation of 'Hello world'" in captured.err
    assert main(["translate", "--model", str(run), "Hello", "world"]) == 0
    assert capsys.readouterr().out == lines[0] + "\n"


def test_whoever_waits_at_a_terminal_is_told_for_what(run, capsys, monkeypatch):
    import io

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal("Hello world\n"))
    assert main(["translate", "--model", str(run), "--quiet"]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0] == "xformer translate: reads sentences from here, one a line, until Ctrl-D; --help has other ways"


def test_the_version(capsys):
    import xformer_lib

    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0 and capsys.readouterr().out == f"xformer {xformer_lib.__version__}\n"


def test_a_setting_without_a_value_yet_takes_a_number():
    from xformer_lib.training import preset

    assert with_settings(preset("fragment"), ["num_kv_heads=2"]).model.num_kv_heads == 2
    for word in ("None", "none"):
        assert with_settings(preset("fragment"), ["num_kv_heads=2", f"num_kv_heads={word}"]).model.num_kv_heads is None
    with pytest.raises(ValueError, match="^--set max_steps: expected a whole number, got 'None'"):
        with_settings(preset("fragment"), ["max_steps=None"])


def test_the_advice_about_a_setting_can_be_followed():
    """For every setting that is no text: a wrong value, the example in the message, and the same settings as before."""
    from dataclasses import fields

    from xformer_lib.training import preset

    config, tried = preset("tatoeba"), 0
    for field in (*fields(config), *fields(config.model)):
        if field.type is not str and field.name != "model":
            with pytest.raises(ValueError, match=f"^--set {field.name}: expected .*, got 'x'; for example ") as caught:
                with_settings(config, [f"{field.name}=x"])
            assert with_settings(config, [str(caught.value).split("for example ")[1]]) == config
            tried += 1
    assert tried > 20


# ---------------------------------------------------------------- errors of others


@pytest.mark.parametrize(
    "error, words",
    [
        (RuntimeError("CUDA error: gone\nCompile with TORCH_USE_CUDA_DSA"), "RuntimeError: CUDA error: gone; "),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes."), "memory: expected enough"),
        (MemoryError(), "memory: expected enough"),
        (RecursionError("maximum recursion depth exceeded"), "RecursionError: maximum recursion depth exceeded; "),
    ],
)
def test_what_torch_and_python_raise_is_one_line_too(run, capsys, monkeypatch, error, words):
    def breaks(*_, **__):
        raise error

    monkeypatch.setattr("xformer_lib.decoding.translator.decode_sentences", breaks)
    assert fails(capsys, "translate", "--model", str(run), "Hi").startswith(f"xformer translate: {words}")
    monkeypatch.setenv("XFORMER_TRACEBACK", "1")
    with pytest.raises(type(error)):
        main(["translate", "--model", str(run), "Hi"])


def test_a_bug_of_ours_is_not_hidden(run, monkeypatch):
    def breaks(*_, **__):
        raise AttributeError("'Model' object has no attribute 'encoder'")

    monkeypatch.setattr("xformer_lib.decoding.translator.decode_sentences", breaks)
    with pytest.raises(AttributeError):
        main(["translate", "--model", str(run), "Hi"])


def test_the_library_alone_says_where_grading_comes_from(monkeypatch, capsys):
    monkeypatch.setattr("xformer_lib.cli.course.entry_points", lambda **_: ())
    assert fails(capsys, "grade", "x.ipynb") == (
        "xformer grade: xformer_course: expected the course to be installed, found the library alone; "
        "run pip install . in the course's folder\n"
    )


# ---------------------------------------------------------------- where the output goes


@posix
def test_a_pipe_gets_utf8(run, tmp_path):
    """What the command writes it can read, on Windows, too; there the usual encoding of a pipe is another."""
    (tmp_path / "in.txt").write_text("你好\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "xformer_lib", "translate", "--model", run, "--quiet", "--input", tmp_path / "in.txt"]
    done = subprocess.run(command, env=environment, capture_output=True)
    assert done.returncode == 0 and done.stdout.decode("utf-8").strip() == "你好", done.stderr


def test_a_model_whose_checkpoint_was_deleted_is_recorded_without_its_history(run, tmp_path, capsys):
    shutil.copytree(run, tmp_path / "lean")
    (tmp_path / "lean" / "checkpoint.safetensors").unlink()
    assert main(["evaluate", str(tmp_path / "lean"), "--split", "val", "--quiet", "--json", str(tmp_path / "l.json")]) == 0
    record = json.loads((tmp_path / "l.json").read_text(encoding="utf-8"))
    assert record["config"]["model"] and record["commit"] and "history" not in record and "minutes" not in record


def test_an_output_in_a_folder_for_reading_only_is_refused_before_the_work(run, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("xformer_lib.decoding.translator.decode_sentences", None)
    monkeypatch.setattr("os.access", lambda *_: False)
    for command, option in (("evaluate", "--json"), ("translate", "--output")):
        said = fails(capsys, command, option, str(tmp_path / "new"))
        assert f"{option}: {tmp_path} cannot be written" in said and "another folder" in said


@posix
def test_links_in_a_circle_stop_no_output(tmp_path):
    (tmp_path / "one").symlink_to("other")
    (tmp_path / "other").symlink_to("one")
    (tmp_path / "in.txt").write_text("Hello\n")
    assert main(["translate", "--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "one"), "--quiet"]) == 0
    assert (tmp_path / "one").read_text() == "Salut\n"
