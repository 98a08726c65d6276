"""Where the server listens, and how it is kept running on the node."""

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from dsv4deploy.model.profile.section import Count, Flag, Natural, Port, Seconds, Section, says
from dsv4deploy.model.shapes import ACCOUNT
from dsv4deploy.model.text import Argument, Line, Path, unfit


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    if "/" in host or (colon and ":" not in name):
        raise unfit(
            "it is an address alone, without scheme and port",
            f"host: {name.rpartition('/')[2]}, and port: {port}"
            if port.isdigit()
            else "write an address, such as 0.0.0.0",
        )
    return host


Host = Annotated[Line, AfterValidator(_without_port)]


class Server(Section):
    """Where it listens, and who may ask."""

    host: Annotated[Host | None, says("--host"), Field(description="address to listen on; left out: 127.0.0.1")] = None
    port: Annotated[Port, says("--port"), Field(description="HTTP port")] = 30_000
    api_key_file: Annotated[
        Path | None,
        Field(
            description="file on the node (mode 0600) that holds the API key; the key itself never stands in a profile"
        ),
    ] = None
    admin_api_key_file: Annotated[Path | None, Field(description="the same for the admin API key")] = None
    metrics: Annotated[Flag | None, says("--enable-metrics"), Field(description="serve /metrics")] = None
    log_level: Annotated[Argument | None, says("--log-level"), Field(description="of the engine")] = None
    sleep_on_idle: Annotated[Flag | None, says("--sleep-on-idle"), Field(description="do not spin while idle")] = None


class Limits(Section):
    """Limits of the service."""

    memlock: Annotated[
        Count | Literal["infinity"], Field(description="locked memory in bytes; pinned buffers need much")
    ] = "infinity"
    nofile: Annotated[Count, Field(description="open files")] = 1_048_576
    tasks: Annotated[Count | Literal["infinity"], Field(description="threads and processes")] = "infinity"
    core: Annotated[Literal["infinity", 0] | Count, Field(description="bytes of a core dump")] = 0


class Restart(Section):
    """What happens when a confirmed server dies."""

    policy: Annotated[Literal["on-failure", "no", "always"], Field(description="when it is started again")] = (
        "on-failure"
    )
    delay_s: Annotated[Natural, Field(description="seconds before it is started again")] = 15
    burst: Annotated[Count, Field(description="starts within the window before systemd gives up")] = 3
    window_s: Annotated[Seconds, Field(description="seconds of that window")] = 3600


class Timeouts(Section):
    """How long a start and a stop may take, in seconds."""

    start_s: Annotated[
        Seconds, Field(description="until the server must be ready; first starts compile kernels for long")
    ] = 1800
    stop_s: Annotated[
        Seconds, Field(description="until a stop is enforced: the engine drains running requests without a deadline")
    ] = 120


class Log(Section):
    """Where the engine's output goes."""

    target: Annotated[Literal["journal", "file"], Field(description="the journal, or a file on the node")] = "journal"
    path: Annotated[Path | None, Field(description="the file")] = None
    max_mib: Annotated[Count, Field(description="size at which the file is rotated, for the process supervisor")] = 256
    keep: Annotated[Natural, Field(description="rotated files kept")] = 3

    @model_validator(mode="after")
    def _file_has_a_path(self) -> Self:
        if (self.target == "file") != (self.path is not None):
            raise ValueError("`target: file` and `path` belong together")
        return self


class Sandbox(Section):
    """The hardening of the systemd unit, and single directives to leave out."""

    enabled: Annotated[Flag, Field(description="confine the service")] = True
    without: Annotated[tuple[Line, ...], Field(description="directives to leave out, such as ProtectSystem")] = ()
    writable: Annotated[tuple[Path, ...], Field(description="further paths that the engine must write")] = ()
    readable: Annotated[
        tuple[Path, ...], Field(description="further paths under a home directory that the engine reads")
    ] = ()
    devices: Annotated[tuple[Path, ...], Field(description="further devices, such as /dev/infiniband/uverbs0")] = ()


class Service(Section):
    """How the engine is kept running on the node."""

    supervisor: Annotated[
        Literal["systemd", "process"], Field(description="systemd, or a detached process for machines without it")
    ] = "systemd"
    user: Annotated[str, Field(pattern=ACCOUNT, description="account that the engine runs as")] = "sglang"
    group: Annotated[str | None, Field(pattern=ACCOUNT, description="left out: the user's own")] = None
    groups: Annotated[
        tuple[Annotated[str, Field(pattern=ACCOUNT)], ...],
        Field(description="further groups, such as those that own the GPU devices"),
    ] = ()
    launcher: Annotated[
        tuple[Argument, ...], Field(description="words before the interpreter, such as numactl --cpunodebind=0")
    ] = ()
    limits: Annotated[Limits, Field(description="resource limits")] = Limits.model_construct()
    restart: Annotated[Restart, Field(description="restarts after a failure")] = Restart.model_construct()
    timeouts: Annotated[Timeouts, Field(description="start and stop")] = Timeouts.model_construct()
    log: Annotated[Log, Field(description="output")] = Log.model_construct()
    sandbox: Annotated[Sandbox, Field(description="hardening")] = Sandbox.model_construct()
    cache: Annotated[
        Path | None,
        Field(
            description="parent folder of kernel caches; left out: /var/cache/dsv4deploy, or the user's cache folder"
        ),
    ] = None
