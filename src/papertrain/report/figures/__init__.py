"""One module per kind of figure, found by `FIGURE`: data → CSV, a script that draws it from the CSV, PDF, PNG and TikZ."""
