"""Looks for missing paths among the arguments that name files."""

from typing import Final

from dsv4deploy.model.rule import Ask, Found

PATHS: Final = (
    "chat_template", "model_path", "tokenizer_path", "speculative_draft_model_path", "file_storage_path", "download_dir",
    "ssl_certfile", "ssl_keyfile", "speculative_dspark_sps_table_path", "quantization_param_path", "lmcache_config_file",
)  # fmt: skip


def verdict(ask: Ask) -> Found | None:
    """Found if a missing path is one that the launch names."""
    missing = set(ask("fact:paths_missing"))
    named = {f"setting:{dest}": str(path) for dest in PATHS if (path := ask(f"written:{dest}")) in missing}
    return Found(", ".join(named.values()), (*named, "fact:paths_missing")) if named else None
