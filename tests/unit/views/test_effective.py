"""What takes effect, as a table and as a tree."""

from dsv4deploy.model.effective import Basis, Effective, Outcome
from dsv4deploy.views.effective import effective_table, effective_tree

EFFECTIVE = Effective(
    {
        "moe_runner_backend": Outcome(
            "moe_runner_backend", "flashinfer_cutlass", "auto", "what auto is here", Basis.READ
        ),
        "page_size": Outcome("page_size", None, why="", needs=("model.model_type",)),
        "trust_remote_code": Outcome("trust_remote_code", value=True, written=True),
    },
    {"NCCL_NVLS_ENABLE": Outcome("NCCL_NVLS_ENABLE", "0", why="SGLang's own default", basis=Basis.OBSERVED)},
)


def test_the_table_says_written_effective_and_why() -> None:
    assert effective_table(EFFECTIVE).splitlines() == [
        "                    written  effective           why",
        "moe_runner_backend  auto     flashinfer_cutlass  what auto is here (read)",
        "page_size           -        unknown             needs model.model_type",
        "trust_remote_code   true     true",
        "NCCL_NVLS_ENABLE    -        0                   SGLang's own default (observed)",
    ]


def test_the_tree_keeps_unknown_apart_from_nothing() -> None:
    tree = effective_tree(EFFECTIVE)
    assert tree["schema"] == "effective/1"
    assert tree["settings"]["page_size"] == {
        "written": None,
        "value": None,
        "why": "",
        "basis": "written",
        "needs": ["model.model_type"],
    }
    assert tree["environment"]["NCCL_NVLS_ENABLE"]["value"] == "0"
