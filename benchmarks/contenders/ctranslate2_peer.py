"""CTranslate2, an engine in C++ for decoding alone, with our trained weights.

As `xformer_lib.export` writes them; a word is its id. Its float32 answers are ours, token for token, or the comparison does not count.
"""

import tempfile

from benchmarks.contenders import Contender
from benchmarks.contenders.ours import shipped_model


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

        from xformer_lib.export import export_ctranslate2

        with tempfile.TemporaryDirectory() as folder:
            export_ctranslate2(shipped_model()[0], folder)
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
