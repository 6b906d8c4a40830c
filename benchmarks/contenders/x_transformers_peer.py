"""x-transformers' XTransformer, as its README shows the encoder–decoder.

https://github.com/lucidrains/x-transformers: ``XTransformer(dim=…, enc_num_tokens=…, …, tie_token_emb=True)``, called with a mask that
is True
where a token is, and ``generate``, which keeps a cache. Its own loss has no label smoothing; what its two halves return is scored instead.
"""

from benchmarks.contenders import BOS, PAD, TorchPeer


class XTransformers(TorchPeer):
    name = "x-transformers"
    package = "x_transformers"
    differs = (
        "its output matrix cannot be tied to the embedding and its positions are learned; GELU, no biases in attention; "
        "dropout on embeddings, attention weights and inside the feed-forward net"
    )

    def new_model(self):
        from x_transformers import XTransformer

        sizes = self.sizes
        side = dict(
            num_tokens=sizes.vocab_size,
            depth=sizes.num_layers,
            heads=sizes.num_heads,
            max_seq_len=sizes.max_len,
            attn_dim_head=sizes.d_model // sizes.num_heads,
            ff_mult=sizes.d_ff / sizes.d_model,
            emb_dropout=sizes.dropout,
            attn_dropout=sizes.dropout,
            ff_dropout=sizes.dropout,
        )
        both = {f"{prefix}_{key}": value for prefix in ("enc", "dec") for key, value in side.items()}
        return XTransformer(dim=sizes.d_model, tie_token_emb=True, **both)

    def logits(self, source, target_in):
        mask = source != PAD
        memory = self.model.encoder(source, mask=mask, return_embeddings=True)
        return self.model.decoder.net(target_in, mask=target_in != PAD, context=memory, context_mask=mask)

    def load(self) -> None:
        self.model = self.new_model().eval()

    def greedy(self, rows, lengths):
        import torch
        from torch.nn.utils.rnn import pad_sequence

        source = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
        start = torch.full((len(rows), 1), BOS)
        answer = self.model.generate(source, start, max(lengths), mask=source != PAD, temperature=0.0)
        return [ids[: length - 1] for ids, length in zip(answer.tolist(), lengths)]
