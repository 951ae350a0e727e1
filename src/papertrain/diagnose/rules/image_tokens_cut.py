"""The placeholders of an image were cut out of the text: more features than tokens, or fewer."""

import re

from papertrain.diagnose.case import Case
from papertrain.diagnose.rule import Match, cause, fix

_COUNTS = re.compile(r"tokens:\s*(\d+),?\s*features:?\s*(\d+)")


def judge(case: Case) -> Match | None:
    hits = case.find(*RULE.sig)
    if not hits:
        return None
    m = _COUNTS.search(hits[0].text)
    says = f" Here the text has {m[1]} places, and the images fill {m[2]}." if m else ""
    return RULE.found(0.9, hits[:2], cause=RULE.why + says)


RULE = cause(
    "TR672",
    "image-tokens-cut",
    "data-template",
    title="The places of an image in the text and its features are not as many",
    why="The text was cut at the cutoff in the middle of an image's places, or text and images were sized by two processors.",
    judge=judge,
    sig=(
        "mage features and image tokens do not match",
        "ideo features and video tokens do not match",
        "umber of image tokens in input_ids ~ different from",
        "image start tokens and image end tokens should be the same",
        "The number of image tokens is ~ (?i)number of image tokens is \\d+.{0,60}(?:but|while|and)",
    ),
    next_check="papertrain check DATA --show 1   # tokens of the longest row against the cutoff",
    fixes=(
        fix(
            "a cutoff (cutoff_len, max_length) above the longest row with its images",
            sets={"sequence_length": "*2"},
            effect="experiment",
            proof="the step at which it stopped passes",
        ),
        fix(
            "smaller images, so that they fill fewer places",
            "image_max_pixels: 262144   # LLaMA-Factory; max_pixels of the processor elsewhere",
            effect="experiment",
            proof="the longest row is below the cutoff",
        ),
        fix("text and images through one processor of this model's release", "pip show transformers"),
    ),
    fires="ValueError: Image features and image tokens do not match: tokens: 1024, features 1369",
    quiet="image tokens: 1024, features: 1024",
)
