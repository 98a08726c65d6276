"""The shapes that texts have: patterns for the machine, and the words and an example for a person."""

from typing import NamedTuple


class Shape(NamedTuple):
    """What a pattern asks for, in words, and an example."""

    words: str
    like: str


NAME = r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
DIGEST = r"^[0-9a-f]{64}$"
VERSION = r"^\d+\.\d+\.\d+(\.post\d+|rc\d+|\.dev\d+)?(\+[A-Za-z0-9.]+)?$"
ACCOUNT = r"^[a-z_][a-z0-9_-]{0,30}$"
ARCH = r"^sm_\d{2,3}[a-z]?$"
CARD = r"^(GPU|MIG)-[0-9a-fA-F-]+$"
PROGRAM = r"^[\w./-]+$"
SIZE = r"^\d+[kmg]$"
AMOUNT = r"^\d+(\.\d+)?([kMGT]|[KMGT]i)?$"
FLAG = r"^(--)?[A-Za-z0-9][A-Za-z0-9_-]*$"
NCCL = r"^(NCCL|GLOO)_[A-Z0-9_]+$"
ENDPOINT = r"^/[^\s]*$"
METRIC = r"^[a-zA-Z_:][a-zA-Z0-9_:]*$"
SLUG = r"^[a-z0-9]+(-[a-z0-9.]+)*$"
MODULE = r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$"
PACKAGE = r"^[A-Za-z_]\w*$"
MARK = r"^[a-z0-9][a-z0-9_.-]*$"
WORD = r"^[a-z][a-z0-9-]*$"
DAY = r"^\d{4}-\d{2}-\d{2}$"
SHAPES = {
    NAME: Shape("lower-case letters, digits and hyphens, 40 at most", "flash-tp4"),
    VARIABLE: Shape("letters, digits and underscores, no digit first", "SGLANG_LOG_MS"),
    DIGEST: Shape("the 64 hexadecimal digits of a SHA-256", "what sha256sum FILE prints"),
    VERSION: Shape("a release as PyPI names it", "0.5.21 or 0.5.13.post1"),
    ACCOUNT: Shape("the name of an account", "sglang"),
    ARCH: Shape("sm_ and the compute capability without its point", "sm_120 for 12.0"),
    CARD: Shape("an index, or a UUID that nvidia-smi -L prints", "GPU-5e7c..."),
    PROGRAM: Shape("the name or path of a program", "python3"),
    SIZE: Shape("a whole number with k, m or g", "32g"),
    AMOUNT: Shape("a number, with k, M, G, T or Ki, Mi, Gi, Ti if you like", "128k"),
    FLAG: Shape("the name of a flag", "max-running-requests"),
    NCCL: Shape("a variable of NCCL or Gloo", "NCCL_IB_HCA"),
    ENDPOINT: Shape("the path of an endpoint", "/health"),
    METRIC: Shape("the name of a metric", "sglang:token_usage"),
    SLUG: Shape("lower-case words with hyphens between them", "torch-compile-in-capture"),
    MODULE: Shape("the dotted name of a module", "sglang.srt.layers"),
    PACKAGE: Shape("the name of a package as Python imports it", "sglang"),
    MARK: Shape("the id of a mark", "2026-11-29-torch-compile-flash"),
    WORD: Shape("lower-case letters, digits and hyphens, a letter first", "kernel-only"),
    DAY: Shape("a day", '"2027-01-31"'),
}
