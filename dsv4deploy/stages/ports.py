"""Which TCP ports one server takes, the derived ones too."""

from dsv4deploy.model.launch import Launch, Setting

# Attention DP and multi-node take six ports above a base that stands this far above the HTTP port.
# Source: SGLang 0.5.23 PortArgs: base = port + 233 on a single node.
OFFSET, SPAN = 233, 6
DEFAULT_PORT = 30_000
BOOTSTRAP_PORT = 8998


def ports(launch: Launch) -> tuple[int, ...]:
    """Every port that `launch` binds on rank 0, ascending; ports that the kernel picks at random are not among them."""
    http = _number(launch, "port", DEFAULT_PORT)
    taken = {http}
    if (address := launch.settings.get("dist_init_addr")) and str(address.value).rpartition(":")[2].isdecimal():
        base = int(str(address.value).rpartition(":")[2])
        taken |= {base, *range(base + 1, base + SPAN + 1)}
    elif _number(launch, "attn_dp_size", 1) > 1 or "enable_dp_attention" in launch.settings:
        taken |= set(range(http + OFFSET, http + OFFSET + SPAN + 1))
    if (mode := launch.settings.get("disaggregation_mode")) and mode.value in {"prefill", "decode"}:
        taken.add(_number(launch, "disaggregation_bootstrap_port", BOOTSTRAP_PORT))
    for dest in ("nccl_port", "grpc_port", "smg_http_sidecar_port"):
        if dest in launch.settings:
            taken.add(_number(launch, dest, 0))
    return tuple(sorted(taken - {0}))


def _number(launch: Launch, dest: str, default: int) -> int:
    setting: Setting | None = launch.settings.get(dest)
    return setting.value if setting and isinstance(setting.value, int) else default
