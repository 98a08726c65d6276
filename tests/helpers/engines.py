"""Virtual environments with a stand-in for SGLang, to ask it as an installed one is asked."""

import sys
import venv
from pathlib import Path

# The shape of the real one: a parser of its own, values copied to other fields, resolution as a second step.
SERVER_ARGS = """\
import argparse
import dataclasses
import os

import torch
from sglang.srt.utils import common

print("a library that talks on standard output")


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    tp_size: int = 1
    page_size: int = None
    mem: int = None
    cuda_graph_config: dict = None

    @staticmethod
    def add_cli_args(parser):
        parser.add_argument("--model-path", required=True)
        parser.add_argument("--tensor-parallel-size", "--tp-size", "--tp", type=int, default=1)
        parser.add_argument("--page-size", type=int)

    @classmethod
    def from_cli_args(cls, args):
        args.tp_size = args.tensor_parallel_size
        return cls(**{field.name: getattr(args, field.name) for field in dataclasses.fields(cls) if hasattr(args, field.name)})

    def resolve_once(self):
        if self.tp_size > torch.cuda.device_count():
            raise ValueError("more ranks than cards")
        if self.page_size == 13:
            raise OSError("no such model folder")
        self.page_size = 256 if torch.cuda.get_device_capability() == (12, 0) else 1
        self.mem = common.get_nvgpu_memory_capacity()
        self.cuda_graph_config = {"decode": {"backend": "full", "max_bs": int(os.environ.get("SGLANG_MAX", "8"))}}

    def check_server_args(self):
        assert os.environ["CUDA_VISIBLE_DEVICES"] == "", "the cards are in reach"
        assert os.environ["HF_HUB_OFFLINE"] == "1", "the hub is in reach"
"""
TORCH = "import types\n\ncuda = types.SimpleNamespace()\nversion = types.SimpleNamespace(cuda=None)\n"


def python_with(folder: Path, files: dict[str, str]) -> Path:
    """The interpreter of a new virtual environment at `folder`, with these modules in it."""
    venv.create(folder, symlinks=True)
    packages = folder / f"lib/python3.{sys.version_info.minor}/site-packages"
    for name, text in files.items():
        (packages / name).parent.mkdir(parents=True, exist_ok=True)
        (packages / name).write_text(text, encoding="utf-8")
    return folder / "bin/python"


def engine_at(folder: Path, version: str = "0.5.23", server_args: str = SERVER_ARGS) -> Path:
    """The interpreter of a virtual environment with the stand-in for SGLang."""
    files = {
        "torch.py": TORCH,
        "sglang/__init__.py": f"__version__ = {version!r}\n",
        "sglang/srt/__init__.py": "",
        "sglang/srt/utils/__init__.py": "",
        "sglang/srt/utils/common.py": "def get_nvgpu_memory_capacity():\n    raise OSError('nvidia-smi')\n",
        "sglang/srt/server_args.py": server_args,
    }
    return python_with(folder, files)
