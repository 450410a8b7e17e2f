#!/bin/bash
# EpilogSlurmctld: notes the run that is over (docs/advisor.md). A timer reports what was noted:
#   cd /var/spool/galen && mv runs.jsonl sending.jsonl && galen advisor runs sending.jsonl && rm sending.jsonl
export PATH=${PATH:-/usr/bin:/bin}
spool=${GALEN_SPOOL:-/var/spool/galen}
registered=$spool/job-$SLURM_JOB_ID.json
[ -s "$registered" ] || exit 0
# Who cancels a job ends it by a signal: that says nothing of the machines. Nor does a bug of the job's own, which this cannot tell.
case $SLURM_JOB_EXIT_CODE2 in 0:0) ending=COMPLETED ;; 0:9 | 0:15) ending=STOPPED ;; *) ending=FAILED ;; esac
jq -c -n --argjson signature "$SLURM_JOB_COMMENT" --slurpfile registered "$registered" --arg ending "$ending" \
  --arg nodes "$(scontrol show hostnames "$SLURM_JOB_NODELIST")" --argjson start "$SLURM_JOB_START_TIME" --argjson gpus "${GALEN_GPUS_PER_NODE:-8}" \
  '($nodes | split("\n")) as $all | {signature: $signature, context: $registered[0].context, start_time: ($start | todate),
    gpus: ($gpus * ($all | length)), hours: ((now - $start) / 3600), ending: $ending, nodes: $all}' >>"$spool/runs.jsonl"
rm -f "$registered"
