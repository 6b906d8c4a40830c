"""The layer of chapter 15, as it stands on its page, against that of a known library: outputs, logits and gradients."""

import ast
import json
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers", minversion="5", reason="the reference of this test; not needed by the course")

PAGE = Path(__file__).resolve().parents[2] / "chapters" / "15_what_next.ipynb"
WANTED = {"RMSNorm", "SwiGLU", "rotate", "ModernAttention", "ModernLayer", "neighbours", "copied_from"}


@pytest.fixture(scope="module")
def page():
    """What the page defines, by its name."""
    found = {"torch": torch, "nn": torch.nn, "silu": torch.nn.functional.silu}
    found["scaled_dot_product_attention"] = torch.nn.functional.scaled_dot_product_attention
    for cell in json.loads(PAGE.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            tree = ast.parse("".join(cell["source"]))
            tree.body = [node for node in tree.body if getattr(node, "name", None) in WANTED]
            exec(compile(tree, PAGE.name, "exec"), found)
    assert WANTED <= set(found)
    return found


@pytest.mark.parametrize("base", [10_000.0, 500_000.0])
@pytest.mark.parametrize("kind", ["Llama", "Qwen3"])
def test_the_layer_of_today_is_that_of_the_library(kind, base, page):
    torch.manual_seed(0)
    sizes = {"vocab_size": 101, "hidden_size": 48, "intermediate_size": 80, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 6, "num_key_value_heads": 2, "head_dim": 8}
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": base}}
    config = getattr(transformers, f"{kind}Config")(**sizes, **heads, **rope)
    theirs = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for parameter in theirs.parameters():  # gains start at 1, where an order would not be seen
            parameter += 0.2 * torch.randn_like(parameter)
    ours = page["copied_from"](theirs)
    assert sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.model.layers.parameters())

    x = theirs.model.embed_tokens(torch.randint(101, (2, 9))).detach()
    found = theirs(inputs_embeds=x, output_hidden_states=True)
    after = x
    for place, layer in enumerate(ours[:-1], start=1):
        after = layer(after)
        torch.testing.assert_close(after, found.hidden_states[place], atol=1e-5, rtol=1e-5)
    logits = theirs.lm_head(theirs.model.norm(ours[-1](after)))
    torch.testing.assert_close(logits, found.logits, atol=1e-5, rtol=1e-5)

    weights = torch.arange(logits.numel()).reshape(logits.shape).cos()
    (logits * weights).sum().backward()
    mine = {name: parameter.grad for name, parameter in ours.named_parameters()}
    theirs.zero_grad()
    (found.logits * weights).sum().backward()
    for number, layer in enumerate(theirs.model.layers):
        order = page["neighbours"](8)
        q = layer.self_attn.q_proj.weight.grad.unflatten(0, (-1, 8))[:, order].flatten(0, 1)
        pairs = [("attention.w_q.weight", q), ("attention.w_v.weight", layer.self_attn.v_proj.weight.grad)]
        pairs += [("feed_forward.gate.weight", layer.mlp.gate_proj.weight.grad), ("norm_1.gain", layer.input_layernorm.weight.grad)]
        if kind == "Qwen3":
            pairs.append(("attention.k_norm.gain", layer.self_attn.k_norm.weight.grad[order]))
        for name, gradient in pairs:
            scale = gradient.abs().max()
            torch.testing.assert_close(mine[f"{number}.{name}"] / scale, gradient / scale, atol=1e-5, rtol=0)
