"""Names in a script that the figures' own fonts lack: Chinese, Japanese, Korean."""

from __future__ import annotations

import re

EAST_ASIAN = re.compile("[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]")

NEEDS = "Its letters need xelatex or lualatex with \\usepackage{xeCJK}\\setCJKmainfont{Noto Serif CJK SC}"
"""What LaTeX needs for such names, with a font that is free; pdflatex stops at the first of them."""

FIND = '''

def fonts():
    """The style's fonts, and of this machine's the first that has the letters which those lack."""
    from matplotlib import font_manager

    wanted = ["Noto Serif CJK SC", "Noto Serif CJK JP", "Source Han Serif SC", "Songti SC", "SimSun", "Noto Sans CJK SC", "Noto Sans CJK JP",
              "Source Han Sans SC", "PingFang SC", "Microsoft YaHei", "WenQuanYi Zen Hei"]
    known = {f.name for f in font_manager.fontManager.ttflist}
    if not known & set(wanted):
        for path in font_manager.findSystemFonts():
            if any(word in Path(path).name.lower() for word in ("cjk-regular", "sourcehan", "songti", "simsun", "pingfang", "msyh", "wqy")):
                font_manager.fontManager.addfont(path)
        known = {f.name for f in font_manager.fontManager.ttflist}
    return STYLE["font.family"] + [name for name in wanted if name in known][:1]


STYLE["font.family"] = fonts()
'''
"""Stands in the script of a figure that has such names, behind its style."""


def east_asian(*texts: object) -> bool:
    return any(isinstance(t, str) and EAST_ASIAN.search(t) for t in texts)
