{{/* What is special of each component: its flags, variables, mounts and volumes. (dict "root" $ "settings" ...) */}}

{{- define "galen.knowledge.flag" -}}
{{- if or .Values.knowledge.overlay .Values.knowledge.existingConfigMap }}
- --knowledge=/usr/share/galen/knowledge,/etc/galen/knowledge
{{- else }}
- --knowledge=/usr/share/galen/knowledge
{{- end }}
{{- end }}
{{- define "galen.llm.flags" -}}
{{- if .Values.llm.endpoint }}
- --llm=/etc/galen/llm-endpoint/llm.yaml
{{- if .Values.llm.cache }}
- --llm_cache={{ include "galen.store" (dict "root" . "component" "cache") }}
{{- end }}
{{- end }}
{{- end }}

{{- define "galen.seal.flag" -}}
{{- if .Values.seal.existingSecret }}
- --store_seal=/etc/galen/seal/key
{{- else }}
- --unsealed_store
{{- end }}
{{- end }}

{{- define "galen.orchestrator.args" -}}
- --store={{ include "galen.store" (dict "root" .root "component" "orchestrator") }}
- --owner=$(POD_NAME)
- --strategy={{ .settings.strategy }}
{{- with .settings.keepDiagnoses }}
- --keep_diagnoses={{ join "," . }}
{{- end }}
{{- if .settings.deleteWaiting }}
- --delete_waiting
{{- end }}
{{- if .root.Values.uploads.enabled }}
- --evidence=/var/lib/galen/uploads/.evidence
{{- include "galen.knowledge.flag" .root }}
{{- end }}
{{- if .settings.logSources.existingSecret }}
- --log_sources=/etc/galen/logs/log_sources.yaml
{{- end }}
{{- range list "summarization" "planning" "execution" "reflection" "conclusion" }}
- --{{ . }}={{ include "galen.address" (dict "root" $.root "component" .) }}
{{- end }}
{{- end }}

{{- define "galen.summarization.args" -}}
{{- include "galen.knowledge.flag" .root }}
# Without uploads there is nothing below it, and no other file of the pod is read.
- --log_root=/var/lib/galen/uploads
{{- end }}

{{- define "galen.planning.args" -}}
{{- include "galen.knowledge.flag" .root }}
{{- include "galen.llm.flags" .root }}
{{- if .settings.history.existingClaim }}
- --history=/var/lib/galen/history
{{- end }}
{{- end }}

{{/* The servers of time series: url, port, peers, and the files of a secret that is mounted at folder. */}}
{{- define "galen.prometheus.servers" -}}
{{- $servers := list }}
{{- $given := list }}
{{- with .Values.execution.prometheus }}
{{- if .url }}
{{- $given = prepend (default (list) .more) . }}
{{- end }}
{{- end }}
{{- range $index, $one := $given }}
{{- $volume := ternary "prometheus" (printf "prometheus-%d" $index) (eq $index 0) }}
{{- $folder := printf "/etc/galen/%s" $volume }}
{{- $files := list }}
{{- $token := "none" }}
{{- $headers := "none" }}
{{- if $one.existingSecret }}
{{- with ternary $one.secretKey "token" (hasKey $one "secretKey") }}
{{- $files = append $files (dict "key" . "path" "token") }}
{{- $token = printf "%s/token" $folder }}
{{- end }}
{{- with $one.headersKey }}
{{- $files = append $files (dict "key" . "path" "headers") }}
{{- $headers = printf "%s/headers" $folder }}
{{- end }}
{{- end }}
{{- $servers = append $servers (dict "url" $one.url "port" (default 9090 $one.port) "peers" (default (list) $one.peers) "volume" $volume "folder" $folder "secret" $one.existingSecret "files" $files "token" $token "headers" $headers) }}
{{- end }}
{{- toYaml $servers }}
{{- end }}

{{- define "galen.prometheus.flags" -}}
{{- $urls := list }}
{{- $tokens := list }}
{{- $headers := list }}
{{- range include "galen.prometheus.servers" . | fromYamlArray }}
{{- $urls = append $urls .url }}
{{- $tokens = append $tokens .token }}
{{- $headers = append $headers .headers }}
{{- end }}
{{- if $urls }}
- --prometheus={{ join "," $urls }}
{{- if without $tokens "none" }}
- --prometheus_key_file={{ join "," $tokens }}
{{- end }}
{{- if without $headers "none" }}
- --prometheus_headers_file={{ join "," $headers }}
{{- end }}
{{- end }}
{{- end }}

{{- define "galen.execution.args" -}}
{{- include "galen.knowledge.flag" .root }}
{{- include "galen.seal.flag" .root }}
{{- if not .root.Values.node.certificates.hostPath }}
- --shared_node_certificates
{{- end }}
- --store={{ include "galen.store" (dict "root" .root "component" "execution") }}
- --advertise={{ include "galen.self" (dict "root" .root "component" "execution") }}
{{- if .settings.tenantNodes }}
- --tenant_nodes=/etc/galen/config/tenant_nodes.yaml
{{- end }}
{{- include "galen.prometheus.flags" .root }}
{{- if .root.Values.uploads.enabled }}
- --bundle_root=/var/lib/galen/uploads
- --bundle_readers={{ include "galen.address" (dict "root" .root "component" "bundles") }}
{{- end }}
{{- end }}

{{- define "galen.reflection.args" -}}
{{- include "galen.knowledge.flag" .root }}
{{- include "galen.llm.flags" .root }}
{{- end }}

{{- define "galen.conclusion.args" -}}
{{- include "galen.knowledge.flag" .root }}
{{- include "galen.llm.flags" .root }}
{{- end }}

{{- define "galen.watch.args" -}}
{{- include "galen.knowledge.flag" .root }}
{{- include "galen.seal.flag" .root }}
- --store={{ include "galen.store" (dict "root" .root "component" "watch") }}
- --owner=$(POD_NAME)
- --orchestrator={{ include "galen.address" (dict "root" .root "component" "orchestrator") }}
- --execution={{ include "galen.address" (dict "root" .root "component" "execution") }}
- --parent={{ .settings.parent }}
{{- if .settings.earlyWarning.enabled }}
- --early_warning
{{- with .settings.earlyWarning.budget }}
- --early_budget={{ . }}
{{- end }}
{{- if .settings.earlyWarning.jobs }}
- --early_jobs=/etc/galen/jobs
{{- end }}
{{- include "galen.prometheus.flags" .root }}
{{- end }}
{{- with .root.Values.kubernetes.nodes }}
{{- if .enabled }}
- --kubernetes
- --kubernetes_hold={{ .hold }}
{{- with .actions }}
- --node_actions={{ join "," . }}
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "galen.advisor.args" -}}
{{- include "galen.knowledge.flag" .root }}
- --store={{ include "galen.store" (dict "root" .root "component" "advisor") }}
- --false_discoveries={{ .settings.falseDiscoveries }}
- --keep={{ int64 .settings.keep }}
{{- end }}

{{- define "galen.bundles.args" -}}
{{- include "galen.knowledge.flag" .root }}
- --host=$(POD_NAME)
- --watch=false
- --bundle_root=/var/lib/galen/uploads
{{- end }}

{{- define "galen.node.args" -}}
{{- include "galen.knowledge.flag" .root }}
- --host=$(NODE_NAME)
- --advertise={{ include "galen.self" (dict "root" .root "component" "node") }}
- --execution={{ include "galen.address" (dict "root" .root "component" "execution") }}
- --watch={{ .settings.watch }}
{{- end }}

{{- define "galen.gateway.args" -}}
{{- include "galen.knowledge.flag" .root }}
{{- include "galen.seal.flag" .root }}
- --store={{ include "galen.store" (dict "root" .root "component" "gateway") }}
- --orchestrator={{ include "galen.address" (dict "root" .root "component" "orchestrator") }}
- --execution={{ include "galen.address" (dict "root" .root "component" "execution") }}
- --console={{ .settings.console }}
- --requests_per_second={{ .settings.limits.requestsPerSecond }}
- --diagnoses_per_second={{ .settings.limits.diagnosesPerSecond }}
- --diagnoses_per_day={{ .settings.limits.diagnosesPerDay }}
{{- if .settings.httpsSecret }}
- --https_cert=/etc/galen/https/tls.crt
- --https_key=/etc/galen/https/tls.key
{{- else }}
- --plain_http
{{- end }}
{{- range list "oidc" "webhooks" "tickets" }}
{{- if index $.settings . }}
- --{{ . }}=/etc/galen/config/{{ . }}.yaml
{{- end }}
{{- end }}
{{- with .root.Values.kubernetes.diagnoses }}
{{- if .enabled }}
- --kubernetes
- --kubernetes_cancel={{ .cancelDeleted }}
{{- with .defaultTenant }}
- --kubernetes_tenant={{ . }}
{{- end }}
{{- end }}
{{- end }}
{{- with .root.Values.kubernetes.nodes }}
{{- if and .enabled .actions }}
- --node_actions={{ join "," .actions }}
{{- end }}
{{- end }}
{{- with .settings.corsOrigins }}
- --cors_origins={{ join "," . }}
{{- end }}
{{- if .root.Values.uploads.enabled }}
- --uploads=/var/lib/galen/uploads
- --uploads_keep={{ .root.Values.uploads.keep }}
- --uploads_tenant_bytes={{ int64 .root.Values.uploads.tenantBytes }}
{{- end }}
{{- end }}

{{/* Volumes by name: {mountPath, readOnly, source}. */}}
{{- define "galen.volumes" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $role := include "galen.role" . -}}
certs:
  mountPath: /etc/galen/certs
  readOnly: true
  {{- if and (eq $component "node") $root.Values.node.certificates.hostPath }}
  # The machine's own: whoever gets at it speaks for this machine alone.
  source: {hostPath: {path: {{ $root.Values.node.certificates.hostPath }}, type: Directory}}
  {{- else }}
  source: {secret: {secretName: {{ include "galen.certificateSecret" . }}, defaultMode: 0440}}
  {{- end }}
tmp:
  mountPath: /tmp
  source: {emptyDir: {sizeLimit: 64Mi}}
{{- if and $root.Values.redis.existingSecret (has $component (include "galen.onStore" $root | fromYamlArray)) }}
redis:
  mountPath: /etc/galen/redis
  readOnly: true
  source: {secret: {secretName: {{ $root.Values.redis.existingSecret }}, defaultMode: 0440, items: [{key: {{ ternary (include "galen.redis.user" .) $root.Values.redis.secretKey $root.Values.redis.enabled }}, path: password}]}}
{{- end }}
{{- if and $root.Values.seal.existingSecret (has $component (list "gateway" "execution" "watch" "toolbox")) }}
seal:
  mountPath: /etc/galen/seal
  readOnly: true
  source: {secret: {secretName: {{ $root.Values.seal.existingSecret }}, defaultMode: 0440, items: [{key: {{ $root.Values.seal.secretKey }}, path: key}]}}
{{- end }}
{{- if or $root.Values.knowledge.overlay $root.Values.knowledge.existingConfigMap }}
knowledge:
  mountPath: /etc/galen/knowledge
  readOnly: true
  source: {configMap: {name: {{ default (printf "%s-knowledge" (include "galen.fullname" $root)) $root.Values.knowledge.existingConfigMap }}}}
{{- end }}
{{- if and $root.Values.llm.endpoint (has $component (list "planning" "reflection" "conclusion")) }}
llm-endpoint:
  mountPath: /etc/galen/llm-endpoint
  readOnly: true
  source: {configMap: {name: {{ include "galen.fullname" $root }}-llm}}
{{- with $root.Values.llm.existingSecret }}
llm:
  mountPath: /etc/galen/llm
  readOnly: true
  source: {secret: {secretName: {{ . }}, defaultMode: 0440}}
{{- end }}
{{- end }}
{{- if and $root.Values.uploads.enabled (has $component (list "gateway" "orchestrator" "summarization" "execution" "bundles")) }}
uploads:
  mountPath: /var/lib/galen/uploads
  readOnly: {{ not (has $component (list "gateway" "orchestrator")) }}
  source: {persistentVolumeClaim: {claimName: {{ default (printf "%s-uploads" (include "galen.fullname" $root)) $root.Values.uploads.existingClaim }}}}
{{- end }}
{{- if include "galen.config" . }}
config:
  mountPath: /etc/galen/config
  readOnly: true
  source: {configMap: {name: {{ include "galen.fullname" $root }}-{{ $component }}}}
{{- end }}
{{- if or (eq $component "execution") (and (eq $component "watch") $root.Values.watch.earlyWarning.enabled) }}
{{- range include "galen.prometheus.servers" $root | fromYamlArray }}
{{- if .files }}
{{ .volume }}:
  mountPath: {{ .folder }}
  readOnly: true
  source: {secret: {secretName: {{ .secret }}, defaultMode: 0440, items: {{ toJson .files }}}}
{{- end }}
{{- end }}
{{- end }}
{{- if and (eq $component "orchestrator") .settings.logSources.existingSecret }}
logs:
  mountPath: /etc/galen/logs
  readOnly: true
  source: {secret: {secretName: {{ .settings.logSources.existingSecret }}, defaultMode: 0440}}
{{- end }}
{{- if and (eq $component "watch") .settings.earlyWarning.enabled .settings.earlyWarning.jobs }}
jobs:
  mountPath: /etc/galen/jobs
  readOnly: true
  source: {configMap: {name: {{ .settings.earlyWarning.jobs }}}}
{{- end }}
{{- if and (eq $component "planning") .settings.history.existingClaim }}
history:
  mountPath: /var/lib/galen/history
  source: {persistentVolumeClaim: {claimName: {{ .settings.history.existingClaim }}}}
{{- end }}
{{- if eq $component "gateway" }}
{{- with .settings.httpsSecret }}
https:
  mountPath: /etc/galen/https
  readOnly: true
  source: {secret: {secretName: {{ . }}, defaultMode: 0440}}
{{- end }}
{{- with .settings.existingSecret }}
secrets:
  mountPath: /etc/galen/secrets
  readOnly: true
  source: {secret: {secretName: {{ . }}, defaultMode: 0440}}
{{- end }}
{{- end }}
{{- if and .settings.auditLog.enabled (ne $component "toolbox") }}
galen-audit:
  mountPath: /var/log/galen
  source: {{ toJson (default (dict "emptyDir" (dict "sizeLimit" "200Mi")) .settings.auditLog.volume) }}
{{- end }}
{{- if eq $component "node" }}
# The machine's own /sys: with its adapters, also where the pod has a network of its own.
sys:
  mountPath: /sys
  readOnly: true
  source: {hostPath: {path: /sys, type: Directory}}
{{- if and .settings.devices.nvidia.enabled .settings.devices.nvidia.driverRoot }}
nvidia-driver:
  mountPath: /run/nvidia/driver
  mountPropagation: HostToContainer
  readOnly: true
  source: {hostPath: {path: {{ .settings.devices.nvidia.driverRoot }}, type: DirectoryOrCreate}}
{{- end }}
{{- end }}
{{- end }}

{{/* Files of a component that stand in the values: the data of its ConfigMap. Empty: none. */}}
{{- define "galen.config" -}}
{{- if eq .component "gateway" }}
{{- range $name := list "oidc" "webhooks" "tickets" }}
{{- with index $.settings $name }}
{{ $name }}.yaml: {{ toYaml . | quote }}
{{- end }}
{{- end }}
{{- else if and (eq .component "execution") .settings.tenantNodes }}
tenant_nodes.yaml: {{ dict "tenants" .settings.tenantNodes | toYaml | quote }}
{{- end }}
{{- end }}

{{/* The components that speak to the API server. */}}
{{- define "galen.onApiServer" -}}
{{- $found := list }}
{{- if and .Values.gateway.enabled .Values.kubernetes.diagnoses.enabled }}{{ $found = append $found "gateway" }}{{ end }}
{{- if and .Values.watch.enabled .Values.kubernetes.nodes.enabled }}{{ $found = append $found "watch" }}{{ end }}
{{- toYaml $found }}
{{- end }}

{{/* The components that speak to Redis. */}}
{{- define "galen.onStore" -}}
- orchestrator
- execution
- watch
- advisor
- gateway
- toolbox
{{- if and .Values.llm.endpoint .Values.llm.cache }}
- planning
- reflection
- conclusion
{{- end }}
{{- end }}
