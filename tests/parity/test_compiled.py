"""Under a compiler the layers are what they are without one. (Run-time checks of shapes would be compiled, too: not here.)"""

import torch

from xformer_lib.engine.products import Linear


def test_a_compiler_sees_no_kernel_that_it_cannot_lower():
    """torch.compile picks its own kernels; it has no code for a product whose weight is an input of the graph."""
    seen = []

    def look(graph, inputs):
        seen.extend(str(node.target) for node in graph.graph.nodes)
        return graph

    layer, x = Linear(263, 257), torch.randn(3, 5, 263)
    with torch.no_grad():
        torch.testing.assert_close(torch.compile(layer, backend=look)(x), layer(x))
    assert any("linear" in name for name in seen) and not any("mkldnn" in name for name in seen), seen
