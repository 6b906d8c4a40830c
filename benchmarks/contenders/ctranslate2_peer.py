"""CTranslate2, an engine in C++ for decoding alone, with our trained weights.

https://opennmt.net/CTranslate2/conversion.html and the specification classes that its own converters fill: a pre-norm TransformerSpec with
ReLU, our table of positions and our tied matrix. Its float32 answers are ours, token for token, or the comparison does not count.
"""

import tempfile

from benchmarks.contenders import BOS, EOS, UNK, Contender
from benchmarks.contenders.ours import shipped_model


def specification(model):
    """Our model as CTranslate2's converters would write it."""
    from ctranslate2.converters.utils import fuse_linear
    from ctranslate2.specs import common_spec, transformer_spec

    config = model.config
    spec = transformer_spec.TransformerSpec.from_config(
        (config.num_encoder_layers, config.num_decoder_layers),
        config.num_heads,
        pre_norm=config.norm == "pre",
        activation=common_spec.Activation.RELU,
    )

    def linear(to, of):
        to.weight, to.bias = of.weight.detach().numpy(), of.bias.detach().numpy()

    def norm(to, of):
        to.gamma, to.beta = of.weight.detach().numpy(), of.bias.detach().numpy()

    def attention(to, of, residual, own):
        """Self-attention has its three projections in one matrix, cross-attention those of the memory."""
        parts = [common_spec.LinearSpec() for _ in range(3)]
        for part, projection in zip(parts, (of.w_q, of.w_k, of.w_v)):
            linear(part, projection)
        for place, group in enumerate([parts] if own else [parts[:1], parts[1:]]):
            fuse_linear(to.linear[place], group)
        linear(to.linear[-1], of.w_o)
        norm(to.layer_norm, residual.norm)

    matrix = model.embedding.weight.detach().numpy()
    spec.encoder.embeddings[0].weight = spec.decoder.embeddings.weight = spec.decoder.projection.weight = matrix
    for to, of in ((spec.encoder, model.encoder), (spec.decoder, model.decoder)):
        to.position_encodings.encodings = model.positions.table.numpy()
        norm(to.layer_norm, of.norm)
        for layer, ours in zip(to.layer, of.layers, strict=True):
            attention(layer.self_attention, ours.self_attention, ours.residuals[0], own=True)
            if to is spec.decoder:
                attention(layer.attention, ours.cross_attention, ours.residuals[1], own=False)
            linear(layer.ffn.linear_0, ours.feed_forward.w_1)
            linear(layer.ffn.linear_1, ours.feed_forward.w_2)
            norm(layer.ffn.layer_norm, ours.residuals[-1].norm)
    words = [str(number) for number in range(config.vocab_size)]  # a word is its id
    spec.register_source_vocabulary(words)
    spec.register_target_vocabulary(words)
    spec.config.bos_token, spec.config.eos_token, spec.config.unk_token = str(BOS), str(EOS), str(UNK)
    spec.config.decoder_start_token = str(BOS)
    spec.config.layer_norm_epsilon = 1e-5
    return spec


class CTranslate2(Contender):
    name = "CTranslate2 float32"
    package = "ctranslate2"
    differs = "our weights, converted; C++, decoding only"
    weights = "shipped"
    trains = False
    compute_type = "float32"

    def start(self) -> None:
        pass  # it has threads of its own

    def load(self) -> None:
        import ctranslate2

        with tempfile.TemporaryDirectory() as folder:
            spec = specification(shipped_model()[0])
            spec.validate()
            spec.optimize()
            spec.save(folder)
            self.translator = ctranslate2.Translator(folder, compute_type=self.compute_type, inter_threads=1, intra_threads=self.threads)

    def translate(self, rows, **options):
        found = self.translator.translate_batch(
            [list(map(str, row)) for row in rows], max_decoding_length=2 * max(map(len, rows)) + 10, **options
        )
        return [list(map(int, one.hypotheses[0])) for one in found]

    def greedy(self, rows, lengths):
        return self.translate(rows, beam_size=1)

    def beam(self, rows, lengths):
        return self.translate(rows, beam_size=4, length_penalty=1.0)


class CTranslate2Int8(CTranslate2):
    name = "CTranslate2 int8"
    differs = "the same, the weights of its linear layers rounded to int8"
    compute_type = "int8"
