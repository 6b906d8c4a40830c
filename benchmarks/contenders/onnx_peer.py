"""ONNX Runtime, an engine for graphs from anywhere, with our trained weights through `xformer export`.

https://onnxruntime.ai: a session for the encoder and one for the step; the loop around them is the one that the export's README shows,
for a batch. A beam search would be the user's to write.
"""

import tempfile

import numpy as np

from benchmarks.contenders import BOS, EOS, PAD, Contender
from benchmarks.contenders.ours import SHIPPED


class OnnxRuntime(Contender):
    name = "ONNX Runtime"
    package = "onnxruntime"
    differs = "our weights, exported; a loop in NumPy around the step, decoding only"
    weights = "shipped"
    trains = False

    def load(self) -> None:
        from onnxruntime import InferenceSession, SessionOptions

        from xformer_lib.export import export_model

        options = SessionOptions()
        options.intra_op_num_threads = self.threads
        with tempfile.TemporaryDirectory() as folder:
            export_model(SHIPPED, "onnx", f"{folder}/onnx")
            self.encoder, self.step = (InferenceSession(f"{folder}/onnx/{name}.onnx", options) for name in ("encoder", "step"))

    def greedy(self, rows, lengths):
        from xformer_lib.data.batching import pad_rows

        source = pad_rows(rows)
        _, cross_keys, cross_values = self.encoder.run(None, {"source": source})
        given = {"source": source, "cross_keys": cross_keys, "cross_values": cross_values}
        keys = values = cross_keys[:, :, :, :0]  # of no word yet
        words = np.full((len(rows), 1), BOS)
        for _ in range(2 * source.shape[1] + 10):
            logits, keys, values = self.step.run(None, {"token": words[:, -1:], "keys": keys, "values": values, **given})
            logits[:, [PAD, BOS]] = -np.inf
            words = np.column_stack([words, logits.argmax(axis=1)])
            if (words == EOS).any(axis=1).all():
                break
        return [row[1 : [*row, EOS].index(EOS)] for row in words.tolist()]
