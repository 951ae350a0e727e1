#!/bin/sh
# LaTeX for the tests that compile tables and figures. Installed here if root on Debian, else named.
PACKAGES="texlive-latex-base texlive-latex-recommended texlive-latex-extra texlive-pictures texlive-science texlive-fonts-recommended poppler-utils"
complete() {
  command -v pdflatex >/dev/null && command -v pdftoppm >/dev/null || return 1
  for style in pgfplots booktabs multirow siunitx; do kpsewhich $style.sty >/dev/null || return 1; done
}
if complete; then exit 0; fi
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
  echo "installing $PACKAGES"
  (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $PACKAGES) >/dev/null 2>&1 || echo "could not install LaTeX: its tests will be skipped"
else
  echo "LaTeX is not complete: its tests will be skipped (Debian packages: $PACKAGES)"
fi
exit 0
