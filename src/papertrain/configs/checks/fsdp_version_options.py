"""FSDP options of the other version."""

from __future__ import annotations

from collections.abc import Iterator

from papertrain.configs.checking.document import ConfigDocument, Edit, Wrong, drop, set_to
from papertrain.configs.checking.world import World
from papertrain.core.findings import Rule
from papertrain.core.texts import say
from papertrain.core.values import Source

# Read by FSDP1 and passed over, or refused, by FSDP2.
ONLY_1 = (
    "fsdp_sharding_strategy",
    "fsdp_backward_prefetch",
    "fsdp_forward_prefetch",
    "fsdp_use_orig_params",
    "fsdp_sync_module_states",
)
WORDS = {
    "FULL_SHARD": True,
    "HYBRID_SHARD": True,
    "SHARD_GRAD_OP": False,
    "HYBRID_SHARD_ZERO2": False,
    "1": True,
    "2": False,
    "4": True,
    "5": False,
}


def check(document: ConfigDocument, world: World) -> Iterator[Wrong]:
    config = document.settings.get("fsdp_config")
    if not isinstance(config, dict):
        return
    second = config.get("fsdp_version") in (2, "2")
    reshard = config.get("fsdp_reshard_after_forward")
    if second:
        for key in ONLY_1:
            if key in config:
                mend: tuple[Edit, ...] = (drop("fsdp_config", key),)
                says = say("`{key}` belongs to FSDP1: version 2 does not read it", key=key)
                if key == "fsdp_sharding_strategy" and "fsdp_reshard_after_forward" not in config:
                    value = WORDS.get(str(config[key]), True)
                    mend = (drop("fsdp_config", key), set_to("fsdp_config", "fsdp_reshard_after_forward", value=value))
                yield Wrong(
                    says=says,
                    at=("fsdp_config", key),
                    instead=say("remove `{key}`", key=key),
                    edits=mend,
                    level="warning",
                )
        if isinstance(reshard, str) and reshard.lower() not in ("true", "false"):
            value = WORDS.get(reshard, True)
            yield Wrong(says=say("`fsdp_reshard_after_forward` is {value}: FSDP2 wants true or false", value=reshard), at=("fsdp_config", "fsdp_reshard_after_forward"),
                        instead=f"fsdp_reshard_after_forward: {str(value).lower()}", edits=(set_to("fsdp_config", "fsdp_reshard_after_forward", value=value),))  # fmt: skip
    elif isinstance(reshard, bool):
        yield Wrong(says=say("`fsdp_reshard_after_forward` is {value}: that is FSDP2, and `fsdp_version: 2` is not given", value=str(reshard).lower()), at=("fsdp_config", "fsdp_reshard_after_forward"),
                    instead=say("`fsdp_version: 2`, or a word of FSDP1 such as FULL_SHARD"))  # fmt: skip


RULE = Rule(
    id="TR342",
    name="fsdp-version-options",
    level="error",
    status="stable",
    check=check,
    applies="accelerate",
    what="An FSDP option of version 1 in a file for version 2, or the reverse.",
    why="FSDP2 takes a truth value for `reshard_after_forward` and refuses a strategy's name; options of version 1 are dropped.",
    known_problems="Without `fsdp_version` accelerate takes version 1.",
    source=Source(
        kind="code", ref="accelerate 1.15.0 utils/dataclasses.py, FullyShardedDataParallelPlugin.__post_init__"
    ),
    fires="== a.yaml\ncompute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: FULL_SHARD\n",
    quiet="== a.yaml\ncompute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nfsdp_config:\n  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n",
)
