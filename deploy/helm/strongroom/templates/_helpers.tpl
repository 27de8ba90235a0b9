{{/* The name of a part: strongroom-api in a release of the same name, else RELEASE-strongroom-api. */}}
{{- define "strongroom.base" -}}
{{- if contains "strongroom" .Release.Name -}}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{- else -}}{{ printf "%s-strongroom" .Release.Name | trunc 40 | trimSuffix "-" }}{{- end -}}
{{- end -}}

{{- define "strongroom.image" -}}
{{- with .Values.image -}}
{{ .repository }}{{ if .digest }}@{{ .digest }}{{ else }}:{{ .tag | default $.Chart.AppVersion }}{{ end }}
{{- end -}}
{{- end -}}

{{/* By which Services and policies find the pods of a part. In: root, part. */}}
{{- define "strongroom.selector" -}}
app.kubernetes.io/name: strongroom
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .part }}
{{- end -}}

{{- define "strongroom.labels" -}}
{{ include "strongroom.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end -}}

{{/* What a container may do: nothing but run. */}}
{{- define "strongroom.container" -}}
image: {{ include "strongroom.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- end -}}

{{/* What all pods of a part share. In: root, part, values, uid. */}}
{{- define "strongroom.pod" -}}
automountServiceAccountToken: {{ ne .values.serviceAccountName "default" }}
serviceAccountName: {{ .values.serviceAccountName }}
# Variables of Services could be taken for our own.
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: {{ .uid }}
  runAsGroup: {{ .uid }}
  fsGroup: {{ .uid }}
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: { type: RuntimeDefault }
{{- with .values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
# Not all on one machine.
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{ include "strongroom.selector" . | nindent 8 }}
{{- end -}}

{{/*
  Copies key files into memory, readable by their owner only: Kubernetes makes the files of a Secret readable by the pod's group, and
  our processes refuse such keys. In: root, name, files (file in /from: file in /keys), mounts.
*/}}
{{- define "strongroom.keys" -}}
- name: {{ .name }}
  {{- include "strongroom.container" .root | nindent 2 }}
  command:
    - sh
    - -euc
    - |
      {{- range $from, $to := .files }}
      rm -f /keys/{{ $to }} && install -m 0400 /from/{{ $from }} /keys/{{ $to }}
      {{- end }}
      {{- with .further }}
      {{- . | nindent 6 }}
      {{- end }}
  volumeMounts: {{ .mounts | nindent 4 }}
{{- end -}}

{{/* Where the vaults are, for an API: each pod by itself. */}}
{{- define "strongroom.vaults" -}}
{{- $base := include "strongroom.base" . -}}
{{- range $n := until (int .Values.vault.replicas) -}}
{{- if $n }},{{ end -}}
tls://{{ $base }}-vault-{{ $n }}.{{ $base }}-vault.{{ $.Release.Namespace }}.svc:7443
{{- end -}}
{{- end -}}

{{/* Variables of a part. In: root, secret, values, further (a map). */}}
{{- define "strongroom.env" -}}
{{- $root := .root -}}
- name: ENVIRONMENT
  value: {{ required "environment must be testnet or mainnet" $root.Values.environment | quote }}
- name: DATABASE_URL
  valueFrom: { secretKeyRef: { name: {{ .secret }}, key: DATABASE_URL } }
{{- if $root.Values.networksConfigMap }}
- name: NETWORKS_FILE
  value: /run/config/networks.json
{{- end }}
{{- range $name, $value := merge (dict) .values.env .further }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end -}}

{{- define "strongroom.variableSecrets" -}}
{{- with .Values.variableSecrets }}
envFrom:
  {{- range . }}
  - secretRef: { name: {{ . }} }
  {{- end }}
{{- end }}
{{- end -}}

{{- define "strongroom.sharedVolumes" -}}
{{- if .Values.networksConfigMap }}
- name: networks
  configMap: { name: {{ .Values.networksConfigMap }} }
{{- end }}
{{- if .Values.databaseCaSecret }}
- name: database-ca
  secret: { secretName: {{ .Values.databaseCaSecret }} }
{{- end }}
{{- end -}}

{{- define "strongroom.sharedMounts" -}}
{{- if .Values.networksConfigMap }}
- { name: networks, mountPath: /run/config, readOnly: true }
{{- end }}
{{- if .Values.databaseCaSecret }}
- { name: database-ca, mountPath: /run/secrets/database, readOnly: true }
{{- end }}
{{- end -}}

{{/* Files of a client's certificate for the vaults. */}}
{{- define "strongroom.tlsProjection" -}}
- secret:
    name: {{ . }}
    items:
      - { key: tls.crt, path: tls.crt }
      - { key: tls.key, path: tls.key }
      - { key: ca.crt, path: ca.crt }
{{- end -}}

{{/* A vault's container. Each journal's volume is mounted at /var/lib/ with its name. In: root, name, socket, journal. */}}
{{- define "strongroom.vault" -}}
{{- $values := .root.Values.vault -}}
{{- $own := dict "ROOT_KEY" ($values.rootKey | default "file:/run/secrets/strongroom/root.key") "VAULT_SOCKET" .socket "VAULT_JOURNAL" (printf "/var/lib/%s/journal/journal" .journal) -}}
{{- $tls := dict "VAULT_LISTEN" "0.0.0.0:7443" "VAULT_TLS_CLIENTS" (join "," $values.tlsClients) "VAULT_TLS_CERT_FILE" "/run/secrets/strongroom/tls.crt" "VAULT_TLS_KEY_FILE" "/run/secrets/strongroom/tls.key" "VAULT_TLS_CA_FILE" "/run/secrets/strongroom/ca.crt" -}}
{{- if not .root.Values.restore.enabled }}{{ $own = merge $own $tls }}{{ end -}}
- name: {{ .name }}
  {{- include "strongroom.container" .root | nindent 2 }}
  args: [vault]
  env:
    {{- include "strongroom.env" (dict "root" .root "secret" $values.secret "values" $values "further" $own) | nindent 4 }}
  {{- if not .root.Values.restore.enabled }}
  ports:
    - { name: vault, containerPort: 7443 }
  # It asks the vault at its second socket. There is no liveness probe: a vault whose database was restored is not ready until an
  # operator has run `cli restore`, which needs it.
  readinessProbe:
    exec: { command: [strongroom, health] }
    initialDelaySeconds: 3
    periodSeconds: 10
    timeoutSeconds: 5
  {{- end }}
  resources: {{ toYaml $values.resources | nindent 4 }}
  volumeMounts:
    - { name: keys, mountPath: /run/secrets/strongroom, readOnly: true }
    - { name: socket, mountPath: /run/strongroom-vault }
    - { name: {{ .journal }}, mountPath: /var/lib/{{ .journal }} }
    {{- with include "strongroom.sharedMounts" .root | trim }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* The container in which commands that call vaults run. In: root, sockets. */}}
{{- define "strongroom.operator" -}}
{{- $own := dict "PUBLIC_BASE_URL" (required "publicBaseUrl must be the URL by which callers reach the API" .root.Values.publicBaseUrl) "VAULT_SOCKET" .sockets "SERVICE_KEY" "file:/run/secrets/strongroom/service.key" "IDENTITY_KEY" "file:/run/secrets/strongroom/identity.key" -}}
- name: operator
  {{- include "strongroom.container" .root | nindent 2 }}
  command: [sh, -c, "trap 'exit 0' TERM; while :; do sleep 3600 & wait $!; done"]
  env:
    {{- include "strongroom.env" (dict "root" .root "secret" .root.Values.vault.operator.secret "values" (dict "env" (dict)) "further" $own) | nindent 4 }}
  resources:
    requests: { cpu: 10m, memory: 16Mi }
  volumeMounts:
    - { name: operator-keys, mountPath: /run/secrets/strongroom, readOnly: true }
    - { name: socket, mountPath: /run/strongroom-vault, readOnly: true }
    {{- with include "strongroom.sharedMounts" .root | trim }}
    {{- . | nindent 4 }}
    {{- end }}
{{- end -}}

{{/* Copies a vault's keys, and makes folders that nobody else may enter, as the root of such a volume is open. In: root, journals, folders. */}}
{{- define "strongroom.vaultKeys" -}}
{{- $files := dict "tls.key" "tls.key" "tls.crt" "tls.crt" "ca.crt" "ca.crt" -}}
{{- if not .root.Values.vault.rootKey }}{{ $_ := set $files "root.key" "root.key" }}{{ end -}}
{{- $mounts := list "- { name: secrets, mountPath: /from, readOnly: true }" "- { name: keys, mountPath: /keys }" "- { name: socket, mountPath: /run/strongroom-vault }" -}}
{{- range .journals }}{{ $mounts = append $mounts (printf "- { name: %s, mountPath: /var/lib/%s }" . .) }}{{ end -}}
{{- include "strongroom.keys" (dict "root" .root "name" "keys" "files" $files "mounts" (join "\n" $mounts) "further" (printf "mkdir -p -m 0700 %s" .folders)) -}}
{{- end -}}

{{- define "strongroom.operatorKeys" -}}
{{- $mounts := "- { name: operator-secrets, mountPath: /from, readOnly: true }\n- { name: operator-keys, mountPath: /keys }" -}}
{{- include "strongroom.keys" (dict "root" . "name" "operator-keys" "files" (dict "service.key" "service.key" "identity.key" "identity.key") "mounts" $mounts) -}}
{{- end -}}

{{- define "strongroom.vaultVolumes" -}}
- name: secrets
  projected:
    sources:
      {{- include "strongroom.tlsProjection" .Values.vault.tlsSecret | nindent 6 }}
      {{- if not .Values.vault.rootKey }}
      - secret:
          name: {{ .Values.vault.secret }}
          items:
            - { key: root.key, path: root.key }
      {{- end }}
- name: keys
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
- name: socket
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- if or .Values.vault.operator.enabled .Values.restore.enabled }}
- name: operator-secrets
  secret:
    secretName: {{ .Values.vault.operator.secret }}
    items:
      - { key: service.key, path: service.key }
      - { key: identity.key, path: identity.key }
- name: operator-keys
  emptyDir: { medium: Memory, sizeLimit: 1Mi }
{{- end }}
{{- end -}}
