"""Secrets that are known by their own shape, wherever they stand: tokens, keys, web hooks, key blocks, signed addresses."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import NamedTuple


class Token(NamedTuple):
    """A secret that begins with a fixed word. A word in front of it (a file's name, a key) hides it not; `alone`: only where
    no letter or digit stands before, since the word is too common."""

    kind: str
    begins: str
    goes_on: str
    alone: bool = False


class Shape(NamedTuple):
    """Any other kind. It is looked for only in a text that holds one of its `needles` (lower case), since most hold none.

    In the pattern a group named `keep` stays in front, and a group named `secret` is what is replaced.
    """

    kind: str
    needles: tuple[str, ...]
    pattern: str


U = r"[A-Za-z0-9_\-]"  # the URL-safe alphabet
N = r"[A-Za-z0-9]"
HEX = r"[0-9a-f]"
OPEN = r"[^\s/@'\"<>:]"
TEXT = r"[^\s\"'<>]"

# Looked for first: a key may be the user of an address, and the password behind it has no shape.
FIRST: tuple[Shape, ...] = (
    Shape("pem", ("private", ), r"-{4,5}\s?BEGIN[A-Z0-9\s]{1,60}PRIVATE\s+KEY(?:\s+BLOCK)?\s?-{4,5}[\s\S]*?(?:-{4,5}\s?END[A-Z0-9\s]{1,60}PRIVATE\s+KEY(?:\s+BLOCK)?\s?-{4,5}|\Z)"),
    Shape("url-password", (":/", ), rf"(?P<keep>(?:(?<=[A-Za-z0-9])://|(?<=[A-Za-z0-9]{{3}}):/(?!/)))(?P<secret>(?!\[redacted){OPEN}{{0,200}}:(?!\d{{1,5}}/|[{{$<%])[^\s'\"<>]{{1,400}}|[A-Za-z0-9_\-]{{20,400}})(?=@)"),
    Shape("signed-url", ("signature=", "x-amz-", "x-goog-", "sig=", "token=", "key=", "password=", "passwd=", "pwd=", "secret=", "jwt=", "code=", "auth=", "policy=", "sid=", "session=", "ticket=", "keyid="), rf"(?P<keep>[?&;](?i:X-Amz-Signature|X-Amz-Credential|X-Amz-Security-Token|X-Goog-Signature|X-Goog-Credential|x-oss-signature|x-oss-security-token|q-signature|Signature|sig|token|access_token|refresh_token|id_token|auth_token|api_key|apikey|key|password|passwd|pwd|secret|client_secret|jwt|AWSAccessKeyId|OSSAccessKeyId)=)(?P<secret>(?!\[redacted|[{{$<%]|[A-Za-z_.]{{1,12}}(?:[&\s'\"#<]|$))[^&\s'\"<>]+)|(?P<keep2>[?&](?:code|auth|policy|Policy|sid|session|ticket|tempAuth)=)(?P<secret2>(?!\[redacted){TEXT}{{20,}}?(?=[&\s'\"<>#]|$))"),
)  # fmt: skip

_GITLAB = ["pat", "dt", "rt", "cbt", "ptt", "oas", "soat", "ft", "imt", "agent", "ffct"]
TOKENS: tuple[Token, ...] = (
    Token("huggingface", "hf_", rf"(?:oauth|jwt)_[A-Za-z0-9_\-.]{{12,}}|hf_{N}{{24,}}|(?<![A-Za-z0-9_]hf_){N}{{16,}}|{N}{{24,}}"),
    Token("huggingface", "api_org_", rf"{N}{{16,}}"),
    *(Token("github", f"gh{c}_", rf"(?:{N}{{24,}}|\d{{1,12}}_eyJ[A-Za-z0-9_\-.]{{12,}}|(?<![A-Za-z0-9_]gh{c}_){N}{{20,}})") for c in "pousr"),
    Token("github", "github_pat_", r"[A-Za-z0-9_]{16,}"),
    *(Token("gitlab", f"gl{c}-", rf"(?:t\d_)?{U}{{12,}}(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{6,}})?") for c in _GITLAB),
    *(Token("aws", c, rf"[A-Z0-9]{{16}}(?!{N})") for c in ("AKIA", "ASIA", "ABIA", "ACCA")),
    Token("aws", "ABSK", r"[A-Za-z0-9+/]{60,}=*"),
    Token("google", "AIza", rf"{U}{{30,}}"),
    Token("google", "ya29.", r"[A-Za-z0-9_\-.]{16,}"),
    Token("google", "GOCSPX-", rf"{U}{{20,}}"),
    Token("google", "1//0", rf"{U}{{40,}}", alone=True),
    Token("anthropic", "sk-ant-", rf"{U}{{12,}}"),
    Token("openai", "sk-", rf"(?:proj|svcacct|admin|None|or-v1|lf)-{U}{{12,}}|{N}{{12,}}T3BlbkFJ{N}*|{N}{{32,}}|(?<![A-Za-z0-9_]sk-){U}{{16,}}"),
    *(Token("slack", f"xox{c}", r"[.\-][A-Za-z0-9.%\-]{10,}") for c in "abcdeoprs"),
    *(Token("slack", c, r"[A-Za-z0-9\-]{10,}") for c in ("xapp-", "xwfp-")),
    Token("slack-hook", "hooks.slack", r"(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_\-]+"),
    Token("serverchan", "SCT", rf"\d{{1,9}}T{N}{{12,}}"),
    Token("serverchan", "sctp", rf"\d{{1,9}}t{N}{{12,}}"),
    Token("dingtalk", "SEC", rf"{HEX}{{64}}(?!{N})", alone=True),
    Token("wandb", "wandb_v1_", rf"{U}{{12,}}"),
    Token("wandb", "local-", rf"{HEX}{{16,}}(?!{N})"),
    Token("modelscope", "ms-", rf"{HEX}{{8}}(?:-{HEX}{{4}}){{3}}-{HEX}{{4,12}}"),
    Token("npm", "npm_", rf"{N}{{20,}}"),
    Token("pypi", "pypi-", rf"AgE{U}{{12,}}|(?<![A-Za-z0-9_]pypi-){U}{{30,}}"),
    *(Token("docker", c, rf"{U}{{12,}}") for c in ("dckr_pat_", "dckr_oat_")),
    *(Token("stripe", c, r"[A-Za-z0-9+/]{12,}") for c in ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "whsec_")),
    Token("databricks", "dapi", rf"{HEX}{{16,}}(?:-\d)?(?!{N})"),
    Token("replicate", "r8_", rf"{N}{{24,}}|(?<![A-Za-z0-9_]r8_){N}{{16,}}"),
    Token("sendgrid", "SG.", rf"{U}{{16,}}(?:\.{U}*)?"),
    Token("groq", "gsk_", rf"{N}{{20,}}", alone=True),
    Token("nvidia", "nvapi-", rf"{U}{{20,}}"),
    *(Token("langsmith", c, r"[0-9a-f_]{20,}") for c in ("lsv2_pt_", "lsv2_sk_")),
    Token("langfuse", "pk-lf-", r"[0-9a-f\-]{20,}"),
    Token("together", "tgp_v1_", rf"{U}{{20,}}"),
    *(Token("model-service", c, rf"{N}{{24,}}", alone=True) for c in ("pplx-", "xai-", "csk-", "jina_", "rpa_")),
    Token("model-service", "tvly-", rf"(?:dev-|prod-)?{N}{{20,}}"),
    Token("model-service", "fw_", rf"{N}{{20,}}", alone=True),
    Token("model-service", "pa-", rf"{U}{{40,}}", alone=True),
    *(Token("modal", c, rf"{N}{{22}}(?!{U})", alone=True) for c in ("ak-", "as-")),
    Token("kaggle", "KGAT_", rf"{HEX}{{20,}}"),
    *(Token("digitalocean", f"do{c}_v1_", rf"{HEX}{{20,}}") for c in "opr"),
    *(Token("vault", f"hv{c}.", rf"{U}{{24,}}") for c in "sbr"),
    *(Token("doppler", f"dp.{c}.", r"[\w.]{20,}") for c in ("pt", "st", "ct", "sa")),
    Token("pulumi", "pul-", rf"{HEX}{{40}}", alone=True),
    Token("tailscale", "tskey-", rf"[a-z]+-{U}{{12,}}"),
    Token("flyio", "fo1_", rf"{U}{{30,}}", alone=True),
    *(Token("planetscale", f"pscale_{c}_", rf"{U}{{20,}}") for c in ("tkn", "oauth", "pw")),
    Token("supabase", "sbp_", rf"{HEX}{{40}}"),
    Token("supabase", "sb_secret_", rf"{U}{{20,}}"),
    Token("tencent", "AKID", rf"{N}{{32}}", alone=True),
    Token("aliyun", "LTAI", rf"{N}{{12,26}}(?!{N})", alone=True),
    Token("volcengine", "AKLT", rf"{U}{{30,}}", alone=True),
    Token("linear", "lin_api_", rf"{N}{{20,}}"),
    Token("notion", "ntn_", rf"{N}{{30,}}", alone=True),
    Token("notion", "secret_", rf"{N}{{43}}(?!{N})", alone=True),
    *(Token("sentry", c, r"[A-Za-z0-9+/=_\-]{20,}") for c in ("sntrys_", "sntryu_")),
    Token("grafana", "glsa_", rf"{N}{{32}}_{HEX}{{8}}"),
    Token("newrelic", "NRAK-", r"[A-Z0-9]{20,}"),
    *(Token("shopify", f"shp{c}_", r"[0-9a-fA-F]{20,}") for c in ("at", "ca", "pa", "ss")),
    Token("rubygems", "rubygems_", rf"{HEX}{{20,}}"),
    Token("crates", "cio", rf"{N}{{32}}(?!{N})", alone=True),
    Token("figma", "figd_", rf"{U}{{20,}}"),
    Token("atlassian", "ATATT3xFfGF0", r"[A-Za-z0-9_\-=]{20,}"),
    Token("atlassian", "ATBB", rf"{N}{{24,}}", alone=True),
    Token("postman", "PMAK-", r"[0-9a-f\-]{20,}"),
    Token("clojars", "CLOJARS_", r"[0-9a-z]{20,}"),
    Token("adafruit", "aio_", rf"{N}{{28}}(?!{N})", alone=True),
    Token("square", "EAAA", rf"{U}{{56,}}", alone=True),
    *(Token("discord", c, rf"{U}{{21,26}}\.{U}{{6}}\.{U}{{27,}}", alone=True) for c in ("MT", "Nz", "Nj", "Nt", "OD", "OT", "ND", "NT", "MD", "Mz")),
    Token("airtable", "pat", rf"{N}{{14}}\.{HEX}{{64}}", alone=True),
    Token("mailgun", "key-", rf"{HEX}{{32}}(?!{N})", alone=True),
    Token("twilio", "SK", rf"{HEX}{{32}}(?!{N})", alone=True),
    Token("age", "AGE-SECRET-KEY-1", r"[A-Z0-9]{12,}"),
    Token("jwt", "eyJ", rf"(?<!{U}{{12}}eyJ)(?:{U}{{8,}}\.{U}{{8,}}(?:\.{U}*)?|[A-Za-z0-9+/_\-]{{60,}}=*)"),
)  # fmt: skip

SHAPES: tuple[Shape, ...] = (
    Shape("putty", ("private-lines", ), r"(?P<keep>Private-Lines: \d+\s+)(?P<secret>(?:[A-Za-z0-9+/=]+\s+)+(?:Private-MAC: [0-9a-f]*)?|[A-Za-z0-9+/=]{16,})"),
    Shape("discord-hook", ("/webhooks/", ), r"https:/{1,2}(?:\w+\.)?discord(?:app)?\.com/api/(?:v\d+/)?webhooks/[A-Za-z0-9/_\-]+"),
    Shape("feishu-hook", ("/open-apis/bot/", ), r"https:/{1,2}open\.(?:feishu|larksuite)\.\w+/open-apis/bot/[A-Za-z0-9/_\-]+"),
    Shape("teams-hook", ("/webhookb2/", ), r"https:/{1,2}[\w.\-]+/webhookb2/[A-Za-z0-9/@_\-]+"),
    Shape("hook", ("/hooks/", "maker.ifttt.com", "api.day.app"), r"(?P<keep>https?:/{1,2}[\w.:\-]+/hooks/(?:catch/)?|https?:/{1,2}maker\.ifttt\.com/[\w/]{1,80}/key/|https?:/{1,2}api\.day\.app/)(?P<secret>[A-Za-z0-9_\-]{10,}(?:/[A-Za-z0-9_\-]{7,})?|\d{5,9}/[A-Za-z0-9]{6,})"),
    # An old key has the shape of a commit; only what stands before it on its line tells them apart.
    Shape("wandb", ("wandb", "weights & biases"), r"(?P<keep>(?i:wandb|weights & biases)(?:(?!(?i:commit|sha|rev\b|revision|git|hash|digest|version))[^\n]){0,80}?(?<![A-Za-z0-9]))(?P<secret>[0-9a-f]{40})(?![A-Za-z0-9])"),
    Shape("telegram", (":", ), rf"(?<!\d)\d{{8,10}}:(?:{U}{{35}}(?!{U})|AA{U}{{14,}})"),
    Shape("terraform", (".atlasv1.", ), rf"{N}{{14}}\.atlasv1\.{U}{{20,}}"),
    Shape("azure", ("8q~", ), rf"{U}{{3}}8Q~[A-Za-z0-9_\-.~]{{30,}}"),
    Shape("mailchimp", ("-us", ), rf"\b{HEX}{{32}}-us\d{{1,2}}\b"),
    Shape("authorization", ("authorization", ), r"(?P<keep>(?i:\bauthorization)(?:\\*[\"'])?\s*[:=,]\s*(?:\\*[\"'])?(?:(?!(?i:bearer|basic|token|digest|apikey|aws4)\s)|[A-Za-z0-9\-]{3,20}\s+))(?P<secret>(?!\[redacted|[${<]|[^\s\"']*(?:\*\*|\.\.\.))[^\s\"',;\\]{6,})"),
    Shape("bearer", ("bearer", "basic"), r"(?P<keep>(?i:\b(?:bearer|basic)(?:\s+|%20)))(?P<secret>(?=[A-Za-z._~+/\-]*[0-9=])[A-Za-z0-9._~+/\-]{12,}=*)"),
    Shape("cookie", ("cookie", ), r"(?P<keep>(?i:\b(?:set-)?cookie2?)(?:\\*[\"'])?\s*[:=]\s*(?:\\*[\"'])?)(?P<secret>(?!\[redacted)(?=[^\n\"'\\]{0,400}?=[^\n\"'\\;]{6,})[^\n\"'\\]+)"),
    Shape("command", ("curl", "wget", "sshpass", "docker", "podman", "mysql"), r"(?P<keep>\bcurl\b[^\n|;&]{0,300}?\s(?:-u|--user)(?:\s|=)?(?:\\{0,3}[\"'])?[^\s:\"']{1,80}:|\bcurl\b[^\n|;&]{0,300}?\s(?:-b|--cookie)\s(?:\\{0,3}[\"'])?[\w\-]{1,60}=|\bsshpass\s+-p\s?(?:\\{0,3}[\"'])?|\b(?:docker|podman)\s+login\b[^\n|;&]{0,200}?\s-p\s(?:\\{0,3}[\"'])?|\bmysql(?:dump|admin)?\b[^\n|;&]{0,200}?\s-p)(?P<secret>(?![$<{\[])[^\s\"'\\]{4,})"),
    Shape("netrc", ("password", ), r"(?P<keep>\b(?:login|user|account)\s+\S{1,200}\s+password\s+)(?P<secret>(?!\[redacted)\S+)"),
    Shape("password-hash", ("$", ), r"\$(?:apr1|1|2[abxy]|5|6|y|7|argon2(?:id|i|d))\$[A-Za-z0-9./$,=+]{20,}"),
    Shape("pgpass", (":54", ":*:"), r"(?P<keep>(?:^|[\s`\"'])[\w.*\-]{1,200}:(?:54\d\d|\*):[\w*\-]{1,80}:[\w*\-]{1,80}:)(?P<secret>(?!\[redacted)[^\s`\"']{4,})(?=[\s`\"']|$)"),
)  # fmt: skip

# Tokens of a known length may be folded by a narrow terminal or an editor: (needle, prefix, whole length, alphabet).
FOLDED = (
    ("hf_", "hf_", 37, "A-Za-z0-9"),
    ("ghp_", "ghp_", 40, "A-Za-z0-9"),
    ("gho_", "gho_", 40, "A-Za-z0-9"),
    ("ghs_", "ghs_", 40, "A-Za-z0-9"),
    ("github_pat_", "github_pat_", 93, "A-Za-z0-9_"),
    ("wandb_v1_", "wandb_v1_", 86, r"A-Za-z0-9_\-"),
    ("glpat-", "glpat-", 26, r"A-Za-z0-9_\-"),
    ("akia", "AKIA", 20, "A-Z0-9"),
    ("aiza", "AIza", 39, r"A-Za-z0-9_\-"),
    ("npm_", "npm_", 40, "A-Za-z0-9"),
)
FOLD = r"(?:\\?\r?\n[ \t>#|*+\-]{0,40}|\\+n\ufdd0?[ ]{0,8})"

LONG = re.compile(r"[\w\-.+/:]{15,}")

# A service that nobody listed here: a short word, a separator, then a long run of letters in both cases and digits.
UNLISTED = re.compile(
    r"(?<![A-Za-z0-9_\-./=+])[a-z][a-z0-9]{1,9}(?:[_\-][a-z0-9]{1,8}){0,2}[_\-](?P<run>[A-Za-z0-9]{24,})(?![A-Za-z0-9])"
)


_PIECE = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_DIGIT, _SMALL, _CAPITAL = re.compile(r"\d"), re.compile(r"[a-z]"), re.compile(r"[A-Z]")


def without_shapes(text: str, mark: Callable[[str, str], str]) -> str:
    """The text with each secret of a known shape replaced by what `mark` makes of its kind and itself."""
    if "\n" in text or "\\n" in text:
        for _, prefix, length, alphabet in FOLDED:
            if prefix in text:
                text = _folding(prefix, alphabet).sub(lambda m, n=length: _joined(m, n, mark), text)  # type: ignore[misc]
    for kind, pattern in _to_search(text):
        text = pattern.sub(lambda m, k=kind: _replaced(m, k, mark), text)  # type: ignore[misc]
    if "_" in text or "-" in text:
        text = UNLISTED.sub(lambda m: mark("token", m[0]) if scrambled(m["run"], mixed=True) else m[0], text)
    return text


def shapes_in(text: str) -> Iterator[tuple[str, int, int]]:
    """(kind, start, end) of each, in no order; one place may be told twice."""
    for kind, pattern in _to_search(text):
        yield from ((kind, m.start(), m.end()) for m in pattern.finditer(text))
    yield from (("token", m.start(), m.end()) for m in UNLISTED.finditer(text) if scrambled(m["run"], mixed=True))


def _to_search(text: str) -> Iterator[tuple[str, re.Pattern[str]]]:
    """What can be in this text, by the words that each kind cannot do without."""
    folded = text.lower()
    yield from ((s.kind, _compiled(s.pattern)) for s in FIRST if any(n in folded for n in s.needles))
    # No token is shorter than fifteen characters, and most of a text is: only its long words are searched for beginnings.
    words = " ".join(LONG.findall(text))
    yield from ((t.kind, _begun(t)) for t in TOKENS if t.begins in words)
    yield from ((s.kind, _compiled(s.pattern)) for s in SHAPES if any(n in folded for n in s.needles))


def scrambled(run: str, *, mixed: bool = False) -> bool:
    """Whether letters and digits follow each other as in made-up keys, not as in words, names and versions.

    mixed: both cases and digits are asked for, so that digests and commits do not count.
    """
    digit, small, capital = _DIGIT.search(run), _SMALL.search(run), _CAPITAL.search(run)
    if len(run) < 8 or not (digit or (small and capital)) or (mixed and not (digit and small and capital)):
        return False
    if run.isdigit():
        return False
    # Characters in a piece (Llama|For|Causal|LM), on average: random characters of both cases and digits have less than
    # 3.0 in 99 of 100 runs of 24, names of models 2.7 to 7; of hexadecimal digits 3.6 in 99 of 100 runs of 32.
    pieces = len(run) / len(_PIECE.findall(run))
    return pieces < (3.0 if digit and small and capital else 2.6 if not digit else 3.8)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


@cache
def _begun(token: Token) -> re.Pattern[str]:
    # The fixed word comes first and is looked back at: so the search goes from one to the next and not by character.
    begins = re.escape(token.begins)
    return re.compile(rf"{begins}{rf'(?<![A-Za-z0-9_]{begins})' if token.alone else ''}(?:{token.goes_on})")


@cache
def _folding(prefix: str, alphabet: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![A-Za-z0-9]){prefix}[{alphabet}]*(?:{FOLD}[{alphabet}]+){{1,4}}(?![{alphabet}])")


def _joined(m: re.Match[str], length: int, mark: Callable[[str, str], str]) -> str:
    whole, at = "", 0
    for piece in re.finditer(rf"(?P<word>[A-Za-z0-9_\-]+)(?:{FOLD})?", m[0]):
        whole, at = whole + piece["word"], piece.end("word")
        if len(whole) >= length:
            break
    return mark("folded", whole) + m[0][at:] if len(whole) == length and at > length else m[0]


def _replaced(m: re.Match[str], kind: str, mark: Callable[[str, str], str]) -> str:
    groups = m.groupdict()
    keep = groups.get("keep") or groups.get("keep2") or ""
    return keep + mark(kind, groups.get("secret") or groups.get("secret2") or m[0])
