{{/* What contradicts itself is refused before anything is made. */}}
{{- define "galen.validate" -}}
{{- if not .Values.tenancy }}
{{- fail "tenancy: say single (one team's cluster: every tenant sees every machine) or provider (customers who may not see each other)" }}
{{- end }}
{{- if eq .Values.tenancy "provider" }}
{{- if not .Values.execution.tenantNodes }}
{{- fail "tenancy=provider: execution.tenantNodes must say whose machines are whose; without it every tenant sees every machine" }}
{{- end }}
{{- if and .Values.gateway.enabled (not .Values.gateway.httpsSecret) (not (and .Values.gateway.ingress.enabled .Values.gateway.ingress.tlsSecret)) (not .Values.gateway.gatewayApi.enabled) }}
{{- fail "tenancy=provider: customers' keys need TLS; set gateway.httpsSecret, or gateway.ingress with a tlsSecret, or gateway.gatewayApi" }}
{{- end }}
{{- if and .Values.gateway.enabled (not .Values.gateway.httpsSecret) (not .Values.networkPolicy.gatewayFrom) }}
{{- fail "tenancy=provider: behind what ends TLS the gateway speaks plain HTTP; networkPolicy.gatewayFrom must say from where alone" }}
{{- end }}
{{- if not .Values.networkPolicy.enabled }}
{{- fail "tenancy=provider: networkPolicy.enabled must stay true" }}
{{- end }}
{{- if not .Values.seal.existingSecret }}
{{- fail "tenancy=provider: seal.existingSecret must name the key that API keys and approvals are sealed with" }}
{{- end }}
{{- if and .Values.node.enabled (not .Values.node.certificates.hostPath) }}
{{- fail "tenancy=provider: node.certificates.hostPath: with one certificate for all machines, who has root on one speaks for all" }}
{{- end }}
{{- range $component := list "gateway" "orchestrator" "execution" }}
{{- $audit := (include "galen.settings" (dict "root" $ "component" $component) | fromYaml).auditLog }}
{{- if or (not $audit.enabled) (not $audit.volume) (hasKey $audit.volume "emptyDir") }}
{{- fail (printf "tenancy=provider: %s.auditLog (or defaults.auditLog): enable it, on a volume that outlives the pod" $component) }}
{{- end }}
{{- end }}
{{- end }}
{{- if and (not .Values.redis.enabled) (not .Values.redis.external.url) }}
{{- fail "redis.enabled is false: redis.external.url must name the Redis that keeps the diagnoses" }}
{{- end }}
{{- if and .Values.redis.enabled .Values.redis.external.url }}
{{- fail "redis.external.url: set redis.enabled=false, or leave the URL away" }}
{{- end }}
{{- if and .Values.redis.enabled (not .Values.redis.existingSecret) }}
{{- fail "redis.existingSecret: the chart's own Redis needs a password" }}
{{- end }}
{{- if and .Values.gateway.ingress.enabled .Values.gateway.gatewayApi.enabled }}
{{- fail "gateway.ingress and gateway.gatewayApi: enable one of them" }}
{{- end }}
{{- if and .Values.gateway.gatewayApi.enabled (not .Values.gateway.gatewayApi.parentRefs) }}
{{- fail "gateway.gatewayApi.parentRefs: name the Gateway that the route belongs to" }}
{{- end }}
{{- if and .Values.kubernetes.diagnoses.enabled (not .Values.gateway.enabled) }}
{{- fail "kubernetes.diagnoses: the gateway serves them; set gateway.enabled as well" }}
{{- end }}
{{- if and .Values.kubernetes.nodes.actions (not .Values.kubernetes.nodes.enabled) }}
{{- fail "kubernetes.nodes.actions: galen-watch carries them out; set kubernetes.nodes.enabled as well" }}
{{- end }}
{{- if and .Values.kubernetes.nodes.actions (not .Values.gateway.enabled) }}
{{- fail "kubernetes.nodes.actions: people approve them at the gateway; set gateway.enabled as well" }}
{{- end }}
{{- if and .Values.kubernetes.nodes.enabled (not .Values.watch.enabled) }}
{{- fail "kubernetes.nodes: galen-watch writes them; set watch.enabled as well" }}
{{- end }}
{{- if and .Values.watch.earlyWarning.enabled (not .Values.execution.prometheus.url) }}
{{- fail "watch.earlyWarning: needs numbers over time; set execution.prometheus.url as well" }}
{{- end }}
{{- if and .Values.orchestrator.logSources.existingSecret (not .Values.uploads.enabled) }}
{{- fail "orchestrator.logSources: what is read is kept with uploads; set uploads.enabled as well" }}
{{- end }}
{{- if and .Values.execution.prometheus.more (not .Values.execution.prometheus.url) }}
{{- fail "execution.prometheus.more: there is no first server; set execution.prometheus.url as well" }}
{{- end }}
{{- if and .Values.networkPolicy.advisorFrom (not .Values.advisor.enabled) }}
{{- fail "networkPolicy.advisorFrom: there is no advisor to be reached; set advisor.enabled as well" }}
{{- end }}
{{- if and (or .Values.watch.earlyWarning.jobs .Values.watch.earlyWarning.budget) (not .Values.watch.earlyWarning.enabled) }}
{{- fail "watch.earlyWarning.jobs, budget: are of early warning; set watch.earlyWarning.enabled as well" }}
{{- end }}
{{- if and .Values.uploads.enabled (not .Values.gateway.enabled) }}
{{- fail "uploads.enabled: uploads come through the gateway; set gateway.enabled=true" }}
{{- end }}
{{- if and .Values.node.enabled .Values.node.hostNetwork .Values.networkPolicy.enabled (not .Values.networkPolicy.nodeCIDRs) }}
{{- fail "node.hostNetwork: network policies do not select such pods; give the addresses of the machines in networkPolicy.nodeCIDRs" }}
{{- end }}
{{- if and .Values.node.enabled .Values.node.namespace (ne .Values.node.namespace .Release.Namespace) (eq .Values.tls.mode "certManager") (ne (default "" .Values.tls.issuerRef.kind) "ClusterIssuer") }}
{{- fail "node.namespace: its certificate needs an issuer that is in every namespace; set tls.issuerRef.kind=ClusterIssuer, or tls.mode=existing" }}
{{- end }}
{{- if and .Values.planning.history.existingClaim (include "galen.settings" (dict "root" . "component" "planning") | fromYaml).autoscaling.enabled }}
{{- fail "planning.history: one process has it open; set planning.autoscaling.enabled=false" }}
{{- end }}
{{- end }}

{{/* "yes" for a component of which there may be one pod only. */}}
{{- define "galen.alone" -}}
{{- if or (eq .component "toolbox") (and (eq .component "planning") .settings.history.existingClaim) }}yes{{ end -}}
{{- end }}
