"""What is recorded beside a number: command, commit, device, versions, and how the model was trained."""

import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from xformer_lib import _needs
from xformer_lib._shell import quoted

__all__ = ["cpu_name", "evaluation_record", "git_commit", "provenance", "run_record"]

HERE = Path(__file__).resolve().parent


def provenance(device: str, processes: int = 1) -> dict[str, Any]:
    """Return what a recorded number needs beside it, computed by this command on ``device``."""
    import torch

    command = "xformer" if processes == 1 else f"torchrun --nproc-per-node {processes} -m xformer_lib.cli"
    typed = " ".join([command, *map(quoted, sys.argv[1:])])
    versions = ("torch", "tokenizers", "sacrebleu")
    return {
        "command": typed.encode("utf-8", "backslashreplace").decode(),  # names of files may be other bytes
        "commit": git_commit(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else cpu_name(),
        "threads": torch.get_num_threads(),
        **({"processes": processes} if processes > 1 else {}),
        "versions": {name: "not installed" if _needs.is_missing(name) else metadata.version(name) for name in versions},
    }


def git_commit(folder: Path = HERE) -> str:
    """Return the commit of the library, marked "-dirty" when files had changed; "unknown" outside a clone, and without git.

    In an environment that lies inside a repository of somebody else, the library's files are not tracked: unknown, too.
    """
    if not git_says(folder, "ls-files", "__init__.py"):
        return "unknown"
    return git_says(folder, "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*") or "unknown"


def git_says(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, errors="replace")
    except OSError:  # no git here
        return ""
    return done.stdout.strip()


def cpu_name() -> str:
    """Return the processor's name as the system gives it, and how many cores the process may use."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(errors="replace").splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{names[0] if names else platform.processor() or platform.machine()}, {cores} cores"


def evaluation_record(folder: Path, device: str) -> dict[str, Any]:
    """Return how a model was trained, and what evaluates it here.

    Of a model without its run only the settings are known; the command is then that of the evaluation.
    """
    here = provenance(device)
    if (folder / "provenance.json").exists():
        return {**run_record(folder), "evaluation": here}
    return {**here, "config": settings(folder), "evaluation": here}


def run_record(folder: Path) -> dict[str, Any]:
    """Return settings, provenance and history of a finished run; where its checkpoint was deleted, without clocks and history."""
    from xformer_lib.training.checkpoint import load_tensors

    config = settings(folder)
    record = {**json.loads((folder / "provenance.json").read_text(encoding="utf-8-sig")), "seed": config["seed"], "config": config}
    if (folder / "kept.json").exists():  # of a fine-tuned run
        record["kept"] = json.loads((folder / "kept.json").read_text(encoding="utf-8-sig"))
    if not (folder / "checkpoint.safetensors").exists():
        return record
    _, state = load_tensors(folder / "checkpoint.safetensors")
    return {
        **record,
        "minutes": round(state["seconds"] / 60, 1),
        "cpu_minutes": round(state["cpu_seconds"] / 60, 1),
        "tokens_per_second": round(state["tokens"] / state["seconds"]),
        "history": state["history"],
    }


def settings(folder: Path) -> dict[str, Any]:
    """Return the settings in a folder's config.json, without the id of the run."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8-sig"))
    config.pop("run", None)
    return config
