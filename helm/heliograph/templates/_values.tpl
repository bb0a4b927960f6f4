{{- /* Values that were taken away. */ -}}

{{- /*
Puts empty sections where `key: null` has removed them, so that no template trips over one: without its
values a part is off. Each template begins with it.
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
prometheusRule: {}
dashboard: {}
networkPolicy: {}
strimzi: {topics: {config: {}}, user: {}}
tests: {}
{{- end }}

{{- /*
YAML of a map without what is null, "" or an empty map. In a chart of charts Helm 4.3 keeps a default
that is set to null; "" removes it with every Helm.
*/ -}}
{{- define "heliograph.given" -}}
{{- $given := dict }}
{{- range $key, $value := . }}
  {{- if kindIs "map" $value }}{{ $value = include "heliograph.given" $value | fromYaml }}{{ end }}
  {{- if not (or (kindIs "invalid" $value) (has $value (list "" dict))) }}{{ $_ := set $given $key $value }}{{ end }}
{{- end }}
{{- toYaml $given }}
{{- end }}
