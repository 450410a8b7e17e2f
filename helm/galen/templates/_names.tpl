{{/* Names, labels, images and addresses. */}}

{{- define "galen.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end }}

{{/* (dict "root" $ "component" "planning") */}}
{{- define "galen.selector" -}}
app.kubernetes.io/name: {{ default .root.Chart.Name .root.Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- if .component }}
app.kubernetes.io/component: {{ .component }}
{{- end }}
{{- end }}

{{- define "galen.labels" -}}
{{ include "galen.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/part-of: galen
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* (dict "root" $ "component" "planning" "name" "..." ["namespace" "..."]): the metadata of an object. */}}
{{- define "galen.metadata" -}}
name: {{ .name }}
namespace: {{ default .root.Release.Namespace .namespace }}
labels:
  {{- include "galen.labels" . | nindent 2 }}
{{- $annotations := merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* (dict "root" $ "program" "planning") */}}
{{- define "galen.image" -}}
{{- $image := .root.Values.image -}}
{{- $name := printf "%s-%s" $image.prefix .program -}}
{{- if $image.registry }}{{ $name = printf "%s/%s" $image.registry $name }}{{ end -}}
{{- with index $image.digests .program -}}
{{- printf "%s@%s" $name . -}}
{{- else -}}
{{- printf "%s:%s" $name (default $.root.Chart.AppVersion $image.tag) -}}
{{- end -}}
{{- end }}

{{- define "galen.nodeNamespace" -}}
{{- default .Release.Namespace .Values.node.namespace -}}
{{- end }}

{{/* The components that are Deployments, those that are switched on. */}}
{{- define "galen.deployments" -}}
- orchestrator
- summarization
- planning
- execution
- reflection
- conclusion
{{- if .Values.gateway.enabled }}
- gateway
{{- end }}
{{- if .Values.watch.enabled }}
- watch
{{- end }}
{{- if .Values.advisor.enabled }}
- advisor
{{- end }}
{{- if .Values.uploads.enabled }}
- bundles
{{- end }}
{{- if .Values.toolbox.enabled }}
- toolbox
{{- end }}
{{- end }}

{{/* Where a component listens. */}}
{{- define "galen.ports" -}}
orchestrator: 50050
summarization: 50051
planning: 50052
execution: 50053
bundles: 50054
reflection: 50055
conclusion: 50056
watch: 50058
advisor: 50060
gateway: 8080
node: {{ .Values.node.port }}
{{- end }}
{{- define "galen.port" -}}
{{- index (include "galen.ports" .root | fromYaml) .component -}}
{{- end }}

{{/* All addresses of a component, for clients that balance by themselves. The dot at the end spares the search list. */}}
{{- define "galen.address" -}}
{{- printf "%s-%s.%s.svc.%s.:%s" (include "galen.fullname" .root) .component .root.Release.Namespace .root.Values.clusterDomain (include "galen.port" .) -}}
{{- end }}

{{- define "galen.any" -}}
{{- if eq .Values.ipFamily "IPv6" }}[::]{{ else }}0.0.0.0{{ end -}}
{{- end }}
{{/* HOST:PORT of this pod. */}}
{{- define "galen.self" -}}
{{- if eq .root.Values.ipFamily "IPv6" }}[$(POD_IP)]{{ else }}$(POD_IP){{ end }}:{{ include "galen.port" . -}}
{{- end }}

{{/* The role of a component's certificate. */}}
{{- define "galen.role" -}}
{{- get (dict "bundles" "node" "toolbox" "operator") .component | default .component -}}
{{- end }}
{{- define "galen.certificateSecret" -}}
{{- $role := include "galen.role" . -}}
{{- default (printf "%s-%s-tls" (include "galen.fullname" .root) $role) (index .root.Values.tls.secrets $role) -}}
{{- end }}

{{/* Whom Redis knows a component as: (dict "root" $ "component" "planning"). Those that keep answers of models there are one. */}}
{{- define "galen.redis.user" -}}
{{- ternary .component "cache" (has .component (list "gateway" "orchestrator" "execution" "watch" "advisor" "toolbox")) -}}
{{- end }}
{{- define "galen.redis.users" -}}
[gateway, orchestrator, execution, watch, advisor, toolbox, cache]
{{- end }}
{{- define "galen.redis.maxmemory" -}}
{{- $limit := toString .Values.redis.resources.limits.memory -}}
{{- if hasSuffix "Gi" $limit -}}
{{- div (mul (trimSuffix "Gi" $limit | int64) 1024 75) 100 -}}
{{- else if hasSuffix "Mi" $limit -}}
{{- div (mul (trimSuffix "Mi" $limit | int64) 75) 100 -}}
{{- else -}}
{{- fail "redis.resources.limits.memory: say it in Mi or Gi, whole, so that Redis can be told to keep within it" -}}
{{- end -}}
{{- end }}

{{/* The store of a component, likewise. The password is in no URL, but in the file that it names. */}}
{{- define "galen.store" -}}
{{- $root := .root -}}
{{- $url := $root.Values.redis.external.url -}}
{{- if $root.Values.redis.enabled -}}
{{- $url = printf "redis://galen-%s@%s-redis.%s.svc.%s.:6379" (include "galen.redis.user" .) (include "galen.fullname" $root) $root.Release.Namespace $root.Values.clusterDomain -}}
{{- end -}}
{{- if $root.Values.redis.existingSecret -}}
{{- $url = printf "%s%spassword_file=/etc/galen/redis/password" $url (ternary "&" "?" (contains "?" $url)) -}}
{{- end -}}
{{- $url -}}
{{- end }}

{{/* Settings of a component: what is common, and what it says otherwise. */}}
{{- define "galen.settings" -}}
{{- mergeOverwrite (deepCopy .root.Values.defaults) (deepCopy (index .root.Values .component)) | toYaml -}}
{{- end }}
