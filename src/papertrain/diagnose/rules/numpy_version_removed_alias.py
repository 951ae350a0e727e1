"""Code written for an older numpy."""

from papertrain.diagnose.rule import cause, fix

RULE = cause(
    "TR587",
    "numpy-version-removed-alias",
    "environment",
    title="Code written for an older numpy",
    why="numpy 1.24 removed np.bool, np.int, np.float; numpy 2 removed more and broke binary modules built against 1.x.",
    sig=(
        "module 'numpy' has no attribute",
        "`np.float_` was removed",
        "was removed in the NumPy 2.0 release",
        "numpy.dtype size changed, may indicate binary incompatibility",
        "A module that was compiled using NumPy 1.x cannot be run in",
        "numpy.core.multiarray failed to import",
        "`np.bool` was a deprecated alias",
        "_ARRAY_API not found",
    ),
    confidence=0.95,
    next_check="pip show numpy | grep Version",
    fixes=(
        fix(
            "the numpy that the code was written for",
            'pip install "numpy<2"',
            '# for np.bool, np.int, np.float:  pip install "numpy<1.24"',
            proof="the import passes",
        ),
    ),
    kinds=(
        (
            "numpy.{0,60}(?:version|dtype size|downgrade|<\\s*2|has no attribute)|_ARRAY_API|np\\.\\w+.{0,30}(?:removed|deprecated)",
            "AttributeError: `np.unicode_` was removed; numpy version 2 is installed",
        ),
    ),
    fires="AttributeError: module 'numpy' has no attribute 'bool'.",
    quiet="numpy 1.26.4",
)
