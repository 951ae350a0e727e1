"""Forty kinds of secret, made up in the shapes that services document, and words that look like some and are none."""

from __future__ import annotations

import random
import string

L, D, H = string.ascii_letters, string.digits, "0123456789abcdef"


def _made(seed: str, alphabet: str, length: int) -> str:
    """Characters that no other canary has; a digit among them, as in every real token of that length."""
    rng = random.Random(f"canary {seed}")
    text = [rng.choice(alphabet) for _ in range(length)]
    if any(c in D for c in alphabet):
        text[length // 2] = rng.choice("23456789")
    return "".join(text)


LD = L + D
SHAPED: dict[str, tuple[str, str]] = {
    # kind: (what stands before the secret, the secret itself)
    "huggingface": ("", "hf_" + _made("hf", LD, 34)),
    "huggingface-org": ("", "api_org_" + _made("org", LD, 34)),
    "github-classic": ("", "ghp_" + _made("ghp", LD, 36)),
    "github-oauth": ("", "gho_" + _made("gho", LD, 36)),
    "github-server": ("", "ghs_" + _made("ghs", LD, 36)),
    "github-fine": ("", "github_pat_" + _made("pat", LD, 22) + "_" + _made("pat2", LD, 59)),
    "gitlab": ("", "glpat-" + _made("glpat", LD, 20)),
    "aws-key": ("", "AKIA" + _made("akia", string.ascii_uppercase + D, 16)),
    "aws-temporary": ("", "ASIA" + _made("asia", string.ascii_uppercase + D, 16)),
    "google": ("", "AIza" + _made("aiza", LD, 35)),
    "google-oauth": ("", "ya29." + _made("ya29", LD, 60)),
    "openai": ("", "sk-" + _made("sk", LD, 20) + "T3BlbkFJ" + _made("sk2", LD, 20)),
    "openai-project": ("", "sk-proj-" + _made("proj", LD, 60)),
    "anthropic": ("", "sk-ant-api03-" + _made("ant", LD, 60)),
    "slack-bot": ("", "xoxb-" + _made("xoxb", D, 12) + "-" + _made("xoxb2", LD, 24)),
    "slack-app": ("", "xapp-1-" + _made("xapp", LD, 40)),
    "slack-hook": ("https://hooks.slack.com/services/", "T" + _made("hook", D, 9) + "/B" + _made("hook2", D, 9) + "/" + _made("hook3", LD, 24)),
    "discord-hook": ("https://discord.com/api/webhooks/", _made("dis", D, 18) + "/" + _made("dis2", LD, 60)),
    "feishu-hook": ("https://open.feishu.cn/open-apis/bot/v2/hook/", _made("fei", H, 8) + "-" + _made("fei2", H, 20)),
    "dingtalk-hook": ("https://oapi.dingtalk.com/robot/send?access_token=", _made("ding", H, 64)),
    "wecom-hook": ("https://qyapi.weixin.qq.com/cgi-bin/webhook/send?key=", _made("wec", H, 8) + "-" + _made("wec2", H, 20)),
    "wandb-new": ("", "wandb_v1_" + _made("wb", LD, 77)),
    "wandb-local": ("", "local-" + _made("wbl", H, 40)),
    "npm": ("", "npm_" + _made("npm", LD, 36)),
    "pypi": ("", "pypi-AgEIcHlwaS5vcmc" + _made("pypi", LD, 60)),
    "stripe": ("", "sk_live_" + _made("stripe", LD, 24)),
    "databricks": ("", "dapi" + _made("dapi", H, 32)),
    "replicate": ("", "r8_" + _made("r8", LD, 37)),
    "telegram": ("", _made("tg", D, 9) + ":AA" + _made("tg2", LD, 33)),
    "sendgrid": ("", "SG." + _made("sg", LD, 22) + "." + _made("sg2", LD, 43)),
    "jwt": ("", "eyJhbGciOiJIUzI1NiJ9.eyJ" + _made("jwt", LD, 30) + "." + _made("jwt2", LD, 43)),
    "modelscope": ("", "ms-" + _made("ms", H, 8) + "-" + "-".join(_made(f"ms{i}", H, 4) for i in range(3)) + "-" + _made("ms9", H, 12)),
    "pem": ("-----BEGIN RSA PRIVATE KEY-----\n", _made("pem", LD, 64) + "\n-----END RSA PRIVATE KEY-----"),
    "openssh": ("-----BEGIN OPENSSH PRIVATE KEY-----\n", _made("ssh", LD, 70) + "\n-----END OPENSSH PRIVATE KEY-----"),
    "bearer": ("Authorization: Bearer ", _made("bearer", LD, 32)),
    "basic": ("Authorization: Basic ", _made("basic", LD, 28) + "=="),
    "url-password": ("postgresql://alice:", _made("pw", LD, 12) + "@db.example.org/runs"),
    "git-remote": ("https://x-access-token:", _made("git", LD, 40) + "@github.com/team/paper.git"),
    "presigned-s3": ("https://b.s3.amazonaws.com/m.bin?X-Amz-Signature=", _made("s3", H, 64)),
    "presigned-gcs": ("https://storage.googleapis.com/b/m?X-Goog-Signature=", _made("gcs", H, 64)),
    "azure-sas": ("https://a.blob.core.windows.net/c/m?sv=2024&sig=", _made("sas", LD, 43) + "%3D"),
    "azure-account": ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=", _made("acc", LD, 86) + "=="),
    "wandb-old": ("WANDB_API_KEY=", _made("wbold", H, 40)),
    "wandb-netrc": ("machine api.wandb.ai login user password ", _made("netrc", H, 40)),
    "aws-secret": ("AWS_SECRET_ACCESS_KEY=", _made("awss", LD + "/+", 40)),
    "named-token": ("NEPTUNE_API_TOKEN=", _made("nep", LD, 40)),
    "named-password": ("db_password: ", _made("pass", LD, 14)),
    "named-flag": ("--hub_token ", _made("flag", LD, 30)),
    "named-secret": ("client_secret = ", _made("clis", LD, 30)),
}  # fmt: skip

HARMLESS = [
    "num_tokens=40961", "pad_token=<pad>", "eos_token: <|im_end|>", "commit 0123456789abcdef0123456789abcdef01234567", "run 3kx9z2ab",
    "macro_f1=0.8125", "max_new_tokens: 512", "tokens_per_second 1234567", "num_key_value_heads: 8",
]  # fmt: skip

PRIVATE = {
    "home folder": "/home/grace.hopper/papers/x.py",
    "mac home": "/Users/katherine.j/x.py",
    "e-mail": "grace.hopper@navy.example.org",
    "inner address": "10.17.34.5",
}
PRIVATE_NEEDLES = ["grace.hopper", "katherine.j", "10.17.34.5"]


def lines(kinds: dict[str, tuple[str, str]] = SHAPED) -> list[str]:
    """One text per kind, as it would stand in a file."""
    return [before + secret for before, secret in kinds.values()]


def fragments(secret: str) -> list[bytes]:
    """What nothing may show: the middle and the end of the secret's longest run, twelve characters of it suffice."""
    bare = secret.split("@")[0].split("%")[0].replace("-----", "\n")
    run = max(bare.split("\n"), key=len).rstrip("=")
    middle = len(run) // 2
    return [run[max(0, middle - 3) : middle + 9].encode(), run[-12:].encode()]


FRAGMENTS = {kind: fragments(secret) for kind, (_, secret) in SHAPED.items()}
