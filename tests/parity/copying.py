"""Pair our parameters with PyTorch's, copy the weights, and compare what comes out and what goes back.

A pair is (our parameter, PyTorch's, a third of it or None). The pairs of a module must name every parameter of both
sides once: a projection that is missing, is not registered, or is not asked for, cannot pass unseen.
"""

import torch


def perturb(module):
    """Biases and norms start at 0 and 1, where a swapped pair would not be seen: move them."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn_like(parameter)


def same_names(ours, theirs):
    """Of two modules of one kind: weight with weight, bias with bias."""
    assert dict(ours.named_parameters()).keys() == dict(theirs.named_parameters()).keys()
    return [(ours.get_parameter(name), other, None) for name, other in theirs.named_parameters()]


def attention_pairs(ours, theirs):
    """torch keeps W_Q, W_K, W_V as the rows of one matrix."""
    pairs = same_names(ours.w_o, theirs.out_proj)
    for third, linear in enumerate((ours.w_q, ours.w_k, ours.w_v)):
        pairs.append((linear.weight, theirs.in_proj_weight, third))
        if theirs.in_proj_bias is not None:
            pairs.append((linear.bias, theirs.in_proj_bias, third))
    return pairs


def layer_pairs(ours, theirs):
    """An encoder layer, or a decoder layer with its cross-attention and a norm more."""
    pairs = attention_pairs(ours.self_attention, theirs.self_attn)
    norms = [theirs.norm1, theirs.norm2]
    if hasattr(theirs, "multihead_attn"):
        pairs += attention_pairs(ours.cross_attention, theirs.multihead_attn)
        norms.append(theirs.norm3)
    pairs += same_names(ours.feed_forward.w_1, theirs.linear1) + same_names(ours.feed_forward.w_2, theirs.linear2)
    for residual, norm in zip(ours.residuals, norms, strict=True):
        pairs += same_names(residual.norm, norm)
    return pairs


def stack_pairs(ours, theirs):
    pairs = [pair for layer, other in zip(ours.layers, theirs.layers, strict=True) for pair in layer_pairs(layer, other)]
    return pairs + (same_names(ours.norm, theirs.norm) if theirs.norm is not None else [])


def part(tensor, third):
    return tensor if third is None else tensor.chunk(3)[third]


def copy(pairs, ours, theirs):
    """Give our parameters PyTorch's values, once it is certain that none on either side is left out."""
    named = {id(mine): mine for mine, _, _ in pairs}
    missing = [name for name, parameter in ours.named_parameters() if id(parameter) not in named]
    assert not missing, f"not paired: {missing}"
    assert len(pairs) == len(named) == len(list(ours.parameters())), "a pair names what is no parameter of the module"
    assert sum(mine.numel() for mine in named.values()) == sum(parameter.numel() for parameter in theirs.parameters())
    with torch.no_grad():
        for mine, other, third in pairs:
            mine.copy_(part(other, third))


def gradients(output, inputs):
    """Gradients of a fixed uneven sum of the output, so that no symmetry hides an error."""
    weights = torch.arange(output.numel(), dtype=output.dtype).reshape(output.shape).cos()
    return torch.autograd.grad((output * weights).sum(), inputs)


def both_gradients(output, expected, inputs, pairs):
    """Two lists: of our output, and of the expected one; the inputs' gradients, then those of every pair."""
    ours = gradients(output, [*inputs, *(mine for mine, _, _ in pairs)])
    whole = list({id(other): other for _, other, _ in pairs}.values())
    found = gradients(expected, [*inputs, *whole])
    of = dict(zip(map(id, whole), found[len(inputs) :], strict=True))
    return ours, [*found[: len(inputs)], *(part(of[id(other)], third) for _, other, third in pairs)]


def largest_difference(ours, theirs):
    assert len(ours) > 0
    return max(float((a - b).detach().abs().max()) for a, b in zip(ours, theirs, strict=True))
