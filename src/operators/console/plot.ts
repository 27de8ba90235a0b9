// Plots as SVG that the server makes: they need no script, and the style sheet colours them. The shapes are stretched
// to the width of the page; all texts are HTML, so that they stay readable on a phone. A table has the same numbers.

import type { Network } from '../../../db/words.ts'
import { type Html, html } from '../../platform/pages/page.ts'
import type { ConsoleCtx } from './context.ts'
import type { Asked } from './frame.ts'
import { choiceLink, linkTo, table } from './table.ts'

const WIDTH = 1_000
const HEIGHT = 200

type Series = {
  readonly name: string
  readonly tone: 'first' | 'second' | 'bad'
  readonly form: 'bars' | 'line'
  /** One for each interval; null: nothing to show. */
  readonly values: readonly (number | null)[]
}

const roundedUp = (value: number): number => {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1e-3)))
  return ([1, 2, 5, 10].find((each) => each * power >= value) ?? 10) * power
}

const fixed = (value: number): string => String(Number(value.toFixed(2)))

type Scale = { readonly x: (index: number) => number; readonly y: (value: number) => number; readonly step: number }

const barsOf = ({ tone, values }: Series, { x, y, step }: Scale): Html =>
  html`<g class="bars ${tone}">${values.flatMap((value, index) =>
    value === null || value === 0
      ? []
      : [
          html`<rect x="${fixed(x(index) + step * 0.1)}" y="${fixed(y(value))}" width="${fixed(step * 0.8)}" height="${fixed(HEIGHT - y(value))}"/>`,
        ],
  )}</g>`

/** Each run of intervals with values is a line of its own; a single one is a short dash. */
const lineOf = ({ tone, values }: Series, { x, y, step }: Scale): Html => {
  let isOpen = false
  const path = values.map((value, index) => {
    const from = isOpen ? 'L' : 'M'
    isOpen = value !== null
    if (value === null) return ''
    const isAlone = from === 'M' && (values[index + 1] ?? null) === null
    const start = isAlone ? x(index) + step * 0.1 : x(index) + step / 2
    return `${from}${fixed(start)} ${fixed(y(value))}${isAlone ? `h${fixed(step * 0.8)}` : ''}`
  })
  return html`<path class="line ${tone}" d="${path.join('')}"/>`
}

export const plot = (input: {
  readonly title: string
  readonly labels: readonly string[]
  readonly series: readonly Series[]
  readonly format: (value: number) => string
  /** What the table has besides. */
  readonly also?: readonly Pick<Series, 'name' | 'values'>[]
  readonly none: string
}): Html => {
  const { title, labels, series, format, also = [], none } = input
  const highest = Math.max(0, ...series.flatMap(({ values }) => values.map((value) => value ?? 0)))
  const top = highest === 0 ? 2 : roundedUp(highest)
  const step = WIDTH / labels.length
  const scale: Scale = { step, x: (index) => index * step, y: (value) => HEIGHT - (value / top) * HEIGHT }
  const shapes = series.map((each) => (each.form === 'bars' ? barsOf(each, scale) : lineOf(each, scale)))
  const columns = [...also.map((each) => ({ ...each, format: String })), ...series.map((each) => ({ ...each, format }))]
  const rows = labels.map((label, index) => ({ label, values: columns.map(({ values }) => values[index] ?? null) }))
  return html`<figure>
<figcaption>${title}<span class="legend">${series.map(({ name, tone, form }) => html`<span class="${form} ${tone}">${name}</span>`)}</span></figcaption>
<div class="plot"><span class="scale"><span>${format(top)}</span><span>${format(top / 2)}</span><span>0</span></span>
<svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label="${title}. The table below has the numbers.">
<path class="grid" d="M0 0H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}M0 ${HEIGHT}H${WIDTH}"/>${shapes}</svg></div>
<div class="axis"><span>${labels[0] ?? ''}</span><span>${labels[Math.floor(labels.length / 2)] ?? ''}</span><span>now</span></div>
<details><summary>The numbers</summary>${table({
    caption: title,
    columns: [
      ['From', ({ label }) => label],
      ...columns.map(({ name, format: shown }, index) => {
        const cell = ({ values }: (typeof rows)[number]) => {
          const value = values[index] ?? null
          return value === null ? '–' : shown(value)
        }
        return [name, cell, 'number'] as const
      }),
    ],
    rows: rows.filter(({ values }) => values.some((value) => value !== null)).toReversed(),
    none,
  })}</details>
</figure>`
}

/** By its word in the query: how many intervals, and how long each is. */
export const RANGES = {
  '1h': { intervals: 60, seconds: 60 },
  '6h': { intervals: 36, seconds: 600 },
  '24h': { intervals: 48, seconds: 1_800 },
} as const
const RANGE_NAMES = ['1h', '6h', '24h'] as const satisfies readonly (keyof typeof RANGES)[]
export type Range = (typeof RANGE_NAMES)[number]

/** `network` is null for all of them. */
type Choice = { readonly range: Range; readonly network: Network | null }

export const choiceIn = ({ config }: Pick<ConsoleCtx, 'config'>, { query }: Asked): Choice => ({
  range: RANGE_NAMES.find((each) => each === query.get('range')) ?? '6h',
  network: config.networks.find((each) => each.network === query.get('network'))?.network ?? null,
})

export const choices = (path: string, { range, network }: Choice, networks: readonly Network[]): Html => {
  const link = (text: string, query: Readonly<Record<string, string | null>>, isHere: boolean) =>
    choiceLink(linkTo(path, { range, network, ...query }), text, isHere)
  return html`<p class="choices">${RANGE_NAMES.map((each) => link(each, { range: each }, each === range))}
<span class="gap"></span>${link('all networks', { network: null }, network === null)}${networks.map((each) => link(each, { network: each }, each === network))}</p>`
}

export const labelsOf = (now: Date, range: Range): readonly string[] => {
  const { intervals, seconds } = RANGES[range]
  return Array.from({ length: intervals }, (_, index) => {
    const at = new Date(now.getTime() - (intervals - index) * seconds * 1_000)
    return at.toISOString().slice(11, 16)
  })
}

/** A value for each interval of a range; null for one that has no row. */
export const valuesIn =
  <Row extends { readonly index: number }>(range: Range, rows: readonly Row[]) =>
  (value: (row: Row) => number | null): readonly (number | null)[] => {
    const byIndex = new Map(rows.map((row) => [row.index, row]))
    return Array.from({ length: RANGES[range].intervals }, (_, index) => {
      const found = byIndex.get(index)
      return found === undefined ? null : value(found)
    })
  }
