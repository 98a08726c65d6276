"""GLM-5 and 5.1 are of the same class, and work out their indices in every layer; only the name tells them apart."""

from dsv4deploy.model.rule import Ask, Found


def verdict(ask: Ask) -> Found | None:
    """Found if the model is called GLM-5.2 and is cut into stages."""
    return Found() if ask("setting:pp_size") > 1 and "glm-5.2" in str(ask("setting:model_path")).lower() else None
