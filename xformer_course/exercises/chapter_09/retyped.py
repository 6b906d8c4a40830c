"""The Transformer of exercise 9.9 as a learner may write it, right or with something wrong. Torch is imported where it is used."""

from types import SimpleNamespace

RIGHT = {
    # attention
    "scale": "head",  # or model, no, no root
    "over": "keys",  # or queries, heads
    "hide": "lowest",  # or -inf, zero, afterwards, inverted
    "split": "heads",  # or untransposed
    "join": "heads",  # or untransposed, backwards
    "heads": "all",  # or one
    "making": "qkvo",  # or another order of the four
    "joint": False,  # W_Q, W_K and W_V in one Linear
    # layers
    "norm": "pre",  # or post
    "plus": "x",  # or no, norm(x)
    "kink": "relu",  # or gelu, no, twice
    "layer": "self cross net",  # or cross self net, net self cross
    "memory": "last",  # or normed again, not read, each layer
    # the model
    "causal": 0,  # or a diagonal, None for no triangle, "upside down"
    "target_padding": True,
    "encoder_padding": True,
    "memory_padding": True,
    "causal_encoder": False,
    "causal_cross": False,
    "root": "both",  # or no, source, target
    "positions": "beside",  # or "", in halves, scaled, from one, other base, other clocks, source, target
    "ends": "both",  # or encoder, decoder, none
    "output": "tied",  # or own, softmax, scaled
    "shift": False,
    "dropout": "",  # or embedding, layers, always
    "first": "encoder",  # or decoder: which is made first
    "inner": "self",  # or cross: which of a decoder layer's attentions is made first
    "shared_norm": False,
}


def parts(**changes):
    """The classes ``Attention``, ``Layer``, ``Stack`` and ``Model``, right but for the changes."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    how = SimpleNamespace(**{**RIGHT, **changes})

    class Attention(nn.Module):
        def __init__(self, d_model, num_heads):
            super().__init__()
            self.num_heads = 1 if how.heads == "one" else num_heads
            if how.joint:
                self.w_qkv = nn.Linear(d_model, 3 * d_model)
                self.w_o = nn.Linear(d_model, d_model)
            else:
                for letter in how.making:
                    setattr(self, f"w_{letter}", nn.Linear(d_model, d_model))

        def apart(self, x):
            b, i, m = x.shape
            if how.split == "untransposed":
                return x.reshape(b, self.num_heads, i, m // self.num_heads)
            return x.reshape(b, i, self.num_heads, -1).transpose(1, 2)

        def forward(self, x, read, mask):
            b, i, m = x.shape
            if how.joint:
                w_q, w_k, w_v = self.w_qkv.weight.chunk(3)
                q, k, v = self.apart(x @ w_q.T), self.apart(read @ w_k.T), self.apart(read @ w_v.T)
            else:
                q, k, v = self.apart(self.w_q(x)), self.apart(self.w_k(read)), self.apart(self.w_v(read))
            d = m // self.num_heads
            scores = q @ k.transpose(-2, -1) / {"head": d**0.5, "model": m**0.5, "no": 1.0, "no root": d}[how.scale]
            mask = mask[:, None].expand(scores.shape)
            if how.hide == "inverted":
                mask = ~mask
            filled = {"-inf": -torch.inf, "zero": 0.0}.get(how.hide, -1e30)
            axis = {"keys": -1, "queries": -2, "heads": 1}[how.over]
            if how.hide == "afterwards":
                weights = scores.softmax(dim=axis).masked_fill(~mask, 0.0)
            else:
                weights = scores.masked_fill(~mask, filled).softmax(dim=axis)
            mixed = weights @ v
            if how.join == "untransposed":
                return self.w_o(mixed.reshape(b, i, m))
            if how.join == "backwards":
                return self.w_o(mixed.permute(0, 2, 3, 1).reshape(b, i, m))
            return self.w_o(mixed.transpose(1, 2).reshape(b, i, m))

    class Layer(nn.Module):
        def __init__(self, d_model, num_heads, d_ff, reads_memory=False):
            super().__init__()
            kinds = ["self"]
            if reads_memory:
                kinds = ["cross", "self"] if how.inner == "cross" else ["self", "cross"]
            self.attentions = nn.ModuleDict({kind: Attention(d_model, num_heads) for kind in kinds})
            self.w_1, self.w_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
            one = nn.LayerNorm(d_model)
            names = [kind for kind in how.layer.split() if kind in (*kinds, "net")]
            self.norms = nn.ModuleDict({name: one if how.shared_norm else nn.LayerNorm(d_model) for name in names})

        def net(self, x):
            inner = self.w_1(x)
            inner = {"no": inner, "gelu": F.gelu(inner)}.get(how.kink, inner.relu())
            outer = self.w_2(inner)
            return outer.relu() if how.kink == "twice" else outer

        def around(self, name, x, sublayer):
            norm = self.norms[name]
            if how.norm == "post":
                return norm(x + sublayer(x))
            y = sublayer(norm(x))
            if how.dropout == "layers":
                y = F.dropout(y, 0.1, self.training)
            return {"no": y, "norm(x)": norm(x) + y}.get(how.plus, x + y)

        def forward(self, x, mask, memory=None, memory_mask=None):
            for name in self.norms:
                if name == "net":
                    x = self.around(name, x, self.net)
                elif name == "self":
                    x = self.around(name, x, lambda y: self.attentions["self"](y, y, mask))
                elif how.memory == "not read":
                    x = self.around(name, x, lambda y: self.attentions["cross"](y, y, mask))
                else:
                    read = self.norms[name](memory) if how.memory == "normed again" else memory
                    x = self.around(name, x, lambda y, read=read: self.attentions["cross"](y, read, memory_mask))
            return x

    class Stack(nn.Module):
        def __init__(self, num_layers, d_model, num_heads, d_ff, reads_memory=False):
            super().__init__()
            self.layers = nn.ModuleList(Layer(d_model, num_heads, d_ff, reads_memory) for _ in range(num_layers))
            ends = how.ends in ("both", "decoder" if reads_memory else "encoder")
            self.norm = nn.LayerNorm(d_model) if ends else nn.Identity()

        def forward(self, x, mask, memory=None, memory_mask=None):
            for place, layer in enumerate(self.layers):
                read = memory[place] if isinstance(memory, list) else memory
                x = layer(x, mask, read, memory_mask)
            return self.norm(x)

        def each(self, x, mask):
            """What every layer leaves behind, for a decoder that reads layer by layer."""
            left = []
            for layer in self.layers:
                x = layer(x, mask)
                left.append(self.norm(x))
            return left

    class Model(nn.Module):
        def __init__(self, vocab_size, d_model, num_heads, d_ff, num_layers):
            super().__init__()
            self.d_model = d_model
            self.embedding = nn.Embedding(vocab_size, d_model)
            for kind in ("encoder", "decoder") if how.first == "encoder" else ("decoder", "encoder"):
                setattr(self, kind, Stack(num_layers, d_model, num_heads, d_ff, kind == "decoder"))
            if how.output == "own":
                self.output = nn.Linear(d_model, vocab_size, bias=False)

        def places(self, length):
            place = torch.arange(length)[:, None] + (how.positions == "from one")
            column = torch.arange(0, self.d_model, 2) / self.d_model
            base = 1000.0 if how.positions == "other base" else 10000.0
            angles = place / base ** (column / 2 if how.positions == "other clocks" else column)
            if how.positions == "in halves":
                return torch.cat([angles.sin(), angles.cos()], dim=-1)
            return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)

        def embed(self, ids, kind):
            x = self.embedding(ids)
            root = self.d_model**0.5
            if how.root in ("both", kind):
                x = x * root
            if how.positions and how.positions != {"source": "target", "target": "source"}[kind]:
                x = x + self.places(ids.shape[1]) * (root if how.positions == "scaled" else 1.0)
            if how.dropout in ("embedding", "always"):
                x = F.dropout(x, 0.1, self.training or how.dropout == "always")
            return x

        def forward(self, source, target_in):
            if how.shift:
                target_in = torch.cat([torch.ones_like(target_in[:, :1]), target_in[:, :-1]], dim=1)
            real = (source != 0)[:, None, :]
            anywhere = torch.ones_like(real)
            square = torch.ones(target_in.shape[1], target_in.shape[1], dtype=torch.bool)
            past = square if how.causal is None else square.triu() if how.causal == "upside down" else square.tril(how.causal)
            mask = past & (target_in != 0)[:, None, :] if how.target_padding else past[None]
            over_source = real if how.encoder_padding else anywhere
            if how.causal_encoder:
                over_source = over_source & torch.ones(source.shape[1], source.shape[1], dtype=torch.bool).tril()
            over_memory = real if how.memory_padding else anywhere
            if how.causal_cross:
                over_memory = over_memory & torch.ones(target_in.shape[1], source.shape[1], dtype=torch.bool).tril()
            x = self.embed(source, "source")
            memory = self.encoder.each(x, over_source) if how.memory == "each layer" else self.encoder(x, over_source)
            y = self.decoder(self.embed(target_in, "target"), mask, memory, over_memory)
            if how.output == "own":
                return self.output(y)
            logits = y @ self.embedding.weight.T
            return {"softmax": logits.softmax(dim=-1), "scaled": logits * self.d_model**0.5}.get(how.output, logits)

    return SimpleNamespace(Attention=Attention, Layer=Layer, Stack=Stack, Model=Model)


def retyped(**changes):
    """``build`` as a learner may write it, with these changes."""

    def build(vocab_size, d_model, num_heads, d_ff, num_layers):
        return parts(**changes).Model(vocab_size, d_model, num_heads, d_ff, num_layers)

    return build
