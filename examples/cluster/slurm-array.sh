#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A Slurm array: every task plays its share of the trials and leaves them as files; no MPI, no shared database.
#   sbatch --wait slurm-array.sh audit.yaml; dpaudit import audit.yaml trials && dpaudit run audit.yaml
#SBATCH --job-name=audit
#SBATCH --array=0-7
#SBATCH --cpus-per-task=1
#SBATCH --requeue
export OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
exec "${DPAUDIT:-dpaudit}" trial "${1:-audit.yaml}" --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --out "${TRIALS:-trials}"
