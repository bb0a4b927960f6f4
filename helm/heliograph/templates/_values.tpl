{{- /* Values that the user removed. */ -}}

{{- /*
Replaces each section that `key: null` has removed with an empty one, so that no template fails on it. An
empty section turns its part off. Each template includes this first.
*/ -}}
{{- define "heliograph.prepare" -}}
{{- $_ := mustMerge .Values (include "heliograph.sections" . | fromYaml) }}
{{- end }}

{{- define "heliograph.sections" -}}
image: {}
staticMembership: {}
openshift: {}
config: {}
credentials: {}
files: {}
ownSchemas: {}
kafka: {sasl: {}, tls: {ca: {}, client: {}}}
resources: {}
updateStrategy: {}
probes: {startup: {}, liveness: {}, readiness: {}}
podLabels: {}
commonLabels: {}
serviceAccount: {}
extraEnv: []
podDisruptionBudget: {}
autoscaling: {keda: {}, hpa: {}}
podMonitor: {}
serviceMonitor: {}
reloader: {}
global: {}
prometheusRule: {}
dashboard: {}
networkPolicy: {}
strimzi: {topics: {config: {}}, user: {}}
canary: {tokenSecret: {}, resources: {}}
tests: {}
{{- end }}

{{- /*
YAML of a map without entries that are null, "" or empty. In an umbrella chart Helm 4.3 keeps a default
that is set to null; "" removes it with every Helm.
*/ -}}
{{- define "heliograph.given" -}}
{{- $given := dict }}
{{- range $key, $value := . }}
  {{- if kindIs "map" $value }}{{ $value = include "heliograph.given" $value | fromYaml }}{{ end }}
  {{- if not (or (kindIs "invalid" $value) (has $value (list "" dict list))) }}{{ $_ := set $given $key $value }}{{ end }}
{{- end }}
{{- toYaml $given }}
{{- end }}

{{- /*
YAML of a value that may contain {{ templates }}, such as the release's name. Takes a list: root, value.
Do not use it for annotations of pods: there, Vault's injector has its own templates.
*/ -}}
{{- define "heliograph.tpl" -}}
{{- $value := index . 1 }}
{{- $text := kindIs "string" $value | ternary $value (toYaml $value) }}
{{- if contains "{{" $text }}{{ $text = tpl $text (index . 0) }}{{ end }}
{{- $text }}
{{- end }}
