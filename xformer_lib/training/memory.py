"""The memory of a run: whether a model fits, and what freed blocks do."""

import ctypes
import math
import os
import platform
from dataclasses import replace
from functools import lru_cache
from mmap import PAGESIZE
from pathlib import Path

from xformer_lib.nn.transformer import TransformerConfig
from xformer_lib.training.planning import parameter_count

__all__: list[str] = []  # for the library itself


BYTES = 16  # of a parameter: itself, its gradient and Adam's two means, in float32


def check_memory(config: TransformerConfig) -> None:
    """ValueError for a model that this machine cannot train; the system would end the process without a word."""
    count, there = parameters(config), memory() or math.inf
    if BYTES * count > there:
        raise ValueError(
            f"model: expected one that this machine's {there / 1e9:,.0f} GB hold, got {count:,} parameters, which "
            f"with gradients and Adam's means take {BYTES * count / 1e9:,.0f} GB; make d_model, d_ff, vocab_size or "
            "the number of layers smaller"
        )


@lru_cache
def parameters(config: TransformerConfig) -> int:
    """`parameter_count` from models of one and two layers on a side: each further layer has as many as the second."""

    def count(encoder: int, decoder: int) -> int:
        return parameter_count(
            replace(config, num_encoder_layers=encoder, num_decoder_layers=decoder)
        )

    first = count(1, 1)
    return (
        first
        + (config.num_encoder_layers - 1) * (count(2, 1) - first)
        + (config.num_decoder_layers - 1) * (count(1, 2) - first)
    )


def memory() -> int | None:
    """Bytes of memory of this machine, if the system says."""
    names = ("SC_PAGE_SIZE", "SC_PHYS_PAGES")
    if not hasattr(os, "sysconf") or not set(names) <= set(os.sysconf_names):
        return None
    return math.prod(map(os.sysconf, names))


_GLIBC = ctypes.CDLL(None) if platform.libc_ver()[0] == "glibc" else None


def keep_freed_memory() -> None:
    """Have the C library keep large freed blocks for the next step instead of returning
    them.

    Otherwise every step pays for fresh pages again. It holds for the
    rest of the process, and does nothing where the C library is not glibc.
    """
    if _GLIBC:
        trim_threshold, mmap_max = -1, -4  # names of mallopt(3)
        _GLIBC.mallopt(trim_threshold, 2**31 - 1)
        _GLIBC.mallopt(mmap_max, 0)


def keep_few_kernels() -> None:
    """Have oneDNN, and torch's layer over it, keep 64 kernels each instead of 1,024,
    unless the environment says otherwise.

    They build one for each product of another size, and every batch has sizes of its own.
    It holds for a process that has not computed with oneDNN yet.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "64")


def return_unused_memory() -> None:
    """Hand the pages that hold no block at present back to the operating system;
    with glibc alone, see malloc_trim(3)."""
    if _GLIBC:
        _GLIBC.malloc_trim(0)


def resident_memory() -> int:
    """Bytes that this process holds in memory now; 0 where the system is not Linux."""
    count = Path("/proc/self/statm")
    return int(count.read_bytes().split()[1]) * PAGESIZE if count.exists() else 0


def bound_memory(floor: int) -> int:
    """Hand back what lies unused when more than 3/4 GiB have come on top of ``floor``,
    what was held after the last time; returns the floor from now on."""
    if resident_memory() <= floor + 3 * 2**28:
        return floor
    return_unused_memory()
    return resident_memory()
