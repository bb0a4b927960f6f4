{{- /* Names and labels. */ -}}

{{- define "heliograph.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /*
At most 46 characters: a Deployment's pods add 17, and a pod's host name, which is part of its transactional
IDs, is truncated to 63.
*/ -}}
{{- define "heliograph.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride }}
{{- $full := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) }}
{{- default $full .Values.fullnameOverride | trunc 46 | trimSuffix "-" }}
{{- end }}

{{- define "heliograph.selectorLabels" -}}
app.kubernetes.io/name: {{ include "heliograph.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- /* Name of the pod of `helm test`, which the service's selectors do not match. */ -}}
{{- define "heliograph.testName" -}}
{{ include "heliograph.name" . | trunc 58 }}-test
{{- end }}

{{- /* Labels that select the canary's pod; the service's selectors do not match them. */ -}}
{{- define "heliograph.canarySelectorLabels" -}}
app.kubernetes.io/name: {{ include "heliograph.canaryName" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "heliograph.canaryName" -}}
{{ include "heliograph.name" . | trunc 56 }}-canary
{{- end }}

{{- define "heliograph.canaryLabels" -}}
{{- mustMerge (include "heliograph.canarySelectorLabels" . | fromYaml)
    (dict "app.kubernetes.io/component" "canary") (include "heliograph.commonLabels" . | fromYaml) | toYaml }}
{{- end }}

{{- define "heliograph.labels" -}}
{{ include "heliograph.selectorLabels" . }}
{{ include "heliograph.commonLabels" . }}
{{- end }}

{{- /* Labels of all objects, including pods that the service's selectors must not match. */ -}}
{{- define "heliograph.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: sender
app.kubernetes.io/part-of: heliograph
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "heliograph.serviceAccountName" -}}
{{- $none := "default" }}
{{- if .Values.serviceAccount.create }}{{ $none = include "heliograph.fullname" . }}{{ end }}
{{- default $none .Values.serviceAccount.name }}
{{- end }}

{{- define "heliograph.image" -}}
{{- $repository := default .Chart.Name .Values.image.repository }}
{{- with .Values.global.imageRegistry | default .Values.image.registry }}
  {{- $repository = printf "%s/%s" (trimSuffix "/" .) $repository }}
{{- end }}
{{- if .Values.image.digest }}
{{- $repository }}@{{ .Values.image.digest }}
{{- else }}
{{- $repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end }}
{{- end }}

{{- define "heliograph.workloadKind" -}}
{{ if .Values.staticMembership.enabled }}StatefulSet{{ else }}Deployment{{ end }}
{{- end }}

{{- define "heliograph.isAutoscaled" -}}
{{- if or .Values.autoscaling.hpa.enabled .Values.autoscaling.keda.enabled }}true{{ end }}
{{- end }}

{{- /* Secret of an APNs credential with inline files. Takes a list: root, name of the credential. */ -}}
{{- define "heliograph.credentialSecretName" -}}
{{ include "heliograph.fullname" (index . 0) }}-credential-{{ index . 1 }}
{{- end }}
