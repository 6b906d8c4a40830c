"""What is written into an exported folder for whoever uses it, by format; tests run the lines."""

__all__ = ["USAGE"]

TOKENIZER = """
`tokenizer.json` makes a text plain (composed characters, straight quotes, single spaces), cuts it into pieces and ends it with `<eos>`:
`encode(text).ids` are what the model reads. A text is one sentence. `export.json` has the sizes and the special ids.
The package tokenizers composes by the tables of Unicode 9 (2016), Python by newer ones: two marks on one letter, of which one was added
since (a hundred marks, none in English or French), keep the order in which they were typed, and may become other pieces than in xformer.
"""

ONNX = """# A translator for ONNX Runtime

    pip install onnxruntime tokenizers

```python
import numpy as np
from onnxruntime import InferenceSession
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
encoder, step = InferenceSession("encoder.onnx"), InferenceSession("step.onnx")
source = np.array([tokenizer.encode("Hello!").ids], dtype=np.int64)
_, cross_keys, cross_values = encoder.run(None, {"source": source})
given = {"source": source, "cross_keys": cross_keys, "cross_values": cross_values}
keys = values = cross_keys[:, :, :, :0]  # of no word yet
words = [$bos_id]
while words[-1] != $eos_id and len(words) <= min(2 * source.shape[1] + 10, $limit):
    token = np.array([[words[-1]]], dtype=np.int64)
    logits, keys, values = step.run(None, {"token": token, "keys": keys, "values": values, **given})
    logits[:, [$pad_id, $bos_id]] = -np.inf  # padding and <bos> are no words
    words.append(int(logits[0].argmax()))
print(tokenizer.decode(words))
```

Several sentences are rows of one batch: `tokenizer.enable_padding(pad_id=$pad_id)`, then `encode_batch`. The step masks the padding of
`source` itself; stop when every row has written $eos_id, and cut each row there. A beam search reorders the rows of `keys` and `values`
along their axis 1.

- `encoder.onnx`: source (b, s) → memory (b, s, m), cross_keys and cross_values (l, b, h, s, d).
- `step.onnx`: token (b, 1), source, cross_keys, cross_values, keys and values (l, b, h, t, d) → logits (b, v), grown_keys and
  grown_values (l, b, h, t + 1, d).
- `decoder.onnx`: target_in (b, t), memory, source → logits (b, t, v), to score a translation.

Ids are int64, the rest is float32, the operators are those of opset $opset. The most words are $max_len, on both sides.
"""

CTRANSLATE2 = """# A translator for CTranslate2

    pip install ctranslate2 tokenizers

```python
import ctranslate2
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
translator = ctranslate2.Translator(".", compute_type="float32")  # or "int8": smaller and faster, some words differ
rows = [tokenizer.encode(text).tokens for text in ["Hello!"]]
limit = min(2 * max(map(len, rows)) + 10, $limit)
found = translator.translate_batch(
    rows, beam_size=1, min_decoding_length=0, max_decoding_length=limit, suppress_sequences=[["<pad>"], ["<bos>"]])
for one in found:
    print(tokenizer.decoder.decode(one.hypotheses[0]))
```

Without `min_decoding_length=0` CTranslate2 says a word where the model says nothing.
Rows may differ in length: never pad them, and use no tokenizer with `enable_padding`. Beams of four that search as long as those of
xformer: `beam_size=4, patience=2`.
The model reads at most $max_len pieces, `<eos>` included, and writes at most $limit.
"""

TORCH = """# A translator for torch alone

    pip install torch tokenizers

```python
import torch
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_file("tokenizer.json")
encoder, step = (torch.export.load(f"{name}.pt2").module() for name in ("encoder", "step"))
with torch.inference_mode():
    source = torch.tensor([tokenizer.encode("Hello!").ids])
    _, cross_keys, cross_values = encoder(source)
    keys = values = cross_keys[:, :, :, :0]  # of no word yet
    words = [$bos_id]
    while words[-1] != $eos_id and len(words) <= min(2 * source.shape[1] + 10, $limit):
        logits, keys, values = step(torch.tensor([[words[-1]]]), source, cross_keys, cross_values, keys, values)
        logits[:, [$pad_id, $bos_id]] = -torch.inf  # padding and <bos> are no words
        words.append(int(logits[0].argmax()))
print(tokenizer.decode(words))
```

Several sentences are rows of one batch: `tokenizer.enable_padding(pad_id=$pad_id)`, then `encode_batch`. Source (b, s), token (b, 1),
cross_keys and cross_values (l, b, h, s, d), keys and values (l, b, h, t, d), logits (b, v). The most words are $max_len, on both sides.
"""

USAGE = {"onnx": ONNX + TOKENIZER, "ctranslate2": CTRANSLATE2 + TOKENIZER, "torch": TORCH + TOKENIZER}
