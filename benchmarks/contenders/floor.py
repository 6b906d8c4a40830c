"""The floor: how fast this machine multiplies matrices, at each precision, with nothing else to do."""

import time

from benchmarks.contenders import Contender

# rows, inner, columns: a square product, and the two largest shapes of a training step
SHAPES = ((1024, 1024, 1024), (2048, 256, 1024), (1024, 256, 8000))
PRECISIONS = ("float32", "bfloat16")


def ways(precision: str) -> dict:
    """The kernels this machine has for a product of two matrices; for float32, PyTorch has a second library on a processor."""
    import torch

    found = {"": torch.matmul}
    second = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if precision == "float32" and second is not None and torch.backends.mkldnn.is_available():
        found[" (oneDNN)"] = lambda a, b: second(a, b.t(), None, "none", [], "")
    return found


class Floor(Contender):
    name = "matrix products"

    def build(self, setting) -> dict:
        import torch

        from xformer_lib.training.memory import keep_freed_memory

        keep_freed_memory()
        self.factors = {shape: (torch.randn(shape[0], shape[1]), torch.randn(shape[1], shape[2])) for shape in SHAPES}
        return {}

    def products(self, precision: str) -> dict:
        """Gigaflop a second of each shape and kernel: (processor time, wall clock)."""
        found = {}
        for (rows, inner, columns), factors in self.factors.items():
            a, b = (x.bfloat16() if precision == "bfloat16" else x for x in factors)
            for way, multiply in ways(precision).items():
                multiply(a, b)
                cpu, wall = time.process_time(), time.perf_counter()
                for _ in range(3):
                    multiply(a, b)
                cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
                work = 3 * 2 * rows * inner * columns / 1e9
                found[f"{rows}×{inner}×{columns}{way}"] = (work / cpu, work / wall)
        return found
