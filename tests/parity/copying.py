"""Copy PyTorch's weights into our layers, and compare what comes out."""

import torch


def perturb(module):
    """Biases and norms start at 0 and 1, where a swapped pair would not be seen: move them."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.1 * torch.randn_like(parameter)


def copy_attention(ours, theirs):
    """torch keeps W_Q, W_K, W_V as the rows of one matrix."""
    with torch.no_grad():
        for linear, weight in zip((ours.w_q, ours.w_k, ours.w_v), theirs.in_proj_weight.chunk(3)):
            linear.weight.copy_(weight)
        ours.w_o.weight.copy_(theirs.out_proj.weight)
        if theirs.in_proj_bias is not None:
            for linear, bias in zip((ours.w_q, ours.w_k, ours.w_v), theirs.in_proj_bias.chunk(3)):
                linear.bias.copy_(bias)
            ours.w_o.bias.copy_(theirs.out_proj.bias)


def copy_encoder_layer(ours, theirs):
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_rest(ours, theirs, [theirs.norm1, theirs.norm2])


def copy_decoder_layer(ours, theirs):
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_rest(ours, theirs, [theirs.norm1, theirs.norm2, theirs.norm3])


def copy_rest(ours, theirs, norms):
    ours.feed_forward.w_1.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.w_2.load_state_dict(theirs.linear2.state_dict())
    for residual, norm in zip(ours.residuals, norms, strict=True):
        residual.norm.load_state_dict(norm.state_dict())


def copy_stack(ours, theirs, copy_layer):
    for layer, other in zip(ours.layers, theirs.layers, strict=True):
        copy_layer(layer, other)
    if theirs.norm is not None:
        ours.norm.load_state_dict(theirs.norm.state_dict())


def gradients(output, inputs):
    """Gradients of a fixed uneven sum of the output, so that no symmetry hides an error."""
    weights = torch.arange(output.numel(), dtype=output.dtype).reshape(output.shape).cos()
    return torch.autograd.grad((output * weights).sum(), inputs)


def largest_difference(ours, theirs):
    return max(float((a - b).detach().abs().max()) for a, b in zip(ours, theirs, strict=True))
