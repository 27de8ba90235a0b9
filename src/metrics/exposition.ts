// Prometheus' text format, version 0.0.4.

import type { Labels } from '../../db/queries/counts.ts'

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

/** One line; `suffix` is `_bucket`, `_sum` or `_count` in a histogram. */
export type Sample = { readonly suffix?: string; readonly labels: Labels; readonly value: number }

export type Family = {
  readonly name: string
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  readonly samples: readonly Sample[]
}

const escaped = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"')

const shownLabels = (labels: Labels): string => {
  const shown = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value)}"`)
  return shown.length === 0 ? '' : `{${shown.join(',')}}`
}

/** A family without samples is left out. */
const familyLines = ({ name, type, help, samples }: Family): readonly string[] =>
  samples.length === 0
    ? []
    : [
        `# HELP ${name} ${help}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(({ suffix = '', labels, value }) => `${name}${suffix}${shownLabels(labels)} ${value}`),
      ]

export const exposition = (families: readonly Family[]): string =>
  families
    .flatMap(familyLines)
    .map((line) => `${line}\n`)
    .join('')
