"""The classes of mistakes that only one engine version, a launch script or a patch folder makes mistakes.

Examples are lines added to `BASE`, or whole launch scripts; what needs files beside the profile is told in words.
"""

from dsv4deploy.model.error_class import ErrorClass, by_slug

BASE = "name: flash\nengine: {version: 0.5.21, venv: /opt/venv}\nmodel: {path: /models/flash}\n"

LAUNCH_CLASSES = by_slug(
    ErrorClass(
        "unknown-version",
        "Nothing is known of this release, so that no flag and no rule could be judged. "
        "A catalogue made from the installed engine (`dsv4deploy flags extract`) helps.",
        "engine: {version: 0.4.9, venv: /opt/venv}",
        "engine: {version: 0.5.21, venv: /opt/venv}",
    ),
    ErrorClass(
        "setting-not-in-version",
        "The key means something that this engine version has no flag for.",
        "engine: {version: 0.5.13, venv: /opt/venv}\ncuda_graph: {prefill: {backend: breakable}}",
        "engine: {version: 0.5.21, venv: /opt/venv}\ncuda_graph: {prefill: {backend: breakable}}",
    ),
    ErrorClass(
        "written-twice",
        "Two places say the same flag or variable. Only one of them could take effect.",
        "parallel: {tp: 4}\nargs: {tp-size: 8}",
        "parallel: {tp: 4}",
    ),
    ErrorClass(
        "abbreviated-flag",
        "The engine's parser takes the beginning of a flag for the flag while no other begins like it. "
        "The next release may have one that does.",
        "args: {schedule-pol: fcfs}",
        "args: {schedule-policy: fcfs}",
    ),
    ErrorClass(
        "unknown-flag",
        "No known release has this flag. The engine would print its usage and end.",
        "args: {schedule-polcy: fcfs}",
        "args: {schedule-policy: fcfs}",
    ),
    ErrorClass(
        "ambiguous-flag",
        "The beginning of several flags. The engine would not guess.",
        "args: {cuda-graph: 1}",
        "args: {cuda-graph-max-bs-decode: 1}",
    ),
    ErrorClass(
        "removed-flag",
        "An older release had this flag, this one does not.",
        "args: {cuda-graph-max-bs: 32}",
        "args: {cuda-graph-max-bs-decode: 32}",
    ),
    ErrorClass(
        "flag-not-yet",
        "A newer release has this flag, this one does not.",
        "args: {attn-dp-size: 4}",
        "parallel: {tp: 4, attention_dp: 4}",
    ),
    ErrorClass(
        "foreign-flag",
        "A flag of another engine. Some wrappers swallow it in silence; SGLang ends.",
        "args: {gpu-memory-utilization: 0.9}",
        "memory: {fraction_static: 0.9}",
    ),
    ErrorClass(
        "deprecated-flag",
        "It still works in this release, and the engine says that a later one will refuse it.",
        "engine: {version: 0.5.17, venv: /opt/venv}\nargs: {cuda-graph-max-bs: 32}",
        "engine: {version: 0.5.17, venv: /opt/venv}\ncuda_graph: {decode: {max_bs: 32}}",
    ),
    ErrorClass(
        "invalid-choice",
        "The flag takes one of a list, and this is none of it.",
        "args: {schedule-policy: fastest}",
        "args: {schedule-policy: fcfs}",
    ),
    ErrorClass(
        "value-out-of-range",
        "The engine's parser takes the number, and the engine fails with it later.",
        "args: {mem-fraction-static: 1.5}",
        "args: {mem-fraction-static: 0.8}",
    ),
    ErrorClass(
        "unexpected-value",
        "The flag takes no value: that it stands there says all.",
        "args: {trust-remote-code: 1}",
        "args: {trust-remote-code: true}",
    ),
    ErrorClass(
        "missing-value",
        "The flag needs a value.",
        "args: {schedule-policy: true}",
        "args: {schedule-policy: fcfs}",
    ),
    ErrorClass(
        "unknown-variable",
        "Nobody reads this variable, and nobody would say so: what it was meant for would silently not hold.",
        "nccl: {env: {NCCL_P2P_LEVL: SYS}}",
        "nccl: {p2p_level: SYS}",
    ),
    ErrorClass(
        "malformed-variable",
        "The reader of this variable cannot read the value; SGLang then warns and takes its default.",
        "env: {SGLANG_ENABLE_JIT_DEEPGEMM: perhaps}",
        "env: {SGLANG_ENABLE_JIT_DEEPGEMM: 0}",
    ),
    ErrorClass(
        "deprecated-variable",
        "The variable has another name now.",
        "env: {SGL_CHUNKED_PREFIX_CACHE_THRESHOLD: 8192}",
        "env: {SGLANG_CHUNKED_PREFIX_CACHE_THRESHOLD: 8192}",
    ),
)

SCRIPT_CLASSES = by_slug(
    ErrorClass(
        "missing-flag",
        "The engine does not start without this flag.",
        "python -m sglang.launch_server --tp-size 4",
        "python -m sglang.launch_server --model-path /m --tp-size 4",
    ),
    ErrorClass(
        "stray-word",
        "A word that belongs to no flag.",
        "python -m sglang.launch_server --model-path /m 4",
        "python -m sglang.launch_server --model-path /m --tp-size 4",
    ),
    ErrorClass(
        "help-asked",
        "With `--help` the engine prints its flags and ends.",
        "python -m sglang.launch_server --model-path /m --help",
        "python -m sglang.launch_server --model-path /m",
    ),
    ErrorClass(
        "unknown-word",
        "The value comes from outside of the script, so that nothing can be said of it. `--env NAME=VALUE` tells it.",
        'python -m sglang.launch_server --model-path /m --tp-size "$TP"',
        "python -m sglang.launch_server --model-path /m --tp-size 4",
    ),
    ErrorClass(
        "not-understood",
        "Part of the script was not followed; what it changes is not known.",
        "for i in 1 2; do export A=$i; done\npython -m sglang.launch_server --model-path /m",
        "export A=2\npython -m sglang.launch_server --model-path /m",
    ),
    ErrorClass(
        "conditional-start",
        "The start stands under a condition that only the node can decide.",
        'if [ "$1" = go ]; then python -m sglang.launch_server --model-path /m; fi',
        "python -m sglang.launch_server --model-path /m",
    ),
    ErrorClass(
        "variable-does-not-arrive",
        "The variable is set but not exported, or not passed into the container: the engine never sees it.",
        "NCCL_DEBUG=INFO\npython -m sglang.launch_server --model-path /m",
        "export NCCL_DEBUG=INFO\npython -m sglang.launch_server --model-path /m",
    ),
    ErrorClass(
        "env-file-elsewhere",
        "The script reads a file that is not beside it; what it sets is not known.",
        "source /etc/nccl.env\npython -m sglang.launch_server --model-path /m",
        "export NCCL_DEBUG=INFO\npython -m sglang.launch_server --model-path /m",
    ),
    ErrorClass(
        "repeated-flag",
        "The flag stands twice, and the last one counts.",
        "python -m sglang.launch_server --model-path /m --tp-size 4 --tp-size 8",
        "python -m sglang.launch_server --model-path /m --tp-size 8",
    ),
)

# What needs folders, facts or a checkpoint beside the profile.
TOLD_CLASSES = by_slug(
    ErrorClass(
        "toggle-not-read", "A kernel toggle is set, but no patch, build or engine reads it: the stock kernel runs."
    ),
    ErrorClass("patch-missing", "The profile names a patch folder that is not there."),
    ErrorClass("patch-file", "A file of the patch is missing, not listed, or would leave the package."),
    ErrorClass("patch-digest", "A file of the patch is not the one that patch.yaml lists."),
    ErrorClass("patch-name", "The patch calls itself otherwise than its folder."),
    ErrorClass("patch-misfit", "The patch was made for another version, Python or architecture."),
    ErrorClass("patch-in-container", "This kind of patch cannot be laid over an image."),
    ErrorClass("patch-unnecessary", "The engine has what the patch was for."),
    ErrorClass("patches-collide", "Two patches change one file."),
    ErrorClass(
        "experiment", "An experiment names an arm, an outcome or a hypothesis that is not there, or contradicts itself."
    ),
    ErrorClass("confound", "An arm differs from its control by more than one variable: nobody can say which did it."),
    ErrorClass("same-as-control", "An arm starts the same as its control: it repeats it and answers nothing."),
    ErrorClass("no-control", "A hypothesis blames what no two arms differ in alone: no outcome can speak for it."),
    ErrorClass("mechanism-still-there", "What a hypothesis blames is at work in an arm that should be free of it."),
    ErrorClass("arm-cannot-answer", "What an arm starts cannot show what is asked: no graphs, nothing compiled."),
    ErrorClass("fact-unknown", "No fact has this name; it is ignored."),
    ErrorClass("fact-wrong-type", "The fact is of another kind; it counts as unknown."),
    ErrorClass("weights-do-not-fit", "The weights of one rank are larger than the memory of a card."),
    ErrorClass("memory-may-not-fit", "The weights may leave too little memory for the KV pool."),
    ErrorClass("memory-load-peak", "While the weights are read, more memory is needed than afterwards."),
    ErrorClass("memory-no-headroom", "Beside weights and pool little is left for graphs, workspaces and prefill."),
    ErrorClass("memory-workload-exceeds-pool", "The longest prompt times the concurrency does not fit the KV pool."),
    ErrorClass("engine-agrees", "The installed engine reads the arguments as we do, or refuses them too."),
    ErrorClass("engine-disagrees", "The installed engine reads or resolves an argument otherwise: a bug of ours."),
    ErrorClass("engine-refuses", "The installed engine refuses a launch that we find fine."),
    ErrorClass("engine-not-asked", "The engine of --engine-python cannot be asked, or is another version."),
)
