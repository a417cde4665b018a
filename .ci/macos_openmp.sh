#!/usr/bin/env bash
# llvm-openmp of conda-forge, built for the deployment target; Homebrew's would ask for the builder's own macOS.
# macos_openmp.sh PREFIX: needs micromamba, mamba or conda.
set -eu
prefix=$1
case $(uname -m) in
    arm64) platform=osx-arm64 ;;
    x86_64) platform=osx-64 ;;
    *) echo "macos_openmp.sh: no llvm-openmp for $(uname -m)." >&2; exit 1 ;;
esac
for conda in micromamba mamba conda; do
    if command -v "$conda" > /dev/null; then
        CONDA_SUBDIR=$platform "$conda" create --yes --quiet --prefix "$prefix" --channel conda-forge --override-channels \
            "llvm-openmp>=16"
        exit 0
    fi
done
echo "macos_openmp.sh: needs micromamba, mamba or conda." >&2
exit 1
