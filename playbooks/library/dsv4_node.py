"""Documentation of the action `dsv4_node`; the action itself stands in `action_plugins`."""

DOCUMENTATION = r"""
module: dsv4_node
short_description: Ask the dsv4deploy tool on a node
description:
  - Sends the node tool and one request through one connection, and returns its answer.
  - Nothing is installed for it on the node; it needs Python 3.8 or newer there.
version_added: "0.1.0"
author: dsv4deploy
options:
  verb:
    description:
      - What to ask. Several verbs share one trip, and each is asked only if the one before leads on to it.
      - The answer is then the last one's, with those before it in C(before).
    type: list
    elements: str
    required: true
    choices: [observe, status, history, logs, check, measure, bundle, preflight, held-here, stage, install, switch, wait, confirm,
              restore, rollback, aside, renew, start, stop, restart, prune, release, preview, probe, patches-status, patches-verify, patches-revert]
  name:
    description: Name of the deployment; taken from the bundle if one is given.
    type: str
  bundle:
    description: Folder of a rendered bundle on the controller.
    type: path
  root:
    description: Folder of all deployments on the node; the usual one if left out.
    type: path
  tool:
    description: A built node tool (C(node.pyz)) on the controller; built from the installed package if left out.
    type: path
  digest:
    description: The release meant, in full; for C(rollback) a prefix will do.
    type: str
  expect:
    description: The release that must be current before a switch, by name of the deployment.
    type: dict
  take_over:
    description: Overwrite files that dsv4deploy did not write.
    type: bool
  restart:
    description: Restart even though the release runs already.
    type: bool
  confirm:
    description: For C(wait), confirm a release that is ready.
    type: bool
  limit_s:
    description: For C(wait) and C(logs), how long one look may last, in seconds.
    type: float
  window_s:
    description: For C(switch), when the node goes back by itself, in seconds; for C(aside), how long its holder may not be seen.
    type: float
  keep:
    description: How many releases to keep.
    type: int
  lines:
    description: For C(logs) and C(bundle), how many lines.
    type: int
  since_s:
    description: For C(logs), only what was written in the last so many seconds.
    type: float
  follow:
    description: For C(logs), whether a retry of the task goes on where the try before it ended.
    type: bool
  python:
    description: For C(probe), the engine's Python on the node.
    type: path
  words:
    description: For C(probe), what to run and how, as C(python -m dsv4deploy.probes) takes it.
    type: list
    elements: str
  trials:
    description: For C(probe), further files that travel with the probes, path to text.
    type: dict
  only:
    description: For C(check), the checks that are wanted; all if left out.
    type: list
    elements: str
  below:
    description: For C(measure), the tokens a second that are asked about; measured until the answer is clear of it.
    type: float
  checksums:
    description: For C(observe), compare every file of the models with its sha256.
    type: bool
  capacity:
    description: For C(check), also send the longest prompt as often at once as must be served.
    type: bool
  holder:
    description: Who applies, so that two do not at once.
    type: dict
  why:
    description: For C(restore), the reason to write down.
    type: str
  facts:
    description: For C(observe), whether to read facts of the node.
    type: bool
  bundles:
    description: For C(observe), folders of the bundles that are wanted on the node.
    type: list
    elements: path
  last:
    description: For C(wait), whether this look ends the apply.
    type: bool
attributes:
  check_mode:
    description: Nothing is changed; C(changed) says whether it would be.
    support: full
"""

EXAMPLES = r"""
- name: See what the node has
  dsv4_node:
    verb: observe
- name: Restart the server
  dsv4_node:
    verb: restart
    name: flash
- name: Bring a release to run, and look at its start for three seconds, in one trip
  dsv4_node:
    verb: [stage, switch, wait]
    bundle: rendered/flash
    limit_s: 3
    confirm: true
"""

RETURN = r"""
ok:
  description: Whether the node could do it.
  returned: always
  type: bool
error:
  description: A stable word, a message and a remedy.
  returned: when not ok
  type: dict
state:
  description: C(ready), C(failed) or C(progressing).
  returned: for wait
  type: str
before:
  description: The answers to the verbs before the last one.
  returned: for several verbs
  type: list
"""
