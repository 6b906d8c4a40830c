"""torch.nn.Transformer, wrapped as PyTorch's own tutorial on translation teaches.

https://pytorch.org/tutorials/beginner/translation_transformer.html: token embedding times √m, a sinusoidal table, a linear generator, the
causal mask from ``generate_square_subsequent_mask``, padding masks that are True where padding is, and a greedy loop that runs the whole
decoder again for each word. Pre-norm, and the generator's matrix tied to the embedding, so that it is the model that ours is.
"""

import math
import warnings

from benchmarks.contenders import BOS, EOS, PAD, TorchPeer
from benchmarks.contenders.ours import shipped_model


def build_model(sizes):
    """The tutorial's Seq2SeqTransformer, with these sizes."""
    import torch
    from torch import nn

    class PositionalEncoding(nn.Module):
        def __init__(self):
            super().__init__()
            rates = torch.exp(-torch.arange(0, sizes.d_model, 2) * math.log(10000) / sizes.d_model)
            angles = torch.arange(sizes.max_len)[:, None] * rates
            self.register_buffer("table", torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1))
            self.dropout = nn.Dropout(sizes.dropout)

        def forward(self, x):
            return self.dropout(x + self.table[: x.shape[1]])

    class Seq2SeqTransformer(nn.Module):
        def __init__(self):
            super().__init__()
            self.transformer = nn.Transformer(
                sizes.d_model,
                sizes.num_heads,
                sizes.num_layers,
                sizes.num_layers,
                sizes.d_ff,
                sizes.dropout,
                batch_first=True,
                norm_first=True,
            )
            self.embedding = nn.Embedding(sizes.vocab_size, sizes.d_model)
            nn.init.normal_(self.embedding.weight, std=sizes.d_model**-0.5)
            self.generator = nn.Linear(sizes.d_model, sizes.vocab_size, bias=False)
            self.generator.weight = self.embedding.weight
            self.positions = PositionalEncoding()

        def embed(self, ids):
            return self.positions(self.embedding(ids) * math.sqrt(sizes.d_model))

        def forward(self, source, target_in):
            causal = nn.Transformer.generate_square_subsequent_mask(target_in.shape[1], dtype=torch.bool)
            states = self.transformer(
                self.embed(source),
                self.embed(target_in),
                tgt_mask=causal,
                src_key_padding_mask=source == PAD,
                tgt_key_padding_mask=target_in == PAD,
                memory_key_padding_mask=source == PAD,
                tgt_is_causal=True,
            )
            return self.generator(states)

        def encode(self, source):
            return self.transformer.encoder(self.embed(source), src_key_padding_mask=source == PAD)

        def decode(self, target_in, memory, source):
            causal = nn.Transformer.generate_square_subsequent_mask(target_in.shape[1], dtype=torch.bool)
            return self.transformer.decoder(
                self.embed(target_in), memory, tgt_mask=causal, memory_key_padding_mask=source == PAD, tgt_is_causal=True
            )

    with warnings.catch_warnings():  # it says that nested tensors are not used when the norm comes first
        warnings.filterwarnings("ignore", message="enable_nested_tensor")
        return Seq2SeqTransformer()


def copy_weights(theirs, ours) -> None:
    """Our trained weights in torch.nn.Transformer: the three projections are the rows of one matrix."""
    import torch

    def attention(to, of):
        to.in_proj_weight.copy_(torch.cat([of.w_q.weight, of.w_k.weight, of.w_v.weight]))
        to.in_proj_bias.copy_(torch.cat([of.w_q.bias, of.w_k.bias, of.w_v.bias]))
        to.out_proj.load_state_dict(of.w_o.state_dict())

    def rest(to, of):
        to.linear1.load_state_dict(of.feed_forward.w_1.state_dict())
        to.linear2.load_state_dict(of.feed_forward.w_2.state_dict())
        for number, residual in enumerate(of.residuals, start=1):
            getattr(to, f"norm{number}").load_state_dict(residual.norm.state_dict())

    with torch.no_grad():
        theirs.embedding.weight.copy_(ours.embedding.weight)
        for side in ("encoder", "decoder"):
            stack, of_stack = getattr(theirs.transformer, side), getattr(ours, side)
            stack.norm.load_state_dict(of_stack.norm.state_dict())
            for to, of in zip(stack.layers, of_stack.layers, strict=True):
                attention(to.self_attn, of.self_attention)
                if side == "decoder":
                    attention(to.multihead_attn, of.cross_attention)
                rest(to, of)


class TorchNN(TorchPeer):
    name = "torch.nn.Transformer"
    differs = "the same model; its dropout also acts on the attention weights, and it has no key–value cache"
    weights = "shipped"

    def new_model(self):
        return build_model(self.sizes)

    def logits(self, source, target_in):
        return self.model(source, target_in)

    def load(self) -> None:
        ours, _ = shipped_model()
        self.model = build_model(self.sizes).eval()
        copy_weights(self.model, ours)

    def greedy(self, rows, lengths):
        """The tutorial's loop; for a batch, rows that have ended are carried along until the last one has."""
        import torch
        from torch.nn.utils.rnn import pad_sequence

        with torch.no_grad():
            source = pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
            memory = self.model.encode(source)
            tokens = torch.full((len(rows), 1), BOS)
            ended = torch.zeros(len(rows), dtype=torch.bool)
            for _ in range(2 * source.shape[1] + 10):
                states = self.model.decode(tokens, memory, source)
                chosen = self.model.generator(states[:, -1]).argmax(dim=-1)
                tokens = torch.cat([tokens, chosen[:, None]], dim=1)
                ended |= chosen == EOS
                if ended.all():
                    break
        return [ids[: ids.index(EOS)] if EOS in ids else ids for ids in tokens[:, 1:].tolist()]
