"""Under a compiler the layers are what they are without one. (Run-time checks of shapes would be compiled, too: not here.)"""

import torch

from xformer_lib.engine.modules import accelerate
from xformer_lib.engine.products import FastLinear
from xformer_lib.nn.layers import EncoderLayer


def test_a_compiler_sees_no_kernel_that_it_cannot_lower():
    """torch.compile picks its own kernels; it has no code for a product whose weight is an input of the graph."""
    seen = []

    def look(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    layer, x = FastLinear(263, 257), torch.randn(3, 5, 263)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(layer, backend=look)(x), layer(x))
    assert any("linear" in name for name in seen) and not any("mkldnn" in name for name in seen), seen


def test_a_compiled_model_is_accelerated_without_its_program():
    """The program of the old one would go on with the old one's flags."""
    layer, x = EncoderLayer(20, 5, 28, dropout=0.5), torch.randn(2, 7, 20)
    wrapped = torch.compile(layer, backend="eager")
    layer.compile(backend="eager")
    for fast in (accelerate(layer).eval(), accelerate(wrapped).eval()):
        assert torch.equal(fast(x), fast(x)) and fast.self_attention.w_q.weight is layer.self_attention.w_q.weight
    assert layer.training and not torch.equal(layer(x), layer(x))
