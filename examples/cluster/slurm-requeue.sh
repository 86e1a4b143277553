#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One Slurm job over several machines that comes back until the audit is done: after its time limit, a preemption, a lost node.
#   sbatch slurm-requeue.sh audit.yaml
#SBATCH --job-name=audit
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --time=12:00:00
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
srun --mpi=pmix "${DPAUDIT:-dpaudit}" run "${1:-audit.yaml}" --output "${OUTPUT:-result}" --workers "$SLURM_CPUS_PER_TASK"
code=$?
# 75: stopped, more to do. What is finished is in the store.
if [ "$code" -eq 75 ]; then
    scontrol requeue "$SLURM_JOB_ID"
fi
exit "$code"
