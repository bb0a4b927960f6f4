{{- /* The pod of the Deployment, the StatefulSet and the test. */ -}}

{{- /*
YAML list of environment variables: the configuration's file, also for commands that run in the pod; pod name for static
membership; librdkafka properties from Secrets.
*/ -}}
{{- define "heliograph.environment" -}}
{{- $variables := list (dict "name" "HELIOGRAPH_CONFIG" "value" "/etc/heliograph/config/heliograph.yaml") }}
{{- if .Values.staticMembership.enabled }}
  {{- $variables = append $variables (dict "name" "HELIOGRAPH_KAFKA_GROUP_INSTANCE_ID"
      "valueFrom" (dict "fieldRef" (dict "apiVersion" "v1" "fieldPath" "metadata.name"))) }}
{{- end }}
{{- range $property, $reference := include "heliograph.kafkaSecretProperties" . | fromYaml }}
  {{- $name := printf "HELIOGRAPH_KAFKA_PROPERTIES_%s" ($property | replace "." "_" | upper) }}
  {{- $variables = append $variables (dict "name" $name "valueFrom" (dict "secretKeyRef" $reference)) }}
{{- end }}
{{- toYaml $variables }}
{{- end }}

{{- /*
YAML list of mounts, each with its volume. Directories, never subPath: the kubelet updates only
directories, and the process must see a rotated key.
*/ -}}
{{- define "heliograph.mounts" -}}
{{- $root := . }}
{{- $mounts := list (dict "name" "config" "path" "/etc/heliograph/config"
    "configMap" (include "heliograph.configMapName" .)) }}
{{- range $name, $credential := .Values.credentials }}
  {{- $secret := $credential.existingSecret }}
  {{- if $credential.inlineFiles }}
    {{- $secret = include "heliograph.credentialSecretName" (list $root $name) }}
  {{- end }}
  {{- if $secret }}
    {{- $mounts = append $mounts (dict "name" (printf "credential-%s" $name)
        "path" (printf "/etc/heliograph/credentials/%s" $name) "secret" $secret) }}
  {{- end }}
{{- end }}
{{- with include "heliograph.ownSchemas" . }}
  {{- $mounts = append $mounts (dict "name" "schemas" "path" "/etc/heliograph/schemas" "configMap" .) }}
{{- end }}
{{- range $key, $file := .Values.files }}
  {{- $name := printf "file-%s" ($key | replace "." "-" | replace "_" "-") }}
  {{- $mount := dict "name" $name "path" (printf "/etc/heliograph/files/%s" $key) }}
  {{- $mounts = append $mounts (mustMerge $mount (pick $file "secret" "configMap")) }}
{{- end }}
{{- $access := include "heliograph.kafkaAccess" . | fromYaml }}
{{- with $access.sasl }}
  {{- $mounts = append $mounts (dict "name" "kafka-username" "path" "/etc/heliograph/kafka-username" "secret" .username.name) }}
  {{- $mounts = append $mounts (dict "name" "kafka-password" "path" "/etc/heliograph/kafka-password" "secret" .password.name) }}
{{- end }}
{{- with $access.tls }}
  {{- with .ca.secret }}
    {{- $mounts = append $mounts (dict "name" "kafka-ca" "path" "/etc/heliograph/kafka-ca" "secret" .) }}
  {{- end }}
  {{- with .client.secret }}
    {{- $mounts = append $mounts (dict "name" "kafka-client" "path" "/etc/heliograph/kafka-client" "secret" .) }}
  {{- end }}
{{- end }}
{{- toYaml $mounts }}
{{- end }}

{{- define "heliograph.volumes" -}}
{{- range $mount := include "heliograph.mounts" . | fromYamlArray }}
- name: {{ $mount.name }}
  {{- if $mount.secret }}
  secret:
    secretName: {{ $mount.secret }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ $mount.configMap }}
    defaultMode: 0444
  {{- end }}
{{- end }}
{{- with .Values.extraVolumes }}
{{ include "heliograph.tpl" (list $ .) }}
{{- end }}
{{- end }}

{{- /* Container fields that the service and the test share: image, variables, mounts, security. */ -}}
{{- define "heliograph.containerBase" -}}
image: {{ include "heliograph.image" . }}
{{- with .Values.image.pullPolicy }}
imagePullPolicy: {{ . }}
{{- end }}
securityContext:
  {{- include "heliograph.given" .Values.securityContext | nindent 2 }}
{{- $environment := concat (include "heliograph.environment" . | fromYamlArray)
    (include "heliograph.tpl" (list . .Values.extraEnv) | fromYamlArray) }}
{{- with $environment }}
env:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.extraEnvFrom }}
envFrom:
  {{- include "heliograph.tpl" (list $ .) | nindent 2 }}
{{- end }}
volumeMounts:
  {{- range $mount := include "heliograph.mounts" . | fromYamlArray }}
  - {name: {{ $mount.name }}, mountPath: {{ $mount.path }}, readOnly: true}
  {{- end }}
  {{- with .Values.extraVolumeMounts }}
  {{- include "heliograph.tpl" (list $ .) | nindent 2 }}
  {{- end }}
{{- end }}

{{- /* OpenShift assigns users and groups to each namespace, and refuses all others. */ -}}
{{- define "heliograph.podSecurityContext" -}}
{{- $context := .Values.podSecurityContext | default dict }}
{{- if .Values.openshift.enabled }}
  {{- $context = omit $context "runAsUser" "runAsGroup" "fsGroup" "fsGroupChangePolicy" }}
{{- end }}
{{- include "heliograph.given" $context }}
{{- end }}

{{- /* Pod fields that the service and the test share. */ -}}
{{- define "heliograph.podBase" -}}
serviceAccountName: {{ include "heliograph.serviceAccountName" . }}
automountServiceAccountToken: {{ .Values.serviceAccount.automount | default false }}
# Variables such as HELIOGRAPH_PORT, made from a Service's name, would be unknown configuration keys.
enableServiceLinks: false
securityContext:
  {{- include "heliograph.podSecurityContext" . | nindent 2 }}
{{- with concat (.Values.global.imagePullSecrets | default list) (.Values.imagePullSecrets | default list) }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- range $key := list "priorityClassName" "runtimeClassName" "schedulerName" "dnsPolicy" "dnsConfig"
    "hostAliases" "nodeSelector" "tolerations" "affinity" "initContainers" }}
{{- with get $.Values $key }}
{{ include "heliograph.tpl" (list $ (dict $key .)) }}
{{- end }}
{{- end }}
{{- end }}

{{- /*
Checksum of what needs a restart: the configuration and inline Kafka credentials. The pods reload keys,
certificates and schemas without one. It depends on the text only, so a new chart version restarts nothing.
*/ -}}
{{- define "heliograph.checksum" -}}
{{- $access := include "heliograph.kafkaAccess" . | fromYaml }}
{{- printf "%s\n%s" (include "heliograph.configuration" .) (dig "sasl" dict $access | toYaml) | sha256sum }}
{{- end }}

{{- define "heliograph.workloadAnnotations" -}}
{{- $reloader := include "heliograph.reloaderAnnotations" (list . list) | fromYaml }}
{{- mustMerge $reloader (.Values.annotations | default dict) | toYaml }}
{{- end }}

{{- /* For Stakater's Reloader: the Secrets in variables. Takes the root and the names of further Secrets. */ -}}
{{- define "heliograph.reloaderAnnotations" -}}
{{- $root := index . 0 }}
{{- if $root.Values.reloader.enabled }}
  {{- $secrets := index . 1 }}
  {{- range concat (include "heliograph.environment" $root | fromYamlArray) $root.Values.extraEnv }}
    {{- $secrets = append $secrets (dig "valueFrom" "secretKeyRef" "name" "" .) }}
  {{- end }}
  {{- range $root.Values.extraEnvFrom }}{{ $secrets = append $secrets (dig "secretRef" "name" "" .) }}{{ end }}
  {{- with without $secrets "" | uniq | sortAlpha }}
secret.reloader.stakater.com/reload: {{ join "," . }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* No label has a version, so that a new chart version restarts nothing. */ -}}
{{- define "heliograph.podTemplate" -}}
metadata:
  labels:
    {{- include "heliograph.selectorLabels" . | nindent 4 }}
    app.kubernetes.io/component: sender
    app.kubernetes.io/part-of: heliograph
    {{- with mustMerge (deepCopy .Values.podLabels) .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    heliograph/checksum: {{ include "heliograph.checksum" . }}
    kubectl.kubernetes.io/default-container: heliograph
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- include "heliograph.podBase" . | nindent 2 }}
  terminationGracePeriodSeconds: {{ int64 .Values.terminationGracePeriodSeconds }}
  {{- with .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- range $constraint := . }}
    {{- $selector := include "heliograph.selectorLabels" $ | fromYaml }}
    - {{- mustMerge (deepCopy $constraint) (dict "labelSelector" (dict "matchLabels" $selector)) | toYaml | nindent 6 }}
    {{- end }}
  {{- end }}
  containers:
    - name: heliograph
      command: [heliograph, run]
      {{- include "heliograph.containerBase" . | nindent 6 }}
      ports:
        - {name: admin, containerPort: {{ int .Values.config.admin.port }}, protocol: TCP}
      {{- range $name, $path := dict "startup" "/startup" "liveness" "/live" "readiness" "/ready" }}
      {{- $probe := get $.Values.probes $name }}
      {{- if $probe.enabled }}
      {{ $name }}Probe:
        httpGet: {path: {{ $path }}, port: admin}
        {{- omit $probe "enabled" | include "heliograph.given" | nindent 8 }}
      {{- end }}
      {{- end }}
      {{- with .Values.lifecycle }}
      lifecycle:
        {{- include "heliograph.tpl" (list $ .) | nindent 8 }}
      {{- end }}
      resources:
        {{- include "heliograph.given" .Values.resources | nindent 8 }}
    {{- with .Values.extraContainers }}
    {{- include "heliograph.tpl" (list $ .) | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "heliograph.volumes" . | nindent 4 }}
{{- end }}
