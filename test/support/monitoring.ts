// What deploy/ has for Prometheus and Grafana.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { ROOT } from './imports.ts'

export const RULES_PATH = join(ROOT, 'deploy/prometheus/alerts.yml')
export const DASHBOARD_PATH = join(ROOT, 'deploy/grafana/strongroom.json')

const Alert = Type.Object(
  {
    alert: Type.String(),
    expr: Type.String(),
    for: Type.Optional(Type.String()),
    labels: Type.Object({ severity: Type.String() }, { additionalProperties: false }),
    annotations: Type.Object({ summary: Type.String() }, { additionalProperties: false }),
  },
  { additionalProperties: false },
)
const Rules = Type.Object({
  groups: Type.Array(Type.Object({ name: Type.String(), rules: Type.Array(Alert) }, { additionalProperties: false })),
})

/** The alerts that Prometheus is given. @throws Error if the file has another form. */
export const alerts = () =>
  Value.Parse(Rules, Bun.YAML.parse(readFileSync(RULES_PATH, 'utf8'))).groups.flatMap(({ rules }) => rules)

const Panel = Type.Object({
  id: Type.Integer(),
  type: Type.String(),
  title: Type.String({ minLength: 1 }),
  gridPos: Type.Object({ x: Type.Integer(), y: Type.Integer(), w: Type.Integer(), h: Type.Integer() }),
  targets: Type.Optional(Type.Array(Type.Object({ refId: Type.String(), expr: Type.String() }))),
})

/** The dashboard's panels. @throws Error if one has another form. */
export const panels = () =>
  Value.Parse(Type.Object({ panels: Type.Array(Panel) }), JSON.parse(readFileSync(DASHBOARD_PATH, 'utf8'))).panels

/** The dashboard's questions, with values for Grafana's variables. */
export const questions = (): readonly string[] =>
  panels().flatMap(({ targets = [] }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '5m').replaceAll('$network', '.*')),
  )

type Selector = {
  readonly name: string
  readonly matchers: readonly { readonly label: string; readonly values: string }[]
}

/** The series that an expression of PromQL asks for: names of ours and of the process, with their matchers. */
export const selectorsIn = (expression: string): readonly Selector[] =>
  [...expression.matchAll(/\b((?:strongroom|process|nodejs)_[a-z0-9_]+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', inner = '']) => ({
      name,
      matchers: [...inner.matchAll(/(\w+)(?:=~|!~|!=|=)"([^"]*)"/g)].map(([, label = '', values = '']) => ({
        label,
        values,
      })),
    }),
  )

/** The labels by which an expression groups. */
export const groupsIn = (expression: string): readonly string[] =>
  [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = '']) => labels.split(', '))
