{{/* Who calls whom. tests/kube/arrows_test.py holds this against the code. */}}
{{- define "galen.arrows" -}}
gateway: [orchestrator, execution, redis]
watch: [orchestrator, execution, redis]
orchestrator: [summarization, planning, execution, reflection, conclusion, redis]
execution: [execution, node, bundles, redis]
node: [execution]
advisor: [redis]
toolbox: [orchestrator, execution, advisor, redis]
{{- $agents := ternary "[redis]" "[]" (and (not (empty .Values.llm.endpoint)) .Values.llm.cache) }}
summarization: []
planning: {{ $agents }}
reflection: {{ $agents }}
conclusion: {{ $agents }}
bundles: []
{{- end }}

{{/* Pods of a component as a list of peers, as seen from pods in namespace "from". */}}
{{- define "galen.peers" -}}
{{- $theirs := ternary (include "galen.nodeNamespace" .root) .root.Release.Namespace (eq .component "node") -}}
{{- if and (eq .component "node") .root.Values.node.hostNetwork }}
{{- range .root.Values.networkPolicy.nodeCIDRs }}
- ipBlock: {cidr: {{ . | quote }}}
{{- end }}
{{- else }}
- podSelector:
    matchLabels:
      {{- include "galen.selector" . | nindent 6 }}
  {{- if ne $theirs .from }}
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: {{ $theirs }}}}
  {{- end }}
{{- end }}
{{- end }}
