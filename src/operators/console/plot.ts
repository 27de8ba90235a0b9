// Plots as SVG that the server makes: they need no script, and the style sheet colours them. The shapes are stretched to the
// width of the page; all texts are HTML, so that they stay readable on a phone. A table has the same numbers.

import { type Html, html } from '../../platform/pages/page.ts'
import { table } from './table.ts'

const WIDTH = 1_000
const HEIGHT = 200

type Series = {
  readonly name: string
  /** Its colour. */
  readonly tone: 'first' | 'second' | 'bad'
  readonly form: 'bars' | 'line'
  /** One for each interval; null: nothing to show. */
  readonly values: readonly (number | null)[]
}

/** The next of 1, 2, 5, 10, 20, … */
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
  /** What to say if there is nothing to show. */
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
      { head: 'From', cell: ({ label }) => label },
      ...columns.map(({ name, format: shown }, index) => ({
        head: name,
        cell: ({ values }: (typeof rows)[number]) => {
          const value = values[index] ?? null
          return value === null ? '–' : shown(value)
        },
        is: 'number' as const,
      })),
    ],
    rows: rows.filter(({ values }) => values.some((value) => value !== null)).toReversed(),
    none,
  })}</details>
</figure>`
}
