"""Where a run computes, and in which numbers; page w2 explains it."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from xformer_lib.engine.products import ON_INTEL
from xformer_lib.training.config import TrainConfig

__all__: list[str] = []  # for the library itself


def pick_device(name: str | None = None) -> str:
    """Return the device asked for, or the best one here: "cuda", then "mps", then "cpu"."""
    here = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    best = next(kind for kind, there in here.items() if there)
    if not here.get((name or best).split(":")[0]):
        raise ValueError(
            "device: expected cpu, cuda or mps, and one that is here, got "
            f"{name!r}; leave it out for {best}"
        )
    return name or best


def has_bfloat16(device: str) -> bool:
    """Return whether the device multiplies bfloat16 numbers faster than those of 4 bytes.

    An Intel processor needs AMX for it; with AVX-512 alone it took twice as long.
    """
    if device.startswith("cuda"):
        return torch.cuda.is_bf16_supported(including_emulation=False)
    amx = getattr(
        torch.cpu, "_is_amx_tile_supported", bool
    )  # older versions have neither
    avx = getattr(torch.cpu, "_is_avx512_bf16_supported", bool)
    return device == "cpu" and (amx() or avx() and not ON_INTEL)


def autocast(config: TrainConfig, device: str):
    """Return a context with the precision the settings name; the weights stay float32.

    "auto" is bfloat16 on a processor that multiplies it faster, and float32 on a GPU: in TF32 (`fast_products`) models
    256 and 512 wide trained faster there.
    """
    low = config.precision == "bfloat16"
    low |= config.precision == "auto" and device == "cpu" and has_bfloat16(device)
    return torch.autocast(torch.device(device).type, dtype=torch.bfloat16, enabled=low)


@contextmanager
def fast_products(device: str) -> Iterator[None]:
    """A block in which a GPU multiplies float32 numbers as TF32: with 10 bits behind the point in place of 23, added up in float32.

    NVIDIA's own ``NVIDIA_TF32_OVERRIDE=0`` in the environment switches it off. Afterwards all is as before.
    """
    before = torch.get_float32_matmul_precision()
    if device.startswith("cuda") and before == "highest":
        torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
