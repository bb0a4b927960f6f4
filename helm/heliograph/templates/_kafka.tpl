{{- /* Access to Kafka: the values combined with Strimzi's conventions. */ -}}

{{- /*
YAML of: sasl {mechanism, username, password, passwordSecret, usernameSecret}, tls {ca, client}.
Missing parts are empty. Strimzi keeps a user's password and certificate in a Secret with the user's
name, and the cluster's roots in <cluster>-cluster-ca-cert.
*/ -}}
{{- define "heliograph.kafkaAccess" -}}
{{- $user := .Values.strimzi.user }}
{{- $fullname := include "heliograph.fullname" . }}
{{- $ownSecret := printf "%s-kafka" $fullname }}
{{- $sasl := .Values.kafka.sasl }}
{{- $access := dict }}
{{- if and $user.enabled (eq $user.type "scram-sha-512") }}
  {{- $_ := set $access "sasl" (dict
      "mechanism" "SCRAM-SHA-512" "ownUsername" $fullname
      "username" (dict "name" $ownSecret "key" "username")
      "password" (dict "name" $fullname "key" "password")) }}
{{- else if $sasl.mechanism }}
  {{- $username := dict "name" $sasl.existingSecret "key" (default "username" $sasl.usernameKey) }}
  {{- $password := dict "name" $sasl.existingSecret "key" (default "password" $sasl.passwordKey) }}
  {{- if $sasl.username }}{{ $username = dict "name" $ownSecret "key" "username" }}{{ end }}
  {{- if $sasl.password }}{{ $password = dict "name" $ownSecret "key" "password" }}{{ end }}
  {{- $_ := set $access "sasl" (dict
      "mechanism" $sasl.mechanism "ownUsername" $sasl.username "ownPassword" $sasl.password
      "username" $username "password" $password) }}
{{- end }}
{{- if .Values.kafka.tls.enabled }}
  {{- $tls := .Values.kafka.tls }}
  {{- $ca := $tls.ca }}
  {{- $client := $tls.client }}
  {{- if and $user.enabled (not $ca.secret) }}
    {{- $ca = dict "secret" (printf "%s-cluster-ca-cert" .Values.strimzi.cluster) "key" "ca.crt" }}
  {{- end }}
  {{- if and $user.enabled (eq $user.type "tls") }}
    {{- $client = dict "secret" $fullname "passphraseKey" ""
        "certificateKey" "user.crt" "privateKeyKey" "user.key" }}
  {{- end }}
  {{- $_ := set $access "tls" (dict "ca" $ca "client" $client) }}
{{- end }}
{{- toYaml $access }}
{{- end }}

{{- /* Whether librdkafka properties that the chart does not manage configure SASL or TLS. */ -}}
{{- define "heliograph.hasOwnLogin" -}}
{{- $properties := .Values.config.kafka.properties | default dict }}
{{- $names := keys $properties (.Values.kafka.secretProperties | default dict) }}
{{- range .Values.extraEnv }}
  {{- $names = append $names (toString .name | trimPrefix "HELIOGRAPH_KAFKA_PROPERTIES_" | lower | replace "_" ".") }}
{{- end }}
{{- $isPlain := eq "plaintext" (get $properties "security.protocol" | default "plaintext" | toString | lower) }}
{{- if not (include "heliograph.kafkaAccess" . | fromYaml) }}
  {{- range $names }}
    {{- if or (regexMatch "^(sasl|ssl)\\." .) (and (eq . "security.protocol") (not (and $isPlain (hasKey $properties .)))) }}true{{ end }}
  {{- end }}
{{- end }}
{{- end }}

{{- /* The librdkafka properties in heliograph.yaml: the user's and the chart's. */ -}}
{{- define "heliograph.kafkaProperties" -}}
{{- $access := include "heliograph.kafkaAccess" . | fromYaml }}
{{- $properties := deepCopy (.Values.config.kafka.properties | default dict) }}
{{- if or $access.sasl $access.tls }}
  {{- $login := hasKey $access "sasl" | ternary "SASL_" "" }}
  {{- $transport := hasKey $access "tls" | ternary "SSL" "PLAINTEXT" }}
  {{- $_ := set $properties "security.protocol" (print $login $transport) }}
{{- end }}
{{- with $access.sasl }}
  {{- $_ := set $properties "sasl.mechanism" .mechanism }}
  {{- $_ := set $properties "sasl.username_file" (printf "/etc/heliograph/kafka-username/%s" .username.key) }}
  {{- $_ := set $properties "sasl.password_file" (printf "/etc/heliograph/kafka-password/%s" .password.key) }}
{{- end }}
{{- with $access.tls }}
  {{- if .ca.secret }}
    {{- $_ := set $properties "ssl.ca.location" (printf "/etc/heliograph/kafka-ca/%s" .ca.key) }}
  {{- end }}
  {{- if .client.secret }}
    {{- $folder := "/etc/heliograph/kafka-client/" }}
    {{- $_ := set $properties "ssl.certificate.location" (print $folder .client.certificateKey) }}
    {{- $_ := set $properties "ssl.key.location" (print $folder .client.privateKeyKey) }}
    {{- with .client.passphraseKey }}{{ $_ := set $properties "ssl.key.password_file" (print $folder .) }}{{ end }}
  {{- end }}
{{- end }}
{{- toYaml $properties }}
{{- end }}

{{- /* YAML of: librdkafka property -> {name, key} of a Secret; they reach the service as variables. */ -}}
{{- define "heliograph.kafkaSecretProperties" -}}
{{- $references := dict }}
{{- range $property, $reference := .Values.kafka.secretProperties }}
  {{- $_ := set $references $property (dict "name" $reference.secret "key" $reference.key) }}
{{- end }}
{{- toYaml $references }}
{{- end }}

{{- /* YAML list of all topics: {name, kind}; kind is source, retry, results, token-status,
dead-letters, campaigns or campaign-tallies. */ -}}
{{- define "heliograph.topics" -}}
{{- $topics := list }}
{{- $later := dig "retry" "later" (list "1m" "15m") .Values.config }}
{{- range $source := .Values.config.sources }}
  {{- $topics = append $topics (dict "name" $source.topic "kind" "source") }}
  {{- range $delay := $later }}
    {{- $name := printf "%s.retry.%s" $source.topic (include "heliograph.durationText" $delay) }}
    {{- $topics = append $topics (dict "name" $name "kind" "retry") }}
  {{- end }}
{{- end }}
{{- $results := .Values.config.results }}
{{- $topics = append $topics (dict "name" $results.topic "kind" "results") }}
{{- with dig "token_status_topic" nil $results }}
  {{- $topics = append $topics (dict "name" . "kind" "token-status") }}
{{- end }}
{{- with dig "dead_letter_topic" nil $results }}
  {{- $topics = append $topics (dict "name" . "kind" "dead-letters") }}
{{- end }}
{{- with dig "campaigns" "topic" nil .Values.config }}
  {{- $topics = append $topics (dict "name" . "kind" "campaigns") }}
{{- end }}
{{- with dig "campaigns" "tally_topic" nil .Values.config }}
  {{- $topics = append $topics (dict "name" . "kind" "campaign-tallies") }}
{{- end }}
{{- toYaml $topics }}
{{- end }}
