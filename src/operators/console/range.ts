// The times that plots show, and the links that choose one and a network.

import type { Network } from '../../../db/words.ts'
import { type Html, html } from '../../platform/pages/page.ts'
import type { ConsoleCtx } from './context.ts'
import type { Asked } from './frame.ts'
import { linkTo } from './table.ts'

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

/** What the query of a page chooses. */
export const choiceIn = ({ config }: Pick<ConsoleCtx, 'config'>, { query }: Asked): Choice => ({
  range: RANGE_NAMES.find((each) => each === query.get('range')) ?? '6h',
  network: config.networks.find((each) => each.network === query.get('network'))?.network ?? null,
})

/** Links to the same page with another range or network. */
export const choices = (path: string, { range, network }: Choice, networks: readonly Network[]): Html => {
  const link = (text: string, query: Readonly<Record<string, string | null>>, isHere: boolean) =>
    html`<a href="${linkTo(path, { range, network, ...query })}"${isHere ? html` aria-current="true"` : null}>${text}</a> `
  return html`<p class="choices">${RANGE_NAMES.map((each) => link(each, { range: each }, each === range))}
<span class="gap"></span>${link('all networks', { network: null }, network === null)}${networks.map((each) => link(each, { network: each }, each === network))}</p>`
}

/** When each interval began. */
export const labelsOf = (now: Date, range: Range): readonly string[] => {
  const { intervals, seconds } = RANGES[range]
  return Array.from({ length: intervals }, (_, index) => {
    const at = new Date(now.getTime() - (intervals - index) * seconds * 1_000)
    return at.toISOString().slice(11, 16)
  })
}
