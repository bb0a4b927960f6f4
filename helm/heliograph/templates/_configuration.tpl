{{- /* heliograph.yaml: the value `config` and what the chart adds to it. */ -}}

{{- define "heliograph.configuration" -}}
{{- include "heliograph.validate" . }}
{{- $config := deepCopy .Values.config }}
{{- $_ := set $config.kafka "properties" (include "heliograph.kafkaProperties" . | fromYaml) }}
{{- /*
A topic is off with "", which every Helm version keeps, or null, which Helm drops. If the key were missing,
Heliograph would use its own default.
*/ -}}
{{- range $key := list "token_status_topic" "dead_letter_topic" }}
  {{- if not (get $config.results $key) }}{{ $_ := set $config.results $key nil }}{{ end }}
{{- end }}
{{- if include "heliograph.ownSchemas" . }}
  {{- $_ := set $config "schemas" (set (dig "schemas" dict $config) "directory" "/etc/heliograph/schemas") }}
{{- end }}
{{- range $key, $file := .Values.files }}
  {{- $path := splitList "." $key }}
  {{- $section := dig (first $path) dict $config | default dict }}
  {{- $_ := set $config (first $path) (set $section (last $path) (printf "/etc/heliograph/files/%s/%s" $key $file.key)) }}
{{- end }}
{{- $apns := dig "apns" dict $config | default dict }}
{{- $_ := set $config "apns" (set $apns "credentials" (include "heliograph.credentials" . | fromYamlArray)) }}
{{- toYaml $config }}
{{- end }}

{{- define "heliograph.configMapName" -}}
{{ include "heliograph.fullname" . }}-{{ include "heliograph.configuration" . | sha256sum | trunc 8 }}
{{- end }}

{{- /* YAML list: `apns.credentials`, in the order of their names. */ -}}
{{- define "heliograph.credentials" -}}
{{- $credentials := list }}
{{- range $name, $values := .Values.credentials }}
  {{- $credential := omit (deepCopy $values) "existingSecret" "files" "inlineFiles" }}
  {{- $_ := set $credential "name" $name }}
  {{- range $key, $item := $values.files }}
    {{- $_ := set $credential $key (printf "/etc/heliograph/credentials/%s/%s" $name $item) }}
  {{- end }}
  {{- range $key, $_text := $values.inlineFiles }}
    {{- $_ := set $credential $key (printf "/etc/heliograph/credentials/%s/%s" $name $key) }}
  {{- end }}
  {{- $credentials = append $credentials $credential }}
{{- end }}
{{- toYaml $credentials }}
{{- end }}

{{- /* Name of the ConfigMap with the user's schemas; empty: none. */ -}}
{{- define "heliograph.ownSchemas" -}}
{{- if .Values.ownSchemas.existingConfigMap }}{{ .Values.ownSchemas.existingConfigMap }}
{{- else if .Values.ownSchemas.inline }}{{ include "heliograph.fullname" . }}-schemas
{{- end }}
{{- end }}

{{- /* Milliseconds of a duration: a whole number and ms, s, m or h. */ -}}
{{- define "heliograph.milliseconds" -}}
{{- $number := regexFind "^[0-9]+" . | int64 }}
{{- $unit := regexFind "[a-z]+$" . }}
{{- mul $number (get (dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000) $unit) }}
{{- end }}

{{- /* Bytes of a Heliograph size (64MiB, 1GB) or a Kubernetes quantity (512Mi, 1.5G). */ -}}
{{- define "heliograph.bytes" -}}
{{- $number := regexFind "^[0-9.]+(e[+]?[0-9]+)?" . | float64 }}
{{- $unit := regexReplaceAll "^[0-9.]+(e[+]?[0-9]+)?" . "" | trimSuffix "B" | upper }}
{{- $power := dict "K" 1000 "M" 1000000 "G" 1000000000 "T" 1000000000000
    "KI" 1024 "MI" 1048576 "GI" 1073741824 "TI" 1099511627776 }}
{{- mulf $number (get $power $unit | default 1) | floor | int64 }}
{{- end }}

{{- /* A duration in the largest unit that divides it, as in names of retry topics: 60s is 1m. */ -}}
{{- define "heliograph.durationText" -}}
{{- $milliseconds := include "heliograph.milliseconds" . | int64 }}
{{- if eq 0 (mod $milliseconds 3600000) }}{{ div $milliseconds 3600000 }}h
{{- else if eq 0 (mod $milliseconds 60000) }}{{ div $milliseconds 60000 }}m
{{- else if eq 0 (mod $milliseconds 1000) }}{{ div $milliseconds 1000 }}s
{{- else }}{{ $milliseconds }}ms
{{- end }}
{{- end }}

{{- /* Ports in a list of addresses separated by commas. Takes a list: addresses, default port. */ -}}
{{- define "heliograph.ports" -}}
{{- $default := index . 1 }}
{{- $ports := list }}
{{- range $address := splitList "," (index . 0) }}
  {{- $port := regexFind ":[0-9]+(/.*)?$" (trim $address) | regexFind "[0-9]+" }}
  {{- $ports = append $ports (int (default $default $port)) }}
{{- end }}
{{- toJson (uniq $ports) }}
{{- end }}
