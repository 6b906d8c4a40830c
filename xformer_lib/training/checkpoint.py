"""Files of weights and the state of a run, and which run they belong to; page w2 explains them."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor

from xformer_lib.data.files import write_atomically
from xformer_lib.data.tokenizer import Tokenizer
from xformer_lib.engine.decode import note_parts
from xformer_lib.nn._trees import without_wrappers
from xformer_lib.nn.protocols import Module, TranslationModel
from xformer_lib.nn.transformer import Transformer, TransformerConfig
from xformer_lib.training.config import (
    TrainConfig,
    config_to_json,
    load_settings,
    to_plain,
)

__all__ = ["load_model", "save_model"]


ZEROS = "0" * 64  # what stands for a file's own sha256 while it is computed


def digest_of(data: bytes, named: str) -> str:
    """The sha256 of a file with zeros where its header says ``named``, its own digest."""
    end = 8 + int.from_bytes(data[:8], "little")
    hashed = hashlib.sha256(data[:end].replace(named.encode(), ZEROS.encode(), 1))
    hashed.update(memoryview(data)[end:])
    return hashed.hexdigest()


def save_tensors(path: Path, tensors: dict[str, Tensor], state: dict) -> None:
    """Write one safetensors file: tensors by name, and ``state`` as JSON in its header,
    with the file's checksum."""
    tensors = {
        name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()
    }
    owners: dict[int, str] = {}  # the format refuses weights that share their memory
    for name, tensor in tensors.items():
        if owners.setdefault(tensor.untyped_storage().data_ptr(), name) != name:
            tensors[name] = tensor.clone()
    state = {"sha256": ZEROS} | state
    data = save(tensors, metadata={"state": json.dumps(state, default=to_plain)})
    digest = digest_of(data, ZEROS)
    write_atomically(path, data.replace(ZEROS.encode(), digest.encode(), 1))


def load_tensors(path: Path, *, device: str = "cpu") -> tuple[dict[str, Tensor], dict]:
    """Read such a file back; ValueError for a torn, changed or foreign one."""
    if not path.exists():
        raise FileNotFoundError(
            f"checkpoint: no file {path}; train first, or name the "
            "folder of a finished run"
        )
    data = path.read_bytes()
    try:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        state = json.loads(header["__metadata__"]["state"])
        if digest_of(data, digest := str(state["sha256"])) != digest:
            raise ValueError("wrong checksum")
        tensors = {name: tensor.to(device) for name, tensor in load(data).items()}
    except (SafetensorError, KeyError, RecursionError, TypeError, ValueError) as error:
        missing = isinstance(error, KeyError)
        reason = "no checksum in it" if missing else str(error).splitlines()[0]
        raise ValueError(
            f"checkpoint: {path} is truncated, changed or not a "
            f"checkpoint ({reason}); restore the file "
            "from a copy or train again"
        ) from error
    return tensors, {key: value for key, value in state.items() if key != "sha256"}


def optimizer_tensors(
    model: Module, optimizer: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Adam's two running means and its step count,
    named after the parameters they belong to."""
    return {
        f"optimizer.{key}.{name}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def restore_optimizer(
    model: Module, optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]
) -> None:
    """Put back what `optimizer_tensors` gave;
    a parameter that never had a gradient has nothing."""
    for name, parameter in model.named_parameters():
        if f"optimizer.step.{name}" in tensors:
            optimizer.state[parameter] = {
                key: tensors[f"optimizer.{key}.{name}"]
                for key in ("step", "exp_avg", "exp_avg_sq")
            }


def check_tensors(path: Path, tensors: dict[str, Tensor], model: Module) -> None:
    """ValueError unless all that a checkpoint holds beside the weights is there."""
    expected = {"rng.cpu": torch.get_rng_state().shape}
    for name, parameter in model.named_parameters():
        if f"optimizer.step.{name}" in tensors:
            expected |= {
                f"optimizer.{key}.{name}": parameter.shape
                for key in ("exp_avg", "exp_avg_sq")
            }
    for name, shape in expected.items():
        if name not in tensors or tensors[name].shape != shape:
            raise ValueError(
                f"checkpoint: {path} lacks {name} of shape "
                f"{tuple(shape)}; restore it from a copy or train again"
            )


def check_weights(model: Module, weights: dict[str, Tensor], folder: Path) -> None:
    """ValueError for weights of another model."""
    shapes, given = (
        {name: tensor.shape for name, tensor in some.items()}
        for some in (model.state_dict(), weights)
    )
    if shapes != given:
        raise ValueError(
            f"checkpoint: {folder} holds weights that do not fit the "
            "model its config.json describes; restore both from one run, "
            "or give the build it was trained with"
        )


def save_checkpoint(
    folder: Path, model: Module, optimizer: torch.optim.Optimizer, state: dict
) -> None:
    """Write all that a run needs to go on as if it had never stopped, in one file."""
    model = without_wrappers(model)
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= optimizer_tensors(model, optimizer) | {"rng.cpu": torch.get_rng_state()}
    device = next(iter(model.state_dict().values())).device
    if device.type == "cuda":
        tensors["rng.cuda"] = torch.cuda.get_rng_state(device)
    save_tensors(folder / "checkpoint.safetensors", tensors, state)


def load_checkpoint(
    folder: Path,
    model: Module,
    optimizer: torch.optim.Optimizer,
    *,
    device: str,
    check: Callable[[dict], None] = lambda state: None,
) -> dict:
    """Restore weights, optimiser and random generators; return the run's state.

    ``check`` gets that state and may refuse it before anything is changed.
    """
    path, model = folder / "checkpoint.safetensors", without_wrappers(model)
    tensors, state = load_tensors(path, device=device)
    check(state)
    weights = {
        name[6:]: value for name, value in tensors.items() if name.startswith("model.")
    }
    check_weights(model, weights, folder)
    check_tensors(path, tensors, model)
    model.load_state_dict(weights)
    restore_optimizer(model, optimizer, tensors)
    torch.set_rng_state(tensors["rng.cpu"].cpu())
    if "rng.cuda" in tensors and torch.device(device).type == "cuda":
        torch.cuda.set_rng_state(tensors["rng.cuda"].cpu(), device)
    return state


# settings that may change: the weights still fit
CHANGEABLE = ("dropout", "attention_dropout", "max_len")


def model_fingerprint(config: TransformerConfig, tokenizer: Tokenizer) -> dict:
    """Return what weights belong to: the settings that change their meaning, and a tokenizer."""
    settings = {
        name: value for name, value in asdict(config).items() if name not in CHANGEABLE
    }
    return {"model": settings, "tokenizer": tokenizer.fingerprint}


def check_fingerprint(path: Path, stored: dict, here: dict) -> None:
    """ValueError where a file of weights was made for other settings than these."""
    for name, value in stored.get("model", {}).items():
        if here["model"].get(name, value) != value:
            raise ValueError(
                f"checkpoint: {path} was trained with {name}={value}, "
                f"config.json says {here['model'][name]}; restore both "
                "from one run"
            )
    if stored.get("tokenizer", here["tokenizer"]) != here["tokenizer"]:
        raise ValueError(
            f"checkpoint: {path} was trained with another tokenizer than "
            "tokenizer.json; restore both from one run"
        )


def check_run(path: Path, state: dict, run: str | None) -> None:
    """ValueError for a file of another run, even one of the same settings."""
    if state.get("run") != run:
        raise ValueError(
            f"checkpoint: {path} was written by another run than "
            f"config.json (run {state.get('run')}, not {run}); restore "
            "both from one run"
        )


def save_setup(
    folder: Path, config: TrainConfig, tokenizer: Tokenizer, *, run: str | None = None
) -> None:
    """Write what never changes during a run: config.json and tokenizer.json.
    Without the id of a new ``run``, settings that are replaced leave theirs."""
    path, data = folder / "config.json", config_to_json(config)
    if run is None and path.exists():
        _, run = load_settings(folder)
    if run is not None:
        data["run"] = run
    write_atomically(path, json.dumps(data, indent=1).encode())
    tokenizer.save(folder / "tokenizer.json")


def load_setup(folder: Path) -> tuple[TrainConfig, Tokenizer]:
    """Read what `save_setup` wrote."""
    config, _ = load_settings(folder)
    return config, Tokenizer.load(folder / "tokenizer.json")


def save_model(folder: Path, model: Module, state: dict) -> None:
    """Write the weights alone, for use rather than for going on; those of a model in a wrapper
    (torch.compile, DataParallel) get the names they have without it."""
    weights = without_wrappers(model).state_dict()
    save_tensors(folder / "model.safetensors", weights, state)


def load_model(
    folder: str | Path,
    *,
    device: str = "cpu",
    build: Callable[[TransformerConfig], TranslationModel] = Transformer,
) -> tuple[TranslationModel, Tokenizer]:
    """Return the model of a run, in evaluation mode, and its tokenizer;
    ``build`` as it was for `train`."""
    config, run = load_settings(Path(folder))
    tokenizer = Tokenizer.load(Path(folder) / "tokenizer.json")
    path = Path(folder) / "model.safetensors"
    weights, state = load_tensors(path, device=device)
    check_fingerprint(
        path, state.get("made_for", {}), model_fingerprint(config.model, tokenizer)
    )
    check_run(path, state, run)
    model = build(config.model).to(device)
    plain = without_wrappers(model)
    if type(plain) is Transformer:
        note_parts(plain)
    check_weights(plain, weights, Path(folder))
    plain.load_state_dict(weights)
    return model.eval(), tokenizer
