{{- /* Checks that the schema cannot express. Each message names the value and what to do. */ -}}

{{- define "heliograph.validate" -}}
{{- include "heliograph.validateConfig" . }}
{{- include "heliograph.validateCredentials" . }}
{{- include "heliograph.validateKafka" . }}
{{- include "heliograph.validateScaling" . }}
{{- include "heliograph.validatePod" . }}
{{- end }}

{{- define "heliograph.validateConfig" -}}
{{- $config := .Values.config | default dict }}
{{- range $section := list "kafka" "results" "admin" }}
  {{- if not (kindIs "map" (get $config $section)) }}
    {{- fail (printf "config.%s: null removes keys that the chart needs; set only the keys that you want to change" $section) }}
  {{- end }}
{{- end }}
{{- range $key := list "kafka.bootstrap_servers" "kafka.group_id" "results.topic" }}
  {{- $path := splitList "." $key }}
  {{- if not (get (get $config (first $path)) (last $path)) }}
    {{- fail (printf "config.%s: null removes the default, which the chart needs; leave it out" $key) }}
  {{- end }}
{{- end }}
{{- if dig "apns" "credentials" nil $config }}
  {{- fail "config.apns.credentials: put them into `credentials`, so that their files are mounted" }}
{{- end }}
{{- if .Values.canary.enabled }}
  {{- if not .Values.canary.bundleId }}{{ fail "canary.bundleId: name an app that a credential covers" }}{{ end }}
  {{- if not .Values.canary.tokenSecret.name }}{{ fail "canary.tokenSecret.name: name a Secret with the token of a device" }}{{ end }}
{{- end }}
{{- if not $config.sources }}{{ fail "config.sources: name at least one topic with events" }}{{ end }}
{{- if not $config.admin.port }}
  {{- fail "config.admin.port: probes and scrapes need a fixed port, not 0" }}
{{- end }}
{{- $host := toString $config.admin.host }}
{{- if regexMatch "^(localhost|127\\..*|(0*:)+0*1|::ffff:127\\..*)$" (lower $host) }}
  {{- fail (printf "config.admin.host: probes and scrapes use the pod's address, not %s; use 0.0.0.0 or ::, and networkPolicy" $host) }}
{{- end }}
{{- if dig "kafka" "group_instance_id" nil $config }}
  {{- fail "config.kafka.group_instance_id: all pods would have the same ID; set staticMembership.enabled instead" }}
{{- end }}
{{- if dig "results" "transactional_id" nil $config }}
  {{- fail "config.results.transactional_id: all pods would have the same ID; leave it out, and each pod makes its own from the group's and the pod's name" }}
{{- end }}
{{- if and (include "heliograph.ownSchemas" .) (dig "schemas" "directory" nil $config) }}
  {{- fail "config.schemas.directory: leave it out, because ownSchemas sets it" }}
{{- end }}
{{- if and .Values.ownSchemas.existingConfigMap .Values.ownSchemas.inline }}
  {{- fail "ownSchemas: set either existingConfigMap or inline, not both" }}
{{- end }}
{{- range $key, $file := .Values.files }}
  {{- $path := splitList "." $key }}
  {{- if dig (first $path) (last $path) nil $config }}
    {{- fail (printf "config.%s: leave it out, because files sets it" $key) }}
  {{- end }}
  {{- if and (has $key (list "admin.bearer_token_file" "admin.private_key_file")) $file.configMap }}
    {{- fail (printf "files.%s: this file is confidential; use a secret instead of a configMap" $key) }}
  {{- end }}
  {{- if eq (empty $file.secret) (empty $file.configMap) }}
    {{- fail (printf "files.%s: name either a secret or a configMap" $key) }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "heliograph.validateCredentials" -}}
{{- if not .Values.credentials }}
  {{- fail "credentials: name at least one APNs credential; a minimal installation is `helm install NAME helm/heliograph --values helm/heliograph/ci/default-values.yaml`, with your key in it" }}
{{- end }}
{{- range $name, $credential := .Values.credentials }}
  {{- $place := printf "credentials.%s" $name }}
  {{- if and $credential.existingSecret $credential.inlineFiles }}
    {{- fail (printf "%s: set either existingSecret or inlineFiles, not both" $place) }}
  {{- end }}
  {{- if and $credential.existingSecret (not $credential.files) }}
    {{- fail (printf "%s.files: map files to keys of the Secret %s, such as {key_file: key.p8}" $place $credential.existingSecret) }}
  {{- end }}
  {{- if and $credential.files (not $credential.existingSecret) }}
    {{- fail (printf "%s.existingSecret: name the Secret that files are in" $place) }}
  {{- end }}
  {{- $files := mustMerge (pick $credential "key_file" "certificate_file")
      ($credential.files | default dict) ($credential.inlineFiles | default dict) }}
  {{- if not (or $files.key_file $files.certificate_file) }}
    {{- fail (printf "%s: has no key_file and no certificate_file; set one, in files, inlineFiles or as a path" $place) }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "heliograph.validateKafka" -}}
{{- $kafka := .Values.kafka }}
{{- $strimzi := .Values.strimzi }}
{{- if and (or $strimzi.topics.enabled $strimzi.user.enabled) (not $strimzi.cluster) }}
  {{- fail "strimzi.cluster: name the Kafka resource that the topics and the user belong to" }}
{{- end }}
{{- if and $strimzi.topics.enabled .Values.config.kafka.create_topics }}
  {{- fail "config.kafka.create_topics: leave it false, because strimzi.topics creates the topics" }}
{{- end }}
{{- $names := list }}
{{- range include "heliograph.topics" . | fromYamlArray }}{{ $names = append $names .name }}{{ end }}
{{- range $name, $_override := $strimzi.topics.overrides }}
  {{- if not (has $name $names) }}
    {{- fail (printf "strimzi.topics.overrides.%s: the configuration has no such topic; its topics are %s" $name (join ", " $names)) }}
  {{- end }}
{{- end }}
{{- if $strimzi.user.enabled }}
  {{- if $kafka.sasl.mechanism }}
    {{- fail "kafka.sasl.mechanism: leave it empty, because strimzi.user sets it" }}
  {{- end }}
  {{- if and (eq $strimzi.user.type "tls") (not $kafka.tls.enabled) }}
    {{- fail "kafka.tls.enabled: set it, because strimzi.user.type tls needs it" }}
  {{- end }}
  {{- if and $strimzi.namespace (ne $strimzi.namespace .Release.Namespace) }}
    {{- fail "strimzi.namespace: pods cannot read the Secret of a KafkaUser in another namespace; copy it and set kafka.sasl or kafka.tls instead of strimzi.user" }}
  {{- end }}
{{- else if $kafka.sasl.mechanism }}
  {{- if not (or $kafka.sasl.existingSecret (and $kafka.sasl.username $kafka.sasl.password)) }}
    {{- fail "kafka.sasl.existingSecret: name the Secret with user name and password" }}
  {{- end }}
{{- else if or $kafka.sasl.existingSecret $kafka.sasl.password }}
  {{- fail "kafka.sasl.mechanism: set it, for example to SCRAM-SHA-512" }}
{{- end }}
{{- if and $kafka.sasl.existingSecret $kafka.sasl.password }}
  {{- fail "kafka.sasl: set either existingSecret or password, not both" }}
{{- end }}
{{- if and (not $kafka.tls.enabled) (or $kafka.tls.ca.secret $kafka.tls.client.secret) }}
  {{- fail "kafka.tls.enabled: set it, or leave out the Secrets" }}
{{- end }}
{{- $properties := .Values.config.kafka.properties | default dict }}
{{- $access := include "heliograph.kafkaAccess" . | fromYaml }}
{{- range $property := list "security.protocol" "sasl.mechanism" "sasl.mechanisms" "sasl.username"
    "ssl.ca.location" "ssl.certificate.location" "ssl.key.location" }}
  {{- if and (or $access.sasl $access.tls) (hasKey $properties $property) }}
    {{- fail (printf "config.kafka.properties.%s: leave it out, because kafka.sasl, kafka.tls or strimzi.user sets it" $property) }}
  {{- end }}
{{- end }}
{{- range $property := list "sasl.password" "sasl.oauthbearer.client.secret"
    "ssl.key.password" "ssl.key.pem" "ssl.keystore.password" }}
  {{- if hasKey $properties $property }}
    {{- fail (printf "config.kafka.properties.%s: it is confidential, and a ConfigMap is not; use kafka.sasl, kafka.tls or kafka.secretProperties" $property) }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "heliograph.validateScaling" -}}
{{- $hpa := .Values.autoscaling.hpa }}
{{- $keda := .Values.autoscaling.keda }}
{{- if and $hpa.enabled $keda.enabled }}
  {{- fail "autoscaling: enable either keda or hpa, not both; two autoscalers would fight" }}
{{- end }}
{{- range $kind, $scaler := .Values.autoscaling }}
  {{- if and $scaler.enabled (gt (int $scaler.minReplicas) (int $scaler.maxReplicas)) }}
    {{- fail (printf "autoscaling.%s.minReplicas: is more than maxReplicas; lower it" $kind) }}
  {{- end }}
{{- end }}
{{- if and $hpa.enabled (not $hpa.targetCPUUtilizationPercentage) (not $hpa.metrics) }}
  {{- fail "autoscaling.hpa: nothing to scale on; set targetCPUUtilizationPercentage or metrics" }}
{{- end }}
{{- if and $hpa.enabled $hpa.targetCPUUtilizationPercentage (not (dig "requests" "cpu" nil .Values.resources)) }}
  {{- fail "resources.requests.cpu: autoscaling.hpa scales on a percentage of it" }}
{{- end }}
{{- if and $keda.limitToPartitionsWithLag (or $keda.ensureEvenDistributionOfPartitions $keda.allowIdleConsumers) }}
  {{- fail "autoscaling.keda.limitToPartitionsWithLag: cannot be combined with ensureEvenDistributionOfPartitions or allowIdleConsumers" }}
{{- end }}
{{- $shards := dig "shards" 0 .Values.config | default 0 | int }}
{{- if and $keda.enabled $keda.ensureEvenDistributionOfPartitions (ne 1 $shards) }}
  {{- fail "autoscaling.keda.ensureEvenDistributionOfPartitions: KEDA counts a pod as one consumer, but a pod has one for each shard; set config.shards to 1, or leave it off" }}
{{- end }}
{{- if and $keda.enabled (not $keda.authenticationRef) (not $keda.metadata) (include "heliograph.hasOwnLogin" .) }}
  {{- fail "autoscaling.keda: KEDA cannot read a login in librdkafka properties; use kafka.sasl and kafka.tls, or give KEDA its own in authenticationRef and metadata" }}
{{- end }}
{{- $budget := .Values.podDisruptionBudget }}
{{- if and $budget.enabled (kindIs "invalid" $budget.minAvailable) (kindIs "invalid" $budget.maxUnavailable) }}
  {{- fail "podDisruptionBudget: set maxUnavailable or minAvailable" }}
{{- end }}
{{- end }}

{{- define "heliograph.validatePod" -}}
{{- if and .Values.podMonitor.enabled .Values.serviceMonitor.enabled }}
  {{- fail "serviceMonitor: enable only one of serviceMonitor and podMonitor; with both, each pod is scraped twice" }}
{{- end }}
{{- $drain := dig "limits" "drain_timeout" "10s" .Values.config }}
{{- $drainMilliseconds := include "heliograph.milliseconds" $drain | int64 }}
{{- $grace := mul 1000 (int64 .Values.terminationGracePeriodSeconds) }}
{{- if le $grace (add $drainMilliseconds 10000) }}
  {{- fail (printf "terminationGracePeriodSeconds: %d s is too short; set more than config.limits.drain_timeout (%s) plus 10 s for leaving the group, or the pod is killed during the drain" (int64 .Values.terminationGracePeriodSeconds) $drain) }}
{{- end }}
{{- $memory := dig "limits" "memory" "" .Values.resources | default "" | toString }}
{{- $shards := dig "shards" 0 .Values.config | default 0 | int64 }}
{{- if and $memory (not $shards) }}
  {{- fail "config.shards: null means one for each core of the node, which may need more than resources.limits.memory; set a number, or no memory limit" }}
{{- end }}
{{- $tokens := dig "tokens" "max_suppressed" 1000000 .Values.config | default 1000000 }}
{{- $inFlight := dig "limits" "in_flight_bytes" "64MiB" .Values.config | default "64MiB" }}
{{- $bytes := include "heliograph.bytes" (toString $inFlight) | int64 }}
{{- $events := dig "limits" "in_flight_events" 10000 .Values.config | default 10000 | int64 }}
{{- /* Beside its bytes, an event in flight takes 1.2 KB: docs/how-to/size-a-deployment.md. */ -}}
{{- $needed := add 60 (div $bytes 1048576) (div (mul 1200 $events) 1048576) (mul 32 $shards)
    (div (mul 32 (int64 $tokens)) 1000000) }}
{{- if and $memory (lt (include "heliograph.bytes" $memory | int64) (mul $needed 1048576)) }}
  {{- fail (printf "resources.limits.memory: %s is less than the %d MiB that a pod may use: 60 MiB, config.limits.in_flight_bytes (%s), 1.2 KB for each of config.limits.in_flight_events (%d), 32 MiB for each of config.shards (%d) and for each million of config.tokens.max_suppressed (%d)" $memory $needed (toString $inFlight) $events $shards (int64 $tokens)) }}
{{- end }}
{{- $own := include "heliograph.environment" . | fromYamlArray }}
{{- range $variable := .Values.extraEnv }}
  {{- $name := toString $variable.name }}
  {{- if regexMatch "^HELIOGRAPH_(ADMIN_(HOST|PORT)|LIMITS_DRAIN_TIMEOUT)$" $name }}
    {{- $key := regexReplaceAll "^HELIOGRAPH_(ADMIN|LIMITS)_" $name "config.${1}." | lower }}
    {{- fail (printf "extraEnv: use %s instead of %s, which the chart's probes and checks do not see" $key $name) }}
  {{- end }}
  {{- range $taken := $own }}
    {{- if eq $variable.name $taken.name }}
      {{- fail (printf "extraEnv: the chart sets %s itself" $variable.name) }}
    {{- end }}
  {{- end }}
{{- end }}
{{- $strategy := .Values.updateStrategy }}
{{- $isDeployment := eq (include "heliograph.workloadKind" .) "Deployment" }}
{{- $isStuck := and (eq "0" (toString $strategy.maxSurge)) (eq "0" (toString $strategy.maxUnavailable)) }}
{{- if and $isDeployment $isStuck }}
  {{- fail "updateStrategy: maxSurge and maxUnavailable cannot both be 0, because no pod could be replaced" }}
{{- end }}
{{- end }}
