"""HuggingFace transformers' Marian model, configured and used as its documentation shows.

https://huggingface.co/docs/transformers/model_doc/marian: ``MarianConfig`` gives the sizes, ``MarianMTModel`` is trained with ``labels`` or
through its logits, and ``generate`` decodes with its own cache. Marian is post-norm (the library has no switch for it), so our pre-norm
weights do not fit: it decodes with its own, and each answer is made as long as ours by suppressing the end token before it.
"""

from benchmarks.contenders import BOS, EOS, PAD, TorchPeer


class Marian(TorchPeer):
    name = "HuggingFace Marian"
    package = "transformers"
    differs = "post-norm, so without the two last norms; dropout on embeddings and sublayers"

    def new_model(self):
        from transformers import MarianConfig, MarianMTModel

        sizes = self.sizes
        return MarianMTModel(
            MarianConfig(
                vocab_size=sizes.vocab_size,
                d_model=sizes.d_model,
                max_position_embeddings=sizes.max_len,
                encoder_layers=sizes.num_layers,
                decoder_layers=sizes.num_layers,
                encoder_attention_heads=sizes.num_heads,
                decoder_attention_heads=sizes.num_heads,
                encoder_ffn_dim=sizes.d_ff,
                decoder_ffn_dim=sizes.d_ff,
                activation_function="relu",
                dropout=sizes.dropout,
                scale_embedding=True,
                init_std=sizes.d_model**-0.5,
                pad_token_id=PAD,
                eos_token_id=EOS,
                decoder_start_token_id=BOS,
                forced_eos_token_id=None,
            )
        )

    def logits(self, source, target_in):
        return self.model(
            input_ids=source,
            attention_mask=source != PAD,
            decoder_input_ids=target_in,
            decoder_attention_mask=target_in != PAD,
            use_cache=False,
        ).logits

    def load(self) -> None:
        self.model = self.new_model().eval()

    def generate(self, rows, lengths, beams):
        import torch
        from torch.nn.utils.rnn import pad_sequence

        source = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
        answer = self.model.generate(
            input_ids=source,
            attention_mask=source != PAD,
            num_beams=beams,
            do_sample=False,
            min_new_tokens=max(lengths),
            max_new_tokens=max(lengths),
        )
        return [ids[: length - 1] for ids, length in zip(answer[:, 1:].tolist(), lengths)]

    def greedy(self, rows, lengths):
        return self.generate(rows, lengths, 1)

    def beam(self, rows, lengths):
        return self.generate(rows, lengths, 4)
