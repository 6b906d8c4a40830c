"""This library, through the step of its own training loop and its own decoding."""

import tempfile
from dataclasses import replace
from pathlib import Path

from benchmarks.contenders import Contender, Setting, trained_parameters
from xformer_lib.data.batching import Batch

SHIPPED = Path(__file__).resolve().parents[2] / "xformer_lib" / "pretrained" / "en-fr"


def shipped_model():
    """The translator that comes with the library."""
    from xformer_lib.training.checkpoint import load_model

    return load_model(SHIPPED)


class Ours(Contender):
    name = "ours"
    differs = "pre-norm, ReLU, all three embeddings tied; dropout on embeddings, sublayers and inside the feed-forward net"
    weights = "shipped"

    def config(self, setting: Setting):
        """The settings of the run that `train_step` belongs to."""
        from xformer_lib.nn.transformer import TransformerConfig
        from xformer_lib.training.config import TrainConfig

        sizes = self.sizes
        model = TransformerConfig(
            vocab_size=sizes.vocab_size,
            d_model=sizes.d_model,
            num_heads=sizes.num_heads,
            d_ff=sizes.d_ff,
            num_encoder_layers=sizes.num_layers,
            num_decoder_layers=sizes.num_layers,
            dropout=sizes.dropout,
            max_len=sizes.max_len,
        )
        config = TrainConfig(
            corpus="fragment",
            model=model,
            max_steps=100_000,
            max_tokens=sizes.max_tokens,
            peak_rate=sizes.rate,
            warmup_steps=sizes.warmup,
            decay=0.1,
            label_smoothing=sizes.label_smoothing,
            clip=sizes.clip,
            seed=sizes.seed,
        )
        return replace(config, precision="auto" if setting.preset else setting.precision)

    def build(self, setting: Setting) -> dict:
        from xformer_lib.data.tokenizer import Tokenizer
        from xformer_lib.training.memory import keep_few_kernels, keep_freed_memory
        from xformer_lib.training.precision import has_bfloat16
        from xformer_lib.training.run import build_run

        keep_few_kernels()  # both as the loop does before its first step
        keep_freed_memory()
        pair = [("a", "a")]
        self.run = build_run(
            self.config(setting),
            Path(tempfile.gettempdir()),
            Tokenizer.load(SHIPPED / "tokenizer.json"),
            {"train": pair, "val": pair},
            "cpu",
        )
        self.run.engine_model.train()
        low = setting.preset and has_bfloat16("cpu")
        return {"parameters": trained_parameters(self.run.model), "precision": "bfloat16" if low else setting.precision}

    def train_step(self, batch: Batch) -> float:
        from xformer_lib.training.loop import train_step

        loss, tokens = train_step(self.run, batch)
        return loss / tokens

    def load(self) -> None:
        from xformer_lib import load_pretrained

        self.model = load_pretrained("en-fr").model

    def padded(self, rows: list[list[int]]):
        import torch

        from xformer_lib.data.batching import pad_rows

        return torch.from_numpy(pad_rows(rows))

    def greedy(self, rows, lengths):
        from xformer_lib.decoding import greedy

        return greedy(self.model, self.padded(rows))

    def beam(self, rows, lengths):
        from xformer_lib.decoding import beam_search

        return [best[0].ids for best in beam_search(self.model, self.padded(rows), beam_size=4)]


class OursInt8(Ours):
    name = "ours int8"
    differs = "the same model, the weights of its linear layers rounded to int8"
    package = "xformer_lib.engine.quantized"
    trains = False

    def load(self) -> None:
        from xformer_lib import load_pretrained

        self.model = load_pretrained("en-fr", weights="int8").model
