"""Generation never stops: the end token was not learned."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix


def judge(case: Case) -> Match | None:
    never = case.find(*RULE.sig)
    if not never:
        return None
    pad = case.find(
        "pad_token_id ~ (?i)setting .?pad_token_id.? to .?eos",
        "pad_token ~ pad_token\\s*=\\s*(?:self\\.)?tokenizer\\.eos_token",
        "pad_token: <|endoftext|>",
        "Set pad_token = eos_token",
    )
    frozen = [h for h in case.find("base") if re.search(r"(?i)base model|-base\b", h.text)] and (
        case.facts.get("lora_rank") is not None
        or "lora" in str(case.facts.get("method", "")).lower()
        or case.find("LoRA", "lora")
    )
    if frozen and not pad:
        return RULE.found(
            0.82,
            never[:2],
            cause=RULE.why
            + " Here a base model is trained with LoRA: its end token was never trained, and embedding and head are frozen.",
        )
    return RULE.found(
        0.84 if pad else 0.7,
        [*never[:2], *pad[:1]],
        cause=RULE.why + (" Here the padding token is the end token." if pad else ""),
    )


NO_EOS = r"(?i)\bno (?:\S+ )?eos\w*(?: token)? (?:was |is )?(?:produc|generat|emit|predict|found|seen)|max_new_tokens\S*.{0,40}\b(?:no|without) eos"

RULE = cause(
    "TR605",
    "eos-not-learned",
    "not-learning",
    title="Generation never stops: the end token was not learned",
    branch="result",
    judge=judge,
    sig=(
        "without an end token",
        "reached max_new_tokens ~ (?i)(all|\\d+ of \\d+).{0,60}reached max_new_tokens",
        "never stops",
        "does not stop generating",
        "doesn't stop generating",
        "generation does not stop",
        r"EOS ~ (?i)(?:not|n't|never|cannot|unable).{0,40}(?:generat|produc|output|emit|predict|stop)\w*.{0,30}eos",
        r"eos ~ (?i)(?:not|n't|never|cannot|unable).{0,40}(?:generat|produc|output|emit|predict|stop)\w*.{0,30}eos",
        r"generat ~ (?i)(?:not|n't|never|cannot|can ?not|unable to).{0,12}(?:stop|end|terminat)\w*.{0,30}generat|generat\w*.{0,60}(?:can ?not|cannot|never|not|n't) (?:stop|end|terminat)|never (?:ends|stops)",
        r"Generat ~ (?i)generat\w*.{0,60}(?:can ?not|cannot|never|not|n't) (?:stop|end)",
        f"eos ~ {NO_EOS}",
        f"EOS ~ {NO_EOS}",
        "never ends",
        "无法停止",
        "不会停止",
        "停不下来",
        "重复生成",
    ),
    why="Either the end token is the padding token and was masked out of the loss, or it is a new token whose embedding and head stay frozen under LoRA, or it never stood in the labels.",
    next_check="papertrain check train.jsonl --show 1   # is the last label of an answer the end token?",
    fixes=(
        fix(
            "a padding token of its own, so that the end token keeps its label",
            "tokenizer.pad_token = '<pad>'   # not tokenizer.eos_token",
            effect="experiment",
            proof="the last trained label is the end token",
        ),
        fix(
            "base model with LoRA: train embedding and head too, or use a template whose end token the base model knows",
            sets={"additional_target": "embed_tokens,lm_head"},
            effect="experiment",
            proof="generations end before max_new_tokens",
        ),
        fix(
            "while serving: stop at the template's end token",
            "generate(…, eos_token_id=[tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids('<|im_end|>')])",
        ),
    ),
    fires="WARNING: 60 of 60 generations reached max_new_tokens=512 without an end token",
    quiet="mean generated length 43 tokens, all ended",
)
