#!/bin/bash
# PrologSlurmctld: asks the advisor when a job starts (docs/advisor.md). A job brings its signature in its comment:
#   sbatch --comment="$(galen advisor sign --job job.yaml --key-file fleet.key --json)" ...
# Exit 1 puts a batch job back into the queue and cancels any other (Slurm's Prolog and Epilog Guide, "Failure Handling"). Not to be used as
# Prolog: there it would drain the machine.
export PATH=${PATH:-/usr/bin:/bin}
spool=${GALEN_SPOOL:-/var/spool/galen}
hardware=${GALEN_HARDWARE:-/etc/galen/hardware}/$SLURM_JOB_PARTITION.yaml
[[ $SLURM_JOB_COMMENT == '{"archetype":'* ]] || exit 0 # it tells nothing of itself
timeout 5 galen advisor register --parent "tenants/$SLURM_JOB_ACCOUNT" --signature - --hardware "$hardware" --json \
  <<<"$SLURM_JOB_COMMENT" >"$spool/job-$SLURM_JOB_ID.json"
# Only this keeps a job from starting: neither an advisor that is away nor a comment that is no signature does.
[ $? -ne 5 ] && exit 0
rm -f "$spool/job-$SLURM_JOB_ID.json" # what did not run is no run
exit 1
