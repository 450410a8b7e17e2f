{{/* The pod of a component: (dict "root" $ "component" "planning" "settings" ...). */}}
{{- define "galen.pod" -}}
{{- $root := .root -}}
{{- $component := .component -}}
{{- $settings := .settings -}}
{{- $node := eq $component "node" -}}
{{- $volumes := include "galen.volumes" . | fromYaml -}}
metadata:
  labels:
    {{- /* Nothing of the chart's version: a pod is replaced when it changes. */}}
    {{- include "galen.selector" . | nindent 4 }}
    {{- with $root.Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
    {{- with $settings.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: {{ $component }}
    {{- if or (include "galen.config" .) (hasKey $volumes "llm-endpoint") }}
    # Read when a program starts, so a change starts it anew. (Knowledge is taken up while it serves.)
    checksum/config: {{ printf "%s%s" (include "galen.config" .) (toJson $root.Values.llm.endpoint) | sha256sum }}
    {{- end }}
    {{- if and $node $settings.devices.amd.enabled }}
    cdi.k8s.io/galen: {{ $settings.devices.amd.cdiDevice }}
    {{- end }}
    {{- with $settings.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "galen.fullname" $root }}-{{ $component }}
  automountServiceAccountToken: {{ has $component (include "galen.onApiServer" $root | fromYamlArray) }}
  enableServiceLinks: false
  {{- if eq $component "toolbox" }}
  terminationGracePeriodSeconds: 1
  {{- else }}
  terminationGracePeriodSeconds: {{ add $settings.preStopSeconds $settings.drainSeconds 10 }}
  {{- end }}
  {{- with $root.Values.image.pullSecrets }}
  imagePullSecrets:
    {{- range . }}
    - name: {{ . }}
    {{- end }}
  {{- end }}
  {{- with $settings.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- if $node }}
    # A container gets capabilities as root alone. It has one: to read the kernel log.
    runAsUser: 0
    runAsGroup: 0
    {{- else }}
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    fsGroup: 65532
    fsGroupChangePolicy: OnRootMismatch
    {{- end }}
    seccompProfile: {type: RuntimeDefault}
  {{- if $node }}
  {{- if $settings.hostNetwork }}
  hostNetwork: true
  dnsPolicy: ClusterFirstWithHostNet
  {{- end }}
  {{- if $settings.hostPID }}
  hostPID: true
  {{- end }}
  {{- if and $settings.devices.nvidia.enabled $settings.devices.nvidia.runtimeClassName }}
  runtimeClassName: {{ $settings.devices.nvidia.runtimeClassName }}
  {{- end }}
  {{- end }}
  {{- with $settings.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $settings.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  affinity:
    {{- if $settings.affinity }}
    {{- toYaml $settings.affinity | nindent 4 }}
    {{- else if $node }}
    # The label of a driver's plugin or that of node feature discovery: the plugin may be what is broken.
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          {{- range list "nvidia.com/gpu.present" "amd.com/gpu.present" "feature.node.kubernetes.io/pci-10de.present" "feature.node.kubernetes.io/pci-1002.present" }}
          - matchExpressions:
              - {key: kubernetes.io/os, operator: In, values: [linux]}
              - {key: {{ . }}, operator: In, values: ["true"]}
          {{- end }}
    {{- else }}
    nodeAffinity:
      requiredDuringSchedulingIgnoredDuringExecution:
        nodeSelectorTerms:
          - matchExpressions:
              - {key: kubernetes.io/os, operator: In, values: [linux]}
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          preference:
            matchExpressions:
              - {key: nvidia.com/gpu.present, operator: NotIn, values: ["true"]}
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "galen.selector" . | nindent 16 }}
    {{- end }}
  {{- if and (not $node) (ne $component "toolbox") }}
  topologySpreadConstraints:
    {{- if $settings.topologySpreadConstraints }}
    {{- toYaml $settings.topologySpreadConstraints | nindent 4 }}
    {{- else }}
    {{- range list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "galen.selector" $ | nindent 10 }}
      matchLabelKeys: [pod-template-hash]
    {{- end }}
    {{- end }}
  {{- end }}
  containers:
    - name: {{ $component }}
      image: {{ include "galen.image" (dict "root" $root "program" (get (dict "bundles" "node") $component | default $component)) }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      {{- if eq $component "toolbox" }}
      command: [sleep, infinity]
      {{- else }}
      args:
        {{- if eq $component "gateway" }}
        - --listen={{ include "galen.any" $root }}:8080
        {{- else }}
        - --listen={{ include "galen.any" $root }}:{{ include "galen.port" . }}
        - --health={{ include "galen.any" $root }}:{{ if $node }}{{ $settings.healthPort }}{{ else }}50059{{ end }}
        {{- end }}
        - --metrics={{ include "galen.any" $root }}:{{ if $node }}{{ $settings.metricsPort }}{{ else }}9464{{ end }}
        - --certs=/etc/galen/certs
        - --drain_grace={{ $settings.drainSeconds }}s
        - --log_format=json
        {{- if $settings.logCalls }}
        - --log_calls
        {{- end }}
        {{- if $settings.auditLog.enabled }}
        - --audit_log=/var/log/galen/audit.jsonl
        {{- end }}
        {{- include (printf "galen.%s.args" $component) . | trim | nindent 8 }}
        {{- with $settings.extraArgs }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- end }}
      env:
        - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
        - {name: POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        # Where the parsed form of the knowledge is kept; the root file system is read-only.
        - {name: XDG_CACHE_HOME, value: /tmp}
        {{- if $node }}
        - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: NVIDIA_VISIBLE_DEVICES, value: {{ ternary "all" "void" $settings.devices.nvidia.enabled }}}
        {{- if $settings.devices.nvidia.enabled }}
        - {name: NVIDIA_DRIVER_CAPABILITIES, value: "compute,utility"}
        {{- end }}
        {{- end }}
        {{- if eq $component "toolbox" }}
        - {name: GALEN_CERTS, value: /etc/galen/certs}
        - {name: GALEN_KNOWLEDGE, value: {{ ternary "/usr/share/galen/knowledge:/etc/galen/knowledge" "/usr/share/galen/knowledge" (hasKey $volumes "knowledge") | quote }}}
        - {name: STORE, value: {{ include "galen.store" (dict "root" $root "component" "toolbox") | quote }}}
        - {name: ORCHESTRATOR, value: {{ include "galen.address" (dict "root" $root "component" "orchestrator") | quote }}}
        - {name: EXECUTION, value: {{ include "galen.address" (dict "root" $root "component" "execution") | quote }}}
        {{- if $root.Values.advisor.enabled }}
        - {name: GALEN_ADVISOR, value: {{ include "galen.address" (dict "root" $root "component" "advisor") | quote }}}
        {{- end }}
        {{- end }}
        {{- with $settings.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- if ne $component "toolbox" }}
      ports:
        {{- if eq $component "gateway" }}
        - {name: http, containerPort: 8080, protocol: TCP}
        - {name: metrics, containerPort: 9464, protocol: TCP}
        {{- else if $node }}
        - {name: grpc, containerPort: {{ $settings.port }}, protocol: TCP}
        - {name: health, containerPort: {{ $settings.healthPort }}, protocol: TCP}
        - {name: metrics, containerPort: {{ $settings.metricsPort }}, protocol: TCP}
        {{- else }}
        - {name: grpc, containerPort: {{ include "galen.port" . }}, protocol: TCP}
        - {name: health, containerPort: 50059, protocol: TCP}
        - {name: metrics, containerPort: 9464, protocol: TCP}
        {{- end }}
      {{- if eq $component "gateway" }}
      {{- $scheme := ternary "HTTPS" "HTTP" (not (empty $settings.httpsSecret)) }}
      startupProbe: {tcpSocket: {port: http}, periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 60}
      livenessProbe: {tcpSocket: {port: http}, periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 3}
      readinessProbe: {httpGet: {path: /healthz, port: http, scheme: {{ $scheme }}}, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 2}
      {{- else }}
      {{- $health := ternary $settings.healthPort 50059 $node }}
      # (A kubelet's probe speaks no TLS: health has a port of its own.)
      startupProbe: {grpc: {port: {{ $health }}, service: liveness}, periodSeconds: 2, timeoutSeconds: 3, failureThreshold: 60}
      livenessProbe: {grpc: {port: {{ $health }}, service: liveness}, periodSeconds: 10, timeoutSeconds: 3, failureThreshold: 3}
      readinessProbe: {grpc: {port: {{ $health }}, service: readiness}, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 2}
      {{- end }}
      lifecycle: {preStop: {sleep: {seconds: {{ $settings.preStopSeconds }}}}}
      {{- end }}
      {{- $resources := $settings.resources }}
      {{- if and $node $settings.devices.rdma.enabled }}
      {{- $resources = mergeOverwrite (deepCopy $resources) (dict "limits" (dict $settings.devices.rdma.resource 1)) }}
      {{- end }}
      resources:
        {{- toYaml $resources | nindent 8 }}
      securityContext:
        allowPrivilegeEscalation: false
        privileged: false
        readOnlyRootFilesystem: true
        capabilities:
          drop: [ALL]
          {{- if $node }}
          # SYSLOG: the kernel log by syslog(2); /dev/kmsg is refused to a container without privileges.
          add: [SYSLOG{{ if $settings.devices.rdma.enabled }}, IPC_LOCK{{ end }}{{ if $settings.hostPID }}, SYS_PTRACE{{ end }}]
          {{- end }}
      volumeMounts:
        {{- range $name, $volume := $volumes }}
        - {{ omit (merge (dict "name" $name) $volume) "source" | toJson }}
        {{- end }}
        {{- with $settings.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
  volumes:
    {{- range $name, $volume := $volumes }}
    - {{ merge (dict "name" $name) $volume.source | toJson }}
    {{- end }}
    {{- with $settings.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end }}
