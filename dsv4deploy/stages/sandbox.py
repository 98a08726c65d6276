"""The hardening of the systemd unit: each directive with its reason, and what a GPU server must be spared.

Left out on purpose: `ProcSubset=pid` (the engine and NCCL read /proc/cpuinfo, /proc/meminfo and /proc/sys),
`MemoryDenyWriteExecute=` (Triton, Inductor and CUDA write code at run time), `PrivateDevices=` (it hides the cards),
`PrivateNetwork=`, `PrivateUsers=` (the device files belong to groups of the host).
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dsv4deploy.model.profile import Profile
from dsv4deploy.stages.quoting import systemd

HOMES = ("/home/", "/root/", "/run/user/")


class Directive(NamedTuple):
    """One line of the unit, and why it is there."""

    name: str
    value: str
    why: str


# Each holds for a server with JIT compilation, CUDA and NCCL; sources: systemd.exec(5), systemd.resource-control(5).
COMMON = (
    Directive("NoNewPrivileges", "yes", "nothing that it starts gains rights"),
    Directive("AmbientCapabilities", "", "no inherited rights"),
    Directive("ProtectSystem", "strict", "everything is read-only except what is named below"),
    Directive("PrivateTmp", "yes", "its own /tmp; /dev/shm stays shared, NCCL needs it"),
    Directive("PrivateMounts", "yes", "its mounts are not seen outside"),
    Directive("PrivateIPC", "yes", "its own System V queues; POSIX shared memory is not touched"),
    Directive("ProtectKernelTunables", "yes", "/proc/sys and /sys are read-only"),
    Directive("ProtectKernelModules", "yes", "modules are loaded before it starts"),
    Directive("ProtectKernelLogs", "yes", "no kernel log"),
    Directive("ProtectControlGroups", "yes", "control groups are read-only"),
    Directive("ProtectClock", "yes", "no clock changes"),
    Directive("ProtectHostname", "yes", "no host name changes"),
    Directive("ProtectProc", "invisible", "processes of others are hidden; its own, which it must signal, are not"),
    Directive("RestrictSUIDSGID", "yes", "no set-user-id files"),
    Directive("RestrictNamespaces", "yes", "no namespaces"),
    Directive("RestrictRealtime", "yes", "no realtime scheduling"),
    Directive("LockPersonality", "yes", "no change of execution domain"),
    Directive("KeyringMode", "private", "its own keyring"),
    Directive("RemoveIPC", "yes", "no System V leftovers after a stop"),
    Directive("UMask", "0077", "what it writes is its own"),
    Directive("SystemCallArchitectures", "native", "no foreign system calls"),
    Directive(
        "SystemCallFilter",
        "@system-service pidfd_getfd",
        "the usual set, and pidfd_getfd: PyTorch shares memory between ranks with it",
    ),
    Directive("SystemCallErrorNumber", "EPERM", "a refused call is an error to handle, not a kill"),
    Directive(
        "RestrictAddressFamilies",
        "AF_UNIX AF_INET AF_INET6 AF_NETLINK",
        "sockets of HTTP, NCCL and Gloo; netlink lists interfaces",
    ),
    Directive("DevicePolicy", "closed", "only the devices below"),
    Directive("DeviceAllow", "char-nvidia* rwm", "the cards, and making their device files before the start"),
)


def directives(profile: Profile) -> tuple[Directive, ...]:
    """The lines for `profile`, in order; those that it leaves out are left out."""
    sandbox = profile.service.sandbox
    if not sandbox.enabled:
        return ()
    lines = [_capabilities(profile), *COMMON, *_homes(profile), *_paths(sandbox.writable)]
    lines += [Directive("DeviceAllow", f"{systemd(path)} rw", "asked for by the profile") for path in sandbox.devices]
    return tuple(line for line in lines if line.name not in sandbox.without)


def under_home(paths: Iterable[str | None]) -> tuple[str, ...]:
    """Those of `paths` that `ProtectHome=` would hide."""
    return tuple(dict.fromkeys(path for path in paths if path and path.startswith(HOMES)))


def _capabilities(profile: Profile) -> Directive:
    if profile.service.user == "root":
        return Directive("CapabilityBoundingSet", "CAP_DAC_READ_SEARCH", "root, but only to read files of others")
    return Directive("CapabilityBoundingSet", "", "no rights beyond its own user")


def _homes(profile: Profile) -> Sequence[Directive]:
    hidden = under_home(
        [
            profile.engine.venv,
            profile.engine.python_home,
            profile.model.path,
            profile.model.tokenizer_path,
            profile.model.chat_template,
            profile.speculative.draft_model,
            profile.nccl.env_file,
            profile.nccl.graph_file,
            profile.nccl.topo_file,
            *profile.service.sandbox.readable,
        ]
    )
    if not hidden:
        return [Directive("ProtectHome", "yes", "no home directories")]
    return [
        Directive("ProtectHome", "tmpfs", "empty home directories, with only what the profile names in them"),
        *(Directive("BindReadOnlyPaths", systemd(path), "named by the profile") for path in hidden),
    ]


def _paths(writable: Sequence[str]) -> Sequence[Directive]:
    return [Directive("ReadWritePaths", systemd(path), "asked for by the profile") for path in writable]
