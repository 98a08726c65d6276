"""What a release refuses is judged all the same: a fork may take it."""

from dsv4deploy.flags import history
from dsv4deploy.model.launch import Launch, Setting
from dsv4deploy.source.argv import parse
from dsv4deploy.stages.fork_words import with_fork_words


def judged(*words: str) -> dict[str, object]:
    known = history()
    parsed = parse(["--model-path", "/m", *words], known.at("0.5.21"), known)
    own = {dest: Setting(dest, given.value, given.flag.name) for dest, given in parsed.given.items()}
    launch = with_fork_words(Launch("0.5.21", own), [(error, None) for error in parsed.errors])
    return {dest: setting.value for dest, setting in launch.settings.items() if dest != "model_path"}


def test_a_value_of_a_fork_is_kept() -> None:
    assert judged("--attention-backend", "b12x") == {"attention_backend": "b12x"}


def test_a_flag_of_a_fork_is_kept() -> None:
    assert judged("--enable-pcie-oneshot-allreduce") == {"enable_pcie_oneshot_allreduce": True}
    assert judged("--no-such-thing=4") == {"no_such_thing": True}


def test_what_the_release_takes_stands_first() -> None:
    assert judged("--tp-size", "4")["tp_size"] == 4
