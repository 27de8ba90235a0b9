import { type HeadInterval, readHeads } from '../../../../db/queries/cursors.ts'
import { type Html, html } from '../../../platform/pages/page.ts'
import type { Room } from '../frame.ts'
import { plot } from '../plot.ts'
import { choiceIn, choices, labelsOf, RANGES, type Range } from '../range.ts'
import { span } from '../table.ts'

const NONE = 'Nothing was noted in this time: a worker notes it each minute.'

const plotsOf = (now: Date, range: Range, noted: readonly HeadInterval[]): Html => {
  const { intervals, seconds } = RANGES[range]
  const byIndex = new Map(noted.map((each) => [each.index, each]))
  const valuesOf = (value: (each: HeadInterval) => number | null) =>
    Array.from({ length: intervals }, (_, index) => {
      const found = byIndex.get(index)
      return found === undefined ? null : value(found)
    })
  const made = ({ index, head }: HeadInterval): number | null => {
    const before = byIndex.get(index - 1)?.head ?? null
    return head === null || before === null ? null : Math.max(0, head - before)
  }
  const [labels, heads] = [labelsOf(now, range), { name: 'Head', values: valuesOf(({ head }) => head) }]
  return html`<div class="plots">${plot({
    title: 'Blocks behind the head, at the most',
    labels,
    also: [heads],
    series: [
      { name: 'tracker', tone: 'first', form: 'line', values: valuesOf(({ trackedBehind }) => trackedBehind) },
      { name: 'indexer', tone: 'second', form: 'line', values: valuesOf(({ indexedBehind }) => indexedBehind) },
    ],
    format: String,
    none: NONE,
  })}${plot({
    title: `New blocks in each ${span(seconds)}`,
    labels,
    also: [heads],
    series: [{ name: 'blocks', tone: 'first', form: 'bars', values: valuesOf(made) }],
    format: String,
    none: NONE,
  })}</div>`
}

const section = (
  now: Date,
  { network, range }: { readonly network: string; readonly range: Range },
  noted: readonly HeadInterval[],
) => {
  const head = noted.findLast((each) => each.head !== null)?.head ?? null
  return html`<section><h2>${network}${head === null ? null : html` <span class="quiet">head ${head}</span>`}</h2>${plotsOf(now, range, noted)}</section>`
}

/** The head of each network, and how far its followers were behind, over time. */
export const networks: Room = async (ctx, asked) => {
  const choice = choiceIn(ctx, asked)
  const byNetwork = Map.groupBy(await readHeads(ctx.db, RANGES[choice.range]), ({ network }) => network)
  const named = [...byNetwork.keys()]
  const shown = choice.network === null ? named : [choice.network]
  return {
    title: 'Networks',
    body: html`${choices('/networks', choice, named)}
${shown.length === 0 ? html`<p class="none">${NONE}</p>` : null}
${shown.map((network) => section(ctx.now(), { network, range: choice.range }, byNetwork.get(network) ?? []))}`,
  }
}
