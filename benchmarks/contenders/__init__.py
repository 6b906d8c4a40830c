"""Everyone who takes part in `benchmarks/peers.py`: one class each, all with the same four methods.

`build` makes a model to train, `train_step` takes one optimiser step on a batch, `load` makes a model that decodes,
`greedy` (and `beam`) decode padded-free rows of ids. Each class lives in a process of its own (`benchmarks/turns.py`),
so that no setting of one reaches another.
"""

import importlib
import importlib.util
import math
from dataclasses import dataclass

from xformer_lib.data.batching import Batch

PAD, BOS, EOS, UNK = 0, 1, 2, 3


@dataclass(frozen=True)
class Sizes:
    """What all models have in common, and what a step does."""

    vocab_size: int = 8000
    d_model: int = 256
    num_heads: int = 4
    d_ff: int = 1024
    num_layers: int = 3  # on each side
    max_len: int = 256  # tokens
    dropout: float = 0.1
    label_smoothing: float = 0.1
    clip: float = 1.0  # largest gradient norm
    rate: float = 1e-3  # Adam's, reached after `warmup` steps
    warmup: int = 8
    max_tokens: int = 2048  # in a batch, on the longer side
    seed: int = 1


@dataclass(frozen=True)
class Setting:
    """Under which conditions a step is timed.

    Every library trains as its documentation shows it and ours through its own loop. ``preset``: ours in the precision that its
    presets choose, "auto". ``bfloat16``: all of them in `torch.autocast`. ``lent``: the others get what our loop has besides the
    model, a fused Adam and a C library that keeps freed memory; what remains is the difference between the models.
    """

    name: str
    bfloat16: bool = False
    preset: bool = False
    lent: bool = False

    @property
    def precision(self) -> str:
        """What the others multiply in; weights are float32 in every case."""
        return "bfloat16" if self.bfloat16 else "float32"


SETTINGS = {
    setting.name: setting
    for setting in (
        Setting("documented", preset=True),
        Setting("float32"),
        Setting("bfloat16", bfloat16=True),
        Setting("float32-lent", lent=True),
        Setting("bfloat16-lent", bfloat16=True, lent=True),
    )
}


class Contender:
    """One library: how it is installed, what differs from ours, and its four methods."""

    name = ""
    package = None  # the module without which it cannot take part
    differs = ""  # a sentence for the table
    weights = "own"  # or "shipped": decodes with a copy of our weights, so its tokens can be compared
    trains = True

    def __init__(self, sizes: Sizes, threads: int):
        self.sizes, self.threads = sizes, threads
        self.start()

    def start(self) -> None:
        """One set-up for the whole process."""
        import torch

        torch.set_num_threads(self.threads)
        torch.manual_seed(self.sizes.seed)

    def build(self, setting: Setting) -> dict:
        """A freshly initialised model and its optimiser; returns the number of parameters and the precision."""
        raise NotImplementedError(self.name)

    def train_step(self, batch: Batch) -> float:
        """One step; returns the smoothed loss a real target token, in nats."""
        raise NotImplementedError(self.name)

    def load(self) -> None:
        """A model that decodes."""
        raise NotImplementedError(self.name)

    def greedy(self, rows: list[list[int]], lengths: list[int]) -> list[list[int]]:
        """Translate rows that end in <eos>; ``lengths``: how many tokens each answer has, <eos> included, for those with weights
        of their own."""
        raise NotImplementedError(self.name)

    def beam(self, rows: list[list[int]], lengths: list[int]) -> list[list[int]]:
        """The same with a beam of four."""
        raise NotImplementedError(self.name)


class TorchPeer(Contender):
    """What the three peers that train with PyTorch share: optimiser, loss and the end of a step."""

    def build(self, setting: Setting) -> dict:
        import torch

        from xformer_lib.training.memory import keep_freed_memory

        self.bfloat16 = setting.bfloat16
        if setting.lent:
            keep_freed_memory()
        torch.manual_seed(self.sizes.seed)
        self.model = self.new_model().train()
        # Plain Adam is what the documentation of all three shows.
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=self.sizes.rate, betas=(0.9, 0.98), eps=1e-9, fused=setting.lent or None
        )
        self.steps = 0
        return {"parameters": trained_parameters(self.model), "precision": setting.precision}

    def new_model(self):
        raise NotImplementedError(self.name)

    def logits(self, source, target_in):
        """Scores (b t v) of a batch with its padding masked."""
        raise NotImplementedError(self.name)

    def train_step(self, batch: Batch) -> float:
        import torch

        source, target_in, target_out = (torch.from_numpy(array) for array in batch)
        self.steps += 1
        for group in self.optimizer.param_groups:
            group["lr"] = self.sizes.rate * min(1.0, self.steps / self.sizes.warmup)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=self.bfloat16):
            logits = self.logits(source, target_in).float()
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), target_out.flatten(), ignore_index=PAD, label_smoothing=self.sizes.label_smoothing
        )
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.sizes.clip)
        self.optimizer.step()
        return loss.item()


# name: module and class, in the order of the tables; the first is ours
CONTENDERS = {
    "ours": ("benchmarks.contenders.ours", "Ours"),
    "ours int8": ("benchmarks.contenders.ours", "OursInt8"),
    "torch.nn.Transformer": ("benchmarks.contenders.torch_nn", "TorchNN"),
    "HuggingFace Marian": ("benchmarks.contenders.marian", "Marian"),
    "x-transformers": ("benchmarks.contenders.x_transformers_peer", "XTransformers"),
    "ONNX Runtime": ("benchmarks.contenders.onnx_peer", "OnnxRuntime"),
    "CTranslate2 float32": ("benchmarks.contenders.ctranslate2_peer", "CTranslate2"),
    "CTranslate2 int8": ("benchmarks.contenders.ctranslate2_peer", "CTranslate2Int8"),
}


def contender_class(name: str) -> type[Contender]:
    """The class of that name; no benchmark-only package is imported by looking it up."""
    module, class_name = CONTENDERS[name]
    return getattr(importlib.import_module(module), class_name)


def is_installed(name: str) -> bool:
    """Whether what it needs is here."""
    package = contender_class(name).package
    try:
        return package is None or importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # a module inside a package that is not here
        return False


def useful_flops(sizes: Sizes, lengths: list[tuple[int, int]]) -> float:
    """Operations in the matrix products of one training step, padding left out: two a multiply-add, thrice a forward pass.

    ``lengths``: real source and target tokens of each pair. The work is the model's, whoever does it.
    """
    m, f, v, n = sizes.d_model, sizes.d_ff, sizes.vocab_size, sizes.num_layers
    total = 0
    for s, t in lengths:
        encoder = s * (4 * m * m + 2 * m * f) + 2 * s * s * m
        self_attention = 4 * t * m * m + 2 * t * t * m
        cross_attention = 2 * t * m * m + 2 * s * m * m + 2 * t * s * m
        total += n * (encoder + self_attention + cross_attention + 2 * t * m * f) + t * m * v
    return 3 * 2 * total


def trained_parameters(model) -> int:
    """Numbers that the optimiser changes, tied ones once; a frozen table of positions is not among them."""
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


def start_of_loss(sizes: Sizes) -> float:
    """The loss of a model that knows nothing: every word equally likely."""
    return math.log(sizes.vocab_size)
