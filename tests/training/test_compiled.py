"""Training through the compiler: the same losses as without, few programs, and only where it pays."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
import torch.distributed as dist

from tests.ci import continuous, in_ci
from tests.training.test_engines import CONFIG, CORPUS, MODEL, double, furthest, train
from xformer_lib.data.batching import batches
from xformer_lib.engine import accelerate
from xformer_lib.nn.transformer import Transformer
from xformer_lib.training import compiled, distributed, loop, precision, processes
from xformer_lib.training.compiled import COMPILED_FROM, compiled_loss, is_worth_compiling
from xformer_lib.training.distributed import ProcessGroup
from xformer_lib.training.loss import translation_loss
from xformer_lib.training.run import build_run

SMALL = replace(MODEL, num_encoder_layers=1)
SHORT = replace(CONFIG, model=SMALL)
BACKEND = in_ci("aot_eager", "eager")  # with gradients in the program, too, or its calls alone; Inductor would take a minute


@pytest.fixture
def quick(monkeypatch):
    """The compiler without its last part; a list that grows with each program."""
    programs = []

    def backend(graph, inputs):
        programs.append(graph)
        return torch._dynamo.lookup_backend(BACKEND)(graph, inputs)

    torch._dynamo.reset()
    for module in (processes, distributed):
        monkeypatch.setattr(module, "compiled_loss", partial(compiled_loss, backend=backend))
    return programs


def test_compiled_training_gives_the_same_losses(tmp_path, quick):
    """In parts, and in CI with a stop in between: in float64 to eleven digits of a loss, with few programs."""
    config, folder = replace(SHORT, accumulate=2, schedule="inverse_sqrt"), tmp_path / "compiled"
    eager = train(tmp_path / "eager", config, engine="eager", build=double)
    first = in_ci(5, 11)
    run = train(folder, replace(config, max_steps=first), engine="compiled", build=double)
    written = (folder / "config.json").read_text(encoding="utf-8")
    if first < 11:
        (folder / "config.json").write_text(written.replace('"max_steps": 5', '"max_steps": 11'), encoding="utf-8")
        run = loop.resume(folder, corpus=CORPUS, device="cpu", progress=False, engine="compiled", build=double)
    assert "engine" not in written and run.step == eager.step == 11 and 0 < len(quick) <= in_ci(8, 4)
    for one, other in zip(run.history, eager.history, strict=True):
        assert one["validation_loss"] == pytest.approx(other["validation_loss"], abs=1e-11)
        assert one["train_loss"] == pytest.approx(other["train_loss"], abs=1e-11)
    assert furthest(run.model, eager.model) < 1e-9


def test_dropout_and_bfloat16_act_in_compiled_code(quick):
    source, target = (torch.randint(3, SMALL.vocab_size, (5, length), generator=torch.Generator().manual_seed(1)) for length in (7, 6))
    dropped, whole = (accelerate(Transformer(replace(SMALL, dropout=share))).train() for share in (0.5, 0.0))
    loss = processes.compiled_loss(dropped)
    first, second = (loss(source, target, target)[0].item() for _ in range(2))
    assert quick and first != second
    exact = translation_loss(whole, source, target, target)[0].item()
    with torch.autocast("cpu", torch.bfloat16):
        rounded = processes.compiled_loss(whole)(source, target, target)[0].item()
        assert rounded == pytest.approx(translation_loss(whole, source, target, target)[0].item(), rel=1e-3)
    assert rounded == pytest.approx(exact, rel=1e-2) and rounded != exact


@pytest.mark.parametrize("positions, backend", in_ci([("relative", "eager"), ("alibi", "eager")], []) + [("rotary", BACKEND)])
def test_one_program_serves_every_length(tmp_path, quick, monkeypatch, positions, backend):
    """Batches of many lengths and sizes; and a program of its own for a single sentence or word, whose attention is another."""
    monkeypatch.setattr("tests.training.test_compiled.BACKEND", backend)
    model = replace(SMALL, positions=positions, d_model=12)
    run = build_run(replace(CONFIG, model=model), tmp_path, train(tmp_path / "run").tokenizer, CORPUS, "cpu")
    run.processes.compile(run.engine_model)
    run.engine_model.train()
    shapes = set()
    for seed in range(2):
        for batch in batches(run.train_data, max_tokens=97 + 60 * seed, rng=np.random.default_rng(seed)):
            given = [torch.from_numpy(array) for array in batch]
            found, count = run.processes.loss(*given, label_smoothing=0.1)
            wanted, same = translation_loss(run.engine_model, *given, label_smoothing=0.1)
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
            assert int(count) == same
            shapes.add((*batch.source.shape, batch.target_in.shape[1]))
    assert len(shapes) > 12 and len(quick) <= in_ci(4, 3)


@continuous
def test_processes_that_share_a_step_compile_inside_of_their_wrapper(tmp_path, quick):
    alone = train(tmp_path / "alone", SHORT, engine="eager")
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        run = train(tmp_path / "group", SHORT, engine="compiled", processes=ProcessGroup("cpu"))
        assert quick and run.history[-1]["validation_loss"] == pytest.approx(alone.history[-1]["validation_loss"], abs=1e-5)
        vars(run.processes).pop("loss")
    finally:
        dist.destroy_process_group()


@pytest.mark.parametrize(
    "device, engine, steps, can, wanted",
    [
        ("cuda", "fast", COMPILED_FROM, True, True),
        ("cuda:1", "fast", COMPILED_FROM, True, True),
        ("cuda", "fast", COMPILED_FROM, False, False),  # without Triton or a C compiler
        ("cuda", "fast", COMPILED_FROM - 1, True, False),
        ("cuda", "eager", COMPILED_FROM, True, False),
        ("cuda", "plain", COMPILED_FROM, True, False),
        ("cuda", "compiled", 1, False, True),
        ("mps", "fast", COMPILED_FROM, True, False),
        ("cpu", "fast", COMPILED_FROM, True, False),
    ],
)
def test_which_runs_are_compiled(monkeypatch, device, engine, steps, can, wanted):
    monkeypatch.setattr(compiled, "can_compile", lambda: can)
    assert is_worth_compiling(accelerate(Transformer(SMALL)), engine=engine, device=device, steps=steps) is wanted


def test_a_model_of_a_readers_own_is_not_compiled_by_itself(monkeypatch):
    class Own(Transformer):
        pass

    monkeypatch.setattr(compiled, "can_compile", lambda: True)
    assert not is_worth_compiling(accelerate(Own(SMALL)), engine="fast", device="cuda", steps=COMPILED_FROM)


def test_a_gpu_multiplies_in_tf32_while_it_trains_and_only_then():
    assert torch.get_float32_matmul_precision() == "highest"
    for device, inside in (("cuda", "high"), ("cuda:1", "high"), ("cpu", "highest"), ("mps", "highest")):
        with pytest.raises(KeyError), precision.fast_products(device):
            assert torch.get_float32_matmul_precision() == inside
            raise KeyError
        assert torch.get_float32_matmul_precision() == "highest"


@pytest.mark.parametrize(
    "device, name, low", [("cpu", "auto", True), ("cuda", "auto", False), ("cuda:1", "bfloat16", True), ("cuda", "float32", False)]
)
def test_bfloat16_is_left_to_those_who_ask_for_it_on_a_gpu(monkeypatch, device, name, low):
    monkeypatch.setattr(precision, "has_bfloat16", lambda device: True)
    monkeypatch.setattr(torch, "autocast", lambda kind, dtype, enabled: (kind, enabled))
    assert precision.autocast(replace(CONFIG, precision=name), device) == (device.split(":")[0], low)
