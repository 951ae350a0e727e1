"""Numbers and claims of LaTeX text, held against what was measured."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from patience import quick

from papertrain.core.errors import PapertrainError
from papertrain.core.results import Evidence
from papertrain.results.manuscript.claims import claims
from papertrain.results.manuscript.held import Held, hold
from papertrain.results.manuscript.known import Claimed, Ground, differences, metric_names, plain_names, scores
from papertrain.results.manuscript.numbers import numbers
from papertrain.results.manuscript.tex import page_of, pages


def seen(body: str) -> list[tuple[str, str]]:
    """(number, kind) of everything that counts as a number of the text."""
    return [(n.shown, n.kind) for n in numbers(page_of("m.tex", f"\\begin{{document}}\n{body}\\end{{document}}"))]


def evidence(
    id: str, method: str, metric: str, value: float, data: str = "reviews", unit: str = "fraction"
) -> Evidence:
    return Evidence(id=id, claim=f"{method}: {metric} on {data}", value=value, file="p.csv", sha256="0", unit=unit)


MEASURED = (
    evidence("E12", "ours", "accuracy", 0.8168), evidence("E13", "bert_base", "accuracy", 0.7700), evidence("E14", "ours", "macro_f1", 0.7951),
    evidence("E15", "bert_base", "macro_f1", 0.7422), evidence("E16", "ours", "perplexity", 12.345, unit="number"),
)  # fmt: skip
TESTED = (
    Claimed(a="ours", b="bert_base", dataset="reviews", metric="accuracy", test="mcnemar-exact", p=0.0079, p_adjusted=0.0158, significant=True),
    Claimed(a="ours", b="bert_base", dataset="reviews", metric="macro_f1", test="approximate-randomisation", p=0.21, p_adjusted=0.21, significant=False),
)  # fmt: skip


def ground(tests: tuple[Claimed, ...] = TESTED, stale: dict[str, str] | None = None) -> Ground:
    known = scores(MEASURED, set())
    return Ground(known=(*known, *differences(known)), tests=tests, methods=plain_names(["ours", "bert_base"], {}), datasets=plain_names(["reviews"], {}),
                  metrics=metric_names(["accuracy", "macro_f1", "perplexity"]), ours="ours", baseline="bert_base", stale=stale or {})  # fmt: skip


def held(body: str, **more: object) -> Held:
    return hold([page_of("m.tex", "\\begin{document}\n" + body + "\n\\end{document}")], ground(**more))  # type: ignore[arg-type]


def said(body: str, **more: object) -> list[str]:
    return [f"{f.file}:{f.line} {f.says}" for f in held(body, **more).findings]


def claimed(body: str, tests: tuple[Claimed, ...] = TESTED) -> list[str]:
    return [
        f.says for f in claims([page_of("m.tex", "\\begin{document}\n" + body + "\n\\end{document}")], ground(tests))
    ]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (r"81.7\% and .817 and 1,319 and 1{,}319", [("81.7", "value"), (".817", "value"), ("1,319", "value"), ("1,319", "value")]),
        (r"$2\times10^{-5}$, 3e-4", [("2", "value"), ("3", "value")]),
        (r"81.7 $\pm$ 0.3, $81.7_{\pm0.3}$, 81.7{\scriptsize $\pm$0.3}", [("81.7", "value"), ("0.3", "plus-minus")] * 3),
        (r"$p = 0.03$, p<0.001, $n = 220$", [("0.03", "p"), ("0.001", "p"), ("220", "count")]),
        (r"[1.3, 6.9]", [("1.3", "bound"), ("6.9", "bound")]),
        (r"a 95\% confidence interval at $\alpha = 0.05$", []),
        (r"Table~3, Section 4.2, \S 5, Figure 2 and Appendix 1", []),
        (r"in 2024, 7B, 5-shot, GPT-4, F1, ROUGE-2, top-5, pass@1, 3 epochs, 2nd, H100, v1.2.3", []),
        ("% 99.9 in a comment\n\\cite[p.~12]{a2020}\\label{tab:1}\\vspace{2.5em}\\includegraphics[width=0.9\\linewidth]{a1.pdf}", []),
        (r"\begin{equation}y = 3.14x\end{equation} \[ 2.71 \] $$1.41$$ \begin{verbatim}9.9\end{verbatim}", []),
        (r"\begin{tabular}{p{2.3cm}r}\cmidrule(lr){2-3}\multicolumn{2}{c}{81.7}\\[2pt]\end{tabular}", [("81.7", "value")]),
        (r"100\% of 12.5 points -- 3.5 to 4.5", [("100", "value"), ("12.5", "value"), ("3.5", "value"), ("4.5", "value")]),
    ],
)  # fmt: skip
def test_what_counts_as_a_number(body: str, what: list[tuple[str, str]]) -> None:
    assert seen(body) == what


def test_powers_of_ten_are_part_of_the_number() -> None:
    found = list(numbers(page_of("m.tex", r"\begin{document}$2\times10^{-5}$ and 1.5e-4\end{document}")))
    assert [n.value for n in found] == pytest.approx([2e-5, 1.5e-4])


def test_the_preamble_is_no_text_but_its_number_macros_are() -> None:
    page = page_of(
        "m.tex", "\\documentclass[11pt]{article}\n\\newcommand{\\acc}{81.7}\n\\begin{document}a\\end{document} 5.5"
    )
    assert [(n.shown, n.line) for n in numbers(page)] == [("81.7", 2)]


class TestText:
    def test_a_number_that_differs_is_named_with_its_line_and_its_evidence(self) -> None:
        assert said("\n\nOurs reaches 81.9 accuracy.") == [
            "m.tex:4 81.9, evidence E12 says 81.7 (ours, Accuracy on reviews)"
        ]

    @pytest.mark.parametrize(
        "text", ["81.7", r"81.7\%", "0.817", ".817", "81.68", r"82\%", r"\textbf{81.7}", r"\num{81.7}", "$81.7$"]
    )
    def test_any_rounding_of_the_measurement_agrees(self, text: str) -> None:
        assert said(f"Ours reaches {text} accuracy.") == []

    @pytest.mark.parametrize("text", ["81.6", "0.816", r"83\%", "81.67"])
    def test_cut_off_is_not_rounded(self, text: str) -> None:
        assert "evidence E12 says" in said(f"Ours reaches {text} accuracy.")[0]

    def test_the_number_of_another_system_is_told(self) -> None:
        (text,) = said("Ours reaches 77.0 accuracy.")
        assert "evidence E12 says 81.7" in text and "77.0 is E13 (bert_base" in text

    def test_two_systems_in_one_sentence_may_each_have_their_number(self) -> None:
        assert (
            said("Ours reaches 81.7 accuracy against 77.0 for BERT base, 4.7 points more, a relative gain of 6.1\\%.")
            == []
        )

    def test_a_difference_that_does_not_come_out_is_told(self) -> None:
        assert "4.7" in said("Ours improves accuracy over BERT base by 4.9 points.")[0]

    def test_a_number_near_nothing_is_a_warning_and_one_of_others_is_not(self) -> None:
        f = held("Ours reaches 55.5 accuracy.").findings
        assert [x.rule for x in f] == ["TR803"] and f[0].level == "warning"
        assert held(r"Ours reaches more accuracy than the 55.5 of \citet{them}.").cited == 1

    def test_settings_and_counts_are_left_alone(self) -> None:
        assert said("We train for 3 epochs with dropout 0.1 on 12 files and 8 GPUs in 2025.") == []

    def test_a_stale_source_is_told(self) -> None:
        f = held("Ours reaches 81.7 accuracy.", stale={"E12": "p.csv has changed since it was read"}).findings
        assert [x.rule for x in f] == ["TR805"] and "has changed" in f[0].says

    def test_larger_numbers_without_percent(self) -> None:
        assert said("Perplexity of ours is 12.3.") == [] and "E16 says 12.3" in said("Perplexity of ours is 12.4.")[0]


TABLE = r"""
\begin{tabular}{lcc}
\toprule
 & \multicolumn{2}{c}{Reviews} \\ \cmidrule(lr){2-3}
Method & Acc. & F1 \\
\midrule
BERT-base & 77.0 & %s \\
Ours & \textbf{%s} & 79.5 \\
\bottomrule
\end{tabular}
"""


class TestTables:
    def test_row_and_column_say_which_number_it_must_be(self) -> None:
        assert said(TABLE % ("74.2", "81.7")) == []
        assert [s.partition(" ")[2] for s in said(TABLE % ("74.2", "84.7"))] == [
            "84.7, evidence E12 says 81.7 (ours, Accuracy on reviews)"
        ]
        assert "evidence E15 says 74.2" in said(TABLE % ("12.3", "81.7"))[0]

    def test_a_swapped_cell_is_found_though_both_numbers_exist(self) -> None:
        (text,) = said(TABLE % ("79.5", "81.7"))
        assert "evidence E15 says 74.2" in text and "79.5 is E14" in text

    def test_methods_may_be_columns(self) -> None:
        table = "\\begin{tabular}{lrr}\n & Ours & BERT base \\\\ \\hline\nAccuracy & 81.7 & 77.1 \\\\\nMacro-F1 & 79.5 & 74.2 \\\\\n\\end{tabular}"
        assert len(said(table)) == 1 and "E13 says 77.0" in said(table)[0]

    def test_a_row_that_cites_and_a_hole_are_passed_over(self) -> None:
        assert (
            said(
                "\\begin{tabular}{lr}\nMethod & Accuracy \\\\ \\hline\nXLNet \\cite{x} & 91.2 \\\\\nOurs & -- \\\\\n\\end{tabular}"
            )
            == []
        )

    def test_an_average_of_measured_cells_agrees(self) -> None:
        table = (
            "\\begin{tabular}{lrrr}\n & Acc. & F1 & Average \\\\ \\hline\nOurs & 81.7 & 79.5 & %s \\\\\n\\end{tabular}"
        )
        assert said(table % "80.6") == [] and said(table % "99.6") != []

    def test_the_comment_behind_a_row_binds_its_cells(self) -> None:
        table = "\\begin{tabular}{lr}\nX & Y \\\\ \\midrule\nZ & 81.9 \\\\\n%   E12 verified 0.8168 ours reviews accuracy\n\\end{tabular}"
        assert said(table) == ["m.tex:4 81.9, evidence E12 says 81.7 (ours, Accuracy on reviews)"]

    def test_deviations_are_held_against_deviations(self) -> None:
        from papertrain.results.manuscript.known import of_table

        rows = [
            {
                "method": "ours",
                "dataset": "reviews",
                "metric": "accuracy",
                "std": "0.0031",
                "n_seeds": "3",
                "ci_low": "",
                "unit": "fraction",
                "evidence": "E12",
            }
        ]
        g = ground()
        import msgspec

        g = msgspec.structs.replace(g, known=(*g.known, *of_table(rows)))
        page = page_of(
            "m.tex", "\\begin{document}Ours reaches 81.7 $\\pm$ 0.3 and accuracy of 81.7 $\\pm$ 0.7.\\end{document}"
        )
        assert [f.says for f in hold([page], g).findings] == [
            "± 0.7 stands beside ours, and no evidence holds such a number"
        ]
        page = page_of("m.tex", "\\begin{document}Ours reaches an accuracy of 81.7 $\\pm$ 0.32.\\end{document}")
        assert [f.says for f in hold([page], g).findings] == [
            "± 0.32, evidence E12 says ± 0.31 (ours, Accuracy on reviews, standard deviation)"
        ]


class TestSignificance:
    def test_a_test_that_says_so_carries_the_claim(self) -> None:
        assert claimed("Ours is significantly better than BERT base in accuracy ($p = 0.016$).") == []

    def test_no_test_no_claim(self) -> None:
        assert claimed("Ours is significantly better than BERT base.", ()) == [
            "“significantly”, but the evidence holds no test of bert_base, ours"
        ]

    def test_a_test_that_was_refused_says_why(self) -> None:
        refused = (Claimed(a="ours", b="bert_base", dataset="", metric="accuracy", refused="other test items"),)
        assert (
            "was refused: other test items"
            in claimed("The improvement of ours over BERT base is significant.", refused)[0]
        )

    def test_a_test_that_says_otherwise(self) -> None:
        assert "p = 0.210" in claimed("Ours has a significantly higher macro F1 than BERT base.")[0]

    def test_no_significance_where_there_is_one(self) -> None:
        assert "p = 0.016" in claimed("The difference of ours to BERT base in accuracy is not significant.")[0]
        assert claimed("In macro F1 there is no significant difference between ours and BERT base.") == []

    @pytest.mark.parametrize(
        "text", ["with three significant digits", "the significance level is 0.05", "a significance test was made"]
    )
    def test_other_uses_of_the_word(self, text: str) -> None:
        assert claimed(f"We write numbers {text}.", ()) == []

    def test_p_is_never_zero(self) -> None:
        f = held("Ours is better than BERT base in accuracy ($p = 0.000$).").findings
        assert [x.rule for x in f] == ["TR804"]

    @pytest.mark.parametrize(
        ("p", "wrong"),
        [
            ("p = 0.0079", False),
            ("p = 0.016", False),
            ("p < 0.05", False),
            ("p = 0.002", True),
            ("p < 0.001", True),
            (r"p \leq 0.02", False),
            ("p > 0.05", True),
        ],
    )
    def test_p_values_are_held_against_the_test(self, p: str, wrong: bool) -> None:
        assert bool(said(f"Ours beats BERT base in accuracy (${p}$).")) is wrong


class TestMacros:
    def test_a_macro_holds_what_its_evidence_says_today(self) -> None:
        assert said(r"\newcommand{\ptOursAccuracy}{81.7}% E12 verified 0.8168") == []
        assert "is 80.7, evidence E12 says 81.7" in said(r"\newcommand{\ptOursAccuracy}{80.7}% E12 verified 0.8071")[0]
        assert "does not hold any more" in said(r"\newcommand{\ptOldAccuracy}{80.7}% E99 verified 0.8071")[0]

    def test_an_unknown_one_is_named_with_its_neighbour(self) -> None:
        text = "\\newcommand{\\ptOursAccuracy}{81.7}% E12 verified 0.8168\nOurs: \\ptOursAcuracy."
        assert said(text) == ["m.tex:3 \\ptOursAcuracy is defined nowhere, perhaps \\ptOursAccuracy"]


def test_inputs_are_followed_once_and_missing_ones_are_told(tmp_path: Path) -> None:
    (tmp_path / "main.tex").write_text(
        "\\begin{document}\n\\input{a}\\input{sub/b.tex}\\include{gone}% \\input{not}\n\\end{document}"
    )
    (tmp_path / "a.tex").write_text("\\input{main}\\input{a}")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/b.tex").write_text("81.7")
    found, missing = pages(tmp_path / "main.tex")
    assert [Path(p.file).name for p in found] == ["main.tex", "a.tex", "b.tex"]
    assert len(missing) == 1 and "main.tex:2 \\input{gone}" in missing[0]


HOSTILE = ["\\begin{tabular}{" * 3000, "\\[" * 20_000, "{" * 50_000, "\\cite[" * 20_000, "&" * 50_000, "$" * 50_001, "\\begin{equation}" * 5000, "% \n" * 30_000,
           "\\begin{tabular}{l}" + "a & 1 \\\\ % E1\n" * 4_000, "81.7 " * 5_000, "\x00\ud83d".encode("utf-8", "replace").decode() * 100, "a" * 200_000, "9" * 50_000,
           "\\multicolumn{99999}{c}{1} & 2 \\\\"]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_no_text_makes_it_crash_or_hang(text: str) -> None:
    started = time.process_time()
    held(text)
    claimed(text)
    assert quick(time.process_time() - started, 10)


def test_a_file_that_is_no_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "m.tex").write_bytes(b"\x00\x01\x02" * 1000)
    with pytest.raises(PapertrainError):
        pages(tmp_path / "m.tex")


def test_numbers_of_siunitx_are_read_as_they_are_printed() -> None:
    row = r"\begin{tabular}{lS[table-format=2.1(1)]SS}\toprule & {F1} & {WER} & {EM}\\\midrule a & 81.7(4) & 81.2+-0.3 & \bfseries -1.25\\b & \num{81.7 \pm 0.4} & \SI{63.5}{\percent} & 9.5{\,$\pm$\,\phantom{0}0.4}\end{tabular}"
    found = list(numbers(page_of("m.tex", f"\\begin{{document}}\n{row}\\end{{document}}")))
    assert [(n.value, n.kind) for n in found] == [
        (81.7, "value"), (0.4, "plus-minus"), (81.2, "value"), (0.3, "plus-minus"), (-1.25, "value"),
        (81.7, "value"), (0.4, "plus-minus"), (63.5, "value"), (9.5, "value"), (0.4, "plus-minus"),
    ]  # fmt: skip
    assert [n.percent for n in found if n.value == 63.5] == [True]
    assert seen("The bracket of 12.5 (3) is a number of its own.") == [("12.5", "value"), ("3", "value")]
