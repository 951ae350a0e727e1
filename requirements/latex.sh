#!/bin/sh
# LaTeX for the tests that compile a table and a figure. Installed here if root on Debian, else named.
PACKAGES="texlive-latex-base texlive-latex-recommended texlive-pictures texlive-fonts-recommended poppler-utils"
if command -v pdflatex >/dev/null && command -v pdftoppm >/dev/null && kpsewhich pgfplots.sty >/dev/null && kpsewhich booktabs.sty >/dev/null; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing $PACKAGES"
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $PACKAGES) >/dev/null 2>&1 || echo "could not install LaTeX: its tests will be skipped"
else
  echo "LaTeX is not installed: its tests will be skipped (Debian packages: $PACKAGES)"
fi
exit 0
